//! The table `[redact]`: changes to the redaction rules.

use super::document::{Located, Schema, Section};
use super::problem::{ProblemKind, Problems};
use super::suggest::nearest;
use serde::{Serialize, Serializer};
use std::ops::Range;
use wiretape_trace::redact::{Alphabet, CustomToken, RULES, RuleError, Rules};

/// The keys of the table `[redact]`.
pub(crate) const REDACT: Schema = Schema {
    title: "[redact]",
    place: "in [redact]",
    keys: &["disable", "keys", "allow_keys", "patterns", "tokens"],
};

/// A table of `[[redact.patterns]]`.
pub(crate) const REDACT_PATTERN: Schema =
    Schema { title: "[[redact.patterns]]", place: "in [[redact.patterns]]", keys: &["name", "regex"] };

/// A table of `[[redact.tokens]]`.
pub(crate) const REDACT_TOKEN: Schema = Schema {
    title: "[[redact.tokens]]",
    place: "in [[redact.tokens]]",
    keys: &["name", "prefix", "alphabet", "length", "min_length", "max_length"],
};

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
    /// The user's additional token formats.
    tokens: Vec<Token>,
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

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token(CustomToken);

/// Prints only the name, like a pattern.
impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.name)
    }
}

/// A rule as `wiretape redact --rules` lists it.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedRule {
    pub(crate) rule: String,
    pub(crate) redacts: String,
    /// Whether the configuration turns it off.
    pub(crate) disabled: bool,
    /// Whether the configuration adds it.
    pub(crate) custom: bool,
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
        let tokens = section.tables("tokens", &REDACT_TOKEN, read_token);
        RedactConfig {
            disable: values(disable),
            keys: values(keys),
            allow_keys: values(allow_keys),
            patterns: patterns.into_iter().flatten().collect(),
            tokens: tokens.into_iter().flatten().collect(),
        }
    }

    /// All rules under this configuration: the user's own first, which a long list of built-in ones would hide.
    pub(crate) fn list_rules(&self) -> Vec<ListedRule> {
        let custom = |rule: &str, redacts| ListedRule {
            rule: rule.to_owned(),
            redacts,
            disabled: false,
            custom: true,
        };
        let mut rules = Vec::new();
        if !self.keys.is_empty() {
            let names: Vec<String> = self.keys.iter().map(|key| format!("`{key}`")).collect();
            rules.push(custom("custom-key", format!("values named {}", names.join(", "))));
        }
        rules.extend(
            self.patterns.iter().map(|pattern| custom(&pattern.name, "a regular expression".to_owned())),
        );
        rules.extend(self.tokens.iter().map(|Token(token)| custom(&token.name, describe_token(token))));
        rules.extend(RULES.iter().map(|rule| ListedRule {
            rule: rule.name.to_owned(),
            redacts: rule.what.to_owned(),
            disabled: self.disable.iter().any(|name| name == rule.name),
            custom: false,
        }));
        rules
    }

    /// The rules of the file, with the patterns of the command line.
    pub(crate) fn rules(self, patterns: &[String]) -> Rules {
        let from_file = self.patterns.into_iter().map(|pattern| (pattern.name, pattern.regex));
        let from_command_line = patterns.iter().map(|regex| ("custom".to_owned(), regex.clone()));
        Rules {
            disabled: self.disable,
            patterns: from_file.chain(from_command_line).collect(),
            tokens: self.tokens.into_iter().map(|Token(token)| token).collect(),
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
            let known = if suggestion.is_some() { "" } else { "; `wiretape redact --rules` lists them" };
            let message = format!("unknown redaction rule `{}`{known}", name.value);
            problems.suggest(&name.span, ProblemKind::BadValue, message, suggestion);
        }
    }
    check_repetitions("disable", disable, str::to_owned, problems);
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

fn read_token(section: &mut Section<'_>) -> Option<Token> {
    let name = section.text("name", "text");
    let prefix = section.text("prefix", "text");
    let alphabet = section.text("alphabet", &format!("one of {}", alphabets()));
    for key in ["name", "prefix", "alphabet"] {
        if section.key_span(key).is_none() {
            section.report_missing(key);
        }
    }
    let length = read_length(section);
    let (name, prefix, alphabet) = (name?, prefix?, alphabet?);
    let alphabet = read_alphabet(&alphabet, section.problems());
    let (alphabet, (min, max, length_span)) = (alphabet?, length?);
    let (name_value, prefix_value) = (name.value.to_owned(), prefix.value.to_owned());
    let token = CustomToken { name: name_value, prefix: prefix_value, alphabet, min, max };
    let alone = Rules { tokens: vec![token.clone()], ..Rules::default() };
    if let Err(error) = alone.compile() {
        let span = match error {
            RuleError::RuleName { .. } => name.span,
            RuleError::TokenPrefix { .. } => prefix.span,
            _ => length_span,
        };
        section.problems().add(&span, ProblemKind::BadValue, error.to_string());
        return None;
    }
    Some(Token(token))
}

fn read_alphabet(name: &Located<&str>, problems: &Problems<'_>) -> Option<Alphabet> {
    let found = Alphabet::NAMED.into_iter().find(|(known, _)| *known == name.value);
    if found.is_none() {
        let suggestion =
            nearest(name.value, Alphabet::NAMED.map(|(known, _)| known)).map(|known| format!("`{known}`"));
        let message = format!("unknown alphabet `{}`; it is one of {}", name.value, alphabets());
        problems.suggest(&name.span, ProblemKind::BadValue, message, suggestion);
    }
    found.map(|(_, alphabet)| alphabet)
}

fn alphabets() -> String {
    Alphabet::NAMED.map(|(name, _)| format!("`{name}`")).join(", ")
}

/// The minimum and the maximum length, and where they are given. `length` sets both.
fn read_length(section: &mut Section<'_>) -> Option<(usize, usize, Range<usize>)> {
    let (length, min, max) =
        (section.number("length"), section.number("min_length"), section.number("max_length"));
    let size = |number: &Located<u64>| usize::try_from(number.value).unwrap_or(usize::MAX);
    let has = |key| section.key_span(key).is_some();
    if let (true, Some(other)) =
        (has("length"), section.key_span("min_length").or(section.key_span("max_length")))
    {
        let message = "use `length`, or `min_length` and `max_length`, but not both";
        section.problems().add(&other, ProblemKind::Conflict, message);
        return None;
    }
    if !has("length") && !has("min_length") {
        let message = format!("{} needs `length`, or `min_length`", section.title());
        section.problems().add(&section.span(), ProblemKind::MissingKey, message);
    }
    if has("max_length") && max.is_none() {
        return None;
    }
    let least = length.as_ref().or(min.as_ref())?;
    let greatest = length.as_ref().or(max.as_ref()).map_or(usize::MAX, size);
    Some((size(least), greatest, least.span.clone()))
}

/// A token format in words. The prefix is shown, because it is what distinguishes the user's rules.
fn describe_token(token: &CustomToken) -> String {
    let alphabet = Alphabet::NAMED.into_iter().find(|(_, known)| *known == token.alphabet);
    let length = match (token.min, token.max) {
        (min, max) if min == max => min.to_string(),
        (min, usize::MAX) => format!("{min} or more"),
        (min, max) => format!("{min} to {max}"),
    };
    format!("`{}` and {length} characters of `{}`", token.prefix, alphabet.map_or("", |(name, _)| name))
}

/// What is wrong with a pattern. The regex library shows the expression first and the reason in the last line. Only the
/// reason is reported: an expression may reveal what a secret looks like.
fn describe(error: &RuleError) -> String {
    let RuleError::Pattern { source, .. } = error else { return error.to_string() };
    let detail = source.to_string();
    let detail = detail.lines().last().and_then(|line| line.strip_prefix("error: "));
    detail.map_or_else(|| error.to_string(), |detail| format!("{error}: {detail}"))
}
