//! `wiretape integrity`: whether a trace was changed after it was recorded. The check values are computed in
//! `wiretape-trace`; this module follows the parts of a recording, because a missing part is a change too.

mod signature;

use crate::ask::StoreArgs;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output::{self, Output};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::{trace_file, units};
use clap::Args;
use serde::Serialize;
use signature::{SignatureState, SigningKey, VerifyingKey};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use wiretape_analyze::summary::Ending;
use wiretape_events::store::{Store, StoreError};
use wiretape_library::recording::{Part, Recording};
use wiretape_library::{Liveness, open, recorder};
use wiretape_trace::format::Integrity;

/// Verify that traces were not modified after recording
///
/// Every line of a recording carries a check value over all bytes before it, and the last line carries the SHA-256 of the
/// whole file. This command reads a trace and the other parts of its recording, and reports for each file whether it is
/// intact, cut off or modified, and at which line. Anyone who can write the file can also compute new check values, so the
/// SHA-256 is compared with the one in the store, if the store has the trace. For a file that says that it is a redacted
/// copy, the SHA-256 that it names as its original's is compared instead. This is the file's own claim: the store can't
/// confirm the content of a copy. You can also sign traces: `--sign` writes a minisign signature beside each intact file, and
/// `--public-key` verifies it. The exit code is 0 if all files are intact and their signatures valid, and 1 otherwise.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape integrity latest
  wiretape integrity *.jsonl --json
  wiretape integrity latest --sign ~/.minisign/minisign.key
  wiretape integrity trace.jsonl --public-key minisign.pub")]
pub(crate) struct IntegrityArgs {
    /// Traces: paths, id prefixes, or `latest`
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// Sign each intact file with this minisign secret key; writes FILE.minisig
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,

    /// Verify the signatures with this minisign public key: a file, or the key itself
    #[arg(long, value_name = "KEY", conflicts_with = "sign")]
    public_key: Option<String>,

    /// Print one JSON object per file (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &IntegrityArgs) -> Result<ExitCode, CommandError> {
    // A key that can't be used is reported before any trace is read.
    let signing_key = args.sign.as_deref().map(SigningKey::read).transpose()?;
    let verifying_key = args.public_key.as_deref().map(VerifyingKey::read).transpose()?;
    let mut digests = StoredDigests::open(&args.store)?;
    let mut reports = Vec::new();
    for recording in recordings(&args.traces)? {
        check_recording(&recording, &mut digests, &mut reports)?;
    }
    for report in &mut reports {
        if let (Some(key), Some(head)) = (&signing_key, report.intact_head()) {
            key.sign(&report.path, head)?;
            report.signature = Some(SignatureState::Valid);
        }
        if let Some(key) = &verifying_key {
            report.signature = Some(key.check(&report.path, report.sha256.as_deref())?);
        }
    }
    if args.json {
        output::print_json_lines(&reports)?;
    } else {
        print(&reports)?;
    }
    let is_all_well = reports.iter().all(FileReport::is_well);
    Ok(if is_all_well { ExitCode::OK } else { ExitCode::FOUND })
}

/// The digests in the store. The default store is optional: if it is missing or can't be read, traces are checked on their own.
struct StoredDigests {
    store: Option<Store>,
    /// Named with `--store`: then an error ends the command.
    is_required: bool,
}

impl StoredDigests {
    fn open(args: &StoreArgs) -> Result<Self, CommandError> {
        if args.store.is_some() {
            return Ok(StoredDigests { store: Some(args.open()?), is_required: true });
        }
        // Without a home directory, as in many containers, there is no default path either.
        let opened = match args.path() {
            Ok(path) => match Store::open_read(&path) {
                Ok(store) => Ok(Some(store)),
                Err(StoreError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.to_string()),
            },
            Err(error) => Err(error.to_string()),
        };
        let store = opened.unwrap_or_else(|error| {
            warn_not_compared(&error);
            None
        });
        Ok(StoredDigests { store, is_required: false })
    }

    /// The digest of a trace, if the store has one.
    fn find(&mut self, id: &str) -> Result<Option<String>, CommandError> {
        let Some(store) = &self.store else { return Ok(None) };
        match store.trace_digest(id) {
            Ok(digest) => Ok(digest),
            Err(error) if self.is_required => Err(error.into()),
            Err(error) => {
                warn_not_compared(&error.to_string());
                // One warning is enough, and each read of a locked store waits for its timeout.
                self.store = None;
                Ok(None)
            }
        }
    }
}

fn warn_not_compared(error: &str) {
    output::warn(format!("traces are not compared with the store: {error}"));
}

fn recordings(traces: &[TraceSelector]) -> Result<Vec<Recording>, CommandError> {
    let mut named = Vec::new();
    for trace in traces {
        let path = trace.resolve()?;
        let head = trace_file::head(&path)?;
        named.push((path, head));
    }
    let mut recordings = Recording::of_traces(named);
    for recording in &mut recordings {
        recording.find_parts()?;
    }
    Ok(recordings)
}

/// The report on one file; also the object of `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileReport {
    path: PathBuf,
    state: IntegrityState,
    /// The last complete line of a truncated file, or the first modified line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// The digest in the store, if it has one for this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_sha256: Option<String>,
    /// The digest of the original, if the file says that it is a redacted copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_sha256: Option<String>,
    /// With `--sign` and `--public-key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<SignatureState>,
}

impl FileReport {
    fn new(path: PathBuf, state: IntegrityState) -> Self {
        FileReport {
            path,
            state,
            line: None,
            lines: None,
            sha256: None,
            stored_sha256: None,
            original_sha256: None,
            signature: None,
        }
    }

    /// Compares an intact file with the store.
    fn compare(&mut self, digests: &mut StoredDigests, id: &str) -> Result<(), CommandError> {
        let Some(head) = self.intact_head() else { return Ok(()) };
        let Some(stored) = digests.find(id)? else { return Ok(()) };
        // A redacted copy has a digest of its own; only that of its original can be in the store. The file names its original,
        // so a match shows only what the file says: a forged copy can name any digest.
        if self.original_sha256.as_deref().unwrap_or(head) != stored {
            self.state = IntegrityState::Differs;
        }
        self.stored_sha256 = Some(stored);
        Ok(())
    }

    fn intact_head(&self) -> Option<&str> {
        self.sha256.as_deref().filter(|_| self.state == IntegrityState::Intact)
    }

    fn is_well(&self) -> bool {
        let is_signed = self.signature.is_none_or(|signature| signature == SignatureState::Valid);
        is_signed && matches!(self.state, IntegrityState::Intact | IntegrityState::Recording)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum IntegrityState {
    Intact,
    /// Still being recorded, and intact so far.
    Recording,
    CutOff,
    Modified,
    /// Intact in itself, but the store has another digest for this trace.
    Differs,
    /// The part before names this file, which does not exist.
    Missing,
    /// The file carries no check values.
    Unchecked,
}

/// Checks the files of a recording, and that each part follows the one before it.
fn check_recording(
    recording: &Recording,
    digests: &mut StoredDigests,
    reports: &mut Vec<FileReport>,
) -> Result<(), CommandError> {
    let mut previous: Option<String> = None;
    for part in &recording.parts {
        let head = trace_file::head(&part.path)?;
        let link = head.meta.as_ref().and_then(|meta| meta.part.as_ref()?.sha256.clone());
        // A running recording has no last line yet, which would otherwise look cut off.
        let is_live = recorder(&part.path, &head) == Liveness::Running;
        let mut report = report(part.path.clone(), open::integrity(&part.path)?, is_live);
        if report.state != IntegrityState::Unchecked && previous.is_some() && previous != link {
            // The `meta` of a part names the digest of the part before.
            (report.state, report.line) = (IntegrityState::Modified, Some(1));
        }
        // None for a part that is not intact: then the link of the next part can't be checked, and is not reported
        // again.
        previous.clone_from(&report.sha256);
        if let Some(id) = part.id.as_deref() {
            report.compare(digests, id)?;
        }
        reports.push(report);
        reports.extend(check_successor(recording, part)?);
    }
    Ok(())
}

/// The report on a following part that is not part of this recording. Without it, a recording whose last parts were deleted
/// or replaced would pass as intact.
fn check_successor(recording: &Recording, part: &Part) -> Result<Option<FileReport>, CommandError> {
    let Ending::Rotated { next } = trace_file::ending(&part.path)? else { return Ok(None) };
    if recording.parts.iter().any(|other| other.index == part.index + 1) {
        return Ok(None);
    }
    // Only the name counts: a trace could name any path, and parts are always in one directory.
    let path = part.path.with_file_name(Path::new(&next).file_name().unwrap_or_default());
    let (state, line) =
        if path.exists() { (IntegrityState::Modified, Some(1)) } else { (IntegrityState::Missing, None) };
    Ok(Some(FileReport { line, ..FileReport::new(path, state) }))
}

fn report(path: PathBuf, integrity: Integrity, is_live: bool) -> FileReport {
    let fresh = FileReport::new(path, IntegrityState::Unchecked);
    match integrity {
        Integrity::Intact { lines, head, original } => FileReport {
            state: IntegrityState::Intact,
            lines: Some(lines),
            sha256: Some(head),
            original_sha256: original,
            ..fresh
        },
        Integrity::CutOff { line } if is_live => {
            FileReport { state: IntegrityState::Recording, lines: Some(line), ..fresh }
        }
        Integrity::CutOff { line } => FileReport { state: IntegrityState::CutOff, line: Some(line), ..fresh },
        Integrity::Modified { line } => {
            FileReport { state: IntegrityState::Modified, line: Some(line), ..fresh }
        }
        Integrity::Unchecked => fresh,
    }
}

/// What the store adds about an intact file: without this, a trace whose id was changed would look like one that was compared.
fn comparison(report: &FileReport) -> &'static str {
    match (&report.original_sha256, &report.stored_sha256) {
        (None, None) => "",
        (None, Some(_)) => "; same as in the store",
        (Some(_), None) => "; says that it is a redacted copy",
        (Some(_), Some(_)) => "; says that it is a redacted copy of the recording in the store",
    }
}

/// Both digests of a file that differs from the store.
fn difference(report: &FileReport) -> String {
    let [own, original, stored] = [&report.sha256, &report.original_sha256, &report.stored_sha256]
        .map(|digest| digest.as_deref().map(|digest| digest.chars().take(8).collect::<String>()));
    let stored = stored.unwrap_or_default();
    match original {
        Some(original) => format!("copied from sha256 {original}, the store has {}", printable(&stored)),
        None => format!("sha256 {}, the store has {}", own.unwrap_or_default(), printable(&stored)),
    }
}

fn print(reports: &[FileReport]) -> io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    for report in reports {
        let path = report.path.display().to_string();
        let line = report.line.unwrap_or(0);
        let lines = units::count(report.lines.unwrap_or(0), "line");
        let state = match report.state {
            IntegrityState::Intact => styles.good.paint("intact".to_owned()),
            IntegrityState::Recording => styles.good.paint("intact so far".to_owned()),
            IntegrityState::CutOff => styles.warning.paint(format!("cut off after line {line}")),
            IntegrityState::Modified => styles.error.paint(format!("modified at line {line}")),
            IntegrityState::Differs => styles.error.paint("differs from the store".to_owned()),
            IntegrityState::Missing => styles.error.paint("missing".to_owned()),
            IntegrityState::Unchecked => styles.warning.paint("not verifiable".to_owned()),
        };
        write!(out, "{}: {state}", printable(&path))?;
        match (report.state, &report.sha256) {
            (IntegrityState::Intact, Some(head)) => {
                writeln!(out, ", {lines}, sha256 {head}{}", comparison(report))?;
            }
            (IntegrityState::Differs, _) => writeln!(out, ": {}", difference(report))?,
            (IntegrityState::Recording, _) => writeln!(out, ", {lines}; still being recorded")?,
            (IntegrityState::CutOff, _) => writeln!(out, "; everything up to there is intact")?,
            (IntegrityState::Missing, _) => writeln!(out, "; the recording continues in this file")?,
            (IntegrityState::Unchecked, _) => {
                writeln!(out, ": no check values (imported, or written by another program)")?;
            }
            _ => writeln!(out)?,
        }
        match report.signature {
            Some(SignatureState::Valid) => writeln!(out, "  signature: {}", styles.good.paint("valid"))?,
            Some(SignatureState::Invalid) => writeln!(out, "  signature: {}", styles.error.paint("INVALID"))?,
            Some(SignatureState::Missing) => writeln!(out, "  signature: {}", styles.error.paint("missing"))?,
            None => {}
        }
    }
    out.flush()
}
