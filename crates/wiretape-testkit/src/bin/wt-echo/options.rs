//! The command line of `wt-echo`, parsed by hand to keep the binary small and fast to start.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The help text, with every option.
pub(crate) const USAGE: &str = "\
usage: wt-echo [OPTIONS]
Writes every line from stdin back to stdout, and ends when stdin does.

  --mcp                           answer as an MCP server with a few tools instead of echoing
  --flood BYTES                   first write that many bytes of notifications, about 1 kB each
  --pollute                       first write a line to stdout that isn't JSON
  --stderr TEXT                   first write TEXT and a newline to stderr
  --after LINES                   end after that many lines instead of at the end of stdin; 0 is at once
  --exit N                        end with this exit status
  --signal N                      end by sending itself this signal
  --grandchild-holds-stdout SECS  end at once, leaving behind a process that holds stdout open
  --ignore-sigterm                don't end on SIGTERM
  --report-signals FILE           on SIGINT, SIGTERM and SIGHUP append the name to FILE, and go on";

#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) mcp: bool,
    pub(crate) flood: Option<u64>,
    pub(crate) pollute: bool,
    pub(crate) stderr: Option<String>,
    pub(crate) after: Option<u64>,
    pub(crate) exit: u8,
    pub(crate) signal: Option<i32>,
    pub(crate) grandchild: Option<u64>,
    pub(crate) ignore_sigterm: bool,
    pub(crate) report_signals: Option<PathBuf>,
    /// What the grandchild runs with; internal, so not in the help text.
    pub(crate) sleep: Option<Duration>,
}

/// Reads the arguments, without the program's name.
pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(option) = arguments.next() {
        let option = text(option)?;
        set(&mut options, &option, || arguments.next().ok_or_else(|| format!("{option} wants a value")))?;
    }
    if options.grandchild.is_some() {
        options.after.get_or_insert(0);
    }
    Ok(options)
}

fn set(
    options: &mut Options,
    option: &str,
    mut value: impl FnMut() -> Result<OsString, String>,
) -> Result<(), String> {
    match option {
        "--mcp" => options.mcp = true,
        "--pollute" => options.pollute = true,
        "--ignore-sigterm" => options.ignore_sigterm = true,
        "--flood" => options.flood = Some(number(value()?)?),
        "--after" => options.after = Some(number(value()?)?),
        "--exit" => options.exit = number(value()?)?,
        "--signal" => options.signal = Some(number(value()?)?),
        "--grandchild-holds-stdout" => options.grandchild = Some(number(value()?)?),
        "--sleep" => options.sleep = Some(Duration::from_secs(number(value()?)?)),
        "--stderr" => options.stderr = Some(text(value()?)?),
        "--report-signals" => options.report_signals = Some(value()?.into()),
        _ => return Err(format!("no such option: {option}")),
    }
    Ok(())
}

fn number<N: std::str::FromStr>(value: OsString) -> Result<N, String> {
    let value = text(value)?;
    value.parse().map_err(|_| format!("not a number that fits: {value}"))
}

fn text(value: OsString) -> Result<String, String> {
    value.into_string().map_err(|value| format!("not UTF-8: {}", value.display()))
}
