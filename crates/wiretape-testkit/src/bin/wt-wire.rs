//! Records the raw bytes of a stdio connection: wraps a command, copies bytes both ways, and appends those of the
//! client to `PREFIX.in` and those of the server to `PREFIX.out`. It knows nothing of lines or messages, so that a
//! recorder's trace can be checked against its files.
//!
//! `wt-wire PREFIX CMD ARGS…`

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use wiretape_testkit::stdio::{raw_stdin, raw_stdout};

fn main() -> io::Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let usage = || io::Error::other("usage: wt-wire PREFIX CMD ARGS…");
    let prefix = arguments.next().ok_or_else(usage)?;
    let program = arguments.next().ok_or_else(usage)?;
    let (input, output) = (append_to(&prefix, ".in")?, append_to(&prefix, ".out")?);
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let to_server = child.stdin.take().expect("stdin was configured as a pipe");
    let from_server = child.stdout.take().expect("stdout was configured as a pipe");
    let from_client = raw_stdin()?;
    // If the client never closes its input, this thread ends with the process.
    thread::spawn(move || copy(from_client, to_server, input));
    copy(from_server, raw_stdout()?, output)?;
    let status = child.wait()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn append_to(prefix: &OsString, suffix: &str) -> io::Result<File> {
    let mut path = prefix.clone();
    path.push(suffix);
    OpenOptions::new().create(true).append(true).open(path)
}

fn copy(mut from: impl Read, mut to: impl Write, mut log: File) -> io::Result<()> {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        // Logged first, so that the log has everything that a peer has seen.
        log.write_all(&chunk[..count])?;
        to.write_all(&chunk[..count])?;
    }
}
