//! `--serve`: authorized viewers see the recording as it grows, and other clients see nothing.

use crate::session::{Home, LIMIT, Session, echo, server, wait_until};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use wiretape_testkit::payload;

/// The least of a WebSocket client.
struct Viewer {
    stream: BufReader<TcpStream>,
}

/// What a server sends.
#[derive(Debug)]
enum Frame {
    Text(Value),
    Close(u16),
}

impl Viewer {
    /// Asks for an upgrade; gives the status of the answer.
    fn ask(port: u16, path: &str, headers: &[&str]) -> (u16, Self) {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut stream = BufReader::new(stream);
        let host = format!("Host: 127.0.0.1:{port}");
        let has_host = headers.iter().any(|header| header.starts_with("Host:"));
        let headers = headers.iter().copied().chain((!has_host).then_some(host.as_str()));
        let request = headers
            .fold(format!("GET {path} HTTP/1.1\r\n"), |request, header| request + header + "\r\n")
            + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
               Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut lines = stream.by_ref().lines().map(Result::unwrap);
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        assert!(lines.any(|line| line.is_empty()), "the headers end");
        (status, Viewer { stream })
    }

    fn connect(live: &Live, query: &str) -> Self {
        let (status, viewer) = Self::ask(live.port, &format!("/{}{query}", live.token), &[]);
        assert_eq!(status, 101);
        viewer
    }

    /// The next message, its fragments joined. A heartbeat is nothing new.
    fn next(&mut self) -> Frame {
        const CLOSE: u8 = 8;
        let mut message = Vec::new();
        loop {
            let (head, payload) = self.fragment();
            message.extend_from_slice(&payload);
            if head & 0x0f == CLOSE {
                return Frame::Close(u16::from_be_bytes([message[0], message[1]]));
            }
            let is_last = head & 0x80 != 0;
            if is_last {
                let text: Value = serde_json::from_slice(&std::mem::take(&mut message)).unwrap();
                if text["type"] != "heartbeat" {
                    return Frame::Text(text);
                }
            }
        }
    }

    fn fragment(&mut self) -> (u8, Vec<u8>) {
        let [head, length] = self.bytes();
        let length = match length {
            126 => u16::from_be_bytes(self.bytes()).into(),
            127 => u64::from_be_bytes(self.bytes()),
            short => short.into(),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).unwrap();
        (head, payload)
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn text(&mut self) -> Value {
        match self.next() {
            Frame::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

/// Where a session can be watched.
struct Live {
    port: u16,
    token: String,
}

impl Live {
    /// Reads the address that is printed for the user.
    fn of(session: &Session) -> Self {
        let address = || {
            let stderr = session.stderr();
            let line =
                stderr.lines().find_map(|line| line.strip_prefix("note: wiretape: live at ws://127.0.0.1:"));
            line.filter(|_| stderr.ends_with('\n')).map(str::to_owned)
        };
        wait_until("the address is printed", || address().is_some());
        let address = address().unwrap();
        let (port, token) = address.split_once('/').unwrap();
        Live { port: port.parse().unwrap(), token: token.to_owned() }
    }
}

fn start(home: &Home, options: &[&str]) -> (Session, Live) {
    let session = home.start(&[&["--serve", "0"], options].concat(), &echo(&[]));
    let live = Live::of(&session);
    (session, live)
}

#[test]
fn a_viewer_sees_what_was_and_what_comes() {
    let home = Home::new();
    let (mut session, live) = start(&home, &[]);
    session.round_trip("{\"id\":1,\"password\":\"hunter2\",\"id\":1.0}\n");
    let mut viewer = Viewer::connect(&live, "");
    let snapshot = viewer.text();
    assert_eq!((&snapshot["type"], &snapshot["lastSeq"]), (&"snapshot".into(), &3.into()));
    let lines = snapshot["lines"].as_array().unwrap();
    assert_eq!(lines.iter().map(|line| line["_seq"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        (&lines[0]["type"], &lines[1]["dir"], &lines[2]["dir"]),
        (&"meta".into(), &"in".into(), &"out".into())
    );
    assert!(lines[1]["raw"]["password"].as_str().unwrap().starts_with("[REDACTED:password:"));
    session.round_trip("{\"id\":2}\n");
    for (seq, dir) in [(4, "in"), (5, "out")] {
        let append = viewer.text();
        assert_eq!(append["type"], "append");
        assert_eq!((&append["line"]["_seq"], &append["line"]["dir"]), (&seq.into(), &dir.into()));
        assert_eq!(append["line"]["raw"], serde_json::json!({"id": 2}));
    }
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(0), &b""[..]));
    assert_eq!(viewer.text()["line"]["type"], "end");
    assert!(matches!(viewer.next(), Frame::Close(1000)));
    home.trace().check_ended(0);
}

#[test]
fn a_viewer_that_comes_back_is_told_what_is_new() {
    let home = Home::new();
    let (mut session, live) = start(&home, &[]);
    (0..5).for_each(|_| session.round_trip("{}\n"));
    let snapshot = Viewer::connect(&live, "?since=9").text();
    assert_eq!((&snapshot["lastSeq"], snapshot["lines"].as_array().unwrap().len()), (&11.into(), 2));
    session.end();
}

#[test]
fn strangers_are_refused() {
    let home = Home::new();
    let (session, live) = start(&home, &["--allow-origin", "https://viewer.example"]);
    let path = format!("/{}", live.token);
    let status = |path: &str, headers: &[&str]| Viewer::ask(live.port, path, headers).0;
    assert_eq!(status(&path, &[]), 101);
    assert_eq!(status(&path, &["Origin: https://evil.example"]), 403);
    assert_eq!(status(&path, &["Host: evil.example"]), 403);
    assert_eq!(status("/", &[]), 403);
    assert_eq!(status("/0123456789abcdef0123456789abcdef", &[]), 403);
    assert_eq!(status("/", &["Origin: https://viewer.example"]), 101);
    assert_eq!(status("/", &["Origin: https://viewer.example.evil.example"]), 403);
    assert_eq!(session.end().code, Some(0));
}

#[test]
fn a_busy_port_gives_way_to_another() {
    let home = Home::new();
    let busy = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = busy.local_addr().unwrap().port();
    let session = home.start(&["--serve", &port.to_string()], &echo(&[]));
    let live = Live::of(&session);
    assert_ne!(live.port, port);
    assert_eq!(Viewer::connect(&live, "").text()["type"], "snapshot");
    assert_eq!(session.end().code, Some(0));
}

#[test]
fn the_port_may_be_left_out() {
    let home = Home::new();
    let session = home.start(&["--serve"], &server(["cat"]));
    assert_eq!(Viewer::connect(&Live::of(&session), "").text()["type"], "snapshot");
    assert_eq!(session.end().code, Some(0));
}

#[test]
fn a_viewer_that_does_not_read_holds_up_nobody() {
    const FLOOD: u64 = 30_000_000;
    let home = Home::new();
    let session = home.start(&["--serve", "0"], &echo(&["--flood", &FLOOD.to_string()]));
    let viewer = Viewer::connect(&Live::of(&session), "");
    let ended = session.end();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.len() as u64 >= FLOOD);
    drop(viewer);
}

#[test]
fn a_large_message_arrives_in_the_view() {
    let home = Home::new();
    let (mut session, live) = start(&home, &[]);
    let large = payload::large_message(1, payload::Texture::Json, 1 << 20);
    session.round_trip(&large);
    let snapshot = Viewer::connect(&live, "").text();
    let expected: Value = serde_json::from_slice(&large).unwrap();
    assert!(snapshot["lines"][2]["raw"] == expected);
    assert_eq!(session.end().code, Some(0));
}
