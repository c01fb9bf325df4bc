//! `wiretape search`: text in all traces.

use crate::error::CommandError;
use crate::output::{self, Output, StyledLine, Styles};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::{dirs, trace_file, units};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use wiretape_analyze::text::{TextFinder, TextMatch};
use wiretape_library::Catalog;
use wiretape_trace::format::{Record, Stamp};
use wiretape_trace::message::{Direction, Envelope};

/// Search traces for text
///
/// Searches messages, standard error and lines that are not JSON, newest trace first. Escape sequences in
/// JSON are decoded before matching. Lower-case TEXT also matches upper case.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape search 'over quota'               in all traces
  wiretape search TODO latest latest~1       in the two newest
  wiretape search --regex 'INV-[0-9]{6}'     by a pattern
  wiretape search quota --json | jq .trace   for scripts")]
pub(crate) struct SearchArgs {
    /// The text to search for
    text: String,

    /// Search only these traces: paths, id prefixes, `latest`, or `latest~1`
    #[arg(value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// Interpret TEXT as a regular expression
    #[arg(short = 'E', long)]
    regex: bool,

    /// Stop after N matches
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    limit: u64,

    /// Print one JSON object per line (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &SearchArgs) -> Result<(), CommandError> {
    if args.text.is_empty() {
        return Err(CommandError::usage("the search text is empty").hint("pass the text to search for"));
    }
    let finder = finder(args)?;
    let paths = paths(&args.traces)?;
    let mut view = SearchView::new(args);
    for path in &paths {
        if view.left == 0 {
            break;
        }
        if let Err(error) = search(path, &finder, &mut view) {
            // A trace that can't be read must not hide matches in others.
            if args.traces.is_empty() { output::note(error) } else { return Err(error) }
        }
    }
    view.finish(paths.len())
}

fn finder(args: &SearchArgs) -> Result<TextFinder, CommandError> {
    if args.regex {
        return TextFinder::pattern(&args.text)
            .map_err(|error| CommandError::usage_because("invalid regular expression", error));
    }
    // Smart case, as in ripgrep and editors: an upper-case letter asks for an exact match.
    let has_upper = args.text.chars().any(char::is_uppercase);
    Ok(if has_upper { TextFinder::exact(&args.text) } else { TextFinder::literal(&args.text) })
}

fn paths(traces: &[TraceSelector]) -> Result<Vec<PathBuf>, CommandError> {
    if !traces.is_empty() {
        return traces.iter().map(TraceSelector::resolve).collect();
    }
    let dir = dirs::traces_dir()?;
    let entries = Catalog::open(&dir, &dirs::index_dir()?)?.entries;
    if entries.is_empty() {
        return Err(CommandError::failure(format!("no traces in {}", dir.display()))
            .hint("run `wiretape record -- COMMAND` to record one"));
    }
    Ok(entries.into_iter().map(|entry| entry.path).collect())
}

fn search(path: &Path, finder: &TextFinder, view: &mut SearchView) -> Result<(), CommandError> {
    let mut reader = trace_file::open(path)?;
    let mut trace = Trace { path, label: String::new(), id: None };
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        if let Record::Meta(meta) = &line.record {
            trace.label.clone_from(&meta.label);
            trace.id.clone_from(&meta.id);
        }
        if let Some(hit) = hit(line.number, &line.record, finder) {
            view.hit(&trace, &hit)?;
            // The rest of a large trace need not be read.
            if view.left == 0 {
                return Ok(());
            }
        }
    }
    trace_file::report_damage(path, &reader);
    Ok(())
}

struct Trace<'a> {
    path: &'a Path,
    label: String,
    id: Option<String>,
}

/// A line that matches.
struct SearchHit<'a> {
    line: u64,
    stamp: &'a Stamp<'a>,
    /// The kind of line.
    kind: &'static str,
    direction: Option<Direction>,
    name: Option<String>,
    found: TextMatch<'a>,
}

fn hit<'a>(line: u64, record: &'a Record<'a>, finder: &TextFinder) -> Option<SearchHit<'a>> {
    match record {
        Record::Message(message) => {
            let found = finder.find(message.raw)?;
            let name = name(&Envelope::scan(message.raw));
            let direction = message.dir.known();
            Some(SearchHit { line, stamp: &message.stamp, kind: "message", direction, name, found })
        }
        Record::Text(text) => {
            let found = finder.find_plain(&text.text)?;
            Some(SearchHit {
                line,
                stamp: &text.stamp,
                kind: "text",
                direction: text.dir.known(),
                name: None,
                found,
            })
        }
        Record::Stderr(text) => {
            let found = finder.find_plain(&text.text)?;
            Some(SearchHit { line, stamp: &text.stamp, kind: "stderr", direction: None, name: None, found })
        }
        _ => None,
    }
}

fn name(envelope: &Envelope<'_>) -> Option<String> {
    let method = envelope.method.as_deref()?;
    Some(envelope.tool().map_or_else(|| method.to_owned(), |tool| format!("{method} {tool}")))
}

/// A line of `search --json`.
#[derive(Serialize)]
struct HitJson<'a> {
    trace: &'a Path,
    id: Option<&'a str>,
    label: &'a str,
    line: u64,
    time: Option<&'a str>,
    kind: &'static str,
    dir: Option<&'static str>,
    name: Option<&'a str>,
    text: &'a str,
    start: usize,
    end: usize,
}

/// Where matches are printed.
struct SearchView {
    out: Output,
    json: bool,
    left: u64,
    found: u64,
    traces: u64,
    current: Option<PathBuf>,
}

impl SearchView {
    fn new(args: &SearchArgs) -> Self {
        SearchView {
            out: Output::stdout(),
            json: args.json,
            left: args.limit,
            found: 0,
            traces: 0,
            current: None,
        }
    }

    fn hit(&mut self, trace: &Trace<'_>, hit: &SearchHit<'_>) -> io::Result<()> {
        self.left -= 1;
        self.found += 1;
        if self.current.as_deref() != Some(trace.path) {
            self.current = Some(trace.path.to_owned());
            self.traces += 1;
            if !self.json {
                self.heading(trace)?;
            }
        }
        if self.json { self.hit_json(trace, hit) } else { self.hit_line(hit) }
    }

    fn hit_json(&mut self, trace: &Trace<'_>, hit: &SearchHit<'_>) -> io::Result<()> {
        let object = HitJson {
            trace: trace.path,
            id: trace.id.as_deref(),
            label: &trace.label,
            line: hit.line,
            time: hit.stamp.t.as_deref(),
            kind: hit.kind,
            dir: hit.direction.map(|direction| match direction {
                Direction::ClientToServer => "in",
                Direction::ServerToClient => "out",
            }),
            name: hit.name.as_deref(),
            text: &hit.found.text,
            start: hit.found.range.start,
            end: hit.found.range.end,
        };
        output::write_json_lines(&mut self.out, [object])
    }

    fn heading(&mut self, trace: &Trace<'_>) -> io::Result<()> {
        let styles = self.out.styles;
        if self.traces > 1 {
            writeln!(self.out)?;
        }
        let id: String = trace.id.as_deref().unwrap_or_default().chars().take(8).collect();
        let path = trace.path.display().to_string();
        let label = styles.strong.paint(printable(&trace.label).into_owned());
        writeln!(self.out, "{label}  {}  {}", styles.hint.paint(id), styles.dim.paint(printable(&path)))
    }

    fn hit_line(&mut self, hit: &SearchHit<'_>) -> io::Result<()> {
        let (styles, width) = (self.out.styles, self.out.width);
        let mut line = StyledLine::default();
        line.push(styles.dim, format!("{:>6} ", hit.line));
        match hit.direction {
            Some(Direction::ClientToServer) => line.push(styles.client_to_server, "→ "),
            Some(Direction::ServerToClient) => line.push(styles.server_to_client, "← "),
            None => line.push(styles.dim, "! "),
        }
        if let Some(name) = &hit.name {
            line.push(styles.name, format!("{}  ", printable(name)));
        }
        excerpt(&mut line, &hit.found, &styles);
        line.write(&mut self.out, width)
    }

    fn finish(mut self, searched: usize) -> Result<(), CommandError> {
        if !self.json {
            if self.found == 0 {
                writeln!(self.out, "No matches in {}.", units::count(searched as u64, "trace"))?;
            }
            if self.left == 0 {
                output::note(format!(
                    "reached the limit of {}; use -n N to show more",
                    units::number(self.found)
                ));
            }
        }
        Ok(self.out.flush()?)
    }
}

/// The text around a match.
fn excerpt(line: &mut StyledLine, found: &TextMatch<'_>, styles: &Styles) {
    /// The most to show before and after, in bytes.
    const BEFORE: usize = 30;
    const AFTER: usize = 200;
    let text = &found.text;
    // At character boundaries: the distances are in bytes.
    let start = text.floor_char_boundary(found.range.start.saturating_sub(BEFORE));
    let end = text.ceil_char_boundary((found.range.end + AFTER).min(text.len()));
    let dots = if start > 0 { "…" } else { "" };
    line.push(styles.plain, format!("{dots}{}", printable(&text[start..found.range.start])));
    line.push(styles.warning, printable(&text[found.range.clone()]).into_owned());
    let dots = if end < text.len() { "…" } else { "" };
    line.push(styles.plain, format!("{}{dots}", printable(&text[found.range.end..end])));
}
