//! Widgets that are served as resources: HTML in the answer to `resources/read`.

use super::request::Call;
use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// The paths of the widgets in a call's answer.
pub(super) fn served(call: &Call) -> Vec<String> {
    match &call.answer {
        Some(answer) if &*call.method == "resources/read" => html_in(&answer.message),
        _ => Vec::new(),
    }
}

fn html_in(answer: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    let result = Envelope::scan(answer).result.and_then(|result| Value::parse(result).ok());
    if let Some(contents) = result.and_then(|result| result.get("contents")) {
        contents.elements(|content| {
            let media = content.get("mimeType").and_then(Value::string);
            if let Some(uri) = content.get("uri").and_then(Value::string)
                && media.is_some_and(|media| is_html(&media))
            {
                paths.push(path_of(&uri));
            }
        });
    }
    paths
}

/// Whether a media type is HTML. Hosts have their own for widgets: `text/html+skybridge`,
/// `text/html;profile=mcp-app`.
fn is_html(media: &str) -> bool {
    let name = media.split([';', '+']).next().unwrap_or_default();
    name.trim().eq_ignore_ascii_case("text/html")
}

/// `/widget/clock.html` for `ui://widget/clock.html`; URIs of other schemes are unchanged.
fn path_of(uri: &str) -> String {
    uri.strip_prefix("ui:/").unwrap_or(uri).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_html_is_a_widget() {
        let check = |contents: &str, expected: &[&str]| {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"contents":{contents}}}}}"#);
            assert_eq!(html_in(answer.as_bytes()), expected, "{contents}");
        };
        check(
            r#"[{"uri":"ui://widget/clock.html","mimeType":"text/html;profile=mcp-app","text":""},{"uri":"file:///a","mimeType":"text/plain"}]"#,
            &["/widget/clock.html"],
        );
        check(
            r#"[{"uri":"https://a/b","mimeType":"Text/HTML+skybridge"},{"uri":"ui://c"}]"#,
            &["https://a/b"],
        );
        check("[]", &[]);
        check("1", &[]);
        assert_eq!(html_in(br#"{"id":1,"error":{"code":1,"message":"no"}}"#), [""; 0]);
    }
}
