//! The words after a command: traces, and terms of a filter. They may be mixed in any order (`wiretape calls latest
//! tool:read`), so each word is classified by its shape.

use crate::error::CommandError;
use crate::selector::TraceSelector;
use std::ffi::OsString;
use wiretape_analyze::filter::{Filter, FilterError, is_filter};

/// The filter syntax, for `--help`.
pub(crate) const FILTER_HELP: &str = "\
Filters (all terms must match; prefix a term with `!` to negate it):
  tool:GLOB  method:GLOB  server:GLOB  session:GLOB  id:GLOB
                    `*` and `?` are wildcards, `a,b` is either
  status:error      or answered, ok, tool-error, protocol-error, http-error, timed-out, cancelled,
                    disconnected, crashed, unanswered, pending
  dir:in  dir:out   requests of the client, requests of the server
  latency>200ms     also < >= <=, and us, ms, s, m
  response>10kB     and request>10kB
  text:WORDS        text in a payload, case-insensitive; text:\"two words\" in quotes";

/// The words after a command, sorted.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) traces: Vec<TraceSelector>,
    pub(crate) filter: Filter,
}

impl Words {
    /// Sorts the words. A word that looks like a filter is one; a file with such a name needs a leading `./`.
    pub(crate) fn parse(words: &[OsString]) -> Result<Self, CommandError> {
        let mut parsed = Words::default();
        for word in words {
            match word.to_str().filter(|text| is_filter(text) || is_meant_as_filter(text)) {
                Some(text) => parsed.filter = std::mem::take(&mut parsed.filter).and(parse_filter(text)?),
                None => parsed.traces.push(TraceSelector::from(word.clone())),
            }
        }
        Ok(parsed)
    }
}

/// Whether a word is a filter with a typo: `stauts:error` is not a trace.
fn is_meant_as_filter(word: &str) -> bool {
    // One letter before a colon is a drive (`C:\traces`), not the name of a filter.
    let name = word.split([':', '<', '>', '=']).next().unwrap_or_default();
    let is_name = name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_name && name.len() < word.len() && !std::path::Path::new(word).exists()
}

/// Parses a filter; an error points to its place.
pub(crate) fn parse_filter(text: &str) -> Result<Filter, CommandError> {
    Filter::parse(text).map_err(|error| CommandError::usage(pointed_out(text, &error)))
}

fn pointed_out(text: &str, error: &FilterError) -> String {
    let before = crate::text::width(&text[..error.span.start]);
    // At the end of the text the span is empty, and a caret must still point somewhere.
    let marked = crate::text::width(&text[error.span.clone()]).max(1);
    let shown = crate::text::printable(text);
    format!("{error}\n  {shown}\n  {:before$}{}", "", "^".repeat(marked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_and_filters_are_told_apart() {
        let words = ["latest", "tool:a*", "dir:in status:ok", "./tool:x", "a.jsonl"].map(OsString::from);
        let parsed = Words::parse(&words).unwrap();
        assert_eq!(parsed.traces.len(), 3);
        assert!(!parsed.filter.is_empty());
    }

    #[test]
    fn the_help_lists_all_statuses() {
        let statuses = FILTER_HELP.split("status:").nth(1).unwrap().split("\n  dir:").next().unwrap();
        let listed: Vec<&str> =
            statuses.split([',', ' ', '\n']).filter(|word| !word.is_empty() && *word != "or").collect();
        for status in &listed {
            parse_filter(&format!("status:{status}")).unwrap();
        }
        for outcome in wiretape_analyze::call::Outcome::ALL {
            assert!(listed.contains(&outcome.name()), "{}", outcome.name());
        }
    }

    #[test]
    fn a_mistake_is_shown_where_it_is() {
        let error = parse_filter("tool:ä latency>soon").unwrap_err().to_string();
        assert_eq!(
            error,
            "`soon` is not a time; write 200ms, 1.5s or 2m\n  tool:ä latency>soon\n         ^^^^^^^^^^^^"
        );
    }
}
