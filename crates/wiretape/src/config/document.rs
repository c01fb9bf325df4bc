//! A TOML document that is read by key, and that reports every key that was not read. Not `serde`: it stops at the
//! first error, ignores unknown keys or rejects them without a position, and can't tell a misspelled key from a
//! misplaced one.

use super::problem::{ProblemKind, Problems};
use super::suggest::nearest;
use std::ops::Range;
use toml::de::{DeInteger, DeTable, DeValue, Error};

/// A table of a file: its name and its keys. All keys are listed up front, so that a key in the wrong table can be
/// pointed to the right one.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The table's heading in the file: `[limits]`.
    pub(crate) title: &'static str,
    /// The location of its keys, as part of a sentence: `in [limits]`.
    pub(crate) place: &'static str,
    /// The keys that the table may hold.
    pub(crate) keys: &'static [&'static str],
}

/// A value with its byte range in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    /// The byte range in the file.
    pub(crate) span: Range<usize>,
}

/// A file that was parsed as far as possible.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    root: DeTable<'a>,
    /// Whether the parser found the tables and keys reliably, in spite of syntax errors.
    is_sound: bool,
}

impl<'a> Document<'a> {
    /// Parses a file. Syntax errors are added to the problems.
    pub(crate) fn parse(text: &'a str, problems: &Problems<'_>) -> Self {
        // Recoverable, so that one syntax error doesn't hide the other problems of the file.
        let (root, errors) = DeTable::parse_recoverable(text);
        let root = root.into_inner();
        let mut values = Vec::new();
        collect_values(&root, text, &mut values);
        let recovered =
            errors.iter().filter(|error| report_syntax_error(error, text, &values, problems)).count();
        Document { root, is_sound: recovered == errors.len() }
    }

    /// Whether the file has this top-level key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.root.keys().any(|name| is_same(name.get_ref(), key))
    }

    /// Reads the file, unless it is too damaged to tell which keys it has. Keys that `read` does not ask for are problems.
    pub(crate) fn read<T>(
        &'a self,
        schema: &'static Schema,
        elsewhere: &'static [&'static Schema],
        problems: &'a Problems<'a>,
        read: impl FnOnce(&mut Section<'a>) -> T,
    ) -> Option<T> {
        let place = Place { schema, elsewhere, span: 0..0 };
        self.is_sound.then(|| Section::read(&self.root, place, problems, read))
    }
}

/// Collects the ranges of all values after an equals sign, outer values before the values inside them.
fn collect_values(table: &DeTable<'_>, text: &str, values: &mut Vec<Range<usize>>) {
    for (_, value) in table {
        collect_value(value.get_ref(), value.span(), text, values);
    }
}

fn collect_value(value: &DeValue<'_>, span: Range<usize>, text: &str, values: &mut Vec<Range<usize>>) {
    let source = &text[span.clone()];
    // A table with a header, an array of tables, and a table that exists only through a dotted key are not values here.
    let is_structure = match value {
        DeValue::Table(_) => !source.starts_with('{'),
        DeValue::Array(items) => {
            source.starts_with("[[") && items.iter().all(|item| item.get_ref().is_table())
        }
        _ => false,
    };
    if !is_structure {
        values.push(span);
    }
    match value {
        DeValue::Table(table) => collect_values(table, text, values),
        DeValue::Array(items) => {
            for item in items.iter() {
                collect_value(item.get_ref(), item.span(), text, values);
            }
        }
        _ => {}
    }
}

/// Reports a syntax error. Returns whether the rest of the file can still be read.
fn report_syntax_error(error: &Error, text: &str, values: &[Range<usize>], problems: &Problems<'_>) -> bool {
    let span = error.span().unwrap_or(0..0);
    // The parser has no error codes; its message is the only way to recognize this one.
    if error.message() == "duplicate key" {
        problems.add(&span, ProblemKind::Syntax, format!("duplicate key `{}`", &text[span.clone()]));
        return true;
    }
    // The innermost value: inner ones come after the values around them.
    let around = values.iter().rfind(|value| value.start <= span.start && span.end <= value.end);
    let Some(value) = around else {
        problems.add(&span, ProblemKind::Syntax, error.message().trim());
        return false;
    };
    problems.add(value, ProblemKind::Syntax, describe_value_error(error, &text[value.clone()]));
    // What the parser made of a broken value is arbitrary, so checking it would report nonsense.
    problems.suppress(value.clone());
    true
}

/// What is wrong with a value. The parser reports unquoted text as an invalid number or date, which would mislead.
fn describe_value_error(error: &Error, value: &str) -> String {
    match value.chars().next() {
        None => "missing value".to_owned(),
        Some('"' | '\'' | '[' | '{') => error.message().trim().to_owned(),
        Some(_) => "not a value: text must be in quotes".to_owned(),
    }
}

/// The location of a section.
struct Place {
    schema: &'static Schema,
    elsewhere: &'static [&'static Schema],
    span: Range<usize>,
}

/// A table while it is read.
pub(crate) struct Section<'a> {
    table: &'a DeTable<'a>,
    place: Place,
    problems: &'a Problems<'a>,
    read_keys: Vec<&'static str>,
}

impl<'a> Section<'a> {
    fn read<T>(
        table: &'a DeTable<'a>,
        place: Place,
        problems: &'a Problems<'a>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let mut section = Section { table, place, problems, read_keys: Vec::new() };
        let value = read(&mut section);
        section.report_unread();
        value
    }

    /// The list of problems.
    pub(crate) fn problems(&self) -> &'a Problems<'a> {
        self.problems
    }

    /// The byte range of the table's heading.
    pub(crate) fn span(&self) -> Range<usize> {
        self.place.span.clone()
    }

    /// The heading of the table in the file.
    pub(crate) fn title(&self) -> &'static str {
        self.place.schema.title
    }

    /// Reports a missing key.
    pub(crate) fn report_missing(&self, key: &str) {
        let message = format!("{} needs `{key}`", self.title());
        self.problems.add(&self.place.span, ProblemKind::MissingKey, message);
    }

    /// The byte range of a key, if present.
    pub(crate) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.table.keys().find(|name| is_same(name.get_ref(), key)).map(toml::Spanned::span)
    }

    fn take(&mut self, key: &'static str) -> Option<Located<&'a DeValue<'a>>> {
        // Otherwise a valid key would be missing from suggestions and from the list of known keys.
        debug_assert!(self.place.schema.keys.contains(&key), "{key} is not in the schema of its table");
        self.read_keys.push(key);
        let mut named: Vec<_> = self.table.iter().filter(|(name, _)| is_same(name.get_ref(), key)).collect();
        // TOML rejects duplicates itself, but not `allow-keys` next to `allow_keys`. The first in the file counts.
        named.sort_by_key(|(name, _)| name.span().start);
        for (name, _) in named.iter().skip(1) {
            let message = format!("duplicate key `{}`, in another spelling", name.get_ref());
            self.problems.add(&name.span(), ProblemKind::Conflict, message);
        }
        named.first().map(|(_, value)| Located { value: value.get_ref(), span: value.span() })
    }

    /// The value of a key, converted. If `convert` returns `None`, it is reported as not being what was `expected`.
    fn typed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<Located<T>> {
        let Located { value, span } = self.take(key)?;
        let converted = convert(value);
        if converted.is_none() {
            self.report_wrong_type(key, expected, value, &span);
        }
        converted.map(|value| Located { value, span })
    }

    fn report_wrong_type(&self, key: &str, expected: &str, value: &DeValue<'_>, span: &Range<usize>) {
        let message = format!("`{key}` must be {expected}, not {}", describe_type(value));
        self.problems.add(span, ProblemKind::WrongType, message);
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<Located<bool>> {
        self.typed(key, "true or false, without quotes", DeValue::as_bool)
    }

    pub(crate) fn text(&mut self, key: &'static str, expected: &str) -> Option<Located<&'a str>> {
        self.typed(key, expected, DeValue::as_str)
    }

    /// Reads a non-negative integer.
    pub(crate) fn number(&mut self, key: &'static str) -> Option<Located<u64>> {
        self.typed(key, "a non-negative integer", |value| value.as_integer().and_then(whole_number))
    }

    /// Reads a string and parses it; `parse` returns what is wrong with it.
    pub(crate) fn parsed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let text = self.text(key, expected)?;
        self.checked(key, text.span, parse(text.value))
    }

    /// Like [`Section::parsed`], and also accepts an unquoted number.
    pub(crate) fn parsed_or_number<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let text = self.typed(key, expected, |value| match value {
            DeValue::Integer(number) => whole_number(number).map(|number| number.to_string()),
            other => other.as_str().map(str::to_owned),
        })?;
        self.checked(key, text.span, parse(&text.value))
    }

    /// Like [`Section::parsed`], and also accepts `false`, as `None`.
    pub(crate) fn parsed_or_false<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Located<Option<T>>> {
        let text = self.typed(key, expected, |value| match value {
            DeValue::Boolean(false) => Some(None),
            other => other.as_str().map(Some),
        })?;
        let parsed = text.value.map(parse).transpose();
        self.checked(key, text.span, parsed)
    }

    /// Like [`Section::parsed`], and also accepts `true` and `false`.
    pub(crate) fn parsed_or_boolean<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        boolean: impl FnOnce(bool) -> T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let located = self.typed(key, expected, |value| match value {
            DeValue::Boolean(value) => Some(Err(*value)),
            other => other.as_str().map(Ok),
        })?;
        let parsed = located.value.map_or_else(|value| Ok(boolean(value)), parse);
        self.checked(key, located.span, parsed)
    }

    fn checked<T>(&self, key: &str, span: Range<usize>, parsed: Result<T, String>) -> Option<Located<T>> {
        match parsed {
            Ok(value) => Some(Located { value, span }),
            Err(why) => {
                self.problems.add(&span, ProblemKind::BadValue, format!("`{key}`: {why}"));
                None
            }
        }
    }

    /// Reads a list of strings; other items are reported and left out.
    pub(crate) fn texts(&mut self, key: &'static str) -> Vec<Located<&'a str>> {
        self.all_texts(key).unwrap_or_else(|texts| texts)
    }

    /// Reads a list of strings; `Err` with the valid items if the key is missing or an item is not a string.
    pub(crate) fn all_texts(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<Located<&'a str>>, Vec<Located<&'a str>>> {
        const EXPECTED: &str = "a list of strings such as [\"one\", \"two\"]";
        let Some(list) = self.typed(key, EXPECTED, DeValue::as_array) else { return Err(Vec::new()) };
        let mut texts = Vec::new();
        for item in list.value.iter() {
            match item.get_ref().as_str() {
                Some(value) => texts.push(Located { value, span: item.span() }),
                None => self.report_wrong_type(key, EXPECTED, item.get_ref(), &item.span()),
            }
        }
        if texts.len() == list.value.len() { Ok(texts) } else { Err(texts) }
    }

    /// Reads a table. Several tables are a problem, but each is read.
    pub(crate) fn table<T>(
        &mut self,
        key: &'static str,
        schema: &'static Schema,
        mut read: impl FnMut(&mut Section<'a>) -> T,
    ) -> Option<T> {
        let Located { value, span } = self.take(key)?;
        match value {
            DeValue::Table(table) => Some(self.descend(table, span, schema, &mut read)),
            DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
                let message = format!("only one is allowed: write {}", schema.title);
                self.problems.add(&span, ProblemKind::WrongType, message);
                // All are read, so that the problems inside them are reported as well.
                self.descend_all(items.iter(), schema, &mut read).pop()
            }
            other => {
                self.report_wrong_type(key, &format!("a table, {}", schema.title), other, &span);
                None
            }
        }
    }

    /// Reads a list of tables. A single table is a problem, but it is read.
    pub(crate) fn tables<T>(
        &mut self,
        key: &'static str,
        schema: &'static Schema,
        mut read: impl FnMut(&mut Section<'a>) -> T,
    ) -> Vec<T> {
        let Some(Located { value, span }) = self.take(key) else { return Vec::new() };
        match value {
            DeValue::Array(items) => {
                for item in items.iter().filter(|item| !item.get_ref().is_table()) {
                    let expected = format!("a list of tables, {}", schema.title);
                    self.report_wrong_type(key, &expected, item.get_ref(), &item.span());
                }
                self.descend_all(items.iter(), schema, &mut read)
            }
            DeValue::Table(table) => {
                let message = format!("this is a list of tables: write {}, with two brackets", schema.title);
                self.problems.add(&span, ProblemKind::WrongType, message);
                vec![self.descend(table, span, schema, &mut read)]
            }
            other => {
                self.report_wrong_type(key, &format!("a list of tables, {}", schema.title), other, &span);
                Vec::new()
            }
        }
    }

    fn descend_all<T>(
        &self,
        items: impl Iterator<Item = &'a toml::Spanned<DeValue<'a>>>,
        schema: &'static Schema,
        read: &mut impl FnMut(&mut Section<'a>) -> T,
    ) -> Vec<T> {
        let tables = items.filter_map(|item| Some((item.get_ref().as_table()?, item.span())));
        tables.map(|(table, span)| self.descend(table, span, schema, read)).collect()
    }

    fn descend<T>(
        &self,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        schema: &'static Schema,
        read: &mut impl FnMut(&mut Section<'a>) -> T,
    ) -> T {
        let place = Place { schema, elsewhere: self.place.elsewhere, span };
        Section::read(table, place, self.problems, read)
    }

    /// Reports the keys that were not read.
    fn report_unread(&self) {
        for (name, _) in self.table {
            if !self.read_keys.iter().any(|key| is_same(name.get_ref(), key)) {
                self.report_unknown(name.get_ref(), &name.span());
            }
        }
    }

    fn report_unknown(&self, name: &str, span: &Range<usize>) {
        let Schema { place, keys, .. } = self.place.schema;
        let homes: Vec<&str> = self
            .others()
            .filter(|other| other.keys.iter().any(|key| is_same(name, key)))
            .map(|other| other.place)
            .collect();
        if !homes.is_empty() {
            let message = format!("`{name}` has no effect {place}; it belongs {}", homes.join(" or "));
            return self.problems.add(span, ProblemKind::NoEffect, message);
        }
        let suggestion = match nearest(name, keys.iter().copied()) {
            Some(key) => Some(format!("`{key}`")),
            None => self.others().find_map(|other| {
                nearest(name, other.keys.iter().copied()).map(|key| format!("`{key}` {}", other.place))
            }),
        };
        let known =
            if suggestion.is_some() { String::new() } else { format!("; known keys: {}", keys.join(", ")) };
        let message = format!("unknown key `{name}` {place}{known}");
        self.problems.suggest(span, ProblemKind::UnknownKey, message, suggestion);
    }

    fn others(&self) -> impl Iterator<Item = &'static Schema> {
        let own = self.place.schema.title;
        self.place.elsewhere.iter().copied().filter(move |other| other.title != own)
    }
}

/// Whether two keys are equal; hyphens and underscores are the same.
fn is_same(one: &str, other: &str) -> bool {
    let normal = |byte: u8| if byte == b'-' { b'_' } else { byte };
    one.len() == other.len() && one.bytes().map(normal).eq(other.bytes().map(normal))
}

fn whole_number(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn describe_type(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(number) if number.as_str().starts_with('-') => "a negative number",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
