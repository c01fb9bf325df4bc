//! What the proxy lets its memory of secrets learn from heads and URLs, which any client can send.
//!
//! All sessions share the memory. A client that sends `Authorization: Bearer resources/read` would make the memory redact
//! this method in the messages of every other client, so a head or a URL that names a part of the protocol as a secret is
//! redacted without being remembered.

use super::exchange::Redaction;
use crate::http::headers;
use http::HeaderMap;
use std::borrow::Cow;
use wiretape_events::transaction::session_in;
use wiretape_trace::json::SyntaxError;
use wiretape_trace::redact::SecretMemory;

/// The names that messages of every session have in common: methods and revisions of all MCP revisions. One text, because a
/// part of a name (`resources/`) must not be learned either, and redacting it finds that, too.
const PROTOCOL_NAMES: &[u8] = b"initialize ping server/discover tools/list tools/call \
    resources/list resources/templates/list resources/read resources/subscribe resources/unsubscribe \
    prompts/list prompts/get completion/complete logging/setLevel subscriptions/listen \
    sampling/createMessage elicitation/create roots/list tasks/list tasks/get tasks/update tasks/result tasks/cancel \
    notifications/initialized notifications/progress notifications/cancelled notifications/message \
    notifications/tools/list_changed notifications/resources/list_changed notifications/resources/updated \
    notifications/prompts/list_changed notifications/roots/list_changed notifications/subscriptions/acknowledged \
    notifications/tasks/status notifications/elicitation/complete \
    2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28";

impl Redaction<'_> {
    /// Redacts JSON and remembers the secrets that it names, unless they are names of the protocol.
    pub(super) fn json<'a>(self, json: &'a [u8]) -> Result<Cow<'a, [u8]>, SyntaxError> {
        let clean = self.redactor.json(json)?;
        let learn = |memory: &SecretMemory| drop(self.redactor.json_with(json, memory));
        // Most heads name no secret, and are spared the trial.
        if matches!(clean, Cow::Borrowed(_)) || self.is_learnable(learn) {
            return self.redactor.json_with(json, self.memory);
        }
        Ok(Cow::Owned(self.redactor.json_with(&clean, self.memory)?.into_owned()))
    }

    /// Redacts a URL and remembers the secrets in its parameters, unless they are names of the protocol.
    pub(super) fn url<'a>(self, url: &'a str) -> Cow<'a, str> {
        let clean = self.redactor.url(url);
        let learn = |memory: &SecretMemory| drop(self.redactor.url_with(url, memory));
        if matches!(clean, Cow::Borrowed(_)) || self.is_learnable(learn) {
            return self.redactor.url_with(url, self.memory);
        }
        self.remove_known_secrets(clean)
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

    /// Whether what `learn` teaches a memory leaves the names of the protocol alone.
    fn is_learnable(self, learn: impl FnOnce(&SecretMemory)) -> bool {
        let trial = SecretMemory::default();
        learn(&trial);
        if trial.generation() == 0 {
            return true;
        }
        match self.redactor.text_with(PROTOCOL_NAMES, &trial) {
            Cow::Borrowed(_) => true,
            // A user's own rule may redact them anyway.
            clean @ Cow::Owned(_) => clean == self.redactor.text(PROTOCOL_NAMES),
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
    use wiretape_trace::redact::{RedactionKey, Redactor, Rules};

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
        redaction.url_unlearned("https://a/?token=a-real-secret-1");
        assert_eq!(memory.generation(), 0);
        for learnable in ["/?token=a-real-secret-1", "/?token=a-real-secret-2"] {
            redaction.url(learnable);
        }
        redaction.json(br#"{"headers":{"authorization":"Bearer a-real-secret-3"}}"#).unwrap();
        assert_eq!(memory.generation(), 3);
        let known =
            redaction.url_unlearned("https://a/a-real-secret-3?q=a-real-secret-1&token=a-real-secret-4");
        assert!(!known.contains("a-real-secret"), "{known}");
        assert_eq!(memory.generation(), 3);
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

    #[test]
    fn names_of_the_protocol_are_no_secrets() {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap();
        assert_eq!(redactor.text(PROTOCOL_NAMES), PROTOCOL_NAMES);
        use wiretape_trace::protocol::{Revision, method};
        let names = Revision::ALL.map(Revision::name).into_iter().chain([
            method::INITIALIZE,
            method::DISCOVER,
            method::CALL_TOOL,
            method::READ_RESOURCE,
            method::GET_PROMPT,
            method::LISTEN,
            method::ELICIT,
            method::PROGRESS,
            method::CANCELLED,
        ]);
        for name in names {
            assert!(memchr::memmem::find(PROTOCOL_NAMES, name.as_bytes()).is_some(), "{name}");
        }
    }
}
