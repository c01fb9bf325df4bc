//! The certificates that servers are stood in for with, and those that were made lately.

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

/// How long a certificate is valid. Clients refuse those of more than 397 days; these are made anew in good time.
const LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// A certificate is made anew when less than this is left of it.
const RENEWED_BEFORE_END: Duration = Duration::from_secs(7 * 86_400);

/// What a client may speak to us, best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The longest that fits a certificate's common name (RFC 5280, A.1).
const MAX_COMMON_NAME: usize = 64;

/// Makes a certificate for a host, and what a server needs to show it.
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
    // All certificates have one key, and rcgen makes the serial number from it if it is told none. Clients refuse
    // two certificates with one number.
    params.serial_number = Some(authority::serial_number()?);
    params.not_before = OffsetDateTime::from(validity.not_before);
    params.not_after = OffsetDateTime::from(validity.not_after);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// When a certificate made at `now` is valid: never outside of the authority's own time.
pub(super) fn validity(authority: Validity, now: SystemTime) -> Validity {
    let own = Validity::starting(now, LIFETIME);
    Validity {
        not_before: own.not_before.max(authority.not_before),
        not_after: own.not_after.min(authority.not_after),
    }
}

/// The certificates that were made, up to a number; who was not asked for the longest goes first.
#[derive(Debug)]
pub(super) struct LeafCache {
    entries: BTreeMap<Host, Entry>,
    capacity: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    config: Arc<ServerConfig>,
    validity: Validity,
    last_use: u64,
}

impl LeafCache {
    pub(super) fn new(capacity: usize) -> Self {
        LeafCache { entries: BTreeMap::new(), capacity, clock: 0 }
    }

    /// What was made for the host, unless its time is running out.
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
        self.entries.insert(host, Entry { config, validity, last_use: self.clock });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
