//! The host that a certificate is for, and the hosts that an authority is limited to.

use rcgen::{CidrSubnet, GeneralSubtree, NameConstraints, SanType};
use rustls::pki_types::ServerName;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A host, as a name in lower case or an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// A DNS name without a final dot.
    Name(String),
    /// An IPv4 or IPv6 address.
    Address(IpAddr),
}

/// A text that is not a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is neither the name of a host nor an IP address")]
pub struct HostError {
    text: String,
}

impl FromStr for Host {
    type Err = HostError;

    /// Parses a host as in a URL: `[::1]` is an address, and `example.com.` is `example.com`.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        let bare = bare.strip_suffix('.').unwrap_or(bare);
        match ServerName::try_from(bare) {
            Ok(ServerName::DnsName(name)) => Ok(Host::Name(name.as_ref().to_ascii_lowercase())),
            Ok(ServerName::IpAddress(address)) => Ok(Host::Address(address.into())),
            _ => Err(HostError { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => name.fmt(f),
            Host::Address(address) => address.fmt(f),
        }
    }
}

impl Host {
    pub(super) fn subject_alt_name(&self) -> Result<SanType, rcgen::Error> {
        Ok(match self {
            Host::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            Host::Address(address) => SanType::IpAddress(*address),
        })
    }

    /// Whether a limit to this host permits the other: the same address, the same name, or a subdomain (RFC 5280, section
    /// 4.2.1.10).
    fn covers(&self, other: &Host) -> bool {
        match (self, other) {
            (Host::Name(limit), Host::Name(name)) => {
                // At a dot only: a limit to `example.com` must not permit `badexample.com`.
                name.strip_suffix(limit.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            _ => self == other,
        }
    }

    fn subtree(&self) -> GeneralSubtree {
        match self {
            Host::Name(name) => GeneralSubtree::DnsName(name.clone()),
            Host::Address(address) => {
                let bits = if address.is_ipv4() { 32 } else { 128 };
                GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(*address, bits))
            }
        }
    }
}

/// The hosts that an authority may sign for. The limit is part of its certificate (name constraints), and clients enforce it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// No limit: every host.
    #[default]
    Anything,
    /// These hosts and their subdomains.
    Only(Vec<Host>),
}

impl Scope {
    /// Whether the authority may sign for this host.
    pub fn permits(&self, host: &Host) -> bool {
        match self {
            Scope::Anything => true,
            Scope::Only(hosts) => hosts.iter().any(|limit| limit.covers(host)),
        }
    }

    pub(super) fn name_constraints(&self) -> Option<NameConstraints> {
        let Scope::Only(hosts) = self else { return None };
        Some(NameConstraints {
            permitted_subtrees: hosts.iter().map(Host::subtree).collect(),
            excluded_subtrees: excluded(hosts),
        })
    }
}

/// The kinds of names that none of the hosts has, excluded as a whole: a kind that is not mentioned is not limited (RFC 5280,
/// section 4.2.1.10).
fn excluded(hosts: &[Host]) -> Vec<GeneralSubtree> {
    let mut excluded = Vec::new();
    if !hosts.iter().any(|host| matches!(host, Host::Name(_))) {
        excluded.push(GeneralSubtree::DnsName(String::new()));
    }
    if !hosts.iter().any(|host| matches!(host, Host::Address(IpAddr::V4(_)))) {
        excluded.push(GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([0; 4], 0)));
    }
    if !hosts.iter().any(|host| matches!(host, Host::Address(IpAddr::V6(_)))) {
        excluded.push(GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix([0; 16], 0)));
    }
    excluded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_understood_as_urls_write_them() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<Host>().map(|host| host.to_string()), Ok(expected.to_owned()));
        };
        check("Example.COM", "example.com");
        check("example.com.", "example.com");
        check("under_score.internal", "under_score.internal");
        check("xn--bcher-kva.example", "xn--bcher-kva.example");
        check("127.0.0.1", "127.0.0.1");
        check("[::1]", "::1");
        check("2001:DB8::1", "2001:db8::1");
        for text in
            ["", ".", "*.example.com", "a b", "exa\0mple", "bücher.example", "a..b", "host:443", "[::1"]
        {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
        assert!("a.".repeat(130).parse::<Host>().is_err());
    }

    #[test]
    fn a_scope_covers_names_below() {
        let scope = Scope::Only(vec!["example.com".parse().unwrap(), "10.0.0.1".parse().unwrap()]);
        for (host, expected) in [
            ("example.com", true),
            ("a.b.example.com", true),
            ("badexample.com", false),
            ("com", false),
            ("10.0.0.1", true),
            ("10.0.0.2", false),
            ("::1", false),
        ] {
            assert_eq!(scope.permits(&host.parse().unwrap()), expected, "{host}");
        }
        assert!(Scope::Anything.permits(&"::1".parse().unwrap()));
    }
}
