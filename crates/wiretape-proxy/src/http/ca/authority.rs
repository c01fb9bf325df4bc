//! The certificate authority: creating, loading and renewing it, and issuing leaf certificates.

use super::error::CaError;
use super::files::{self, CERTIFICATE_FILE, KEY_FILE, Pems};
use super::host::{Host, Scope};
use super::leaf::{self, LeafCertificateCache};
use parking_lot::Mutex;
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
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, GeneralSubtree};
use x509_parser::prelude::FromDer as _;

/// The common name, which trust stores show.
const NAME: &str = "Wiretape local CA";

/// The lifetime of the CA certificate: ten years, because adding it to trust stores is manual work. Leaf certificates have a
/// shorter one.
const LIFETIME: Duration = Duration::from_secs(3650 * 86_400);

/// How far `notBefore` is in the past: clients' clocks may be behind ours.
const BACKDATED: Duration = Duration::from_secs(86_400);

/// The number of hosts whose leaf certificates are cached.
pub(super) const CACHE_CAPACITY: usize = 256;

/// The time in which a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The first moment at which it is valid.
    pub not_before: SystemTime,
    /// The last moment at which it is valid.
    pub not_after: SystemTime,
}

impl Validity {
    pub(super) fn starting(now: SystemTime, lifetime: Duration) -> Self {
        Validity { not_before: now - BACKDATED, not_after: now + lifetime }
    }

    /// Whether the certificate is valid at this time.
    pub fn contains(&self, time: SystemTime) -> bool {
        (self.not_before..=self.not_after).contains(&time)
    }
}

/// Issues leaf certificates for servers, which clients accept that trust this authority. Usable from any thread.
pub struct CertificateAuthority {
    dir: PathBuf,
    pem: String,
    certificate: CertificateDer<'static>,
    validity: Validity,
    scope: Scope,
    issuer: Issuer<'static, KeyPair>,
    /// The key of all leaf certificates. Generated at start and never written to disk; one for all, because generating a key for
    /// each host would delay its first connection.
    leaf_key: KeyPair,
    cache: Mutex<LeafCertificateCache>,
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAuthority").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl CertificateAuthority {
    /// Creates an authority in a directory that has none.
    pub fn create(dir: &Path, scope: &Scope, now: SystemTime) -> Result<Self, CaError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let certificate = params(scope, now)?.self_signed(&key)?;
        let pems = Pems { certificate: certificate.pem(), key: key.serialize_pem() };
        files::create(dir, &pems)?;
        Self::from_pems(dir, pems)
    }

    /// Loads the authority of a directory.
    pub fn load(dir: &Path) -> Result<Self, CaError> {
        Self::from_pems(dir, files::read(dir)?)
    }

    /// Replaces the authority by a new one, whatever state the old one is in. Without a scope the new one gets that of the old
    /// one, if it can be read. Deletes the old key and renames the old certificate; the second value is its new path.
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
        // Certificates signed with another key would be rejected by every client, with an error that names no cause.
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
            cache: Mutex::new(LeafCertificateCache::new(CACHE_CAPACITY)),
        })
    }

    /// The TLS configuration for impersonating `host`: a leaf certificate, cached or minted now, for HTTP/2 and HTTP/1.1. The
    /// host is a name or an address, as in a URL, without a port.
    pub fn server_config(&self, host: &str, now: SystemTime) -> Result<Arc<ServerConfig>, CaError> {
        let host: Host = host.parse()?;
        if !self.scope.permits(&host) {
            return Err(CaError::OutOfScope { host });
        }
        if !self.validity.contains(now) {
            return Err(CaError::NotValidNow);
        }
        // Held while a certificate is minted, which takes less than a millisecond, so that concurrent connections to one host
        // get the same certificate.
        let mut cache = self.cache.lock();
        if let Some(config) = cache.get(&host, now) {
            return Ok(config);
        }
        let validity = leaf::validity(self.validity, now);
        let config = leaf::issue(&host, &self.issuer, &self.leaf_key, validity)?;
        cache.insert(host, Arc::clone(&config), validity);
        Ok(config)
    }

    /// The path of the certificate that clients have to trust.
    pub fn certificate_path(&self) -> PathBuf {
        self.dir.join(CERTIFICATE_FILE)
    }

    /// The certificate that clients have to trust.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The certificate as PEM, the content of its file.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificate's SHA-256 in the notation of trust stores: `AB:CD:…`.
    pub fn fingerprint(&self) -> String {
        sha256(&self.certificate).map(|byte| format!("{byte:02X}")).join(":")
    }

    /// The time in which it can sign.
    pub fn validity(&self) -> Validity {
        self.validity
    }

    /// The hosts that it can sign for.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    #[cfg(test)]
    pub(super) fn cached(&self) -> usize {
        self.cache.lock().len()
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
    // A path length of 0: if the key leaks, it can't sign further authorities.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.name_constraints = scope.name_constraints();
    Ok(params)
}

/// A random serial number of 126 bits, which makes it unique without a register of issued ones.
pub(super) fn serial_number() -> Result<SerialNumber, CaError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(CaError::Random)?;
    // DER integers: a clear top bit makes it positive, a set second bit avoids leading zeros (RFC 5280, section 4.1.2.2).
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

/// The name constraints of a certificate; `None` if they are of a kind that [`Scope`] can't express.
fn scope(certificate: &X509Certificate<'_>) -> Option<Scope> {
    let Some(constraints) = certificate.name_constraints().ok()? else { return Some(Scope::Anything) };
    let permitted = constraints.value.permitted_subtrees.as_deref()?;
    permitted.iter().map(permitted_host).collect::<Option<Vec<_>>>().map(Scope::Only)
}

fn permitted_host(subtree: &GeneralSubtree<'_>) -> Option<Host> {
    match &subtree.base {
        GeneralName::DNSName(name) => name.parse().ok(),
        // An address and its mask (RFC 5280, section 4.2.1.10); the mask is all ones in certificates that we made.
        GeneralName::IPAddress(bytes) => match bytes.len() {
            8 => Some(Host::Address(IpAddr::from(<[u8; 4]>::try_from(&bytes[..4]).ok()?))),
            32 => Some(Host::Address(IpAddr::from(<[u8; 16]>::try_from(&bytes[..16]).ok()?))),
            _ => None,
        },
        _ => None,
    }
}
