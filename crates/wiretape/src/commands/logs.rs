//! `wiretape logs`: the latest calls, in the order in which they came, and those to come.

use super::{pending, violations};
use crate::ask::{AskArgs, StoreArgs};
use crate::calls::{self, Look};
use crate::error::CommandError;
use crate::names::Names;
use crate::output::{self, Output, Table};
use clap::Args;
use std::io::{self, Write};
use std::time::Duration;
use wiretape_events::store::query::{CallRecord, Order};
use wiretape_events::store::{Filter, Store};
use wiretape_proxy::platform::stdout_is_closed;

/// Show the latest calls, as they came
///
/// Each line has when a call began, the server, what was called, how it went, how long it took, the lengths of request
/// and response, the session, and what went wrong. The calls are those that the store knows of.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape logs                          the latest calls
  wiretape logs -f                       and those to come, until Ctrl-C
  wiretape logs --since 1h --errors      what failed in the last hour
  wiretape logs --tool search -n 500     the latest 500 calls of a tool
  wiretape logs --pending                what is in flight right now
  wiretape logs --violations             what browsers blocked
  wiretape logs -f --json | jq .status   for programs")]
pub(crate) struct LogsArgs {
    /// Show at most the latest N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: u32,

    /// Go on with what comes, until Ctrl-C
    #[arg(short, long)]
    follow: bool,

    /// Show what browsers blocked by a Content-Security-Policy, instead of calls (see docs/csp.md)
    #[arg(long, conflicts_with_all = ["follow", "tool", "client", "status", "errors"])]
    violations: bool,

    /// List the calls in flight in all running recordings, with their age, instead of those in the store
    #[arg(long, conflicts_with_all = ["follow", "violations", "since", "until", "server", "tool", "client", "session", "status", "errors", "store"])]
    pending: bool,

    #[command(flatten)]
    ask: AskArgs,
}

/// How often it is looked whether something has come.
const POLL: Duration = Duration::from_millis(250);

/// After how many looks the store is opened anew, for it may have been replaced.
const REOPEN: u32 = 20;

/// How many calls are read at a time.
const PAGE: u32 = 1000;

/// Runs the command.
pub(crate) fn run(args: &LogsArgs) -> Result<(), CommandError> {
    let form = if args.ask.json { violations::Form::Json } else { violations::Form::Text };
    if args.pending {
        return pending::print(form);
    }
    let store = args.ask.store.open()?;
    // What is followed may be yet to come.
    let filter = if args.follow { args.ask.filter.filter() } else { args.ask.filter.checked(&store)? };
    if args.violations {
        return violations::print(&store, &filter, args.limit, form);
    }
    // Asked first, so that nothing is missed between what there is and what comes.
    let newest = store.newest_row()?;
    let mut calls = store.calls(&filter, Order::Newest, args.limit)?;
    calls.retain(|call| call.row <= newest);
    calls.reverse();
    let mut view = View::new(args, &store, &calls)?;
    view.first(&calls, args.follow)?;
    if !args.follow {
        return Ok(());
    }
    let mut follower = Follower { row: newest, version: None, store, filter };
    for look in 1u32.. {
        view.more(&mut follower)?;
        if stdout_is_closed() {
            break;
        }
        std::thread::sleep(POLL);
        if look.is_multiple_of(REOPEN) {
            // While a store is put in the place of another, there may be none.
            follower.reopen(&args.ask.store);
        }
    }
    Ok(())
}

/// Knows which calls were shown.
struct Follower {
    store: Store,
    filter: Filter,
    row: i64,
    version: Option<i64>,
}

impl Follower {
    /// The next calls that have come since; none if there are no more.
    fn next(&mut self) -> Result<Vec<CallRecord>, CommandError> {
        let version = self.store.data_version()?;
        if self.version == Some(version) {
            return Ok(Vec::new());
        }
        let newest = self.store.newest_row()?;
        let calls = self.store.calls_after(self.row, &self.filter, PAGE)?;
        if (calls.len() as u32) < PAGE {
            self.version = Some(version);
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

/// A table that grows.
struct TextView {
    out: Output,
    look: Look,
    names: Names,
    table: Table,
}

/// Where calls are shown.
enum View {
    Text(Box<TextView>),
    Json(Box<dyn Write>),
}

impl View {
    fn new(args: &LogsArgs, store: &Store, calls: &[CallRecord]) -> Result<Self, CommandError> {
        if args.ask.json {
            return Ok(View::Json(Box::new(output::machine_stdout())));
        }
        let out = Output::stdout();
        let (look, names) = (Look::of(&out), calls::names(store, calls)?);
        let table = match args.follow {
            true => calls::growing_table(calls, &names, &look, &out.styles),
            false => calls::table(calls, &names, &look, &out.styles),
        };
        Ok(View::Text(Box::new(TextView { out, look, names, table })))
    }

    fn first(&mut self, calls: &[CallRecord], follow: bool) -> io::Result<()> {
        match self {
            View::Text(view) if calls.is_empty() && !follow => {
                writeln!(view.out, "There are no such calls in the store.")?;
                view.out.flush()
            }
            View::Text(view) => view.first(),
            View::Json(out) => {
                output::write_json_lines(out, calls)?;
                out.flush()
            }
        }
    }

    /// Shows what has come since.
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
            View::Text(view) => view.later(calls, store),
            View::Json(out) => {
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
        self.table.settle(width);
        self.out.flush()
    }

    fn later(&mut self, calls: &[CallRecord], store: &Store) -> Result<(), CommandError> {
        self.names.learn(store, calls.iter().filter_map(|call| call.session.as_deref()))?;
        if let Look::Short { now, .. } = &mut self.look {
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
