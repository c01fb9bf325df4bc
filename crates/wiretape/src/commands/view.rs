//! `wiretape view`: traces in the browser.

use super::export::is_same_file;
use crate::ask::StoreArgs;
use crate::error::CommandError;
use crate::output::Output;
use crate::selector::TraceSelector;
use crate::{dirs, output, trace_file};
use clap::Args;
use std::fs;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wiretape_library::Catalog;
use wiretape_library::{TraceDirectory, private};
use wiretape_view::{PageAddress, ViewError, ViewOptions};

/// Open traces in your browser
///
/// Starts a local server and opens its page: the timeline, every call in full, tools, sessions, lint
/// findings, raw lines, comparisons of two traces, and activity from the store. Without TRACE, it opens the
/// list of all traces. A trace that is still being recorded is updated live. Nothing leaves the machine, and
/// only the printed address, which contains a token, gives access. Press Ctrl-C to stop.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape view                      list all traces
  wiretape view latest               open the newest trace
  wiretape view a.jsonl b.jsonl      open two traces, merged by time
  wiretape view --diff old new       compare two traces
  wiretape view --no-open --port 7400")]
pub(crate) struct ViewArgs {
    /// Traces: paths, id prefixes, `latest`, or `latest~1` for the one before
    #[arg(value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// Compare two traces instead of merging them
    #[arg(long)]
    diff: bool,

    /// Listen on this port instead of any free one
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,

    /// List the traces in DIR instead of the default directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) struct ViewRequest {
    /// The traces to open.
    pub(crate) traces: Vec<PathBuf>,
    /// Whether to compare two traces.
    pub(crate) diff: bool,
    /// Whether to open a browser.
    pub(crate) open: bool,
    /// The port, or 0 for any free one.
    pub(crate) port: u16,
    /// The directory of all traces.
    pub(crate) dir: PathBuf,
    /// The store, which may not exist.
    pub(crate) store: PathBuf,
}

pub(crate) fn run(args: &ViewArgs) -> Result<(), CommandError> {
    if args.diff && args.traces.len() != 2 {
        return Err(CommandError::usage("--diff needs two traces"));
    }
    let traces = args.traces.iter().map(readable).collect::<Result<_, _>>()?;
    view(&ViewRequest {
        traces,
        diff: args.diff,
        open: !args.no_open,
        port: args.port,
        dir: args.dir.clone().map_or_else(dirs::traces_dir, Ok)?,
        store: args.store.path()?,
    })
}

/// Resolves a trace and checks that it can be read, so that errors come before the browser opens.
fn readable(selector: &TraceSelector) -> Result<PathBuf, CommandError> {
    let path = selector.resolve()?;
    trace_file::head(&path)?;
    // The page asks for this path, which must not depend on the working directory.
    Ok(path.canonicalize().unwrap_or(path))
}

/// Serves the page until the process is stopped.
pub(crate) fn view(request: &ViewRequest) -> Result<(), CommandError> {
    let options = ViewOptions {
        listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), request.port),
        directory: Arc::new(TraceDirectory::new(request.dir.clone(), dirs::index_dir()?)),
        given: request.traces.clone(),
        store: Some(request.store.clone()),
    };
    let names = names(request)?;
    // Kept until the server ends: browsers that restore their tabs may read it again.
    let mut redirect = None;
    wiretape_view::serve(options, |page| redirect = announce(request, &names, page)).map_err(refused)
}

/// The names of the traces in the address: ids for traces in the default directory, paths for others.
fn names(request: &ViewRequest) -> Result<Vec<String>, CommandError> {
    let catalog = if request.traces.is_empty() {
        Catalog::default()
    } else {
        Catalog::open(&request.dir, &dirs::index_dir()?)?
    };
    let name = |path: &PathBuf| {
        let known = catalog.entries.iter().find(|entry| is_same_file(&entry.path, path));
        known.map_or_else(|| path.to_string_lossy().into_owned(), |entry| entry.id().to_owned())
    };
    Ok(request.traces.iter().map(name).collect())
}

fn refused(error: ViewError) -> CommandError {
    let is_taken =
        matches!(&error, ViewError::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse);
    let error = CommandError::failure(error);
    if is_taken { error.hint("the port is in use; omit --port to use any free one") } else { error }
}

fn announce(request: &ViewRequest, names: &[String], page: &PageAddress) -> Option<RedirectFile> {
    let address = match names {
        [] => page.home(),
        names if request.diff => page.diff(names),
        names => page.traces(names),
    };
    // The page is served even if standard output is closed.
    let _ = print_address(&address);
    if !request.open {
        return None;
    }
    let redirect = open(&address);
    if redirect.is_none() {
        output::note("can't start a browser; open the address above");
    }
    redirect
}

fn print_address(address: &str) -> std::io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    writeln!(out, "{} {}", styles.strong.paint("Your traces are at"), styles.name.paint(address))?;
    writeln!(out, "{}", styles.dim.paint("Accessible from this machine only. Press Ctrl-C to stop."))?;
    out.flush()
}

/// A page that redirects to the address, readable by its owner only; deleted when dropped.
///
/// The browser is started with this file instead of the address: other users of the machine can read a process's arguments,
/// and with them the token.
struct RedirectFile(PathBuf);

impl RedirectFile {
    fn create(dir: &Path, address: &str) -> std::io::Result<Self> {
        private::create_dir(dir)?;
        let path = dir.join(format!("view-{}.html", std::process::id()));
        // A killed process with the same id may have left its file behind.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // The address contains names of traces, which may be paths with any character.
        let address = address.replace('&', "&amp;").replace('"', "&quot;");
        let mut file = private::create_file(&path)?;
        let redirect = RedirectFile(path);
        writeln!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>Wiretape</title>\
             <a href=\"{address}\">Open Wiretape</a>"
        )?;
        Ok(redirect)
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        // The token is useless once the server has ended, so a file that can't be deleted does no harm.
        let _ = fs::remove_file(&self.0);
    }
}

/// Opens the address in a browser, if there is a display.
fn open(address: &str) -> Option<RedirectFile> {
    // Without a display, the opener would start a text browser in the terminal, or hang.
    let has_screen = cfg!(any(windows, target_os = "macos"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !has_screen {
        return None;
    }
    let redirect = RedirectFile::create(&dirs::data_dir().ok()?, address).ok()?;
    open::that_detached(&redirect.0).is_ok().then_some(redirect)
}
