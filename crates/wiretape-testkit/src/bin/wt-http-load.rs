//! Load for an MCP server over HTTP, driven through stdin and stdout.
//!
//! `wt-http-load URL CONNECTIONS` opens the connections and prints `ready`. Then each line on stdin is a run,
//! `milliseconds N` or `calls N` (on each connection), and is answered by a line of JSON. It ends when stdin does. An
//! error is printed as the last line.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use wiretape_testkit::http;
use wiretape_testkit::load::{Amount, Load};

const USAGE: &str = "usage: wt-http-load URL CONNECTIONS";

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
    let mut load = runtime.block_on(Load::open(address, connections))?;
    print_line("ready")?;
    for line in io::stdin().lock().lines() {
        let amount: Amount = line?.parse().map_err(io::Error::other)?;
        let outcome = runtime.block_on(load.run(amount))?;
        print_line(&serde_json::to_string(&outcome)?)?;
    }
    Ok(())
}

fn print_line(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
