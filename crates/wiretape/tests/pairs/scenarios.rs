//! What the pairs do together.

use crate::pair::{Sdk, Transport, check_same, parts};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

const FEATURES: [&str; 9] =
    ["tools", "echo", "bad arguments", "long", "progress", "sampling", "elicitation", "roots", "together"];

fn check_features(sdk: Sdk, transport: Transport) {
    let Some(parts) = parts() else { return };
    let run = check_same(&parts, sdk, transport, "features", "");
    run.check_steps(&FEATURES);
    match sdk {
        Sdk::TypeScript => run.check_recorded(),
        Sdk::Python | Sdk::PythonFirst => run.check_answered(0),
    }
}

#[test]
fn features_with_the_typescript_sdk() {
    check_features(Sdk::TypeScript, Transport::Streamable);
}

#[test]
fn features_with_the_typescript_sdk_over_sse() {
    check_features(Sdk::TypeScript, Transport::Sse);
}

#[test]
fn features_with_the_python_sdk() {
    check_features(Sdk::Python, Transport::Streamable);
}

#[test]
fn features_with_the_python_sdk_over_sse() {
    check_features(Sdk::Python, Transport::Sse);
}

#[test]
fn features_with_the_first_python_sdk() {
    check_features(Sdk::PythonFirst, Transport::Streamable);
}

#[test]
fn features_with_the_first_python_sdk_over_sse() {
    check_features(Sdk::PythonFirst, Transport::Sse);
}

#[test]
fn calls_are_cancelled() {
    let Some(parts) = parts() else { return };
    for transport in [Transport::Streamable, Transport::Sse] {
        for sdk in [Sdk::TypeScript, Sdk::Python] {
            let run = check_same(&parts, sdk, transport, "cancel", "");
            run.check_steps(&["cancelled", "after"]);
            let cancelled =
                run.recorded.keys().filter(|message| message.contains("\"notifications/cancelled\""));
            assert_eq!(cancelled.count(), 1, "{sdk:?} {transport:?}");
        }
    }
}

#[test]
fn a_stream_is_resumed() {
    let Some(parts) = parts() else { return };
    let run = check_same(&parts, Sdk::TypeScript, Transport::Streamable, "resume", "");
    run.check_steps(&["resumed"]);
    let answers = run.recorded.keys().filter(|message| message.contains("Long running operation completed"));
    assert_eq!(answers.count(), 1);
}

#[test]
fn sessions_side_by_side_have_a_trace_each() {
    let Some(parts) = parts() else { return };
    for transport in [Transport::Streamable, Transport::Sse] {
        let run = check_same(&parts, Sdk::TypeScript, transport, "crowd", "");
        run.check_recorded();
        assert_eq!(run.traces, 8, "{transport:?}");
        for sdk in [Sdk::Python, Sdk::PythonFirst] {
            check_same(&parts, sdk, transport, "crowd", "").check_steps(&["crowd"]);
        }
    }
}

/// 15 MB that can't be made smaller, so that the result is 20 MB of base64.
fn serve_noise() -> String {
    const LENGTH: usize = 15_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/noise", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .take(LENGTH)
        .collect();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {LENGTH}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&noise));
        }
    });
    url
}

#[test]
fn a_result_of_20_megabytes() {
    let Some(parts) = parts() else { return };
    let noise = serve_noise();
    for transport in [Transport::Streamable, Transport::Sse] {
        let run = check_same(&parts, Sdk::TypeScript, transport, "large", &noise);
        run.check_recorded();
        assert!(run.recorded.keys().any(|message| message.len() > 20_000_000));
    }
}
