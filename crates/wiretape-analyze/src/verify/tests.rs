//! Transcripts: what is said to a server, and what is made of its answers.

use super::{
    Action, Driver, Offers, Plan, Script, ScriptBuilder, Setting, TraceOutput, Verified, Writes,
    without_secrets,
};
use crate::diff::{Ignored, Pace};
use crate::filter::Filter;
use crate::replay::Matching;
use crate::testing::message;
use crate::volatile::Volatile;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use wiretape_trace::format::TraceReader;
use wiretape_trace::message::Direction;
use wiretape_trace::redact::{RedactionKey, Redactor, Rules};

/// Something that was said: by whom, when, and what.
type Said = (&'static str, u64, String);

fn trace(said: &[Said]) -> Vec<u8> {
    let lines = said.iter().map(|(dir, us, raw)| format!("{}\n", message(dir, *us, raw)));
    lines.collect::<String>().into_bytes()
}

fn script(trace: &[u8]) -> Script {
    let matching = Matching::default();
    let mut reader = TraceReader::unseen(trace);
    let mut builder = ScriptBuilder::new(&matching);
    while let Some(line) = reader.next_line().unwrap() {
        builder.observe(&line);
    }
    builder.finish()
}

fn setting() -> Setting {
    Setting {
        ignored: Ignored::new(Volatile::defaults()),
        matching: Matching::default(),
        concurrency: 1,
        timeout_us: 1_000_000,
        pace: None,
        writes: Writes::Allow,
        redactor: None,
        started_ms: 0,
        keeps: TraceOutput::Nothing,
    }
}

/// What came of a run.
struct Ran {
    verified: Verified,
    script: Arc<Script>,
    /// What the server was sent, in order; `"reconnect"` between.
    sent: Vec<Json>,
    told: Vec<String>,
    kept: Vec<(Direction, Json)>,
}

impl Ran {
    fn verdicts(&self) -> Vec<&'static str> {
        self.verified.calls.iter().map(|call| call.verdict.name()).collect()
    }

    /// The verdict of a call, and what has changed in it.
    fn of(&self, call: usize) -> String {
        let checked = &self.verified.calls[call];
        let text =
            |json: &Option<Vec<u8>>| json.as_ref().map(|json| String::from_utf8_lossy(json).into_owned());
        let changes = checked.changes.iter().map(|change| {
            format!(
                " {}: {} -> {}",
                change.place,
                text(&change.before).unwrap_or_default(),
                text(&change.after).unwrap_or_default()
            )
        });
        format!("{}{}", checked.verdict.name(), changes.collect::<String>())
    }
}

/// Drives a server that answers each message with these, until there is nothing left to do. What it leaves unanswered times out.
fn run_with(said: &[Said], setting: Setting, server: impl FnMut(&Json) -> Vec<Json>) -> Ran {
    let trace = trace(said);
    run_script(script(&trace), &trace, setting, server)
}

/// The same with a script of some of the calls.
fn run_script(
    script: Script,
    trace: &[u8],
    setting: Setting,
    mut server: impl FnMut(&Json) -> Vec<Json>,
) -> Ran {
    let script = Arc::new(script);
    let mut driver = Driver::new(Arc::clone(&script), trace.to_vec(), setting);
    let (mut sent, mut told, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let (mut actions, mut now_us, mut is_done) = (Vec::new(), 0, false);
    driver.advance(0, &mut actions);
    while !is_done {
        let mut answers = Vec::new();
        for action in std::mem::take(&mut actions) {
            match action {
                Action::Send(message) => {
                    let message: Json = serde_json::from_slice(&message).unwrap();
                    answers.extend(server(&message));
                    sent.push(message);
                }
                Action::Reconnect => sent.push(json!("reconnect")),
                Action::Keep(direction, message) => {
                    kept.push((direction, serde_json::from_slice(&message).unwrap()));
                }
                Action::Notify(notice) => told.push(notice.to_string()),
                Action::Judged => {}
                Action::Done => is_done = true,
            }
        }
        if answers.is_empty() && !is_done {
            now_us = driver.deadline().expect("something is waited for");
            driver.tick(now_us, &mut actions);
        }
        for answer in answers {
            now_us += 10;
            driver.receive(answer.to_string().as_bytes(), now_us, &mut actions);
        }
    }
    Ran { verified: driver.finish(), script, sent, told, kept }
}

/// A session: the handshake, and these calls with their results.
fn session(calls: &[(&str, Json, Json)]) -> Vec<Said> {
    let mut said = vec![
        (
            "in",
            0,
            json!({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})
                .to_string(),
        ),
        ("out", 5, json!({"jsonrpc":"2.0","id":0,"result":introduction()}).to_string()),
        ("in", 6, json!({"jsonrpc":"2.0","method":"notifications/initialized"}).to_string()),
    ];
    for ((method, params, result), id) in calls.iter().zip(100..) {
        let at = id * 1000;
        said.push(("in", at, json!({"jsonrpc":"2.0","id":id,"method":method,"params":params}).to_string()));
        said.push(("out", at + 100, json!({"jsonrpc":"2.0","id":id,"result":result}).to_string()));
    }
    said
}

fn introduction() -> Json {
    json!({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})
}

fn tool(name: &str, reads: bool) -> Json {
    json!({"name":name,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":reads}})
}

fn call(name: &str) -> (&'static str, Json) {
    ("tools/call", json!({"name":name,"arguments":{}}))
}

/// Answers requests by their methods and tools.
fn server(answer: impl Fn(&str, &Json) -> Json) -> impl FnMut(&Json) -> Vec<Json> {
    move |message| {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return Vec::new();
        };
        let result = if method == "initialize" { introduction() } else { answer(method, &message["params"]) };
        let outcome = if result.get("code").is_some() { "error" } else { "result" };
        vec![json!({"jsonrpc":"2.0","id":id,outcome:result})]
    }
}

fn text(text: &str) -> Json {
    json!({"content":[{"type":"text","text":text}]})
}

#[test]
fn what_is_the_same_and_what_is_not_is_told() {
    let calls = ["a", "b", "c", "d"].map(|name| (call(name).0, call(name).1, text(name)));
    let ran = run_with(
        &session(&calls),
        setting(),
        server(|_, params| match params["name"].as_str() {
            Some("a") => text("a"),
            Some("b") => text("other"),
            Some("c") => json!({"code":-32000,"message":"no"}),
            _ => json!({"content":[{"type":"text","text":"d"}],"isError":true}),
        }),
    );
    assert_eq!(ran.verdicts(), ["same", "same", "changed", "new error", "new error"]);
    assert_eq!(ran.of(2), r#"changed result/content/0/text: "b" -> "other""#);
    assert_eq!(
        ran.of(3),
        r#"new error answer: {"result":{"content":[{"text":"c","type":"text"}]}} -> {"error":{"code":-32000,"message":"no"}}"#
    );
    assert!(ran.verified.is_failure(Offers::None));
    // The handshake is made before anything else, and ids are our own.
    let methods: Vec<&str> = ran.sent.iter().filter_map(|sent| sent["method"].as_str()).collect();
    assert_eq!(methods[..3], ["initialize", "notifications/initialized", "tools/call"]);
    assert_eq!(ran.sent[2]["id"], 2);
}

#[test]
fn only_tools_that_read_are_called() {
    let calls = [
        (
            "tools/list",
            json!({}),
            json!({"tools":[tool("reads", true), tool("writes", false), tool("changed", true)]}),
        ),
        (call("reads").0, call("reads").1, text("r")),
        (call("writes").0, call("writes").1, text("w")),
        (call("changed").0, call("changed").1, text("c")),
    ];
    let said = session(&calls);
    let mut planned = script(&trace(&said));
    planned.skip_writes();
    let plans: Vec<bool> = planned.entries().map(|(_, plan)| plan == Plan::Send).collect();
    assert_eq!(plans, [true, true, true, false, true]);
    let answers = |method: &str, params: &Json| match method {
        "tools/list" => json!({"tools":[tool("reads", true), tool("writes", false), tool("changed", false)]}),
        _ => text(&params["name"].as_str().unwrap()[..1]),
    };
    let ran = run_with(&said, Setting { writes: Writes::Skip, ..setting() }, server(answers));
    assert_eq!(ran.verdicts(), ["same", "same", "same", "skipped", "skipped"]);
    assert!(!ran.verified.calls[3].verdict.is_failure());
    assert!(ran.verified.calls[4].verdict.is_failure(), "a tool that writes now is a change");
    assert_eq!(ran.verified.drift.changes.len(), 1);
    let all = run_with(&said, setting(), server(answers));
    assert_eq!(all.verdicts(), ["same"; 5]);
}

/// Without the skipped writes, the server can't have the data that was read back. That is not a change of the server.
#[test]
fn a_read_after_a_skipped_write_is_inconclusive() {
    let read = (call("read").0, call("read").1);
    let tools = json!({"tools":[tool("read", true), tool("write", false)]});
    let calls = [
        ("tools/list", json!({}), tools.clone()),
        (read.0, read.1.clone(), text("empty")),
        (call("write").0, call("write").1, text("written")),
        (read.0, read.1.clone(), text("one note")),
    ];
    let said = session(&calls);
    let skip = || Setting { writes: Writes::Skip, ..setting() };
    let answers = |first: &'static str, then: Json| {
        let (tools, mut reads) = (tools.clone(), 0);
        let mut answer = move |message: &Json| match message["params"]["name"].as_str() {
            Some("read") => {
                reads += 1;
                if reads == 1 { text(first) } else { then.clone() }
            }
            Some("write") => text("written"),
            _ if message["method"] == "initialize" => introduction(),
            _ => tools.clone(),
        };
        move |message: &Json| {
            let Some(id) = message.get("id") else { return Vec::new() };
            let result = answer(message);
            let outcome = if result.get("code").is_some() { "error" } else { "result" };
            vec![json!({"jsonrpc":"2.0","id":id,outcome:result})]
        }
    };
    let ran = run_with(&said, skip(), answers("empty", text("empty")));
    assert_eq!(ran.verdicts(), ["same", "same", "same", "skipped", "inconclusive"]);
    assert!(!ran.verified.is_failure(Offers::Any));
    assert_eq!(ran.of(4), r#"inconclusive result/content/0/text: "one note" -> "empty""#);
    let failed = run_with(&said, skip(), answers("empty", json!({"code":-32000,"message":"no such note"})));
    assert_eq!(failed.verdicts()[4], "inconclusive");
    // What was read before a skipped write is judged as usual, and so is everything if writes are allowed.
    let changed = run_with(&said, skip(), answers("other", text("one note")));
    assert_eq!(changed.verdicts(), ["same", "same", "changed", "skipped", "same"]);
    let all = run_with(&said, setting(), answers("empty", text("empty")));
    assert_eq!(all.verdicts()[4], "changed");
}

#[test]
fn a_new_error_says_what_the_server_says() {
    let said = session(&[(call("a").0, call("a").1, text("a")), (call("b").0, call("b").1, text("b"))]);
    let answers = |_: &str, params: &Json| match params["name"].as_str() {
        Some("a") => json!({"code":-32602,"message":"no such argument"}),
        _ => json!({"content":[{"type":"text","text":"over quota"}],"isError":true}),
    };
    let ran = run_with(&said, setting(), server(answers));
    let errors: Vec<_> = ran.verified.calls[1..].iter().map(|call| call.error.as_deref()).collect();
    assert_eq!(errors, [Some("no such argument"), Some("over quota")]);
}

#[test]
fn definitions_that_were_redacted_are_like_anything() {
    let schema = |token: Json| json!({"tools":[{"name":"login","inputSchema":{"type":"object","properties":{"token":token}}}]});
    let said = session(&[("tools/list", json!({}), schema(json!("[REDACTED]")))]);
    let ran = run_with(&said, setting(), server(|_, _| schema(json!({"type":"string"}))));
    assert!(!ran.verified.is_failure(Offers::Any), "{:?}", ran.verified.drift);
    let gone = run_with(&said, setting(), server(|_, _| json!({"tools":[]})));
    assert!(gone.verified.is_failure(Offers::Any));
}

/// A redactor of an installation: each has a key of its own.
fn redactor(key: u8) -> Arc<Redactor> {
    Arc::new(Redactor::new(&Rules::default(), &RedactionKey::new([key; 32])).unwrap())
}

/// A session that was recorded without secrets.
fn redacted(said: &[Said]) -> Vec<Said> {
    let clean = |raw: &str| without_secrets(&redactor(1), raw.as_bytes()).into_owned();
    said.iter().map(|(dir, us, raw)| (*dir, *us, String::from_utf8(clean(raw)).unwrap())).collect()
}

#[test]
fn no_secret_in_a_definition_is_told_and_none_is_a_change() {
    const KEY: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let offer = |key: &str, word: &str| {
        let words = format!("{word} {key}");
        move |method: &str, _: &Json| match method {
            "prompts/list" => {
                json!({"prompts":[{"name":"p","arguments":[{"name":"key","description":words}]}]})
            }
            "resources/list" => {
                json!({"resources":[{"uri":format!("db://me:{words}@host/x").replace(' ', "-"),"name":"x"}]})
            }
            _ => {
                json!({"tools":[{"name":"t","description":words,"inputSchema":{"type":"object","properties":{"a":{"examples":[words],"default":words}}}}]})
            }
        }
    };
    let methods = ["prompts/list", "resources/list", "tools/list"];
    let said = session(&methods.map(|method| (method, json!({}), offer(KEY, "use")(method, &json!({})))));
    let run = |said: &[Said], key: u8, word: &str| {
        let setting = Setting { redactor: Some(redactor(key)), ..setting() };
        run_with(said, setting, server(offer(KEY, word))).verified
    };
    // Recorded here, recorded elsewhere, and recorded with its secrets.
    for (said, key) in [(redacted(&said), 1), (redacted(&said), 2), (said.clone(), 1)] {
        let same = run(&said, key, "use");
        assert!(!same.is_failure(Offers::Any), "{:?}", same.drift);
        let other = format!("{:?}", run(&said, key, "take").drift);
        assert!(other.contains("the description of the tool `t` has changed"), "{other}");
        let bytes = format!("{:?}", KEY.as_bytes());
        assert!(!other.contains(KEY) && !other.contains(bytes.trim_matches(['[', ']'])), "{other}");
    }
}

#[test]
fn a_redacted_definition_hides_no_other_change() {
    let tools = |secret: &str, required: Json| {
        let schema = json!({"type":"object","properties":{"a":{"default":secret}},"required":required});
        json!({"tools":[{"name":"t","inputSchema":schema}]})
    };
    let said = session(&[("tools/list", json!({}), tools("[REDACTED:token:01234567]", json!([])))]);
    let ran = run_with(&said, setting(), server(|_, _| tools("x", json!(["a"]))));
    let sentences: Vec<&str> =
        ran.verified.drift.changes.iter().map(|change| change.sentence.as_str()).collect();
    assert_eq!(sentences, ["the tool `t`: the argument `a` is now required"]);
}

/// Whatever else is asked, and when.
#[test]
fn a_tool_that_no_longer_only_reads_is_not_called() {
    let used = (call("wipe").0, call("wipe").1, text("done"));
    let list = ("tools/list", json!({}), json!({"tools":[tool("wipe", true)]}));
    let answers = |method: &str, _: &Json| match method {
        "tools/list" => json!({"tools":[tool("wipe", false)]}),
        _ => text("done"),
    };
    for (calls, concurrency) in
        [([list.clone(), used.clone()], 1), ([list.clone(), used.clone()], 4), ([used, list], 1)]
    {
        let trace = trace(&session(&calls));
        let only = Filter::parse("tool:wipe").unwrap();
        for filter in [None, Some(only)] {
            let mut script = script(&trace);
            if let Some(filter) = &filter {
                assert!(script.select(filter, &trace));
            }
            let setting = Setting { writes: Writes::Skip, concurrency, ..setting() };
            let ran = run_script(script, &trace, setting, server(answers));
            let called = ran.sent.iter().any(|message| message["method"] == "tools/call");
            assert!(!called, "{concurrency} {filter:?} {:?}", ran.sent);
            assert!(ran.verdicts().contains(&"skipped"));
        }
    }
}

#[test]
fn the_server_is_asked_what_its_tools_do_if_the_trace_does_not_tell() {
    let said = session(&[
        (call("reads").0, call("reads").1, text("r")),
        (call("writes").0, call("writes").1, text("w")),
    ]);
    let answers = |method: &str, params: &Json| match (method, params["cursor"].as_str()) {
        ("tools/list", None) => json!({"tools":[tool("writes", false)],"nextCursor":"2"}),
        ("tools/list", _) => json!({"tools":[tool("reads", true)]}),
        _ => text("r"),
    };
    let ran = run_with(&said, Setting { writes: Writes::Skip, ..setting() }, server(answers));
    assert_eq!(ran.verdicts(), ["same", "same", "skipped"]);
    assert!(ran.verified.drift.changes.is_empty(), "what nobody recorded can't have changed");
}

#[test]
fn what_the_server_makes_up_is_repeated_to_it() {
    let calls = [
        ("resources/list", json!({}), json!({"resources":[],"nextCursor":"old"})),
        ("resources/list", json!({"cursor":"old"}), json!({"resources":[]})),
        (call("make").0, call("make").1, json!({"structuredContent":{"id":"note-17"}})),
        ("tools/call", json!({"name":"read","arguments":{"id":"note-17"}}), text("note-17 is empty")),
    ];
    let ran = run_with(
        &session(&calls),
        setting(),
        server(|method, params| match method {
            "resources/list" if params.get("cursor").is_none() => json!({"resources":[],"nextCursor":"new"}),
            "resources/list" => json!({"resources":[]}),
            _ if params["name"] == "make" => json!({"structuredContent":{"id":"note-23"}}),
            _ => text(&format!("{} is empty", params["arguments"]["id"].as_str().unwrap())),
        }),
    );
    assert_eq!(ran.sent[3]["params"]["cursor"], "new");
    assert_eq!(ran.sent[5]["params"]["arguments"]["id"], "note-23");
    assert_eq!(ran.verdicts()[..3], ["same", "same", "same"]);
    assert_eq!(ran.of(3), r#"changed result/structuredContent/id: "note-17" -> "note-23""#);
}

#[test]
fn what_depends_on_a_call_that_went_otherwise_is_not_asked() {
    let calls = [
        ("tools/call", json!({"name":"ask"}), json!({"resultType":"input_required","requestState":"s"})),
        ("tools/call", json!({"name":"ask","requestState":"s","inputResponses":{}}), text("thanks")),
    ];
    let ran = run_with(&session(&calls), setting(), server(|_, _| text("no need to ask")));
    assert_eq!(ran.verdicts(), ["same", "changed", "skipped"]);
}

#[test]
fn the_servers_questions_are_answered_as_recorded() {
    let ask = |id: u64, prompt: &str| json!({"jsonrpc":"2.0","id":id,"method":"sampling/createMessage","params":{"prompt":prompt}});
    let mut said = session(&[(call("joke").0, call("joke").1, text("ha"))]);
    said.insert(4, ("out", 100_010, ask(7, "a joke").to_string()));
    said.insert(5, ("in", 100_050, json!({"jsonrpc":"2.0","id":7,"result":{"text":"knock"}}).to_string()));
    let asks = |questions: Vec<Json>| {
        let mut waiting = None;
        move |message: &Json| match (message["method"].as_str(), message.get("id")) {
            (Some("tools/call"), id) => {
                waiting = id.cloned();
                if questions.is_empty() {
                    return vec![json!({"jsonrpc":"2.0","id":id,"result":text("ha")})];
                }
                questions.clone()
            }
            (Some("initialize"), id) => vec![json!({"jsonrpc":"2.0","id":id,"result":introduction()})],
            (None, _) if waiting.is_some() => {
                vec![json!({"jsonrpc":"2.0","id":waiting.take(),"result":text("ha")})]
            }
            _ => vec![],
        }
    };
    let same = run_with(&said, setting(), asks(vec![ask(1, "a joke")]));
    assert_eq!(same.verdicts(), ["same", "same"]);
    assert_eq!(same.sent[3], json!({"jsonrpc":"2.0","id":1,"result":{"text":"knock"}}));
    let other = run_with(&said, setting(), asks(vec![ask(1, "a poem")]));
    assert_eq!(other.of(1), r#"changed sampling/createMessage params/prompt: "a joke" -> "a poem""#);
    let none = run_with(&said, setting(), asks(vec![]));
    assert_eq!(none.of(1), r#"changed asked: "sampling/createMessage" -> "#);
    let roots = json!({"jsonrpc":"2.0","id":"r","method":"roots/list"});
    let more = run_with(&said, setting(), asks(vec![roots]));
    assert_eq!(more.sent[3]["error"]["code"], -32601);
    assert!(more.of(1).contains(r#"asked:  -> "roots/list""#), "{}", more.of(1));
    assert!(more.told[0].contains("`roots/list`"), "{:?}", more.told);
}

/// Consent is used once.
#[test]
fn a_question_that_was_not_asked_there_is_refused() {
    let ask = |id: u64, text: &str| json!({"jsonrpc":"2.0","id":id,"method":"elicitation/create","params":{"message":text}});
    let mut said = session(&["look", "send"].map(|name| (call(name).0, call(name).1, text("done"))));
    let answer = said.len() - 1;
    let asked_us = said[answer].1 - 2;
    said.insert(answer, ("out", asked_us, ask(7, "Send it?").to_string()));
    let accepted = json!({"jsonrpc":"2.0","id":7,"result":{"action":"accept"}});
    said.insert(answer + 1, ("in", asked_us + 1, accepted.to_string()));
    let asks = |tool: &'static str, times: usize| {
        let mut waiting = None;
        let mut left = 0;
        move |message: &Json| match message["method"].as_str() {
            Some("initialize") => {
                vec![json!({"jsonrpc":"2.0","id":message["id"],"result":introduction()})]
            }
            Some("tools/call") if message["params"]["name"] == tool => {
                waiting = Some(message["id"].clone());
                left = times - 1;
                vec![ask(90, "Send it?")]
            }
            Some("tools/call") => vec![json!({"jsonrpc":"2.0","id":message["id"],"result":text("done")})],
            None if left > 0 => {
                left -= 1;
                vec![ask(91, "Send it?")]
            }
            None => vec![json!({"jsonrpc":"2.0","id":waiting.take(),"result":text("done")})],
            _ => vec![],
        }
    };
    let replies = |ran: &Ran| -> Vec<bool> {
        let replies = ran.sent.iter().filter(|message| message.get("method").is_none());
        replies.map(|reply| reply.get("result").is_some()).collect()
    };
    let same = run_with(&said, setting(), asks("send", 1));
    assert_eq!((same.verdicts(), replies(&same)), (vec!["same"; 3], vec![true]));
    let elsewhere = run_with(&said, setting(), asks("look", 1));
    assert_eq!(elsewhere.of(1), r#"changed asked:  -> "elicitation/create""#);
    assert_eq!(replies(&elsewhere), [false]);
    let twice = run_with(&said, setting(), asks("send", 2));
    assert_eq!(twice.of(2), r#"changed asked:  -> "elicitation/create""#);
    assert_eq!(replies(&twice), [true, false]);
}

#[test]
fn what_is_not_answered_is_missing_and_the_rest_goes_on() {
    let calls = ["a", "b", "c"].map(|name| (call(name).0, call(name).1, text("x")));
    let mut answers = server(|_, _| text("x"));
    let ran = run_with(&session(&calls), setting(), move |message| {
        if message["params"]["name"] == "b" { Vec::new() } else { answers(message) }
    });
    assert_eq!(ran.verdicts(), ["same", "same", "missing", "same"]);
}

#[test]
fn a_server_that_goes_away_is_asked_no_more() {
    let said = session(&["a", "b", "c"].map(|name| (call(name).0, call(name).1, text("x"))));
    let trace = trace(&said);
    let mut driver = Driver::new(Arc::new(script(&trace)), trace, setting());
    let mut actions = Vec::new();
    driver.advance(0, &mut actions);
    driver.server_gone("it fell", 5, &mut actions);
    assert_eq!(actions.last(), Some(&Action::Done));
    let verified = driver.finish();
    let names: Vec<&str> = verified.calls.iter().map(|call| call.verdict.name()).collect();
    assert_eq!(names, ["missing", "skipped", "skipped", "skipped"]);
    assert!(verified.is_failure(Offers::None));
}

#[test]
fn a_refused_handshake_ends_it() {
    let said = session(&[(call("a").0, call("a").1, text("x"))]);
    let ran = run_with(&said, setting(), |message| {
        vec![json!({"jsonrpc":"2.0","id":message["id"],"error":{"code":-32000,"message":"go away"}})]
    });
    assert_eq!(ran.verdicts(), ["new error", "skipped"]);
    assert_eq!(ran.sent.len(), 1);
}

#[test]
fn a_client_may_ask_first_which_era_it_is() {
    let mut said = session(&[(call("a").0, call("a").1, text("x"))]);
    let unknown = json!({"code":-32601,"message":"what?"});
    said.insert(0, ("out", 0, json!({"jsonrpc":"2.0","id":9,"error":unknown}).to_string()));
    said.insert(0, ("in", 0, json!({"jsonrpc":"2.0","id":9,"method":"server/discover"}).to_string()));
    let answers =
        |method: &str, _: &Json| if method == "server/discover" { unknown.clone() } else { text("x") };
    let ran = run_with(&said, setting(), server(answers));
    assert_eq!(ran.verdicts(), ["same"; 3]);
    assert!(ran.told.is_empty() && !ran.sent.contains(&json!("reconnect")), "{:?}", ran.sent);
}

#[test]
fn several_sessions_are_several_connections() {
    let mut said = session(&[(call("a").0, call("a").1, text("x"))]);
    said.extend(session(&[(call("b").0, call("b").1, text("x"))]));
    let ran = run_with(&said, setting(), server(|_, _| text("x")));
    assert_eq!(ran.verdicts(), ["same"; 4]);
    assert_eq!(ran.sent.iter().position(|sent| sent == "reconnect"), Some(3));
}

#[test]
fn a_session_that_fails_is_nothing_to_the_next() {
    // The client speaks of a version that the server doesn't know, and then of another.
    let refusal = json!({"code":-32602,"message":"unsupported protocol version"});
    let mut said = vec![
        (
            "in",
            0,
            json!({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"x"}})
                .to_string(),
        ),
        ("out", 1, json!({"jsonrpc":"2.0","id":0,"error":refusal}).to_string()),
    ];
    said.extend(session(&[(call("a").0, call("a").1, text("x"))]));
    let mut answers = server(|_, _| text("x"));
    let ran = run_with(&said, setting(), |message| match message["params"]["protocolVersion"].as_str() {
        Some("x") => vec![json!({"jsonrpc":"2.0","id":message["id"],"error":refusal})],
        _ => answers(message),
    });
    assert_eq!(ran.verdicts(), ["same"; 3]);
    assert_eq!(ran.sent.iter().filter(|sent| *sent == "reconnect").count(), 1);
    assert!(ran.told.is_empty(), "{:?}", ran.told);
}

#[test]
fn a_server_that_falls_is_started_again_for_the_next_session() {
    let mut said = session(&["a", "b"].map(|name| (call(name).0, call(name).1, text("x"))));
    said.extend(session(&[(call("c").0, call("c").1, text("x"))]));
    let trace = trace(&said);
    let mut driver = Driver::new(Arc::new(script(&trace)), trace, setting());
    let mut actions = Vec::new();
    driver.advance(0, &mut actions);
    driver.server_gone("it fell", 5, &mut actions);
    assert!(actions.contains(&Action::Reconnect) && !actions.contains(&Action::Done), "{actions:?}");
    let introduced = json!({"jsonrpc":"2.0","id":2,"result":introduction()});
    driver.receive(introduced.to_string().as_bytes(), 6, &mut actions);
    let answer = json!({"jsonrpc":"2.0","id":3,"result":text("x")});
    driver.receive(answer.to_string().as_bytes(), 7, &mut actions);
    assert_eq!(actions.last(), Some(&Action::Done));
    let names: Vec<&str> = driver.finish().calls.iter().map(|call| call.verdict.name()).collect();
    assert_eq!(names, ["missing", "skipped", "skipped", "same", "same"]);
}

#[test]
fn what_a_client_says_last_is_said_to_the_server_that_it_had() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned();
    let mut said = session(&[(call("a").0, call("a").1, text("x"))]);
    said.push(("in", 200_000, changed));
    said.extend(session(&[(call("b").0, call("b").1, text("x"))]));
    let heard = |refuses: bool| {
        let mut answers = server(|_, _| text("x"));
        let mut is_refused = refuses;
        let ran = run_with(&said, setting(), |message| {
            if message["method"] == "initialize" && std::mem::take(&mut is_refused) {
                return vec![json!({"jsonrpc":"2.0","id":message["id"],"error":{"code":1,"message":"no"}})];
            }
            answers(message)
        });
        let name = |sent: &Json| sent["method"].as_str().or(sent.as_str()).unwrap_or_default().to_owned();
        ran.sent.iter().map(name).collect::<Vec<_>>()
    };
    let whole = ["initialize", "notifications/initialized", "tools/call"];
    let last = ["notifications/roots/list_changed", "reconnect"];
    assert_eq!(heard(false), [&whole[..], &last, &whole].concat());
    // A server that rejected the handshake doesn't get it, nor does the next one.
    assert_eq!(heard(true), [&["initialize", "reconnect"][..], &whole].concat());
}

#[test]
fn a_trace_without_a_handshake_gets_one() {
    let said = session(&[(call("a").0, call("a").1, text("x"))])[3..].to_vec();
    let ran = run_with(&said, setting(), server(|_, _| text("x")));
    assert_eq!(ran.verdicts(), ["same"]);
    assert_eq!(ran.sent[0]["method"], "initialize");
    assert_eq!(ran.told.len(), 1);
}

#[test]
fn calls_go_side_by_side_if_they_may() {
    let calls = ["a", "b", "c"].map(|name| (call(name).0, call(name).1, text("x")));
    let mut open = Vec::new();
    let ran = run_with(&session(&calls), Setting { concurrency: 2, ..setting() }, move |message| {
        match message["method"].as_str() {
            Some("initialize") => vec![json!({"jsonrpc":"2.0","id":message["id"],"result":introduction()})],
            Some("tools/call") => {
                open.push(message["id"].clone());
                // Two are in flight before one is answered, except for the last.
                let ready = if open.len() == 2 || message["params"]["name"] == "c" {
                    std::mem::take(&mut open)
                } else {
                    Vec::new()
                };
                ready
                    .into_iter()
                    .rev()
                    .map(|id: Json| json!({"jsonrpc":"2.0","id":id,"result":text("x")}))
                    .collect()
            }
            _ => Vec::new(),
        }
    });
    assert_eq!(ran.verdicts(), ["same"; 4]);
}

#[test]
fn a_filter_says_which_calls_are_made() {
    let said =
        session(&["search_a", "search_b", "other"].map(|name| (call(name).0, call(name).1, text(name))));
    let trace = trace(&said);
    let planned = |filter: &str| {
        let mut script = script(&trace);
        assert!(script.select(&Filter::parse(filter).unwrap(), &trace));
        script.entries().map(|(_, plan)| plan == Plan::Send).collect::<Vec<_>>()
    };
    assert_eq!(planned("tool:search*"), [true, true, true, false]);
    assert_eq!(planned("text:search_b"), [true, false, true, false]);
    assert_eq!(planned("method:initialize"), [true, false, false, false]);
    assert!(!script(&trace).select(&Filter::parse("method:tools/list").unwrap(), &trace));
}

#[test]
fn what_takes_much_longer_is_slower() {
    let said = session(&[(call("a").0, call("a").1, text("x"))]);
    let pace = |ratio, floor_us| Setting { pace: Some(Pace { ratio, floor_us }), ..setting() };
    // It took 100 µs when it was recorded, and takes 10 now.
    assert_eq!(run_with(&said, pace(0.5, 0), server(|_, _| text("x"))).verdicts(), ["same", "same"]);
    let late = |message: &Json| match message["method"].as_str() {
        Some("tools/call") => {
            let mut answers =
                vec![json!({"jsonrpc":"2.0","method":"notifications/progress","params":{}}); 20];
            answers.push(json!({"jsonrpc":"2.0","id":message["id"],"result":text("x")}));
            answers
        }
        _ => server(|_, _| text("x"))(message),
    };
    assert_eq!(run_with(&said, pace(0.5, 0), late).verdicts(), ["same", "slower"]);
    assert_eq!(run_with(&said, pace(0.5, 1_000), late).verdicts(), ["same", "same"]);
}

#[test]
fn a_new_trace_has_what_is_said_now_and_what_was_skipped() {
    let mut said =
        session(&[(call("a").0, call("a").1, text("old")), (call("b").0, call("b").1, text("kept"))]);
    said.pop();
    said.push((
        "in",
        200_000,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":101}}"#.to_owned(),
    ));
    let ran =
        run_with(&said, Setting { keeps: TraceOutput::NewTrace, ..setting() }, server(|_, _| text("new")));
    assert_eq!(ran.verdicts(), ["same", "changed", "skipped"]);
    let kept: Vec<String> = ran
        .kept
        .iter()
        .map(|(direction, message)| {
            let what = message["method"]
                .as_str()
                .map_or_else(|| message["result"]["content"][0]["text"].to_string(), str::to_owned);
            format!("{direction:?} {what}")
        })
        .collect();
    assert_eq!(
        kept,
        [
            "ClientToServer initialize",
            "ServerToClient null",
            "ClientToServer notifications/initialized",
            "ClientToServer tools/call",
            "ServerToClient \"new\"",
            "ClientToServer tools/call",
            "ClientToServer notifications/cancelled",
        ]
    );
    // It is the kept request that is cancelled, by the id that it has now.
    let [.., (_, request), (_, cancelled)] = ran.kept.as_slice() else { unreachable!() };
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_eq!(ran.script.tape().calls().len(), 3);
}

#[test]
fn the_stateless_era_needs_no_handshake() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}});
    let params = json!({"name":"a","arguments":{},"_meta":meta});
    let listen = json!({"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"_meta":meta}});
    let mut said = session(&[("tools/call", params, json!({"resultType":"complete"}))])[3..].to_vec();
    said.insert(0, ("in", 1, listen.to_string()));
    let ran = run_with(
        &said,
        Setting { writes: Writes::Skip, ..setting() },
        |message| match message["method"].as_str() {
            Some("subscriptions/listen") => {
                let meta = json!({"io.modelcontextprotocol/subscriptionId":message["id"]});
                vec![
                    json!({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":meta}}),
                ]
            }
            Some("tools/list") => {
                vec![json!({"jsonrpc":"2.0","id":message["id"],"result":{"tools":[tool("a", true)]}})]
            }
            _ => vec![json!({"jsonrpc":"2.0","id":message["id"],"result":{"resultType":"complete"}})],
        },
    );
    assert_eq!(ran.verdicts(), ["same", "same"]);
    // The question of our own says what a client of this era must.
    let asked = ran.sent.iter().find(|sent| sent["method"] == "tools/list").unwrap();
    assert_eq!(asked["params"]["_meta"], meta);
}

#[test]
fn ids_in_lists_are_made_up_anew_and_repeated() {
    let id = |n: u32| format!("0a1b2c3d-0000-4000-8000-{n:012}");
    let notes =
        |from: u32| json!({"notes":[{"id":id(from),"title":"milk"},{"id":id(from + 1),"title":"bread"}]});
    let get = |n: u32| json!({"name":"get","arguments":{"id":id(n)}});
    let list = json!({"name":"list","arguments":{}});
    let said = session(&[
        ("tools/call", list, json!({"structuredContent":notes(1),"content":[]})),
        ("tools/call", get(2), text("bread")),
    ]);
    let ran = run_with(
        &said,
        setting(),
        server(|_, params| match params["arguments"]["id"].as_str() {
            None => json!({"structuredContent":notes(7),"content":[]}),
            Some(asked) if asked == id(8) => text("bread"),
            Some(_) => json!({"code":-32602,"message":"no such note"}),
        }),
    );
    assert_eq!(ran.verdicts(), ["same", "same", "same"], "{}", ran.of(1));
}

#[test]
fn many_ids_are_as_good_as_one() {
    let ids = |from: u32| {
        let ids = (from..from + 1200).map(|n| json!({"v":format!("0a1b2c3d-0000-4000-8000-{n:012}")}));
        json!({"content":[],"structuredContent":{"ids":ids.collect::<Vec<_>>()}})
    };
    let (method, params) = call("ids");
    let said = session(&[(method, params, ids(0))]);
    let ran = run_with(&said, setting(), server(|_, _| ids(5000)));
    assert_eq!(ran.verdicts(), ["same", "same"], "{}", ran.of(1));
}

/// A new server version is what verify is for: the client keeps requesting the version that it requested.
#[test]
fn what_a_server_says_of_itself_is_put_into_no_request() {
    let params = json!({"name":"install","arguments":{"version":"v1.0.0"}});
    let mut said = session(&[("tools/call", params.clone(), text("done"))]);
    said[1].2 = said[1].2.replace(r#""version":"1""#, r#""version":"v1.0.0""#);
    let ran = run_with(&said, setting(), server(|_, _| text("done")));
    assert_eq!(ran.sent.last().unwrap()["params"], params);
}

#[test]
fn a_list_that_has_more_pages_now_is_read_to_its_end() {
    let page = |names: &[&str], next: Option<&str>| {
        let tools: Vec<Json> = names.iter().map(|name| tool(name, true)).collect();
        match next {
            Some(next) => json!({"tools":tools,"nextCursor":next}),
            None => json!({"tools":tools}),
        }
    };
    let said = session(&[("tools/list", json!({}), page(&["a", "b", "c"], None))]);
    let check = |last: &[&str], expected: &[&str]| {
        let ran = run_with(
            &said,
            setting(),
            server(|_, params| match params["cursor"].as_str() {
                None => page(&["a"], Some("2")),
                Some("2") => page(&["b"], Some("3")),
                Some(_) => page(last, None),
            }),
        );
        let changes: Vec<&str> =
            ran.verified.drift.changes.iter().map(|change| change.sentence.as_str()).collect();
        assert_eq!(changes, expected);
        assert_eq!(ran.verdicts(), ["same", "same"]);
    };
    check(&["c"], &[]);
    check(&[], &["the tool `c` was removed"]);
    // What can't be read is not taken for the same.
    let fails = |answer: Option<Json>| {
        let mut good = server(|_, _| page(&["a"], Some("2")));
        let ran =
            run_with(&said, setting(), |message| match (&answer, message["params"]["cursor"].as_str()) {
                (_, None) => good(message),
                (Some(error), Some(_)) => vec![json!({"jsonrpc":"2.0","id":message["id"],"error":error})],
                (None, Some(_)) => Vec::new(),
            });
        assert_eq!(ran.verdicts(), ["same", "missing"]);
    };
    fails(Some(json!({"code":-32603,"message":"no"})));
    fails(None);
    let ran = run_with(&said, setting(), server(|_, _| page(&["a"], Some("again"))));
    assert_eq!(ran.verdicts(), ["same", "missing"], "pages without end");
    let keeping = Setting { keeps: TraceOutput::NewTrace, ..setting() };
    let ran = run_with(
        &said,
        keeping,
        server(|_, params| match params["cursor"].as_str() {
            None => page(&["a"], Some("2")),
            Some(_) => page(&["b", "c"], None),
        }),
    );
    let asked = |cursor: &Json| {
        ran.kept.iter().any(|(_, kept)| kept["method"] == "tools/list" && kept["params"]["cursor"] == *cursor)
    };
    assert!(asked(&json!(null)) && asked(&json!("2")), "a new trace has all pages: {:?}", ran.kept);
}

#[test]
fn what_stands_for_a_secret_is_no_answer_to_a_question() {
    let mut said = session(&[]);
    let (method, params) = call("login");
    let lines = [
        ("in", json!({"jsonrpc":"2.0","id":1,"method":method,"params":params})),
        (
            "out",
            json!({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Password?"}}),
        ),
        (
            "in",
            json!({"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"password":"[REDACTED:password:01234567]"}}}),
        ),
        ("out", json!({"jsonrpc":"2.0","id":1,"result":text("welcome")})),
    ];
    said.extend((20..).zip(lines).map(|(us, (dir, raw))| (dir, us, raw.to_string())));
    let ran = run_with(&said, setting(), server(|_, _| text("welcome")));
    assert_eq!(ran.verdicts(), ["same", "skipped"]);
    assert!(!ran.sent.iter().any(|sent| sent["method"] == "tools/call"), "{:?}", ran.sent);
}

/// A wrong guess could delete something.
#[test]
fn an_id_is_taken_only_from_what_is_the_same_but_for_it() {
    let id = |n: u32| format!("0a1b2c3d-0000-4000-8000-{n:012}");
    let note = |n: u32, title: &str| json!({"id":id(n),"title":title,"at":"2026-05-12T23:00:00Z"});
    let list = |notes: Vec<Json>| json!({"content":[],"structuredContent":{"notes":notes}});
    let delete = |n: u32| json!({"name":"delete","arguments":{"id":id(n)}});
    let check = |live: Vec<Json>, expected: u32| {
        let said = session(&[
            ("tools/call", json!({"name":"list","arguments":{}}), list(vec![note(1, "test note")])),
            ("tools/call", delete(1), text("gone")),
        ]);
        let answer = |_: &str, params: &Json| match params["name"].as_str() {
            Some("list") => list(live.clone()),
            _ => text("gone"),
        };
        let ran = run_with(&said, setting(), server(answer));
        assert_eq!(ran.sent.last().unwrap()["params"], delete(expected));
    };
    check(vec![note(8, "PRODUCTION"), note(9, "test note")], 9);
    check(vec![note(8, "PRODUCTION")], 1);
}
