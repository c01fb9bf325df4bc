//! Very many clients at once, and a very slow one.

use crate::proxy::Proxy;
#[cfg(target_os = "linux")]
use crate::proxy::wait_until;
use crate::wire::{OPEN_STREAM, STREAM, Upstream, chunk};
use wiretape_testkit::process;

#[test]
fn a_thousand_streams_at_a_time() {
    const STREAMS: usize = 1000;
    assert!(
        process::raise_file_limit() > 2 * STREAMS as u64 + 100,
        "this test has two sockets for each stream"
    );
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--admin", "127.0.0.1:0", "--drain", "1s"]);
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut client = proxy.connect();
        client.send(OPEN_STREAM);
        let (server, ..) = upstream.answer(STREAM);
        assert_eq!(client.receive_head().status(), 200);
        streams.push((client, server));
    }
    assert_eq!(proxy.ask("/status").1["connections"], STREAMS);
    let event = |stream: usize, round: usize| {
        format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"s{stream}/{round}\"}}\n\n")
    };
    for round in 0..3 {
        for (n, (_, server)) in streams.iter_mut().enumerate() {
            server.send(chunk(event(n, round)));
        }
        for (n, (client, _)) in streams.iter_mut().enumerate() {
            let expected = event(n, round);
            assert_eq!(client.receive_streamed(expected.len()), expected.as_bytes());
        }
    }
    let stopped = proxy.stop();
    assert!(stopped.warnings().is_empty(), "no request was cut off: {}", stopped.stderr);
    let traces = stopped.traces();
    assert_eq!(traces.len(), STREAMS);
    assert!(traces.iter().all(|trace| trace.messages().len() == 3));
}

/// A client that doesn't read stops the server, not the proxy's memory.
#[cfg(target_os = "linux")]
#[test]
fn a_slow_reader_costs_little_memory() {
    use std::io::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};
    use wiretape_testkit::memory;

    const WANTED: u64 = 500_000_000;
    const MEMORY: u64 = 64 * 1024 * 1024;
    for head in [
        STREAM,
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        let upstream = Upstream::listen();
        let proxy = Proxy::before(&upstream, &[]);
        let mut client = proxy.connect();
        client.send(OPEN_STREAM);
        let (server, ..) = upstream.answer(head);
        client.receive_head();
        let sent = Arc::new(AtomicU64::new(0));
        let sending = {
            let sent = Arc::clone(&sent);
            std::thread::spawn(move || {
                let event =
                    chunk(format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n\n", "x".repeat(1000)));
                let mut stream = &server.stream;
                // It ends when the client has had enough.
                while sent.load(Ordering::Relaxed) < WANTED && stream.write_all(&event).is_ok() {
                    sent.fetch_add(event.len() as u64, Ordering::Relaxed);
                }
            })
        };
        let (mut last, mut since) = (0, Instant::now());
        wait_until("the server has to wait", || {
            let now = sent.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, Instant::now());
            }
            since.elapsed() > Duration::from_secs(3)
        });
        assert!(last < WANTED, "the server was never stopped");
        let peak = memory::peak_of_tree(proxy.pid(), "").unwrap();
        assert!(peak < MEMORY, "{peak} bytes of memory");
        drop(client);
        sending.join().unwrap();
    }
}
