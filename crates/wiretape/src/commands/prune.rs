//! `wiretape prune`: deletes old traces. It first prints a plan, and executes it if the user agrees.

use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Table};
use crate::text::printable;
use crate::{dirs, trace_file, units};
use clap::Args;
use serde::Serialize;
use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wiretape_analyze::summary::Ending;
use wiretape_library::{Catalog, CatalogEntry};
use wiretape_library::{Liveness, liveness};

/// Delete old traces, after confirmation
///
/// Shows the plan and asks before deleting anything. A trace that is still being recorded is never deleted, nor is a file
/// that does not start like a trace. The age of a trace is the time since its last write; each part of a rotated recording
/// has its own age.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape prune --older-than 30d             delete traces older than 30 days
  wiretape prune --max-total 2GB              delete the oldest until at most 2 GB remain
  wiretape prune --older-than 2w --dry-run    show the plan only
  wiretape prune --older-than 30d --yes       don't ask, for scripts")]
pub(crate) struct PruneArgs {
    /// Delete traces whose last write is older than AGE: 30d, 2w, 12h
    #[arg(long, value_name = "AGE", value_parser = units::parse_age)]
    older_than: Option<Duration>,

    /// Delete the oldest traces until all together are at most SIZE: 500MB, 2GB, 1GiB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_total: Option<u64>,

    /// Prune DIR instead of the default directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Delete without asking
    #[arg(short, long)]
    yes: bool,

    /// Show the plan without deleting anything
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Print the plan and the result as one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &PruneArgs) -> Result<(), CommandError> {
    let criteria = Criteria { older_than: args.older_than, max_total: args.max_total };
    if criteria == Criteria::default() {
        return Err(CommandError::usage("no pruning criteria")
            .hint("use --older-than AGE (30d, 2w), --max-total SIZE (2GB), or both"));
    }
    let dir = args.dir.clone().map_or_else(dirs::traces_dir, Ok)?;
    if args.dir.is_some() && !dir.is_dir() {
        return Err(CommandError::failure(format!("directory {} does not exist", dir.display())));
    }
    let plan = PrunePlan::new(candidates(&dir)?, &criteria, SystemTime::now());
    if !args.json {
        print_plan(&plan, &dir)?;
    }
    let result = match consent(args, &plan) {
        Consent::Given => Some(plan.execute()),
        Consent::NotNeeded | Consent::Refused => None,
        Consent::Impossible => {
            // The plan is printed even so: it is what the user has to decide on.
            if args.json {
                print_json(&plan, None)?;
            }
            return Err(CommandError::usage(
                "nothing was deleted: can't ask for confirmation without a terminal",
            )
            .hint("use --yes to delete without asking, or --dry-run to show the plan only"));
        }
    };
    if args.json {
        print_json(&plan, result.as_ref())?;
    } else if let Some(result) = &result {
        print_result(result)?;
    }
    match result {
        // After the result was printed: what was deleted is gone, whatever failed.
        Some(result) if !result.failed.is_empty() => Err(CommandError::failure(format!(
            "{} could not be deleted",
            units::count(result.failed.len() as u64, "file")
        ))),
        _ => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Criteria {
    older_than: Option<Duration>,
    max_total: Option<u64>,
}

/// A trace that may be deleted.
#[derive(Debug, Clone)]
struct Candidate {
    path: PathBuf,
    label: String,
    bytes: u64,
    modified: SystemTime,
    part: RecordingPart,
    keep: Option<Keep>,
}

/// Whether a trace is a complete recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordingPart {
    Whole,
    OfRotated,
}

/// Why a trace is kept regardless of the criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// It is being recorded.
    Running,
    /// It has no end, was written recently, and this machine can't tell whether it is being recorded.
    MaybeRunning,
    /// It does not start with `meta`: it may not be a trace.
    NoMeta,
}

/// Why a trace is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Reason {
    TooOld,
    TooMuch,
}

fn candidates(dir: &Path) -> Result<Vec<Candidate>, CommandError> {
    let catalog = Catalog::open(dir, &dirs::index_dir()?)?;
    for error in &catalog.unreadable {
        output::warn(format!("{error}; skipped"));
    }
    catalog.entries.iter().map(candidate).collect()
}

fn candidate(entry: &CatalogEntry) -> Result<Candidate, CommandError> {
    let ending = trace_file::ending(&entry.path)?;
    // The first part of a rotated recording only shows at its end that it is one.
    let is_part = entry.facts.is_later_part || matches!(ending, Ending::Rotated { .. });
    Ok(Candidate {
        path: entry.path.clone(),
        label: entry.label().to_owned(),
        bytes: entry.bytes(),
        modified: entry.modified(),
        part: if is_part { RecordingPart::OfRotated } else { RecordingPart::Whole },
        keep: keep(entry, &ending),
    })
}

fn keep(entry: &CatalogEntry, ending: &Ending) -> Option<Keep> {
    // A recording that this machine can't check, for instance on a shared disk, is spared for a day after its last
    // write.
    const RECENT: Duration = Duration::from_secs(24 * 3600);
    let is_recent = entry.modified().elapsed().is_ok_and(|age| age < RECENT);
    match entry.recorder() {
        Liveness::Running => Some(Keep::Running),
        Liveness::Unknown if *ending == Ending::Missing && is_recent => Some(Keep::MaybeRunning),
        _ if !entry.facts.has_meta => Some(Keep::NoMeta),
        _ => None,
    }
}

/// The traces to delete, with reasons, and those that are kept in spite of the criteria.
#[derive(Debug)]
struct PrunePlan {
    deletions: Vec<Deletion>,
    spared: Vec<(Candidate, Keep)>,
    kept_files: u64,
    kept_bytes: u64,
}

#[derive(Debug)]
struct Deletion {
    candidate: Candidate,
    age: Duration,
    reason: Reason,
}

impl PrunePlan {
    fn new(mut candidates: Vec<Candidate>, criteria: &Criteria, now: SystemTime) -> Self {
        // Oldest first, so that the total shrinks by the oldest. By path if equal, so that a dry run shows what a run
        // deletes.
        candidates.sort_by(|a, b| a.modified.cmp(&b.modified).then_with(|| a.path.cmp(&b.path)));
        let mut plan = PrunePlan { deletions: Vec::new(), spared: Vec::new(), kept_files: 0, kept_bytes: 0 };
        let mut total: u64 = candidates.iter().map(|candidate| candidate.bytes).sum();
        for candidate in candidates {
            // A modification time in the future counts as age 0.
            let age = now.duration_since(candidate.modified).unwrap_or_default();
            let reason = if criteria.older_than.is_some_and(|limit| age > limit) {
                Some(Reason::TooOld)
            } else {
                criteria.max_total.is_some_and(|limit| total > limit).then_some(Reason::TooMuch)
            };
            match (reason, candidate.keep) {
                (Some(reason), None) => {
                    // Spared traces stay in the total: the limit is about the directory, so others go in their place.
                    total -= candidate.bytes;
                    plan.deletions.push(Deletion { candidate, age, reason });
                }
                (reason, keep) => {
                    plan.kept_files += 1;
                    plan.kept_bytes += candidate.bytes;
                    if let (Some(_), Some(keep)) = (reason, keep) {
                        plan.spared.push((candidate, keep));
                    }
                }
            }
        }
        plan
    }

    fn bytes(&self) -> u64 {
        self.deletions.iter().map(|deletion| deletion.candidate.bytes).sum()
    }

    fn has_parts(&self) -> bool {
        self.deletions.iter().any(|deletion| deletion.candidate.part == RecordingPart::OfRotated)
    }

    fn execute(&self) -> PruneResult {
        let mut result = PruneResult::default();
        for Deletion { candidate, .. } in &self.deletions {
            // A recorder may have resumed the file since the plan was made.
            let deleted = if liveness(&candidate.path) == Liveness::Running {
                Err(io::Error::other("still being recorded"))
            } else {
                fs::remove_file(&candidate.path)
            };
            match deleted {
                Ok(()) => {
                    result.deleted += 1;
                    result.bytes += candidate.bytes;
                }
                Err(error) => result.failed.push((candidate.path.clone(), error.to_string())),
            }
        }
        result
    }
}

/// The result of a plan.
#[derive(Debug, Default)]
struct PruneResult {
    deleted: u64,
    bytes: u64,
    failed: Vec<(PathBuf, String)>,
}

/// Whether the user agrees to a plan. Without a terminal there is no way to ask, and deleting must never be the
/// default.
enum Consent {
    NotNeeded,
    Given,
    Refused,
    Impossible,
}

fn consent(args: &PruneArgs, plan: &PrunePlan) -> Consent {
    if args.dry_run || plan.deletions.is_empty() {
        return Consent::NotNeeded;
    }
    if args.yes {
        return Consent::Given;
    }
    // The question is on standard error, where it is seen even if the plan is redirected.
    if args.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Consent::Impossible;
    }
    let question = format!("Delete {}? [y/N] ", units::count(plan.deletions.len() as u64, "file"));
    let mut answer = String::new();
    let asked = write!(anstream::stderr(), "{question}").and_then(|()| io::stderr().flush());
    match asked.and_then(|()| io::stdin().read_line(&mut answer)) {
        Ok(_) if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") => Consent::Given,
        _ => {
            output::note("nothing was deleted");
            Consent::Refused
        }
    }
}

const COLUMNS: [Column; 5] = [
    Column { title: "FILE", align: Align::Left, room: Room::Flexible },
    Column { title: "LABEL", align: Align::Left, room: Room::Optional(1) },
    Column { title: "AGE", align: Align::Right, room: Room::Fixed },
    Column { title: "SIZE", align: Align::Right, room: Room::Fixed },
    Column { title: "REASON", align: Align::Left, room: Room::Fixed },
];

fn print_plan(plan: &PrunePlan, dir: &Path) -> io::Result<()> {
    let mut out = Output::stdout();
    let (styles, width) = (out.styles, out.width);
    for (candidate, keep) in &plan.spared {
        writeln!(out, "{} {}: {}", styles.dim.paint("keeping"), file_name(&candidate.path), keep.describe())?;
    }
    if plan.deletions.is_empty() {
        let kept = units::count(plan.kept_files, "trace");
        writeln!(out, "Nothing to prune in {}: {kept}, {}.", dir.display(), units::bytes(plan.kept_bytes))?;
        return out.flush();
    }
    writeln!(out, "Traces to delete from {}:\n", dir.display())?;
    let mut table = Table::new(&COLUMNS);
    for Deletion { candidate, age, reason } in &plan.deletions {
        let age = units::duration(u64::try_from(age.as_micros()).unwrap_or(u64::MAX));
        table.row(vec![
            file_name(&candidate.path).into(),
            Cell::new(styles.dim, printable(&candidate.label)),
            age.into(),
            units::bytes(candidate.bytes).into(),
            Cell::new(styles.warning, reason.describe(candidate.part)),
        ]);
    }
    table.write(&mut out, &styles, width)?;
    if plan.has_parts() {
        writeln!(
            out,
            "\n{}",
            styles.dim.paint("Parts of a rotated recording have their own age: other parts may be kept.")
        )?;
    }
    let deleted = units::count(plan.deletions.len() as u64, "file");
    let kept = units::count(plan.kept_files, "file");
    writeln!(
        out,
        "\n{deleted} ({}) to delete, {kept} ({}) to keep.",
        units::bytes(plan.bytes()),
        units::bytes(plan.kept_bytes)
    )?;
    out.flush()
}

fn print_result(result: &PruneResult) -> io::Result<()> {
    for (path, error) in &result.failed {
        output::warn(format!("can't delete {}: {error}", path.display()));
    }
    let mut out = Output::stdout();
    writeln!(out, "Deleted {} ({}).", units::count(result.deleted, "file"), units::bytes(result.bytes))?;
    out.flush()
}

fn file_name(path: &Path) -> String {
    printable(&path.file_name().unwrap_or_default().to_string_lossy()).into_owned()
}

impl Keep {
    fn describe(self) -> &'static str {
        match self {
            Keep::Running => "still being recorded",
            Keep::MaybeRunning => "it has no end and was written recently, so it may still be recorded",
            Keep::NoMeta => "it does not start like a trace",
        }
    }
}

impl Reason {
    fn describe(self, part: RecordingPart) -> String {
        let why = match self {
            Reason::TooOld => "too old",
            Reason::TooMuch => "over the total size",
        };
        if part == RecordingPart::OfRotated { format!("{why} (part)") } else { why.to_owned() }
    }
}

fn print_json(plan: &PrunePlan, result: Option<&PruneResult>) -> io::Result<()> {
    let report = PruneJson {
        plan: PlanJson {
            delete: plan.deletions.iter().map(DeletionJson::new).collect(),
            delete_bytes: plan.bytes(),
            spared: plan
                .spared
                .iter()
                .map(|(candidate, keep)| SparedJson { path: &candidate.path, why: keep.describe() })
                .collect(),
            kept_files: plan.kept_files,
            kept_bytes: plan.kept_bytes,
        },
        result: result.map(|result| ResultJson {
            deleted_files: result.deleted,
            deleted_bytes: result.bytes,
            failed: result.failed.iter().map(|(path, error)| FailureJson { path, error }).collect(),
        }),
    };
    let mut out = output::machine_stdout();
    serde_json::to_writer_pretty(&mut out, &report)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The object of `prune --json`.
#[derive(Serialize)]
struct PruneJson<'a> {
    plan: PlanJson<'a>,
    result: Option<ResultJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanJson<'a> {
    delete: Vec<DeletionJson<'a>>,
    delete_bytes: u64,
    spared: Vec<SparedJson<'a>>,
    kept_files: u64,
    kept_bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeletionJson<'a> {
    path: &'a Path,
    label: &'a str,
    bytes: u64,
    age_seconds: u64,
    reason: Reason,
    is_part: bool,
}

impl<'a> DeletionJson<'a> {
    fn new(deletion: &'a Deletion) -> Self {
        let Deletion { candidate, age, reason } = deletion;
        DeletionJson {
            path: &candidate.path,
            label: &candidate.label,
            bytes: candidate.bytes,
            age_seconds: age.as_secs(),
            reason: *reason,
            is_part: candidate.part == RecordingPart::OfRotated,
        }
    }
}

#[derive(Serialize)]
struct SparedJson<'a> {
    path: &'a Path,
    why: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultJson<'a> {
    deleted_files: u64,
    deleted_bytes: u64,
    failed: Vec<FailureJson<'a>>,
}

#[derive(Serialize)]
struct FailureJson<'a> {
    path: &'a Path,
    error: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn candidate(name: &str, days: u32, bytes: u64, keep: Option<Keep>) -> Candidate {
        Candidate {
            path: name.into(),
            label: String::new(),
            bytes,
            modified: SystemTime::UNIX_EPOCH + DAY * (100 - days),
            part: RecordingPart::Whole,
            keep,
        }
    }

    fn check(candidates: &[Candidate], older_than: Option<u32>, max_total: Option<u64>, expected: &[&str]) {
        let criteria = Criteria { older_than: older_than.map(|days| DAY * days), max_total };
        let now = SystemTime::UNIX_EPOCH + DAY * 100;
        let plan = PrunePlan::new(candidates.to_vec(), &criteria, now);
        let deleted = plan.deletions.iter().map(|d| format!("{} {:?}", d.candidate.path.display(), d.reason));
        let spared = plan.spared.iter().map(|(c, keep)| format!("{} {keep:?}", c.path.display()));
        assert_eq!(deleted.chain(spared).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_oldest_go_first_and_the_running_stay() {
        let all = [
            candidate("b", 20, 10, None),
            candidate("a", 30, 10, None),
            candidate("live", 40, 10, Some(Keep::Running)),
            candidate("new", 1, 10, None),
        ];
        check(&all, None, None, &[]);
        check(&all, Some(30), None, &["live Running"]);
        check(&all, Some(25), None, &["a TooOld", "live Running"]);
        check(&all, None, Some(40), &[]);
        check(&all, None, Some(39), &["a TooMuch", "live Running"]);
        check(&all, None, Some(0), &["a TooMuch", "b TooMuch", "new TooMuch", "live Running"]);
        check(&all, Some(25), Some(20), &["a TooOld", "b TooMuch", "live Running"]);
    }

    #[test]
    fn a_file_from_the_future_is_young() {
        let mut all = [candidate("a", 0, 1, None)];
        all[0].modified += DAY * 9;
        check(&all, Some(0), None, &[]);
    }
}
