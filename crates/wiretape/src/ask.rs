//! Arguments that the commands over the store share: which store, and which of its rows. The queries themselves are
//! in `wiretape_events::store`; this module checks what the user typed and explains what is missing.

use crate::error::CommandError;
use crate::names::Names;
use crate::text::printable;
use crate::{dirs, units};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use wiretape_analyze::call::Outcome;
use wiretape_events::store::{Filter, Store, StoreError, Writer};

/// Arguments of a command that prints rows of the store.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Print one JSON object per line (schema: docs/json-output.md)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Use the store in FILE instead of the default one
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

impl StoreArgs {
    /// The path of the store, which may not exist.
    pub(crate) fn path(&self) -> Result<PathBuf, CommandError> {
        self.store.clone().map_or_else(dirs::store_file, Ok)
    }

    /// Opens the store read-only.
    pub(crate) fn open(&self) -> Result<Store, CommandError> {
        Ok(Store::open_read(&self.path()?)?)
    }

    /// Opens the store for writing, and creates it if it is missing.
    pub(crate) fn open_or_make(&self) -> Result<Writer, CommandError> {
        Ok(Writer::open(&self.path()?)?)
    }

    /// Opens an existing store for writing.
    pub(crate) fn open_to_write(&self) -> Result<Writer, CommandError> {
        // `Writer::open` would create a missing store, and then maintenance of a mistyped path would succeed on an
        // empty one.
        self.open()?;
        self.open_or_make()
    }
}

/// The filter options. All must match.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters (all must match)")]
pub(crate) struct FilterArgs {
    /// Only calls since TIME: an age (90s, 1h, 2d) or a date and time (2026-05-12, 2026-05-12T23:00:00Z)
    #[arg(long, value_name = "TIME", value_parser = units::parse_time)]
    since: Option<i64>,

    /// Only calls before TIME, written like --since
    #[arg(long, value_name = "TIME", value_parser = units::parse_time)]
    until: Option<i64>,

    /// Only this server: its name, host and port, or URL
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only calls of this client
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// Only sessions whose id starts with ID
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only calls with this status (repeatable, or comma-separated)
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = statuses())]
    status: Vec<Outcome>,

    /// Only failed calls
    #[arg(long)]
    errors: bool,
}

fn statuses() -> impl TypedValueParser<Value = Outcome> {
    PossibleValuesParser::new(Outcome::ALL.map(Outcome::name))
        .map(|name: String| Outcome::named(&name).expect("clap accepts only the names of outcomes"))
}

impl FilterArgs {
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

    /// The store's filter. A server or tool that is not in the store is more likely a typo than a question, so it is an error.
    pub(crate) fn checked(&self, store: &Store) -> Result<Filter, CommandError> {
        if let Some(name) = &self.server
            && store.servers_named(name)?.is_empty()
        {
            return Err(unknown("server", name, &Names::of(store)?.servers()));
        }
        if let Some(name) = &self.tool {
            let tools = store.tools()?;
            // Exact, unlike `--server`: a tool has one name, a server is found by name, host and port, or URL.
            if !tools.contains(name) {
                return Err(unknown("tool", name, &tools.into_iter().collect::<Vec<_>>()));
            }
        }
        Ok(self.filter())
    }

    /// Whether no filter is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter() == Filter::default()
    }
}

/// The error for an unknown name, with the known names as a hint.
fn unknown(what: &str, name: &str, names: &[String]) -> CommandError {
    /// A longer list would hide the error.
    const SHOWN: usize = 12;
    let error = CommandError::failure(format!("no {what} `{}` in the store", printable(name)));
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| printable(name)).collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    // An empty store has no names; a hint without any would read as if the list were cut off.
    match shown.as_slice() {
        [] => error,
        shown => error.hint(format!("known {what}s: {}{rest}", shown.join(", "))),
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { path } => {
                CommandError::failure(format!("there is no store at {}", path.display())).hint(
                    "`wiretape proxy` and `wiretape record` create it; run `wiretape store load TRACE…` to create it from traces",
                )
            }
            // Session ids come from servers, and must not control the terminal.
            StoreError::UnknownSession { .. } => CommandError::failure(printable(&error.to_string()).into_owned())
                .hint("run `wiretape sessions` to list sessions"),
            StoreError::AmbiguousSession { .. } => {
                CommandError::failure(printable(&error.to_string()).into_owned()).hint("use a longer prefix of the id")
            }
            other => CommandError::failure(other),
        }
    }
}
