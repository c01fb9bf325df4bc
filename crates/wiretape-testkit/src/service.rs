//! An HTTP server in a process: started, located by the URL that it prints, and stopped.

use std::io::{self, BufRead, BufReader, PipeReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::http;
use crate::watchdog::Watchdog;

/// The time limit for starting, far above what a server needs even on a busy machine.
const START: Duration = Duration::from_secs(30);
/// The time limit for stopping.
const STOP: Duration = Duration::from_secs(30);
/// The time limit for reading its remaining output.
const LAST_WORDS: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_millis(2);
/// The maximum of output to append_output, in bytes.
const KEPT: usize = 16 * 1024;

/// A running server, killed when dropped or when it takes longer than its limit.
#[derive(Debug)]
pub struct Service {
    child: Child,
    address: SocketAddr,
    output: Arc<Mutex<String>>,
    listener: thread::JoinHandle<()>,
    watchdog: Option<Watchdog>,
}

impl Service {
    /// Starts a server that prints its URL to stdout or stderr, alone on a line or after `listening on`.
    pub fn spawn(command: Command, limit: Duration) -> io::Result<Self> {
        let (child, reader) = spawn(command)?;
        let (sender, receiver) = mpsc::channel();
        let mut service = Self::new(child, reader, sender, limit);
        service.address = receiver.recv_timeout(START).map_err(|_| service.not_serving())?;
        Ok(service)
    }

    /// Starts a server that listens at `address` without printing that.
    pub fn spawn_at(command: Command, address: SocketAddr, limit: Duration) -> io::Result<Self> {
        let (child, reader) = spawn(command)?;
        let (sender, _) = mpsc::channel();
        let mut service = Self::new(child, reader, sender, limit);
        service.address = address;
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            if start.elapsed() > START || service.child.try_wait()?.is_some() {
                return Err(service.not_serving());
            }
            thread::sleep(MOMENT);
        }
        Ok(service)
    }

    fn new(child: Child, reader: PipeReader, found: Sender<SocketAddr>, limit: Duration) -> Self {
        let output = Arc::new(Mutex::new(String::new()));
        let shared_output = Arc::clone(&output);
        let listener = thread::spawn(move || listen(reader, &found, &shared_output));
        let watchdog = Some(Watchdog::new(child.id(), limit));
        Self { child, address: SocketAddr::from(([0; 4], 0)), output, listener, watchdog }
    }

    fn not_serving(&self) -> io::Error {
        io::Error::other(format!("it doesn't serve. It said: {}", self.output()))
    }

    /// The id of the service's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of its MCP endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, http::PATH)
    }

    /// Its output to stdout and stderr so far; only the beginning, if that is long.
    pub fn output(&self) -> String {
        self.output.lock().expect("no holder of the lock panics").clone()
    }

    /// Terminates it as a service manager does (SIGTERM), and waits. Not ending in time is an error.
    pub fn stop(mut self) -> io::Result<ExitStatus> {
        self.end()
    }

    /// The same, and returns its complete output.
    pub fn stop_with_output(mut self) -> io::Result<(ExitStatus, String)> {
        let status = self.end()?;
        let start = Instant::now();
        // Its children may hold the pipe open, so the end of the output is not waited for without a limit.
        while !self.listener.is_finished() && start.elapsed() < LAST_WORDS {
            thread::sleep(MOMENT);
        }
        Ok((status, self.output()))
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        self.watchdog = None;
        ask_to_end(&mut self.child)?;
        let start = Instant::now();
        while start.elapsed() < STOP {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(MOMENT);
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "it doesn't end when asked to"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.watchdog = None;
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the command with stdout and stderr as one stream. The command is dropped because it holds the writing end,
/// and the reader would never see the end of the stream.
fn spawn(mut command: Command) -> io::Result<(Child, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    command.stdin(std::process::Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn()?;
    drop(command);
    Ok((child, reader))
}

/// Reads to the end, so that the server never waits for a reader.
fn listen(reader: PipeReader, found: &Sender<SocketAddr>, output: &Mutex<String>) {
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        append_output(&line, output);
        if let Some(address) = announced(&line) {
            // The receiver is gone if the address was already known.
            let _ = found.send(address);
        }
    }
}

fn append_output(line: &str, output: &Mutex<String>) {
    let mut output = output.lock().expect("no holder of the lock panics");
    if output.len() < KEPT {
        output.push_str(line);
        output.push('\n');
    }
}

fn announced(line: &str) -> Option<SocketAddr> {
    let url = line.rsplit_once("listening on ").map_or(line, |(_, url)| url);
    http::address_in(url.split_whitespace().next()?)
}

#[cfg(unix)]
fn ask_to_end(child: &mut Child) -> io::Result<()> {
    crate::process::signal(child.id(), signal_hook::consts::SIGTERM)
}

/// Elsewhere, processes can only be killed.
#[cfg(not(unix))]
fn ask_to_end(child: &mut Child) -> io::Result<()> {
    child.kill()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_found_where_they_are_announced() {
        let expected = Some(SocketAddr::from(([127, 0, 0, 1], 80)));
        assert_eq!(announced("http://127.0.0.1:80/mcp"), expected);
        assert_eq!(announced("wiretape: listening on http://127.0.0.1:80"), expected);
        assert_eq!(announced("wiretape: recording http://127.0.0.1:80/mcp"), None);
        assert_eq!(announced(""), None);
    }
}
