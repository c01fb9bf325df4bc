//! Secrets on command lines, in text and as lists of arguments: `--password x`, `curl -u user:x`, `mysql -px`.

use super::keys::KeyRules;
use super::named::quoted_value;
use super::rules;
use super::text::{Found, Memo, has_digit, run, url_safe};
use super::values::{self, Strength};
use memchr::memmem;

/// How far back the command of a line is looked for.
const MAX_LINE: usize = 512;

/// What a short option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// The secret.
    Secret,
    /// The secret, in the same argument only: alone, it asks for it.
    Attached,
    /// `user:password`
    Pair,
    /// `user%password`
    PercentPair,
}

/// Commands, the short option that takes a password, and how.
const COMMANDS: &[(&str, u8, Takes)] = &[
    ("curl", b'u', Takes::Pair),
    ("curl", b'U', Takes::Pair),
    ("curl", b'b', Takes::Secret),
    ("http", b'a', Takes::Pair),
    ("https", b'a', Takes::Pair),
    ("xh", b'a', Takes::Pair),
    ("mysql", b'p', Takes::Attached),
    ("mysqldump", b'p', Takes::Attached),
    ("mysqladmin", b'p', Takes::Attached),
    ("mysqlimport", b'p', Takes::Attached),
    ("mariadb", b'p', Takes::Attached),
    ("mariadb-dump", b'p', Takes::Attached),
    ("7z", b'p', Takes::Attached),
    ("7za", b'p', Takes::Attached),
    ("sshpass", b'p', Takes::Secret),
    ("redis-cli", b'a', Takes::Secret),
    ("mongo", b'p', Takes::Secret),
    ("mongosh", b'p', Takes::Secret),
    ("mongodump", b'p', Takes::Secret),
    ("mongorestore", b'p', Takes::Secret),
    ("mongoexport", b'p', Takes::Secret),
    ("mongoimport", b'p', Takes::Secret),
    ("login", b'p', Takes::Secret),
    ("cqlsh", b'p', Takes::Secret),
    ("beeline", b'p', Takes::Secret),
    ("rabbitmqadmin", b'p', Takes::Secret),
    ("psexec", b'p', Takes::Secret),
    ("PsExec.exe", b'p', Takes::Secret),
    ("ldapsearch", b'w', Takes::Secret),
    ("ldapmodify", b'w', Takes::Secret),
    ("ldapadd", b'w', Takes::Secret),
    ("ldapwhoami", b'w', Takes::Secret),
    ("smbclient", b'U', Takes::PercentPair),
    ("rpcclient", b'U', Takes::PercentPair),
    ("sqlcmd", b'P', Takes::Secret),
    ("bcp", b'P', Takes::Secret),
    ("unzip", b'P', Takes::Secret),
    ("zip", b'P', Takes::Secret),
    ("mosquitto_pub", b'P', Takes::Secret),
    ("mosquitto_sub", b'P', Takes::Secret),
];

/// The line whose commands were last looked up.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Where the line begins, one more, and where it was read to.
    begin: usize,
    until: usize,
    found: Vec<(u8, Takes)>,
}

/// Whether a short option of [`COMMANDS`] may begin here.
pub(super) fn may_be_flag(text: &[u8], at: usize) -> bool {
    let follows = |byte: u8| !matches!(byte, b'-' | b'\n');
    matches!(text.get(at + 1), Some(b'p' | b'u' | b'a' | b'w' | b'P' | b'U' | b'b'))
        && text.get(at + 2).is_some_and(|&byte| follows(byte))
}

/// What follows a short option, if the line's command takes a password there.
pub(super) fn flag(text: &[u8], at: usize, memo: &mut Memo) -> Option<Found> {
    let flag = text[at + 1];
    let known = commands_of_line(text, at, &mut memo.command).iter().find(|(known, _)| *known == flag);
    let Some(&(_, takes)) = known else { return unknown_flag(text, at) };
    let next = at + 2;
    let start = match (text.get(next)?, takes) {
        (b' ' | b'\t', Takes::Attached) => return None,
        (b'=', _) => next + 1,
        (b'"' | b'\'', _) if text.get(next + 1).is_some_and(|byte| matches!(byte, b',' | b' ')) => {
            argument_start(text, next)?
        }
        _ => argument_start(text, next)?,
    };
    let (start, end) = argument(text, start)?;
    let value = &text[start..end];
    let skip = match takes {
        Takes::Secret | Takes::Attached => 0,
        Takes::Pair => memchr::memchr(b':', value)? + 1,
        Takes::PercentPair => memchr::memchr(b'%', value)? + 1,
    };
    let secret = &value[skip..];
    values::is_secret(rules::PASSWORD, Strength::Strong, secret).then_some(Found {
        start: start + skip,
        end,
        rule: rules::COMMAND_LINE,
    })
}

/// `-p hunter2x` of an unknown command: what follows must be a password by its looks, for `-p` is more often a port or a path.
fn unknown_flag(text: &[u8], at: usize) -> Option<Found> {
    if text[at + 1] != b'p' || text.get(at + 2) != Some(&b' ') {
        return None;
    }
    let (start, end) = argument(text, argument_start(text, at + 2)?)?;
    is_password(&text[start..end]).then_some(Found { start, end, rule: rules::COMMAND_LINE })
}

/// Letters and digits, and nothing that stands in paths, ports and names of files.
fn is_password(value: &[u8]) -> bool {
    let allowed = |byte: &u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'/' | b':' | b'.' | b'=' | b'-' | b'_' | b'$' | b',')
    };
    value.len() >= 6
        && value.iter().all(allowed)
        && has_digit(value)
        && value.iter().any(u8::is_ascii_alphabetic)
}

/// The short options that take a password on this line.
fn commands_of_line<'k>(text: &[u8], at: usize, known: &'k mut Known) -> &'k [(u8, Takes)] {
    let from = at.saturating_sub(MAX_LINE).max(known.until.min(at));
    let newline = memchr::memrchr(b'\n', &text[from..at]).map(|found| from + found + 1);
    let begin = match newline {
        None if known.begin > 0 && from == known.until => None,
        other => Some(other.unwrap_or(from)),
    };
    if let Some(begin) = begin {
        known.begin = begin + 1;
        known.found.clear();
    }
    for word in text[begin.unwrap_or(from)..at].split(|byte| !(url_safe(*byte) || *byte == b'.')) {
        let commands = COMMANDS.iter().filter(|(command, ..)| command.as_bytes() == word);
        known.found.extend(commands.map(|&(_, flag, takes)| (flag, takes)));
        known.found.truncate(16);
    }
    known.until = at;
    &known.found
}

/// What follows a long option that is named like a secret.
pub(super) fn option(text: &[u8], at: usize, keys: &KeyRules) -> Option<Found> {
    let name_start = run(&text[..text.len().min(at + 4)], at, |byte| byte == b'-');
    let name_end =
        run(&text[..text.len().min(name_start + 64)], name_start, |byte| url_safe(byte) || byte == b'.');
    let name = &text[name_start..name_end];
    if name.len() < 2 || text.get(name_end) == Some(&b'=') {
        return None;
    }
    let kind = option_kind(name, keys)?;
    let (start, end) = argument(text, argument_start(text, name_end)?)?;
    kind.secret_in(&text[start..end]).map(|(skip, rule)| Found { start: start + skip, end, rule })
}

/// What a long option takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum OptionKind {
    Named(&'static str, Strength),
    /// `--key`, `--pat`: what looks random, or a UUID.
    Key,
    /// `--user`: `user:password`
    Pair,
    /// `-p` of an unknown command: what looks like a password.
    Looks,
}

/// What an option takes, by its name without dashes.
pub(super) fn option_kind(name: &[u8], keys: &KeyRules) -> Option<OptionKind> {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    match keys.secret(name) {
        _ if is("auth") => Some(OptionKind::Pair),
        Some((rule, strength)) if !is("pat") => Some(OptionKind::Named(rule, strength)),
        _ if is("key") || is("pat") => Some(OptionKind::Key),
        _ if is("user") || is("proxy-user") || is("http-user") || is("userpwd") => Some(OptionKind::Pair),
        _ => None,
    }
}

impl OptionKind {
    /// Where in an argument the secret begins, and by which rule it is one.
    pub(super) fn secret_in(self, value: &[u8]) -> Option<(usize, &'static str)> {
        // `--password --verbose` asks for it, but a password may begin with a dash.
        let is_option =
            value.starts_with(b"--") || value.starts_with(b"-") && !(value.len() >= 6 && has_digit(value));
        if is_option {
            return None;
        }
        match self {
            OptionKind::Named(rule, strength) => {
                values::is_secret(rule, strength, value).then_some((0, rule))
            }
            OptionKind::Key => {
                (values::is_random(value) || values::is_uuid(value)).then_some((0, rules::API_KEY))
            }
            OptionKind::Pair if values::is_pair(value) => {
                memchr::memchr(b':', value).map(|colon| (colon + 1, rules::COMMAND_LINE))
            }
            OptionKind::Looks => is_password(value).then_some((0, rules::COMMAND_LINE)),
            OptionKind::Pair => values::is_random(value).then_some((0, rules::CREDENTIALS)),
        }
    }
}

/// Where the next argument begins: behind blanks, or behind the quotes and the comma of a list.
fn argument_start(text: &[u8], at: usize) -> Option<usize> {
    let window = &text[..text.len().min(at + 16)];
    if text.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        return Some(run(window, at, |byte| matches!(byte, b' ' | b'\t' | b'\\' | b'\n')));
    }
    let quote = run(window, at, |byte| byte == b'\\');
    let Some(b'"' | b'\'') = text.get(quote) else { return Some(at) };
    let next = run(window, quote + 1, |byte| matches!(byte, b' ' | b'\t' | b',' | b'\n'));
    if next == quote + 1 { Some(at) } else { Some(next) }
}

/// The argument that begins here, without its quotes.
fn argument(text: &[u8], start: usize) -> Option<(usize, usize)> {
    if let Some(quoted) = quoted_value(text, start) {
        return quoted;
    }
    let window = &text[..text.len().min(start + 4096)];
    let end = run(window, start, |byte| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'|' | b';' | b'<' | b'>')
    });
    (start < end).then_some((start, end))
}

/// The commands of a list of arguments, and what their short options take.
pub(super) fn list_flag(command: &[String], flag: &str) -> Option<OptionKind> {
    let &[b'-', letter] = flag.as_bytes() else { return None };
    let program = |word: &String| word.rsplit(['/', '\\']).next().map(str::to_owned);
    let programs: Vec<String> = command.iter().take(6).filter_map(program).collect();
    let of_program =
        |(name, known, _): &&(&str, u8, Takes)| *known == letter && programs.iter().any(|word| word == name);
    let Some(found) = COMMANDS.iter().find(of_program) else {
        return (letter == b'p').then_some(OptionKind::Looks);
    };
    match found.2 {
        Takes::Secret => Some(OptionKind::Named(rules::COMMAND_LINE, Strength::Strong)),
        Takes::Pair => Some(OptionKind::Pair),
        Takes::Attached | Takes::PercentPair => None,
    }
}

/// The secret of a short option that is attached to it, in a list of arguments: `mysql -phunter2`.
pub(super) fn attached(command: &[String], argument: &str) -> Option<usize> {
    let [b'-', letter, _, ..] = argument.as_bytes() else { return None };
    let program = command.first()?.rsplit(['/', '\\']).next()?;
    let takes = COMMANDS
        .iter()
        .any(|(name, known, takes)| *known == *letter && *takes == Takes::Attached && *name == program);
    (takes && memmem::find(argument.as_bytes(), b"--") != Some(0)).then_some(2)
}
