//! The exit codes. They are stable, and listed for users in `docs/exit-codes.md`.
//!
//! The split is that of grep and diff: a script can tell "something was found" from "it did not work" without reading
//! standard error.

/// What the process ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExitCode(i32);

impl ExitCode {
    /// It worked, and a check found nothing. Also when the reader of our output has stopped reading.
    pub(crate) const OK: Self = ExitCode(0);
    /// `lint`, `diff`, `verify` or `replay` found something.
    pub(crate) const FOUND: Self = ExitCode(1);
    /// A usage error, or a failure: a file can't be read, there is no such trace, a deletion failed.
    pub(crate) const FAILURE: Self = ExitCode(2);
    /// Only part of the input could be imported or loaded.
    pub(crate) const INCOMPLETE: Self = ExitCode(3);

    /// That of a wrapped command.
    pub(crate) fn passed_on(code: i32) -> Self {
        ExitCode(code)
    }

    /// Ends the process. The only place that does; a plain byte would not do, for Windows has longer codes.
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
