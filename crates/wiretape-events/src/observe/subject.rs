//! The resource or prompt that a request is about, where that is not a tool.

use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// The URI of the resource, or the name of the prompt, in a request.
pub(crate) fn subject(envelope: &Envelope<'_>) -> Option<String> {
    let params = || Value::parse(envelope.params?).ok();
    let text = |value: Value<'_>, name| Some(value.get(name)?.string()?.into_owned());
    match envelope.method.as_deref()? {
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => text(params()?, "uri"),
        "prompts/get" => envelope.name.as_deref().map(str::to_owned),
        "completion/complete" => {
            let reference = params()?.get("ref")?;
            text(reference, "uri").or_else(|| text(reference, "name"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_it_is_for() {
        let check = |method: &str, params: &str, expected: Option<&str>| {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
            assert_eq!(subject(&Envelope::scan(message.as_bytes())).as_deref(), expected, "{message}");
        };
        check("resources/read", r#"{"uri":"file:///a"}"#, Some("file:///a"));
        check("resources/subscribe", r#"{"uri":"file:///a"}"#, Some("file:///a"));
        check("prompts/get", r#"{"name":"greet"}"#, Some("greet"));
        check("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"greet"}}"#, Some("greet"));
        check("completion/complete", r#"{"ref":{"type":"ref/resource","uri":"x://{a}"}}"#, Some("x://{a}"));
        check("tools/call", r#"{"name":"add","uri":"x"}"#, None);
        check("resources/read", r#"{"uri":1}"#, None);
        check("resources/read", "1", None);
    }
}
