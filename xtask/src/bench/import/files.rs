//! The transcripts that are imported: generated, and the same on every run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The content of a transcript.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Calls and answers of about 1.6 kB, one per line.
    Messages,
    /// The shortest possible calls and answers, one per line.
    Tiny,
    /// Calls and answers as entries of one document.
    Envelope,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Messages => "jsonrpc, messages of 1.6 kB",
            Kind::Tiny => "jsonrpc, tiny messages",
            Kind::Envelope => "streamable-http, one document",
        }
    }

    pub(super) fn format(self) -> &'static str {
        match self {
            Kind::Messages | Kind::Tiny => "jsonrpc",
            Kind::Envelope => "streamable-http",
        }
    }
}

/// Writes a source of about `bytes` bytes.
pub(super) fn write(kind: Kind, bytes: u64, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let prose = prose();
    let mut written = 0;
    if let Kind::Envelope = kind {
        write!(out, "{{\"transport\":\"streamable-http\",\"entries\":[")?;
    }
    for id in 1.. {
        let piece = match kind {
            Kind::Messages => format!("{}\n{}\n", call(id, &prose), answer(id, &prose)),
            Kind::Tiny => format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"
            ),
            Kind::Envelope => format!(
                "{}\n{{\"timestamp_ms\":{id},\"transport_context\":{{\"headers\":{{\"Mcp-Session-Id\":\"s\"}}}},\"request\":{}}},\n\
                 {{\"timestamp_ms\":{id},\"sse\":{{\"event\":\"message\",\"id\":\"e-{id}\",\"data\":{}}}}}",
                if id == 1 { "" } else { "," },
                call(id, &prose),
                answer(id, &prose)
            ),
        };
        out.write_all(piece.as_bytes())?;
        written += piece.len() as u64;
        if written >= bytes {
            break;
        }
    }
    if let Kind::Envelope = kind {
        writeln!(out, "\n]}}")?;
    }
    out.flush()
}

pub(in crate::bench) fn call(id: u64, prose: &str) -> String {
    let text = slice(id, prose);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"search\",\"arguments\":{{\"query\":\"{text}\",\
         \"limit\":{},\"flags\":[true,false,null],\"ratio\":1.5}}}}}}",
        id % 50
    )
}

pub(in crate::bench) fn answer(id: u64, prose: &str) -> String {
    let text = slice(id * 7, prose);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}},\
         {{\"type\":\"text\",\"text\":\"row {id}\\nline two\"}}],\"isError\":false,\"structuredContent\":{{\"count\":{id}}}}}}}"
    )
}

/// A different part of the text for each id.
fn slice(id: u64, prose: &str) -> &str {
    const LENGTH: usize = 1400;
    let start = (id as usize * 97) % (prose.len() - LENGTH);
    &prose[start..start + LENGTH]
}

pub(in crate::bench) fn prose() -> String {
    const WORDS: [&str; 16] = [
        "the", "server", "answers", "calls", "with", "text", "and", "numbers", "of", "all", "kinds", "while",
        "clients", "wait", "for", "more",
    ];
    let mut state = 1_u64;
    let mut prose = String::new();
    while prose.len() < 100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        prose.push_str(WORDS[(state >> 60) as usize]);
        prose.push(' ');
    }
    prose
}
