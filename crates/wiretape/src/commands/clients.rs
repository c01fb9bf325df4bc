//! `wiretape clients`: the clients in the store.

use crate::ask::AskArgs;
use crate::calls::DisplayFormat;
use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Styles, Table};
use crate::text::printable;
use crate::units;
use clap::Args;
use std::io::Write as _;
use wiretape_events::store::query::ClientRecord;

/// List clients, most recent first
///
/// Shows, for each client and version, the number of sessions, calls and failed calls, and when it was first
/// and last seen. Only sessions that match the filters are counted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape clients                          all clients
  wiretape clients --since 7d               clients of the last week
  wiretape clients --server files --errors  clients with failed calls at one server
  wiretape clients --json | jq .name        for scripts")]
pub(crate) struct ClientsArgs {
    /// List only the N most recent clients
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    ask: AskArgs,
}

const COLUMNS: [Column; 8] = [
    Column { title: "CLIENT", align: Align::Left, room: Room::Flexible },
    Column { title: "VERSION", align: Align::Left, room: Room::Optional(3) },
    Column { title: "PLATFORM", align: Align::Left, room: Room::Optional(5) },
    Column { title: "SESSIONS", align: Align::Right, room: Room::Fixed },
    Column { title: "CALLS", align: Align::Right, room: Room::Fixed },
    Column { title: "ERRORS", align: Align::Right, room: Room::Fixed },
    Column { title: "FIRST SEEN", align: Align::Left, room: Room::Optional(4) },
    Column { title: "LAST SEEN", align: Align::Left, room: Room::Optional(2) },
];

pub(crate) fn run(args: &ClientsArgs) -> Result<(), CommandError> {
    let store = args.ask.store.open()?;
    let mut clients = store.clients(&args.ask.filter.checked(&store)?)?;
    clients.truncate(args.limit.unwrap_or(usize::MAX));
    if args.ask.json {
        return Ok(output::print_json_lines(&clients)?);
    }
    let mut out = Output::stdout();
    if clients.is_empty() {
        writeln!(out, "No clients in the store match this filter.")?;
        return Ok(out.flush()?);
    }
    let (styles, width, look) = (out.styles, out.width, DisplayFormat::of(&out));
    let mut table = Table::new(&COLUMNS);
    clients.iter().for_each(|client| table.row(row(client, &look, &styles)));
    table.write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}

fn row(client: &ClientRecord, look: &DisplayFormat, styles: &Styles) -> Vec<Cell> {
    let text = |text: &Option<String>| {
        text.as_deref().map_or(Cell::new(styles.dim, "-"), |text| printable(text).into_owned().into())
    };
    let name = match &client.name {
        Some(name) => Cell::new(styles.name, printable(name)),
        None => Cell::new(styles.dim, "(unknown)"),
    };
    vec![
        name,
        text(&client.version),
        text(&client.platform),
        units::number(client.sessions).into(),
        units::number(client.calls).into(),
        output::failures(client.errors, styles),
        look.when(client.first_seen).into(),
        look.when(client.last_seen).into(),
    ]
}
