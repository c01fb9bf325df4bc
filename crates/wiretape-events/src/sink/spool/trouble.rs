//! Warnings for the user: one when a problem begins and one when it ends, not one for each batch in between.

use crate::sink::SinkError;

/// The most messages kept until the sink collects them, which it does every few seconds.
const MAX_MESSAGES: usize = 20;

/// The messages to report, and the problems that are ongoing.
#[derive(Default)]
pub(super) struct Troubles {
    messages: Vec<String>,
    /// Events lost since the last report. They are counted at once, even if there is no message.
    lost: u64,
    failing: bool,
    full: OngoingProblem,
    rejected: OngoingProblem,
    unwritable: OngoingProblem,
}

/// A problem that may last.
#[derive(Default)]
struct OngoingProblem {
    reported: bool,
    /// Events lost since its message.
    lost: u64,
}

impl OngoingProblem {
    fn continues(&mut self, lost: u64) -> bool {
        let continues = self.reported;
        if continues {
            self.lost += lost;
        }
        self.reported = true;
        continues
    }

    fn end(&mut self) -> u64 {
        std::mem::take(self).lost
    }
}

impl Troubles {
    /// Reports something that happens only once.
    pub(super) fn report(&mut self, message: String, lost: u64) {
        self.lost += lost;
        if self.messages.len() < MAX_MESSAGES {
            self.messages.push(message);
        }
    }

    /// The destination can't be reached, or asks to retry later.
    pub(super) fn failing(&mut self, message: impl FnOnce() -> String) {
        if !std::mem::replace(&mut self.failing, true) {
            self.report(message(), 0);
        }
    }

    /// The spool is full, and events were dropped.
    pub(super) fn full(&mut self, lost: u64, message: impl FnOnce() -> String) {
        self.lost += lost;
        if !self.full.continues(lost) {
            self.report(message(), 0);
        }
    }

    /// The destination rejected events for good.
    pub(super) fn rejected(&mut self, lost: u64, message: impl FnOnce() -> String) {
        self.failing = false;
        self.lost += lost;
        if !self.rejected.continues(lost) {
            self.report(message(), 0);
        }
    }

    /// The spool's disk can't be written to.
    pub(super) fn unwritable(&mut self, lost: u64, message: impl FnOnce() -> String) {
        self.lost += lost;
        if !self.unwritable.continues(lost) {
            self.report(message(), 0);
        }
    }

    /// The destination accepted events, so it neither fails nor rejects everything.
    pub(super) fn delivered(&mut self) {
        self.failing = false;
        let lost = self.rejected.end();
        self.report_rest(lost, "were rejected by the receiver");
    }

    /// The spool has room again.
    pub(super) fn has_room(&mut self) {
        let lost = self.full.end();
        self.report_rest(lost, "were dropped because the spool was full");
    }

    /// The spool can be written to again.
    pub(super) fn written(&mut self) {
        let lost = self.unwritable.end();
        self.report_rest(lost, "were lost because the spool could not be written to");
    }

    fn report_rest(&mut self, lost: u64, what: &str) {
        if lost > 0 {
            self.report(format!("{lost} more events {what}"), 0);
        }
    }

    /// All messages that are due.
    pub(super) fn take(&mut self) -> Result<(), SinkError> {
        if self.messages.is_empty() && self.lost == 0 {
            return Ok(());
        }
        let message = std::mem::take(&mut self.messages).join("; ");
        Err(SinkError { message, lost: std::mem::take(&mut self.lost) })
    }

    /// All messages at shutdown, including the losses of ongoing problems.
    pub(super) fn take_all(&mut self) -> Result<(), SinkError> {
        self.delivered();
        self.has_room();
        self.written();
        self.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(result: Result<(), SinkError>) -> Option<(String, u64)> {
        result.err().map(|error| (error.message, error.lost))
    }

    #[test]
    fn a_trouble_is_told_when_it_begins_and_when_it_ends() {
        let mut troubles = Troubles::default();
        troubles.full(3, || "full".into());
        troubles.full(4, || "full".into());
        assert_eq!(reported(troubles.take()), Some(("full".into(), 7)));
        troubles.full(5, || "full".into());
        assert_eq!(reported(troubles.take()), Some((String::new(), 5)), "losses are counted at once");
        assert_eq!(reported(troubles.take()), None);
        troubles.has_room();
        let (message, lost) = reported(troubles.take()).unwrap();
        assert!(message.starts_with("9 more events"), "{message}");
        assert_eq!(lost, 0);
        troubles.full(1, || "full again".into());
        assert_eq!(reported(troubles.take()), Some(("full again".into(), 1)));
    }

    #[test]
    fn every_loss_is_told_by_the_end() {
        let mut troubles = Troubles::default();
        for _ in 0..1000 {
            troubles.rejected(1, || "400".into());
            troubles.unwritable(1, || "full disk".into());
            troubles.report("torn".into(), 1);
        }
        let (message, lost) = reported(troubles.take_all()).unwrap();
        assert_eq!(lost, 3000);
        assert!(message.len() < 1000, "{message}");
    }
}
