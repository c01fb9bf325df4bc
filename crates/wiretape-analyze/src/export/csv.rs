//! `csv`: one row per call (RFC 4180).

use super::{ExportAnalysis, ExportFormat, Output};
use crate::call::Call;
use crate::glance::printable;
use crate::reading::{Analysis, Closed};
use std::borrow::Cow;
use std::io::{self, Write};
use wiretape_trace::message::Direction;

pub(super) static CSV: ExportFormat =
    ExportFormat { name: "csv", about: "one row per call", make: |_, _| super::exporter(Rows::default()) };

const HEADER: &str =
    "line,response_line,time,from,method,tool,id,outcome,error_code,latency_ms,request_bytes,response_bytes";

#[derive(Default)]
struct Rows {
    out: Output,
}

impl Analysis for Rows {
    type PerCall = ();

    fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
        // The time of the answer; a call without one has no end time.
        let answered = closed.line.filter(|_| closed.call.response.is_some());
        let time = answered.and_then(|view| view.line.record.stamp()?.t.as_deref());
        self.out.write(|out| row(closed.call, time, out));
    }
}

impl ExportAnalysis for Rows {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{HEADER}\r\n")
    }

    fn output(&mut self) -> &mut Output {
        &mut self.out
    }
}

fn row(call: &Call, ended: Option<&str>, out: &mut Vec<u8>) -> io::Result<()> {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let from = match call.direction {
        Direction::ClientToServer => "client",
        Direction::ServerToClient => "server",
    };
    let id = call.id.as_ref().map(|id| id.text().to_owned());
    let duration = call.duration_us.map(|us| format!("{}.{:03}", us / 1000, us % 1000));
    let fields = [
        call.request.line.to_string(),
        number(call.response.map(|place| place.line)),
        ended.unwrap_or_default().to_owned(),
        from.to_owned(),
        call.method.to_string(),
        call.tool.as_deref().unwrap_or_default().to_owned(),
        id.unwrap_or_default(),
        call.outcome.name().to_owned(),
        call.error_code.map(|code| code.to_string()).unwrap_or_default(),
        duration.unwrap_or_default(),
        call.request_bytes.to_string(),
        number(call.response_bytes),
    ];
    // First inert, then quoted: the apostrophe has to be inside the quotes.
    let fields: Vec<String> = fields.iter().map(|field| quoted(&inert(field))).collect();
    write!(out, "{}\r\n", fields.join(","))
}

/// Quotes a field so that no spreadsheet runs it and no terminal obeys it. Method and tool names come from peers: one that
/// starts like a formula gets an apostrophe, and control characters are escaped. Numbers keep their sign.
fn inert(field: &str) -> Cow<'_, str> {
    let printable = printable(field);
    let is_formula = printable.starts_with(['=', '+', '@', '-']) && field.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{printable}")) } else { printable }
}

fn quoted(field: &str) -> String {
    let plain = !field.contains([',', '"', '\r', '\n']);
    if plain { field.to_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_from_peers_are_neither_formulas_nor_control_sequences() {
        for formula in ["=HYPERLINK(1)", "+1+1", "@SUM(1)", "-2+3"] {
            assert_eq!(super::inert(formula), format!("'{formula}"));
        }
        assert!(!super::inert("a\u{1b}[2Jb\u{7}").contains(['\u{1b}', '\u{7}']));
        for harmless in ["-32601", "1.5", "tools/call", "get-sum", ""] {
            assert_eq!(super::inert(harmless), harmless);
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(super::quoted("a b"), "a b");
        assert_eq!(super::quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
    }
}
