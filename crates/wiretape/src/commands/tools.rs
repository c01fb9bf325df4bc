//! `wiretape tools`: tools, their cost in context, and their use.

use crate::ask::StoreArgs;
use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Styles, Table};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::{trace_file, units};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use wiretape_analyze::reading::Reading;
use wiretape_analyze::tokens;
use wiretape_analyze::toolbox::{Tool, Toolbox};
use wiretape_events::store::{Filter, Store};

/// List tools with their context cost and usage
///
/// A client puts the definition of every listed tool into its model's context, and each result as it arrives. Tokens are
/// estimated with one encoding, which is named in the output; other models differ slightly. With TRACE, lists the tools
/// in the trace; otherwise those in the store, which has sizes of results but not their tokens.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape tools latest                    tools of the newest trace
  wiretape tools a.jsonl b.jsonl           tools of two servers
  wiretape tools latest --unused           tools that were never called
  wiretape tools                           all tools in the store
  wiretape tools latest --json | jq '.tools[] | {name, definitionTokens}'")]
pub(crate) struct ToolsArgs {
    /// Traces: paths, id prefixes, `latest`, or `latest~1` for the one before
    #[arg(value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// List only tools that were never called
    #[arg(long)]
    unused: bool,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Tools by server and name.
type Tools = BTreeMap<(String, String), ListedTool>;

/// A tool, and whether its results are known.
struct ListedTool {
    tool: Tool,
    /// Whether the results were available for counting.
    has_results: bool,
}

pub(crate) fn run(args: &ToolsArgs) -> Result<(), CommandError> {
    let mut tools = match args.traces.as_slice() {
        [] => of_store(&args.store.open()?)?,
        _ if args.store.store.is_some() => {
            return Err(CommandError::usage("TRACE and --store can't be combined"));
        }
        traces => of_traces(traces)?,
    };
    if args.unused {
        // After all traces were counted: a tool that is unused in one may be used in another.
        tools.retain(|_, listed| listed.tool.calls == 0);
    }
    if args.json { Ok(output::print_json(&ToolsJson::new(&tools))?) } else { print(&tools, args.unused) }
}

fn of_traces(traces: &[TraceSelector]) -> Result<Tools, CommandError> {
    let mut tools = Tools::new();
    for trace in traces {
        let path = trace.resolve()?;
        let head = trace_file::head(&path)?;
        let label = head.meta.map(|meta| meta.label).unwrap_or_default();
        for (name, tool) in read(&path)? {
            tools
                // By server as well: tools of different servers may have the same name.
                .entry((label.clone(), name))
                .or_insert_with(|| ListedTool { tool: Tool::default(), has_results: true })
                .add(tool);
        }
    }
    Ok(tools)
}

fn read(path: &Path) -> Result<BTreeMap<String, Tool>, CommandError> {
    let mut reader = trace_file::open_with_progress(path)?;
    let mut reading = Reading::new(Toolbox::new());
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        reading.observe(&line);
    }
    trace_file::report_damage(path, &reader);
    Ok(reading.finish(trace_file::recording_state(path)).finish())
}

fn of_store(store: &Store) -> Result<Tools, CommandError> {
    let mut tools = Tools::new();
    for list in store.schema(None)?.into_iter().filter(|list| list.method == "tools/list") {
        for item in list.items {
            let tool = Tool::defined(item.definition.as_bytes().to_vec());
            tools.insert((list.server.clone(), item.key), ListedTool { tool, has_results: false });
        }
    }
    for row in store.stats(&Filter::default())?.rows {
        // Rows of other methods are in the same statistics.
        let Some(name) = row.tool else { continue };
        let listed = tools
            .entry((row.server, name))
            .or_insert_with(|| ListedTool { tool: Tool::default(), has_results: false });
        listed.tool.calls += row.calls;
        listed.tool.errors += row.errors;
        listed.tool.result_bytes += row.response_bytes;
    }
    Ok(tools)
}

impl ListedTool {
    /// Adds the figures of another recording; the later definition wins.
    fn add(&mut self, other: Tool) {
        // A recording in which the tools were not listed must not remove the definition that another one has.
        if other.definition.is_some() {
            self.tool.definition = other.definition;
            self.tool.definition_tokens = other.definition_tokens;
        }
        self.tool.calls += other.calls;
        self.tool.errors += other.errors;
        self.tool.result_bytes += other.result_bytes;
        self.tool.result_tokens += other.result_tokens;
    }

    fn definition_bytes(&self) -> Option<u64> {
        self.tool.definition.as_ref().map(|definition| definition.len() as u64)
    }
}

const COLUMNS: [Column; 8] = [
    Column { title: "TOOL", align: Align::Left, room: Room::Flexible },
    Column { title: "SERVER", align: Align::Left, room: Room::Optional(1) },
    Column { title: "DEFINITION", align: Align::Right, room: Room::Optional(3) },
    Column { title: "TOKENS", align: Align::Right, room: Room::Fixed },
    Column { title: "CALLS", align: Align::Right, room: Room::Fixed },
    Column { title: "ERRORS", align: Align::Right, room: Room::Optional(2) },
    Column { title: "RESULTS", align: Align::Right, room: Room::Optional(4) },
    Column { title: "RESULT TOKENS", align: Align::Right, room: Room::Optional(5) },
];

fn print(tools: &Tools, unused: bool) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    if tools.is_empty() {
        let message = if unused { "No unused tools." } else { "No tools were listed or called." };
        writeln!(out, "{message}")?;
        return Ok(out.flush()?);
    }
    let (styles, width) = (out.styles, out.width);
    let mut servers = tools.keys().map(|(server, _)| server);
    let first = servers.next();
    // With one server, its column would repeat the same name; empty columns are dropped.
    let is_one = servers.all(|server| Some(server) == first);
    let mut table = Table::new(&COLUMNS);
    let mut rows: Vec<_> = tools.iter().collect();
    rows.sort_by_key(|(_, listed)| {
        // The most expensive definitions first: they are paid for in each request, results only when they come.
        std::cmp::Reverse((listed.tool.definition_tokens, listed.tool.result_tokens))
    });
    for ((server, name), listed) in rows {
        table.row(cells(if is_one { "" } else { server }, name, listed, &styles));
    }
    table.drop_empty();
    table.write(&mut out, &styles, width)?;
    let definitions: u64 = tools.values().map(|listed| listed.tool.definition_tokens).sum();
    let idle: Vec<&ListedTool> = tools.values().filter(|listed| listed.tool.calls == 0).collect();
    let wasted: u64 = idle.iter().map(|listed| listed.tool.definition_tokens).sum();
    let remark = format!(
        "{} of definitions, {} in {} (estimated with {})",
        units::count(definitions, "token"),
        units::number(wasted),
        units::count(idle.len() as u64, "unused tool"),
        tokens::ENCODING
    );
    writeln!(out, "\n{}", styles.dim.paint(remark))?;
    Ok(out.flush()?)
}

fn cells(server: &str, name: &str, listed: &ListedTool, styles: &Styles) -> Vec<Cell> {
    let tool = &listed.tool;
    let missing = || Cell::new(styles.dim, "-");
    vec![
        Cell::new(styles.name, printable(name)),
        printable(server).into_owned().into(),
        listed.definition_bytes().map_or_else(missing, |bytes| units::bytes(bytes).into()),
        tool.definition.as_ref().map_or_else(missing, |_| units::number(tool.definition_tokens).into()),
        if tool.calls == 0 { Cell::new(styles.warning, "unused") } else { units::number(tool.calls).into() },
        output::failures(tool.errors, styles),
        units::bytes(tool.result_bytes).into(),
        if listed.has_results { units::number(tool.result_tokens).into() } else { "".into() },
    ]
}

/// The object of `tools --json`.
#[derive(Serialize)]
struct ToolsJson<'a> {
    encoding: &'static str,
    tools: Vec<ToolJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolJson<'a> {
    server: &'a str,
    name: &'a str,
    listed: bool,
    definition_bytes: Option<u64>,
    definition_tokens: Option<u64>,
    calls: u64,
    errors: u64,
    result_bytes: u64,
    result_tokens: Option<u64>,
}

impl<'a> ToolsJson<'a> {
    fn new(tools: &'a Tools) -> Self {
        let tool = |((server, name), listed): (&'a (String, String), &ListedTool)| ToolJson {
            server,
            name,
            listed: listed.tool.definition.is_some(),
            definition_bytes: listed.definition_bytes(),
            definition_tokens: listed.tool.definition.as_ref().map(|_| listed.tool.definition_tokens),
            calls: listed.tool.calls,
            errors: listed.tool.errors,
            result_bytes: listed.tool.result_bytes,
            result_tokens: listed.has_results.then_some(listed.tool.result_tokens),
        };
        ToolsJson { encoding: tokens::ENCODING, tools: tools.iter().map(tool).collect() }
    }
}
