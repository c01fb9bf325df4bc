//! The table `[redact]`: changes to the redaction rules.

use super::document::{Located, Schema, Section};
use super::problem::{ProblemKind, Problems};
use super::suggest::nearest;
use serde::{Serialize, Serializer};
use wiretape_trace::redact::{RULES, RuleError, Rules};

/// The table `[redact]`.
pub(crate) const REDACT: Schema =
    Schema { title: "[redact]", place: "in [redact]", keys: &["disable", "keys", "allow_keys", "patterns"] };

/// A table of `[[redact.patterns]]`.
pub(crate) const REDACT_PATTERN: Schema =
    Schema { title: "[[redact.patterns]]", place: "in [[redact.patterns]]", keys: &["name", "regex"] };

/// Changes to the redaction rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RedactConfig {
    disable: Vec<String>,
    /// Member names whose values are secret; `*` matches anything.
    keys: Vec<String>,
    /// Member names whose values are not secret because of the name alone.
    allow_keys: Vec<String>,
    /// Additional patterns of secrets.
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    name: String,
    regex: String,
}

/// Prints only the name: an expression may reveal what a secret looks like.
impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl RedactConfig {
    pub(crate) fn read(section: &mut Section<'_>) -> Self {
        let disable = section.texts("disable");
        check_rules(&disable, section.problems());
        let (keys, allow_keys) = (section.texts("keys"), section.texts("allow_keys"));
        check_keys("keys", &keys, section.problems());
        check_keys("allow_keys", &allow_keys, section.problems());
        check_contradictions(&keys, &allow_keys, section.problems());
        let patterns = section.tables("patterns", &REDACT_PATTERN, read_pattern);
        RedactConfig {
            disable: values(disable),
            keys: values(keys),
            allow_keys: values(allow_keys),
            patterns: patterns.into_iter().flatten().collect(),
        }
    }

    /// The rules of the file, with the patterns of the command line.
    pub(crate) fn rules(self, patterns: &[String]) -> Rules {
        let from_file = self.patterns.into_iter().map(|pattern| (pattern.name, pattern.regex));
        let from_command_line = patterns.iter().map(|regex| ("custom".to_owned(), regex.clone()));
        Rules {
            disabled: self.disable,
            patterns: from_file.chain(from_command_line).collect(),
            keys: self.keys,
            allowed_keys: self.allow_keys,
        }
    }
}

fn values(located: Vec<Located<&str>>) -> Vec<String> {
    located.into_iter().map(|text| text.value.to_owned()).collect()
}

fn check_rules(disable: &[Located<&str>], problems: &Problems<'_>) {
    let names = || RULES.iter().map(|rule| rule.name);
    for name in disable {
        if !names().any(|known| known == name.value) {
            let suggestion = nearest(name.value, names()).map(|known| format!("`{known}`"));
            let known = if suggestion.is_some() { String::new() } else { known_rules() };
            let message = format!("unknown redaction rule `{}`{known}", name.value);
            problems.suggest(&name.span, ProblemKind::BadValue, message, suggestion);
        }
    }
    check_repetitions("disable", disable, str::to_owned, problems);
}

fn known_rules() -> String {
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    format!("; the rules are {}", names.join(", "))
}

fn check_keys(list: &str, keys: &[Located<&str>], problems: &Problems<'_>) {
    for key in keys {
        // Compiled one at a time, so that the problem points to this key and not to the list.
        let alone = Rules { keys: vec![key.value.to_owned()], ..Rules::default() };
        if let Err(error) = alone.compile() {
            problems.add(&key.span, ProblemKind::BadValue, format!("`{list}`: {error}"));
        }
    }
    check_repetitions(list, keys, normal, problems);
}

fn check_repetitions(
    list: &str,
    texts: &[Located<&str>],
    normal: impl Fn(&str) -> String,
    problems: &Problems<'_>,
) {
    for (at, text) in texts.iter().enumerate() {
        if texts[..at].iter().any(|other| normal(other.value) == normal(text.value)) {
            let message = format!("`{}` is already in `{list}`, so it has no effect", text.value);
            problems.add(&text.span, ProblemKind::NoEffect, message);
        }
    }
}

fn check_contradictions(keys: &[Located<&str>], allowed: &[Located<&str>], problems: &Problems<'_>) {
    for key in allowed {
        if keys.iter().any(|other| normal(other.value) == normal(key.value)) {
            let message = format!("`{}` is in both `keys` and `allow_keys`", key.value);
            problems.add(&key.span, ProblemKind::Conflict, message);
        }
    }
}

/// A member name, normalized as the rules compare it.
fn normal(key: &str) -> String {
    key.to_lowercase().replace(['-', '_', '.'], "")
}

fn read_pattern(section: &mut Section<'_>) -> Option<Pattern> {
    let name = section.text("name", "text");
    let regex = section.text("regex", "a regular expression in quotes");
    for (key, is_there) in [("name", section.key_span("name")), ("regex", section.key_span("regex"))] {
        if is_there.is_none() {
            section.report_missing(key);
        }
    }
    let (name, regex) = (name?, regex?);
    let pattern = (name.value.to_owned(), regex.value.to_owned());
    let alone = Rules { patterns: vec![pattern], ..Rules::default() };
    if let Err(error) = alone.compile() {
        // The same for patterns: the span of the value that is wrong.
        let span = if matches!(error, RuleError::RuleName { .. }) { &name.span } else { &regex.span };
        section.problems().add(span, ProblemKind::BadValue, describe(&error));
        return None;
    }
    Some(Pattern { name: name.value.to_owned(), regex: regex.value.to_owned() })
}

/// What is wrong with a pattern. The regex library shows the expression first and the reason in the last line. Only the
/// reason is reported: an expression may reveal what a secret looks like.
fn describe(error: &RuleError) -> String {
    let RuleError::Pattern { source, .. } = error else { return error.to_string() };
    let detail = source.to_string();
    let detail = detail.lines().last().and_then(|line| line.strip_prefix("error: "));
    detail.map_or_else(|| error.to_string(), |detail| format!("{error}: {detail}"))
}
