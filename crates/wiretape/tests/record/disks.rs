//! Disks that are full, gone or closed to us cost the recording, never the session.

use crate::session::{Ended, Home, Session, echo, say_skipped, traces_in, wait_until};
use crate::trace::{Trace, What};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wiretape_testkit::payload;
use wiretape_trace::message::Direction::{ClientToServer, ServerToClient};

/// A file system of 64 kB, unmounted when dropped.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts one. Only root may do that; a test that can't have it says so, but never in CI as root.
    fn mount(home: &Home) -> Option<Self> {
        let path = home.path("disk");
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs"]).arg(&path).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(SmallDisk { path });
        }
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&path).unwrap());
        let must = owner == 0 && std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!must, "CI runs this as root and must be able to mount a tmpfs");
        say_skipped("a small disk can't be mounted here; that takes root");
        None
    }

    fn remount(&self, options: &str) {
        let status =
            Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.path).status();
        assert!(status.unwrap().success(), "{options}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a recorder that a failed test left behind may still be in it.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

fn start_in(home: &Home, dir: &Path) -> Session {
    home.start(&["--out", dir.to_str().unwrap()], &echo(&["--exit", "7"]))
}

/// The session was complete, and the user was warned once that it can't be recorded.
fn check_told_once(ended: &Ended, why: &str) {
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(7), &b""[..]));
    let told: Vec<_> =
        ended.warnings().into_iter().filter(|line| line.contains("can't write the trace")).collect();
    assert_eq!(told.len(), 1, "{}", ended.stderr);
    assert!(told[0].contains(why), "{}", ended.stderr);
    assert!(ended.warnings().len() <= 2, "one warning, and at the end the count: {}", ended.stderr);
}

/// Sends messages until something is so; gives how many it sent.
fn round_trips_until(session: &mut Session, what: &str, mut condition: impl FnMut() -> bool) -> u64 {
    let mut sent = 0;
    wait_until(what, || {
        sent += 1;
        session.round_trip(payload::small_call(sent));
        condition()
    });
    sent
}

/// What was sent and echoed is in the trace or counted as lost.
fn check_adds_up(trace: &Trace, sent: u64) {
    let recorded = trace.messages(ClientToServer).len() + trace.messages(ServerToClient).len();
    assert!(trace.lost() > 0, "{trace:?}");
    assert_eq!(recorded as u64 + trace.lost(), 2 * sent);
    assert_eq!(trace.end().unwrap().lost, Some(trace.lost()));
}

fn gap_reason(trace: &Trace) -> &str {
    let gap = trace.entries.iter().find_map(|entry| match &entry.what {
        What::Gap(gap) => Some(gap),
        _ => None,
    });
    &gap.expect("there is a gap").reason
}

#[test]
fn a_full_disk_costs_the_recording_only() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(&home) else { return };
    let mut session = start_in(&home, &disk.path);
    (1..=500).for_each(|id| session.round_trip(payload::small_call(id)));
    let ended = session.end();
    check_told_once(&ended, "No space left on device");
    assert!(ended.stderr.contains("could not be recorded"), "{}", ended.stderr);
    let trace = Trace::open(&traces_in(&disk.path)[0]);
    let recorded = trace.messages(ClientToServer);
    assert!((50..500).contains(&recorded.len()), "{}", recorded.len());
    for (id, raw) in (1..).zip(recorded) {
        assert_eq!(raw, payload::small_call(id).trim_ascii_end(), "nothing is torn");
    }
}

#[test]
fn a_file_size_limit_costs_the_recording_only() {
    let home = Home::new();
    let record = home.record(&["--no-store"], &echo(&["--exit", "7"]));
    let mut limited = Command::new("sh");
    // The limit is in blocks of 512 bytes: 32 kB.
    limited.args(["-c", "ulimit -f 64; exec \"$@\"", "sh"]).arg(record.get_program()).args(record.get_args());
    limited.env("WIRETAPE_DATA_DIR", home.data_dir());
    let mut session = home.start_command(limited);
    (1..=500).for_each(|id| session.round_trip(payload::small_call(id)));
    let ended = session.end();
    check_told_once(&ended, "File too large");
    let trace = home.trace();
    let recorded = trace.messages(ClientToServer);
    assert!((20..500).contains(&recorded.len()), "{}", recorded.len());
    for (id, raw) in (1..).zip(recorded) {
        assert_eq!(raw, payload::small_call(id).trim_ascii_end(), "nothing is torn");
    }
}

#[test]
fn a_disk_that_is_freed_is_written_again() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(&home) else { return };
    let filler = disk.path.join("filler");
    fs::write(&filler, vec![0; 40_000]).unwrap();
    let mut session = start_in(&home, &disk.path);
    let mut sent = 0;
    wait_until("the disk is full", || {
        sent += 1;
        session.round_trip(payload::small_call(sent));
        session.stderr().contains("can't write")
    });
    fs::remove_file(&filler).unwrap();
    let trace = traces_in(&disk.path).remove(0);
    let has_gap = || fs::read_to_string(&trace).unwrap().contains("\"type\":\"gap\"");
    wait_until("the recording goes on", || {
        sent += 1;
        session.round_trip(payload::small_call(sent));
        has_gap()
    });
    check_told_once(&session.end(), "No space left on device");
    let trace = Trace::open(&trace);
    trace.check_ended(7);
    check_adds_up(&trace, sent);
    assert!(gap_reason(&trace).contains("No space left on device"));
}

#[test]
fn a_disk_that_only_reads_is_tried_again() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(&home) else { return };
    disk.remount("ro");
    let mut session = start_in(&home, &disk.path);
    session.round_trip("{}\n");
    assert!(session.stderr().contains("Read-only file system"), "{}", session.stderr());
    disk.remount("rw,size=10m");
    let sent =
        1 + round_trips_until(&mut session, "the recording goes on", || !traces_in(&disk.path).is_empty());
    check_told_once(&session.end(), "Read-only file system");
    let trace = Trace::open_sound(&traces_in(&disk.path)[0]);
    check_adds_up(&trace, sent);
}

#[test]
fn a_folder_that_cannot_be_made_is_tried_again() {
    let home = Home::new();
    let in_the_way = home.path("file");
    fs::write(&in_the_way, "").unwrap();
    let dir = in_the_way.join("traces");
    let mut session = start_in(&home, &dir);
    session.round_trip("{}\n");
    fs::remove_file(&in_the_way).unwrap();
    let sent = 1 + round_trips_until(&mut session, "the recording goes on", || !traces_in(&dir).is_empty());
    check_told_once(&session.end(), "Not a directory");
    let trace = Trace::open_sound(&traces_in(&dir)[0]);
    check_adds_up(&trace, sent);
}

#[test]
fn a_session_without_any_place_for_a_trace_goes_on() {
    let home = Home::new();
    let in_the_way = home.path("file");
    fs::write(&in_the_way, "").unwrap();
    let mut session = start_in(&home, &in_the_way.join("traces"));
    (1..=50).for_each(|id| session.round_trip(payload::small_call(id)));
    check_told_once(&session.end(), "Not a directory");
}

/// Neither the key nor the trace has a place.
#[test]
fn a_session_without_a_data_directory_goes_on() {
    let home = Home::new();
    fs::write(home.data_dir(), "").unwrap();
    let mut session = home.start(&[], &echo(&["--exit", "7"]));
    session.round_trip("{}\n");
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(7), &b""[..]));
    assert!(ended.stderr.contains("can't store the redaction key"), "{}", ended.stderr);
    assert!(ended.stderr.contains("can't write the trace"), "{}", ended.stderr);
}

#[test]
fn a_folder_that_vanishes_is_made_again() {
    let home = Home::new();
    let dir = home.path("traces");
    let mut session = start_in(&home, &dir);
    session.round_trip(payload::small_call(0));
    fs::remove_dir_all(&dir).unwrap();
    let sent = round_trips_until(&mut session, "the recording goes on", || !traces_in(&dir).is_empty());
    (sent + 1..=sent + 10).for_each(|id| session.round_trip(payload::small_call(id)));
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(7), &b""[..]));
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("deleted"), "{}", ended.stderr);
    let trace = Trace::open_sound(&traces_in(&dir)[0]);
    trace.check_ended(7);
    let recorded = trace.messages(ServerToClient);
    let last: Vec<Vec<u8>> = (sent..=sent + 10).map(payload::small_call).collect();
    assert!(recorded.len() >= 11, "{}", recorded.len());
    for (recorded, sent) in recorded.iter().rev().zip(last.iter().rev()) {
        assert_eq!(*recorded, sent.trim_ascii_end());
    }
}

#[test]
fn a_folder_that_vanishes_for_good_costs_the_recording_only() {
    let home = Home::new();
    let dir = home.path("traces");
    let mut session = start_in(&home, &dir);
    session.round_trip("{}\n");
    fs::remove_dir_all(&dir).unwrap();
    fs::write(&dir, "in the way").unwrap();
    round_trips_until_told(&mut session);
    (1..=10).for_each(|id| session.round_trip(payload::small_call(id)));
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(7), &b""[..]));
    assert_eq!(fs::read(&dir).unwrap(), b"in the way");
}

fn round_trips_until_told(session: &mut Session) {
    wait_until("the user is told", || {
        session.round_trip("{}\n");
        !session.stderr().is_empty()
    });
}

/// However short the session is.
#[test]
fn a_trace_that_vanished_is_told_at_the_end() {
    let home = Home::new();
    let dir = home.path("traces");
    let mut session = start_in(&home, &dir);
    session.round_trip("{}\n");
    fs::remove_dir_all(&dir).unwrap();
    let ended = session.end();
    assert_eq!(ended.code, Some(7));
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
}

#[test]
fn only_the_owner_may_read() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&[]));
    session.round_trip("{}\n");
    session.end().check_quiet();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.data_dir()), 0o700);
    assert_eq!(mode(&home.traces_dir()), 0o700);
    assert_eq!(mode(&traces_in(&home.traces_dir())[0]), 0o600);
    assert_eq!(mode(&home.data_dir().join("redaction.key")), 0o600);
}
