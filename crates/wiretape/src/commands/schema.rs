//! `wiretape schema`: definitions of servers, their changes, and unused tools.

use crate::ask::AskArgs;
use crate::calls::DisplayFormat;
use crate::error::CommandError;
use crate::json;
use crate::names::Names;
use crate::output::{self, Align, Cell, Column, Output, Room, Styles, Table};
use crate::text::printable;
use clap::Args;
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};
use wiretape_events::store::query::{SchemaChangeRecord, SchemaItemRecord, SchemaListRecord, UnusedTool};
use wiretape_events::store::{Filter, Store};

/// Show server definitions, their changes, and unused tools
///
/// Lists the tools, resources, templates and prompts of each server, as last listed. With NAME, shows the definitions with
/// that name. --since limits --changes to changes since TIME, and --unused to tools not called since TIME.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape schema                        current definitions
  wiretape schema search                 the definition of `search`
  wiretape schema --changes --since 7d   changes in the last week
  wiretape schema --unused --since 30d   tools not called for 30 days
  wiretape schema --json | jq '.items[].definition'")]
pub(crate) struct SchemaArgs {
    /// Show the definition of the tool, resource or prompt NAME
    #[arg(value_name = "NAME", conflicts_with_all = ["changes", "unused"])]
    name: Option<String>,

    /// Show changes, newest first
    #[arg(long, conflicts_with = "unused")]
    changes: bool,

    /// Show tools that were never called
    #[arg(long)]
    unused: bool,

    /// Show at most N entries
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    ask: AskArgs,
}

pub(crate) fn run(args: &SchemaArgs) -> Result<(), CommandError> {
    let filter = args.ask.filter.filter();
    if !args.unused && asks_for_calls(&filter) {
        return Err(CommandError::usage("--client, --status and --errors don't apply to definitions")
            .hint("with --unused they select the calls that count as use"));
    }
    if !args.unused && !args.changes && filter.session.is_some() {
        return Err(CommandError::usage("--session doesn't apply to current definitions").hint(
            "with --changes it selects the session in which a change was seen, with --unused the calls that count as use",
        ));
    }
    let store = args.ask.store.open()?;
    args.ask.filter.checked(&store)?;
    let names = Names::of(&store)?;
    let limit = args.limit.unwrap_or(usize::MAX);
    if args.unused {
        let mut unused = store.unused_tools(&filter)?;
        unused.truncate(limit);
        return if args.ask.json {
            Ok(output::print_json_lines(&unused)?)
        } else {
            print_unused(&unused, &names)
        };
    }
    if args.changes {
        let mut changes = changes(&store, &filter)?;
        changes.truncate(limit);
        return if args.ask.json {
            Ok(output::print_json_lines(&changes)?)
        } else {
            print_changes(&changes, &names)
        };
    }
    let lists = lists(&store, &filter, args.name.as_deref(), limit)?;
    match (&args.name, args.ask.json) {
        (_, true) => Ok(output::print_json_lines(&lists)?),
        (Some(name), false) => print_definitions(&lists, name, &names),
        (None, false) => print_lists(&lists, &names),
    }
}

fn asks_for_calls(filter: &Filter) -> bool {
    filter.client.is_some() || !filter.statuses.is_empty() || filter.errors_only
}

/// The current definitions that match the filter.
fn lists(
    store: &Store,
    filter: &Filter,
    name: Option<&str>,
    limit: usize,
) -> Result<Vec<SchemaListRecord>, CommandError> {
    let mut left = limit;
    let is_asked_for = |list: &SchemaListRecord, item: &SchemaItemRecord| {
        let is_tool = list.method == "tools/list";
        filter.tool.as_ref().is_none_or(|tool| is_tool && *tool == item.key)
            && name.is_none_or(|name| name == item.key)
            && filter.since_ms.is_none_or(|since| item.changed >= since)
            && filter.until_ms.is_none_or(|until| item.changed < until)
    };
    let mut lists = store.schema(filter.server.as_deref())?;
    for list in &mut lists {
        let mut items = std::mem::take(&mut list.items);
        items.retain(|item| is_asked_for(list, item));
        items.truncate(left);
        left -= items.len();
        list.items = items;
    }
    lists.retain(|list| !list.items.is_empty());
    Ok(lists)
}

/// A change with the members it affects; one line of `schema --changes --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    #[serde(flatten)]
    record: SchemaChangeRecord,
    /// The members that differ from the previous definition; `None` if that is not in the store.
    members: Option<Vec<String>>,
}

/// The changes, newest first.
fn changes(store: &Store, filter: &Filter) -> Result<Vec<Change>, CommandError> {
    // The previous definition may have been seen earlier, and in another session.
    let history = Filter { since_ms: None, session: None, ..filter.clone() };
    let mut before: HashMap<(String, String, String), SchemaChangeRecord> = HashMap::new();
    let mut changes = Vec::new();
    // Oldest first, so that the previous definition of each change has been seen.
    for record in store.schema_changes(&history, u32::MAX)?.into_iter().rev() {
        let key = (record.server.clone(), record.method.clone(), record.key.clone());
        let previous = before.insert(key, record.clone());
        let is_asked_for = filter.since_ms.is_none_or(|since| record.time >= since)
            && filter.session.as_ref().is_none_or(|prefix| {
                record.session.as_ref().is_some_and(|session| session.starts_with(prefix))
            });
        if is_asked_for {
            let members = previous
                // The previous definition of something that was added again is the one that was removed before: not a
                // change of members.
                .filter(|_| record.change == "modified")
                .map(|previous| differing(previous.definition.as_bytes(), record.definition.as_bytes()));
            changes.push(Change { record, members });
        }
    }
    changes.reverse();
    Ok(changes)
}

/// The members of two objects that differ.
fn differing(before: &[u8], after: &[u8]) -> Vec<String> {
    let mut names = json::keys(before);
    for name in json::keys(after) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.retain(|name| json::member(before, name) != json::member(after, name));
    names
}

const fn left(title: &'static str, room: Room) -> Column {
    Column { title, align: Align::Left, room }
}

const LISTS: [Column; 5] = [
    left("SERVER", Room::Flexible),
    left("LIST", Room::Fixed),
    left("NAME", Room::Flexible),
    left("FIRST SEEN", Room::Optional(2)),
    left("CHANGED", Room::Optional(1)),
];

const CHANGES: [Column; 6] = [
    left("TIME", Room::Fixed),
    left("SERVER", Room::Optional(2)),
    left("LIST", Room::Optional(1)),
    left("CHANGE", Room::Fixed),
    left("NAME", Room::Flexible),
    left("WHAT", Room::Flexible),
];

const UNUSED: [Column; 3] =
    [left("SERVER", Room::Flexible), left("TOOL", Room::Flexible), left("FIRST SEEN", Room::Optional(1))];

/// The name of a list for people: `tools` for `tools/list`.
fn list_name(method: &str) -> &str {
    method.strip_suffix("/list").unwrap_or(method)
}

fn print_lists(lists: &[SchemaListRecord], names: &Names) -> Result<(), CommandError> {
    print_table(&LISTS, "No definitions in the store match this filter.", |look, styles| {
        let of_list = |list: &SchemaListRecord| {
            let row = |item: &SchemaItemRecord| {
                vec![
                    names.server(&list.server, None).into(),
                    printable(list_name(&list.method)).into_owned().into(),
                    Cell::new(styles.name, printable(&item.key)),
                    look.when(item.first_seen).into(),
                    if item.changed > item.first_seen {
                        look.when(item.changed).into()
                    } else {
                        Cell::new(styles.dim, "-")
                    },
                ]
            };
            list.items.iter().map(row).collect::<Vec<_>>()
        };
        lists.iter().flat_map(of_list).collect()
    })
}

fn print_changes(changes: &[Change], names: &Names) -> Result<(), CommandError> {
    print_table(&CHANGES, "No changes in the store match this filter.", |look, styles| {
        let row = |Change { record, members }: &Change| {
            let what = members.as_deref().map(|members| members.join(", ")).unwrap_or_default();
            let paint = match record.change.as_str() {
                "removed" => styles.error,
                "modified" => styles.warning,
                _ => styles.plain,
            };
            vec![
                Cell::new(styles.dim, look.clock(record.time)),
                names.server(&record.server, None).into(),
                printable(list_name(&record.method)).into_owned().into(),
                Cell::new(paint, printable(&record.change)),
                Cell::new(styles.name, printable(&record.key)),
                printable(&what).into_owned().into(),
            ]
        };
        changes.iter().map(row).collect()
    })
}

fn print_unused(tools: &[UnusedTool], names: &Names) -> Result<(), CommandError> {
    print_table(&UNUSED, "No unused tools.", |look, styles| {
        let row = |tool: &UnusedTool| {
            vec![
                names.server(&tool.server, None).into(),
                Cell::new(styles.name, printable(&tool.tool)),
                look.when(tool.first_seen).into(),
            ]
        };
        tools.iter().map(row).collect()
    })
}

fn print_table(
    columns: &[Column],
    nothing: &str,
    rows: impl FnOnce(&DisplayFormat, &Styles) -> Vec<Vec<Cell>>,
) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    let (styles, width, look) = (out.styles, out.width, DisplayFormat::of(&out));
    let rows = rows(&look, &styles);
    if rows.is_empty() {
        writeln!(out, "{nothing}")?;
        return Ok(out.flush()?);
    }
    let mut table = Table::new(columns);
    rows.into_iter().for_each(|row| table.row(row));
    table.write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}

fn print_definitions(lists: &[SchemaListRecord], name: &str, names: &Names) -> Result<(), CommandError> {
    if lists.is_empty() {
        let message = format!("no definition named `{name}` in the store");
        return Err(CommandError::failure(message).hint("run `wiretape schema` to list definitions"));
    }
    let mut out = Output::stdout();
    for list in lists {
        write_definitions(&mut out, list, names)?;
    }
    Ok(out.flush()?)
}

fn write_definitions(out: &mut Output, list: &SchemaListRecord, names: &Names) -> io::Result<()> {
    let styles = out.styles;
    for item in &list.items {
        let place = format!("{} {}", names.server(&list.server, None), list.method);
        writeln!(out, "{}", styles.dim.paint(printable(&place)))?;
        json::write_pretty(out, item.definition.as_bytes(), 0, &styles)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_once() {
        let before = br#"{"name":"a","description":"x","inputSchema":{"a":1},"gone":1}"#;
        let after = br#"{"name":"a","description":"y","inputSchema":{"a":1},"title":"A"}"#;
        assert_eq!(differing(before, after), ["description", "gone", "title"]);
        assert_eq!(differing(before, before), [""; 0]);
    }
}
