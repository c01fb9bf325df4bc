//! A tiny stdio server for a recorder to wrap: it echoes every line unchanged, with as little work as possible.
//! Options make it misbehave; `--help` lists them.
//!
//! Signal handlers are installed before the first line is read: a test that has received one echo may send signals.

mod ending;
mod mcp;
mod options;
mod server;
mod signals;

use std::io::{self, Write};
use std::process::ExitCode;

use wiretape_testkit::stdio::raw_stdout;

use crate::options::{Options, USAGE};

fn main() -> io::Result<ExitCode> {
    let options = match options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            writeln!(io::stderr(), "{wrong}\n{USAGE}")?;
            return Ok(ExitCode::from(2));
        }
    };
    if let Some(time) = options.sleep {
        std::thread::sleep(time);
        return Ok(ExitCode::SUCCESS);
    }
    signals::set_up(&options)?;
    speak_first(&options)?;
    server::serve(&options)?;
    ending::end(&options)
}

/// Writes the output that the options ask for before the first request.
fn speak_first(options: &Options) -> io::Result<()> {
    if let Some(text) = &options.stderr {
        // One write: `writeln!` makes two on unbuffered stderr, and the recorder's own warnings may come between them.
        io::stderr().write_all(format!("{text}\n").as_bytes())?;
    }
    if options.pollute {
        raw_stdout()?.write_all(b"Server listening on stdio\n")?;
    }
    options.flood.map_or(Ok(()), server::flood)
}
