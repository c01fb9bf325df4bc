//! `wiretape config`: is a configuration file in order?

use crate::config::{self, Config, Problem, is_absent};
use crate::error::CommandError;
use crate::output::{self, Output};
use crate::proxy_config::{self, NamedFiles, ProxyConfig};
use crate::{dirs, units};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Check a configuration file
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wiretape config check                   your own configuration
  wiretape config check wiretape.toml     one for `wiretape proxy --config`"
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Check(CheckArgs),
}

/// Say everything that is wrong with a configuration file
///
/// Every key that is unknown or that would have no effect is named, every value is looked at, and all is said at once,
/// with line and column. The exit code is 0 if the file is in order and 2 if it is not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape config check                          your own configuration
  wiretape config check wiretape.toml            one for `wiretape proxy --config`
  wiretape config check --json wiretape.toml     for programs, with what was understood")]
struct CheckArgs {
    /// Check this file instead of your own
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ConfigArgs) -> Result<(), CommandError> {
    let ConfigCommand::Check(args) = &args.command;
    let report = match &args.file {
        Some(path) => check(path)?,
        None => check_own()?,
    };
    if args.json {
        print_json(&report)?;
    } else {
        print(&report)?;
    }
    match report.settings {
        Ok(_) => Ok(()),
        Err(problems) => Err(CommandError::failure(format!(
            "{} has {}",
            report.path.display(),
            units::count(problems.len() as u64, "problem")
        ))
        .hint("docs/configuration.md lists what the file may hold")),
    }
}

/// What is to be said of a file.
struct Report {
    path: PathBuf,
    kind: Kind,
    settings: Result<Settings, Vec<Problem>>,
}

/// Whom a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// Every command.
    User,
    /// `wiretape proxy --config`.
    Proxy,
}

/// What a file says.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Settings {
    /// Nothing: there is no file.
    Absent,
    User(Config),
    Proxy(Box<ProxyConfig>),
}

impl Settings {
    /// What all commands go by.
    fn for_all(self) -> Self {
        match self {
            Settings::Proxy(config) => Settings::User(Config { redact: config.redact.unwrap_or_default() }),
            other => other,
        }
    }
}

/// The user's own configuration, which need not be there.
fn check_own() -> Result<Report, CommandError> {
    let path = dirs::config_file().ok_or_else(|| {
        CommandError::failure("can't tell where your configuration is").hint("give the file to be checked")
    })?;
    match config::read_file(&path) {
        Err(error) if is_absent(&error) => {
            Ok(Report { path, kind: Kind::User, settings: Ok(Settings::Absent) })
        }
        text => report(path, Kind::User, text),
    }
}

/// A file that was named. Unless it is the user's own, it may be a proxy's; its keys tell whether it is.
fn check(path: &Path) -> Result<Report, CommandError> {
    let kind = if is_own(path) { Kind::User } else { Kind::Proxy };
    let text = config::read_file(path);
    let is_proxys = text.as_ref().is_ok_and(|text| text.as_deref().is_ok_and(proxy_config::is_for_proxy));
    let mut report = report(path.to_owned(), kind, text)?;
    if !is_proxys {
        report.kind = Kind::User;
        report.settings = report.settings.map(Settings::for_all);
    }
    Ok(report)
}

fn is_own(path: &Path) -> bool {
    let own = dirs::config_file().and_then(|own| own.canonicalize().ok());
    own.is_some() && own == path.canonicalize().ok()
}

fn report(
    path: PathBuf,
    kind: Kind,
    text: io::Result<Result<String, Problem>>,
) -> Result<Report, CommandError> {
    let text =
        text.map_err(|error| CommandError::because(format!("can't read {}", path.display()), error))?;
    let settings = text.map_err(|problem| vec![problem]).and_then(|text| match kind {
        Kind::User => config::read_user(&text).map(Settings::User),
        Kind::Proxy => proxy_config::read_proxy(&text, &path, NamedFiles::LookedAt)
            .map(|config| Settings::Proxy(Box::new(config))),
    });
    Ok(Report { path, kind, settings })
}

fn print(report: &Report) -> io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    let path = report.path.display();
    match &report.settings {
        Err(problems) => {
            for problem in problems {
                writeln!(out, "{path}:{problem}")?;
            }
        }
        Ok(Settings::Absent) => writeln!(out, "There is no {path}; what holds are the defaults.")?,
        Ok(Settings::User(_)) => writeln!(out, "{path} is {}.", styles.good.paint("in order"))?,
        Ok(Settings::Proxy(config)) => {
            writeln!(out, "{path} is {}, for `wiretape proxy --config`.", styles.good.paint("in order"))?;
            print_listeners(&mut out, config)?;
        }
    }
    out.flush()
}

fn print_listeners(out: &mut Output, config: &ProxyConfig) -> io::Result<()> {
    let upstreams = config.upstreams.iter();
    let mut rows: Vec<_> = upstreams
        .map(|upstream| (upstream.name.as_str(), upstream.listen, upstream.url.to_string()))
        .collect();
    if let Some(forward) = &config.forward {
        let intercepts = if forward.intercept == Some(true) { ", looking into TLS" } else { "" };
        rows.push(("(forward)", forward.listen, format!("wherever clients ask{intercepts}")));
    }
    if rows.is_empty() {
        return writeln!(out, "It has neither [[upstream]] nor [forward]; the command line has to name one.");
    }
    let widest = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    for (name, listen, target) in rows {
        let name = out.styles.name.paint(format!("{name:<widest$}"));
        writeln!(out, "  {name}  {listen} → {target}")?;
    }
    Ok(())
}

/// The object of `config check --json`.
#[derive(Serialize)]
struct ReportJson<'a> {
    path: &'a Path,
    kind: Kind,
    ok: bool,
    problems: &'a [Problem],
    settings: Option<&'a Settings>,
}

fn print_json(report: &Report) -> io::Result<()> {
    let problems = report.settings.as_ref().err().map_or(&[][..], Vec::as_slice);
    let json = ReportJson {
        path: &report.path,
        kind: report.kind,
        ok: problems.is_empty(),
        problems,
        settings: report.settings.as_ref().ok(),
    };
    let mut out = output::machine_stdout();
    serde_json::to_writer_pretty(&mut out, &json)?;
    out.write_all(b"\n")?;
    out.flush()
}
