//! Redacted heads, with a cache. On one connection the heads differ only in `Content-Length` and `Date`, so a head that was
//! rendered and redacted once is compared instead of rendered again.
//!
//! Before this cache an exchange took 85,000 instructions, with it 69,000 (`callgrind`; `cargo xtask bench --only http`, the
//! rows of CPU per request). One entry for each direction is enough, because clients send the same kind of request again and
//! again.

use super::exchange::{header_pairs, redact_target, redacted, version};
use http::header::{CONTENT_LENGTH, DATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use wiretape_trace::format::Head;
use wiretape_trace::redact::Redactor;

/// The last head of each direction on one connection.
#[derive(Default)]
pub(crate) struct HeadCache {
    request: Mutex<Option<CachedHead>>,
    response: Mutex<Option<CachedHead>>,
}

/// The first line of a head (RFC 9112, section 2.1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StartLine<'a> {
    Request { method: Method, target: Cow<'a, str>, version: Version },
    Response { status: StatusCode, version: Version },
}

/// A head as received, and its redacted rendering.
struct CachedHead {
    start: StartLine<'static>,
    steady: Vec<Header>,
    /// The rendering of the steady headers only.
    steady_head: Head,
    varying: Vec<Header>,
    head: Arc<Head>,
}

type Header = (HeaderName, HeaderValue);

impl HeadCache {
    /// Renders and redacts a head.
    pub(crate) fn head(
        &self,
        redactor: Option<&Redactor>,
        start: StartLine<'_>,
        headers: &HeaderMap,
    ) -> Arc<Head> {
        let last = match start {
            StartLine::Request { .. } => &self.request,
            StartLine::Response { .. } => &self.response,
        };
        let mut last = last.lock();
        // Under the lock: comparing is cheap, and an HTTP/1.1 connection has one request at a time anyway.
        if let Some(last) = last.as_mut().filter(|last| last.start == start && last.is_steady_in(headers)) {
            return last.update(redactor, headers);
        }
        let cached = last.insert(CachedHead::new(redactor, start.into_owned(), headers));
        Arc::clone(&cached.head)
    }
}

impl StartLine<'_> {
    fn into_owned(self) -> StartLine<'static> {
        match self {
            StartLine::Request { method, target, version } => {
                StartLine::Request { method, target: Cow::Owned(target.into_owned()), version }
            }
            StartLine::Response { status, version } => StartLine::Response { status, version },
        }
    }

    fn render<'a>(
        &self,
        redactor: Option<&Redactor>,
        headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
    ) -> Head {
        let pairs = header_pairs(redactor, headers);
        let head = match self {
            StartLine::Request { method, target, version: http_version } => Head::request(
                method.as_str(),
                &redact_target(redactor, target),
                version(*http_version),
                pairs,
            ),
            StartLine::Response { status, version: http_version } => {
                Head::response(status.as_u16(), version(*http_version), pairs)
            }
        };
        redacted(redactor, head)
    }
}

impl CachedHead {
    fn new(redactor: Option<&Redactor>, start: StartLine<'static>, headers: &HeaderMap) -> Self {
        let steady_head = start.render(redactor, steady(headers));
        let mut cached = CachedHead {
            start,
            steady: steady(headers).map(owned).collect(),
            head: Arc::new(steady_head.clone()),
            steady_head,
            varying: Vec::new(),
        };
        cached.update(redactor, headers);
        cached
    }

    fn is_steady_in(&self, headers: &HeaderMap) -> bool {
        same(&self.steady, steady(headers))
    }

    /// Updates the varying headers and returns the head.
    fn update(&mut self, redactor: Option<&Redactor>, headers: &HeaderMap) -> Arc<Head> {
        if !same(&self.varying, varying(headers)) {
            self.varying = varying(headers).map(owned).collect();
            let more = redacted(redactor, Head::headers(header_pairs(redactor, varying(headers))));
            let joined = self.steady_head.join(&more);
            // `join` fails when a user's redaction rule replaced all headers with one marker.
            self.head = Arc::new(joined.unwrap_or_else(|| self.start.render(redactor, headers.iter())));
        }
        Arc::clone(&self.head)
    }
}

fn is_varying(name: &HeaderName) -> bool {
    *name == CONTENT_LENGTH || *name == DATE
}

fn steady(headers: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
    headers.iter().filter(|(name, _)| !is_varying(name))
}

fn varying(headers: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
    headers.iter().filter(|(name, _)| is_varying(name))
}

fn owned((name, value): (&HeaderName, &HeaderValue)) -> Header {
    (name.clone(), value.clone())
}

fn same<'a>(known: &[Header], now: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>) -> bool {
    let mut known = known.iter();
    let all = now.into_iter().all(|(name, value)| known.next().is_some_and(|(n, v)| n == name && v == value));
    all && known.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::redact::{RedactionKey, Rules};

    fn redactor() -> Redactor {
        Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap()
    }

    fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        headers.iter().map(header).collect()
    }

    fn get() -> StartLine<'static> {
        StartLine::Request {
            method: Method::GET,
            target: "/a?token=t0psecret".into(),
            version: Version::HTTP_11,
        }
    }

    fn text(head: &Head) -> String {
        String::from_utf8(head.json().to_vec()).unwrap()
    }

    #[test]
    fn a_head_that_repeats_itself_is_redacted_each_time() {
        let (redactor, cache) = (redactor(), HeadCache::default());
        let clean = |token| text(&cache.head(Some(&redactor), get(), &map(&[("authorization", token)])));
        let first = clean("Bearer one-secret");
        assert!(!first.contains("secret"), "{first}");
        assert_eq!(clean("Bearer one-secret"), first);
        let other = clean("Bearer two-secret");
        assert!(other != first && !other.contains("secret"), "{other}");
        assert_eq!(clean("Bearer one-secret"), first);
    }

    /// Compares the cache with a fresh one.
    #[test]
    fn whatever_changes_is_seen() {
        let (redactor, cache) = (redactor(), HeadCache::default());
        let heads: [&[(&'static str, &str)]; 8] = [
            &[("accept", "a"), ("content-length", "1")],
            &[("accept", "a"), ("content-length", "2")],
            &[("accept", "a"), ("content-length", "2"), ("date", "today")],
            &[("accept", "a")],
            &[("content-length", "2")],
            &[],
            &[("x-api-key", "sk-0123456789abcdef"), ("content-length", "3")],
            &[("x-api-key", "sk-0123456789abcdeg"), ("content-length", "3")],
        ];
        for headers in heads.iter().chain(heads.iter().rev()) {
            let headers = map(headers);
            for start in [get(), StartLine::Response { status: StatusCode::OK, version: Version::HTTP_2 }] {
                let fresh = HeadCache::default().head(Some(&redactor), start.clone(), &headers);
                assert_eq!(text(&cache.head(Some(&redactor), start, &headers)), text(&fresh));
                let read: serde_json::Value = serde_json::from_slice(fresh.json()).unwrap();
                assert_eq!(read["headers"].as_object().unwrap().len(), headers.len());
                assert!(!text(&fresh).contains("t0psecret") && !text(&fresh).contains("0123456789"));
            }
        }
    }

    #[test]
    fn a_rule_that_blanks_all_headers_blanks_the_varying_ones_too() {
        let rules = Rules { keys: vec!["headers".to_owned()], ..Rules::default() };
        let redactor = Redactor::new(&rules, &RedactionKey::new([1; 32])).unwrap();
        let headers = map(&[("accept", "a"), ("content-length", "12345")]);
        let head = HeadCache::default().head(Some(&redactor), get(), &headers);
        let whole = get().render(Some(&redactor), headers.iter());
        assert_eq!(text(&head), text(&whole));
    }
}
