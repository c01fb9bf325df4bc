//! How a request departs from a recorded one, in words.

use crate::json_diff::{Difference, Differences};
use std::fmt;
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
    /// The first of some differences of a part of a message.
    pub(super) fn of_all(part: &str, differences: &Differences<'_>) -> Vec<Self> {
        differences.list.iter().take(TOLD).map(|difference| Self::of(part, difference)).collect()
    }

    fn of(part: &str, difference: &Difference<'_>) -> Self {
        Departure {
            path: format!("{part}{}", difference.pointer),
            recorded: difference.before.map(shown),
            asked: difference.after.map(shown),
        }
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match (&self.recorded, &self.asked) {
            (Some(recorded), Some(asked)) => write!(f, "{path} was {recorded} and is {asked}"),
            (Some(recorded), None) => write!(f, "{path} was {recorded} and is missing"),
            (None, Some(asked)) => write!(f, "{path} was not there and is {asked}"),
            (None, None) => f.write_str(path),
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
