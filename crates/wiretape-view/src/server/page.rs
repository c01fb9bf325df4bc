//! The page: its document, script and style.

use crate::page::PAGE;
use axum::extract::RawQuery;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};

/// The HTML document. Its policy allows connections to this server and to the hosts of traces that its own address names.
pub(crate) async fn index(RawQuery(query): RawQuery) -> Response {
    let Some(page) = &PAGE else { return without_page() };
    let policy = policy(&named_hosts(query.as_deref().unwrap_or_default()));
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)];
    (headers, page.html).into_response()
}

pub(crate) async fn script() -> Response {
    match &PAGE {
        Some(page) => ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], page.script).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(crate) async fn style() -> Response {
    match &PAGE {
        Some(page) => ([(CONTENT_TYPE, "text/css; charset=utf-8")], page.style).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn without_page() -> Response {
    let words = "This build of wiretape has no page (--no-default-features).\nRebuild it with Node.js 20 or newer installed, or use the API under /api/.\n";
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], words).into_response()
}

fn policy(hosts: &[String]) -> String {
    let more: String = hosts.iter().map(|host| format!(" {host}")).collect();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; \
         connect-src 'self'{more}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

/// The origins of remote traces in the page's address.
fn named_hosts(query: &str) -> Vec<String> {
    let values =
        form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| matches!(&**name, "trace" | "diff"));
    let names = values.flat_map(|(_, value)| value.split(';').map(str::to_owned).collect::<Vec<_>>());
    let mut hosts: Vec<String> = names.filter_map(|name| origin(&name)).collect();
    hosts.dedup();
    hosts
}

/// The origin of an https URL; `None` for anything else, which must not get into the policy.
fn origin(name: &str) -> Option<String> {
    let uri: Uri = name.parse().ok()?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("https"))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    authority.as_str().chars().all(is_plain).then(|| format!("https://{authority}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_talks_to_nobody_whom_its_address_does_not_name() {
        let check = |query: &str, expected: &[&str]| assert_eq!(named_hosts(query), expected, "{query}");
        check("", &[]);
        check("trace=abc;def", &[]);
        check("trace=https%3A%2F%2Fa.example%2Fx.jsonl;abc", &["https://a.example"]);
        check(
            "trace=https://a.example:8443/x?y;https://b.example/z",
            &["https://a.example:8443", "https://b.example"],
        );
        check("diff=https://a.example/1;https://a.example/2", &["https://a.example"]);
        check("other=https://a.example/", &[]);
        for hostile in [
            "http://a.example/",
            "https://a.example'%20*/",
            "https://*/",
            "https://u:p@a.example/",
            "javascript:1",
        ] {
            check(&format!("trace={hostile}"), &[]);
        }
    }
}
