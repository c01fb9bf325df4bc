//! The user's settings and their validation.

use crate::sink::spool::{SpoolError, SpoolOptions};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use ureq::http::{HeaderValue, Uri};

/// Where events are sent, and how. [`new`](Self::new) has the defaults.
#[derive(Clone)]
pub struct WebhookOptions {
    /// The receiver's URL: `https://…`, or `http://…`.
    pub url: String,
    /// The bearer token for the `Authorization` header.
    pub token: Option<Secret>,
    /// A PEM file with the CA certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Where unsent events wait, and when they are sent.
    pub spool: SpoolOptions,
}

impl WebhookOptions {
    /// The default settings for this URL, and for a spool in this directory.
    pub fn new(url: impl Into<String>, spool: impl Into<PathBuf>) -> Self {
        WebhookOptions { url: url.into(), token: None, ca_file: None, spool: SpoolOptions::new(spool) }
    }

    /// Checks the URL and the token, without touching the network or the disk.
    pub fn check(&self) -> Result<(), WebhookError> {
        self.endpoint().map(drop)
    }

    pub(super) fn endpoint(&self) -> Result<Endpoint, WebhookError> {
        let uri: Uri = self.url.parse().map_err(|_| WebhookError::Url)?;
        let origin = origin(&uri)?;
        let authorization = self.token.as_ref().map(Secret::bearer).transpose()?;
        if authorization.is_some() && uri.scheme_str() == Some("http") && !is_loopback(&uri) {
            // Only loopback is exempt: anything else may be read on the way.
            return Err(WebhookError::PlainToken { origin });
        }
        Ok(Endpoint { uri, origin, authorization })
    }
}

/// The path and query of a webhook's URL are often secrets, so only the origin is shown.
impl fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.url.parse().ok().and_then(|uri| origin(&uri).ok());
        f.debug_struct("WebhookOptions")
            .field("url", &origin)
            .field("token", &self.token)
            .field("ca_file", &self.ca_file)
            .field("spool", &self.spool)
            .finish()
    }
}

/// A token, which `Debug` never shows.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a token. Surrounding white space is removed, such as the final newline of a file it was read
    /// from.
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

/// Why a webhook can't be used. The messages contain neither the token nor more of the URL than its origin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// The URL can't be parsed.
    #[error("the webhook's URL is invalid: it must look like https://host/path")]
    Url,
    /// The URL's scheme is neither `https` nor `http`.
    #[error("the webhook's URL must start with https:// or http://")]
    Scheme,
    /// The URL contains a user name or password, which would end up in logs.
    #[error(
        "the webhook's URL contains a user name or password: remove it, and pass the secret as the token"
    )]
    Credentials,
    /// The token would be sent unencrypted to another host.
    #[error(
        "the webhook's token would be sent unencrypted to {origin}: use https:// \
         (plain http:// is allowed only for receivers on this machine, or without a token)"
    )]
    PlainToken {
        /// The scheme, host and port it would be sent to.
        origin: String,
    },
    /// The token isn't a valid header value.
    #[error("the webhook's token is empty, or contains spaces or non-ASCII characters")]
    Token,
    /// The CA certificates can't be loaded.
    #[error("can't read the webhook's certificates from {}", path.display())]
    Certificates {
        /// The configured PEM file.
        path: PathBuf,
        /// The error of the file system, or that it isn't PEM.
        source: std::io::Error,
    },
    /// The spool can't be used.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// A validated URL and token.
pub(super) struct Endpoint {
    pub(super) uri: Uri,
    /// The part of the URL that may be shown: scheme, host and port.
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
