//! Finds OAuth discovery in a trace: a 401 whose `WWW-Authenticate` names the protected resource metadata or a scope. Whether
//! the login works is not checked.

use wiretape_trace::challenge::parameters;
use wiretape_trace::format::{HeaderValues, HttpContext};

/// Which parts of an OAuth discovery are visible in a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discovery {
    /// A challenge has `resource_metadata`.
    pub resource_metadata: bool,
    /// A challenge has `scope`.
    pub scope: bool,
}

impl Discovery {
    /// Whether any part of the discovery is in the trace.
    pub fn is_visible(self) -> bool {
        self.resource_metadata || self.scope
    }

    /// Observes the HTTP part of a line.
    pub fn observe(&mut self, http: &HttpContext) {
        if let Some(response) = http.response.as_ref().filter(|response| response.status == 401) {
            match response.headers.get("www-authenticate") {
                Some(HeaderValues::One(value)) => self.challenge(value),
                Some(HeaderValues::Many(values)) => values.iter().for_each(|value| self.challenge(value)),
                None => {}
            }
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
            format!("{{\"response\":{{\"status\":{status},\"headers\":{{\"www-authenticate\":{header}}}}}}}")
        };
        check(&of("401", "Bearer resource_metadata=\"https://x\", scope=\"a b\""), true, true);
        check(&of("401", "bearer SCOPE = a"), false, true);
        check(&of("403", "Bearer scope=\"a\""), false, false);
        check(&of("401", "Bearer realm=\"scope=x, resource_metadata=y\""), false, false);
        check(&of("401", "Basic realm=\"a\\\" scope=\", Bearer error=\"e\", Scope=\"s\""), false, true);
        check(&of("401", "Bearer xscope=1, resource_metadata_uri=2"), false, false);
        let lines = r#"{"response":{"status":401,"headers":{"www-authenticate":["Basic realm=x","Bearer scope=y"]}}}"#;
        check(lines, false, true);
        check(r#"{"context":{"status":401,"headers":{"WWW-Authenticate":"Bearer scope=x"}}}"#, false, false);
    }
}
