//! What to tell the user: at the beginning of a trouble and at its end, not for each batch in between.

use crate::sink::SinkError;

/// If nobody asks for them, there are never more than so many.
const MAX_MESSAGES: usize = 20;

/// What is to be told, and which troubles go on.
#[derive(Default)]
pub(super) struct Troubles {
    messages: Vec<String>,
    /// Lost, and not yet said so; that is said at once, in words or without.
    lost: u64,
    failing: bool,
    full: Spell,
    rejected: Spell,
    unwritable: Spell,
}

/// A trouble that goes on.
#[derive(Default)]
struct Spell {
    told: bool,
    /// Lost since it was told in words.
    lost: u64,
}

impl Spell {
    fn goes_on(&mut self, lost: u64) -> bool {
        let goes_on = self.told;
        if goes_on {
            self.lost += lost;
        }
        self.told = true;
        goes_on
    }

    fn end(&mut self) -> u64 {
        std::mem::take(self).lost
    }
}

impl Troubles {
    /// Something that is told once by its nature.
    pub(super) fn tell(&mut self, message: String, lost: u64) {
        self.lost += lost;
        if self.messages.len() < MAX_MESSAGES {
            self.messages.push(message);
        }
    }

    /// The receiver can't be reached, or not now.
    pub(super) fn failing(&mut self, message: impl FnOnce() -> String) {
        if !std::mem::replace(&mut self.failing, true) {
            self.tell(message(), 0);
        }
    }

    /// The spool is full.
    pub(super) fn full(&mut self, lost: u64, message: impl FnOnce() -> String) {
        self.lost += lost;
        if !self.full.goes_on(lost) {
            self.tell(message(), 0);
        }
    }

    /// The receiver doesn't want what it was sent.
    pub(super) fn rejected(&mut self, lost: u64, message: impl FnOnce() -> String) {
        self.failing = false;
        self.lost += lost;
        if !self.rejected.goes_on(lost) {
            self.tell(message(), 0);
        }
    }

    /// The spool can't be written to.
    pub(super) fn unwritable(&mut self, lost: u64, message: impl FnOnce() -> String) {
        self.lost += lost;
        if !self.unwritable.goes_on(lost) {
            self.tell(message(), 0);
        }
    }

    /// The receiver has taken something.
    pub(super) fn delivered(&mut self) {
        self.failing = false;
        let lost = self.rejected.end();
        self.tell_rest(lost, "were refused by the receiver");
    }

    /// The spool has room again.
    pub(super) fn has_room(&mut self) {
        let lost = self.full.end();
        self.tell_rest(lost, "were dropped because the spool was full");
    }

    /// The spool can be written to.
    pub(super) fn written(&mut self) {
        let lost = self.unwritable.end();
        self.tell_rest(lost, "were lost because the spool could not be written to");
    }

    fn tell_rest(&mut self, lost: u64, what: &str) {
        if lost > 0 {
            self.tell(format!("{lost} more events {what}"), 0);
        }
    }

    /// All that is to be told now.
    pub(super) fn take(&mut self) -> Result<(), SinkError> {
        if self.messages.is_empty() && self.lost == 0 {
            return Ok(());
        }
        let message = std::mem::take(&mut self.messages).join("; ");
        Err(SinkError { message, lost: std::mem::take(&mut self.lost) })
    }

    /// The same, at the end: troubles that go on are told to their end.
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

    fn told(result: Result<(), SinkError>) -> Option<(String, u64)> {
        result.err().map(|error| (error.message, error.lost))
    }

    #[test]
    fn a_trouble_is_told_when_it_begins_and_when_it_ends() {
        let mut troubles = Troubles::default();
        troubles.full(3, || "full".into());
        troubles.full(4, || "full".into());
        assert_eq!(told(troubles.take()), Some(("full".into(), 7)));
        troubles.full(5, || "full".into());
        assert_eq!(told(troubles.take()), Some((String::new(), 5)), "losses are counted at once");
        assert_eq!(told(troubles.take()), None);
        troubles.has_room();
        let (message, lost) = told(troubles.take()).unwrap();
        assert!(message.starts_with("9 more events"), "{message}");
        assert_eq!(lost, 0);
        troubles.full(1, || "full again".into());
        assert_eq!(told(troubles.take()), Some(("full again".into(), 1)));
    }

    #[test]
    fn every_loss_is_told_by_the_end() {
        let mut troubles = Troubles::default();
        for _ in 0..1000 {
            troubles.rejected(1, || "400".into());
            troubles.unwritable(1, || "full disk".into());
            troubles.tell("torn".into(), 1);
        }
        let (message, lost) = told(troubles.take_all()).unwrap();
        assert_eq!(lost, 3000);
        assert!(message.len() < 1000, "{message}");
    }
}
