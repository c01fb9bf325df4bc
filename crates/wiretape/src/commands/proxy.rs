//! `wiretape proxy`: records sessions of HTTP servers.
//!
//! Merges the command line with the configuration file (`proxy_config`), starts the sinks (`events`) and hands over
//! to `wiretape_proxy::http`, which returns when the proxy is stopped. Listeners come from one of the two sources,
//! never from both: a flag that applies to one of several configured servers would be ambiguous.

use crate::error::CommandError;
use crate::events::{self, EventArgs, EventPlan};
use crate::proxy_config::{ForwardConfig, LimitsConfig, MIN_HEADERS, ProxyConfig, Switch, parse_host_name};
use crate::units::{self, Timeout};
use crate::{dirs, output, redaction};
use clap::{ArgGroup, Args};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wiretape_events::sink::{RequestMetrics, Servers};
use wiretape_events::{FORWARD, TransactionSink};
use wiretape_library::private;
use wiretape_proxy::http::ca::CertificateAuthority;
use wiretape_proxy::http::{
    AdminOptions, BoundListener, Credentials, Draining, ForwardOptions, HostHeader, Limits, ListenerOptions,
    OAuthRewrite, PrivateTargets, ProxyError, ProxyOptions, ProxyOutcome, ReverseOptions, Route, UpstreamUrl,
};
use wiretape_proxy::journal::JournalOptions;
use wiretape_proxy::warning::Warning;

/// The environment variable with the user name and password that clients of a forward proxy must give.
const AUTH_VARIABLE: &str = "WIRETAPE_PROXY_AUTH";
/// The default port of a reverse proxy.
const REVERSE_PORT: u16 = 3004;
/// The default port of a forward proxy.
const FORWARD_PORT: u16 = 3128;

/// Record sessions of HTTP MCP servers
///
/// Forwards requests and responses unchanged, including streams, and writes every message to a trace, one file per session.
/// Secrets are redacted before anything reaches the disk. With --upstream, clients connect to the proxy instead of the
/// server. With --forward, clients use it through HTTP_PROXY and keep the server's own URL, which works best with OAuth.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("role").required(true), after_help = "\
Examples:
  wiretape proxy --upstream http://localhost:9000/mcp
      then connect your client to http://127.0.0.1:3004/mcp
  wiretape proxy --config wiretape.toml
      several servers at once; see docs/configuration.md
  wiretape proxy --forward
      then start your client with HTTP_PROXY=http://127.0.0.1:3128

On the first signal (Ctrl-C, SIGTERM), requests in flight are completed; on the second, they are cut off.")]
pub(crate) struct ProxyArgs {
    /// The server to record: `http://localhost:9000/mcp`
    #[arg(long, value_name = "URL", value_parser = crate::url_arg::url::<UpstreamUrl>(), group = "role")]
    upstream: Option<UpstreamUrl>,

    /// Run a forward proxy, for clients that set HTTP_PROXY
    #[arg(long, group = "role")]
    forward: bool,

    /// Intercept TLS, with certificates signed by the CA of `wiretape ca`
    #[arg(long, requires = "forward")]
    intercept: bool,

    /// Let clients on other machines reach this machine and private networks through the proxy
    #[arg(long, requires = "forward")]
    allow_private_targets: bool,

    /// Require the USER:PASSWORD in FILE (default: the variable WIRETAPE_PROXY_AUTH, if set)
    #[arg(long, value_name = "FILE", requires = "forward")]
    auth_file: Option<PathBuf>,

    /// Read options from FILE; the command line takes precedence
    #[arg(long, value_name = "FILE", group = "role")]
    config: Option<PathBuf>,

    /// Listen on ADDR (default 127.0.0.1:3004, with --forward 127.0.0.1:3128); port 0 is any free port
    #[arg(long, value_name = "ADDR", conflicts_with = "config")]
    listen: Option<SocketAddr>,

    /// Name the server NAME in traces and queries (default: its host and port)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["forward", "config"])]
    label: Option<String>,

    /// Send the upstream's host name in `Host` instead of the client's value
    #[arg(long, conflicts_with_all = ["forward", "config"])]
    rewrite_host: bool,

    /// With --rewrite-host, also accept NAME in the client's `Host` (repeatable)
    #[arg(long, value_name = "NAME", value_parser = parse_host_name, requires = "rewrite_host")]
    allow_host: Vec<String>,

    /// Don't rewrite the server's OAuth metadata
    #[arg(long, conflicts_with_all = ["forward", "config"])]
    no_oauth_rewrite: bool,

    /// Write traces to DIR instead of the default directory
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// Don't write traces
    #[arg(long, conflicts_with_all = ["traces", "max_bytes", "max_files"])]
    no_traces: bool,

    /// Also redact matches of this regular expression (repeatable)
    #[arg(long, value_name = "REGEX", conflicts_with = "no_redact")]
    redact: Vec<String>,

    /// Record everything unchanged, including secrets; traces are marked as not redacted
    #[arg(long)]
    no_redact: bool,

    /// Start a new file before a trace exceeds SIZE: 50MB, 1GiB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_bytes: Option<u64>,

    /// Keep at most N files per session
    #[arg(long, value_name = "N", requires = "max_bytes", value_parser = clap::value_parser!(u64).range(1..))]
    max_files: Option<u64>,

    /// End a session's trace after it has been idle for TIME (default 30m)
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    session_idle: Option<Duration>,

    /// Serve /healthz, /ready, /version, /status and /metrics on ADDR; port 0 is any free port
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,

    /// Also accept this host name on the admin address (repeatable)
    #[arg(long, value_name = "NAME", requires = "admin")]
    admin_host: Vec<String>,

    /// How long to wait for requests in flight at shutdown (default 30s)
    #[arg(long = "drain-timeout", alias = "drain", value_name = "TIME", value_parser = units::parse_duration)]
    drain: Option<Duration>,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// Worker threads (default: one per CPU)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    workers: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum size of a request body (default 128MiB)
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_body: Option<u64>,

    /// Maximum size of a request's headers (default 64KiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_header_size)]
    max_headers: Option<u64>,

    /// Maximum number of concurrent client connections (default 4096)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_connections: Option<u64>,

    /// Timeout for connecting to the upstream (default 10s)
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    connect_timeout: Option<Duration>,

    /// Timeout for a request's headers, and for idle connections between requests (default 75s)
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    header_timeout: Option<Duration>,

    /// Maximum time without data in either direction (default none)
    #[arg(long, value_name = "TIME", value_parser = units::parse_timeout)]
    idle_timeout: Option<Timeout>,

    /// Maximum duration of an exchange (default none)
    #[arg(long, value_name = "TIME", value_parser = units::parse_timeout)]
    total_timeout: Option<Timeout>,
}

/// Parses the header limit, which has a minimum.
fn parse_header_size(text: &str) -> Result<u64, String> {
    match units::parse_size(text)? {
        size if size < MIN_HEADERS => Err(format!("must be at least {MIN_HEADERS} bytes")),
        size => Ok(size),
    }
}

/// Runs the proxy until a signal ends it.
pub(crate) fn run(args: &ProxyArgs) -> Result<(), CommandError> {
    let (mut options, events) = options(args)?;
    let traces = options.traces.as_ref().map(|journal| journal.dir.clone());
    let wants_heartbeats = events.wants_heartbeats();
    let store = events.store().map(Path::to_owned);
    let metrics = options.admin.as_ref().map(|admin| Arc::clone(&admin.requests));
    let bus = events.start(options.session_idle, metrics)?;
    options.sink = bus.clone().map(|bus| bus as Arc<dyn TransactionSink>);
    let outcome = wiretape_proxy::http::run(options, |bound, admin| {
        announce(bound, admin, traces.as_deref(), store.as_deref());
        if let Some(bus) = bus.as_ref().filter(|_| wants_heartbeats) {
            events::beat(bus, bound);
        }
    });
    if let Some(bus) = &bus {
        // Before the outcome is examined: events of a proxy that failed must be flushed as well.
        events::close(bus);
    }
    finish(outcome.map_err(explain)?)
}

fn options(args: &ProxyArgs) -> Result<(ProxyOptions, EventPlan), CommandError> {
    const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
    const DRAIN: Duration = Duration::from_secs(30);
    let mut config = ProxyConfig::load(args.config.as_deref())?;
    let mut listeners = listeners(args, &mut config)?;
    let dir = traces_dir(args, config.traces.take())?;
    let admin = admin(args, &mut config);
    let servers =
        if listeners.len() > 1 || args.upstream.is_none() { Servers::Several } else { Servers::One };
    let events = EventPlan::new(&args.events, std::mem::take(&mut config.events), servers)?;
    // Without anything to redact, no key is created.
    let writes_nothing = dir.is_none() && events.is_empty() && admin.is_none();
    let redactor = if args.no_redact || writes_nothing {
        None
    } else {
        Some(redaction::redactor(config.redact.take().unwrap_or_default(), &args.redact)?)
    };
    if let Some(redactor) = &redactor {
        // Names of listeners are labels of traces, and are in every event, metric and status.
        listeners.iter_mut().for_each(|listener| listener.name = redactor.label(&listener.name));
    }
    let traces = dir.map(|dir| JournalOptions {
        dir,
        max_bytes: args.max_bytes,
        max_files: args.max_files.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        tee: None,
    });
    let options = ProxyOptions {
        listeners,
        admin,
        limits: limits(&args.limits, &config.limits),
        traces,
        session_idle: args.session_idle.unwrap_or(SESSION_IDLE),
        redactor,
        drain: args.drain.or(config.drain).unwrap_or(DRAIN),
        on_drain: Arc::new(report_draining),
        workers: args.workers.map_or_else(processors, |n| usize::try_from(n).unwrap_or(1)),
        warn: Arc::new(print_warning),
        sink: None,
    };
    Ok((options, events))
}

/// The admin endpoints: from the command line, or from the file.
fn admin(args: &ProxyArgs, config: &mut ProxyConfig) -> Option<AdminOptions> {
    let listen = args.admin.or_else(|| config.admin.and_then(Switch::on))?;
    let hosts = [args.admin_host.clone(), std::mem::take(&mut config.admin_hosts)].concat();
    Some(AdminOptions { listen, hosts, requests: Arc::new(RequestMetrics::default()) })
}

/// The directory of traces, if any: from the command line, from the file, or the default. A directory that was named must be
/// writable; the default need not be, since traffic continues without traces.
fn traces_dir(args: &ProxyArgs, config: Option<Switch<PathBuf>>) -> Result<Option<PathBuf>, CommandError> {
    let named = match (&args.traces, config) {
        _ if args.no_traces => return Ok(None),
        (Some(dir), _) => Some(dir.clone()),
        (None, Some(switch)) => switch.on(),
        (None, None) => return dirs::traces_dir().map(Some),
    };
    if let Some(dir) = &named {
        check_writable(dir).map_err(|error| {
            CommandError::because(format!("can't write traces to {}", dir.display()), error)
                .hint("choose another directory, or use --no-traces")
        })?;
    }
    Ok(named)
}

/// Creates a directory if it is missing, and checks that files can be created in it.
fn check_writable(dir: &Path) -> io::Result<()> {
    private::create_dir(dir)?;
    // By creating a file: permissions alone don't show read-only mounts, quotas and ACLs.
    let probe = dir.join(format!(".wiretape-{}", std::process::id()));
    private::create_file(&probe)?;
    std::fs::remove_file(&probe)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The listeners, from the command line or from the file, never from both.
fn listeners(args: &ProxyArgs, config: &mut ProxyConfig) -> Result<Vec<ListenerOptions>, CommandError> {
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    if let Some(path) = &args.config {
        return from_file(path, config);
    }
    let listener = match &args.upstream {
        Some(upstream) => ListenerOptions {
            name: args.label.clone().unwrap_or_else(|| upstream.name().to_owned()),
            listen: args.listen.unwrap_or_else(|| local(REVERSE_PORT)),
            route: Route::Reverse(ReverseOptions {
                upstream: upstream.clone(),
                host: host_header(args.rewrite_host),
                allowed_hosts: args.allow_host.clone(),
                oauth: oauth_rewrite(!args.no_oauth_rewrite),
                csp: Vec::new(),
            }),
        },
        None => forward(&ForwardConfig {
            listen: args.listen.unwrap_or_else(|| local(FORWARD_PORT)),
            intercept: Some(args.intercept),
            allow_private_targets: Some(args.allow_private_targets),
            auth_file: args.auth_file.clone(),
        })?,
    };
    Ok(vec![listener])
}

fn from_file(path: &Path, config: &mut ProxyConfig) -> Result<Vec<ListenerOptions>, CommandError> {
    let for_all = std::mem::take(&mut config.csp);
    let mut listeners: Vec<ListenerOptions> = std::mem::take(&mut config.upstreams)
        .into_iter()
        .map(|upstream| ListenerOptions {
            name: upstream.name,
            listen: upstream.listen,
            route: Route::Reverse(ReverseOptions {
                upstream: upstream.url,
                host: host_header(upstream.rewrite_host.unwrap_or(false)),
                allowed_hosts: upstream.allow_hosts,
                oauth: oauth_rewrite(upstream.oauth_rewrite.unwrap_or(true)),
                csp: [for_all.clone(), upstream.csp].concat(),
            }),
        })
        .collect();
    if let Some(options) = config.forward.take() {
        listeners.push(forward(&options)?);
    }
    if listeners.is_empty() {
        let message = format!("{} has neither an upstream nor a forward proxy", path.display());
        return Err(
            CommandError::usage(message).hint("add [[upstream]] with `url` and `listen`, or [forward]")
        );
    }
    Ok(listeners)
}

fn host_header(is_rewritten: bool) -> HostHeader {
    if is_rewritten { HostHeader::Rewrite } else { HostHeader::Keep }
}

fn oauth_rewrite(is_on: bool) -> OAuthRewrite {
    if is_on { OAuthRewrite::On } else { OAuthRewrite::Off }
}

fn forward(options: &ForwardConfig) -> Result<ListenerOptions, CommandError> {
    let allows_private = options.allow_private_targets.unwrap_or(false);
    let route = Route::Forward(ForwardOptions {
        intercept: authority(options.intercept.unwrap_or(false))?,
        private_targets: if allows_private { PrivateTargets::Allowed } else { PrivateTargets::FromHere },
        credentials: credentials(options.auth_file.as_deref())?,
    });
    Ok(ListenerOptions { name: FORWARD.to_owned(), listen: options.listen, route })
}

/// The password that clients of a forward proxy must give: from the file, or else from the environment. Not from an option,
/// which every user of the machine could read.
fn credentials(file: Option<&Path>) -> Result<Option<Credentials>, CommandError> {
    let (text, source) = match file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                CommandError::because(format!("can't read the password from {}", path.display()), error)
            })?;
            (text, path.display().to_string())
        }
        None => match std::env::var_os(AUTH_VARIABLE).filter(|text| !text.is_empty()) {
            Some(text) => (text.to_string_lossy().into_owned(), AUTH_VARIABLE.to_owned()),
            None => return Ok(None),
        },
    };
    let credentials = Credentials::parse(&text)
        .map_err(|error| CommandError::because(format!("can't use the password in {source}"), error))?;
    Ok(Some(credentials))
}

/// The CA whose certificates clients are presented with.
fn authority(intercept: bool) -> Result<Option<Arc<CertificateAuthority>>, CommandError> {
    if !intercept {
        return Ok(None);
    }
    let authority = CertificateAuthority::load(&dirs::ca_dir()?).map_err(super::ca::explain)?;
    Ok(Some(Arc::new(authority)))
}

fn limits(args: &LimitArgs, config: &LimitsConfig) -> Limits {
    // The proxy has no switch for these two timeouts: `none` is a limit that is never reached.
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let usual = Limits::default();
    let whole = |n: u64| usize::try_from(n).unwrap_or(usize::MAX / 4);
    let time = |flag: Option<Duration>, file: Option<Switch<Duration>>, usual: Duration| match (flag, file) {
        (Some(flag), _) => flag,
        (None, Some(file)) => file.on().unwrap_or(YEAR),
        (None, None) => usual,
    };
    let timeout = |flag: Option<Timeout>, file: Option<Switch<Duration>>| match (flag, file) {
        (Some(flag), _) => flag.0,
        (None, file) => file.and_then(Switch::on),
    };
    Limits {
        body: args.max_body.or(config.body).unwrap_or(usual.body),
        headers: args.max_headers.or(config.headers).map_or(usual.headers, whole),
        connections: args.max_connections.or(config.connections).map_or(usual.connections, whole),
        connect: time(args.connect_timeout, config.connect_timeout, usual.connect),
        header: time(args.header_timeout, config.header_timeout, usual.header),
        idle: timeout(args.idle_timeout, config.idle_timeout),
        total: timeout(args.total_timeout, config.total_timeout),
    }
}

/// Prints where the proxy listens, and how clients use it.
fn announce(bound: &[BoundListener], admin: Option<SocketAddr>, traces: Option<&Path>, store: Option<&Path>) {
    for BoundListener { listener, address } in bound {
        // To standard error, since standard output may carry events (`--events`).
        output::note(format!("wiretape: listening on http://{address}"));
        match &listener.route {
            Route::Reverse(reverse) => {
                let upstream = &reverse.upstream;
                output::note(format!(
                    "wiretape: connect clients to http://{address}{} instead of {upstream}",
                    upstream.path()
                ));
            }
            Route::Forward(_) => {
                output::note(format!(
                    "wiretape: start clients with HTTP_PROXY=http://{address} HTTPS_PROXY=http://{address}"
                ));
            }
        }
        let has_password =
            matches!(&listener.route, Route::Forward(forward) if forward.credentials.is_some());
        if !address.ip().is_loopback() && !has_password {
            output::warn(format!(
                "wiretape: {address} is reachable from other machines, without authentication"
            ));
        }
    }
    if let Some(admin) = admin {
        output::note(format!("wiretape: status at http://{admin}/status"));
    }
    if let Some(traces) = traces {
        output::note(format!("wiretape: writing traces to {}", traces.display()));
    }
    if let Some(store) = store {
        output::note(format!("wiretape: store: {}", store.display()));
    }
}

fn explain(error: ProxyError) -> CommandError {
    let ProxyError::Listen { address, source } = error else { return CommandError::failure(error) };
    let hint = match source.kind() {
        io::ErrorKind::AddrInUse => {
            format!("port {} is in use; choose another with --listen, or 0 for any free one", address.port())
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose a higher one".to_owned(),
        io::ErrorKind::AddrNotAvailable => {
            format!("{} is not an address of this machine; 127.0.0.1 always is", address.ip())
        }
        _ => "choose another address with --listen".to_owned(),
    };
    CommandError::because(format!("can't listen on {address}"), source).hint(hint)
}

/// Prints a warning of the proxy.
#[expect(clippy::needless_pass_by_value, reason = "the signature of the proxy's callback")]
fn print_warning(warning: Warning) {
    output::warn(format!("wiretape: {warning}"));
}

/// Reports what the proxy waits for, so that it does not look stuck.
fn report_draining(draining: Draining) {
    let Draining { requests, connections } = draining;
    let waits_for = match requests {
        0 => units::count(connections as u64, "connection"),
        _ => units::count(requests as u64, "request"),
    };
    output::note(format!("wiretape: waiting for {waits_for}; press Ctrl-C again to stop now"));
}

/// Reports the totals, also of a proxy that has failed.
fn finish(outcome: ProxyOutcome) -> Result<(), CommandError> {
    report(&outcome);
    outcome.failure.map_or(Ok(()), |failure| Err(explain(failure)))
}

fn report(outcome: &ProxyOutcome) {
    let exchanges = units::count(outcome.exchanges, "exchange");
    output::note(format!("wiretape: stopped after {exchanges}"));
    if outcome.cut_off > 0 {
        let cut_off = units::count(outcome.cut_off, "exchange");
        output::warn(format!("wiretape: cut off {cut_off} in flight"));
    }
    if outcome.lost > 0 {
        let lost = units::count(outcome.lost, "line");
        output::warn(format!("wiretape: {lost} could not be recorded"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_that_failed_is_an_error_with_totals() {
        let address = SocketAddr::from(([127, 0, 0, 1], 3004));
        let failure = ProxyError::ListenerFailed { address, source: io::Error::other("its task ended") };
        let error = finish(ProxyOutcome { exchanges: 3, failure: Some(failure), ..ProxyOutcome::default() });
        assert_eq!(error.unwrap_err().to_string(), "the listener at 127.0.0.1:3004 failed");
        assert!(finish(ProxyOutcome::default()).is_ok());
    }
}
