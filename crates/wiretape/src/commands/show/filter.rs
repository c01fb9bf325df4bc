//! Which lines are shown.

use super::item::Item;
use clap::Args;
use globset::{Glob, GlobMatcher};
use wiretape_analyze::call::Outcome;
use wiretape_trace::format::{DirectionField, Record};
use wiretape_trace::message::Direction;

/// Which lines are shown. All conditions must hold.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters (all must hold)")]
pub(crate) struct Filter {
    /// Only messages of this method, and the responses to them (`*` and `?` stand for anything)
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    method: Option<GlobMatcher>,

    /// Only calls of this tool, and the responses to them (`*` and `?` stand for anything)
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    tool: Option<GlobMatcher>,

    /// Only what was sent in this direction
    #[arg(long, value_name = "DIRECTION", value_enum)]
    dir: Option<DirectionArg>,

    /// Only responses that failed; each names the request it answers
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
    /// Whether everything passes.
    pub(super) fn is_empty(&self) -> bool {
        self.method.is_none() && self.tool.is_none() && self.dir.is_none() && !self.errors
    }

    /// Whether a payload that was sent in this direction passes.
    pub(super) fn passes(&self, item: &Item<'_>, dir: &DirectionField<'_>) -> bool {
        let matches = |glob: &Option<GlobMatcher>, text: Option<&str>| {
            glob.as_ref().is_none_or(|glob| text.is_some_and(|text| glob.is_match(text)))
        };
        matches(&self.method, item.method())
            && matches(&self.tool, item.tool())
            && self.passes_direction(dir)
            && (!self.errors || item.outcome().is_some_and(Outcome::is_error))
    }

    /// Whether a record that is no message passes.
    pub(super) fn passes_other(&self, record: &Record<'_>) -> bool {
        match record {
            _ if self.is_empty() => true,
            Record::Text(text) => {
                self.method.is_none()
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
