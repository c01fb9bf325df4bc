//! The schemas of params and results, by method and revision.
//!
//! They are the JSON Schemas of the specification without descriptions, in the files of `shapes/`. `cargo xtask shapes`
//! takes them from the crate `rust-mcp-schema`; none is written by hand.

use super::revision::Revision;
use super::schema::{Misfit, Schema};
use parking_lot::Mutex;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The schemas of one revision.
struct Shapes {
    definitions: Map<String, Json>,
    /// The name of the definition of each method's request or notification.
    messages: BTreeMap<String, String>,
}

static ALL: LazyLock<BTreeMap<Revision, Shapes>> = LazyLock::new(|| {
    let files = [
        (Revision::V2024_11_05, include_str!("shapes/2024-11-05.json")),
        (Revision::V2025_03_26, include_str!("shapes/2025-03-26.json")),
        (Revision::V2025_06_18, include_str!("shapes/2025-06-18.json")),
        (Revision::V2025_11_25, include_str!("shapes/2025-11-25.json")),
        (Revision::V2026_07_28, include_str!("shapes/2026-07-28.json")),
    ];
    files.into_iter().map(|(revision, text)| (revision, Shapes::parse(text))).collect()
});

/// Compiled schemas. Each is compiled on first use: a trace needs a few of one or two revisions.
static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// Compiled schemas by revision and definition name; `None` if the definition doesn't exist.
type Compiled = BTreeMap<(Revision, String), Option<Arc<Schema>>>;

impl Shapes {
    fn parse(text: &str) -> Self {
        let definitions: Map<String, Json> = serde_json::from_str(text)
            .expect("the files are part of the program, and the tests parse and compile each");
        let messages = definitions
            .iter()
            // The specification's schemas name definitions after their role; only these two have a method.
            .filter(|(name, _)| name.ends_with("Request") || name.ends_with("Notification"))
            .filter_map(|(name, schema)| {
                let method = schema.pointer("/properties/method/const")?.as_str()?;
                Some((method.to_owned(), name.clone()))
            })
            .collect();
        Shapes { definitions, messages }
    }
}

/// Whether a revision defines a method.
pub fn has_method(revision: Revision, method: &str) -> bool {
    ALL[&revision].messages.contains_key(method)
}

/// Whether any revision defines a request with this method.
pub fn is_request_method(method: &str) -> bool {
    ALL.values().any(|shapes| shapes.messages.get(method).is_some_and(|name| name.ends_with("Request")))
}

/// The revisions that define a method.
pub fn revisions_with(method: &str) -> Vec<Revision> {
    Revision::ALL.into_iter().filter(|revision| has_method(*revision, method)).collect()
}

/// The schema violations in the params of a message; pointers start at the message.
pub(crate) fn params_misfits(revision: Revision, method: &str, message: &Json) -> Vec<Misfit> {
    let Some(name) = ALL[&revision].messages.get(method) else { return Vec::new() };
    // The rest of the message has its own rules.
    let is_about_params = |misfit: &Misfit| {
        misfit.pointer.starts_with("/params")
            || (misfit.pointer.is_empty() && misfit.message.contains("\"params\""))
    };
    check(revision, name, message).into_iter().filter(is_about_params).collect()
}

/// The schema violations in a result; pointers start at the result.
pub(crate) fn result_misfits(revision: Revision, method: &str, result: &Json) -> Vec<Misfit> {
    let Some(name) = result_shape(revision, method, result) else { return Vec::new() };
    check(revision, &name, result)
}

fn result_shape(revision: Revision, method: &str, result: &Json) -> Option<String> {
    let shapes = &ALL[&revision];
    let request = shapes.messages.get(method).filter(|name| name.ends_with("Request"))?;
    match result.get("resultType").and_then(Json::as_str).filter(|_| revision.is_stateless()) {
        None | Some("complete") => {}
        Some("input_required") => return Some("InputRequiredResult".to_owned()),
        // A result type of an extension, whose schema is unknown.
        Some(_) => return None,
    }
    // Tasks were experimental and existed in this revision only.
    if revision == Revision::V2025_11_25 && method == "tools/call" && result.get("task").is_some() {
        return Some("CreateTaskResult".to_owned());
    }
    // By the naming convention of the schema: `ListToolsRequest` is answered by `ListToolsResult`. Methods without a
    // result of their own, such as `ping`, are answered by `EmptyResult`.
    let own = format!("{}Result", request.strip_suffix("Request")?);
    let name = if shapes.definitions.contains_key(&own) { own } else { "EmptyResult".to_owned() };
    shapes.definitions.contains_key(&name).then_some(name)
}

/// The schema violations in the error of a response; pointers start at the response.
pub(crate) fn error_misfits(revision: Revision, code: i64, response: &Json) -> Vec<Misfit> {
    let name = match (revision, code) {
        (Revision::V2025_11_25, -32042) => "UrlElicitationRequiredError",
        (Revision::V2026_07_28, -32021) => "MissingRequiredClientCapabilityError",
        (Revision::V2026_07_28, -32022) => "UnsupportedProtocolVersionError",
        _ => return Vec::new(),
    };
    let misfits = check(revision, name, response);
    misfits.into_iter().filter(|misfit| misfit.pointer.starts_with("/error")).collect()
}

fn check(revision: Revision, name: &str, value: &Json) -> Vec<Misfit> {
    compiled(revision, name).map(|schema| schema.misfits(value)).unwrap_or_default()
}

fn compiled(revision: Revision, name: &str) -> Option<Arc<Schema>> {
    // A poisoned lock is harmless: entries are inserted whole or not at all.
    let mut compiled = COMPILED.lock();
    let compile = || {
        let definitions = &ALL[&revision].definitions;
        definitions.contains_key(name).then(|| {
            // All definitions, because they refer to each other; only those that are reached get compiled.
            let whole = json!({"$defs": definitions, "$ref": format!("#/$defs/{name}")});
            Schema::compile_trusted(&whole).map(Arc::new)
        })?
    };
    compiled.entry((revision, name.to_owned())).or_insert_with(compile).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles() {
        for revision in Revision::ALL {
            let shapes = &ALL[&revision];
            assert!(shapes.messages.len() > 20, "{revision}: {:?}", shapes.messages);
            for (method, name) in &shapes.messages {
                assert!(compiled(revision, name).is_some(), "{revision} {name}");
                let result = result_shape(revision, method, &json!({}));
                assert_eq!(result.is_some(), name.ends_with("Request"), "{revision} {method}");
                assert!(result.is_none_or(|name| compiled(revision, &name).is_some()), "{revision} {method}");
            }
        }
    }

    fn check_result(revision: Revision, method: &str, result: &Json, expected: &[&str]) {
        let told: Vec<String> = result_misfits(revision, method, result)
            .into_iter()
            .map(|misfit| format!("{} {}", misfit.pointer, misfit.message))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn results_fit_their_methods() {
        let text = json!({"content": [{"type": "text", "text": "x"}]});
        check_result(Revision::V2024_11_05, "tools/call", &text, &[]);
        let typo = json!({"content": [{"type": "text", "txt": "x"}]});
        check_result(
            Revision::V2025_06_18,
            "tools/call",
            &typo,
            &["/content/0 \"text\" is a required property"],
        );
        let strange = json!({"content": [{"type": "smell"}]});
        check_result(
            Revision::V2025_06_18,
            "tools/call",
            &strange,
            &["/content/0 the value is not valid under any of the schemas listed in the 'anyOf' keyword"],
        );
        check_result(Revision::V2025_11_25, "ping", &json!({}), &[]);
        check_result(Revision::V2025_11_25, "own/method", &json!(7), &[]);
    }

    #[test]
    fn methods_are_known_by_revision() {
        assert!(has_method(Revision::V2025_11_25, "initialize"));
        assert!(!has_method(Revision::V2026_07_28, "initialize"));
        assert!(is_request_method("tools/call") && !is_request_method("notifications/progress"));
        assert_eq!(revisions_with("server/discover"), [Revision::V2026_07_28]);
    }
}
