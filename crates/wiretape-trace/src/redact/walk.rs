//! Secrets in JSON: every value is looked at with the name it stands under.

use super::keys::KeyClass;
use super::marker::Marker;
use super::text::{self, Letters};
use super::{Edit, Redactor, keys, rules};
use crate::json::{self, Lexeme, Lexer, SyntaxError, Text, Token};
use std::thread;

/// How deep JSON inside strings inside JSON is followed. Each level doubles the escapes, so more can hardly be.
const MAX_NESTING: usize = 6;

/// What is known of a value from the names around it. Small, for there is one for every open bracket.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    /// One more than the index in [`rules::RULES`] of the rule that makes strings here secret; custom keys have
    /// the highest number.
    secret: u8,
    flags: u8,
}

impl Context {
    /// The members of this object are names of schemas.
    const NAMES: u8 = 1;
    /// Nothing here is a secret.
    const EXEMPT: u8 = 2;
    /// The name may be that of a working directory.
    const DIRECTORY: u8 = 4;
    const CUSTOM: u8 = u8::MAX;

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn secret(self) -> Option<&'static str> {
        match self.secret {
            0 => None,
            Self::CUSTOM => Some(keys::CUSTOM_KEY),
            number => rules::RULES.get(usize::from(number) - 1).map(|rule| rule.name),
        }
    }

    fn with_secret(mut self, rule: &'static str) -> Self {
        let index = rules::RULES.iter().position(|known| known.name == rule);
        self.secret = index.and_then(|index| u8::try_from(index + 1).ok()).unwrap_or(Self::CUSTOM);
        self
    }

    /// The context of a member of an object that has this context.
    fn member(self, class: KeyClass) -> Self {
        let inherited = Context { flags: self.flags & Self::EXEMPT, ..self };
        match class {
            KeyClass::Plain => inherited,
            KeyClass::Secret(_) if self.secret != 0 => inherited,
            KeyClass::Secret(rule) => inherited.with_secret(rule),
            KeyClass::Exempt => Context { flags: Self::EXEMPT, ..inherited },
            KeyClass::SchemaMap => Context { flags: inherited.flags | Self::NAMES, ..inherited },
        }
    }

    /// The context of what is inside an object that has this one. Under `credentials` and cookies all strings are
    /// secret; elsewhere an object under a secret name is a description of it more often than not.
    fn inside_object(self) -> Self {
        let whole = matches!(self.secret(), Some(rules::CREDENTIALS | rules::COOKIE | rules::AUTHORIZATION));
        if whole { self } else { Context { secret: 0, ..self } }
    }
}

/// From this length on a string is looked at by another thread while this one reads on: for less, a thread costs more
/// than it saves.
pub(super) const LONG: usize = 128 * 1024;

/// Whether no name and no mark in a JSON value may belong to a secret. Reads the value to its end only if so.
pub(super) fn is_clean(redactor: &Redactor, json: &[u8]) -> Result<bool, SyntaxError> {
    let look = |text: Text<'_>| !text::is_suspicious(text, &redactor.keys);
    if json.len() < LONG {
        return is_clean_by(redactor, json, look);
    }
    thread::scope(|scope| {
        let mut other: Option<thread::ScopedJoinHandle<'_, bool>> = None;
        let is_clean = is_clean_by(redactor, json, |text| {
            if text.raw.len() < LONG || other.as_ref().is_some_and(|other| !other.is_finished()) {
                return look(text);
            }
            match thread::Builder::new().spawn_scoped(scope, move || look(text)) {
                Ok(looking) => other.replace(looking).is_none_or(|done| done.join().unwrap_or(false)),
                Err(_) => look(text),
            }
        })?;
        Ok(other.is_none_or(|other| other.join().unwrap_or(false)) && is_clean)
    })
}

/// The same, with `look` to say whether a string is clean.
#[inline]
fn is_clean_by<'j>(
    redactor: &Redactor,
    json: &'j [u8],
    mut look: impl FnMut(Text<'j>) -> bool,
) -> Result<bool, SyntaxError> {
    let mut lexer = Lexer::new(json);
    while let Some(lexeme) = lexer.next_inline()? {
        let is_clean = match lexeme.token {
            Token::Key => {
                let name = lexeme.text(json);
                !name.escaped && redactor.keys.classify(name.raw).is_none()
            }
            Token::String => look(lexeme.text(json)),
            _ => true,
        };
        if !is_clean {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Finds the secrets of one JSON value, and adds the edits in order.
pub(super) fn json(
    redactor: &Redactor,
    json: &[u8],
    nesting: usize,
    edits: &mut Vec<Edit>,
) -> Result<(), SyntaxError> {
    let mut lexer = Lexer::new(json);
    let mut letters = LettersAhead::new(&redactor.letters, json);
    let mut open: Vec<Context> = Vec::new();
    let mut context = Context::default();
    while let Some(lexeme) = lexer.next_token()? {
        match lexeme.token {
            Token::Key => {
                let outside = open.last().copied().unwrap_or_default();
                let name = lexeme.text(json).unescaped();
                context = outside.member(redactor.keys.class(&name));
                if name.eq_ignore_ascii_case(b"pwd") {
                    context.flags |= Context::DIRECTORY;
                }
            }
            Token::BeginArray => open.push(context),
            Token::BeginObject => {
                let schema_name = open.last().is_some_and(|outside| outside.has(Context::NAMES));
                let inside =
                    if schema_name { Context { secret: 0, ..context } } else { context.inside_object() };
                open.push(inside);
            }
            Token::EndArray | Token::EndObject => {
                open.pop();
                context = open.last().copied().unwrap_or_default();
            }
            Token::String => string(redactor, json, lexeme, context, nesting, &mut letters, edits),
            Token::Number => edits.extend(number(redactor, json, lexeme, context)),
            Token::True | Token::False | Token::Null => {}
        }
    }
    Ok(())
}

fn string(
    redactor: &Redactor,
    json: &[u8],
    lexeme: Lexeme,
    context: Context,
    nesting: usize,
    letters: &mut LettersAhead<'_>,
    edits: &mut Vec<Edit>,
) {
    let (start, end) = (lexeme.start + 1, lexeme.end - 1);
    if context.has(Context::EXEMPT) || start == end {
        return;
    }
    let text = lexeme.text(json);
    let is_directory = |rule: &str| {
        context.has(Context::DIRECTORY) && keys::is_working_directory(rule, b"pwd", &text.unescaped())
    };
    if let Some(rule) = context.secret().filter(|rule| !is_directory(rule)) {
        if !text.raw.starts_with(Marker::PREFIX) {
            let replacement = redactor.marker.replacement(rule, &text.unescaped());
            edits.push(Edit { start, end, replacement });
        }
        return;
    }
    let first = edits.len();
    let letters = letters.any_in(start, end).then_some(&redactor.letters);
    if !text.escaped {
        if letters.is_none() && redactor.custom.is_empty() && text::is_unmarked(text.raw) {
            return;
        }
        redactor.find_in_text(text.raw, letters, edits);
    } else if letters.is_some() || !redactor.custom.is_empty() || text::is_suspicious(text, &redactor.keys) {
        escaped_string(redactor, text.raw, nesting, edits);
    }
    for edit in &mut edits[first..] {
        edit.start += start;
        edit.end += start;
    }
}

/// Looks behind the escapes of a string: as JSON if it is, as text if not. The edits are those of `raw`.
fn escaped_string(redactor: &Redactor, raw: &[u8], nesting: usize, edits: &mut Vec<Edit>) {
    let text = json::unescape(raw);
    let first = edits.len();
    let is_container = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    let as_json =
        is_container && nesting < MAX_NESTING && self::json(redactor, &text, nesting + 1, edits).is_ok();
    if !as_json {
        edits.truncate(first);
        redactor.find_in_text(&text, Some(&redactor.letters), edits);
    }
    let mut places = Places { raw, raw_at: 0, text_at: 0 };
    for edit in &mut edits[first..] {
        edit.start = places.raw_offset(edit.start);
        edit.end = places.raw_offset(edit.end);
        if edit.replacement.contains('"') {
            edit.replacement = edit.replacement.replace('\\', "\\\\").replace('"', "\\\"");
        }
    }
}

/// Finds where an offset in the unescaped text stands in the escaped one. Offsets are asked for in ascending order.
struct Places<'a> {
    raw: &'a [u8],
    raw_at: usize,
    text_at: usize,
}

impl Places<'_> {
    fn raw_offset(&mut self, text_offset: usize) -> usize {
        while self.text_at < text_offset {
            if self.raw[self.raw_at] == b'\\' {
                let (meaning, width) = json::escape_at(self.raw, self.raw_at);
                self.raw_at += width;
                self.text_at += meaning.len_utf8();
            } else {
                self.raw_at += 1;
                self.text_at += 1;
            }
        }
        self.raw_at
    }
}

/// A number under a secret name (a PIN, say) or that one of the user's patterns matches becomes a string. Numbers
/// under `token` are counts.
fn number(redactor: &Redactor, json: &[u8], lexeme: Lexeme, context: Context) -> Option<Edit> {
    let digits = lexeme.bytes(json);
    let rule = match context.secret() {
        _ if context.has(Context::EXEMPT) => None,
        Some(rule) if rule != rules::TOKEN => Some(rule),
        _ => redactor.custom.iter().find(|p| p.regex.is_match(digits)).map(|p| p.name.as_str()),
    }?;
    let replacement = format!("\"{}\"", redactor.marker.replacement(rule, digits));
    Some(Edit { start: lexeme.start, end: lexeme.end, replacement })
}

/// Where the next of the [`Letters`] stands, searched for in the whole value at once: one search is cheap, one for
/// each short string is not.
struct LettersAhead<'a> {
    letters: &'a Letters,
    json: &'a [u8],
    /// The first at or after where was last asked for; past the end if there is none.
    next: Option<usize>,
}

impl<'a> LettersAhead<'a> {
    fn new(letters: &'a Letters, json: &'a [u8]) -> Self {
        LettersAhead { letters, json, next: None }
    }

    fn any_in(&mut self, start: usize, end: usize) -> bool {
        let next = match self.next.filter(|&next| next >= start) {
            Some(next) => next,
            None => self.letters.find(self.json, start).map_or(usize::MAX, |hit| hit.at),
        };
        self.next = Some(next);
        next < end
    }
}
