//! `wiretape config`: checks configuration files.

use crate::config::{self, Config, Problem, is_absent};
use crate::error::CommandError;
use crate::output::{self, Output};
use crate::proxy_config::{self, NamedFiles, ProxyConfig};
use crate::text::printable;
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
  wiretape config check                   the user configuration
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

/// Report all problems in a configuration file
///
/// Checks every value, and reports unknown keys and keys without effect, each with line and column. The exit code is 0 if
/// the file is valid and 2 otherwise.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape config check                          the user configuration
  wiretape config check wiretape.toml            one for `wiretape proxy --config`
  wiretape config check --json wiretape.toml     for scripts, with the parsed values")]
struct CheckArgs {
    /// The file to check (default: the user configuration)
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

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
        .hint("see docs/configuration.md for all keys")),
    }
}

/// The report on a file.
struct ConfigReport {
    path: PathBuf,
    kind: ConfigKind,
    settings: Result<Settings, Vec<Problem>>,
}

/// Which commands read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ConfigKind {
    /// Read by every command.
    User,
    /// Read by `wiretape proxy --config`.
    Proxy,
}

/// The contents of a file.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Settings {
    /// The file does not exist.
    Absent,
    User(Config),
    Proxy(Box<ProxyConfig>),
}

impl Settings {
    /// The settings that all commands share.
    fn for_all(self) -> Self {
        match self {
            Settings::Proxy(config) => Settings::User(Config { redact: config.redact.unwrap_or_default() }),
            other => other,
        }
    }
}

/// The user's own configuration, which may not exist.
fn check_own() -> Result<ConfigReport, CommandError> {
    let path = dirs::config_file().ok_or_else(|| {
        CommandError::failure("can't find your configuration directory").hint("pass the file to check")
    })?;
    match config::read_file(&path) {
        Err(error) if is_absent(&error) => {
            Ok(ConfigReport { path, kind: ConfigKind::User, settings: Ok(Settings::Absent) })
        }
        text => report(path, ConfigKind::User, text),
    }
}

/// A named file. Unless it is the user's own, its keys decide whether it is a proxy's.
fn check(path: &Path) -> Result<ConfigReport, CommandError> {
    // Read as a proxy's file at first, because its keys include those of the user's own: `redact` is valid in both.
    let kind = if is_own(path) { ConfigKind::User } else { ConfigKind::Proxy };
    let text = config::read_file(path);
    let is_proxys = text.as_ref().is_ok_and(|text| text.as_deref().is_ok_and(proxy_config::is_for_proxy));
    let mut report = report(path.to_owned(), kind, text)?;
    if !is_proxys {
        report.kind = ConfigKind::User;
        report.settings = report.settings.map(Settings::for_all);
    }
    Ok(report)
}

fn is_own(path: &Path) -> bool {
    let own = dirs::config_file().and_then(|own| own.canonicalize().ok());
    // Canonical paths: `./config.toml` and a symbolic link are the same file. Two missing files are not.
    own.is_some() && own == path.canonicalize().ok()
}

fn report(
    path: PathBuf,
    kind: ConfigKind,
    text: io::Result<Result<String, Problem>>,
) -> Result<ConfigReport, CommandError> {
    let text =
        text.map_err(|error| CommandError::because(format!("can't read {}", path.display()), error))?;
    let settings = text.map_err(|problem| vec![problem]).and_then(|text| match kind {
        ConfigKind::User => config::read_user(&text).map(Settings::User),
        ConfigKind::Proxy => proxy_config::read_proxy(&text, &path, NamedFiles::Checked)
            .map(|config| Settings::Proxy(Box::new(config))),
    });
    Ok(ConfigReport { path, kind, settings })
}

fn print(report: &ConfigReport) -> io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    let path = report.path.display().to_string();
    let path = printable(&path);
    match &report.settings {
        Err(problems) => {
            for problem in problems {
                writeln!(out, "{path}:{problem}")?;
            }
        }
        Ok(Settings::Absent) => writeln!(out, "{path} does not exist; the defaults apply.")?,
        Ok(Settings::User(_)) => writeln!(out, "{path} is {}.", styles.good.paint("valid"))?,
        Ok(Settings::Proxy(config)) => {
            writeln!(out, "{path} is {}, for `wiretape proxy --config`.", styles.good.paint("valid"))?;
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
        let intercepts = if forward.intercept == Some(true) { ", intercepting TLS" } else { "" };
        rows.push(("(forward)", forward.listen, format!("any destination{intercepts}")));
    }
    if rows.is_empty() {
        return writeln!(
            out,
            "It has neither [[upstream]] nor [forward]: the command line must provide one."
        );
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
    kind: ConfigKind,
    ok: bool,
    problems: &'a [Problem],
    settings: Option<&'a Settings>,
}

fn print_json(report: &ConfigReport) -> io::Result<()> {
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
