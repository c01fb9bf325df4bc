//! The spans of revisions that a rule holds for.

pub use wiretape_trace::protocol::Revision;

/// The revisions that a rule holds for: from one to another, but for some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revisions {
    first: Revision,
    last: Revision,
    except: Option<Revision>,
    unknown: bool,
}

impl Revisions {
    /// Every revision, those that are not known yet included.
    pub const ALL: Self = Self::between(Revision::V2024_11_05, Revision::V2026_07_28);
    /// Those with sessions.
    pub const LEGACY: Self = Self::between(Revision::V2024_11_05, Revision::V2025_11_25);
    /// Those without.
    pub const STATELESS: Self = Self::since(Revision::V2026_07_28);

    /// From one on.
    pub const fn since(first: Revision) -> Self {
        Self::between(first, Revision::V2026_07_28)
    }

    /// From one to another.
    pub const fn between(first: Revision, last: Revision) -> Self {
        Revisions { first, last, except: None, unknown: false }
    }

    /// The same, but for one.
    pub const fn except(self, revision: Revision) -> Self {
        Revisions { except: Some(revision), ..self }
    }

    /// The same, and where nothing says which revision it is.
    pub const fn or_unknown(self) -> Self {
        Revisions { unknown: true, ..self }
    }

    /// Whether it holds for this one. Of a revision that nobody knows, only what holds for all is said.
    pub fn hold_for(self, revision: Option<Revision>) -> bool {
        match revision {
            Some(revision) => (self.first..=self.last).contains(&revision) && self.except != Some(revision),
            None => self.unknown || self == Self::ALL,
        }
    }

    /// Their names, in order.
    pub fn names(self) -> Vec<&'static str> {
        Revision::ALL.into_iter().filter(|one| self.hold_for(Some(*one))).map(Revision::name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_hold_for_what_they_name() {
        let check = |span: Revisions, expected: &[&str]| assert_eq!(span.names(), expected);
        check(Revisions::LEGACY, &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]);
        check(Revisions::STATELESS, &["2026-07-28"]);
        let no_batches = Revisions::ALL.except(Revision::V2025_03_26);
        check(no_batches, &["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"]);
        assert!(Revisions::ALL.hold_for(None) && !no_batches.hold_for(None));
    }
}
