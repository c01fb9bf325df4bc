//! Bytes pass both ways as they are, whatever they are, and the trace holds them.

use crate::session::{Home, Session, echo, server, traces_in, wait_until};
use crate::trace::{Trace, What};
use serde_json::Value;
use std::io::{Read, Write, pipe};
use std::process::Stdio;
use wiretape_testkit::process;
use wiretape_trace::message::Direction::{ClientToServer, ServerToClient};

fn cat(home: &Home) -> Session {
    home.start(&[], &server(["cat"]))
}

/// Through `cat` and back, and the trace of it.
fn pass(input: &[u8]) -> Trace {
    let home = Home::new();
    let mut session = cat(&home);
    session.stream(input);
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(0), &b""[..]));
    let trace = home.trace();
    trace.check_ended(0);
    trace
}

/// Every line is JSON and is in the trace unchanged.
fn check_json(lines: &[&[u8]]) {
    let mut input = lines.join(&b'\n');
    input.push(b'\n');
    pass(&input).check_echoed(lines);
}

/// What a line is not JSON becomes: the same both ways.
fn check_texts(input: &[u8], expected: &[(&str, Option<&str>)]) {
    let trace = pass(input);
    for direction in ["in", "out"] {
        let texts = trace.texts().into_iter().filter(|line| line["dir"] == direction);
        let told: Vec<_> =
            texts.map(|line| (line["text"].as_str().unwrap(), line["base64"].as_str())).collect();
        assert_eq!(told, expected, "{direction}");
    }
}

/// What the first message had beside its payload.
fn wire(trace: &Trace) -> Value {
    let What::Message { head, .. } = &trace.entries[0].what else { panic!("{trace:?}") };
    let fields: Value = serde_json::from_str(&format!("{head}}}")).unwrap();
    fields["wire"].clone()
}

#[test]
fn json_is_kept_as_it_was_written() {
    check_json(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.as_bytes(),
        r#"{"id" : 12345678901234567890123456789, "x":-0.0e+00, "y":1E400, "z":1.000000000000000000001}"#
            .as_bytes(),
        r#"{"a":1,"a":2,"a":{"a":3,"a":4}}"#.as_bytes(),
        r#"{"text":"Grüße, 日本語, 🦀, e\u0301, \ud83e\udd80, \ud800, \u0000, \/, "}"#.as_bytes(),
        "{\"\u{2028}\":\"\u{2029}\u{85}\u{7f}\u{feff}\"}".as_bytes(),
        b"  \t{ \"spaces\" :\t[ 1 , 2 ]\r}  ",
        b"[{\"id\":1},{\"id\":2}]",
        b"\"a string\"",
        b"0",
        b"null",
        b"{}",
        br#"{"result":"nobody asked","error":null,"unknown":{"deep":[[[[]]]]}}"#,
    ]);
}

#[test]
fn line_ends_and_byte_order_marks_are_told() {
    let json = br#"{"id":1}"#;
    for (input, expected) in [
        (&b"{\"id\":1}\n"[..], Value::Null),
        (b"{\"id\":1}\r\n", serde_json::json!(["crlf"])),
        (b"\xEF\xBB\xBF{\"id\":1}\n", serde_json::json!(["bom"])),
        (b"{\"id\":1}", serde_json::json!(["eof"])),
        (b"\xEF\xBB\xBF{\"id\":1}\r\n", serde_json::json!(["bom", "crlf"])),
    ] {
        let trace = pass(input);
        trace.check_echoed(&[json]);
        assert_eq!(wire(&trace), expected, "{}", input.escape_ascii());
    }
}

#[test]
fn what_is_not_json_is_kept_as_text() {
    check_texts(b"Listening on stdio\n", &[("Listening on stdio", None)]);
    check_texts(b"\n\n\r\n", &[("", None), ("", None), ("", None)]);
    check_texts(b"{\"id\":1} and more\n{\"id\":\n", &[("{\"id\":1} and more", None), ("{\"id\":", None)]);
    check_texts(b"{\"nul\":\"\0\"}\n\0\0\n", &[("{\"nul\":\"\0\"}", None), ("\0\0", None)]);
    check_texts(b"caf\xe9\n", &[("caf\u{fffd}", Some("Y2Fm6Q=="))]);
    check_texts(b"{\"name\":\"caf\xe9\"}", &[("{\"name\":\"caf\u{fffd}\"}", Some("eyJuYW1lIjoiY2Fm6SJ9"))]);
}

#[test]
fn every_byte_passes() {
    let all: Vec<u8> = (0..=255).chain((0..=255).rev()).cycle().take(300_000).collect();
    let trace = pass(&all);
    assert!(trace.texts().len() > 1000);
}

#[test]
fn nesting_of_any_depth_is_json() {
    const DEPTH: usize = 20_000;
    let arrays = ["[".repeat(DEPTH), "]".repeat(DEPTH)].concat();
    let objects = ["{\"a\":".repeat(DEPTH), "1".to_owned(), "}".repeat(DEPTH)].concat();
    check_json(&[arrays.as_bytes(), objects.as_bytes()]);
    let unfinished = "[".repeat(DEPTH);
    check_texts(format!("{unfinished}\n").as_bytes(), &[(&unfinished, None)]);
}

#[test]
fn half_a_line_is_not_held_back() {
    let home = Home::new();
    let mut session = cat(&home);
    for piece in ["{\"jsonrpc\":", "\"2.0\",\"id\":1", ",\"method\":\"ping\"}", "\n{", "}", "\n"] {
        session.round_trip(piece);
    }
    session.end().check_quiet();
    home.trace().check_echoed(&[br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, b"{}"]);
}

#[test]
fn a_message_is_in_the_trace_before_its_answer_arrives() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&["--mcp"]));
    for id in 1..=20 {
        session.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"));
        let answer = session.receive_line();
        let trace = home.trace();
        let [.., request, response] = &trace.entries[..] else { panic!("{trace:?}") };
        assert!(request.raw().ends_with(b"\"method\":\"ping\"}"));
        assert_eq!(response.raw(), answer.as_bytes());
        assert_eq!((request.seq, response.seq), (2 * id - 1, 2 * id));
    }
    session.end().check_quiet();
}

/// Those who share a client's pipe may have made it non-blocking, as Node does.
#[test]
fn pipes_that_do_not_block_are_waited_for() {
    let home = Home::new();
    let (stdin, mut to_us) = pipe().unwrap();
    let (mut from_us, stdout) = pipe().unwrap();
    process::set_nonblocking(&stdin).unwrap();
    process::set_nonblocking(&stdout).unwrap();
    let mut command = home.record(&[], &server(["cat"]));
    let mut child = command.stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    wait_until("the session has begun", || !traces_in(&home.traces_dir()).is_empty());
    // More than the pipes hold, without a reader.
    let line = format!("{{\"text\":\"{}\"}}\n", "x".repeat(100_000));
    let writer = std::thread::spawn(move || (0..20).for_each(|_| to_us.write_all(line.as_bytes()).unwrap()));
    let mut received = Vec::new();
    from_us.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert_eq!(received.len(), 20 * 100_012);
    assert!(child.wait().unwrap().success());
    let trace = home.trace();
    trace.check_ended(0);
    assert_eq!((trace.messages(ClientToServer).len(), trace.messages(ServerToClient).len()), (20, 20));
}
