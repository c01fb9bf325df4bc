//! The command line as a whole: the commands, their groups in the help, and the dispatch to each.

use crate::commands::{
    baseline, ca, call, calls, clients, completions, config, demo, diff, export, import, integrity, lint,
    logs, ls, man, proxy, prune, record, redact, replay, schema, search, session, sessions, show, slow,
    stats, store, tools, trace, verify, view,
};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output::ColorChoice;
use crate::{sample_server, text};
use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::sync::Once;
use wiretape_library::draft;
use wiretape_proxy::platform;

/// Record, inspect, check and replay MCP sessions
///
/// Wiretape is the flight recorder for MCP. It sits between an MCP client and an MCP server and records every
/// message. Use the recorded traces to inspect, measure, compare and replay sessions.
#[derive(Debug, Parser)]
#[command(
    name = "wiretape",
    version,
    styles = STYLES,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wiretape record -- npx my-server     record a stdio server; use it as the command in your client
  wiretape proxy --upstream URL        record an HTTP server
  wiretape ls                          list recorded traces
  wiretape show latest                 show the messages of the newest trace
  wiretape stats                       count calls, errors and latencies by tool
  wiretape logs -f                     follow calls as they complete

TRACE is a path, an id prefix as listed by `wiretape ls`, or `latest`.
Traces (`wiretape/traces`) and the store (`wiretape/store.db`) are in your data
directory; set WIRETAPE_DATA_DIR to use another one.

Exit codes (see docs/exit-codes.md):
  0  success
  1  findings from lint, diff, verify, replay, integrity or redact --check
  2  usage error or failure
  3  only part of the input was imported or loaded
  `record` exits with the code of the command it wraps."
)]
struct Cli {
    /// When to use color: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true,
        display_order = 900
    )]
    color: ColorChoice,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(record::RecordArgs),
    // The largest argument structs are boxed; an enum is as large as its largest variant.
    Proxy(Box<proxy::ProxyArgs>),
    Replay(Box<replay::ReplayArgs>),
    Verify(Box<verify::VerifyArgs>),
    Demo(demo::DemoArgs),
    #[command(alias = "list")]
    Ls(ls::LsArgs),
    View(view::ViewArgs),
    Show(show::ShowArgs),
    Calls(calls::CallsArgs),
    Call(call::CallArgs),
    Search(search::SearchArgs),
    Stats(Box<stats::StatsArgs>),
    Logs(logs::LogsArgs),
    Slow(slow::SlowArgs),
    Sessions(sessions::SessionsArgs),
    Session(session::SessionArgs),
    Clients(clients::ClientsArgs),
    Schema(schema::SchemaArgs),
    Tools(tools::ToolsArgs),
    Store(store::StoreCommandArgs),
    Lint(lint::LintArgs),
    Diff(diff::DiffArgs),
    Baseline(baseline::BaselineArgs),
    Integrity(integrity::IntegrityArgs),
    Redact(redact::RedactArgs),
    Import(Box<import::ImportArgs>),
    Trace(trace::TraceArgs),
    Export(export::ExportArgs),
    Config(config::ConfigArgs),
    Ca(ca::CaArgs),
    Prune(prune::PruneArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    #[command(hide = true)]
    SampleServer(sample_server::SampleServerArgs),
}

const STYLES: Styles = Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(Style::new().dimmed());

/// The width of the list of commands, in columns. Clap does not wrap a template, and narrow terminals have 80.
const LISTING_COLUMNS: usize = 80;

/// The groups of commands in the help. A command in no group is listed in the last one.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Record", &["record", "proxy", "demo"]),
    ("Inspect", &["view", "ls", "show", "calls", "call", "search"]),
    ("Query", &["logs", "slow", "stats", "sessions", "session", "clients", "schema", "tools"]),
    ("Replay", &["replay", "verify"]),
    ("Check", &["lint", "diff", "baseline", "integrity", "redact"]),
    ("Convert", &["import", "trace", "export"]),
    ("Configure", &["config", "ca"]),
    ("Maintenance", &["prune", "store", "completions", "man"]),
];

/// Parses the arguments and runs the command.
pub(crate) fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return refuse(&error),
    };
    // Not `Cli::parse()`: the command has a help template that is built at run time, and its errors get our exit
    // codes.
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    cli.color.apply();
    // SIGXFSZ would end the process, and with it the recorded session; as an error it only costs the recording.
    platform::survive_file_size_limit();
    draft::before_each(clean_up_on_signals);
    match run(cli.command) {
        Ok(code) => code,
        Err(error) => {
            error.print();
            error.exit_code()
        }
    }
}

/// Deletes unpublished drafts on a signal. Installed with the first draft, so that commands without drafts keep the
/// system's default signal handling.
fn clean_up_on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        platform::on_termination(|signal| {
            draft::delete_unpublished();
            // 128 + N is what a shell reports for a process that signal N ended, which is what would have happened
            // without us.
            ExitCode::passed_on(128 + signal).exit()
        });
    });
}

fn run(command: Command) -> Result<ExitCode, CommandError> {
    match command {
        Command::Record(args) => return record::run(args),
        Command::Proxy(args) => proxy::run(&args)?,
        Command::Replay(args) => return replay::run(*args),
        Command::Verify(args) => return verify::run(*args),
        Command::Demo(args) => demo::run(&args)?,
        Command::Ls(args) => ls::run(&args)?,
        Command::Integrity(args) => return integrity::run(&args),
        Command::Redact(args) => return redact::run(&args),
        Command::View(args) => view::run(&args)?,
        Command::Show(args) => show::run(args)?,
        Command::Calls(args) => calls::run(&args)?,
        Command::Call(args) => call::run(&args)?,
        Command::Search(args) => search::run(&args)?,
        Command::Stats(args) => stats::run(&args)?,
        Command::Logs(args) => logs::run(&args)?,
        Command::Slow(args) => slow::run(&args)?,
        Command::Sessions(args) => sessions::run(&args)?,
        Command::Session(args) => session::run(&args)?,
        Command::Clients(args) => clients::run(&args)?,
        Command::Schema(args) => schema::run(&args)?,
        Command::Tools(args) => tools::run(&args)?,
        Command::Store(args) => return store::run(&args),
        Command::Lint(args) => return lint::run(&args),
        Command::Diff(args) => return diff::run(&args),
        Command::Baseline(args) => baseline::run(&args)?,
        Command::Import(args) => return import::run(&args),
        Command::Trace(args) => return trace::run(&args),
        Command::Export(args) => export::run(&args)?,
        Command::Config(args) => config::run(&args)?,
        Command::Ca(args) => ca::run(&args)?,
        Command::Prune(args) => prune::run(&args)?,
        Command::Completions(args) => completions::run(&args)?,
        Command::Man(args) => man::run(&args)?,
        Command::SampleServer(_) => sample_server::run()?,
    }
    Ok(ExitCode::OK)
}

/// Prints a parse error. `--help` and `--version` also arrive here.
fn refuse(error: &clap::Error) -> ExitCode {
    // If the output is closed, no reader is left to report to.
    let _ = error.print();
    if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::OK }
}

/// The command line, with its commands grouped in the help.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let commands = grouped_commands(&command);
    let header = STYLES.get_header();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

fn grouped_commands(command: &clap::Command) -> String {
    let visible: Vec<&clap::Command> =
        command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).collect();
    let longest = visible.iter().map(|subcommand| subcommand.get_name().len()).max().unwrap_or(0);
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let mut help = String::new();
    for (at, (title, names)) in GROUPS.iter().enumerate() {
        let is_last = at + 1 == GROUPS.len();
        let is_in_group = |name: &str| {
            // A new command that was not added to a group is still listed.
            let elsewhere = GROUPS.iter().any(|(_, names)| names.contains(&name));
            names.contains(&name) || (is_last && !elsewhere)
        };
        let members: Vec<_> = visible.iter().filter(|command| is_in_group(command.get_name())).collect();
        if members.is_empty() {
            continue;
        }
        help.push_str(&format!("{header}{title}:{header:#}\n"));
        for member in members {
            let name = member.get_name();
            let about = member.get_about().map(ToString::to_string).unwrap_or_default();
            let mut lines = text::wrap(&about, LISTING_COLUMNS - longest - 4).into_iter();
            let first = lines.next().unwrap_or_default();
            help.push_str(&format!("  {literal}{name:<longest$}{literal:#}  {first}\n"));
            lines.for_each(|line| help.push_str(&format!("  {:longest$}  {line}\n", "")));
        }
        help.push('\n');
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_and_option_is_explained() {
        let command = command();
        let help = grouped_commands(&command);
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            let name = subcommand.get_name();
            assert!(help.contains(name), "{name} is not in the help");
            assert!(subcommand.get_about().is_some(), "{name} has no description");
            for argument in subcommand.get_arguments() {
                assert!(argument.get_help().is_some(), "{name} {} has no description", argument.get_id());
            }
        }
    }
}
