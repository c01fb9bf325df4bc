//! Generated secrets through `wiretape proxy` and `wiretape record` with every sink: none of them may have any.

use crate::proxy::{Proxy, SIGTERM, traces_dir, wiretape};
use crate::wire::{Peer, Upstream, ok, post};
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use wiretape_trace::redact::corpus::{self, Secret, is_leaked};

/// In percent, of the secrets that went through a sink.
const EXPECTED: f64 = 98.0;

/// Every second secret of the corpus. The others are left to the tests of the redactor, to keep these quick.
fn secrets() -> Vec<Secret> {
    corpus::secrets().into_iter().step_by(2).collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The arguments and the result of a call with a secret in both. Where it is depends on the number of the call.
fn messages(id: usize, secret: &Secret) -> (String, String) {
    let text = &secret.text;
    let arguments = match secret.name {
        Some(name) => json!({ "user": "bob", name: text }),
        None if id.is_multiple_of(2) => json!({ "input": text }),
        None => json!({ "text": format!("use {text} for it"), "list": ["a", text] }),
    };
    let call = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": "echo", "arguments": arguments },
    });
    let answer = match (id % 3, secret.name) {
        // A value that is secret by its name is repeated without it.
        (0, _) => {
            json!({ "error": { "code": -1, "message": format!("invalid value \"{text}\" (rejected)") } })
        }
        (1, Some(name)) => json!({ "result": { "structuredContent": { name: text } } }),
        _ => {
            json!({ "result": { "content": [{ "type": "text", "text": format!("The answer is {text}.") }] } })
        }
    };
    let mut response = json!({ "jsonrpc": "2.0", "id": id });
    response.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    (call.to_string(), response.to_string())
}

/// The head of a request: the secret in a header, under a telling name or not, or in the query.
fn request(id: usize, secret: &Secret, body: &str) -> String {
    let text = &secret.text;
    let (header, query) = match (secret.name, id % 3) {
        (Some(name), _) => (String::new(), format!("?page=2&{name}={}", percent(text))),
        (None, 0) => (format!("X-Custom: {text}\r\n"), String::new()),
        (None, 1) => (format!("Authorization: Bearer {text}\r\n"), String::new()),
        (None, _) => (String::new(), format!("?token={}&z=1", percent(text))),
    };
    post(&header, body).replacen("/mcp", &format!("/mcp{query}"), 1)
}

/// Sends all secrets through a proxy, one exchange for each.
fn converse(proxy: &Proxy, upstream: &Upstream, secrets: &[Secret]) {
    let mut client = proxy.connect();
    let mut server = None;
    for (id, secret) in secrets.iter().enumerate() {
        let (call, answer) = messages(id, secret);
        client.send(request(id, secret, &call));
        let server: &mut Peer = server.get_or_insert_with(|| upstream.accept());
        server.receive();
        let header =
            if secret.name.is_none() { format!("X-Echo: {}\r\n", secret.text) } else { String::new() };
        server.send(ok(&header, &answer));
        client.receive();
    }
}

/// Accepts batches of events until `done`, and returns their text.
fn receive_events(hook: &TcpListener, done: &AtomicBool) -> String {
    hook.set_nonblocking(true).unwrap();
    let mut connections = Vec::new();
    while !done.load(Ordering::Acquire) {
        match hook.accept() {
            Ok((stream, _)) => connections.push(thread::spawn(move || receive_batches(&stream))),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
    connections.into_iter().map(|connection| connection.join().unwrap()).collect()
}

/// The batches of one connection, until the proxy closes it.
fn receive_batches(mut stream: &TcpStream) -> String {
    stream.set_nonblocking(false).unwrap();
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return text;
            }
        }
        let head = head.to_lowercase();
        let length = head.split_once("content-length: ").expect("it has a length").1.split("\r\n").next();
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        text += &unpacked(&body);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    }
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    // A segment that is still open has no end.
    let _ = MultiGzDecoder::new(bytes).read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The text of all files below a directory, compressed ones unpacked.
fn files(dir: &Path) -> String {
    let Ok(entries) = fs::read_dir(dir) else { return String::new() };
    let read = |path: PathBuf| {
        if path.is_dir() {
            return files(&path);
        }
        let bytes = fs::read(&path).unwrap();
        if bytes.starts_with(&[0x1f, 0x8b]) { unpacked(&bytes) } else { lossy(&bytes) }
    };
    entries.map(|entry| read(entry.unwrap().path())).collect()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The compressed parts of a report, and the rest of it.
fn report_text(html: &str) -> String {
    let packed =
        html.split('"').flat_map(|part| part.split(['<', '>'])).filter(|part| part.starts_with("H4sI"));
    let decode = |part: &str| base64::Engine::decode(&base64::engine::general_purpose::STANDARD, part);
    packed.filter_map(|part| decode(part).ok()).map(|bytes| unpacked(&bytes)).collect()
}

/// The secrets of which something is left in a text. Only those with enough of their parts in it are searched for: all
/// secrets in every text would take minutes.
fn leaked<'s>(text: &str, secrets: &'s [Secret]) -> Vec<&'s Secret> {
    const PART: usize = 6;
    let mut parts: HashMap<&[u8], Vec<(usize, usize)>> = HashMap::new();
    // Most places of a text are ruled out by this, without a lookup.
    let mut beginnings = vec![false; 1 << 16];
    let beginning = |part: &[u8]| usize::from(u16::from_le_bytes([part[0], part[1]]));
    for (index, secret) in secrets.iter().enumerate() {
        for (at, part) in secret.text.as_bytes().windows(PART).enumerate() {
            beginnings[beginning(part)] = true;
            parts.entry(part).or_default().push((index, at));
        }
    }
    let mut found: BTreeSet<(usize, usize)> = BTreeSet::new();
    for part in text.as_bytes().windows(PART) {
        if beginnings[beginning(part)]
            && let Some(places) = parts.get(part)
        {
            found.extend(places);
        }
    }
    let mut counts = vec![0; secrets.len()];
    found.iter().for_each(|(index, _)| counts[*index] += 1);
    // `is_leaked` looks for two fifths of a secret in one piece.
    let may_be_there = |secret: &Secret, parts: usize| parts + PART > secret.text.len() * 2 / 5;
    secrets
        .iter()
        .zip(counts)
        .filter(|(secret, parts)| *parts > 0 && may_be_there(secret, *parts))
        .map(|(secret, _)| secret)
        .filter(|secret| is_leaked(text, &secret.text))
        .collect()
}

/// What is in each sink.
#[derive(Default)]
struct Sinks(Vec<(String, String)>);

impl Sinks {
    fn add(&mut self, sink: &str, text: String) {
        self.0.push((sink.to_owned(), text));
    }

    /// Prints a table, and fails if too many secrets are left in a sink.
    fn check(&self, secrets: &[Secret]) {
        let mut failed = Vec::new();
        for (sink, text) in &self.0 {
            assert!(!text.is_empty(), "{sink} has nothing");
            let leaked = leaked(text, secrets);
            let share = 100.0 * (secrets.len() - leaked.len()) as f64 / secrets.len() as f64;
            println!(
                "| {sink:24} | {:4} of {} | {share:5.1} % |",
                secrets.len() - leaked.len(),
                secrets.len()
            );
            for secret in leaked.iter().take(10) {
                println!("    left: {} | {}", secret.kind, secret.text);
            }
            if share < EXPECTED {
                failed.push(sink);
            }
        }
        assert!(failed.is_empty(), "{failed:?}");
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    lossy(&output.stdout) + &lossy(&output.stderr)
}

const FORMATS: [&str; 7] = ["assay-v2", "jsonrpc", "streamable-http", "http-sse", "har", "perfetto", "csv"];

#[test]
fn no_sink_of_the_proxy_has_a_secret() {
    let secrets = secrets();
    assert!(secrets.len() > 300, "{}", secrets.len());
    let mut sinks = Sinks::default();
    let upstream = Upstream::listen();
    let hook = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = ["--events", "events.ndjson", "--print", "json", "--admin", "127.0.0.1:0", "--webhook"];

    let url = format!("http://{}/", hook.local_addr().unwrap());
    let done = Arc::new(AtomicBool::new(false));
    let receiver = {
        let done = Arc::clone(&done);
        thread::spawn(move || receive_events(&hook, &done))
    };
    let proxy = Proxy::before(&upstream, &[&options[..], &[&url]].concat());
    converse(&proxy, &upstream, &secrets);
    sinks.add("/metrics", proxy.ask_text("/metrics"));
    sinks.add("/status", proxy.ask_text("/status"));
    let stopped = proxy.stop();
    done.store(true, Ordering::Release);
    sinks.add("webhook", receiver.join().unwrap());
    sinks.add("stderr, --print json", stopped.stderr.clone());
    sinks.add("NDJSON", fs::read_to_string(stopped.home().join("events.ndjson")).unwrap());
    let store = ["store.db", "store.db-wal"].map(|file| fs::read(stopped.home().join("data").join(file)));
    sinks.add("store", store.into_iter().map(|bytes| lossy(&bytes.unwrap_or_default())).collect());
    sinks.add("traces", files(&traces_dir(stopped.home())));
    for (sink, text) in &sinks.0 {
        let events = text.matches("\"type\":\"request\"").count();
        assert!(sink != "webhook" || events == secrets.len(), "{sink} got {events} of {}", secrets.len());
    }

    // The receiver is down: the events wait on disk.
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--no-traces", "--no-store", "--webhook", "http://127.0.0.1:1/"]);
    converse(&proxy, &upstream, &secrets);
    proxy.signal(SIGTERM);
    thread::sleep(Duration::from_millis(300));
    // A second one doesn't wait for the receiver.
    proxy.signal(SIGTERM);
    let spool = files(&proxy.wait().home().join("data/spool"));
    assert!(spool.contains("tools/call"), "{spool}");
    sinks.add("spool", spool);
    sinks.check(&secrets);
}

/// Records all secrets with a server that repeats every message, also on standard error.
fn record(home: &Path, options: &[&str], secrets: &[Secret]) -> PathBuf {
    let mut command = wiretape(home);
    command.arg("record").args(options).args(["--", "sh", "-c", "exec tee /dev/stderr"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut recorder = command.spawn().unwrap();
    let mut input = recorder.stdin.take().unwrap();
    for (id, secret) in secrets.iter().enumerate() {
        let (call, answer) = messages(id, secret);
        writeln!(input, "{call}\n{answer}").unwrap();
    }
    drop(input);
    assert!(recorder.wait().unwrap().success());
    let mut traces = fs::read_dir(traces_dir(home)).unwrap();
    traces.next().unwrap().unwrap().path()
}

#[test]
fn nothing_that_is_made_of_a_recording_has_a_secret() {
    let secrets = secrets();
    let mut sinks = Sinks::default();
    let home = tempfile::tempdir().unwrap();
    let trace = record(home.path(), &[], &secrets);
    sinks.add("record: trace", fs::read_to_string(&trace).unwrap());
    let store = ["store.db", "store.db-wal"].map(|file| fs::read(home.path().join("data").join(file)));
    sinks.add("record: store", store.into_iter().map(|bytes| lossy(&bytes.unwrap_or_default())).collect());
    sinks.add("view", viewed(home.path(), &trace));

    let raw = tempfile::tempdir().unwrap();
    let trace = record(raw.path(), &["--no-redact", "--no-store"], &secrets);
    let text = fs::read_to_string(&trace).unwrap();
    assert!(secrets.iter().all(|secret| text.contains(&secret.text)), "it was not to be redacted");
    for format in FORMATS {
        let mut export = wiretape(raw.path());
        export.arg("export").arg(&trace).args(["--to", format, "--redact"]);
        sinks.add(&format!("export {format}"), run(&mut export));
    }
    run(wiretape(raw.path()).args(["export", "html", "-o", "report.html"]).arg(&trace));
    let report = report_text(&fs::read_to_string(raw.path().join("report.html")).unwrap());
    assert!(report.contains("tools/call"), "the report is unpacked");
    sinks.add("export html", report);
    run(wiretape(raw.path()).args(["redact", "-o", "clean"]).arg(&trace));
    sinks.add("redact -o", files(&raw.path().join("clean")));
    sinks.add("redact --explain", run(wiretape(raw.path()).args(["redact", "--explain"]).arg(&trace)));
    sinks.check(&secrets);
}

/// What the page's server answers about a trace.
fn viewed(home: &Path, trace: &Path) -> String {
    let mut command = wiretape(home);
    command.args(["view", "--no-open"]).arg(trace).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut viewer = command.spawn().unwrap();
    let mut printed = String::new();
    BufReader::new(viewer.stdout.take().unwrap()).read_line(&mut printed).unwrap();
    let (address, rest) = printed.trim().split_once("http://").unwrap().1.split_once('/').unwrap();
    let (_, token) = rest.split_once("token=").unwrap();
    let ask = |target: &str| {
        let mut peer = Peer::connect(address.parse().unwrap());
        peer.send(format!(
            "GET /api/{target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        ));
        lossy(&peer.receive().1)
    };
    let meta: Value =
        serde_json::from_str(fs::read_to_string(trace).unwrap().lines().next().unwrap()).unwrap();
    let id = meta["id"].as_str().unwrap();
    let is_read = || {
        let set: Value = serde_json::from_str(&ask(&format!("set?trace={id}"))).unwrap();
        set["traces"][0]["progress"]["isComplete"] == true
    };
    while !is_read() {
        thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    for from in [0, 1000] {
        for path in ["calls", "messages"] {
            text += &ask(&format!("{path}?trace={id}&limit=1000&from={from}"));
        }
    }
    for path in ["set", "tools", "sessions", "lint", "timeline"] {
        text += &ask(&format!("{path}?trace={id}"));
    }
    for call in (1..400).step_by(7) {
        text += &ask(&format!("call?trace={id}&call={call}"));
    }
    viewer.kill().unwrap();
    viewer.wait().unwrap();
    text
}
