//! Logging in through a reverse proxy, with real SDK clients and a server that forgives nothing.
//!
//! `wt-oauth` compares the `resource` of every request with its own by its letters, and its foreign authorization server
//! answers to no other `Host`. So a login that succeeds has been restored in every place, and one that prints the same
//! as without the proxy has passed the same checks of the client.
//!
//! `cargo xtask setup` installs the SDKs and `cargo xtask test` says where; a bare `cargo test` skips these, and says so.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use wiretape_testkit::bins;
use wiretape_testkit::parts::{Parts, VARIABLE};
use wiretape_testkit::service::Service;

/// After this a process is killed and its test fails: generous, for the machine may be busy.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
enum Sdk {
    Python,
    TypeScript,
}

/// The SDKs, if there are any to be had.
fn parts() -> Option<Parts> {
    let parts = Parts::from_environment();
    if parts.is_none() {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        let why = format!("{VARIABLE} is not set; `cargo xtask test` runs this with real SDKs");
        std::io::stderr().write_all(format!("SKIPPED {test}: {why}\n").as_bytes()).unwrap();
    }
    parts
}

fn server(options: &[&str]) -> Service {
    let mut command = Command::new(bins::path("wt-oauth"));
    command.args(options);
    Service::spawn(command, LIMIT).unwrap()
}

/// A proxy in front of a server, and the folder with its traces.
fn proxy(upstream: &Service, options: &[&str]) -> (Service, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
    command.env("WIRETAPE_DATA_DIR", home.path()).current_dir(home.path());
    command.args(["proxy", "--upstream", &upstream.url(), "--listen", "127.0.0.1:0"]).args(options);
    (Service::spawn(command, LIMIT).unwrap(), home)
}

/// Lets a client log in, use the server, and use it again with a renewed token.
fn log_in(parts: &Parts, sdk: Sdk, url: &str) -> Output {
    let client = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/clients").join(name);
    let mut command = match sdk {
        Sdk::Python => Command::new(parts.python()),
        Sdk::TypeScript => Command::new("node"),
    };
    match sdk {
        Sdk::Python => command.arg(client("oauth.py")),
        Sdk::TypeScript => {
            let package = parts.npm().join("node_modules/@modelcontextprotocol/sdk");
            command.arg(client("oauth.mjs")).arg(package)
        }
    };
    command.arg(url).output().unwrap()
}

/// The client's output for a login that must succeed.
fn tell(parts: &Parts, sdk: Sdk, url: &str, server: &Service) -> String {
    let output = log_in(parts, sdk, url);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sdk:?} at {url}: {stderr}\nThe server said:\n{}", server.output());
    String::from_utf8(output.stdout).unwrap()
}

/// A login through the proxy is one without.
fn check_same(sdk: Sdk, options: &[&str]) {
    let Some(parts) = parts() else { return };
    let server = server(options);
    let direct = tell(&parts, sdk, &server.url(), &server);
    assert!(direct.trim_end().ends_with("true]"), "the token was not renewed: {direct}");
    let before = server.output().len();
    let (proxy, home) = proxy(&server, &[]);
    assert_eq!(tell(&parts, sdk, &proxy.url(), &server), direct);
    check_answers(&server.output()[before..]);
    assert!(proxy.stop().unwrap().success());
    check_traces(&home.path().join("traces"));
}

/// The login is in the traces, and nothing that it was about.
fn check_traces(traces: &Path) {
    let files = fs::read_dir(traces).unwrap().map(|entry| entry.unwrap().path());
    let text: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(text.contains("/token") && text.contains("tools/call"), "{text}");
    for secret in ["token-", "refresh-", "code-"] {
        let is_secret = |at: usize| text[at + secret.len()..].starts_with(|next: char| next.is_ascii_digit());
        let leaked = text.match_indices(secret).find(|(at, _)| is_secret(*at));
        assert_eq!(leaked, None, "{text}");
    }
}

/// Nothing was refused but what came without a token, and the token was renewed.
fn check_answers(said: &str) {
    let is_fine =
        |line: &str| line.contains(": POST /mcp ") || line.ends_with("-> 405") || !line.contains("-> 4");
    assert!(said.lines().all(is_fine), "{said}");
    for grant in ["authorization_code", "refresh_token"] {
        assert!(said.contains(&format!("grant_type={grant} resource=")), "{said}");
    }
}

/// A login that the client refuses, and why.
fn check_refused(sdk: Sdk, server_options: &[&str], proxy_options: &[&str], why: &str) -> String {
    let Some(parts) = parts() else { return String::new() };
    let server = server(server_options);
    let (proxy, _home) = proxy(&server, proxy_options);
    let output = log_in(&parts, sdk, &proxy.url());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains(why), "{why:?} is missing in {stderr}");
    assert!(!server.output().contains("grant_type="), "it got so far: {}", server.output());
    proxy.output()
}

macro_rules! same_as_without {
    ($($name:ident: $sdk:ident $options:expr;)*) => {
        $(#[test]
        fn $name() {
            check_same(Sdk::$sdk, &$options);
        })*
    };
}

same_as_without! {
    python_at_the_servers_own: Python [];
    python_at_the_servers_own_that_names_itself: Python ["--iss"];
    python_at_a_foreign_one: Python ["--foreign"];
    python_at_a_foreign_one_that_names_itself: Python ["--foreign", "--iss"];
    python_at_a_form_of_the_server: Python ["--form"];
    python_at_a_foreign_form: Python ["--foreign", "--form"];
    python_at_a_server_with_urls_from_the_request: Python ["--reflect", "--iss"];
    typescript_at_the_servers_own: TypeScript ["--iss"];
    typescript_at_a_foreign_one: TypeScript ["--foreign", "--iss"];
    typescript_at_a_form_of_the_server: TypeScript ["--form", "--iss"];
    typescript_at_a_foreign_form: TypeScript ["--foreign", "--form", "--iss"];
    typescript_at_a_server_with_urls_from_the_request: TypeScript ["--reflect"];
}

#[test]
fn without_rewriting_clients_refuse_the_servers_documents() {
    for sdk in [Sdk::Python, Sdk::TypeScript] {
        check_refused(sdk, &[], &["--no-oauth-rewrite"], "does not match expected");
    }
}

/// The price of sending people to the real login page: its answer doesn't come through the proxy.
#[test]
fn strict_clients_refuse_a_form_that_names_itself() {
    let said = check_refused(Sdk::Python, &["--foreign", "--form", "--iss"], &[], "iss mismatch");
    assert!(said.is_empty() || said.contains("names its own issuer (`iss`) in its responses"), "{said}");
}

/// What comes back to a request.
fn ask(service: &Service, head: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(service.address()).unwrap();
    let (host, length) = (service.address(), body.len());
    write!(
        stream,
        "{head} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const DOCUMENT: &str = "GET /.well-known/oauth-protected-resource/mcp";

/// The path under which the proxy exposes the foreign authorization server, once it has seen it.
fn learn(proxy: &Service) -> String {
    let document = ask(proxy, DOCUMENT, "", "");
    let issuer =
        document.split('"').find(|part| part.contains("/.wiretape/")).unwrap_or_else(|| panic!("{document}"));
    let path = issuer.strip_prefix(&format!("http://{}", proxy.address())).unwrap().to_owned();
    let metadata = ask(proxy, &format!("GET /.well-known/oauth-authorization-server{path}"), "", "");
    assert!(metadata.contains(&format!("{path}/token\"")), "{metadata}");
    path
}

/// Nobody is reached through the proxy whom the server didn't name.
#[test]
fn the_proxy_is_open_to_nobody() {
    let (server, stranger) = (server(&["--foreign"]), server(&[]));
    let (proxy, _home) = proxy(&server, &[]);
    learn(&proxy);
    let before = stranger.output();
    let name = format!("127.0.0.1_3a{}", stranger.address().port());
    for path in [
        format!("/.well-known/oauth-authorization-server/.wiretape/as/http/{name}"),
        format!("/.wiretape/as/http/{name}/.well-known/openid-configuration"),
        format!("/.wiretape/as/http/{name}/token"),
        format!("/.wiretape/as/http/{name}/mcp"),
        "/.wiretape/".to_owned(),
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let answer = ask(&proxy, &format!("{method} {path}"), "", "");
            assert!(answer.starts_with("HTTP/1.1 404"), "{method} {path}: {answer}");
        }
    }
    assert_eq!(stranger.output(), before);
    assert!(!server.output().contains(".wiretape"), "{}", server.output());
}

/// What a client sends to the proxy because it is the server's is not shown to the authorization server.
#[test]
fn credentials_of_the_server_stay_with_it() {
    let server = server(&["--foreign"]);
    let (proxy, _home) = proxy(&server, &[]);
    let path = learn(&proxy);
    let headers = "content-type: application/x-www-form-urlencoded\r\nauthorization: Basic YTpi\r\n\
                   authorization: Bearer secret\r\ncookie: a=b\r\nx-api-key: secret\r\n";
    let form = format!("grant_type=refresh_token&resource={}", proxy.url());
    ask(&proxy, &format!("POST {path}/token"), headers, &form);
    // What a server says is read beside what it answers.
    let is_told = || server.output().lines().any(|line| line.contains("/token"));
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !is_told() && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let said = server.output();
    let asked = said.lines().find(|line| line.contains("/token")).unwrap_or_else(|| panic!("{said}"));
    let expected = format!("resource={} authorization=\"Basic YTpi\" -> 400", server.url());
    assert!(asked.ends_with(&expected), "{asked}");
}
