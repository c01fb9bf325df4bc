//! Injected faults, deterministic for a seed.

use crate::filter::{Filter, Subject, parse_duration};
use crate::fingerprint::{combine, text};
use std::fmt;
use std::str::FromStr;
use wiretape_trace::message::Direction;

/// What an injected fault does to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The call fails with this code.
    Error(i64),
    /// The answer is delayed by this many microseconds.
    Delay(u64),
    /// The call is never answered.
    Hang,
    /// Everything except the answer is sent.
    Drop,
    /// The answer is cut in the middle.
    Truncate,
    /// The connection is closed instead of an answer.
    Disconnect,
}

impl FaultKind {
    /// The name, in text and JSON output.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Error(_) => "error",
            FaultKind::Delay(_) => "delay",
            FaultKind::Hang => "hang",
            FaultKind::Drop => "drop",
            FaultKind::Truncate => "truncate",
            FaultKind::Disconnect => "disconnect",
        }
    }
}

/// A fault: which calls it affects, how, and how often.
///
/// ```
/// use wiretape_analyze::replay::Fault;
///
/// assert!("tool:search* error=-32000 p=0.1".parse::<Fault>().is_ok());
/// assert!("delay=2s".parse::<Fault>().is_ok());
/// assert!("tool:search* explode".parse::<Fault>().is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Fault {
    /// What the fault does to a call.
    pub kind: FaultKind,
    filter: Filter,
    probability: f64,
    written: String,
    /// A hash of the text, so that two faults draw different random numbers.
    text: u64,
}

impl Fault {
    /// Whether it may affect a call.
    pub fn is_for(&self, method: &str, tool: Option<&str>) -> bool {
        let direction = Some(Direction::ClientToServer);
        let subject = Subject { method: Some(method), tool, direction, ..Subject::default() };
        self.filter.matches(&subject, |_| false)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Why a text is not a valid fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No kind of fault was given.
    #[error("no fault given: use error=CODE, delay=TIME, hang, drop, truncate or disconnect")]
    Nothing,
    /// Two kinds of fault were given.
    #[error("`{0}`: only one kind of fault is allowed")]
    Twice(String),
    /// A value is invalid.
    #[error("`{word}`: {expected}")]
    Value {
        /// The part of the fault that is wrong.
        word: String,
        /// What is allowed there.
        expected: &'static str,
    },
    /// The filter is invalid.
    #[error("{0}")]
    Filter(String),
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(written: &str) -> Result<Self, FaultError> {
        let (mut kind, mut probability, mut rest) = (None, 1.0, Vec::new());
        for word in written.split_whitespace() {
            if let Some(value) = word.strip_prefix("p=") {
                probability = parse_probability(value).ok_or(FaultError::Value {
                    word: word.to_owned(),
                    expected: "must be a number from 0 to 1",
                })?;
            } else if let Some(parsed) = parse_kind(word)? {
                if kind.replace(parsed).is_some() {
                    return Err(FaultError::Twice(word.to_owned()));
                }
            } else {
                rest.push(word);
            }
        }
        let kind = kind.ok_or(FaultError::Nothing)?;
        let filter = parse_filter(&rest.join(" "))?;
        Ok(Fault { kind, filter, probability, text: text(written), written: written.to_owned() })
    }
}

fn parse_kind(word: &str) -> Result<Option<FaultKind>, FaultError> {
    let value = |expected| FaultError::Value { word: word.to_owned(), expected };
    Ok(Some(match word.split_once('=') {
        Some(("error", code)) => {
            FaultKind::Error(code.parse().map_err(|_| value("the code must be an integer: error=-32000"))?)
        }
        Some(("delay", time)) => {
            FaultKind::Delay(parse_duration(time).ok_or(value("write the time as 200ms or 2s"))?)
        }
        None if word == "hang" => FaultKind::Hang,
        None if word == "drop" => FaultKind::Drop,
        None if word == "truncate" => FaultKind::Truncate,
        None if word == "disconnect" => FaultKind::Disconnect,
        _ => return Ok(None),
    }))
}

fn parse_probability(text: &str) -> Option<f64> {
    text.parse().ok().filter(|p| (0.0..=1.0).contains(p))
}

fn parse_filter(text: &str) -> Result<Filter, FaultError> {
    let filter = Filter::parse(text).map_err(|error| FaultError::Filter(error.to_string()))?;
    if filter.asks_for_calls() || filter.needles().next().is_some() {
        let message =
            "only `tool:` and `method:` can be used here: faults are chosen before the call is answered"
                .to_owned();
        return Err(FaultError::Filter(message));
    }
    Ok(filter)
}

/// The faults of a replay and their seed.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// The faults; the first one that applies is injected.
    pub list: Vec<Fault>,
    /// The seed of the random draws.
    pub seed: u64,
}

impl Faults {
    /// The fault for the `time`-th call with this key. It depends on nothing else, so that a concurrent client gets the same
    /// faults in every run.
    pub fn fault_for(&self, method: &str, tool: Option<&str>, key: u64, time: u64) -> Option<FaultKind> {
        let chance = |fault: &Fault| {
            let drawn = combine(combine(self.seed, fault.text), combine(key, time));
            // 53 bits: the precision of a float between 0 and 1.
            (drawn >> 11) as f64 / (1u64 << 53) as f64
        };
        let strikes = |fault: &&Fault| fault.is_for(method, tool) && chance(fault) < fault.probability;
        self.list.iter().find(strikes).map(|fault| fault.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(written: &str, seed: u64) -> Faults {
        Faults { list: vec![written.parse().unwrap()], seed }
    }

    #[test]
    fn faults_are_understood() {
        let kind = |written: &str| written.parse::<Fault>().map(|fault| fault.kind);
        assert_eq!(kind("tool:a error=-32000 p=0.5"), Ok(FaultKind::Error(-32000)));
        assert_eq!(kind("delay=1.5s"), Ok(FaultKind::Delay(1_500_000)));
        assert_eq!(kind("method:tools/list disconnect"), Ok(FaultKind::Disconnect));
        for wrong in
            ["", "tool:a", "hang drop", "error=x", "delay=soon", "hang p=2", "hang status:error", "hang x:y"]
        {
            assert!(kind(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn they_strike_whom_they_name_as_often_as_they_say() {
        let some = faults("tool:search* hang p=0.25", 1);
        let struck = |faults: &Faults| {
            (0..10_000)
                .filter(|n| faults.fault_for("tools/call", Some("search_a"), *n, 0).is_some())
                .collect::<Vec<_>>()
        };
        let first = struck(&some);
        assert!((2_200..2_800).contains(&first.len()), "{}", first.len());
        assert_eq!(first, struck(&some));
        assert_ne!(first, struck(&faults("tool:search* hang p=0.25", 2)));
        assert_eq!(some.fault_for("tools/call", Some("find"), first[0], 0), None);
        assert_eq!(faults("hang", 0).fault_for("ping", None, 7, 0), Some(FaultKind::Hang));
    }
}
