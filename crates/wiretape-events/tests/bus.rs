//! The bus: producers never wait, nothing is lost silently, and closing delivers everything.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use support::{answer, call};
use wiretape_events::bus::{HeartbeatOptions, ListenerHealth};
use wiretape_events::event::{Event, EventIds};
use wiretape_events::observe::ObserverOptions;
use wiretape_events::sink::SignalBody;
use wiretape_events::{Bus, BusOptions, Signal, Sink, SinkError, TransactionSink as _};

/// Keeps what it is given, once it is let.
#[derive(Clone, Default)]
struct Kept {
    signals: Arc<Mutex<Vec<Arc<Signal>>>>,
    stuck: Arc<(Mutex<bool>, Condvar)>,
    fails: bool,
    finished: Arc<AtomicBool>,
}

impl Sink for Kept {
    fn name(&self) -> &str {
        "kept"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        let stuck = self.stuck.0.lock().unwrap();
        drop(self.stuck.1.wait_while(stuck, |stuck| *stuck).unwrap());
        if self.fails {
            return Err(SinkError { message: "no".to_owned(), lost: signals.len() as u64 });
        }
        self.signals.lock().unwrap().extend(signals.iter().cloned());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.finished.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Kept {
    fn requests(&self) -> usize {
        let signals = self.signals.lock().unwrap();
        signals.iter().filter(|signal| matches!(signal.what, SignalBody::Event(Event::Request(_)))).count()
    }
}

type Reports = Arc<Mutex<Vec<String>>>;

fn bus(sinks: Vec<Box<dyn Sink>>, patience: Duration) -> (Bus, Reports) {
    let reports = Reports::default();
    let mine = Arc::clone(&reports);
    let options = BusOptions {
        observer: ObserverOptions {
            lines: true,
            session_idle: Duration::from_secs(1800),
            snapshots: Vec::new(),
            ids: Arc::new(EventIds::new()),
        },
        sinks,
        report: Arc::new(move |sink: &str, error: &SinkError| {
            mine.lock().unwrap().push(format!("{sink}: {error}"));
        }),
        patience,
    };
    (Bus::start(options).unwrap(), reports)
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn everything_arrives_before_the_end() {
    let kept = Kept::default();
    let (bus, reports) = bus(vec![Box::new(kept.clone())], MINUTE);
    for n in 0..5000 {
        bus.finished(call(n, "add", &answer(n, r#""result":{}"#)));
    }
    let status = bus.close(|_| {});
    assert_eq!(kept.requests(), 5000);
    assert!(kept.finished.load(Ordering::Relaxed));
    assert!(status.iter().all(|sink| sink.dropped == 0 && sink.queued == 0), "{status:?}");
    assert!(reports.lock().unwrap().is_empty());
}

#[test]
fn a_sink_that_is_stuck_holds_up_nobody_and_what_it_misses_is_counted() {
    let (stuck, free) = (Kept::default(), Kept::default());
    *stuck.stuck.0.lock().unwrap() = true;
    let (bus, reports) = bus(vec![Box::new(stuck.clone()), Box::new(free.clone())], MINUTE);
    const ALL: u64 = 60_000;
    for n in 0..ALL {
        // At the pace of the one that is free.
        while bus.status()[0].queued > 1000 || bus.status()[2].queued > 1000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        bus.finished(call(n, "add", ""));
    }
    while free.requests() < ALL as usize {
        std::thread::sleep(Duration::from_millis(1));
    }
    *stuck.stuck.0.lock().unwrap() = false;
    stuck.stuck.1.notify_all();
    let status = bus.close(|_| {});
    assert_eq!((status[0].dropped, status[2].dropped), (0, 0));
    assert!(status[1].dropped > 0);
    let (lines, requests) = (ALL, ALL);
    assert_eq!(status[1].taken + status[1].dropped, lines + requests, "each is taken or counted");
    assert_eq!(reports.lock().unwrap().len(), 1, "{reports:?}");
}

#[test]
fn what_a_sink_loses_is_counted_and_told() {
    let kept = Kept { fails: true, ..Kept::default() };
    let (bus, reports) = bus(vec![Box::new(kept)], MINUTE);
    bus.finished(call(1, "add", ""));
    let status = bus.close(|_| {});
    assert_eq!(status[1].dropped, 2);
    assert_eq!(*reports.lock().unwrap(), ["kept: no"]);
}

#[test]
fn a_sink_that_never_comes_back_does_not_keep_the_end_waiting() {
    let stuck = Kept::default();
    *stuck.stuck.0.lock().unwrap() = true;
    let (bus, _) = bus(vec![Box::new(stuck)], Duration::from_millis(50));
    bus.finished(call(1, "add", ""));
    let mut waited_for = Vec::new();
    bus.close(|sinks| waited_for.extend(sinks.iter().map(|name| (*name).to_owned())));
    assert_eq!(waited_for, ["kept"]);
}

#[test]
fn the_heart_beats_with_figures() {
    let kept = Kept::default();
    let (bus, _) = bus(vec![Box::new(kept.clone())], MINUTE);
    let health = ListenerHealth {
        listener: "demo".into(),
        upstream: "http://localhost:9000".into(),
        port: 3004,
        reachable: Some(false),
    };
    bus.beat(HeartbeatOptions {
        every: Duration::from_millis(10),
        probe: Box::new(move || vec![health.clone()]),
    })
    .unwrap();
    let beats = || {
        let signals = kept.signals.lock().unwrap();
        signals.iter().filter(|signal| matches!(signal.what, SignalBody::Event(Event::Heartbeat(_)))).count()
    };
    while beats() < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    bus.close(|_| {});
    let signals = kept.signals.lock().unwrap();
    let beat: serde_json::Value = serde_json::from_slice(signals[0].json()).unwrap();
    assert_eq!((&beat["mcp_status"], &beat["tunnel_status"]), (&"unreachable".into(), &"disabled".into()));
    assert_eq!(beat["sinks"][1]["name"], "kept");
    assert_eq!((&beat["export_port"], &beat["upstream"]), (&3004.into(), &"http://localhost:9000".into()));
}
