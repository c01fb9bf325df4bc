//! The event options of `wiretape proxy`, from the command line and its file, and the sinks that they ask for.
//! Queues, batches and retries belong to `wiretape-events`; this module only decides which sinks exist and how their
//! errors are reported.

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
use wiretape_events::bus::{HeartbeatOptions, ListenerHealth};
use wiretape_events::event::{EventIds, SinkStatus};
use wiretape_events::observe::ObserverOptions;
use wiretape_events::sink::webhook::{Secret, WebhookError, WebhookOptions, WebhookSink};
use wiretape_events::sink::{EventFormat, MetricsSink, NdjsonSink, RequestMetrics, Servers, StderrSink};
use wiretape_events::store::{Retention, Store, StoreSink};
use wiretape_events::{Bus, BusOptions, Sink, SinkError};
use wiretape_library::private;
use wiretape_proxy::http::{BoundListener, Route};
use wiretape_proxy::platform;

/// The interval of heartbeat events.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// The environment variable with the webhook's bearer token, if the file has none.
const TOKEN_VARIABLE: &str = "WIRETAPE_WEBHOOK_TOKEN";
/// How long sinks may take to flush at shutdown. Afterwards, the events still queued are reported as not delivered;
/// batches that a webhook has already spooled are sent at the next start.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[command(next_help_heading = "Events")]
pub(crate) struct EventArgs {
    /// Write events as NDJSON to FILE, or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    events: Option<PathBuf>,

    /// Print events to standard error, human-readable or as JSON
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, default_missing_value = "pretty")]
    print: Option<PrintFormat>,

    /// Send events to this URL in batches; set the bearer token in WIRETAPE_WEBHOOK_TOKEN
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,

    /// Use the store in FILE instead of the default one
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,

    /// Don't write to the store: this traffic won't appear in `logs`, `stats` and other queries
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
}

/// The format of events on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PrintFormat {
    /// One line per event, human-readable.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// The resolved event options, from the command line and the file.
pub(crate) struct EventPlan {
    events: Option<PathBuf>,
    print: Option<PrintFormat>,
    store: Option<PathBuf>,
    retention: Retention,
    webhook: Option<WebhookOptions>,
    servers: Servers,
}

impl EventPlan {
    /// The command line takes precedence over the file. A store that was named explicitly must have a usable directory; problems
    /// with the default store are reported when it is opened, and traffic continues without it.
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
                CommandError::because(format!("can't create the store in {}", path.display()), error)
                    .hint("choose another file, or use --no-store")
            })?;
        }
        // Looked up only if it is needed: with a store named, the command also works without a data directory.
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

    /// Whether no sink is configured.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_none() && self.print.is_none() && self.store.is_none() && self.webhook.is_none()
    }

    /// Whether a sink wants heartbeats.
    pub(crate) fn wants_heartbeats(&self) -> bool {
        self.webhook.is_some() || self.print == Some(PrintFormat::Json)
    }

    /// The path of the store.
    pub(crate) fn store(&self) -> Option<&Path> {
        self.store.as_deref()
    }

    /// Opens the sinks and starts the event bus; `None` if there is nothing to do. Requests are counted in `metrics`.
    pub(crate) fn start(
        self,
        session_idle: Duration,
        metrics: Option<Arc<RequestMetrics>>,
    ) -> Result<Option<Arc<Bus>>, CommandError> {
        // Without a consumer, exchanges are not turned into events at all.
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
                PrintFormat::Pretty => EventFormat::Pretty(self.servers),
                PrintFormat::Json => EventFormat::Json,
            };
            // Strips the colors where standard error is not a terminal.
            sinks.push(Box::new(StderrSink::new(Box::new(anstream::stderr()), look)));
        }
        let mut snapshots = Vec::new();
        if let Some(path) = &self.store {
            let mut sink = StoreSink::new(path, self.retention);
            if let Err(error) = sink.open() {
                // Not fatal: the default store being unusable must not keep the proxy from serving traffic.
                report_sink_error(sink.name(), &error);
            }
            // If the store can't be read, opening it has already reported that.
            snapshots = Store::open_read(path).and_then(|store| store.snapshots()).unwrap_or_default();
            sinks.push(Box::new(sink));
        }
        if let Some(options) = &self.webhook {
            let sink = WebhookSink::new(options).map_err(refuse_webhook)?;
            sinks.push(Box::new(sink));
        }
        let observer = ObserverOptions { lines, session_idle, snapshots, ids: Arc::new(EventIds::new()) };
        let bus = Bus::start(BusOptions {
            observer,
            sinks,
            report: Arc::new(report_sink_error),
            patience: PATIENCE,
        })
        .map_err(|error| CommandError::because("can't start the event threads", error))?;
        Ok(Some(Arc::new(bus)))
    }
}

/// Creates the directory of a file, accessible to its owner only, if it is missing.
fn create_folder_of(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => private::create_dir(folder),
        None => Ok(()),
    }
}

/// The sink's options, including the token from the file or the environment.
fn webhook_options(config: &WebhookConfig) -> Result<WebhookOptions, CommandError> {
    let spool = config.spool.clone().map_or_else(dirs::spool_dir, Ok)?;
    let mut options = WebhookOptions::new(config.url.clone(), spool);
    options.token = webhook_token(config)?;
    options.ca_file.clone_from(&config.ca_file);
    let set = |value: &mut u64, given: Option<u64>| *value = given.unwrap_or(*value);
    set(&mut options.spool.batch_events, config.batch_events);
    set(&mut options.spool.max_bytes, config.spool_bytes);
    options.spool.batch_time = config.batch_time.unwrap_or(options.spool.batch_time);
    options.check().map_err(refuse_webhook)?;
    Ok(options)
}

fn webhook_token(config: &WebhookConfig) -> Result<Option<Secret>, CommandError> {
    if let Some(path) = &config.token_file {
        let token = std::fs::read_to_string(path).map_err(|error| {
            CommandError::because(format!("can't read the webhook token from {}", path.display()), error)
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
            .hint("choose another file, or `-` for standard output")
    })?;
    let out: Box<dyn Write + Send> = Box::new(file);
    Ok(NdjsonSink::new(out, place))
}

pub(crate) fn beat(bus: &Bus, bound: &[BoundListener]) {
    let bound = bound.to_vec();
    let probe = Box::new(move || bound.iter().map(listener_health).collect());
    if let Err(error) = bus.beat(HeartbeatOptions { every: HEARTBEAT, probe }) {
        output::warn(format!("wiretape: can't send heartbeats: {error}"));
    }
}

fn listener_health(bound: &BoundListener) -> ListenerHealth {
    let (upstream, reachable) = match &bound.listener.route {
        Route::Reverse(reverse) => (reverse.upstream.origin(), Some(reverse.upstream.is_reachable())),
        Route::Forward(_) => (String::new(), None),
    };
    ListenerHealth {
        listener: bound.listener.name.as_str().into(),
        upstream: upstream.into(),
        port: bound.address.port(),
        reachable,
    }
}

/// Flushes all sinks, and reports events that were lost.
pub(crate) fn close(bus: &Bus) {
    // A sink may need a while to flush; a second signal skips the wait.
    platform::on_termination(end_now);
    for SinkStatus { name, queued, dropped, .. } in bus.close(report_flushing) {
        let lost = dropped + queued;
        if lost > 0 {
            let events = units::count(lost, "event");
            output::warn(format!("wiretape: {events} not delivered to {}", describe(&name)));
        }
    }
}

fn report_flushing(sinks: &[&str]) {
    let sinks = sinks.join(", ");
    output::note(format!("wiretape: flushing events to {sinks}; press Ctrl-C again to stop now"));
}

fn end_now(signal: i32) {
    output::warn("wiretape: stopped before all events were delivered");
    ExitCode::passed_on(128 + signal).exit()
}

fn describe(sink: &str) -> &str {
    if sink == "bus" { "the event bus" } else { sink }
}

fn report_sink_error(sink: &str, error: &SinkError) {
    if !error.message.is_empty() {
        output::warn(format!("wiretape: {sink}: {error}"));
    }
}
