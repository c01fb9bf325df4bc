//! Pages get the policy, and reports of what it forbids are taken.

use crate::peers::{Proxy, answer, rule, wait_until};
use wiretape_proxy::http::csp::{Mode, Reporting, Rule};

const CSP: &str = "content-security-policy";
const PAGE: &str = "<!doctype html><p>é";

fn page(policy: &str) -> Vec<u8> {
    answer(&format!("Content-Type: text/html; charset=utf-8\r\nETag: \"1\"\r\n{policy}"), PAGE)
}

fn connect() -> Rule {
    rule(&[], Mode::Extend, &[("connect-src", &["https://api.example.com"])])
}

/// Where the policy of a page sends reports.
fn report_path(policy: &str) -> String {
    policy.rsplit("report-uri ").next().unwrap().split([' ', ';']).next().unwrap().to_owned()
}

#[test]
fn a_page_gets_the_policy_and_nothing_else_does() {
    let rules = vec![connect(), rule(&["/strict/**"], Mode::Replace, &[("default-src", &["'none'"])])];
    let proxy = Proxy::start(rules, |asked| match asked.first.split(' ').nth(1).unwrap() {
        "/json" => answer("Content-Type: application/json\r\nContent-Security-Policy: img-src x\r\n", "{}"),
        "/bare" => page(""),
        _ => page(
            "Content-Security-Policy: default-src 'self'\r\nContent-Security-Policy-Report-Only: img-src 'none'\r\n",
        ),
    });
    let extended = proxy.get("/a?b=c");
    let [policy] = extended.all(CSP)[..] else { panic!("{extended:?}") };
    let path = report_path(policy);
    assert!(path.starts_with("/.well-known/wiretape/csp-report/"), "{policy}");
    let expected = "default-src 'self'; connect-src 'self' https://api.example.com; report-uri ";
    assert_eq!(policy, format!("{expected}{path}"));
    assert_eq!(extended.header("content-security-policy-report-only"), Some("img-src 'none'"));
    assert_eq!((extended.text(), extended.header("etag")), (PAGE, None));
    let bare = proxy.get("/bare");
    assert_eq!(
        (bare.all(CSP), bare.header("etag")),
        (Vec::new(), Some("\"1\"")),
        "everything is allowed already"
    );
    let strict = proxy.get("/strict/a/b");
    assert_eq!(strict.all(CSP), [format!("default-src 'none'; report-uri {path}")]);
    let json = proxy.get("/json");
    assert_eq!(json.all(CSP), ["img-src x"]);

    let applied: Vec<(bool, bool)> =
        proxy.transactions(4).iter().map(|one| (one.is_html, one.csp_applied)).collect();
    assert_eq!(applied, [(true, true), (true, false), (true, true), (false, false)]);
}

#[test]
fn without_rules_nothing_happens() {
    let proxy = Proxy::start(Vec::new(), |_| page("Content-Security-Policy:  img-src   x\r\n"));
    let passed = proxy.get("/");
    assert_eq!((passed.header(CSP), passed.header("etag")), (Some("img-src   x"), Some("\"1\"")));
    let report = proxy.ask("POST /.well-known/wiretape/csp-report/x", "", "{}");
    assert_eq!((report.status(), proxy.asked().len()), (200, 2), "the path is the upstream's");
    assert!(proxy.transactions(2).iter().all(|one| !one.csp_applied));
}

#[test]
fn a_policy_that_says_all_of_it_is_not_ours() {
    let quiet = Rule { report: Some(Reporting::Off), ..connect() };
    let proxy = Proxy::start(vec![quiet], |_| {
        page("Content-Security-Policy: connect-src  https://api.example.com\r\n")
    });
    assert_eq!(proxy.get("/").header(CSP), Some("connect-src  https://api.example.com"));
    assert!(!proxy.transactions(1)[0].csp_applied);
    let report = proxy.ask("POST /.well-known/wiretape/csp-report/x", "", "{}");
    assert_eq!((report.status(), proxy.asked().len()), (200, 2), "nobody wants reports");
}

#[test]
fn reports_become_violations_and_go_nowhere_else() {
    let proxy = Proxy::start(vec![connect()], |_| page("Content-Security-Policy: default-src 'self'\r\n"));
    let path = report_path(proxy.get("/").header(CSP).unwrap());
    let post =
        |path: &str, headers: &str, body: &str| proxy.ask(&format!("POST {path}"), headers, body).status();
    let legacy = "Content-Type: application/csp-report\r\n";
    let report = r#"{"csp-report":{"effective-directive":"connect-src","blocked-uri":"https://evil.example/x?token=t0psecret"}}"#;
    let own = format!("{legacy}Origin: http://{}\r\nMcp-Session-Id: s1\r\n", proxy.address);
    assert_eq!(post(&path, &own, report), 204);
    let reports =
        r#"[{"type":"csp-violation","body":{"blockedURL":"inline","effectiveDirective":"script-src-elem"}}]"#;
    assert_eq!(post(&path, "Content-Type: application/reports+json\r\n", reports), 204);
    assert_eq!(post(&path, &format!("{legacy}Origin: null\r\n"), report), 204);

    assert_eq!(post(&path, &format!("{legacy}Origin: https://evil.example\r\n"), report), 403);
    assert_eq!(post("/.well-known/wiretape/csp-report/0123", legacy, report), 404);
    assert_eq!(post(&path, "Content-Type: application/json\r\n", report), 415);
    assert_eq!(post(&path, legacy, "{}"), 400);
    assert_eq!(post(&path, legacy, &report.replace('x', &"x".repeat(70_000))), 413);
    assert_eq!(proxy.get(&path).status(), 405);
    let preflight = "Origin: null\r\nAccess-Control-Request-Method: POST\r\n";
    let preflight = proxy.ask(&format!("OPTIONS {path}"), preflight, "");
    assert_eq!((preflight.status(), preflight.header("access-control-allow-methods")), (204, Some("POST")));

    let violations = proxy.violations();
    let told: Vec<&str> = violations.iter().map(|one| one.directive.as_str()).collect();
    assert_eq!(told, ["connect-src", "script-src-elem", "connect-src"]);
    assert!(
        violations[0].blocked_uri.starts_with("https://evil.example/x?token=[REDACTED"),
        "{violations:?}"
    );
    assert_eq!((violations[0].session.as_deref(), violations[1].session.as_deref()), (Some("s1"), None));
    assert_eq!(violations[1].blocked_uri, "inline");
    assert_eq!(proxy.asked().len(), 1, "only the page was asked for");
    assert_eq!(proxy.transactions(1).len(), 1, "a report is no exchange with the upstream");
}

#[test]
fn a_flood_of_reports_is_answered_and_cut() {
    let proxy = Proxy::start(vec![connect()], |_| page("Content-Security-Policy: default-src 'self'\r\n"));
    let path = report_path(proxy.get("/").header(CSP).unwrap());
    let one = r#"{"type":"csp-violation","body":{"blockedURL":"inline","effectiveDirective":"script-src"}}"#;
    let many = format!("[{}]", vec![one; 500].join(","));
    let headers = "Content-Type: application/reports+json\r\n";
    assert_eq!(proxy.ask(&format!("POST {path}"), headers, &many).status(), 204);
    wait_until("some are told", || !proxy.violations().is_empty());
    assert!((200..500).contains(&proxy.violations().len()), "{}", proxy.violations().len());
}
