//! The policies of widgets (MCP Apps): lists of origins in the metadata of resources, from which a host builds its own header.
//! Only these lists are changed, and only in resources that have such metadata; everything else is kept byte for byte.

use crate::http::options::csp::{EffectiveRule, Mode, Rule};
use crate::http::record::resource_requests::{ResourceRequests, each};
use wiretape_trace::splice::Edit;
use wiretape_trace::value::Value;

/// The names of the lists in a result, and of the member that identifies a resource in each.
fn lists(requested: ResourceRequests) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lists = [
        (requested.resources, "resources", "uri"),
        (requested.templates, "resourceTemplates", "uriTemplate"),
        (requested.contents, "contents", "uri"),
    ];
    lists.into_iter().filter(|(is_requested, ..)| *is_requested).map(|(_, list, name)| (list, name))
}

/// The edits of a response, in order. None if it is not JSON.
pub(super) fn edits(message: &[u8], requested: ResourceRequests, rules: &[Rule]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let Ok(value) = Value::parse(message) else { return edits };
    each(value, |answer| {
        for (list, name) in lists(requested) {
            let Some(resources) = answer.at_path(&["result", list]) else { continue };
            resources.elements(|resource| {
                let uri = resource.get(name).and_then(Value::string);
                if let Some(rule) = uri.and_then(|uri| EffectiveRule::of(rules, &uri)) {
                    edit_resource(resource, &rule, &mut edits);
                }
            });
        }
    });
    // A batch may have its lists in any order, and `splice` needs edits in order.
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits
}

fn edit_resource(resource: Value<'_>, rule: &EffectiveRule, edits: &mut Vec<Edit>) {
    let Some(meta) = resource.get("_meta") else { return };
    // Two spellings are in use: that of ChatGPT's apps, and that of the MCP Apps extension. A resource may have both.
    if let Some(policy) = meta.get("openai/widgetCSP") {
        edit_policy(policy, rule, OriginList::openai_name, edits);
    }
    if let Some(policy) = meta.at_path(&["ui", "csp"]) {
        edit_policy(policy, rule, OriginList::ui_name, edits);
    }
}

/// The purpose of a list of origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OriginList {
    Connect,
    Resource,
    Frame,
    BaseUri,
}

impl OriginList {
    const ALL: [OriginList; 4] =
        [OriginList::Connect, OriginList::Resource, OriginList::Frame, OriginList::BaseUri];

    fn of(directive: &str) -> Option<Self> {
        match directive {
            "connect-src" => Some(OriginList::Connect),
            "script-src" | "script-src-elem" | "style-src" | "style-src-elem" | "img-src" | "font-src"
            | "media-src" => Some(OriginList::Resource),
            "frame-src" => Some(OriginList::Frame),
            "base-uri" => Some(OriginList::BaseUri),
            _ => None,
        }
    }

    fn openai_name(self) -> Option<&'static str> {
        match self {
            OriginList::Connect => Some("connect_domains"),
            OriginList::Resource => Some("resource_domains"),
            OriginList::Frame => Some("frame_domains"),
            OriginList::BaseUri => None,
        }
    }

    fn ui_name(self) -> Option<&'static str> {
        match self {
            OriginList::Connect => Some("connectDomains"),
            OriginList::Resource => Some("resourceDomains"),
            OriginList::Frame => Some("frameDomains"),
            OriginList::BaseUri => Some("baseUriDomains"),
        }
    }

    /// The origins that the rules allow in this list; `None` if no rule mentions it.
    fn origins(self, rule: &EffectiveRule) -> Option<Vec<&str>> {
        let mut found: Option<Vec<&str>> = None;
        for (directive, sources) in rule.directives.iter() {
            if OriginList::of(directive.name()) == Some(self) {
                let found = found.get_or_insert_default();
                for origin in sources.iter().filter_map(|source| source.origin()) {
                    if !found.contains(&origin) {
                        found.push(origin);
                    }
                }
            }
        }
        found
    }
}

/// Whether a rule contains anything that a widget's policy can express.
pub(super) fn concerns_widgets(rule: &Rule) -> bool {
    rule.may_be_for_resources()
        && rule.directives.iter().any(|(directive, _)| OriginList::of(directive.name()).is_some())
}

fn edit_policy(
    policy: Value<'_>,
    rule: &EffectiveRule,
    name: fn(OriginList) -> Option<&'static str>,
    edits: &mut Vec<Edit>,
) {
    if !policy.is_object() {
        return;
    }
    let mut missing = Vec::new();
    for kind in OriginList::ALL {
        let (Some(name), Some(origins)) = (name(kind), kind.origins(rule)) else { continue };
        match policy.get(name) {
            Some(list) if list.is_array() => edits.extend(edit_list(list, rule.mode, &origins)),
            Some(list) if list.is_null() && !origins.is_empty() => edits.push((range(list), array(&origins))),
            // A value that is not a list is invalid; it is left to the host.
            Some(_) => {}
            None if origins.is_empty() => {}
            None => missing.push([quoted(name), b":".to_vec(), array(&origins)].concat()),
        }
    }
    if !missing.is_empty() {
        let mut last = None;
        policy.members(|_, value| last = Some(value));
        edits.push(insertion(policy, last, &missing));
    }
}

fn edit_list(list: Value<'_>, mode: Mode, origins: &[&str]) -> Option<Edit> {
    let (mut known, mut last) = (Vec::new(), None);
    list.elements(|element| {
        known.push(element.string());
        last = Some(element);
    });
    let is_known = |origin: &str| known.iter().any(|known| known.as_deref() == Some(origin));
    match mode {
        Mode::Extend => {
            let new: Vec<Vec<u8>> =
                origins.iter().filter(|origin| !is_known(origin)).map(|origin| quoted(origin)).collect();
            (!new.is_empty()).then(|| insertion(list, last, &new))
        }
        Mode::Replace => {
            let is_same = known.len() == origins.len()
                && known.iter().zip(origins).all(|(known, origin)| known.as_deref() == Some(*origin));
            (!is_same).then(|| (range(list), array(origins)))
        }
    }
}

/// Adds items after the last one of a container.
fn insertion(container: Value<'_>, last: Option<Value<'_>>, items: &[Vec<u8>]) -> Edit {
    let items = items.join(&b','.to_owned());
    match last {
        Some(last) => {
            // After the last item instead of a new list: whitespace and the order of the others stay as they are.
            let at = range(last).end;
            (at..at, [b",".to_vec(), items].concat())
        }
        None => {
            let at = container.offset + 1;
            (at..at, items)
        }
    }
}

fn range(value: Value<'_>) -> std::ops::Range<usize> {
    value.offset..value.offset + value.raw.len()
}

fn quoted(text: &str) -> Vec<u8> {
    serde_json::Value::from(text).to_string().into_bytes()
}

fn array(origins: &[&str]) -> Vec<u8> {
    serde_json::Value::from(origins).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::options::csp::tests::rule;
    use proptest::prelude::*;
    use wiretape_trace::splice::splice;

    const READ: ResourceRequests = ResourceRequests { resources: false, templates: false, contents: true };

    fn extend() -> Vec<Rule> {
        let directives: &[(&str, &[&str])] = &[
            ("connect-src", &["'self'", "https://a", "wss://b"]),
            ("img-src", &["https://c", "data:"]),
            ("font-src", &["https://c", "d.example"]),
        ];
        vec![rule(&[], Mode::Extend, directives)]
    }

    fn rewritten(message: &str, asked: ResourceRequests, rules: &[Rule]) -> String {
        String::from_utf8(splice(message.as_bytes(), &edits(message.as_bytes(), asked, rules))).unwrap()
    }

    fn answer(meta: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0", "id":1.0,"result":{{"contents":[{{"uri":"ui://w/a","_meta":{meta},"text":"é\/"}}]}}}}"#
        )
    }

    fn check_with(rules: &[Rule], before: &str, after: &str) {
        assert_eq!(rewritten(&answer(before), READ, rules), answer(after), "{before}");
    }

    fn check(before: &str, after: &str) {
        check_with(&extend(), before, after);
    }

    #[test]
    fn lists_are_extended_by_the_origins_that_they_lack() {
        check(
            r#"{"openai/widgetCSP":{"connect_domains":[ "https:\/\/a" ],"resource_domains":[]}}"#,
            r#"{"openai/widgetCSP":{"connect_domains":[ "https:\/\/a","wss://b" ],"resource_domains":["https://c"]}}"#,
        );
        check(
            r#"{"ui":{"prefersBorder":true,"csp":{ "connectDomains" : ["https://a","wss://b"] }},"x":1}"#,
            r#"{"ui":{"prefersBorder":true,"csp":{ "connectDomains" : ["https://a","wss://b"],"resourceDomains":["https://c"] }},"x":1}"#,
        );
        check(
            r#"{"ui":{"csp":{}},"openai/widgetCSP":{"resource_domains":null}}"#,
            r#"{"ui":{"csp":{"connectDomains":["https://a","wss://b"],"resourceDomains":["https://c"]}},"openai/widgetCSP":{"resource_domains":["https://c"],"connect_domains":["https://a","wss://b"]}}"#,
        );
    }

    #[test]
    fn resources_without_a_policy_are_left_alone() {
        for meta in [
            "{}",
            "null",
            r#"{"ui":{}}"#,
            r#"{"ui":{"csp":"x"}}"#,
            r#"{"openai/widgetCSP":[]}"#,
            r#"{"ui":[]}"#,
        ] {
            check(meta, meta);
        }
        check(
            r#"{"ui":{"csp":{"connectDomains":"https://a","resourceDomains":["https://c"]}}}"#,
            r#"{"ui":{"csp":{"connectDomains":"https://a","resourceDomains":["https://c"]}}}"#,
        );
    }

    #[test]
    fn lists_are_replaced_where_something_is_said_of_them() {
        let rules = [rule(
            &["ui://w/*"],
            Mode::Replace,
            &[("connect-src", &["https://a"]), ("img-src", &["'none'"])],
        )];
        check_with(
            &rules,
            r#"{"ui":{"csp":{"connectDomains":["https://x", 1],"resourceDomains":["https://y"],"frameDomains":["https://z"]}}}"#,
            r#"{"ui":{"csp":{"connectDomains":["https://a"],"resourceDomains":[],"frameDomains":["https://z"]}}}"#,
        );
        let same = r#"{"ui":{"csp":{"connectDomains":[ "https://a" ],"resourceDomains":[ ]}}}"#;
        check_with(&rules, same, same);
    }

    #[test]
    fn rules_are_for_the_resources_that_they_name() {
        let rules = [rule(&["ui://other/**", "/**"], Mode::Extend, &[("connect-src", &["https://a"])])];
        let meta = r#"{"ui":{"csp":{}}}"#;
        check_with(&rules, meta, meta);
        assert!(concerns_widgets(&rules[0]));
        assert!(!concerns_widgets(&rule(&["/**"], Mode::Extend, &[("connect-src", &["https://a"])])));
        assert!(!concerns_widgets(&rule(&[], Mode::Extend, &[("form-action", &["https://a"])])));
    }

    #[test]
    fn every_kind_of_answer_is_known_and_only_what_was_asked_for() {
        let csp = r#""_meta":{"ui":{"csp":{"frameDomains":[]}}}"#;
        let rules = [rule(&[], Mode::Extend, &[("frame-src", &["https://f"]), ("base-uri", &["https://g"])])];
        let new = r#""_meta":{"ui":{"csp":{"frameDomains":["https://f"],"baseUriDomains":["https://g"]}}}"#;
        for (asked, list, name) in [
            (ResourceRequests { resources: true, ..ResourceRequests::default() }, "resources", "uri"),
            (
                ResourceRequests { templates: true, ..ResourceRequests::default() },
                "resourceTemplates",
                "uriTemplate",
            ),
            (ResourceRequests { contents: true, ..ResourceRequests::default() }, "contents", "uri"),
        ] {
            let answer = |csp: &str| {
                format!("[\n{{\"id\":1,\"result\":{{\"{list}\":[{{\"{name}\":\"ui://x\",{csp}}}]}}}}]\n")
            };
            assert_eq!(rewritten(&answer(csp), asked, &rules), answer(new));
            assert_eq!(rewritten(&answer(csp), ResourceRequests::default(), &rules), answer(csp));
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let word = prop::sample::select(vec!["https://a", "x", "", "é\"", "wss://b"]);
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i32>().prop_map(serde_json::Value::from),
            word.prop_map(serde_json::Value::from),
        ];
        let key = prop::sample::select(vec![
            "_meta",
            "ui",
            "csp",
            "openai/widgetCSP",
            "connectDomains",
            "connect_domains",
            "resourceDomains",
            "uri",
            "x",
        ]);
        leaf.prop_recursive(5, 40, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::btree_map(key.clone(), inner, 0..5).prop_map(|map| {
                    map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Value>()
                }),
            ]
        })
    }

    /// The value without the members that may change.
    fn without_policies(mut value: serde_json::Value) -> serde_json::Value {
        let contents = value["result"]["contents"].as_array_mut().unwrap();
        for meta in contents.iter_mut().filter_map(|content| content.get_mut("_meta")?.as_object_mut()) {
            meta.remove("openai/widgetCSP");
            if let Some(ui) = meta.get_mut("ui").and_then(serde_json::Value::as_object_mut) {
                ui.remove("csp");
            }
        }
        value
    }

    proptest! {
        #[test]
        fn nothing_else_changes(metas in prop::collection::vec(json(), 0..4), pretty in any::<bool>()) {
            let contents: Vec<_> = metas.into_iter().map(|meta| serde_json::json!({ "uri": "ui://w/a", "_meta": meta })).collect();
            let message = serde_json::json!({ "id": 1, "result": { "contents": contents } });
            let text = if pretty { serde_json::to_string_pretty(&message) } else { serde_json::to_string(&message) }.unwrap();
            let once = rewritten(&text, READ, &extend());
            let after: serde_json::Value = serde_json::from_str(&once).unwrap();
            prop_assert_eq!(without_policies(after), without_policies(message));
            // Whatever was taken over is there byte for byte, and once is enough.
            let edits = edits(text.as_bytes(), READ, &extend());
            prop_assert!(edits.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
            prop_assert_eq!(rewritten(&once, READ, &extend()), once);
        }

        #[test]
        fn nothing_panics(message in prop::collection::vec(any::<u8>(), 0..80)) {
            edits(&message, READ, &extend());
            ResourceRequests::in_message(&message);
        }
    }
}
