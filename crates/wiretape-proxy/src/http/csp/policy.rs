//! The header `Content-Security-Policy`, and what becomes of the upstream's.
//!
//! Several policies may stand in one header and in several headers, and a browser wants all of them kept: so to allow
//! something more, each of them has to allow it.
//!
//! A source that is added to a directive which a policy lacks must not take away what the policy allowed, nor give more
//! than was asked for. Where another directive stands in for the missing one (`default-src` for `connect-src`), the
//! new one begins with that one's sources. Where none does, or where there is no policy, everything is allowed already,
//! and nothing is added.

use super::rule::{Directives, Mode, Reporting, Source, Wish};
use http::header::{CONTENT_SECURITY_POLICY, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED};

const REPORTING_ENDPOINTS: HeaderName = HeaderName::from_static("reporting-endpoints");

/// What our endpoint is called among those of a page.
const ENDPOINT: &str = "wiretape-csp";

/// One policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Policy(Vec<(String, Vec<String>)>);

/// Gives a page the policy that is wished for. Tells whether that has changed anything.
pub(super) fn apply(headers: &mut HeaderMap, wish: &Wish, report_path: &str) -> bool {
    let Some(policies) = wanted(headers, wish, report_path) else { return false };
    let values: Vec<HeaderValue> =
        policies.iter().filter_map(|policy| HeaderValue::try_from(policy.render()).ok()).collect();
    headers.remove(CONTENT_SECURITY_POLICY);
    for value in values {
        headers.append(CONTENT_SECURITY_POLICY, value);
    }
    if wish.report == Reporting::ReportTo
        && let Ok(endpoint) = HeaderValue::try_from(format!("{ENDPOINT}=\"{report_path}\""))
    {
        headers.append(REPORTING_ENDPOINTS, endpoint);
    }
    // A browser that asks whether its copy is still good would be told so, and keep the policy of back then.
    headers.remove(ETAG);
    headers.remove(LAST_MODIFIED);
    true
}

/// The policies that the page should have, if they are not those that it has.
fn wanted(headers: &HeaderMap, wish: &Wish, report_path: &str) -> Option<Vec<Policy>> {
    let values: Vec<&HeaderValue> = headers.get_all(CONTENT_SECURITY_POLICY).iter().collect();
    let (before, mut after) = match wish.mode {
        Mode::Replace => (None, vec![Policy::from_directives(&wish.directives)]),
        Mode::Extend => {
            // What can't be read can't be extended.
            let texts: Vec<&str> = values.iter().map(|value| value.to_str().ok()).collect::<Option<_>>()?;
            let before: Vec<Policy> = texts.iter().flat_map(|text| parse(text)).collect();
            // Without a policy everything is allowed, and one of ours could only forbid.
            let mut after = before.clone();
            after.iter_mut().for_each(|policy| policy.extend(&wish.directives));
            (Some(before), after)
        }
    };
    after.iter_mut().for_each(|policy| policy.report(wish.report, report_path));
    after.retain(|policy| !policy.0.is_empty());
    (before.as_ref() != Some(&after)).then_some(after)
}

/// The policies of one header.
fn parse(header: &str) -> Vec<Policy> {
    header.split(',').map(Policy::parse).filter(|policy| !policy.0.is_empty()).collect()
}

impl Policy {
    /// Of a directive that is there twice the first one counts (CSP level 3, section 2.2.1).
    fn parse(text: &str) -> Self {
        let mut policy = Policy::default();
        for directive in text.split(';') {
            let mut words = directive.split_ascii_whitespace();
            let Some(name) = words.next().map(str::to_ascii_lowercase) else { continue };
            if policy.get(&name).is_none() {
                policy.0.push((name, words.map(str::to_owned).collect()));
            }
        }
        policy
    }

    fn from_directives(directives: &Directives) -> Self {
        let words = |sources: &[Source]| sources.iter().map(|source| source.as_str().to_owned()).collect();
        Policy(directives.iter().map(|(name, sources)| (name.name().to_owned(), words(sources))).collect())
    }

    fn render(&self) -> String {
        let directive = |(name, words): &(String, Vec<String>)| {
            std::iter::once(name).chain(words).map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        self.0.iter().map(directive).collect::<Vec<_>>().join("; ")
    }

    fn get(&self, name: &str) -> Option<&Vec<String>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, words)| words)
    }

    fn set(&mut self, name: &str, words: Vec<String>) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = words,
            None => self.0.push((name.to_owned(), words)),
        }
    }

    /// Allows these sources as well.
    fn extend(&mut self, directives: &Directives) {
        for (directive, sources) in directives.iter() {
            match directive.name() {
                // It stands in for these two only; but where it is missing, not the same directives stand in for them.
                "child-src" if self.get("child-src").is_none() => {
                    self.allow("frame-src", sources);
                    self.allow("worker-src", sources);
                }
                name => self.allow(name, sources),
            }
        }
    }

    fn allow(&mut self, name: &str, sources: &[Source]) {
        let governing = std::iter::once(name).chain(fallbacks(name).iter().copied());
        let Some(allowed) = governing.filter_map(|name| self.get(name)).next() else { return };
        let is_new = |source: &&Source| {
            !source.is_none() && !allowed.iter().any(|known| known.eq_ignore_ascii_case(source.as_str()))
        };
        let new: Vec<String> =
            sources.iter().filter(is_new).map(|source| source.as_str().to_owned()).collect();
        if new.is_empty() {
            return;
        }
        let kept = allowed.iter().filter(|known| !known.eq_ignore_ascii_case(Source::NONE)).cloned();
        let words = kept.chain(new).collect();
        self.set(name, words);
    }

    /// Has what is blocked told to us.
    fn report(&mut self, reporting: Reporting, path: &str) {
        if reporting == Reporting::Off || self.0.is_empty() {
            return;
        }
        let mut uris = self.get("report-uri").cloned().unwrap_or_default();
        if !uris.iter().any(|uri| uri == path) {
            uris.push(path.to_owned());
        }
        self.set("report-uri", uris);
        match reporting {
            Reporting::ReportTo => self.set("report-to", vec![ENDPOINT.to_owned()]),
            // A browser that knows `report-to` looks at nothing else.
            _ => self.0.retain(|(name, _)| name != "report-to"),
        }
    }
}

/// Which directives stand in for one that is missing, the first of them that is there (CSP level 3, section 6.8.3).
fn fallbacks(name: &str) -> &'static [&'static str] {
    match name {
        "script-src-elem" | "script-src-attr" => &["script-src", "default-src"],
        "style-src-elem" | "style-src-attr" => &["style-src", "default-src"],
        "worker-src" => &["child-src", "script-src", "default-src"],
        "frame-src" => &["child-src", "default-src"],
        "default-src" | "base-uri" | "form-action" | "frame-ancestors" => &[],
        _ => &["default-src"],
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Directive;
    use super::*;
    use proptest::prelude::*;

    fn wish(mode: Mode, report: Reporting, directives: &[(&str, &str)]) -> Wish {
        let mut wish = Wish { mode, report, ..Wish::default() };
        for (name, sources) in directives {
            let sources = sources.split_ascii_whitespace().map(|source| source.parse().unwrap());
            wish.directives.add(Directive::named(name).unwrap(), sources);
        }
        wish
    }

    fn headers(policies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for policy in policies {
            headers.append(CONTENT_SECURITY_POLICY, HeaderValue::from_str(policy).unwrap());
        }
        headers
    }

    fn told(headers: &HeaderMap) -> Vec<&str> {
        headers.get_all(CONTENT_SECURITY_POLICY).iter().map(|value| value.to_str().unwrap()).collect()
    }

    fn check_with(wish: &Wish, before: &[&str], after: &[&str]) {
        let mut headers = headers(before);
        let changed = apply(&mut headers, wish, "/r");
        assert_eq!(told(&headers), after, "{before:?}");
        assert_eq!(changed, before != after, "{before:?}");
    }

    fn check(directives: &[(&str, &str)], before: &[&str], after: &[&str]) {
        check_with(&wish(Mode::Extend, Reporting::Off, directives), before, after);
    }

    #[test]
    fn sources_are_added_to_what_is_there() {
        let connect = [("connect-src", "https://a https://b")];
        check(&connect, &["connect-src 'self' https://A"], &["connect-src 'self' https://A https://b"]);
        check(&connect, &["connect-src https://b https://a"], &["connect-src https://b https://a"]);
        check(&connect, &["connect-src 'none'"], &["connect-src https://a https://b"]);
        check(&connect, &["Connect-Src"], &["connect-src https://a https://b"]);
        check(&connect, &["connect-src x; connect-src y"], &["connect-src x https://a https://b"]);
    }

    #[test]
    fn a_missing_directive_begins_with_what_stood_in_for_it() {
        let connect = [("connect-src", "https://a")];
        check(&connect, &["default-src 'self'"], &["default-src 'self'; connect-src 'self' https://a"]);
        check(&connect, &["default-src 'none'"], &["default-src 'none'; connect-src https://a"]);
        check(
            &[("worker-src", "https://a")],
            &["default-src 'self'; script-src x"],
            &["default-src 'self'; script-src x; worker-src x https://a"],
        );
        check(
            &[("script-src-elem", "https://a")],
            &["default-src 'self'; script-src x"],
            &["default-src 'self'; script-src x; script-src-elem x https://a"],
        );
        check(
            &[("default-src", "https://d"), ("connect-src", "https://c")],
            &["default-src 'self'"],
            &["default-src 'self' https://d; connect-src 'self' https://d https://c"],
        );
    }

    #[test]
    fn what_is_allowed_already_is_not_narrowed() {
        check(&[("connect-src", "https://a")], &["img-src 'self'"], &["img-src 'self'"]);
        check(&[("frame-ancestors", "https://a")], &["default-src 'none'"], &["default-src 'none'"]);
        check(&[("default-src", "https://a")], &["img-src 'self'"], &["img-src 'self'"]);
        check(
            &[("child-src", "https://a")],
            &["default-src d; script-src s"],
            &["default-src d; script-src s; frame-src d https://a; worker-src s https://a"],
        );
        check(&[("connect-src", "'none'")], &["connect-src 'self'"], &["connect-src 'self'"]);
    }

    #[test]
    fn every_policy_is_extended_for_all_of_them_hold() {
        check(
            &[("img-src", "https://a")],
            &["img-src x, default-src y", "sandbox"],
            &["img-src x https://a", "default-src y; img-src y https://a", "sandbox"],
        );
    }

    #[test]
    fn a_page_without_a_policy_stays_without_one() {
        check(&[("connect-src", "https://a")], &[], &[]);
        check(&[("connect-src", "'none'")], &[" ; "], &[" ; "]);
    }

    #[test]
    fn ours_takes_the_place_of_all() {
        let ours = wish(Mode::Replace, Reporting::Off, &[("img-src", "'self'")]);
        check_with(&ours, &["default-src 'none'", "img-src x"], &["img-src 'self'"]);
        check_with(&ours, &[], &["img-src 'self'"]);
    }

    #[test]
    fn reports_come_to_us_too() {
        let uri = wish(Mode::Extend, Reporting::ReportUri, &[]);
        check_with(&uri, &["img-src x; report-uri /a; report-to b"], &["img-src x; report-uri /a /r"]);
        check_with(&uri, &[], &[]);
        let both = wish(Mode::Replace, Reporting::ReportTo, &[("img-src", "'self'")]);
        let mut headers = headers(&[]);
        headers.insert(REPORTING_ENDPOINTS, HeaderValue::from_static("a=\"/a\""));
        assert!(apply(&mut headers, &both, "/r"));
        assert_eq!(told(&headers), ["img-src 'self'; report-uri /r; report-to wiretape-csp"]);
        let endpoints: Vec<_> = headers.get_all(REPORTING_ENDPOINTS).iter().collect();
        assert_eq!(endpoints, ["a=\"/a\"", "wiretape-csp=\"/r\""]);
    }

    #[test]
    fn a_changed_page_is_not_compared_with_a_copy_and_an_unchanged_one_is_left_alone() {
        let wish = wish(Mode::Extend, Reporting::Off, &[("img-src", "https://a")]);
        let mut changed = headers(&["img-src x"]);
        changed.insert(ETAG, HeaderValue::from_static("\"1\""));
        assert!(apply(&mut changed, &wish, "/r") && !changed.contains_key(ETAG));
        let mut same = headers(&["img-src   https://a ;"]);
        same.insert(ETAG, HeaderValue::from_static("\"1\""));
        let before = same.clone();
        assert!(!apply(&mut same, &wish, "/r"));
        assert_eq!(same, before);
    }

    #[test]
    fn what_can_not_be_read_stays() {
        let mut odd = HeaderMap::new();
        odd.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_bytes(b"img-src \xe4").unwrap());
        let before = odd.clone();
        assert!(!apply(
            &mut odd,
            &wish(Mode::Extend, Reporting::ReportUri, &[("img-src", "https://a")]),
            "/r"
        ));
        assert_eq!(odd, before);
    }

    const NAMES: [&str; 8] = [
        "default-src",
        "child-src",
        "script-src",
        "script-src-elem",
        "worker-src",
        "frame-src",
        "img-src",
        "base-uri",
    ];

    fn sources() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(vec!["'none'", "'self'", "https://a", "https://b"]), 0..3)
    }

    fn directives() -> impl Strategy<Value = Vec<(&'static str, Vec<&'static str>)>> {
        prop::collection::vec((prop::sample::select(NAMES.to_vec()), sources()), 0..5)
    }

    /// What a policy allows for a directive; `None` is everything.
    fn allowed(policy: &Policy, name: &str) -> Option<Vec<String>> {
        let governing = std::iter::once(name).chain(fallbacks(name).iter().copied());
        let words = governing.filter_map(|name| policy.get(name)).next()?;
        let mut words: Vec<String> = words.iter().filter(|word| *word != Source::NONE).cloned().collect();
        words.sort();
        words.dedup();
        Some(words)
    }

    proptest! {
        /// Nothing that was allowed is forbidden afterwards, what is wished for is allowed, and nothing else is.
        #[test]
        fn extending_gives_what_was_asked_for_and_nothing_else(before in directives(), more in directives()) {
            let text: Vec<String> = before.iter().map(|(name, words)| format!("{name} {}", words.join(" "))).collect();
            let before = Policy::parse(&text.join(";"));
            let more: Vec<(&str, String)> = more.iter().map(|(name, words)| (*name, words.join(" "))).collect();
            let more: Vec<(&str, &str)> = more.iter().map(|(name, words)| (*name, words.as_str())).collect();
            let wish = wish(Mode::Extend, Reporting::Off, &more);
            let mut after = before.clone();
            after.extend(&wish.directives);
            for name in NAMES {
                let (old, new) = (allowed(&before, name), allowed(&after, name));
                let Some(old) = old else {
                    prop_assert_eq!(new, None, "{}", name);
                    continue;
                };
                let new = new.unwrap_or_default();
                prop_assert!(old.iter().all(|word| new.contains(word)), "{}: {:?} {:?}", name, before, after);
                let governed = |directive: &str| directive == name || fallbacks(name).contains(&directive);
                let wished: Vec<&str> = wish.directives.iter().filter(|(directive, _)| governed(directive.name()))
                    .flat_map(|(_, sources)| sources).map(Source::as_str).collect();
                prop_assert!(new.iter().all(|word| old.contains(word) || wished.contains(&word.as_str())), "{}: {:?} {:?}", name, before, after);
                let asked = wish.directives.iter().filter(|(directive, _)| directive.name() == name && name != "child-src");
                for source in asked.flat_map(|(_, sources)| sources).filter(|source| !source.is_none()) {
                    prop_assert!(new.contains(&source.as_str().to_owned()), "{}: {:?} {:?}", name, before, after);
                }
            }
        }

        #[test]
        fn any_header_survives(text in "[a-z'; ,*:/-]{0,60}") {
            let mut headers = headers(&[&text]);
            apply(&mut headers, &wish(Mode::Extend, Reporting::ReportTo, &[("img-src", "https://a")]), "/r");
        }
    }
}
