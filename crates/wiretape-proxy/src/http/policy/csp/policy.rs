//! The `Content-Security-Policy` header, and how rules change the upstream's.
//!
//! There may be several policies in one header and several headers, and a browser enforces all of them: to allow something more,
//! each policy has to allow it.
//!
//! Adding a source to a directive that a policy lacks must neither revoke what the policy allowed nor allow more than the rule
//! says. If the missing directive falls back to another (`connect-src` to `default-src`), the new one starts with the sources of
//! that. If there is no fallback, or no policy, everything is already allowed, and nothing is added.

use crate::http::options::csp::{Directives, EffectiveRule, Mode, Reporting, Source};
use http::header::{CONTENT_SECURITY_POLICY, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED};

const REPORTING_ENDPOINTS: HeaderName = HeaderName::from_static("reporting-endpoints");

/// The name of our endpoint in `Reporting-Endpoints`.
const ENDPOINT: &str = "wiretape-csp";

/// One serialized policy: directives with their values, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Policy(Vec<(String, Vec<String>)>);

/// Applies the rules to a page's headers. Returns whether anything changed.
pub(super) fn apply(headers: &mut HeaderMap, rule: &EffectiveRule, report_path: &str) -> bool {
    let Some(policies) = wanted(headers, rule, report_path) else { return false };
    let values: Vec<HeaderValue> =
        policies.iter().filter_map(|policy| HeaderValue::try_from(policy.render()).ok()).collect();
    headers.remove(CONTENT_SECURITY_POLICY);
    for value in values {
        headers.append(CONTENT_SECURITY_POLICY, value);
    }
    if rule.report == Reporting::ReportTo
        && let Ok(endpoint) = HeaderValue::try_from(format!("{ENDPOINT}=\"{report_path}\""))
    {
        // Appended, because the upstream may have endpoints of its own under other names.
        headers.append(REPORTING_ENDPOINTS, endpoint);
    }
    // Without validators the browser can't get a 304, which would make it keep the policy of its cached copy.
    headers.remove(ETAG);
    headers.remove(LAST_MODIFIED);
    true
}

/// The policies that the page should have; `None` if it already has them.
fn wanted(headers: &HeaderMap, rule: &EffectiveRule, report_path: &str) -> Option<Vec<Policy>> {
    let values: Vec<&HeaderValue> = headers.get_all(CONTENT_SECURITY_POLICY).iter().collect();
    let (before, mut after) = match rule.mode {
        Mode::Replace => (None, vec![Policy::from_directives(&rule.directives)]),
        Mode::Extend => {
            // A header that is not ASCII can't be extended.
            let texts: Vec<&str> = values.iter().map(|value| value.to_str().ok()).collect::<Option<_>>()?;
            let before: Vec<Policy> = texts.iter().flat_map(|text| parse(text)).collect();
            // Without a policy everything is allowed; adding one could only forbid.
            let mut after = before.clone();
            after.iter_mut().for_each(|policy| policy.extend(&rule.directives));
            (Some(before), after)
        }
    };
    after.iter_mut().for_each(|policy| policy.report(rule.report, report_path));
    after.retain(|policy| !policy.0.is_empty());
    (before.as_ref() != Some(&after)).then_some(after)
}

/// The policies of one header.
fn parse(header: &str) -> Vec<Policy> {
    header.split(',').map(Policy::parse).filter(|policy| !policy.0.is_empty()).collect()
}

impl Policy {
    /// Parses a policy. Of duplicate directives the first one counts (CSP level 3, section 2.2.1).
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

    /// Allows these sources in addition.
    fn extend(&mut self, directives: &Directives) {
        for (directive, sources) in directives.iter() {
            match directive.name() {
                // Only these two fall back to `child-src`. Without it they fall back to different directives, so a new
                // `child-src`
                // can't start with the sources of one of those.
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
        // `'none'` counts only on its own (CSP level 3, section 2.3.1); next to a source it is ignored.
        let kept = allowed.iter().filter(|known| !known.eq_ignore_ascii_case(Source::NONE)).cloned();
        let words = kept.chain(new).collect();
        self.set(name, words);
    }

    /// Makes browsers report to our endpoint.
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
            // A browser that supports `report-to` ignores `report-uri` next to it.
            _ => self.0.retain(|(name, _)| name != "report-to"),
        }
    }
}

/// The directives that a missing one falls back to; the first existing one counts (CSP level 3, section 6.8.3).
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
    use super::*;
    use crate::http::options::csp::Directive;
    use proptest::prelude::*;

    fn rule(mode: Mode, report: Reporting, directives: &[(&str, &str)]) -> EffectiveRule {
        let mut rule = EffectiveRule { mode, report, ..EffectiveRule::default() };
        for (name, sources) in directives {
            let sources = sources.split_ascii_whitespace().map(|source| source.parse().unwrap());
            rule.directives.add(Directive::named(name).unwrap(), sources);
        }
        rule
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

    fn check_with(rule: &EffectiveRule, before: &[&str], after: &[&str]) {
        let mut headers = headers(before);
        let changed = apply(&mut headers, rule, "/r");
        assert_eq!(told(&headers), after, "{before:?}");
        assert_eq!(changed, before != after, "{before:?}");
    }

    fn check(directives: &[(&str, &str)], before: &[&str], after: &[&str]) {
        check_with(&rule(Mode::Extend, Reporting::Off, directives), before, after);
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
        let ours = rule(Mode::Replace, Reporting::Off, &[("img-src", "'self'")]);
        check_with(&ours, &["default-src 'none'", "img-src x"], &["img-src 'self'"]);
        check_with(&ours, &[], &["img-src 'self'"]);
    }

    #[test]
    fn reports_come_to_us_too() {
        let uri = rule(Mode::Extend, Reporting::ReportUri, &[]);
        check_with(&uri, &["img-src x; report-uri /a; report-to b"], &["img-src x; report-uri /a /r"]);
        check_with(&uri, &[], &[]);
        let both = rule(Mode::Replace, Reporting::ReportTo, &[("img-src", "'self'")]);
        let mut headers = headers(&[]);
        headers.insert(REPORTING_ENDPOINTS, HeaderValue::from_static("a=\"/a\""));
        assert!(apply(&mut headers, &both, "/r"));
        assert_eq!(told(&headers), ["img-src 'self'; report-uri /r; report-to wiretape-csp"]);
        let endpoints: Vec<_> = headers.get_all(REPORTING_ENDPOINTS).iter().collect();
        assert_eq!(endpoints, ["a=\"/a\"", "wiretape-csp=\"/r\""]);
    }

    #[test]
    fn a_changed_page_is_not_compared_with_a_copy_and_an_unchanged_one_is_left_alone() {
        let rule = rule(Mode::Extend, Reporting::Off, &[("img-src", "https://a")]);
        let mut changed = headers(&["img-src x"]);
        changed.insert(ETAG, HeaderValue::from_static("\"1\""));
        assert!(apply(&mut changed, &rule, "/r") && !changed.contains_key(ETAG));
        let mut same = headers(&["img-src   https://a ;"]);
        same.insert(ETAG, HeaderValue::from_static("\"1\""));
        let before = same.clone();
        assert!(!apply(&mut same, &rule, "/r"));
        assert_eq!(same, before);
    }

    #[test]
    fn what_can_not_be_read_stays() {
        let mut odd = HeaderMap::new();
        odd.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_bytes(b"img-src \xe4").unwrap());
        let before = odd.clone();
        assert!(!apply(
            &mut odd,
            &rule(Mode::Extend, Reporting::ReportUri, &[("img-src", "https://a")]),
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
            let rule = rule(Mode::Extend, Reporting::Off, &more);
            let mut after = before.clone();
            after.extend(&rule.directives);
            for name in NAMES {
                let (old, new) = (allowed(&before, name), allowed(&after, name));
                let Some(old) = old else {
                    prop_assert_eq!(new, None, "{}", name);
                    continue;
                };
                let new = new.unwrap_or_default();
                prop_assert!(old.iter().all(|word| new.contains(word)), "{}: {:?} {:?}", name, before, after);
                let governed = |directive: &str| directive == name || fallbacks(name).contains(&directive);
                let wished: Vec<&str> = rule.directives.iter().filter(|(directive, _)| governed(directive.name()))
                    .flat_map(|(_, sources)| sources).map(Source::as_str).collect();
                prop_assert!(new.iter().all(|word| old.contains(word) || wished.contains(&word.as_str())), "{}: {:?} {:?}", name, before, after);
                let asked = rule.directives.iter().filter(|(directive, _)| directive.name() == name && name != "child-src");
                for source in asked.flat_map(|(_, sources)| sources).filter(|source| !source.is_none()) {
                    prop_assert!(new.contains(&source.as_str().to_owned()), "{}: {:?} {:?}", name, before, after);
                }
            }
        }

        #[test]
        fn any_header_survives(text in "[a-z'; ,*:/-]{0,60}") {
            let mut headers = headers(&[&text]);
            apply(&mut headers, &rule(Mode::Extend, Reporting::ReportTo, &[("img-src", "https://a")]), "/r");
        }
    }
}
