//! The command line as a whole: what commands there are, how they are grouped, and who runs them.

use crate::commands::{
    baseline, ca, call, calls, clients, completions, config, demo, diff, export, import, lint, logs, ls, man,
    proxy, prune, record, replay, schema, search, session, sessions, show, slow, stats, store, tools, trace,
    verify, view,
};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output::ColorChoice;
use crate::sample_server;
use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::sync::Once;
use wiretape_library::draft;
use wiretape_proxy::platform;

/// The flight recorder for MCP
///
/// Wiretape stands between an MCP client and an MCP server and writes down every message. What it wrote can be
/// looked at and measured, now or later.
#[derive(Debug, Parser)]
#[command(
    name = "wiretape",
    version,
    styles = STYLES,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wiretape record -- npx my-server     put this where your MCP client starts the server
  wiretape proxy --upstream URL        stand in front of an HTTP server
  wiretape ls                          what was recorded
  wiretape show latest                 the messages of the newest trace
  wiretape stats                       calls, errors and latencies by tool
  wiretape logs -f                     calls as they come

TRACE is a path, the beginning of an id as `ls` shows it, or `latest`.
Traces lie in `wiretape/traces` of your data directory, and the store is `wiretape/store.db` there;
WIRETAPE_DATA_DIR moves both.

Exit codes: 0 success, 1 lint, diff, verify or replay found something, 2 usage error or failure,
3 only part of the input could be imported or loaded.
`record` passes on the exit code of the command it wraps (docs/exit-codes.md)."
)]
struct Cli {
    /// When to use colours: auto (on a terminal, unless NO_COLOR is set), always or never
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

/// How the help groups the commands. One that is in no group stands in the last.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Record", &["record", "proxy", "demo"]),
    ("Look", &["view", "ls", "show", "calls", "call", "search"]),
    ("Ask", &["logs", "slow", "stats", "sessions", "session", "clients", "schema", "tools"]),
    ("Play back", &["replay", "verify"]),
    ("Check", &["lint", "diff", "baseline"]),
    ("Exchange", &["import", "trace", "export"]),
    ("Set up", &["config", "ca"]),
    ("Keep house", &["prune", "store", "completions", "man"]),
];

/// Parses the arguments and does what they say.
pub(crate) fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return refuse(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    cli.color.apply();
    draft::before_each(clean_up_on_signals);
    match run(cli.command) {
        Ok(code) => code,
        Err(error) => {
            error.print();
            error.exit_code()
        }
    }
}

/// Catches signals from now on, so that no draft stays behind. Commands that write none keep the system's own way to end.
fn clean_up_on_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        platform::on_termination(|signal| {
            draft::delete_unpublished();
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

/// Help and version come this way too.
fn refuse(error: &clap::Error) -> ExitCode {
    // If the output is closed, nobody is left to be told.
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
            help.push_str(&format!("  {literal}{name:<longest$}{literal:#}  {about}\n"));
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
