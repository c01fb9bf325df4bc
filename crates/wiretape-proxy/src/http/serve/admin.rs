//! The admin port: liveness, readiness, version, status and metrics. A separate port, so that no path of an upstream is taken.

use super::server::BoundListener;
use super::{metrics, process};
use crate::http::options::{AdminOptions, Route};
use crate::http::relay::context::RelayContext;
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
use wiretape_events::sink::Exposition;

/// The server of the admin port.
pub(crate) struct Admin {
    pub(crate) context: Arc<RelayContext>,
    pub(crate) bound: Vec<BoundListener>,
    pub(crate) options: AdminOptions,
}

impl Admin {
    /// Serves requests until the runtime ends.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        const RETRY_DELAY: Duration = Duration::from_millis(50);
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Without file descriptors `accept` fails at once, again and again; the pause keeps the loop from
                // spinning.
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            };
            let admin = Arc::clone(&self);
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let admin = Arc::clone(&admin);
                    async move { Ok::<_, Infallible>(admin.answer(&request).await) }
                });
                // The client may disconnect at any time; that is not an error.
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(Duration::from_secs(10))
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    }

    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (status, body) = if !is_trusted(request, &self.options.hosts) {
            let error = "use an IP address, localhost or a name allowed with --admin-host; requests from web pages are refused";
            (StatusCode::FORBIDDEN, json!({ "error": error }))
        } else if request.method() != Method::GET && request.method() != Method::HEAD {
            (StatusCode::METHOD_NOT_ALLOWED, json!({ "error": "only GET is supported" }))
        } else {
            match request.uri().path() {
                "/healthz" => (StatusCode::OK, json!({ "status": "ok" })),
                "/ready" => self.readiness().await,
                "/version" => {
                    (StatusCode::OK, json!({ "name": "wiretape", "version": env!("CARGO_PKG_VERSION") }))
                }
                "/status" => (StatusCode::OK, metrics::status(&self.context)),
                "/metrics" => return self.metrics().await,
                _ => {
                    let error = "not found; available: /healthz, /ready, /version, /status, /metrics";
                    (StatusCode::NOT_FOUND, json!({ "error": error }))
                }
            }
        };
        let mut response = Response::new(Full::from(format!("{body}\n")));
        *response.status_mut() = status;
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }

    /// The metrics in the Prometheus text format.
    async fn metrics(&self) -> Response<Full<Bytes>> {
        let mut out = Exposition::default();
        out.family("wiretape_build_info", "gauge", "Always 1; the version is its label.");
        out.sample("wiretape_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        out.family("wiretape_upstream_up", "gauge", "Whether the server accepts connections.");
        for (name, _, reachable) in self.upstreams().await {
            out.sample("wiretape_upstream_up", &[("server", &name)], u8::from(reachable));
        }
        self.options.requests.write(&mut out);
        metrics::write(&self.context, &mut out);
        process::write(&mut out);
        let mut response = Response::new(Full::from(out.into_text()));
        let text = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, text);
        response
    }

    /// A proxy is ready when it accepts connections and can reach at least one of its servers.
    async fn readiness(&self) -> (StatusCode, Value) {
        let upstreams = self.upstreams().await;
        let is_draining = self.context.is_draining();
        let ready =
            !is_draining && (upstreams.is_empty() || upstreams.iter().any(|(.., reachable)| *reachable));
        let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let upstreams: Vec<Value> = upstreams
            .into_iter()
            .map(|(name, url, reachable)| json!({ "name": name, "url": url, "reachable": reachable }))
            .collect();
        (status, json!({ "ready": ready, "draining": is_draining, "upstreams": upstreams }))
    }

    /// The name and URL of each server, and whether it accepts connections. All are probed concurrently.
    async fn upstreams(&self) -> Vec<(String, String, bool)> {
        let mut probes = Vec::new();
        for bound in &self.bound {
            if let Route::Reverse(reverse) = &bound.listener.route {
                let upstream = reverse.upstream.clone();
                // Blocking: the system's resolver and `connect` may take a second.
                let reachable = tokio::task::spawn_blocking(move || upstream.is_reachable());
                probes.push((bound.listener.name.clone(), reverse.upstream.to_string(), reachable));
            }
        }
        let mut upstreams = Vec::new();
        for (name, url, reachable) in probes {
            upstreams.push((name, url, reachable.await.unwrap_or(false)));
        }
        upstreams
    }
}

/// Whether a request can't come from a web page. A page may point its own DNS name to this machine (DNS rebinding); then the
/// browser sends that name as `Host`. So the name must be one that no web site can have, or one that the user allows.
fn is_trusted<B>(request: &Request<B>, hosts: &[String]) -> bool {
    // Only browsers send it, and no page has a reason to read these.
    if request.headers().contains_key(header::ORIGIN) {
        return false;
    }
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let name = host.and_then(|host| host.parse::<http::uri::Authority>().ok());
    // HTTP/1.0 clients such as simple health checks send no `Host`; browsers always do.
    name.is_none_or(|name| {
        let name = name.host().trim_end_matches('.');
        is_private(name) || hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    })
}

/// Whether no public web site can have a name: an address, a name without a domain, as containers and services have, or one in a
/// domain that is not in the public DNS (RFC 6761, 6762, 8375; ICANN's `.internal`; `.svc` of Kubernetes).
fn is_private(name: &str) -> bool {
    const DOMAINS: [&str; 5] = [".localhost", ".local", ".internal", ".home.arpa", ".svc"];
    let lower = name.to_ascii_lowercase();
    name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
        || !name.contains('.')
        || DOMAINS.iter().any(|domain| lower.ends_with(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_no_web_page_can_have_are_trusted() {
        let check = |host: &str, expected| {
            let request = Request::builder().header("host", host).body(()).unwrap();
            assert_eq!(is_trusted(&request, &["Metrics.example.com".to_owned()]), expected, "{host}");
        };
        for host in
            ["127.0.0.1:1", "[::1]:1", "localhost", "wiretape:3005", "10.0.0.7", "metrics.example.com:80"]
        {
            check(host, true);
        }
        for host in
            ["wiretape.monitoring.svc.cluster.local:3005", "wiretape.monitoring.svc", "proxy.internal."]
        {
            check(host, true);
        }
        for host in ["evil.example", "local.evil.example:80", "127.0.0.1.evil.example", "example.com"] {
            check(host, false);
        }
    }
}
