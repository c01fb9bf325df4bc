//! Playing any trace to any client.

use std::sync::{Arc, Mutex};
use wiretape_analyze::replay::{
    Action, Faults, Matching, MissReason, Mode, Notice, Order, Player, Repeats, Setting, Tally, Tape,
    TapeBuilder, WhenMissed, id_of,
};
use wiretape_trace::format::TraceReader;
use wiretape_trace::framing::LineFramer;
use wiretape_trace::json;
use wiretape_trace::message::{Envelope, MessageKind, payloads};

/// What stands between a trace and what a client says.
const BETWEEN: &[u8] = b"\n---\n";

/// Goes wrong in one way or another.
const FAULTS: &[&str] =
    &["error=-1 p=0.5", "delay=5ms", "drop p=0.5", "truncate p=0.5", "disconnect p=0.2", "hang p=0.5"];

/// A client is answered at most once for each request, under its own id, by whole messages, however its words arrive, and it all
/// comes to an end. The first byte says how the trace is played, the second how the client's bytes are cut.
pub fn replay(data: &[u8]) {
    let [how, cut, data @ ..] = data else { return };
    let at = data.windows(BETWEEN.len()).position(|window| window == BETWEEN);
    let (trace, client) = at.map_or((data, &b""[..]), |at| (&data[..at], &data[at + BETWEEN.len()..]));
    let setting = Arc::new(setting(*how));
    let tape = Arc::new(tape(trace, &setting.matching));
    let play = |client: &[u8], cut| Stage::new(trace, &tape, &setting).play(client, cut);
    let said = play(client, usize::from(*cut) + 1);
    if setting.speed.is_at_once() {
        assert_eq!(said, play(client, client.len().max(1)), "it matters how the client's bytes were cut");
    }
    if setting.faults.list.is_empty() && is_all_json(client) {
        let spread = play(&spread(client), client.len().max(1));
        assert_eq!(meant(&said), meant(&spread), "white space in a request matters");
    }
}

/// How the trace is played.
fn setting(how: u8) -> Setting {
    let mode = [Mode::Exact, Mode::Default, Mode::Loose, Mode::Default][usize::from(how & 3)];
    let order = if how & 4 == 0 { Order::Free } else { Order::Recorded };
    let repeats = if how & 8 == 0 { Repeats::Last } else { Repeats::Never };
    let fault = FAULTS.get(usize::from(how >> 4)).map(|fault| fault.parse().expect("it is a fault"));
    Setting {
        matching: Matching::new(mode, order, repeats, &["/arguments/now".parse().expect("it is a path")]),
        speed: if how >> 4 == 7 { "1".parse().expect("it is a speed") } else { Default::default() },
        when_missed: if how >> 4 == 8 { WhenMissed::Empty } else { WhenMissed::Error },
        faults: Faults { list: fault.into_iter().collect(), ..Faults::default() },
        patience_us: Some(1_000_000),
    }
}

fn tape(trace: &[u8], matching: &Matching) -> Tape {
    let mut builder = TapeBuilder::new(matching);
    let mut reader = TraceReader::unseen(trace);
    while let Some(line) = reader.next_line().expect("bytes in memory can be read") {
        builder.observe(&line);
    }
    builder.finish()
}

/// A client, and what it has heard.
struct Stage {
    player: Player<Vec<u8>>,
    tape: Arc<Tape>,
    setting: Arc<Setting>,
    /// Whether a request may be answered that was recorded otherwise.
    may_be_another: bool,
    /// Whether what was recorded is text: only then what is sent can be.
    is_text: bool,
    now_us: u64,
    /// How long the client takes between two lines.
    pause_us: u64,
    /// The ids of requests, and how often each was answered.
    requests: Vec<(Vec<u8>, usize)>,
    said: Vec<Action>,
}

impl Stage {
    fn new(trace: &[u8], tape: &Arc<Tape>, setting: &Arc<Setting>) -> Self {
        let tally = Arc::new(Mutex::new(Tally::new(tape)));
        Stage {
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

    /// Plays to the end.
    fn play(mut self, client: &[u8], cut: usize) -> Vec<Action> {
        let mut framer = LineFramer::new();
        for chunk in client.chunks(cut) {
            framer.push(chunk);
            while let Some(frame) = framer.next_frame() {
                self.hear(frame.bytes);
            }
            self.tick(self.now_us + self.pause_us);
        }
        if let Some(frame) = framer.finish() {
            self.hear(frame.bytes);
        }
        while let Some(due) = self.player.deadline() {
            assert!(due > self.now_us, "something was due and not done");
            self.tick(due);
        }
        self.said
    }

    fn hear(&mut self, line: &[u8]) {
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

    /// What nobody recorded is missed, and what somebody did is not taken for that, however it was found.
    fn check_choice(&self, line: &[u8], actions: &[Action]) {
        let request = Envelope::scan(line);
        let method = request.method.as_deref().unwrap_or_default();
        let matching = &self.setting.matching;
        let is_told = self.may_be_another || matches!(method, "initialize" | "ping" | "server/discover");
        if request.kind != MessageKind::Request || matching.order != Order::Free || is_told {
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

    /// A request has come to its end. Returns its id.
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

/// The same with white space wherever it may be.
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

/// What is said, but for how it is spaced, and for our own words, in which requests are quoted.
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
