//! Records as text, one line each.

use super::item::{Item, is_batch};
use crate::json;
use crate::output::{Output, Paint, StyledLine, Styles};
use crate::text::{printable, printable_output, truncate};
use crate::trace_file::Head;
use crate::units;
use jiff::tz::TimeZone;
use std::io::{self, Write};
use std::path::Path;
use wiretape_analyze::call::{Call, Outcome};
use wiretape_analyze::glance::describe_end;
use wiretape_analyze::glance::{describe, describe_exchange, event_name};
use wiretape_library::TraceState;
use wiretape_trace::format::{DirectionField, Line, Message, Meta, OtherText, Record, Stamp};
use wiretape_trace::message::{Direction, Id, MessageKind, payloads};

/// Fields that have a column of their own on every line.
const STAMP_FIELDS: [&str; 4] = ["t", "type", "seq", "us"];

/// How much of each payload is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// A summary that fits on the line.
    OneLine,
    /// The full payload, below the line.
    Full,
}

/// Writes records as text.
pub(super) struct TextView {
    out: Output,
    detail: Detail,
    layout: Layout,
    started_ms: Option<i64>,
}

/// The columns of a line.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Decimals of an offset in seconds.
    decimals: usize,
    /// The width of an offset.
    offset_width: usize,
    /// The column where the summary starts, unless the name before it is longer.
    summary_column: usize,
    /// How many bytes of a payload are scanned for its summary.
    budget: usize,
    /// How a tool's name is shown.
    names: Names,
}

/// What precedes a tool's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Long,
    /// Nothing: the terminal is narrow, and the name is enough.
    Short,
}

impl Layout {
    const NUMBER_WIDTH: usize = 4;

    fn new(width: Option<usize>) -> Self {
        // In bytes, and twice the columns: multi-byte characters take more bytes than columns.
        let budget = width.map_or(1000, |width| width * 2);
        let narrow = Layout { decimals: 3, offset_width: 8, summary_column: 0, budget, names: Names::Short };
        match width {
            // Narrower, a column for the summary would leave it no room.
            Some(0..75) => narrow,
            Some(75..110) => Layout { summary_column: 42, names: Names::Long, ..narrow },
            _ => Layout { decimals: 6, offset_width: 12, summary_column: 52, names: Names::Long, ..narrow },
        }
    }
}

impl TextView {
    /// A view of the trace with this head.
    pub(super) fn new(out: Output, detail: Detail, head: &Head) -> Self {
        let layout = Layout::new(out.width);
        TextView { out, detail, layout, started_ms: head.started_ms }
    }

    /// Writes what the trace is and how it ended.
    pub(super) fn header(&mut self, path: &Path, head: &Head, state: &TraceState) -> io::Result<()> {
        let styles = self.out.styles;
        let mut first = StyledLine::default();
        let empty = Meta::default();
        let meta = head.meta.as_ref().unwrap_or(&empty);
        // Traces of other programs may have no label; an empty first line would look like a bug.
        let label = if meta.label.is_empty() { "(no label)" } else { &meta.label };
        first.push(styles.strong, printable(label));
        first.push(styles.dim, format!("  {}", printable(&meta.command.join(" "))));
        self.finish(&first)?;

        let mut second = StyledLine::default();
        let paint = if state.is_trouble() { styles.warning } else { styles.good };
        second.push(paint, printable(&state.describe()));
        for fact in self.facts(head, meta, state) {
            second.push(styles.dim, " · ");
            second.push(styles.plain, fact);
        }
        self.finish(&second)?;
        let mut third = StyledLine::default();
        third.push(styles.dim, printable(&path.display().to_string()));
        self.finish(&third)?;
        writeln!(self.out)
    }

    fn facts(&self, head: &Head, meta: &Meta, state: &TraceState) -> Vec<String> {
        let mut facts = Vec::new();
        facts.extend(head.started_ms.and_then(|ms| self.started(ms)));
        facts.extend(duration_us(head, state).map(|us| format!("duration {}", units::duration(us))));
        if let Some(part) = &meta.part {
            facts.push(format!("part {}, after {}", part.index, printable(&part.previous)));
        }
        if let TraceState::Rotated { next } = state {
            facts.push(format!("continues in {}", printable(next)));
        }
        facts.extend(meta.id.as_deref().map(|id| format!("id {}", printable(id))));
        facts
    }

    fn started(&self, ms: i64) -> Option<String> {
        // Into a file or a pipe, the output must not depend on the time zone or on when it was printed.
        if !self.out.is_terminal() {
            return units::iso(ms);
        }
        let zone = TimeZone::system();
        let now = jiff::Timestamp::now().as_millisecond();
        let (local, ago) = (units::local(ms, &zone), units::when(ms, now, &zone));
        Some(if ago.ends_with("ago") { format!("{local} ({ago})") } else { local })
    }

    /// Writes one record; of a batch, those payloads that passed the filter, each with its index.
    pub(super) fn record(&mut self, line: &Line<'_>, items: &[(usize, &Item<'_>)]) -> io::Result<()> {
        match &line.record {
            // The header has shown it.
            Record::Meta(_) => Ok(()),
            Record::Message(message) if message.dir.known().is_none() => self.foreign(line.number, message),
            Record::Message(message) => self.message(line.number, message, items),
            // An event without JSON is normal over HTTP (priming events, `endpoint`), so it is not a warning, unlike
            // text on a pipe.
            Record::Text(text) if text.http.is_some() => {
                let event = event_name(text);
                self.text(line.number, text, &format!("{}│ ", printable(&event)), self.out.styles.dim)
            }
            Record::Text(text) => self.text(line.number, text, "not JSON│ ", self.out.styles.warning),
            Record::Stderr(text) => self.text(line.number, text, "stderr│ ", self.out.styles.dim),
            Record::Http(exchange) => {
                let description = describe_exchange(exchange);
                let paint = if description.trouble { self.out.styles.warning } else { self.out.styles.dim };
                self.remark(line.number, &exchange.stamp, paint, &printable(&description.text))?;
                self.full(exchange.http)
            }
            Record::Gap(gap) => {
                let lost = units::count(gap.lost, "line");
                let what = format!("{lost} lost here: {}", printable(&gap.reason));
                self.remark(line.number, &stamp_of(line.bytes), self.out.styles.error, &what)
            }
            Record::Rotated { next, .. } => {
                let what = format!("continues in {}", printable(next));
                self.remark(line.number, &stamp_of(line.bytes), self.out.styles.dim, &what)
            }
            Record::End(end) => {
                let state = TraceState::Ended(end.clone());
                let paint = if state.is_trouble() { self.out.styles.warning } else { self.out.styles.dim };
                self.remark(
                    line.number,
                    &stamp_of(line.bytes),
                    paint,
                    &format!("end: {}", printable(&describe_end(end))),
                )
            }
            Record::Unknown { type_name, stamp } => {
                let mut shown = self.start(line.number, stamp);
                shown.push(self.out.styles.plain, "  ");
                let name = type_name.as_deref().unwrap_or("unknown");
                shown.push(self.out.styles.warning, format!("{}│ ", printable(name)));
                // A type of a later version: its members are shown as they are, because nothing is known about them.
                let description = json::compact_members(line.bytes, &STAMP_FIELDS, self.layout.budget);
                shown.push(self.out.styles.dim, description);
                self.finish(&shown)?;
                self.full(line.bytes)
            }
            Record::Damaged(error) => {
                // A damaged line may be hundreds of megabytes long, and may contain anything.
                let bytes = &line.bytes[..line.bytes.len().min(self.layout.budget)];
                let text = String::from_utf8_lossy(bytes);
                let what =
                    format!("damaged line (byte {}: {})│ {}", error.offset, error.what, printable(&text));
                self.remark(line.number, &Stamp::default(), self.out.styles.error, &what)
            }
        }
    }

    fn message(
        &mut self,
        number: u64,
        message: &Message<'_>,
        items: &[(usize, &Item<'_>)],
    ) -> io::Result<()> {
        let batch = is_batch(message).then(|| payloads(message.raw).len());
        // Without this, an empty batch would print nothing, and the line would seem to be missing.
        if batch == Some(0) {
            let mut shown = self.start(number, &message.stamp);
            self.arrow(&mut shown, &message.dir);
            shown.push(self.out.styles.warning, "empty batch");
            return self.finish(&shown);
        }
        for (at, item) in items {
            let mut shown = self.start(number, &message.stamp);
            self.arrow(&mut shown, &message.dir);
            if let Some(of) = batch {
                shown.push(self.out.styles.dim, format!("[{}/{of}] ", at + 1));
            }
            self.payload(&mut shown, item);
            self.finish(&shown)?;
            self.full(item.raw)?;
        }
        Ok(())
    }

    /// A message of another program, with a direction that we don't know.
    fn foreign(&mut self, number: u64, message: &Message<'_>) -> io::Result<()> {
        let mut shown = self.start(number, &message.stamp);
        shown.push(self.out.styles.plain, "  ");
        let dir = match &message.dir {
            DirectionField::Other(dir) => printable(dir),
            _ => "no direction".into(),
        };
        shown.push(self.out.styles.warning, format!("{dir}│ "));
        shown.push(self.out.styles.plain, json::compact(message.raw, self.layout.budget));
        self.finish(&shown)?;
        self.full(message.raw)
    }

    /// Lists the calls without a response.
    pub(super) fn unanswered(&mut self, calls: &[&Call]) -> io::Result<()> {
        const SHOWN: usize = 5;
        if calls.is_empty() {
            return Ok(());
        }
        let styles = self.out.styles;
        let many = units::count(calls.len() as u64, "request");
        writeln!(self.out, "\n{}", styles.warning.paint(format!("{many} without a response:")))?;
        // A few are enough to recognize the cause; `wiretape calls` lists all.
        for call in calls.iter().take(SHOWN) {
            let mut shown = StyledLine::default();
            // The number that `show` prints for the request, so that the reader can find it above.
            let number = call.request.seq.unwrap_or(call.request.line);
            shown.push(styles.dim, format!("{number:>width$} ", width = Layout::NUMBER_WIDTH));
            self.arrow(&mut shown, &DirectionField::Known(call.direction));
            self.name(&mut shown, &call.method, call.tool.as_deref(), call.id.as_ref(), styles.strong);
            self.finish(&shown)?;
        }
        if calls.len() > SHOWN {
            writeln!(self.out, "     …")?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn start(&self, number: u64, stamp: &Stamp<'_>) -> StyledLine {
        let Layout { decimals, offset_width, .. } = self.layout;
        let number = stamp.seq.unwrap_or(number);
        let offset = match (stamp.us, self.wall_offset_ms(stamp)) {
            // Microseconds since the start are exact; the wall clock may have been adjusted.
            (Some(us), _) => format!("+{:.decimals$}s", us as f64 / 1e6),
            (None, Some(ms)) => format!("{:+.3}s", ms as f64 / 1e3),
            (None, None) => String::new(),
        };
        let mut line = StyledLine::default();
        let text = format!("{number:>width$} {offset:>offset_width$} ", width = Layout::NUMBER_WIDTH);
        line.push(self.out.styles.dim, text);
        line
    }

    fn wall_offset_ms(&self, stamp: &Stamp<'_>) -> Option<i64> {
        stamp.wall_ms()?.checked_sub(self.started_ms?)
    }

    fn arrow(&self, line: &mut StyledLine, dir: &DirectionField<'_>) {
        let styles = &self.out.styles;
        match dir {
            DirectionField::Known(Direction::ClientToServer) => line.push(styles.client_to_server, "→ "),
            DirectionField::Known(Direction::ServerToClient) => line.push(styles.server_to_client, "← "),
            DirectionField::Other(_) | DirectionField::Missing => line.push(styles.warning, "? "),
        }
    }

    fn name(
        &self,
        line: &mut StyledLine,
        method: &str,
        tool: Option<&str>,
        id: Option<&Id<'_>>,
        paint: Paint,
    ) {
        match tool {
            Some(tool) if self.layout.names == Names::Short => {
                line.push(self.out.styles.name, printable(tool));
            }
            Some(tool) => {
                line.push(paint, printable(method));
                line.push(self.out.styles.name, format!(" {}", printable(tool)));
            }
            None => line.push(paint, printable(method)),
        }
        if let Some(id) = id {
            line.push(self.out.styles.dim, format!(" #{}", short_id(id)));
        }
    }

    fn payload(&self, line: &mut StyledLine, item: &Item<'_>) {
        let styles = &self.out.styles;
        let (method, paint) = match item.envelope.kind {
            MessageKind::Request => (item.method().unwrap_or("(no method)"), styles.strong),
            MessageKind::Notification => (item.method().unwrap_or("(no method)"), styles.dim),
            MessageKind::Response => (item.method().unwrap_or("response"), styles.plain),
            MessageKind::Batch => ("batch in a batch", styles.warning),
            MessageKind::NotJsonRpc => ("not JSON-RPC", styles.warning),
        };
        self.name(line, method, item.tool(), item.id(), paint);
        line.pad_to(self.layout.summary_column.max(line.width() + 2));
        self.outcome(line, item);
        for remark in remarks(item) {
            line.push(styles.warning, format!("⚠ {remark}  "));
        }
        if self.detail == Detail::OneLine {
            let description =
                describe(item.raw, &item.envelope, item.method().unwrap_or_default(), self.layout.budget);
            line.push(summary_paint(item, styles), description);
        }
    }

    fn outcome(&self, line: &mut StyledLine, item: &Item<'_>) {
        let styles = &self.out.styles;
        let Some(outcome) = item.outcome() else { return };
        if let Some(us) = item.answered().and_then(|call| call.duration_us) {
            line.push(styles.good, format!("{}  ", units::duration(us)));
        }
        match (outcome, item.envelope.error_code) {
            (Outcome::ToolError, _) => line.push(styles.error, "tool error  "),
            (Outcome::ProtocolError, Some(code)) => line.push(styles.error, format!("error {code}  ")),
            (Outcome::ProtocolError, None) => line.push(styles.error, "error  "),
            _ => {}
        }
    }

    fn text(&mut self, number: u64, text: &OtherText<'_>, mark: &str, paint: Paint) -> io::Result<()> {
        let mut shown = self.start(number, &text.stamp);
        match text.dir {
            DirectionField::Missing => shown.push(self.out.styles.plain, "  "),
            ref dir => self.arrow(&mut shown, dir),
        }
        shown.push(paint, mark);
        shown.push(self.out.styles.plain, printable_output(&text.text));
        match self.detail {
            Detail::OneLine => self.finish(&shown),
            Detail::Full => shown.write(&mut self.out, None),
        }
    }

    fn remark(&mut self, number: u64, stamp: &Stamp<'_>, paint: Paint, what: &str) -> io::Result<()> {
        let mut shown = self.start(number, stamp);
        shown.push(self.out.styles.plain, "  ");
        shown.push(paint, what);
        self.finish(&shown)
    }

    fn finish(&mut self, line: &StyledLine) -> io::Result<()> {
        let width = self.out.width;
        line.write(&mut self.out, width)
    }

    fn full(&mut self, raw: &[u8]) -> io::Result<()> {
        if self.detail == Detail::OneLine {
            return Ok(());
        }
        let styles = self.out.styles;
        json::write_pretty(&mut self.out, raw, Layout::NUMBER_WIDTH + 1, &styles)
    }
}

/// The duration of the trace, from its end line; for a part of a rotated recording, from the start of the part.
fn duration_us(head: &Head, state: &TraceState) -> Option<u64> {
    let (TraceState::Ended(end), Some(meta)) = (state, &head.meta) else { return None };
    end.duration_us(meta)
}

/// The time of a line, whatever its type.
fn stamp_of(line: &[u8]) -> Stamp<'_> {
    let number = |name| std::str::from_utf8(json::member(line, name)?).ok()?.parse().ok();
    Stamp { t: json::string_member(line, "t"), seq: number("seq"), us: number("us") }
}

/// Problems of a payload, in a few words.
fn remarks(item: &Item<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    if item.is_orphan() {
        remarks.push("no open request has this id".to_owned());
    }
    if let Some(call) = item.displaced().filter(|call| call.id.is_some()) {
        let older = call.request.seq.unwrap_or(call.request.line);
        remarks.push(format!("reuses the id of {older}, which is still open"));
    }
    if let Some((first, more)) = item.envelope.defects.split_first() {
        let more = if more.is_empty() { String::new() } else { format!(" (+{})", more.len()) };
        remarks.push(format!("{}{more}", printable(&first.to_string())));
    }
    remarks
}

fn summary_paint(item: &Item<'_>, styles: &Styles) -> Paint {
    match item.envelope.kind {
        MessageKind::Notification => styles.dim,
        MessageKind::Response if item.envelope.is_failure() => styles.error,
        _ => styles.plain,
    }
}

/// An id, truncated if it is long.
fn short_id(id: &Id<'_>) -> String {
    let shown = printable(&id.to_string()).into_owned();
    truncate(&shown, 14).into_owned()
}
