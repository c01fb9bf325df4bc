//! An HTTP client for the page's API, with the token from the printed address.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::failure::{Context, Failure, Result};

/// The host, the token and the trace from the printed address.
pub(in crate::bench) struct Client {
    host: String,
    token: String,
    /// The trace parameter, encoded as in the address.
    trace: String,
}

impl Client {
    /// Parses the address that the server prints: `http://HOST/?trace=T#token=X`.
    pub(in crate::bench) fn of_page(address: &str) -> Result<Self> {
        let parts = || {
            let rest = address.strip_prefix("http://")?;
            let (rest, token) = rest.split_once("#token=")?;
            let (host, query) = rest.split_once('/')?;
            let trace = query.strip_prefix("?trace=").unwrap_or_default();
            Some(Client { host: host.to_owned(), token: token.to_owned(), trace: trace.to_owned() })
        };
        parts().ok_or_else(|| Failure::new(format!("no address of a page: {address}")))
    }

    /// Queries the API for the trace; a query with parameters ends in `&`.
    pub(in crate::bench) fn ask(&self, question: &str) -> Result<Vec<u8>> {
        let join = if question.contains('?') { "" } else { "?" };
        self.get(&format!("/api/{question}{join}trace={}", self.trace))
    }

    pub(in crate::bench) fn get(&self, path: &str) -> Result<Vec<u8>> {
        let mut socket = TcpStream::connect(&self.host).context("the page's server")?;
        let (host, token) = (&self.host, &self.token);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).context("the page's server")?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).context("the page's server")?;
        let head = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(answer.len());
        if !answer.starts_with(b"HTTP/1.1 200") {
            return Err(Failure::new(format!("{path}: {}", String::from_utf8_lossy(&answer[..head]))));
        }
        Ok(answer.split_off((head + 4).min(answer.len())))
    }
}
