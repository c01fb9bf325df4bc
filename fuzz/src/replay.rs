//! Replaying arbitrary traces to arbitrary clients.

use std::sync::Arc;
use wiretape_analyze::replay::{
    Action, Faults, Matching, MissReason, Mode, Notice, Order, Player, Repeats, Setting, Tally, Tape,
    TapeBuilder, WhenMissed, id_of,
};
use wiretape_trace::format::TraceReader;
use wiretape_trace::framing::LineFramer;
use wiretape_trace::json;
use wiretape_trace::message::{Envelope, MessageKind, payloads};

/// The separator between the trace and the client's input.
const BETWEEN: &[u8] = b"\n---\n";

/// Faults that may be injected, one of each kind.
const FAULTS: &[&str] =
    &["error=-1 p=0.5", "delay=5ms", "drop p=0.5", "truncate p=0.5", "disconnect p=0.2", "hang p=0.5"];

/// Every request is answered at most once, under its own id, with complete messages, independent of chunking,
/// and the replay terminates. The first byte selects the settings, the second the size of the client's
/// chunks.
pub fn replay(data: &[u8]) {
    let [how, cut, data @ ..] = data else { return };
    let at = data.windows(BETWEEN.len()).position(|window| window == BETWEEN);
    let (trace, client) = at.map_or((data, &b""[..]), |at| (&data[..at], &data[at + BETWEEN.len()..]));
    let setting = Arc::new(setting(*how));
    let tape = Arc::new(tape(trace, &setting.matching));
    let play = |client: &[u8], cut| SimulatedClient::new(trace, &tape, &setting).play(client, cut);
    let said = play(client, usize::from(*cut) + 1);
    // With recorded timing, the moment at which a line is complete matters, and chunking changes it.
    if setting.speed.is_at_once() {
        assert_eq!(said, play(client, client.len().max(1)), "it matters how the client's bytes were cut");
    }
    if setting.faults.list.is_empty() && is_all_json(client) {
        let spread = play(&spread(client), client.len().max(1));
        assert_eq!(meant(&said), meant(&spread), "white space in a request matters");
    }
}

/// Decodes the settings of the replay from a byte.
fn setting(how: u8) -> Setting {
    let mode = [Mode::Exact, Mode::Default, Mode::Loose, Mode::Default][usize::from(how & 3)];
    let order = if how & 4 == 0 { Order::Free } else { Order::Recorded };
    let repeats = if how & 8 == 0 { Repeats::Last } else { Repeats::Never };
    let fault = FAULTS
        .get(usize::from(how >> 4))
        .map(|fault| fault.parse().expect("the table above has only valid faults"));
    Setting {
        matching: Matching::new(
            mode,
            order,
            repeats,
            &["/arguments/now".parse().expect("a JSON pointer without escapes")],
        ),
        speed: if how >> 4 == 7 {
            "1".parse().expect("a positive number is a speed")
        } else {
            Default::default()
        },
        when_missed: if how >> 4 == 8 { WhenMissed::Empty } else { WhenMissed::Error },
        faults: Faults { list: fault.into_iter().collect(), ..Faults::default() },
        // Finite, so that a replay that waits for a client's answer ends.
        patience_us: Some(1_000_000),
    }
}

fn tape(trace: &[u8], matching: &Matching) -> Tape {
    let mut builder = TapeBuilder::new(matching);
    let mut reader = TraceReader::unseen(trace);
    while let Some(line) = reader.next_line().expect("reading from a slice never fails") {
        builder.observe(&line);
    }
    builder.finish()
}

/// A simulated client, and what it has received.
struct SimulatedClient {
    player: Player<Vec<u8>>,
    tape: Arc<Tape>,
    setting: Arc<Setting>,
    /// Whether a request may be answered by a call that was recorded with other parameters.
    may_be_another: bool,
    /// Whether the trace is UTF-8; only then must the messages sent be.
    is_text: bool,
    now_us: u64,
    /// Microseconds between two chunks of the client's input.
    pause_us: u64,
    /// The ids of requests, and how often each has ended.
    requests: Vec<(Vec<u8>, usize)>,
    said: Vec<Action>,
}

impl SimulatedClient {
    fn new(trace: &[u8], tape: &Arc<Tape>, setting: &Arc<Setting>) -> Self {
        let tally = Tally::shared(tape);
        SimulatedClient {
            player: Player::new(Arc::clone(tape), trace.to_vec(), Arc::clone(setting), tally),
            tape: Arc::clone(tape),
            setting: Arc::clone(setting),
            may_be_another: setting.matching.mode == Mode::Loose
                || has(trace, b"[REDACTED")
                || has(trace, b"inputResponses"),
            is_text: json::is_utf8(trace),
            now_us: 0,
            pause_us: if setting.speed.is_at_once() { 0 } else { 1000 },
            requests: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Replays to the end and returns all actions.
    fn play(mut self, client: &[u8], cut: usize) -> Vec<Action> {
        let mut framer = LineFramer::new();
        for chunk in client.chunks(cut) {
            framer.push(chunk);
            while let Some(frame) = framer.next_frame() {
                self.send_line(frame.bytes);
            }
            self.tick(self.now_us + self.pause_us);
        }
        if let Some(frame) = framer.finish() {
            self.send_line(frame.bytes);
        }
        while let Some(due) = self.player.deadline() {
            // Without this, a player that never advances would loop forever.
            assert!(due > self.now_us, "something was due and not done");
            self.tick(due);
        }
        self.said
    }

    fn send_line(&mut self, line: &[u8]) {
        let is_request = |payload: &&[u8]| Envelope::scan(payload).kind == MessageKind::Request;
        let ids =
            payloads(line).into_iter().filter(is_request).map(|payload| id_of(payload).unwrap_or_default());
        self.requests.extend(ids.map(|id| (id.to_vec(), 0)));
        let mut actions = Vec::new();
        let numbers = self.player.receive(line, self.now_us, &mut actions);
        self.check_choice(line, &actions);
        assert_eq!(numbers.end - 1, self.requests.len() as u64, "requests are numbered one by one");
        self.check(actions, json::is_utf8(line));
    }

    /// A request that was not recorded is reported as missed, and one that was recorded is not, by whichever
    /// path it was looked up.
    fn check_choice(&self, line: &[u8], actions: &[Action]) {
        let request = Envelope::scan(line);
        let method = request.method.as_deref().unwrap_or_default();
        let matching = &self.setting.matching;
        let is_answered_otherwise =
            self.may_be_another || matches!(method, "initialize" | "ping" | "server/discover");
        if request.kind != MessageKind::Request || matching.order != Order::Free || is_answered_otherwise {
            return;
        }
        let key = matching.key(method, request.params);
        let is_recorded = self.tape.calls().iter().any(|call| call.key() == key);
        let is_not_recorded = |action: &Action| matches!(action, Action::Notify(Notice::Missed(miss)) if miss.reason == MissReason::NotRecorded);
        assert_eq!(!is_recorded, actions.iter().any(is_not_recorded), "not what was recorded");
    }

    fn tick(&mut self, now_us: u64) {
        self.now_us = now_us;
        let mut actions = Vec::new();
        self.player.tick(now_us, &mut actions);
        self.check(actions, true);
    }

    fn check(&mut self, actions: Vec<Action>, is_text: bool) {
        for action in &actions {
            match action {
                Action::Answer { to, message } => {
                    let id = self.end(*to);
                    assert_eq!(id_of(message), Some(&*id), "another id than the caller's");
                    self.check_message(message, is_text);
                }
                Action::BreakOff { to, .. } | Action::Disconnect { to, .. } => drop(self.end(*to)),
                Action::Send { message, during } => {
                    let is_open = |number: &u64| self.requests[*number as usize - 1].1 == 0;
                    assert!(
                        during.as_ref().is_none_or(is_open),
                        "something is said during a call that is over"
                    );
                    self.check_message(message, is_text);
                }
                Action::PassOn { .. } => panic!("there is nobody to ask"),
                Action::Close { .. } | Action::Notify(_) => {}
            }
        }
        self.said.extend(actions);
    }

    /// Ends a request. Returns its id.
    fn end(&mut self, number: u64) -> Vec<u8> {
        let (id, ends) = &mut self.requests[number as usize - 1];
        *ends += 1;
        assert_eq!(*ends, 1, "answered twice");
        id.clone()
    }

    fn check_message(&self, message: &[u8], is_text: bool) {
        assert!(json::validate(message).is_ok(), "not JSON: {}", String::from_utf8_lossy(message));
        assert!(!message.contains(&b'\n'), "more than one line");
        assert!(!(self.is_text && is_text) || json::is_utf8(message), "not UTF-8");
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn is_all_json(client: &[u8]) -> bool {
    client.split(|byte| *byte == b'\n').all(|line| json::validate(line).is_ok())
}

/// The client's input with white space added between tokens.
fn spread(client: &[u8]) -> Vec<u8> {
    let mut spread = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for &byte in client {
        spread.push(byte);
        if !in_string && matches!(byte, b'{' | b'[' | b',' | b':') {
            spread.push(b' ');
        }
        in_string ^= byte == b'"' && !escaped;
        escaped = in_string && byte == b'\\' && !escaped;
    }
    spread
}

/// The messages sent, without white space, and without our own texts, which quote requests.
fn meant(said: &[Action]) -> Vec<(u64, Vec<u8>)> {
    let mean = |message: &[u8]| {
        if has(message, b"wiretape") { Vec::new() } else { json::compact(message) }
    };
    let said = said.iter().filter_map(|action| match action {
        Action::Answer { to, message } => Some((*to, mean(message))),
        Action::Send { during, message } => Some((during.unwrap_or_default(), mean(message))),
        _ => None,
    });
    said.collect()
}
