//! One client, on standard input and output.
//!
//! Where nothing ever has to be waited for but the client, one thread reads, answers and writes, and nobody wakes anybody. A
//! clock, or a real server behind us, needs threads that read and one that plays.

use super::deck::{Deck, Tell};
use super::overture::Opening;
use super::real::{Clients, RealEvent, RealServer, RealServers};
use crate::platform::StandardStreams;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use wiretape_analyze::replay::{Action, Player};
use wiretape_trace::framing::LineFramer;
use wiretape_trace::message::payloads;

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// Output is written when so much of it is there, though more input waits.
const FULL: usize = 256 * 1024;

/// So many events wait to be looked at. Who says more than can be followed waits, and nobody's memory fills.
const WAITING: usize = 256;

/// How long what is under way may take when the client has sent its last. Clients that end a server give it about two seconds.
const LAST_MOMENT: Duration = Duration::from_millis(1500);

/// How long a real server that has not said its first word yet may take for that.
const FIRST_WORD: Duration = Duration::from_secs(10);

/// Plays a tape to the client at our standard streams, until it goes away.
pub fn play(deck: &Deck, opening: &Opening, tell: &Tell, real: Option<&Arc<RealServers>>) -> io::Result<()> {
    let (stdin, stdout) = (StandardStreams::stdin()?, StandardStreams::stdout()?);
    let stage = Stage {
        deck,
        tell,
        player: deck.player(),
        stdout,
        out: Vec::with_capacity(CHUNK),
        real: real.map(|real| real.server(Clients::One, deck)),
        is_greeted: opening.is_answered,
        is_over: false,
    };
    let mut framer = LineFramer::new();
    framer.push(&opening.heard);
    let ended = if deck.needs_a_clock() {
        play_timed(stage, framer, stdin)
    } else {
        play_at_once(stage, framer, stdin)
    };
    match ended {
        // The client reads no more: that is its end.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

fn play_at_once(mut stage: Stage<'_>, mut framer: LineFramer, mut stdin: File) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    stage.lines(&mut framer)?;
    while !stage.is_over {
        let read = read(&mut stdin, &mut chunk)?;
        if read == 0 {
            stage.last_line(&mut framer)?;
            break;
        }
        framer.push(&chunk[..read]);
        stage.lines(&mut framer)?;
    }
    Ok(())
}

/// What a stage that has a clock hears.
enum Event {
    Client(Vec<u8>),
    ClientEnded,
    Real(RealEvent),
}

fn play_timed(mut stage: Stage<'_>, mut framer: LineFramer, stdin: File) -> io::Result<()> {
    let (sender, events) = sync_channel(WAITING);
    read_client(stdin, sender.clone());
    if let Some(real) = &mut stage.real {
        let sender = sender.clone();
        // When nobody listens any more, everything is over.
        real.report_to(Arc::new(move |event| drop(sender.send(Event::Real(event)))));
    }
    stage.lines(&mut framer)?;
    while !stage.is_over {
        match next(&events, stage.wait()) {
            Some(Event::Client(bytes)) => {
                framer.push(&bytes);
                stage.lines(&mut framer)?;
            }
            Some(Event::ClientEnded) => {
                stage.last_line(&mut framer)?;
                return wind_up(stage, &events);
            }
            Some(Event::Real(event)) => stage.real_did(event)?,
            None => stage.tick()?,
        }
    }
    Ok(())
}

/// The client has sent its last; what it still waits for is said, for a moment.
fn wind_up(mut stage: Stage<'_>, events: &Receiver<Event>) -> io::Result<()> {
    let mut is_starting = stage.is_starting();
    let mut end = Instant::now() + if is_starting { FIRST_WORD } else { LAST_MOMENT };
    while !stage.is_over && stage.has_more_to_say() && Instant::now() < end {
        let rest = end.saturating_duration_since(Instant::now());
        match next(events, Some(stage.wait().map_or(rest, |wait| wait.min(rest)))) {
            Some(Event::Real(event)) => stage.real_did(event)?,
            Some(Event::Client(_) | Event::ClientEnded) => {}
            None => stage.tick()?,
        }
        if is_starting && !stage.is_starting() {
            (is_starting, end) = (false, Instant::now() + LAST_MOMENT);
        }
    }
    Ok(())
}

fn next(events: &Receiver<Event>, wait: Option<Duration>) -> Option<Event> {
    let Some(wait) = wait else { return events.recv().ok().or(Some(Event::ClientEnded)) };
    match events.recv_timeout(wait) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Event::ClientEnded),
    }
}

fn read_client(mut stdin: File, events: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut chunk = vec![0; CHUNK];
        while let Ok(n @ 1..) = read(&mut stdin, &mut chunk) {
            if events.send(Event::Client(chunk[..n].to_vec())).is_err() {
                return;
            }
        }
        let _ = events.send(Event::ClientEnded);
    });
}

pub(super) fn read(stdin: &mut File, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match stdin.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// A tape, and the client that it is played to.
struct Stage<'d> {
    deck: &'d Deck,
    tell: &'d Tell,
    player: Player<Arc<super::TapeFile>>,
    stdout: File,
    out: Vec<u8>,
    real: Option<RealServer>,
    /// The answer to the first request has gone out already.
    is_greeted: bool,
    is_over: bool,
}

impl Stage<'_> {
    /// Answers the lines that are there.
    fn lines(&mut self, framer: &mut LineFramer) -> io::Result<()> {
        let now_us = self.deck.now_us();
        let mut actions = Vec::new();
        while let Some(frame) = framer.next_frame() {
            self.line(frame.bytes, now_us, &mut actions)?;
        }
        self.flush()
    }

    /// The line that its sender did not end.
    fn last_line(&mut self, framer: &mut LineFramer) -> io::Result<()> {
        let now_us = self.deck.now_us();
        if let Some(frame) = framer.finish() {
            self.line(frame.bytes, now_us, &mut Vec::new())?;
        }
        self.flush()
    }

    fn line(&mut self, line: &[u8], now_us: u64, actions: &mut Vec<Action>) -> io::Result<()> {
        if self.is_over || line.trim_ascii().is_empty() {
            return Ok(());
        }
        let Some(real) = &mut self.real else {
            self.player.receive(line, now_us, actions);
            return self.act(actions);
        };
        for payload in payloads(line) {
            if !real.hear(payload, actions) {
                self.player.receive(payload, now_us, actions);
            }
        }
        self.act(actions)
    }

    /// Whether an answer is due, or the real server owes one.
    fn has_more_to_say(&self) -> bool {
        self.player.deadline().is_some() || self.real.as_ref().is_some_and(RealServer::is_asked)
    }

    /// Whether the real server has been started and has not answered yet.
    fn is_starting(&self) -> bool {
        self.real.as_ref().is_some_and(RealServer::is_starting)
    }

    fn tick(&mut self) -> io::Result<()> {
        let mut actions = Vec::new();
        self.player.tick(self.deck.now_us(), &mut actions);
        self.act(&mut actions)?;
        self.flush()
    }

    /// How long nothing is to be done.
    fn wait(&self) -> Option<Duration> {
        let deadline = self.player.deadline()?;
        Some(Duration::from_micros(deadline.saturating_sub(self.deck.now_us())))
    }

    fn act(&mut self, actions: &mut Vec<Action>) -> io::Result<()> {
        for action in actions.drain(..) {
            match action {
                Action::Answer { .. } if std::mem::take(&mut self.is_greeted) => {}
                Action::Send { message, .. }
                | Action::Answer { message, .. }
                | Action::BreakOff { message, .. } => {
                    self.out.extend_from_slice(&message);
                    self.out.push(b'\n');
                }
                Action::Disconnect { .. } => self.is_over = true,
                Action::Close { .. } => {}
                Action::PassOn { request, message, miss } => {
                    if let Some(real) = &mut self.real {
                        let mut actions = real.ask(request, &message, miss);
                        self.act(&mut actions)?;
                    }
                }
                Action::Tell(notice) => (self.tell)(&notice),
            }
        }
        if self.out.len() >= FULL { self.flush() } else { Ok(()) }
    }

    fn real_did(&mut self, event: RealEvent) -> io::Result<()> {
        let Some(real) = &mut self.real else { return Ok(()) };
        let mut actions = real.take(event);
        self.act(&mut actions)?;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let written = self.stdout.write_all(&self.out);
        self.out.clear();
        self.out.shrink_to(2 * FULL);
        written
    }
}
