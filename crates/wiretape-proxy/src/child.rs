//! A server that is a process of ours: what it is sent and what it says, line by line, and its end.

use crate::platform::{Exit, Process};
use std::io::{Read, Write as _};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use wiretape_trace::framing::LineFramer;

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// How long a server that reads no more may go on to say what it still has to say.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long a server may take to end when its input has ended.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Reads lines on a thread of its own, and hands each to `each`; `None` is the end.
pub(crate) fn read_lines(
    mut stdout: impl Read + Send + 'static,
    mut each: impl FnMut(Option<Vec<u8>>) + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut framer = LineFramer::new();
        let mut chunk = vec![0; CHUNK];
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

/// Writes lines on a thread of its own: a server that doesn't read makes nobody wait. `failed` is called if it reads no more, after
/// what it said before its end.
pub(crate) fn write_lines(
    mut stdin: ChildStdin,
    lines: Receiver<Vec<u8>>,
    failed: impl FnOnce() + Send + 'static,
) {
    std::thread::spawn(move || {
        for mut line in lines {
            line.push(b'\n');
            if stdin.write_all(&line).is_err() {
                std::thread::sleep(LAST_WORDS);
                return failed();
            }
        }
    });
}

/// How a process came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It ended when its input did, or before.
    ByItself(Exit),
    /// It had to be ended.
    Forced(Option<Exit>),
}

impl End {
    /// How it ended, if that is known.
    pub(crate) fn exit(self) -> Option<Exit> {
        match self {
            End::ByItself(exit) => Some(exit),
            End::Forced(exit) => exit,
        }
    }
}

/// Waits for a process whose input has ended, but not for ever; then it is ended. What it has started is ended, too.
pub(crate) fn end_process(process: Process) -> End {
    let process = Arc::new(process);
    let (sender, ended) = channel();
    let waiting = Arc::clone(&process);
    let waiter = std::thread::spawn(move || {
        let waited = waiting.wait();
        drop(waiting);
        // Nobody may want to know any more.
        let _ = sender.send(waited);
    });
    let is_over = matches!(ended.recv_timeout(LAST_MOMENT), Ok(Ok(())));
    process.end_group();
    let _ = waiter.join();
    let exit = Arc::into_inner(process).and_then(|process| process.reap().ok());
    match exit.filter(|_| is_over) {
        Some(exit) => End::ByItself(exit),
        None => End::Forced(exit),
    }
}
