use super::*;
use crate::reading::{Reading, RecordingState};
use crate::testing::message;
use crate::volatile::Volatile;
use proptest::prelude::*;
use wiretape_trace::format::TraceReader;
use wiretape_trace::message::Direction;

/// A call of a tool: its arguments, its answer, and how long it took.
fn call(id: usize, tool: &str, arguments: &str, result: &str, us: u64) -> Vec<String> {
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    );
    let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let at = id as u64 * 1_000_000;
    vec![message("in", at, &request), message("out", at + us, &response)]
}

fn trace(calls: &[(&str, &str, &str, u64)]) -> String {
    let lines = calls
        .iter()
        .enumerate()
        .flat_map(|(id, (tool, arguments, result, us))| call(id, tool, arguments, result, *us));
    lines.map(|line| line + "\n").collect()
}

fn index(trace: &str, ignored: &Ignored) -> CallIndex {
    let mut reader = TraceReader::new(trace.as_bytes());
    let mut reading = Reading::new(CallIndexer::new(ignored));
    while let Some(line) = reader.next_line().unwrap() {
        reading.observe(&line);
    }
    reading.finish(RecordingState::Over).finish()
}

/// Each row that is not the same, with its differences.
fn told(first: &str, second: &str) -> Vec<String> {
    let ignored = Ignored::new(Volatile::defaults());
    let (a, b) = (index(first, &ignored), index(second, &ignored));
    let rows = align(&a, &b);
    let comparer = Comparer::new(ignored, &a, &b, GeneratedValues::Compared);
    let differing: Vec<&CallRow> = rows.iter().filter(|row| row.status != Status::Same).collect();
    let places = |side: &CallIndex, at: fn(&CallRow) -> Option<usize>| {
        let calls = differing.iter().filter_map(|row| at(row)).map(|at| &side.calls[at]);
        calls.flat_map(|call| [Some(call.request), call.response]).flatten().collect::<Vec<_>>()
    };
    let mut ours = Payloads::new(TraceReader::new(first.as_bytes()), places(&a, |row| row.first));
    let mut theirs = Payloads::new(TraceReader::new(second.as_bytes()), places(&b, |row| row.second));
    let mut told = Vec::new();
    for row in differing {
        let one = row.first.map(|at| take(&mut ours, &a.calls[at]));
        let other = row.second.map(|at| take(&mut theirs, &b.calls[at]));
        told.push(tell(&comparer, row, one.as_ref(), other.as_ref()));
    }
    told
}

type Taken = (Vec<u8>, Option<Vec<u8>>, String, String);

fn take(payloads: &mut Payloads<&[u8]>, call: &IndexedCall) -> Taken {
    let request = payloads.take(call.request).unwrap().unwrap();
    let response = call.response.map(|place| payloads.take(place).unwrap().unwrap());
    let name = call.name.as_deref().unwrap_or(&call.method).to_owned();
    (request, response, call.method.to_string(), name)
}

fn tell(comparer: &Comparer, row: &CallRow, one: Option<&Taken>, other: Option<&Taken>) -> String {
    let name = |taken: Option<&Taken>| taken.map_or("-".to_owned(), |taken| taken.3.clone());
    let mut told = format!("{} {} {}", row.status.name(), name(one), name(other));
    if let (Some(one), Some(other)) = (one, other) {
        let payloads =
            |taken: &'_ Taken| -> (Vec<u8>, Option<Vec<u8>>) { (taken.0.clone(), taken.1.clone()) };
        let (a, b) = (payloads(one), payloads(other));
        let differences = comparer.compare(
            (Direction::ClientToServer, &one.2),
            CallPayloads { request: &a.0, response: a.1.as_deref() },
            CallPayloads { request: &b.0, response: b.1.as_deref() },
        );
        for difference in &differences.params.list {
            told.push_str(&format!(" params{}", difference.pointer));
        }
        match &differences.answer {
            Answer::Alike(part, found) => {
                for difference in &found.list {
                    told.push_str(&format!(" {}{}", part.name(), difference.pointer));
                }
            }
            Answer::Other { before, after } => {
                let part =
                    |side: &Option<(crate::volatile::Part, _)>| side.as_ref().map(|(part, _)| part.name());
                told.push_str(&format!(" {:?}>{:?}", part(before), part(after)));
            }
        }
    }
    told
}

fn check(first: &[(&str, &str, &str, u64)], second: &[(&str, &str, &str, u64)], expected: &[&str]) {
    assert_eq!(told(&trace(first), &trace(second)), expected);
}

const A: (&str, &str, &str, u64) = ("a", r#"{"x":1}"#, r#"{"n":1}"#, 10);
const B: (&str, &str, &str, u64) = ("b", r#"{"x":1}"#, r#"{"n":1}"#, 10);
const C: (&str, &str, &str, u64) = ("c", r#"{"x":1}"#, r#"{"n":1}"#, 10);

/// Whether the only calls of two traces are equal except for generated values.
fn are_alike(first: &str, second: &str, made_up: GeneratedValues) -> bool {
    let ignored = Ignored::new(Volatile::defaults());
    let (a, b) = (index(first, &ignored), index(second, &ignored));
    let comparer = Comparer::new(ignored, &a, &b, made_up);
    let taken = |trace: &str, index: &CallIndex| {
        let call = &index.calls[0];
        let places = [Some(call.request), call.response].into_iter().flatten();
        take(&mut Payloads::new(TraceReader::new(trace.as_bytes()), places), call)
    };
    let (one, other) = (taken(first, &a), taken(second, &b));
    comparer.are_alike(
        (&a.calls[0], CallPayloads { request: &one.0, response: one.1.as_deref() }),
        (&b.calls[0], CallPayloads { request: &other.0, response: other.1.as_deref() }),
    )
}

/// The lines of these traces have no times, so they count as recorded at the beginning of 1970.
#[test]
fn what_is_made_up_in_each_run_counts_for_nothing() {
    let check = |before: &str, after: &str, made_up, expected| {
        let one = trace(&[("a", "{}", before, 10)]);
        let other = trace(&[("a", "{}", after, 10)]);
        assert_eq!(are_alike(&one, &other, made_up), expected, "{before} {after}");
    };
    let time = |time: &str| format!(r#"{{"content":[{{"type":"text","text":"now {time}"}}]}}"#);
    let (now, soon) = (time("1970-01-01T00:00:01Z"), time("1970-01-01T00:00:02Z"));
    check(&now, &soon, GeneratedValues::Ignored, true);
    check(&now, &soon, GeneratedValues::Compared, false);
    check(&now, &time("1970-01-03T00:00:02Z"), GeneratedValues::Ignored, false);
    let uuid = |first: char| time(&format!("{first}b1f0e5e-8f5a-4a53-9d0c-0f6f1a2b3c4d"));
    check(&uuid('6'), &uuid('7'), GeneratedValues::Ignored, true);
    let inside = |time: &str| format!(r#"{{"text":"{{\"at\":\"{time}\"}}"}}"#);
    check(&inside("1970-01-01T00:00:01Z"), &inside("1970-01-01T00:00:02Z"), GeneratedValues::Ignored, true);
}

#[test]
fn one_call_more_shifts_nothing() {
    check(&[A, B, C], &[A, B, C], &[]);
    check(&[A, B, C], &[A, A, B, C], &["added - a"]);
    check(&[A, B, C], &[B, C], &["removed a -"]);
    check(&[A, A, A, B], &[C, A, A, A, B], &["added - c"]);
}

#[test]
fn changes_are_told_where_they_are() {
    let asked_other = ("b", r#"{"x":2}"#, r#"{"n":1}"#, 10);
    check(&[A, B, C], &[A, asked_other, C], &["changed b b params/arguments/x"]);
    let answered_other = ("b", r#"{"x":1}"#, r#"{"n":1,"timestamp":5,"more":[]}"#, 10);
    check(&[A, B, C], &[A, answered_other, C], &["changed b b result/more"]);
}

#[test]
fn the_answer_decides_between_equal_questions() {
    let other = ("a", r#"{"x":1}"#, r#"{"n":2}"#, 10);
    check(&[other, A], &[A], &["removed a -"]);
}

#[test]
fn ids_key_order_and_volatile_members_count_for_nothing() {
    let later = trace(&[("x", "{}", "{}", 1), A]);
    let later: String = later.lines().skip(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(told(&trace(&[A]), &later), Vec::<String>::new());
    let with = ("a", r#"{"x":1.0}"#, r#"{"timestamp":"now","n":1}"#, 10);
    check(&[A], &[with], &[]);
}

#[test]
fn an_error_in_place_of_a_result_is_told() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;
    let lines = |answer: &str| format!("{}\n{}\n", message("in", 0, request), message("out", 1, answer));
    let fine = lines(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let failed = lines(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#);
    assert_eq!(told(&fine, &failed), [r#"changed a a Some("result")>Some("error")"#]);
    let open = format!("{}\n", message("in", 0, request));
    assert_eq!(told(&fine, &open), [r#"changed a a Some("result")>None"#]);
    assert_eq!(told(&open, &open), Vec::<String>::new());
}

#[test]
fn requests_of_both_sides_may_cross() {
    let client = message("in", 0, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#);
    let server = message("out", 0, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    let one = format!("{client}\n{server}\n");
    let other = format!("{server}\n{client}\n");
    assert_eq!(told(&one, &other), Vec::<String>::new());
}

#[test]
fn calls_of_a_batch_are_told_apart() {
    let batch = |second: &str| {
        let one = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;
        let two = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{second}}}"#);
        let answers = r#"[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]"#;
        format!("{}\n{}\n", message("in", 0, &format!("[{one},{two}]")), message("out", 1, answers))
    };
    let (one, other) =
        (batch(r#"{"name":"b","arguments":{}}"#), batch(r#"{"name":"b","arguments":{"y":1}}"#));
    assert_eq!(told(&one, &other), ["changed b b params/arguments/y"]);
}

#[test]
fn what_a_server_offers_is_compared_elsewhere() {
    let lines = |tools: &str, ttl: u32| {
        let request = message("in", 0, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        let result = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":{tools},"ttlMs":{ttl}}}}}"#);
        format!("{request}\n{}\n", message("out", 1, &result))
    };
    assert_eq!(told(&lines("[]", 1), &lines(r#"[{"name":"a"}]"#, 1)), Vec::<String>::new());
    assert_eq!(told(&lines("[]", 1), &lines("[]", 2)), ["changed tools/list tools/list result/ttlMs"]);
}

#[test]
fn much_slower_is_told() {
    let pace = Pace { ratio: 0.5, floor_us: 20_000 };
    let check = |before: u64, after: u64, expected| {
        let ignored = Ignored::new(Volatile::nothing());
        let side = |us| index(&trace(&[("a", "{}", "{}", us)]), &ignored);
        assert_eq!(pace.judge(&side(before).calls[0], &side(after).calls[0]), expected, "{before} {after}");
    };
    check(1_000, 10_000, None);
    check(1_000, 21_000, Some(PaceChange::Slower));
    check(100_000, 130_000, None);
    check(100_000, 150_000, Some(PaceChange::Slower));
    check(150_000, 100_000, Some(PaceChange::Faster));
    check(0, 0, None);
}

proptest! {
    #[test]
    fn both_ways_count_the_same(a in "[abAB12]{0,12}", b in "[abAB12]{0,12}") {
        let side = |text: &str| -> String {
            let calls: Vec<(String, String)> = text
                .chars()
                .map(|c| (c.to_ascii_lowercase().to_string(), format!(r#"{{"x":{}}}"#, u32::from(c) % 3)))
                .collect();
            let calls: Vec<_> = calls.iter().map(|(tool, x)| (tool.as_str(), x.as_str(), x.as_str(), 1)).collect();
            trace(&calls)
        };
        let ignored = Ignored::new(Volatile::nothing());
        let (a, b) = (index(&side(&a), &ignored), index(&side(&b), &ignored));
        let there = Summary::of(&align(&a, &b), &a, &b, None);
        let back = Summary::of(&align(&b, &a), &b, &a, None);
        prop_assert_eq!((there.same, there.changed, there.added, there.removed), (back.same, back.changed, back.removed, back.added));
        prop_assert!(!Summary::of(&align(&a, &a), &a, &a, None).differs());
    }

    #[test]
    fn any_lines_can_be_compared(lines in proptest::collection::vec(r#"\{"dir":"(in|out)","raw":[\[\]{}:,"a1]{0,12}\}"#, 0..6)) {
        let trace = lines.join("\n");
        told(&trace, &trace);
    }
}
