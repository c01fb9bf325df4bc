//! `csv`: the calls, a row each, as RFC 4180 has it.

use super::{ExportFormat, Exporter};
use crate::call::{Call, CallTracker, Outcome};
use std::io::{self, Write};
use wiretape_trace::format::{Line, Record};
use wiretape_trace::message::{Direction, Id};

pub(super) static CSV: ExportFormat = ExportFormat {
    name: "csv",
    about: "the calls, a row each",
    make: |_, _| Box::new(Rows { tracker: CallTracker::new() }),
};

const HEADER: &str =
    "line,response_line,time,from,method,tool,id,outcome,error_code,latency_ms,request_bytes,response_bytes";

struct Rows {
    tracker: CallTracker,
}

impl Exporter for Rows {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{HEADER}\r\n")
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        let message = match &line.record {
            Record::Meta(meta) => {
                self.tracker.observe_meta(meta);
                return Ok(());
            }
            Record::Message(message) => message,
            _ => return Ok(()),
        };
        let mut closed = Vec::new();
        self.tracker.observe_message(line.number, message, |_, _, observed| {
            closed.extend(observed.closed().cloned());
        });
        // The time of an answer says when the call was over.
        closed.iter().try_for_each(|call| row(call, message.stamp.t.as_deref(), out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        std::mem::take(&mut self.tracker).finish().try_for_each(|call| row(&call, None, out))
    }
}

fn row(call: &Call, ended: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let code = match call.outcome {
        Outcome::ProtocolError { code } => code,
        _ => None,
    };
    let from = match call.direction {
        Direction::ClientToServer => "client",
        Direction::ServerToClient => "server",
    };
    let id = call.id.as_ref().map(|id| match id {
        Id::String(text) | Id::Number(text) => text.to_string(),
    });
    let ended = if call.response.is_some() { ended } else { None };
    let latency = call.latency_us.map(|us| format!("{}.{:03}", us / 1000, us % 1000));
    let fields = [
        call.request.line.to_string(),
        number(call.response.map(|place| place.line)),
        ended.unwrap_or_default().to_owned(),
        from.to_owned(),
        call.method.clone(),
        call.tool.clone().unwrap_or_default(),
        id.unwrap_or_default(),
        call.outcome.name().to_owned(),
        code.map(|code| code.to_string()).unwrap_or_default(),
        latency.unwrap_or_default(),
        call.request_bytes.to_string(),
        number(call.response_bytes),
    ];
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    write!(out, "{}\r\n", fields.join(","))
}

fn quoted(field: &str) -> String {
    let plain = !field.contains([',', '"', '\r', '\n']);
    if plain { field.to_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(super::quoted("a b"), "a b");
        assert_eq!(super::quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
    }
}
