//! Is it alive, is it ready, what does it do: on a port of its own, so that no path of an upstream is taken.

use super::options::Route;
use super::server::{Bound, Shared};
use super::upstream::UpstreamUrl;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Answers until the runtime ends.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>, bound: Vec<Bound>) {
    const BREATH: Duration = Duration::from_millis(50);
    let bound: Arc<[Bound]> = bound.into();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let (shared, bound) = (Arc::clone(&shared), Arc::clone(&bound));
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&shared), Arc::clone(&bound), request));
            // Who asks may go when he likes.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(10))
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    shared: Arc<Shared>,
    bound: Arc<[Bound]>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = if !is_local(&request) {
        let error = "ask by an IP address or as localhost, and not from a web page";
        (StatusCode::FORBIDDEN, json!({ "error": error }))
    } else if request.method() != Method::GET && request.method() != Method::HEAD {
        (StatusCode::METHOD_NOT_ALLOWED, json!({ "error": "only GET is known here" }))
    } else {
        match request.uri().path() {
            "/healthz" => (StatusCode::OK, json!({ "status": "ok" })),
            "/ready" => readiness(&shared, &bound).await,
            "/version" => {
                (StatusCode::OK, json!({ "name": "wiretape", "version": env!("CARGO_PKG_VERSION") }))
            }
            "/status" => (StatusCode::OK, shared.status()),
            "/metrics" => return Ok(metrics(&shared)),
            _ => {
                let error = "there are /healthz, /ready, /version, /status and /metrics";
                (StatusCode::NOT_FOUND, json!({ "error": error }))
            }
        }
    };
    let mut response = Response::new(Full::from(format!("{body}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The figures, as Prometheus wants them.
fn metrics(shared: &Shared) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(shared.metrics()));
    let text = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

/// A page on the web can make a browser ask, under a name of its own; it may not get an answer.
fn is_local<B>(request: &Request<B>) -> bool {
    if request.headers().contains_key(header::ORIGIN) {
        return false;
    }
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let name = host.and_then(|host| host.parse::<http::uri::Authority>().ok());
    name.is_none_or(|name| {
        let name = name.host();
        name == "localhost" || name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
    })
}

/// Ready is a proxy that accepts connections and can reach a server.
async fn readiness(shared: &Shared, bound: &[Bound]) -> (StatusCode, Value) {
    let mut upstreams = Vec::new();
    let mut reachable = Vec::new();
    for bound in bound {
        if let Route::Reverse(reverse) = &bound.listener.route {
            let there = is_reachable(&reverse.upstream).await;
            reachable.push(there);
            upstreams.push(json!({
                "name": bound.listener.name,
                "url": reverse.upstream.to_string(),
                "reachable": there,
            }));
        }
    }
    let ready = !shared.is_draining() && (reachable.is_empty() || reachable.contains(&true));
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, json!({ "ready": ready, "draining": shared.is_draining(), "upstreams": upstreams }))
}

async fn is_reachable(upstream: &UpstreamUrl) -> bool {
    let upstream = upstream.clone();
    // Names are looked up and connections made by the system, which takes its time.
    tokio::task::spawn_blocking(move || upstream.is_reachable()).await.unwrap_or(false)
}
