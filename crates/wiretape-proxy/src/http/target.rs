//! Servers: their URLs, and the networks in which one may be.
//!
//! A request whose target another party has chosen (a client on another machine, a document of a server) must not reach
//! what only this machine can reach: loopback, private networks, the metadata service of a cloud. A name is judged by the
//! addresses that it resolves to when a connection is opened, and the connection goes to one of these: a check before that
//! could be contradicted by a second resolution.

use super::network::NetworkZone;
use http::Uri;
use http::uri::Authority;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream as StdStream, ToSocketAddrs as _};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The scheme of a server's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`, without TLS.
    Http,
    /// `https`, with TLS.
    Https,
}

impl Scheme {
    /// The scheme as it is written in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// The URL of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUrl {
    scheme: Scheme,
    authority: Authority,
    path: String,
}

/// Why a text is not the URL of a server. The messages don't quote it, since it may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It can't be parsed as a URL.
    #[error("this is not a URL; it should look like http://localhost:9000/mcp")]
    Malformed,
    /// The scheme is neither `http` nor `https`.
    #[error("a server's URL must start with http:// or https://")]
    Scheme,
    /// The host is empty.
    #[error("the URL has no host")]
    NoHost,
    /// The port is not a number from 1 to 65535.
    #[error("the URL's port is not a number from 1 to 65535")]
    Port,
    /// It contains a user name or password.
    #[error("credentials in a URL are not sent; clients send them as headers")]
    Credentials,
    /// It has a query or a fragment, which would be ignored.
    #[error("a query or fragment (after `?` or `#`) would have no effect; remove it")]
    Query,
}

impl FromStr for UpstreamUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.contains(['?', '#']) {
            return Err(UrlError::Query);
        }
        if !text.contains("://") {
            return Err(UrlError::Malformed);
        }
        let uri: Uri = text.parse().map_err(|_| UrlError::Malformed)?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            _ => return Err(UrlError::Scheme),
        };
        let authority = uri.authority().ok_or(UrlError::NoHost)?;
        if authority.as_str().contains('@') {
            return Err(UrlError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(UrlError::NoHost);
        }
        // The `http` crate accepts ports like `99999` and an empty one.
        if authority.as_str() != authority.host() && matches!(authority.port_u16(), None | Some(0)) {
            return Err(UrlError::Port);
        }
        Ok(UpstreamUrl { scheme, authority: authority.clone(), path: uri.path().to_owned() })
    }
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.name(), self.authority, self.path)
    }
}

impl UpstreamUrl {
    /// The path of the server's MCP endpoint.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host, without a port.
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// The host, with its port unless it is the scheme's default: it distinguishes servers on one machine.
    pub fn name(&self) -> &str {
        self.authority.as_str()
    }

    /// The host and port to connect to.
    pub fn address(&self) -> (String, u16) {
        self.target().address()
    }

    /// The URL without its path.
    pub fn origin(&self) -> String {
        self.target().origin().to_string()
    }

    /// Whether the server accepts connections. May block for a second.
    pub fn is_reachable(&self) -> bool {
        const TIMEOUT: Duration = Duration::from_secs(1);
        let (host, port) = self.address();
        let addresses = (host.as_str(), port).to_socket_addrs();
        addresses
            .is_ok_and(|mut all| all.any(|address| StdStream::connect_timeout(&address, TIMEOUT).is_ok()))
    }

    /// The server without the path.
    pub(crate) fn target(&self) -> Target {
        Target::new(self.scheme, self.authority.clone())
    }
}

/// A server to connect to.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    origin: Arc<str>,
    /// The networks in which it may be.
    pub(crate) reach: Reach,
    /// Whether the server supports HTTP/2 without TLS, once that is known.
    pub(crate) plain_h2: OnceLock<bool>,
}

impl Target {
    pub(crate) fn new(scheme: Scheme, authority: Authority) -> Self {
        let authority = without_user_info(authority);
        let origin = format!("{}://{authority}", scheme.name()).into();
        Target { scheme, authority, origin, reach: Reach::Anywhere, plain_h2: OnceLock::new() }
    }

    /// Limits the networks in which it may be.
    pub(crate) fn within(self, reach: Reach) -> Self {
        Target { reach, ..self }
    }

    /// The origin, like `http://localhost:9000`.
    pub(crate) fn origin(&self) -> &Arc<str> {
        &self.origin
    }

    pub(crate) fn is(&self, other: &Target) -> bool {
        std::ptr::eq(self, other) || (self.scheme == other.scheme && self.authority == other.authority)
    }

    /// The host and port to connect to; without brackets around an IPv6 address.
    pub(crate) fn address(&self) -> (String, u16) {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        (host, self.authority.port_u16().unwrap_or(self.scheme.port()))
    }
}

/// The authority without `user:password@`, which says nothing about where to connect to and would end up in traces, events and
/// messages.
fn without_user_info(authority: Authority) -> Authority {
    match authority.as_str().rsplit_once('@') {
        Some((_, host)) => host.parse().unwrap_or(authority),
        None => authority,
    }
}

/// The networks in which a target may be.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// Any network, private ones included.
    Anywhere,
    /// Only public networks, as judged by the address that is connected to.
    Public,
    /// Public ones, and local ones if this server is in one itself.
    As(Arc<Target>),
}

/// A target is in a network that it may not be in.
#[derive(Debug, thiserror::Error)]
#[error("it is on the proxy's own machine or in a private network")]
pub(crate) struct OutOfReach;

impl Reach {
    /// Whether targets have to be resolved and checked.
    pub(crate) fn is_limited(&self) -> bool {
        !matches!(self, Reach::Anywhere)
    }

    /// The addresses of a host that may be connected to; an error if there is none.
    pub(crate) async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        let near_is_fine = match self {
            Reach::Anywhere => return Ok(addresses),
            Reach::Public => false,
            Reach::As(server) => is_near(server).await,
        };
        let found = addresses.len();
        addresses.retain(|address| match NetworkZone::of(address.ip()) {
            Some(NetworkZone::Public) => true,
            Some(NetworkZone::Local) => near_is_fine,
            None => false,
        });
        // Without any address, connecting reports that by itself.
        if addresses.is_empty() && found > 0 { Err(io::Error::other(OutOfReach)) } else { Ok(addresses) }
    }
}

/// Whether a server is on this machine or in a private network.
async fn is_near(server: &Target) -> bool {
    let (host, port) = server.address();
    let addresses = tokio::net::lookup_host((host.as_str(), port)).await;
    addresses
        .is_ok_and(|mut all| all.any(|address| NetworkZone::of(address.ip()) == Some(NetworkZone::Local)))
}

/// Whether a connection failed because the target is out of reach.
pub(crate) fn is_out_of_reach(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<OutOfReach>());
    error.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_servers() {
        let url: UpstreamUrl = "http://localhost:9000/mcp".parse().unwrap();
        assert_eq!((url.to_string().as_str(), url.path()), ("http://localhost:9000/mcp", "/mcp"));
        let url: UpstreamUrl = "HTTPS://[::1]".parse().unwrap();
        assert_eq!(url.target().address(), ("::1".to_owned(), 443));
    }

    #[test]
    fn user_info_of_a_url_is_not_part_of_a_target() {
        let target = Target::new(Scheme::Http, "bob:s3cr3tpw99@127.0.0.1:9000".parse().unwrap());
        assert_eq!(&**target.origin(), "http://127.0.0.1:9000");
        assert_eq!(target.authority.as_str(), "127.0.0.1:9000");
    }

    #[test]
    fn urls_of_nothing() {
        let check = |text: &str, expected| assert_eq!(text.parse::<UpstreamUrl>(), Err(expected), "{text}");
        check("localhost:9000", UrlError::Malformed);
        check("http://", UrlError::Malformed);
        check("ftp://x/", UrlError::Scheme);
        check("http://u:p@x/", UrlError::Credentials);
        check("http://x/a?b=1", UrlError::Query);
        check("http://x:99999/", UrlError::Port);
    }

    #[test]
    fn a_target_is_judged_by_what_its_name_resolves_to() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let check = |reach: &Reach, host: &str| runtime.block_on(reach.resolve(host, 80)).is_ok();
        let server = |url: &str| Arc::new(url.parse::<UpstreamUrl>().unwrap().target());
        let (near, public) = (server("http://localhost:1/"), server("http://93.184.216.34/"));
        for host in ["localhost", "127.0.0.1"] {
            assert!(check(&Reach::Anywhere, host));
            assert!(!check(&Reach::Public, host));
            assert!(check(&Reach::As(Arc::clone(&near)), host));
            assert!(!check(&Reach::As(Arc::clone(&public)), host));
        }
        assert!(check(&Reach::Public, "93.184.216.34"));
        assert!(!check(&Reach::As(near), "169.254.169.254"));
    }
}
