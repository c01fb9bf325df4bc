//! The endpoint to which browsers report what they blocked.
//!
//! Its path can't be guessed: the last part is random, and only pages of the upstream get it. Requests from pages of another
//! origin are refused, too. Nothing of a report is forwarded to the upstream.

use crate::http::headers;
use crate::http::record::exchange::redact_foreign_url;
use crate::http::record::recorder::Recorder;
use crate::http::refusal::discard_in_background;
use crate::http::target::Target;
use crate::warning::Warning;
use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW,
    CACHE_CONTROL, HOST, HeaderMap, HeaderValue, ORIGIN,
};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};
use wiretape_events::Violation;
use wiretape_trace::value::Value;

/// The prefix of all report paths.
const PREFIX: &str = "/.well-known/wiretape/csp-report/";

/// The limit for a report, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// The time for receiving a report.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The limit for a blocked URI in events, in characters.
const MAX_URI: usize = 2000;

/// Receives the reports for one listener.
pub(super) struct ReportEndpoint {
    path: String,
    rate_limit: Mutex<RateLimit>,
}

impl ReportEndpoint {
    /// An endpoint at a random path.
    pub(super) fn new() -> io::Result<Self> {
        let mut token = [0; 16];
        getrandom::fill(&mut token).map_err(io::Error::other)?;
        let mut path = PREFIX.to_owned();
        for byte in token {
            // Writing to a string can't fail.
            let _ = write!(path, "{byte:02x}");
        }
        Ok(ReportEndpoint { path, rate_limit: Mutex::new(RateLimit::new(Instant::now())) })
    }

    /// The path that pages get.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether a path is a report path. Also true for those of earlier runs, whose pages may still be open: their reports must
    /// not reach the upstream.
    pub(super) fn is_for_us(path: &str) -> bool {
        path.starts_with(PREFIX)
    }

    /// Receives a report and responds to it.
    pub(super) async fn take(
        &self,
        recorder: &Recorder,
        target: Option<&Target>,
        request: Request<Incoming>,
    ) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        let origin = parts.headers.get(ORIGIN).cloned();
        let mut response = match self.check(&parts.method, &parts.uri, &parts.headers) {
            Ok(ReportRequest::Preflight) => {
                let mut response = answer(StatusCode::NO_CONTENT, "");
                let headers = response.headers_mut();
                headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type"));
                response
            }
            Ok(ReportRequest::Report(format)) => {
                self.receive(recorder, target, &parts.headers, format, body).await
            }
            Err((status, text)) => {
                // Closing with unread bytes would reset the connection before the browser has read the response.
                discard_in_background(body);
                return refusal(status, text);
            }
        };
        if let Some(origin) = origin {
            response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        response
    }

    fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<ReportRequest, (StatusCode, &'static str)> {
        // Checked first: without the random part, a request learns nothing about the other conditions.
        if uri.path() != self.path {
            let text = "unknown report path; reload the page";
            return Err((StatusCode::NOT_FOUND, text));
        }
        if !is_of_our_page(headers, uri) {
            return Err((StatusCode::FORBIDDEN, "only pages served by this proxy may report"));
        }
        if method == Method::OPTIONS {
            return Ok(ReportRequest::Preflight);
        }
        if method != Method::POST {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "reports must be sent with POST"));
        }
        let format = headers::media_type(headers).and_then(Format::of).map(ReportRequest::Report);
        let expected = "a report must be application/csp-report or application/reports+json";
        format.ok_or((StatusCode::UNSUPPORTED_MEDIA_TYPE, expected))
    }

    async fn receive(
        &self,
        recorder: &Recorder,
        target: Option<&Target>,
        headers: &HeaderMap,
        format: Format,
        body: Incoming,
    ) -> Response<Bytes> {
        let reading = Limited::new(body, MAX_BODY).collect();
        let body = match tokio::time::timeout(READ_TIMEOUT, reading).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return answer(StatusCode::PAYLOAD_TOO_LARGE, "a report may have at most 64 KiB");
            }
            Ok(Err(_)) => return answer(StatusCode::BAD_REQUEST, "the report is incomplete"),
            Err(_) => return answer(StatusCode::REQUEST_TIMEOUT, "the report took too long"),
        };
        let Some(blocked) = format.read(&body) else {
            return answer(StatusCode::BAD_REQUEST, "not a report");
        };
        for blocked in blocked {
            self.emit_violation(recorder, target, headers, &blocked);
        }
        answer(StatusCode::NO_CONTENT, "")
    }

    fn emit_violation(
        &self,
        recorder: &Recorder,
        target: Option<&Target>,
        headers: &HeaderMap,
        blocked: &BlockedLoad,
    ) {
        let (Some(sink), Some(target)) = (&recorder.sink, target) else { return };
        // Per violation, not per request: one report of `report-to` may hold hundreds.
        let allowed = self.rate_limit.lock().take(Instant::now());
        if !allowed {
            return recorder.warn_once(Warning::ReportsDropped);
        }
        let uri = redact_foreign_url(recorder.redaction(), &blocked.uri);
        sink.violated(Violation {
            // The text comes from a page and is printed in terminals.
            blocked_uri: uri.chars().filter(|c| !c.is_control()).take(MAX_URI).collect(),
            directive: blocked.directive.clone(),
            session: headers::session(headers).map(str::to_owned),
            upstream: std::sync::Arc::clone(target.origin()),
        });
    }
}

/// A valid request for a report path.
#[derive(Debug, PartialEq, Eq)]
enum ReportRequest {
    /// A CORS preflight: pages in a sandbox have the origin `null`, and send one before they post.
    Preflight,
    Report(Format),
}

fn answer(status: StatusCode, text: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from_static(text.as_bytes()));
    *response.status_mut() = status;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn refusal(status: StatusCode, text: &'static str) -> Response<Bytes> {
    let mut response = answer(status, text);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, OPTIONS"));
    }
    response
}

/// Whether the sender may be a page that this proxy served. A sandboxed page has the origin `null`; it still needs the random
/// path.
fn is_of_our_page(headers: &HeaderMap, uri: &Uri) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| uri.authority().map(http::uri::Authority::as_str));
    // A proxy in front of us may terminate TLS, so the scheme is ignored.
    let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    origin == "null" || name.zip(host).is_some_and(|(name, host)| name.eq_ignore_ascii_case(host))
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Of `report-uri`: an object with one violation.
    Legacy,
    /// Of `report-to`: an array of reports of all kinds (W3C Reporting API).
    Reports,
}

/// A load that the browser blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BlockedLoad {
    uri: String,
    directive: String,
}

impl Format {
    fn of(media: &str) -> Option<Self> {
        match media.to_ascii_lowercase().as_str() {
            "application/csp-report" => Some(Format::Legacy),
            "application/reports+json" => Some(Format::Reports),
            _ => None,
        }
    }

    /// The blocked loads in a report; `None` if it is not a report.
    fn read(self, body: &[u8]) -> Option<Vec<BlockedLoad>> {
        let value = Value::parse(body).ok()?;
        match self {
            Format::Legacy => {
                let report = value.get("csp-report")?;
                let directive = ["effective-directive", "violated-directive"];
                Some(vec![blocked(report, "blocked-uri", &directive)?])
            }
            Format::Reports if value.is_array() => {
                let mut found = Vec::new();
                value.elements(|report| {
                    let is_ours = report
                        .get("type")
                        .and_then(Value::string)
                        .is_some_and(|kind| kind == "csp-violation");
                    let body = report.get("body").filter(|_| is_ours);
                    found.extend(body.and_then(|body| blocked(body, "blockedURL", &["effectiveDirective"])));
                });
                Some(found)
            }
            Format::Reports => None,
        }
    }
}

fn blocked(report: Value<'_>, uri: &str, directives: &[&str]) -> Option<BlockedLoad> {
    let text = |name: &str| report.get(name).and_then(Value::string).filter(|text| !text.is_empty());
    let directive = directives.iter().find_map(|name| text(name))?;
    // Older browsers send the whole directive, with its sources.
    let directive = directive.split_ascii_whitespace().next()?.to_ascii_lowercase();
    let is_name =
        directive.len() <= 64 && directive.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_name.then(|| BlockedLoad { uri: text(uri).unwrap_or_default().into_owned(), directive })
}

/// A token bucket for violations, so that a page that fails in a loop doesn't flood the sinks.
struct RateLimit {
    left: f64,
    since: Instant,
}

impl RateLimit {
    // A page with a wrong policy reports dozens of loads at once; that burst should be shown completely.
    const MOST: f64 = 200.0;
    const PER_SECOND: f64 = 20.0;

    fn new(now: Instant) -> Self {
        RateLimit { left: Self::MOST, since: now }
    }

    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        self.left = (self.left + passed * Self::PER_SECOND).min(Self::MOST);
        self.since = now;
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(format: Format, body: &str) -> Option<Vec<(String, String)>> {
        let pairs = |found: Vec<BlockedLoad>| found.into_iter().map(|one| (one.directive, one.uri)).collect();
        format.read(body.as_bytes()).map(pairs)
    }

    fn one(directive: &str, uri: &str) -> Option<Vec<(String, String)>> {
        Some(vec![(directive.to_owned(), uri.to_owned())])
    }

    #[test]
    fn reports_of_both_kinds_are_read() {
        let chromium = r#"{"csp-report":{"document-uri":"http://x/","violated-directive":"connect-src","effective-directive":"connect-src","disposition":"enforce","blocked-uri":"https://a/b?c=1","status-code":200}}"#;
        assert_eq!(read(Format::Legacy, chromium), one("connect-src", "https://a/b?c=1"));
        let old = r#"{"csp-report":{"violated-directive":"img-src 'self'","blocked-uri":""}}"#;
        assert_eq!(read(Format::Legacy, old), one("img-src", ""));
        let reports = r#"[{"type":"deprecation","body":{"id":"x"}},{"age":1,"type":"csp-violation","url":"http://x/","body":{"blockedURL":"inline","effectiveDirective":"script-src-elem"}}]"#;
        assert_eq!(read(Format::Reports, reports), one("script-src-elem", "inline"));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for body in
            ["", "{}", "[]", r#"{"csp-report":{}}"#, r#"{"csp-report":{"violated-directive":"\u001b[31m"}}"#]
        {
            assert_eq!(read(Format::Legacy, body), None, "{body}");
        }
        assert_eq!(read(Format::Reports, "{}"), None);
        assert_eq!(
            read(Format::Reports, r#"[1,{"type":"csp-violation"},{"type":"csp-violation","body":{}}]"#),
            Some(vec![])
        );
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_who_knows_the_path_and_comes_from_here_may_report() {
        let endpoint = ReportEndpoint::new().unwrap();
        let other = ReportEndpoint::new().unwrap();
        assert!(endpoint.path() != other.path() && endpoint.path().len() == PREFIX.len() + 32);
        let ask = |method: Method, path: &str, pairs: &[(&'static str, &'static str)]| {
            let asked = endpoint.check(&method, &path.parse().unwrap(), &headers(pairs));
            asked.map_err(|(status, _)| status.as_u16())
        };
        let (host, legacy) = (("host", "127.0.0.1:3004"), ("content-type", "application/csp-report"));
        let path = endpoint.path();
        let own = ("origin", "http://127.0.0.1:3004");
        assert_eq!(ask(Method::POST, path, &[host, legacy, own]), Ok(ReportRequest::Report(Format::Legacy)));
        assert_eq!(ask(Method::POST, path, &[host, legacy]), Ok(ReportRequest::Report(Format::Legacy)));
        assert_eq!(
            ask(Method::POST, path, &[host, legacy, ("origin", "null")]),
            Ok(ReportRequest::Report(Format::Legacy))
        );
        assert_eq!(ask(Method::OPTIONS, path, &[host, own]), Ok(ReportRequest::Preflight));
        assert_eq!(ask(Method::POST, path, &[host, legacy, ("origin", "https://evil.example")]), Err(403));
        assert_eq!(ask(Method::POST, path, &[host, legacy, ("origin", "http://127.0.0.1:3005")]), Err(403));
        assert_eq!(ask(Method::OPTIONS, path, &[host, ("origin", "https://evil.example")]), Err(403));
        assert_eq!(ask(Method::POST, other.path(), &[host, legacy, own]), Err(404));
        assert_eq!(ask(Method::GET, path, &[host, own]), Err(405));
        assert_eq!(ask(Method::POST, path, &[host, ("content-type", "text/plain")]), Err(415));
        assert!(
            ReportEndpoint::is_for_us(other.path()) && !ReportEndpoint::is_for_us("/.well-known/wiretape")
        );
    }

    #[test]
    fn a_flood_is_cut_and_ends() {
        let start = Instant::now();
        let mut allowance = RateLimit::new(start);
        assert_eq!((0..1000).filter(|_| allowance.take(start)).count(), 200);
        let later = start + Duration::from_secs(1);
        assert_eq!((0..1000).filter(|_| allowance.take(later)).count(), 20);
        let much_later = start + Duration::from_secs(3600);
        assert_eq!((0..1000).filter(|_| allowance.take(much_later)).count(), 200);
    }

    proptest! {
        #[test]
        fn nothing_panics(body in prop::collection::vec(any::<u8>(), 0..80)) {
            Format::Legacy.read(&body);
            Format::Reports.read(&body);
        }
    }
}
