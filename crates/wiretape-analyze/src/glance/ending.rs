//! Describes how a recording ended.

use wiretape_trace::format::End;

/// Describes how a server ended: `exit 1`, `SIGKILL`, or the recorded reason.
pub fn describe_end(end: &End) -> String {
    match (end.signal, end.exit_code, &end.reason) {
        (_, _, Some(reason)) if end.was_stopped() => reason.clone(),
        (Some(signal), _, _) => signal_name(signal),
        // 127 is what a shell returns for a command that it can't find; the recorder uses it, too, and adds the
        // reason.
        (None, Some(127), Some(reason)) => format!("not started: {reason}"),
        (None, Some(code), _) => format!("exit {code}"),
        (None, None, Some(reason)) => reason.clone(),
        (None, None, None) => "ended".to_owned(),
    }
}

/// The name of a signal with the same number on all platforms; others by number.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_described() {
        let check = |end: End, expected: &str| assert_eq!(describe_end(&end), expected);
        check(End { exit_code: Some(0), ..End::default() }, "exit 0");
        check(End { exit_code: Some(137), signal: Some(9), ..End::default() }, "SIGKILL");
        check(
            End { exit_code: Some(127), reason: Some("no such file".into()), ..End::default() },
            "not started: no such file",
        );
        check(End { reason: Some("closed".into()), ..End::default() }, "closed");
        check(End::default(), "ended");
        let reason = Some("stopped by SIGTERM".into());
        check(End { exit_code: Some(143), signal: Some(15), reason, ..End::default() }, "stopped by SIGTERM");
    }
}
