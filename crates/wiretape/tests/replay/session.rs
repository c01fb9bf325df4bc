//! Sessions of real clients with a real server, recorded, and with the recording.

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wiretape_testkit::parts::{Parts, VARIABLE};

/// Which SDK the client is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sdk {
    TypeScript,
    Python,
    PythonFirst,
}

impl Sdk {
    pub(crate) const ALL: [Sdk; 3] = [Sdk::TypeScript, Sdk::Python, Sdk::PythonFirst];
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

/// A folder for a test, and what is run in it.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Home { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `wiretape`, as the words of a command.
    pub(crate) fn wiretape(&self, words: &[&str]) -> Vec<String> {
        let program = env!("CARGO_BIN_EXE_wiretape").to_owned();
        std::iter::once(program).chain(words.iter().map(|word| (*word).to_owned())).collect()
    }

    /// The traces that were recorded here.
    pub(crate) fn traces(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("data/traces")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The only one.
    pub(crate) fn trace(&self) -> PathBuf {
        let mut traces = self.traces();
        assert_eq!(traces.len(), 1, "{traces:?}");
        traces.remove(0)
    }

    /// A client's output for a scenario with a server at this address or command.
    pub(crate) fn run(&self, parts: &Parts, sdk: Sdk, kind: &str, url: &str, scenario: &str) -> Told {
        let mut command = client(parts, sdk);
        command.args([kind, url, scenario]);
        if sdk == Sdk::TypeScript {
            command.arg(self.path("crossed")).arg("");
        }
        command.env("WIRETAPE_DATA_DIR", self.path("data")).current_dir(self.dir.path());
        let Output { status, stdout, stderr } = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        assert!(status.success(), "{command:?}: {stderr}");
        Told { stdout: String::from_utf8(stdout).unwrap(), stderr }
    }

    /// The same over stdio.
    pub(crate) fn run_stdio(&self, parts: &Parts, sdk: Sdk, server: &[String], scenario: &str) -> Told {
        self.run(parts, sdk, "stdio", &serde_json::to_string(server).unwrap(), scenario)
    }

    /// Records a scenario with server-everything over stdio.
    pub(crate) fn record(&self, parts: &Parts, sdk: Sdk, scenario: &str) -> Told {
        let mut words = self.wiretape(&["record", "--no-store", "--no-redact", "--"]);
        let server = parts.server_everything();
        words.push(server.get_program().to_str().unwrap().to_owned());
        words.extend(server.get_args().map(|word| word.to_str().unwrap().to_owned()));
        self.run_stdio(parts, sdk, &words, scenario)
    }
}

/// A client's output, and the server's standard error.
pub(crate) struct Told {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Told {
    /// Without the output of a step.
    pub(crate) fn without(mut self, step: &str) -> Self {
        let beginning = format!("[\"{step}\",");
        let lines = self.stdout.lines().filter(|line| !line.starts_with(&beginning));
        self.stdout = lines.map(|line| format!("{line}\n")).collect();
        self
    }

    /// Asserts that the output equals another one.
    pub(crate) fn check_same(&self, other: &Told) {
        for (one, other) in self.stdout.lines().zip(other.stdout.lines()) {
            assert_eq!(one, other);
        }
        assert_eq!(self.stdout.len(), other.stdout.len());
        assert!(!self.stdout.is_empty());
    }
}

fn client(parts: &Parts, sdk: Sdk) -> Command {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pairs/clients");
    let python = |python: PathBuf| {
        let mut command = Command::new(python);
        command.arg(clients.join("client.py"));
        command
    };
    match sdk {
        Sdk::TypeScript => {
            let mut command = Command::new("node");
            command.arg(clients.join("client.mjs"));
            command.arg(parts.npm().join("node_modules/@modelcontextprotocol/sdk"));
            command
        }
        Sdk::Python => python(parts.python()),
        Sdk::PythonFirst => python(parts.python_v1()),
    }
}

/// A trace as the reference producer would have written it: without our own fields, parsed and serialized again, and
/// redacted by the names of members, schemas included.
pub(crate) fn as_reference_producer(trace: &str) -> String {
    let mut lines = String::new();
    for line in trace.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let kind = line["type"].as_str().unwrap_or_default().to_owned();
        if kind == "stderr" || kind == "text" {
            continue;
        }
        let object = line.as_object_mut().unwrap();
        for field in ["seq", "us", "wire", "id", "producer", "transport", "redacted"] {
            object.remove(field);
        }
        if let Some(raw) = object.get_mut("raw") {
            redact(raw);
        }
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name.to_lowercase().contains("token") || name.contains("password") {
                    *member = "[REDACTED]".into();
                } else {
                    redact(member);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(redact),
        _ => {}
    }
}
