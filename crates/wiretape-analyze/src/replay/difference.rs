//! How a request departs from a recorded one, in words.

use crate::json_diff::{Difference, Differences};
use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;
use wiretape_trace::redact::Redactor;
use wiretape_trace::value::Value;

/// A place where a request departs from a recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The part of the message and the JSON pointer in it.
    pub path: String,
    /// What was recorded there, shortened; `None` if nothing was.
    pub recorded: Option<String>,
    /// What is there now.
    pub asked: Option<String>,
}

/// How many departures are told.
pub(super) const TOLD: usize = 5;

/// Longer values are cut.
const SHOWN: usize = 80;

impl Departure {
    /// The first differences of a part of two messages, without the secrets in them.
    pub(super) fn of_all(
        part: &str,
        (recorded, asked): (&[u8], &[u8]),
        secrets: Option<&Secrets>,
        diff: impl for<'a> Fn(&'a [u8], &'a [u8]) -> Differences<'a>,
    ) -> Vec<Self> {
        let found = diff(recorded, asked);
        let first = || found.list.iter().take(TOLD);
        let Some(secrets) = secrets.filter(|_| !found.list.is_empty()) else {
            return first().map(|difference| Self::of(part, difference)).collect();
        };
        let clean = secrets.taken_out_of(recorded).zip(secrets.taken_out_of(asked));
        let told: Vec<Self> = clean.map_or_else(Vec::new, |(recorded, asked)| {
            let found = diff(&recorded, &asked);
            found.list.iter().take(TOLD).map(|difference| Self::of(part, difference)).collect()
        });
        if told.is_empty() { first().map(|difference| Self::at(part, difference)).collect() } else { told }
    }

    fn of(part: &str, difference: &Difference<'_>) -> Self {
        let (recorded, asked) = (difference.before.map(shown), difference.after.map(shown));
        Departure { recorded, asked, ..Self::at(part, difference) }
    }

    /// Only where it is: nothing else of it may be told.
    fn at(part: &str, difference: &Difference<'_>) -> Self {
        Departure { path: format!("{part}{}", difference.pointer), recorded: None, asked: None }
    }
}

/// What must not be told. How it is found out is made ready when it is needed first: most replays miss nothing, and have to start
/// soon.
pub struct Secrets(LazyLock<Option<Redactor>, Box<dyn FnOnce() -> Option<Redactor> + Send>>);

impl Secrets {
    /// Secrets that this redactor knows. Without one, nothing that may be a secret is told.
    pub fn new(redactor: impl FnOnce() -> Option<Redactor> + Send + 'static) -> Self {
        Secrets(LazyLock::new(Box::new(redactor)))
    }

    fn taken_out_of<'m>(&self, json: &'m [u8]) -> Option<Cow<'m, [u8]>> {
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
            (None, Some(asked)) => write!(f, "{path} was not there and is {asked}"),
            (None, None) => write!(f, "{path} is another"),
        }
    }
}

/// Departures, one after the other.
pub(super) fn in_words(departures: &[Departure]) -> String {
    departures.iter().map(Departure::to_string).collect::<Vec<_>>().join("; ")
}

fn shown(value: Value<'_>) -> String {
    let text = String::from_utf8_lossy(&value.raw[..value.raw.len().min(4 * SHOWN)]);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < value.raw.len() {
        shown.push('…');
    }
    shown
}
