//! Follows a paired HTTP/1.1 connection without touching its bytes: reports heads, bodies and where messages end, while
//! the bytes themselves are forwarded as they arrived. No I/O, no copies of bodies, and heads are copied only if they
//! arrive in pieces.
//!
//! Bytes that two HTTP implementations could understand differently (two lengths, a length and chunks, bare line feeds,
//! a space before a colon) are an error: a relay that forwards heads unchanged can't correct them.

use std::collections::VecDeque;

use memchr::{memchr, memchr_iter};

/// The longest head, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// The most headers of a head.
const MAX_HEADERS: usize = 100;
/// The longest trailer section or chunk extension, in bytes.
const MAX_LINE: usize = 8 * 1024;

/// A part of a message, in the order of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A complete head with its empty line.
    Head(&'a [u8]),
    /// Bytes of the body, without the framing of chunks.
    Body(&'a [u8]),
    /// The message is complete. An interim response (1xx) has no end.
    End,
}

/// Why a connection can't be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// Not an HTTP/1.1 head, or one that is too long.
    Head,
    /// The length of the body is missing, contradictory or in a coding other than `chunked`.
    Length,
    /// The framing of chunks is malformed.
    Chunk,
    /// A response without a request.
    Unasked,
}

type Result<T> = std::result::Result<T, FramingError>;

/// The two directions of a connection: a client's, and the one to the server that belongs to it alone.
#[derive(Debug, Default)]
pub struct Pair {
    requests: Framer,
    responses: Framer,
    /// The requests without a final response, oldest first: whether each is a HEAD.
    awaited: VecDeque<bool>,
}

impl Pair {
    /// Follows bytes from the client.
    pub fn from_client(&mut self, bytes: &[u8], on_piece: &mut impl FnMut(Piece<'_>)) -> Result<()> {
        let awaited = &mut self.awaited;
        self.requests.feed(bytes, |bytes| request(bytes, awaited), on_piece)
    }

    /// Follows bytes from the server.
    pub fn from_server(&mut self, bytes: &[u8], on_piece: &mut impl FnMut(Piece<'_>)) -> Result<()> {
        let awaited = &mut self.awaited;
        self.responses.feed(bytes, |bytes| response(bytes, awaited), on_piece)?;
        if self.responses.state == State::Tunnel {
            self.requests.state = State::Tunnel;
        }
        Ok(())
    }

    /// Whether the server may close now without cutting off a message. A body may end that way.
    pub fn server_closed(&mut self, on_piece: &mut impl FnMut(Piece<'_>)) -> bool {
        if self.responses.state == State::UntilClose {
            self.responses.state = State::Head;
            on_piece(Piece::End);
        }
        let is_between = self.responses.state == State::Head && self.responses.held.is_empty();
        self.responses.state == State::Tunnel || (is_between && self.awaited.is_empty())
    }
}

/// The framing of one direction: where the next message begins.
#[derive(Debug, Default)]
struct Framer {
    state: State,
    /// The beginning of a head that has arrived in part.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// The number of bytes of the body to come.
    Length(u64),
    Chunks(Chunks),
    /// The body ends with the connection.
    UntilClose,
    /// After a 101 response, the connection carries another protocol.
    Tunnel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunks {
    /// The size, as far as it is known.
    Size {
        size: u64,
        digits: usize,
    },
    /// Between the size and the end of its line: an extension.
    Extension {
        size: u64,
        length: usize,
    },
    /// The line feed after the size.
    SizeEnd {
        size: u64,
    },
    /// The number of bytes of the chunk to come.
    Data(u64),
    DataReturn,
    DataEnd,
    /// The trailers: the length of all, and of the current line.
    Trailer {
        length: usize,
        line: usize,
    },
    /// The line feed of a line of trailers of this length.
    TrailerEnd {
        length: usize,
        line: usize,
    },
    Done,
}

/// The length of a head, and the state after it.
type Parsed = Option<(usize, State)>;

impl Framer {
    fn feed(
        &mut self,
        mut bytes: &[u8],
        mut parse: impl FnMut(&[u8]) -> Result<Parsed>,
        on_piece: &mut impl FnMut(Piece<'_>),
    ) -> Result<()> {
        while !bytes.is_empty() {
            let taken = match self.state {
                State::Head => self.head(bytes, &mut parse, on_piece)?,
                State::Length(left) => self.counted(bytes, left, on_piece),
                State::Chunks(chunks) => self.chunks(bytes, chunks, on_piece)?,
                State::UntilClose | State::Tunnel => {
                    on_piece(Piece::Body(bytes));
                    bytes.len()
                }
            };
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    fn head(
        &mut self,
        bytes: &[u8],
        parse: &mut impl FnMut(&[u8]) -> Result<Parsed>,
        on_piece: &mut impl FnMut(Piece<'_>),
    ) -> Result<usize> {
        let held = self.held.len();
        // Nearly always the whole head is in one read, and is parsed where it is.
        let parsed = if held == 0 {
            parse(bytes)?
        } else {
            self.held.extend_from_slice(bytes);
            parse(&self.held)?
        };
        let Some((length, state)) = parsed else {
            if held == 0 {
                self.held.extend_from_slice(bytes);
            }
            return if self.held.len() > MAX_HEAD { Err(FramingError::Head) } else { Ok(bytes.len()) };
        };
        let head = if held == 0 { &bytes[..length] } else { &self.held[..length] };
        on_piece(Piece::Head(head));
        self.held.clear();
        self.state = state;
        match state {
            State::Length(0) => self.end(on_piece),
            State::Head | State::Length(_) | State::Chunks(_) | State::UntilClose | State::Tunnel => {}
        }
        Ok(length - held)
    }

    fn counted(&mut self, bytes: &[u8], left: u64, on_piece: &mut impl FnMut(Piece<'_>)) -> usize {
        let body = first(bytes, left);
        on_piece(Piece::Body(body));
        self.state = State::Length(left - body.len() as u64);
        if self.state == State::Length(0) {
            self.end(on_piece);
        }
        body.len()
    }

    fn chunks(
        &mut self,
        bytes: &[u8],
        chunks: Chunks,
        on_piece: &mut impl FnMut(Piece<'_>),
    ) -> Result<usize> {
        let taken = if let Chunks::Data(left) = chunks {
            let body = first(bytes, left);
            on_piece(Piece::Body(body));
            let left = left - body.len() as u64;
            self.state = State::Chunks(if left == 0 { Chunks::DataReturn } else { Chunks::Data(left) });
            body.len()
        } else {
            self.state = State::Chunks(chunks.after(bytes[0]).ok_or(FramingError::Chunk)?);
            1
        };
        if self.state == State::Chunks(Chunks::Done) {
            self.end(on_piece);
        }
        Ok(taken)
    }

    fn end(&mut self, on_piece: &mut impl FnMut(Piece<'_>)) {
        self.state = State::Head;
        on_piece(Piece::End);
    }
}

impl Chunks {
    const START: Self = Chunks::Size { size: 0, digits: 0 };

    /// The state after a byte of framing; `None` if it doesn't belong there.
    fn after(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Chunks::Size { size, digits: 1.. }, b'\r') => Chunks::SizeEnd { size },
            (Chunks::Size { size, digits: 1.. }, b';') => Chunks::Extension { size, length: 1 },
            (Chunks::Size { size, digits: 0..15 }, _) => {
                let Chunks::Size { digits, .. } = self else { return None };
                let digit = char::from(byte).to_digit(16)?;
                Chunks::Size { size: size * 16 + u64::from(digit), digits: digits + 1 }
            }
            (Chunks::Extension { size, .. }, b'\r') => Chunks::SizeEnd { size },
            (Chunks::Extension { size, length: 0..MAX_LINE }, byte) if byte != b'\n' => {
                let Chunks::Extension { length, .. } = self else { return None };
                Chunks::Extension { size, length: length + 1 }
            }
            (Chunks::SizeEnd { size: 0 }, b'\n') => Chunks::Trailer { length: 0, line: 0 },
            (Chunks::SizeEnd { size }, b'\n') => Chunks::Data(size),
            (Chunks::DataReturn, b'\r') => Chunks::DataEnd,
            (Chunks::DataEnd, b'\n') => Chunks::START,
            (Chunks::Trailer { length, line }, b'\r') => Chunks::TrailerEnd { length, line },
            (Chunks::Trailer { length, line }, byte) if length < MAX_LINE && byte != b'\n' => {
                Chunks::Trailer { length: length + 1, line: line + 1 }
            }
            (Chunks::TrailerEnd { line: 0, .. }, b'\n') => Chunks::Done,
            (Chunks::TrailerEnd { length, .. }, b'\n') => Chunks::Trailer { length, line: 0 },
            _ => return None,
        })
    }
}

fn first(bytes: &[u8], length: u64) -> &[u8] {
    &bytes[..usize::try_from(length).map_or(bytes.len(), |length| length.min(bytes.len()))]
}

fn request(bytes: &[u8], awaited: &mut VecDeque<bool>) -> Result<Parsed> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let Some(length) = complete(bytes, request.parse(bytes))? else { return Ok(None) };
    let state = match body_length(request.headers)? {
        BodyLength::Unknown => State::Length(0),
        BodyLength::Bytes(bytes) => State::Length(bytes),
        BodyLength::Chunked => State::Chunks(Chunks::START),
    };
    awaited.push_back(request.method == Some("HEAD"));
    Ok(Some((length, state)))
}

fn response(bytes: &[u8], awaited: &mut VecDeque<bool>) -> Result<Parsed> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let Some(length) = complete(bytes, response.parse(bytes))? else { return Ok(None) };
    let is_head = *awaited.front().ok_or(FramingError::Unasked)?;
    let state = match (response.code, body_length(response.headers)?) {
        (Some(101), _) => State::Tunnel,
        (Some(100..=199), _) => State::Head,
        (Some(204 | 304), _) => State::Length(0),
        _ if is_head => State::Length(0),
        (_, BodyLength::Unknown) => State::UntilClose,
        (_, BodyLength::Bytes(bytes)) => State::Length(bytes),
        (_, BodyLength::Chunked) => State::Chunks(Chunks::START),
    };
    if state != State::Head {
        awaited.pop_front();
    }
    Ok(Some((length, state)))
}

/// The length of a head, if it is complete.
fn complete(bytes: &[u8], parsed: httparse::Result<usize>) -> Result<Option<usize>> {
    match parsed {
        Ok(httparse::Status::Complete(length)) if has_bare_line_feed(&bytes[..length]) => {
            Err(FramingError::Head)
        }
        Ok(httparse::Status::Complete(length)) => Ok(Some(length)),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => Err(FramingError::Head),
    }
}

fn has_bare_line_feed(head: &[u8]) -> bool {
    memchr_iter(b'\n', head).any(|at| at == 0 || head[at - 1] != b'\r')
}

enum BodyLength {
    Unknown,
    Bytes(u64),
    Chunked,
}

/// RFC 9112, section 6.3, without what it allows for the sake of old peers.
fn body_length(headers: &[httparse::Header<'_>]) -> Result<BodyLength> {
    let mut found = BodyLength::Unknown;
    for header in headers {
        let length = if header.name.eq_ignore_ascii_case("content-length") {
            BodyLength::Bytes(number(header.value)?)
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if !header.value.eq_ignore_ascii_case(b"chunked") {
                return Err(FramingError::Length);
            }
            BodyLength::Chunked
        } else {
            continue;
        };
        if !matches!(found, BodyLength::Unknown) {
            return Err(FramingError::Length);
        }
        found = length;
    }
    Ok(found)
}

fn number(value: &[u8]) -> Result<u64> {
    // `parse` would accept a sign.
    let digits = std::str::from_utf8(value).ok().filter(|_| memchr(b'+', value).is_none());
    digits.and_then(|digits| digits.parse().ok()).ok_or(FramingError::Length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What was reported, with bodies in one piece.
    #[derive(Debug, PartialEq, Eq, Default)]
    struct Report {
        text: String,
        is_in_body: bool,
    }

    impl Report {
        fn add(&mut self, piece: Piece<'_>) {
            let (mark, bytes) = match piece {
                Piece::Head(head) => ("H:", head),
                Piece::Body(body) if self.is_in_body => ("", body),
                Piece::Body(body) => ("|B:", body),
                Piece::End => ("|", &b""[..]),
            };
            self.is_in_body = matches!(piece, Piece::Body(_));
            self.text.push_str(mark);
            self.text.push_str(&String::from_utf8_lossy(bytes));
        }
    }

    /// Feeds requests and then responses, in pieces of these lengths.
    fn follow(requests: &[u8], responses: &[u8], lengths: &[usize]) -> (Result<()>, String) {
        let (mut pair, mut report) = (Pair::default(), Report::default());
        let mut lengths = lengths.iter().copied().cycle();
        let mut followed = Ok(());
        for (bytes, is_client) in [(requests, true), (responses, false)] {
            let mut rest = bytes;
            while !rest.is_empty() && followed.is_ok() {
                let (piece, after) = rest.split_at(lengths.next().unwrap_or(usize::MAX).clamp(1, rest.len()));
                let mut on_piece = |piece: Piece<'_>| report.add(piece);
                followed = if is_client {
                    pair.from_client(piece, &mut on_piece)
                } else {
                    pair.from_server(piece, &mut on_piece)
                };
                rest = after;
            }
        }
        (followed, report.text)
    }

    fn check(requests: &str, responses: &str, expected: std::result::Result<&str, FramingError>) {
        let (followed, text) = follow(requests.as_bytes(), responses.as_bytes(), &[]);
        assert_eq!(followed.map(|()| text.replace("\r\n", "~")), expected.map(str::to_owned));
    }

    const GET: &str = "GET / HTTP/1.1\r\n\r\n";

    #[test]
    fn messages_end_where_their_heads_say() {
        let post = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        check(
            &format!("{post}{GET}"),
            "",
            Ok("H:POST / HTTP/1.1~Content-Length: 3~~|B:abc|H:GET / HTTP/1.1~~|"),
        );
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n";
        let head = "H:GET / HTTP/1.1~~|H:HTTP/1.1 200 OK~Transfer-Encoding: Chunked~~";
        check(GET, chunked, Ok(&format!("{head}|B:abcde|")));
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
        check(GET, interim, Ok("H:GET / HTTP/1.1~~|H:HTTP/1.1 100 Continue~~H:HTTP/1.1 204 No Content~~|"));
        let until_close = "HTTP/1.1 200 OK\r\n\r\nabc";
        check(GET, until_close, Ok("H:GET / HTTP/1.1~~|H:HTTP/1.1 200 OK~~|B:abc"));
        let of_head =
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let (followed, text) =
            follow(b"HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", of_head.as_bytes(), &[]);
        assert!(followed.is_ok() && text.matches('|').count() == 4, "{text}");
        let upgraded = "HTTP/1.1 101 Switching Protocols\r\n\r\nanything";
        check(GET, upgraded, Ok("H:GET / HTTP/1.1~~|H:HTTP/1.1 101 Switching Protocols~~|B:anything"));
    }

    #[test]
    fn what_could_be_understood_differently_is_an_error() {
        let post = |headers: &str| format!("POST / HTTP/1.1\r\n{headers}\r\n");
        for (headers, error) in [
            ("Content-Length: 1\r\nContent-Length: 1\r\n", FramingError::Length),
            ("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", FramingError::Length),
            ("Transfer-Encoding: gzip, chunked\r\n", FramingError::Length),
            ("Content-Length: +1\r\n", FramingError::Length),
            ("Content-Length: 1, 1\r\n", FramingError::Length),
            ("Content-Length : 1\r\n", FramingError::Head),
            ("A: b\n", FramingError::Head),
            ("A: b\r\n c\r\n", FramingError::Head),
        ] {
            check(&post(headers), "", Err(error));
        }
        for chunk in ["x\r\n", "\r\n", "1\na", "1\r\nab\r\n", "10000000000000000\r\n", "0\r\n\n"] {
            check(&(post("Transfer-Encoding: chunked\r\n") + chunk), "", Err(FramingError::Chunk));
        }
        check("", "HTTP/1.1 200 OK\r\n\r\n", Err(FramingError::Unasked));
        check(&"x".repeat(MAX_HEAD + 1), "", Err(FramingError::Head));
    }

    #[test]
    fn a_server_may_close_between_messages_only() {
        let check = |responses: &str, expected: bool| {
            let mut pair = Pair::default();
            pair.from_client(GET.as_bytes(), &mut |_| {}).unwrap();
            pair.from_server(responses.as_bytes(), &mut |_| {}).unwrap();
            assert_eq!(pair.server_closed(&mut |_| {}), expected, "{responses}");
        };
        check("HTTP/1.1 200 OK\r\n\r\nab", true);
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", true);
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", false);
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", false);
        check("HTTP/1.1 20", false);
        check("", false);
    }

    fn messages(start: &'static str) -> impl Strategy<Value = String> {
        let message = (any::<Option<bool>>(), "[a-z\r\n]{0,40}").prop_map(move |(framing, body)| match framing {
            None => format!("{start}\r\nContent-Length: 0\r\n\r\n"),
            Some(true) => format!("{start}\r\ncontent-length: {}\r\n\r\n{body}", body.len()),
            Some(false) if body.is_empty() => format!("{start}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            Some(false) => {
                let length = body.len();
                format!("{start}\r\nTransfer-Encoding: chunked\r\n\r\n{length:x};e\r\n{body}\r\n0\r\nT: t\r\n\r\n")
            }
        });
        proptest::collection::vec(message, 4).prop_map(|messages| messages.concat())
    }

    proptest! {
        #[test]
        fn reads_make_no_difference(
            requests in messages("POST / HTTP/1.1"),
            responses in messages("HTTP/1.1 200 OK"),
            lengths in proptest::collection::vec(1_usize..30, 1..8),
        ) {
            let whole = follow(requests.as_bytes(), responses.as_bytes(), &[]);
            prop_assert!(whole.0.is_ok(), "{whole:?}");
            prop_assert_eq!(follow(requests.as_bytes(), responses.as_bytes(), &lengths), whole);
        }

        #[test]
        fn arbitrary_bytes_are_followed_or_refused(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
            lengths in proptest::collection::vec(1_usize..30, 1..8),
        ) {
            bytes.splice(0..0, *b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
            prop_assert_eq!(follow(&bytes, b"", &lengths).0, follow(&bytes, b"", &[]).0);
        }
    }
}
