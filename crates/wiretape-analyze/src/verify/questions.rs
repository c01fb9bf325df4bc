//! The recorded server's requests to its client, and the recorded answers, which the live server gets again.

use super::script::Script;
use crate::replay::{Matching, Payloads, Span, StepKind};
use std::collections::HashMap;
use wiretape_trace::message::Envelope;

/// A request of the recorded server.
#[derive(Debug)]
pub(super) struct Question {
    /// The call during which it was sent.
    pub(super) call: u32,
    pub(super) method: String,
    key: u64,
    pub(super) request: Span,
    reply: Option<Span>,
    /// Whether it was sent before its call was answered.
    pub(super) is_within: bool,
    pub(super) is_asked: bool,
}

/// All requests of the recorded server, in order.
#[derive(Debug, Default)]
pub(super) struct Questions {
    list: Vec<Question>,
}

/// The answer to a live server request.
#[derive(Debug)]
pub(super) struct Reply {
    /// The index of the recorded request.
    pub(super) question: usize,
    /// The recorded answer; `None` if there was none.
    pub(super) span: Option<Span>,
}

impl Questions {
    pub(super) fn read(script: &Script, payloads: &impl Payloads, matching: &Matching) -> Self {
        let tape = script.tape();
        let mut list: Vec<Question> = Vec::new();
        let mut bytes = Vec::new();
        for (number, call) in (0..).zip(tape.calls()) {
            let mut by_number: HashMap<u32, usize> = HashMap::new();
            let mut is_within = true;
            for step in tape.steps(call) {
                match step.kind {
                    StepKind::Answer => is_within = false,
                    StepKind::Notification => {}
                    StepKind::Reply => {
                        if let Some(at) = by_number.get(&step.question) {
                            list[*at].reply = Some(step.span);
                        }
                    }
                    StepKind::Question => {
                        if payloads.read(step.span, &mut bytes).is_err() {
                            continue;
                        }
                        let envelope = Envelope::scan(&bytes);
                        let method = envelope.method.as_deref().unwrap_or_default().to_owned();
                        let key = matching.key(&method, envelope.params);
                        by_number.insert(step.question, list.len());
                        let (request, reply) = (step.span, None);
                        list.push(Question {
                            call: number,
                            method,
                            key,
                            request,
                            reply,
                            is_within,
                            is_asked: false,
                        });
                    }
                }
            }
        }
        Questions { list }
    }

    pub(super) fn get(&self, question: usize) -> &Question {
        &self.list[question]
    }

    /// The recorded request that a live one repeats: from a call in flight or from between calls, preferably
    /// an equal one. Consent in one call does not extend to another call or to a second request, so each
    /// response is used once; only `roots/list` may be repeated at any time.
    pub(super) fn find(&mut self, matching: &Matching, asked: &Envelope<'_>, open: &[u32]) -> Option<Reply> {
        let method = asked.method.as_deref().unwrap_or_default();
        let key = matching.key(method, asked.params);
        let is_harmless = method == "roots/list";
        let is_match = |question: &Question| {
            // A request between calls belongs to no call, so the live server may send it at any time.
            let is_in_place = open.contains(&question.call) || !question.is_within;
            question.method == method && (is_harmless || (is_in_place && !question.is_asked))
        };
        let rank = |question: &Question| {
            let is_open = open.contains(&question.call);
            // Unused before used, during this call before another, equal before similar.
            (question.is_asked, !is_open, question.key != key)
        };
        let matches = self.list.iter().enumerate().filter(|(_, question)| is_match(question));
        let (found, question) = matches.min_by_key(|(at, question)| (rank(question), *at))?;
        let span = question.reply;
        self.list[found].is_asked = true;
        Some(Reply { question: found, span })
    }

    /// The recorded requests of a call that the live server did not send.
    pub(super) fn unasked(&self, call: u32) -> impl Iterator<Item = &Question> {
        self.list
            .iter()
            .filter(move |question| question.call == call && question.is_within && !question.is_asked)
    }
}
