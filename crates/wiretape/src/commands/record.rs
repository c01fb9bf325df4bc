//! `wiretape record`: wraps a server's command and records the session.

use crate::config::Config;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::proxy_config::RetentionConfig;
use crate::{dirs, output, redaction, units};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use wiretape_events::store::LiveFeed;
use wiretape_proxy::bridge::{BridgeOptions, SecretHeader, ServerUrl, bridge};
use wiretape_proxy::journal::{JournalOptions, Tee};
use wiretape_proxy::live::{LiveOptions, Origin, random_token};
use wiretape_proxy::platform::StderrMode;
use wiretape_proxy::record::{RecordOptions, RecordOutcome, record};
use wiretape_proxy::warning::Warning;
use wiretape_trace::redact::Redactor;

/// Record a session of a stdio MCP server
///
/// Put `wiretape record --` in front of a server's command in your MCP client's configuration. All bytes pass through
/// unchanged in both directions, and every message is written to a trace. Secrets are redacted before anything reaches the
/// disk. The exit code is the server's: 128 + n if signal n ended it, 127 if it can't be started.
///
/// With --url there is no command: messages are sent to an HTTP server, and its responses are returned.
#[derive(Debug, Args)]
#[command(
    override_usage = "wiretape record [OPTIONS] -- COMMAND [ARGS]...\n       wiretape record [OPTIONS] --url URL [--header 'NAME: VALUE']...",
    after_help = "\
Examples:
  wiretape record -- npx -y @modelcontextprotocol/server-filesystem /home/me
  wiretape record --label files --redact 'ACME-[0-9]{8}' -- ./my-server
  wiretape record --max-bytes 50MB --max-files 5 -- uvx mcp-server-time
  wiretape record --serve -- ./my-server        stream it to a live viewer
  wiretape record --url https://mcp.example.com/mcp --header 'Authorization: Bearer …'

In a client's configuration:
  {\"mcpServers\": {\"files\": {\"command\": \"wiretape\",
    \"args\": [\"record\", \"--\", \"npx\", \"-y\", \"@modelcontextprotocol/server-filesystem\", \"/home/me\"]}}}"
)]
pub(crate) struct RecordArgs {
    /// Write the trace to DIR instead of the default directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Name the trace NAME (default: derived from the command)
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    /// Also redact matches of this regular expression (repeatable)
    #[arg(long, value_name = "REGEX", conflicts_with = "no_redact")]
    redact: Vec<String>,

    /// Record everything unchanged, including secrets; the trace is marked as not redacted
    #[arg(long)]
    no_redact: bool,

    /// Don't record the server's standard error
    #[arg(long)]
    no_stderr: bool,

    /// Start a new file before the trace exceeds SIZE: 50MB, 1GiB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_bytes: Option<u64>,

    /// Keep at most N files of this recording
    #[arg(long, value_name = "N", requires = "max_bytes", value_parser = clap::value_parser!(u64).range(1..))]
    max_files: Option<u64>,

    /// Stream the trace to local viewers over WebSocket; if PORT is in use, the next free one is used
    #[arg(long, value_name = "PORT", num_args = 0..=1)]
    serve: Option<Option<u16>>,

    /// Let the viewer at this origin connect without the token: `https://viewer.example`
    #[arg(long, value_name = "URL", requires = "serve")]
    allow_origin: Vec<Origin>,

    /// Use the store in FILE instead of the default one
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,

    /// Don't write to the store: this session won't appear in `logs`, `stats` and other queries
    #[arg(long, conflicts_with = "store")]
    no_store: bool,

    /// Read this configuration file instead of the default one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Connect to the HTTP server at URL instead of starting a command
    #[arg(long, value_name = "URL", value_parser = crate::url_arg::url::<ServerUrl>(), conflicts_with_all = ["command", "no_stderr"])]
    url: Option<ServerUrl>,

    /// Send this header to the server; its value is not recorded (repeatable)
    #[arg(long, value_name = "NAME: VALUE", requires = "url", conflicts_with = "command")]
    header: Vec<String>,

    /// The server's command and its arguments
    #[arg(last = true, required_unless_present = "url", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command and returns the server's exit code.
pub(crate) fn run(mut args: RecordArgs) -> Result<ExitCode, CommandError> {
    let url = args.url.take();
    let headers = headers(&args)?;
    let common = common(&args)?;
    let feed = feed(&args)?;
    // The feed is started last, because it may create the store: all options are valid by then.
    let common = common.with_tee(feed.as_ref().map(|feed| Arc::new(feed.tee()) as Tee));
    // Kept for the error message; the options take ownership of the command.
    let command = args.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let outcome = match url {
        Some(url) => bridge(bridge_options(args, common, url, headers))
            .map_err(|error| CommandError::because("can't set up standard input and output", error)),
        None => record(options(args, common))
            .map_err(|error| CommandError::because("can't supervise the server process", error)),
    };
    // Also after a failure: what was recorded until then belongs in the store.
    if let Some(feed) = feed {
        finish(feed);
    }
    let outcome = outcome?;
    report(&outcome, &command);
    Ok(ExitCode::passed_on(outcome.exit_code))
}

/// The feed to the store, unless it is disabled or can't be started.
fn feed(args: &RecordArgs) -> Result<Option<LiveFeed>, CommandError> {
    if args.no_store {
        return Ok(None);
    }
    let store = args.store.clone().map_or_else(dirs::store_file, Ok)?;
    let feed = LiveFeed::start(&store, RetentionConfig::default().retention(), warn_of_store);
    Ok(feed.inspect_err(|error| warn_of_store(&error.to_string())).ok())
}

/// Waits for the feed, and reports what is missing in the store.
fn finish(feed: LiveFeed) {
    // A trace that is not marked as complete is loaded again.
    const REMEDY: &str = "run `wiretape store load TRACE` to load the whole trace";
    let missed = feed.finish();
    if missed.timed_out {
        warn_of_store(&format!("writing is too slow: the end of this session may be missing; {REMEDY}"));
    }
    if missed.dropped > 0 {
        let dropped = units::count(missed.dropped, "write");
        warn_of_store(&format!(
            "{dropped} dropped because they were too large or arrived too fast; {REMEDY}"
        ));
    }
}

fn warn_of_store(what: &str) {
    output::warn(format!("wiretape: store: {what}; the trace is not affected"));
}

fn options(args: RecordArgs, common: Common) -> RecordOptions {
    RecordOptions {
        command: args.command,
        label: args.label,
        journal: common.journal,
        redactor: common.redactor,
        stderr: if args.no_stderr { StderrMode::Inherited } else { StderrMode::Recorded },
        live: common.live,
        warn: Arc::new(print_warning),
    }
}

fn headers(args: &RecordArgs) -> Result<Vec<SecretHeader>, CommandError> {
    // Parsed here instead of by clap, which would repeat an invalid value in its message: it may be a secret.
    let headers = args.header.iter().map(|header| header.parse::<SecretHeader>());
    headers.collect::<Result<_, _>>().map_err(CommandError::usage)
}

fn bridge_options(
    args: RecordArgs,
    common: Common,
    url: ServerUrl,
    headers: Vec<SecretHeader>,
) -> BridgeOptions {
    BridgeOptions {
        url,
        headers,
        label: args.label,
        journal: Some(common.journal),
        redactor: common.redactor,
        live: common.live,
        warn: Arc::new(print_warning),
    }
}

/// The options that don't depend on the transport.
struct Common {
    journal: JournalOptions,
    redactor: Option<Redactor>,
    live: Option<LiveOptions>,
}

impl Common {
    fn with_tee(mut self, tee: Option<Tee>) -> Self {
        self.journal.tee = tee;
        self
    }
}

fn common(args: &RecordArgs) -> Result<Common, CommandError> {
    // All command line errors are reported before anything is created.
    let config = Config::load(args.config.as_deref())?;
    let live = live_options(args.serve, args.allow_origin.clone())?;
    let dir = args.out.clone().map_or_else(dirs::traces_dir, Ok)?;
    let redactor =
        if args.no_redact { None } else { Some(redaction::redactor(config.redact, &args.redact)?) };
    let journal = JournalOptions {
        dir,
        max_bytes: args.max_bytes,
        max_files: args.max_files.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        tee: None,
    };
    Ok(Common { journal, redactor, live })
}

fn live_options(
    serve: Option<Option<u16>>,
    allowed_origins: Vec<Origin>,
) -> Result<Option<LiveOptions>, CommandError> {
    let Some(port) = serve else { return Ok(None) };
    // New for each recording: a leaked address is useless afterwards.
    let token = random_token().map_err(CommandError::failure)?;
    let mut options = LiveOptions::new(token);
    options.port = port;
    options.allowed_origins = allowed_origins;
    Ok(Some(options))
}

/// Prints a warning of the recorder. Standard output belongs to the server.
#[expect(clippy::needless_pass_by_value, reason = "the signature of the recorder's callback")]
fn print_warning(warning: Warning) {
    match &warning {
        Warning::Live { .. } => output::note(format!("wiretape: {warning}")),
        _ => output::warn(format!("wiretape: {warning}")),
    }
}

fn report(outcome: &RecordOutcome, command: &str) {
    if let Some(error) = &outcome.spawn_error {
        CommandError::failure(format!("can't start `{command}`: {error}"))
            .hint("check that the command is in your PATH, or use its full path")
            .print();
    }
    if outcome.lost > 0 {
        output::warn(format!(
            "wiretape: {} of this session could not be recorded",
            units::count(outcome.lost, "line")
        ));
    }
}
