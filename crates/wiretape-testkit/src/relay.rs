//! What the relays share: the proxy's own command line, so that all are started the same way.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;

use crate::http;

/// Where a relay listens, and where it connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The address of the server.
    pub upstream: SocketAddr,
}

impl Addresses {
    /// Parses `proxy --upstream URL --listen ADDRESS …`. What else the proxy understands is ignored.
    pub fn from_arguments() -> io::Result<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        parse(&arguments).ok_or_else(|| io::Error::other("usage: proxy --upstream URL --listen ADDRESS …"))
    }

    /// Connects to the server, with Nagle's algorithm off.
    pub async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.upstream).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

fn parse(arguments: &[String]) -> Option<Addresses> {
    let value_of = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)
    };
    let upstream = http::address_in(value_of("--upstream")?)?;
    let listen = value_of("--listen")?.parse().ok()?;
    Some(Addresses { listen, upstream })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxys_arguments_are_understood() {
        let check = |line: &str, expected: Option<u16>| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let addresses = parse(&arguments);
            assert_eq!(addresses.map(|addresses| addresses.upstream.port()), expected, "{line}");
        };
        let line = "proxy --upstream http://127.0.0.1:8080/mcp --listen 127.0.0.1:0";
        check(line, Some(8080));
        check(&format!("{line} --no-store --traces dir"), Some(8080));
        check("proxy --upstream http://127.0.0.1:8080/mcp", None);
        check("proxy --upstream localhost --listen 127.0.0.1:0", None);
    }
}
