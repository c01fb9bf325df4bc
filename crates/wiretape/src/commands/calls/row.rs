//! One call: a table row for people, an object for programs.

use crate::calls::{DisplayFormat, duration, tool_or_method};
use crate::json;
use crate::output::{Align, Cell, Column, Room, Styles};
use crate::text::printable;
use crate::units;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::Path;
use wiretape_analyze::call::{Call, Outcome};
use wiretape_trace::message::Direction;

pub(super) const COLUMNS: [Column; 10] = [
    Column { title: "CALL", align: Align::Right, room: Room::Fixed },
    Column { title: "TIME", align: Align::Left, room: Room::Optional(2) },
    Column { title: "TRACE", align: Align::Left, room: Room::Optional(4) },
    Column { title: "TOOL/METHOD", align: Align::Left, room: Room::Flexible },
    Column { title: "STATUS", align: Align::Left, room: Room::Fixed },
    Column { title: "DURATION", align: Align::Right, room: Room::Fixed },
    Column { title: "WAITING", align: Align::Right, room: Room::Optional(5) },
    Column { title: "REQUEST", align: Align::Right, room: Room::Optional(7) },
    Column { title: "RESPONSE", align: Align::Right, room: Room::Optional(6) },
    Column { title: "PART OF", align: Align::Right, room: Room::Optional(3) },
];

/// A call with its trace.
pub(super) struct CallLine<'a> {
    pub(super) call: &'a Call,
    /// The trace's name, if there are several.
    pub(super) trace: Option<&'a str>,
}

impl CallLine<'_> {
    pub(super) fn cells(&self, look: &DisplayFormat, styles: &Styles) -> Vec<Cell> {
        let call = self.call;
        let waited = call.person_us + call.client_us;
        vec![
            Cell::new(styles.hint, call.number.to_string()),
            Cell::new(styles.dim, call.asked.wall_ms.map(|ms| look.clock(ms)).unwrap_or_default()),
            Cell::new(styles.dim, self.trace.map(|name| printable(name).into_owned()).unwrap_or_default()),
            name(call, styles),
            status_cell(call, styles),
            duration(call.duration_us, styles),
            if waited > 0 { units::duration(waited).into() } else { "".into() },
            units::bytes(call.request_bytes).into(),
            call.response_bytes.map_or(Cell::new(styles.dim, "-"), |bytes| units::bytes(bytes).into()),
            call.operation.map_or("".into(), |first| Cell::new(styles.dim, first.to_string())),
        ]
    }
}

fn name(call: &Call, styles: &Styles) -> Cell {
    let name = tool_or_method(&call.method, call.tool.as_deref(), None);
    let paint = if call.tool.is_some() { styles.name } else { styles.plain };
    let nested = if call.parent.is_some() { "  " } else { "" };
    let arrow = if call.direction == Direction::ServerToClient { "← " } else { "" };
    Cell::new(paint, format!("{nested}{arrow}{}", printable(&name)))
}

/// The status of a call, in its color.
pub(crate) fn status_cell(call: &Call, styles: &Styles) -> Cell {
    let outcome = call.outcome;
    let paint = match outcome {
        Outcome::Ok => styles.good,
        _ if outcome.is_error() => styles.error,
        _ => styles.warning,
    };
    let text = match (outcome, call.error_code, call.http_status) {
        (Outcome::ProtocolError, Some(code), _) => format!("error {code}"),
        (Outcome::HttpError, _, Some(status)) => format!("HTTP {status}"),
        _ => outcome.name().to_owned(),
    };
    Cell::new(paint, text)
}

/// A line of `calls --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallJson<'a> {
    trace: &'a Path,
    call: u64,
    line: u64,
    seq: Option<u64>,
    time: Option<String>,
    us: Option<u64>,
    dir: &'static str,
    id: Option<Box<RawValue>>,
    session: Option<&'a str>,
    method: &'a str,
    tool: Option<&'a str>,
    status: &'static str,
    error_code: Option<i64>,
    http_status: Option<u16>,
    response_line: Option<u64>,
    cancelled_line: Option<u64>,
    latency_us: Option<u64>,
    own_us: Option<u64>,
    person_us: u64,
    client_us: u64,
    request_bytes: u64,
    response_bytes: Option<u64>,
    progress: u64,
    nested: u64,
    parent: Option<u64>,
    operation: Option<u64>,
    resumed: bool,
}

impl<'a> CallJson<'a> {
    pub(crate) fn new(trace: &'a Path, call: &'a Call) -> Self {
        CallJson {
            trace,
            call: call.number,
            line: call.request.line,
            seq: call.request.seq,
            time: call.asked.wall_ms.and_then(units::iso),
            us: call.asked.us,
            dir: match call.direction {
                Direction::ClientToServer => "in",
                Direction::ServerToClient => "out",
            },
            id: call.id.as_ref().and_then(json::raw_id),
            session: call.session.as_deref(),
            method: &call.method,
            tool: call.tool.as_deref(),
            status: call.outcome.name(),
            error_code: call.error_code,
            http_status: call.http_status,
            response_line: call.response.map(|place| place.line),
            cancelled_line: call.cancelled.map(|place| place.line),
            latency_us: call.duration_us,
            own_us: call.own_us(),
            person_us: call.person_us,
            client_us: call.client_us,
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes,
            progress: call.progress,
            nested: call.nested,
            parent: call.parent,
            operation: call.operation,
            resumed: call.elsewhere,
        }
    }
}
