//! A real browser, which blocks what the policy forbids and reports it.

use crate::peers::{Proxy, answer, rule, wait_until};
use std::io::Write as _;
use std::process::{Child, Stdio};
use wiretape_proxy::http::csp::Mode;
use wiretape_testkit::parts::Parts;

/// First loads what a rule allows, then what no policy allows.
const PAGE: &str = "<!doctype html><title>page</title><script>
    fetch('/allowed').then(() => fetch('http://blocked.example/x?token=t0psecret')).catch(() => {});
</script>";

/// Ends with the test.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_browser_that_blocks_something_tells_us() {
    let Some(parts) = Parts::from_environment() else {
        std::io::stderr().write_all(b"SKIPPED: no browser was installed; `cargo xtask test` does\n").unwrap();
        return;
    };
    let rules = vec![rule(&["/widgets/*"], Mode::Extend, &[("connect-src", &["'self'"])])];
    let proxy = Proxy::start(rules, |asked| {
        let policy = "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'\r\n";
        match asked.first.split(' ').nth(1).unwrap() {
            "/allowed" => answer("Content-Type: text/plain\r\n", "yes"),
            _ => answer(&format!("Content-Type: text/html\r\n{policy}"), PAGE),
        }
    });
    let profile = tempfile::tempdir().unwrap();
    let mut chromium = parts.chromium(profile.path());
    chromium.arg(format!("http://{}/widgets/page.html", proxy.address));
    chromium.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _browser = Browser(chromium.spawn().unwrap());

    let told = |name: &str| proxy.violations().into_iter().find(|one| one.directive == name);
    wait_until("the browser has told what it blocked", || told("connect-src").is_some());
    let violation = told("connect-src").unwrap();
    let (page, secret) = ("http://blocked.example/x?token=", "t0psecret");
    assert!(
        violation.blocked_uri.starts_with(page) && !violation.blocked_uri.contains(secret),
        "{violation:?}"
    );
    let asked: Vec<String> = proxy.asked().iter().map(|message| message.first.clone()).collect();
    assert!(
        asked.iter().any(|line| line.starts_with("GET /allowed ")),
        "what a rule allows is reached: {asked:?}"
    );
    assert!(
        !asked.iter().any(|line| line.contains(".well-known")),
        "reports are not for the upstream: {asked:?}"
    );
    assert!(proxy.violations().iter().all(|one| one.upstream.starts_with("http://127.0.0.1:")));
}
