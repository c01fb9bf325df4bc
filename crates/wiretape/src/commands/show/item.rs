//! A payload together with what it means to the calls around it.

use wiretape_analyze::call::{Call, CallTracker, Observed, Outcome};
use wiretape_trace::format::{Message, Record};
use wiretape_trace::message::{Envelope, Id, MessageKind};

/// One payload of a message line.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// Its bytes.
    pub(super) raw: &'a [u8],
    /// What it says of itself.
    pub(super) envelope: Envelope<'a>,
    /// What it means to the calls around it.
    pub(super) observed: Observed,
}

impl Item<'_> {
    /// The call that it answers.
    pub(super) fn answered(&self) -> Option<&Call> {
        match &self.observed {
            Observed::Answer(call) => Some(call),
            _ => None,
        }
    }

    /// Its method; a response's is that of the request it answers.
    pub(super) fn method(&self) -> Option<&str> {
        let own = self.envelope.method.as_deref();
        own.or_else(|| self.answered().map(|call| call.method.as_str()))
    }

    /// The tool that it is about; a response's is that of the request it answers.
    pub(super) fn tool(&self) -> Option<&str> {
        self.envelope.tool().or_else(|| self.answered()?.tool.as_deref())
    }

    /// Its id.
    pub(super) fn id(&self) -> Option<&Id<'_>> {
        self.envelope.id.as_ref()
    }

    /// How a response turned out.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        (self.envelope.kind == MessageKind::Response).then(|| Outcome::of_response(&self.envelope))
    }
}

/// The payloads of a record; none if it is no message.
pub(super) fn items<'a>(tracker: &mut CallTracker, line: u64, record: &Record<'a>) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    tracker.observe_record(line, record, |raw, envelope, observed| {
        items.push(Item { raw, envelope, observed });
    });
    items
}

/// Whether a message line holds a batch.
pub(super) fn is_batch(message: &Message<'_>) -> bool {
    message.raw.trim_ascii_start().first() == Some(&b'[')
}
