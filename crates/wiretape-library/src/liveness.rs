//! Whether a recorder is still writing a trace.
//!
//! A recorder holds an advisory lock on its file while the file is open. The kernel releases the lock when
//! the process ends, however it ends, which a pid file can't do. On Windows a lock would keep readers out, so
//! liveness is unknown there.

use crate::open::Head;
use std::fs::File;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use wiretape_analyze::reading::RecordingState;
use wiretape_trace::format::Meta;

/// Whether a recorder is still writing a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// A recorder holds the file open.
    Running,
    /// No recorder holds the file open.
    Stopped,
    /// The system does not support finding out.
    Unknown,
}

/// Marks a trace as being written, for as long as the file is open.
#[cfg(unix)]
pub fn mark_live(file: &File) {
    use std::fs::TryLockError;
    // Another process that checks liveness holds the lock for a moment. Some network file systems have no
    // locks; then the trace only looks as if its recorder was gone.
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}

/// Marks a trace as being written: impossible here, see the module's documentation.
#[cfg(not(unix))]
pub fn mark_live(_: &File) {}

/// Whether the file at `path` is being written.
#[cfg(unix)]
pub fn liveness(path: &Path) -> Liveness {
    use std::fs::TryLockError;
    let Ok(file) = File::open(path) else { return Liveness::Unknown };
    // A shared lock, so that several readers can check at the same time without mistaking each other for a
    // recorder.
    match file.try_lock_shared() {
        Ok(()) => Liveness::Stopped,
        Err(TryLockError::WouldBlock) => Liveness::Running,
        Err(TryLockError::Error(_)) => Liveness::Unknown,
    }
}

/// Whether the file at `path` is being written: unknown here.
#[cfg(not(unix))]
pub fn liveness(_: &Path) -> Liveness {
    Liveness::Unknown
}

/// The program that wrote a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// Wiretape, which marks its files while it writes them.
    Wiretape,
    /// A program that doesn't hold the lock.
    Other,
}

impl Writer {
    pub(crate) fn of(meta: Option<&Meta>) -> Self {
        let producer = meta.and_then(|meta| meta.producer.as_ref());
        if producer.is_some_and(|producer| producer.name == "wiretape") {
            Writer::Wiretape
        } else {
            Writer::Other
        }
    }
}

/// Whether a recorder is still writing a trace. Unknown for files of other producers, which may write without
/// a lock.
pub fn recorder(path: &Path, head: &Head) -> Liveness {
    recorder_of(path, Writer::of(head.meta.as_ref()))
}

pub(crate) fn recorder_of(path: &Path, writer: Writer) -> Liveness {
    match liveness(path) {
        Liveness::Stopped if writer == Writer::Other => Liveness::Unknown,
        known => known,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_live_while_its_recorder_has_it_open() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.jsonl");
        let file = crate::private::create_file(&path).expect("a file");
        assert_eq!(liveness(&path), Liveness::Stopped);
        mark_live(&file);
        assert_eq!(liveness(&path), Liveness::Running);
        drop(file);
        assert_eq!(liveness(&path), Liveness::Stopped);
        assert_eq!(liveness(&dir.path().join("missing")), Liveness::Unknown);
        // Another producer may write a file without a lock.
        assert_eq!(recorder(&path, &Head::default()), Liveness::Unknown);
    }
}

/// The state of a recording that is still being written.
pub fn running_now() -> RecordingState {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RecordingState::Running { now_ms: i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX) }
}

/// Whether the recording at `path` may continue. If so, open calls are pending rather than unanswered.
pub fn recording_state(path: &Path) -> RecordingState {
    match liveness(path) {
        Liveness::Running => running_now(),
        Liveness::Stopped | Liveness::Unknown => RecordingState::Over,
    }
}
