//! Our own origin, as the client of a reverse proxy knows it.

use http::header::{HOST, HeaderValue};
use http::request;
use http::uri::Authority;
use std::fmt;
use std::net::SocketAddr;

/// Our own origin as the client knows it. Kept in parts and formatted on demand: most exchanges never need the text.
#[derive(Clone)]
pub(crate) enum PublicOrigin {
    Host(HeaderValue),
    Authority(Authority),
    Address(SocketAddr),
}

impl PublicOrigin {
    /// The origin by the head of a request to a listener at this address.
    pub(crate) fn of(parts: &request::Parts, listener: SocketAddr) -> Self {
        let host = parts.headers.get(HOST).filter(|host| host.to_str().is_ok());
        match (host, parts.uri.authority()) {
            (Some(host), _) => PublicOrigin::Host(host.clone()),
            (None, Some(authority)) => PublicOrigin::Authority(authority.clone()),
            (None, None) => PublicOrigin::Address(listener),
        }
    }
}

impl fmt::Display for PublicOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublicOrigin::Host(host) => write!(f, "http://{}", host.to_str().unwrap_or_default()),
            PublicOrigin::Authority(authority) => write!(f, "http://{authority}"),
            PublicOrigin::Address(address) => write!(f, "http://{address}"),
        }
    }
}
