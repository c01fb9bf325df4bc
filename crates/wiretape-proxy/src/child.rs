//! A server that Wiretape runs as a child process: line-based reading and writing on threads, and an orderly end.
//!
//! Used by `replay` and `verify`, which are themselves the server's client. `wiretape record` has its own pumps, because
//! there a client waits for every byte.

use crate::platform::{Exit, Process};
use std::io::{Read, Write as _};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use wiretape_trace::framing::LineFramer;

/// Bytes per read: the capacity of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// How long a server that closed its stdin may still write to stdout: its last responses often follow.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// How long a server may take to exit after its stdin was closed.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// Reads lines on a separate thread and calls `each` with every one; `None` is the end of the stream.
pub(crate) fn read_lines(
    mut stdout: impl Read + Send + 'static,
    mut each: impl FnMut(Option<Vec<u8>>) + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut framer = LineFramer::new();
        let mut chunk = vec![0; CHUNK];
        // An error ends the stream like its regular end: the process is gone either way, and its exit status says
        // why.
        while let Ok(n @ 1..) = stdout.read(&mut chunk) {
            framer.push(&chunk[..n]);
            while let Some(frame) = framer.next_frame() {
                each(Some(frame.bytes.to_vec()));
            }
        }
        if let Some(frame) = framer.finish() {
            each(Some(frame.bytes.to_vec()));
        }
        each(None);
    });
}

/// Writes lines on a separate thread, so that a server that doesn't read can't block the caller. `failed` is called when a
/// write fails, after a pause in which the server's last output can arrive.
pub(crate) fn write_lines(
    mut stdin: ChildStdin,
    lines: Receiver<Vec<u8>>,
    failed: impl FnOnce() + Send + 'static,
) {
    std::thread::spawn(move || {
        for mut line in lines {
            line.push(b'\n');
            if stdin.write_all(&line).is_err() {
                // The caller would otherwise report "closed its input" before the error that the server has just
                // printed.
                std::thread::sleep(OUTPUT_GRACE);
                return failed();
            }
        }
    });
}

/// The end of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessEnd {
    /// It exited when its stdin was closed, or before.
    ByItself(Exit),
    /// It had to be terminated.
    Forced(Option<Exit>),
}

impl ProcessEnd {
    /// The exit status, if it is known.
    pub(crate) fn exit(self) -> Option<Exit> {
        match self {
            ProcessEnd::ByItself(exit) => Some(exit),
            ProcessEnd::Forced(exit) => exit,
        }
    }
}

/// Waits up to [`EXIT_GRACE`] for a process whose stdin was closed, then terminates it with everything that it started.
pub(crate) fn end_process(process: Process) -> ProcessEnd {
    let process = Arc::new(process);
    let (sender, ended) = channel();
    let waiting = Arc::clone(&process);
    let waiter = std::thread::spawn(move || {
        let waited = waiting.wait();
        // Before the message is sent, so that the caller is then the only owner and can reap the process.
        drop(waiting);
        // The receiver is gone if the wait below has timed out.
        let _ = sender.send(waited);
    });
    let is_over = matches!(ended.recv_timeout(EXIT_GRACE), Ok(Ok(())));
    // Also after a regular exit: processes that the server started may have outlived it (invariant 9).
    process.end_group();
    let _ = waiter.join();
    let exit = Arc::into_inner(process).and_then(|process| process.reap().ok());
    match exit.filter(|_| is_over) {
        Some(exit) => ProcessEnd::ByItself(exit),
        None => ProcessEnd::Forced(exit),
    }
}
