//! The configuration of events, the store and the webhook: the keys of the proxy's file that `crate::events` combines
//! with the command line.

use super::{
    NamedFiles, Switch, parse_directory, parse_file, read_size, require, serialize_ms, serialize_switch_ms,
    switch, value,
};
use crate::config::{Located, ProblemKind, Schema, Section};
use crate::events::PrintFormat;
use crate::units;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wiretape_events::sink::webhook::WebhookOptions;
use wiretape_events::store::Retention;

pub(super) const RETENTION: Schema =
    Schema { title: "[retention]", place: "in [retention]", keys: &["max_age", "max_bytes"] };

pub(super) const WEBHOOK: Schema = Schema {
    title: "[webhook]",
    place: "in [webhook]",
    keys: &["url", "token_file", "ca_file", "batch_events", "batch_time", "spool", "spool_bytes"],
};

/// Events, the store and the webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventsConfig {
    /// The NDJSON file, relative to the configuration's directory.
    pub(crate) events: Option<Switch<PathBuf>>,
    /// The format of events on standard error.
    pub(crate) print: Option<PrintFormat>,
    /// The store, relative to the configuration's directory.
    pub(crate) store: Option<Switch<PathBuf>>,
    /// Retention of the store.
    pub(crate) retention: RetentionConfig,
    /// The webhook that events are sent to.
    pub(crate) webhook: Option<WebhookConfig>,
}

/// The webhook that events are sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookConfig {
    /// The URL. It may contain a secret, so it is not printed.
    #[serde(skip)]
    pub(crate) url: String,
    /// A file with the bearer token.
    pub(crate) token_file: Option<PathBuf>,
    /// A PEM file with the certificates to trust instead of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// The maximum number of events in a batch.
    pub(crate) batch_events: Option<u64>,
    /// The longest time that an event waits for its batch.
    #[serde(rename = "batchTimeMs", serialize_with = "serialize_ms")]
    pub(crate) batch_time: Option<Duration>,
    /// The directory where unsent batches are spooled.
    pub(crate) spool: Option<PathBuf>,
    /// The maximum size of the spool, in bytes.
    pub(crate) spool_bytes: Option<u64>,
}

impl EventsConfig {
    /// Whether the file lets anything be written.
    pub(super) fn writes(&self) -> bool {
        let is_file = matches!(self.events, Some(Switch::On(_)));
        is_file || self.print.is_some() || self.webhook.is_some() || !matches!(self.store, Some(Switch::Off))
    }
}

/// Retention of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetentionConfig {
    /// Older rows are deleted.
    #[serde(rename = "maxAgeMs", serialize_with = "serialize_switch_ms")]
    pub(crate) max_age: Option<Switch<Duration>>,
    /// The oldest rows are deleted until the store is at most this large, in bytes.
    pub(crate) max_bytes: Option<u64>,
}

impl RetentionConfig {
    /// The effective retention; by default 30 days and 1 GB.
    pub(crate) fn retention(&self) -> Retention {
        const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
        const GIGABYTE: u64 = 1_000_000_000;
        Retention {
            max_age: self.max_age.map_or(Some(MONTH), Switch::on),
            max_bytes: Some(self.max_bytes.unwrap_or(GIGABYTE)),
        }
    }
}

pub(super) fn read(section: &mut Section<'_>, folder: &Path, files: NamedFiles) -> EventsConfig {
    let mut file = |key| {
        section.parsed_or_false(key, "a file in quotes, or false", |text| parse_directory(text, folder))
    };
    let (events, store) = (file("events"), file("store"));
    let print = section.parsed("print", "\"pretty\" or \"json\"", parse_print);
    let webhook =
        section.table("webhook", &WEBHOOK, |section| read_webhook(section, folder, files)).flatten();
    let retention = section.table("retention", &RETENTION, read_retention);
    if let (Some(Located { value: None, .. }), Some(span)) = (&store, section.key_span("retention")) {
        let message = "`retention` has no effect: there is no store (`store = false`)";
        section.problems().add(&span, ProblemKind::NoEffect, message);
    }
    EventsConfig {
        events: events.map(switch),
        print: value(print),
        store: store.map(switch),
        retention: retention.unwrap_or_default(),
        webhook,
    }
}

fn read_webhook(section: &mut Section<'_>, folder: &Path, files: NamedFiles) -> Option<WebhookConfig> {
    let url = section.parsed("url", "a URL in quotes", parse_webhook_url);
    let mut file =
        |key| value(section.parsed(key, "a path in quotes", |text| parse_file(text, folder, files)));
    let (token_file, ca_file) = (file("token_file"), file("ca_file"));
    let spool = value(section.parsed("spool", "a path in quotes", |text| parse_directory(text, folder)));
    let batch_events = section.number("batch_events");
    if let Some(Located { value: 0, span }) = &batch_events {
        section.problems().add(span, ProblemKind::BadValue, "`batch_events`: must be at least 1");
    }
    let batch_time = section.parsed("batch_time", "a duration such as \"5s\"", units::parse_duration);
    // A spool that holds next to nothing would drop batches at the first outage.
    let spool_bytes = read_size(section, "spool_bytes", 1_000_000);
    require(section, &["url"]);
    Some(WebhookConfig {
        url: value(url)?,
        token_file,
        ca_file,
        batch_events: value(batch_events),
        batch_time: value(batch_time),
        spool,
        spool_bytes,
    })
}

/// The URL is not repeated in messages: webhook URLs often contain secrets.
fn parse_webhook_url(text: &str) -> Result<String, String> {
    let options = WebhookOptions::new(text, PathBuf::new());
    options.check().map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

fn read_retention(section: &mut Section<'_>) -> RetentionConfig {
    /// An empty store is not much smaller.
    const LEAST: u64 = 1_000_000;
    RetentionConfig {
        max_age: value(section.parsed("max_age", "an age such as \"30d\", or \"none\"", parse_max_age)),
        max_bytes: read_size(section, "max_bytes", LEAST),
    }
}

fn parse_max_age(text: &str) -> Result<Switch<Duration>, String> {
    if text == "none" { Ok(Switch::Off) } else { units::parse_age(text).map(Switch::On) }
}

fn parse_print(text: &str) -> Result<PrintFormat, String> {
    <PrintFormat as clap::ValueEnum>::from_str(text, false)
        .map_err(|_| "expected \"pretty\" or \"json\"".to_owned())
}
