//! The recorder's file: every line goes to the kernel as it is seen, the file may be rotated, the disk may fill up
//! and be freed again, and none of it ever stops the traffic.

use crate::live::LiveHub;
use crate::platform;
use crate::warning::{Warn, Warning};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use wiretape_library::private;
use wiretape_trace::format::{Context, Encoder, LineEnd, Meta, Moment, Part, WallClock};
use wiretape_trace::message::Direction;
use wiretape_trace::name;

/// How long to wait before a disk that failed is tried again.
const RETRY_US: u64 = 1_000_000;

/// How often to look whether the file is still there.
const LOOK_US: u64 = 1_000_000;

/// A buffer that grew larger than this is given back.
const KEEP_CAPACITY: usize = 256 * 1024;

/// From this size on a payload goes to the file straight from where it lies.
const LARGE: usize = 32 * 1024;

/// The clocks of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Moment {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment {
            wall_ms: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX),
            us: u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// Where a recording is written, and how large it may grow.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// The folder.
    pub dir: PathBuf,
    /// A part is closed when it would grow larger than this.
    pub max_bytes: Option<u64>,
    /// Only this many parts are kept, the newest.
    pub max_files: Option<usize>,
    /// Is given what was written, but for the server's standard error.
    pub tee: Option<Tee>,
}

/// Takes what was written to a trace: pieces that are whole lines together. It is called while the traffic waits, so it
/// must be quick.
pub type Tee = Arc<dyn TeeFn>;

/// A function that takes what was written.
pub trait TeeFn: Fn(&[&[u8]]) + Send + Sync {}
impl<F: Fn(&[&[u8]]) + Send + Sync> TeeFn for F {}

impl std::fmt::Debug for dyn TeeFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TeeFn")
    }
}

/// Something that was observed, ready to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Observation<'a> {
    Message { dir: Direction, context: Context<'a>, raw: &'a [u8] },
    Text { dir: Direction, context: Context<'a>, text: &'a [u8] },
    Stderr { text: &'a [u8] },
    Http { context: Context<'a> },
}

impl Observation<'_> {
    /// About how large its line is.
    fn size(self) -> u64 {
        const AROUND: usize = 128;
        let (context, payload) = match self {
            Observation::Message { context, raw, .. } => (context, raw),
            Observation::Text { context, text, .. } => (context, text),
            Observation::Stderr { text } => (Context::default(), text),
            Observation::Http { context } => (context, &b""[..]),
        };
        (payload.len() + context.http.map_or(0, <[u8]>::len) + AROUND) as u64
    }
}

/// Writes a recording.
#[derive(Debug)]
pub(crate) struct Journal {
    options: JournalOptions,
    meta: Meta,
    stem: String,
    encoder: Encoder,
    /// Encoded lines that wait for their write, how many they are, and how much of them was shown to those who watch.
    lines: Vec<u8>,
    count: u64,
    published: usize,
    /// The parts that are there, oldest first.
    parts: Vec<PathBuf>,
    part_number: u64,
    /// How long the `meta` line of this part is.
    meta_len: u64,
    /// The offset at which this part began.
    part_us: u64,
    first_id: String,
    state: State,
    lost: u64,
    look_us: u64,
    live: Option<LiveHub>,
    /// Whether what is being written is nothing but the server's standard error.
    is_log: bool,
    warn: Warn,
    warned: bool,
}

#[derive(Debug)]
enum State {
    Open {
        file: File,
        len: u64,
    },
    /// Lines are counted, not written, until `retry_us`. A file may be there that ends in a torn line.
    Failed {
        reason: String,
        lost: u64,
        retry_us: u64,
        file: Option<File>,
        len: u64,
    },
    Closed,
}

impl Journal {
    /// Begins a recording. If the file can't be made, the user is warned, and it is tried again later.
    pub(crate) fn begin(
        options: JournalOptions,
        meta: Meta,
        at: Moment,
        live: Option<LiveHub>,
        warn: Warn,
    ) -> Self {
        let stem = name::file_stem(WallClock::default().format(at.wall_ms), &meta.label);
        let mut journal = Journal {
            options,
            first_id: meta.id.clone().unwrap_or_default(),
            meta,
            stem,
            encoder: Encoder::new(),
            lines: Vec::new(),
            count: 0,
            published: 0,
            parts: Vec::new(),
            part_number: 0,
            meta_len: 0,
            part_us: 0,
            state: State::Closed,
            lost: 0,
            look_us: LOOK_US,
            live,
            is_log: false,
            warn,
            warned: false,
        };
        if let Err(error) = journal.open_part(at) {
            journal.fail(&error, 0, at, None, 0);
        }
        journal
    }

    /// The file that is being written.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.parts.last().map(PathBuf::as_path)
    }

    /// Writes what was observed. After `end` nothing is written any more.
    pub(crate) fn append<'a>(
        &mut self,
        at: Moment,
        observations: impl Iterator<Item = Observation<'a>> + Clone,
    ) {
        self.prepare(at, observations.clone().map(Observation::size).sum());
        self.is_log =
            observations.clone().all(|observation| matches!(observation, Observation::Stderr { .. }));
        for observation in observations {
            match observation {
                Observation::Message { dir, context, raw } if raw.len() >= LARGE && self.live.is_none() => {
                    self.encoder.message_head(&mut self.lines, at, dir, context);
                    self.count += 1;
                    self.write(at, raw);
                    continue;
                }
                Observation::Message { dir, context, raw } => {
                    self.encoder.message(&mut self.lines, at, dir, context, raw);
                }
                Observation::Text { dir, context, text } => {
                    self.encoder.text(&mut self.lines, at, dir, context, text);
                }
                Observation::Stderr { text } => {
                    self.encoder.stderr(&mut self.lines, at, Context::default(), text);
                }
                Observation::Http { context } => self.encoder.http(&mut self.lines, at, context),
            }
            self.finish_line();
        }
        self.write(at, &[]);
        self.is_log = false;
    }

    /// Writes the last line; how long this part took is known here.
    pub(crate) fn end(&mut self, at: Moment, end: LineEnd) {
        if let State::Failed { retry_us, .. } = &mut self.state {
            *retry_us = 0;
        }
        self.look_us = 0;
        self.prepare(at, 0);
        let lost = self.lost();
        let end = LineEnd {
            // Of this file, not of the recording: a v1 reader adds it to the file's `startedAt`.
            duration_ms: at.us.saturating_sub(self.part_us) / 1000,
            lost: (lost > 0).then_some(lost),
            ..end
        };
        self.encoder.end(&mut self.lines, at, &end);
        self.finish_line();
        self.write(at, &[]);
        self.lost = self.lost();
        self.state = State::Closed;
        if let Some(live) = self.live.take() {
            live.finish();
        }
    }

    /// How many lines could not be written.
    pub(crate) fn lost(&self) -> u64 {
        match &self.state {
            State::Failed { lost, .. } => self.lost + lost,
            _ => self.lost,
        }
    }

    /// Counts the line that was just encoded, and shows it to those who watch.
    fn finish_line(&mut self) {
        self.count += 1;
        if let Some(live) = &self.live {
            live.publish(&self.lines[self.published..self.lines.len() - 1]);
            self.published = self.lines.len();
        }
    }

    /// Hands the encoded lines to the kernel, and behind them the payload that the last of them began, if there is
    /// one.
    fn write(&mut self, at: Moment, payload: &[u8]) {
        let lines = std::mem::take(&mut self.lines);
        let count = std::mem::take(&mut self.count);
        let tail: &[u8] = if payload.is_empty() { b"" } else { Encoder::MESSAGE_TAIL };
        match &mut self.state {
            State::Open { file, len } => match write_pieces(file, &[&lines, payload, tail]) {
                Ok(written) => {
                    *len += written;
                    self.tee(&[&lines, payload, tail]);
                }
                Err(error) => self.fail_write(&error, count, at),
            },
            State::Failed { lost, .. } => *lost += count,
            State::Closed => {}
        }
        self.published = 0;
        self.lines = lines;
        self.lines.clear();
        self.lines.shrink_to(KEEP_CAPACITY);
    }

    fn tee(&self, pieces: &[&[u8]]) {
        if let Some(tee) = &self.options.tee
            && !self.is_log
        {
            tee(pieces);
        }
    }

    /// Sees to it that there is a file with room for `more` bytes: looks whether it is still there, rotates it, or
    /// tries again after a failure.
    fn prepare(&mut self, at: Moment, more: u64) {
        let next = match &self.state {
            State::Closed => return,
            State::Open { file, .. } if at.us >= self.look_us => {
                self.look_us = at.us + LOOK_US;
                if platform::is_deleted(file) { Next::Reopen } else { Next::Nothing }
            }
            State::Open { .. } => Next::Nothing,
            State::Failed { retry_us, .. } if at.us >= *retry_us => Next::Retry,
            State::Failed { .. } => return,
        };
        match next {
            Next::Reopen => {
                self.warn_once(|| Warning::Deleted);
                if let Err(error) = self.open_part(at) {
                    self.fail(&error, 0, at, None, 0);
                }
            }
            Next::Retry => self.retry(at),
            Next::Nothing => self.rotate_if_full(at, more),
        }
    }

    fn rotate_if_full(&mut self, at: Moment, more: u64) {
        let (State::Open { len, .. }, Some(max)) = (&self.state, self.options.max_bytes) else { return };
        // A part has its `meta` and one line at least, however small the limit is.
        if *len + more <= max || *len == self.meta_len {
            return;
        }
        let State::Open { mut file, .. } = std::mem::replace(&mut self.state, State::Closed) else { return };
        let mut line = Vec::new();
        self.encoder.rotated(&mut line, at, &self.part_name(self.part_number + 1));
        // A full disk will be met, and told, when the next part is begun.
        if file.write_all(&line).is_ok() {
            self.tee(&[&line]);
        }
        drop(file);
        match self.open_part(at) {
            Ok(()) => self.delete_old_parts(),
            Err(error) => self.fail(&error, 0, at, None, 0),
        }
    }

    fn delete_old_parts(&mut self) {
        let Some(max) = self.options.max_files else { return };
        while self.parts.len() > max.max(1) {
            // A part that can't be deleted is left to its owner.
            let _ = std::fs::remove_file(self.parts.remove(0));
        }
    }

    /// Begins the next part, with a `meta` of its own.
    fn open_part(&mut self, at: Moment) -> io::Result<()> {
        private::create_dir(&self.options.dir)?;
        let number = self.part_number + 1;
        let (path, mut file) = self.create_file(number)?;
        wiretape_library::mark_live(&file);
        let mut meta = self.meta.clone();
        if number > 1 {
            meta.id = Some(uuid::Uuid::new_v4().to_string());
            let previous = self.path().and_then(Path::file_name).unwrap_or_default();
            meta.part = Some(Part {
                index: number,
                of: self.first_id.clone(),
                previous: previous.to_string_lossy().into_owned(),
                us: at.us,
            });
        }
        let mut line = Vec::new();
        self.encoder.meta(&mut line, at, &meta);
        if let Err(error) = file.write_all(&line) {
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        if let Some(live) = &self.live {
            live.publish(&line[..line.len() - 1]);
        }
        self.tee(&[&line]);
        self.part_number = number;
        self.meta_len = line.len() as u64;
        self.part_us = at.us;
        self.parts.push(path);
        self.state = State::Open { file, len: line.len() as u64 };
        Ok(())
    }

    /// Creates the file of a part. Two recordings of one label may begin in the same millisecond: then the later one
    /// takes another name, for all its parts.
    fn create_file(&mut self, number: u64) -> io::Result<(PathBuf, File)> {
        let stem = self.stem.clone();
        let mut twin = 1;
        loop {
            let path = self.options.dir.join(self.part_name(number));
            match private::create_file(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && twin < 1000 => {
                    twin += 1;
                    self.stem = format!("{stem}-{twin}");
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn part_name(&self, number: u64) -> String {
        let part = if number == 1 { String::new() } else { format!(".{number}") };
        format!("{}{part}.jsonl", self.stem)
    }

    /// Takes back what was written of lines that could not be written whole.
    fn fail_write(&mut self, error: &io::Error, count: u64, at: Moment) {
        let State::Open { file, len } = std::mem::replace(&mut self.state, State::Closed) else { return };
        // If even that fails, the torn line stays, and the reader leaves it out.
        let _ = file.set_len(len);
        self.fail(error, count, at, Some(file), len);
    }

    fn fail(&mut self, error: &io::Error, lost: u64, at: Moment, file: Option<File>, len: u64) {
        let reason = error.to_string();
        self.state = State::Failed { reason: reason.clone(), lost, retry_us: at.us + RETRY_US, file, len };
        let target = self.path().unwrap_or(&self.options.dir).to_owned();
        self.warn_once(|| Warning::CannotWrite { path: target, reason });
    }

    fn warn_once(&mut self, warning: impl FnOnce() -> Warning) {
        if !std::mem::replace(&mut self.warned, true) {
            (self.warn)(warning());
        }
    }

    /// Goes on after a failure, with a line that says what is missing.
    fn retry(&mut self, at: Moment) {
        let State::Failed { reason, lost, file, len, .. } = std::mem::replace(&mut self.state, State::Closed)
        else {
            return;
        };
        match file.filter(|file| !platform::is_deleted(file)) {
            Some(file) => self.state = State::Open { file, len },
            None => {
                if let Err(error) = self.open_part(at) {
                    return self.fail(&error, lost, at, None, 0);
                }
            }
        }
        if lost == 0 {
            return;
        }
        let mut line = Vec::new();
        self.encoder.gap(&mut line, at, lost, &reason);
        let State::Open { file, len } = &mut self.state else { return };
        match write_pieces(file, &[&line]) {
            Ok(written) => {
                *len += written;
                self.lost += lost;
                self.tee(&[&line]);
            }
            Err(error) => self.fail_write(&error, lost, at),
        }
    }
}

enum Next {
    Nothing,
    Reopen,
    Retry,
}

/// Writes all the pieces, in one call if the kernel takes them so.
fn write_pieces(file: &mut File, pieces: &[&[u8]]) -> io::Result<u64> {
    let total: usize = pieces.iter().map(|piece| piece.len()).sum();
    if let [only, rest @ ..] = pieces
        && rest.iter().all(|piece| piece.is_empty())
    {
        // The usual case, and the kernel's shorter way.
        return file.write_all(only).map(|()| total as u64);
    }
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match file.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut rest, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(total as u64)
}
