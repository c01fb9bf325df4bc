//! What waits on disk.

use crate::receiver::{Receiver, Reply};
use crate::support::{
    Events, Place, ids, leave_in_spool, options, sink_for, sink_with, trouble_with, unsent, url_of_nobody,
    wait_for_trouble,
};
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use wiretape_events::sink::webhook::{WebhookError, WebhookSink};
use wiretape_events::{Signal, Sink};

#[test]
fn what_one_run_leaves_the_next_one_sends_first_and_in_order() {
    let (place, events) = (Place::new(), Events::default());
    let left = [events.some(95), events.some(12)];
    leave_in_spool(&place, &left[0]);
    let mut sink = unsent(&place);
    assert_eq!(sink.figures().pending(), 95);
    let _ = sink.take(&left[1]);
    let _ = sink.finish();
    drop(sink);

    let receiver = Receiver::with_replies(vec![]);
    let mut sink = sink_for(&receiver, &place);
    let new = events.some(10);
    sink.take(&new).unwrap();
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), [ids(&left[0]), ids(&left[1]), ids(&new)].concat());
    assert_eq!((sink.figures().pending(), sink.figures().lost()), (0, 0));
}

#[test]
fn a_batch_has_the_same_key_in_the_next_run() {
    let (place, events) = (Place::new(), Events::default());
    let receiver = Receiver::with_replies(vec![Reply::HangUp]);
    let signals = events.some(10);
    let hour = Duration::from_secs(3600);
    let mut sink = sink_with(receiver.url(), &place, |spool| {
        (spool.backoff_base, spool.backoff_cap, spool.shutdown) = (hour, hour, Duration::ZERO);
    });
    trouble_with(&mut sink, &signals);
    let _ = sink.finish();
    drop(sink);
    sink_for(&receiver, &place).finish().unwrap();
    let requests = receiver.requests();
    assert_eq!(requests[0].headers["idempotency-key"], requests[1].headers["idempotency-key"]);
    assert_eq!(requests[0].lines, requests[1].lines);
}

#[test]
fn a_sink_that_is_dropped_leaves_its_events_in_the_spool() {
    let (place, events) = (Place::new(), Events::default());
    let signals = events.some(13);
    let mut sink = WebhookSink::new(&options(url_of_nobody(), &place.spool())).unwrap();
    let _ = sink.take(&signals);
    drop(sink);
    assert_eq!(place.segments().len(), 2);
}

#[test]
fn a_full_spool_drops_the_oldest_and_says_so_once() {
    let (place, events) = (Place::new(), Events::default());
    // Ten blocks: each of these batches is a file of one.
    let mut sink = sink_with(url_of_nobody(), &place, |spool| {
        (spool.max_bytes, spool.shutdown) = (10 * 4096, Duration::ZERO);
    });
    let figures = sink.figures();
    let signals = events.some(300);
    let mut told = Vec::new();
    for chunk in signals.chunks(10) {
        told.extend(sink.take(chunk).err());
        assert!(place.segments().len() <= 10);
    }
    told.extend(sink.finish().err());
    drop(sink);
    assert_eq!((figures.pending(), figures.lost()), (100, 200));
    assert_eq!(told.iter().map(|error| error.lost).sum::<u64>(), 200);
    assert_eq!(told.iter().filter(|error| error.message.contains("dropping the oldest events")).count(), 1);

    let receiver = Receiver::with_replies(vec![]);
    sink_for(&receiver, &place).finish().unwrap();
    let taken = receiver.taken();
    assert_eq!(taken.len(), 100);
    // One that is on its way when another has to go is spared in its stead.
    assert_eq!(taken[10..], ids(&signals[210..]));
}

#[test]
fn a_smaller_limit_holds_for_what_was_left_as_well() {
    let (place, events) = (Place::new(), Events::default());
    let signals = events.some(100);
    leave_in_spool(&place, &signals);
    let receiver = Receiver::with_replies(vec![]);
    let mut sink = sink_with(receiver.url(), &place, |spool| spool.max_bytes = 3 * 4096);
    let error = sink.finish().unwrap_err();
    assert_eq!((error.lost, sink.figures().lost()), (70, 70));
    assert_eq!(receiver.taken(), ids(&signals[70..]));
}

#[test]
fn a_damaged_batch_is_set_aside_and_named_and_the_others_arrive() {
    let (place, events) = (Place::new(), Events::default());
    let signals = events.some(30);
    leave_in_spool(&place, &signals);
    let damaged = place.spool().join(&place.segments()[1]);
    let content = fs::read(&damaged).unwrap();
    fs::write(&damaged, &content[..content.len() / 2]).unwrap();

    let receiver = Receiver::with_replies(vec![]);
    let mut sink = sink_for(&receiver, &place);
    let error = sink.finish().unwrap_err();
    let torn = damaged.with_extension("torn");
    assert!(error.message.contains(&torn.display().to_string()), "{}", error.message);
    assert_eq!((error.lost, sink.figures().lost()), (10, 10));
    assert_eq!(receiver.taken(), [ids(&signals[..10]), ids(&signals[20..])].concat());
    drop(sink);
    assert!(torn.exists());
    sink_for(&receiver, &place).finish().unwrap();
}

#[test]
fn an_open_segment_without_its_end_is_sent_without_its_last_line() {
    let (place, events) = (Place::new(), Events::default());
    let signals = events.some(13);
    let file = leave_open(&place, &signals[..3]);
    let content = fs::read(&file).unwrap();
    fs::write(&file, &content[..content.len() - 10]).unwrap();

    let receiver = Receiver::with_replies(vec![]);
    let mut sink = sink_for(&receiver, &place);
    let error = wait_for_trouble(&mut sink);
    assert!(error.message.contains("was cut off"), "{}", error.message);
    assert_eq!((error.lost, sink.figures().lost()), (1, 1));
    sink.take(&signals[3..]).unwrap();
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), [ids(&signals[..2]), ids(&signals[3..])].concat());
    assert!(!file.exists());
}

#[test]
fn an_open_segment_that_was_sealed_already_is_not_sent_twice() {
    let (place, events) = (Place::new(), Events::default());
    let signals = events.some(10);
    let file = leave_open(&place, &signals[..9]);
    let name = file.file_name().unwrap().to_str().unwrap();
    leave_in_spool(&place, &[]);
    let sealed = place.segments();
    assert_eq!(sealed.len(), 1, "the next start seals it");
    fs::write(place.spool().join(name), "as if it were still there").unwrap();

    let receiver = Receiver::with_replies(vec![]);
    sink_for(&receiver, &place).finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals[..9]));
    assert_eq!(receiver.requests()[0].headers["idempotency-key"], format!("{}-9", ids(&signals)[0]));
    assert!(!place.spool().join(name).exists());
}

/// Leaves events in an open segment, as a killed process does; its file.
fn leave_open(place: &Place, signals: &[Arc<Signal>]) -> std::path::PathBuf {
    let elsewhere = Place::new();
    let mut sink = unsent(&elsewhere);
    sink.take(signals).unwrap();
    let mut files = fs::read_dir(elsewhere.spool()).unwrap().map(|entry| entry.unwrap().path());
    let open = files.find(|file| file.extension().is_some_and(|extension| extension == "open")).unwrap();
    fs::create_dir_all(place.spool()).unwrap();
    let file = place.spool().join(open.file_name().unwrap());
    fs::copy(&open, &file).unwrap();
    file
}

#[test]
fn what_does_not_belong_to_the_spool_is_named_and_left_alone() {
    let (place, events) = (Place::new(), Events::default());
    let signals = events.some(10);
    leave_in_spool(&place, &signals);
    let foreign = place.spool().join("notes.txt");
    fs::write(&foreign, "mine").unwrap();
    let unfinished = place.spool().join(&place.segments()[0]).with_extension("tmp");
    fs::write(&unfinished, "half").unwrap();

    let receiver = Receiver::with_replies(vec![]);
    let mut sink = sink_for(&receiver, &place);
    let error = wait_for_trouble(&mut sink);
    assert!(error.message.contains("notes.txt"), "{}", error.message);
    assert_eq!(error.lost, 0);
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals));
    assert_eq!(fs::read_to_string(foreign).unwrap(), "mine");
    assert!(!unfinished.exists());
}

#[test]
fn two_sinks_share_a_spool_without_sending_twice() {
    let (place, events) = (Place::new(), Events::default());
    let left = events.some(50);
    leave_in_spool(&place, &left);
    let receiver = Receiver::with_replies(vec![]);
    let mut sinks = [(); 3].map(|()| sink_for(&receiver, &place));
    let mut sent = ids(&left);
    for sink in &mut sinks {
        let signals = events.some(25);
        sink.take(&signals).unwrap();
        sent.extend(ids(&signals));
    }
    for sink in &mut sinks {
        sink.finish().unwrap();
    }
    let mut taken = receiver.taken();
    taken.sort();
    sent.sort();
    assert_eq!(taken, sent);
}

#[test]
fn what_a_second_sink_has_left_is_adopted_at_the_next_start() {
    let (place, events) = (Place::new(), Events::default());
    let mut first = unsent(&place);
    let mut second = unsent(&place);
    let signals = events.some(45);
    let _ = first.take(&signals[..20]);
    let _ = second.take(&signals[20..]);
    let _ = first.finish();
    let error = second.finish().unwrap_err();
    assert!(
        error.message.contains("25 unsent events remain in ") && error.message.contains("extra-1"),
        "{}",
        error.message
    );
    drop((first, second));

    let receiver = Receiver::with_replies(vec![]);
    sink_for(&receiver, &place).finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_spool() {
    use std::os::unix::fs::PermissionsExt;
    let (place, events) = (Place::new(), Events::default());
    leave_in_spool(&place, &events.some(10));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.spool()), 0o700);
    for entry in fs::read_dir(place.spool()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn a_spool_that_cannot_be_had_is_an_error_with_its_name() {
    let place = Place::new();
    let file = place.path().join("a-file");
    fs::write(&file, "").unwrap();
    let error = WebhookSink::new(&options(url_of_nobody(), &file)).err().unwrap();
    assert!(matches!(error, WebhookError::Spool(_)));
    assert!(error.to_string().contains("a-file"), "{error}");
}

#[test]
fn events_that_cannot_be_written_down_are_counted_and_told_once() {
    let (place, events) = (Place::new(), Events::default());
    let receiver = Receiver::with_replies(vec![]);
    let mut sink = sink_for(&receiver, &place);
    fs::remove_dir_all(place.spool()).unwrap();
    let error = sink.take(&events.some(20)).unwrap_err();
    assert!(error.message.contains("can't write events to the spool"), "{}", error.message);
    assert_eq!((error.lost, sink.figures().lost()), (20, 20));

    fs::create_dir(place.spool()).unwrap();
    let signals = events.some(10);
    let error = sink.take(&signals).unwrap_err();
    assert_eq!(error.lost, 0, "they were counted already: {}", error.message);
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals));
}
