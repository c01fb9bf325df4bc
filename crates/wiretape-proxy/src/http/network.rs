//! Which network an address is in: this machine's and private ones, or the public one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network that an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkZone {
    /// This machine or a private network.
    Local,
    Public,
}

impl NetworkZone {
    /// The zone of an address; `None` for one that no server should be at: link-local (which includes the metadata services of
    /// clouds), multicast, and ranges that contain other addresses.
    pub(crate) fn of(address: IpAddr) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
