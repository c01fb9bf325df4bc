//! The exit codes. They are stable, and listed for users in `docs/exit-codes.md`.

/// What the process ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExitCode(i32);

impl ExitCode {
    /// It worked. Also when whoever reads our output has stopped reading.
    pub(crate) const OK: Self = ExitCode(0);
    /// It did not work: a file can't be read, there is no such trace, a deletion failed, a configuration is not in order.
    pub(crate) const FAILURE: Self = ExitCode(1);
    /// The command line makes no sense, or lacks something. Nothing was done.
    pub(crate) const USAGE: Self = ExitCode(2);

    /// A transcript was brought in, but not all of it.
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
        for code in [ExitCode::OK, ExitCode::FAILURE, ExitCode::USAGE, ExitCode::INCOMPLETE] {
            assert!(page.contains(&format!("| {} |", code.0)), "docs/exit-codes.md lacks {code:?}");
        }
    }
}
