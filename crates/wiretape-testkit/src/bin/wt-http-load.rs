//! Load for an MCP server over HTTP, driven through stdin and stdout.
//!
//! `wt-http-load URL CONNECTIONS [--streams]` opens the connections and prints `ready`. Then each line on stdin is a
//! run, `milliseconds N` or `calls N` (on each connection), and is answered by a line of JSON. With `--streams`, each
//! connection reads a stream of events instead. It ends when stdin does. An error is printed as the last line.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use wiretape_testkit::http;
use wiretape_testkit::load::{Amount, Load, Outcome, Streams};

const USAGE: &str = "usage: wt-http-load URL CONNECTIONS [--streams]";

fn main() -> io::Result<ExitCode> {
    let Err(error) = run() else {
        return Ok(ExitCode::SUCCESS);
    };
    print_line(&error.to_string())?;
    Ok(ExitCode::FAILURE)
}

fn run() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = || io::Error::other(USAGE);
    let address = arguments.next().as_deref().and_then(http::address_in).ok_or_else(usage)?;
    let connections = arguments.next().and_then(|number| number.parse().ok()).ok_or_else(usage)?;
    let runtime = http::runtime()?;
    match arguments.next().as_deref() {
        None => {
            let mut load = runtime.block_on(Load::open(address, connections))?;
            obey(|amount| runtime.block_on(load.run(amount)))
        }
        Some("--streams") => {
            let mut streams = runtime.block_on(Streams::open(address, connections))?;
            obey(|amount| runtime.block_on(streams.run(amount)))
        }
        Some(_) => Err(usage()),
    }
}

/// Does the runs that stdin asks for.
fn obey(mut run: impl FnMut(Amount) -> io::Result<Outcome>) -> io::Result<()> {
    print_line("ready")?;
    for line in io::stdin().lock().lines() {
        let amount: Amount = line?.parse().map_err(io::Error::other)?;
        print_line(&serde_json::to_string(&run(amount)?)?)?;
    }
    Ok(())
}

fn print_line(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
