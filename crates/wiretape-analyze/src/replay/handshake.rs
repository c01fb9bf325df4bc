//! `initialize` and `server/discover`: answered for every client, whatever was recorded. Any client must be able to connect,
//! with another name, version or revision than the recorded one.

use super::edit::replaced;
use super::tape::{Payloads, Recorded, Tape};
use crate::call::Outcome;
use crate::lint::Revision;
use serde_json::{Map, Value as Json, json};
use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// JSON-RPC's code for an unknown method.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

/// The revision that a client requests.
pub(super) fn wanted_revision(params: Option<&[u8]>) -> Option<String> {
    let params = Value::parse(params?).ok()?;
    params.get("protocolVersion")?.string().map(std::borrow::Cow::into_owned)
}

/// The best recorded `initialize` for a client: one for the same revision, else the first. A failed one is used only if there
/// is no other.
pub(super) fn recorded_initialize(
    tape: &Tape,
    payloads: &impl Payloads,
    wanted: Option<&str>,
    is_used: impl Fn(u32) -> bool,
) -> Option<u32> {
    let mut bytes = Vec::new();
    let mut is_same = |call: &Recorded| {
        let request = payloads.read(call.request, &mut bytes).ok();
        let asked_for = request.and_then(|()| wanted_revision(Envelope::scan(&bytes).params));
        asked_for.as_deref() == wanted
    };
    best(tape, "initialize", |call| call.outcome == Outcome::Ok, &mut is_same, &is_used)
        .or_else(|| best(tape, "initialize", Recorded::is_answered, &mut is_same, &is_used))
}

/// The best recorded `server/discover` for a client: an equal request, else the first that succeeded.
pub(super) fn recorded_discover(tape: &Tape, key: u64, is_used: impl Fn(u32) -> bool) -> Option<u32> {
    best(tape, "server/discover", |call| call.outcome == Outcome::Ok, |call| call.key() == key, is_used)
}

/// Of the playable calls of a method, the first unused one, else the last; equal requests are preferred.
fn best(
    tape: &Tape,
    method: &str,
    may_be: impl Fn(&Recorded) -> bool,
    mut is_same: impl FnMut(&Recorded) -> bool,
    is_used: impl Fn(u32) -> bool,
) -> Option<u32> {
    let all: Vec<u32> =
        tape.of_method(method).filter(|(_, call)| may_be(call)).map(|(number, _)| number).collect();
    let same: Vec<u32> = all.iter().copied().filter(|number| is_same(tape.call(*number))).collect();
    let candidates = if same.is_empty() { &all } else { &same };
    candidates.iter().copied().find(|number| !is_used(*number)).or_else(|| candidates.last().copied())
}

/// A recorded answer to `initialize` for a client that requests this revision: a known older one is accepted, a newer one is
/// answered with the recorded revision.
pub(super) fn negotiated(answer: Vec<u8>, wanted: Option<&str>) -> Vec<u8> {
    let recorded = Envelope::scan(&answer).result.and_then(|result| wanted_revision(Some(result)));
    let recorded = recorded.as_deref().and_then(Revision::parse);
    match (wanted.and_then(Revision::parse), recorded) {
        // Most messages are the same across these revisions, and a client disconnects if it can't agree on one.
        (Some(wanted), Some(recorded)) if wanted < recorded => {
            replaced(&answer, &["result", "protocolVersion"], format!("\"{wanted}\"").as_bytes())
        }
        _ => answer,
    }
}

/// A default response to `initialize`, for a trace without one.
pub(super) fn made_up_initialize(tape: &Tape, wanted: Option<&str>) -> Json {
    // A stateless revision has no `initialize`, so it can't be the result of one.
    let wanted = wanted.and_then(Revision::parse).filter(|revision| !revision.is_stateless());
    json!({
        "protocolVersion": wanted.unwrap_or(Revision::V2025_11_25).name(),
        "capabilities": capabilities(tape),
        "serverInfo": server_info(tape),
    })
}

/// A default response to `server/discover`, for a stateless trace without one.
pub(super) fn made_up_discover(tape: &Tape) -> Json {
    json!({
        "resultType": "complete",
        "supportedVersions": [Revision::V2026_07_28.name()],
        "capabilities": capabilities(tape),
        "serverInfo": server_info(tape),
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

fn server_info(tape: &Tape) -> Json {
    let name = if tape.label().is_empty() { "replay" } else { tape.label() };
    json!({ "name": name, "version": "0" })
}

/// The capabilities that the recorded methods imply.
fn capabilities(tape: &Tape) -> Json {
    let mut capabilities = Map::new();
    for kind in tape.kinds() {
        let capability = match kind.method.split('/').next() {
            Some(name @ ("tools" | "prompts" | "resources" | "logging" | "tasks")) => name,
            Some("completion") => "completions",
            _ => continue,
        };
        capabilities.insert(capability.to_owned(), json!({}));
    }
    Json::Object(capabilities)
}
