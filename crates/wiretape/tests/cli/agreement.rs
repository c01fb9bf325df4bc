//! Fixtures, and sessions that proptest generates, are the same wherever they are shown.

#[path = "../shared/agreement.rs"]
mod checks;

use checks::{check, check_parts};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::path::Path;

#[test]
fn every_fixture_is_the_same_wherever_it_is_shown() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = [
        "traces",
        "view",
        "lint/server-crashed",
        "lint/cancel-unknown-request",
        "lint/request-without-response",
    ];
    for folder in folders {
        for entry in std::fs::read_dir(fixtures.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                check(&std::fs::read(&path).unwrap(), &path);
            }
        }
    }
}

#[test]
fn generated_sessions_are_the_same_wherever_they_are_shown() {
    let mut runner = TestRunner::new(config(32));
    runner
        .run(&plans(), |plan| {
            check(generate(&plan).as_bytes(), Path::new("generated.jsonl"));
            Ok(())
        })
        .unwrap();
}

/// The files of a rotated recording are one recording to everything that takes several files, and each is a trace of its own.
#[test]
fn the_parts_of_a_recording_are_the_same_as_the_whole() {
    let mut runner = TestRunner::new(config(12));
    runner
        .run(&(plans(), prop::collection::btree_set(1usize..40, 1..4)), |(plan, cuts)| {
            let whole = generate(&plan);
            let parts = rotate(&whole, cuts.into_iter());
            for part in &parts {
                check(part.as_bytes(), Path::new("part.jsonl"));
            }
            let names = (1..).map(part_name);
            check_parts(&whole, &names.zip(parts.iter().map(String::as_str)).collect::<Vec<_>>());
            Ok(())
        })
        .unwrap();
}

/// Each case takes a second, so a failure is shrunk only so far.
fn config(cases: u32) -> Config {
    Config { cases, max_shrink_iters: 64, failure_persistence: None, ..Config::default() }
}

/// The same recording in several files: a new one begins before each of these lines.
fn rotate(whole: &str, cuts: impl Iterator<Item = usize>) -> Vec<String> {
    let lines: Vec<&str> = whole.lines().collect();
    let cuts: Vec<usize> = cuts.map(|cut| cut + 1).filter(|cut| *cut < lines.len()).collect();
    let mut parts = Vec::new();
    let mut from = 1;
    for (index, to) in (1..).zip(cuts.iter().copied().chain([lines.len()])) {
        let mut part = vec![meta_of_part(lines[0], index)];
        part.extend(lines[from..to].iter().map(|line| (*line).to_owned()));
        if to < lines.len() {
            part.push(format!(r#"{{"type":"rotated","next":"{}"}}"#, part_name(index + 1)));
        }
        parts.push(part.join("\n") + "\n");
        from = to;
    }
    parts
}

fn meta_of_part(meta: &str, index: usize) -> String {
    if index == 1 {
        return meta.to_owned();
    }
    let part = format!(r#""part":{{"index":{index},"of":"5eed0000","previous":"{}"}}"#, part_name(index - 1));
    meta.replace(r#""id":"5eed0000""#, &format!(r#""id":"5eed000{index}",{part}"#))
}

fn part_name(index: usize) -> String {
    format!("part-{index}.jsonl")
}

/// Who recorded a generated session, and of which era its client and server are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Recorder {
    Stdio,
    /// A transcript of another program, whose ids are compared by their text.
    Import,
    /// A proxy that named neither connections nor durations.
    OldProxy,
    Proxy,
    /// A proxy, for clients without sessions (2026-07-28).
    StatelessProxy,
}

impl Recorder {
    const ALL: [Recorder; 5] =
        [Recorder::Stdio, Recorder::Import, Recorder::OldProxy, Recorder::Proxy, Recorder::StatelessProxy];

    fn is_http(self) -> bool {
        !matches!(self, Recorder::Stdio | Recorder::Import)
    }
}

/// Steps of a session, its end, and its recorder.
type Plan = (Vec<(u8, u8, u32)>, u8, Recorder);

fn plans() -> impl Strategy<Value = Plan> {
    let steps = prop::collection::vec((0u8..22, 0u8..6, 1u32..9000), 1..40);
    (steps, 0u8..5, prop::sample::select(&Recorder::ALL[..]))
}

/// A recording: requests, answers of all kinds, batches, progress, cancellation, the server's own requests, HTTP failures, and
/// one of several endings.
fn generate((steps, end, recorder): &Plan) -> String {
    let mut session = Session::new(*recorder);
    session.begin();
    for &(what, which, pause) in steps {
        session.us += u64::from(pause);
        session.step(what, u64::from(which));
    }
    session.end(*end)
}

struct Session {
    lines: Vec<String>,
    us: u64,
    recorder: Recorder,
    next_id: u64,
    next_exchange: u64,
    /// How many sessions there are, and which one the client uses. Without sessions, how many clients.
    sessions: u64,
    current: u64,
    /// The client's open requests.
    open: Vec<Open>,
    /// The ids of the server's open requests.
    asked: Vec<u64>,
}

/// An open request, or a batch of them.
#[derive(Clone)]
struct Open {
    ids: Vec<String>,
    post: Post,
}

impl Open {
    fn is_streaming(&self) -> bool {
        self.post.head_us.is_some()
    }
}

/// An HTTP exchange.
#[derive(Clone)]
struct Post {
    x: u64,
    session: Option<u64>,
    asked_us: u64,
    /// When the head of its response came, if a stream follows.
    head_us: Option<u64>,
}

const JSON: &str =
    r#""response":{"status":200,"version":"1.1","headers":{"content-type":"application/json"}}"#;
const STREAM: &str =
    r#""response":{"status":200,"version":"1.1","headers":{"content-type":"text/event-stream"}}"#;

impl Session {
    fn new(recorder: Recorder) -> Self {
        let transport = if recorder.is_http() { "http" } else { "stdio" };
        let imported = if recorder == Recorder::Import { r#","imported":{"format":"jsonrpc"}"# } else { "" };
        let meta = format!(
            r#"{{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"made","command":["http://127.0.0.1:1/mcp"],"id":"5eed0000","producer":{{"name":"wiretape","version":"0"}},"transport":"{transport}"{imported}}}"#
        );
        Session {
            lines: vec![meta],
            us: 0,
            recorder,
            next_id: 1,
            next_exchange: 1,
            sessions: 0,
            current: 0,
            open: Vec::new(),
            asked: Vec::new(),
        }
    }

    fn stamp(&self) -> String {
        let ms = self.us / 1000;
        format!(
            r#""t":"2026-05-12T23:{:02}:{:02}.{:03}Z","seq":{},"us":{}"#,
            ms / 60_000,
            ms / 1000 % 60,
            ms % 1000,
            self.lines.len(),
            self.us
        )
    }

    fn line(&mut self, post: &Post, what: &str, http: &str, payload: &str) {
        let name = post.session.map(|session| format!(r#","session":"s-{session}""#)).unwrap_or_default();
        let http = match (self.recorder.is_http(), http) {
            (false, _) => String::new(),
            (true, "") => format!(r#","http":{{"x":{}}}"#, post.x),
            (true, http) => format!(r#","http":{{"x":{},{http}}}"#, post.x),
        };
        self.lines.push(format!("{{{},{what}{name}{http}{payload}}}", self.stamp()));
    }

    /// A message of the server. `http` is what its line says of the exchange besides the number.
    fn out(&mut self, post: &Post, http: &str, raw: &str) {
        self.line(post, r#""dir":"out""#, http, &format!(r#","raw":{raw}"#));
    }

    /// A line of an exchange without a message.
    fn about(&mut self, post: &Post, http: &str) {
        self.line(post, r#""type":"http""#, http, "");
    }

    /// The times of an exchange, as its last line has them. `http` is the rest of that line.
    fn over(&self, post: &Post, http: &str) -> String {
        // A proxy counts from the first byte of the request's head.
        let since = |us: u64| us - post.asked_us + 70;
        if self.recorder == Recorder::OldProxy {
            return String::new();
        }
        let mut over = r#","connectedUs":10"#.to_owned();
        let is_answered = post.head_us.is_some() || http.contains(r#""response""#);
        if is_answered && !http.contains(r#""own""#) {
            let head = since(post.head_us.unwrap_or(self.us)) - 30;
            over += &format!(r#","answeredUs":{head},"firstByteUs":{}"#, head + 10);
            if !http.contains("ended") || http.contains("complete") {
                over += &format!(r#","respondedUs":{}"#, since(self.us) - 10);
            }
        }
        over + &format!(r#","durationUs":{}"#, since(self.us))
    }

    fn ends(&mut self, post: &Post, http: &str) {
        let over = self.over(post, http);
        self.about(post, &format!("{http}{over}"));
    }

    /// The request of an exchange.
    fn request_head(&mut self, method: &str, session: Option<u64>, headers: &str) -> (Post, String) {
        let x = self.next_exchange;
        self.next_exchange += 1;
        let session_header = session.map(|session| format!(r#""mcp-session-id":"s-{session}""#));
        let headers: Vec<&str> = session_header
            .as_deref()
            .into_iter()
            .chain(Some(headers))
            .filter(|header| !header.is_empty())
            .collect();
        let headers = headers.join(",");
        let connection = match self.recorder {
            Recorder::OldProxy => String::new(),
            _ => r#","connection":{"number":1,"client":"127.0.0.1:5000","listener":"made"}"#.to_owned(),
        };
        let head = format!(
            r#""request":{{"method":"{method}","target":"/mcp","version":"1.1","headers":{{{headers}}}}}{connection}"#
        );
        (Post { x, session, asked_us: self.us, head_us: None }, head)
    }

    /// A message of the client.
    fn post(&mut self, session: Option<u64>, raw: &str) -> Post {
        let (post, head) = self.request_head("POST", session, "");
        self.line(&post, r#""dir":"in""#, &head, &format!(r#","raw":{raw}"#));
        post
    }

    /// The session that the client names.
    fn named(&self) -> Option<u64> {
        matches!(self.recorder, Recorder::OldProxy | Recorder::Proxy).then_some(self.current)
    }

    /// A message that needs no answer.
    fn tell(&mut self, raw: &str) {
        let post = self.post(self.named(), raw);
        if self.recorder.is_http() {
            self.us += 40;
            self.ends(&post, r#""response":{"status":202,"version":"1.1","headers":{}},"ended":"complete""#);
        }
    }

    /// The handshake, or in the stateless revision the first request of a client.
    fn begin(&mut self) {
        self.us += 500;
        self.sessions += 1;
        self.current = self.sessions;
        let id = self.next_id;
        self.next_id += 1;
        let number = self.current;
        let peers =
            (format!(r#"{{"name":"c-{number}","version":"1"}}"#), r#"{"name":"server","version":"2"}"#);
        let (raw, result) = if self.recorder == Recorder::StatelessProxy {
            let meta = self.meta();
            let raw =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{{meta}}}}}"#);
            (raw, format!(r#"{{"_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#, peers.1))
        } else {
            let params =
                format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{}}}"#, peers.0);
            let raw = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{params}}}"#);
            (
                raw,
                format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{}}}"#, peers.1),
            )
        };
        let post = self.post(None, &raw);
        self.us += 300;
        // The server assigns the session with its answer.
        let post = Post { session: self.named(), ..post };
        let assigned =
            post.session.map(|session| format!(r#","mcp-session-id":"s-{session}""#)).unwrap_or_default();
        let head = JSON.replace("json\"", &format!("json\"{assigned}"));
        let over = self.over(&post, &head);
        self.out(
            &post,
            &format!("{head}{over}"),
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        );
    }

    /// What a client says of itself in each request since 2026-07-28.
    fn meta(&self) -> String {
        let number = self.current;
        let client = format!(r#""io.modelcontextprotocol/clientInfo":{{"name":"c-{number}","version":"1"}}"#);
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        format!(r#""_meta":{{{version},{client},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#)
    }

    /// A request and the id that its answer has.
    fn request(&mut self, which: u64) -> (String, String) {
        let id = self.next_id;
        self.next_id += 1;
        let meta = match self.recorder {
            Recorder::StatelessProxy => self.meta(),
            _ => format!(r#""_meta":{{"progressToken":{id}}}"#),
        };
        let params = match which {
            0 => format!(r#""method":"tools/list","params":{{{meta}}}"#),
            1 => format!(r#""method":"prompts/get","params":{{"name":"p",{meta}}}"#),
            _ => {
                format!(r#""method":"tools/call","params":{{"name":"tool-{which}","arguments":{{}},{meta}}}"#)
            }
        };
        // `1.0` is the number 1, and `"1"` is not.
        let (asked, answered) = match which {
            3 => (format!("{id}.0"), id.to_string()),
            4 => (format!("\"{id}\""), format!("\"{id}\"")),
            5 => (id.to_string(), format!("{id}.0")),
            _ => (id.to_string(), id.to_string()),
        };
        (format!(r#"{{"jsonrpc":"2.0","id":{asked},{params}}}"#), answered)
    }

    fn step(&mut self, what: u8, which: u64) {
        let is_http = self.recorder.is_http();
        match what {
            0..=3 => {
                let (raw, id) = self.request(which);
                let post = self.post(self.named(), &raw);
                self.open.push(Open { ids: vec![id], post });
            }
            4 => {
                let (one, other) = (self.request(which), self.request(2));
                let post = self.post(self.named(), &format!("[{},{}]", one.0, other.0));
                self.open.push(Open { ids: vec![one.1, other.1], post });
            }
            5..=8 => self.answer(which),
            // Over HTTP, the store takes the cancellation of one request of a batch for that of all. Since 2026-07-28, a client
            // cancels by closing the stream.
            9 if self.recorder != Recorder::StatelessProxy => {
                let open = self.open.last().filter(|open| !is_http || open.ids.len() == 1).cloned();
                if let Some(open) = open {
                    let reason = if which == 0 { "Request timed out" } else { "changed my mind" };
                    let params = format!(r#"{{"requestId":{},"reason":"{reason}"}}"#, open.ids[0]);
                    self.tell(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#
                    ));
                }
            }
            10 => {
                let token = self.open.last().map(|open| open.ids[0].clone()).unwrap_or_default();
                let params = format!(r#"{{"progressToken":{token},"progress":1}}"#);
                self.during(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
                ));
            }
            11 => {
                let id = 1000 + self.next_id;
                self.next_id += 1;
                let raw = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage"}}"#);
                if !is_http {
                    let post = Post { x: 0, session: None, asked_us: 0, head_us: None };
                    self.out(&post, "", &raw);
                    self.asked.push(id);
                } else if self.during(&raw) {
                    self.asked.push(id);
                }
            }
            12 => {
                if let Some(id) = self.asked.pop() {
                    self.tell(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
                }
            }
            13 | 14 if is_http => self.exchange_fails(which),
            // Since 2026-07-28, there are no streams to resume.
            15 | 16 if self.named().is_some() => self.resume(which),
            17 if is_http => self.answer_on_another_stream(which),
            18 if is_http && self.sessions < 3 => self.begin(),
            19 if is_http => self.current = 1 + which % self.sessions,
            20 => self.tell(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#),
            _ => {}
        }
    }

    /// A message of the server during the newest open request, on its stream.
    fn during(&mut self, raw: &str) -> bool {
        let Some(mut open) = self.open.pop() else { return false };
        let head = if open.is_streaming() { String::new() } else { format!("{STREAM},") };
        self.out(&open.post, &format!(r#"{head}"sse":{{"event":"message"}}"#), raw);
        open.post.head_us.get_or_insert(self.us);
        self.open.push(open);
        true
    }

    fn answers(&self, ids: &[String], which: u64) -> String {
        let outcome = match which {
            0 => r#""error":{"code":-32602,"message":"no"}"#,
            1 => r#""result":{"content":[],"isError":true}"#,
            _ => r#""result":{"content":[{"type":"text","text":"yes"}]}"#,
        };
        let answers: Vec<String> =
            ids.iter().map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)).collect();
        if answers.len() == 1 { answers[0].clone() } else { format!("[{}]", answers.join(",")) }
    }

    fn answer(&mut self, which: u64) {
        if self.open.is_empty() {
            return;
        }
        let open = self.open.remove(0);
        let raw = self.answers(&open.ids, which);
        if open.is_streaming() {
            self.out(&open.post, r#""sse":{"event":"message"}"#, &raw);
            if self.recorder.is_http() {
                self.us += 20;
                self.ends(&open.post, r#""ended":"complete""#);
            }
        } else {
            let over = self.over(&open.post, JSON);
            self.out(&open.post, &format!("{JSON}{over}"), &raw);
        }
    }

    /// The stream of a call ends before its answer, which comes on the stream that resumes it, or never.
    fn resume(&mut self, which: u64) {
        // Not for batches: the store doesn't look for their answers on other streams.
        if self.open.first().is_none_or(|open| open.is_streaming() || open.ids.len() > 1) {
            return;
        }
        let Open { ids, mut post } = self.open.remove(0);
        post.head_us = Some(self.us);
        let x = post.x;
        let priming = format!(r#"{STREAM},"sse":{{"id":"e-{x}"}}"#);
        self.line(&post, r#""type":"text","dir":"out""#, &priming, r#","text":"""#);
        let ended = if which == 0 { "client-closed" } else { "complete" };
        self.ends(&post, &format!(r#""ended":"{ended}""#));
        let (mut get, head) = self.request_head("GET", post.session, &format!(r#""last-event-id":"e-{x}""#));
        get.head_us = Some(self.us);
        self.about(&get, &format!(r#"{head},{STREAM},"ended":"open""#));
        if which < 4 {
            let raw = self.answers(&ids, 2);
            self.out(&get, &format!(r#""sse":{{"id":"f-{x}"}}"#), &raw);
        }
        self.us += 30;
        self.ends(&get, r#""ended":"complete""#);
    }

    /// The server accepts a request, and answers on a stream that was open before.
    fn answer_on_another_stream(&mut self, which: u64) {
        // Without a session, nothing says which stream belongs to which client.
        let Some(session) = self.named() else { return };
        let (mut get, head) = self.request_head("GET", Some(session), "");
        get.head_us = Some(self.us);
        self.about(&get, &format!(r#"{head},{STREAM},"ended":"open""#));
        let (raw, id) = self.request(which);
        let post = self.post(Some(session), &raw);
        self.us += 50;
        self.ends(&post, r#""response":{"status":202,"version":"1.1","headers":{}},"ended":"complete""#);
        self.us += 500;
        let raw = self.answers(&[id], which);
        self.out(&get, r#""sse":{"event":"message"}"#, &raw);
        self.us += 30;
        self.ends(&get, r#""ended":"complete""#);
    }

    fn exchange_fails(&mut self, which: u64) {
        if self.open.is_empty() {
            return;
        }
        let open = self.open.remove(0);
        let refused = |status: u16| {
            format!(
                r#""response":{{"status":{status},"version":"1.1","headers":{{}}}},"responseBody":{{"bytes":2,"text":"no"}},"ended":"complete""#
            )
        };
        let own = r#""response":{"status":502,"version":"1.1","headers":{}},"own":true"#;
        let end = match which {
            0 if open.is_streaming() => r#""ended":"complete""#.to_owned(),
            0 => refused(500),
            1 => r#""ended":"timeout""#.to_owned(),
            2 => r#""ended":"client-closed""#.to_owned(),
            3 => r#""ended":"upstream-closed""#.to_owned(),
            _ if open.is_streaming() => r#""ended":"upstream-closed""#.to_owned(),
            4 => refused(401),
            _ => format!(r#"{own},"ended":"unreachable""#),
        };
        self.ends(&open.post, &end);
    }

    fn end(mut self, end: u8) -> String {
        self.us += 5_000;
        if self.recorder.is_http() && end != 4 {
            return self.stop_proxy();
        }
        let exit = match end {
            0 => r#""exitCode":0"#,
            1 => r#""exitCode":1"#,
            2 => r#""exitCode":137,"signal":9"#,
            3 => r#""exitCode":143,"signal":15,"reason":"stopped by SIGTERM""#,
            _ => return self.lines.join("\n") + "\n",
        };
        self.lines.push(format!(
            r#"{{{},"type":"end",{exit},"durationMs":{}}}"#,
            self.stamp(),
            self.us / 1000
        ));
        self.lines.join("\n") + "\n"
    }

    /// A proxy records how each exchange ended, and has no exit code of a server.
    fn stop_proxy(mut self) -> String {
        for open in std::mem::take(&mut self.open) {
            self.ends(&open.post, r#""ended":"stopped""#);
        }
        let (stamp, ms) = (self.stamp(), self.us / 1000);
        self.lines.push(format!(
            r#"{{{stamp},"type":"end","exitCode":0,"durationMs":{ms},"reason":"wiretape was stopped"}}"#
        ));
        self.lines.join("\n") + "\n"
    }
}
