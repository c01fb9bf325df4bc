//! The sender's thread: takes segments from the queue in order, delivers them, and decides by the answer what happens
//! to them.

use super::backoff::Backoff;
use super::deliver::{Deliver, Delivery};
use super::options::SpoolOptions;
use super::queue::{Pause, SpoolQueue};
use super::segment::{SegmentName, UploadPart};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Sender {
    queue: Arc<SpoolQueue>,
    deliver: Box<dyn Deliver>,
    backoff: Backoff,
    timeout: Duration,
    is_last_effort: bool,
}

impl Sender {
    pub(super) fn new(queue: Arc<SpoolQueue>, deliver: Box<dyn Deliver>, options: &SpoolOptions) -> Self {
        let backoff = Backoff::new(options.backoff_base, options.backoff_cap);
        Sender { queue, deliver, backoff, timeout: options.timeout, is_last_effort: false }
    }

    /// Sends segments in order until the spool is stopped.
    pub(super) fn run(mut self) {
        let _ended = EndGuard(Arc::clone(&self.queue));
        while let Some(name) = self.queue.next() {
            if let Some(part) = self.queue.read(name) {
                self.send(name, part);
            }
        }
    }

    /// Sends one segment. Returns when all of it is delivered or rejected, or when it must not be sent any
    /// more.
    fn send(&mut self, name: SegmentName, whole: UploadPart) {
        let mut parts = VecDeque::from([whole]);
        while let Some(part) = parts.pop_front() {
            // Asked before every attempt: the segment may have been dropped to make room, or the shutdown's
            // time may be over.
            let Some(timeout) = self.queue.begin_attempt(name, self.timeout) else { return };
            match self.deliver.deliver(&part, timeout) {
                Delivery::Accepted => {
                    self.backoff.reset();
                    self.queue.delivered(name, part.events());
                }
                Delivery::TooLarge => match part.halves() {
                    // The order of events is kept: the first half goes next, then the second, then the rest.
                    Some([first, second]) => {
                        parts.push_front(second);
                        parts.push_front(first);
                    }
                    None => self.reject(name, &part, "413 Payload Too Large for a single event"),
                },
                Delivery::Rejected(status) => self.reject(name, &part, &status),
                Delivery::Retry { reason, after } => {
                    parts.push_front(part);
                    self.pause(name, &reason, after);
                }
            }
        }
        self.queue.done(name);
    }

    fn reject(&mut self, name: SegmentName, part: &UploadPart, status: &str) {
        // A rejection is a response: the receiver is up, so the next segment needs no pause.
        self.backoff.reset();
        self.queue.rejected(name, part.events(), || {
            format!(
                "{} responded with {status}; rejected events are not retried and are lost",
                self.deliver.destination()
            )
        });
    }

    fn pause(&mut self, name: SegmentName, reason: &str, after: Option<Duration>) {
        // At shutdown the backoff starts over: after long failures, its pauses would use up the little time
        // that is left.
        if !self.is_last_effort && self.queue.is_stopping() {
            self.is_last_effort = true;
            self.backoff.reset();
        }
        let backoff = self.backoff.next();
        let pause = match after {
            // `Retry-After` may be zero; our own backoff is the minimum, so that a failing receiver isn't
            // hammered.
            Some(asked) => Pause::Asked(asked.max(backoff)),
            None => Pause::Backoff(backoff),
        };
        self.queue.pause(name, pause, || {
            let (origin, place) = (self.deliver.destination(), self.queue.place());
            format!("can't send events to {origin}: {reason}; keeping them in {place} and retrying")
        });
    }
}

/// Reports the end of the thread when dropped, even if it panics. Otherwise shutdown would wait for a dead
/// thread.
struct EndGuard(Arc<SpoolQueue>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.sender_ended();
    }
}
