//! The requests of a client: built once per connection, then only the number is overwritten, so that the load costs
//! little.

use std::net::SocketAddr;

use memchr::memmem;

use crate::http::PATH;
use crate::payload;

/// The number of ids reserved for each connection.
const IDS: u64 = 10_000_000;
const PROTOCOL: &str = "2025-06-18";

/// A tool call, as the bytes of its request.
#[derive(Debug)]
pub(super) struct Call {
    bytes: Vec<u8>,
    /// The offsets of the number: as the message's id, and in its arguments.
    places: [usize; 2],
    id: u64,
}

impl Call {
    /// The call before the first one; [`Call::advance`] turns it into the first.
    pub(super) fn new(address: SocketAddr, session: &str, connection: usize) -> Self {
        let id = payload::FIRST_MARKED + connection as u64 * IDS;
        let session = format!("mcp-session-id: {session}\r\nmcp-protocol-version: {PROTOCOL}\r\n");
        let bytes = post(address, &session, &payload::marked_call(id));
        let number = id.to_string();
        let found: Vec<_> = memmem::find_iter(&bytes, number.as_bytes()).collect();
        let places = found.try_into().expect("the template has the number in the id and in the arguments");
        Self { bytes, places, id }
    }

    pub(super) fn advance(&mut self) {
        self.id += 1;
        for place in self.places {
            write_number(&mut self.bytes[place..place + payload::MARK_DIGITS], self.id);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Whether the body has the call's id and its echoed mark.
    pub(super) fn is_answered_by(&self, body: &[u8]) -> bool {
        let [id, mark] = self.places;
        let id = &self.bytes[id - "\"id\":".len()..id + payload::MARK_DIGITS];
        let mark = &self.bytes[mark - payload::MARKER.len() - 1..mark + payload::MARK_DIGITS];
        memmem::find(body, id).is_some() && memmem::find(body, mark).is_some()
    }
}

/// Writes a number with leading zeros into the available digits.
fn write_number(room: &mut [u8], mut number: u64) {
    for digit in room.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

pub(super) fn initialize(address: SocketAddr) -> Vec<u8> {
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{PROTOCOL}","capabilities":{{}},"clientInfo":{{"name":"wt-http-load","version":"1"}}}}}}"#
    );
    post(address, "", message.as_bytes())
}

pub(super) fn initialized(address: SocketAddr, session: &str) -> Vec<u8> {
    let session = format!("mcp-session-id: {session}\r\nmcp-protocol-version: {PROTOCOL}\r\n");
    post(address, &session, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
}

/// The request that opens a session's stream.
pub(super) fn open_stream(address: SocketAddr, session: &str) -> Vec<u8> {
    format!(
        "GET {PATH} HTTP/1.1\r\n\
        host: {address}\r\n\
        connection: keep-alive\r\n\
        accept: text/event-stream\r\n\
        mcp-session-id: {session}\r\nmcp-protocol-version: {PROTOCOL}\r\n\
        accept-encoding: identity\r\n\
        user-agent: wt-http-load/1\r\n\r\n"
    )
    .into_bytes()
}

/// A POST request with the headers that SDK clients send.
fn post(address: SocketAddr, session: &str, body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "POST {PATH} HTTP/1.1\r\n\
        host: {address}\r\n\
        connection: keep-alive\r\n\
        content-type: application/json\r\n\
        accept: application/json, text/event-stream\r\n\
        {session}\
        accept-encoding: identity\r\n\
        user-agent: wt-http-load/1\r\n\
        content-length: {}\r\n\r\n",
        body.len(),
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(connection: usize) -> Call {
        Call::new(SocketAddr::from(([127, 0, 0, 1], 80)), "s", connection)
    }

    #[test]
    fn the_number_changes_in_both_places() {
        let mut call = call(3);
        call.advance();
        let text = String::from_utf8(call.bytes().to_vec()).unwrap();
        assert!(text.contains("\"id\":1030000001,"), "{text}");
        assert!(text.contains("wiretape-testkit-1030000001\""), "{text}");
        assert!(text.contains("content-length: 200\r\n"), "{text}");
    }

    #[test]
    fn an_answer_has_the_id_and_the_mark() {
        let mut call = call(0);
        call.advance();
        assert!(call.is_answered_by(br#"{"id":1000000001,"result":{"from":"wiretape-testkit-1000000001"}}"#));
        assert!(
            !call.is_answered_by(br#"{"id":1000000002,"result":{"from":"wiretape-testkit-1000000001"}}"#)
        );
        assert!(!call.is_answered_by(br#"{"id":1000000001,"result":{}}"#));
    }
}
