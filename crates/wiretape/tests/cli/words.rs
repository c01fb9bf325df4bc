//! The language of the help, the messages and the documentation: phrases that must not come back, and the form of the help.
//!
//! `words/list.toml` lists the phrases, where to look for them, and the exceptions. What counts as text for people is an
//! approximation that needs no parser: string literals outside tests in Rust, everything in Markdown and in other files that
//! users read, everything but comments in TypeScript, and the descriptions of crates.

use crate::environment::TestEnvironment;
use serde::Deserialize;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

/// Set to `all`, it also checks the scopes that are marked as not checked.
const ALL_SCOPES: &str = "WIRETAPE_WORDS";

/// The widest line of a help text, in columns.
const MAX_HELP_COLUMNS: usize = 100;

#[derive(Deserialize)]
struct WordList {
    scope: Vec<Scope>,
    word: Vec<Word>,
    #[serde(default)]
    allow: Vec<Allowance>,
}

#[derive(Deserialize)]
struct Scope {
    name: String,
    kind: ScopeKind,
    paths: Vec<String>,
    checked: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ScopeKind {
    Help,
    Rust,
    Markdown,
    Page,
    Text,
    Manifest,
}

#[derive(Deserialize)]
struct Word {
    phrases: Vec<String>,
    instead: String,
}

/// An exception: a phrase that is right where it is.
#[derive(Deserialize)]
struct Allowance {
    file: String,
    text: String,
    reason: String,
    #[serde(skip)]
    is_used: Cell<bool>,
}

/// A piece of text for people, with white space collapsed.
struct Passage {
    file: String,
    text: String,
}

impl Passage {
    fn new(file: &str, text: &str) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Passage { file: file.to_owned(), text }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn list() -> WordList {
    toml::from_str(include_str!("words/list.toml")).unwrap()
}

#[test]
fn texts_for_people_use_plain_words() {
    let list = list();
    let all = std::env::var_os(ALL_SCOPES).is_some_and(|value| value == "all");
    let mut findings = Vec::new();
    for scope in list.scope.iter().filter(|scope| scope.checked || all) {
        for passage in passages(scope) {
            findings
                .extend(list.findings(&passage).into_iter().map(|found| format!("{}: {found}", scope.name)));
        }
    }
    for allowance in list.allow.iter().filter(|allowance| !allowance.is_used.get()) {
        findings.push(format!("{}: an exception for `{}` is not needed", allowance.file, allowance.text));
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn exceptions_have_reasons() {
    for allowance in list().allow {
        assert!(allowance.reason.split_whitespace().count() >= 3, "{}: {}", allowance.file, allowance.text);
    }
}

impl WordList {
    fn findings(&self, passage: &Passage) -> Vec<String> {
        let lower = passage.text.to_lowercase();
        let mut findings = Vec::new();
        for word in &self.word {
            for phrase in &word.phrases {
                for at in occurrences(&lower, phrase) {
                    let context = around(&lower, at, phrase.len());
                    if !self.is_allowed(passage, context) {
                        findings.push(format!(
                            "{}: `{phrase}` in “{context}”; write: {}",
                            passage.file, word.instead
                        ));
                    }
                }
            }
        }
        findings
    }

    fn is_allowed(&self, passage: &Passage, context: &str) -> bool {
        let allowance = self.allow.iter().find(|allowance| {
            allowance.file == passage.file && context.contains(&allowance.text.to_lowercase())
        });
        allowance.inspect(|allowance| allowance.is_used.set(true)).is_some()
    }
}

/// Where a phrase occurs as whole words; with a trailing `$`, only before punctuation or at the end.
fn occurrences(text: &str, phrase: &str) -> Vec<usize> {
    let (phrase, must_end) = phrase.strip_suffix('$').map_or((phrase, false), |phrase| (phrase, true));
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(phrase)
        .filter(|(at, _)| {
            let (before, after) = (&text[..*at], &text[at + phrase.len()..]);
            let next = after.chars().next();
            !before.ends_with(is_word)
                && next.is_none_or(|c| if must_end { ".,;:)!?".contains(c) } else { !is_word(c) })
        })
        .map(|(at, _)| at)
        .collect()
}

fn around(text: &str, at: usize, length: usize) -> &str {
    const CONTEXT: usize = 40;
    let start = (at.saturating_sub(CONTEXT)..=at).find(|i| text.is_char_boundary(*i)).unwrap_or(at);
    let end = (at + length + CONTEXT).min(text.len());
    let end = (end..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len());
    &text[start..end]
}

fn passages(scope: &Scope) -> Vec<Passage> {
    if scope.kind == ScopeKind::Help {
        return helps().iter().map(|help| Passage::new("help", &help.text)).collect();
    }
    let mut found = Vec::new();
    for path in &scope.paths {
        for file in files(&root().join(path), scope.kind) {
            let content = fs::read_to_string(&file).unwrap();
            let name = file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            match scope.kind {
                ScopeKind::Rust => {
                    found.extend(string_literals(&content).iter().map(|text| Passage::new(&name, text)));
                }
                ScopeKind::Page => found.push(Passage::new(&name, &without_comments(&content))),
                ScopeKind::Manifest => {
                    let descriptions = content.lines().filter(|line| line.starts_with("description = "));
                    found.extend(descriptions.map(|line| Passage::new(&name, line)));
                }
                ScopeKind::Markdown | ScopeKind::Text | ScopeKind::Help => {
                    found.push(Passage::new(&name, &content));
                }
            }
        }
    }
    assert!(!found.is_empty(), "scope {} has no text", scope.name);
    found
}

/// The files below a path that belong to a scope, without those that hold tests only.
fn files(path: &Path, kind: ScopeKind) -> Vec<PathBuf> {
    let extensions: &[&str] = match kind {
        ScopeKind::Rust => &["rs"],
        ScopeKind::Page => &["ts", "tsx"],
        ScopeKind::Text => &["json", "py", "rs", "ts", "yml"],
        ScopeKind::Manifest => &["toml"],
        ScopeKind::Markdown | ScopeKind::Help => &["md"],
    };
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        // The examples are tests, and users read them.
        let is_test = kind != ScopeKind::Text
            && (name == "tests.rs" || name == "testing.rs" || name == "tests" || name.contains(".test."));
        if is_test || name == "node_modules" || name == "target" {
            continue;
        }
        if entry.is_dir() {
            found.extend(files(&entry, kind));
        } else if extensions.iter().any(|extension| name.ends_with(&format!(".{extension}"))) {
            found.push(entry);
        }
    }
    found
}

/// The string literals of a source before its tests, with line continuations joined.
fn string_literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut literals = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, from) = rest.split_at(at);
        let length = match from.as_bytes() {
            [b'/', b'/', ..] => from.find('\n').unwrap_or(from.len()),
            [b'\'', b'\\', ..] => from[2..].find('\'').map_or(1, |end| end + 3),
            [b'\'', ..] => char_literal_length(from),
            [b'"', ..] => {
                let (literal, length) = string_literal(before, from);
                literals.push(literal);
                length
            }
            _ => 1,
        };
        rest = &from[length..];
    }
    literals
}

/// The length of `'x'`; of a lifetime, just its apostrophe.
fn char_literal_length(from: &str) -> usize {
    let mut chars = from.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// A literal that begins with the quote at `from`, and its length up to its last quote.
fn string_literal(before: &str, from: &str) -> (String, usize) {
    let hashes = before.chars().rev().take_while(|c| *c == '#').count();
    let is_raw = before[..before.len() - hashes].ends_with('r');
    if is_raw {
        let end = from[1..].find(&format!("\"{}", "#".repeat(hashes))).map_or(from.len(), |end| end + 1);
        return (from[1..end].to_owned(), (end + 1).min(from.len()));
    }
    let mut literal = String::new();
    let mut chars = from.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (literal, at + 1),
            '\\' => match chars.next() {
                Some((_, 'n' | '\n')) => literal.push(' '),
                Some((_, escaped)) => literal.push(escaped),
                None => break,
            },
            c => literal.push(c),
        }
    }
    (literal, from.len())
}

/// A TypeScript source without its comments. A `//` within an address is not a comment.
fn without_comments(source: &str) -> String {
    let mut text = String::new();
    let mut rest = source;
    while let Some(at) = rest.find("/*") {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once("*/").map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    let code = |line: &str| match line.find("//") {
        Some(at) if !line[..at].ends_with(':') => line[..at].to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// Commands that no help lists, but that the documentation uses.
const HIDDEN_COMMANDS: [&str; 1] = ["sample-server"];

/// The help of one command.
struct Help {
    command: String,
    text: String,
}

/// The short and the long help of every command and subcommand, hidden ones included.
fn helps() -> Vec<Help> {
    let env = TestEnvironment::new();
    let mut helps = Vec::new();
    let hidden = HIDDEN_COMMANDS.map(|name| vec![name.to_owned()]);
    let mut pending: Vec<Vec<String>> = [vec![Vec::new()], hidden.to_vec()].concat();
    while let Some(command) = pending.pop() {
        for flag in ["-h", "--help"] {
            let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
            args.push(flag);
            let output = env.command(&args).env("COLUMNS", "200").output().unwrap();
            assert!(output.status.success(), "{args:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            if flag == "--help" {
                let nested =
                    subcommands(&text).into_iter().map(|name| [command.clone(), vec![name]].concat());
                pending.extend(nested);
            }
            helps.push(Help { command: format!("wiretape {}", args.join(" ")), text });
        }
    }
    helps
}

/// The names under the headings of a help before its options: two spaces, a name, and a description.
fn subcommands(help: &str) -> Vec<String> {
    let before_options = help.split("\nOptions:").next().unwrap_or_default();
    let listed = |line: &str| {
        let (name, about) = line.strip_prefix("  ")?.split_once("  ")?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        (is_name && !name.starts_with('-') && !about.trim().is_empty()).then(|| name.to_owned())
    };
    before_options.lines().filter_map(listed).filter(|name| name != "help").collect()
}

#[test]
fn every_help_fits_a_hundred_columns() {
    for help in helps() {
        for line in help.text.lines() {
            let columns = line.chars().count();
            assert!(columns <= MAX_HELP_COLUMNS, "{}: {columns} columns: {line}", help.command);
        }
    }
}

#[test]
fn every_help_begins_with_an_imperative_and_no_full_stop() {
    let helps = helps();
    assert!(helps.len() > 60, "only {} help texts were found", helps.len());
    for help in helps {
        let first = help.text.lines().next().unwrap_or_default();
        let verb = first.split([' ', ',']).next().unwrap_or_default();
        assert!(VERBS.contains(&verb), "{}: `{verb}` is not a known imperative: {first}", help.command);
        assert!(!first.ends_with('.'), "{}: {first}", help.command);
    }
}

/// The verbs that a command's description may begin with.
const VERBS: [&str; 23] = [
    "Check", "Compare", "Convert", "Count", "Create", "Delete", "Export", "Import", "Inspect", "List",
    "Load", "Open", "Pin", "Print", "Record", "Redact", "Report", "Return", "Run", "Search", "Show", "Test",
    "Verify",
];

#[test]
fn literals_are_found_and_comments_are_not() {
    let source = r###"
        // "a comment"
        let a = "one \"quoted\" word"; let c = '"'; let l: &'static str = r#"raw "text""#;
        let joined = "two \
            lines";
        #[cfg(test)]
        "###;
    assert_eq!(string_literals(source), ["one \"quoted\" word", "raw \"text\"", "two              lines"]);
}

#[test]
fn phrases_match_whole_words() {
    assert_eq!(occurrences("mended", "mended"), [0]);
    assert!(occurrences("recommended", "mended").is_empty());
    assert_eq!(occurrences("3 in all.", "in all$"), [2]);
    assert!(occurrences("in all traces", "in all$").is_empty());
}

#[test]
fn an_exception_holds_for_its_file_and_text_only() {
    let list: WordList = toml::from_str(
        r#"
        scope = []
        word = [{ phrases = ["lately"], instead = "recently" }]
        allow = [{ file = "a.md", text = "as of lately", reason = "a quotation from elsewhere" }]
        "#,
    )
    .unwrap();
    assert_eq!(list.findings(&Passage::new("b.md", "as of lately")).len(), 1);
    assert_eq!(list.findings(&Passage::new("a.md", "only lately")).len(), 1);
    assert!(!list.allow[0].is_used.get(), "an exception that suppresses nothing is reported as not needed");
    assert!(list.findings(&Passage::new("a.md", "As of\nlately, it works")).is_empty());
    assert!(list.allow[0].is_used.get());
}
