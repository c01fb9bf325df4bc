//! The policies of one listener, where they meet requests and responses.

use super::super::body::{BodyError, ProxyBody};
use super::super::connection::ClientConnection;
use super::super::decode::Decoder;
use super::super::exchange::Exchange;
use super::super::headers;
use super::super::refusal::Refusal;
use super::super::splice::splice;
use super::events::EventRewrite;
use super::policy;
use super::report::ReportEndpoint;
use super::rule::{Reporting, Rule, Wish};
use super::widget::{self, Asked};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode, response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::io;
use std::sync::Arc;

/// A longer answer passes as it is.
pub(super) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// From this size on the work is done by another thread.
const HEAVY: usize = 256 * 1024;

/// What a listener does about policies.
pub(in super::super) struct Csp {
    rules: Arc<[Rule]>,
    /// Where browsers tell what they blocked, if any rule wants that.
    endpoint: Option<ReportEndpoint>,
    /// Whether any rule is for widgets.
    has_widgets: bool,
}

impl Csp {
    /// By these rules; `None` if there are none.
    pub(in super::super) fn new(rules: &[Rule]) -> io::Result<Option<Self>> {
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

    /// Who takes a request for this path, if it is a report.
    pub(in super::super) fn takes_reports_at(&self, path: &str) -> bool {
        self.endpoint.is_some() && ReportEndpoint::is_for_us(path)
    }

    /// Takes a report.
    pub(in super::super) async fn take_report(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Response<ProxyBody> {
        let endpoint = self.endpoint.as_ref().expect("who was asked whether it takes reports");
        endpoint.take(connection, request).await
    }

    /// Whether it must be known what requests ask for.
    pub(in super::super) fn listens_to_requests(&self) -> bool {
        self.has_widgets
    }

    /// Gives a page its policy.
    pub(in super::super) fn tell_page(&self, exchange: &Exchange, path: &str, headers: &mut HeaderMap) {
        if !headers::is_html(headers) {
            return;
        }
        let report_path = self.endpoint.as_ref().map_or("", ReportEndpoint::path);
        if Wish::of(&self.rules, path).is_some_and(|wish| policy::apply(headers, &wish, report_path)) {
            exchange.csp_applied();
        }
    }

    /// What is to be changed in a stream of events. It comes to the client without its encoding.
    pub(in super::super) fn event_rewrite(
        &self,
        exchange: &Exchange,
        headers: &mut HeaderMap,
    ) -> Option<EventRewrite> {
        if !headers::is_event_stream(headers) {
            return None;
        }
        let asked = self.asked(exchange)?;
        let decoder = match headers::content_encoding(headers) {
            Some(encoding) => Some(Decoder::new(encoding, usize::MAX)?),
            None => None,
        };
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
        Some(EventRewrite::new(Arc::clone(&self.rules), asked, decoder))
    }

    /// Changes an answer that is JSON.
    pub(in super::super) async fn tell_answer(
        &self,
        exchange: &Exchange,
        response: Response<ProxyBody>,
    ) -> Result<Response<ProxyBody>, Refusal> {
        let Some(asked) = self.asked(exchange).filter(|_| may_be_answer(&response)) else {
            return Ok(response);
        };
        let (parts, mut body) = response.into_parts();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| broken(exchange, error))?;
            let Ok(data) = frame.into_data() else { continue };
            whole.extend_from_slice(&data);
            if whole.len() > MAX_ANSWER {
                return Ok(Response::from_parts(parts, body.behind(whole.freeze())));
            }
        }
        let whole = whole.freeze();
        let encoding = headers::content_encoding(&parts.headers).map(str::to_owned);
        match self.rewritten(whole.clone(), asked, encoding).await {
            Some(changed) => {
                exchange.csp_applied();
                Ok(changed_response(parts, changed))
            }
            None => Ok(Response::from_parts(parts, ProxyBody::from(whole))),
        }
    }

    fn asked(&self, exchange: &Exchange) -> Option<Asked> {
        let message = if self.has_widgets { exchange.request_message()? } else { return None };
        Asked::by(&message)
    }

    async fn rewritten(&self, whole: Bytes, asked: Asked, encoding: Option<String>) -> Option<Bytes> {
        if whole.len() <= HEAVY && encoding.is_none() {
            return rewrite(&whole, asked, None, &self.rules);
        }
        let rules = Arc::clone(&self.rules);
        let work = tokio::task::spawn_blocking(move || rewrite(&whole, asked, encoding.as_deref(), &rules));
        work.await.ok().flatten()
    }
}

/// The answer as it is told, if that is not as it came.
fn rewrite(whole: &[u8], asked: Asked, encoding: Option<&str>, rules: &[Rule]) -> Option<Bytes> {
    let decoded = match encoding {
        Some(encoding) => Some(Decoder::new(encoding, MAX_ANSWER)?.push(whole).ok()?),
        None => None,
    };
    let plain = decoded.as_deref().unwrap_or(whole);
    let edits = widget::edits(plain, asked, rules);
    (!edits.is_empty()).then(|| Bytes::from(splice(plain, &edits)))
}

fn may_be_answer(response: &Response<ProxyBody>) -> bool {
    let is_json = |media: &str| media.eq_ignore_ascii_case("application/json");
    let length =
        response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    response.status() == StatusCode::OK
        && headers::media_type(response.headers()).is_some_and(is_json)
        && length.is_none_or(|length| length <= MAX_ANSWER)
}

fn changed_response(mut parts: response::Parts, body: Bytes) -> Response<ProxyBody> {
    for gone in [CONTENT_ENCODING, TRANSFER_ENCODING, ETAG] {
        parts.headers.remove(gone);
    }
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    Response::from_parts(parts, ProxyBody::from(body))
}

fn broken(exchange: &Exchange, error: BodyError) -> Refusal {
    match error {
        BodyError::Refused(refusal) => refusal,
        BodyError::Broken(_) => {
            Refusal::upstream_failed(exchange.target.origin(), "broke off in the middle of its answer")
        }
    }
}
