//! The beginning of a long trace, read ahead of the rest: a client that says hello is answered while the rest is being read.

use super::deck::Deck;
use super::file::TapeFile;
use super::stdio::read;
use crate::platform::StandardStreams;
use std::io::{self, Write as _};
use std::path::Path;
use wiretape_analyze::call::Outcome;
use wiretape_analyze::replay::{Action, Setting};
use wiretape_trace::message::Envelope;

/// Shorter traces are read at once.
const LONG: u64 = 1 << 20;

/// So much of a long one is read ahead.
const BEGINNING: u64 = 256 << 10;

/// The beginning of a long trace.
#[derive(Debug)]
pub struct Overture {
    deck: Deck,
}

/// What has happened before a tape was there to be played.
#[derive(Debug, Default)]
pub struct Opening {
    /// What the client has said.
    pub(super) heard: Vec<u8>,
    /// Whether the first request has its answer.
    pub(super) is_answered: bool,
}

impl Overture {
    /// Reads the beginning of a trace; `None` if there is nothing to be gained.
    pub fn read(path: &Path, setting: &Setting) -> Option<Self> {
        if !setting.faults.list.is_empty() || !setting.speed.is_at_once() {
            return None;
        }
        let is_long =
            std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() >= LONG);
        let indexed = is_long.then(|| TapeFile::beginning(path, BEGINNING, &setting.matching))?.ok()?;
        Some(Overture { deck: Deck::new(indexed, setting.clone()) })
    }

    /// Waits for the client's first word, and answers it if that is `initialize` and it was recorded here.
    pub fn greet(&self) -> io::Result<Opening> {
        let mut stdin = StandardStreams::stdin()?;
        let mut opening = Opening::default();
        let mut chunk = vec![0; 64 * 1024];
        while memchr::memchr(b'\n', &opening.heard).is_none() {
            match read(&mut stdin, &mut chunk)? {
                0 => return Ok(opening),
                n => opening.heard.extend_from_slice(&chunk[..n]),
            }
        }
        let line = opening.heard.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Some(mut answer) = self.answer(line) {
            answer.push(b'\n');
            StandardStreams::stdout()?.write_all(&answer)?;
            opening.is_answered = true;
        }
        Ok(opening)
    }

    fn answer(&self, line: &[u8]) -> Option<Vec<u8>> {
        let is_hello = Envelope::scan(line).method.as_deref() == Some("initialize");
        let is_recorded =
            self.deck.tape().of_method("initialize").any(|(_, call)| call.outcome == Outcome::Ok);
        if !is_hello || !is_recorded {
            return None;
        }
        let mut actions = Vec::new();
        self.deck.player().receive(line, 0, &mut actions);
        match actions.first_mut() {
            Some(Action::Answer { message, .. }) => Some(std::mem::take(message)),
            _ => None,
        }
    }
}
