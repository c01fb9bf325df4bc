//! Web origins, as browsers send them and as the user names them with `--allow-origin`.
//!
//! Deliberately narrower than a URL parser: an origin decides who may read a recording, so anything that two parsers
//! could read differently is an error. The OAuth rewriting of the proxy compares origins with it, too.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A web origin: scheme, host and port, such as `https://viewer.example` or
/// `http://localhost:5173`. The case of scheme and host, and a default port, make no difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    scheme: String,
    host: String,
    port: Option<u16>,
}

/// Why a text is not a usable origin.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OriginError {
    /// `*`, or a `*` in the host.
    #[error("a wildcard would let any web page read the recording; name one origin")]
    Wildcard,
    /// `null`, which every sandboxed page and local file sends.
    #[error("\"null\" is what any sandboxed page or local file sends; serve the viewer over http")]
    Null,
    /// The text doesn't begin with `scheme://`.
    #[error("the scheme is missing; write it like http://localhost:5173")]
    MissingScheme,
    /// A path, query or fragment follows.
    #[error("an origin ends after the port; remove {0:?}")]
    Path(String),
    /// Empty, or with characters that no host in an `Origin` header has.
    #[error("{0:?} is not a host name as browsers send it")]
    Host(String),
    /// Not a number from 1 to 65535.
    #[error("{0:?} is not a port")]
    Port(String),
}

impl Origin {
    /// Parses an origin. One trailing `/` is accepted, since address bars show it.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        // These two first, because they need explanations of their own: users try them when a page is refused.
        if text.eq_ignore_ascii_case("null") {
            return Err(OriginError::Null);
        }
        if text.contains('*') {
            return Err(OriginError::Wildcard);
        }
        let (scheme, rest) = text.split_once("://").ok_or(OriginError::MissingScheme)?;
        if !is_scheme(scheme) {
            return Err(OriginError::MissingScheme);
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Some(end) = authority.find(['/', '?', '#']) {
            return Err(OriginError::Path(rest[end..].to_owned()));
        }
        let (host, port) = split_port(authority)?;
        if !is_host(host) {
            return Err(OriginError::Host(host.to_owned()));
        }
        let scheme = scheme.to_ascii_lowercase();
        Ok(Self {
            // Browsers omit the default port, so it must not make a difference.
            port: port.filter(|port| Some(*port) != default_port(&scheme)),
            host: host.to_ascii_lowercase(),
            scheme,
        })
    }

    /// Whether this is the http origin of a server at `port` on this machine.
    pub(crate) fn is_loopback(&self, port: u16) -> bool {
        self.scheme == "http" && is_loopback_host(&self.host) && self.port.unwrap_or(80) == port
    }
}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        Self::parse(text)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Whether a `Host` header names the loopback server at `port`.
pub(crate) fn is_loopback_authority(authority: &str, port: u16) -> bool {
    split_port(authority).is_ok_and(|(host, given)| is_loopback_host(host) && given.unwrap_or(80) == port)
}

fn is_loopback_host(host: &str) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| name.eq_ignore_ascii_case(host))
}

/// Splits `host:port`; colons inside `[…]` belong to the host.
fn split_port(authority: &str) -> Result<(&str, Option<u16>), OriginError> {
    let host_end = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = authority[host_end..].find(':') else {
        return Ok((authority, None));
    };
    let (host, port) = authority.split_at(host_end + colon);
    let digits = &port[1..];
    match digits.parse() {
        // `parse` also accepts `+80`, which no browser sends.
        Ok(number) if number > 0 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok((host, Some(number)))
        }
        _ => Err(OriginError::Port(digits.to_owned())),
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
    }
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_host(host: &str) -> bool {
    let (name, extra) = match host.strip_prefix('[') {
        Some(address) => (address.strip_suffix(']').unwrap_or_default(), b":.".as_slice()),
        None => (host, b"-._".as_slice()),
    };
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || extra.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, OriginError>) {
        let shown = Origin::parse(text).map(|origin| origin.to_string());
        assert_eq!(shown, expected.map(str::to_owned), "{text}");
    }

    #[test]
    fn origins_are_normalized() {
        check("http://localhost", Ok("http://localhost"));
        check("http://localhost:5173", Ok("http://localhost:5173"));
        check("HTTPS://Viewer.Example:443/", Ok("https://viewer.example"));
        check("http://viewer.example:443", Ok("http://viewer.example:443"));
        check("http://[::1]:80", Ok("http://[::1]"));
        check("vscode-webview://0a1b", Ok("vscode-webview://0a1b"));
    }

    #[test]
    fn a_text_that_is_not_an_origin_is_explained() {
        use OriginError::{Host, MissingScheme, Null, Path, Port, Wildcard};
        check("*", Err(Wildcard));
        check("https://*.example", Err(Wildcard));
        check("null", Err(Null));
        check("", Err(MissingScheme));
        check("localhost:5173", Err(MissingScheme));
        check("://localhost", Err(MissingScheme));
        check("http://a/b", Err(Path("/b".into())));
        check("http://a/b/", Err(Path("/b/".into())));
        check("http://a?b", Err(Path("?b".into())));
        check("http://", Err(Host(String::new())));
        check("http://me@a", Err(Host("me@a".into())));
        check("http://a b", Err(Host("a b".into())));
        check("http://[::1", Err(Port(":1".into())));
        check("http://a:0", Err(Port("0".into())));
        check("http://a:+1", Err(Port("+1".into())));
        check("http://a:70000", Err(Port("70000".into())));
    }

    #[test]
    fn loopback_authorities_need_our_port() {
        for good in ["127.0.0.1:7317", "localhost:7317", "LOCALHOST:7317", "[::1]:7317"] {
            assert!(is_loopback_authority(good, 7317), "{good}");
        }
        for bad in [
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:7317",
            "127.0.0.1.evil.example:7317",
            "",
            ":7317",
            "127.0.0.1:7317:7317",
        ] {
            assert!(!is_loopback_authority(bad, 7317), "{bad}");
        }
        assert!(is_loopback_authority("localhost", 80));
    }
}
