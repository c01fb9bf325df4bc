//! The journal writes a recording to disk. Each line is handed to the kernel as soon as it is complete; the file may be
//! rotated, deleted or hit a full disk, and none of that stops the traffic.
//!
//! **Why this shape.** Lines are written synchronously by the thread that saw them, under the caller's lock, without a queue:
//! design note 0001 has the reasons. So nothing here may return an error to the traffic: a failure is a state of the file
//! (`FileState::Failed`) in which lines are counted instead of written; an append retries once a second. What was
//! lost is recorded as a `gap` line when writing works again. Chained check values (`sha256`) are taken back with the lines
//! that could not be written, so that a trace with a gap still passes `wiretape integrity`.
//!
//! Redaction, framing and the meaning of lines are left to the callers.

use crate::live::LiveHub;
use crate::platform;
use crate::warning::{Warn, Warning};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use wiretape_library::private;
use wiretape_trace::format::{Chain, Context, Encoder, LineEnd, Meta, Moment, Part, WallClock};
use wiretape_trace::message::Direction;
use wiretape_trace::name;

/// Time between attempts to write after a failure, in microseconds.
const RETRY_US: u64 = 1_000_000;

/// Time between checks whether the file was deleted, in microseconds: a check is one more system call.
const DELETED_CHECK_US: u64 = 1_000_000;

/// A line buffer larger than this is shrunk after its write, so that one large message doesn't hold memory for the rest of
/// the session (`cargo xtask bench --only stdio`, the rows of peak memory).
const KEEP_CAPACITY: usize = 256 * 1024;

/// Payloads of at least this size are written with `writev` from the caller's buffer instead of being copied into the line
/// buffer (`cargo xtask bench --only stdio`, the rows "1 MiB each way").
const DIRECT_WRITE_BYTES: usize = 32 * 1024;

/// The wall clock and the monotonic clock of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    /// Where this clock counts from, on the clock that it was derived from.
    origin_us: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { start: Instant::now(), origin_us: 0 }
    }

    /// A clock that starts now. Its times are those of this one minus a whole number of microseconds, so the
    /// two never disagree about a duration.
    pub(crate) fn restarted(self) -> Self {
        Clock { origin_us: self.origin_us + self.us(), ..self }
    }

    /// The time since the start, in microseconds.
    pub(crate) fn us(self) -> u64 {
        let elapsed = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        elapsed.saturating_sub(self.origin_us)
    }

    /// When this clock started, on the one that it was derived from.
    pub(crate) fn origin_us(self) -> u64 {
        self.origin_us
    }

    /// A time of this clock, for timers.
    pub(crate) fn instant(self, us: u64) -> Instant {
        self.start + std::time::Duration::from_micros(us.saturating_add(self.origin_us))
    }

    pub(crate) fn now(self) -> Moment {
        // A clock before 1970 gives 0 instead of a panic.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { wall_ms: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX), us: self.us() }
    }
}

/// Where a recording is written, and how large it may grow.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// The directory of the trace files.
    pub dir: PathBuf,
    /// The size in bytes at which a part is closed and the next one begun.
    pub max_bytes: Option<u64>,
    /// Keep at most this many parts; the oldest are deleted.
    pub max_files: Option<usize>,
    /// Receives a copy of every line that was written, except the server's standard error.
    pub tee: Option<Tee>,
}

/// A callback for what was written to a trace: pieces that are whole lines when concatenated. Traffic waits for it, so it
/// must return quickly.
pub type Tee = Arc<dyn TeeFn>;

/// A tee callback. The trait exists so that [`JournalOptions`] can derive `Debug`.
pub trait TeeFn: Fn(&[&[u8]]) + Send + Sync {}
impl<F: Fn(&[&[u8]]) + Send + Sync> TeeFn for F {}

impl std::fmt::Debug for dyn TeeFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TeeFn")
    }
}

/// Something that was observed and redacted, ready to be written as one line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Observation<'a> {
    Message { dir: Direction, context: Context<'a>, raw: &'a [u8] },
    Text { dir: Direction, context: Context<'a>, text: &'a [u8] },
    Stderr { text: &'a [u8] },
    Http { context: Context<'a> },
}

impl Observation<'_> {
    /// The approximate length of its line, for deciding whether the part must be rotated first.
    fn estimated_size(self) -> u64 {
        const LINE_OVERHEAD: usize = 128;
        let (context, payload) = match self {
            Observation::Message { context, raw, .. } => (context, raw),
            Observation::Text { context, text, .. } => (context, text),
            Observation::Stderr { text } => (Context::default(), text),
            Observation::Http { context } => (context, &b""[..]),
        };
        (payload.len() + context.http.map_or(0, <[u8]>::len) + LINE_OVERHEAD) as u64
    }
}

/// The writer of one recording, over all its parts.
#[derive(Debug)]
pub(crate) struct Journal {
    options: JournalOptions,
    meta: Meta,
    stem: String,
    encoder: Encoder,
    /// The chain of check values up to the last written line. The encoder is reset to it when lines could not be written.
    written: Option<Chain>,
    /// The digest at the end of the previous part.
    previous_head: Option<String>,
    /// Encoded lines that are not written yet, their number, and how many of their bytes the live view already has.
    lines: Vec<u8>,
    count: u64,
    published: usize,
    /// The parts that exist, oldest first.
    parts: Vec<PathBuf>,
    part_number: u64,
    /// The length of this part's `meta` line in bytes.
    meta_len: u64,
    /// The start of this part, in microseconds since the recording began.
    part_us: u64,
    first_id: String,
    state: FileState,
    lost: u64,
    written_lines: u64,
    written_bytes: u64,
    deleted_check_us: u64,
    live: Option<LiveHub>,
    /// Whether the lines being written are only the server's standard error, which the tee doesn't get.
    is_stderr_only: bool,
    warn: Warn,
    warned: bool,
}

/// Whether the current part can be written to.
#[derive(Debug)]
enum FileState {
    Open {
        file: File,
        len: u64,
    },
    /// Lines are counted instead of written until `retry_us`. If there is a file, it may end in a torn line.
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
    /// Begins a recording. If the file can't be created, the user is warned and it is retried later.
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
            encoder: Encoder::chained(),
            written: None,
            previous_head: None,
            lines: Vec::new(),
            count: 0,
            published: 0,
            parts: Vec::new(),
            part_number: 0,
            meta_len: 0,
            part_us: 0,
            state: FileState::Closed,
            lost: 0,
            written_lines: 0,
            written_bytes: 0,
            deleted_check_us: DELETED_CHECK_US,
            live,
            is_stderr_only: false,
            warn,
            warned: false,
        };
        if let Err(error) = journal.open_part(at) {
            journal.fail(&error, 0, at, None, 0);
        }
        journal
    }

    /// The path of the current part.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.parts.last().map(PathBuf::as_path)
    }

    /// Encodes and writes the observations, with one write for all but the large ones. Does nothing after `end`.
    pub(crate) fn append<'a>(
        &mut self,
        at: Moment,
        observations: impl Iterator<Item = Observation<'a>> + Clone,
    ) {
        self.prepare_file(at, observations.clone().map(Observation::estimated_size).sum());
        self.is_stderr_only =
            observations.clone().all(|observation| matches!(observation, Observation::Stderr { .. }));
        for observation in observations {
            match observation {
                Observation::Message { dir, context, raw }
                    if raw.len() >= DIRECT_WRITE_BYTES && self.live.is_none() =>
                {
                    // The live view needs a line in one piece, so with viewers the payload is copied after all.
                    self.encoder.message_head(&mut self.lines, at, dir, context);
                    self.encoder.absorb_payload(raw);
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
        self.is_stderr_only = false;
    }

    /// Writes the `end` line and closes the file. The part's duration is filled in here.
    pub(crate) fn end(&mut self, at: Moment, end: LineEnd) {
        if let FileState::Failed { retry_us, .. } = &mut self.state {
            // The last chance to write: neither the pause after a failure nor the interval between checks applies.
            *retry_us = 0;
        }
        self.deleted_check_us = 0;
        self.prepare_file(at, 0);
        let lost = self.lost();
        let end = LineEnd {
            // The duration of this part, not of the recording: readers of format 1 add it to the file's `startedAt`.
            duration_ms: at.us.saturating_sub(self.part_us) / 1000,
            lost: (lost > 0).then_some(lost),
            ..end
        };
        self.encoder.end(&mut self.lines, at, &end);
        self.finish_line();
        self.write(at, &[]);
        self.lost = self.lost();
        self.state = FileState::Closed;
        if let Some(live) = self.live.take() {
            live.finish();
        }
    }

    /// The number of lines that could not be written.
    pub(crate) fn lost(&self) -> u64 {
        match &self.state {
            FileState::Failed { lost, .. } => self.lost + lost,
            _ => self.lost,
        }
    }

    /// The number of lines and of bytes that were written so far.
    pub(crate) fn written(&self) -> (u64, u64) {
        (self.written_lines, self.written_bytes)
    }

    /// Counts the line that was just encoded, and publishes it to the live view.
    fn finish_line(&mut self) {
        self.count += 1;
        if let Some(live) = &self.live {
            // Before the write: the live view shows what was seen even if the disk is full.
            live.publish(&self.lines[self.published..self.lines.len() - 1]);
            self.published = self.lines.len();
        }
    }

    /// Hands the encoded lines to the kernel, followed by the payload whose line they begin, if there is one.
    fn write(&mut self, at: Moment, payload: &[u8]) {
        // Taken out, because the calls below need all of `self`; the buffer is put back to keep its capacity.
        let lines = std::mem::take(&mut self.lines);
        let count = std::mem::take(&mut self.count);
        let tail: &[u8] = if payload.is_empty() { b"" } else { Encoder::MESSAGE_TAIL };
        match &mut self.state {
            FileState::Open { file, len } => match write_pieces(file, &[&lines, payload, tail]) {
                Ok(written) => {
                    *len += written;
                    self.written_bytes += written;
                    self.written_lines += count;
                    self.written = self.encoder.chain().cloned();
                    self.tee(&[&lines, payload, tail]);
                }
                Err(error) => self.fail_write(&error, count, at),
            },
            FileState::Failed { lost, .. } => {
                *lost += count;
                self.encoder.restore_chain(self.written.clone());
            }
            FileState::Closed => {}
        }
        self.published = 0;
        self.lines = lines;
        self.lines.clear();
        self.lines.shrink_to(KEEP_CAPACITY);
    }

    fn tee(&self, pieces: &[&[u8]]) {
        if let Some(tee) = &self.options.tee
            && !self.is_stderr_only
        {
            tee(pieces);
        }
    }

    /// Makes sure that there is a file with room for `more` bytes: reopens a deleted one, rotates a full one, or retries after
    /// a failure.
    fn prepare_file(&mut self, at: Moment, more: u64) {
        let repair = match &self.state {
            FileState::Closed => return,
            FileState::Open { file, .. } if at.us >= self.deleted_check_us => {
                self.deleted_check_us = at.us + DELETED_CHECK_US;
                if platform::is_deleted(file) { FileRepair::Reopen } else { FileRepair::NotNeeded }
            }
            FileState::Open { .. } => FileRepair::NotNeeded,
            FileState::Failed { retry_us, .. } if at.us >= *retry_us => FileRepair::Retry,
            FileState::Failed { .. } => return,
        };
        match repair {
            FileRepair::Reopen => {
                self.warn_once(|| Warning::Deleted);
                if let Err(error) = self.open_part(at) {
                    self.fail(&error, 0, at, None, 0);
                }
            }
            FileRepair::Retry => self.retry(at),
            FileRepair::NotNeeded => self.rotate_if_full(at, more),
        }
    }

    fn rotate_if_full(&mut self, at: Moment, more: u64) {
        let (FileState::Open { len, .. }, Some(max)) = (&self.state, self.options.max_bytes) else { return };
        // A part holds at least one line after its `meta`, however small the limit: otherwise a message above the limit would
        // rotate for ever.
        if *len + more <= max || *len == self.meta_len {
            return;
        }
        let FileState::Open { mut file, .. } = std::mem::replace(&mut self.state, FileState::Closed) else {
            return;
        };
        let mut line = Vec::new();
        self.encoder.rotated(&mut line, at, &self.part_name(self.part_number + 1));
        self.previous_head = Chain::head_in(&line);
        // A full disk is reported when opening the next part fails.
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
            // Deleting is best effort: a part that can't be deleted must not stop the recording.
            let _ = std::fs::remove_file(self.parts.remove(0));
        }
    }

    /// Creates the file of the next part and writes its `meta` line.
    fn open_part(&mut self, at: Moment) -> io::Result<()> {
        private::create_dir(&self.options.dir)?;
        let number = self.part_number + 1;
        let (path, mut file) = self.create_file(number)?;
        // Before the first line, so that no reader takes the file for one that was cut off.
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
                sha256: self.previous_head.take(),
            });
        }
        let mut line = Vec::new();
        self.encoder.meta(&mut line, at, &meta);
        if let Err(error) = file.write_all(&line) {
            // A file without a complete `meta` line is not a trace; readers would report it as broken.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        if let Some(live) = &self.live {
            live.publish(&line[..line.len() - 1]);
        }
        self.tee(&[&line]);
        self.written = self.encoder.chain().cloned();
        self.part_number = number;
        self.meta_len = line.len() as u64;
        self.part_us = at.us;
        self.parts.push(path);
        self.state = FileState::Open { file, len: line.len() as u64 };
        Ok(())
    }

    /// Creates the file of a part. Two recordings with the same label may begin in the same millisecond: the later one gets a
    /// suffix for all its parts.
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

    /// Truncates lines that were only partly written, and enters the failed state.
    fn fail_write(&mut self, error: &io::Error, count: u64, at: Moment) {
        let FileState::Open { file, len } = std::mem::replace(&mut self.state, FileState::Closed) else {
            return;
        };
        // If truncating fails too, the torn line stays, and readers skip it.
        let _ = file.set_len(len);
        self.encoder.restore_chain(self.written.clone());
        self.fail(error, count, at, Some(file), len);
    }

    fn fail(&mut self, error: &io::Error, lost: u64, at: Moment, file: Option<File>, len: u64) {
        let reason = error.to_string();
        self.state =
            FileState::Failed { reason: reason.clone(), lost, retry_us: at.us + RETRY_US, file, len };
        let target = self.path().unwrap_or(&self.options.dir).to_owned();
        self.warn_once(|| Warning::CannotWrite { path: target, reason });
    }

    fn warn_once(&mut self, warning: impl FnOnce() -> Warning) {
        if !std::mem::replace(&mut self.warned, true) {
            (self.warn)(warning());
        }
    }

    /// Resumes after a failure, with a `gap` line that counts what was lost.
    fn retry(&mut self, at: Moment) {
        let FileState::Failed { reason, lost, file, len, .. } =
            std::mem::replace(&mut self.state, FileState::Closed)
        else {
            return;
        };
        match file.filter(|file| !platform::is_deleted(file)) {
            // The same file, truncated to whole lines by `fail_write`: a full disk must not start a new part each
            // second.
            Some(file) => self.state = FileState::Open { file, len },
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
        let FileState::Open { file, len } = &mut self.state else { return };
        match write_pieces(file, &[&line]) {
            Ok(written) => {
                *len += written;
                self.written = self.encoder.chain().cloned();
                self.lost += lost;
                self.tee(&[&line]);
            }
            Err(error) => self.fail_write(&error, lost, at),
        }
    }
}

/// What has to happen before the next line can be written.
enum FileRepair {
    NotNeeded,
    Reopen,
    Retry,
}

/// Writes all the pieces, in one system call unless the kernel takes only part of them.
fn write_pieces(file: &mut File, pieces: &[&[u8]]) -> io::Result<u64> {
    let total: usize = pieces.iter().map(|piece| piece.len()).sum();
    if let [only, rest @ ..] = pieces
        && rest.iter().all(|piece| piece.is_empty())
    {
        // The usual case: `write` has a shorter path through the kernel than `writev`.
        return file.write_all(only).map(|()| total as u64);
    }
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    // Advancing by 0 drops leading empty slices; otherwise a write of nothing would look like `WriteZero`.
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
