//! The check of `Host` and `Origin` (MCP 2025-11-25, basic/transports, "Security Warning"): a web page must not be able to use
//! the replay through DNS rebinding.

use crate::live::{Origin, is_loopback_authority};
use http::{HeaderMap, header};
use std::net::SocketAddr;

/// The hosts and origins that a listener accepts.
#[derive(Debug)]
pub(super) struct HostCheck {
    address: SocketAddr,
    allowed_origins: Vec<Origin>,
}

impl HostCheck {
    pub(super) fn new(address: SocketAddr, allowed_origins: Vec<Origin>) -> Self {
        HostCheck { address, allowed_origins }
    }

    /// Checks a request, and returns the reason of a refusal.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), String> {
        let text =
            |name| headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or_default());
        let port = self.address.port();
        let host = text(header::HOST).unwrap_or_default();
        // On other addresses the user has chosen to be reachable, under names that we can't know.
        if self.address.ip().is_loopback() && !is_loopback_authority(host, port) {
            return Err(format!("the Host header {host:?} is not this server; use 127.0.0.1:{port}"));
        }
        match text(header::ORIGIN).map(Origin::parse) {
            None => Ok(()),
            Some(Ok(origin)) if origin.is_loopback(port) || self.allowed_origins.contains(&origin) => Ok(()),
            Some(_) => Err("requests from web pages are refused; allow one with --allow-origin".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_answered() {
        let allowed = vec!["https://inspector.example".parse().unwrap()];
        let host_check = HostCheck::new("127.0.0.1:7000".parse().unwrap(), allowed);
        let check = |host: &str, origin: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(host_check.check(&headers).is_ok(), expected, "{host} {origin:?}");
        };
        check("127.0.0.1:7000", None, true);
        check("localhost:7000", Some("http://localhost:7000"), true);
        check("localhost:7000", Some("https://inspector.example"), true);
        check("localhost:7000", Some("https://other.example"), false);
        check("localhost:7000", Some("null"), false);
        check("rebound.example:7000", None, false);
        check("localhost:7001", None, false);
    }
}
