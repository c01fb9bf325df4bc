//! What a trace shows of how to log in: an answer 401 whose `WWW-Authenticate` names the document of the protected resource,
//! or a scope. Whether the login works, or should, is not looked at.

use serde_json::Value;
use wiretape_trace::challenge::parameters;
use wiretape_trace::format::{HeaderValues, HttpContext};

/// What is visible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discovery {
    /// A challenge has `resource_metadata`.
    pub resource_metadata: bool,
    /// A challenge has `scope`.
    pub scope: bool,
}

impl Discovery {
    /// Whether anything is.
    pub fn is_visible(self) -> bool {
        self.resource_metadata || self.scope
    }

    /// Takes the context of a line.
    pub fn observe(&mut self, http: &HttpContext) {
        if let Some(response) = http.response.as_ref().filter(|response| response.status == 401) {
            match response.headers.get("www-authenticate") {
                Some(HeaderValues::One(value)) => self.challenge(value),
                Some(HeaderValues::Many(values)) => values.iter().for_each(|value| self.challenge(value)),
                None => {}
            }
        }
        if let Some(context) = http.context.as_ref().filter(|_| http.request.is_none())
            && status(context) == Some(401)
        {
            self.headers(context);
        }
    }

    fn challenge(&mut self, header: &str) {
        let header = header.as_bytes();
        for parameter in parameters(header) {
            match parameter.name(header).as_str() {
                "resource_metadata" => self.resource_metadata = true,
                "scope" => self.scope = true,
                _ => {}
            }
        }
    }

    /// Looks where transcripts have the headers of a response.
    fn headers(&mut self, context: &Value) {
        let Value::Object(members) = context else { return };
        for (name, value) in members {
            match (name.to_ascii_lowercase().as_str(), value) {
                ("www-authenticate", Value::String(header)) => self.challenge(header),
                ("www-authenticate", Value::Array(lines)) => {
                    lines.iter().filter_map(Value::as_str).for_each(|header| self.challenge(header));
                }
                ("headers", Value::Array(pairs)) => pairs.iter().for_each(|pair| self.pair(pair)),
                ("headers" | "response", inner) => self.headers(inner),
                _ => {}
            }
        }
    }

    /// A header as `{"name":…,"value":…}` or `[name, value]`.
    fn pair(&mut self, pair: &Value) {
        let of = |name: &str, at: usize| pair.get(name).or_else(|| pair.get(at)).and_then(Value::as_str);
        if let (Some(name), Some(value)) = (of("name", 0), of("value", 1))
            && name.eq_ignore_ascii_case("www-authenticate")
        {
            self.challenge(value);
        }
    }
}

/// The status, wherever transcripts have it.
fn status(context: &Value) -> Option<u64> {
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let own =
        ["status", "status_code", "http_status"].iter().find_map(|name| context.get(name).and_then(number));
    own.or_else(|| context.get("response").and_then(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(http: &str, resource_metadata: bool, scope: bool) {
        let mut discovery = Discovery::default();
        discovery.observe(&HttpContext::parse(http.as_bytes()));
        assert_eq!(discovery, Discovery { resource_metadata, scope }, "{http}");
    }

    #[test]
    fn only_parameters_of_a_401_are_visible() {
        let of = |status: &str, header: &str| {
            let header = serde_json::Value::from(header);
            format!("{{\"context\":{{\"status\":{status},\"headers\":{{\"WWW-Authenticate\":{header}}}}}}}")
        };
        check(&of("401", "Bearer resource_metadata=\"https://x\", scope=\"a b\""), true, true);
        check(&of("\"401\"", "bearer SCOPE = a"), false, true);
        check(&of("403", "Bearer scope=\"a\""), false, false);
        check(&of("401", "Bearer realm=\"scope=x, resource_metadata=y\""), false, false);
        check(&of("401", "Basic realm=\"a\\\" scope=\", Bearer error=\"e\", Scope=\"s\""), false, true);
        check(&of("401", "Bearer xscope=1, resource_metadata_uri=2"), false, false);
        check(
            r#"{"context":{"status_code":401,"headers":{"www-authenticate":["Basic realm=x","Bearer scope=y"]}}}"#,
            false,
            true,
        );
        check(
            r#"{"context":{"response":{"http_status":401,"headers":[{"name":"WWW-Authenticate","value":"Bearer scope=y"}]}}}"#,
            false,
            true,
        );
        check(
            r#"{"response":{"status":401,"headers":{"www-authenticate":"Bearer resource_metadata=x"}}}"#,
            true,
            false,
        );
        check(
            r#"{"response":{"status":200,"headers":{"www-authenticate":"Bearer resource_metadata=x"}}}"#,
            false,
            false,
        );
        check(r#"{"context":{"headers":{"WWW-Authenticate":"Bearer scope=x"}}}"#, false, false);
    }
}
