//! `wiretape demo`: a sample server and a client, with the recorder between them.
//!
//! Nothing is simulated: the recorder is `wiretape record` in its own process, and the output is that of `wiretape
//! show`.

use super::{show, view};
use crate::dirs;
use crate::error::CommandError;
use crate::output::{self, Output};
use crate::sample_server::sample_token;
use clap::{Args, FromArgMatches as _};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use wiretape_library::Catalog;

/// Record a sample session and show its trace
///
/// Starts a small built-in MCP server behind the recorder and talks to it as an MCP client would: tool calls, progress,
/// errors, and a login whose secrets must not reach the trace. Then shows the trace. On a terminal, it finally opens the
/// trace in `wiretape view`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape demo                  record into the default directory
  wiretape demo --out ./traces   record into another directory
  wiretape demo --no-view        don't open the browser")]
pub(crate) struct DemoArgs {
    /// Write the trace to DIR instead of the default directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Don't open the trace in the browser
    #[arg(long)]
    no_view: bool,
}

const LABEL: &str = "demo";

/// The client's password. Neither it nor the token in the response may be in the trace.
const PASSWORD: &str = "correct horse battery staple";

pub(crate) fn run(args: &DemoArgs) -> Result<(), CommandError> {
    let dir = args.out.clone().map_or_else(dirs::traces_dir, Ok)?;
    // The new trace is found by comparison: the recorder chooses the file name, and other recordings may run.
    let before = traces_in(&dir)?;
    introduce()?;
    let warnings = Session::start(args.out.as_deref())?.drive()?;
    let trace = traces_in(&dir)?.into_iter().find(|trace| !before.contains(trace));
    let Some(trace) = trace else {
        let error = CommandError::failure("the session succeeded, but its trace is missing");
        return Err(warnings.into_iter().fold(error, CommandError::hint));
    };
    warnings.iter().for_each(output::warn);
    show_trace(&trace)?;
    conclude(args, &trace)?;
    // A program that reads the output waits for its end, so the browser is only opened on a terminal.
    if args.no_view || !Output::stdout().is_terminal() {
        return Ok(());
    }
    writeln!(Output::stdout())?;
    view::view(&view::ViewRequest {
        traces: vec![trace.canonicalize().unwrap_or(trace)],
        diff: false,
        open: true,
        port: 0,
        dir,
        store: dirs::store_file()?,
    })
}

/// The demo traces of a directory, newest first.
fn traces_in(dir: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let entries = Catalog::open(dir, &dirs::index_dir()?)?.entries.into_iter();
    Ok(entries.filter(|entry| entry.label() == LABEL).map(|entry| entry.path).collect())
}

fn introduce() -> io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    writeln!(out, "Recording a sample MCP server and a client that uses it:")?;
    writeln!(out, "  {}\n", styles.name.paint("wiretape record --label demo -- wiretape sample-server"))?;
    out.flush()
}

/// Through the argument parser, so that it is the real command.
fn show_trace(trace: &Path) -> Result<(), CommandError> {
    let command = show::ShowArgs::augment_args(clap::Command::new("show"));
    let matches = command.get_matches_from([OsStr::new("show"), trace.as_os_str()]);
    let args = show::ShowArgs::from_arg_matches(&matches).map_err(CommandError::failure)?;
    show::run(args)
}

fn conclude(args: &DemoArgs, trace: &Path) -> Result<(), CommandError> {
    let text = std::fs::read_to_string(trace)
        .map_err(|error| CommandError::because(format!("can't read {}", trace.display()), error))?;
    let is_clean = !text.contains(PASSWORD) && !text.contains(&sample_token());
    let mut out = Output::stdout();
    let styles = out.styles;
    let secrets = if is_clean {
        "The login's password and token are not in the trace; [REDACTED:…] marks them."
    } else {
        // A configuration may disable rules, and then this is intended.
        "Your configuration disables redaction rules: the login's secrets are in the trace."
    };
    writeln!(out, "\n{secrets}\n\n{}", styles.strong.paint("Next:"))?;
    let program = program();
    let (selector, list) = match &args.out {
        None => ("latest".to_owned(), String::new()),
        Some(dir) => (quoted(trace), format!(" --dir {}", quoted(dir))),
    };
    let hints = [
        (format!("{program} view {selector}"), "open it in your browser"),
        (format!("{program} show {selector} --full"), "show every payload"),
        (format!("{program} stats {selector}"), "count calls, errors and latencies by tool"),
        (format!("{program} ls{list}"), "list all traces"),
        (format!("{program} record -- npx my-server"), "record your own server"),
    ];
    let longest = hints.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let room = out.width.unwrap_or(usize::MAX);
    for (command, what) in hints {
        let padding = " ".repeat(longest - command.chars().count());
        write!(out, "  {}", styles.name.paint(&command))?;
        // A long path leaves no room for the description.
        if longest + what.len() + 4 <= room {
            write!(out, "{padding}  {}", styles.dim.paint(what))?;
        }
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// The program as the user called it, so that printed commands can be copied.
fn program() -> String {
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    if called.components().count() > 1 { quoted(&called) } else { "wiretape".to_owned() }
}

fn quoted(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.contains(' ') { format!("\"{shown}\"") } else { shown }
}

/// The client's requests and notifications, in order.
fn script() -> Vec<Step> {
    let call = |tool: &str, arguments: Value| {
        Step::Request("tools/call", json!({ "name": tool, "arguments": arguments }))
    };
    let client = json!({ "name": "wiretape-demo", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let search = json!({
        "name": "search_notes",
        "arguments": { "query": "lisbon" },
        "_meta": { "progressToken": "search-1" },
    });
    vec![
        Step::Request("initialize", hello),
        Step::Notification("notifications/initialized"),
        Step::Request("tools/list", json!({})),
        call("weather", json!({ "city": "Lisbon" })),
        Step::Request("tools/call", search),
        call("divide", json!({ "a": 1, "b": 0 })),
        call("login", json!({ "user": "ada", "password": PASSWORD })),
        Step::Request("resources/read", json!({ "uri": "notes://today" })),
        Step::Request("prompts/get", json!({ "name": "plan_day", "arguments": { "city": "Lisbon" } })),
        Step::Request("tools/uninstall", json!({ "name": "weather" })),
        Step::Request("ping", json!({})),
    ]
}

enum Step {
    Request(&'static str, Value),
    Notification(&'static str),
}

/// A recorder with the sample server behind it, as a client starts it.
struct Session {
    recorder: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: JoinHandle<String>,
}

impl Session {
    fn start(out: Option<&Path>) -> Result<Self, CommandError> {
        let failed = |error| CommandError::because("can't start the recorder", error);
        let this = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(&this);
        // Its warnings are parsed and printed again, in our own colors.
        command.args(["--color", "never", "record", "--label", LABEL]);
        if let Some(dir) = out {
            command.args([OsString::from("--out"), dir.into()]);
        }
        command.arg("--").arg(&this).arg("sample-server");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut recorder = command.spawn().map_err(failed)?;
        let (stdin, stdout, stderr) = (recorder.stdin.take(), recorder.stdout.take(), recorder.stderr.take());
        let (Some(stdin), Some(stdout), Some(mut stderr)) = (stdin, stdout, stderr) else {
            return Err(CommandError::failure("can't get the recorder's pipes"));
        };
        // On a thread of its own: a recorder that fills the pipe would block, and its client with it.
        let stderr = std::thread::spawn(move || {
            let mut recorder_output = Vec::new();
            // Lines that can't be read are skipped.
            let _ = stderr.read_to_end(&mut recorder_output);
            String::from_utf8_lossy(&recorder_output).into_owned()
        });
        Ok(Session { recorder, stdin, stdout: BufReader::new(stdout), stderr })
    }

    /// Runs the script, and returns the recorder's warnings.
    fn drive(mut self) -> Result<Vec<String>, CommandError> {
        let driven = self.play();
        let Session { mut recorder, stdin, stderr, .. } = self;
        // The recorder ends at the end of its input; otherwise the wait below would never return.
        drop(stdin);
        let status = recorder
            .wait()
            .map_err(|error| CommandError::because("can't get the recorder's exit status", error))?;
        let recorder_output = stderr.join().unwrap_or_default();
        if driven.is_ok() && status.success() {
            return Ok(warnings(&recorder_output));
        }
        let error = match driven {
            Err(error) => CommandError::because("the demo session was interrupted", error),
            Ok(()) => CommandError::failure(format!("the recorder failed: {status}")),
        };
        Err(recorder_output
            .lines()
            .fold(error, |error, line| error.hint(format!("its last warning: {line}"))))
    }

    fn play(&mut self) -> io::Result<()> {
        let mut id = 0;
        for step in script() {
            match step {
                Step::Request(method, params) => {
                    id += 1;
                    self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
                    self.wait_for_answer(id)?;
                }
                Step::Notification(method) => self.send(&json!({ "jsonrpc": "2.0", "method": method }))?,
            }
        }
        Ok(())
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        self.stdin.write_all(line.as_bytes())
    }

    fn wait_for_answer(&mut self, id: i32) -> io::Result<()> {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let message: Value = serde_json::from_str(&line)?;
            // Notifications, such as progress, arrive before the response.
            if message["id"] == id {
                return Ok(());
            }
        }
    }
}

/// A warning of the recorder; the server's own standard error is in the trace.
fn warnings(stderr: &str) -> Vec<String> {
    let warnings = stderr.lines().filter_map(|line| line.strip_prefix("warning: "));
    warnings.map(str::to_owned).collect()
}
