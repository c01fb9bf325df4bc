//! The floor that `wiretape record` is measured against: a byte-copying tee that also appends lines to a file, and
//! does nothing else. No JSON, no redaction, no timestamps, no signals.
//!
//! `wt-tee record --out DIR --label NAME -- CMD ARGS…`: the recorder's own command line, so that both are started the
//! same way.

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;

use memchr::memrchr;
use wiretape_testkit::stdio::{raw_stdin, raw_stdout};

const CHUNK: usize = 64 * 1024;
const USAGE: &str = "usage: wt-tee record --out DIR --label NAME -- CMD ARGS…";

fn main() -> io::Result<ExitCode> {
    let (path, command) = parse(env::args_os().skip(1)).ok_or_else(|| io::Error::other(USAGE))?;
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut child = spawn(&command)?;
    copy_both_ways(&mut child, &file)?;
    Ok(exit_code(child.wait()?))
}

/// The file to write and the command to run.
fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<(PathBuf, Vec<OsString>)> {
    expect(&mut arguments, "record")?;
    expect(&mut arguments, "--out")?;
    let directory = PathBuf::from(arguments.next()?);
    expect(&mut arguments, "--label")?;
    let mut name = arguments.next()?;
    name.push(".jsonl");
    expect(&mut arguments, "--")?;
    Some((directory.join(name), arguments.collect()))
}

fn expect(arguments: &mut impl Iterator<Item = OsString>, word: &str) -> Option<()> {
    (arguments.next()? == word).then_some(())
}

fn spawn(command: &[OsString]) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or_else(|| io::Error::other(USAGE))?;
    Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// Returns when the child's output has ended; the thread that waits for more input ends with the process.
fn copy_both_ways(child: &mut Child, file: &File) -> io::Result<()> {
    let (from_client, to_client) = (raw_stdin()?, raw_stdout()?);
    let to_server = child.stdin.take().expect("stdin was configured as a pipe");
    let from_server = child.stdout.take().expect("stdout was configured as a pipe");
    let input_file = file.try_clone()?;
    thread::spawn(move || copy(from_client, to_server, input_file));
    copy(from_server, to_client, file.try_clone()?)
}

/// Reads a chunk, forwards it, and appends the lines that it completed with one write, until the input ends.
fn copy(mut from: impl Read, mut to: impl Write, mut file: File) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut unfinished = Vec::new();
    loop {
        let count = from.read(&mut chunk)?;
        if count == 0 {
            return file.write_all(&unfinished);
        }
        // Forwarded first, unlike in the recorder: the floor doesn't pay for writing ahead.
        to.write_all(&chunk[..count])?;
        append_lines(&mut file, &mut unfinished, &chunk[..count])?;
    }
}

fn append_lines(file: &mut File, unfinished: &mut Vec<u8>, chunk: &[u8]) -> io::Result<()> {
    let Some(newline) = memrchr(b'\n', chunk) else {
        unfinished.extend_from_slice(chunk);
        return Ok(());
    };
    let (lines, rest) = chunk.split_at(newline + 1);
    if unfinished.is_empty() {
        file.write_all(lines)?;
    } else {
        unfinished.extend_from_slice(lines);
        file.write_all(unfinished)?;
        unfinished.clear();
    }
    unfinished.extend_from_slice(rest);
    Ok(())
}

fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
