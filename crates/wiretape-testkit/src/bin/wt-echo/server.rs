//! Lines in, lines out: one write for all the lines that a read completed.

use std::fs::File;
use std::io::{self, Read, Write};

use memchr::{memchr_iter, memrchr};
use wiretape_testkit::payload;
use wiretape_testkit::stdio::{raw_stdin, raw_stdout};

use crate::mcp;
use crate::options::Options;

const CHUNK: usize = 64 * 1024;

/// Answers until stdin ends, or until the number of lines in the options is reached.
pub(crate) fn serve(options: &Options) -> io::Result<()> {
    let mut server = Server { output: raw_stdout()?, mcp: options.mcp, left: options.after };
    let mut input = raw_stdin()?;
    let mut buffer = vec![0; CHUNK];
    let mut filled = 0;
    while server.left != Some(0) {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let count = input.read(&mut buffer[filled..])?;
        if count == 0 {
            return server.answer(&buffer[..filled]);
        }
        let end = filled + count;
        // Only the new bytes are searched: the bytes before them had no newline.
        let Some(newline) = memrchr(b'\n', &buffer[filled..end]) else {
            filled = end;
            continue;
        };
        let lines = filled + newline + 1;
        server.answer(&buffer[..lines])?;
        buffer.copy_within(lines..end, 0);
        filled = end - lines;
    }
    Ok(())
}

struct Server {
    output: File,
    mcp: bool,
    /// The number of lines still to answer, if there is a limit.
    left: Option<u64>,
}

impl Server {
    fn answer(&mut self, lines: &[u8]) -> io::Result<()> {
        let lines = self.take_allowed(lines);
        if self.mcp { self.output.write_all(&mcp::answer_all(lines)) } else { self.output.write_all(lines) }
    }

    fn take_allowed<'a>(&mut self, lines: &'a [u8]) -> &'a [u8] {
        let Some(left) = &mut self.left else {
            return lines;
        };
        for newline in memchr_iter(b'\n', lines) {
            *left -= 1;
            if *left == 0 {
                return &lines[..=newline];
            }
        }
        lines
    }
}

/// Writes complete notifications of at least `bytes` bytes in total, as fast as the reader accepts them.
pub(crate) fn flood(bytes: u64) -> io::Result<()> {
    let block: Vec<u8> = (0..64).flat_map(payload::flood_line).collect();
    let mut output = raw_stdout()?;
    let mut written = 0;
    while written < bytes {
        output.write_all(&block)?;
        written += block.len() as u64;
    }
    Ok(())
}
