//! Prints what is being measured.

pub(super) struct Progress<'a> {
    what: &'a str,
}

impl<'a> Progress<'a> {
    pub(super) fn of(what: &'a str) -> Self {
        Self { what }
    }

    pub(super) fn show(&self, round: usize) {
        eprintln!("measuring {}, round {}", self.what, round + 1);
    }
}
