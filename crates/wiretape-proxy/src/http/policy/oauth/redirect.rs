//! Redirects: those of authorization endpoints, and all others of the upstream.

use super::origins::Origins;
use super::parameters;
use super::url::{Url, path_of};

/// The `Location` of an upstream's response for the client; `None` if it is unchanged.
///
/// A URL of the upstream becomes ours. A redirect back to the client gets the issuer (RFC 9207) that the client knows.
pub(super) fn location(value: &[u8], origins: &Origins) -> Option<Vec<u8>> {
    let text = str::from_utf8(value).ok()?;
    let translated = match Url::parse(text).and_then(|url| origins.to_public(&url)) {
        Some(translated) => translated,
        None => edit_iss(text, |iss| origins.to_public(&Url::parse(iss)?))?,
    };
    Some(translated.into_bytes())
}

/// A browser's request for an authorization endpoint.
///
/// People log in at the authorization server's own site, where their cookies, passkeys and password managers work, and where the
/// login may lead to other sites and back. So the browser is redirected there. Only where no user interaction is needed can the
/// response come through us, with the `iss` that the client expects: therefore the proxy first probes the endpoint itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthorizationRequest {
    /// The authorization server's own URL, with the restored `resource`.
    pub(super) url: String,
    /// The client's redirect URI.
    pub(super) redirect_uri: Option<String>,
    /// The issuer as the authorization server spells it, and as the client knows it.
    pub(super) issuer: Option<(String, String)>,
    pub(super) sends_iss: bool,
}

impl AuthorizationRequest {
    /// The URL to probe with GET and without cookies; `None` for a request that must not be sent twice (`request_uri`, RFC 9126)
    /// or whose outcome depends on the browser's session (`prompt=none`).
    pub(crate) fn probe_url(&self) -> Option<&str> {
        let query = self.url.split_once('?')?.1;
        let is_silent = parameters::values(query, "prompt").any(|value| value.contains("none"));
        let is_single_use = parameters::has(query, "request_uri");
        (self.redirect_uri.is_some() && !is_silent && !is_single_use).then_some(&self.url)
    }

    /// The `Location` of the 302 for the browser: the client's redirect URI if the probe was redirected there at once, and
    /// otherwise the authorization server. `status` and `location` are the probe's.
    pub(crate) fn redirect_location(&self, status: u16, location: Option<&[u8]>) -> String {
        let location = location.filter(|_| (300..400).contains(&status));
        let location = location.and_then(|bytes| str::from_utf8(bytes).ok());
        let Some(location) = location.filter(|location| self.leads_back(location)) else {
            return self.url.clone();
        };
        edit_iss(location, |iss| self.public_issuer(iss)).unwrap_or_else(|| location.to_owned())
    }

    /// Whether a client that checks `iss` will refuse the login, because the browser was redirected to the authorization server,
    /// which sends its own `iss`. The user should be warned.
    pub(crate) fn is_refused_by_strict_clients(&self, answer: &str) -> bool {
        self.sends_iss && answer == self.url
    }

    fn leads_back(&self, location: &str) -> bool {
        let Some(redirect_uri) = &self.redirect_uri else { return false };
        // The query is the response itself; a final slash is added by some servers.
        let place = |url| path_of(url).trim_end_matches('/').to_owned();
        place(location) == place(redirect_uri) && is_authorization_response(location)
    }

    /// The client's name for an `iss`. Compared as text, as the client does (RFC 9207, section 2.4): an `iss` that would be
    /// wrong without us stays wrong.
    fn public_issuer(&self, iss: &str) -> Option<String> {
        let (own, public) = self.issuer.as_ref()?;
        (own == iss).then(|| public.clone())
    }
}

fn edit_iss(url: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (before, query) = url.split_once('?')?;
    let (query, fragment) = query.find('#').map_or((query, ""), |at| query.split_at(at));
    if !is_authorization_response(url) {
        return None;
    }
    let query = parameters::edit(query, |name, value| if name == "iss" { change(value) } else { None })?;
    Some(format!("{before}?{query}{fragment}"))
}

/// Whether a URL carries an authorization response (RFC 6749, sections 4.1.2 and 4.1.2.1).
fn is_authorization_response(url: &str) -> bool {
    let query = url.split('#').next().and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    parameters::has(query, "code") || parameters::has(query, "error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_of_the_upstream_lead_to_us() {
        let check = |value: &str, expected: Option<&str>| {
            let origins = Origins::new("http://127.0.0.1:3004", "https://up.example/mcp").unwrap();
            let told = location(value.as_bytes(), &origins);
            assert_eq!(told.as_deref(), expected.map(str::as_bytes), "{value}");
        };
        check("https://up.example/mcp/", Some("http://127.0.0.1:3004/mcp/"));
        check("https://127.0.0.1:3004/mcp/", Some("http://127.0.0.1:3004/mcp/"));
        check("/mcp/", None);
        check("http://127.0.0.1:3004/mcp/", None);
        check("https://idp.example/?redirect_uri=https://up.example/callback", None);
        check(
            "http://localhost:1234/cb?code=a%20b&iss=https%3A%2F%2Fup.example&state=c#d",
            Some("http://localhost:1234/cb?code=a%20b&iss=http%3A%2F%2F127.0.0.1%3A3004&state=c#d"),
        );
        check(
            "app://cb?error=x&iss=https://up.example/tenant",
            Some("app://cb?error=x&iss=http%3A%2F%2F127.0.0.1%3A3004%2Ftenant"),
        );
        // Not an answer, or not of the upstream.
        check("http://localhost:1234/cb?iss=https://up.example", None);
        check("http://localhost:1234/cb?code=a&iss=https://evil.example", None);
        check("http://localhost:1234/cb?code=a#iss=https://up.example", None);
        check("\u{fffd}", None);
    }

    fn request(query: &str) -> AuthorizationRequest {
        AuthorizationRequest {
            url: format!("https://as.example/authorize?{query}"),
            redirect_uri: Some("http://localhost:1234/cb".to_owned()),
            issuer: Some(("https://as.example".to_owned(), "http://127.0.0.1:3004/as".to_owned())),
            sends_iss: true,
        }
    }

    #[test]
    fn an_answer_for_the_client_is_passed_on() {
        let check = |location: &str, expected: &str| {
            assert_eq!(request("a=b").redirect_location(302, Some(location.as_bytes())), expected);
        };
        check("http://localhost:1234/cb?code=a&state=b", "http://localhost:1234/cb?code=a&state=b");
        check("http://localhost:1234/cb/?code=a", "http://localhost:1234/cb/?code=a");
        check(
            "http://localhost:1234/cb?code=a&iss=https%3A%2F%2Fas.example",
            "http://localhost:1234/cb?code=a&iss=http%3A%2F%2F127.0.0.1%3A3004%2Fas",
        );
        check(
            "http://localhost:1234/cb?error=invalid_scope&iss=https://as.example",
            "http://localhost:1234/cb?error=invalid_scope&iss=http%3A%2F%2F127.0.0.1%3A3004%2Fas",
        );
        // What the client would refuse without us, it refuses.
        for iss in [
            "https://as.example/",
            "https://AS.example",
            "https://evil.example",
            "",
            "https://as.example:443",
        ] {
            let location = format!("http://localhost:1234/cb?code=a&iss={iss}");
            check(&location, &location);
        }
    }

    #[test]
    fn whoever_must_be_asked_is_asked_at_the_authorization_server() {
        let check = |status: u16, location: Option<&str>| {
            let answer = request("a=b").redirect_location(status, location.map(str::as_bytes));
            assert_eq!(answer, "https://as.example/authorize?a=b");
            assert!(request("a=b").is_refused_by_strict_clients(&answer));
        };
        check(200, None);
        check(500, None);
        check(302, None);
        check(200, Some("http://localhost:1234/cb?code=a"));
        check(302, Some("https://as.example/login?error=x"));
        check(302, Some("/login"));
        check(302, Some("http://localhost:1234/cb"));
        check(302, Some("http://localhost:1234/cb.evil?code=a"));
        check(302, Some("http://localhost:1234/other?code=a"));
        check(302, Some("http://localhost:12345/cb?code=a"));
        check(302, Some("http://localhost:1234@evil.example/cb?code=a"));
    }

    #[test]
    fn what_may_be_asked_only_once_is_left_to_the_browser() {
        assert_eq!(request("a=b").probe_url(), Some("https://as.example/authorize?a=b"));
        assert_eq!(request("request_uri=urn:x").probe_url(), None);
        assert_eq!(request("prompt=none").probe_url(), None);
        assert_eq!(
            request("prompt=consent").probe_url(),
            Some("https://as.example/authorize?prompt=consent")
        );
        assert_eq!(AuthorizationRequest { redirect_uri: None, ..request("a=b") }.probe_url(), None);
    }
}
