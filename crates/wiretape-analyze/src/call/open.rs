//! A call that is not answered yet, and what happens to it meanwhile.

use super::{Asked, Call, Outcome, Place};
use wiretape_trace::format::Stamp;
use wiretape_trace::message::{Envelope, Id};

/// A call that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) call: Call,
    /// The HTTP exchange that it came in.
    pub(super) exchange: Option<u64>,
    /// Under which token progress comes.
    pub(super) token: Option<Id<'static>>,
    /// What it will have been if no answer comes.
    pub(super) fate: Option<Outcome>,
    person: Waiting,
    others: Waiting,
}

impl Open {
    pub(super) fn new(call: Call, exchange: Option<u64>, token: Option<Id<'static>>) -> Self {
        let (person, others) = Default::default();
        Open { call, exchange, token, fate: None, person, others }
    }

    /// The call, with its response.
    pub(super) fn answered(
        mut self,
        place: Place,
        stamp: &Stamp<'_>,
        bytes: u64,
        exchange: Option<u64>,
        response: &Envelope<'_>,
    ) -> Call {
        self.settle(stamp);
        let outcome = match self.fate {
            Some(Outcome::Cancelled | Outcome::TimedOut) => Outcome::Late,
            _ => Outcome::of_response(response),
        };
        Call {
            response: Some(place),
            latency_us: latency_us(self.call.asked, stamp),
            outcome,
            response_bytes: Some(bytes),
            elsewhere: exchange.is_some() && self.exchange.is_some() && exchange != self.exchange,
            ..self.call
        }
    }

    /// The call, with an HTTP status for a response.
    pub(super) fn failed(mut self, place: Place, stamp: &Stamp<'_>, status: u16, bytes: Option<u64>) -> Call {
        self.settle(stamp);
        Call {
            response: Some(place),
            latency_us: latency_us(self.call.asked, stamp),
            outcome: Outcome::HttpError { status },
            response_bytes: bytes,
            ..self.call
        }
    }

    /// The call, without a response.
    pub(super) fn unanswered(self, otherwise: Outcome) -> Call {
        Call { outcome: self.fate.unwrap_or(otherwise), ..self.call }
    }

    /// The same, while it is still open.
    pub(super) fn as_if_ended(&self, otherwise: Outcome) -> Call {
        Call { outcome: self.fate.unwrap_or(otherwise), ..self.call.clone() }
    }

    /// The other side asks something meanwhile.
    pub(super) fn nested_begins(&mut self, method: &str, stamp: &Stamp<'_>) {
        self.call.nested += 1;
        let at = Asked::of(stamp);
        if asks_a_person(method) {
            self.call.client_us += self.others.pause(at);
            self.person.begin(at);
        } else if self.person.open == 0 {
            self.others.begin(at);
        } else {
            self.others.open += 1;
        }
    }

    /// What the other side asked has an answer.
    pub(super) fn nested_ends(&mut self, method: &str, stamp: &Stamp<'_>) {
        let at = Asked::of(stamp);
        if asks_a_person(method) {
            self.call.person_us += self.person.end(at);
            if self.person.open == 0 {
                self.others.resume(at);
            }
        } else {
            self.call.client_us += self.others.end(at);
        }
    }

    /// Ends the waiting for answers that never came.
    fn settle(&mut self, stamp: &Stamp<'_>) {
        let at = Asked::of(stamp);
        self.call.person_us += self.person.pause(at);
        self.call.client_us += self.others.pause(at);
    }
}

fn asks_a_person(method: &str) -> bool {
    method == "elicitation/create"
}

/// Time during which at least one of some things was going on.
#[derive(Debug, Default)]
struct Waiting {
    open: u64,
    since: Option<Asked>,
}

impl Waiting {
    fn begin(&mut self, at: Asked) {
        self.open += 1;
        self.since = self.since.or(Some(at));
    }

    /// One thing is over; tells how long there was something, if this was the last.
    fn end(&mut self, at: Asked) -> u64 {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 { self.pause(at) } else { 0 }
    }

    fn pause(&mut self, at: Asked) -> u64 {
        self.since.take().and_then(|since| since.until(at)).unwrap_or(0)
    }

    fn resume(&mut self, at: Asked) {
        self.since = (self.open > 0).then_some(at);
    }
}

impl Asked {
    pub(crate) fn of(stamp: &Stamp<'_>) -> Self {
        Asked { us: stamp.us, wall_ms: stamp.wall_ms() }
    }

    pub(crate) fn until(self, later: Asked) -> Option<u64> {
        if let (Some(from), Some(to)) = (self.us, later.us) {
            return Some(to.saturating_sub(from));
        }
        let ms = later.wall_ms?.checked_sub(self.wall_ms?)?;
        u64::try_from(ms).ok()?.checked_mul(1000)
    }
}

fn latency_us(asked: Asked, response: &Stamp<'_>) -> Option<u64> {
    match (asked.us, response.us) {
        // Without a look at the clock on the wall, which takes longer to read.
        (Some(_), Some(_)) => asked.until(Asked { us: response.us, wall_ms: None }),
        _ => asked.until(Asked::of(response)),
    }
}
