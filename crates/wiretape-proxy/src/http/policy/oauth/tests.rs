//! Logins, step by step: what each peer sees.

use super::{AuthorizationRequest, DocumentKind, Origins, Rewriter, Route, may_be_login};
use proptest::prelude::*;
use serde_json::{Value, json};

const UPSTREAM: &str = "https://up.example/mcp";
const PUBLIC: &str = "http://127.0.0.1:3004";
const DOCUMENT: &str = "/.well-known/oauth-protected-resource/mcp";
/// The reserved path of `https://as.example/tenant`.
const TENANT: &str = "/.wiretape/as/https/as.example_2ftenant";

/// A rewriter and the exchange that it is in.
struct Session {
    rewriter: Rewriter,
    origins: Origins,
}

impl Session {
    fn new() -> Self {
        Session::with(UPSTREAM, PUBLIC)
    }

    fn with(upstream: &str, public: &str) -> Self {
        let rewriter = Rewriter::new(upstream).unwrap();
        let origins = rewriter.origins(public).unwrap();
        Session { rewriter, origins }
    }

    /// The answer of the upstream to a request for a document.
    fn document(&mut self, target: &str, json: &str) -> Option<String> {
        let kind = self.rewriter.document_kind(target)?;
        self.edit(&kind, json)
    }

    fn edit(&mut self, kind: &DocumentKind, json: &str) -> Option<String> {
        let told = self.rewriter.document(kind, json.as_bytes(), &self.origins)?;
        Some(String::from_utf8(told).unwrap())
    }

    fn route(&self, method: &str, target: &str) -> Route {
        self.rewriter.route(method, target, &self.origins)
    }

    fn authorization(&self, target: &str) -> AuthorizationRequest {
        match self.route("GET", target) {
            Route::Authorization(request) => request,
            other => panic!("{target}: {other:?}"),
        }
    }

    fn form(&self, route: &Route, form: &str) -> Option<String> {
        let told = self.rewriter.form_body(route, form.as_bytes(), &self.origins)?;
        Some(String::from_utf8(told).unwrap())
    }

    /// Learns `https://as.example/tenant` with all that it has, as the upstream's documents and its own tell it.
    fn learn_tenant(&mut self) {
        self.document(
            DOCUMENT,
            r#"{"resource":"https://up.example/mcp","authorization_servers":["https://as.example/tenant"]}"#,
        );
        let told = self.foreign_document(
            &format!("/.well-known/oauth-authorization-server{TENANT}"),
            r#"{"issuer":"https://as.example/tenant","authorization_endpoint":"https://as.example/a?p=q","token_endpoint":"https://api.as.example/t","authorization_response_iss_parameter_supported":true}"#,
        );
        assert!(told.is_some());
    }

    /// The answer of a foreign authorization server to a request for a path of ours.
    fn foreign_document(&mut self, target: &str, json: &str) -> Option<String> {
        match self.route("GET", target) {
            Route::Document { kind, .. } => self.edit(&kind, json),
            other => panic!("{target}: {other:?}"),
        }
    }
}

#[test]
fn the_protected_resource_is_told_as_ours() {
    let check = |json: &str, expected: Option<&str>| {
        assert_eq!(Session::new().document(DOCUMENT, json).as_deref(), expected, "{json}");
    };
    check(
        r#"{ "resource" : "https://up.example/mcp", "n":1.0, "authorization_servers":["https://up.example"], "x":"https://up.example" }"#,
        Some(
            r#"{ "resource" : "http://127.0.0.1:3004/mcp", "n":1.0, "authorization_servers":["http://127.0.0.1:3004"], "x":"https://up.example" }"#,
        ),
    );
    check(
        r#"{"authorization_servers":["https://as.example/tenant","https://up.example/","ftp://x"],"resource":"https:\/\/UP.example:443"}"#,
        Some(
            r#"{"authorization_servers":["http://127.0.0.1:3004/.wiretape/as/https/as.example_2ftenant","http://127.0.0.1:3004/","ftp://x"],"resource":"http://127.0.0.1:3004"}"#,
        ),
    );
    check(
        r#"{"resource":"https://up.example/","authorization_server":"https://as.example"}"#,
        Some(
            r#"{"resource":"http://127.0.0.1:3004/","authorization_server":"http://127.0.0.1:3004/.wiretape/as/https/as.example"}"#,
        ),
    );
    // Built from the request: ours already, but for the scheme.
    check(
        r#"{"resource":"https://127.0.0.1:3004/mcp","authorization_servers":["https://127.0.0.1:3004"]}"#,
        Some(r#"{"resource":"http://127.0.0.1:3004/mcp","authorization_servers":["http://127.0.0.1:3004"]}"#),
    );
    check(
        r#"{"resource":"http://127.0.0.1:3004/mcp","authorization_servers":["http://127.0.0.1:3004"]}"#,
        None,
    );
}

#[test]
fn a_resource_of_somebody_else_stays_for_the_client_to_refuse() {
    for json in [
        r#"{"resource":"https://victim.example/mcp","authorization_servers":["https://up.example","https://as.example"]}"#,
        r#"{"resource":"https://up.example.victim.example/mcp","authorization_servers":["https://as.example"]}"#,
        r#"{"resource":"https://up.example@victim.example/mcp","authorization_servers":["https://as.example"]}"#,
        r#"{"resource":"https://victim.example/mcp","resource":"https://up.example/mcp","authorization_servers":["https://as.example"]}"#,
        r#"{"resource":["https://up.example/mcp"],"authorization_servers":["https://as.example"]}"#,
        r#"{"resource":null,"authorization_servers":["https://as.example"]}"#,
        r#"{"authorization_servers":["https://as.example"]}"#,
        r#"{"x":{"resource":"https://up.example/mcp"},"authorization_servers":["https://as.example"]}"#,
        r#"[{"resource":"https://up.example/mcp","authorization_servers":["https://as.example"]}]"#,
    ] {
        let mut session = Session::new();
        assert_eq!(session.document(DOCUMENT, json), None, "{json}");
        let known =
            session.route("GET", "/.well-known/oauth-authorization-server/.wiretape/as/https/as.example");
        assert_eq!(known, Route::Nowhere, "{json}");
    }
}

#[test]
fn authorization_servers_that_we_would_not_dial_stay() {
    for issuer in [
        "http://as.example",
        "https://localhost:8443",
        "https://169.254.169.254/latest",
        "https://as.example/a/../b",
        "https://as.example?a=b",
        "https://as.example/#a",
        "https://user@as.example",
        "https://as.example/.wiretape/as/https/x",
        "//as.example",
        "as.example",
    ] {
        let json =
            json!({"resource": "https://victim.example", "authorization_servers": [issuer]}).to_string();
        let json = json.replace("victim", "up");
        let told: Value = serde_json::from_str(&Session::new().document(DOCUMENT, &json).unwrap()).unwrap();
        assert_eq!(told, json!({"resource": PUBLIC, "authorization_servers": [issuer]}), "{issuer}");
    }
}

#[test]
fn challenges_lead_to_our_document_wherever_it_is() {
    let mut session = Session::new();
    let mut check = |header: &str, expected: Option<&str>| {
        let told = session.rewriter.www_authenticate(header.as_bytes(), &session.origins);
        assert_eq!(told.as_deref(), expected.map(str::as_bytes), "{header}");
    };
    check(
        r#"Bearer error="invalid_token", resource_metadata="https://up.example/custom/location.json?a=b""#,
        Some(
            r#"Bearer error="invalid_token", resource_metadata="http://127.0.0.1:3004/custom/location.json?a=b""#,
        ),
    );
    check(r#"Bearer resource_metadata="http://127.0.0.1:3004/reflected.json""#, None);
    check(r#"Bearer resource_metadata="https://evil.example/evil.json""#, None);
    check(
        r#"Bearer resource_metadata="https://up.example/../odd.json""#,
        Some(r#"Bearer resource_metadata="http://127.0.0.1:3004/../odd.json""#),
    );
    let kind = |target: &str| session.rewriter.document_kind(target);
    assert_eq!(kind("/custom/location.json?a=b"), Some(DocumentKind::ProtectedResource));
    assert_eq!(kind("/reflected.json"), Some(DocumentKind::ProtectedResource));
    for other in ["/custom/location.json", "/evil.json", "/../odd.json", "/odd.json", "/mcp"] {
        assert_eq!(kind(other), None, "{other}");
    }
}

#[test]
fn few_places_of_documents_are_kept() {
    let mut session = Session::new();
    for number in 0..100 {
        let header = format!(r#"Bearer resource_metadata="https://up.example/{number}.json""#);
        session.rewriter.www_authenticate(header.as_bytes(), &session.origins);
    }
    let known =
        (0..100).filter(|number| session.rewriter.document_kind(&format!("/{number}.json")).is_some());
    assert_eq!(known.collect::<Vec<_>>(), (84..100).collect::<Vec<_>>());
}

#[test]
fn metadata_of_the_upstream_are_told_as_ours() {
    let check = |target: &str, json: &str, expected: Option<&str>| {
        assert_eq!(Session::new().document(target, json).as_deref(), expected, "{json}");
    };
    check(
        "/.well-known/oauth-authorization-server",
        r#"{"issuer":"https://up.example","authorization_endpoint":"https://up.example/authorize","token_endpoint":"https://up.example/token","registration_endpoint":"https://up.example/register","jwks_uri":"https://up.example/jwks","end_session_endpoint":"https://up.example/logout","scopes_supported":["https://up.example/s"]}"#,
        Some(
            r#"{"issuer":"http://127.0.0.1:3004","authorization_endpoint":"http://127.0.0.1:3004/authorize","token_endpoint":"http://127.0.0.1:3004/token","registration_endpoint":"http://127.0.0.1:3004/register","jwks_uri":"https://up.example/jwks","end_session_endpoint":"https://up.example/logout","scopes_supported":["https://up.example/s"]}"#,
        ),
    );
    // Only what carries a `resource` is fetched from elsewhere through us.
    check(
        "/tenant/.well-known/openid-configuration",
        r#"{"issuer":"https://up.example/tenant","token_endpoint":"https://api.example/token","registration_endpoint":"https://api.example/register"}"#,
        Some(
            r#"{"issuer":"http://127.0.0.1:3004/tenant","token_endpoint":"http://127.0.0.1:3004/.wiretape/as/https/up.example_2ftenant/token","registration_endpoint":"https://api.example/register"}"#,
        ),
    );
    check(
        "/.well-known/openid-configuration",
        r#"{"issuer":"http://127.0.0.1:3004","token_endpoint":"/token"}"#,
        None,
    );
    check("/.well-known/oauth-authorization-server", r#"{"issuer":"https://evil.example"}"#, None);
    check("/.well-known/oauth-authorization-server", r#"{"error":"not_found"}"#, None);
    check("/.well-known/oauth-authorization-server", "<html>", None);
    check("/mcp", r#"{"issuer":"https://up.example"}"#, None);
}

#[test]
fn metadata_of_a_foreign_server_lead_back_to_us() {
    let mut session = Session::new();
    session.learn_tenant();
    let target = format!("/.well-known/openid-configuration{TENANT}");
    let mut check = |json: &str, expected: Option<&str>| {
        assert_eq!(session.foreign_document(&target, json).as_deref(), expected, "{json}");
    };
    check(
        r#"{"issuer":"https://as.example/tenant","authorization_endpoint":"https://as.example/a?p=q","token_endpoint":"https://api.as.example/t","registration_endpoint":"https://as.example/r","pushed_authorization_request_endpoint":"https://as.example/p","device_authorization_endpoint":"https://as.example/d","mtls_endpoint_aliases":{"token_endpoint":"https://mtls.as.example/t"}}"#,
        Some(
            r#"{"issuer":"http://127.0.0.1:3004/.wiretape/as/https/as.example_2ftenant","authorization_endpoint":"http://127.0.0.1:3004/.wiretape/as/https/as.example_2ftenant/authorize","token_endpoint":"http://127.0.0.1:3004/.wiretape/as/https/as.example_2ftenant/token","registration_endpoint":"https://as.example/r","pushed_authorization_request_endpoint":"http://127.0.0.1:3004/.wiretape/as/https/as.example_2ftenant/par","device_authorization_endpoint":"http://127.0.0.1:3004/.wiretape/as/https/as.example_2ftenant/device","mtls_endpoint_aliases":{"token_endpoint":"https://mtls.as.example/t"}}"#,
        ),
    );
    // An issuer that is not the one that was asked stays, for the client to refuse.
    for issuer in
        ["https://evil.example", "https://as.example/tenant/", "https://as.example", "https://up.example"]
    {
        check(&json!({ "issuer": issuer }).to_string(), None);
    }
    // Endpoints that we would not dial stay.
    for endpoint in
        ["http://as.example/t", "https://127.0.0.1/t", "https://as.example/t#x", "https://[::1]/t", "/t"]
    {
        check(&json!({ "token_endpoint": endpoint }).to_string(), None);
    }
}

#[test]
fn the_final_slash_of_a_site_is_forgiven() {
    let mut session = Session::new();
    session.document(
        DOCUMENT,
        r#"{"resource":"https://up.example/mcp","authorization_servers":["https://as.example/"]}"#,
    );
    let told = session.foreign_document(
        "/.well-known/oauth-authorization-server/.wiretape/as/https/as.example_2f",
        r#"{"issuer":"https://as.example"}"#,
    );
    let expected = r#"{"issuer":"http://127.0.0.1:3004/.wiretape/as/https/as.example_2f"}"#;
    assert_eq!(told.as_deref(), Some(expected));
}

#[test]
fn documents_of_foreign_servers_are_found_in_every_form() {
    let mut session = Session::new();
    session.learn_tenant();
    let check = |target: &str, expected: &str| match session.route("GET", target) {
        Route::Document { url, kind } => {
            assert_eq!(url, expected, "{target}");
            let issuer = "https://as.example/tenant".to_owned();
            assert_eq!(kind, DocumentKind::AuthorizationServer { issuer });
        }
        other => panic!("{target}: {other:?}"),
    };
    check(
        &format!("/.well-known/oauth-authorization-server{TENANT}"),
        "https://as.example/.well-known/oauth-authorization-server/tenant",
    );
    check(
        &format!("/.well-known/openid-configuration{TENANT}"),
        "https://as.example/.well-known/openid-configuration/tenant",
    );
    check(
        &format!("{TENANT}/.well-known/openid-configuration?x=y"),
        "https://as.example/tenant/.well-known/openid-configuration",
    );
}

#[test]
fn only_what_was_named_is_reached() {
    let mut session = Session::new();
    session.learn_tenant();
    let check = |method: &str, target: &str, expected: Route| {
        assert_eq!(session.route(method, target), expected, "{method} {target}");
    };
    let nowhere = |method: &str, target: &str| check(method, target, Route::Nowhere);
    let token = Route::Endpoint { url: "https://api.as.example/t".to_owned() };
    check("POST", &format!("{TENANT}/token"), token.clone());
    check("OPTIONS", &format!("{TENANT}/token"), token);

    nowhere("GET", &format!("{TENANT}/token"));
    nowhere("PUT", &format!("{TENANT}/token"));
    nowhere("POST", &format!("{TENANT}/authorize"));
    nowhere("POST", &format!("/.well-known/oauth-authorization-server{TENANT}"));
    // Endpoints that it has not.
    nowhere("POST", &format!("{TENANT}/par"));
    nowhere("POST", &format!("{TENANT}/device"));
    nowhere("GET", TENANT);
    nowhere("GET", &format!("{TENANT}/"));
    nowhere("GET", &format!("{TENANT}/admin"));
    nowhere("POST", &format!("{TENANT}/token/"));
    nowhere("POST", &format!("{TENANT}/token/x"));
    nowhere("POST", &format!("{TENANT}/../token"));
    nowhere("POST", &format!("{TENANT}%2ftoken"));
    nowhere("POST", &format!("{TENANT}//token"));
    // Servers that no document named, although a similar one was.
    for name in
        ["as.example", "as.example_2fTENANT", "as.example_2Ftenant", "as.example_2ftenant_2f", "evil.example"]
    {
        nowhere("POST", &format!("/.wiretape/as/https/{name}/token"));
        nowhere("GET", &format!("/.well-known/oauth-authorization-server/.wiretape/as/https/{name}"));
    }
    nowhere("POST", "/.wiretape/as/http/as.example_2ftenant/token");
    nowhere("GET", "/.wiretape/");
    nowhere("GET", "/.wiretape/as/https/");
    // What is not ours is the upstream's.
    for target in [
        "/",
        "/mcp",
        "/.wiretapes",
        "/%2ewiretape/as",
        "//.wiretape/as",
        "/mcp?/.wiretape/",
        "/x/.wiretape/as",
    ] {
        check("GET", target, Route::Upstream);
    }
}

#[test]
fn a_glance_misses_nothing() {
    let mut session = Session::new();
    session.learn_tenant();
    for target in [
        TENANT.to_owned(),
        "/.wiretape/".to_owned(),
        format!("{TENANT}/token"),
        format!("{TENANT}/.well-known/openid-configuration"),
        format!("/.well-known/openid-configuration{TENANT}"),
    ] {
        assert!(session.route("POST", &target) != Route::Upstream, "{target}");
        assert!(may_be_login(&target), "{target}");
    }
    assert!(may_be_login("/authorize?client_id=a"));
    assert!(!may_be_login("/mcp") && !may_be_login("/messages?sessionId=a"));
}

#[test]
fn an_upstream_can_not_be_reached_as_if_it_were_foreign() {
    let mut session = Session::new();
    session.document("/.well-known/oauth-authorization-server", r#"{"issuer":"https://up.example"}"#);
    let target = "/.well-known/oauth-authorization-server/.wiretape/as/https/up.example";
    assert_eq!(session.route("GET", target), Route::Nowhere);
}

#[test]
fn a_token_request_gets_the_resource_that_the_server_knows() {
    let mut session = Session::new();
    session.learn_tenant();
    let endpoint = session.route("POST", &format!("{TENANT}/token"));
    let check = |route: &Route, form: &str, expected: Option<&str>| {
        assert_eq!(session.form(route, form).as_deref(), expected, "{form}");
    };
    let (ours, theirs) = ("http%3A%2F%2F127.0.0.1%3A3004%2Fmcp", "https%3A%2F%2Fup.example%2Fmcp");
    for route in [&endpoint, &Route::Upstream] {
        check(
            route,
            &format!("grant_type=authorization_code&code=a+b&resource={ours}&code_verifier=c"),
            Some(&format!("grant_type=authorization_code&code=a+b&resource={theirs}&code_verifier=c")),
        );
        check(
            route,
            &format!("client_id=a&resource={ours}&resource={ours}&resource=https://other.example"),
            Some(&format!("client_id=a&resource={theirs}&resource={theirs}&resource=https://other.example")),
        );
        check(route, &format!("grant_type=a&resource={theirs}"), None);
        check(route, &format!("grant_type=a&Resource={ours}&redirect_uri={ours}"), None);
        check(route, "grant_type=a&resource=http://127.0.0.1:3004@evil.example/", None);
        check(route, "grant_type=a&resource=http://127.0.0.1:30045/mcp", None);
        check(route, "grant_type=a&resource=http://localhost:3004/mcp", None);
        check(route, "grant_type=a", None);
        check(route, "", None);
    }
    // The upstream's other forms are its own.
    check(&Route::Upstream, &format!("resource={ours}"), None);
    check(&Route::Nowhere, &format!("grant_type=a&resource={ours}"), None);
    assert_eq!(session.rewriter.form_body(&endpoint, b"resource=\xff", &session.origins), None);
}

#[test]
fn the_resource_gets_the_spelling_that_the_upstream_uses() {
    let check = |resource: &str, expected_at_upstream: Option<&str>, expected_abroad: &str| {
        let mut session = Session::new();
        session.learn_tenant();
        session.document(DOCUMENT, &json!({ "resource": resource }).to_string());
        let form = "grant_type=a&resource=http://127.0.0.1:3004/mcp";
        let value = |form: Option<String>| form.map(|form| form.replace("grant_type=a&resource=", ""));
        let encoded = |url: &str| url.replace(':', "%3A").replace('/', "%2F");
        assert_eq!(
            value(session.form(&Route::Upstream, form)),
            expected_at_upstream.map(encoded),
            "{resource}"
        );
        let endpoint = session.route("POST", &format!("{TENANT}/token"));
        assert_eq!(value(session.form(&endpoint, form)), Some(encoded(expected_abroad)), "{resource}");
    };
    let own = "https://up.example/mcp";
    check(own, Some(own), own);
    check("https://UP.example:443/mcp", Some("https://UP.example:443/mcp"), "https://UP.example:443/mcp");
    // An upstream that builds its URL from the request knows itself by our name; other servers don't.
    check("http://127.0.0.1:3004/mcp", None, own);
    check("https://127.0.0.1:3004/mcp", Some("https://127.0.0.1:3004/mcp"), own);
}

#[test]
fn the_browser_is_sent_to_a_foreign_server_with_the_resource_that_it_knows() {
    let mut session = Session::new();
    session.learn_tenant();
    let request = session.authorization(&format!(
        "{TENANT}/authorize?response_type=code&client_id=c&redirect_uri=http%3A%2F%2Flocalhost%3A1%2Fcb&resource=http%3A%2F%2F127.0.0.1%3A3004%2Fmcp&state=%22\"",
    ));
    let url = "https://as.example/a?p=q&response_type=code&client_id=c&redirect_uri=http%3A%2F%2Flocalhost%3A1%2Fcb&resource=https%3A%2F%2Fup.example%2Fmcp&state=%22%22";
    assert_eq!(request.probe_url(), Some(url));
    assert_eq!(request.redirect_location(200, None), url);
    assert!(request.is_refused_by_strict_clients(url));
    let answer = request
        .redirect_location(302, Some(b"http://localhost:1/cb?code=x&iss=https%3A%2F%2Fas.example%2Ftenant"));
    let issuer = "http%3A%2F%2F127.0.0.1%3A3004%2F.wiretape%2Fas%2Fhttps%2Fas.example_2ftenant";
    assert_eq!(answer, format!("http://localhost:1/cb?code=x&iss={issuer}"));
    assert!(!request.is_refused_by_strict_clients(&answer));
}

#[test]
fn the_browser_is_sent_to_the_upstreams_own_site() {
    let mut session = Session::new();
    let target = "/oauth/authorize?client_id=c&response_type=code&redirect_uri=app://cb&resource=http://127.0.0.1:3004/mcp";
    assert_eq!(session.route("GET", target), Route::Upstream);
    session.document(
        "/.well-known/oauth-authorization-server",
        r#"{"issuer":"https://up.example","authorization_endpoint":"https://up.example/oauth/authorize"}"#,
    );
    let request = session.authorization(target);
    let url = "https://up.example/oauth/authorize?client_id=c&response_type=code&redirect_uri=app://cb&resource=https%3A%2F%2Fup.example%2Fmcp";
    assert_eq!(request.redirect_location(200, None), url);
    assert!(!request.is_refused_by_strict_clients(url));
    let answer = request.redirect_location(303, Some(b"app://cb?code=x&iss=https://up.example"));
    assert_eq!(answer, "app://cb?code=x&iss=http%3A%2F%2F127.0.0.1%3A3004");
    for other in [
        "/oauth/authorize",
        "/oauth/authorize/?client_id=c",
        "/oauth/authorize/x?client_id=c",
        "/mcp?client_id=c",
    ] {
        assert_eq!(session.route("GET", other), Route::Upstream, "{other}");
    }
    assert_eq!(session.route("POST", target), Route::Upstream);
}

#[test]
fn an_upstream_that_builds_its_urls_from_the_request_sees_its_login_through_us() {
    let mut session = Session::new();
    let told = session.document(
        "/.well-known/oauth-authorization-server",
        r#"{"issuer":"https://127.0.0.1:3004","authorization_endpoint":"https://127.0.0.1:3004/authorize"}"#,
    );
    let expected =
        r#"{"issuer":"http://127.0.0.1:3004","authorization_endpoint":"http://127.0.0.1:3004/authorize"}"#;
    assert_eq!(told.as_deref(), Some(expected));
    let target = "/authorize?client_id=c&response_type=code&resource=http://127.0.0.1:3004/mcp";
    assert_eq!(session.route("GET", target), Route::Upstream);
    let target = session.rewriter.request_target(target, &session.origins);
    let expected = "/authorize?client_id=c&response_type=code&resource=https%3A%2F%2F127.0.0.1%3A3004%2Fmcp";
    assert_eq!(target.as_deref(), Some(expected));
}

#[test]
fn authorization_requests_to_an_upstream_without_documents_get_their_resource_back() {
    let check = |target: &str, expected: Option<&str>| {
        let session = Session::new();
        assert_eq!(
            session.rewriter.request_target(target, &session.origins).as_deref(),
            expected,
            "{target}"
        );
    };
    check(
        "/authorize?response_type=code&client_id=c&resource=http%3A%2F%2F127.0.0.1%3A3004%2Fmcp&x=%zz",
        Some("/authorize?response_type=code&client_id=c&resource=https%3A%2F%2Fup.example%2Fmcp&x=%zz"),
    );
    check("/mcp?resource=http%3A%2F%2F127.0.0.1%3A3004%2Fmcp", None);
    check("/authorize?response_type=code&client_id=c&resource=https%3A%2F%2Fup.example%2Fmcp", None);
    check("/authorize?response_type=code&client_id=c&redirect_uri=http%3A%2F%2F127.0.0.1%3A3004%2Fmcp", None);
    check("/mcp", None);
}

#[test]
fn each_client_is_told_the_origin_that_it_dialled() {
    let mut session = Session::new();
    session.learn_tenant();
    session.origins = session.rewriter.origins("http://localhost:3004").unwrap();
    let told = session.document(DOCUMENT, r#"{"resource":"https://up.example/mcp"}"#);
    assert_eq!(told.as_deref(), Some(r#"{"resource":"http://localhost:3004/mcp"}"#));
    let request = session.authorization(&format!("{TENANT}/authorize?client_id=c&redirect_uri=app://cb"));
    let answer = request.redirect_location(302, Some(b"app://cb?code=x&iss=https://as.example/tenant"));
    assert!(answer.starts_with("app://cb?code=x&iss=http%3A%2F%2Flocalhost%3A3004%2F.wiretape"), "{answer}");
}

/// URLs that documents of all kinds of upstreams may hold.
fn urls() -> impl Strategy<Value = String> {
    let origins = prop_oneof![
        Just("https://up.example"),
        Just("http://127.0.0.1:3004"),
        Just("https://as.example"),
        Just("https://as.example:8443"),
        Just("http://as.example"),
        Just("https://10.0.0.1"),
        Just("https://user@as.example"),
        Just("//as.example"),
        Just(""),
    ];
    let rest =
        prop_oneof![Just(""), Just("/"), Just("/a"), Just("/a/../b"), Just("/?x#y"), Just("/.wiretape/as/x")];
    (origins, rest).prop_map(|(origin, rest)| format!("{origin}{rest}"))
}

proptest! {
    /// Whatever the documents say, what is dialled was named by them, and is neither ours nor near nor plain http.
    #[test]
    fn nothing_else_is_ever_dialled(
        resource in urls(), named in prop::collection::vec(urls(), 0..4), endpoints in prop::collection::vec(urls(), 4),
        member in "[a-z_]{0,12}_endpoint", asked in "(/[a-z.]{0,3}){0,3}",
    ) {
        let mut session = Session::new();
        let document = json!({"resource": resource, "authorization_servers": named}).to_string();
        let told = session.document(DOCUMENT, &document).unwrap_or(document);
        let told: Value = serde_json::from_str(&told).unwrap();
        for (issuer, told) in named.iter().zip(told["authorization_servers"].as_array().unwrap()) {
            let Some(path) = told.as_str().unwrap().strip_prefix(PUBLIC).filter(|path| path.starts_with("/.wiretape/as/")) else { continue };
            if issuer.starts_with(PUBLIC) {
                continue;
            }
            prop_assert!(issuer.starts_with("https://as.example"), "{} was mapped", issuer);
            let metadata = json!({
                "issuer": issuer, "authorization_endpoint": endpoints[0], "token_endpoint": endpoints[1],
                "pushed_authorization_request_endpoint": endpoints[2], "device_authorization_endpoint": endpoints[3],
                member.as_str(): endpoints[0],
            }).to_string();
            session.foreign_document(&format!("/.well-known/oauth-authorization-server{path}"), &metadata);
            for suffix in ["/authorize?client_id=a", "/token", "/par", "/device", &asked] {
                for method in ["GET", "POST"] {
                    let url = match session.route(method, &format!("{path}{suffix}")) {
                        Route::Document { url, .. } | Route::Endpoint { url } => url,
                        Route::Authorization(request) => request.redirect_location(200, None).replace("?client_id=a", "").replace("&client_id=a", ""),
                        Route::Upstream | Route::Nowhere => continue,
                    };
                    prop_assert!(endpoints.contains(&url) || url.starts_with("https://as.example"), "{} is dialled", url);
                    prop_assert!(url.starts_with("https://") && !url.contains("127.0.0.1") && !url.contains("10.0.0.1"));
                }
            }
        }
    }

    /// A rewritten document differs from the real one only in strings with the origin of the upstream or a named server.
    #[test]
    fn documents_keep_all_else(resource in urls(), named in prop::collection::vec(urls(), 0..3), other in any::<String>()) {
        let document = json!({"a": other, "resource": resource, "authorization_servers": named, "z": [1.5, {"resource": resource}]});
        let text = serde_json::to_string_pretty(&document).unwrap();
        let Some(told) = Session::new().document(DOCUMENT, &text) else { return Ok(()) };
        let told: Value = serde_json::from_str(&told).unwrap();
        prop_assert_eq!((&told["a"], &told["z"]), (&document["a"], &document["z"]));
        for (told, real) in told["authorization_servers"].as_array().unwrap().iter().zip(&named) {
            let told = told.as_str().unwrap();
            prop_assert!(told == real || told.starts_with(PUBLIC), "{} for {}", told, real);
        }
    }

    #[test]
    fn nothing_panics(target in "[/a-z.%?&=_-]{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut session = Session::new();
        session.learn_tenant();
        for target in [target.clone(), format!("{TENANT}{target}"), format!("/.well-known/openid-configuration{target}")] {
            let route = session.route("GET", &target);
            session.rewriter.form_body(&route, &bytes, &session.origins);
            session.rewriter.request_target(&target, &session.origins);
            if let Some(kind) = session.rewriter.document_kind(&target) {
                session.rewriter.document(&kind, &bytes, &session.origins);
            }
        }
        session.rewriter.www_authenticate(&bytes, &session.origins);
        session.rewriter.location(&bytes, &session.origins);
    }
}
