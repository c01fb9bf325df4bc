//! The exit codes. They are stable, and listed for users in `docs/exit-codes.md`.
//!
//! The split is that of grep and diff: a script can tell findings from failures without reading standard error.

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExitCode(i32);

impl ExitCode {
    /// Success, and a check has no findings. Also if the reader of our output has closed it.
    pub(crate) const OK: Self = ExitCode(0);
    /// `lint`, `diff`, `verify`, `replay` or `integrity` has findings.
    pub(crate) const FOUND: Self = ExitCode(1);
    /// A usage error, or a failure: a file can't be read, a trace does not exist, a deletion failed.
    pub(crate) const FAILURE: Self = ExitCode(2);
    /// Only part of the input was imported or loaded.
    pub(crate) const INCOMPLETE: Self = ExitCode(3);

    /// The exit code of a wrapped command, or the one that a shell reports for a process that a signal ended.
    pub(crate) fn passed_on(code: i32) -> Self {
        ExitCode(code)
    }

    /// Ends the process. Nothing else calls `process::exit`. An `ExitCode` of std holds one byte only, and Windows has
    /// longer codes.
    pub(crate) fn exit(self) -> ! {
        std::process::exit(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_documented() {
        let page = include_str!("../../../docs/exit-codes.md");
        for code in [ExitCode::OK, ExitCode::FOUND, ExitCode::FAILURE, ExitCode::INCOMPLETE] {
            assert!(page.contains(&format!("| {} |", code.0)), "docs/exit-codes.md lacks {code:?}");
        }
    }
}
