//! A call, and what belongs to it.

use wiretape_analyze::call::{CallTracker, Observed};
use wiretape_analyze::listing::ListedCall;
use wiretape_trace::format::Record;
use wiretape_trace::message::Envelope;

/// A call with all that belongs to it.
pub(super) struct Whole {
    pub(super) listed: ListedCall,
    pub(super) request: Vec<u8>,
    pub(super) response: Option<Vec<u8>>,
    pub(super) meanwhile: Vec<Meanwhile>,
    /// What was left out of it.
    pub(super) more: u64,
}

/// Something that came while the call was open.
pub(super) struct Meanwhile {
    pub(super) line: u64,
    /// Microseconds since the request.
    pub(super) after_us: Option<u64>,
    pub(super) what: What,
}

pub(super) enum What {
    Progress(Vec<u8>),
    Cancellation(Vec<u8>),
    Request { number: u64, payload: Vec<u8> },
    Answer { number: u64, payload: Vec<u8> },
    Stderr(String),
}

/// How much is shown of what came meanwhile.
const MEANWHILE: usize = 1000;

/// Gathers what belongs to a call.
pub(super) struct Parts {
    number: u64,
    tracker: CallTracker,
    pub(super) request: Vec<u8>,
    pub(super) response: Option<Vec<u8>>,
    pub(super) meanwhile: Vec<Meanwhile>,
    pub(super) more: u64,
    asked_us: Option<u64>,
    is_open: bool,
    pub(super) is_over: bool,
}

impl Parts {
    pub(super) fn new(number: u64) -> Self {
        Parts {
            number,
            tracker: CallTracker::new(),
            request: Vec::new(),
            response: None,
            meanwhile: Vec::new(),
            more: 0,
            asked_us: None,
            is_open: false,
            is_over: false,
        }
    }

    pub(super) fn observe(&mut self, line: u64, record: &Record<'_>) {
        let mut seen = Vec::new();
        let failed = self.tracker.observe_record(line, record, |raw, envelope, observed| {
            seen.push((raw, envelope, observed));
        });
        match record {
            Record::Message(message) => {
                for (raw, envelope, observed) in &seen {
                    self.payload(line, message.stamp.us, raw, envelope, observed);
                }
            }
            Record::Stderr(text) if self.is_open => {
                self.add(line, text.stamp.us, What::Stderr(text.text.clone().into_owned()));
            }
            _ => {}
        }
        self.is_over |= failed.iter().any(|call| call.number == self.number);
    }

    fn payload(
        &mut self,
        line: u64,
        us: Option<u64>,
        raw: &[u8],
        envelope: &Envelope<'_>,
        observed: &Observed,
    ) {
        match observed {
            Observed::Request { number, .. } if *number == self.number => {
                self.request = raw.to_vec();
                self.asked_us = us;
                // One that can't be answered is over at once.
                self.is_open = envelope.id.is_some();
                self.is_over = !self.is_open;
            }
            Observed::Request { number, .. } if self.is_parent_of(*number) => {
                self.add(line, us, What::Request { number: *number, payload: raw.to_vec() });
            }
            Observed::Answer(call) if call.number == self.number => {
                self.response = Some(raw.to_vec());
                self.is_over = true;
            }
            Observed::Answer(call) if call.parent == Some(self.number) => {
                self.add(line, us, What::Answer { number: call.number, payload: raw.to_vec() });
            }
            Observed::Progress { of: Some(of) } if *of == self.number => {
                self.add(line, us, What::Progress(raw.to_vec()));
            }
            Observed::Cancellation { of: Some(of) } if *of == self.number => {
                self.add(line, us, What::Cancellation(raw.to_vec()));
            }
            _ => {}
        }
        self.is_over |= observed.closed().is_some_and(|call| call.number == self.number);
    }

    fn is_parent_of(&self, number: u64) -> bool {
        self.tracker.open_call(number).and_then(|call| call.parent) == Some(self.number)
    }

    fn add(&mut self, line: u64, us: Option<u64>, what: What) {
        if self.meanwhile.len() >= MEANWHILE {
            self.more += 1;
            return;
        }
        let after_us = us.zip(self.asked_us).map(|(us, asked)| us.saturating_sub(asked));
        self.meanwhile.push(Meanwhile { line, after_us, what });
    }
}
