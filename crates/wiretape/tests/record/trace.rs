//! A trace as the library reads it, whole, for tests to look at.

use serde_json::Value;
use std::fs::File;
use std::path::Path;
use wiretape_trace::format::{End, Gap, Meta, Notice, Record, TraceReader};
use wiretape_trace::message::Direction;
use wiretape_trace::message::Direction::{ClientToServer, ServerToClient};

#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) meta: Meta,
    pub(crate) entries: Vec<Entry>,
    pub(crate) notices: Vec<Notice>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Its payload, with the white space around it, and the part of the line before it.
    Message {
        dir: Direction,
        raw: Vec<u8>,
        head: String,
    },
    /// The line's fields.
    Text(Value),
    Stderr(Value),
    Http(Value),
    Gap(Gap),
    Rotated(String),
    End(End),
}

impl Trace {
    pub(crate) fn open(path: &Path) -> Self {
        let mut reader = TraceReader::new(File::open(path).unwrap());
        let mut meta = None;
        let mut entries = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            match line.record {
                Record::Meta(found) => assert!(meta.replace(*found).is_none(), "two metas"),
                record => entries.push(entry(line.bytes, record)),
            }
        }
        assert_eq!(reader.more_notices(), 0);
        let trace = Trace {
            meta: meta.expect("a trace begins with its meta"),
            entries,
            notices: reader.notices().to_vec(),
        };
        assert!(trace.entries.is_sorted_by(|a, b| a.seq < b.seq), "{}: seq must rise", path.display());
        trace
    }

    /// Opened, and found to be without any fault.
    pub(crate) fn open_sound(path: &Path) -> Self {
        let trace = Self::open(path);
        assert_eq!(trace.notices, []);
        trace
    }

    /// The payloads of one direction, in order.
    pub(crate) fn messages(&self, wanted: Direction) -> Vec<&[u8]> {
        let payload = |entry: &'_ Entry| match &entry.what {
            What::Message { dir, .. } => *dir == wanted,
            _ => false,
        };
        self.entries.iter().filter(|entry| payload(entry)).map(Entry::raw).collect()
    }

    /// The lines of standard error.
    pub(crate) fn stderr(&self) -> Vec<&str> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.what {
                What::Stderr(line) => line["text"].as_str(),
                _ => None,
            })
            .collect()
    }

    /// The lines that were not JSON.
    pub(crate) fn texts(&self) -> Vec<&Value> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.what {
                What::Text(line) => Some(line),
                _ => None,
            })
            .collect()
    }

    /// How many lines its gaps tell of.
    pub(crate) fn lost(&self) -> u64 {
        self.entries
            .iter()
            .map(|entry| match &entry.what {
                What::Gap(gap) => gap.lost,
                _ => 0,
            })
            .sum()
    }

    /// The last line, if it says how the recording ended.
    pub(crate) fn end(&self) -> Option<&End> {
        match &self.entries.last()?.what {
            What::End(end) => Some(end),
            _ => None,
        }
    }

    /// The last line, if it names the file in which the recording continues.
    pub(crate) fn next_part(&self) -> Option<&str> {
        match &self.entries.last()?.what {
            What::Rotated(next) => Some(next),
            _ => None,
        }
    }

    /// The recording ended, and so did the server.
    pub(crate) fn check_ended(&self, exit_code: i64) {
        assert_eq!(self.notices, []);
        assert_eq!(self.end().and_then(|end| end.exit_code), Some(exit_code));
    }

    /// Both directions hold exactly these messages.
    pub(crate) fn check_echoed(&self, messages: &[&[u8]]) {
        for direction in [ClientToServer, ServerToClient] {
            assert!(self.messages(direction) == messages, "{direction:?}: {:?}", self.entries);
        }
    }
}

impl Entry {
    /// A message's payload.
    pub(crate) fn raw(&self) -> &[u8] {
        match &self.what {
            What::Message { raw, .. } => raw,
            other => panic!("not a message: {other:?}"),
        }
    }
}

fn entry(bytes: &[u8], record: Record<'_>) -> Entry {
    let fields = || serde_json::from_slice::<Value>(bytes).unwrap();
    let seq_of = |fields: &Value| fields["seq"].as_u64().unwrap();
    let (seq, what) = match record {
        Record::Message(message) => {
            let (head, raw) = split_message(bytes);
            let dir = message.dir.known().unwrap();
            assert_eq!(raw.trim_ascii(), message.raw, "the reader and the file agree");
            (message.stamp.seq.unwrap(), What::Message { dir, raw: raw.to_vec(), head })
        }
        Record::Text(_) => (seq_of(&fields()), What::Text(fields())),
        Record::Stderr(_) => (seq_of(&fields()), What::Stderr(fields())),
        Record::Http(_) => (seq_of(&fields()), What::Http(fields())),
        Record::Gap(gap) => (seq_of(&fields()), What::Gap(gap)),
        Record::Rotated { next, .. } => (seq_of(&fields()), What::Rotated(next)),
        Record::End(end) => (seq_of(&fields()), What::End(end)),
        other => panic!("{other:?}: {}", String::from_utf8_lossy(bytes)),
    };
    Entry { seq, what }
}

/// The part of the line before the payload, and the payload: `raw` is a line's last field.
fn split_message(line: &[u8]) -> (String, &[u8]) {
    const KEY: &[u8] = b",\"raw\":";
    let at = line.windows(KEY.len()).position(|window| window == KEY).unwrap();
    let payload = line[at + KEY.len()..].strip_suffix(b"}").unwrap();
    (String::from_utf8(line[..at].to_vec()).unwrap(), payload)
}
