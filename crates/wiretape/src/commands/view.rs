//! `wiretape view`: the traces in a browser.

use super::export::is_same_file;
use crate::ask::StoreArgs;
use crate::error::CommandError;
use crate::output::Output;
use crate::selector::TraceSelector;
use crate::{dirs, output, trace_file};
use clap::Args;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use wiretape_library::Catalog;
use wiretape_library::TraceDirectory;
use wiretape_view::{PageAddress, ViewError, ViewOptions};

/// Look at traces in your browser
///
/// Starts a server for this machine alone, and opens its page: the timeline, each call whole, tools, sessions, findings,
/// the lines as they are, two traces side by side, and what the store knows. Without a TRACE it opens the list of all. A
/// trace that is being recorded is shown as it grows. Nothing leaves the machine; who doesn't know the token in the address
/// is not let in. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape view                      all traces of this machine
  wiretape view latest               the newest one
  wiretape view a.jsonl b.jsonl      two servers, merged by time
  wiretape view --diff old new       two traces side by side
  wiretape view --no-open --port 7400")]
pub(crate) struct ViewArgs {
    /// The traces: each a path, the beginning of an id, `latest`, or `latest~1` for the one before
    #[arg(value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// Compare two traces instead of merging them
    #[arg(long)]
    diff: bool,

    /// Listen on this port instead of any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Print the address, and open no browser
    #[arg(long)]
    no_open: bool,

    /// List the traces of this directory instead of your own
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    store: StoreArgs,
}

/// What to look at.
pub(crate) struct Looking {
    /// The traces that are opened at once.
    pub(crate) traces: Vec<PathBuf>,
    /// Whether two are compared.
    pub(crate) diff: bool,
    /// Whether a browser is opened.
    pub(crate) open: bool,
    /// The port, or 0 for any.
    pub(crate) port: u16,
    /// Where all traces lie.
    pub(crate) dir: PathBuf,
    /// The store, whether or not it is there.
    pub(crate) store: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &ViewArgs) -> Result<(), CommandError> {
    if args.diff && args.traces.len() != 2 {
        return Err(CommandError::usage("--diff compares two traces: name both"));
    }
    let traces = args.traces.iter().map(readable).collect::<Result<_, _>>()?;
    view(&Looking {
        traces,
        diff: args.diff,
        open: !args.no_open,
        port: args.port,
        dir: args.dir.clone().map_or_else(dirs::traces_dir, Ok)?,
        store: args.store.path()?,
    })
}

/// A trace that can be read; what is none is told so before a browser opens.
fn readable(selector: &TraceSelector) -> Result<PathBuf, CommandError> {
    let path = selector.resolve()?;
    trace_file::head(&path)?;
    // The page is asked for by this name, wherever the program is then.
    Ok(path.canonicalize().unwrap_or(path))
}

/// Serves the page until the program is told to stop.
pub(crate) fn view(looking: &Looking) -> Result<(), CommandError> {
    let options = ViewOptions {
        listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), looking.port),
        directory: Arc::new(TraceDirectory::new(looking.dir.clone(), dirs::index_dir()?)),
        given: looking.traces.clone(),
        store: Some(looking.store.clone()),
    };
    let names = names(looking)?;
    wiretape_view::serve(options, |page| announce(looking, &names, page)).map_err(refused)
}

/// What the traces go by in the address: their ids, where they lie with the others.
fn names(looking: &Looking) -> Result<Vec<String>, CommandError> {
    let catalog = if looking.traces.is_empty() {
        Catalog::default()
    } else {
        Catalog::open(&looking.dir, &dirs::index_dir()?)?
    };
    let name = |path: &PathBuf| {
        let known = catalog.entries.iter().find(|entry| is_same_file(&entry.path, path));
        known.map_or_else(|| path.to_string_lossy().into_owned(), |entry| entry.id().to_owned())
    };
    Ok(looking.traces.iter().map(name).collect())
}

fn refused(error: ViewError) -> CommandError {
    let is_taken =
        matches!(&error, ViewError::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse);
    let error = CommandError::failure(error);
    if is_taken {
        error.hint("another program has that port; leave out --port to take any that is free")
    } else {
        error
    }
}

fn announce(looking: &Looking, names: &[String], page: &PageAddress) {
    let address = match names {
        [] => page.home(),
        names if looking.diff => page.diff(names),
        names => page.traces(names),
    };
    // If nobody reads the output any more, the page is served all the same.
    let _ = say(&address);
    if looking.open && !open(&address) {
        output::note("no browser could be started: open the address above");
    }
}

fn say(address: &str) -> std::io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    writeln!(out, "{} {}", styles.strong.paint("Wiretape shows your traces at"), styles.name.paint(address))?;
    writeln!(out, "{}", styles.dim.paint("for this machine alone; Ctrl-C ends it"))?;
    out.flush()
}

/// Whether a browser was told to open an address.
fn open(address: &str) -> bool {
    // Without a screen, programs that open browsers start one in the terminal, or wait for ever.
    let has_screen = cfg!(any(windows, target_os = "macos"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    has_screen && open::that_detached(address).is_ok()
}
