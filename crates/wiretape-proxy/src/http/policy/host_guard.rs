//! The check of `Host` on a listener that replaces it (`--rewrite-host`).
//!
//! Servers check `Host` against DNS rebinding: a web page points its own name to this machine, and the browser sends that name.
//! With `--rewrite-host` the server only ever sees its own name, so its check passes whatever the client sent, and the proxy has
//! to check in its place. On other listeners the client's `Host` reaches the server, which decides itself.

use crate::http::refusal::Refusal;
use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, Uri};
use std::net::{IpAddr, SocketAddr};

/// The names under which a listener may be requested.
#[derive(Debug)]
pub(crate) struct HostGuard {
    address: IpAddr,
    /// Host names without a port.
    allowed: Vec<String>,
}

impl HostGuard {
    pub(crate) fn new(address: SocketAddr, allowed: &[String]) -> Self {
        HostGuard { address: address.ip(), allowed: allowed.to_vec() }
    }

    /// Refuses a request for a name that is not the proxy's.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        // HTTP/2 and absolute URIs have the name in the URI (RFC 9110, section 7.2), possibly beside a `Host`.
        let named_by_uri = uri.authority().is_none_or(|authority| self.accepts(authority));
        // Browsers always send one of the two; simple HTTP/1.0 clients send neither.
        let named_by_host = headers.get_all(HOST).iter().all(|host| {
            let authority = host.to_str().ok().and_then(|host| host.parse().ok());
            authority.is_some_and(|authority| self.accepts(&authority))
        });
        if named_by_uri && named_by_host { Ok(()) } else { Err(Refusal::foreign_host()) }
    }

    /// Whether a name is the proxy's. The port is ignored: behind a forwarded port, clients know another one.
    fn accepts(&self, authority: &Authority) -> bool {
        if authority.as_str().contains('@') {
            return false;
        }
        let host = authority.host().trim_matches(['[', ']']);
        match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            // On all addresses, any of this machine's may be in `Host`. No page can have an address as its own name.
            Ok(address) => address.is_loopback() || address == self.address || self.address.is_unspecified(),
            Err(_) => {
                let name = host.trim_end_matches('.').to_ascii_lowercase();
                name == "localhost"
                    || name.ends_with(".localhost")
                    || self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(&name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(listen: &str, host: &str) -> bool {
        let guard = HostGuard::new(listen.parse().unwrap(), &["MCP.example.com".to_owned()]);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        guard.check(&Uri::from_static("/mcp"), &headers).is_ok()
    }

    #[test]
    fn only_the_proxys_own_names_are_accepted() {
        for host in [
            "localhost",
            "LocalHost:3004",
            "a.localhost:1",
            "127.0.0.1:3004",
            "127.8.9.1",
            "[::1]:3004",
            "mcp.example.com",
            "mcp.example.com.:443",
        ] {
            assert!(accepts("127.0.0.1:3004", host), "{host}");
        }
        for host in [
            "evil.example:3004",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.7:3004",
            "",
            "x@localhost",
            "localhost/",
            "evil.example, localhost",
            "mcp.example.com.evil.example",
        ] {
            assert!(!accepts("127.0.0.1:3004", host), "{host}");
        }
    }

    #[test]
    fn an_address_is_accepted_where_the_listener_has_it() {
        assert!(accepts("10.0.0.7:3004", "10.0.0.7:8080"));
        assert!(!accepts("10.0.0.7:3004", "10.0.0.8:3004"));
        assert!(accepts("0.0.0.0:3004", "10.0.0.8"));
        assert!(!accepts("0.0.0.0:3004", "evil.example"));
    }

    #[test]
    fn the_name_in_the_uri_counts_too() {
        let guard = HostGuard::new("127.0.0.1:3004".parse().unwrap(), &[]);
        let check = |uri: &'static str| guard.check(&Uri::from_static(uri), &HeaderMap::new()).is_ok();
        assert!(check("/mcp") && check("http://localhost:3004/mcp"));
        assert!(!check("http://evil.example/mcp"));
    }
}
