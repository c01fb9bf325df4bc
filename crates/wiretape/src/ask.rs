//! What the commands that ask the store have in common: which store, and what of it.

use crate::error::CommandError;
use crate::names::Names;
use crate::text::printable;
use crate::{dirs, units};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use wiretape_analyze::call::Outcome;
use wiretape_events::store::{Filter, Store, StoreError, Writer};

/// What a command takes that prints what the store knows, a line for each.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Print one JSON object a line (schema: docs/json-output.md)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Which store.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Use the store in this file instead of your own
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

impl StoreArgs {
    /// Where it is, or would be.
    pub(crate) fn path(&self) -> Result<PathBuf, CommandError> {
        self.store.clone().map_or_else(dirs::store_file, Ok)
    }

    /// Opens it to ask.
    pub(crate) fn open(&self) -> Result<Store, CommandError> {
        Ok(Store::open_read(&self.path()?)?)
    }

    /// Opens it to write; it is made if there is none.
    pub(crate) fn open_or_make(&self) -> Result<Writer, CommandError> {
        Ok(Writer::open(&self.path()?)?)
    }

    /// Opens it to write, if there is one.
    pub(crate) fn open_to_write(&self) -> Result<Writer, CommandError> {
        self.open()?;
        self.open_or_make()
    }
}

/// What is asked for. All conditions must hold.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters (all must hold)")]
pub(crate) struct FilterArgs {
    /// Only what was from then on: 90s, 1h, 2d ago, or a time such as 2026-05-12 or 2026-05-12T23:00:00Z
    #[arg(long, value_name = "TIME", value_parser = units::parse_time)]
    since: Option<i64>,

    /// Only what was before then; written like --since
    #[arg(long, value_name = "TIME", value_parser = units::parse_time)]
    until: Option<i64>,

    /// Only this server: its name, its host and port, or its URL
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only what this client did
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// Only sessions whose id begins so
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only calls that went so (can be repeated, or separated by commas)
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = statuses())]
    status: Vec<Outcome>,

    /// Only calls that failed
    #[arg(long)]
    errors: bool,
}

fn statuses() -> impl TypedValueParser<Value = Outcome> {
    PossibleValuesParser::new(Outcome::ALL.map(Outcome::name))
        .map(|name: String| Outcome::named(&name).expect("the parser lets only names of outcomes through"))
}

impl FilterArgs {
    /// As the store takes it.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            since_ms: self.since,
            until_ms: self.until,
            server: self.server.clone(),
            tool: self.tool.clone(),
            client: self.client.clone(),
            session: self.session.clone(),
            statuses: self.status.clone(),
            errors_only: self.errors,
            ..Filter::default()
        }
    }

    /// As the store takes it. A server or tool that the store has never heard of is more likely a slip than a question.
    pub(crate) fn checked(&self, store: &Store) -> Result<Filter, CommandError> {
        if let Some(name) = &self.server
            && store.servers_named(name)?.is_empty()
        {
            return Err(unknown("server", name, &Names::of(store)?.servers()));
        }
        if let Some(name) = &self.tool {
            let tools = store.tools()?;
            if !tools.contains(name) {
                return Err(unknown("tool", name, &tools.into_iter().collect::<Vec<_>>()));
            }
        }
        Ok(self.filter())
    }

    /// Whether everything is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter() == Filter::default()
    }
}

/// Nothing goes by this name; these are the names there are.
fn unknown(what: &str, name: &str, names: &[String]) -> CommandError {
    /// More would bury the rest.
    const SHOWN: usize = 12;
    let error = CommandError::failure(format!("there is no {what} `{}` in the store", printable(name)));
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| printable(name)).collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    match shown.as_slice() {
        [] => error,
        shown => error.hint(format!("there are: {}{rest}", shown.join(", "))),
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { path } => {
                CommandError::failure(format!("there is no store at {} yet", path.display())).hint(
                    "`wiretape proxy` and `wiretape record` make one as they run; `wiretape store load TRACE…` makes one of traces",
                )
            }
            // Ids are the servers' own.
            StoreError::UnknownSession { .. } => CommandError::failure(printable(&error.to_string()).into_owned())
                .hint("`wiretape sessions` lists them"),
            StoreError::AmbiguousSession { .. } => {
                CommandError::failure(printable(&error.to_string()).into_owned()).hint("write more of the id")
            }
            other => CommandError::failure(other),
        }
    }
}
