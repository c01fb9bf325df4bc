//! What the user wants: which sources for which directives, for which pages and resources.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What is to become of the policies of some pages and resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The pages and resources that it is for; for all if there are none.
    pub paths: Vec<PathGlob>,
    /// What it does to the upstream's policy.
    pub mode: Mode,
    /// The directives.
    pub directives: Directives,
    /// How browsers tell what they blocked; if it is not said, a rule before this one says it.
    pub report: Option<Reporting>,
}

impl Rule {
    /// Whether it is for the page at this path, or the resource with this URI.
    pub(super) fn is_for(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| glob.matcher.is_match(path))
    }

    /// Whether it may be for a resource at all.
    pub(super) fn may_be_for_resources(&self) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| !glob.text.starts_with('/'))
    }
}

/// What a rule does to the upstream's policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// What is allowed there is allowed, and the rule's sources are, too.
    #[default]
    Extend,
    /// It is gone, and what rules before this one said; the rule's directives stand in its place.
    Replace,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "extend" => Ok(Mode::Extend),
            "replace" => Ok(Mode::Replace),
            _ => Err(format!("`{text}` is no mode; there are \"extend\" and \"replace\"")),
        }
    }
}

/// How browsers tell what they blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reporting {
    /// Not at all.
    Off,
    /// At once, by `report-uri`.
    #[default]
    ReportUri,
    /// When they like, by `report-to`, where they can; otherwise by `report-uri`.
    ReportTo,
}

/// A directive that has sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Directive(usize);

impl Directive {
    /// All of them: those that others fall back on stand before these.
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

    /// Its name.
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
    pub(super) const NONE: &'static str = "'none'";

    /// As it stands in the header.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it allows nothing.
    pub fn is_none(&self) -> bool {
        self.0.eq_ignore_ascii_case(Self::NONE)
    }

    /// The source, if it is an origin that a widget's metadata can name.
    pub(super) fn origin(&self) -> Option<&str> {
        let (scheme, _) = self.0.split_once("://")?;
        ["http", "https", "ws", "wss"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
            .then_some(&self.0)
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let said = if text.is_empty() {
            Err("a source is not empty".to_owned())
        } else if !text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"')) {
            // They would end the directive, the policy or the header.
            let message = "a source has no blanks, `;`, `,`, double quotes or letters beyond ASCII in it; \
                           several sources are several items of the list";
            Err(message.to_owned())
        } else if text.contains('\'') {
            check_quoted(text)
        } else {
            check_bare(text)
        };
        said.map(|()| Source(text.to_owned()))
    }
}

fn check_quoted(text: &str) -> Result<(), String> {
    let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or_default();
    let lower = inner.to_ascii_lowercase();
    let is_hash = || {
        let hash = ["sha256-", "sha384-", "sha512-"].iter().find_map(|prefix| lower.strip_prefix(prefix));
        hash.is_some_and(|hash| !hash.is_empty() && hash.bytes().all(is_base64))
    };
    if KEYWORDS.contains(&lower.as_str()) || is_hash() {
        Ok(())
    } else if lower.starts_with("nonce-") {
        Err("a nonce is another one for each page, so it can't be written down here".to_owned())
    } else {
        let keywords = KEYWORDS.map(|keyword| format!("'{keyword}'")).join(", ");
        Err(format!("`{text}` is no keyword; there are {keywords}, and hashes such as 'sha256-…'"))
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

fn check_bare(text: &str) -> Result<(), String> {
    let lower = text.to_ascii_lowercase();
    if KEYWORDS.contains(&lower.as_str()) {
        return Err(format!(
            "`{text}` is a host here; the keyword stands in quotes of its own: \"'{lower}'\""
        ));
    }
    if is_scheme_source(text) {
        return Ok(());
    }
    let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
    let authority = rest.split('/').next().unwrap_or_default();
    let is_sound = scheme.is_none_or(is_scheme) && is_host_and_port(authority) && !rest.contains(['?', '#']);
    if is_sound {
        return Ok(());
    }
    Err(format!(
        "`{text}` is no source; write it like https://api.example.com, *.example.com, https: or 'self'"
    ))
}

/// `https:`, `data:`.
fn is_scheme_source(text: &str) -> bool {
    text.strip_suffix(':').is_some_and(is_scheme)
}

fn is_scheme(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_part)
}

/// `*`, `localhost:9000`, `*.example.com`, `[::1]:*`.
fn is_host_and_port(text: &str) -> bool {
    let (host, port) = match text.rfind(':').filter(|at| !text[*at..].contains(']')) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let is_port = |port: &str| port == "*" || port.parse::<u16>().is_ok();
    port.is_none_or(is_port) && (host == "*" || is_host(host.strip_prefix("*.").unwrap_or(host)))
}

fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
        || host.split('.').all(is_label)
}

/// Directives and their sources, each directive once, those that others fall back on first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives(Vec<(Directive, Vec<Source>)>);

impl Directives {
    /// Adds sources to a directive, those that it hasn't yet.
    pub fn add(&mut self, directive: Directive, sources: impl IntoIterator<Item = Source>) {
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
        // Among others it means nothing.
        if list.len() > 1 {
            list.retain(|source| !source.is_none());
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Directive, &[Source])> {
        self.0.iter().map(|(directive, sources)| (*directive, sources.as_slice()))
    }
}

impl Serialize for Directives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(directive, sources)| (directive.name(), sources)))
    }
}

/// Which pages, by their paths, or which resources, by their URIs: `/widgets/**`, `ui://weather/*`.
#[derive(Clone)]
pub struct PathGlob {
    text: String,
    matcher: GlobMatcher,
}

impl FromStr for PathGlob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(['?', '#']) {
            return Err("a path ends where its query begins, so `?` and `#` are never in it".to_owned());
        }
        if !text.starts_with(['/', '*']) && !text.contains("://") {
            return Err(format!(
                "`{text}` is for nothing: a path begins with `/`, and a resource's URI has `://` in it"
            ));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("`{text}` can't be read: {}", error.kind()))?;
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

/// What all rules together want for one page or resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wish {
    pub(super) mode: Mode,
    pub(super) directives: Directives,
    pub(super) report: Reporting,
}

impl Wish {
    /// What these rules want for the page at this path or the resource with this URI; `None` if none is for it.
    pub(super) fn of(rules: &[Rule], path: &str) -> Option<Self> {
        let mut wish: Option<Wish> = None;
        for rule in rules.iter().filter(|rule| rule.is_for(path)) {
            let wish = wish.get_or_insert_default();
            if rule.mode == Mode::Replace {
                wish.mode = Mode::Replace;
                wish.directives = Directives::default();
            }
            for (directive, sources) in rule.directives.iter() {
                wish.directives.add(directive, sources.iter().cloned());
            }
            wish.report = rule.report.unwrap_or(wish.report);
        }
        wish
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in super::super) fn rule(paths: &[&str], mode: Mode, directives: &[(&str, &[&str])]) -> Rule {
        let mut found = Directives::default();
        for (name, sources) in directives {
            found.add(Directive::named(name).unwrap(), sources.iter().map(|source| source.parse().unwrap()));
        }
        let paths = paths.iter().map(|path| path.parse().unwrap()).collect();
        Rule { paths, mode, directives: found, report: None }
    }

    fn shown(wish: &Wish) -> String {
        serde_json::to_string(&wish.directives).unwrap()
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
            ("", "not empty"),
            ("a; script-src *", "no blanks"),
            ("https://a,", "no blanks"),
            ("https://a\r\nX:", "no blanks"),
            ("https://ä.example", "no blanks"),
            ("self", "\"'self'\""),
            ("'selfish'", "is no keyword"),
            ("'self", "is no keyword"),
            ("'nonce-abc'", "another one for each page"),
            ("'sha256-'", "is no keyword"),
            ("https://", "is no source"),
            ("https://a?x=1", "is no source"),
            ("http:/a", "is no source"),
            ("a.*.com", "is no source"),
            ("host:99999", "is no source"),
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
        let wish = |path| Wish::of(&rules, path).unwrap();
        assert_eq!(
            (wish("/").mode, shown(&wish("/"))),
            (Mode::Extend, r#"{"connect-src":["https://a"]}"#.to_owned())
        );
        let replaced = wish("/w/y");
        assert_eq!(
            (replaced.mode, shown(&replaced)),
            (Mode::Replace, r#"{"img-src":["'none'"]}"#.to_owned())
        );
        let both = wish("/w/x/y");
        assert_eq!(shown(&both), r#"{"default-src":["'self'"],"img-src":["https://b"]}"#);
        assert_eq!(Wish::of(&rules[1..], "/else"), None);
    }

    #[test]
    fn reporting_is_what_was_said_last() {
        let mut rules = [
            rule(&[], Mode::Extend, &[("connect-src", &["https://a"])]),
            rule(&["/quiet"], Mode::Extend, &[("connect-src", &["https://b"])]),
        ];
        rules[1].report = Some(Reporting::Off);
        let report = |path| Wish::of(&rules, path).unwrap().report;
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
        for (glob, expected) in [("widgets", "begins with `/`"), ("/a?b", "query"), ("/[a", "can't be read")]
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
