//! A receiver that is not well.

use crate::receiver::{LONG, Receiver, Reply, Request};
use crate::support::{
    Events, Place, id, ids, nobody, options, sink_for, sink_with, trouble_with, troubles_to_the_end,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};
use wiretape_events::Sink;
use wiretape_events::sink::webhook::WebhookSink;

#[test]
fn what_fails_for_now_is_tried_again_under_the_same_key() {
    let replies = [500, 502, 503, 408, 425, 429].map(Reply::Status);
    let (receiver, place, events) =
        (Receiver::with_replies(replies.into_iter().collect()), Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let signals = events.some(10);
    let error = trouble_with(&mut sink, &signals);
    receiver.wait_until(|requests| requests.len() == 7);
    sink.finish().unwrap();
    assert!(error.message.contains("500"), "{}", error.message);
    assert_eq!(error.lost, 0);
    assert_eq!(receiver.taken(), ids(&signals));
    let requests = receiver.requests();
    let keys: HashSet<_> = requests.iter().map(|request| &request.headers["idempotency-key"]).collect();
    assert_eq!((requests.len(), keys.len()), (7, 1));
}

#[test]
fn retry_after_in_seconds_is_honored() {
    let receiver = Receiver::with_replies(vec![Reply::Later(429, "1".into())]);
    let (first, second) = times_of_two_attempts(&receiver);
    assert!(second.duration_since(first).unwrap() >= Duration::from_millis(990));
}

#[test]
fn retry_after_as_a_date_is_honored() {
    let date = SystemTime::now() + Duration::from_secs(2);
    let receiver = Receiver::with_replies(vec![Reply::Later(503, httpdate::fmt_http_date(date))]);
    let (_, second) = times_of_two_attempts(&receiver);
    // The date has no fractions of a second.
    assert!(second >= date - Duration::from_secs(1));
}

fn times_of_two_attempts(receiver: &Receiver) -> (SystemTime, SystemTime) {
    let (place, events) = (Place::new(), Events::default());
    let mut sink = sink_for(receiver, &place);
    let _ = sink.take(&events.some(10));
    receiver.wait_until(|requests| requests.len() == 2);
    let _ = sink.finish();
    let requests = receiver.requests();
    assert_eq!((requests.len(), requests[1].taken), (2, true));
    (requests[0].at, requests[1].at)
}

#[test]
fn a_receiver_that_never_answers_is_given_up_and_tried_again() {
    let (receiver, place, events) =
        (Receiver::with_replies(vec![Reply::Stall]), Place::new(), Events::default());
    let mut options = options(receiver.url(), &place.spool());
    options.spool.timeout = Duration::from_millis(300);
    let mut sink = WebhookSink::new(&options).unwrap();
    let signals = events.some(10);
    let error = trouble_with(&mut sink, &signals);
    assert!(error.message.contains("timed out"), "{}", error.message);
    receiver.wait_until(|requests| requests.iter().any(|request| request.taken));
    sink.finish().unwrap();
    assert_eq!(receiver.taken()[..10], ids(&signals));
}

#[test]
fn events_wait_for_a_receiver_that_is_not_there_yet() {
    let (address, place, events) = (nobody(), Place::new(), Events::default());
    let mut sink = WebhookSink::new(&options(format!("http://{address}/"), &place.spool())).unwrap();
    let signals = events.some(35);
    let _ = sink.take(&signals);
    let figures = sink.figures();
    assert_eq!((figures.pending(), figures.lost()), (30, 0));
    let receiver = Receiver::start_at(address, |_| Reply::Status(204));
    receiver.wait_until(|requests| requests.len() == 3);
    let _ = sink.finish();
    assert_eq!(receiver.taken(), ids(&signals));
    assert_eq!((figures.pending(), figures.delivered(), figures.lost()), (0, 35, 0));
}

#[test]
fn a_failure_is_told_once_until_it_has_passed() {
    let (address, place, events) = (nobody(), Place::new(), Events::default());
    let mut sink =
        WebhookSink::new(&options(format!("http://{address}/hidden?hidden"), &place.spool())).unwrap();
    let error = trouble_with(&mut sink, &events.some(10));
    assert!(error.message.contains(&format!("http://{address}:")), "{}", error.message);
    assert!(!error.message.contains("hidden"), "{}", error.message);
    for _ in 0..100 {
        sink.take(&events.some(10)).unwrap();
    }
    let receiver = Receiver::start_at(address, |_| Reply::Status(200));
    receiver.wait_until(|requests| requests.len() == 101);
    drop(receiver);
    assert!(trouble_with(&mut sink, &events.some(10)).message.contains("can't send events"));
}

#[test]
fn every_event_arrives_though_the_receiver_restarts_and_hangs_up() {
    let (address, place, events) = (nobody(), Place::new(), Events::default());
    let mut sink = WebhookSink::new(&options(format!("http://{address}/"), &place.spool())).unwrap();
    let mut seen = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..4 {
        let number = AtomicUsize::new(0);
        // Each third request is read, and has no answer.
        let receiver =
            Receiver::start_at(address, move |_| match number.fetch_add(1, Ordering::Relaxed) % 3 {
                1 => Reply::HangUp,
                _ => Reply::Status(200),
            });
        for _ in 0..10 {
            let signals = events.some(10);
            let _ = sink.take(&signals);
            sent.extend(ids(&signals));
        }
        receiver.wait_until(|requests| requests.len() >= 5);
        seen.extend(receiver.stop());
    }
    let receiver = Receiver::start_at(address, |_| Reply::Status(200));
    let _ = sink.finish();
    seen.extend(receiver.stop());

    let arrived: Vec<String> = seen.iter().flat_map(Request::ids).collect();
    let mut known = HashSet::new();
    let without_duplicates: Vec<_> = arrived.iter().filter(|id| known.insert(*id)).collect();
    assert!(arrived.len() > without_duplicates.len());
    assert_eq!(without_duplicates, sent.iter().collect::<Vec<_>>());
    assert_eq!(sink.figures().lost(), 0);
}

#[test]
fn what_is_refused_for_good_is_dropped_counted_and_told() {
    let body = "the text of the answer, which is not ours to show".to_owned();
    let refusal = |status| Reply::Full(status, String::new(), body.clone());
    let (receiver, place, events) =
        (Receiver::with_replies(vec![refusal(400), refusal(404)]), Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let figures = sink.figures();
    let signals = events.some(30);
    let error = troubles_to_the_end(&mut sink, &signals);
    assert!(error.message.contains("400"), "{}", error.message);
    assert!(!error.message.contains("text of the answer"), "{}", error.message);
    assert_eq!(receiver.taken(), ids(&signals[20..]));
    assert_eq!((figures.lost(), figures.delivered(), figures.pending(), error.lost), (20, 10, 0, 20));
    assert!(place.segments().is_empty());
}

#[test]
fn a_refusal_is_told_with_its_status() {
    let (receiver, place, events) =
        (Receiver::start(|_| Reply::Status(422)), Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let error = trouble_with(&mut sink, &events.some(10));
    assert!(error.message.contains("422") && !error.message.contains("hidden"), "{}", error.message);
    assert_eq!(error.lost, 10);
}

#[test]
fn redirects_are_not_followed() {
    let other = Receiver::with_replies(vec![]);
    let location = format!("Location: {}\r\n", other.url());
    for status in [301, 302, 307, 308] {
        let (place, events) = (Place::new(), Events::default());
        let location = location.clone();
        let receiver = Receiver::start(move |_| Reply::Full(status, location.clone(), String::new()));
        let mut sink = sink_for(&receiver, &place);
        let error = troubles_to_the_end(&mut sink, &events.some(10));
        assert!(error.message.contains(&status.to_string()), "{}", error.message);
        assert_eq!(error.lost, 10);
    }
    assert!(other.requests().is_empty());
}

#[test]
fn what_is_too_large_is_sent_in_parts() {
    let receiver = Receiver::start(|request| match request.lines.len() {
        0..=3 => Reply::Status(200),
        _ => Reply::Status(413),
    });
    let (place, events) = (Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let figures = sink.figures();
    let signals = events.some(25);
    sink.take(&signals).unwrap();
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals));
    assert_eq!((figures.pending(), figures.delivered(), figures.lost()), (0, 25, 0));
    let requests = receiver.requests();
    let keys: HashSet<_> = requests.iter().map(|request| &request.headers["idempotency-key"]).collect();
    assert_eq!(keys.len(), requests.len());
}

#[test]
fn a_single_event_that_is_too_large_costs_only_itself() {
    let (place, events) = (Place::new(), Events::default());
    let signals = events.some(10);
    let too_large = id(&signals[6]);
    let receiver = Receiver::start(move |request| match request.ids().contains(&too_large) {
        true => Reply::Status(413),
        false => Reply::Status(200),
    });
    let mut sink = sink_for(&receiver, &place);
    let error = troubles_to_the_end(&mut sink, &signals);
    assert!(error.message.contains("413"), "{}", error.message);
    assert_eq!(error.lost, 1);
    let expected: Vec<_> = ids(&signals).into_iter().filter(|other| *other != id(&signals[6])).collect();
    assert_eq!(receiver.taken(), expected);
}

#[test]
fn a_receiver_that_asks_for_more_time_than_there_is_ends_the_sending() {
    let receiver = Receiver::start(|_| Reply::Later(503, "250".into()));
    let (place, events) = (Place::new(), Events::default());
    let shutdown = 3 * LONG;
    let mut sink = sink_with(receiver.url(), &place, |spool| spool.shutdown = shutdown);
    let started = Instant::now();
    let _ = sink.take(&events.some(20));
    let error = sink.finish().unwrap_err();
    assert!(error.message.contains("20 unsent events remain in "), "{}", error.message);
    assert_eq!((error.lost, receiver.requests().len()), (0, 1));
    assert!(started.elapsed() < shutdown);
}

#[test]
fn an_endless_answer_costs_only_the_connection() {
    let body = "x".repeat(1 << 20);
    let receiver = Receiver::start(move |_| Reply::Full(200, String::new(), body.clone()));
    let (place, events) = (Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let signals = events.some(30);
    sink.take(&signals).unwrap();
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals));
}

#[test]
fn a_stalled_receiver_does_not_keep_the_sink_waiting() {
    let receiver = Receiver::start(|_| Reply::Stall);
    let (place, events) = (Place::new(), Events::default());
    let mut sink = sink_with(receiver.url(), &place, |spool| spool.shutdown = Duration::ZERO);
    let signals: Vec<Arc<_>> = events.some(1000);
    for chunk in signals.chunks(10) {
        sink.take(chunk).unwrap();
    }
    assert_eq!(sink.figures().pending(), 1000);
    let error = sink.finish().unwrap_err();
    assert!(error.message.starts_with("1000 unsent events remain in "), "{}", error.message);
}

#[test]
fn the_end_cuts_a_pause_short() {
    let (receiver, place, events) = (
        Receiver::with_replies(vec![Reply::Status(500), Reply::Status(500)]),
        Place::new(),
        Events::default(),
    );
    // So long that even a small random part of it is longer than the test.
    let months = Duration::from_secs(10_000_000);
    let mut sink = sink_with(receiver.url(), &place, |spool| {
        (spool.backoff_base, spool.backoff_cap) = (months, months);
    });
    trouble_with(&mut sink, &events.some(10));
    // The second attempt comes at once and fails; the pause after it is far longer than there is time.
    let error = sink.finish().unwrap_err();
    assert!(error.message.contains("10 unsent events remain in "), "{}", error.message);
    assert_eq!(receiver.requests().len(), 2);
}
