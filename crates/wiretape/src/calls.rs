//! A table of the store's calls, for people: `calls`, `logs` and `slow` print the same columns. For programs, the
//! records are printed as JSON, without this module.

use crate::error::CommandError;
use crate::names::Names;
use crate::output::{Align, Cell, Column, Output, Paint, Room, Styles, Table};
use crate::text::printable;
use crate::units;
use jiff::tz::TimeZone;
use wiretape_analyze::call::Outcome;
use wiretape_events::store::Store;
use wiretape_events::store::query::CallRecord;
use wiretape_trace::protocol::method::CALL_TOOL;

/// How times and ids are displayed.
#[derive(Debug, Clone)]
pub(crate) enum DisplayFormat {
    /// For a terminal: short, in local time.
    Short {
        /// The current time, in milliseconds since 1970.
        now: i64,
        /// The local time zone.
        zone: TimeZone,
    },
    /// For a pipe: in full, in UTC.
    Full,
}

impl DisplayFormat {
    /// The format that suits the output. A pipe gets UTC and full ids, so that a script sees the same on every
    /// machine and at any time.
    pub(crate) fn of(out: &Output) -> Self {
        if out.is_terminal() {
            DisplayFormat::Short { now: jiff::Timestamp::now().as_millisecond(), zone: TimeZone::system() }
        } else {
            DisplayFormat::Full
        }
    }

    /// A time, to the millisecond.
    pub(crate) fn clock(&self, ms: i64) -> String {
        match self {
            DisplayFormat::Short { now, zone } => units::clock(ms, *now, zone),
            DisplayFormat::Full => units::iso(ms).unwrap_or_default(),
        }
    }

    /// A time, in the largest sensible unit.
    pub(crate) fn when(&self, ms: i64) -> String {
        match self {
            DisplayFormat::Short { now, zone } => units::when(ms, *now, zone),
            DisplayFormat::Full => units::iso(ms).unwrap_or_default(),
        }
    }
}

const COLUMNS: [Column; 9] = [
    Column { title: "TIME", align: Align::Left, room: Room::Fixed },
    Column { title: "SERVER", align: Align::Left, room: Room::Optional(1) },
    Column { title: "TOOL/METHOD", align: Align::Left, room: Room::Flexible },
    Column { title: "STATUS", align: Align::Left, room: Room::Optional(2) },
    Column { title: "DURATION", align: Align::Right, room: Room::Fixed },
    Column { title: "REQUEST", align: Align::Right, room: Room::Optional(6) },
    Column { title: "RESPONSE", align: Align::Right, room: Room::Optional(5) },
    Column { title: "SESSION", align: Align::Left, room: Room::Optional(4) },
    Column { title: "ERROR", align: Align::Left, room: Room::Flexible },
];

/// The names of the servers and sessions of these calls.
pub(crate) fn names(store: &Store, calls: &[CallRecord]) -> Result<Names, CommandError> {
    let mut names = Names::of(store)?;
    names.learn(store, calls.iter().filter_map(|call| call.session.as_deref()))?;
    Ok(names)
}

/// A table of calls. With one server only, its column is the first to be dropped.
pub(crate) fn table(calls: &[CallRecord], names: &Names, look: &DisplayFormat, styles: &Styles) -> Table {
    let mut columns = COLUMNS;
    if !names.has_several_servers() {
        // Every row would show the same name, so the column is worth less than any other.
        columns[1].room = Room::Optional(u8::MAX);
    }
    let mut table = Table::new(&columns);
    calls.iter().for_each(|call| table.row(row(call, names, look, styles)));
    table
}

/// A table for a growing list of calls: its columns have room for all known names.
pub(crate) fn growing_table(
    calls: &[CallRecord],
    names: &Names,
    look: &DisplayFormat,
    styles: &Styles,
) -> Table {
    /// Longer names of tools are truncated, to leave room for other columns.
    const LONGEST_CALL: usize = 48;
    let (time, session, error) = match look {
        // The error column takes the rest of the line.
        DisplayFormat::Short { .. } => (12, 8, 80),
        DisplayFormat::Full => (24, 36, 0),
    };
    let mut table = table(calls, names, look, styles);
    let call = names.widest_call().min(LONGEST_CALL);
    // 14 is the longest status, `protocol-error`; the columns of numbers are as wide as their titles.
    table.at_least(&[time, names.widest_server(), call, 14, 8, 7, 8, session, error]);
    table
}

/// One row of the table.
pub(crate) fn row(call: &CallRecord, names: &Names, look: &DisplayFormat, styles: &Styles) -> Vec<Cell> {
    let session = call.session.as_deref().map(|id| names.session(id, look));
    vec![
        Cell::new(styles.dim, look.clock(call.time)),
        names.server(&call.server, call.listener.as_deref()).into(),
        name(call, styles),
        status(call.status, styles),
        duration(call.latency_us, styles),
        units::bytes(call.request_bytes).into(),
        units::bytes(call.response_bytes).into(),
        Cell::new(styles.dim, session.unwrap_or_default()),
        Cell::new(styles.error, error(call)),
    ]
}

/// What the column of tools and methods shows: the name of a tool alone, as `stats` does, so that it fits a narrow terminal; of
/// other methods the method with its detail.
pub(crate) fn tool_or_method(method: &str, tool: Option<&str>, detail: Option<&str>) -> String {
    match (method, tool, tool.or(detail)) {
        // The request had no readable method.
        ("", _, None) => "(no method)".to_owned(),
        (method, _, None) => method.to_owned(),
        (CALL_TOOL, Some(tool), _) => tool.to_owned(),
        (method, _, Some(detail)) => format!("{method} {detail}"),
    }
}

/// The tool or method of a call.
pub(crate) fn name(call: &CallRecord, styles: &Styles) -> Cell {
    let detail = call.subject.as_deref().or(call.path.as_deref());
    let name = tool_or_method(&call.method, call.tool.as_deref(), detail);
    let paint = match (&call.tool, call.method.as_str()) {
        (Some(_), _) => styles.name,
        (None, "") if detail.is_none() => styles.dim,
        (None, _) => styles.plain,
    };
    Cell::new(paint, printable(&name))
}

/// The status, in its color.
pub(crate) fn status(status: Outcome, styles: &Styles) -> Cell {
    Cell::new(status_paint(status, styles), status.name())
}

fn status_paint(status: Outcome, styles: &Styles) -> Paint {
    match status {
        Outcome::Ok => styles.good,
        _ if status.is_error() => styles.error,
        _ => styles.warning,
    }
}

/// A duration, if it was measured.
pub(crate) fn duration(us: Option<u64>, styles: &Styles) -> Cell {
    us.map(units::duration).map_or(Cell::new(styles.dim, "-"), Cell::from)
}

/// The error's code and message.
pub(crate) fn error(call: &CallRecord) -> String {
    let code = match (call.error_code, call.http_status) {
        (Some(code), _) => Some(code.to_string()),
        (None, Some(status)) if call.status == Outcome::HttpError => Some(format!("HTTP {status}")),
        _ => None,
    };
    let message = call.error_message.as_deref().map(|message| printable(message).into_owned());
    // Without a message, the code is the message.
    let code = code.filter(|code| message.as_ref() != Some(code));
    code.into_iter().chain(message).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> CallRecord {
        CallRecord {
            row: 1,
            time: 1_778_626_800_123,
            server: "files".to_owned(),
            listener: None,
            transport: "stdio".to_owned(),
            kind: "mcp".to_owned(),
            method: "tools/call".to_owned(),
            tool: Some("read\x1b[2Jfile".to_owned()),
            path: None,
            subject: None,
            request_id: "1".to_owned(),
            status: Outcome::ProtocolError,
            error_code: Some(-32602),
            error_message: Some("no such\nfile \u{202e}txt.exe".to_owned()),
            latency_us: Some(1_234),
            upstream_us: None,
            first_byte_us: None,
            request_bytes: 95,
            response_bytes: 1_200,
            http_status: None,
            session: Some("0197-1".to_owned()),
            client: None,
            trace: None,
            event_id: None,
        }
    }

    fn check(width: Option<usize>, look: &DisplayFormat, expected: &str) {
        let mut written = Vec::new();
        let styles = Styles::plain();
        table(&[call()], &Names::default(), look, &styles).write(&mut written, &styles, width).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), expected, "{width:?}");
    }

    #[test]
    fn a_call_fits_its_room_and_steers_no_terminal() {
        let look = DisplayFormat::Short { now: 1_778_626_900_000, zone: TimeZone::UTC };
        check(
            Some(140),
            &look,
            "\
TIME          SERVER  TOOL/METHOD   STATUS          DURATION  REQUEST  RESPONSE  SESSION  ERROR
23:00:00.123  files   read␛[2Jfile  protocol-error    1.23ms     95 B    1.2 kB  0197-1   -32602 no such⏎file \\u{202e}txt.exe
",
        );
        check(
            Some(80),
            &look,
            "\
TIME          TOOL/METHOD   STATUS          DURATION  SESSION  ERROR
23:00:00.123  read␛[2Jfile  protocol-error    1.23ms  0197-1   -32602 no such⏎f…
",
        );
        check(
            Some(40),
            &look,
            "\
TIME          TOOL/M…  DURATION  ERROR
23:00:00.123  read␛[…    1.23ms  -32602…
",
        );
    }

    #[test]
    fn a_pipe_gets_everything_in_full() {
        let mut written = Vec::new();
        let styles = Styles::plain();
        table(&[call()], &Names::default(), &DisplayFormat::Full, &styles)
            .write(&mut written, &styles, None)
            .unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(written.contains("2026-05-12T23:00:00.123Z"), "{written}");
        assert!(written.contains("0197-1"), "{written}");
    }
}
