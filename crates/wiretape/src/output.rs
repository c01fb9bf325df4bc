//! Output to a terminal or to a pipe: width, colors, tables. Whether standard output is a terminal, and how wide, is
//! found out here; commands use the result. Into a pipe nothing is truncated, so that output can be processed.

use crate::{text, units};
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, Write};

/// When to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always, even into a pipe.
    Always,
    /// Never, even on a terminal.
    Never,
}

impl ColorChoice {
    /// Applies the choice to everything this process prints, including help and errors.
    pub(crate) fn apply(self) {
        match self {
            ColorChoice::Auto => {}
            ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
            ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

/// Standard output, for people.
pub(crate) struct Output {
    sink: BufWriter<AutoStream<io::Stdout>>,
    /// The styles of the output: plain where colors are off.
    pub(crate) styles: Styles,
    /// The terminal's columns; `None` for a pipe, where nothing is truncated.
    pub(crate) width: Option<usize>,
}

impl Output {
    // For a terminal that doesn't report its size.
    const FALLBACK_WIDTH: usize = 80;

    /// Standard output, with color and width detected.
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let width = stdout.is_terminal().then(terminal_width);
        let (sink, styles) = match AutoStream::choice(&stdout) {
            // No stream filter is needed without colors: text from others is made printable before it is written.
            anstream::ColorChoice::Never => (AutoStream::always_ansi(stdout), Styles::plain()),
            choice => (AutoStream::new(stdout, choice), Styles::colored()),
        };
        Output { sink: BufWriter::new(sink), styles, width }
    }

    /// Whether standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.width.is_some()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Standard output for programs: unstyled bytes.
pub(crate) fn machine_stdout() -> impl Write {
    BufWriter::new(io::stdout())
}

/// Prints one JSON object, for programs.
pub(crate) fn print_json(object: &impl Serialize) -> io::Result<()> {
    let mut out = machine_stdout();
    serde_json::to_writer_pretty(&mut out, object)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints one JSON object per line, for programs.
pub(crate) fn print_json_lines<T: Serialize>(objects: impl IntoIterator<Item = T>) -> io::Result<()> {
    let mut out = machine_stdout();
    write_json_lines(&mut out, objects)?;
    out.flush()
}

/// Writes one JSON object per line.
pub(crate) fn write_json_lines<T: Serialize>(
    sink: &mut impl Write,
    objects: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    for object in objects {
        serde_json::to_writer(&mut *sink, &object)?;
        sink.write_all(b"\n")?;
    }
    Ok(())
}

/// Prints a warning to standard error.
pub(crate) fn warn(message: impl fmt::Display) {
    // Colored unconditionally: `anstream::stderr` strips the codes where they are not wanted.
    aside(Styles::colored().warning.paint("warning:"), message);
}

/// Prints a note to standard error.
pub(crate) fn note(message: impl fmt::Display) {
    aside(Styles::colored().hint.paint("note:"), message);
}

fn aside(word: impl fmt::Display, message: impl fmt::Display) {
    // If standard error is closed, no reader is left to report to.
    let _ = writeln!(anstream::stderr(), "{word} {message}");
}

/// A progress bar on standard error with bytes, rate and time left; hidden if that is not a terminal.
pub(crate) fn progress_bar(length: Option<u64>) -> ProgressBar {
    let template = match length {
        Some(_) => "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} remaining",
        None => "{spinner} {bytes}, {bytes_per_sec}",
    };
    // The template is a constant and parses; if it didn't, a plain bar is better than a panic.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = length.map_or_else(ProgressBar::no_length, ProgressBar::new);
    bar.with_style(style)
}

fn terminal_width() -> usize {
    // Tables need some room to truncate in; on a narrower terminal, they wrap.
    terminal_size::terminal_size().map_or(Output::FALLBACK_WIDTH, |(width, _)| usize::from(width.0).max(20))
}

/// The styles, by the role of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Styles {
    pub(crate) error: Paint,
    pub(crate) good: Paint,
    pub(crate) warning: Paint,
    /// Hints, and what the user can use next.
    pub(crate) hint: Paint,
    pub(crate) dim: Paint,
    pub(crate) strong: Paint,
    /// Names of tools and traces.
    pub(crate) name: Paint,
    /// Messages from client to server.
    pub(crate) client_to_server: Paint,
    /// Messages from server to client.
    pub(crate) server_to_client: Paint,
    pub(crate) plain: Paint,
}

impl Styles {
    pub(crate) const fn plain() -> Self {
        let plain = Paint(Style::new());
        Styles {
            error: plain,
            good: plain,
            warning: plain,
            hint: plain,
            dim: plain,
            strong: plain,
            name: plain,
            client_to_server: plain,
            server_to_client: plain,
            plain,
        }
    }

    /// Colors from the terminal's own palette.
    pub(crate) const fn colored() -> Self {
        Styles {
            error: Paint(AnsiColor::Red.on_default().bold()),
            good: Paint(AnsiColor::Green.on_default()),
            warning: Paint(AnsiColor::Yellow.on_default().bold()),
            hint: Paint(AnsiColor::Cyan.on_default().bold()),
            dim: Paint(Style::new().dimmed()),
            strong: Paint(Style::new().bold()),
            name: Paint(AnsiColor::Cyan.on_default()),
            client_to_server: Paint(AnsiColor::Blue.on_default().bold()),
            server_to_client: Paint(AnsiColor::Magenta.on_default().bold()),
            plain: Paint(Style::new()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Paint(Style);

impl Paint {
    /// The text in this style.
    pub(crate) fn paint<T: fmt::Display>(self, text: T) -> Painted<T> {
        Painted { paint: self, text }
    }

    /// Appends the text in this style.
    fn push(self, line: &mut String, text: &str) {
        // The formatter costs more than the text of a cell, and most output has no colors.
        if self == Paint::default() {
            line.push_str(text);
        } else {
            // Writing into a string can't fail.
            let _ = fmt::Write::write_fmt(line, format_args!("{}", self.paint(text)));
        }
    }
}

/// Text with its style.
#[derive(Debug)]
pub(crate) struct Painted<T> {
    paint: Paint,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = self.paint.0;
        write!(f, "{style}{}{style:#}", self.text)
    }
}

/// A line of styled pieces that is truncated if necessary.
#[derive(Debug, Default)]
pub(crate) struct StyledLine {
    pieces: Vec<(Paint, String)>,
    width: usize,
}

impl StyledLine {
    pub(crate) fn push(&mut self, paint: Paint, piece: impl Into<String>) {
        let piece = piece.into();
        self.width += text::width(&piece);
        self.pieces.push((paint, piece));
    }

    /// Appends spaces up to column `width`, at least one.
    pub(crate) fn pad_to(&mut self, columns: usize) {
        let spaces = columns.saturating_sub(self.width).max(1);
        self.push(Paint::default(), " ".repeat(spaces));
    }

    /// The width in columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Writes the line, truncated to `width` columns if there is a limit.
    pub(crate) fn write(&self, sink: &mut impl Write, width: Option<usize>) -> io::Result<()> {
        let mut left = width.unwrap_or(usize::MAX);
        // Trailing padding is not written: it would wrap on a narrow terminal and show up in pasted output.
        let last = self.pieces.iter().rposition(|(_, piece)| !piece.trim().is_empty()).map_or(0, |at| at + 1);
        for (at, (paint, piece)) in self.pieces[..last].iter().enumerate() {
            let columns = text::width(piece);
            if columns > left || (columns == left && at + 1 < last) {
                // The next piece has no room, so the truncation is marked here even if this piece fits.
                let shown = text::truncate(piece, left.min(columns.saturating_sub(1)));
                write!(sink, "{}", paint.paint(shown))?;
                break;
            }
            let piece = if at + 1 == last { piece.trim_end() } else { piece };
            write!(sink, "{}", paint.paint(piece))?;
            left -= columns;
        }
        writeln!(sink)
    }
}

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// The alignment of the heading and the cells.
    pub(crate) align: Align,
    /// What happens to the column if the table is too wide.
    pub(crate) room: Room,
}

/// What happens to a column if the table is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is always shown in full.
    Fixed,
    Flexible,
    /// It is dropped; the highest number is dropped first.
    Optional(u8),
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    paint: Paint,
}

impl Cell {
    /// A cell with styled text.
    pub(crate) fn new(paint: Paint, text: impl Into<String>) -> Self {
        Cell { text: text.into(), paint }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The style of the text.
    pub(crate) fn paint(&self) -> Paint {
        self.paint
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::new(Paint::default(), text)
    }
}

/// A number of failures, highlighted unless it is 0.
pub(crate) fn failures(n: u64, styles: &Styles) -> Cell {
    Cell::new(if n > 0 { styles.error } else { styles.dim }, units::number(n))
}

/// A table that fits the terminal: long names are truncated, and less important columns are dropped.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// The minimum width of each column.
    least: Vec<usize>,
    /// The final width of each column, once the first rows are written.
    settled: Option<Vec<Option<usize>>>,
}

impl Table {
    const GAP: usize = 2;
    /// The minimum width of a flexible column before optional columns are dropped, and after.
    const COMFORTABLE: usize = 17;
    const NARROWEST: usize = 6;

    /// A table without rows.
    pub(crate) fn new(columns: &[Column]) -> Self {
        let least = columns.iter().map(|column| text::width(column.title)).collect();
        Table { columns: columns.to_vec(), rows: Vec::new(), least, settled: None }
    }

    /// Sets minimum widths, for rows that arrive later.
    pub(crate) fn at_least(&mut self, widths: &[usize]) {
        for (least, width) in self.least.iter_mut().zip(widths) {
            *least = (*least).max(*width);
        }
    }

    /// Adds a row with one cell per column.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a row has one cell per column");
        self.rows.push(cells);
    }

    /// Writes the table and returns the titles of the columns that were dropped.
    pub(crate) fn write(
        &self,
        sink: &mut impl Write,
        styles: &Styles,
        width: Option<usize>,
    ) -> io::Result<Vec<&'static str>> {
        let widths = self.fit(width.unwrap_or(usize::MAX));
        let titles: Vec<Cell> =
            self.columns.iter().map(|column| Cell::new(styles.dim, column.title)).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            self.write_row(sink, row, &widths, Overflow::Truncate)?;
        }
        let dropped = self.columns.iter().zip(&widths).filter(|(_, width)| width.is_none());
        Ok(dropped.map(|(column, _)| column.title).collect())
    }

    /// Removes optional columns whose cells are all empty.
    pub(crate) fn drop_empty(&mut self) {
        let is_empty = |at: usize| self.rows.iter().all(|row| row[at].text.is_empty());
        let goes: Vec<bool> = (0..self.columns.len())
            .map(|at| matches!(self.columns[at].room, Room::Optional(_)) && is_empty(at))
            .collect();
        retain_where(&mut self.columns, &goes);
        retain_where(&mut self.least, &goes);
        self.rows.iter_mut().for_each(|row| retain_where(row, &goes));
    }

    /// Drops the rows already written, and keeps the column widths.
    pub(crate) fn keep_widths(&mut self, width: Option<usize>) {
        self.settled = Some(self.fit(width.unwrap_or(usize::MAX)));
        self.rows = Vec::new();
    }

    /// Writes a later row in the established columns. Without a width limit nothing is truncated.
    pub(crate) fn write_later(
        &self,
        sink: &mut impl Write,
        row: &[Cell],
        width: Option<usize>,
    ) -> io::Result<()> {
        // Into a pipe, a longer cell shifts the rest of its row: alignment matters less than the data.
        let overflow = if width.is_none() { Overflow::Shift } else { Overflow::Truncate };
        match &self.settled {
            Some(widths) => self.write_row(sink, row, widths, overflow),
            None => self.write_row(sink, row, &self.fit(width.unwrap_or(usize::MAX)), overflow),
        }
    }

    /// The width of each column; `None` for dropped columns.
    fn fit(&self, room: usize) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> =
            (0..self.columns.len()).map(|at| Some(self.natural(at))).collect();
        let total = |widths: &[Option<usize>]| {
            let shown = widths.iter().flatten();
            shown.clone().sum::<usize>() + Self::GAP * shown.count().saturating_sub(1)
        };
        let excess = total(&widths).saturating_sub(room);
        // First only as far as names stay readable, so that a merely long name doesn't cost a whole column.
        self.shrink(&mut widths, excess, Self::COMFORTABLE);
        while total(&widths) > room {
            // If nothing optional is left, the table stays too wide, and the terminal wraps it.
            let Some(least) = self.least_important(&widths) else { break };
            widths[least] = None;
        }
        // The space of a dropped column goes back to those that were truncated.
        for (at, width) in widths.iter_mut().enumerate() {
            if self.columns[at].room == Room::Flexible {
                *width = Some(self.natural(at));
            }
        }
        let excess = total(&widths).saturating_sub(room);
        self.shrink(&mut widths, excess, Self::NARROWEST);
        widths
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| text::width(&row[at].text));
        cells.chain([self.least[at]]).max().unwrap_or(0)
    }

    /// Takes `excess` columns from the flexible columns, the widest first, and leaves each at least `least`.
    fn shrink(&self, widths: &mut [Option<usize>], mut excess: usize, least: usize) {
        while excess > 0 {
            let flexible = (0..widths.len()).filter(|&at| self.columns[at].room == Room::Flexible);
            let Some(widest) = flexible.max_by_key(|&at| widths[at]) else { return };
            // One column at a time, so that several long columns end up equally wide.
            match &mut widths[widest] {
                Some(width) if *width > least => *width -= 1,
                _ => return,
            }
            excess -= 1;
        }
    }

    fn least_important(&self, widths: &[Option<usize>]) -> Option<usize> {
        let optional = (0..widths.len()).filter_map(|at| match self.columns[at].room {
            Room::Optional(rank) if widths[at].is_some() => Some((rank, at)),
            _ => None,
        });
        optional.max().map(|(_, at)| at)
    }

    // One buffer for the whole row and no piece of its own for each gap: `calls` of a trace of tiny messages spends
    // most of its time here (`xtask bench --only analyze`).
    fn write_row(
        &self,
        sink: &mut impl Write,
        row: &[Cell],
        widths: &[Option<usize>],
        overflow: Overflow,
    ) -> io::Result<()> {
        let mut line = PaddedLine::default();
        let cells = row.iter().zip(&self.columns).zip(widths);
        let shown = cells.filter_map(|((cell, column), width)| Some((cell, column.align, (*width)?)));
        for (at, (cell, align, width)) in shown.enumerate() {
            let text = match overflow {
                Overflow::Truncate => text::truncate(&cell.text, width),
                Overflow::Shift => Cow::Borrowed(cell.text.as_str()),
            };
            let padding = width.saturating_sub(text::width(&text));
            let gap = if at == 0 { 0 } else { Self::GAP };
            match align {
                Align::Left => {
                    line.pad(gap);
                    line.push(cell.paint, &text);
                    line.pad(padding);
                }
                Align::Right => {
                    line.pad(gap + padding);
                    line.push(cell.paint, &text);
                }
            }
        }
        sink.write_all(line.finish().as_bytes())
    }
}

/// What happens to a cell that is wider than its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Truncate,
    /// It is shown whole, and the rest of its row moves to the right.
    Shift,
}

/// A line whose padding is written only when text follows it: trailing blanks would wrap on a narrow terminal and show
/// up in pasted output.
#[derive(Debug, Default)]
struct PaddedLine {
    written: String,
    blanks: usize,
}

impl PaddedLine {
    fn pad(&mut self, columns: usize) {
        self.blanks += columns;
    }

    fn push(&mut self, paint: Paint, text: &str) {
        let visible = text.trim_end();
        if !visible.is_empty() {
            self.written.extend(std::iter::repeat_n(' ', std::mem::take(&mut self.blanks)));
            paint.push(&mut self.written, visible);
        }
        self.blanks += text::width(&text[visible.len()..]);
    }

    fn finish(mut self) -> String {
        self.written.push('\n');
        self.written
    }
}

/// Keeps only the columns that are shown.
fn retain_where<T>(things: &mut Vec<T>, goes: &[bool]) {
    let mut goes = goes.iter();
    things.retain(|_| goes.next() != Some(&true));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |title, align, room| Column { title, align, room };
        let mut table = Table::new(&[
            column("NAME", Align::Left, Room::Flexible),
            column("CALLS", Align::Right, Room::Fixed),
            column("MEAN", Align::Right, Room::Optional(2)),
            column("P99", Align::Right, Room::Optional(1)),
        ]);
        table.row(vec!["a_tool_with_a_long_name".into(), "12".into(), "1.20ms".into(), "3.40ms".into()]);
        table.row(vec!["漢字".into(), "7".into(), "".into(), "".into()]);
        table
    }

    fn check(width: Option<usize>, dropped: &[&str], expected: &str) {
        let mut written = Vec::new();
        let found = table().write(&mut written, &Styles::plain(), width).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), expected, "{width:?}");
        assert_eq!(found, dropped);
    }

    #[test]
    fn a_table_fits_its_room() {
        check(
            None,
            &[],
            "\
NAME                     CALLS    MEAN     P99
a_tool_with_a_long_name     12  1.20ms  3.40ms
漢字                         7
",
        );
        check(
            Some(42),
            &[],
            "\
NAME                 CALLS    MEAN     P99
a_tool_with_a_long…     12  1.20ms  3.40ms
漢字                     7
",
        );
        check(
            Some(36),
            &["MEAN"],
            "\
NAME                   CALLS     P99
a_tool_with_a_long_n…     12  3.40ms
漢字                       7
",
        );
        check(
            Some(16),
            &["MEAN", "P99"],
            "\
NAME       CALLS
a_tool_w…     12
漢字           7
",
        );
        check(
            Some(5),
            &["MEAN", "P99"],
            "\
NAME    CALLS
a_too…     12
漢字        7
",
        );
    }

    #[test]
    fn a_line_is_cut_across_its_pieces() {
        let mut line = StyledLine::default();
        line.push(Paint::default(), "abc");
        line.pad_to(5);
        line.push(Paint::default(), "defg");
        line.push(Paint::default(), "  ");
        line.push(Paint::default(), "");
        for (width, expected) in
            [(None, "abc  defg\n"), (Some(9), "abc  defg\n"), (Some(8), "abc  de…\n"), (Some(2), "a…\n")]
        {
            let mut written = Vec::new();
            line.write(&mut written, width).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }
}
