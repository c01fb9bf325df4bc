use crate::environment::TestEnvironment;

/// A session with all that can become of a call.
const SESSION: &str = r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"desk","command":["desk"],"id":"dddddddd-0000-4000-8000-000000000000"}
{"t":"2026-05-12T23:00:00.010Z","dir":"in","seq":1,"us":10000,"raw":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
{"t":"2026-05-12T23:00:00.012Z","dir":"out","seq":2,"us":12000,"raw":{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"book","description":"Book a room","inputSchema":{"type":"object"}},{"name":"idle","description":"Nobody calls this","inputSchema":{"type":"object"}}]}}}
{"t":"2026-05-12T23:00:00.020Z","dir":"in","seq":3,"us":20000,"raw":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"book","arguments":{"room":"A \"quiet\" one"},"_meta":{"progressToken":"p"}}}}
{"t":"2026-05-12T23:00:00.030Z","dir":"out","seq":4,"us":30000,"raw":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2,"message":"asking"}}}
{"t":"2026-05-12T23:00:00.035Z","type":"stderr","seq":5,"us":35000,"text":"waiting for a person"}
{"t":"2026-05-12T23:00:00.040Z","dir":"out","seq":6,"us":40000,"raw":{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Which day?"}}}
{"t":"2026-05-12T23:00:01.040Z","dir":"in","seq":7,"us":1040000,"raw":{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}}
{"t":"2026-05-12T23:00:01.100Z","dir":"out","seq":8,"us":1100000,"raw":{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Booked for Monday"}]}}}
{"t":"2026-05-12T23:00:01.200Z","dir":"in","seq":9,"us":1200000,"raw":{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"book","arguments":{}}}}
{"t":"2026-05-12T23:00:01.210Z","dir":"out","seq":10,"us":1210000,"raw":{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"Over QUOTA"}],"isError":true}}}
{"t":"2026-05-12T23:00:01.300Z","dir":"in","seq":11,"us":1300000,"raw":{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"book"}}}
{"t":"2026-05-12T23:00:01.400Z","dir":"in","seq":12,"us":1400000,"raw":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"changed my mind"}}}
{"t":"2026-05-12T23:00:01.500Z","dir":"out","seq":13,"us":1500000,"raw":{"jsonrpc":"2.0","id":4,"result":{"content":[]}}}
{"t":"2026-05-12T23:00:01.600Z","dir":"in","seq":14,"us":1600000,"raw":{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"a://b"}}}
{"t":"2026-05-12T23:00:01.700Z","dir":"in","seq":15,"us":1700000,"raw":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"Request timed out"}}}
{"t":"2026-05-12T23:00:01.800Z","dir":"in","seq":16,"us":1800000,"raw":{"jsonrpc":"2.0","id":6,"method":"no/such"}}
{"t":"2026-05-12T23:00:01.801Z","dir":"out","seq":17,"us":1801000,"raw":{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"no such method"}}}
{"t":"2026-05-12T23:00:01.900Z","dir":"in","seq":18,"us":1900000,"raw":{"jsonrpc":"2.0","id":7,"method":"ping"}}
{"t":"2026-05-12T23:00:02.000Z","type":"end","exitCode":0,"durationMs":2000}
"#;

fn desk() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file("desk.jsonl", SESSION);
    env
}

#[test]
fn calls_are_listed_with_what_became_of_them() {
    let env = desk();
    insta::assert_snapshot!("calls", env.run(&["calls", "dddd"]));
    insta::assert_snapshot!("calls-json", env.run(&["calls", "dddd", "id:2", "--json"]));
    insta::assert_snapshot!("calls-none", env.run(&["calls", "dddd", "tool:nothing"]));
}

#[test]
fn traces_of_one_label_are_told_apart() {
    let env = desk();
    env.file("other.jsonl", SESSION.replace("dddddddd", "eeeeeeee"));
    env.trace("add.jsonl", "aaaa1111", 60);
    let told = env.run(&["calls", "dddd", "eeee", "aaaa", "tool:book,add"]);
    for name in [" desk dddd ", " desk eeee ", " add "] {
        assert!(told.contains(name), "{told}");
    }
}

#[test]
fn filters_say_which() {
    let env = desk();
    let numbers = |filter: &[&str]| {
        let args = [&["calls", "dddd", "--json"], filter].concat();
        let told = env.run(&args);
        let calls = told.lines().filter_map(|line| line.split(r#""call":"#).nth(1)?.split(',').next());
        calls.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(numbers(&["tool:bo*"]), "2 4 5");
    assert_eq!(numbers(&["status:error"]), "4 6 7");
    assert_eq!(numbers(&["status:cancelled,timed-out"]), "5 6");
    assert_eq!(numbers(&["dir:out"]), "3");
    assert_eq!(numbers(&["latency>200ms"]), "2 3");
    assert_eq!(numbers(&["latency>=200ms", "tool:*"]), "2");
    assert_eq!(numbers(&[r#"text:"a \"quiet\" one""#]), "2");
    assert_eq!(numbers(&["text:quota"]), "4");
    assert_eq!(numbers(&["!method:tools/* -status:unanswered"]), "3 6 7");
    assert_eq!(numbers(&["tool:book", "-n", "1"]), "2");
    insta::assert_snapshot!("calls-misspelled", env.run(&["calls", "dddd", "stauts:error"]));
    insta::assert_snapshot!("calls-mistake", env.run(&["calls", "dddd", "tool:book latency>soon"]));
}

#[test]
fn several_traces_are_listed_in_one_order_of_time() {
    let env = desk();
    env.trace("other.jsonl", "eeee", 1);
    insta::assert_snapshot!("calls-merged", env.run(&["calls", "dddd", "eeee"]));
}

#[test]
fn one_call_is_shown_whole() {
    let env = desk();
    insta::assert_snapshot!("call", env.run(&["call", "2", "dddd"]));
    insta::assert_snapshot!("call-json", env.run(&["call", "2", "dddd", "--json"]));
    insta::assert_snapshot!("call-cancelled", env.run(&["call", "6", "dddd"]));
    insta::assert_snapshot!("call-none", env.run(&["call", "99", "dddd"]));
}

#[test]
fn the_store_answers_where_no_trace_is_named() {
    let env = desk();
    env.run(&["store", "load", "dddd"]);
    let told = env.run(&["calls", "status:error", "--json"]);
    assert_eq!(told.lines().filter(|line| line.contains("\"row\"")).count(), 3, "{told}");
    insta::assert_snapshot!("calls-store-text", env.run(&["calls", "text:quota"]));
    let row = told.split(r#""row":"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap().to_owned();
    let whole = env.run(&["call", &row]);
    assert!(whole.contains("Over QUOTA") && whole.contains("call 4"), "{whole}");
    insta::assert_snapshot!("call-no-row", env.run(&["call", "12345"]));
    insta::assert_snapshot!("tools-store", env.run(&["tools"]));
}

#[test]
fn text_is_found_in_all_traces() {
    let env = desk();
    env.trace("other.jsonl", "eeee", 1);
    insta::assert_snapshot!("search", env.run(&["search", "a \"quiet\""]));
    insta::assert_snapshot!("search-json", env.run(&["search", "person", "--json"]));
    insta::assert_snapshot!("search-case", env.run(&["search", "Quota"]));
    insta::assert_snapshot!("search-regex", env.run(&["search", "--regex", "Book(ed)? ", "dddd", "-n", "1"]));
    insta::assert_snapshot!("search-mistake", env.run(&["search", "--regex", "("]));
}

#[test]
fn tools_have_a_price() {
    let env = desk();
    insta::assert_snapshot!("tools", env.run(&["tools", "dddd"]));
    insta::assert_snapshot!("tools-unused", env.run(&["tools", "dddd", "--unused"]));
    insta::assert_snapshot!("tools-json", env.run(&["tools", "dddd", "--json"]));
    insta::assert_snapshot!("stats-tokens", env.run(&["stats", "dddd", "--tokens"]));
}

#[test]
fn messages_are_shown_by_the_same_words() {
    let env = desk();
    insta::assert_snapshot!("show-words", env.run(&["show", "dddd", "tool:book latency>200ms"]));
    insta::assert_snapshot!("show-status", env.run(&["show", "dddd", "status:cancelled,timed-out"]));
    insta::assert_snapshot!("show-text", env.run(&["show", "dddd", "text:quota"]));
    insta::assert_snapshot!("show-mistake", env.run(&["show", "dddd", "status:bad"]));
}

#[test]
fn parts_of_a_recording_are_one() {
    let env = TestEnvironment::new();
    env.file("wiretape-part-1.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-1.jsonl"));
    env.file("wiretape-part-2.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-2.jsonl"));
    let (one, two) = ("traces/wiretape-part-1.jsonl", "traces/wiretape-part-2.jsonl");
    insta::assert_snapshot!("calls-parts", env.run(&["calls", one, two]));
}
