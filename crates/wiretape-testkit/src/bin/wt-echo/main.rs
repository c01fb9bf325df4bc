//! A tiny stdio server to stand behind a recorder: it writes every line back as it came, with as little work as
//! possible. Options make it a badly behaved one; `--help` lists them.
//!
//! Handlers are in place before the first line is read: a test that has had one echo may send signals.

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

/// The messages that it sends on its own.
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
