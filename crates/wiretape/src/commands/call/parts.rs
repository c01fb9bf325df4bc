//! A call, and everything that belongs to it.

use wiretape_analyze::call::{Call, PendingCall};
use wiretape_analyze::reading::{Analysis, Closed, LineView, Meaning, Seen};
use wiretape_trace::format::Record;

/// A call with its payloads and events, ready to be printed.
pub(super) struct CallDetail {
    pub(super) call: Call,
    pub(super) request: Vec<u8>,
    pub(super) response: Option<Vec<u8>>,
    pub(super) events: Vec<CallEvent>,
    /// The number of events that are not shown.
    pub(super) more: u64,
}

/// Something that happened during the call.
pub(super) struct CallEvent {
    pub(super) line: u64,
    /// The offset from the request, in microseconds.
    pub(super) after_us: Option<u64>,
    pub(super) kind: CallEventKind,
}

pub(super) enum CallEventKind {
    Progress(Vec<u8>),
    Cancellation(Vec<u8>),
    Request { number: u64, payload: Vec<u8> },
    Answer { number: u64, payload: Vec<u8> },
    Stderr(String),
}

/// The most events to keep: a call can report progress without end.
const MAX_EVENTS: usize = 1000;

/// Collects the parts of a call.
#[derive(Default)]
pub(super) struct CallCollector {
    number: u64,
    pub(super) request: Vec<u8>,
    pub(super) response: Option<Vec<u8>>,
    pub(super) events: Vec<CallEvent>,
    pub(super) more: u64,
    asked_us: Option<u64>,
    is_open: bool,
    /// The call, once its outcome is known.
    pub(super) call: Option<Call>,
}

impl CallCollector {
    pub(super) fn new(number: u64) -> Self {
        CallCollector { number, ..CallCollector::default() }
    }
}

impl Analysis for CallCollector {
    type PerCall = ();

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        if let Record::Stderr(text) = &view.line.record
            && self.is_open
        {
            self.add(view.line.number, text.stamp.us, CallEventKind::Stderr(text.text.clone().into_owned()));
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
        let line = seen.line.line.number;
        let us = seen.line.line.record.stamp().and_then(|stamp| stamp.us);
        let payload = || seen.raw.to_vec();
        match seen.meaning {
            Meaning::Request { number } if number == self.number => {
                self.request = payload();
                self.asked_us = us;
                self.is_open = true;
            }
            Meaning::Request { number }
                if seen.pending.and_then(PendingCall::parent) == Some(self.number) =>
            {
                self.add(line, us, CallEventKind::Request { number, payload: payload() });
            }
            Meaning::Progress { of: Some(of) } if of == self.number => {
                self.add(line, us, CallEventKind::Progress(payload()));
            }
            Meaning::Cancellation { of: Some(of) } if of == self.number => {
                self.add(line, us, CallEventKind::Cancellation(payload()));
            }
            _ => {}
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
        let call = closed.call;
        if call.number == self.number {
            self.call = Some(call.clone());
            self.response = closed.answer.map(|_| closed.raw.to_vec());
            self.is_open = false;
        } else if call.parent == Some(self.number)
            && let (Some(_), Some(view)) = (closed.answer, closed.line)
        {
            let us = view.line.record.stamp().and_then(|stamp| stamp.us);
            self.add(
                view.line.number,
                us,
                CallEventKind::Answer { number: call.number, payload: closed.raw.to_vec() },
            );
        }
    }
}

impl CallCollector {
    fn add(&mut self, line: u64, us: Option<u64>, kind: CallEventKind) {
        if self.events.len() >= MAX_EVENTS {
            self.more += 1;
            return;
        }
        let after_us = us.zip(self.asked_us).map(|(us, asked)| us.saturating_sub(asked));
        self.events.push(CallEvent { line, after_us, kind });
    }
}
