//! Heads without their secrets, quickly: on one connection they repeat themselves, and what was redacted once need not be
//! redacted again.

use super::exchange::redacted;
use std::sync::{Mutex, PoisonError};
use wiretape_trace::format::Head;
use wiretape_trace::message::Direction;
use wiretape_trace::redact::Redactor;

/// The last head of each direction, as it was and as it is written.
#[derive(Default)]
pub(super) struct HeadCache {
    request: Mutex<Option<Remembered>>,
    response: Mutex<Option<Remembered>>,
}

struct Remembered {
    plain: Head,
    clean: Head,
}

impl HeadCache {
    /// A head without its secrets.
    pub(super) fn redacted(&self, from: Direction, redactor: Option<&Redactor>, head: Head) -> Head {
        if redactor.is_none() {
            return head;
        }
        let last = match from {
            Direction::ClientToServer => &self.request,
            Direction::ServerToClient => &self.response,
        };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.plain == head) {
            return last.clean.clone();
        }
        let clean = redacted(redactor, head.clone());
        *last = Some(Remembered { plain: head, clean: clean.clone() });
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::redact::{RedactionKey, Rules};

    #[test]
    fn a_head_that_repeats_itself_is_redacted_each_time() {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap();
        let head = |token: &'static [u8]| {
            let headers = [("authorization", token.into())];
            Head::request("GET", "/", "1.1", headers.into_iter())
        };
        let cache = HeadCache::default();
        let clean = |token| cache.redacted(Direction::ClientToServer, Some(&redactor), head(token));
        let first = clean(b"Bearer one-secret");
        assert!(!String::from_utf8_lossy(first.json()).contains("secret"));
        assert_eq!(clean(b"Bearer one-secret"), first);
        let other = clean(b"Bearer two-secret");
        assert!(other != first && !String::from_utf8_lossy(other.json()).contains("secret"));
        assert_eq!(cache.redacted(Direction::ServerToClient, None, head(b"x")), head(b"x"));
    }
}
