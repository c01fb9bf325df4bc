//! Redacted heads, with a cache. On one connection the heads differ only in `Content-Length` and `Date`, so a head that was
//! rendered and redacted once is compared instead of rendered again.
//!
//! Before this cache an exchange took 85,000 instructions, with it 69,000 (`callgrind`; `cargo xtask bench --only http`, the
//! rows of CPU per request). One entry for each direction is enough, because clients send the same kind of request again and
//! again.

use super::exchange::{Redaction, header_pairs, redact_target, redacted, version, without_known_secrets};
use super::redaction::RequestNames;
use http::header::{CONTENT_LENGTH, DATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use wiretape_trace::format::Head;

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
    /// The names in a request's head, once they are needed.
    names: Option<RequestNames>,
    /// The generation of the memory that the rendering and the names were redacted with.
    generation: u64,
}

type Header = (HeaderName, HeaderValue);

impl HeadCache {
    /// Renders and redacts the head of a request, and the names in it. `path` is that of the start line.
    pub(super) fn request(
        &self,
        redaction: Option<Redaction<'_>>,
        start: StartLine<'_>,
        path: &str,
        headers: &HeaderMap,
    ) -> (Arc<Head>, RequestNames) {
        let mut last = self.request.lock();
        let (cached, head) = CachedHead::refreshed(&mut last, redaction, start, headers);
        let names = cached.names.get_or_insert_with(|| RequestNames::new(redaction, path, headers));
        (head, names.clone())
    }

    /// Renders and redacts a head.
    pub(crate) fn head(
        &self,
        redaction: Option<Redaction<'_>>,
        start: StartLine<'_>,
        headers: &HeaderMap,
    ) -> Arc<Head> {
        let last = match start {
            StartLine::Request { .. } => &self.request,
            StartLine::Response { .. } => &self.response,
        };
        CachedHead::refreshed(&mut last.lock(), redaction, start, headers).1
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
        redaction: Option<Redaction<'_>>,
        headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
    ) -> Head {
        let pairs = header_pairs(redaction, headers);
        let head = match self {
            StartLine::Request { method, target, version: http_version } => Head::request(
                method.as_str(),
                &redact_target(redaction, target),
                version(*http_version),
                pairs,
            ),
            StartLine::Response { status, version: http_version } => {
                Head::response(status.as_u16(), version(*http_version), pairs)
            }
        };
        redacted(redaction, head)
    }
}

impl CachedHead {
    /// The cached head, or a new one in its place, brought up to date. Under the cache's lock: comparing is cheap, and an
    /// HTTP/1.1 connection has one request at a time anyway.
    fn refreshed<'c>(
        last: &'c mut Option<CachedHead>,
        redaction: Option<Redaction<'_>>,
        start: StartLine<'_>,
        headers: &HeaderMap,
    ) -> (&'c mut Self, Arc<Head>) {
        let is_same = |last: &CachedHead| last.start == start && last.is_steady_in(headers);
        let cached = match last.take().filter(is_same) {
            Some(mut cached) => {
                cached.forget_secrets(redaction);
                cached.update(redaction, headers);
                cached
            }
            None => CachedHead::new(redaction, start.into_owned(), headers),
        };
        let cached = last.insert(cached);
        let head = Arc::clone(&cached.head);
        (cached, head)
    }

    fn new(redaction: Option<Redaction<'_>>, start: StartLine<'static>, headers: &HeaderMap) -> Self {
        // Before rendering: what another connection learns meanwhile is then looked for when the head is used again.
        let generation = generation(redaction);
        let steady_head = start.render(redaction, steady(headers));
        let mut cached = CachedHead {
            start,
            steady: steady(headers).map(owned).collect(),
            head: Arc::new(steady_head.clone()),
            steady_head,
            varying: Vec::new(),
            names: None,
            generation,
        };
        cached.update(redaction, headers);
        cached
    }

    fn is_steady_in(&self, headers: &HeaderMap) -> bool {
        same(&self.steady, steady(headers))
    }

    /// Redacts the secrets that were named since the head was rendered. The rendering is redacted, not the head as received:
    /// that would learn the head's own secrets anew, and where more than fit into the memory are in use, connections would
    /// make each other render forever.
    fn forget_secrets(&mut self, redaction: Option<Redaction<'_>>) {
        let generation = generation(redaction);
        if std::mem::replace(&mut self.generation, generation) != generation {
            let clean = without_known_secrets(redaction, self.steady_head.clone());
            if let Some(names) = &mut self.names {
                names.remove_known_secrets(redaction);
            }
            if clean.json() != self.steady_head.json() {
                self.steady_head = clean;
                self.varying.clear();
                self.head = Arc::new(self.steady_head.clone());
            }
        }
    }

    /// Updates the varying headers.
    fn update(&mut self, redaction: Option<Redaction<'_>>, headers: &HeaderMap) {
        if !same(&self.varying, varying(headers)) {
            self.varying = varying(headers).map(owned).collect();
            let more = redacted(redaction, Head::headers(header_pairs(redaction, varying(headers))));
            let joined = self.steady_head.join(&more);
            // `join` fails when a user's redaction rule replaced all headers with one marker.
            self.head = Arc::new(joined.unwrap_or_else(|| self.start.render(redaction, headers.iter())));
        }
    }
}

fn generation(redaction: Option<Redaction<'_>>) -> u64 {
    redaction.map_or(0, |redaction| redaction.memory.generation())
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
    use wiretape_trace::redact::{RedactionKey, Redactor, Rules, SecretMemory};

    fn redactor() -> Redactor {
        Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap()
    }

    fn with<'r>(redactor: &'r Redactor, memory: &'r SecretMemory) -> Option<Redaction<'r>> {
        Some(Redaction { redactor, memory })
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
        let (redactor, memory, cache) = (redactor(), SecretMemory::default(), HeadCache::default());
        let redaction = with(&redactor, &memory);
        let clean = |token| text(&cache.head(redaction, get(), &map(&[("authorization", token)])));
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
        let (redactor, memory, cache) = (redactor(), SecretMemory::default(), HeadCache::default());
        let redaction = with(&redactor, &memory);
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
                let fresh = HeadCache::default().head(redaction, start.clone(), &headers);
                assert_eq!(text(&cache.head(redaction, start, &headers)), text(&fresh));
                let read: serde_json::Value = serde_json::from_slice(fresh.json()).unwrap();
                assert_eq!(read["headers"].as_object().unwrap().len(), headers.len());
                assert!(!text(&fresh).contains("t0psecret") && !text(&fresh).contains("0123456789"));
            }
        }
    }

    #[test]
    fn a_cached_head_loses_a_secret_that_is_named_later_and_stays_cached_otherwise() {
        let (redactor, memory, cache) = (redactor(), SecretMemory::default(), HeadCache::default());
        let headers = map(&[("x-note", "it is open-sesame-42"), ("content-length", "1")]);
        let head = || cache.head(with(&redactor, &memory), get(), &headers);
        let first = head();
        assert!(text(&first).contains("open-sesame-42"), "nothing has named it yet");
        memory.learn(b"another-secret-43");
        assert!(Arc::ptr_eq(&first, &head()), "it has nothing of what was learned");
        memory.learn(b"open-sesame-42");
        let clean = head();
        assert!(!text(&clean).contains("open-sesame"), "{}", text(&clean));
        assert!(text(&clean).contains("\"content-length\":\"1\""), "{}", text(&clean));
        assert!(Arc::ptr_eq(&clean, &head()));
    }

    #[test]
    fn a_rule_that_blanks_all_headers_blanks_the_varying_ones_too() {
        let rules = Rules { keys: vec!["headers".to_owned()], ..Rules::default() };
        let redactor = Redactor::new(&rules, &RedactionKey::new([1; 32])).unwrap();
        let memory = SecretMemory::default();
        let redaction = with(&redactor, &memory);
        let headers = map(&[("accept", "a"), ("content-length", "12345")]);
        let head = HeadCache::default().head(redaction, get(), &headers);
        let whole = get().render(redaction, headers.iter());
        assert_eq!(text(&head), text(&whole));
    }
}
