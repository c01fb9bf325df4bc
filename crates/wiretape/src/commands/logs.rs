//! `wiretape logs`: the latest calls, and live updates.

use super::{pending, violations};
use crate::ask::{AskArgs, StoreArgs};
use crate::calls::{self, DisplayFormat};
use crate::error::CommandError;
use crate::names::Names;
use crate::output::{self, Output, Table};
use clap::Args;
use std::io::{self, Write};
use std::time::Duration;
use wiretape_events::store::query::{CallRecord, Order};
use wiretape_events::store::{Filter, Store};
use wiretape_proxy::platform::stdout_is_closed;

/// Show the latest calls, oldest first
///
/// Shows the time of each call, the server, the tool or method, the status, the duration, the sizes of request and
/// response, the session, and the error. The calls are those in the store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape logs                          the latest calls
  wiretape logs -f                       follow new calls until Ctrl-C
  wiretape logs --since 1h --errors      failed calls of the last hour
  wiretape logs --tool search -n 500     the latest 500 calls of one tool
  wiretape logs --pending                calls in flight
  wiretape logs --violations             requests blocked by browsers
  wiretape logs -f --json | jq .status   for scripts")]
pub(crate) struct LogsArgs {
    /// Show at most the N latest calls
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: u32,

    /// Print new calls until Ctrl-C
    #[arg(short, long)]
    follow: bool,

    /// Show Content-Security-Policy violations reported by browsers instead of calls (see docs/csp.md)
    #[arg(long, conflicts_with_all = ["follow", "tool", "client", "status", "errors"])]
    violations: bool,

    /// List calls in flight in all running recordings, with their age, instead of calls in the store
    #[arg(long, conflicts_with_all = ["follow", "violations", "since", "until", "server", "tool", "client", "session", "status", "errors", "store"])]
    pending: bool,

    #[command(flatten)]
    ask: AskArgs,
}

// Follows by polling: the writer is another process, and SQLite has no notifications between processes.
const POLL: Duration = Duration::from_millis(250);

/// After how many polls the store is reopened (5 seconds), since its file may have been replaced.
const REOPEN: u32 = 20;

/// How many calls are read at a time.
const PAGE: u32 = 1000;

pub(crate) fn run(args: &LogsArgs) -> Result<(), CommandError> {
    let format = if args.ask.json { violations::RowFormat::Json } else { violations::RowFormat::Text };
    if args.pending {
        return pending::print(format);
    }
    let store = args.ask.store.open()?;
    // The store may not exist yet when following.
    let filter = if args.follow { args.ask.filter.filter() } else { args.ask.filter.checked(&store)? };
    if args.violations {
        return violations::print(&store, &filter, args.limit, format);
    }
    // Read first, so that no call is missed between the listing and the following.
    let newest = store.newest_row()?;
    let mut calls = store.calls(&filter, Order::Newest, args.limit)?;
    calls.retain(|call| call.row <= newest);
    calls.reverse();
    let mut view = LogsView::new(args, &store, &calls)?;
    view.first(&calls, args.follow)?;
    if !args.follow {
        return Ok(());
    }
    let mut follower = Follower { row: newest, version: None, store, filter };
    for look in 1u32.. {
        view.more(&mut follower)?;
        // Without new calls nothing is written, so a closed pipe would go unnoticed until the next call.
        if stdout_is_closed() {
            break;
        }
        std::thread::sleep(POLL);
        if look.is_multiple_of(REOPEN) {
            // While the store's file is being replaced, it may briefly not exist.
            follower.reopen(&args.ask.store);
        }
    }
    Ok(())
}

/// Keeps track of which calls were shown.
struct Follower {
    store: Store,
    filter: Filter,
    row: i64,
    version: Option<i64>,
}

impl Follower {
    /// The next new calls; empty if there are none.
    fn next(&mut self) -> Result<Vec<CallRecord>, CommandError> {
        // A pragma that costs next to nothing; without it, every poll would be a query.
        let version = self.store.data_version()?;
        if self.version == Some(version) {
            return Ok(Vec::new());
        }
        let newest = self.store.newest_row()?;
        let calls = self.store.calls_after(self.row, &self.filter, PAGE)?;
        // A full page may not be the last one: the version is kept only once everything was read.
        if (calls.len() as u32) < PAGE {
            self.version = Some(version);
            // Skips rows that the filter excludes, so that the next poll doesn't scan them again.
            self.row = calls.last().map_or(newest, |call| call.row.max(newest));
        } else if let Some(last) = calls.last() {
            self.row = last.row;
        }
        Ok(calls)
    }

    fn reopen(&mut self, args: &StoreArgs) {
        if let Ok(store) = args.open() {
            (self.store, self.version) = (store, None);
        }
    }
}

/// A table that rows are added to.
struct TextView {
    out: Output,
    look: DisplayFormat,
    names: Names,
    table: Table,
}

/// Where calls are listed.
enum LogsView {
    Text(Box<TextView>),
    Json(Box<dyn Write>),
}

impl LogsView {
    fn new(args: &LogsArgs, store: &Store, calls: &[CallRecord]) -> Result<Self, CommandError> {
        if args.ask.json {
            return Ok(LogsView::Json(Box::new(output::machine_stdout())));
        }
        let out = Output::stdout();
        let (look, names) = (DisplayFormat::of(&out), calls::names(store, calls)?);
        let table = match args.follow {
            true => calls::growing_table(calls, &names, &look, &out.styles),
            false => calls::table(calls, &names, &look, &out.styles),
        };
        Ok(LogsView::Text(Box::new(TextView { out, look, names, table })))
    }

    fn first(&mut self, calls: &[CallRecord], follow: bool) -> io::Result<()> {
        match self {
            LogsView::Text(view) if calls.is_empty() && !follow => {
                writeln!(view.out, "No calls in the store match this filter.")?;
                view.out.flush()
            }
            LogsView::Text(view) => view.first(),
            LogsView::Json(out) => {
                output::write_json_lines(out, calls)?;
                out.flush()
            }
        }
    }

    /// Shows the new calls.
    fn more(&mut self, follower: &mut Follower) -> Result<(), CommandError> {
        loop {
            let calls = follower.next()?;
            if calls.is_empty() {
                return Ok(());
            }
            self.later(&calls, &follower.store)?;
        }
    }

    fn later(&mut self, calls: &[CallRecord], store: &Store) -> Result<(), CommandError> {
        match self {
            LogsView::Text(view) => view.later(calls, store),
            LogsView::Json(out) => {
                output::write_json_lines(out, calls)?;
                Ok(out.flush()?)
            }
        }
    }
}

impl TextView {
    fn first(&mut self) -> io::Result<()> {
        let (styles, width) = (self.out.styles, self.out.width);
        self.table.write(&mut self.out, &styles, width)?;
        self.table.keep_widths(width);
        self.out.flush()
    }

    fn later(&mut self, calls: &[CallRecord], store: &Store) -> Result<(), CommandError> {
        self.names.learn(store, calls.iter().filter_map(|call| call.session.as_deref()))?;
        if let DisplayFormat::Short { now, .. } = &mut self.look {
            *now = jiff::Timestamp::now().as_millisecond();
        }
        let (styles, width) = (self.out.styles, self.out.width);
        for call in calls {
            let row = calls::row(call, &self.names, &self.look, &styles);
            self.table.write_later(&mut self.out, &row, width)?;
        }
        Ok(self.out.flush()?)
    }
}
