//! The filters of `show`.

use super::item::Item;
use clap::Args;
use globset::{Glob, GlobMatcher};
use wiretape_analyze::call::Outcome;
use wiretape_analyze::filter::{Filter as Words, Subject};
use wiretape_analyze::text::TextFinder;
use wiretape_trace::format::{DirectionField, Message, Record};
use wiretape_trace::message::{Direction, Id};

/// The filter options. All must match.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters (all must match)")]
pub(crate) struct Filter {
    /// Filter terms for messages or their calls, from among the positional arguments.
    #[arg(skip)]
    pub(super) words: Vec<Words>,

    /// Only messages with this method, and their responses (wildcards: `*`, `?`)
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    method: Option<GlobMatcher>,

    /// Only calls of this tool, and their responses (wildcards: `*`, `?`)
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    tool: Option<GlobMatcher>,

    /// Only messages in this direction
    #[arg(long = "direction", alias = "dir", value_name = "DIRECTION", value_enum)]
    dir: Option<DirectionArg>,

    /// Only failed responses; each names the request that it answers
    #[arg(long)]
    errors: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum DirectionArg {
    /// From the client to the server
    In,
    /// From the server to the client
    Out,
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    Glob::new(text).map(|glob| glob.compile_matcher()).map_err(|error| error.to_string())
}

impl Filter {
    /// The filter on calls, if any.
    pub(super) fn of_calls(&self) -> Option<Words> {
        let asked = self.words.iter().filter(|words| words.asks_for_calls()).cloned();
        asked.reduce(Words::and)
    }

    /// Whether no filter is set.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
            && self.method.is_none()
            && self.tool.is_none()
            && self.dir.is_none()
            && !self.errors
    }

    /// Whether a payload passes; `selected` says whether its call passes, if calls were looked up.
    pub(super) fn passes(
        &self,
        item: &Item<'_>,
        message: &Message<'_>,
        label: Option<&str>,
        selected: Option<bool>,
    ) -> bool {
        let passes = |words: &Words| match selected {
            Some(selected) if words.asks_for_calls() => selected,
            _ => passes_words(words, item, message, label),
        };
        let matches = |glob: &Option<GlobMatcher>, text: Option<&str>| {
            glob.as_ref().is_none_or(|glob| text.is_some_and(|text| glob.is_match(text)))
        };
        matches(&self.method, item.method())
            && matches(&self.tool, item.tool())
            && self.passes_direction(&message.dir)
            && (!self.errors || item.outcome().is_some_and(Outcome::is_error))
            && self.words.iter().all(passes)
    }

    /// Whether a record that is not a message passes.
    pub(super) fn passes_other(&self, record: &Record<'_>) -> bool {
        match record {
            _ if self.is_empty() => true,
            // A line that is not JSON has a direction, and nothing else that a filter could match.
            Record::Text(text) => {
                self.words.is_empty()
                    && self.method.is_none()
                    && self.tool.is_none()
                    && !self.errors
                    && self.passes_direction(&text.dir)
            }
            _ => false,
        }
    }

    fn passes_direction(&self, dir: &DirectionField<'_>) -> bool {
        match self.dir {
            None => true,
            Some(DirectionArg::In) => dir.known() == Some(Direction::ClientToServer),
            Some(DirectionArg::Out) => dir.known() == Some(Direction::ServerToClient),
        }
    }
}

fn passes_words(words: &Words, item: &Item<'_>, message: &Message<'_>, label: Option<&str>) -> bool {
    let answered = item.answered();
    let subject = Subject {
        method: item.method(),
        tool: item.tool(),
        outcome: answered.map(|call| call.outcome).or_else(|| item.outcome()),
        direction: message.dir.known(),
        session: message.session.as_deref(),
        server: label,
        id: item.id().map(Id::text),
        latency_us: answered.and_then(|call| call.duration_us),
        request_bytes: answered.map(|call| call.request_bytes),
        response_bytes: answered.and_then(|call| call.response_bytes),
    };
    words.matches(&subject, |needle| TextFinder::literal(&needle.text).is_in(item.raw))
}
