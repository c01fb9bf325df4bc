//! Calls that the store tells of, in a table for people.

use crate::error::CommandError;
use crate::names::Names;
use crate::output::{Align, Cell, Column, Output, Paint, Room, Styles, Table};
use crate::text::printable;
use crate::units;
use jiff::tz::TimeZone;
use wiretape_analyze::call::Outcome;
use wiretape_events::store::Store;
use wiretape_events::store::query::CallRecord;

/// How times and ids are shown.
#[derive(Debug, Clone)]
pub(crate) enum Look {
    /// For a terminal: short, in local time.
    Short {
        /// The time now, in milliseconds since 1970.
        now: i64,
        /// Where.
        zone: TimeZone,
    },
    /// For a pipe: in full.
    Full,
}

impl Look {
    /// As the output wants it.
    pub(crate) fn of(out: &Output) -> Self {
        if out.is_terminal() {
            Look::Short { now: jiff::Timestamp::now().as_millisecond(), zone: TimeZone::system() }
        } else {
            Look::Full
        }
    }

    /// When something was, to the millisecond.
    pub(crate) fn clock(&self, ms: i64) -> String {
        match self {
            Look::Short { now, zone } => units::clock(ms, *now, zone),
            Look::Full => units::iso(ms).unwrap_or_default(),
        }
    }

    /// When something was, roughly.
    pub(crate) fn when(&self, ms: i64) -> String {
        match self {
            Look::Short { now, zone } => units::when(ms, *now, zone),
            Look::Full => units::iso(ms).unwrap_or_default(),
        }
    }
}

const COLUMNS: [Column; 9] = [
    Column { title: "TIME", align: Align::Left, room: Room::Fixed },
    Column { title: "SERVER", align: Align::Left, room: Room::Optional(1) },
    Column { title: "CALLED", align: Align::Left, room: Room::Flexible },
    Column { title: "STATUS", align: Align::Left, room: Room::Optional(2) },
    Column { title: "TOOK", align: Align::Right, room: Room::Fixed },
    Column { title: "REQUEST", align: Align::Right, room: Room::Optional(6) },
    Column { title: "RESPONSE", align: Align::Right, room: Room::Optional(5) },
    Column { title: "SESSION", align: Align::Left, room: Room::Optional(4) },
    Column { title: "ERROR", align: Align::Left, room: Room::Flexible },
];

/// What the servers and sessions of calls are called.
pub(crate) fn names(store: &Store, calls: &[CallRecord]) -> Result<Names, CommandError> {
    let mut names = Names::of(store)?;
    names.learn(store, calls.iter().filter_map(|call| call.session.as_deref()))?;
    Ok(names)
}

/// A table of calls. Where there is one server only, its name is the first to go.
pub(crate) fn table(calls: &[CallRecord], names: &Names, look: &Look, styles: &Styles) -> Table {
    let mut columns = COLUMNS;
    if !names.has_several_servers() {
        columns[1].room = Room::Optional(u8::MAX);
    }
    let mut table = Table::new(&columns);
    calls.iter().for_each(|call| table.row(row(call, names, look, styles)));
    table
}

/// A table of calls to which more will be added: its columns have room for all that is known to be called.
pub(crate) fn growing_table(calls: &[CallRecord], names: &Names, look: &Look, styles: &Styles) -> Table {
    /// A longer name of a tool is cut, so that something is left for the others.
    const LONGEST_CALL: usize = 48;
    let (time, session, error) = match look {
        // What is left is for errors.
        Look::Short { .. } => (12, 8, 80),
        Look::Full => (24, 36, 0),
    };
    let mut table = table(calls, names, look, styles);
    let call = names.widest_call().min(LONGEST_CALL);
    table.at_least(&[time, names.widest_server(), call, 14, 7, 7, 8, session, error]);
    table
}

/// A call, as a row of such a table.
pub(crate) fn row(call: &CallRecord, names: &Names, look: &Look, styles: &Styles) -> Vec<Cell> {
    let session = call.session.as_deref().map(|id| names.session(id, look));
    vec![
        Cell::new(styles.dim, look.clock(call.time)),
        names.server(&call.server, call.listener.as_deref()).into(),
        name(call, styles),
        status(call.status, styles),
        took(call.latency_us, styles),
        units::bytes(call.request_bytes).into(),
        units::bytes(call.response_bytes).into(),
        Cell::new(styles.dim, session.unwrap_or_default()),
        Cell::new(styles.error, error(call)),
    ]
}

/// What was called.
pub(crate) fn name(call: &CallRecord, styles: &Styles) -> Cell {
    let detail = call.tool.as_deref().or(call.subject.as_deref()).or(call.path.as_deref());
    let name = match (call.method.as_str(), detail) {
        ("", None) => return Cell::new(styles.dim, "(no method)"),
        (method, None) => method.to_owned(),
        (method, Some(detail)) => format!("{method} {detail}"),
    };
    let paint = if call.tool.is_some() { styles.name } else { styles.plain };
    Cell::new(paint, printable(&name))
}

/// How it went.
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

/// A latency, if it was measured.
pub(crate) fn took(us: Option<u64>, styles: &Styles) -> Cell {
    us.map(units::duration).map_or(Cell::new(styles.dim, "-"), Cell::from)
}

/// What went wrong, with its code.
pub(crate) fn error(call: &CallRecord) -> String {
    let code = match (call.error_code, call.http_status) {
        (Some(code), _) => Some(code.to_string()),
        (None, Some(status)) if call.status == Outcome::HttpError => Some(format!("HTTP {status}")),
        _ => None,
    };
    let message = call.error_message.as_deref().map(|message| printable(message).into_owned());
    // Where there is nothing else to say, the code is the message.
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

    fn check(width: Option<usize>, look: &Look, expected: &str) {
        let mut written = Vec::new();
        let styles = Styles::plain();
        table(&[call()], &Names::default(), look, &styles).write(&mut written, &styles, width).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), expected, "{width:?}");
    }

    #[test]
    fn a_call_fits_its_room_and_steers_no_terminal() {
        let look = Look::Short { now: 1_778_626_900_000, zone: TimeZone::UTC };
        check(
            Some(140),
            &look,
            "\
TIME          SERVER  CALLED                   STATUS            TOOK  REQUEST  RESPONSE  SESSION  ERROR
23:00:00.123  files   tools/call read␛[2Jfile  protocol-error  1.23ms     95 B    1.2 kB  0197-1   -32602 no such⏎file \\u{202e}txt.exe
",
        );
        check(
            Some(80),
            &look,
            "\
TIME          CALLED                STATUS            TOOK  ERROR
23:00:00.123  tools/call read␛[2J…  protocol-error  1.23ms  -32602 no such⏎file…
",
        );
        check(
            Some(40),
            &look,
            "\
TIME          CALLED      TOOK  ERROR
23:00:00.123  tools/c…  1.23ms  -32602 …
",
        );
    }

    #[test]
    fn a_pipe_gets_everything_in_full() {
        let mut written = Vec::new();
        let styles = Styles::plain();
        table(&[call()], &Names::default(), &Look::Full, &styles).write(&mut written, &styles, None).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(written.contains("2026-05-12T23:00:00.123Z"), "{written}");
        assert!(written.contains("0197-1"), "{written}");
    }
}
