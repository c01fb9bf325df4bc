//! Names with values in text: `PASSWORD=…`, `"api_key": "…"`, `?token=…`, `Cookie: …`, `password: |`.
//!
//! Text has no grammar that says where a value ends, and prose has colons too. So the position of a name
//! decides how strong the evidence from the value has to be: a line of its own, quotes, a query or an
//! environment variable says much, the middle of a sentence says little.
//!
//! Which names are secret is decided in `keys`, which values are only references in `values`. JSON has a
//! grammar, and is left to `walk`.

use super::keys::{self, KeyRules, is_working_directory};
use super::marker::Marker;
use super::rules;
use super::text::{
    Hit, MAX_ESCAPES, MAX_NAME, Memo, SecretMatch, begins_word, dotted, has_digit, has_letter, run,
};
use super::values::{self, Strength};
use crate::json::Text;

/// The most blanks between a separator and its value.
const MAX_GAP: usize = 64;
/// The longest quoted value and the longest block, in bytes. A quote that is never closed costs at most this.
pub(super) const MAX_VALUE: usize = 8 * 1024;
/// How many bytes before a name are examined for the beginning of its line.
const MAX_LEAD: usize = 64;

/// A name before a separator that makes the value after it a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    start: usize,
    end: usize,
    rule: &'static str,
    strength: Strength,
    /// Whether the name is a parameter of a URL's query or of a form.
    in_query: bool,
}

/// Whether the name before a separator may be a secret's. Rules out most names by their last letters, before
/// anything is classified.
#[inline]
pub(super) fn may_be_secret(text: &[u8], mark: usize, end: usize, keys: &KeyRules) -> bool {
    let tail = &text[end.saturating_sub(8)..end];
    keys.may_be_secret(tail) || text[mark] == b'=' && keys::may_be_query(tail)
}

/// The name before the separator at `mark`, if it is a secret's. Nothing before `floor` is considered.
pub(super) fn secret_name(text: &[u8], mark: usize, keys: &KeyRules, floor: usize) -> Option<Name> {
    let end = name_end(text, mark).filter(|&end| end > floor)?;
    if may_be_secret(text, mark, end, keys) { classify_name(text, end, keys, floor) } else { None }
}

fn classify_name(text: &[u8], end: usize, keys: &KeyRules, floor: usize) -> Option<Name> {
    let start = name_start(text, end, floor);
    // `Unseal Key 1: …`
    let is_number = end - start <= 2 && text[start..end].iter().all(u8::is_ascii_digit);
    let (start, end) = match start.checked_sub(1) {
        Some(blank) if is_number && blank > floor && text[blank] == b' ' => {
            (name_start(text, blank, floor), blank)
        }
        _ => (start, end),
    };
    // In `[REDACTED:password:…]` the rule's name precedes a colon.
    if text[..start].ends_with(Marker::PREFIX_COLON) {
        return None;
    }
    let name = &text[start..end];
    let in_query = start > 0 && matches!(text[start - 1], b'?' | b'&' | b'#');
    let found = |(rule, strength)| Some(Name { start, end, rule, strength, in_query });
    let secret = keys.secret(&Text { raw: name, escaped: name.contains(&b'\\') }.unescaped()).or_else(|| {
        // In escaped text, the letter of an escape (`\n`) directly precedes the name.
        let escape = start > 0 && text[start - 1] == b'\\';
        if escape { keys.secret(&name[1..]) } else { None }
    });
    match secret {
        Some(secret) => found(secret),
        None if in_query && keys::is_query_secret(name) => found((rules::QUERY, Strength::Strong)),
        None => two_words(text, start, end, floor, keys).and_then(|secret| found((secret, Strength::Weak))),
    }
}

/// `API key: …`, `Access Token = …`: names of two words, as people write them.
fn two_words(text: &[u8], start: usize, end: usize, floor: usize, keys: &KeyRules) -> Option<&'static str> {
    // `the API key is: …`
    let is_verb =
        text[start..end].eq_ignore_ascii_case(b"is") && start > floor + 1 && text[start - 1] == b' ';
    let (start, end) = if is_verb { (name_start(text, start - 1, floor), start - 1) } else { (start, end) };
    if is_verb && let Some(rule) = keys.classify(&text[start..end]) {
        return Some(rule);
    }
    let is_last = [&b"key"[..], b"keys", b"pass", b"code"]
        .iter()
        .any(|word| text[start..end].eq_ignore_ascii_case(word));
    if !is_last || start < floor + 4 || text[start - 1] != b' ' {
        return None;
    }
    let before = &text[floor.max(start.saturating_sub(24))..start - 1];
    let first = start - 1 - before.iter().rev().take_while(|&&byte| dotted(byte)).count();
    keys.classify(&text[first..end])
}

/// Where a name begins: after its opening quote if it is quoted, otherwise at its first letter.
fn name_start(text: &[u8], end: usize, floor: usize) -> usize {
    let before = &text[floor.max(end.saturating_sub(MAX_NAME))..end];
    let quote = text[end..].iter().find(|&&byte| byte != b'\\').filter(|byte| matches!(byte, b'"' | b'\''));
    let opening = quote.and_then(|&quote| memchr::memrchr(quote, before));
    match opening {
        Some(at) => end - before.len() + at + 1,
        None => end - before.iter().rev().take_while(|&&byte| dotted(byte)).count(),
    }
}

/// Where the name before a separator ends: before blanks, a closing quote with its backslashes, a closing
/// bracket.
#[inline]
pub(super) fn name_end(text: &[u8], mark: usize) -> Option<usize> {
    let mut end = mark;
    // Unbounded, but linear: each blank is before at most one separator.
    while end > 0 && matches!(text[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    // `config["password"] = …` and `**Password**: …`
    while end > 0 && mark - end < 4 && matches!(text[end - 1], b']' | b'*' | b'?') {
        end -= 1;
    }
    if end > 0 && matches!(text[end - 1], b'"' | b'\'' | b'`') {
        end -= 1;
        while end > 0 && text[end - 1] == b'\\' && mark - end < MAX_ESCAPES {
            end -= 1;
        }
    }
    (end > 0 && dotted(text[end - 1])).then_some(end)
}

/// The secret value after the separator at `mark`, which has this name before it.
pub(super) fn named(
    text: &[u8],
    mark: usize,
    name: Name,
    keys: &KeyRules,
    memo: &mut Memo,
) -> Option<SecretMatch> {
    // The scan did not know where the last match would end. Classified again only if that may be part of the name.
    let is_apart = memo.floor == 0 || name.start >= memo.floor + MAX_NAME;
    let name = if is_apart { name } else { secret_name(text, mark, keys, memo.floor)? };
    let value = value_start(text, mark)?;
    let Name { start, end, rule, .. } = name;
    // Checked before the value's end is searched for: a range that is not redacted must not be scanned twice.
    if is_working_directory(rule, &text[start..end], unquoted(text, value)) {
        return None;
    }
    let place = NamePosition::new(text, mark, value, &name);
    // `startsWith("token=")`: the quote closes the string that the name is in, so there is no value.
    let closes = name.in_query && matches!(text.get(value), Some(b'"' | b'\'' | b'`'))
        || value > mark + 1 && closes_line(text, value);
    if place.quote.is_some() && text.get(value).copied() == place.quote || closes {
        return None;
    }
    let (start, end) = match quoted_value(text, value) {
        Some(quoted) => {
            quoted.filter(|&(start, end)| values::is_secret(rule, name.strength, &text[start..end]))?
        }
        None => bare_value(text, value, &name, &place, memo)?,
    };
    Some(SecretMatch { start, end, rule })
}

/// Whether the quote at `at` closes a string that was opened earlier in the line: `prompt("Your password:
/// ")`.
fn closes_line(text: &[u8], at: usize) -> bool {
    let Some(&quote @ (b'"' | b'\'' | b'`')) = text.get(at) else { return false };
    let window = &text[at.saturating_sub(MAX_NAME)..at];
    let line = match memchr::memrchr(b'\n', window) {
        Some(newline) => &window[newline + 1..],
        None if at <= MAX_NAME => window,
        // The line is longer than the window: unknown, so no.
        None => return false,
    };
    line.iter().filter(|&&byte| byte == quote).count() % 2 == 1
}

/// The text from `at` on, without an opening quote.
fn unquoted(text: &[u8], at: usize) -> &[u8] {
    let window = &text[..text.len().min(at + MAX_ESCAPES + 1)];
    let quote = run(window, at, |byte| byte == b'\\');
    match text.get(quote) {
        Some(b'"' | b'\'' | b'`') => &text[quote + 1..],
        _ => &text[at..],
    }
}

/// What the surroundings of a name say about where its value ends.
struct NamePosition {
    separator: u8,
    /// There are no blanks around the separator.
    is_tight: bool,
    /// The name is in capitals and directly before `=`, as in the definition of an environment variable.
    in_environment: bool,
    /// Only white space, a list's dash and the like precede the name in its line.
    begins_line: bool,
    /// The quote before the name, which therefore ends the value: `"password=x"`.
    quote: Option<u8>,
}

impl NamePosition {
    fn new(text: &[u8], mark: usize, value: usize, name: &Name) -> Self {
        let separator = text[mark];
        let is_tight = name.end == mark && value == mark + 1;
        let shouted = !text[name.start..name.end].iter().any(u8::is_ascii_lowercase);
        let before = name.start.checked_sub(1).map(|at| text[at]);
        NamePosition {
            separator,
            is_tight,
            in_environment: shouted && is_tight && separator == b'=',
            begins_line: begins_line(text, name.start),
            quote: before.filter(|byte| {
                matches!(byte, b'"' | b'\'' | b'`') && name.end <= mark && text[name.end] != *byte
            }),
        }
    }
}

/// Whether only blanks, list markers, quotes and words that declare variables precede `at` in its line.
fn begins_line(text: &[u8], at: usize) -> bool {
    let window = &text[at.saturating_sub(MAX_LEAD)..at];
    let lead = match window.iter().rposition(|&byte| byte == b'\n' || byte == b'\r') {
        Some(newline) => &window[newline + 1..],
        None if at <= MAX_LEAD => window,
        None => return false,
    };
    let mut lead = lead.trim_ascii();
    for word in ["export", "set", "ENV", "ARG", "declare -x", "setx", "$env:", "var", "let", "const", "env"] {
        lead = lead.strip_suffix(word.as_bytes()).unwrap_or(lead).trim_ascii();
    }
    lead.iter().all(|byte| {
        matches!(
            byte,
            b'-' | b'+'
                | b'"'
                | b'\''
                | b'{'
                | b','
                | b'#'
                | b'>'
                | b'*'
                | b'|'
                | b' '
                | b'\t'
                | b'/'
                | b':'
                | b'_'
        )
    })
}

/// Where the value after a `=` or `:` begins. `==` and `::` are operators and have none.
fn value_start(text: &[u8], separator: usize) -> Option<usize> {
    let after = separator
        + match text[separator..] {
            [b':', b':', ..] | [b'=', b'=', ..] => return None,
            [b':', b'=', ..] | [b'=', b'>', ..] => 2,
            _ => 1,
        };
    let window = &text[..text.len().min(after + MAX_GAP)];
    let start = run(window, after, |byte| matches!(byte, b' ' | b'\t' | b'*'));
    // `Some("…")`, as Rust prints an option.
    let start = if text[start..].starts_with(b"Some(") { start + "Some(".len() } else { start };
    // String prefixes of C#, Python and SQL.
    match text.get(start..start + 2) {
        Some([b'N' | b'r' | b'b' | b'f' | b'u' | b'@', b'"' | b'\'']) => Some(start + 1),
        _ => Some(start),
    }
}

/// The inside of a quoted value. The outer `None` means that there is no quote, the inner one that there is
/// nothing to redact inside it.
pub(super) fn quoted_value(text: &[u8], at: usize) -> Option<Option<(usize, usize)>> {
    let window = &text[..text.len().min(at + MAX_VALUE)];
    let escapes = run(window, at, |byte| byte == b'\\') - at;
    let quote = *window.get(at + escapes).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    let start = at + escapes + 1;
    for end in memchr::memchr_iter(quote, &window[start..]).map(|found| start + found) {
        let before = window[start..end].iter().rev().take_while(|&&byte| byte == b'\\').count();
        // A quote after n backslashes is closed by one after n, or after n plus a multiple of 2(n + 1), which
        // are escaped backslashes.
        if before >= escapes && (before - escapes).is_multiple_of(2 * (escapes + 1)) {
            return Some((start < end - escapes).then_some((start, end - escapes)));
        }
    }
    // No closing quote. At the end of the text the value was cut off, and is redacted; elsewhere it is not a
    // value.
    Some((window.len() == text.len() && start < window.len()).then_some((start, window.len())))
}

fn bare_value(
    text: &[u8],
    start: usize,
    name: &Name,
    place: &NamePosition,
    memo: &mut Memo,
) -> Option<(usize, usize)> {
    if matches!(name.rule, rules::AUTHORIZATION | rules::COOKIE) && place.separator == b':' {
        return header_value(text, start, name.rule, place, memo);
    }
    let word = run(&text[..text.len().min(start + 128)], start, |byte| !byte.is_ascii_whitespace());
    // A reference to a secret (`${TOKEN}`) stays readable.
    if start < memo.value || values::is_reference(&text[start..word]) && !name.in_query {
        return None;
    }
    if let Some(block) = block_value(text, start, name, place) {
        return Some(block);
    }
    if name.rule == rules::CONNECTION_STRING {
        return connection_string(text, start, place);
    }
    // A value that has the rest of its line to itself may contain any punctuation.
    let is_apart = name.start == 0 || text[name.start - 1].is_ascii_whitespace() || place.quote.is_some();
    let owns_line = place.in_environment && is_apart && name.strength == Strength::Strong
        || (place.begins_line || place.quote.is_some()) && !name.in_query;
    if owns_line && start >= memo.own_line {
        if let Some(found) = whole_line_value(text, start, name, place) {
            return Some(found);
        }
        memo.own_line =
            run(&text[..text.len().min(start + MAX_VALUE)], start, |byte| !byte.is_ascii_whitespace());
    }
    let end = run(text, start, |byte| is_bare(byte) && !(name.in_query && byte == b'#'));
    let value = &text[start..end];
    if is_bare_secret(text, value, end, name, place) {
        return Some((start, end));
    }
    // A value that starts later in the same range would be judged by the same bytes.
    memo.value = end;
    None
}

fn is_bare_secret(text: &[u8], value: &[u8], end: usize, name: &Name, place: &NamePosition) -> bool {
    if name.rule == rules::QUERY {
        return keys::is_query_value(&text[name.start..name.end], value);
    }
    if name.in_query || place.in_environment {
        return values::is_secret(name.rule, name.strength, value);
    }
    if !values::is_secret(name.rule, name.strength, value) {
        return false;
    }
    // `password: get_password(…)` is code.
    let is_called = text.get(end) == Some(&b'(') && value.iter().all(|&byte| dotted(byte) || byte == b':');
    if is_called {
        return false;
    }
    if value.len() >= 8 && has_digit(value) && has_letter(value) || name.strength == Strength::Weak {
        return true;
    }
    // `password=opensesame` at the end of a word; but not `password=password)` and `password=get_it(…)` in code.
    // `username=bob,password=x,uid=1000`: the options of a mount are not separated by blanks.
    let is_option = text.get(end) == Some(&b',')
        && name.start > 0
        && text[name.start - 1] == b','
        && text.get(end + 1).is_some_and(u8::is_ascii_alphabetic);
    let follows_code =
        matches!(text.get(end), Some(b'(' | b')' | b'[' | b']' | b'{' | b',' | b'.')) && !is_option;
    place.is_tight
        && place.separator == b'='
        && value.len() >= 4
        && !follows_code
        && !is_identifier_of_secret(value)
}

/// Whether a value is itself named like a secret, and so is a variable: `password=user_password`.
fn is_identifier_of_secret(value: &[u8]) -> bool {
    let ends = |word: &str| {
        value.len() >= word.len() && value[value.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
    };
    ["password", "passwd", "pwd", "pass", "secret", "token", "key", "passphrase", "credentials", "pw"]
        .into_iter()
        .any(ends)
}

/// Whether a byte may be part of an unquoted value.
pub(super) fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`,;&|<>(){}[]\\".contains(&byte)
}

/// A value that has the rest of its line to itself, or is an environment variable's. It ends at a blank, or
/// at the quote that was before the name.
fn whole_line_value(text: &[u8], start: usize, name: &Name, place: &NamePosition) -> Option<(usize, usize)> {
    let window = &text[..text.len().min(start + MAX_VALUE)];
    let is_phrase = is_phrase(&text[name.start..name.end]);
    let end = run(window, start, |byte| {
        !(byte.is_ascii_whitespace() && !(is_phrase && byte == b' ')) && Some(byte) != place.quote
    });
    if !place.begins_line && !place.in_environment && window.get(end).copied() != place.quote {
        return None;
    }
    let end = start + literal_line_end(&text[start..end]);
    let mut value = &text[start..end];
    if place.quote.is_some() {
        value = value.strip_suffix(b"\\").unwrap_or(value);
    }
    // A form (`password=x&user=y`), whose fields end at `&`.
    if !place.in_environment && place.separator == b'=' && memchr::memchr(b'&', value).is_some() {
        return None;
    }
    let rest = &window[end..];
    let line_end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    let rest = rest[..line_end].trim_ascii();
    let is_alone =
        rest.is_empty() || rest.starts_with(b"#") || rest.starts_with(b"//") || place.quote.is_some();
    // Inside `{…}` and lists, the rest of the line belongs to other members.
    let inside_brackets = text[name.start.saturating_sub(MAX_LEAD)..name.start]
        .iter()
        .rev()
        .take_while(|&&byte| byte != b'\n')
        .any(|&byte| matches!(byte, b'{' | b'['));
    if inside_brackets && !place.in_environment {
        return None;
    }
    if !place.in_environment {
        while let [before @ .., b',' | b';'] = value {
            value = before;
        }
    }
    let is_secret = values::is_secret(name.rule, name.strength, value);
    let is_typed = place.in_environment || place.separator == b':' || !is_code(value) || has_digit(value);
    let is_long = place.in_environment || value.len() >= 3;
    (is_alone || place.in_environment)
        .then_some((start, start + value.len()))
        .filter(|_| is_secret && is_typed && is_long && !looks_like_code(value, place))
}

/// Whether the values of a name consist of several words: pass phrases and mnemonics.
fn is_phrase(name: &[u8]) -> bool {
    let ends =
        |word: &[u8]| name.len() >= word.len() && name[name.len() - word.len()..].eq_ignore_ascii_case(word);
    ends(b"phrase") || ends(b"mnemonic")
}

/// Where a value ends in text that quotes text: at a literal `\n` or `\"`.
fn literal_line_end(value: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &value[at..]) {
        at += found;
        if matches!(value.get(at + 1), Some(b'n' | b'r' | b'"' | b'\'')) {
            return at;
        }
        at += 1;
    }
    value.len()
}

/// Whether the value in `password = value` may be a variable's name.
fn is_code(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
        && (is_identifier_of_secret(value)
            || value.len() < 6
            || value.contains(&b'.')
            || value.contains(&b'_'))
}

fn looks_like_code(value: &[u8], place: &NamePosition) -> bool {
    if place.in_environment {
        return false;
    }
    matches!(value, [b'{' | b'[' | b'(' | b'&' | b'|' | b'>' | b'<' | b'*' | b'=', ..])
        || memchr::memmem::find(value, b"::").is_some()
        || memchr::memmem::find(value, b"![").is_some()
        || begins_call(value)
        || value.ends_with(b"{")
        || value.ends_with(b"(")
        || value.ends_with(b"=>")
        || place.separator == b':' && is_type(value)
}

/// Whether a value begins with a function call: `live.strip_prefix(head)?`, `getsockopt(&fd`.
fn begins_call(value: &[u8]) -> bool {
    let name = run(value, 0, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    name >= 3 && value.get(name) == Some(&b'(')
}

/// Whether a value is the type in a declaration: `token: str = None`, `password: String;`, `secret:
/// Vec<u8>,`.
fn is_type(value: &[u8]) -> bool {
    let name = value.iter().position(|byte| !byte.is_ascii_alphanumeric()).map_or(value, |at| &value[..at]);
    [
        &b"String"[..],
        b"str",
        b"string",
        b"Option",
        b"Optional",
        b"Vec",
        b"bytes",
        b"Bytes",
        b"Token",
        b"Secret",
        b"SecretStr",
        b"SecretString",
        b"Any",
        b"Buffer",
        b"Uint8Array",
        b"Promise",
        b"Cow",
        b"Arc",
        b"Box",
        b"int",
        b"number",
        b"bool",
        b"boolean",
        b"Callable",
        b"list",
        b"dict",
        b"List",
        b"Dict",
        b"Union",
        b"char",
        b"byte",
    ]
    .contains(&name)
        && (name.len() == value.len() || matches!(value[name.len()], b'<' | b'[' | b'|' | b'?' | b';' | b','))
}

/// The value of a YAML block scalar: `password: |` and the more deeply indented lines below it.
fn block_value(text: &[u8], start: usize, name: &Name, place: &NamePosition) -> Option<(usize, usize)> {
    if place.separator != b':' || !place.begins_line || name.strength == Strength::Weak {
        return None;
    }
    let line_end = text[start..].iter().take(8).position(|&byte| byte == b'\n').map(|at| start + at)?;
    if !is_block_header(text[start..line_end].trim_ascii()) {
        return None;
    }
    let indent = indentation(text, name.start);
    let first = line_end + 1 + run(&text[line_end + 1..], 0, |byte| matches!(byte, b' ' | b'\t'));
    let mut end = first;
    let mut at = line_end + 1;
    while at < text.len() && at < start + MAX_VALUE {
        let next = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |found| at + found);
        let line = &text[at..next];
        let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if blanks < line.len() && blanks <= indent {
            break;
        }
        if blanks < line.len() {
            end = next;
        }
        at = next + 1;
    }
    let end = first + text[first..end.max(first)].trim_ascii_end().len();
    // A PEM block has a rule of its own, which says more.
    (end > first && !text[first..].starts_with(b"-----BEGIN")).then_some((first, end))
}

/// Whether a value begins a block scalar of YAML (version 1.2, section 8.1.1).
fn is_block_header(value: &[u8]) -> bool {
    matches!(value, [b'|' | b'>'] | [b'|' | b'>', b'-' | b'+' | b'0'..=b'9'] | [b'|' | b'>', _, b'-' | b'+'])
}

/// The rule of a name at the end of a line whose value is a block scalar in the lines below, and the name's indentation.
pub(super) fn open_block(line: &[u8], keys: &KeyRules) -> Option<(&'static str, usize)> {
    let colon = memchr::memrchr(b':', line)?;
    if !is_block_header(line[colon + 1..].trim_ascii()) {
        return None;
    }
    let name = secret_name(line, colon, keys, 0).filter(|name| name.strength == Strength::Strong)?;
    begins_line(line, name.start).then(|| (name.rule, indentation(line, name.start)))
}

fn indentation(text: &[u8], at: usize) -> usize {
    let line = &text[..at];
    let begin = memchr::memrchr(b'\n', &line[at.saturating_sub(256)..])
        .map_or(at.saturating_sub(256), |found| at.saturating_sub(256) + found + 1);
    line[begin..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// An unquoted connection string, to the end of its line. Anything else under that name is left alone: the
/// password inside has a name of its own.
fn connection_string(text: &[u8], start: usize, place: &NamePosition) -> Option<(usize, usize)> {
    let window = &text[..text.len().min(start + MAX_VALUE)];
    let end = run(window, start, |byte| !matches!(byte, b'\n' | b'\r') && Some(byte) != place.quote);
    let value = text[start..end].trim_ascii();
    let is_one = memchr::memmem::find(value, b"://").is_some()
        || memchr::memchr(b';', value).is_some() && memchr::memchr(b'=', value).is_some();
    let word = run(value, 0, |byte| !byte.is_ascii_whitespace());
    let length = if memchr::memchr(b';', value).is_some() { value.len() } else { word };
    (is_one && length >= 8).then_some((start, start + length))
}

/// The rest of a header's line, after the name of a scheme.
fn header_value(
    text: &[u8],
    start: usize,
    rule: &str,
    place: &NamePosition,
    memo: &mut Memo,
) -> Option<(usize, usize)> {
    if start < memo.line {
        return None;
    }
    let mut end = run(text, start, |byte| !matches!(byte, b'\r' | b'\n') && Some(byte) != place.quote);
    // A line may contain a header's name many times; its end is searched for once.
    memo.line = end;
    end = start + literal_line_end(&text[start..end]);
    let mut line = text[start..end].trim_ascii_end();
    if place.quote.is_some() {
        line = line.strip_suffix(b"\\").unwrap_or(line);
    } else if let Some(closed) = closing_quote(text, start, line) {
        line = &line[..closed];
    }
    let end = start + line.len();
    if values::is_prose(line) || values::is_reference(line) || rule == rules::COOKIE && !line.contains(&b'=')
    {
        return None;
    }
    let scheme = line
        .iter()
        .position(|&byte| byte == b' ')
        .filter(|&at| rule == rules::AUTHORIZATION && is_scheme(&line[..at]));
    let start = scheme.map_or(start, |at| start + at + 1);
    let value = &text[start..end];
    let is_opaque = scheme.is_some() || rule == rules::COOKIE || has_digit(value) || value.len() >= 16;
    let is_code = value.starts_with(b"=") || memchr::memmem::find(value, b"::").is_some();
    let is_secret = values::is_secret(rule, Strength::Strong, value) && !values::is_keyword(value);
    (value.len() >= 4 && is_secret && is_opaque && !is_code).then_some((start, end))
}

/// Whether the first word of an `Authorization` header is a scheme rather than the credentials: schemes are
/// short, and only those of AWS contain digits.
fn is_scheme(word: &[u8]) -> bool {
    let is_name = word.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
    word.starts_with(b"AWS4-") || is_name && word.len() <= 20
}

/// Where the quote closes that was opened before the name: `-H "Cookie: a=b" https://…`, or a list of quoted
/// lines.
fn closing_quote(text: &[u8], start: usize, line: &[u8]) -> Option<usize> {
    let lead = &text[start.saturating_sub(MAX_NAME)..start];
    let lead = &lead[lead.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)..];
    [b'"', b'\'', b'`'].into_iter().find_map(|quote| {
        let is_open = lead.iter().filter(|&&byte| byte == quote).count() % 2 == 1;
        if is_open { memchr::memchr(quote, line) } else { None }
    })
}

/// `IDENTIFIED BY '…'`, `WITH PASSWORD '…'`, `machine h login u password p`, `the password is hunter2`.
pub(super) fn word_and_value(text: &[u8], hit: Hit) -> Option<SecretMatch> {
    let end = hit.at + hit.len;
    let word_start =
        hit.at - text[..hit.at].iter().rev().take(16).take_while(|byte| byte.is_ascii_alphabetic()).count();
    if !begins_word(text, word_start) && text.get(word_start.wrapping_sub(1)) != Some(&b'_') {
        return None;
    }
    let word = &text[word_start..end - 1];
    let start = run(&text[..text.len().min(end + MAX_GAP)], end, |byte| matches!(byte, b' ' | b'\t' | b'='));
    let is = |other: &str| word.eq_ignore_ascii_case(other.as_bytes());
    // A `.netrc` entry and an SQL statement put their keywords within a line or two of the password.
    let lead = &text[word_start.saturating_sub(200)..word_start];
    if is("identified by") {
        let start = [&b"PASSWORD "[..], b"password ", b"VALUES ", b"values "]
            .iter()
            .find(|skip| text[start..].starts_with(skip))
            .map_or(start, |skip| start + skip.len());
        return sql_value(text, start)
            .filter(|found| is_quote(text, start) || has_digit(&text[found.start..found.end]));
    }
    if is("requirepass") {
        return bare_word(text, start, rules::PASSWORD).filter(|found| found.end - found.start >= 4);
    }
    if !is("password") && !is("passwd") {
        return None;
    }
    if is_quote(text, start) && is_sql(lead) {
        return sql_value(text, start);
    }
    // `IDENTIFIED WITH mysql_native_password BY '…'`
    if text[start..].starts_with(b"BY ") && is_quote(text, start + 3) {
        return sql_value(text, start + 3);
    }
    if text[end..start].contains(&b'=') {
        return None;
    }
    if text[start..].starts_with(b"FOR ") {
        let statement = &text[start..text.len().min(start + 128)];
        return [&b"= '"[..], b"= PASSWORD('"].iter().find_map(|assignment| {
            let at = memchr::memmem::find(statement, assignment)?;
            sql_value(text, start + at + assignment.len() - 1)
        });
    }
    // A line of its own below the user's, as in the files of msmtp and mosquitto.
    let below_user = || {
        let line = lead.iter().rposition(|&byte| byte == b'\n').map(|newline| &lead[newline + 1..]);
        let value_end =
            run(&text[..text.len().min(start + MAX_NAME)], start, |byte| !byte.is_ascii_whitespace());
        line.is_some_and(|line| line.trim_ascii().is_empty())
            && matches!(text.get(value_end), None | Some(b'\n' | b'\r'))
            && (has_word(lead, "user") || has_word(lead, "username") || has_word(lead, "login"))
    };
    if has_word(lead, "machine") || has_word(lead, "default") && has_word(lead, "login") || below_user() {
        return bare_word(text, start, rules::PASSWORD);
    }
    stated_value(text, start, rules::PASSWORD, 6)
}

/// The words at the beginning of a text that state a value.
pub(super) fn stated_verb(text: &[u8]) -> Option<&'static [u8]> {
    [&b"is "[..], b"was ", b"of ", b"to ", b"as ", b"= ", b"-> ", b"is: "]
        .into_iter()
        .find(|verb| text.starts_with(verb))
}

/// A value stated in a sentence: `is hunter2`, `"hunter2"`, or just `hunter2`. It must contain a digit and a
/// letter, because any word may follow "password".
fn stated_value(text: &[u8], start: usize, rule: &'static str, least: usize) -> Option<SecretMatch> {
    let start = start + stated_verb(&text[start..]).map_or(0, <[u8]>::len);
    let found = match quoted_value(text, start) {
        Some(quoted) => quoted.map(|(start, end)| SecretMatch { start, end, rule })?,
        None => bare_word(text, start, rule)?,
    };
    let value = &text[found.start..found.end];
    let is_value = value.len() >= least && has_digit(value) && has_letter(value) && !value.contains(&b' ');
    (is_value && !values::is_uuid(value) && values::is_secret(rule, Strength::Strong, value)).then_some(found)
}

/// The value in `the token is …`, `Datadog key …`, `API key …`. It has to look random, unless a verb states
/// that it is the value.
pub(super) fn sentence_value(text: &[u8], hit: Hit, keys: &KeyRules) -> Option<SecretMatch> {
    let end = hit.at + hit.len;
    let word_end = end - 1;
    let word_start =
        word_end - text[..word_end].iter().rev().take(24).take_while(|&&byte| dotted(byte)).count();
    let (rule, strength) = keys.secret(&text[word_start..word_end]).or_else(|| {
        let before = text[..word_start.saturating_sub(1)]
            .iter()
            .rev()
            .take(24)
            .take_while(|&&byte| dotted(byte))
            .count();
        let first = word_start.saturating_sub(1) - before;
        (before > 2).then(|| keys.secret(&text[first..word_end])).flatten()
    })?;
    let is_statement =
        [&b"is "[..], b"was ", b"= ", b"is: "].iter().any(|verb| text[end..].starts_with(verb));
    let found = stated_value(text, end, rule, if is_statement { 8 } else { 16 })?;
    let value = &text[found.start..found.end];
    // A provider's rule says more.
    let is_known = super::text::is_token_at(text, found.start);
    (!is_known && (is_statement && strength == Strength::Strong || values::is_random(value))).then_some(found)
}

/// Whether a string begins at `at`, including `N'…'` of SQL Server and `E'…'` of PostgreSQL.
fn is_quote(text: &[u8], at: usize) -> bool {
    matches!(text.get(at..at + 2), Some([b'\'' | b'"', _] | [b'N' | b'E', b'\'']))
}

fn is_sql(lead: &[u8]) -> bool {
    const WORDS: [&str; 8] = ["user", "role", "login", "with", "set", "alter", "create", "encrypted"];
    lead.split(|byte| !byte.is_ascii_alphanumeric())
        .any(|other| other.len() > 2 && WORDS.iter().any(|word| other.eq_ignore_ascii_case(word.as_bytes())))
}

/// Whether the text before contains a word, in either case.
fn has_word(lead: &[u8], word: &str) -> bool {
    lead.split(|byte| !byte.is_ascii_alphanumeric()).any(|other| other.eq_ignore_ascii_case(word.as_bytes()))
}

fn sql_value(text: &[u8], start: usize) -> Option<SecretMatch> {
    let start = if let Some([b'N' | b'E', b'\'']) = text.get(start..start + 2) { start + 1 } else { start };
    let found = match quoted_value(text, start) {
        Some(quoted) => quoted.map(|(start, end)| SecretMatch { start, end, rule: rules::SQL })?,
        None => bare_word(text, start, rules::SQL)?,
    };
    values::is_secret(rules::SQL, Strength::Strong, &text[found.start..found.end]).then_some(found)
}

fn bare_word(text: &[u8], start: usize, rule: &'static str) -> Option<SecretMatch> {
    let window = &text[..text.len().min(start + MAX_VALUE)];
    let end = run(window, start, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`'));
    let value = &text[start..end];
    // Punctuation of the statement or sentence, not of the password.
    let value = value.strip_suffix(b";").unwrap_or(value);
    let value = value.strip_suffix(b".").or_else(|| value.strip_suffix(b",")).unwrap_or(value);
    (!value.is_empty() && values::is_secret(rule, Strength::Strong, value)).then_some(SecretMatch {
        start,
        end: start + value.len(),
        rule,
    })
}

/// Whether the tag that ends at `mark` may name a secret: `<password>`, or `</key>` in a property list.
pub(super) fn may_be_element(text: &[u8], mark: usize, keys: &KeyRules) -> bool {
    let tail = &text[mark.saturating_sub(8)..mark];
    match tail.last() {
        Some(b'"' | b'\'') => attributes_start(text, mark)
            .is_some_and(|end| keys.may_be_secret(&text[end.saturating_sub(8)..end])),
        Some(last) if last.is_ascii_alphanumeric() => {
            keys.may_be_secret(tail) || tail.ends_with(b"name") || tail.ends_with(b"Name")
        }
        _ => false,
    }
}

/// Where the attributes of the tag that ends at `mark` begin: `<Password Type="x">`.
fn attributes_start(text: &[u8], mark: usize) -> Option<usize> {
    let lead = &text[mark.saturating_sub(MAX_NAME)..mark];
    let open = memchr::memrchr(b'<', lead)?;
    let end = open + 1 + run(&lead[open + 1..], 0, |byte| dotted(byte) || byte == b':');
    (lead.get(end) == Some(&b' ')).then_some(mark - lead.len() + end)
}

/// The content of an element named like a secret, or of the element after one that names it: `<password>…<`,
/// `<key>password</key><string>…<`.
pub(super) fn element(text: &[u8], mark: usize, keys: &KeyRules) -> Option<SecretMatch> {
    let lead = &text[mark.saturating_sub(MAX_NAME)..mark];
    let open = mark - lead.len() + memchr::memrchr(b'<', lead)?;
    // `Option<Secret>` is a type.
    if open > 0
        && text[open + 1] != b'/'
        && (text[open - 1].is_ascii_alphanumeric() || text[open - 1] == b':')
    {
        return None;
    }
    let name = &text[open + 1..mark];
    if let [b'/', closed @ ..] = name {
        return NAME_TAGS
            .iter()
            .any(|tag| closed.eq_ignore_ascii_case(tag.as_bytes()))
            .then(|| named_by_element(text, open, mark, keys))?;
    }
    let name = name.split(|&byte| byte == b' ').next()?;
    let name = name.rsplit(|&byte| byte == b':').next()?;
    let (rule, strength) = keys.secret(name).filter(|_| name.iter().all(|&byte| dotted(byte)))?;
    content(text, mark + 1, rule, strength)
}

/// Elements that hold the name of the value in the next element: property lists, KeePass, Hadoop, servlets.
const NAME_TAGS: &[&str] = &["key", "name", "param-name", "env-entry-name"];

/// The content of the element after `<key>password</key>`.
fn named_by_element(text: &[u8], open: usize, mark: usize, keys: &KeyRules) -> Option<SecretMatch> {
    let lead = &text[open.saturating_sub(MAX_NAME)..open];
    let name = &lead[memchr::memrchr(b'>', lead)? + 1..];
    let (rule, strength) = keys.secret(name)?;
    let window = &text[..text.len().min(mark + MAX_NAME)];
    let next = run(window, mark + 1, |byte| byte.is_ascii_whitespace());
    let is_element =
        window.get(next) == Some(&b'<') && window.get(next + 1).is_some_and(u8::is_ascii_alphabetic);
    let start = memchr::memchr(b'>', window.get(next..)?).filter(|_| is_element)? + next + 1;
    content(text, start, rule, strength)
}

/// The text from `start` to the next end tag.
fn content(text: &[u8], start: usize, rule: &'static str, strength: Strength) -> Option<SecretMatch> {
    let start = if text[start..].starts_with(b"<![CDATA[") { start + 9 } else { start };
    let start = run(text, start, |byte| byte.is_ascii_whitespace());
    let window = &text[start..text.len().min(start + MAX_VALUE)];
    let end = memchr::memchr(b'<', window).filter(|&end| window.get(end + 1) == Some(&b'/'))?;
    let value = window[..end].strip_suffix(b"]]>").unwrap_or(&window[..end]).trim_ascii_end();
    values::is_secret(rule, strength, value).then_some(SecretMatch { start, end: start + value.len(), rule })
}

/// The attributes or members that hold the name of a pair; [`VALUE_KEYS`] hold its value.
const NAME_KEYS: &[&str] = &[
    "name",
    "key",
    "Name",
    "Key",
    "NAME",
    "KEY",
    "label",
    "field",
    "variable",
    "parameter",
    "property",
    "setting",
];
const VALUE_KEYS: &[&str] = &["value", "Value", "VALUE", "secretValue", "content"];

/// A hit if the separator precedes the name of a pair: `name: DB_PASSWORD`, `<add key="ApiKey"`.
#[inline]
pub(super) fn pair_name(text: &[u8], mark: usize, end: usize, keys: &KeyRules) -> Option<Hit> {
    let tail: &[u8; 3] = text[..end].last_chunk()?;
    // Runs at every separator that follows a name, so three bytes are compared before anything is parsed.
    if !matches!(
        tail,
        b"ame" | b"key" | b"Key" | b"AME" | b"KEY" | b"bel" | b"eld" | b"ble" | b"ter" | b"rty" | b"ing"
    ) {
        return None;
    }
    secret_pair(text, mark, keys).map(|_| super::text::Check::Pair.at(mark))
}

/// The rule of the name after this separator, and where that name ends.
fn secret_pair(text: &[u8], mark: usize, keys: &KeyRules) -> Option<(&'static str, Strength, usize)> {
    let end = name_end(text, mark)?;
    let start = name_start(text, end, 0);
    if !NAME_KEYS.iter().any(|key| key.as_bytes() == &text[start..end]) {
        return None;
    }
    let value = value_start(text, mark)?;
    let escapes = run(&text[..text.len().min(value + 16)], value, |byte| byte == b'\\');
    let first = if matches!(text.get(escapes), Some(b'"' | b'\'')) { escapes + 1 } else { value };
    let last = run(&text[..text.len().min(first + MAX_NAME)], first, |byte| dotted(byte) || byte == b'/');
    let (rule, strength) = keys.secret(&text[first..last])?;
    Some((rule, strength, last))
}

/// The value of a pair whose name follows this separator: the `value` in the same tag, object or block.
pub(super) fn pair(text: &[u8], mark: usize, keys: &KeyRules) -> Option<SecretMatch> {
    const NEAR: usize = 256;
    let (rule, strength, end) = secret_pair(text, mark, keys)?;
    let after = &text[end..text.len().min(end + NEAR)];
    // The end of the tag, object or list item: a `value` after it belongs to another pair.
    let limit = pair_limit(after);
    let found = value_in(text, end, end + limit).or_else(|| {
        // The value may come first: `{"value": "…", "name": "DB_PASSWORD"}`.
        let begin = mark.saturating_sub(NEAR);
        let from = text[begin..mark]
            .iter()
            .rposition(|byte| matches!(byte, b'<' | b'{' | b'}' | b'>'))
            .map_or(begin, |at| begin + at + 1);
        value_in(text, from, mark)
    });
    let (start, end) = found.or_else(|| tag_content(text, end))?;
    values::is_secret(rule, strength, &text[start..end]).then_some(SecretMatch { start, end, rule })
}

fn pair_limit(after: &[u8]) -> usize {
    let mut lines = 0;
    for (at, byte) in after.iter().enumerate() {
        match byte {
            b'}' | b'>' | b'{' => return at,
            b'\n' => {
                lines += 1;
                let next = after[at + 1..].trim_ascii_start();
                if lines > 3 || next.starts_with(b"- ") {
                    return at;
                }
            }
            _ => {}
        }
    }
    after.len()
}

/// The value of the first of [`VALUE_KEYS`] in a range of text.
fn value_in(text: &[u8], from: usize, to: usize) -> Option<(usize, usize)> {
    let stretch = &text[from..to];
    memchr::memchr2_iter(b'=', b':', stretch).find_map(|at| {
        let mark = from + at;
        let end = name_end(text, mark).filter(|&end| end > from)?;
        let start = name_start(text, end, from);
        if !VALUE_KEYS.iter().any(|key| key.as_bytes() == &text[start..end]) {
            return None;
        }
        let value = value_start(text, mark)?;
        match quoted_value(text, value) {
            Some(quoted) => quoted,
            None => {
                let end = run(&text[..text.len().min(value + MAX_VALUE)], value, |byte| {
                    !byte.is_ascii_whitespace() && !matches!(byte, b',' | b'}' | b'>')
                });
                (value < end).then_some((value, end))
            }
        }
    })
}

/// The content of the tag that ends after `end`: `<entry key="password">…</entry>`.
fn tag_content(text: &[u8], end: usize) -> Option<(usize, usize)> {
    let window = &text[end..text.len().min(end + 128)];
    let close = window
        .iter()
        .position(|&byte| byte == b'>')
        .filter(|&at| at > 0 && window[at - 1] != b'/' && !window[..at].contains(&b'\n'))?;
    let content = &text[end + close + 1..text.len().min(end + close + 1 + MAX_VALUE)];
    let length = memchr::memchr(b'<', content).filter(|&length| content[length..].starts_with(b"</"))?;
    let value = content[..length].trim_ascii();
    let start =
        end + close + 1 + content[..length].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    (!value.is_empty()).then_some((start, start + value.len()))
}

/// The value in a call with a name and a value: `define('DB_PASSWORD', '…')`, `setenv("TOKEN", "…")`. `at` is
/// the offset after the bracket.
pub(super) fn call(text: &[u8], at: usize, keys: &KeyRules) -> Option<SecretMatch> {
    let first = run(&text[..text.len().min(at + 8)], at, |byte| byte == b' ');
    let (start, end) = quoted_value(&text[..text.len().min(first + MAX_NAME)], first).flatten()?;
    let (rule, strength) = keys.secret(&text[start..end])?;
    let comma =
        run(&text[..text.len().min(end + 16)], end, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b' '));
    if text.get(comma) != Some(&b',') {
        return None;
    }
    let value = run(&text[..text.len().min(comma + 16)], comma + 1, |byte| byte == b' ');
    let (start, end) = quoted_value(text, value).flatten()?;
    values::is_secret(rule, strength, &text[start..end]).then_some(SecretMatch { start, end, rule })
}
