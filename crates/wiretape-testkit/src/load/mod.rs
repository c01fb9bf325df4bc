//! Load for an MCP server over HTTP: several connections, each with its own session, calling a tool as fast as the
//! answers arrive.
//!
//! HTTP is written and parsed by hand, as far as our peers' answers require: the cost of a client library would hide
//! the cost of a proxy. Every answer must carry the id of its call.
//!
//! | module | holds |
//! |---|---|
//! | `connection` | one connection and its session |
//! | `request` | the bytes that it sends |
//! | `response` | the parser for responses: status, headers and body |
//! | `streams` | connections that read a stream of events instead |
//! | `outcome` | the result: counts and latencies |
//! | `driver` | starting and driving the program `wt-http-load` |

mod connection;
mod driver;
mod outcome;
mod request;
mod response;
mod streams;

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

pub use self::driver::Driver;
pub use self::outcome::Outcome;
pub use self::streams::Streams;

use self::connection::Connection;

/// How many clients there are, and what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// They call a tool, one call after another.
    Callers(usize),
    /// Each opens a stream and reads it.
    Listeners(usize),
}

/// The length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This duration; calls in flight are finished.
    Time(Duration),
    /// This number of calls on each connection.
    Calls(u64),
}

/// The format that [`FromStr`] parses.
impl std::fmt::Display for Amount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(time) => write!(formatter, "milliseconds {}", time.as_millis()),
            Self::Calls(calls) => write!(formatter, "calls {calls}"),
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (unit, number) = text.trim().split_once(' ').ok_or("want a unit and a number")?;
        let number: u64 = number.parse().map_err(|_| format!("not a number: {number}"))?;
        match unit {
            "milliseconds" => Ok(Self::Time(Duration::from_millis(number))),
            "calls" => Ok(Self::Calls(number)),
            _ => Err(format!("no such unit: {unit}")),
        }
    }
}

/// Open connections with initialized sessions.
#[derive(Debug)]
pub struct Load {
    connections: Vec<Connection>,
}

impl Load {
    /// Opens `connections` connections, each with its own session.
    pub async fn open(address: SocketAddr, connections: usize) -> io::Result<Self> {
        let mut opened = Vec::with_capacity(connections);
        for number in 0..connections {
            opened.push(Connection::open(address, number).await?);
        }
        Ok(Self { connections: opened })
    }

    /// Calls on all connections at once. A wrong answer, or none, is an error.
    pub async fn run(&mut self, amount: Amount) -> io::Result<Outcome> {
        let start = Instant::now();
        let tasks: Vec<_> =
            self.connections.drain(..).map(|connection| tokio::spawn(connection.run(amount))).collect();
        let mut latencies = Vec::new();
        for task in tasks {
            let (connection, mut taken) = finished(task).await?;
            self.connections.push(connection);
            latencies.append(&mut taken);
        }
        Ok(Outcome::new(latencies, start.elapsed()))
    }
}

async fn finished<T>(task: JoinHandle<io::Result<T>>) -> io::Result<T> {
    task.await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_they_are_written() {
        for amount in [Amount::Time(Duration::from_millis(250)), Amount::Calls(60_000)] {
            assert_eq!(amount.to_string().parse(), Ok(amount));
        }
        assert!("hours 3".parse::<Amount>().is_err());
        assert!("calls many".parse::<Amount>().is_err());
    }
}
