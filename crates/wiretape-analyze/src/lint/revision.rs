//! Ranges of protocol revisions.

pub use wiretape_trace::protocol::Revision;

/// The revisions that a rule applies to: a range with at most one exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revisions {
    first: Revision,
    last: Revision,
    except: Option<Revision>,
    unknown: bool,
}

impl Revisions {
    /// Every revision, including unknown ones.
    pub const ALL: Self = Self::between(Revision::V2024_11_05, Revision::V2026_07_28);
    /// The revisions with sessions: 2024-11-05 to 2025-11-25.
    pub const LEGACY: Self = Self::between(Revision::V2024_11_05, Revision::V2025_11_25);
    /// The revisions without sessions: since 2026-07-28.
    pub const STATELESS: Self = Self::since(Revision::V2026_07_28);

    /// This revision and all later ones.
    pub const fn since(first: Revision) -> Self {
        Self::between(first, Revision::V2026_07_28)
    }

    /// All revisions from `first` to `last`, inclusive.
    pub const fn between(first: Revision, last: Revision) -> Self {
        Revisions { first, last, except: None, unknown: false }
    }

    /// The same range without one revision.
    pub const fn except(self, revision: Revision) -> Self {
        Revisions { except: Some(revision), ..self }
    }

    /// The same range, and messages whose revision is unknown.
    pub const fn or_unknown(self) -> Self {
        Revisions { unknown: true, ..self }
    }

    /// Whether a rule applies to a revision. If the revision is unknown, only rules that apply to all do: anything else would
    /// be a guess.
    pub fn hold_for(self, revision: Option<Revision>) -> bool {
        match revision {
            Some(revision) => (self.first..=self.last).contains(&revision) && self.except != Some(revision),
            // Compared as a value: a rule for all revisions holds whatever the revision turns out to be.
            None => self.unknown || self == Self::ALL,
        }
    }

    /// The names of the revisions, oldest first.
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
