//! The tables `[[csp]]` and `[[upstream.csp]]`: Content-Security-Policy rules for pages and widgets of upstreams.

use crate::config::{Located, ProblemKind, Problems, Schema, Section};
use std::collections::HashSet;
use std::ops::Range;
use wiretape_proxy::http::csp::{Directive, Directives, Mode, PathGlob, Reporting, Rule, Source};

/// A rule for all upstreams.
pub(super) const CSP: Schema = Schema { title: "[[csp]]", place: "in [[csp]]", keys: &KEYS };

/// A rule for one upstream.
pub(super) const UPSTREAM_CSP: Schema =
    Schema { title: "[[upstream.csp]]", place: "in [[upstream.csp]]", keys: &KEYS };

const OWN_KEYS: [&str; 3] = ["paths", "mode", "report"];

const KEYS: [&str; OWN_KEYS.len() + Directive::NAMES.len()] = {
    let mut keys = [""; OWN_KEYS.len() + Directive::NAMES.len()];
    // A loop by index: iterators can't be used in a constant. The keys must follow the list of directives.
    let mut at = 0;
    while at < keys.len() {
        keys[at] = if at < OWN_KEYS.len() { OWN_KEYS[at] } else { Directive::NAMES[at - OWN_KEYS.len()] };
        at += 1;
    }
    keys
};

pub(super) fn read_rule(section: &mut Section<'_>) -> Rule {
    let paths = read_paths(section);
    let mode = section.parsed("mode", "\"extend\" or \"replace\"", str::parse::<Mode>);
    let mode = mode.map(|mode| mode.value).unwrap_or_default();
    let report = section.parsed_or_boolean(
        "report",
        "true, false or \"report-to\"",
        |on| if on { Reporting::ReportUri } else { Reporting::Off },
        parse_reporting,
    );
    let report = report.map(|report| report.value);
    let mut directives = Directives::default();
    let mut has_directive = false;
    for name in Directive::NAMES {
        let Some(span) = section.key_span(name) else { continue };
        has_directive = true;
        let sources = read_sources(section, name, &span, mode);
        if let Some(directive) = Directive::named(name).filter(|_| !sources.is_empty()) {
            directives.add(directive, sources);
        }
    }
    if !has_directive {
        check_without_directives(section, mode, report);
    }
    Rule { paths, mode, directives, report }
}

fn parse_reporting(text: &str) -> Result<Reporting, String> {
    match text {
        "report-to" => Ok(Reporting::ReportTo),
        "report-uri" => Ok(Reporting::ReportUri),
        _ => Err(format!("`{text}` is not valid here: expected true, false or \"report-to\"")),
    }
}

/// Reports a rule without a directive, unless it asks for reports.
fn check_without_directives(section: &Section<'_>, mode: Mode, report: Option<Reporting>) {
    let asks_for_reports = matches!(report, Some(Reporting::ReportUri | Reporting::ReportTo));
    let message = match mode {
        Mode::Replace => "it would remove the policy without a replacement",
        Mode::Extend if asks_for_reports => return,
        Mode::Extend => "it has no effect",
    };
    let message = format!("{} has no directive such as `connect-src`: {message}", section.title());
    section.problems().add(&section.span(), ProblemKind::MissingKey, message);
}

fn read_paths(section: &mut Section<'_>) -> Vec<PathGlob> {
    // A missing key means all paths. So would a broken list, but its problem has the whole file rejected.
    let Ok(texts) = section.all_texts("paths") else { return Vec::new() };
    let problems = section.problems();
    if let Some(span) = section.key_span("paths").filter(|_| texts.is_empty()) {
        let message = "`paths` is empty, so the rule never applies; remove it to match all paths";
        problems.add(&span, ProblemKind::NoEffect, message);
    }
    each_once("paths", &texts, problems).filter_map(|text| checked("paths", text, problems)).collect()
}

fn read_sources(
    section: &mut Section<'_>,
    name: &'static str,
    key: &Range<usize>,
    mode: Mode,
) -> Vec<Source> {
    let Ok(texts) = section.all_texts(name) else { return Vec::new() };
    let problems = section.problems();
    if texts.is_empty() {
        let message = format!("`{name}` has no source; write [\"'none'\"] to allow nothing");
        problems.add(key, ProblemKind::NoEffect, message);
    }
    for none in texts.iter().filter(|text| text.value.eq_ignore_ascii_case("'none'")) {
        if texts.len() > 1 {
            let message = format!("`{name}`: 'none' can't be combined with other sources");
            problems.add(&none.span, ProblemKind::Conflict, message);
        } else if mode == Mode::Extend {
            let message = format!("`{name}`: 'none' has no effect unless mode = \"replace\"");
            problems.add(&none.span, ProblemKind::NoEffect, message);
        }
    }
    each_once(name, &texts, problems).filter_map(|text| checked(name, text, problems)).collect()
}

/// The strings of a list; duplicates are problems.
fn each_once<'a>(
    list: &str,
    texts: &'a [Located<&'a str>],
    problems: &Problems<'_>,
) -> impl Iterator<Item = &'a Located<&'a str>> {
    let mut seen = HashSet::new();
    for text in texts.iter().filter(|text| !seen.insert(text.value)) {
        let message = format!("`{}` is already in `{list}`, so it has no effect", text.value);
        problems.add(&text.span, ProblemKind::NoEffect, message);
    }
    texts.iter()
}

fn checked<T: std::str::FromStr<Err = String>>(
    list: &str,
    text: &Located<&str>,
    problems: &Problems<'_>,
) -> Option<T> {
    let parsed = text.value.parse();
    parsed.map_err(|why| problems.add(&text.span, ProblemKind::BadValue, format!("`{list}`: {why}"))).ok()
}
