//! Redaction: secrets are replaced before anything is written.
//!
//! A [`Redactor`] replaces what looks like a secret, and only those bytes, by `[REDACTED:<rule>:<8 hex digits>]`.
//! The digits are a keyed hash of the secret with a key of this installation: equal secrets stay equal within
//! and across traces, and a guess can't be tested with the trace alone.
//!
//! There are four ways to recognise a secret, and all look into JSON inside strings (the usual shape
//! of a tool's `content[].text`), several levels deep:
//!
//! - **by its name** ([`keys`], `named`): the value of a member called `password`, `api_key`, `Authorization` …; in text
//!   the same names before `=` or `:`, in options, columns, elements and pairs of `name` and `value`. A *property named* `token`
//!   in a JSON Schema is not a secret, nor are `progressToken`, cursors and token counts.
//! - **by its format** (`providers`, `special`): `ghp_…`, `AKIA…`, a JWT, a PEM block, `https://user:password@host` …
//! - **by what it is a part of** (`documents`, `stream`): a Kubernetes secret, a key over several lines.
//! - **by having been one before** ([`SecretMemory`]): what was secret by its name earlier in the session.
//!
//! The cost is linear in the input, whatever the input: a fast search for a few bytes that stand beside secrets, a
//! look at their neighbours, and where that is promising a check that never reads the same stretch twice.

mod command_line;
mod custom;
mod documents;
mod format;
pub mod keys;
mod marker;
mod memory;
mod named;
mod providers;
mod rules;
mod special;
mod stream;
mod text;
mod values;
mod views;
mod walk;

pub use custom::{Alphabet, CustomToken};
pub use marker::{RedactionKey, is_redacted, markers};
pub use memory::SecretMemory;
pub use rules::{RULES, Rule, RuleError, Rules};
pub use stream::LineState;

use crate::json::SyntaxError;
use command_line::OptionKind;
use custom::CustomRule;
use keys::KeyRules;
use marker::Marker;
use memory::KnownSecrets;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use text::{Found, Hits, Letters, Memo};
use views::View;

/// Replaces secrets. Made once, used from any thread.
#[derive(Debug)]
pub struct Redactor {
    keys: KeyRules,
    letters: Letters,
    enabled: Vec<&'static str>,
    custom: Vec<CustomRule>,
    marker: Marker,
}

/// Rules that were found to be in order. They need only a key to be a [`Redactor`].
#[derive(Debug)]
pub struct CompiledRules {
    keys: KeyRules,
    enabled: Vec<&'static str>,
    custom: Vec<CustomRule>,
}

impl Rules {
    /// Checks the rules, and makes them ready.
    pub fn compile(&self) -> Result<CompiledRules, RuleError> {
        let enabled = self.enabled()?;
        Ok(CompiledRules { keys: KeyRules::new(&enabled, self)?, custom: self.custom_rules()?, enabled })
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

/// Something that was, or would be, redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule that knows it.
    pub rule: String,
    /// Where it is in the text that was looked at.
    pub range: Range<usize>,
}

/// One look at a message or a text: what is known before, and what is learned.
struct Pass<'r> {
    redactor: &'r Redactor,
    known: Option<Arc<KnownSecrets>>,
    /// What was secret by its name; only if the caller has a memory.
    learned: Option<Vec<Vec<u8>>>,
}

impl<'r> Pass<'r> {
    fn new(redactor: &'r Redactor, memory: Option<&SecretMemory>) -> Self {
        let memory = memory.filter(|_| redactor.is_on(rules::REPEATED));
        Pass { redactor, known: memory.and_then(SecretMemory::known), learned: memory.map(|_| Vec::new()) }
    }

    /// What stands in a secret's place.
    fn replacement(&mut self, rule: &str, secret: &[u8]) -> String {
        if let Some(learned) = &mut self.learned {
            memory::parts(rule, secret, learned);
        }
        self.redactor.marker.replacement(rule, secret)
    }

    fn is_repeated_in(&self, text: &[u8]) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_in(text))
    }

    /// Remembers what was learned, and says whether there was anything.
    fn remember(&mut self, memory: Option<&SecretMemory>) -> bool {
        let (Some(learned), Some(memory)) = (self.learned.take(), memory) else { return false };
        memory.learn_all(&learned);
        !learned.is_empty()
    }
}

/// How often views of a text are looked at: the entities of a percent-encoded text, the Base64 of that.
const MAX_VIEWS: usize = 3;

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
        self.json_in(raw, None)
    }

    /// Redacts one JSON value of a session: also what the session has named as a secret before.
    ///
    /// ```
    /// use wiretape_trace::redact::{RedactionKey, Redactor, Rules, SecretMemory};
    ///
    /// let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
    /// let memory = SecretMemory::default();
    /// redactor.json_with(br#"{"password":"open-sesame-42"}"#, &memory).unwrap();
    /// let clean = redactor.json_with(br#"["it is open-sesame-42 now"]"#, &memory).unwrap();
    /// assert!(clean.starts_with(br#"["it is [REDACTED:repeated:"#));
    /// ```
    pub fn json_with<'a>(&self, raw: &'a [u8], memory: &SecretMemory) -> Result<Cow<'a, [u8]>, SyntaxError> {
        self.json_in(raw, Some(memory))
    }

    fn json_in<'a>(
        &self,
        raw: &'a [u8],
        memory: Option<&SecretMemory>,
    ) -> Result<Cow<'a, [u8]>, SyntaxError> {
        let mut pass = Pass::new(self, memory);
        if self.is_clean(raw)? && !pass.is_repeated_in(raw) {
            return Ok(Cow::Borrowed(raw));
        }
        let edits = walk::edits(&mut pass, raw)?;
        let clean = apply(raw, &edits);
        if !pass.remember(memory) {
            return Ok(clean);
        }
        // What was named here may also be said here.
        let mut again = Pass::new(self, memory);
        if !again.is_repeated_in(&clean) {
            return Ok(clean);
        }
        let edits = walk::edits(&mut again, &clean)?;
        Ok(Cow::Owned(apply(&clean, &edits).into_owned()))
    }

    /// What [`Redactor::json`] would redact, and why. Fails if it is not JSON.
    pub fn explain_json(&self, raw: &[u8]) -> Result<Vec<Finding>, SyntaxError> {
        Ok(findings(&walk::edits(&mut Pass::new(self, None), raw)?))
    }

    /// What [`Redactor::text`] would redact, and why.
    pub fn explain_text(&self, text: &[u8]) -> Vec<Finding> {
        let mut edits = Vec::new();
        self.find_in_document(&mut Pass::new(self, None), text, &mut edits);
        findings(&edits)
    }

    /// A quick look that clears most messages, so that only a few need to be walked with every name in mind.
    fn is_clean(&self, raw: &[u8]) -> Result<bool, SyntaxError> {
        if !self.custom.is_empty() {
            return Ok(false);
        }
        walk::is_clean(self, raw)
    }

    /// Redacts text of any kind.
    pub fn text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        self.text_in(text, None)
    }

    /// Redacts text of a session: also what the session has named as a secret before.
    pub fn text_with<'a>(&self, text: &'a [u8], memory: &SecretMemory) -> Cow<'a, [u8]> {
        self.text_in(text, Some(memory))
    }

    fn text_in<'a>(&self, text: &'a [u8], memory: Option<&SecretMemory>) -> Cow<'a, [u8]> {
        let mut pass = Pass::new(self, memory);
        let mut edits = Vec::new();
        self.find_in_document(&mut pass, text, &mut edits);
        pass.remember(memory);
        apply(text, &edits)
    }

    /// Redacts a line of a stream, knowing what the lines before it have left open: a private key, a quoted value.
    ///
    /// ```
    /// use wiretape_trace::redact::{LineState, RedactionKey, Redactor, Rules};
    ///
    /// let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
    /// let mut state = LineState::default();
    /// let begin = ["-----BEGIN", " PRIVATE KEY-----"].concat();
    /// redactor.line(begin.as_bytes(), &mut state, None);
    /// assert!(redactor.line(b"QUJDREVGQUJDREVG", &mut state, None).starts_with(b"[REDACTED:pem:"));
    /// ```
    pub fn line<'a>(
        &self,
        line: &'a [u8],
        state: &mut LineState,
        memory: Option<&SecretMemory>,
    ) -> Cow<'a, [u8]> {
        let mut pass = Pass::new(self, memory);
        let mut edits = Vec::new();
        let continued = state.continued(line).filter(|continued| self.is_on(continued.rule));
        let mut rest = 0;
        if let Some(part) = &continued {
            let replacement = pass.replacement(part.rule, &line[part.start..part.end]);
            edits.push(Edit { start: part.start, end: part.end, replacement });
            rest = part.end;
        }
        let first = edits.len();
        self.find_in_text(&mut pass, &line[rest..], Some(&self.letters), &mut edits);
        for edit in &mut edits[first..] {
            edit.start += rest;
            edit.end += rest;
        }
        state.note(&line[rest..], self.open_quote(line, &edits));
        pass.remember(memory);
        apply(line, &edits)
    }

    /// The quote of the value that the last edit of a line has left open.
    fn open_quote(&self, line: &[u8], edits: &[Edit]) -> Option<(u8, &'static str)> {
        let last = edits.last().filter(|last| last.end == line.len())?;
        let rule = rule_of(&last.replacement)?;
        let rule = self.enabled.iter().find(|name| **name == rule)?;
        stream::open_quote(line, last.start).map(|quote| (quote, *rule))
    }

    /// Redacts a command line: what looks like a secret, and the values of options that are named like one
    /// (`--api-key VALUE`, `--api-key=VALUE`, `API_KEY=VALUE`).
    pub fn command(&self, command: &[String]) -> Vec<String> {
        self.command_in(command, None)
    }

    /// Redacts the command line of a session, and remembers the secrets that it names.
    pub fn command_with(&self, command: &[String], memory: &SecretMemory) -> Vec<String> {
        self.command_in(command, Some(memory))
    }

    fn command_in(&self, command: &[String], memory: Option<&SecretMemory>) -> Vec<String> {
        let learn = |rule: &str, secret: &[u8]| {
            if let Some(memory) = memory {
                let mut learned = Vec::new();
                memory::parts(rule, secret, &mut learned);
                memory.learn_all(&learned);
            }
        };
        let mut secret_follows: Option<(&str, OptionKind)> = None;
        let mut clean = Vec::with_capacity(command.len());
        for argument in command {
            let secret = secret_follows
                .take()
                .filter(|(name, _)| {
                    !keys::is_working_directory(rules::PASSWORD, name.as_bytes(), argument.as_bytes())
                })
                .and_then(|(_, kind)| kind.secret_in(argument.as_bytes()))
                .or_else(|| command_line::attached(command, argument).map(|at| (at, rules::COMMAND_LINE)));
            clean.push(match secret {
                Some((at, rule)) if self.is_on(rule) && argument.is_char_boundary(at) => {
                    learn(rule, &argument.as_bytes()[at..]);
                    format!(
                        "{}{}",
                        &argument[..at],
                        self.marker.replacement(rule, &argument.as_bytes()[at..])
                    )
                }
                _ => self.argument(argument, memory),
            });
            let by_name = option_name(argument).and_then(|name| {
                command_line::option_kind(name.as_bytes(), &self.keys).map(|kind| (name, kind))
            });
            secret_follows =
                by_name.or_else(|| command_line::list_flag(command, argument).map(|kind| ("", kind)));
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
            && !marker::is_whole(value.as_bytes())
            && let Some(rule) = self.parameter_rule(name)
        {
            return format!("{name}={}", self.marker.replacement(rule, value.as_bytes()));
        }
        // With what stands before a parameter of a query, so that it is known to be one.
        let clean = self.plain_text(&format!("?{parameter}")).into_owned();
        clean.strip_prefix('?').map(str::to_owned).unwrap_or(clean)
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

    /// Redacts the label of a trace, which also becomes part of its file name. A label that a user chose may contain a
    /// secret like any other argument.
    pub fn label(&self, label: &str) -> String {
        // Before the label is cleaned: that replaces the punctuation that tokens are recognized by.
        crate::name::clean_label(&self.plain_text(label))
    }

    fn argument(&self, argument: &str, memory: Option<&SecretMemory>) -> String {
        if let Some((option, value)) = argument.split_once('=')
            && let name = option.trim_start_matches('-').as_bytes()
            && let Some(kind) = command_line::option_kind(name, &self.keys)
            && !keys::is_working_directory(rules::PASSWORD, name, value.as_bytes())
            && let Some((at, rule)) = kind.secret_in(value.as_bytes())
            && self.is_on(rule)
            && value.is_char_boundary(at)
        {
            if let Some(memory) = memory {
                memory.learn(&value.as_bytes()[at..]);
            }
            return format!(
                "{option}={}{}",
                &value[..at],
                self.marker.replacement(rule, &value.as_bytes()[at..])
            );
        }
        String::from_utf8_lossy(&self.text_in(argument.as_bytes(), memory)).into_owned()
    }

    /// Finds the secrets of a text that may be JSON.
    fn find_in_document(&self, pass: &mut Pass<'_>, text: &[u8], edits: &mut Vec<Edit>) {
        let may_be_json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
        let first = edits.len();
        if may_be_json && let Ok(found) = walk::edits(pass, text) {
            edits.extend(found);
        }
        let walked = edits.len();
        // Also where it is JSON: the walk leaves names of members and the protocol's own tokens alone, which is right for a
        // message, but in a text a token is a secret wherever it is.
        self.find_in_text(pass, text, Some(&self.letters), edits);
        if walked > first && edits.len() > walked {
            drop_overlaps(edits, first);
        }
    }

    /// Finds what looks like a secret in text, and adds the edits in order. Without `letters` the caller knows that
    /// there are none of them.
    fn find_in_text(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        letters: Option<&Letters>,
        edits: &mut Vec<Edit>,
    ) {
        self.find_in_views(pass, text, letters, MAX_VIEWS, edits);
    }

    fn find_in_views(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        letters: Option<&Letters>,
        views: usize,
        edits: &mut Vec<Edit>,
    ) {
        let first = edits.len();
        let memo = self.find_plainly(pass, text, letters, edits);
        let found = edits.len();
        if views > 0 && memo.is_encoded {
            let view = View::new(text);
            let start = edits.len();
            self.find_in_views(pass, &view.text, Some(&self.letters), views - 1, edits);
            view.carry_back(&mut edits[start..]);
        }
        if views > 0 {
            self.find_in_base64(pass, text, 0..text.len(), views - 1, edits);
            self.find_in_base64_values(pass, text, &memo.base64, views - 1, edits);
        }
        self.find_custom(pass, text, edits);
        self.find_repeated(pass, text, edits);
        if edits.len() > found {
            drop_overlaps(edits, first);
        }
    }

    /// Looks into the values that may be Base64.
    fn find_in_base64_values(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        values: &[usize],
        views: usize,
        edits: &mut Vec<Edit>,
    ) {
        let mut read = 0;
        for &start in values {
            if start >= read {
                let end = views::base64_end(text, start);
                self.find_in_base64(pass, text, start..end, views, edits);
                read = end;
            }
        }
    }

    /// Base64 of something with a secret in it goes as a whole.
    fn find_in_base64(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        range: Range<usize>,
        views: usize,
        edits: &mut Vec<Edit>,
    ) {
        let Some(decoded) = views::base64_text(&text[range.clone()]) else { return };
        let mut inside = Vec::new();
        let may_be_json = matches!(decoded.trim_ascii_start().first(), Some(b'{' | b'['));
        match may_be_json.then(|| walk::edits(pass, &decoded)) {
            Some(Ok(found)) => inside = found,
            _ => self.find_in_views(pass, &decoded, Some(&self.letters), views, &mut inside),
        }
        if let Some(rule) = inside.first().and_then(|edit| rule_of(&edit.replacement)) {
            let replacement = self.marker.replacement(rule, &text[range.clone()]);
            edits.push(Edit { start: range.start, end: range.end, replacement });
        }
    }

    /// Finds what stands there as it is, and says what else there is to look at.
    fn find_plainly(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        letters: Option<&Letters>,
        edits: &mut Vec<Edit>,
    ) -> Memo {
        let first = edits.len();
        let mut hits = Hits::new(text, &self.keys, letters);
        let mut memo = Memo::default();
        memo.is_encoded = memchr::memchr(views::ESCAPE, text).is_some();
        while let Some(hit) = hits.next() {
            let found = text::check(text, hit, &self.keys, &mut memo);
            if let Some(found) = found.filter(|found| self.is_on(found.rule)) {
                let end = self.push_edit(pass, text, found, first, edits);
                memo.floor = end;
                hits.skip_to(end);
            }
        }
        self.find_in_documents(pass, text, &memo, first, edits);
        memo
    }

    fn find_in_documents(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        memo: &Memo,
        first: usize,
        edits: &mut Vec<Edit>,
    ) {
        let mut found = Vec::new();
        documents::tables(text, &self.keys, &mut found);
        if memo.has_kubernetes {
            documents::kubernetes(text, &mut found);
        }
        let mut read = 0;
        for &at in memo.inserts.iter() {
            if at >= read {
                read = documents::insert(text, at, &self.keys, &mut found);
            }
        }
        if found.is_empty() {
            return;
        }
        for found in found.into_iter().filter(|found| self.is_on(found.rule)) {
            let replacement = pass.replacement(found.rule, &text[found.start..found.end]);
            edits.push(Edit { start: found.start, end: found.end, replacement });
        }
        drop_overlaps(edits, first);
    }

    /// Adds an edit; those since `first` that it overlaps become part of it, as a token in a URL's password does. Returns
    /// where it ends.
    fn push_edit(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        found: Found,
        first: usize,
        edits: &mut Vec<Edit>,
    ) -> usize {
        let Found { mut start, mut end, rule } = found;
        while let Some(last) = edits[first..].last().filter(|last| last.end > start) {
            (start, end) = (start.min(last.start), end.max(last.end));
            edits.pop();
        }
        edits.push(Edit { start, end, replacement: pass.replacement(rule, &text[start..end]) });
        end
    }

    fn is_on(&self, rule: &str) -> bool {
        rule == keys::CUSTOM_KEY || self.enabled.contains(&rule)
    }

    /// Adds what the user's own patterns match.
    fn find_custom(&self, pass: &mut Pass<'_>, text: &[u8], edits: &mut Vec<Edit>) {
        for rule in &self.custom {
            for Range { start, end } in rule.find_all(text) {
                let replacement = pass.replacement(&rule.name, &text[start..end]);
                edits.push(Edit { start, end, replacement });
            }
        }
    }

    /// Adds what the session has named before.
    fn find_repeated(&self, pass: &Pass<'_>, text: &[u8], edits: &mut Vec<Edit>) {
        let Some(known) = &pass.known else { return };
        for found in known.find(text) {
            let replacement = self.marker.replacement(rules::REPEATED, found.secret);
            edits.push(Edit { start: found.start, end: found.end, replacement });
        }
    }
}

/// The rule that a marker names.
fn rule_of(replacement: &str) -> Option<&str> {
    replacement.trim_start_matches('"').strip_prefix("[REDACTED:")?.split(':').next()
}

fn findings(edits: &[Edit]) -> Vec<Finding> {
    let finding = |edit: &Edit| Finding {
        rule: rule_of(&edit.replacement).unwrap_or_default().to_owned(),
        range: edit.start..edit.end,
    };
    edits.iter().map(finding).collect()
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
mod corpus;
#[cfg(test)]
mod holes;
#[cfg(test)]
mod tests;
