//! A payload, with its role in the calls around it.

use wiretape_analyze::call::{Call, Outcome};
use wiretape_analyze::reading::{Analysis, Cause, Closed, LineView, Meaning, Reading, Seen};
use wiretape_trace::format::{Line, Message, Record};
use wiretape_trace::message::{Envelope, Id, MessageKind, payloads};

/// One payload of a message line.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) raw: &'a [u8],
    pub(super) envelope: Envelope<'a>,
    facts: PayloadFacts,
}

/// The role of a payload in the calls around it.
#[derive(Debug, Default)]
struct PayloadFacts {
    is_orphan: bool,
    /// The call that it answers.
    answered: Option<Call>,
    /// The call that is abandoned because of this request: an older one with its id, or this one if it has no usable id.
    displaced: Option<Call>,
}

/// Determines the roles of the payloads of a line, and collects calls without a response.
#[derive(Debug, Default)]
pub(super) struct LineItems {
    facts: Vec<PayloadFacts>,
    displaced: Option<Call>,
    pub(super) unanswered: Vec<Call>,
}

impl Analysis for LineItems {
    type PerCall = ();

    fn begin_line(&mut self, _: &LineView<'_, '_>) {
        self.facts.clear();
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
        let displaced = self.displaced.take();
        self.facts.push(PayloadFacts {
            is_orphan: seen.meaning == Meaning::Orphan,
            answered: None,
            displaced,
        });
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
        let call = closed.call.clone();
        match (closed.cause, self.facts.last_mut()) {
            (Cause::Answer, Some(facts)) => facts.answered = Some(call),
            // A request without a usable id ends after it was seen; an older one with the same id ends before.
            (Cause::Id, Some(facts)) if call.id.is_none() => facts.displaced = Some(call),
            (Cause::Id, _) => self.displaced = Some(call),
            (Cause::End, _) => self.unanswered.push(call),
            _ => {}
        }
    }
}

impl Item<'_> {
    /// The call that it answers.
    pub(super) fn answered(&self) -> Option<&Call> {
        self.facts.answered.as_ref()
    }

    /// Whether it is a response without an open request.
    pub(super) fn is_orphan(&self) -> bool {
        self.facts.is_orphan
    }

    /// The call that is abandoned because of this request.
    pub(super) fn displaced(&self) -> Option<&Call> {
        self.facts.displaced.as_ref()
    }

    /// The method; for a response, that of its request.
    pub(super) fn method(&self) -> Option<&str> {
        let own = self.envelope.method.as_deref();
        own.or_else(|| self.answered().map(|call| &*call.method))
    }

    /// The tool; for a response, that of its request.
    pub(super) fn tool(&self) -> Option<&str> {
        self.envelope.tool().or_else(|| self.answered()?.tool.as_deref())
    }

    /// The request or response id.
    pub(super) fn id(&self) -> Option<&Id<'_>> {
        self.envelope.id.as_ref()
    }

    /// The outcome of a response.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        (self.envelope.kind == MessageKind::Response).then(|| Outcome::of_response(&self.envelope))
    }
}

/// The payloads of a line; empty if it is not a message.
pub(super) fn items<'a>(reading: &mut Reading<LineItems>, line: &Line<'a>) -> Vec<Item<'a>> {
    reading.observe(line);
    let Record::Message(message) = &line.record else { return Vec::new() };
    let facts = std::mem::take(&mut reading.analysis_mut().facts);
    let payloads = payloads(message.raw).into_iter().zip(facts);
    payloads.map(|(raw, facts)| Item { raw, envelope: Envelope::scan(raw), facts }).collect()
}

/// Whether a message line is a batch.
pub(super) fn is_batch(message: &Message<'_>) -> bool {
    message.raw.trim_ascii_start().first() == Some(&b'[')
}
