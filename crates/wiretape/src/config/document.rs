//! A TOML document that is asked for its keys, and that complains of those that nobody asked for.

use super::problem::{ProblemKind, Problems};
use super::suggest::nearest;
use std::ops::Range;
use toml::de::{DeInteger, DeTable, DeValue, Error};

/// A table of a file: what it is called, and the keys that it may hold. They are known before anybody asks for them, so
/// that a key in the wrong table can be sent to the right one.
#[derive(Debug)]
pub(crate) struct Schema {
    /// How it stands in the file: `[limits]`.
    pub(crate) title: &'static str,
    /// Where a key of it is: `in [limits]`.
    pub(crate) place: &'static str,
    /// Its keys.
    pub(crate) keys: &'static [&'static str],
}

/// Something, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located<T> {
    /// The thing.
    pub(crate) value: T,
    /// Where it stands.
    pub(crate) span: Range<usize>,
}

/// A file that was parsed as far as it could be.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    root: DeTable<'a>,
    /// Whether tables and keys are where they seem to be.
    is_sound: bool,
}

impl<'a> Document<'a> {
    /// Parses a file. What is no TOML is added to the problems.
    pub(crate) fn parse(text: &'a str, problems: &Problems<'_>) -> Self {
        let (root, errors) = DeTable::parse_recoverable(text);
        let root = root.into_inner();
        let mut values = Vec::new();
        collect_values(&root, text, &mut values);
        let told = errors.iter().filter(|error| tell_syntax_error(error, text, &values, problems)).count();
        Document { root, is_sound: told == errors.len() }
    }

    /// Whether the file has this key at its top.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.root.keys().any(|name| is_same(name.get_ref(), key))
    }

    /// Reads the file, unless it is so damaged that nothing can be said of its keys. Keys that `read` does not ask for are
    /// problems.
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

/// Where every value stands that is written behind an equals sign, those within others after them.
fn collect_values(table: &DeTable<'_>, text: &str, values: &mut Vec<Range<usize>>) {
    for (_, value) in table {
        collect_value(value.get_ref(), value.span(), text, values);
    }
}

fn collect_value(value: &DeValue<'_>, span: Range<usize>, text: &str, values: &mut Vec<Range<usize>>) {
    let source = &text[span.clone()];
    // A table with a header, or several, or one that is there only by a dotted key, is no value in this sense.
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

/// Tells what is no TOML. Returns whether the rest of the file can be understood all the same.
fn tell_syntax_error(error: &Error, text: &str, values: &[Range<usize>], problems: &Problems<'_>) -> bool {
    let span = error.span().unwrap_or(0..0);
    if error.message() == "duplicate key" {
        problems.add(&span, ProblemKind::Syntax, format!("`{}` is there already", &text[span.clone()]));
        return true;
    }
    let around = values.iter().rfind(|value| value.start <= span.start && span.end <= value.end);
    let Some(value) = around else {
        problems.add(&span, ProblemKind::Syntax, error.message().trim());
        return false;
    };
    problems.add(value, ProblemKind::Syntax, describe_value_error(error, &text[value.clone()]));
    problems.give_up(value.clone());
    true
}

/// What is wrong with a value. The parser takes what has no quotes for a number or a date, which nobody meant.
fn describe_value_error(error: &Error, value: &str) -> String {
    match value.chars().next() {
        None => "a value is missing".to_owned(),
        Some('"' | '\'' | '[' | '{') => error.message().trim().to_owned(),
        Some(_) => "this is no value; text stands in quotes".to_owned(),
    }
}

/// Where a section is.
struct Place {
    schema: &'static Schema,
    elsewhere: &'static [&'static Schema],
    span: Range<usize>,
}

/// A table that is being read.
pub(crate) struct Section<'a> {
    table: &'a DeTable<'a>,
    place: Place,
    problems: &'a Problems<'a>,
    taken: Vec<&'static str>,
}

impl<'a> Section<'a> {
    fn read<T>(
        table: &'a DeTable<'a>,
        place: Place,
        problems: &'a Problems<'a>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let mut section = Section { table, place, problems, taken: Vec::new() };
        let value = read(&mut section);
        section.tell_untaken();
        value
    }

    /// Where the problems go.
    pub(crate) fn problems(&self) -> &'a Problems<'a> {
        self.problems
    }

    /// Where the table begins.
    pub(crate) fn span(&self) -> Range<usize> {
        self.place.span.clone()
    }

    /// What it is called in the file.
    pub(crate) fn title(&self) -> &'static str {
        self.place.schema.title
    }

    /// Complains that a key is not there.
    pub(crate) fn tell_missing(&self, key: &str) {
        let message = format!("{} lacks `{key}`", self.title());
        self.problems.add(&self.place.span, ProblemKind::MissingKey, message);
    }

    /// Where a key stands, if it is there.
    pub(crate) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.table.keys().find(|name| is_same(name.get_ref(), key)).map(toml::Spanned::span)
    }

    fn take(&mut self, key: &'static str) -> Option<Located<&'a DeValue<'a>>> {
        debug_assert!(self.place.schema.keys.contains(&key), "{key} is in no schema");
        self.taken.push(key);
        let mut named: Vec<_> = self.table.iter().filter(|(name, _)| is_same(name.get_ref(), key)).collect();
        named.sort_by_key(|(name, _)| name.span().start);
        for (name, _) in named.iter().skip(1) {
            let message = format!("`{}` is there already, in another spelling", name.get_ref());
            self.problems.add(&name.span(), ProblemKind::Conflict, message);
        }
        named.first().map(|(_, value)| Located { value: value.get_ref(), span: value.span() })
    }

    /// The value of a key, if `convert` can make something of it; otherwise it is not what was `expected`.
    fn typed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<Located<T>> {
        let Located { value, span } = self.take(key)?;
        let converted = convert(value);
        if converted.is_none() {
            self.tell_wrong_type(key, expected, value, &span);
        }
        converted.map(|value| Located { value, span })
    }

    fn tell_wrong_type(&self, key: &str, expected: &str, value: &DeValue<'_>, span: &Range<usize>) {
        let message = format!("`{key}` must be {expected}, not {}", describe_type(value));
        self.problems.add(span, ProblemKind::WrongType, message);
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<Located<bool>> {
        self.typed(key, "true or false, without quotes", DeValue::as_bool)
    }

    /// Text.
    pub(crate) fn text(&mut self, key: &'static str, expected: &str) -> Option<Located<&'a str>> {
        self.typed(key, expected, DeValue::as_str)
    }

    /// A number that is not negative.
    pub(crate) fn number(&mut self, key: &'static str) -> Option<Located<u64>> {
        self.typed(key, "a whole number from 0", |value| value.as_integer().and_then(whole_number))
    }

    /// Text that means something; `parse` says what is wrong with it if not.
    pub(crate) fn parsed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let text = self.text(key, expected)?;
        self.checked(key, text.span, parse(text.value))
    }

    /// The same, but a bare number is taken for text as well.
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

    /// The same, but `false` means something of its own: `None`.
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

    /// The same, but `true` and `false` mean something of their own.
    pub(crate) fn parsed_or_boolean<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        boolean: impl FnOnce(bool) -> T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let said = self.typed(key, expected, |value| match value {
            DeValue::Boolean(said) => Some(Err(*said)),
            other => other.as_str().map(Ok),
        })?;
        let parsed = said.value.map_or_else(|said| Ok(boolean(said)), parse);
        self.checked(key, said.span, parsed)
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

    /// A list of texts; those items that are none are left out.
    pub(crate) fn texts(&mut self, key: &'static str) -> Vec<Located<&'a str>> {
        self.all_texts(key).unwrap_or_else(|texts| texts)
    }

    /// The same; an error, with what there is, if the key is not there or anything was wrong with it.
    pub(crate) fn all_texts(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<Located<&'a str>>, Vec<Located<&'a str>>> {
        const EXPECTED: &str = "a list of texts such as [\"one\", \"two\"]";
        let Some(list) = self.typed(key, EXPECTED, DeValue::as_array) else { return Err(Vec::new()) };
        let mut texts = Vec::new();
        for item in list.value.iter() {
            match item.get_ref().as_str() {
                Some(value) => texts.push(Located { value, span: item.span() }),
                None => self.tell_wrong_type(key, EXPECTED, item.get_ref(), &item.span()),
            }
        }
        if texts.len() == list.value.len() { Ok(texts) } else { Err(texts) }
    }

    /// A table. Several are a problem, but each is read.
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
                let message = format!("there can be only one; write {}", schema.title);
                self.problems.add(&span, ProblemKind::WrongType, message);
                self.descend_all(items.iter(), schema, &mut read).pop()
            }
            other => {
                self.tell_wrong_type(key, &format!("a table, {}", schema.title), other, &span);
                None
            }
        }
    }

    /// A list of tables. A single one is a problem, but it is read.
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
                    self.tell_wrong_type(key, &expected, item.get_ref(), &item.span());
                }
                self.descend_all(items.iter(), schema, &mut read)
            }
            DeValue::Table(table) => {
                let message = format!("there may be several; write {}, with two brackets", schema.title);
                self.problems.add(&span, ProblemKind::WrongType, message);
                vec![self.descend(table, span, schema, &mut read)]
            }
            other => {
                self.tell_wrong_type(key, &format!("a list of tables, {}", schema.title), other, &span);
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

    /// Complains of what nobody asked for.
    fn tell_untaken(&self) {
        for (name, _) in self.table {
            if !self.taken.iter().any(|key| is_same(name.get_ref(), key)) {
                self.tell_unknown(name.get_ref(), &name.span());
            }
        }
    }

    fn tell_unknown(&self, name: &str, span: &Range<usize>) {
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
            if suggestion.is_some() { String::new() } else { format!("; it may hold {}", keys.join(", ")) };
        let message = format!("unknown key `{name}` {place}{known}");
        self.problems.suggest(span, ProblemKind::UnknownKey, message, suggestion);
    }

    fn others(&self) -> impl Iterator<Item = &'static Schema> {
        let own = self.place.schema.title;
        self.place.elsewhere.iter().copied().filter(move |other| other.title != own)
    }
}

/// Whether two keys are the same: hyphens and underscores make no difference.
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
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
