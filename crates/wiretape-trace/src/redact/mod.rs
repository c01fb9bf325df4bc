//! Secrets out, before anything is written.
//!
//! A [`Redactor`] replaces what looks like a secret, and only those bytes, by `[REDACTED:<rule>:<8 hex digits>]`.
//! The digits are a keyed hash of the secret with a key of this installation: equal secrets stay equal within
//! and across traces, and nobody who has only the trace can test a guess.
//!
//! There are two ways to recognise a secret, and both look into JSON that stands inside strings (the usual shape
//! of a tool's `content[].text`), several levels deep:
//!
//! - **by its name** ([`keys`]): the value of a member called `password`, `api_key`, `Authorization` …; in text the
//!   same names before `=` or `:`. A *property named* `token` in a JSON Schema is not a secret, nor are
//!   `progressToken`, cursors and token counts.
//! - **by its looks** : `ghp_…`, `AKIA…`, a JWT, a PEM block, `https://user:password@host` …
//!
//! The cost is linear in the input, whatever the input: a fast search for a few bytes that stand beside secrets, a
//! look at their neighbours, and where that is promising a check that never reads the same stretch twice.

pub mod keys;
mod marker;
mod rules;
mod text;
mod walk;

pub use marker::{RedactionKey, is_redacted, markers};
pub use rules::{CustomPattern, RULES, Rule, RuleError, Rules};

use crate::json::SyntaxError;
use keys::KeyRules;
use marker::Marker;
use std::borrow::Cow;
use text::{Found, Hits, Letters, Memo};

/// Replaces secrets. Made once, used from any thread.
#[derive(Debug)]
pub struct Redactor {
    keys: KeyRules,
    letters: Letters,
    enabled: Vec<&'static str>,
    custom: Vec<CustomPattern>,
    marker: Marker,
}

/// Rules that were found to be in order. They need only a key to be a [`Redactor`].
#[derive(Debug)]
pub struct CompiledRules {
    keys: KeyRules,
    enabled: Vec<&'static str>,
    custom: Vec<CustomPattern>,
}

impl Rules {
    /// Checks the rules, and makes them ready.
    pub fn compile(&self) -> Result<CompiledRules, RuleError> {
        let enabled = self.enabled()?;
        Ok(CompiledRules { keys: KeyRules::new(&enabled, self)?, custom: self.custom_patterns()?, enabled })
    }
}

impl CompiledRules {
    /// A redactor with these rules, whose markers are hashed with `key`.
    pub fn with_key(self, key: &RedactionKey) -> Redactor {
        Redactor {
            keys: self.keys,
            letters: Letters::new(),
            enabled: self.enabled,
            custom: self.custom,
            marker: Marker::new(key),
        }
    }
}

/// A replacement of `start..end`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    replacement: String,
}

impl Redactor {
    /// A redactor with the given rules, whose markers are hashed with `key`.
    pub fn new(rules: &Rules, key: &RedactionKey) -> Result<Self, RuleError> {
        Ok(rules.compile()?.with_key(key))
    }

    /// Redacts one JSON value. Fails if it is not JSON: then [`Redactor::text`] is for it.
    ///
    /// ```
    /// use wiretape_trace::redact::{RedactionKey, Redactor, Rules};
    ///
    /// let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
    /// let clean = redactor.json(br#"{"password":"hunter2","id":1.0}"#).unwrap();
    /// assert!(clean.starts_with(br#"{"password":"[REDACTED:password:"#));
    /// assert!(clean.ends_with(br#"]","id":1.0}"#));
    /// ```
    pub fn json<'a>(&self, raw: &'a [u8]) -> Result<Cow<'a, [u8]>, SyntaxError> {
        if self.is_clean(raw)? {
            return Ok(Cow::Borrowed(raw));
        }
        let mut edits = Vec::new();
        walk::json(self, raw, 0, &mut edits)?;
        Ok(apply(raw, &edits))
    }

    /// A quick look that clears most messages, so that only a few need to be walked with every name in mind.
    fn is_clean(&self, raw: &[u8]) -> Result<bool, SyntaxError> {
        if !self.custom.is_empty() {
            return Ok(false);
        }
        if self.letters.find(raw, 0).is_some() {
            return Ok(false);
        }
        walk::is_clean(self, raw)
    }

    /// Redacts text of any kind.
    pub fn text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut edits = Vec::new();
        self.find_in_text(text, Some(&self.letters), &mut edits);
        apply(text, &edits)
    }

    /// Redacts a command line: what looks like a secret, and the values of options that are named like one
    /// (`--api-key VALUE`, `--api-key=VALUE`, `API_KEY=VALUE`).
    pub fn command(&self, command: &[String]) -> Vec<String> {
        let mut secret_follows: Option<(&str, &'static str)> = None;
        let mut clean = Vec::with_capacity(command.len());
        for argument in command {
            let secret = secret_follows.take().filter(|(name, rule)| {
                !argument.starts_with('-')
                    && !keys::is_working_directory(rule, name.as_bytes(), argument.as_bytes())
            });
            clean.push(match secret {
                Some((_, rule)) => self.marker.replacement(rule, argument.as_bytes()),
                None => self.argument(argument),
            });
            secret_follows = option_name(argument)
                .and_then(|name| self.keys.classify(name.as_bytes()).map(|rule| (name, rule)));
        }
        clean
    }

    /// Redacts a URL, or a path with its query: the values of parameters that are named like a secret, and those by
    /// which OAuth hands secrets over.
    ///
    /// ```
    /// # use wiretape_trace::redact::{RedactionKey, Redactor, Rules};
    /// # let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
    /// let clean = redactor.url("/callback?code=SplxlOBeZQQYbYS6WxSbIA&state=x");
    /// assert!(clean.starts_with("/callback?code=[REDACTED:token:"));
    /// assert!(clean.ends_with("]&state=x"));
    /// ```
    pub fn url<'a>(&self, url: &'a str) -> Cow<'a, str> {
        let Some((path, query)) = url.split_once(['?', '#']) else { return self.plain_text(url) };
        let separator = &url[path.len()..=path.len()];
        let parameters: Vec<String> = query.split('&').map(|parameter| self.parameter(parameter)).collect();
        let clean = format!("{}{separator}{}", self.plain_text(path), parameters.join("&"));
        if clean == url { Cow::Borrowed(url) } else { Cow::Owned(clean) }
    }

    fn parameter(&self, parameter: &str) -> String {
        if let Some((name, value)) = parameter.split_once('=')
            && !value.is_empty()
            && let Some(rule) = self.parameter_rule(name)
        {
            return format!("{name}={}", self.marker.replacement(rule, value.as_bytes()));
        }
        self.plain_text(parameter).into_owned()
    }

    fn parameter_rule(&self, name: &str) -> Option<&'static str> {
        let by_oauth = || keys::OAUTH_PARAMETERS.contains(&name) && self.is_on(rules::TOKEN);
        self.keys.classify(name.as_bytes()).or_else(|| by_oauth().then_some(rules::TOKEN))
    }

    fn plain_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.text(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    fn argument(&self, argument: &str) -> String {
        if let Some((option, value)) = argument.split_once('=')
            && let name = option.trim_start_matches('-').as_bytes()
            && let Some(rule) = self.keys.classify(name)
            && !value.is_empty()
            && !keys::is_working_directory(rule, name, value.as_bytes())
        {
            return format!("{option}={}", self.marker.replacement(rule, value.as_bytes()));
        }
        String::from_utf8_lossy(&self.text(argument.as_bytes())).into_owned()
    }

    /// Finds what looks like a secret in text, and adds the edits in order. Without `letters` the caller knows that
    /// there are none of them.
    fn find_in_text(&self, text: &[u8], letters: Option<&Letters>, edits: &mut Vec<Edit>) {
        let first = edits.len();
        let mut hits = Hits::new(text, &self.keys, letters);
        let Some(mut hit) = hits.next() else { return self.find_custom(text, first, edits) };
        let mut memo = Memo::default();
        loop {
            let found = text::check(text, hit, &self.keys, &mut memo);
            if let Some(found) = found.filter(|found| self.is_on(found.rule)) {
                let end = self.push_edit(text, found, first, edits);
                memo.floor = end;
                hits.skip_to(end);
            }
            match hits.next() {
                Some(next) => hit = next,
                None => break,
            }
        }
        self.find_custom(text, first, edits);
    }

    /// Adds an edit; those since `first` that it overlaps become part of it, as a token in a URL's password does. Returns
    /// where it ends.
    fn push_edit(&self, text: &[u8], found: Found, first: usize, edits: &mut Vec<Edit>) -> usize {
        let Found { mut start, mut end, rule } = found;
        while let Some(last) = edits[first..].last().filter(|last| last.end > start) {
            (start, end) = (start.min(last.start), end.max(last.end));
            edits.pop();
        }
        edits.push(Edit { start, end, replacement: self.marker.replacement(rule, &text[start..end]) });
        end
    }

    fn is_on(&self, rule: &str) -> bool {
        rule == keys::CUSTOM_KEY || self.enabled.contains(&rule)
    }

    /// Adds what the user's own patterns match, where nothing was found yet.
    fn find_custom(&self, text: &[u8], first: usize, edits: &mut Vec<Edit>) {
        if self.custom.is_empty() {
            return;
        }
        for pattern in &self.custom {
            for found in pattern.regex.find_iter(text).filter(|found| !found.is_empty()) {
                edits.push(Edit {
                    start: found.start(),
                    end: found.end(),
                    replacement: self.marker.replacement(&pattern.name, found.as_bytes()),
                });
            }
        }
        drop_overlaps(edits, first);
    }
}

/// Sorts the edits from `first` on; of two that overlap, the earlier and longer one stays and grows to cover both.
fn drop_overlaps(edits: &mut Vec<Edit>, first: usize) {
    edits[first..].sort_by_key(|edit| (edit.start, std::cmp::Reverse(edit.end)));
    let mut kept: Vec<Edit> = Vec::with_capacity(edits.len() - first);
    for edit in edits.drain(first..) {
        match kept.last_mut() {
            Some(last) if edit.start < last.end => last.end = last.end.max(edit.end),
            _ => kept.push(edit),
        }
    }
    edits.append(&mut kept);
}

fn option_name(argument: &str) -> Option<&str> {
    argument.strip_prefix('-').map(|rest| rest.trim_start_matches('-')).filter(|name| !name.contains('='))
}

fn apply<'a>(input: &'a [u8], edits: &[Edit]) -> Cow<'a, [u8]> {
    if edits.is_empty() {
        return Cow::Borrowed(input);
    }
    let mut out = Vec::with_capacity(input.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(&input[at..edit.start]);
        out.extend_from_slice(edit.replacement.as_bytes());
        at = edit.end;
    }
    out.extend_from_slice(&input[at..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
