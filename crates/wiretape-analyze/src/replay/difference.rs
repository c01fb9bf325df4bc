//! The differences between a request and a recorded one, as text.

use crate::json_diff::{Difference, Differences};
use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;
use wiretape_trace::redact::Redactor;
use wiretape_trace::value::Value;

/// One difference between a request and a recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The part of the message and the JSON pointer in it.
    pub path: String,
    /// The recorded value, shortened; `None` if there was none.
    pub recorded: Option<String>,
    /// The current value, shortened; `None` if there is none.
    pub asked: Option<String>,
}

/// Differences shown per message.
pub(super) const MAX_DEPARTURES: usize = 5;

/// Characters shown of a value.
const SHOWN: usize = 80;

impl Departure {
    /// The first differences between a part of two messages, with secrets redacted.
    pub(super) fn of_all(
        part: &str,
        (recorded, asked): (&[u8], &[u8]),
        secrets: Option<&Secrets>,
        diff: impl for<'a> Fn(&'a [u8], &'a [u8]) -> Differences<'a>,
    ) -> Vec<Self> {
        let found = diff(recorded, asked);
        let first = || found.list.iter().take(MAX_DEPARTURES);
        let Some(secrets) = secrets.filter(|_| !found.list.is_empty()) else {
            return first().map(|difference| Self::of(part, difference)).collect();
        };
        // Whole messages are redacted and compared again, because a rule may need the context of a value
        // (`"password": …`).
        let clean = secrets.redact(recorded).zip(secrets.redact(asked));
        let shown: Vec<Self> = clean.map_or_else(Vec::new, |(recorded, asked)| {
            let found = diff(&recorded, &asked);
            found.list.iter().take(MAX_DEPARTURES).map(|difference| Self::of(part, difference)).collect()
        });
        // The difference is in a secret: after redaction nothing differs, so only its path can be shown.
        if shown.is_empty() { first().map(|difference| Self::at(part, difference)).collect() } else { shown }
    }

    fn of(part: &str, difference: &Difference<'_>) -> Self {
        let (recorded, asked) = (difference.before.map(shown), difference.after.map(shown));
        Departure { recorded, asked, ..Self::at(part, difference) }
    }

    /// The path alone, for values that must not be shown.
    fn at(part: &str, difference: &Difference<'_>) -> Self {
        Departure { path: format!("{part}{}", difference.pointer), recorded: None, asked: None }
    }
}

/// Redacts reported values. The redactor is built on first use: most replays have no miss, and building it would delay the
/// start.
pub struct Secrets(LazyLock<Option<Redactor>, Box<dyn FnOnce() -> Option<Redactor> + Send>>);

impl Secrets {
    /// Redaction by this redactor. If it can't be built, only paths are shown, never values.
    pub fn new(redactor: impl FnOnce() -> Option<Redactor> + Send + 'static) -> Self {
        Secrets(LazyLock::new(Box::new(redactor)))
    }

    fn redact<'m>(&self, json: &'m [u8]) -> Option<Cow<'m, [u8]>> {
        self.0.as_ref()?.json(json).ok()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match (&self.recorded, &self.asked) {
            (Some(recorded), Some(asked)) => write!(f, "{path} was {recorded} and is {asked}"),
            (Some(recorded), None) => write!(f, "{path} was {recorded} and is missing"),
            (None, Some(asked)) => write!(f, "{path} was missing and is {asked}"),
            (None, None) => write!(f, "{path} differs"),
        }
    }
}

/// All differences in one line.
pub(super) fn in_words(departures: &[Departure]) -> String {
    departures.iter().map(Departure::to_string).collect::<Vec<_>>().join("; ")
}

fn shown(value: Value<'_>) -> String {
    // A character has at most four bytes, so this is enough of a value that may be megabytes long.
    let text = String::from_utf8_lossy(&value.raw[..value.raw.len().min(4 * SHOWN)]);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < value.raw.len() {
        shown.push('…');
    }
    shown
}
