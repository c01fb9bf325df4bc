//! The results, as input for all output formats.

use super::{json_view, junit};
use crate::units;
use std::io::{self, Write as _};
use std::path::Path;
use wiretape_analyze::verify::{Checked, Offers, Script, Skip, Verdict, Verified};
use wiretape_library::Draft;

/// Why a difference is inconclusive.
pub(super) fn after_skipped_writes(count: u64) -> String {
    let were = if count == 1 { "was" } else { "were" };
    format!(
        "differs, but {} before it {were} skipped (use --allow-writes to make them)",
        units::count(count, "call")
    )
}

/// The results of a run.
pub(super) struct VerifyReport<'r> {
    /// The display name of the trace.
    pub(super) name: &'r str,
    pub(super) script: &'r Script,
    pub(super) verified: &'r Verified,
    pub(super) offers: Offers,
}

impl VerifyReport<'_> {
    /// The tool or method of a call.
    pub(super) fn call(&self, checked: &Checked) -> String {
        let tape = self.script.tape();
        tape.kind(tape.call(checked.call)).to_string()
    }

    /// The line of its request in the trace.
    pub(super) fn line(&self, checked: &Checked) -> u64 {
        self.script.tape().call(checked.call).line
    }

    /// Whether a call that was answered when recorded has no response now.
    pub(super) fn is_cut_short(&self) -> bool {
        let is_cut =
            |checked: &Checked| matches!(checked.verdict, Verdict::Missing(_) | Verdict::Skipped(Skip::Gone));
        self.verified.calls.iter().any(is_cut)
    }

    /// Writes a report in the format that matches its file name.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut draft = Draft::beside(path)?;
        if path.extension().is_some_and(|extension| extension == "xml") {
            junit::write(&mut draft, self)?;
        } else {
            json_view::write_document(&mut draft, self)?;
        }
        draft.flush()?;
        draft.publish()
    }
}
