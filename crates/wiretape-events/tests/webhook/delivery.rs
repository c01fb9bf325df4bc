//! A receiver that is well.

use crate::receiver::Receiver;
use crate::support::{Events, Place, a_line, ids, noise, options, sink_for, sink_with};
use std::collections::HashSet;
use std::time::Duration;
use wiretape_events::Sink;
use wiretape_events::sink::webhook::{Secret, WebhookOptions, WebhookSink};

#[test]
fn all_events_of_all_kinds_arrive_in_order() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let figures = sink.figures();
    let signals = events.some(1234);
    for chunk in signals.chunks(7) {
        sink.take(chunk).unwrap();
        sink.take(&[a_line()]).unwrap();
    }
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals));
    assert_eq!((figures.pending(), figures.delivered(), figures.lost()), (0, 1234, 0));
    assert!(place.segments().is_empty());
}

#[test]
fn lines_are_the_json_of_the_events() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let signals = events.some(4);
    sink.take(&signals).unwrap();
    sink.finish().unwrap();
    let expected: Vec<_> =
        signals.iter().map(|signal| String::from_utf8(signal.json().to_vec()).unwrap()).collect();
    assert_eq!(receiver.requests()[0].lines, expected);
}

#[test]
fn a_request_says_what_it_is() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let options =
        WebhookOptions { token: Some(Secret::new("the-token\n")), ..options(receiver.url(), &place.spool()) };
    let mut sink = WebhookSink::new(&options).unwrap();
    sink.take(&events.some(20)).unwrap();
    sink.finish().unwrap();
    let requests = receiver.requests();
    for request in &requests {
        assert_eq!(request.path, "/events?key=hidden-query");
        assert_eq!(request.headers["content-type"], "application/x-ndjson");
        assert_eq!(request.headers["content-encoding"], "gzip");
        assert_eq!(request.headers["authorization"], "Bearer the-token");
        assert_eq!(request.headers["user-agent"], concat!("wiretape/", env!("CARGO_PKG_VERSION")));
        assert!(request.headers["idempotency-key"].starts_with(&request.ids()[0]));
    }
    let keys: HashSet<_> = requests.iter().map(|request| &request.headers["idempotency-key"]).collect();
    assert_eq!(keys.len(), 2);
}

#[test]
fn a_batch_is_sealed_by_count() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    sink.take(&events.some(25)).unwrap();
    receiver.wait_until(|requests| requests.len() == 2);
    sink.finish().unwrap();
    let sizes: Vec<_> = receiver.requests().iter().map(|request| request.lines.len()).collect();
    assert_eq!(sizes, [10, 10, 5]);
}

#[test]
fn a_batch_is_sealed_by_size_and_a_huge_event_goes_alone() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let mut sink = sink_with(receiver.url(), &place, |spool| spool.batch_bytes = 100_000);
    let sizes = [40_000, 40_000, 40_000, 300_000, 10];
    let signals = sizes.map(|size| events.with_text(&noise(size)));
    sink.take(&signals).unwrap();
    sink.finish().unwrap();
    let sizes: Vec<_> = receiver.requests().iter().map(|request| request.lines.len()).collect();
    assert_eq!(sizes, [2, 1, 1, 1]);
    assert_eq!(receiver.taken(), ids(&signals));
}

#[test]
fn a_batch_is_sealed_when_its_time_has_come() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let batch_time = Duration::from_secs(1);
    let mut sink = sink_with(receiver.url(), &place, |spool| spool.batch_time = batch_time);
    assert_eq!(sink.wake_in(), None);

    let signals = events.some(3);
    sink.take(&signals).unwrap();
    assert!(sink.wake_in().unwrap() <= batch_time);
    // From then on it is asked now and then for troubles, until all was sent.
    while let Some(wait) = sink.wake_in() {
        std::thread::sleep(wait);
        sink.wake().unwrap();
    }
    receiver.wait_until(|requests| !requests.is_empty());
    assert_eq!(receiver.taken(), ids(&signals));
}

#[test]
fn a_batch_whose_time_has_come_is_sealed_though_more_keeps_coming() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let mut sink = sink_with(receiver.url(), &place, |spool| {
        (spool.batch_time, spool.batch_events) = (Duration::from_millis(5), u64::MAX);
    });
    while receiver.requests().is_empty() {
        sink.take(&events.some(1)).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_sink_without_events_ends_without_a_request() {
    let (receiver, place) = (Receiver::with_replies(vec![]), Place::new());
    let mut sink = sink_for(&receiver, &place);
    sink.take(&[a_line()]).unwrap();
    assert_eq!(sink.wake_in(), None);
    sink.finish().unwrap();
    assert!(receiver.requests().is_empty());
}

#[test]
fn a_line_end_within_an_event_does_not_end_its_line() {
    let (receiver, place, events) = (Receiver::with_replies(vec![]), Place::new(), Events::default());
    let mut sink = sink_for(&receiver, &place);
    let signal = events.with_message("{\n  \"pretty\": true\n}");
    sink.take(&[signal]).unwrap();
    sink.finish().unwrap();
    let event: serde_json::Value = serde_json::from_str(&receiver.requests()[0].lines[0]).unwrap();
    assert_eq!(event["request"]["message"]["pretty"], true);
}
