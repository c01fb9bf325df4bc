//! A place of its own for each test, and the binary to run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};
use wiretape_trace::format::{LineEnd, Meta, Moment, TraceWriter};
use wiretape_trace::message::Direction;

/// 2026-05-12T23:00:00.000Z
pub(crate) const START_MS: i64 = 1_778_626_800_000;

/// A data directory, and the binary that uses it.
pub(crate) struct TestEnvironment {
    dir: tempfile::TempDir,
}

impl TestEnvironment {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("traces")).unwrap();
        TestEnvironment { dir }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.dir.path()
    }

    /// Where a trace of that name lies.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("traces").join(name)
    }

    /// A file with that content.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Makes a file that many days old.
    pub(crate) fn age(&self, name: &str, days: u32) {
        let file = std::fs::File::options().append(true).open(self.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(86_400) * days).unwrap();
    }

    /// A trace of one successful and one failed call that started `seconds` after `START_MS`.
    pub(crate) fn trace(&self, name: &str, id: &str, seconds: i64) -> PathBuf {
        self.file(name, sample_trace(id, name.split('.').next().unwrap(), seconds))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
        command.args(args).env("WIRETAPE_DATA_DIR", self.data_dir()).current_dir(self.data_dir());
        command
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary and returns its output and exit code, with this environment's paths as `$DATA`.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.tell(&self.command(args).output().unwrap())
    }

    pub(crate) fn tell(&self, output: &Output) -> String {
        let mut told = self.redact(&output.stdout);
        if !output.stderr.is_empty() {
            told.push_str("--- stderr ---\n");
            told.push_str(&self.redact(&output.stderr));
        }
        told.push_str(&format!("--- exit {} ---\n", output.status.code().unwrap_or(-1)));
        told
    }

    /// Text with this environment's paths as `$DATA`.
    pub(crate) fn redact(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        text.replace(&self.data_dir().display().to_string(), "$DATA").replace("$DATA\\", "$DATA/")
    }
}

/// The time at an offset in microseconds in a trace that started `seconds` after `START_MS`.
pub(crate) fn moment(seconds: i64, us: u64) -> Moment {
    Moment { wall_ms: START_MS + seconds * 1000 + us as i64 / 1000, us }
}

pub(crate) fn sample_meta(id: &str, label: &str) -> Meta {
    Meta {
        label: label.to_owned(),
        command: vec!["npx".into(), "-y".into(), "my-server".into()],
        id: Some(id.to_owned()),
        ..Meta::default()
    }
}

pub(crate) fn sample_trace(id: &str, label: &str, seconds: i64) -> Vec<u8> {
    use Direction::{ClientToServer, ServerToClient};
    let at = |us| moment(seconds, us);
    let mut writer = TraceWriter::new(Vec::new(), at(0), &sample_meta(id, label)).unwrap();
    let mut send = |us, dir, raw: &str| writer.message(at(us), dir, raw.as_bytes()).unwrap();
    send(
        1_000,
        ClientToServer,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1.0,"b":2}}}"#,
    );
    send(
        1_450,
        ServerToClient,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}}"#,
    );
    send(2_000, ServerToClient, "Listening on stdio");
    send(
        5_000,
        ClientToServer,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"divide","arguments":{"a":1,"b":0}}}"#,
    );
    send(
        25_300,
        ServerToClient,
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"division by zero"}],"isError":true}}"#,
    );
    send(30_000, ClientToServer, r#"{"jsonrpc":"2.0","id":3,"method":"tools/nope"}"#);
    send(
        30_200,
        ServerToClient,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}"#,
    );
    send(31_000, ServerToClient, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    writer.stderr(at(40_000), b"\x1b[33mwarning:\x1b[0m bye").unwrap();
    let end = LineEnd { exit_code: 0, duration_ms: 1500, ..LineEnd::default() };
    writer.end(at(1_500_000), &end).unwrap()
}
