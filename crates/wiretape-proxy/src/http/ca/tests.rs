use super::authority::CACHE_CAPACITY;
use super::{CERTIFICATE_FILE, CaError, CertificateAuthority, KEY_FILE, Scope};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

const DAY: Duration = Duration::from_secs(86_400);

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    /// A folder that is not there yet.
    fn dir(&self) -> std::path::PathBuf {
        self.dir.path().join("data").join("ca")
    }

    fn authority(&self) -> CertificateAuthority {
        self.limited(&[])
    }

    /// An authority for these hosts only; for all if there are none.
    fn limited(&self, hosts: &[&str]) -> CertificateAuthority {
        let hosts: Vec<_> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let scope = if hosts.is_empty() { Scope::Anything } else { Scope::Only(hosts) };
        CertificateAuthority::create(&self.dir(), &scope, SystemTime::now()).unwrap()
    }
}

fn server_config(authority: &CertificateAuthority, host: &str) -> Arc<ServerConfig> {
    authority.server_config(host, SystemTime::now()).unwrap()
}

/// A client that trusts this authority and no other.
fn client(authority: &CertificateAuthority, protocols: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// What a client saw in a handshake and a ping: the protocol that was agreed on, and the server's certificate.
struct Seen {
    protocol: Option<String>,
    certificate: Vec<u8>,
}

/// A client that wants to talk to `host` does so with a server that has `server`.
#[tokio::main(flavor = "current_thread")]
async fn shake_hands(
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    host: &str,
) -> std::io::Result<Seen> {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let serve = async {
        let mut stream = TlsAcceptor::from(server).accept(far).await?;
        let mut ping = [0; 4];
        stream.read_exact(&mut ping).await?;
        stream.write_all(&ping).await?;
        stream.shutdown().await
    };
    let ask = async {
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let mut stream = TlsConnector::from(client).connect(name, near).await?;
        stream.write_all(b"ping").await?;
        let mut pong = Vec::new();
        stream.read_to_end(&mut pong).await?;
        assert_eq!(pong, b"ping");
        let connection = stream.get_ref().1;
        let protocol = connection.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        let certificate = connection.peer_certificates().unwrap()[0].to_vec();
        Ok::<_, std::io::Error>(Seen { protocol, certificate })
    };
    let (served, asked) = tokio::join!(serve, ask);
    let seen = asked?;
    served.map(|()| seen)
}

fn check_trusted(authority: &CertificateAuthority, asked_for: &str, host: &str) {
    let server = server_config(authority, asked_for);
    let seen = shake_hands(client(authority, &["h2"]), server, host);
    assert!(seen.is_ok(), "{asked_for}: {:?}", seen.err());
}

#[test]
fn clients_that_trust_the_authority_accept_names_and_addresses() {
    let authority = Place::new().authority();
    check_trusted(&authority, "mcp.example.com", "mcp.example.com");
    check_trusted(&authority, "MCP.example.com.", "mcp.example.com");
    check_trusted(&authority, "localhost", "localhost");
    check_trusted(&authority, "127.0.0.1", "127.0.0.1");
    check_trusted(&authority, "[::1]", "::1");
    let long = format!("{}.{}.example.com", "a".repeat(63), "b".repeat(63));
    check_trusted(&authority, &long, &long);
}

#[test]
fn a_certificate_is_for_its_host_only() {
    let authority = Place::new().authority();
    let other = shake_hands(client(&authority, &[]), server_config(&authority, "a.example"), "b.example");
    assert!(other.err().unwrap().to_string().contains("not valid for name"));
    let other = shake_hands(client(&authority, &[]), server_config(&authority, "127.0.0.1"), "127.0.0.2");
    assert!(other.is_err());
}

#[test]
fn nobody_else_accepts_it() {
    let (ours, others) = (Place::new().authority(), Place::new().authority());
    let seen = shake_hands(client(&others, &[]), server_config(&ours, "a.example"), "a.example");
    assert!(seen.is_err());
}

#[test]
fn both_versions_of_http_are_offered() {
    let authority = Place::new().authority();
    for (offered, expected) in [
        (&["h2", "http/1.1"][..], Some("h2")),
        (&["http/1.1", "h2"], Some("h2")),
        (&["http/1.1"], Some("http/1.1")),
        (&[], None),
    ] {
        let server = server_config(&authority, "a.example");
        let seen = shake_hands(client(&authority, offered), server, "a.example").unwrap();
        assert_eq!(seen.protocol.as_deref(), expected, "{offered:?}");
    }
}

#[test]
fn an_authority_that_was_read_is_the_one_that_was_made() {
    let place = Place::new();
    let made = place.limited(&["example.com", "10.0.0.1", "::1"]);
    let read = CertificateAuthority::load(&place.dir()).unwrap();
    assert_eq!(made.certificate(), read.certificate());
    assert_eq!(made.pem(), fs::read_to_string(read.certificate_path()).unwrap());
    assert_eq!(made.fingerprint(), read.fingerprint());
    assert_eq!(made.validity(), read.validity());
    assert_eq!(made.scope(), read.scope());
    let seen = shake_hands(client(&made, &[]), server_config(&read, "example.com"), "example.com");
    assert!(seen.is_ok());
}

#[test]
fn an_authority_is_valid_for_ten_years_and_can_found_no_other() {
    let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
    let authority = CertificateAuthority::create(&Place::new().dir(), &Scope::Anything, now).unwrap();
    let validity = authority.validity();
    assert_eq!((validity.not_before, validity.not_after), (now - DAY, now + 3650 * DAY));
    let (_, parsed) = X509Certificate::from_der(authority.certificate()).unwrap();
    assert_eq!(parsed.subject().to_string(), "CN=Wiretape local CA");
    let constraints = parsed.basic_constraints().unwrap().unwrap();
    assert!(constraints.critical && constraints.value.ca);
    assert_eq!(constraints.value.path_len_constraint, Some(0));
    let usage = parsed.key_usage().unwrap().unwrap().value;
    assert!(usage.key_cert_sign() && usage.crl_sign() && !usage.digital_signature());
    let purpose = parsed.extended_key_usage().unwrap().unwrap().value;
    assert!(purpose.server_auth && !purpose.any && !purpose.client_auth && !purpose.email_protection);
    let fingerprint = authority.fingerprint();
    assert_eq!((fingerprint.len(), fingerprint.matches(':').count()), (95, 31));
}

#[test]
fn certificates_live_shortly_and_within_the_authority() {
    let authority = Place::new().authority();
    let seen =
        shake_hands(client(&authority, &[]), server_config(&authority, "a.example"), "a.example").unwrap();
    let (_, leaf) = X509Certificate::from_der(&seen.certificate).unwrap();
    let lifetime = leaf.validity().not_after.timestamp() - leaf.validity().not_before.timestamp();
    assert!((80..=397).contains(&(lifetime / 86_400)), "{lifetime}");
    assert!(!leaf.is_ca());

    let end = authority.validity().not_after;
    let last = super::leaf::validity(authority.validity(), end - DAY);
    assert_eq!(last.not_after, end);
    for time in [end + DAY, authority.validity().not_before - DAY] {
        assert!(matches!(authority.server_config("a.example", time), Err(CaError::NotValidNow)));
    }
}

#[test]
fn no_two_certificates_have_one_number() {
    let authority = Place::new().authority();
    let mut numbers = std::collections::BTreeSet::new();
    for n in 0..20 {
        let host = format!("host{n}.example");
        let seen = shake_hands(client(&authority, &[]), server_config(&authority, &host), &host).unwrap();
        let (_, leaf) = X509Certificate::from_der(&seen.certificate).unwrap();
        assert_eq!(leaf.raw_serial().len(), 16);
        numbers.insert(leaf.raw_serial_as_string());
    }
    assert_eq!(numbers.len(), 20);
}

#[test]
fn certificates_are_remembered_up_to_a_number() {
    let authority = Place::new().authority();
    let first = server_config(&authority, "first.example");
    for n in 0..CACHE_CAPACITY + 50 {
        server_config(&authority, &format!("host{n}.example"));
        // Who is asked for again and again stays.
        assert!(Arc::ptr_eq(&first, &server_config(&authority, "FIRST.example")));
        assert!(authority.cached() <= CACHE_CAPACITY);
    }
    assert_eq!(authority.cached(), CACHE_CAPACITY);
    let again = server_config(&authority, "host0.example");
    assert!(Arc::ptr_eq(&again, &server_config(&authority, "host0.example")));
}

#[test]
fn a_certificate_is_made_anew_before_it_ends() {
    let authority = Place::new().authority();
    let now = SystemTime::now();
    let at = |days: u32| authority.server_config("a.example", now + days * DAY).unwrap();
    let first = at(0);
    assert!(Arc::ptr_eq(&first, &at(80)));
    let second = at(85);
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(Arc::ptr_eq(&second, &at(90)));
    assert_eq!(authority.cached(), 1);
}

#[test]
fn threads_share_what_was_made() {
    let authority = Place::new().authority();
    let configs = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| server_config(&authority, "a.example"))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(configs.iter().all(|config| Arc::ptr_eq(config, &configs[0])));
}

#[test]
fn a_limited_authority_signs_for_its_hosts_only() {
    let authority = Place::new().limited(&["example.com", "10.0.0.1"]);
    check_trusted(&authority, "example.com", "example.com");
    check_trusted(&authority, "mcp.example.com", "mcp.example.com");
    check_trusted(&authority, "10.0.0.1", "10.0.0.1");
    for host in ["example.org", "notexample.com", "10.0.0.2", "::1"] {
        let refused = authority.server_config(host, SystemTime::now());
        assert!(matches!(refused, Err(CaError::OutOfScope { .. })), "{host}");
    }
}

/// Clients enforce the limits even if the owner of the key ignores them.
#[test]
fn clients_refuse_what_a_limited_authority_may_not_sign() {
    for (limits, host) in [
        (&["example.com"][..], "example.org"),
        (&["example.com"], "127.0.0.1"),
        (&["example.com"], "::1"),
        (&["127.0.0.1"], "example.com"),
        (&["127.0.0.1"], "127.0.0.2"),
        (&["::1"], "::2"),
    ] {
        let place = Place::new();
        let authority = place.limited(limits);
        let key = rcgen::KeyPair::from_pem(&fs::read_to_string(place.dir().join(KEY_FILE)).unwrap()).unwrap();
        let issuer = rcgen::Issuer::from_ca_cert_der(authority.certificate(), &key).unwrap();
        let issue = |host: &str| {
            let key = rcgen::KeyPair::generate().unwrap();
            let params = rcgen::CertificateParams::new(vec![host.to_owned()]).unwrap();
            let leaf = params.signed_by(&key, &issuer).unwrap();
            let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder = ServerConfig::builder_with_provider(provider);
            let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
            Arc::new(builder.with_single_cert(vec![leaf.der().clone()], key).unwrap())
        };
        let forged = shake_hands(client(&authority, &[]), issue(host), host);
        let error = forged.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("NameConstraintViolation"), "{limits:?} {host}: {error}");
        assert!(shake_hands(client(&authority, &[]), issue(limits[0]), limits[0]).is_ok(), "{limits:?}");
    }
}

#[test]
fn what_is_no_host_is_refused() {
    let authority = Place::new().authority();
    for host in ["", "*", "*.example.com", "a b", "example.com:443", "user@example.com"] {
        let refused = authority.server_config(host, SystemTime::now());
        assert!(matches!(refused, Err(CaError::Host(_))), "{host}");
    }
    assert_eq!(authority.cached(), 0);
}

fn check_load(dir: &Path, expected: &str) {
    let error = CertificateAuthority::load(dir).unwrap_err().to_string();
    assert_eq!(error.replace(&dir.display().to_string(), "DIR").replace('\\', "/"), expected);
}

#[test]
fn what_can_not_be_read_is_explained() {
    let place = Place::new();
    let dir = place.dir();
    check_load(&dir, "there is no certificate authority in DIR");
    place.authority();
    let (certificate, key) = (dir.join(CERTIFICATE_FILE), dir.join(KEY_FILE));
    let pem = fs::read(&certificate).unwrap();

    fs::remove_file(&certificate).unwrap();
    check_load(&dir, "DIR/ca.pem is missing, but ca-key.pem exists");
    for damage in [&b"nothing"[..], b"\xff\xfe", &pem[..200]] {
        fs::write(&certificate, damage).unwrap();
        let error = CertificateAuthority::load(&dir).unwrap_err();
        assert!(matches!(error, CaError::Damaged { .. }), "{error}");
    }
    fs::write(&certificate, Place::new().authority().pem()).unwrap();
    check_load(&dir, "ca-key.pem in DIR is not the key of ca.pem");

    fs::write(&certificate, &pem).unwrap();
    assert!(CertificateAuthority::load(&dir).is_ok());
    fs::write(&key, "nothing").unwrap();
    check_load(&dir, "DIR/ca-key.pem does not contain a private key");
    fs::remove_file(&key).unwrap();
    check_load(&dir, "DIR/ca-key.pem is missing, but ca.pem exists");
}

#[test]
fn an_authority_is_never_overwritten_but_can_be_renewed() {
    let place = Place::new();
    let old = place.authority();
    let now = SystemTime::now();
    let again = CertificateAuthority::create(&place.dir(), &Scope::Anything, now);
    assert!(matches!(again, Err(CaError::AlreadyExists { .. })));
    assert_eq!(CertificateAuthority::load(&place.dir()).unwrap().fingerprint(), old.fingerprint());

    let old_key = fs::read(place.dir().join(KEY_FILE)).unwrap();
    let (new, retired) = CertificateAuthority::renew(&place.dir(), None, now).unwrap();
    assert_ne!(new.fingerprint(), old.fingerprint());
    let retired = retired.unwrap();
    let mark = old.fingerprint().replace(':', "").to_ascii_lowercase();
    assert_eq!(retired.file_name().unwrap().to_str().unwrap(), format!("ca-{}.pem", &mark[..8]));
    assert_eq!(fs::read_to_string(&retired).unwrap(), old.pem());
    for file in fs::read_dir(place.dir()).unwrap() {
        assert_ne!(fs::read(file.unwrap().path()).unwrap(), old_key);
    }

    // Renewing is the way out, whatever the state.
    fs::write(place.dir().join(KEY_FILE), "nothing").unwrap();
    fs::write(place.dir().join(CERTIFICATE_FILE), "nothing").unwrap();
    let (_, retired) = CertificateAuthority::renew(&place.dir(), None, now).unwrap();
    assert_eq!(retired, None);
    assert!(CertificateAuthority::load(&place.dir()).is_ok());
}

#[test]
fn a_renewed_authority_has_the_limits_of_the_old_one_unless_told_otherwise() {
    let place = Place::new();
    let scope = place.limited(&["example.com", "::1"]).scope().clone();
    // Even if the old key is lost.
    fs::remove_file(place.dir().join(KEY_FILE)).unwrap();
    let renew = |scope| CertificateAuthority::renew(&place.dir(), scope, SystemTime::now()).unwrap().0;
    assert_eq!(*renew(None).scope(), scope);
    let other = Scope::Only(vec!["other.example".parse().unwrap()]);
    assert_eq!(*renew(Some(other.clone())).scope(), other);
    assert_eq!(*renew(Some(Scope::Anything)).scope(), Scope::Anything);
}

#[cfg(unix)]
#[test]
fn the_key_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.authority();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let key = place.dir().join(KEY_FILE);
    assert_eq!((mode(&place.dir()), mode(&key)), (0o700, 0o600));
    for open in [0o640, 0o604, 0o644, 0o620] {
        fs::set_permissions(&key, fs::Permissions::from_mode(open)).unwrap();
        check_load(
            &place.dir(),
            "DIR/ca-key.pem can be read by other users; if none has read it, run `chmod 600 'DIR/ca-key.pem'`",
        );
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(CertificateAuthority::load(&place.dir()).is_ok());
}
