//! A request as a curl command.

use wiretape_trace::format::{HeaderValues, HttpRequest};

/// Headers that curl sets itself, or that belong to the connection.
const LEFT_OUT: [&str; 8] = [
    "content-length",
    "connection",
    "host",
    "accept-encoding",
    "user-agent",
    "transfer-encoding",
    "keep-alive",
    "expect",
];

/// The limit of an inline body in bytes; a longer one is read from a file.
const LONGEST_BODY: usize = 100_000;

/// The curl command. Redacted secrets are not in it.
pub(crate) fn command(request: &HttpRequest, body: &[u8]) -> String {
    let mut words = vec![format!("curl -X {} {}", quoted(&request.method), quoted(&url(request)))];
    for (name, values) in &request.headers {
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        words.extend(values_of(values).map(|value| format!("-H {}", quoted(&format!("{name}: {value}")))));
    }
    // Command lines have a limit (128 KiB for one argument on Linux).
    if body.len() > LONGEST_BODY {
        words.push("--data-binary @request.json".to_owned());
    } else if !body.is_empty() {
        words.push(format!("--data-binary {}", quoted(&String::from_utf8_lossy(body))));
    }
    words.join(" \\\n  ")
}

/// The URL: the recorded target, or built from the `Host`.
pub(crate) fn url(request: &HttpRequest) -> String {
    if !request.target.starts_with('/') {
        return request.target.clone();
    }
    // The scheme is not recorded.
    let host = request.headers.get("host").and_then(|values| values_of(values).next());
    format!("http://{}{}", host.unwrap_or("localhost"), request.target)
}

pub(crate) fn values_of(values: &HeaderValues) -> impl Iterator<Item = &str> {
    match values {
        HeaderValues::One(value) => std::slice::from_ref(value).iter(),
        HeaderValues::Many(values) => values.iter(),
    }
    .map(String::as_str)
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, headers: &[(&str, &str)]) -> HttpRequest {
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), HeaderValues::One((*value).to_owned())));
        HttpRequest {
            method: "POST".to_owned(),
            target: target.to_owned(),
            headers: headers.collect(),
            ..HttpRequest::default()
        }
    }

    #[test]
    fn a_request_can_be_sent_again() {
        let request = request(
            "/mcp?a=1",
            &[
                ("accept", "application/json, text/event-stream"),
                ("host", "127.0.0.1:80"),
                ("content-length", "9"),
            ],
        );
        let expected = "curl -X POST 'http://127.0.0.1:80/mcp?a=1' \\\n  -H 'accept: application/json, text/event-stream' \\\n  --data-binary '{\"a\":\"it'\\''s $HOME\"}'";
        assert_eq!(command(&request, br#"{"a":"it's $HOME"}"#), expected);
    }

    #[test]
    fn nothing_in_a_request_runs_in_a_shell() {
        let request = request("http://h/$(reboot)", &[("x-a", "`reboot`; reboot\nreboot")]);
        let command = command(&request, b"");
        assert_eq!(command, "curl -X POST 'http://h/$(reboot)' \\\n  -H 'x-a: `reboot`; reboot\nreboot'");
    }
}
