//! The resource or prompt that a request is about, where that is not a tool.

use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// What the requests of a method are about.
#[derive(Clone, Copy)]
enum SubjectKind {
    Resource,
    Prompt,
    /// Either, by a reference.
    Reference,
}

impl SubjectKind {
    fn of(method: &str) -> Option<Self> {
        match method {
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some(SubjectKind::Resource),
            "prompts/get" => Some(SubjectKind::Prompt),
            "completion/complete" => Some(SubjectKind::Reference),
            _ => None,
        }
    }
}

/// The URI of the resource, or the name of the prompt, in a request.
pub(crate) fn subject(envelope: &Envelope<'_>) -> Option<String> {
    let params = || Value::parse(envelope.params?).ok();
    let text = |value: Value<'_>, name| Some(value.get(name)?.string()?.into_owned());
    match SubjectKind::of(envelope.method.as_deref()?)? {
        SubjectKind::Resource => text(params()?, "uri"),
        SubjectKind::Prompt => envelope.name.as_deref().map(str::to_owned),
        SubjectKind::Reference => {
            let reference = params()?.get("ref")?;
            text(reference, "uri").or_else(|| text(reference, "name"))
        }
    }
}

/// The same for a message whose method is known. Nearly all calls are of tools, whose messages need no scan.
pub(crate) fn subject_of(method: &str, message: &[u8]) -> Option<String> {
    SubjectKind::of(method)?;
    subject(&Envelope::scan(message))
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
