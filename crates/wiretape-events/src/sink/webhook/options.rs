//! What the user can choose, and what is refused.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::http::{HeaderValue, Uri};

/// Where events are sent, and how.
#[derive(Clone)]
pub struct WebhookOptions {
    /// Where to: `https://…`, or `http://…`.
    pub url: String,
    /// What is sent as the bearer token.
    pub token: Option<Secret>,
    /// A PEM file with the certificates to trust, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// A batch is sealed when it has so many events,
    pub batch_events: u64,
    /// or when its lines would be longer than this,
    pub batch_bytes: u64,
    /// or when its first event has waited for so long.
    pub batch_time: Duration,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// The pause after a failure is random, and at most this at first;
    pub backoff_base: Duration,
    /// it doubles with each failure until it is this.
    pub backoff_cap: Duration,
    /// Where batches wait. Made if it isn't there.
    pub spool_dir: PathBuf,
    /// How much of the disk the spool may take, in blocks of 4 KiB. Beyond it the oldest batches are dropped.
    pub spool_bytes: u64,
    /// How long to go on sending at the end.
    pub shutdown: Duration,
}

impl WebhookOptions {
    /// The defaults.
    pub fn new(url: impl Into<String>, spool_dir: impl Into<PathBuf>) -> Self {
        WebhookOptions {
            url: url.into(),
            token: None,
            ca_file: None,
            batch_events: 500,
            batch_bytes: 1 << 20,
            batch_time: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            backoff_base: Duration::from_secs(1),
            backoff_cap: Duration::from_secs(60),
            spool_dir: spool_dir.into(),
            spool_bytes: 64 << 20,
            shutdown: Duration::from_secs(10),
        }
    }

    /// Whether a sink could be made with them, as far as that can be told without touching anything.
    pub fn check(&self) -> Result<(), WebhookError> {
        self.endpoint().map(drop)
    }

    pub(super) fn endpoint(&self) -> Result<Endpoint, WebhookError> {
        let uri: Uri = self.url.parse().map_err(|_| WebhookError::Url)?;
        let origin = origin(&uri)?;
        let authorization = self.token.as_ref().map(Secret::bearer).transpose()?;
        if authorization.is_some() && uri.scheme_str() == Some("http") && !is_loopback(&uri) {
            return Err(WebhookError::PlainToken { origin });
        }
        Ok(Endpoint { uri, origin, authorization })
    }
}

/// Paths and queries of webhooks are often secrets: only the origin is shown.
impl fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.url.parse().ok().and_then(|uri| origin(&uri).ok());
        f.debug_struct("WebhookOptions")
            .field("url", &origin)
            .field("token", &self.token)
            .field("ca_file", &self.ca_file)
            .field("batch_events", &self.batch_events)
            .field("batch_bytes", &self.batch_bytes)
            .field("batch_time", &self.batch_time)
            .field("timeout", &self.timeout)
            .field("backoff_base", &self.backoff_base)
            .field("backoff_cap", &self.backoff_cap)
            .field("spool_dir", &self.spool_dir)
            .field("spool_bytes", &self.spool_bytes)
            .field("shutdown", &self.shutdown)
            .finish()
    }
}

/// A text that is never shown.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Hides a text. White space around it, such as a file's last line end, is left out.
    pub fn new(text: &str) -> Self {
        Secret(text.trim().to_owned())
    }

    fn bearer(&self) -> Result<HeaderValue, WebhookError> {
        if self.0.is_empty() || !self.0.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(WebhookError::Token);
        }
        let mut value =
            HeaderValue::try_from(format!("Bearer {}", self.0)).map_err(|_| WebhookError::Token)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a webhook can't be used. Never tells the token, nor more of the URL than its origin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// It is no URL.
    #[error("the webhook's URL can't be understood: it must look like https://host/path")]
    Url,
    /// It is a URL of something else.
    #[error("the webhook's URL must begin with https:// or http://")]
    Scheme,
    /// It has a name and password in it.
    #[error("the webhook's URL holds a user name or password: take it out, and give the secret as the token")]
    Credentials,
    /// The token would be readable by others.
    #[error(
        "the webhook's token would go to {origin} without encryption, for everyone on the way to read: use https:// \
         (plain http:// is for receivers on this machine, or without a token)"
    )]
    PlainToken {
        /// Where it would go.
        origin: String,
    },
    /// It can't be sent.
    #[error("the webhook's token is empty, or has spaces or characters other than ASCII in it")]
    Token,
    /// The certificates can't be had.
    #[error("the webhook's certificates can't be read from {}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The spool can't be had.
    #[error("the webhook's spool {} can't be used", path.display())]
    Spool {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There are no more threads.
    #[error("the webhook's thread can't be started")]
    Thread(#[source] std::io::Error),
}

impl WebhookError {
    pub(super) fn spool(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| WebhookError::Spool { path: path.to_owned(), source }
    }
}

/// A URL and a token that were checked.
pub(super) struct Endpoint {
    pub(super) uri: Uri,
    /// What of the URL may be shown.
    pub(super) origin: String,
    pub(super) authorization: Option<HeaderValue>,
}

fn origin(uri: &Uri) -> Result<String, WebhookError> {
    let scheme = uri.scheme_str().ok_or(WebhookError::Scheme)?;
    if !matches!(scheme, "http" | "https") {
        return Err(WebhookError::Scheme);
    }
    let authority = uri.authority().ok_or(WebhookError::Url)?;
    if authority.as_str().contains('@') {
        return Err(WebhookError::Credentials);
    }
    if authority.host().is_empty() {
        return Err(WebhookError::Url);
    }
    Ok(format!("{scheme}://{authority}"))
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, token: Option<&str>) -> Result<(), String> {
        let options = WebhookOptions { token: token.map(Secret::new), ..WebhookOptions::new(url, "spool") };
        options.check().map_err(|error| error.to_string())
    }

    #[test]
    fn https_and_loopback_may_have_a_token() {
        for url in [
            "https://events.example/v1?x=1",
            "HTTPS://events.example",
            "http://127.0.0.1:80/",
            "http://[::1]:9/",
            "http://localhost/",
        ] {
            assert_eq!(check(url, Some("abc")), Ok(()), "{url}");
        }
        assert_eq!(check("http://events.example/", None), Ok(()));
    }

    #[test]
    fn what_would_give_a_secret_away_is_refused() {
        for url in
            ["http://events.example/secretpath?secretquery", "http://127.0.0.1.example/", "http://10.0.0.1/"]
        {
            let error = check(url, Some("hidden-token")).unwrap_err();
            assert!(
                error.contains("https://") && !error.contains("hidden") && !error.contains("secret"),
                "{error}"
            );
        }
        let error = check("https://me:hidden@events.example/", None).unwrap_err();
        assert!(error.contains("token") && !error.contains("hidden"), "{error}");
    }

    #[test]
    fn what_is_no_http_url_is_refused() {
        for url in
            ["", "events.example", "/path", "ftp://events.example/", "file:///etc", "https://", "https:// x"]
        {
            assert!(check(url, None).is_err(), "{url:?}");
        }
    }

    #[test]
    fn a_token_that_no_header_can_carry_is_refused_and_not_shown() {
        for token in ["", "  \n", "hid\nden", "hid den", "hiddén"] {
            let error = check("https://events.example", Some(token)).unwrap_err();
            assert!(!error.contains("hid"), "{error}");
        }
        assert_eq!(check("https://events.example", Some("from-a-file\n")), Ok(()));
    }

    #[test]
    fn debug_shows_neither_token_nor_path() {
        let options = WebhookOptions {
            token: Some(Secret::new("hidden")),
            ..WebhookOptions::new("https://events.example/hidden?hidden=hidden", "spool")
        };
        let text = format!("{options:?}");
        assert!(text.contains("https://events.example") && !text.contains("hidden"), "{text}");
    }
}
