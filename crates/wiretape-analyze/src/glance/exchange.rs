//! Describes HTTP exchanges on one line.

use super::units::duration;
use wiretape_trace::format::{Ended, Exchange, ExchangeProgress, HttpContext, OtherText};

/// The description of an exchange.
#[derive(Debug, PartialEq, Eq)]
pub struct Description {
    /// The text, on one line.
    pub text: String,
    /// Whether it is an error that deserves attention.
    pub trouble: bool,
}

/// `POST /mcp → 401`, and how it ended unless it completed normally.
pub fn describe_exchange(exchange: &Exchange<'_>) -> Description {
    let http = HttpContext::parse(exchange.http);
    let mut text = match &http.request {
        Some(request) => format!("http│ {} {}", request.method, request.target),
        None if http.context.is_some() => "http│ transport context".to_owned(),
        None => format!("http│ exchange {}", http.x),
    };
    if let Some(status) = http.context.as_ref().and_then(|context| context["status"].as_u64()) {
        text.push_str(&format!(" → {status}"));
    }
    if let Some(response) = &http.response {
        text.push_str(&format!(" → {}", response.status));
    }
    let ended = http.ended();
    match http.ended {
        None | Some(ExchangeProgress::Ended(Ended::Complete)) => {}
        Some(ExchangeProgress::Open) => text.push_str(", stream opened"),
        Some(ExchangeProgress::Ended(other)) => {
            text.push_str(&format!(", {}", other.name().replace('-', " ")));
        }
    }
    if let Some(error) = &http.error {
        text.push_str(&format!(": {error}"));
    }
    if let Some(us) = http.duration_us {
        text.push_str(&format!(" ({})", duration(us)));
    }
    if let Some(said) = http.response_body.as_ref().and_then(|body| body.text.as_deref()) {
        text.push_str(&format!("  {}", one_line(said)));
    }
    let failed = http.response.is_some_and(|response| response.status >= 400);
    let trouble = failed || !matches!(ended, None | Some(Ended::Complete | Ended::Upgraded | Ended::Stopped));
    Description { text, trouble }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name of an SSE event without a message.
pub fn event_name(text: &OtherText<'_>) -> String {
    let sse = text.http.map(HttpContext::parse).and_then(|http| http.sse).unwrap_or_default();
    match (sse.event, sse.id) {
        (Some(event), _) => format!("event {event}"),
        (None, Some(id)) => format!("event id {id}"),
        (None, None) => "not JSON".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::format::Stamp;

    fn check(http: &str, expected: &str, trouble: bool) {
        let exchange = Exchange { stamp: Stamp::default(), session: None, http: http.as_bytes() };
        assert_eq!(describe_exchange(&exchange), Description { text: expected.to_owned(), trouble });
    }

    #[test]
    fn exchanges_in_words() {
        check(
            r#"{"x":1,"request":{"method":"POST","target":"/mcp"},"response":{"status":401},"ended":"complete","durationUs":1500}"#,
            "http│ POST /mcp → 401 (1.50ms)",
            true,
        );
        check(r#"{"context":{"status":401}}"#, "http│ transport context → 401", false);
        check(r#"{"x":2,"response":{"status":202},"ended":"complete"}"#, "http│ exchange 2 → 202", false);
        check(
            r#"{"x":3,"request":{"method":"GET","target":"/mcp"},"response":{"status":200},"ended":"open"}"#,
            "http│ GET /mcp → 200, stream opened",
            false,
        );
        check(
            r#"{"x":4,"ended":"unreachable","error":"connection refused"}"#,
            "http│ exchange 4, unreachable: connection refused",
            true,
        );
    }
}
