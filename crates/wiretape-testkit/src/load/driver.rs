//! Drives the program `wt-http-load`. The load comes from a separate process, which can be a release build even if
//! the test is not, and its connections stay open between runs, so that several proxies can take turns.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::load::{Amount, Clients, Outcome};
use crate::peer::Peer;

/// A running `wt-http-load` with open connections.
#[derive(Debug)]
pub struct Driver {
    peer: Peer,
}

impl Driver {
    /// Starts `program`, which opens its connections to `url`. After `limit` it is killed, and whatever waits for it
    /// fails.
    pub fn spawn(program: &Path, url: &str, clients: Clients, limit: Duration) -> io::Result<Self> {
        let mut command = Command::new(program);
        match clients {
            Clients::Callers(number) => command.args([url, &number.to_string()]),
            Clients::Listeners(number) => command.args([url, &number.to_string(), "--streams"]),
        };
        let mut driver = Self { peer: Peer::spawn(&mut command, limit)? };
        match driver.receive()?.as_str() {
            "ready" => Ok(driver),
            other => Err(io::Error::other(other.to_owned())),
        }
    }

    /// The id of the driver's process, for measuring it.
    pub fn pid(&self) -> u32 {
        self.peer.pid()
    }

    /// One run on all its connections.
    pub fn run(&mut self, amount: Amount) -> io::Result<Outcome> {
        self.peer.send(format!("{amount}\n").as_bytes())?;
        let answer = self.receive()?;
        serde_json::from_str(&answer).map_err(|_| io::Error::other(answer))
    }

    /// Closes the connections and waits for the driver to exit.
    pub fn finish(self) -> io::Result<()> {
        let (status, _) = self.peer.finish()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("the load ended with {status}"))) }
    }

    fn receive(&mut self) -> io::Result<String> {
        let line = self.peer.receive_line()?;
        if line.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the load ended early"));
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }
}
