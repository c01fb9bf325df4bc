//! Leaf certificates that the proxy mints for intercepted hosts, and their cache.
//!
//! **Why this shape.** A certificate is signed on the first connection to a host, which takes less than a millisecond with P-256,
//! and kept as a complete TLS configuration, which is what a connection needs. The cache is a map with a use counter instead of a
//! linked LRU list: it has 256 entries, and the scan on eviction is rare. Nothing is written to disk: the leaf key dies with the
//! process, and the certificates are worthless without it.

use super::authority::{self, Validity};
use super::error::CaError;
use super::host::Host;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;

/// The lifetime of a leaf certificate. Browsers refuse more than 398 days.
const LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// A cached certificate is replaced when less than this is left of its lifetime.
const RENEWED_BEFORE_END: Duration = Duration::from_secs(7 * 86_400);

/// The protocols offered to clients (ALPN), in order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The maximum length of a common name (`ub-common-name`, RFC 5280, appendix A.1).
const MAX_COMMON_NAME: usize = 64;

/// Mints a certificate for a host, and returns the TLS configuration of a server with it.
pub(super) fn issue(
    host: &Host,
    issuer: &Issuer<'_, KeyPair>,
    key: &KeyPair,
    validity: Validity,
) -> Result<Arc<ServerConfig>, CaError> {
    let certificate = params(host, validity)?.signed_by(key, issuer)?;
    let private_key =
        PrivateKeyDer::try_from(key.serialize_der()).map_err(|why| rustls::Error::General(why.to_owned()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private_key)?;
    config.alpn_protocols = PROTOCOLS.map(Vec::from).to_vec();
    Ok(Arc::new(config))
}

fn params(host: &Host, validity: Validity) -> Result<CertificateParams, CaError> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![host.subject_alt_name()?];
    params.distinguished_name = DistinguishedName::new();
    let name = host.to_string();
    if name.len() <= MAX_COMMON_NAME {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    // All leaf certificates share one key, and rcgen derives the serial number from the key by default. Clients refuse two
    // certificates of one issuer with the same number (RFC 5280, section 4.1.2.2, requires unique ones).
    params.serial_number = Some(authority::serial_number()?);
    params.not_before = OffsetDateTime::from(validity.not_before);
    params.not_after = OffsetDateTime::from(validity.not_after);
    // Explicit, because some clients reject certificates without the extension.
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// The validity of a certificate minted at `now`: never beyond the authority's own.
pub(super) fn validity(authority: Validity, now: SystemTime) -> Validity {
    let own = Validity::starting(now, LIFETIME);
    Validity {
        not_before: own.not_before.max(authority.not_before),
        not_after: own.not_after.min(authority.not_after),
    }
}

/// An LRU cache of leaf certificates by host.
#[derive(Debug)]
pub(super) struct LeafCertificateCache {
    entries: BTreeMap<Host, CachedLeaf>,
    capacity: usize,
    /// Counts lookups; the order of uses.
    clock: u64,
}

/// A minted certificate in the cache.
#[derive(Debug)]
struct CachedLeaf {
    config: Arc<ServerConfig>,
    validity: Validity,
    last_use: u64,
}

impl LeafCertificateCache {
    pub(super) fn new(capacity: usize) -> Self {
        LeafCertificateCache { entries: BTreeMap::new(), capacity, clock: 0 }
    }

    /// The cached certificate of a host, unless it is about to expire.
    pub(super) fn get(&mut self, host: &Host, now: SystemTime) -> Option<Arc<ServerConfig>> {
        self.clock += 1;
        let entry = self.entries.get_mut(host)?;
        if now < entry.validity.not_before || now + RENEWED_BEFORE_END > entry.validity.not_after {
            return None;
        }
        entry.last_use = self.clock;
        Some(Arc::clone(&entry.config))
    }

    pub(super) fn insert(&mut self, host: Host, config: Arc<ServerConfig>, validity: Validity) {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&host) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_use);
            if let Some(oldest) = oldest.map(|(host, _)| host.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.entries.insert(host, CachedLeaf { config, validity, last_use: self.clock });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
