//! What only a process of its own can show.

use crate::receiver::{LONG, Receiver, Reply};
use crate::support::{Events, Place, ids, noise, options, sink_for, url_of_nobody};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use wiretape_events::Sink;
use wiretape_events::sink::webhook::{WebhookOptions, WebhookSink};

const SPOOL: &str = "WEBHOOK_TEST_SPOOL";
const URL: &str = "WEBHOOK_TEST_URL";

/// Runs one of the ignored tests below in a process of its own.
fn child(test: &str, place: &Place, url: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(SPOOL, place.spool())
        .env(URL, url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn options_of_child() -> WebhookOptions {
    let spool = std::env::var_os(SPOOL).unwrap();
    options(std::env::var(URL).unwrap(), std::path::Path::new(&spool))
}

#[test]
fn a_killed_process_loses_nothing_that_it_took() {
    let place = Place::new();
    let mut child = child("processes::take_and_wait_to_be_killed", &place, &url_of_nobody());
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut taken = Vec::new();
    for line in output.lines() {
        let line = line.unwrap();
        if line == "all taken" {
            break;
        }
        taken.extend(line.strip_prefix("taken ").map(str::to_owned));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Batches have ten events: the last six are in none yet.
    assert_eq!((taken.len(), place.segments().len()), (126, 12));

    let receiver = Receiver::with_replies(vec![]);
    let mut sink = sink_for(&receiver, &place);
    assert_eq!(sink.figures().pending() + sink.figures().delivered(), 126);
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), taken);
    assert_eq!(sink.figures().lost(), 0);
}

/// A process that is killed before it has sent what another one has left changes nothing, tokens included.
#[test]
fn a_batch_of_a_killed_process_keeps_its_key() {
    let place = Place::new();
    for _ in 0..2 {
        let mut child = child("processes::take_and_wait_to_be_killed", &place, &url_of_nobody());
        let output = BufReader::new(child.stdout.take().unwrap());
        assert!(output.lines().any(|line| line.unwrap() == "all taken"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let receiver = Receiver::with_replies(vec![Reply::HangUp]);
    let warning = sink_for(&receiver, &place).finish().unwrap_err();
    assert_eq!(warning.lost, 0, "{}", warning.message);
    let requests = receiver.requests();
    let keys: Vec<_> = requests.iter().map(|request| &request.headers["idempotency-key"]).collect();
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys.len(), 1 + 2 * 13);
    assert_eq!(receiver.taken().len(), 2 * 126);
}

#[test]
#[ignore = "a part of the test above"]
fn take_and_wait_to_be_killed() {
    let events = Events::default();
    let mut sink = WebhookSink::new(&options_of_child()).unwrap();
    println!();
    for _ in 0..18 {
        let signals = events.some(7);
        let _ = sink.take(&signals);
        for id in ids(&signals) {
            println!("taken {id}");
        }
    }
    println!("all taken");
    std::thread::sleep(LONG);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_whatever_the_receiver_does() {
    use std::io::Read;
    for reply in [|| Reply::Stall, || Reply::Status(500), || Reply::HangUp] {
        let place = Place::new();
        let receiver = Receiver::start(move |_| reply());
        let mut child = child("processes::send_much_and_tell_the_memory", &place, &receiver.url());
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        assert!(child.wait().unwrap().success(), "{output}");
        let grown = output.lines().find_map(|line| line.strip_prefix("grown by ")).unwrap();
        let grown: u64 = grown.parse().unwrap();
        assert!(grown < 16 * 1024, "by {grown} KiB");
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "a part of the test above"]
fn send_much_and_tell_the_memory() {
    let events = Events::default();
    let shutdown = std::time::Duration::ZERO;
    let mut options = options_of_child();
    (options.spool.batch_events, options.spool.max_bytes, options.spool.shutdown) = (500, 8 << 20, shutdown);
    let mut sink = WebhookSink::new(&options).unwrap();
    let text = noise(64 * 1024);
    let before = peak_memory();
    for _ in 0..50 * 16 {
        let _ = sink.take(&[events.with_text(&text)]);
    }
    println!("\ngrown by {}", peak_memory() - before);
    assert!(sink.figures().lost() > 0);
}

/// In KiB.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
