//! Secrets that the structure of a document identifies: columns of tables, Kubernetes secrets, rows of
//! `.pgpass`, SQL.
//!
//! The scanner in `text` sees a value and the bytes around it. Here, a header or a keyword far away decides,
//! so these functions read whole documents, and run only if a cheap test has found such a header or keyword.

use super::keys::KeyRules;
use super::rules;
use super::text::{Literals, SecretMatch, run};
use super::values::{self, Strength};
use crate::json::Text;
use memchr::memmem::{self, Finder};
use std::sync::LazyLock;

/// The longest line that may be a table's header, in bytes. `MAX_COLUMNS` is the most columns that are
/// considered.
const MAX_HEADER: usize = 1024;
const MAX_COLUMNS: usize = 64;

/// The longest title of a table's first column, in bytes.
const MAX_TITLE: usize = 40;

/// What precedes the header of a table: an empty line, a line that ends with a colon, a fence, the bar of Markdown.
const BEFORE_HEADER: [&str; 7] = ["```", "\\n\\n", ":\\n", "\\n|", "\n\n", ":\n", "\n|"];

/// How many of them occur in the raw text of a JSON string, where line ends are escaped.
const ESCAPED: usize = 4;

/// Signs of JSON in a string that is secret by its structure rather than by names: keys, Kubernetes secrets,
/// tables. Those of tables within tables are searched for separately: two bytes would slow down the search for all.
const STRUCTURES: [&str; 5] = ["\\\"kty", "\\\"Secret\\", "\\\"rows", "\\\"columns", "\\\"rawHeaders"];

static IN_TEXT: LazyLock<Literals> = LazyLock::new(|| Literals::new(&BEFORE_HEADER));

// One search for all: one for each took a third of the time for JSON in a string
// (`cargo xtask bench --only redaction`).
static IN_STRINGS: LazyLock<Literals> =
    LazyLock::new(|| Literals::new(&[&BEFORE_HEADER[..ESCAPED], &STRUCTURES[..]].concat()));

static NESTED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"[["));

/// Whether a text may contain a table with a column of secrets.
fn may_have_columns(text: &[u8], keys: &KeyRules) -> bool {
    is_header_at(text, 0, keys)
        || any_match(&IN_TEXT, text, |sign, end| may_precede_header(text, BEFORE_HEADER[sign], end, keys))
}

/// Whether the raw text of a JSON string may contain a table with a column of secrets, or be JSON whose structure makes
/// something a secret.
pub(super) fn may_be_document(raw: &[u8], keys: &KeyRules) -> bool {
    let may_be_json = matches!(raw.first(), Some(b'{' | b'[' | b' ' | b'\\'));
    is_header_at(raw, 0, keys)
        || may_be_json && NESTED.find(raw).is_some()
        || any_match(&IN_STRINGS, raw, |sign, end| match sign.checked_sub(ESCAPED) {
            None => may_precede_header(raw, BEFORE_HEADER[sign], end, keys),
            Some(_) => may_be_json,
        })
}

/// Whether any match passes a test of the literal's index and the offset where the match ends. Matches may overlap: `:`
/// and two line ends are two of them.
fn any_match(literals: &Literals, text: &[u8], mut test: impl FnMut(usize, usize) -> bool) -> bool {
    let mut from = 0;
    while let Some(found) = literals.find(text, from) {
        if test(found.pattern().as_usize(), found.end()) {
            return true;
        }
        from = found.start() + 1;
    }
    false
}

/// Whether the header of a table follows one of [`BEFORE_HEADER`] that ends at `end`.
fn may_precede_header(text: &[u8], sign: &str, end: usize, keys: &KeyRules) -> bool {
    match sign {
        "```" => {
            let language = text[end..].iter().take(12).position(|&byte| matches!(byte, b'\n' | b'\\'));
            language.is_some_and(|skip| {
                let line_end = if text[end + skip] == b'\n' { 1 } else { 2 };
                is_header_at(text, text.len().min(end + skip + line_end), keys)
            })
        }
        sign if sign.ends_with('|') => is_header_at(text, end - 1, keys),
        _ => is_header_at(text, end, keys),
    }
}

/// Whether the line at `at` may be the header of a table with a column of secrets. Line ends and quotes may be escaped.
fn is_header_at(text: &[u8], at: usize, keys: &KeyRules) -> bool {
    let line = cut_line(&text[at..text.len().min(at + MAX_HEADER)]);
    // Most lines are ruled out before they are copied.
    if !may_begin_with_name(line) {
        return false;
    }
    let line = Text { raw: line, escaped: line.contains(&b'\\') }.unescaped();
    first_cell_is_name(&line) && has_secret_column(&line, keys)
}

fn cut_line(text: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    &text[..memmem::find(&text[..end], b"\\n").unwrap_or(end)]
}

/// Whether a line begins with a word and a delimiter, as headers of tables do and sentences don't.
fn first_cell_is_name(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"|").unwrap_or(line);
    let end = line.iter().take(MAX_TITLE).find(|&&byte| !is_title(byte));
    end.is_some_and(|&byte| is_delimiter(byte))
}

/// The same for a line in which bytes may be escaped.
fn may_begin_with_name(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"|").unwrap_or(line);
    let end = line.iter().take(MAX_TITLE).find(|&&byte| !is_title(byte) || byte == b'\\');
    end.is_some_and(|&byte| is_delimiter(byte) || byte == b'\\')
}

fn is_title(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b'"' | b'\\' | b'#' | b'*')
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b',' | b'\t' | b'|' | b';')
}

/// The titles of a column of names, and of the column with their values.
const NAME_TITLES: &[&str] = &[
    "name",
    "key",
    "setting",
    "variable",
    "parameter",
    "property",
    "field",
    "option",
    "env",
    "config",
    "item",
];
const VALUE_TITLES: &[&str] = &["value", "values", "val", "content", "current value"];

/// The columns of names and values, if the header of a table has both.
fn pair_columns<'c>(cells: impl Iterator<Item = &'c [u8]>) -> Option<(usize, usize)> {
    let (mut name, mut value) = (None, None);
    for (index, cell) in cells.take(MAX_COLUMNS).enumerate() {
        let title = cell.trim_ascii_start();
        let first = title.iter().position(u8::is_ascii_alphanumeric).unwrap_or(0);
        let last = title.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |at| at + 1);
        let title = &title[first.min(last)..last];
        let is_one_of =
            |titles: &[&str]| titles.iter().any(|known| title.eq_ignore_ascii_case(known.as_bytes()));
        if name.is_none() && is_one_of(NAME_TITLES) {
            name = Some(index);
        } else if value.is_none() && is_one_of(VALUE_TITLES) {
            value = Some(index);
        }
    }
    name.zip(value)
}

fn has_secret_column(line: &[u8], keys: &KeyRules) -> bool {
    if pair_columns(line.strip_prefix(b"|").unwrap_or(line).split(|&byte| is_delimiter(byte))).is_some() {
        return true;
    }
    line.split(|&byte| is_delimiter(byte)).take(MAX_COLUMNS).any(|cell| column_rule(cell, keys).is_some())
}

fn column_rule(cell: &[u8], keys: &KeyRules) -> Option<(&'static str, Strength)> {
    let cell = cell.trim_ascii();
    let name = cell.iter().position(u8::is_ascii_alphanumeric).map(|start| {
        let end = cell.iter().rposition(u8::is_ascii_alphanumeric).map_or(start, |end| end + 1);
        &cell[start..end]
    })?;
    let is_name = name.len() <= 40
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b'.'));
    if is_name && name.iter().filter(|byte| **byte == b' ').count() <= 2 { keys.secret(name) } else { None }
}

/// Finds the values in columns that are named like secrets.
pub(super) fn tables(text: &[u8], keys: &KeyRules, found: &mut Vec<SecretMatch>) {
    if memchr::memchr(b'\n', text).is_none() || !may_have_columns(text, keys) {
        return;
    }
    let mut at = 0;
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len() + 1;
        at = match header(line, keys) {
            Some(header) if line.len() <= MAX_HEADER => rows(text, next, &header, keys, found),
            _ => next,
        };
    }
}

fn line_at(text: &[u8], at: usize) -> &[u8] {
    &text[at..memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end)]
}

struct Header {
    delimiter: u8,
    columns: Vec<Option<(&'static str, Strength)>>,
    /// The columns of names and of their values.
    pair: Option<(usize, usize)>,
}

fn header(line: &[u8], keys: &KeyRules) -> Option<Header> {
    if !first_cell_is_name(line) || !has_secret_column(line, keys) {
        return None;
    }
    // `|` first: the cells of a Markdown table may contain commas.
    let delimiter = *b"|\t,;".iter().find(|delimiter| line.contains(delimiter))?;
    let columns: Vec<_> =
        line.split(|&byte| byte == delimiter).take(MAX_COLUMNS).map(|cell| column_rule(cell, keys)).collect();
    // A sentence with a comma before "password" is not a header: every cell has to be short. Markdown pads
    // its cells with blanks.
    let is_header = line.split(|&byte| byte == delimiter).all(|cell| {
        cell.len() <= 40
            && cell.iter().filter(|byte| **byte == b' ').count()
                <= 4 + 2 * usize::from(delimiter == b'|') * 10
            && !cell.ends_with(b".")
    });
    let named = line.split(|&byte| byte == delimiter).filter(|cell| !cell.trim_ascii().is_empty()).count();
    let pair = pair_columns(line.split(|&byte| byte == delimiter));
    (is_header && named >= 2).then_some(Header { delimiter, columns, pair })
}

/// Adds the secrets in the rows below a header. Returns where the table ends.
fn rows(text: &[u8], mut at: usize, header: &Header, keys: &KeyRules, found: &mut Vec<SecretMatch>) -> usize {
    while at < text.len() {
        let line = line_at(text, at);
        let is_rule = |byte: &u8| matches!(byte, b'-' | b'+' | b'|' | b'=' | b':' | b' ' | b'\r');
        if !line.trim_ascii().is_empty() && line.iter().all(is_rule) {
            at += line.len() + 1;
            continue;
        }
        let cells = cells(line, header.delimiter);
        // The table ends with the first line that has a different number of cells.
        if cells.len() != header.columns.len() {
            // The line that ends the table may be the header of the next one, unless it is empty.
            return if line.trim_ascii().is_empty() { at + line.len() + 1 } else { at };
        }
        let named = header.pair.and_then(|(name, value)| {
            let (start, end) = *cells.get(name)?;
            Some((value, column_rule(&line[start..end], keys)?))
        });
        for (index, ((start, end), column)) in cells.into_iter().zip(&header.columns).enumerate() {
            let by_name = named.filter(|(value, _)| *value == index).map(|(_, secret)| secret);
            let Some((rule, strength)) = by_name.or(*column) else { continue };
            let cell = &line[start..end];
            let is_ruled = cell.iter().all(|byte| matches!(byte, b'-' | b':' | b' ' | b'='));
            if !is_ruled && values::is_secret(rule, strength, cell) {
                found.push(SecretMatch { start: at + start, end: at + end, rule });
            }
        }
        at += line.len() + 1;
    }
    at
}

/// The ranges of a row's cells, without surrounding blanks and quotes.
fn cells(line: &[u8], delimiter: u8) -> Vec<(usize, usize)> {
    let mut cells = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for at in 0..=line.len() {
        match line.get(at) {
            // Quotes protect delimiters in CSV, but mean nothing in Markdown.
            Some(b'"') if delimiter != b'|' => quoted = !quoted,
            Some(&byte) if byte != delimiter || quoted => {}
            _ => {
                cells.push(trimmed(line, start, at));
                start = at + 1;
            }
        }
    }
    cells
}

fn trimmed(line: &[u8], mut start: usize, mut end: usize) -> (usize, usize) {
    while start < end && matches!(line[start], b' ' | b'"' | b'`' | b'\r') {
        start += 1;
    }
    while start < end && matches!(line[end - 1], b' ' | b'"' | b'`' | b'\r') {
        end -= 1;
    }
    (start, end)
}

/// Finds the values of a Kubernetes secret in YAML: everything under `data` and `stringData`, whatever its
/// name.
pub(super) fn kubernetes(text: &[u8], found: &mut Vec<SecretMatch>) {
    if memmem::find(text, b"kind: Secret\n").is_none() && memmem::find(text, b"kind: Secret\r\n").is_none() {
        return;
    }
    let mut at = 0;
    let mut inside = None;
    while at < text.len() {
        let line = line_at(text, at);
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let content = line[indent..].trim_ascii_end();
        if inside.is_some_and(|outer| indent <= outer && !content.is_empty()) {
            inside = None;
        }
        if inside.is_some()
            && let Some(colon) = memmem::find(content, b": ")
        {
            let (start, end) = trimmed(content, colon + 2, content.len());
            // A block scalar: its value is on the following lines.
            if !matches!(content.get(start), Some(b'|' | b'>'))
                && values::is_secret(rules::SECRET, Strength::Strong, &content[start..end])
            {
                found.push(SecretMatch {
                    start: at + indent + start,
                    end: at + indent + end,
                    rule: rules::SECRET,
                });
            }
        // A line of a block scalar.
        } else if inside.is_some() && !content.is_empty() && !content.contains(&b':') {
            found.push(SecretMatch {
                start: at + indent,
                end: at + indent + content.len(),
                rule: rules::SECRET,
            });
        }
        if content == b"data:" || content == b"stringData:" {
            inside = Some(indent);
        }
        at += line.len() + 1;
    }
}

/// Adds the values of `INSERT INTO t (a, password) VALUES ('x', '…'), …` in columns named like secrets. `at`
/// is the offset of `VALUES`. Returns how far was read.
pub(super) fn insert(text: &[u8], at: usize, keys: &KeyRules, found: &mut Vec<SecretMatch>) -> usize {
    let lead = &text[at.saturating_sub(MAX_HEADER)..at];
    let Some(close) = lead
        .iter()
        .rposition(|&byte| byte == b')')
        .filter(|&close| lead[close + 1..].trim_ascii().is_empty())
    else {
        return at;
    };
    let Some(open) = lead[..close].iter().rposition(|&byte| byte == b'(') else { return at };
    let columns: Vec<_> = lead[open + 1..close]
        .split(|&byte| byte == b',')
        .take(MAX_COLUMNS)
        .map(|cell| column_rule(cell, keys))
        .collect();
    let pair = pair_columns(lead[open + 1..close].split(|&byte| byte == b','));
    // Most inserts have no column of secrets, and their rows, which may be megabytes, are not read.
    if columns.iter().all(Option::is_none) && pair.is_none() {
        return at;
    }
    let mut place = at;
    while let Some(open) =
        text[place..].iter().take(16).position(|&byte| byte == b'(').map(|found| place + found)
    {
        place = row(text, open + 1, &columns, pair, keys, found);
    }
    place
}

/// Adds the secrets in one row of values. Returns where the row ends.
fn row(
    text: &[u8],
    mut at: usize,
    columns: &[Option<(&'static str, Strength)>],
    pair: Option<(usize, usize)>,
    keys: &KeyRules,
    found: &mut Vec<SecretMatch>,
) -> usize {
    let mut named = None;
    for column in 0.. {
        at = run(text, at, |byte| byte.is_ascii_whitespace());
        let (start, end, next) = match text.get(at) {
            Some(b'\'') => {
                let end = string_end(text, at + 1);
                (at + 1, end, end + 1)
            }
            _ => {
                let end = run(text, at, |byte| !matches!(byte, b',' | b')' | b'\n'));
                (at, end, end)
            }
        };
        let value = &text[start..end.min(text.len())];
        if pair.is_some_and(|(name, _)| name == column) {
            named = column_rule(value, keys);
        }
        let by_name = named.filter(|_| pair.is_some_and(|(_, value)| value == column));
        if let Some((rule, strength)) = by_name.or_else(|| columns.get(column).copied().flatten())
            && values::is_secret(rule, strength, value)
        {
            found.push(SecretMatch { start, end: end.min(text.len()), rule });
        }
        at = run(text, next.min(text.len()), |byte| byte.is_ascii_whitespace());
        if text.get(at) != Some(&b',') || column > MAX_COLUMNS {
            return at;
        }
        at += 1;
    }
    at
}

/// The closing quote of an SQL string. A doubled quote is an escaped one.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(quote) = memchr::memchr(b'\'', &text[at..]).map(|found| at + found) {
        if text.get(quote + 1) != Some(&b'\'') {
            return quote;
        }
        at = quote + 2;
    }
    text.len()
}

/// The password of a row of `.pgpass` (`host:port:database:user:password`) that has a colon at `mark`.
pub(super) fn pgpass(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let before = &text[mark.saturating_sub(256)..mark];
    let begin = mark - before.iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).count();
    // A row has its line to itself; elsewhere, `host:port:…` is something else.
    if begin > 0 && text[begin - 1] != b'\n' {
        return None;
    }
    let line = cut_line(&text[begin..text.len().min(begin + 512)]).trim_ascii_end();
    let start = pgpass_password(line)?;
    Some(SecretMatch { start: begin + start, end: begin + line.len(), rule: rules::PASSWORD })
}

/// Whether the port of such a row may begin here.
pub(super) fn is_port(text: &[u8]) -> bool {
    if text.starts_with(b"*:") {
        return true;
    }
    let digits = text.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    (4..=5).contains(&digits) && text.get(digits) == Some(&b':')
}

fn pgpass_password(line: &[u8]) -> Option<usize> {
    if line.len() > 512 || line.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let mut fields = line.splitn(5, |&byte| byte == b':');
    let (host, port, database, user, password) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let is_host = host == b"*"
        || host.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let is_port = port == b"*" || (4..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit);
    let is_name =
        |field: &[u8]| !field.is_empty() && !field.iter().all(u8::is_ascii_digit) && !field.contains(&b'/');
    let is_row =
        is_host && !host.is_empty() && is_port && is_name(database) && is_name(user) && password.len() >= 3;
    (is_row && values::is_secret(rules::PASSWORD, Strength::Strong, password))
        .then_some(line.len() - password.len())
}
