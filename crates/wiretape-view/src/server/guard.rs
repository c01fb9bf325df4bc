//! Access control: the token, `Host` and `Origin`.

use super::App;
use super::answer::Refusal;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::SocketAddr;
use std::sync::Arc;

/// Accepts requests that have the token and come from this server's own page.
pub(crate) struct Guard {
    token: String,
    /// The accepted values of `Host`.
    hosts: Vec<String>,
    address: SocketAddr,
}

impl Guard {
    /// A guard with a new random token.
    pub(crate) fn new(address: SocketAddr) -> Result<Self, getrandom::Error> {
        // 128 random bits: guessing is hopeless even for a local process that can try all day.
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let hosts = vec![address.to_string(), format!("localhost:{}", address.port())];
        Ok(Guard { token, hosts, address })
    }

    /// The page's address with the token.
    pub(crate) fn page(&self) -> PageAddress {
        PageAddress { base: format!("http://{}/", self.address), token: self.token.clone() }
    }

    fn check(&self, headers: &HeaderMap, is_api: bool) -> Result<(), Refusal> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        // Against DNS rebinding: a foreign name that resolves to 127.0.0.1 has another `Host`.
        if !text(HOST).is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            let hint = format!("open http://{}/", self.address);
            return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "unexpected Host header").hint(hint));
        }
        let is_own = |origin: &str| {
            origin.strip_prefix("http://").is_some_and(|host| self.hosts.iter().any(|own| own == host))
        };
        // Browsers send `Origin` with cross-site requests that could have side effects; other clients don't
        // send it at all.
        if text(ORIGIN).is_some_and(|origin| !is_own(origin)) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "requests from other sites are not allowed"));
        }
        // The document and its script contain nothing secret, and the browser has to load them before it can
        // send the token.
        if !is_api {
            return Ok(());
        }
        // A second line of defense, for requests without `Origin` such as images.
        let site = text(HeaderName::from_static("sec-fetch-site"));
        if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "requests from other sites are not allowed"));
        }
        let token = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if token.is_some_and(|token| is_equal(token.as_bytes(), self.token.as_bytes())) {
            return Ok(());
        }
        let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "missing or wrong token");
        Err(refusal.hint("use the address that `wiretape view` printed"))
    }
}

/// The page's address. The part after `#` stays in the browser, so no log and no other server sees the token.
#[derive(Debug, Clone)]
pub struct PageAddress {
    base: String,
    token: String,
}

impl PageAddress {
    /// The address of the home page.
    pub fn home(&self) -> String {
        format!("{}#token={}", self.base, self.token)
    }

    /// The address of traces merged by time; each is named by its id or the path given to the server.
    pub fn traces(&self, traces: &[String]) -> String {
        self.asking("trace", traces)
    }

    /// The address of the comparison of two traces.
    pub fn diff(&self, traces: &[String]) -> String {
        self.asking("diff", traces)
    }

    fn asking(&self, what: &str, traces: &[String]) -> String {
        let names: String = form_urlencoded::byte_serialize(traces.join(";").as_bytes()).collect();
        format!("{}?{what}={names}#token={}", self.base, self.token)
    }
}

/// Compares in constant time, so that response times don't reveal a prefix of the token.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Checks each request, and adds the security headers to each response.
pub(crate) async fn check_access(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match app.guard.check(request.headers(), is_api) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The security headers of every response.
const ALWAYS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new("127.0.0.1:4000".parse().unwrap()).unwrap()
    }

    fn check(headers: &[(&'static str, &str)], is_api: bool) -> u16 {
        let guard = guard();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = value.replace("TOKEN", &guard.token);
            map.insert(HeaderName::from_static(name), value.parse().unwrap());
        }
        guard.check(&map, is_api).map_or_else(|refusal| refusal.status().as_u16(), |()| 200)
    }

    #[test]
    fn only_who_knows_the_token_is_let_in() {
        let host = ("host", "127.0.0.1:4000");
        let token = ("authorization", "Bearer TOKEN");
        assert_eq!(check(&[host], false), 200);
        assert_eq!(check(&[("host", "localhost:4000")], false), 200);
        assert_eq!(check(&[host], true), 401);
        assert_eq!(check(&[host, ("authorization", "Bearer 0")], true), 401);
        assert_eq!(check(&[host, token], true), 200);
        assert_eq!(check(&[host, token, ("origin", "http://127.0.0.1:4000")], true), 200);
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let host = ("host", "127.0.0.1:4000");
        let token = ("authorization", "Bearer TOKEN");
        assert_eq!(check(&[("host", "evil.example"), token], true), 421);
        assert_eq!(check(&[("host", "evil.example:4000")], false), 421);
        assert_eq!(check(&[token], true), 421);
        for origin in ["http://evil.example", "null", "http://127.0.0.1:5000", "https://127.0.0.1:4000"] {
            assert_eq!(check(&[host, token, ("origin", origin)], true), 403, "{origin}");
        }
        assert_eq!(check(&[host, token, ("sec-fetch-site", "cross-site")], true), 403);
        assert_eq!(check(&[host, token, ("sec-fetch-site", "same-site")], true), 403);
    }
}
