//! `jsonrpc`: one message per line, without direction and time.

use super::{ExportFormat, Exporter};
use crate::reading::RecordingState;
use std::io::{self, Write};
use wiretape_trace::format::{Line, Record};

pub(super) static JSONRPC: ExportFormat =
    ExportFormat { name: "jsonrpc", about: "one message per line", make: |_, _| Box::new(Messages) };

struct Messages;

impl Exporter for Messages {
    fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Record::Message(message) = &line.record else { return Ok(()) };
        out.write_all(message.raw)?;
        out.write_all(b"\n")
    }

    fn finish(&mut self, _: RecordingState, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
