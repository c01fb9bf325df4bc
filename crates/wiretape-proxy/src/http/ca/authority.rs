//! The authority: how it is made, what it says of itself, and what it signs.

use super::error::CaError;
use super::files::{self, CERTIFICATE_FILE, KEY_FILE, Pems};
use super::host::{Host, Scope};
use super::leaf::{self, LeafCache};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData as _, SerialNumber,
};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, GeneralSubtree};
use x509_parser::prelude::FromDer as _;

/// The name in trust stores.
const NAME: &str = "Wiretape local CA";

/// Ten years: whoever put it into a trust store should not have to do so again soon. What it signs lives shorter.
const LIFETIME: Duration = Duration::from_secs(3650 * 86_400);

/// Clocks of clients may be behind ours.
const BACKDATED: Duration = Duration::from_secs(86_400);

/// So many hosts are remembered.
pub(super) const CACHE_CAPACITY: usize = 256;

/// From when to when a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// From when.
    pub not_before: SystemTime,
    /// To when.
    pub not_after: SystemTime,
}

impl Validity {
    pub(super) fn starting(now: SystemTime, lifetime: Duration) -> Self {
        Validity { not_before: now - BACKDATED, not_after: now + lifetime }
    }

    /// Whether a time is in it.
    pub fn contains(&self, time: SystemTime) -> bool {
        (self.not_before..=self.not_after).contains(&time)
    }
}

/// Makes certificates for servers, to be accepted by clients that trust it. Usable from any thread.
pub struct CertificateAuthority {
    dir: PathBuf,
    pem: String,
    certificate: CertificateDer<'static>,
    validity: Validity,
    scope: Scope,
    issuer: Issuer<'static, KeyPair>,
    /// The key of all certificates that are made; it lives as long as this process.
    leaf_key: KeyPair,
    cache: Mutex<LeafCache>,
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAuthority").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl CertificateAuthority {
    /// Makes an authority in a folder that has none.
    pub fn create(dir: &Path, scope: &Scope, now: SystemTime) -> Result<Self, CaError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let certificate = params(scope, now)?.self_signed(&key)?;
        let pems = Pems { certificate: certificate.pem(), key: key.serialize_pem() };
        files::create(dir, &pems)?;
        Self::from_pems(dir, pems)
    }

    /// Reads the authority of a folder.
    pub fn load(dir: &Path) -> Result<Self, CaError> {
        Self::from_pems(dir, files::read(dir)?)
    }

    /// Makes a new authority in the place of the old one, in whatever state that is. Without a scope it gets that of the
    /// old one, if that can be read. The old key is deleted; the old certificate stays beside the new one, and the
    /// second value tells where.
    pub fn renew(
        dir: &Path,
        scope: Option<Scope>,
        now: SystemTime,
    ) -> Result<(Self, Option<PathBuf>), CaError> {
        let scope = scope.or_else(|| scope_of_file(&dir.join(CERTIFICATE_FILE))).unwrap_or_default();
        let retired = files::retire(dir)?;
        Ok((Self::create(dir, &scope, now)?, retired))
    }

    fn from_pems(dir: &Path, pems: Pems) -> Result<Self, CaError> {
        let damaged = |file, expected| CaError::Damaged { path: dir.join(file), expected };
        let no_certificate = || damaged(CERTIFICATE_FILE, "certificate authority");
        let certificate =
            CertificateDer::from_pem_slice(pems.certificate.as_bytes()).map_err(|_| no_certificate())?;
        let key = KeyPair::from_pem(&pems.key).map_err(|_| damaged(KEY_FILE, "private key"))?;
        let (_, parsed) = X509Certificate::from_der(&certificate).map_err(|_| no_certificate())?;
        if parsed.public_key().raw != key.subject_public_key_info() {
            return Err(CaError::Mismatch { dir: dir.to_owned() });
        }
        if !parsed.is_ca() {
            return Err(no_certificate());
        }
        let (validity, scope) = (validity(&parsed), scope(&parsed).ok_or_else(no_certificate)?);
        Ok(CertificateAuthority {
            dir: dir.to_owned(),
            pem: pems.certificate,
            validity,
            scope,
            issuer: Issuer::from_ca_cert_der(&certificate, key)?,
            certificate,
            leaf_key: KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?,
            cache: Mutex::new(LeafCache::new(CACHE_CAPACITY)),
        })
    }

    /// What a server needs to be taken for `host`: a certificate, made now or lately, for HTTP/2 and HTTP/1.1. The host
    /// may be a name or an address, as it stands in a URL, without a port.
    pub fn server_config(&self, host: &str, now: SystemTime) -> Result<Arc<ServerConfig>, CaError> {
        let host: Host = host.parse()?;
        if !self.scope.permits(&host) {
            return Err(CaError::OutOfScope { host });
        }
        if !self.validity.contains(now) {
            return Err(CaError::NotValidNow);
        }
        // Held while a certificate is made, which takes less than a millisecond: who asks for the same host at the
        // same time gets the same one.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = cache.get(&host, now) {
            return Ok(config);
        }
        let validity = leaf::validity(self.validity, now);
        let config = leaf::issue(&host, &self.issuer, &self.leaf_key, validity)?;
        cache.insert(host, Arc::clone(&config), validity);
        Ok(config)
    }

    /// Where the certificate lies that clients have to trust.
    pub fn certificate_path(&self) -> PathBuf {
        self.dir.join(CERTIFICATE_FILE)
    }

    /// The certificate that clients have to trust.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The same, as it stands in the file.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificate's SHA-256, as trust stores show it: `AB:CD:…`.
    pub fn fingerprint(&self) -> String {
        sha256(&self.certificate).map(|byte| format!("{byte:02X}")).join(":")
    }

    /// From when to when it can sign.
    pub fn validity(&self) -> Validity {
        self.validity
    }

    /// For which hosts it can sign.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    #[cfg(test)]
    pub(super) fn cached(&self) -> usize {
        self.cache.lock().unwrap().len()
    }
}

fn params(scope: &Scope, now: SystemTime) -> Result<CertificateParams, CaError> {
    let validity = Validity::starting(now, LIFETIME);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, NAME);
    params.serial_number = Some(serial_number()?);
    params.not_before = OffsetDateTime::from(validity.not_before);
    params.not_after = OffsetDateTime::from(validity.not_after);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.name_constraints = scope.name_constraints();
    Ok(params)
}

/// A number that no other certificate has.
pub(super) fn serial_number() -> Result<SerialNumber, CaError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(CaError::Random)?;
    // A serial number is positive, and has no leading zeros.
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

pub(super) fn sha256(certificate: &CertificateDer<'_>) -> [u8; 32] {
    Sha256::digest(certificate).into()
}

fn validity(certificate: &X509Certificate<'_>) -> Validity {
    Validity {
        not_before: certificate.validity().not_before.to_datetime().into(),
        not_after: certificate.validity().not_after.to_datetime().into(),
    }
}

fn scope_of_file(path: &Path) -> Option<Scope> {
    let certificate = CertificateDer::from_pem_file(path).ok()?;
    let (_, parsed) = X509Certificate::from_der(&certificate).ok()?;
    scope(&parsed)
}

/// The limits of a certificate; `None` if they are none of ours, so that they can't be said.
fn scope(certificate: &X509Certificate<'_>) -> Option<Scope> {
    let Some(constraints) = certificate.name_constraints().ok()? else { return Some(Scope::Anything) };
    let permitted = constraints.value.permitted_subtrees.as_deref()?;
    permitted.iter().map(permitted_host).collect::<Option<Vec<_>>>().map(Scope::Only)
}

fn permitted_host(subtree: &GeneralSubtree<'_>) -> Option<Host> {
    match &subtree.base {
        GeneralName::DNSName(name) => name.parse().ok(),
        // An address and its mask, which is all ones in ours.
        GeneralName::IPAddress(bytes) => match bytes.len() {
            8 => Some(Host::Address(IpAddr::from(<[u8; 4]>::try_from(&bytes[..4]).ok()?))),
            32 => Some(Host::Address(IpAddr::from(<[u8; 16]>::try_from(&bytes[..16]).ok()?))),
            _ => None,
        },
        _ => None,
    }
}
