//! A client, a server, and optionally a proxy between them.

use crate::{lint, store};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use wiretape_testkit::parts::{Parts, VARIABLE};
use wiretape_testkit::service::Service;

/// After this a process is killed and its test fails: generous, for the machine may be busy.
const LIMIT: Duration = Duration::from_secs(180);

/// What lint finds in these sessions.
const KNOWN: [lint::Known; 2] = [
    ("unknown-tool-called", "the clients call a tool that is not there, to see the error"),
    ("not-a-message", "the server's SDK sends `{}` on a stream that is taken up again"),
];

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Streamable,
    Sse,
}

/// Which SDK the client is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sdk {
    TypeScript,
    Python,
    PythonFirst,
}

/// The result of a scenario.
pub(crate) struct Run {
    /// The client's output, one line per step.
    pub(crate) told: String,
    /// What crossed the client's transports, if the client knows: direction and message, counted.
    pub(crate) crossed: BTreeMap<String, usize>,
    /// The same from the traces, if there was a proxy.
    pub(crate) recorded: BTreeMap<String, usize>,
    /// How many traces there are.
    pub(crate) traces: usize,
}

/// The parts, if there are any to be had.
pub(crate) fn parts() -> Option<Parts> {
    let parts = Parts::from_environment();
    if parts.is_none() {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        let text = format!(
            "SKIPPED {test}: {VARIABLE} is not set; `cargo xtask test` runs this with real servers and SDKs\n"
        );
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    parts
}

/// Runs a scenario directly, then through the proxy; the client's output must be the same. Returns the second result.
pub(crate) fn check_same(parts: &Parts, sdk: Sdk, transport: Transport, scenario: &str, option: &str) -> Run {
    let direct = run(parts, sdk, transport, scenario, option, None);
    let home = tempfile::tempdir().unwrap();
    let through = run(parts, sdk, transport, scenario, option, Some(home.path()));
    for (through, direct) in through.told.lines().zip(direct.told.lines()) {
        assert_eq!(through, direct);
    }
    assert_eq!(through.told.len(), direct.told.len());
    assert!(!direct.told.is_empty());
    through
}

fn run(
    parts: &Parts,
    sdk: Sdk,
    transport: Transport,
    scenario: &str,
    option: &str,
    home: Option<&Path>,
) -> Run {
    // A server of its own for each run: it remembers.
    let server = everything(parts, transport);
    let proxy = home.map(|home| proxy(home, server.address()));
    let address = proxy.as_ref().map_or(server.address(), Service::address);
    let scratch = tempfile::tempdir().unwrap();
    let crossed = scratch.path().join("crossed");
    let mut client = client(parts, sdk, transport, address, scenario, &crossed, option);
    let output = client.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{client:?}: {stderr}");
    if let Some(proxy) = proxy {
        assert!(proxy.stop().unwrap().success());
    }
    let traces = home.map(traces_in).unwrap_or_default();
    if let Some(home) = home {
        store::check(home, &traces);
        lint::check(&traces, &KNOWN);
    }
    Run {
        told: String::from_utf8(output.stdout).unwrap(),
        crossed: fs::read_to_string(&crossed).map(|text| crossed_in(&text)).unwrap_or_default(),
        recorded: recorded_in(&traces),
        traces: traces.len(),
    }
}

fn everything(parts: &Parts, transport: Transport) -> Service {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut command = parts.server_everything_over(match transport {
        Transport::Streamable => "streamableHttp",
        Transport::Sse => "sse",
    });
    command.env("PORT", port.to_string()).env("GZIP_MAX_FETCH_SIZE", "100000000");
    Service::spawn_at(command, SocketAddr::from((Ipv4Addr::LOCALHOST, port)), LIMIT).unwrap()
}

fn proxy(home: &Path, upstream: SocketAddr) -> Service {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
    command.env("WIRETAPE_DATA_DIR", home).args(["proxy", "--no-redact", "--listen", "127.0.0.1:0"]);
    command.args(["--upstream", &format!("http://{upstream}")]).args(["--drain", "5s"]);
    Service::spawn(command, LIMIT).unwrap()
}

fn client(
    parts: &Parts,
    sdk: Sdk,
    transport: Transport,
    address: SocketAddr,
    scenario: &str,
    crossed: &Path,
    option: &str,
) -> Command {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pairs/clients");
    let (kind, path) = match transport {
        Transport::Streamable => ("streamable", "/mcp"),
        Transport::Sse => ("sse", "/sse"),
    };
    let url = format!("http://{address}{path}");
    let mut command = match sdk {
        Sdk::TypeScript => {
            let mut command = Command::new("node");
            command.arg(clients.join("client.mjs"));
            command.arg(parts.npm().join("node_modules/@modelcontextprotocol/sdk"));
            command
        }
        Sdk::Python | Sdk::PythonFirst => {
            let python = if sdk == Sdk::Python { parts.python() } else { parts.python_v1() };
            let mut command = Command::new(python);
            command.arg(clients.join("client.py"));
            command
        }
    };
    command.args([kind, &url, scenario]);
    if sdk == Sdk::TypeScript {
        command.arg(crossed).arg(option);
    }
    command
}

fn traces_in(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("traces")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// A message and its direction, in a form that can be compared.
fn line(dir: &Value, message: &Value) -> String {
    format!("{} {message}", dir.as_str().unwrap())
}

fn crossed_in(text: &str) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for one in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        *all.entry(line(&one[0], &one[1])).or_default() += 1;
    }
    all
}

fn recorded_in(traces: &[PathBuf]) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for trace in traces {
        let text = fs::read_to_string(trace).unwrap();
        assert!(text.lines().last().unwrap().contains("\"type\":\"end\""), "{}", trace.display());
        for one in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            if let Some(raw) = one.get("raw") {
                *all.entry(line(&one["dir"], raw)).or_default() += 1;
            }
        }
    }
    all
}

impl Run {
    /// What the client sent and got is what the traces have.
    pub(crate) fn check_recorded(&self) {
        assert!(self.crossed.len() > 3, "{:?}", self.crossed);
        for (message, count) in &self.crossed {
            let message_start: String = message.chars().take(300).collect();
            assert_eq!(self.recorded.get(message), Some(count), "{message_start}");
        }
        for message in self.recorded.keys() {
            let message_start: String = message.chars().take(300).collect();
            assert!(self.crossed.contains_key(message), "the client never saw {message_start}");
        }
    }

    /// Every request in the traces has an answer, except for this many.
    pub(crate) fn check_answered(&self, unanswered: usize) {
        let messages: Vec<Value> = self
            .recorded
            .iter()
            .flat_map(|(line, count)| std::iter::repeat_n(line, *count))
            .map(|line| {
                let (dir, message) = line.split_once(' ').unwrap();
                serde_json::json!({ "dir": dir, "message": serde_json::from_str::<Value>(message).unwrap() })
            })
            .collect();
        let count = |wanted: &dyn Fn(&Value) -> bool| {
            messages.iter().filter(|one| one["message"].get("id").is_some() && wanted(one)).count()
        };
        for (asker, answerer) in [("in", "out"), ("out", "in")] {
            let asked = count(&|one| one["dir"] == asker && one["message"].get("method").is_some());
            let answered = count(&|one| one["dir"] == answerer && one["message"].get("method").is_none());
            let missing = if asker == "in" { unanswered } else { 0 };
            assert_eq!(answered + missing, asked, "{asker}");
        }
    }

    pub(crate) fn check_steps(&self, steps: &[&str]) {
        for step in steps {
            assert!(
                self.told.contains(&format!("[\"{step}\",")),
                "the client never came to {step:?}: {}",
                self.told
            );
        }
    }
}
