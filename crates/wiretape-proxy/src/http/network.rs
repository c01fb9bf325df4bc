//! Which network an address is in, and which networks a server may be in.
//!
//! A request whose target another party has chosen (a client on another machine, a document of a server) must not reach
//! what only this machine can reach: loopback, private networks, the metadata service of a cloud. A name is judged by the
//! addresses that it resolves to when a connection is opened, and the connection goes to one of these: a check before that
//! could be contradicted by a second resolution.

use super::upstream::Target;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// The network that an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetworkZone {
    /// This machine or a private network.
    Local,
    Public,
}

impl NetworkZone {
    /// The zone of an address; `None` for one that no server should be at: link-local (which includes the metadata services of
    /// clouds), multicast, and ranges that contain other addresses.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        match address.to_canonical() {
            IpAddr::V4(address) => of_ipv4(address),
            IpAddr::V6(address) => of_ipv6(address),
        }
    }
}

fn of_ipv4(address: Ipv4Addr) -> Option<NetworkZone> {
    let [first, second, ..] = address.octets();
    if first == 0 || address.is_link_local() || address.is_broadcast() || address.is_multicast() {
        return None;
    }
    // RFC 6598 and RFC 2544: networks of providers and of test beds.
    let is_shared = first == 100 && second & 0xc0 == 64 || first == 198 && second & 0xfe == 18;
    let is_near = address.is_loopback() || address.is_private() || is_shared;
    Some(if is_near { NetworkZone::Local } else { NetworkZone::Public })
}

fn of_ipv6(address: Ipv6Addr) -> Option<NetworkZone> {
    let first = address.segments()[0];
    if address.is_loopback() || first & 0xfe00 == 0xfc00 {
        return Some(NetworkZone::Local);
    }
    // Link-local, multicast, and the ranges that contain an IPv4 address or tunnel to one (NAT64, 6to4).
    let is_odd = first & 0xffc0 == 0xfe80 || first & 0xff00 == 0xff00 || matches!(first, 0x64 | 0x2002);
    let is_teredo = address.segments()[..2] == [0x2001, 0];
    (!is_odd && !is_teredo && first != 0).then_some(NetworkZone::Public)
}

/// The networks in which a target may be.
#[derive(Debug, Clone)]
pub(super) enum Reach {
    /// Any.
    Anywhere,
    /// Public ones only.
    Public,
    /// Public ones, and local ones if this server is in one itself.
    As(Arc<Target>),
}

/// A target is in a network that it may not be in.
#[derive(Debug, thiserror::Error)]
#[error("it is on the proxy's own machine or in a private network")]
pub(super) struct OutOfReach;

impl Reach {
    /// Whether targets have to be resolved and checked.
    pub(super) fn is_limited(&self) -> bool {
        !matches!(self, Reach::Anywhere)
    }

    /// The addresses of a host that may be connected to; an error if there is none.
    pub(super) async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
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
pub(super) fn is_out_of_reach(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<OutOfReach>());
    error.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::upstream::UpstreamUrl;

    #[test]
    fn zones_of_addresses() {
        let check =
            |address: &str, zone| assert_eq!(NetworkZone::of(address.parse().unwrap()), zone, "{address}");
        for near in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "198.18.0.1",
            "::1",
            "fd00::1",
            "::ffff:127.0.0.1",
        ] {
            check(near, Some(NetworkZone::Local));
        }
        for odd in [
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:0::1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
        ] {
            check(odd, None);
        }
        for public in ["93.184.216.34", "100.128.0.1", "172.32.0.1", "2606:2800::1"] {
            check(public, Some(NetworkZone::Public));
        }
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
