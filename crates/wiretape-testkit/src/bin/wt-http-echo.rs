//! A tiny MCP server over streamable HTTP, as the upstream of a proxy: every tool call is answered with its own
//! arguments, with as little work as possible.
//!
//! `wt-http-echo [--sse | --ticks]` listens on a free port of the loopback interface and prints its URL. With `--sse`
//! requests are answered by a stream with one event instead of JSON. With `--ticks` a GET opens a stream with one event
//! per second.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, Interval, interval_at};
use wiretape_testkit::http;

const USAGE: &str = "usage: wt-http-echo [--sse | --ticks]";
/// The time between the events of a stream.
const TICK: Duration = Duration::from_secs(1);

/// How requests are answered.
#[derive(Clone, Copy)]
enum Answers {
    Json,
    Events,
    /// JSON, and streams for GET.
    Ticks,
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let answers = match (arguments.next().as_deref(), arguments.next()) {
        (None, None) => Answers::Json,
        (Some("--sse"), None) => Answers::Events,
        (Some("--ticks"), None) => Answers::Ticks,
        _ => return Err(io::Error::other(USAGE)),
    };
    http::runtime()?.block_on(serve(answers))
}

async fn serve(answers: Answers) -> io::Result<()> {
    let listener = http::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    loop {
        let stream = http::accept(&listener).await?;
        tokio::spawn(http::serve(stream, service_fn(move |request| answer(request, answers))));
    }
}

async fn answer(
    request: Request<Incoming>,
    answers: Answers,
) -> Result<Response<Either<Full<Bytes>, Ticks>>, Infallible> {
    if request.method() == Method::GET && matches!(answers, Answers::Ticks) {
        return Ok(ticking());
    }
    Ok(answer_at_once(request, answers).await.map(Either::Left))
}

async fn answer_at_once(request: Request<Incoming>, answers: Answers) -> Response<Full<Bytes>> {
    match *request.method() {
        Method::POST => match request.into_body().collect().await {
            Ok(body) => answer_message(&body.to_bytes(), answers),
            Err(_) => empty(StatusCode::BAD_REQUEST),
        },
        // The end of a session.
        Method::DELETE => empty(StatusCode::OK),
        // No GET stream: without `--ticks` this server never sends anything unsolicited.
        _ => empty(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// A stream that never ends by itself.
fn ticking() -> Response<Either<Full<Bytes>, Ticks>> {
    let mut response = Response::new(Either::Right(Ticks::new()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// A body that is one event per [`TICK`].
struct Ticks {
    interval: Interval,
    number: u64,
}

impl Ticks {
    fn new() -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        // Spread over the second: the events of many streams at once would measure a burst, not a steady load.
        let phase = OPENED.fetch_add(1, Ordering::Relaxed).wrapping_mul(617) % 1000;
        let start = Instant::now() + Duration::from_millis(phase);
        Self { interval: interval_at(start, TICK), number: 0 }
    }
}

impl Body for Ticks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        ready!(self.interval.poll_tick(context));
        self.number += 1;
        let number = self.number;
        let event = format!(
            "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"info\",\"data\":\"tick {number}\"}}}}\n\n"
        );
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(event)))))
    }
}

/// The members of a message that an answer needs.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

fn answer_message(body: &[u8], answers: Answers) -> Response<Full<Bytes>> {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(body) else {
        return empty(StatusCode::BAD_REQUEST);
    };
    let (Some(id), Some(method)) = (message.id, message.method) else {
        return empty(StatusCode::ACCEPTED);
    };
    let id = id.get();
    match method {
        "initialize" => {
            let mut response = respond(&initialized(id), answers);
            response.headers_mut().insert("mcp-session-id", new_session());
            response
        }
        "tools/call" => {
            let arguments = message.params.and_then(|params| params.arguments).map_or("{}", RawValue::get);
            respond(&called(id, arguments), answers)
        }
        _ => respond(&unknown(id), answers),
    }
}

fn initialized(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"wt-http-echo","version":"1"}}}}}}"#
    )
}

fn called(id: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"echoed"}}],"structuredContent":{arguments}}}}}"#
    )
}

fn unknown(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"method not found"}}}}"#)
}

/// A session id that is unique among all servers running at the same time.
fn new_session() -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let session = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    HeaderValue::from_str(&session).expect("a header value may consist of digits")
}

fn respond(message: &str, answers: Answers) -> Response<Full<Bytes>> {
    let (content_type, body) = match answers {
        Answers::Json | Answers::Ticks => ("application/json", message.to_owned()),
        Answers::Events => ("text/event-stream", format!("event: message\ndata: {message}\n\n")),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
