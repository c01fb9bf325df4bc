//! Transcripts: what a client says, and what a tape answers.

use super::{
    Action, Matching, Miss, Mode, Order, Player, Repeats, Setting, Tally, Tape, TapeBuilder, WhenMissed,
    missed_after_all,
};
use crate::testing::message;
use parking_lot::Mutex;
use std::sync::Arc;
use wiretape_trace::format::TraceReader;

/// Something that was said: by whom, when, and what.
type Said<'s> = (&'s str, u64, &'s str);

fn trace(said: &[Said<'_>]) -> Vec<u8> {
    let lines = said.iter().map(|(dir, us, raw)| format!("{}\n", message(dir, *us, raw)));
    lines.collect::<String>().into_bytes()
}

fn tape(trace: &[u8], matching: &Matching) -> Tape {
    let mut reader = TraceReader::unseen(trace);
    let mut builder = TapeBuilder::new(matching);
    while let Some(line) = reader.next_line().unwrap() {
        builder.observe(&line);
    }
    builder.finish()
}

/// A client's end of a session with a tape.
struct Session {
    player: Player<Vec<u8>>,
    tally: Arc<Mutex<Tally>>,
    now_us: u64,
}

impl Session {
    fn new(said: &[Said<'_>], setting: Setting) -> Self {
        Self::of_trace(trace(said), setting)
    }

    fn of_trace(trace: Vec<u8>, setting: Setting) -> Self {
        let tape = Arc::new(tape(&trace, &setting.matching));
        let tally = Tally::shared(&tape);
        let player = Player::new(tape, trace, Arc::new(setting), Arc::clone(&tally));
        Session { player, tally, now_us: 0 }
    }

    /// What comes of a message, in words: what is sent, `.` before what ends a request; notices after `#`.
    fn say(&mut self, message: &str) -> Vec<String> {
        let mut actions = Vec::new();
        self.player.receive(message.as_bytes(), self.now_us, &mut actions);
        told(actions)
    }

    fn wait(&mut self, us: u64) -> Vec<String> {
        self.now_us += us;
        let mut actions = Vec::new();
        self.player.tick(self.now_us, &mut actions);
        told(actions)
    }

    fn tally(&self) -> Tally {
        self.tally.lock().clone()
    }
}

fn told(actions: Vec<Action>) -> Vec<String> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let tell = |action| match action {
        Action::Send { message, .. } => text(message),
        Action::Answer { message, .. } => format!(".{}", text(message)),
        Action::BreakOff { message, .. } => format!("/{}", text(message)),
        Action::Disconnect { .. } => "disconnect".to_owned(),
        Action::Close { request } => format!("close {request}"),
        Action::PassOn { message, .. } => format!("pass on {}", text(message)),
        Action::Notify(notice) => format!("# {notice}"),
    };
    actions.into_iter().map(tell).collect()
}

fn setting(mode: Mode, order: Order, repeats: Repeats) -> Setting {
    Setting { matching: Matching::new(mode, order, repeats, &[]), ..Setting::default() }
}

fn call(id: &str, tool: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

const ADD: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#;

const TWO_SUMS: [Said<'_>; 4] = [
    ("in", 10, ADD),
    ("out", 20, r#"{"jsonrpc":"2.0","id":1,"result":{"sum": 3.0}}"#),
    ("in", 30, ADD),
    ("out", 40, r#"{"result":{"sum":4},"jsonrpc":"2.0","id":1}"#),
];

#[test]
fn repeats_answer_in_order_and_then_the_last_one_again() {
    let mut session = Session::new(&TWO_SUMS, Setting::default());
    let ask = |id| call(id, "add", r#"{"b":2,"a":1.0}"#);
    assert_eq!(session.say(&ask("7")), [r#".{"jsonrpc":"2.0","id":7,"result":{"sum": 3.0}}"#]);
    assert_eq!(session.say(&ask("\"x\"")), [r#".{"result":{"sum":4},"jsonrpc":"2.0","id":"x"}"#]);
    assert_eq!(session.say(&ask("9")), [r#".{"result":{"sum":4},"jsonrpc":"2.0","id":9}"#]);
    assert_eq!(session.tally().calls().iter().map(|call| call.used).collect::<Vec<_>>(), [1, 2]);
}

/// How a request was sent is checked each time it is sent.
#[test]
fn what_was_refused_is_played_only_where_there_is_nothing_else() {
    let refused = |id: u32| {
        let raw = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32020,"message":"no"}}}}"#);
        let http = r#""http":{"x":1,"response":{"status":400}},"raw""#;
        message("out", 20, &raw).replacen(r#""raw""#, http, 1)
    };
    let only = call("1", "other", "{}");
    let lines = [
        message("in", 10, ADD),
        refused(1),
        message("in", 30, ADD),
        message("out", 40, r#"{"jsonrpc":"2.0","id":1,"result":{"sum":3}}"#),
        message("in", 50, &only),
        refused(1),
    ];
    let trace: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut session = Session::of_trace(trace.into_bytes(), Setting::default());
    for _ in 0..2 {
        assert_eq!(session.say(ADD), [r#".{"jsonrpc":"2.0","id":1,"result":{"sum":3}}"#]);
    }
    assert!(session.say(&only)[0].contains("-32020"));
}

#[test]
fn the_words_of_a_request_count_for_nothing() {
    for words in [
        ADD.to_owned(),
        ADD.replace("\"id\":1", "\"id\":\"1\""),
        ADD.replace(':', ": "),
        call("1", "add", r#"{"b":2,"a":1e0}"#),
        ADD.replace("\"a\"", "\"\\u0061\""),
    ] {
        let mut session = Session::new(&TWO_SUMS, setting(Mode::Exact, Order::Free, Repeats::Never));
        assert!(session.say(&words)[0].contains("3.0"), "{words}");
        assert!(session.say(ADD)[0].contains('4'), "{words}");
        assert!(session.say(&words)[0].contains("missed"), "{words}");
    }
}

#[test]
fn an_answer_has_the_id_of_its_request_wherever_it_stands() {
    let check = |recorded: &str, id: &str, expected: &str| {
        let mut session = Session::new(&[("in", 1, ADD), ("out", 2, recorded)], Setting::default());
        assert_eq!(session.say(&call(id, "add", r#"{"a":1,"b":2}"#)), [format!(".{expected}")]);
    };
    check(r#"{"result":{"id":1},"id": 1 }"#, "2", r#"{"result":{"id":1},"id": 2 }"#);
    check(r#"{"id":1,"result":{}}"#, r#""\u0061""#, r#"{"id":"\u0061","result":{}}"#);
    check(r#"{"id":1,"result":{},"id":1}"#, "22", r#"{"id":22,"result":{},"id":22}"#);
    check(r#"{"id":1,"result":{},"\u0069d":1}"#, "[2]", r#"{"id":[2],"result":{},"\u0069d":[2]}"#);
    check(r#"{"result":{"a":1,"a":2},"id":1}"#, "1.0", r#"{"result":{"a":1,"a":2},"id":1.0}"#);
}

#[test]
fn a_strict_tape_answers_no_more_often_than_it_was_recorded() {
    let mut session = Session::new(&TWO_SUMS, setting(Mode::Default, Order::Free, Repeats::Never));
    for _ in 0..2 {
        assert!(session.say(ADD)[0].starts_with('.'));
    }
    assert_eq!(
        session.say(ADD),
        [
            "# missed: all matching recorded calls are used up: tools/call add; nearest is line 1",
            r#".{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"data":{"nearest":{"call":"tools/call add","differences":[],"line":1},"reason":"used-up","source":"wiretape"},"message":"wiretape replay: all matching recorded calls are used up: tools/call add; nearest is line 1"}}"#
        ]
    );
    assert_eq!(session.tally().missed(), 1);
}

#[test]
fn a_miss_names_the_nearest_and_the_difference() {
    let mut session = Session::new(&TWO_SUMS, Setting::default());
    let check = |session: &mut Session, message: String, expected: &str| {
        assert_eq!(session.say(&message)[0], format!("# missed: {expected}"));
    };
    check(
        &mut session,
        call("1", "add", r#"{"a":1,"b":3}"#),
        "no recorded call matches: tools/call add; nearest is line 1: params/arguments/b was 2 and is 3",
    );
    check(
        &mut session,
        call("1", "sub", r#"{"a":1,"b":2}"#),
        "no recorded call matches: tools/call sub; nearest is line 1, tools/call add: params/name was \"add\" and is \"sub\"",
    );
    check(
        &mut session,
        r#"{"id":1,"method":"prompts/list"}"#.to_owned(),
        "no recorded call matches: prompts/list",
    );
}

#[test]
fn a_loose_tape_takes_the_nearest_and_says_so() {
    let mut session = Session::new(&TWO_SUMS, setting(Mode::Loose, Order::Free, Repeats::Last));
    let answers = session.say(&call("5", "add", r#"{"a":1,"b":9}"#));
    assert_eq!(
        answers,
        [
            "# answered with the nearest match, line 1: tools/call add: params/arguments/b was 2 and is 9",
            r#".{"jsonrpc":"2.0","id":5,"result":{"sum": 3.0}}"#
        ]
    );
    assert!(session.say(&call("5", "sub", "{}"))[0].starts_with("# missed"));
}

#[test]
fn misses_may_be_empty_or_somebody_elses() {
    let with = |when_missed| Session::new(&TWO_SUMS, Setting { when_missed, ..Setting::default() });
    let other = call("5", "sub", "{}");
    assert_eq!(
        with(WhenMissed::Empty).say(&other)[1],
        r#".{"jsonrpc":"2.0","id":5,"result":{"content":[]}}"#
    );
    let mut passing = with(WhenMissed::PassOn);
    assert_eq!(passing.say(&other), [format!("pass on {other}")]);
    assert_eq!((passing.tally().missed(), passing.tally().passed_on()), (0, 1));
}

#[test]
fn what_nobody_can_answer_is_missed_after_all() {
    let setting = Setting { when_missed: WhenMissed::PassOn, ..Setting::default() };
    let mut session = Session::new(&TWO_SUMS, setting);
    let mut actions = Vec::new();
    session.player.receive(call("5", "sub", "{}").as_bytes(), 0, &mut actions);
    let Some(Action::PassOn { request, miss, .. }) = actions.pop() else { panic!("{actions:?}") };
    let miss = Box::new(Miss { unasked: Some("it has gone".to_owned()), ..*miss });
    let actions = missed_after_all(request, b"5", miss, &mut session.tally.lock());
    let [notice, answer] = told(actions.into()).try_into().unwrap();
    assert!(
        notice.starts_with("# missed: no recorded call matches: tools/call sub; nearest is line"),
        "{notice}"
    );
    assert!(notice.ends_with("; can't forward to the real server: it has gone"), "{notice}");
    assert!(answer.starts_with(r#".{"jsonrpc":"2.0","id":5,"error":{"code":"#), "{answer}");
    assert_eq!((session.tally().missed(), session.tally().passed_on()), (1, 0));
}

const IN_ORDER: [Said<'_>; 6] = [
    ("in", 1, r#"{"id":1,"method":"x/a"}"#),
    ("in", 2, r#"{"id":2,"method":"x/b"}"#),
    ("out", 3, r#"{"id":1,"result":{"r":"a"}}"#),
    ("out", 4, r#"{"id":2,"result":{"r":"b"}}"#),
    ("in", 5, r#"{"id":3,"method":"x/c"}"#),
    ("out", 6, r#"{"id":3,"result":{"r":"c"}}"#),
];

#[test]
fn calls_in_recorded_order_may_change_places_only_if_they_overlap() {
    let mut session = Session::new(&IN_ORDER, setting(Mode::Default, Order::Recorded, Repeats::Last));
    let ask =
        |session: &mut Session, method| session.say(&format!(r#"{{"id":1,"method":"{method}"}}"#))[0].clone();
    assert_eq!(ask(&mut session, "x/c"), "# missed: x/c is out of order; next is line 1, x/a");
    assert_eq!(ask(&mut session, "x/b"), r#".{"id":1,"result":{"r":"b"}}"#);
    assert_eq!(ask(&mut session, "x/a"), r#".{"id":1,"result":{"r":"a"}}"#);
    assert_eq!(ask(&mut session, "x/a"), "# missed: x/a is out of order; next is line 5, x/c");
    assert_eq!(ask(&mut session, "x/c"), r#".{"id":1,"result":{"r":"c"}}"#);
    assert!(ask(&mut session, "x/c").starts_with("# missed: all matching recorded calls"));
}

#[test]
fn of_many_redacted_calls_each_is_found() {
    let key = |n: usize, key: &str| format!(r#"{{"n":{n},"key":"{key}"}}"#);
    let said: Vec<String> = (0..700)
        .flat_map(|n| {
            let answer = format!(r#"{{"id":1,"result":{{"n":{n}}}}}"#);
            [call("1", "get", &key(n, "[REDACTED:key:01234567]")), answer]
        })
        .collect();
    let said: Vec<Said<'_>> =
        said.iter().zip(1..).map(|(raw, us)| (if us % 2 == 1 { "in" } else { "out" }, us, &**raw)).collect();
    let mut session = Session::new(&said, Setting::default());
    for n in [699, 3, 3, 650, 0] {
        let answer = session.say(&call("8", "get", &key(n, "mine")));
        assert_eq!(answer, [format!(r#".{{"id":8,"result":{{"n":{n}}}}}"#)], "{n}");
    }
    assert!(session.say(&call("8", "get", &key(700, "mine")))[0].starts_with("# missed"));
}

#[test]
fn redacted_places_are_like_anything() {
    let said = [
        (
            "in",
            1,
            r#"{"id":1,"method":"x/login","params":{"user":"me","key":"[REDACTED:secret-key:0123abcd]"}}"#,
        ),
        ("out", 2, r#"{"id":1,"result":{"r":1}}"#),
        ("in", 3, r#"{"id":2,"method":"x/login","params":{"user":"me","key":"[REDACTED]"}}"#),
        ("out", 4, r#"{"id":2,"result":{"r":2}}"#),
    ];
    let mut session = Session::new(&said, Setting::default());
    let login =
        |user| format!(r#"{{"id":3,"method":"x/login","params":{{"user":"{user}","key":"s3cret"}}}}"#);
    assert_eq!(session.say(&login("me")), [r#".{"id":3,"result":{"r":1}}"#]);
    assert_eq!(session.say(&login("me")), [r#".{"id":3,"result":{"r":2}}"#]);
    assert_eq!(session.say(&login("me")), [r#".{"id":3,"result":{"r":2}}"#]);
    assert!(session.say(&login("you"))[0].starts_with("# missed"));
    assert_eq!(session.tally().calls()[0].redacted, 1);
}

const CONVERSATION: [Said<'_>; 11] = [
    (
        "in",
        0,
        r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
    ),
    ("out", 5, r#"{"id":0,"result":{"protocolVersion":"2025-11-25","serverInfo":{}}}"#),
    ("in", 6, r#"{"method":"notifications/initialized"}"#),
    ("out", 7, r#"{"id":0,"method":"roots/list"}"#),
    ("in", 8, r#"{"id":0,"result":{"roots":[]}}"#),
    ("in", 1_000, r#"{"id":1,"method":"x/long","params":{"_meta":{"progressToken":"t"}}}"#),
    ("out", 2_000, r#"{"method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#),
    ("out", 3_000, r#"{"id":1,"method":"sampling/createMessage","params":{"maxTokens":"[REDACTED]"}}"#),
    ("in", 9_000, r#"{"id":1,"result":{"text":"hi"}}"#),
    ("out", 10_000, r#"{"id":1,"result":{"done":true}}"#),
    ("out", 11_000, r#"{"method":"notifications/tools/list_changed"}"#),
];

const LONG: &str = r#"{"id":"L","method":"x/long","params":{"_meta":{"progressToken":77}}}"#;

#[test]
fn everything_comes_in_its_place() {
    let mut session = Session::new(&CONVERSATION, Setting::default());
    let hello =
        r#"{"id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"a":1}}}"#;
    assert_eq!(
        session.say(hello),
        [r#".{"id":3,"result":{"protocolVersion":"2025-06-18","serverInfo":{}}}"#]
    );
    assert_eq!(
        session.say(r#"{"method":"notifications/initialized"}"#),
        [r#"{"id":1,"method":"roots/list"}"#]
    );
    assert_eq!(session.say(r#"{"id":1,"result":{"roots":[]}}"#), Vec::<String>::new());
    assert_eq!(
        session.say(LONG),
        [
            r#"{"method":"notifications/progress","params":{"progressToken":77,"progress":1}}"#,
            "# 1 schema(s) in x/long were damaged by another program's redaction; they now accept anything",
            r#"{"id":2,"method":"sampling/createMessage","params":{"maxTokens":1000}}"#,
        ]
    );
    assert_eq!(
        session.say(r#"{"id":2,"result":{"text":"ho"}}"#),
        [
            r#"# the client's response during x/long differs from the recording: result/text was "hi" and is "ho""#,
            r#".{"id":"L","result":{"done":true}}"#,
            r#"{"method":"notifications/tools/list_changed"}"#,
        ]
    );
    assert_eq!(session.player.open_requests(), 0);
    // Without a token there is no progress, and messages after the answer are sent once.
    let again = session.say(r#"{"id":5,"method":"x/long","params":{}}"#);
    assert_eq!(again.len(), 2, "{again:?}");
    assert_eq!(session.say(r#"{"id":3,"result":{"text":"hi"}}"#), [r#".{"id":5,"result":{"done":true}}"#]);
}

#[test]
fn the_pace_is_that_of_the_recording() {
    let speed = "2".parse().unwrap();
    let mut session = Session::new(&CONVERSATION, Setting { speed, ..Setting::default() });
    assert_eq!(session.say(LONG), Vec::<String>::new());
    assert_eq!(session.player.deadline(), Some(500));
    assert_eq!(session.wait(499), Vec::<String>::new());
    assert_eq!(session.wait(1).len(), 1);
    assert_eq!(session.wait(500).len(), 2);
    assert_eq!((session.player.deadline(), session.wait(70_000)), (None, vec![]));
    // The client took its time; the server takes as much as it took then.
    assert_eq!(session.say(r#"{"id":1,"result":{"text":"hi"}}"#), Vec::<String>::new());
    assert_eq!(session.player.deadline(), Some(71_500));
    assert_eq!(session.wait(500), [r#".{"id":"L","result":{"done":true}}"#]);
}

#[test]
fn a_client_that_does_not_answer_is_not_waited_for_for_ever() {
    let setting = Setting { patience_us: Some(1_000), ..Setting::default() };
    let mut session = Session::new(&CONVERSATION, setting);
    assert_eq!(session.say(LONG).len(), 3);
    let late = session.wait(1_000);
    assert!(late[0].starts_with("# the client did not answer") && late[1].starts_with('.'), "{late:?}");
}

#[test]
fn a_client_may_cancel() {
    let mut session = Session::new(&CONVERSATION, Setting::default());
    session.say(LONG);
    assert_eq!(
        session.say(r#"{"method":"notifications/cancelled","params":{"requestId":"L"}}"#),
        ["close 1"]
    );
    assert_eq!(session.player.open_requests(), 0);
    assert_eq!(session.say(r#"{"id":2,"result":{"text":"hi"}}"#), Vec::<String>::new());
}

#[test]
fn what_was_never_answered_is_a_miss_and_what_was_cancelled_stays_open() {
    let said = [
        ("in", 1, r#"{"id":1,"method":"x/a"}"#),
        ("in", 2, r#"{"id":2,"method":"x/b"}"#),
        ("in", 3, r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#),
    ];
    let mut session = Session::new(&said, Setting::default());
    assert_eq!(
        session.say(r#"{"id":1,"method":"x/a"}"#)[0],
        "# missed: x/a was never answered in the recording"
    );
    let asking = Setting { when_missed: WhenMissed::PassOn, ..Setting::default() };
    let passed = Session::new(&said, asking).say(r#"{"id":1,"method":"x/a"}"#);
    assert_eq!(passed, [r#"pass on {"id":1,"method":"x/a"}"#]);
    assert_eq!(session.say(r#"{"id":2,"method":"x/b"}"#), Vec::<String>::new());
    assert_eq!(session.player.open_requests(), 1);
}

#[test]
fn clients_of_either_era_find_their_way() {
    let mut legacy = Session::new(&CONVERSATION, Setting::default());
    let discover = r#"{"id":1,"method":"server/discover","params":{"_meta":{}}}"#;
    assert!(legacy.say(discover)[0].contains("-32601"));
    assert_eq!(legacy.say(r#"{"id":2,"method":"ping"}"#), [r#".{"jsonrpc":"2.0","id":2,"result":{}}"#]);
    let params = |rest: &str| {
        format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}{rest}}}"#)
    };
    let list = format!(r#"{{"id":1,"method":"tools/list","params":{}}}"#, params(""));
    let said = [("in", 1, &*list), ("out", 2, r#"{"id":1,"result":{"tools":[]}}"#)];
    let mut modern = Session::new(&said, Setting::default());
    let told = modern.say(discover);
    assert!(
        told[1].contains(r#""supportedVersions":["2026-07-28"]"#) && told[1].contains(r#""tools":{}"#),
        "{told:?}"
    );
    let hello = modern.say(r#"{"id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#);
    assert!(hello[1].contains(r#""protocolVersion":"2025-06-18""#), "{hello:?}");
    assert_eq!(modern.say(r#"{"id":3,"method":"tools/list"}"#), [r#".{"id":3,"result":{"tools":[]}}"#]);
    assert_eq!((legacy.tally().missed(), modern.tally().missed()), (0, 0));
}

#[test]
fn several_round_trips_are_one_operation() {
    let said = [
        ("in", 1, r#"{"id":1,"method":"x/a","params":{"q":1}}"#),
        ("out", 2, r#"{"id":1,"result":{"resultType":"input_required","requestState":"s"}}"#),
        (
            "in",
            3,
            r#"{"id":2,"method":"x/a","params":{"q":1,"requestState":"s","inputResponses":{"n":"me"}}}"#,
        ),
        ("out", 4, r#"{"id":2,"result":{"resultType":"complete"}}"#),
    ];
    let mut session = Session::new(&said, Setting::default());
    assert!(session.say(r#"{"id":8,"method":"x/a","params":{"q":1}}"#)[0].contains("input_required"));
    let retry = r#"{"id":9,"method":"x/a","params":{"q":1,"requestState":"s","inputResponses":{"n":"you"}}}"#;
    let told = session.say(retry);
    assert!(told[0].contains(r#"params/inputResponses/n was "me" and is "you""#), "{told:?}");
    assert_eq!(told[1], r#".{"id":9,"result":{"resultType":"complete"}}"#);
}

#[test]
fn news_comes_under_the_id_of_who_listens() {
    let news = |method: &str| {
        format!(
            r#"{{"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":5}}}}}}"#
        )
    };
    let (ack, changed) =
        (news("notifications/subscriptions/acknowledged"), news("notifications/tools/list_changed"));
    let said = [
        ("in", 1, r#"{"id":5,"method":"subscriptions/listen","params":{}}"#),
        ("out", 2, &*ack),
        ("in", 3, r#"{"id":6,"method":"x/a"}"#),
        ("out", 4, r#"{"id":6,"result":{}}"#),
        ("out", 5, &*changed),
    ];
    let mut session = Session::new(&said, Setting::default());
    let live = |message: &str| message.replace(":5}", ":\"me\"}");
    assert_eq!(session.say(r#"{"id":"me","method":"subscriptions/listen","params":{}}"#), [live(&ack)]);
    assert_eq!(
        session.say(r#"{"id":1,"method":"x/a"}"#),
        [r#".{"id":1,"result":{}}"#.to_owned(), live(&changed)]
    );
}

#[test]
fn faults_come_in_place_of_the_answer() {
    let check = |fault: &str, expected: &[&str]| {
        let faults = super::Faults { list: vec![fault.parse().unwrap()], seed: 1 };
        let mut session = Session::new(&TWO_SUMS, Setting { faults, ..Setting::default() });
        let told = session.say(ADD);
        assert_eq!(told[1..], *expected, "{fault}");
        assert_eq!(session.tally().struck(), 1);
    };
    check(
        "error=-7",
        &[r#".{"jsonrpc":"2.0","id":1,"error":{"code":-7,"message":"wiretape: injected fault"}}"#],
    );
    check("hang", &[]);
    check("drop", &[]);
    check("delay=2s", &[]);
    check("disconnect", &["disconnect"]);
    check("truncate", &[r#"/{"jsonrpc":"2.0","id":1"#]);
}

#[test]
fn what_is_no_message_is_told_so() {
    let mut session = Session::new(&TWO_SUMS, Setting::default());
    for (odd, code) in [("7", "-32600"), ("{}", "-32600"), ("[[]]", "-32600"), ("{\"id\":1", "-32700")] {
        assert!(session.say(odd)[0].contains(code), "{odd}");
    }
    let both = session.say(&format!("[{ADD},{ADD}]"));
    assert_eq!(both.len(), 2);
}

#[test]
fn what_stands_behind_a_payload_is_no_part_of_it() {
    let trace = [
        r#"{"dir":"in","raw":{"id":1,"method":"x/a"},"more":{"corr_id":7}}"#,
        r#"{"raw":{"id":1,"result":{"r":1}},"dir":"out"}"#,
        r#"{"dir":"out","raw":{"id":1,"result":{"r":1}"#,
        "",
    ];
    let trace = trace.join("\n").into_bytes();
    let tape = tape(&trace, &Matching::default());
    let tally = Tally::shared(&tape);
    let player = Player::new(Arc::new(tape), trace, Arc::default(), Arc::clone(&tally));
    let mut session = Session { player, tally, now_us: 0 };
    assert_eq!(session.say(r#"{"id":9,"method":"x/a"}"#), [r#".{"id":9,"result":{"r":1}}"#]);
}

#[test]
fn an_empty_tape_answers_nothing_and_says_so() {
    let mut session = Session::new(&[], Setting::default());
    assert_eq!(session.say(ADD)[0], "# missed: no recorded call matches: tools/call add");
    assert!(session.say(r#"{"id":2,"method":"initialize"}"#)[1].contains("protocolVersion"));
}

#[test]
fn of_several_sessions_that_of_the_same_revision_is_answered() {
    let hello = |id: u32, version: &str| {
        format!(r#"{{"id":{id},"method":"initialize","params":{{"protocolVersion":"{version}"}}}}"#)
    };
    let answer = |id: u32, version: &str, name: &str| {
        format!(
            r#"{{"id":{id},"result":{{"protocolVersion":"{version}","serverInfo":{{"name":"{name}"}}}}}}"#
        )
    };
    let (old, new) = ("2024-11-05", "2025-11-25");
    let trace = [hello(0, new), answer(0, new, "first"), hello(0, old), answer(0, old, "second")];
    let said: Vec<Said<'_>> = trace
        .iter()
        .zip(["in", "out", "in", "out"])
        .zip(1..)
        .map(|((raw, dir), us)| (dir, us, raw.as_str()))
        .collect();
    for (version, expected) in
        [(new, "first"), (old, "second"), ("2025-06-18", "first"), ("2031-01-01", "first")]
    {
        let told = Session::new(&said, Setting::default()).say(&hello(7, version));
        assert!(told[0].contains(expected), "{version}: {told:?}");
    }
}

fn ok(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a"}}}}"#;

#[test]
fn a_server_is_discovered_as_it_was_recorded_by_any_client_at_any_time() {
    let recorded = ok(1, r#"{"supportedVersions":["2026-07-28"],"instructions":"be kind"}"#);
    let said = [("in", 0, DISCOVER), ("out", 1, &*recorded), ("in", 2, ADD), ("out", 3, TWO_SUMS[1].2)];
    for mode in [Mode::Exact, Mode::Default, Mode::Loose] {
        for (order, repeats) in [(Order::Recorded, Repeats::Last), (Order::Free, Repeats::Never)] {
            let mut session = Session::new(&said, setting(mode, order, repeats));
            let expected = [format!(".{recorded}")];
            for client in ["a", "b"] {
                let asked = DISCOVER.replace(r#""name":"a""#, &format!(r#""name":"{client}""#));
                assert_eq!(session.say(&asked), expected, "{mode:?} {order:?} {repeats:?} {client}");
            }
        }
    }
}

/// Real servers refuse to be discovered in many ways; a client must find its way all the same.
#[test]
fn a_server_of_the_time_before_is_not_discovered_whatever_it_said() {
    let refused =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#;
    let said = [("in", 0, DISCOVER), ("out", 1, refused), ("in", 2, ADD), ("out", 3, TWO_SUMS[1].2)];
    let mut session = Session::new(&said, Setting::default());
    let told = session.say(DISCOVER);
    assert!(told.len() == 1 && told[0].contains(r#""code":-32601"#), "{told:?}");
    assert_eq!((session.tally().used(), session.tally().missed()), (1, 0));
}

#[test]
fn a_handshake_that_failed_is_played_only_if_there_is_no_other() {
    let initialize =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Unauthorized"}}"#;
    let greeted = ok(1, r#"{"protocolVersion":"2025-11-25"}"#);
    let said = [("in", 0, initialize), ("out", 1, refused), ("in", 2, initialize), ("out", 3, &*greeted)];
    let mut session = Session::new(&said, Setting::default());
    assert_eq!(session.say(initialize), [format!(".{greeted}")]);
    let mut session = Session::new(&said[..2], Setting::default());
    assert_eq!(session.say(initialize), [format!(".{refused}")]);
}

/// Calls, each asked and answered at these lines.
fn tries(calls: &[(&str, Option<&str>)]) -> Vec<u8> {
    let mut said = Vec::new();
    for (id, (arguments, answer)) in (0..).zip(calls) {
        said.push(("in", call(&id.to_string(), "find", arguments)));
        said.extend(answer.map(|answer| ("out", ok(id, answer))));
    }
    let said: Vec<Said<'_>> = (0..).zip(&said).map(|(us, (dir, raw))| (*dir, us, &**raw)).collect();
    trace(&said)
}

#[test]
fn a_call_that_was_never_answered_stands_back_behind_one_that_was() {
    let check = |setting: Setting, calls: &[(&str, Option<&str>)], asked: &str| {
        let told = Session::of_trace(tries(calls), setting).say(&call("7", "find", asked));
        assert_eq!(told.last().unwrap(), &format!(".{}", ok(7, "1")), "{calls:?} {told:?}");
    };
    let loose = || setting(Mode::Loose, Order::Free, Repeats::Last);
    let in_order = |mode| setting(mode, Order::Recorded, Repeats::Last);
    let redacted = r#"{"token":"[REDACTED]"}"#;
    let retried = [(redacted, None), (redacted, Some("1"))];
    check(Setting::default(), &retried, r#"{"token":"x"}"#);
    check(in_order(Mode::Default), &retried, r#"{"token":"x"}"#);
    check(in_order(Mode::Default), &[(r#"{"q":1}"#, None), (r#"{"q":1}"#, Some("1"))], r#"{"q":1}"#);
    let others = [(r#"{"q":1}"#, None), (r#"{"q":2}"#, Some("1"))];
    check(loose(), &others, r#"{"q":3}"#);
    check(in_order(Mode::Loose), &others, r#"{"q":3}"#);
}

#[test]
fn what_asks_the_same_comes_before_what_comes_near() {
    let asked: Vec<String> = ["1", "2"].map(|q| call(q, "find", &format!(r#"{{"q":{q}}}"#))).into();
    let said =
        [("in", 0, &*asked[0]), ("in", 1, &asked[1]), ("out", 2, &*ok(1, "1")), ("out", 3, &*ok(2, "2"))];
    let mut session = Session::new(&said, setting(Mode::Loose, Order::Recorded, Repeats::Last));
    assert_eq!(session.say(&asked[1]), [format!(".{}", ok(2, "2"))]);
    assert_eq!(session.say(&asked[0]), [format!(".{}", ok(1, "1"))]);
}

#[test]
fn redacted_places_are_like_anything_however_many_and_wherever() {
    let rows = |value: &str| {
        let rows: Vec<String> = (0..60).map(|n| format!(r#"{{"n":{n},"password":"{value}"}}"#)).collect();
        format!(r#"{{"rows":[{}]}}"#, rows.join(","))
    };
    let listed = |key: &str| format!(r#"{{"keys":[{{"key":"{key}","use":"a"}},{{"key":"b"}}]}}"#);
    for (recorded, asked) in
        [(rows("[REDACTED]"), rows("x")), (listed("[REDACTED:token:01234567]"), listed("sesame"))]
    {
        let told = Session::of_trace(tries(&[(&recorded, Some("1"))]), Setting::default())
            .say(&call("7", "find", &asked));
        assert_eq!(told, [format!(".{}", ok(7, "1"))]);
    }
}
