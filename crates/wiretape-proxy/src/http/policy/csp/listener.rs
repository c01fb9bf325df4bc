//! The policies of one listener, applied to requests and responses.

use super::events::EventRewrite;
use super::policy;
use super::report::ReportEndpoint;
use super::widget;
use crate::http::decode::Decoder;
use crate::http::headers;
use crate::http::options::csp::{EffectiveRule, Reporting, Rule};
use crate::http::record::body_budget::{BodyBudget, EXPANDS, Expansion, NO_ROOM, Reservation};
use crate::http::record::exchange::Exchange;
use crate::http::record::recorder::Recorder;
use crate::http::record::resource_requests::ResourceRequests;
use crate::http::target::Target;
use crate::warning::Warning;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use std::io;
use std::sync::Arc;
use wiretape_trace::splice::splice;

/// The limit for responses that are rewritten, in bytes; longer ones are forwarded unchanged.
pub(crate) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// The reason for forwarding a response unchanged that is larger than [`MAX_ANSWER`].
pub(crate) const TOO_LARGE: &str = "it is larger than 32 MiB";

/// Responses above this size in bytes are rewritten by another thread, so that they don't block the worker's other connections.
const OFFLOAD_BYTES: usize = 256 * 1024;

/// Warns that a response is forwarded without the policies, because of a limit.
pub(crate) fn warn_unchanged(exchange: &Exchange, reason: &'static str) {
    let origin = exchange.target.origin().to_string();
    exchange.recorder().warn_once(Warning::PolicyNotApplied { origin, reason });
}

/// A complete response that may be rewritten.
pub(crate) struct Answer {
    pub(crate) body: Bytes,
    /// The content encoding of the body.
    pub(crate) encoding: Option<String>,
    pub(crate) requested: ResourceRequests,
    /// The memory of the body, and later of what it decodes to.
    pub(crate) reservation: Option<Reservation>,
}

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
        let budget = Arc::clone(&exchange.recorder().bodies);
        Some(EventRewrite::new(Arc::clone(&self.rules), requested, decoder, budget))
    }

    /// The requests that a JSON response may answer with widgets; `None` if it need not be read.
    pub(crate) fn requested_in<B>(
        &self,
        exchange: &Exchange,
        response: &Response<B>,
    ) -> Option<ResourceRequests> {
        let requested = self.requested(exchange).filter(|_| may_be_answer(response))?;
        if announced_length(response.headers()).is_some_and(|length| length > MAX_ANSWER) {
            warn_unchanged(exchange, TOO_LARGE);
            return None;
        }
        Some(requested)
    }

    fn requested(&self, exchange: &Exchange) -> Option<ResourceRequests> {
        if self.has_widgets { exchange.resource_requests() } else { None }
    }

    /// The rewritten body of a response; `None` if nothing changes. An error is the limit because of which it must not change.
    pub(crate) async fn rewritten(
        &self,
        answer: Answer,
        budget: &Arc<BodyBudget>,
    ) -> Result<Option<Bytes>, &'static str> {
        // A compressed body may be a thousand times longer once it is decoded, so its size says nothing.
        if answer.body.len() <= OFFLOAD_BYTES && answer.encoding.is_none() {
            return rewrite(answer, &self.rules, budget);
        }
        let (rules, budget) = (Arc::clone(&self.rules), Arc::clone(budget));
        let work = tokio::task::spawn_blocking(move || rewrite(answer, &rules, &budget));
        // The panic hook has reported a panic; the response passes unchanged.
        work.await.unwrap_or(Ok(None))
    }
}

/// The rewritten response; `None` if nothing changes.
fn rewrite(
    mut answer: Answer,
    rules: &[Rule],
    budget: &Arc<BodyBudget>,
) -> Result<Option<Bytes>, &'static str> {
    let decoded = match &answer.encoding {
        Some(encoding) => match decode(&answer.body, encoding, budget, &mut answer.reservation)? {
            Some(decoded) => Some(decoded),
            None => return Ok(None),
        },
        None => None,
    };
    let plain = decoded.as_deref().unwrap_or(&answer.body);
    let edits = widget::edits(plain, answer.requested, rules);
    Ok((!edits.is_empty()).then(|| Bytes::from(splice(plain, &edits))))
}

/// Decodes a body within the limits; `None` if its encoding is unknown or broken.
fn decode(
    body: &[u8],
    encoding: &str,
    budget: &Arc<BodyBudget>,
    reservation: &mut Option<Reservation>,
) -> Result<Option<Vec<u8>>, &'static str> {
    let Some(mut decoder) = Decoder::new(encoding, MAX_ANSWER) else { return Ok(None) };
    let (mut rest, mut plain, mut expansion) = (body, Vec::new(), Expansion::default());
    expansion.add_encoded(body.len());
    loop {
        let Ok(step) = decoder.step(rest) else { return Ok(None) };
        rest = &rest[step.taken..];
        plain.extend_from_slice(&step.decoded);
        if !expansion.add_decoded(step.decoded.len()) {
            return Err(EXPANDS);
        } else if plain.len() > MAX_ANSWER {
            return Err(TOO_LARGE);
        } else if !budget.reserve(reservation, body.len() + plain.len()) {
            return Err(NO_ROOM);
        } else if rest.is_empty() && !step.has_more {
            return Ok(Some(plain));
        }
    }
}

fn may_be_answer<B>(response: &Response<B>) -> bool {
    let is_json = |media: &str| media.eq_ignore_ascii_case("application/json");
    response.status() == StatusCode::OK && headers::media_type(response.headers()).is_some_and(is_json)
}

fn announced_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::options::csp::Mode;
    use crate::http::options::csp::tests::rule;

    /// The result of rewriting a compressed response with a list and this many other bytes.
    fn rewritten(bytes: Vec<u8>, budget: &Arc<BodyBudget>) -> Result<bool, &'static str> {
        let mut text =
            br#"{"id":1,"result":{"resources":[{"uri":"ui://x","_meta":{"ui":{"csp":{"connectDomains":[]}}}}],"a":""#
                .to_vec();
        text.extend(bytes);
        text.extend(br#""}}"#);
        let answer = Answer {
            body: Bytes::from(zstd::encode_all(&text[..], 1).unwrap()),
            encoding: Some("zstd".to_owned()),
            requested: ResourceRequests::in_message(br#"{"method":"resources/list"}"#).unwrap(),
            reservation: None,
        };
        let rules = [rule(&[], Mode::Extend, &[("connect-src", &["https://a"])])];
        rewrite(answer, &rules, budget).map(|changed| changed.is_some())
    }

    /// Letters that compress to about 3/4 of their size.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'0' + (state >> 59) as u8 % 32
        };
        (0..length).map(|_| next()).map(|byte| if byte < b'A' { byte + 26 } else { byte }).collect()
    }

    #[test]
    fn a_compressed_response_is_rewritten_within_the_limits() {
        let budget = BodyBudget::new(1);
        assert_eq!(rewritten(vec![b'x'; 1_000_000], &budget), Ok(true));
        assert_eq!(rewritten(vec![b'x'; 8_000_000], &budget), Err(EXPANDS));
        assert_eq!(rewritten(noise(1000).repeat(8_000), &budget), Err(EXPANDS));
        let mut others = None;
        assert!(budget.reserve(&mut others, 256 << 20), "everything was given back");
        assert_eq!(rewritten(vec![b'x'; 1_000_000], &budget), Err(NO_ROOM));
        assert_eq!(rewritten(Vec::new(), &budget), Ok(true));
    }

    #[test]
    fn a_response_that_is_too_large_when_decoded_is_unchanged() {
        assert_eq!(rewritten(noise(MAX_ANSWER), &BodyBudget::new(1)), Err(TOO_LARGE));
    }
}
