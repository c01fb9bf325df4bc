//! A report has no server to ask, so that its page knows the filter itself. These cases hold the two together: what the
//! filter of the program says of them is written down, and the page's own tests must come to the same.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use wiretape_analyze::call::Outcome;
use wiretape_analyze::filter::{Filter, Subject};
use wiretape_trace::message::Direction;

const FILTERS: [&str; 62] = [
    "",
    "   ",
    "tool:add",
    "tool:a*",
    "tool:a?d",
    "tool:*,ping",
    "tool:[ab]dd",
    "tool:[!a]*",
    "tool:{add,echo}",
    "tool:ADD",
    "-tool:add",
    "!tool:add",
    "--tool:add",
    "method:tools/*",
    "method:tools/call,ping",
    "method:**",
    "method:*/list",
    "status:ok",
    "status:error",
    "status:failed",
    "status:answered",
    "status:unanswered",
    "status:tool-error",
    "status:tool_error",
    "status:TIMED-OUT",
    "status:late,cancelled",
    "-status:ok",
    "dir:in",
    "dir:out",
    "dir:in,out",
    "session:s-*",
    "session:*",
    "server:files",
    "server:\"two words\"",
    "id:7",
    "id:*7*",
    "latency>200ms",
    "latency>=200ms",
    "latency<1s",
    "latency<=0.2s",
    "latency>1m",
    "latency>100us",
    "latency>1.5s",
    "request>1kB",
    "request<100",
    "response>=1MB",
    "response<1k",
    "response>2KiB",
    "text:quota",
    "text:\"over quota\"",
    "quota",
    "QUOTA sorry",
    "-quota",
    "quota,missing",
    "text:missing,quota",
    "\"over quota\" status:error",
    "tool:add latency>1ms -dir:out",
    "tool:a* tool:*d",
    "tool:é*",
    "a:b",
    "http://x",
    "tool:\\*",
];

const MISTAKES: [&str; 18] = [
    "toool:add",
    "tool:",
    "tool>3",
    "latency:200ms",
    "latency>soon",
    "latency>",
    "latency>-1s",
    "latency>1h",
    "latency=5ms",
    "request>many",
    "status:bad",
    "status:ok,bad",
    "dir:up",
    "text:\"abc",
    "tool:{a",
    "tool:[a",
    "-",
    "tool:é latency>x",
];

/// What a text is looked for in.
const TEXT: &str = "over quota, sorry";

struct Case {
    subject: Subject<'static>,
    status: Option<&'static str>,
}

fn cases() -> Vec<Case> {
    let call = |method, tool, outcome: Outcome, latency_us| Case {
        subject: Subject {
            method: Some(method),
            tool,
            outcome: Some(outcome),
            direction: Some(Direction::ClientToServer),
            session: Some("s-1"),
            server: Some("files"),
            id: Some("7"),
            latency_us,
            request_bytes: Some(120),
            response_bytes: Some(2_000_000),
        },
        status: Some(outcome.name()),
    };
    let mut cases = vec![
        call("tools/call", Some("add"), Outcome::Ok, Some(200_000)),
        call("tools/call", Some("echo"), Outcome::ToolError, Some(61_000_000)),
        call("tools/call", Some("élan"), Outcome::TimedOut, None),
        call("ping", None, Outcome::ProtocolError, Some(99)),
        call("tools/list", None, Outcome::Crashed, Some(2_000_000)),
        call("initialize", None, Outcome::Pending, None),
    ];
    cases.push(Case {
        subject: Subject {
            direction: Some(Direction::ServerToClient),
            method: Some("sampling/createMessage"),
            server: Some("two words"),
            session: None,
            id: Some("a-70"),
            outcome: Some(Outcome::Cancelled),
            request_bytes: Some(5_000),
            response_bytes: None,
            ..Subject::default()
        },
        status: Some("cancelled"),
    });
    cases.push(Case { subject: Subject::default(), status: None });
    cases
}

fn row(case: &Case) -> Value {
    let subject = &case.subject;
    let direction = subject.direction.map(|direction| match direction {
        Direction::ClientToServer => "in",
        Direction::ServerToClient => "out",
    });
    json!({
        "method": subject.method,
        "tool": subject.tool,
        "status": case.status,
        "direction": direction,
        "session": subject.session,
        "server": subject.server,
        "id": subject.id,
        "latencyUs": subject.latency_us,
        "requestBytes": subject.request_bytes,
        "responseBytes": subject.response_bytes,
    })
}

fn verdict(text: &str, cases: &[Case]) -> Value {
    match Filter::parse(text) {
        Ok(filter) => {
            let passes = |case: &Case| filter.matches(&case.subject, |needle| TEXT.contains(&needle.text));
            json!({ "filter": text, "matches": cases.iter().map(passes).collect::<Vec<bool>>() })
        }
        Err(error) => {
            let place = [error.span.start, error.span.end];
            json!({ "filter": text, "error": error.what, "span": place })
        }
    }
}

#[test]
fn the_page_filters_as_the_program_does() {
    let cases = cases();
    let verdicts = FILTERS.iter().chain(&MISTAKES).map(|text| verdict(text, &cases));
    let vectors = json!({
        "text": TEXT,
        "subjects": cases.iter().map(row).collect::<Vec<_>>(),
        "filters": verdicts.collect::<Vec<_>>(),
    });
    let text = format!("{vectors:#}\n");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/report/filter-vectors.json");
    if std::env::var_os("WIRETAPE_UPDATE_DOCS").is_some() {
        fs::write(&file, &text).expect("the cases can be written");
    }
    assert!(
        fs::read_to_string(&file).unwrap_or_default() == text,
        "filter-vectors.json is stale: WIRETAPE_UPDATE_DOCS=1 cargo test -p wiretape-view --test filters"
    );
}
