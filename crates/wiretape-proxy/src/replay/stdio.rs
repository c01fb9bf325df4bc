//! Replay to one client on standard input and output.
//!
//! If only the client's input can cause output, one thread reads, answers and writes, without any wake-up between threads
//! (`cargo xtask bench --only replay`, the rows over stdio). Timing or a real server needs reader threads and one that plays.

use super::loaded_tape::{LoadedTape, NoticeCallback};
use super::preview::PreviewOutcome;
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

/// Bytes per read: the capacity of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// The size in bytes at which output is written even if more input is available.
const FLUSH_BYTES: usize = 256 * 1024;

/// The capacity of the event queue. When it is full, its senders wait: back-pressure instead of memory.
const QUEUE_EVENTS: usize = 256;

/// The time for pending answers after the client has closed its output. Clients that end a server wait for about two seconds.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(1500);

/// The same while the real server is still starting, which may take long.
const STARTING_GRACE: Duration = Duration::from_secs(10);

/// Plays a tape to the client at our standard streams until it disconnects.
pub fn play(
    loaded: &LoadedTape,
    preview: &PreviewOutcome,
    notify: &NoticeCallback,
    real: Option<&Arc<RealServers>>,
) -> io::Result<()> {
    let (stdin, stdout) = (StandardStreams::stdin()?, StandardStreams::stdout()?);
    let playback = StdioPlayback {
        loaded,
        notify,
        player: loaded.player(),
        stdout,
        out: Vec::with_capacity(CHUNK),
        real: real.map(|real| real.server(Clients::One, loaded)),
        is_greeted: preview.is_answered,
        is_over: false,
    };
    let mut framer = LineFramer::new();
    // The preview has read ahead; these bytes come before everything that stdin still has.
    framer.push(&preview.bytes_read);
    let ended = if loaded.needs_a_clock() {
        play_timed(playback, framer, stdin)
    } else {
        play_at_once(playback, framer, stdin)
    };
    match ended {
        // The client has closed its input, which is a normal end.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

fn play_at_once(mut playback: StdioPlayback<'_>, mut framer: LineFramer, mut stdin: File) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    playback.lines(&mut framer)?;
    while !playback.is_over {
        let read = read(&mut stdin, &mut chunk)?;
        if read == 0 {
            playback.last_line(&mut framer)?;
            break;
        }
        framer.push(&chunk[..read]);
        playback.lines(&mut framer)?;
    }
    Ok(())
}

/// An event for a playback with a clock.
enum Event {
    Client(Vec<u8>),
    ClientEnded,
    Real(RealEvent),
}

fn play_timed(mut playback: StdioPlayback<'_>, mut framer: LineFramer, stdin: File) -> io::Result<()> {
    let (sender, events) = sync_channel(QUEUE_EVENTS);
    read_client(stdin, sender.clone());
    if let Some(real) = &mut playback.real {
        let sender = sender.clone();
        // Sending fails only when the playback has ended.
        real.report_to(Arc::new(move |event| drop(sender.send(Event::Real(event)))));
    }
    playback.lines(&mut framer)?;
    while !playback.is_over {
        match next(&events, playback.wait()) {
            Some(Event::Client(bytes)) => {
                framer.push(&bytes);
                playback.lines(&mut framer)?;
            }
            Some(Event::ClientEnded) => {
                playback.last_line(&mut framer)?;
                return drain(playback, &events);
            }
            Some(Event::Real(event)) => playback.handle_real_event(event)?,
            None => playback.tick()?,
        }
    }
    Ok(())
}

/// Sends pending answers for a short time after the client has closed its output.
fn drain(mut playback: StdioPlayback<'_>, events: &Receiver<Event>) -> io::Result<()> {
    let mut is_starting = playback.is_starting();
    let mut end = Instant::now() + if is_starting { STARTING_GRACE } else { SHUTDOWN_GRACE };
    while !playback.is_over && playback.has_more_to_send() && Instant::now() < end {
        let rest = end.saturating_duration_since(Instant::now());
        match next(events, Some(playback.wait().map_or(rest, |wait| wait.min(rest)))) {
            Some(Event::Real(event)) => playback.handle_real_event(event)?,
            Some(Event::Client(_) | Event::ClientEnded) => {}
            None => playback.tick()?,
        }
        // The long grace is for starting only; once the server answers, the usual one counts from then.
        if is_starting && !playback.is_starting() {
            (is_starting, end) = (false, Instant::now() + SHUTDOWN_GRACE);
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

/// The playback of a tape to the client.
struct StdioPlayback<'d> {
    loaded: &'d LoadedTape,
    notify: &'d NoticeCallback,
    player: Player<Arc<super::TapeFile>>,
    stdout: File,
    out: Vec<u8>,
    real: Option<RealServer>,
    /// Whether the first request was already answered by the preview.
    is_greeted: bool,
    is_over: bool,
}

impl StdioPlayback<'_> {
    /// Answers all complete lines.
    fn lines(&mut self, framer: &mut LineFramer) -> io::Result<()> {
        let now_us = self.loaded.now_us();
        let mut actions = Vec::new();
        while let Some(frame) = framer.next_frame() {
            self.line(frame.bytes, now_us, &mut actions)?;
        }
        self.flush()
    }

    /// Answers a last line without a newline.
    fn last_line(&mut self, framer: &mut LineFramer) -> io::Result<()> {
        let now_us = self.loaded.now_us();
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
            if !real.observe_client(payload, actions) {
                self.player.receive(payload, now_us, actions);
            }
        }
        self.act(actions)
    }

    /// Whether an answer is scheduled, or expected of the real server.
    fn has_more_to_send(&self) -> bool {
        self.player.deadline().is_some() || self.real.as_ref().is_some_and(RealServer::has_pending)
    }

    /// Whether the real server was started and has not sent a message yet.
    fn is_starting(&self) -> bool {
        self.real.as_ref().is_some_and(RealServer::is_starting)
    }

    fn tick(&mut self) -> io::Result<()> {
        let mut actions = Vec::new();
        self.player.tick(self.loaded.now_us(), &mut actions);
        self.act(&mut actions)?;
        self.flush()
    }

    /// The time until the next deadline.
    fn wait(&self) -> Option<Duration> {
        let deadline = self.player.deadline()?;
        Some(Duration::from_micros(deadline.saturating_sub(self.loaded.now_us())))
    }

    fn act(&mut self, actions: &mut Vec<Action>) -> io::Result<()> {
        for action in actions.drain(..) {
            match action {
                // The preview has sent this answer already; the player still had to see the request.
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
                Action::Notify(notice) => (self.notify)(&notice),
            }
        }
        if self.out.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn handle_real_event(&mut self, event: RealEvent) -> io::Result<()> {
        let Some(real) = &mut self.real else { return Ok(()) };
        let mut actions = real.handle_event(event);
        self.act(&mut actions)?;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        // One write for all answers to a read, instead of a system call for each.
        let written = self.stdout.write_all(&self.out);
        self.out.clear();
        self.out.shrink_to(2 * FLUSH_BYTES);
        written
    }
}
