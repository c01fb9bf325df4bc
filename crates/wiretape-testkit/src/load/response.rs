//! Just enough of HTTP/1.1 to parse an answer: a status, the headers that matter, a body with a length or in chunks.

use std::io;

use memchr::memmem;

/// A parsed HTTP response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) body: Vec<u8>,
}

/// The response at the start of `bytes`, if it is complete.
pub(super) fn parse(bytes: &[u8]) -> io::Result<Option<Response>> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = Head::parse(&bytes[..end])?;
    let rest = &bytes[end + 4..];
    let body = match head.length {
        Length::Known(length) => rest.get(..length).map(<[u8]>::to_vec),
        Length::Chunks => unchunk(rest)?,
    };
    Ok(body.map(|body| Response { status: head.status, session: head.session, body }))
}

struct Head {
    status: u16,
    session: Option<String>,
    length: Length,
}

enum Length {
    Known(usize),
    Chunks,
}

impl Head {
    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(status).ok_or_else(|| wrong("status line", text))?;
        let mut head = Self { status, session: None, length: Length::Known(0) };
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(|| wrong("header", line))?;
            head.apply_header(name, value.trim())?;
        }
        Ok(head)
    }

    fn apply_header(&mut self, name: &str, value: &str) -> io::Result<()> {
        if name.eq_ignore_ascii_case("content-length") {
            self.length = Length::Known(value.parse().map_err(|_| wrong("length", value))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.length = Length::Chunks;
        } else if name.eq_ignore_ascii_case("mcp-session-id") {
            self.session = Some(value.to_owned());
        }
        Ok(())
    }
}

fn status(line: &str) -> Option<u16> {
    line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

/// The decoded body, if the last chunk has arrived.
fn unchunk(mut bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    loop {
        let Some(end) = memmem::find(bytes, b"\r\n") else {
            return Ok(None);
        };
        let size = chunk_size(&bytes[..end])?;
        bytes = &bytes[end + 2..];
        // With the line break after the chunk.
        let Some(chunk) = bytes.get(..size + 2) else {
            return Ok(None);
        };
        if size == 0 {
            return Ok(Some(body));
        }
        body.extend_from_slice(&chunk[..size]);
        bytes = &bytes[size + 2..];
    }
}

fn chunk_size(line: &[u8]) -> io::Result<usize> {
    let line = String::from_utf8_lossy(line);
    let digits = line.split(';').next().unwrap_or_default().trim();
    usize::from_str_radix(digits, 16).map_err(|_| wrong("chunk", &line))
}

fn wrong(what: &str, text: &str) -> io::Error {
    io::Error::other(format!("not the {what} of an HTTP response: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, status: u16, body: &str) {
        for cut in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..cut]).unwrap(), None, "{cut} bytes of {text}");
        }
        let response = parse(text.as_bytes()).unwrap().expect("the text is a whole response");
        assert_eq!((response.status, &*response.body), (status, body.as_bytes()));
    }

    #[test]
    fn bodies_have_a_length_or_chunks() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
        check("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", 202, "");
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        check(&format!("{chunked}3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"), 200, "hello");
    }

    #[test]
    fn the_session_is_found() {
        let response = parse(b"HTTP/1.1 200 OK\r\nMcp-Session-Id: abc\r\n\r\n").unwrap().unwrap();
        assert_eq!(response.session.as_deref(), Some("abc"));
    }

    #[test]
    fn what_is_no_response_is_an_error() {
        for text in ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\nno header\r\n\r\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
