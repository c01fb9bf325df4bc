//! The HTTP side of a connection: reads the request, checks access, and upgrades or refuses.
//!
//! WebSocket libraries validate the upgrade before the caller's conditions and close the connection without a response when
//! the upgrade is missing. Doing both here keeps the order ours, and every refusal gives its reason.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::machine::TryParse;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response, create_response, write_response};
use tokio_tungstenite::tungstenite::http::StatusCode;

use super::origin::{Origin, is_loopback_authority};

// The request is read before its token is checked, so anyone on this machine can make us buffer that much. A browser's
// handshake, with the cookies of all local servers, takes a few kB.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

/// How long and how much is still read from a refused peer, so that it can read the refusal.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: u64 = 256 * 1024;

/// Who may read the recording. The module doc of [`super`] has the reasons for each check.
pub(super) struct AccessPolicy {
    pub(super) port: u16,
    pub(super) token: String,
    pub(super) allowed_origins: Vec<Origin>,
}

/// A plain-text response in place of the upgrade.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    text: String,
}

/// A parsed request, and the bytes that arrived after it.
pub(super) struct ReceivedRequest {
    pub(super) request: Request,
    pub(super) rest: Vec<u8>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { status, text }
    }

    /// Sends the response, then waits for the peer to close: closing with unread bytes would reset the connection and discard
    /// the response.
    pub(super) async fn send(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let upgrade = match self.status {
            StatusCode::UPGRADE_REQUIRED => "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
            _ => "",
        };
        let answer = format!(
            "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             X-Content-Type-Options: nosniff\r\n{upgrade}Connection: close\r\n\r\n{}\n",
            self.status,
            self.text.len() + 1,
            self.text,
        );
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        let mut rest = stream.take(LINGER_BYTES);
        let mut sink = tokio::io::sink();
        let drained = timeout(LINGER, tokio::io::copy(&mut rest, &mut sink)).await;
        drained.map_or(Ok(()), |copied| copied.map(drop))
    }
}

impl AccessPolicy {
    /// Checks a request, and returns the response that upgrades it or the refusal.
    pub(super) fn admit(&self, request: &Request) -> Result<Response, Refusal> {
        // In this order: a page that may not connect learns nothing about whether its token is right.
        self.check_host(request)?;
        let trust = self.check_origin(request)?;
        let response = create_response(request).map_err(|error| {
            let text = format!(
                "This is a WebSocket that streams a recording, and the request is not for one ({error}). \
                 Give a viewer the ws:// address that wiretape printed."
            );
            Refusal::new(StatusCode::UPGRADE_REQUIRED, text)
        })?;
        match trust {
            OriginTrust::AllowedByUser => Ok(response),
            OriginTrust::TokenRequired => self.check_token(request).map(|()| response),
        }
    }

    fn check_host(&self, request: &Request) -> Result<(), Refusal> {
        let host = single_header(request, "host")?.unwrap_or_default();
        if is_loopback_authority(host, self.port) {
            return Ok(());
        }
        let text = format!(
            "The Host header {host:?} is not this recorder. Connect to ws://127.0.0.1:{}.",
            self.port
        );
        Err(Refusal::new(StatusCode::FORBIDDEN, text))
    }

    fn check_origin(&self, request: &Request) -> Result<OriginTrust, Refusal> {
        let Some(text) = single_header(request, "origin")? else {
            return Ok(OriginTrust::TokenRequired);
        };
        match Origin::parse(text) {
            Ok(origin) if self.allowed_origins.contains(&origin) => Ok(OriginTrust::AllowedByUser),
            Ok(origin) if origin.is_loopback(self.port) => Ok(OriginTrust::TokenRequired),
            Ok(origin) => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                format!(
                    "Pages of {origin} may not read this recording. \
                     If you trust them, record with --allow-origin {origin}."
                ),
            )),
            Err(error) => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                format!("The Origin {text:?} may not read this recording: {error}."),
            )),
        }
    }

    fn check_token(&self, request: &Request) -> Result<(), Refusal> {
        let in_path = request.uri().path().split('/').nth(1);
        let in_query = query_value(request, "token");
        let given = [in_path, in_query].into_iter().flatten();
        // `fold` instead of `any`, so that both are compared whichever matches.
        if given.fold(false, |found, token| found | equals(token, &self.token)) {
            return Ok(());
        }
        let text = "The token is missing or wrong. Use the whole ws:// address that wiretape \
                    printed; a viewer that can't send a token needs --allow-origin with its origin.";
        Err(Refusal::new(StatusCode::FORBIDDEN, text))
    }
}

/// Whether the user allowed the page's origin with `--allow-origin`, which replaces the token.
enum OriginTrust {
    AllowedByUser,
    TokenRequired,
}

/// The `since` parameter of a request. 0, which means everything, if it is missing or not a number.
pub(super) fn since(request: &Request) -> u64 {
    let since = query_value(request, "since").and_then(|value| value.parse().ok());
    since.unwrap_or(0)
}

/// Reads a request up to the end of its headers.
pub(super) async fn receive(stream: &mut TcpStream) -> Result<ReceivedRequest, Refusal> {
    let bad = |text: String| Refusal::new(StatusCode::BAD_REQUEST, text);
    let mut bytes = Vec::with_capacity(1024);
    while bytes.len() < MAX_REQUEST_BYTES {
        let read = stream.read_buf(&mut bytes).await;
        if !matches!(read, Ok(1..)) {
            return Err(bad("The request ended early.".to_owned()));
        }
        let parsed = Request::try_parse(&bytes)
            .map_err(|error| bad(format!("This is not a WebSocket request: {error}.")))?;
        if let Some((length, request)) = parsed {
            let rest = bytes.split_off(length);
            return Ok(ReceivedRequest { request, rest });
        }
    }
    let text = format!("The request's headers exceed {MAX_REQUEST_BYTES} bytes.");
    Err(Refusal::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, text))
}

/// Sends the `101 Switching Protocols` response.
pub(super) async fn upgrade(stream: &mut TcpStream, response: &Response) -> std::io::Result<()> {
    let mut answer = Vec::new();
    write_response(&mut answer, response).map_err(std::io::Error::other)?;
    stream.write_all(&answer).await
}

/// The value of a header that may occur only once: with two, another parser could pick the one that was not checked.
fn single_header<'r>(request: &'r Request, name: &str) -> Result<Option<&'r str>, Refusal> {
    let mut values = request.headers().get_all(name).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        _ => {
            Err(Refusal::new(StatusCode::BAD_REQUEST, format!("The {name} header must come once, in ASCII.")))
        }
    }
}

fn query_value<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    let mut pairs = request.uri().query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Compares in constant time, so that response times don't reveal a prefix of the token.
fn equals(left: &str, right: &str) -> bool {
    let differences = left.bytes().zip(right.bytes());
    let differing = differences.fold(0, |differing, (left, right)| differing | (left ^ right));
    left.len() == right.len() && std::hint::black_box(differing) == 0
}
