//! What a proxy tells beside its traces, and where that goes.

use crate::dirs;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output;
use crate::proxy_config::{EventsConfig, Switch, WebhookConfig};
use crate::units;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wiretape_events::bus::{Heart, Pulse};
use wiretape_events::event::{EventIds, SinkStatus};
use wiretape_events::observe::ObserverOptions;
use wiretape_events::sink::webhook::{Secret, WebhookError, WebhookOptions, WebhookSink};
use wiretape_events::sink::{Look, MetricsSink, NdjsonSink, RequestMetrics, Servers, StderrSink};
use wiretape_events::store::{Retention, Store, StoreSink};
use wiretape_events::{Bus, BusOptions, Sink, SinkError};
use wiretape_library::private;
use wiretape_proxy::http::{Bound, Route};
use wiretape_proxy::platform;

/// How often a proxy tells how it is.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Holds the bearer token of the webhook, where the file names none.
const TOKEN_VARIABLE: &str = "WIRETAPE_WEBHOOK_TOKEN";
/// How long sinks may take at the end.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is told, and where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Events")]
pub(crate) struct EventArgs {
    /// Write what happens as NDJSON to this file, or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    events: Option<PathBuf>,

    /// Print what happens to standard error: for people, or as JSON
    #[arg(long, value_name = "LOOK", num_args = 0..=1, default_missing_value = "pretty")]
    print: Option<PrintLook>,

    /// Send events to this URL in batches; WIRETAPE_WEBHOOK_TOKEN holds the bearer token
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,

    /// Keep the store in this file instead of your own
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,

    /// Keep no store: `logs`, `stats`, `sessions` and the others won't know of this
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
}

/// How events look on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PrintLook {
    /// A line for people.
    Pretty,
    /// One JSON object in a line.
    Json,
}

/// What a proxy tells, by the command line and the file.
pub(crate) struct EventPlan {
    events: Option<PathBuf>,
    print: Option<PrintLook>,
    store: Option<PathBuf>,
    retention: Retention,
    webhook: Option<WebhookOptions>,
    servers: Servers,
}

impl EventPlan {
    /// What the command line says goes before what the file says. A store that was named has to have a folder; what is wrong
    /// with the user's own is told when it is opened, and the traffic goes on without.
    pub(crate) fn new(
        args: &EventArgs,
        config: EventsConfig,
        servers: Servers,
    ) -> Result<Self, CommandError> {
        let named = match (&args.store, config.store) {
            _ if args.no_store => Some(None),
            (Some(path), _) => Some(Some(path.clone())),
            (None, Some(switch)) => Some(switch.on()),
            (None, None) => None,
        };
        if let Some(Some(path)) = &named {
            create_folder_of(path).map_err(|error| {
                CommandError::because(format!("can't keep the store in {}", path.display()), error)
                    .hint("name another file, or keep none with --no-store")
            })?;
        }
        let store = match named {
            Some(named) => named,
            None => Some(dirs::store_file()?),
        };
        let webhook = match (&args.webhook, config.webhook) {
            (Some(url), _) => Some(WebhookConfig { url: url.clone(), ..WebhookConfig::default() }),
            (None, webhook) => webhook,
        };
        Ok(EventPlan {
            webhook: webhook.map(|webhook| webhook_options(&webhook)).transpose()?,
            events: args.events.clone().or_else(|| config.events.and_then(Switch::on)),
            print: args.print.or(config.print),
            store,
            retention: config.retention.retention(),
            servers,
        })
    }

    /// Whether anything is told at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_none() && self.print.is_none() && self.store.is_none() && self.webhook.is_none()
    }

    /// Whether anybody wants to be told, now and then, how the proxy is.
    pub(crate) fn wants_heartbeats(&self) -> bool {
        self.webhook.is_some() || self.print == Some(PrintLook::Json)
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> Option<&Path> {
        self.store.as_deref()
    }

    /// Opens the sinks, and starts the bus to them; none if there is nothing to tell. Requests are counted in `metrics`.
    pub(crate) fn start(
        self,
        session_idle: Duration,
        metrics: Option<Arc<RequestMetrics>>,
    ) -> Result<Option<Arc<Bus>>, CommandError> {
        if self.is_empty() && metrics.is_none() {
            return Ok(None);
        }
        let lines = self.events.is_some();
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(metrics) = metrics {
            sinks.push(Box::new(MetricsSink::new(metrics)));
        }
        if let Some(path) = &self.events {
            sinks.push(Box::new(ndjson(path)?));
        }
        if let Some(look) = self.print {
            let look = match look {
                PrintLook::Pretty => Look::Pretty(self.servers),
                PrintLook::Json => Look::Json,
            };
            // Strips the colours where standard error is not a terminal.
            sinks.push(Box::new(StderrSink::new(Box::new(anstream::stderr()), look)));
        }
        let mut snapshots = Vec::new();
        if let Some(path) = &self.store {
            let mut sink = StoreSink::new(path, self.retention);
            if let Err(error) = sink.open() {
                tell(sink.name(), &error);
            }
            // A store that can't be read has just been told of.
            snapshots = Store::open_read(path).and_then(|store| store.snapshots()).unwrap_or_default();
            sinks.push(Box::new(sink));
        }
        if let Some(options) = &self.webhook {
            let sink = WebhookSink::new(options).map_err(refuse_webhook)?;
            sinks.push(Box::new(sink));
        }
        let observer = ObserverOptions { lines, session_idle, snapshots, ids: Arc::new(EventIds::new()) };
        let bus = Bus::start(BusOptions { observer, sinks, report: Arc::new(tell), patience: PATIENCE })
            .map_err(|error| CommandError::because("can't start the threads that events need", error))?;
        Ok(Some(Arc::new(bus)))
    }
}

/// Makes the folder of a file that will be written, for its owner only, if it is missing.
fn create_folder_of(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => private::create_dir(folder),
        None => Ok(()),
    }
}

/// The options of the sink, the token included, from wherever it is.
fn webhook_options(config: &WebhookConfig) -> Result<WebhookOptions, CommandError> {
    let spool = config.spool.clone().map_or_else(dirs::spool_dir, Ok)?;
    let mut options = WebhookOptions::new(config.url.clone(), spool);
    options.token = webhook_token(config)?;
    options.ca_file.clone_from(&config.ca_file);
    let set = |value: &mut u64, given: Option<u64>| *value = given.unwrap_or(*value);
    set(&mut options.batch_events, config.batch_events);
    set(&mut options.spool_bytes, config.spool_bytes);
    options.batch_time = config.batch_time.unwrap_or(options.batch_time);
    options.check().map_err(refuse_webhook)?;
    Ok(options)
}

fn webhook_token(config: &WebhookConfig) -> Result<Option<Secret>, CommandError> {
    if let Some(path) = &config.token_file {
        let token = std::fs::read_to_string(path).map_err(|error| {
            CommandError::because(format!("can't read the webhook's token from {}", path.display()), error)
        })?;
        return Ok(Some(Secret::new(&token)));
    }
    let token = std::env::var_os(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    Ok(token.map(|token| Secret::new(&token.to_string_lossy())))
}

fn refuse_webhook(error: WebhookError) -> CommandError {
    CommandError::because("can't send events to the webhook", error)
}

fn ndjson(path: &Path) -> Result<NdjsonSink, CommandError> {
    if path == Path::new("-") {
        return Ok(NdjsonSink::new(Box::new(io::stdout()), "standard output".to_owned()));
    }
    let place = path.display().to_string();
    let open = || private::options().create(true).append(true).open(path);
    let file = create_folder_of(path).and_then(|()| open()).map_err(|error| {
        CommandError::because(format!("can't write events to {place}"), error)
            .hint("name another file, or `-` for standard output")
    })?;
    let out: Box<dyn Write + Send> = Box::new(file);
    Ok(NdjsonSink::new(out, place))
}

/// Lets the bus tell, now and then, how the proxy is.
pub(crate) fn beat(bus: &Bus, bound: &[Bound]) {
    let bound = bound.to_vec();
    let probe = Box::new(move || bound.iter().map(heart).collect());
    if let Err(error) = bus.beat(Pulse { every: HEARTBEAT, probe }) {
        output::warn(format!("wiretape: there will be no heartbeats: {error}"));
    }
}

fn heart(bound: &Bound) -> Heart {
    let (upstream, reachable) = match &bound.listener.route {
        Route::Reverse(reverse) => (reverse.upstream.origin(), Some(reverse.upstream.is_reachable())),
        Route::Forward(_) => (String::new(), None),
    };
    Heart {
        listener: bound.listener.name.as_str().into(),
        upstream: upstream.into(),
        port: bound.address.port(),
        reachable,
    }
}

/// Lets everything reach its sink, and says what did not.
pub(crate) fn close(bus: &Bus) {
    // A sink may take a while for its last words; who sends another signal doesn't want to wait for them.
    platform::on_termination(end_now);
    for SinkStatus { name, queued, dropped, .. } in bus.close(report_flushing) {
        let lost = dropped + queued;
        if lost > 0 {
            let events = units::count(lost, "event");
            output::warn(format!("wiretape: {events} did not get through {}", describe(&name)));
        }
    }
}

fn report_flushing(sinks: &[&str]) {
    let sinks = sinks.join(", ");
    output::note(format!("wiretape: flushing events to {sinks}; press Ctrl-C again to stop now"));
}

fn end_now(signal: i32) {
    output::warn("wiretape: stopped before all events were where they belong");
    ExitCode::passed_on(128 + signal).exit()
}

fn describe(sink: &str) -> &str {
    if sink == "bus" { "the event bus" } else { sink }
}

fn tell(sink: &str, error: &SinkError) {
    if !error.message.is_empty() {
        output::warn(format!("wiretape: {sink}: {error}"));
    }
}
