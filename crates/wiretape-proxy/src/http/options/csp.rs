//! The user's rules for Content-Security-Policies: sources of directives, for some pages and resources.
//! `policy::csp` applies them.
//!
//! Everything is checked when it is parsed, because a source goes into a header as it is: a stray `;` or `,`
//! would change the rest of the policy. `EffectiveRule` combines the rules that apply to one page.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A change of the policies of some pages and resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The pages and resources that it applies to; all if there are none.
    pub paths: Vec<PathGlob>,
    /// How it is combined with the upstream's policy.
    pub mode: Mode,
    /// The directives and their sources.
    pub directives: Directives,
    /// How browsers report what they block; `None` keeps the value of the rules before this one.
    pub report: Option<Reporting>,
}

impl Rule {
    /// Whether it applies to the page at this path, or the resource with this URI.
    pub(crate) fn is_for(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| glob.matcher.is_match(path))
    }

    /// Whether it may apply to resources at all.
    pub(crate) fn may_be_for_resources(&self) -> bool {
        // Resources have URIs, so a rule whose globs all start with `/` is only for pages, and responses need not be
        // held to look for widgets.
        self.paths.is_empty() || self.paths.iter().any(|glob| !glob.text.starts_with('/'))
    }
}

/// How a rule is combined with the upstream's policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The rule's sources are allowed in addition.
    #[default]
    Extend,
    /// The rule's directives replace the upstream's policy and those of the rules before this one.
    Replace,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "extend" => Ok(Mode::Extend),
            "replace" => Ok(Mode::Replace),
            _ => Err(format!("`{text}` is not a mode; use \"extend\" or \"replace\"")),
        }
    }
}

/// How browsers report what they block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reporting {
    /// No address for reports is added to the policy.
    Off,
    /// Each violation at once, by `report-uri`.
    #[default]
    ReportUri,
    /// In batches, by `report-to`, if the browser supports it; otherwise by `report-uri`.
    ReportTo,
}

/// A directive that has sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Directive(usize);

impl Directive {
    /// All directives; those that others fall back to come before them.
    pub const NAMES: [&'static str; 19] = [
        "default-src",
        "child-src",
        "script-src",
        "style-src",
        "connect-src",
        "font-src",
        "frame-src",
        "img-src",
        "manifest-src",
        "media-src",
        "object-src",
        "script-src-attr",
        "script-src-elem",
        "style-src-attr",
        "style-src-elem",
        "worker-src",
        "base-uri",
        "form-action",
        "frame-ancestors",
    ];

    /// The directive of this name, in lower case.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(Directive)
    }

    /// The directive's name in lower case.
    pub fn name(self) -> &'static str {
        Self::NAMES[self.0]
    }
}

/// A source: a host, a scheme, a keyword or a hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Source(String);

/// The keywords of CSP level 3.
const KEYWORDS: [&str; 8] = [
    "self",
    "none",
    "unsafe-inline",
    "unsafe-eval",
    "wasm-unsafe-eval",
    "unsafe-hashes",
    "strict-dynamic",
    "report-sample",
];

impl Source {
    /// The source that allows nothing.
    pub(crate) const NONE: &'static str = "'none'";

    /// The source as it is written in the header.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it allows nothing.
    pub fn is_none(&self) -> bool {
        self.0.eq_ignore_ascii_case(Self::NONE)
    }

    /// The source, if it is an origin, which a widget's metadata can contain.
    pub(crate) fn origin(&self) -> Option<&str> {
        let (scheme, _) = self.0.split_once("://")?;
        // MCP Apps hosts build the policy from a list of origins; keywords and scheme sources have no meaning there.
        ["http", "https", "ws", "wss"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
            .then_some(&self.0)
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let checked = if text.is_empty() {
            Err("a source must not be empty".to_owned())
        } else if !text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"')) {
            // These characters would end the directive, the policy or the header.
            let message = "a source must not contain spaces, `;`, `,`, double quotes or non-ASCII characters; \
                           write several sources as several items of the list";
            Err(message.to_owned())
        } else if text.contains('\'') {
            check_quoted(text)
        } else {
            check_bare(text)
        };
        checked.map(|()| Source(text.to_owned()))
    }
}

fn check_quoted(text: &str) -> Result<(), String> {
    let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or_default();
    let lower = inner.to_ascii_lowercase();
    // The hash algorithms of CSP level 3, section 2.3.1. Browsers ignore others silently.
    let is_hash = || {
        let hash = ["sha256-", "sha384-", "sha512-"].iter().find_map(|prefix| lower.strip_prefix(prefix));
        hash.is_some_and(|hash| !hash.is_empty() && hash.bytes().all(is_base64))
    };
    if KEYWORDS.contains(&lower.as_str()) || is_hash() {
        Ok(())
    } else if lower.starts_with("nonce-") {
        Err("a nonce is different for each response, so it can't be configured".to_owned())
    } else {
        let keywords = KEYWORDS.map(|keyword| format!("'{keyword}'")).join(", ");
        Err(format!("`{text}` is not a keyword; use {keywords}, or a hash such as 'sha256-…'"))
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

fn check_bare(text: &str) -> Result<(), String> {
    let lower = text.to_ascii_lowercase();
    if KEYWORDS.contains(&lower.as_str()) {
        // Valid syntax, but never what is meant: browsers would silently allow a host named `self`.
        return Err(format!("`{text}` would be a host; quote the keyword: \"'{lower}'\""));
    }
    if is_scheme_source(text) {
        return Ok(());
    }
    // A host source (CSP level 3, section 2.3.1): scheme, host and port, and a path without query or fragment.
    let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
    let authority = rest.split('/').next().unwrap_or_default();
    let is_sound = scheme.is_none_or(is_scheme) && is_host_and_port(authority) && !rest.contains(['?', '#']);
    if is_sound {
        return Ok(());
    }
    Err(format!(
        "`{text}` is not a source; write it like https://api.example.com, *.example.com, https: or 'self'"
    ))
}

/// Whether a text is a scheme source, like `https:` or `data:`.
fn is_scheme_source(text: &str) -> bool {
    text.strip_suffix(':').is_some_and(is_scheme)
}

fn is_scheme(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_part)
}

/// Whether a text is a host with an optional port, like `*`, `localhost:9000`, `*.example.com` or `[::1]:*`.
fn is_host_and_port(text: &str) -> bool {
    // A colon inside the brackets of an IPv6 address does not start a port.
    let (host, port) = match text.rfind(':').filter(|at| !text[*at..].contains(']')) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let is_port = |port: &str| port == "*" || port.parse::<u16>().is_ok();
    port.is_none_or(is_port) && (host == "*" || is_host(host.strip_prefix("*.").unwrap_or(host)))
}

fn is_host(host: &str) -> bool {
    // Underscores are not allowed in host names, but resolve in practice, for example in container networks.
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
        || host.split('.').all(is_label)
}

/// Directives and their sources, each directive once, in the order of [`Directive::NAMES`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives(Vec<(Directive, Vec<Source>)>);

impl Directives {
    /// Adds to a directive the sources that it doesn't have yet.
    pub fn add(&mut self, directive: Directive, sources: impl IntoIterator<Item = Source>) {
        // Sorted by the table of names, so that the same rules always produce the same header, which caches and tests
        // compare.
        let at = match self.0.binary_search_by_key(&directive, |(known, _)| *known) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (directive, Vec::new()));
                at
            }
        };
        let list = &mut self.0[at].1;
        for source in sources {
            if !list.contains(&source) {
                list.push(source);
            }
        }
        // `'none'` is ignored next to other sources (CSP level 3, section 2.3.1).
        if list.len() > 1 {
            list.retain(|source| !source.is_none());
        }
    }

    /// Whether there are no directives.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The directives in order, each with its sources.
    pub fn iter(&self) -> impl Iterator<Item = (Directive, &[Source])> {
        self.0.iter().map(|(directive, sources)| (*directive, sources.as_slice()))
    }
}

impl Serialize for Directives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(directive, sources)| (directive.name(), sources)))
    }
}

/// A glob over the paths of pages or the URIs of resources: `/widgets/**`, `ui://weather/*`.
#[derive(Clone)]
pub struct PathGlob {
    text: String,
    matcher: GlobMatcher,
}

impl FromStr for PathGlob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(['?', '#']) {
            return Err("a path has no query or fragment: remove `?` and `#`".to_owned());
        }
        if !text.starts_with(['/', '*']) && !text.contains("://") {
            return Err(format!(
                "`{text}` matches nothing: a path begins with `/`, and a resource's URI contains `://`"
            ));
        }
        // `*` stays within one segment, as in a shell; `**` crosses them.
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("`{text}` is not a valid glob: {}", error.kind()))?;
        Ok(PathGlob { text: text.to_owned(), matcher: glob.compile_matcher() })
    }
}

impl fmt::Debug for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl PartialEq for PathGlob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathGlob {}

impl Serialize for PathGlob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// The combination of all rules that apply to one page or resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct EffectiveRule {
    pub(crate) mode: Mode,
    pub(crate) directives: Directives,
    pub(crate) report: Reporting,
}

impl EffectiveRule {
    /// Combines the rules for the page at this path or the resource with this URI; `None` if none applies.
    pub(crate) fn of(rules: &[Rule], path: &str) -> Option<Self> {
        let mut combined: Option<EffectiveRule> = None;
        for rule in rules.iter().filter(|rule| rule.is_for(path)) {
            let combined = combined.get_or_insert_default();
            if rule.mode == Mode::Replace {
                combined.mode = Mode::Replace;
                // The last replacing rule wins over everything before it, and later rules extend it.
                combined.directives = Directives::default();
            }
            for (directive, sources) in rule.directives.iter() {
                combined.directives.add(directive, sources.iter().cloned());
            }
            // The last rule that says something about reports decides, as for sources.
            combined.report = rule.report.unwrap_or(combined.report);
        }
        combined
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn rule(paths: &[&str], mode: Mode, directives: &[(&str, &[&str])]) -> Rule {
        let mut found = Directives::default();
        for (name, sources) in directives {
            found.add(Directive::named(name).unwrap(), sources.iter().map(|source| source.parse().unwrap()));
        }
        let paths = paths.iter().map(|path| path.parse().unwrap()).collect();
        Rule { paths, mode, directives: found, report: None }
    }

    fn shown(combined: &EffectiveRule) -> String {
        serde_json::to_string(&combined.directives).unwrap()
    }

    #[test]
    fn sources_are_hosts_schemes_keywords_and_hashes() {
        for source in [
            "https://api.example.com",
            "wss://*.example.com:443",
            "example.com/scripts/",
            "localhost:9000",
            "[::1]:*",
            "*",
            "https:",
            "data:",
            "'self'",
            "'NONE'",
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
        ] {
            assert_eq!(source.parse::<Source>().map(|source| source.0), Ok(source.to_owned()));
        }
    }

    #[test]
    fn what_is_no_source_is_refused_with_what_to_write() {
        for (source, expected) in [
            ("", "must not be empty"),
            ("a; script-src *", "must not contain spaces"),
            ("https://a,", "must not contain spaces"),
            ("https://a\r\nX:", "must not contain spaces"),
            ("https://ä.example", "must not contain spaces"),
            ("self", "\"'self'\""),
            ("'selfish'", "is not a keyword"),
            ("'self", "is not a keyword"),
            ("'nonce-abc'", "different for each response"),
            ("'sha256-'", "is not a keyword"),
            ("https://", "is not a source"),
            ("https://a?x=1", "is not a source"),
            ("http:/a", "is not a source"),
            ("a.*.com", "is not a source"),
            ("host:99999", "is not a source"),
        ] {
            let told = source.parse::<Source>().unwrap_err();
            assert!(told.contains(expected), "{source}: {told}");
        }
    }

    #[test]
    fn rules_follow_one_another() {
        let rules = [
            rule(&[], Mode::Extend, &[("connect-src", &["https://a"])]),
            rule(&["/w/**"], Mode::Replace, &[("img-src", &["'none'"])]),
            rule(&["/w/x/*"], Mode::Extend, &[("img-src", &["https://b"]), ("default-src", &["'self'"])]),
        ];
        let combined = |path| EffectiveRule::of(&rules, path).unwrap();
        assert_eq!(
            (combined("/").mode, shown(&combined("/"))),
            (Mode::Extend, r#"{"connect-src":["https://a"]}"#.to_owned())
        );
        let replaced = combined("/w/y");
        assert_eq!(
            (replaced.mode, shown(&replaced)),
            (Mode::Replace, r#"{"img-src":["'none'"]}"#.to_owned())
        );
        let both = combined("/w/x/y");
        assert_eq!(shown(&both), r#"{"default-src":["'self'"],"img-src":["https://b"]}"#);
        assert_eq!(EffectiveRule::of(&rules[1..], "/else"), None);
    }

    #[test]
    fn reporting_is_what_was_said_last() {
        let mut rules = [
            rule(&[], Mode::Extend, &[("connect-src", &["https://a"])]),
            rule(&["/quiet"], Mode::Extend, &[("connect-src", &["https://b"])]),
        ];
        rules[1].report = Some(Reporting::Off);
        let report = |path| EffectiveRule::of(&rules, path).unwrap().report;
        assert_eq!((report("/"), report("/quiet")), (Reporting::ReportUri, Reporting::Off));
    }

    #[test]
    fn globs_are_for_paths_or_for_resources() {
        let is_for = |glob: &str, path: &str| rule(&[glob], Mode::Extend, &[]).is_for(path);
        assert!(is_for("/widgets/**", "/widgets/a/b.html") && !is_for("/widgets/*", "/widgets/a/b.html"));
        assert!(is_for("**", "/") && is_for("**", "ui://weather/now.html"));
        assert!(is_for("ui://weather/*", "ui://weather/now.html") && !is_for("/**", "ui://weather/now.html"));
        let may = |globs: &[&str]| rule(globs, Mode::Extend, &[]).may_be_for_resources();
        assert!(may(&[]) && may(&["/a", "ui://**"]) && may(&["**"]) && !may(&["/**"]));
        for (glob, expected) in
            [("widgets", "begins with `/`"), ("/a?b", "query"), ("/[a", "not a valid glob")]
        {
            let told = glob.parse::<PathGlob>().unwrap_err();
            assert!(told.contains(expected), "{told}");
        }
    }

    proptest! {
        /// Whatever is accepted, it stays within its directive.
        #[test]
        fn no_source_breaks_out(text in any::<String>()) {
            if let Ok(source) = text.parse::<Source>() {
                let harmless = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b';' | b',');
                prop_assert!(!source.0.is_empty() && source.0.bytes().all(harmless));
            }
        }
    }
}
