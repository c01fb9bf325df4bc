//! The policies of one listener, applied to requests and responses.

use super::events::EventRewrite;
use super::policy;
use super::report::ReportEndpoint;
use super::widget::{self, ResourceRequests};
use crate::http::decode::Decoder;
use crate::http::headers;
use crate::http::options::csp::{EffectiveRule, Reporting, Rule};
use crate::http::record::exchange::Exchange;
use crate::http::record::recorder::Recorder;
use crate::http::target::Target;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use std::io;
use std::sync::Arc;
use wiretape_trace::splice::splice;

/// The limit for responses that are rewritten, in bytes; longer ones are forwarded unchanged.
pub(crate) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// Responses above this size in bytes are rewritten by another thread, so that they don't block the worker's other connections.
const OFFLOAD_BYTES: usize = 256 * 1024;

/// The policies of one listener.
pub(crate) struct Csp {
    rules: Arc<[Rule]>,
    /// The endpoint for browsers' reports, if any rule wants them.
    endpoint: Option<ReportEndpoint>,
    /// Whether any rule applies to widgets.
    has_widgets: bool,
}

impl Csp {
    /// The policies by these rules; `None` if there are no rules.
    pub(crate) fn new(rules: &[Rule]) -> io::Result<Option<Self>> {
        if rules.is_empty() {
            return Ok(None);
        }
        let reports = rules.iter().any(|rule| rule.report != Some(Reporting::Off));
        Ok(Some(Csp {
            rules: rules.into(),
            endpoint: reports.then(ReportEndpoint::new).transpose()?,
            has_widgets: rules.iter().any(widget::concerns_widgets),
        }))
    }

    /// Whether a request for this path is a browser's report.
    pub(crate) fn takes_reports_at(&self, path: &str) -> bool {
        self.endpoint.is_some() && ReportEndpoint::is_for_us(path)
    }

    /// Receives a browser's report.
    pub(crate) async fn take_report(
        &self,
        recorder: &Recorder,
        target: Option<&Target>,
        request: Request<Incoming>,
    ) -> Response<Bytes> {
        let endpoint =
            self.endpoint.as_ref().expect("callers check `takes_reports_at`, which needs an endpoint");
        endpoint.take(recorder, target, request).await
    }

    /// Whether the content of requests must be read, to recognise those for widgets.
    pub(crate) fn needs_requests(&self) -> bool {
        self.has_widgets
    }

    /// Sets the policy of an HTML page.
    pub(crate) fn apply_to_page(&self, exchange: &Exchange, path: &str, headers: &mut HeaderMap) {
        if !headers::is_html(headers) {
            return;
        }
        let report_path = self.endpoint.as_ref().map_or("", ReportEndpoint::path);
        if EffectiveRule::of(&self.rules, path)
            .is_some_and(|combined| policy::apply(headers, &combined, report_path))
        {
            exchange.mark_csp_applied();
        }
    }

    /// The rewriting of an event stream, if it may hold widgets. The client gets the stream decoded.
    pub(crate) fn event_rewrite(&self, exchange: &Exchange, headers: &mut HeaderMap) -> Option<EventRewrite> {
        if !headers::is_event_stream(headers) {
            return None;
        }
        let requested = self.requested(exchange)?;
        let decoder = match headers::content_encoding(headers) {
            Some(encoding) => Some(Decoder::new(encoding, usize::MAX)?),
            None => None,
        };
        headers.remove(CONTENT_ENCODING);
        // Both describe the body as the server sent it: now it is decoded, and may get longer.
        headers.remove(CONTENT_LENGTH);
        Some(EventRewrite::new(Arc::clone(&self.rules), requested, decoder))
    }

    /// The requests that a JSON response may answer with widgets.
    pub(crate) fn requested_in<B>(
        &self,
        exchange: &Exchange,
        response: &Response<B>,
    ) -> Option<ResourceRequests> {
        self.requested(exchange).filter(|_| may_be_answer(response))
    }

    fn requested(&self, exchange: &Exchange) -> Option<ResourceRequests> {
        let message = if self.has_widgets { exchange.request_message()? } else { return None };
        ResourceRequests::in_message(&message)
    }

    /// The rewritten body of a response; `None` if nothing changes.
    pub(crate) async fn rewritten(
        &self,
        whole: Bytes,
        requested: ResourceRequests,
        encoding: Option<String>,
    ) -> Option<Bytes> {
        // A compressed body may be a thousand times longer once it is decoded, so its size says nothing.
        if whole.len() <= OFFLOAD_BYTES && encoding.is_none() {
            return rewrite(&whole, requested, None, &self.rules);
        }
        let rules = Arc::clone(&self.rules);
        let work =
            tokio::task::spawn_blocking(move || rewrite(&whole, requested, encoding.as_deref(), &rules));
        work.await.ok().flatten()
    }
}

/// The rewritten response; `None` if nothing changes.
fn rewrite(
    whole: &[u8],
    requested: ResourceRequests,
    encoding: Option<&str>,
    rules: &[Rule],
) -> Option<Bytes> {
    let decoded = match encoding {
        Some(encoding) => Some(Decoder::new(encoding, MAX_ANSWER)?.push(whole).ok()?),
        None => None,
    };
    let plain = decoded.as_deref().unwrap_or(whole);
    let edits = widget::edits(plain, requested, rules);
    (!edits.is_empty()).then(|| Bytes::from(splice(plain, &edits)))
}

fn may_be_answer<B>(response: &Response<B>) -> bool {
    let is_json = |media: &str| media.eq_ignore_ascii_case("application/json");
    let length =
        response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    response.status() == StatusCode::OK
        && headers::media_type(response.headers()).is_some_and(is_json)
        && length.is_none_or(|length| length <= MAX_ANSWER)
}
