//! The configuration file of `wiretape proxy`: several upstreams, a forward proxy, their limits.
//!
//! A missing key is `None` here: the defaults belong to the proxy and to the command line. Problems that a value
//! alone doesn't show (equal names, overlapping listeners, an upstream that is the proxy itself) are found here as
//! well, because the proxy would report them one by one at start, without a line.

mod csp;
mod events;

pub(crate) use events::{EventsConfig, RetentionConfig, WebhookConfig};

use self::csp::{CSP, UPSTREAM_CSP};
use crate::config::{
    Config, Document, Located, Problem, ProblemKind, Problems, REDACT, REDACT_PATTERN, REDACT_TOKEN,
    RedactConfig, Schema, Section, read_file, refuse,
};
use crate::error::CommandError;
use crate::units;
use serde::{Serialize, Serializer};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wiretape_proxy::http::csp::Rule;
use wiretape_proxy::http::{UpstreamUrl, UrlError};
use wiretape_trace::name::clean_label;

/// The top level of the file.
pub(crate) const PROXY_FILE: Schema = Schema {
    title: "the file",
    place: "at the top of the file",
    keys: &[
        "traces",
        "events",
        "print",
        "store",
        "retention",
        "webhook",
        "admin",
        "admin_hosts",
        "drain",
        "limits",
        "redact",
        "csp",
        "upstream",
        "forward",
    ],
};

const LIMITS: Schema = Schema {
    title: "[limits]",
    place: "in [limits]",
    keys: &[
        "body",
        "headers",
        "connections",
        "connect_timeout",
        "header_timeout",
        "idle_timeout",
        "total_timeout",
    ],
};

const UPSTREAM: Schema = Schema {
    title: "[[upstream]]",
    place: "in [[upstream]]",
    keys: &["name", "url", "listen", "rewrite_host", "allow_hosts", "oauth_rewrite", "csp"],
};

const FORWARD: Schema = Schema {
    title: "[forward]",
    place: "in [forward]",
    keys: &["listen", "intercept", "allow_private_targets", "auth_file"],
};

/// Every table that the file may hold.
const TABLES: &[&Schema] = &[
    &PROXY_FILE,
    &events::RETENTION,
    &events::WEBHOOK,
    &LIMITS,
    &CSP,
    &UPSTREAM,
    &UPSTREAM_CSP,
    &FORWARD,
    &REDACT,
    &REDACT_PATTERN,
    &REDACT_TOKEN,
];

/// The smallest header limit that hyper accepts, in bytes.
pub(crate) const MIN_HEADERS: u64 = 8192;

/// A value that can be turned off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch<T> {
    /// `false`, or `"none"` for a duration.
    Off,
    On(T),
}

impl<T> Switch<T> {
    /// The value, unless it is turned off.
    pub(crate) fn on(self) -> Option<T> {
        match self {
            Switch::On(value) => Some(value),
            Switch::Off => None,
        }
    }
}

impl<T: Serialize> Serialize for Switch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Switch::Off => serializer.serialize_bool(false),
            Switch::On(value) => value.serialize(serializer),
        }
    }
}

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProxyConfig {
    /// The directory of traces, relative to the file's own directory.
    pub(crate) traces: Option<Switch<PathBuf>>,
    /// Events, the store and the webhook.
    #[serde(flatten)]
    pub(crate) events: EventsConfig,
    /// The address of the admin endpoints.
    pub(crate) admin: Option<Switch<SocketAddr>>,
    /// Host names that the admin endpoints accept.
    pub(crate) admin_hosts: Vec<String>,
    /// How long to wait for requests in flight at shutdown.
    #[serde(rename = "drainMs", serialize_with = "serialize_ms")]
    pub(crate) drain: Option<Duration>,
    /// Limits on requests and connections.
    pub(crate) limits: LimitsConfig,
    /// Content-Security-Policy rules for all upstreams.
    pub(crate) csp: Vec<Rule>,
    pub(crate) upstreams: Vec<UpstreamConfig>,
    pub(crate) forward: Option<ForwardConfig>,
    /// Redaction rules; `None` if the file has no `[redact]`.
    pub(crate) redact: Option<RedactConfig>,
}

/// Limits on requests and connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LimitsConfig {
    /// The maximum size of a body, in bytes.
    #[serde(rename = "bodyBytes")]
    pub(crate) body: Option<u64>,
    /// The maximum size of all headers of a message, in bytes.
    #[serde(rename = "headersBytes")]
    pub(crate) headers: Option<u64>,
    /// The maximum number of concurrent client connections.
    pub(crate) connections: Option<u64>,
    /// The timeout for connecting to an upstream.
    #[serde(rename = "connectTimeoutMs", serialize_with = "serialize_switch_ms")]
    pub(crate) connect_timeout: Option<Switch<Duration>>,
    /// The timeout for receiving a request's headers.
    #[serde(rename = "headerTimeoutMs", serialize_with = "serialize_switch_ms")]
    pub(crate) header_timeout: Option<Switch<Duration>>,
    /// The maximum time without data in either direction.
    #[serde(rename = "idleTimeoutMs", serialize_with = "serialize_switch_ms")]
    pub(crate) idle_timeout: Option<Switch<Duration>>,
    /// The maximum duration of an exchange.
    #[serde(rename = "totalTimeoutMs", serialize_with = "serialize_switch_ms")]
    pub(crate) total_timeout: Option<Switch<Duration>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpstreamConfig {
    /// The label of its traces; derived from the URL's host and port if the file has none.
    pub(crate) name: String,
    #[serde(serialize_with = "serialize_url")]
    pub(crate) url: UpstreamUrl,
    /// The address that the proxy listens on for this server.
    pub(crate) listen: SocketAddr,
    /// Whether to send the upstream's own host name in `Host`.
    pub(crate) rewrite_host: Option<bool>,
    /// Names that clients may send in `Host` where it is replaced.
    pub(crate) allow_hosts: Vec<String>,
    /// Whether to rewrite the upstream's addresses in OAuth documents.
    pub(crate) oauth_rewrite: Option<bool>,
    /// Content-Security-Policy rules for this upstream, in addition to those for all.
    pub(crate) csp: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForwardConfig {
    /// The address that it listens on.
    pub(crate) listen: SocketAddr,
    /// Whether it intercepts TLS.
    pub(crate) intercept: Option<bool>,
    /// Whether clients on other machines may reach this machine and private networks.
    pub(crate) allow_private_targets: Option<bool>,
    /// A file with the user name and password that clients must give.
    pub(crate) auth_file: Option<PathBuf>,
}

impl ProxyConfig {
    /// Reads the proxy's file, if one is given. Without `[redact]` in it, the user's own redaction rules apply: what is secret
    /// for other commands stays secret here.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, CommandError> {
        let mut config = match path {
            Some(path) => Self::load_file(path)?,
            None => ProxyConfig::default(),
        };
        if config.redact.is_none() {
            config.redact = Some(Config::load(None)?.redact);
        }
        Ok(config)
    }

    fn load_file(path: &Path) -> Result<Self, CommandError> {
        match read_file(path) {
            Ok(Ok(text)) => {
                read_proxy(&text, path, NamedFiles::Checked).map_err(|problems| refuse(path, &problems))
            }
            Ok(Err(problem)) => Err(refuse(path, &[problem])),
            Err(error) => {
                let message = format!("can't read the configuration {}", path.display());
                Err(CommandError::usage_because(message, error))
            }
        }
    }
}

/// How to treat files that a configuration names and that must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedFiles {
    /// A file that can't be read is a problem.
    Checked,
    /// Only the names are checked.
    #[cfg(test)]
    NotChecked,
}

impl NamedFiles {
    /// The problem with a file, if any.
    fn check(self, path: &Path) -> Result<(), String> {
        #[cfg(test)]
        if self == NamedFiles::NotChecked {
            return Ok(());
        }
        // Opened rather than looked up: the file may exist and not be readable by the user that the proxy runs as.
        // Opening a directory succeeds on Unix, so its kind is checked as well.
        match std::fs::File::open(path).and_then(|file| file.metadata()) {
            Ok(metadata) if metadata.is_dir() => {
                Err(format!("{} is a directory, not a file", path.display()))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("{} does not exist", path.display()))
            }
            Err(error) => Err(format!("can't read {} ({error})", path.display())),
        }
    }
}

/// Parses a proxy's configuration at `path`, or reports all problems.
pub(crate) fn read_proxy(text: &str, path: &Path, files: NamedFiles) -> Result<ProxyConfig, Vec<Problem>> {
    let problems = Problems::new(text);
    let document = Document::parse(text, &problems);
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = document.read(&PROXY_FILE, TABLES, &problems, |section| read_top(section, folder, files));
    // A file with one mistake is refused as a whole: a proxy that starts with half of its limits or rules is worse
    // than one that does not start.
    let found = problems.into_vec();
    if found.is_empty() { Ok(config.unwrap_or_default()) } else { Err(found) }
}

/// Whether a file has keys of the proxy's own.
pub(crate) fn is_for_proxy(text: &str) -> bool {
    let problems = Problems::new(text);
    let document = Document::parse(text, &problems);
    // `[redact]` is in both kinds of files, so it says nothing about which one this is.
    PROXY_FILE.keys.iter().any(|key| *key != "redact" && document.has(key))
}

fn read_top(section: &mut Section<'_>, folder: &Path, files: NamedFiles) -> ProxyConfig {
    let traces = section
        .parsed_or_false("traces", "a directory in quotes, or false", |text| parse_directory(text, folder));
    let events = events::read(section, folder, files);
    let admin =
        section.parsed_or_false("admin", "an address such as \"127.0.0.1:3005\", or false", parse_address);
    let admin_hosts = section.texts("admin_hosts").into_iter().map(|host| host.value.to_owned()).collect();
    let drain = section.parsed("drain", "a duration such as \"30s\"", units::parse_duration);
    let limits = section.table("limits", &LIMITS, read_limits);
    let redact = section.table("redact", &REDACT, RedactConfig::read);
    let csp = section.tables("csp", &CSP, csp::read_rule);
    let upstreams = section.tables("upstream", &UPSTREAM, read_upstream);
    let forward =
        section.table("forward", &FORWARD, |section| read_forward(section, folder, files)).flatten();
    // A missing `traces` means the default directory, so only an explicit `false` turns traces off.
    let is_silent = matches!(traces, Some(Located { value: None, .. })) && !events.writes();
    if let (true, Some(span)) = (is_silent, section.key_span("redact")) {
        let message = "`redact` has no effect: with `traces` and `store` off, nothing is recorded";
        section.problems().add(&span, ProblemKind::NoEffect, message);
    }
    let upstreams: Vec<Upstream> = upstreams.into_iter().flatten().collect();
    if let (true, Some(span)) = (upstreams.is_empty(), section.key_span("csp")) {
        let message = "`csp` has no effect without an [[upstream]]: a forward proxy does not change pages";
        section.problems().add(&span, ProblemKind::NoEffect, message);
    }
    // Across tables, so only after all of them were read. Incomplete upstreams take part as far as they could be
    // read.
    check_names(&upstreams, section.problems());
    let listeners = listeners(&upstreams, forward.as_ref(), admin.as_ref());
    check_listeners(&listeners, section.problems());
    check_loops(&upstreams, &listeners, section.problems());
    ProxyConfig {
        traces: traces.map(switch),
        events,
        admin: admin.map(switch),
        admin_hosts,
        drain: value(drain),
        limits: limits.unwrap_or_default(),
        csp,
        upstreams: upstreams.into_iter().filter_map(Upstream::into_config).collect(),
        forward: forward.and_then(Forward::into_config),
        redact,
    }
}

fn value<T>(located: Option<Located<T>>) -> Option<T> {
    located.map(|located| located.value)
}

fn switch<T>(located: Located<Option<T>>) -> Switch<T> {
    located.value.map_or(Switch::Off, Switch::On)
}

fn read_limits(section: &mut Section<'_>) -> LimitsConfig {
    // Zero would be a proxy that rejects everything, which is never meant.
    let connections = section.number("connections");
    if let Some(Located { value: 0, span }) = &connections {
        section.problems().add(span, ProblemKind::BadValue, "`connections`: must be at least 1");
    }
    LimitsConfig {
        body: read_size(section, "body", 1),
        headers: read_size(section, "headers", MIN_HEADERS),
        connections: value(connections),
        connect_timeout: read_timeout(section, "connect_timeout"),
        header_timeout: read_timeout(section, "header_timeout"),
        idle_timeout: read_timeout(section, "idle_timeout"),
        total_timeout: read_timeout(section, "total_timeout"),
    }
}

fn read_size(section: &mut Section<'_>, key: &'static str, least: u64) -> Option<u64> {
    let size =
        section.parsed_or_number(key, "a size such as \"64MB\"", |text| match units::parse_size(text)? {
            size if size < least => Err(format!("must be at least {}", units::count(least, "byte"))),
            size => Ok(size),
        });
    value(size)
}

fn read_timeout(section: &mut Section<'_>, key: &'static str) -> Option<Switch<Duration>> {
    value(section.parsed(key, "a duration such as \"30s\", or \"none\"", parse_timeout))
}

fn parse_timeout(text: &str) -> Result<Switch<Duration>, String> {
    if text == "none" {
        return Ok(Switch::Off);
    }
    match units::parse_duration(text)? {
        Duration::ZERO => Err("every request would time out; write \"none\" for no limit".to_owned()),
        duration => Ok(Switch::On(duration)),
    }
}

/// An upstream as far as it could be read, with the ranges of its values.
struct Upstream {
    name: Option<Located<String>>,
    url: Option<Located<UpstreamUrl>>,
    listen: Option<Located<SocketAddr>>,
    rewrite_host: Option<bool>,
    allow_hosts: Vec<String>,
    oauth_rewrite: Option<bool>,
    csp: Vec<Rule>,
}

impl Upstream {
    fn into_config(self) -> Option<UpstreamConfig> {
        Some(UpstreamConfig {
            name: self.name?.value,
            url: self.url?.value,
            listen: self.listen?.value,
            rewrite_host: self.rewrite_host,
            allow_hosts: self.allow_hosts,
            oauth_rewrite: self.oauth_rewrite,
            csp: self.csp,
        })
    }
}

fn read_upstream(section: &mut Section<'_>) -> Option<Upstream> {
    let name = section.parsed("name", "text", parse_name);
    let url = section.parsed("url", "a URL such as \"http://localhost:9000/mcp\"", parse_url);
    let listen = section.parsed("listen", "an address such as \"127.0.0.1:3004\"", parse_address);
    let rewrite_host = value(section.boolean("rewrite_host"));
    let upstream = Upstream {
        name: name.or_else(|| default_name(section, url.as_ref())),
        url,
        listen,
        rewrite_host,
        allow_hosts: read_allowed_hosts(section, rewrite_host),
        oauth_rewrite: value(section.boolean("oauth_rewrite")),
        csp: section.tables("csp", &UPSTREAM_CSP, csp::read_rule),
    };
    // After all keys were read: a section without `url` may have other mistakes, which are reported with it.
    require(section, &["url", "listen"]);
    Some(upstream)
}

fn read_allowed_hosts(section: &mut Section<'_>, rewrite_host: Option<bool>) -> Vec<String> {
    if let (false, Some(span)) = (rewrite_host.unwrap_or(false), section.key_span("allow_hosts")) {
        let message = "`allow_hosts` has no effect without `rewrite_host = true`: the server checks the client's `Host`";
        section.problems().add(&span, ProblemKind::NoEffect, message);
    }
    let mut hosts = Vec::new();
    for host in section.texts("allow_hosts") {
        match parse_host_name(host.value) {
            Ok(name) => hosts.push(name),
            Err(problem) => {
                let message = format!("`allow_hosts`: {problem}");
                section.problems().add(&host.span, ProblemKind::BadValue, message);
            }
        }
    }
    hosts
}

/// Parses a host name that clients may send in `Host`.
pub(crate) fn parse_host_name(text: &str) -> Result<String, String> {
    // No port: a client's `Host` is compared without its port, because the proxy may be published on another one.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_name) {
        return Err("expected a host name without a port, such as mcp.example.com".to_owned());
    }
    Ok(text.to_owned())
}

/// The name of an upstream without `name`.
fn default_name(section: &Section<'_>, url: Option<&Located<UpstreamUrl>>) -> Option<Located<String>> {
    // `name` is there but invalid, which is already a problem; a default would only add conflicts.
    if section.key_span("name").is_some() {
        return None;
    }
    let name = clean_label(url?.value.name());
    let name = if name.is_empty() { "upstream".to_owned() } else { name };
    Some(Located { value: name, span: section.span() })
}

fn require(section: &Section<'_>, keys: &[&str]) {
    for key in keys {
        if section.key_span(key).is_none() {
            section.report_missing(key);
        }
    }
}

/// A forward proxy as far as it could be read.
struct Forward {
    listen: Option<Located<SocketAddr>>,
    intercept: Option<bool>,
    allow_private_targets: Option<bool>,
    auth_file: Option<PathBuf>,
}

impl Forward {
    fn into_config(self) -> Option<ForwardConfig> {
        Some(ForwardConfig {
            listen: self.listen?.value,
            intercept: self.intercept,
            allow_private_targets: self.allow_private_targets,
            auth_file: self.auth_file,
        })
    }
}

fn read_forward(section: &mut Section<'_>, folder: &Path, files: NamedFiles) -> Option<Forward> {
    let listen = section.parsed("listen", "an address such as \"127.0.0.1:3128\"", parse_address);
    let forward = Forward {
        listen,
        intercept: value(section.boolean("intercept")),
        allow_private_targets: value(section.boolean("allow_private_targets")),
        auth_file: value(
            section.parsed("auth_file", "a path in quotes", |text| parse_file(text, folder, files)),
        ),
    };
    require(section, &["listen"]);
    Some(forward)
}

fn parse_directory(text: &str, folder: &Path) -> Result<PathBuf, String> {
    match text {
        "" => Err("the directory is empty".to_owned()),
        // The shell expands `~` on a command line, so people expect it here as well; as a path, it would create a
        // directory named `~`.
        _ if text == "~" || text.starts_with("~/") => {
            Err("`~` is not expanded here; write the full path".to_owned())
        }
        _ => Ok(folder.join(text)),
    }
}

/// Parses the path of a file that must exist.
fn parse_file(text: &str, folder: &Path, files: NamedFiles) -> Result<PathBuf, String> {
    let path = parse_directory(text, folder)?;
    files.check(&path)?;
    Ok(path)
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    // Only IP addresses are accepted; the example keeps the port that the user wrote.
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let example = match port.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => "127.0.0.1:3004 or [::1]:3004".to_owned(),
    };
    Err(format!("`{text}` is not an IP address with a port: expected e.g. {example}"))
}

/// Checks a name against the rules for labels of traces, so that names are the same in the file and in the traces.
fn parse_name(text: &str) -> Result<String, String> {
    if text.is_empty() || clean_label(text) != text {
        let clean = Some(clean_label(text)).filter(|clean| !clean.is_empty());
        let example = clean.map(|clean| format!(", such as `{clean}`")).unwrap_or_default();
        return Err(format!("use at most 64 letters, digits, `_` and single `-`{example}"));
    }
    Ok(text.to_owned())
}

fn parse_url(text: &str) -> Result<UpstreamUrl, String> {
    text.parse().map_err(|error: UrlError| error.to_string())
}

fn check_names(upstreams: &[Upstream], problems: &Problems<'_>) {
    let names: Vec<&Located<String>> =
        upstreams.iter().filter_map(|upstream| upstream.name.as_ref()).collect();
    for (at, name) in names.iter().enumerate() {
        // Labels become file names, and not all file systems are case-sensitive.
        let same = |other: &&&Located<String>| other.value.eq_ignore_ascii_case(&name.value);
        if let Some(other) = names[..at].iter().find(same) {
            let line = problems.line(other.span.start);
            let message =
                format!("the upstream in line {line} is also named `{}`; choose another `name`", name.value);
            problems.add(&name.span, ProblemKind::Conflict, message);
        }
    }
}

/// An address that the proxy listens on.
struct Listener {
    address: SocketAddr,
    span: std::ops::Range<usize>,
}

fn listeners(
    upstreams: &[Upstream],
    forward: Option<&Forward>,
    admin: Option<&Located<Option<SocketAddr>>>,
) -> Vec<Listener> {
    let of_upstreams = upstreams.iter().filter_map(|upstream| upstream.listen.as_ref());
    let of_forward = forward.and_then(|forward| forward.listen.as_ref());
    let proxies = of_upstreams.chain(of_forward).map(|listen| (listen.value, &listen.span));
    let admin = admin.and_then(|admin| Some((admin.value?, &admin.span)));
    let mut listeners: Vec<Listener> =
        proxies.chain(admin).map(|(address, span)| Listener { address, span: span.clone() }).collect();
    // In the order of the file, so that of two conflicting listeners the later one is reported.
    listeners.sort_by_key(|listener| listener.span.start);
    listeners
}

fn check_listeners(listeners: &[Listener], problems: &Problems<'_>) {
    for (at, listener) in listeners.iter().enumerate() {
        if let Some(other) = listeners[..at].iter().find(|other| overlap(other.address, listener.address)) {
            let line = problems.line(other.span.start);
            let message = format!("line {line} also listens on {}; use another port", other.address);
            problems.add(&listener.span, ProblemKind::Conflict, message);
        }
    }
}

/// Whether two listeners conflict. Port 0 is any free port and never conflicts.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    // 0.0.0.0 and [::] cover every address of their family, and on Linux [::] covers IPv4 as well.
    let is_everything = |address: SocketAddr| address.ip().is_unspecified();
    one.port() == other.port()
        && one.port() != 0
        && (one.ip() == other.ip() || is_everything(one) || is_everything(other))
}

fn check_loops(upstreams: &[Upstream], listeners: &[Listener], problems: &Problems<'_>) {
    for url in upstreams.iter().filter_map(|upstream| upstream.url.as_ref()) {
        if let Some(listener) = listeners.iter().find(|listener| leads_to(&url.value, listener.address)) {
            let line = problems.line(listener.span.start);
            let message =
                format!("`url`: this is the address that the proxy itself listens on (line {line})");
            problems.add(&url.span, ProblemKind::Conflict, message);
        }
    }
}

fn leads_to(url: &UpstreamUrl, listener: SocketAddr) -> bool {
    // A proxy that forwards to itself would accept its own connections until the limit is reached, and answer each
    // request with a timeout.
    let (host, port) = url.address();
    let (ours, is_everything) = (listener.ip(), listener.ip().is_unspecified());
    let is_ours = match host.parse::<IpAddr>() {
        Ok(address) => address == ours || (is_everything && address.is_loopback()),
        Err(_) => host.eq_ignore_ascii_case("localhost") && (is_everything || ours.is_loopback()),
    };
    // Other names of this machine are not resolved: checking a file must not depend on the network.
    is_ours && port == listener.port()
}

fn serialize_url<S: Serializer>(url: &UpstreamUrl, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(url)
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn serialize_ms<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    // JSON has no durations; names that end in `Ms` are milliseconds everywhere in the output.
    duration.map(ms).serialize(serializer)
}

fn serialize_switch_ms<S: Serializer>(
    duration: &Option<Switch<Duration>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let ms = duration.map(|duration| match duration {
        Switch::Off => Switch::Off,
        Switch::On(duration) => Switch::On(ms(duration)),
    });
    ms.serialize(serializer)
}

#[cfg(test)]
mod tests;
