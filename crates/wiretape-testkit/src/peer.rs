//! A client's end of a process: started with piped stdio, driven message by message or as fast as possible.
//!
//! Everything assumes a server that echoes, and checks that the echo equals what was sent, byte for byte: a recorder
//! that is fast because it loses bytes must not win a benchmark.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use memchr::memchr;

use crate::watchdog::Watchdog;

/// The default capacity of a pipe on Linux, in bytes.
const CHUNK: usize = 64 * 1024;

/// A process under test, killed when dropped or when it takes longer than its limit.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    received: Vec<u8>,
    watchdog: Option<Watchdog>,
}

impl Peer {
    /// Starts `command` with stdin and stdout piped; its stderr is left as the caller set it. After `limit` it is
    /// killed, and whatever waits for it fails.
    pub fn spawn(command: &mut Command, limit: Duration) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let watchdog = Some(Watchdog::new(child.id(), limit));
        Ok(Self { child, stdin, stdout, received: Vec::new(), watchdog })
    }

    /// The id of the peer's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes `bytes` to the process.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        open(&mut self.stdin)?.write_all(bytes)
    }

    /// The next line of the process's output, with its newline; at the end of the output, the rest without one. Empty
    /// after that.
    pub fn receive_line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(newline) = memchr(b'\n', &self.received) {
                let rest = self.received.split_off(newline + 1);
                return Ok(std::mem::replace(&mut self.received, rest));
            }
            let start = self.received.len();
            self.received.resize(start + CHUNK, 0);
            let count = open(&mut self.stdout)?.read(&mut self.received[start..])?;
            self.received.truncate(start + count);
            if count == 0 {
                return Ok(std::mem::take(&mut self.received));
            }
        }
    }

    /// The next `count` bytes that the process writes, whether or not they end a line.
    pub fn receive_exact(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let stdout = open(&mut self.stdout)?;
        let have = self.received.len();
        if have < count {
            self.received.resize(count, 0);
            stdout.read_exact(&mut self.received[have..])?;
        }
        let rest = self.received.split_off(count);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    /// Sends one message and reads its echo. The duration is from before the write to after the last read.
    pub fn round_trip(&mut self, message: &[u8]) -> io::Result<Duration> {
        self.received.clear();
        self.received.resize(message.len(), 0);
        let (stdin, stdout) = (open(&mut self.stdin)?, open(&mut self.stdout)?);
        let start = Instant::now();
        stdin.write_all(message)?;
        stdout.read_exact(&mut self.received)?;
        let elapsed = start.elapsed();
        check_echo(message, &self.received)?;
        self.received.clear();
        Ok(elapsed)
    }

    /// Sends all messages, with at most a window of them in flight, and reads the echoes. Returns as soon as the last
    /// byte has arrived.
    pub fn pipeline(&mut self, pipeline: &Pipeline<'_>) -> io::Result<Duration> {
        let progress = Progress::default();
        let (stdin, stdout) = (open(&mut self.stdin)?, open(&mut self.stdout)?);
        let start = Instant::now();
        thread::scope(|scope| {
            let writer = scope.spawn(|| pipeline.write(stdin, &progress));
            let read = read_echoes(stdout, pipeline.messages, &progress, writer.thread());
            let elapsed = start.elapsed();
            let written = writer.join().expect("the writer returns its errors and has no panic");
            // The reader's error first: that of the writer is usually its consequence.
            read.and(written).map(|()| elapsed)
        })
    }

    /// Reads and discards `bytes` bytes.
    pub fn drain(&mut self, mut bytes: u64) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        while bytes > 0 {
            match open(&mut self.stdout)?.read(&mut chunk)? {
                0 => return Err(short(bytes)),
                count => bytes = bytes.saturating_sub(count as u64),
            }
        }
        Ok(())
    }

    /// Closes the process's stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Stops reading, so that the process gets a broken pipe when it continues to write.
    pub fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// Kills the process with SIGKILL and waits for it.
    pub fn kill(mut self) -> io::Result<ExitStatus> {
        self.watchdog = None;
        self.child.kill()?;
        self.child.wait()
    }

    /// Closes the process's stdin, reads the rest of its output, and waits for it to exit.
    pub fn finish(mut self) -> io::Result<(ExitStatus, Vec<u8>)> {
        self.close_stdin();
        let mut rest = std::mem::take(&mut self.received);
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_end(&mut rest)?;
        }
        let status = self.child.wait()?;
        Ok((status, rest))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // First: a watchdog must not fire once the process was waited for, since its id may be reused.
        self.watchdog = None;
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Messages that a client sends without waiting for each answer.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline<'a> {
    /// The messages, one after the other.
    pub messages: &'a [u8],
    /// The length of each message, in bytes.
    pub length: usize,
    /// The maximum number of messages in flight.
    pub window: usize,
    /// How the messages are grouped into writes.
    pub writes: Writes,
}

/// How a pipelining client writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Each message by itself, as MCP clients do.
    EachMessage,
    /// As many messages at once as the window allows and a pipe holds.
    Bulk,
}

impl Pipeline<'_> {
    fn write(&self, stdin: &mut ChildStdin, progress: &Progress) -> io::Result<()> {
        let most = match self.writes {
            Writes::EachMessage => self.length,
            Writes::Bulk => CHUNK,
        };
        let mut sent = 0;
        while sent < self.messages.len() && !progress.failed.load(Ordering::Acquire) {
            let answered = progress.received.load(Ordering::Acquire);
            let allowed = self.messages.len().min(answered + self.window * self.length);
            if sent == allowed {
                // No wake-up is lost: the reader unparks after every read, and an unpark before this makes `park`
                // return at once.
                thread::park();
                continue;
            }
            let end = allowed.min(sent + most);
            stdin.write_all(&self.messages[sent..end])?;
            sent = end;
        }
        Ok(())
    }
}

/// The progress of the reader of a pipelined run, shared with the writer.
#[derive(Default)]
struct Progress {
    received: AtomicUsize,
    failed: AtomicBool,
}

fn read_echoes(
    stdout: &mut ChildStdout,
    messages: &[u8],
    progress: &Progress,
    writer: &Thread,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut received = 0;
    while received < messages.len() {
        let result = read_echo(stdout, &mut chunk, &messages[received..]);
        received += *result.as_ref().unwrap_or(&0);
        progress.received.store(received, Ordering::Release);
        progress.failed.store(result.is_err(), Ordering::Release);
        writer.unpark();
        result?;
    }
    Ok(())
}

fn read_echo(stdout: &mut ChildStdout, chunk: &mut [u8], expected: &[u8]) -> io::Result<usize> {
    let count = stdout.read(chunk)?;
    if count == 0 {
        return Err(short(expected.len() as u64));
    }
    let expected = expected.get(..count).ok_or_else(|| io::Error::other("more came back than went out"))?;
    check_echo(expected, &chunk[..count])?;
    Ok(count)
}

fn open<P>(pipe: &mut Option<P>) -> io::Result<&mut P> {
    pipe.as_mut().ok_or_else(|| io::Error::other("this end of the pipe has been closed"))
}

fn check_echo(sent: &[u8], received: &[u8]) -> io::Result<()> {
    if sent == received { Ok(()) } else { Err(io::Error::other("what came back is not what went out")) }
}

fn short(missing: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the process ended its output {missing} bytes early"),
    )
}
