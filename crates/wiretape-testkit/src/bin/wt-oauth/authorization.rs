//! The authorization server: metadata, registration, login, and tokens.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use serde_json::{Value, json};

use crate::Servers;
use crate::exchange::{ReceivedRequest, empty, encode, header, html, json as respond, parameter};

/// The lifetime of a token according to its response, in seconds.
const ANNOUNCED_SECONDS: u64 = 1;
/// The real lifetime: longer, so that a client that tracks it renews the token in time.
const LIFETIME: Duration = Duration::from_secs(3);

/// The registered clients, codes and tokens.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    count: u64,
    /// The redirect URIs of each client.
    clients: HashMap<String, Vec<String>>,
    codes: HashMap<String, Code>,
    tokens: HashMap<String, Instant>,
    /// The client of each refresh token.
    refreshers: HashMap<String, String>,
    /// The cookies of browsers that were shown the login page.
    visitors: Vec<String>,
}

#[derive(Debug, Clone)]
struct Code {
    client: String,
    redirect_uri: String,
}

impl Grants {
    pub(crate) fn is_valid(&self, token: &str) -> bool {
        self.tokens.get(token).is_some_and(|issued| issued.elapsed() < LIFETIME)
    }

    fn name(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}-{}", self.count)
    }
}

/// An error of RFC 6749 or RFC 8707.
type Refusal = (&'static str, &'static str);
type Answer = Response<Full<Bytes>>;

pub(crate) fn answer(world: &Servers, asked: &ReceivedRequest) -> Option<Answer> {
    let prefix = if world.options.foreign { "/tenant" } else { "" };
    let document = format!("/.well-known/oauth-authorization-server{prefix}");
    if asked.method == "GET" && asked.path == document {
        return Some(respond(200, &metadata(world, asked)));
    }
    let answered = match (asked.method.as_str(), asked.path.strip_prefix(prefix)?) {
        ("POST", "/register") => register(world, asked),
        ("GET", "/authorize") => authorize(world, asked),
        ("POST", "/login") => log_in(world, asked),
        ("POST", "/token") => token(world, asked),
        _ => return None,
    };
    let refuse = |(error, why)| respond(400, &json!({"error": error, "error_description": why}));
    Some(answered.unwrap_or_else(refuse))
}

fn metadata(world: &Servers, asked: &ReceivedRequest) -> Value {
    let issuer = world.issuer(asked);
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": world.options.iss,
    })
}

fn register(world: &Servers, asked: &ReceivedRequest) -> Result<Answer, Refusal> {
    let refusal = ("invalid_client_metadata", "not JSON with redirect_uris");
    let mut client: Value = serde_json::from_slice(&asked.body).map_err(|_| refusal)?;
    let uris = client["redirect_uris"].as_array().ok_or(refusal)?;
    let uris = uris.iter().filter_map(|uri| uri.as_str().map(str::to_owned)).collect();
    let mut grants = world.grants();
    let name = grants.name("client");
    grants.clients.insert(name.clone(), uris);
    client["client_id"] = name.into();
    client["token_endpoint_auth_method"] = "none".into();
    Ok(respond(201, &client))
}

/// Rejects requests of unknown clients and for other resources without showing the login page.
fn authorize(world: &Servers, asked: &ReceivedRequest) -> Result<Answer, Refusal> {
    check_authorization(world, asked)?;
    if !world.options.form {
        return Ok(grant(world, asked, &asked.query));
    }
    let visitor = world.grants().name("visitor");
    world.grants().visitors.push(visitor.clone());
    let request = asked.query.replace('&', "&amp;");
    let page = format!(
        r#"<form method="post" action="login"><input type="hidden" name="request" value="{request}"></form>"#
    );
    Ok(header(html(page), "set-cookie", &format!("visitor={visitor}; Path=/; HttpOnly")))
}

fn check_authorization(world: &Servers, asked: &ReceivedRequest) -> Result<(), Refusal> {
    let client = asked.parameter("client_id").unwrap_or_default();
    let redirect_uri = asked.parameter("redirect_uri").unwrap_or_default();
    let is_known = world.grants().clients.get(&client).is_some_and(|uris| uris.contains(&redirect_uri));
    check(is_known, ("invalid_client", "an unknown client or redirect URI"))?;
    check_resource(world, asked)?;
    let has_challenge = asked.parameter("code_challenge").is_some();
    check(has_challenge, ("invalid_request", "no code challenge"))?;
    check_host(world, asked)
}

/// Handles the submitted form of the browser that was shown it.
fn log_in(world: &Servers, asked: &ReceivedRequest) -> Result<Answer, Refusal> {
    let cookie =
        asked.header("cookie").and_then(|cookie| cookie.strip_prefix("visitor=")).unwrap_or_default();
    let is_visitor = world.grants().visitors.iter().any(|visitor| visitor == cookie);
    check(is_visitor, ("access_denied", "not the browser that was shown the form"))?;
    check_host(world, asked)?;
    Ok(grant(world, asked, &asked.parameter("request").unwrap_or_default()))
}

fn grant(world: &Servers, asked: &ReceivedRequest, request: &str) -> Answer {
    let get = |name| parameter(request, name).unwrap_or_default();
    let (client, redirect_uri, state) = (get("client_id"), get("redirect_uri"), get("state"));
    let mut grants = world.grants();
    let code = grants.name("code");
    let mut location = format!("{redirect_uri}?code={code}&state={}", encode(&state));
    if world.options.iss {
        location.push_str(&format!("&iss={}", encode(&world.issuer(asked))));
    }
    grants.codes.insert(code, Code { client, redirect_uri });
    header(empty(302), "location", &location)
}

fn token(world: &Servers, asked: &ReceivedRequest) -> Result<Answer, Refusal> {
    check_resource(world, asked)?;
    check_host(world, asked)?;
    let is_clean = asked.header("cookie").is_none() && asked.header("authorization").is_none();
    check(is_clean, ("invalid_request", "with credentials of another client"))?;
    let client = match asked.parameter("grant_type").as_deref() {
        Some("authorization_code") => redeem(world, asked)?,
        Some("refresh_token") => refresh(world, asked)?,
        _ => return Err(("unsupported_grant_type", "neither a code nor a refresh token")),
    };
    let mut grants = world.grants();
    let (token, refresher) = (grants.name("token"), grants.name("refresh"));
    grants.tokens.insert(token.clone(), Instant::now());
    grants.refreshers.insert(refresher.clone(), client);
    Ok(respond(
        200,
        &json!({"access_token": token, "token_type": "Bearer", "expires_in": ANNOUNCED_SECONDS, "refresh_token": refresher}),
    ))
}

/// A code is valid once (RFC 6749, section 4.1.2).
fn redeem(world: &Servers, asked: &ReceivedRequest) -> Result<String, Refusal> {
    let refusal = ("invalid_grant", "not a code of this client and redirect URI");
    let code = world.grants().codes.remove(&asked.parameter("code").unwrap_or_default()).ok_or(refusal)?;
    let is_same = asked.parameter("client_id").as_ref() == Some(&code.client)
        && asked.parameter("redirect_uri").as_ref() == Some(&code.redirect_uri)
        && asked.parameter("code_verifier").is_some();
    check(is_same, refusal)?;
    Ok(code.client)
}

fn refresh(world: &Servers, asked: &ReceivedRequest) -> Result<String, Refusal> {
    let refusal = ("invalid_grant", "not a refresh token of this client");
    let refresher = asked.parameter("refresh_token").unwrap_or_default();
    let client = world.grants().refreshers.remove(&refresher).ok_or(refusal)?;
    check(asked.parameter("client_id").as_ref() == Some(&client), refusal)?;
    Ok(client)
}

/// Compares strings without normalizing them, as strict servers do.
fn check_resource(world: &Servers, asked: &ReceivedRequest) -> Result<(), Refusal> {
    let is_ours = asked.parameter("resource") == Some(world.resource(asked));
    check(is_ours, ("invalid_target", "not the resource that tokens are issued for"))
}

/// A foreign server accepts only its own host name.
fn check_host(world: &Servers, asked: &ReceivedRequest) -> Result<(), Refusal> {
    let is_ours = !world.options.foreign || asked.host == world.authorization.to_string();
    check(is_ours, ("invalid_request", "sent to another host"))
}

fn check(is_fine: bool, refusal: Refusal) -> Result<(), Refusal> {
    if is_fine { Ok(()) } else { Err(refusal) }
}
