//! A secret is recognized in one of four ways. All of them also look into JSON inside strings (the usual
//! shape of a tool's `content[].text`), several levels deep:
//!
//! - **by its name** ([`keys`], `named`): the value of a member called `password`, `api_key`, `Authorization`
//!   …; in text, the same names before `=` or `:`, in options, columns, elements and pairs of `name` and
//!   `value`. A *property named* `token` in a JSON Schema is not a secret, nor are `progressToken`, cursors
//!   and token counts.
//! - **by its format** (`providers`, `special`): `ghp_…`, `AKIA…`, a JWT, a PEM block,
//!   `https://user:password@host` …
//! - **by the document around it** (`documents`, `stream`): a Kubernetes secret, a key that spans several
//!   lines.
//! - **by repetition** ([`SecretMemory`]): a value that was secret by its name earlier in the session.
//!
//! The cost is linear in the input, whatever the input: a fast scan for a few bytes that occur next to
//! secrets, a look at their neighbors, and only then a full check, which never reads the same range twice.
//! The reasons, and the alternatives that lost, are in `docs/design/0002-redaction.md`.
//!
//! This module holds the entry points and the order in which the detectors run. What counts as a secret is
//! decided in the submodules; where the redaction key and the session's memory live is up to the caller.

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
use text::{Hits, LiteralSearch, Memo, SecretMatch};
use views::View;

/// Replaces secrets. Stateless after construction: build one, share it between threads.
#[derive(Debug)]
pub struct Redactor {
    keys: KeyRules,
    literals: LiteralSearch,
    enabled: Vec<&'static str>,
    custom: Vec<CustomRule>,
    marker: Marker,
}

/// Validated rules. They need only a key to become a [`Redactor`].
///
/// Separate from [`Redactor`] so that a configuration can be checked without reading or creating a key.
#[derive(Debug)]
pub struct CompiledRules {
    keys: KeyRules,
    enabled: Vec<&'static str>,
    custom: Vec<CustomRule>,
}

impl Rules {
    /// Validates the rules and compiles the user's patterns.
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
            literals: LiteralSearch::new(),
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
    /// The name of the rule that matched: one of [`RULES`], a custom pattern's name, or `custom-key`.
    pub rule: String,
    /// Byte range of the secret in the input.
    pub range: Range<usize>,
}

/// One scan of a message or a text: the secrets known beforehand, and those found by name on the way.
struct Pass<'r> {
    redactor: &'r Redactor,
    known: Option<Arc<KnownSecrets>>,
    /// Values that were secret by name. `None` if the caller has no memory, so that nothing is copied for
    /// nothing.
    learned: Option<Vec<Vec<u8>>>,
}

impl<'r> Pass<'r> {
    fn new(redactor: &'r Redactor, memory: Option<&SecretMemory>) -> Self {
        let memory = memory.filter(|_| redactor.is_on(rules::REPEATED));
        Pass { redactor, known: memory.and_then(SecretMemory::known), learned: memory.map(|_| Vec::new()) }
    }

    /// The marker for a secret, which is also queued for the memory if its rule goes by name.
    fn replacement(&mut self, rule: &str, secret: &[u8]) -> String {
        if let Some(learned) = &mut self.learned {
            memory::parts(rule, secret, learned);
        }
        self.redactor.marker.replacement(rule, secret)
    }

    fn is_repeated_in(&self, text: &[u8]) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_in(text))
    }

    /// Moves the learned secrets to the memory.
    fn remember(&mut self, memory: Option<&SecretMemory>) {
        if let (Some(learned), Some(memory)) = (self.learned.take(), memory) {
            memory.learn_all(&learned);
        }
    }
}

/// How many decodings may be stacked: entities inside percent-encoded text, Base64 inside that. A bound,
/// because each level is another scan of the text.
const MAX_VIEWS: usize = 3;

/// How often redacted text is redacted again, if that still changes it. It rarely does twice (the test
/// `redacting_again_changes_nothing`).
const MAX_REPETITIONS: usize = 4;

impl Redactor {
    /// A redactor with the given rules, whose markers are hashed with `key`.
    pub fn new(rules: &Rules, key: &RedactionKey) -> Result<Self, RuleError> {
        Ok(rules.compile()?.with_key(key))
    }

    /// Redacts one JSON value. Fails if it is not JSON; use [`Redactor::text`] for that.
    pub fn json<'a>(&self, raw: &'a [u8]) -> Result<Cow<'a, [u8]>, SyntaxError> {
        self.json_in(raw, None)
    }

    /// Redacts one JSON value of a session, including values that were secret by name earlier in the session.
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
        // Most messages end here and are written as they are, without a copy.
        if self.is_clean(raw)? && !pass.is_repeated_in(raw) {
            return Ok(Cow::Borrowed(raw));
        }
        let edits = walk::edits(&mut pass, raw)?;
        pass.remember(memory);
        let mut clean = apply(raw, &edits);
        // A marker may change what is next to it: a word begins that did not before. And a message may repeat a secret before
        // the member that names it.
        for _ in 0..MAX_REPETITIONS {
            let mut again = Pass::new(self, memory);
            let is_settled = matches!(clean, Cow::Borrowed(_))
                || self.custom.is_empty() && walk::is_settled(self, &clean)? && !again.is_repeated_in(&clean);
            if is_settled {
                break;
            }
            let edits = walk::edits(&mut again, &clean)?;
            if edits.is_empty() {
                break;
            }
            again.remember(memory);
            clean = Cow::Owned(apply(&clean, &edits).into_owned());
        }
        Ok(clean)
    }

    /// What [`Redactor::json`] would redact, and by which rule. Fails if it is not JSON.
    pub fn explain_json(&self, raw: &[u8]) -> Result<Vec<Finding>, SyntaxError> {
        Ok(findings(&walk::edits(&mut Pass::new(self, None), raw)?))
    }

    /// What [`Redactor::text`] would redact, and by which rule.
    pub fn explain_text(&self, text: &[u8]) -> Vec<Finding> {
        let mut edits = Vec::new();
        self.find_in_document(&mut Pass::new(self, None), text, &mut edits);
        findings(&edits)
    }

    /// A quick scan that clears most messages, so that only a few need the full walk.
    fn is_clean(&self, raw: &[u8]) -> Result<bool, SyntaxError> {
        // Nothing is known about the user's patterns, so no scan for marks can rule them out.
        if !self.custom.is_empty() {
            return Ok(false);
        }
        walk::is_clean(self, raw)
    }

    /// Redacts text of any kind: prose, logs, source code, or JSON that may be malformed.
    pub fn text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        self.text_in(text, None)
    }

    /// Redacts text of a session, including values that were secret by name earlier in the session.
    pub fn text_with<'a>(&self, text: &'a [u8], memory: &SecretMemory) -> Cow<'a, [u8]> {
        self.text_in(text, Some(memory))
    }

    fn text_in<'a>(&self, text: &'a [u8], memory: Option<&SecretMemory>) -> Cow<'a, [u8]> {
        let mut clean = Cow::Borrowed(text);
        for _ in 0..=MAX_REPETITIONS {
            let mut pass = Pass::new(self, memory);
            let mut edits = Vec::new();
            self.find_in_document(&mut pass, &clean, &mut edits);
            if edits.is_empty() {
                break;
            }
            pass.remember(memory);
            clean = Cow::Owned(apply(&clean, &edits).into_owned());
        }
        clean
    }

    /// Redacts one line of a stream. `state` carries over what earlier lines left open: a private key, a
    /// quoted value.
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
        // The state has to advance even if the rule is disabled, or it would miss the end of the block.
        let continued =
            state.continued(line, |rule| self.is_on(rule)).filter(|continued| self.is_on(continued.rule));
        let mut rest = 0;
        if let Some(part) = &continued {
            // What precedes it, a logger's timestamp usually, is no part of the block.
            self.find_in_document(&mut pass, &line[..part.start], &mut edits);
            let secret = &line[part.start..part.end];
            // A marker in a trace that is redacted again: a new one would have the hash of the marker.
            if !marker::is_whole(secret) {
                let replacement = pass.replacement(part.rule, secret);
                edits.push(Edit { start: part.start, end: part.end, replacement });
            }
            rest = part.end;
        }
        let first = edits.len();
        // A log line may be JSON as a whole, which only its structure says everything about.
        self.find_in_document(&mut pass, &line[rest..], &mut edits);
        for edit in &mut edits[first..] {
            edit.start += rest;
            edit.end += rest;
        }
        // After the edits: whether the line leaves a quoted value open shows in where the last edit ends.
        let quote = self.open_quote(line, &edits);
        state.update(&line[rest..], quote, || stream::opens_value(line, &self.keys));
        pass.remember(memory);
        apply(line, &edits)
    }

    /// The quote character and the rule of a value that starts in this line and is not closed in it.
    fn open_quote(&self, line: &[u8], edits: &[Edit]) -> Option<(u8, &'static str)> {
        let last = edits.last().filter(|last| last.end == line.len())?;
        let rule = rule_of(&last.replacement)?;
        let rule = self.enabled.iter().find(|name| **name == rule)?;
        stream::open_quote(line, last.start).map(|quote| (quote, *rule))
    }

    /// Redacts a command line: arguments that look like secrets, and the values of options named like one
    /// (`--api-key VALUE`, `--api-key=VALUE`, `API_KEY=VALUE`).
    pub fn command(&self, command: &[String]) -> Vec<String> {
        self.command_in(command, None)
    }

    /// Redacts the command line of a session, and remembers the secrets given to options named like one.
    pub fn command_with(&self, command: &[String], memory: &SecretMemory) -> Vec<String> {
        self.command_in(command, Some(memory))
    }

    fn command_in(&self, command: &[String], memory: Option<&SecretMemory>) -> Vec<String> {
        // In a list of arguments, an option and its value are separate elements: the name has to be carried
        // to the next one.
        let mut secret_follows: Option<(&str, OptionKind)> = None;
        let mut clean = Vec::with_capacity(command.len());
        for argument in command {
            let secret = secret_follows
                .take()
                .filter(|(name, _)| {
                    // `--pwd /srv/app` is a directory.
                    !keys::is_working_directory(rules::PASSWORD, name.as_bytes(), argument.as_bytes())
                })
                .and_then(|(_, kind)| kind.secret_in(argument.as_bytes()))
                .or_else(|| command_line::attached(command, argument).map(|at| (at, rules::COMMAND_LINE)));
            clean.push(match secret {
                // Rules work on bytes; slicing a `str` inside a character would panic.
                Some((at, rule)) if self.is_on(rule) && argument.is_char_boundary(at) => {
                    memory::learn_parts(memory, rule, &argument.as_bytes()[at..]);
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

    /// Redacts a URL, or a path with its query: the values of parameters that are named like a secret, and of
    /// those
    /// through which OAuth passes secrets.
    ///
    /// ```
    /// # use wiretape_trace::redact::{RedactionKey, Redactor, Rules};
    /// # let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
    /// let clean = redactor.url("/callback?code=SplxlOBeZQQYbYS6WxSbIA&state=x");
    /// assert!(clean.starts_with("/callback?code=[REDACTED:token:"));
    /// assert!(clean.ends_with("]&state=x"));
    /// ```
    pub fn url<'a>(&self, url: &'a str) -> Cow<'a, str> {
        self.url_in(url, None)
    }

    /// Redacts a URL of a session, including values that were secret by name earlier in the session, and remembers the
    /// secrets in its parameters.
    pub fn url_with<'a>(&self, url: &'a str, memory: &SecretMemory) -> Cow<'a, str> {
        self.url_in(url, Some(memory))
    }

    fn url_in<'a>(&self, url: &'a str, memory: Option<&SecretMemory>) -> Cow<'a, str> {
        let Some((path, query)) = url.split_once(['?', '#']) else { return self.plain_text(url, memory) };
        let separator = &url[path.len()..=path.len()];
        // Before the path, which may repeat a secret that a parameter names.
        let parameters: Vec<String> =
            query.split('&').map(|parameter| self.parameter(parameter, memory)).collect();
        let clean = format!("{}{separator}{}", self.plain_text(path, memory), parameters.join("&"));
        if clean == url { Cow::Borrowed(url) } else { Cow::Owned(clean) }
    }

    fn parameter(&self, parameter: &str, memory: Option<&SecretMemory>) -> String {
        if let Some((name, value)) = parameter.split_once('=')
            && !value.is_empty()
            && !marker::is_whole(value.as_bytes())
            && let Some(rule) = self.parameter_rule(name)
        {
            memory::learn_parts(memory, rule, value.as_bytes());
            // Elsewhere it appears decoded.
            memory::learn_parts(memory, rule, &View::new(value.as_bytes()).text);
            return format!("{name}={}", self.marker.replacement(rule, value.as_bytes()));
        }
        // The rules for query parameters apply only after `?`, `&` or `#`; the split above removed it.
        let clean = self.plain_text(&format!("?{parameter}"), memory).into_owned();
        clean.strip_prefix('?').map(str::to_owned).unwrap_or(clean)
    }

    fn parameter_rule(&self, name: &str) -> Option<&'static str> {
        let by_oauth = || keys::OAUTH_PARAMETERS.contains(&name) && self.is_on(rules::TOKEN);
        self.keys.classify(name.as_bytes()).or_else(|| by_oauth().then_some(rules::TOKEN))
    }

    fn plain_text<'a>(&self, text: &'a str, memory: Option<&SecretMemory>) -> Cow<'a, str> {
        match self.text_in(text.as_bytes(), memory) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    /// Redacts the label of a trace, which also becomes part of its file name. A label that a user chose may contain a
    /// secret like any other argument.
    pub fn label(&self, label: &str) -> String {
        // Before the label is cleaned: that replaces the punctuation that tokens are recognized by.
        crate::name::clean_label(&self.plain_text(label, None))
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

    /// Finds the secrets in a text that may be JSON.
    fn find_in_document(&self, pass: &mut Pass<'_>, text: &[u8], edits: &mut Vec<Edit>) {
        let may_be_json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
        let first = edits.len();
        if may_be_json && let Ok(found) = walk::edits(pass, text) {
            edits.extend(found);
        }
        let walked = edits.len();
        // Also for valid JSON: the walk skips member names and the protocol's own tokens. That is right for a
        // message, but in a text a token is a secret wherever it occurs.
        self.find_in_text(pass, text, Some(&self.literals), edits);
        if walked > first && edits.len() > walked {
            drop_overlaps(edits, first);
        }
    }

    /// Finds what looks like a secret in text, and adds the edits in order. Pass no `literals` if the text is
    /// known to contain none.
    fn find_in_text(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        literals: Option<&LiteralSearch>,
        edits: &mut Vec<Edit>,
    ) {
        self.find_in_views(pass, text, literals, MAX_VIEWS, edits);
    }

    /// Finds what is secret even under a name that exempts its value: tokens of providers that can't be part of another
    /// token by chance, and what the user and the session have named. Not JWTs and Base64, because cursors consist of them.
    fn find_in_exempt(&self, pass: &mut Pass<'_>, text: &[u8], edits: &mut Vec<Edit>) {
        let first = edits.len();
        let mut hits = Hits::new(text, &self.keys, Some(&self.literals));
        let mut memo = Memo::default();
        while let Some(hit) = hits.next() {
            let found =
                if hit.is_distinctive() { text::check(text, hit, &self.keys, &mut memo) } else { None };
            if let Some(found) = found.filter(|found| self.is_on(found.rule)) {
                memo.floor = self.push_edit(pass, text, found, first, edits);
                hits.skip_to(memo.floor);
            }
        }
        self.find_custom(pass, text, edits);
        self.find_repeated(pass, text, edits);
        drop_overlaps(edits, first);
    }

    fn find_in_views(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        literals: Option<&LiteralSearch>,
        views: usize,
        edits: &mut Vec<Edit>,
    ) {
        let first = edits.len();
        let memo = self.find_unencoded(pass, text, literals, edits);
        let found = edits.len();
        // Decoding copies the text, so it happens only if the first scan came across an escape.
        if views > 0 && memo.is_encoded {
            let view = View::new(text);
            let start = edits.len();
            self.find_in_views(pass, &view.text, Some(&self.literals), views - 1, edits);
            view.map_back(&mut edits[start..]);
        }
        if views > 0 {
            self.find_in_base64(pass, text, 0..text.len(), views - 1, edits);
            self.find_in_base64_values(pass, text, &memo.base64, views - 1, edits);
        }
        // After the built-in rules: if both match the same bytes, the earlier edit wins, and the built-in
        // rule's name says more.
        self.find_custom(pass, text, edits);
        self.find_repeated(pass, text, edits);
        if edits.len() > found {
            drop_overlaps(edits, first);
        }
    }

    /// Scans values that may be Base64, given by their start offsets.
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
            // A candidate inside a value that was already decoded would decode its tail again, once per
            // candidate.
            if start >= read {
                let end = views::base64_end(text, start);
                self.find_in_base64(pass, text, start..end, views, edits);
                read = end;
            }
        }
    }

    /// Redacts a Base64 value as a whole if a secret is in what it decodes to: an edit inside the decoded
    /// text has no exact counterpart in the encoded one.
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
            _ => self.find_in_views(pass, &decoded, Some(&self.literals), views, &mut inside),
        }
        if let Some(rule) = inside.first().and_then(|edit| rule_of(&edit.replacement)) {
            let replacement = self.marker.replacement(rule, &text[range.clone()]);
            edits.push(Edit { start: range.start, end: range.end, replacement });
        }
    }

    /// Finds secrets in the text as written. The returned memo lists what remains to be scanned: escapes,
    /// Base64, documents.
    fn find_unencoded(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        literals: Option<&LiteralSearch>,
        edits: &mut Vec<Edit>,
    ) -> Memo {
        let first = edits.len();
        let mut hits = Hits::new(text, &self.keys, literals);
        let mut memo = Memo::default();
        // Terminal colors have no mark of their own, so the scan for marks below would miss them.
        memo.is_encoded = memchr::memchr(views::ESCAPE, text).is_some();
        while let Some(hit) = hits.next() {
            let found = text::check(text, hit, &self.keys, &mut memo);
            hits.skip_dead_end(memo.dead_end);
            if let Some(found) = found.filter(|found| self.is_on(found.rule)) {
                let end = self.push_edit(pass, text, found, first, edits);
                memo.floor = end;
                // Continue after the match: rescanning its inside would report parts of it, and cost a second
                // pass.
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
            // `insert` reads all rows of a statement; a `VALUES` inside them is not another statement.
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

    /// Adds an edit and merges it with the edits since `first` that it overlaps, such as a token inside a
    /// URL's password. Returns where the merged edit ends.
    fn push_edit(
        &self,
        pass: &mut Pass<'_>,
        text: &[u8],
        found: SecretMatch,
        first: usize,
        edits: &mut Vec<Edit>,
    ) -> usize {
        let SecretMatch { mut start, mut end, rule } = found;
        while let Some(last) = edits[first..].last().filter(|last| last.end > start) {
            (start, end) = (start.min(last.start), end.max(last.end));
            edits.pop();
        }
        edits.push(Edit { start, end, replacement: pass.replacement(rule, &text[start..end]) });
        end
    }

    fn is_on(&self, rule: &str) -> bool {
        // Keys that the user added are not in the catalog and can't be disabled.
        rule == keys::CUSTOM_KEY || self.enabled.contains(&rule)
    }

    /// Adds the matches of the user's own patterns.
    fn find_custom(&self, pass: &mut Pass<'_>, text: &[u8], edits: &mut Vec<Edit>) {
        for rule in &self.custom {
            for Range { start, end } in rule.find_all(text) {
                let replacement = pass.replacement(&rule.name, &text[start..end]);
                edits.push(Edit { start, end, replacement });
            }
        }
    }

    /// Adds the repetitions of secrets that the session has named before.
    fn find_repeated(&self, pass: &Pass<'_>, text: &[u8], edits: &mut Vec<Edit>) {
        let Some(known) = &pass.known else { return };
        for found in known.find(text) {
            // Hashed in its plain form, so that the digits equal those of the first occurrence, however this
            // one is encoded. Not `pass.replacement`: it is in the memory already.
            let replacement = self.marker.replacement(rules::REPEATED, found.secret);
            edits.push(Edit { start: found.start, end: found.end, replacement });
        }
    }
}

/// The rule that a marker names. Numbers are replaced by a quoted marker.
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

/// Sorts the edits from `first` on. Of two that overlap, the one that starts first (the longer one if both
/// start together) keeps its marker and is extended to cover both.
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

#[cfg(any(test, feature = "corpus"))]
pub mod corpus;
#[cfg(test)]
mod holes;
#[cfg(test)]
mod tests;
