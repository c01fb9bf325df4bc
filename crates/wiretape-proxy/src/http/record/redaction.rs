//! What the proxy's memory of secrets learns from heads and URLs, and the names in heads that don't change with it.

use super::exchange::Redaction;
use crate::http::headers;
use http::HeaderMap;
use std::borrow::Cow;
use wiretape_events::transaction::session_in;
use wiretape_trace::json::SyntaxError;

impl Redaction<'_> {
    /// Redacts JSON and remembers the secrets that it names.
    pub(super) fn json<'a>(self, json: &'a [u8]) -> Result<Cow<'a, [u8]>, SyntaxError> {
        self.redactor.json_with(json, self.memory)
    }

    /// Redacts a URL and remembers the secrets in its parameters.
    pub(super) fn url<'a>(self, url: &'a str) -> Cow<'a, str> {
        self.redactor.url_with(url, self.memory)
    }

    /// Redacts a URL, also the secrets that are known, and learns none.
    pub(super) fn url_unlearned<'a>(self, url: &'a str) -> Cow<'a, str> {
        self.remove_known_secrets(self.redactor.url(url))
    }

    /// Removes the known secrets from a redacted URL. In what is redacted there is nothing left to learn.
    pub(super) fn remove_known_secrets<'a>(self, clean: Cow<'a, str>) -> Cow<'a, str> {
        // Without this check each request would wait for the lock of the memory.
        if self.memory.generation() == 0 {
            return clean;
        }
        match self.redactor.url_with(&clean, self.memory) {
            Cow::Owned(cleaner) => Cow::Owned(cleaner),
            Cow::Borrowed(_) => clean,
        }
    }
}

/// What a request's head says about the session that it belongs to, redacted.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestNames {
    pub(super) path: String,
    pub(super) session: Option<String>,
    pub(super) protocol_version: Option<String>,
    pub(super) user: Option<String>,
}

impl RequestNames {
    /// The names in a head. Learns nothing, because the head itself was redacted before.
    pub(super) fn new(redaction: Option<Redaction<'_>>, path: &str, headers: &HeaderMap) -> Self {
        let clean = |name: &str| stable_name(redaction, name);
        let path = redaction.map_or(Cow::Borrowed(path), |redaction| redaction.redactor.url(path));
        let mut names = RequestNames {
            path: path.into_owned(),
            session: headers::session(headers).map(clean),
            protocol_version: headers::protocol_version(headers).map(clean),
            user: headers::user(headers).as_deref().map(clean),
        };
        names.remove_known_secrets(redaction);
        names
    }

    /// Removes the secrets from the path that are known by now, except from the session in its query, which is a key.
    pub(super) fn remove_known_secrets(&mut self, redaction: Option<Redaction<'_>>) {
        let Some(redaction) = redaction else { return };
        if let Cow::Owned(clean) = redaction.remove_known_secrets(Cow::Borrowed(&self.path)) {
            self.path = match session_in(&self.path) {
                Some(session) => with_session(&clean, &session),
                None => clean,
            };
        }
    }
}

/// Redacts a name that is a key: some servers put a token into the session id. By the rules alone, because the memory changes
/// while the session lasts, and its name must not.
pub(super) fn stable_name(redaction: Option<Redaction<'_>>, name: &str) -> String {
    match redaction.map(|redaction| redaction.redactor.text(name.as_bytes())) {
        Some(Cow::Owned(clean)) => String::from_utf8_lossy(&clean).into_owned(),
        _ => name.to_owned(),
    }
}

/// A path whose query names this session, as [`session_in`] reads it.
fn with_session(path: &str, session: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let mut session = Some(session);
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name @ ("sessionId" | "session_id"), value)) => {
            Cow::Owned(format!("{name}={}", session.take().unwrap_or(value)))
        }
        _ => Cow::Borrowed(pair),
    });
    let pairs: Vec<Cow<'_, str>> = pairs.collect();
    format!("{path}?{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use wiretape_trace::redact::{RedactionKey, Redactor, Rules, SecretMemory};

    #[test]
    fn names_of_the_protocol_are_not_learned_from_heads_and_urls() {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap();
        let memory = SecretMemory::default();
        let redaction = Redaction { redactor: &redactor, memory: &memory };
        let heads = [
            ("authorization", "Bearer resources/read".to_owned()),
            ("authorization", "Bearer tools/call".to_owned()),
            ("authorization", "Bearer resource".to_owned()),
            ("authorization", format!("Basic {}", STANDARD.encode("bob:subscriptions/listen"))),
            ("x-api-key", "2025-06-18".to_owned()),
        ];
        for (name, value) in heads {
            let head = format!(r#"{{"headers":{{"{name}":"{value}","x":"open sesame"}}}}"#);
            let clean = redaction.json(head.as_bytes()).unwrap().into_owned();
            let clean = String::from_utf8(clean).unwrap();
            assert!(!clean.contains(&value) && clean.contains("open sesame"), "{clean}");
        }
        for url in ["/?token=resources/read", "/?token=%72esources%2fread", "https://u:tools%2fcall@h/"] {
            assert_ne!(redaction.url(url), url);
        }
        let names = wiretape_trace::protocol::NAMES;
        assert_eq!(redactor.text_with(names, &memory), names);
        let before = memory.generation();
        redaction.url_unlearned("https://a/?token=a-real-secret-1");
        assert_eq!(memory.generation(), before);
        for learnable in ["/?token=a-real-secret-1", "/?token=a-real-secret-2"] {
            redaction.url(learnable);
        }
        redaction.json(br#"{"headers":{"authorization":"Bearer a-real-secret-3"}}"#).unwrap();
        assert_eq!(memory.generation(), before + 3);
        let known =
            redaction.url_unlearned("https://a/a-real-secret-3?q=a-real-secret-1&token=a-real-secret-4");
        assert!(!known.contains("a-real-secret"), "{known}");
        assert_eq!(memory.generation(), before + 3);
    }

    #[test]
    fn the_names_of_a_session_do_not_change_with_the_memory() {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap();
        let memory = SecretMemory::default();
        let redaction = Some(Redaction { redactor: &redactor, memory: &memory });
        let headers = [("mcp-session-id", "violet-otter-77"), ("mcp-protocol-version", "2025-06-18")];
        let headers: HeaderMap = headers
            .into_iter()
            .map(|(name, value)| (name.parse().unwrap(), http::HeaderValue::from_static(value)))
            .collect();
        let path = "/violet-otter-77?a=violet-otter-77&sessionId=violet-otter-77&b=violet-otter-77";
        let mut before = RequestNames::new(redaction, path, &headers);
        assert_eq!(before.path, path);
        memory.learn(b"violet-otter-77");
        memory.learn(b"2025-06-18");
        before.remove_known_secrets(redaction);
        for names in [before, RequestNames::new(redaction, path, &headers)] {
            assert_eq!(names.session.as_deref(), Some("violet-otter-77"));
            assert_eq!(names.protocol_version.as_deref(), Some("2025-06-18"));
            assert_eq!(session_in(&names.path).as_deref(), Some("violet-otter-77"));
            assert_eq!(names.path.matches("violet-otter-77").count(), 1, "{}", names.path);
            assert_eq!(names.path.matches("[REDACTED:repeated:").count(), 3, "{}", names.path);
        }
    }
}
