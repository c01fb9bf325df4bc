//! Connects to a recorder's live view (`wiretape record --serve`) and stores its lines as a trace.
//!
//! The server does it, not the browser: the page needs no permission to connect to other ports, and the recording becomes a
//! trace like any other.

use super::App;
use super::answer::Refusal;
use crate::api::types::{LiveRequest, Opened};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::NamedTempFile;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// A message of a recorder: a snapshot of `lines`, then each new `line`; or a heartbeat.
#[derive(Deserialize)]
struct LiveMessage {
    #[serde(default)]
    lines: Vec<Box<RawValue>>,
    line: Option<Box<RawValue>>,
}

impl LiveMessage {
    /// The lines as in the trace file.
    fn written(&self) -> String {
        let lines = self.lines.iter().chain(&self.line).map(|line| without_number(line.get()));
        lines.flat_map(|line| [line, "\n".to_owned()]).collect()
    }
}

/// A line without the `_seq` that the recorder adds for viewers that reconnect.
fn without_number(line: &str) -> String {
    let number = line.rfind(",\"_seq\":");
    let is_number =
        |rest: &str| rest.strip_suffix('}').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    match number {
        Some(at) if is_number(&line[at + ",\"_seq\":".len()..]) => format!("{}}}", &line[..at]),
        _ => line.to_owned(),
    }
}

/// Connects to a recorder and starts storing its lines.
pub(crate) async fn connect(
    State(app): State<Arc<App>>,
    Json(request): Json<LiveRequest>,
) -> Result<Json<Opened>, Refusal> {
    let port = loopback(&request.url)?;
    let connected = tokio_tungstenite::connect_async(&request.url).await;
    let (socket, _) = connected.map_err(|error| {
        // The error must not repeat the address, which contains a token.
        Refusal::new(StatusCode::BAD_GATEWAY, format!("no recorder is listening on port {port}: {error}"))
            .hint("`wiretape record --serve` prints the address to use, including the token")
    })?;
    let file = NamedTempFile::with_prefix("wiretape-")?;
    let writer = file.reopen()?;
    let is_live = Arc::new(AtomicBool::new(true));
    let key = app.library.bring(&format!("live-{port}"), file, Arc::clone(&is_live));
    tokio::spawn(async move {
        // If the disk is full, the lines written so far remain visible.
        let _ = store_lines(socket, writer).await;
        is_live.store(false, Ordering::Release);
    });
    Ok(Json(Opened { key }))
}

/// The port of an address on this machine; others are refused.
fn loopback(url: &str) -> Result<u16, Refusal> {
    let refused = |what: &str| {
        Refusal::new(StatusCode::BAD_REQUEST, what).hint("use an address like `ws://127.0.0.1:7317/TOKEN`")
    };
    let uri: Uri = url.parse().map_err(|_| refused("not a valid address"))?;
    if uri.scheme_str() != Some("ws") {
        return Err(refused("the address of a live recorder starts with `ws://`"));
    }
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if host != "localhost" && !address.is_ok_and(|address| address.is_loopback()) {
        return Err(refused("live recorders must be on this machine"));
    }
    uri.port_u16().ok_or_else(|| refused("the port is missing"))
}

/// Appends the recorder's lines to the file until the connection ends.
async fn store_lines(
    mut socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    mut file: File,
) -> io::Result<()> {
    while let Some(Ok(message)) = socket.next().await {
        // Pings are answered by the library; anything else that is not text has no lines.
        let Message::Text(text) = message else { continue };
        if let Ok(message) = serde_json::from_str::<LiveMessage>(&text) {
            file.write_all(message.written().as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_as_the_recorder_wrote_them() {
        let check = |text: &str, expected: &str| {
            assert_eq!(serde_json::from_str::<LiveMessage>(text).unwrap().written(), expected, "{text}");
        };
        check(
            r#"{"type":"snapshot","lastSeq":2,"lines":[{"type":"meta","_seq":1},{"a":1.0,"_seq":2}]}"#,
            "{\"type\":\"meta\"}\n{\"a\":1.0}\n",
        );
        check(r#"{"type":"append","line":{"raw":{"_seq":7},"_seq":3}}"#, "{\"raw\":{\"_seq\":7}}\n");
        check(r#"{"type":"append","line":{"raw":{"x":1,"_seq":7}}}"#, "{\"raw\":{\"x\":1,\"_seq\":7}}\n");
        check(r#"{"type":"heartbeat"}"#, "");
    }

    #[test]
    fn only_this_machine_is_listened_to() {
        let check = |url: &str, expected: Option<u16>| assert_eq!(loopback(url).ok(), expected, "{url}");
        check("ws://127.0.0.1:7317/abc", Some(7317));
        check("ws://localhost:1/", Some(1));
        check("ws://[::1]:2/", Some(2));
        for url in [
            "ws://127.0.0.1.evil.example:1/",
            "ws://evil.example:1/",
            "http://127.0.0.1:1/",
            "ws://127.0.0.1/",
            "x",
        ] {
            check(url, None);
        }
        check("wss://127.0.0.1:1/", None);
    }
}
