//! One request to the receiver, and the meaning of its response. What is retried, and when, is left to the
//! spool.

use super::options::{Endpoint, WebhookError, WebhookOptions};
use crate::sink::spool::{Deliver, Delivery, UploadPart, retry_after};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use ureq::http::Response;
use ureq::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, Body};

/// How much of a response's body is read so that the connection can be reused; after a longer body it is
/// closed.
const MAX_ANSWER: u64 = 64 * 1024;

/// Idle connections older than this are not reused. Receivers close idle connections, often after 5 s, and a
/// POST on a connection that is just being closed fails.
const MAX_IDLE: Duration = Duration::from_secs(2);

const USER_AGENT: &str = concat!("wiretape/", env!("CARGO_PKG_VERSION"));

pub(super) struct Client {
    agent: Agent,
    endpoint: Endpoint,
}

impl Client {
    pub(super) fn new(options: &WebhookOptions) -> Result<Self, WebhookError> {
        let endpoint = options.endpoint()?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // Libraries don't read the environment; proxy variables are the binary's business.
            .proxy(None)
            .user_agent(USER_AGENT)
            .max_idle_connections(1)
            .max_idle_age(MAX_IDLE);
        if endpoint.uri.scheme_str() == Some("https") {
            // Only for https: loading the system's certificates takes time and may fail.
            config = config.tls_config(tls(options.ca_file.as_deref())?);
        }
        Ok(Client { agent: config.build().new_agent(), endpoint })
    }
}

impl Deliver for Client {
    /// The part of the URL that may be shown: scheme, host and port.
    fn destination(&self) -> &str {
        &self.endpoint.origin
    }

    fn deliver(&mut self, part: &UploadPart, timeout: Duration) -> Delivery {
        let mut request = self
            .agent
            .post(&self.endpoint.uri)
            .header(CONTENT_TYPE, "application/x-ndjson")
            .header(CONTENT_ENCODING, "gzip")
            .header("Idempotency-Key", part.token());
        if let Some(authorization) = &self.endpoint.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        match request.config().timeout_global(Some(timeout)).build().send(part.gzipped()) {
            Ok(response) => answer(response),
            // After a timeout the batch may have arrived. It is sent again all the same: at least once, with
            // the same key.
            Err(error) => Delivery::Retry { reason: describe(&error), after: None },
        }
    }
}

fn answer(mut response: Response<Body>) -> Delivery {
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|value| retry_after(value, SystemTime::now()));
    // The content doesn't matter, nor whether it is complete: the status decides. Reading only frees the
    // connection.
    let _ = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
    match status.as_u16() {
        200..=299 => Delivery::Accepted,
        413 => Delivery::TooLarge,
        // 401 and 403 are retried, because an expired token will be replaced, and events must not be dropped
        // until then.
        401 | 403 | 408 | 425 | 429 | 500..=599 => {
            Delivery::Retry { reason: format!("HTTP {status}"), after }
        }
        _ => Delivery::Rejected(status.to_string()),
    }
}

/// Describes an error without any part of the URL. The errors of ureq can contain it, and the paths and
/// queries of webhooks are often secrets.
fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "timed out".to_owned(),
        ureq::Error::HostNotFound => "can't resolve its name".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Rustls(error) => error.to_string(),
        ureq::Error::Protocol(_) => "the response is not HTTP".to_owned(),
        ureq::Error::LargeResponseHeader(..) => "the response headers are too large".to_owned(),
        _ => "the connection failed".to_owned(),
    }
}

fn tls(ca_file: Option<&Path>) -> Result<TlsConfig, WebhookError> {
    let roots = match ca_file {
        Some(path) => certificates_in(path)
            .map_err(|source| WebhookError::Certificates { path: path.to_owned(), source })?,
        None => system_certificates(),
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        // Named explicitly, so that it doesn't depend on which providers other crates compile in.
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

fn certificates_in(path: &Path) -> io::Result<Vec<Certificate<'static>>> {
    let pem = std::fs::read(path)?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| not_pem("not a PEM file"))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(not_pem("no certificate in it"));
    }
    Ok(certificates)
}

fn not_pem(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The system's trusted certificates. Unreadable ones are skipped, so they are just not trusted.
fn system_certificates() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
}
