//! Secrets on command lines, in text and as lists of arguments: `--password x`, `curl -u user:x`, `mysql
//! -px`.
//!
//! A long option goes by its name, like a member of an object. A short option means something different for
//! every program, so [`COMMANDS`] lists those known to take a password; for other programs only the value
//! decides. The functions for text (`flag`, `option`) parse the line themselves; those for lists
//! (`list_flag`, `attached`) get the arguments separated.

use super::keys::{self, KeyRules};
use super::marker::Marker;
use super::named::quoted_value;
use super::rules;
use super::text::{Memo, SecretMatch, has_digit, run, url_safe};
use super::values::{self, Strength};
use memchr::memmem;
use std::ops::Range;

/// How many bytes before an option its command is searched for. Bounds the work for lines without an end.
const MAX_LINE: usize = 512;

/// What a short option takes as its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionArgument {
    /// The argument is the secret: `-p hunter2`, `-phunter2`.
    Secret,
    /// The secret, in the same word only (`-phunter2`). Alone, the option makes the program prompt for it,
    /// and the next word is something else.
    Attached,
    /// `user:password`; only the password is a secret.
    Pair,
    /// `user%password`, as Samba's tools write it.
    PercentPair,
}

/// Programs, the short option that takes a password, and the form of its argument.
const COMMANDS: &[(&str, u8, OptionArgument)] = &[
    ("curl", b'u', OptionArgument::Pair),
    ("curl", b'U', OptionArgument::Pair),
    ("curl", b'b', OptionArgument::Secret),
    ("http", b'a', OptionArgument::Pair),
    ("https", b'a', OptionArgument::Pair),
    ("xh", b'a', OptionArgument::Pair),
    ("mysql", b'p', OptionArgument::Attached),
    ("mysqldump", b'p', OptionArgument::Attached),
    ("mysqladmin", b'p', OptionArgument::Attached),
    ("mysqlimport", b'p', OptionArgument::Attached),
    ("mariadb", b'p', OptionArgument::Attached),
    ("mariadb-dump", b'p', OptionArgument::Attached),
    ("7z", b'p', OptionArgument::Attached),
    ("7za", b'p', OptionArgument::Attached),
    ("sshpass", b'p', OptionArgument::Secret),
    ("redis-cli", b'a', OptionArgument::Secret),
    ("mongo", b'p', OptionArgument::Secret),
    ("mongosh", b'p', OptionArgument::Secret),
    ("mongodump", b'p', OptionArgument::Secret),
    ("mongorestore", b'p', OptionArgument::Secret),
    ("mongoexport", b'p', OptionArgument::Secret),
    ("mongoimport", b'p', OptionArgument::Secret),
    ("login", b'p', OptionArgument::Secret),
    ("cqlsh", b'p', OptionArgument::Secret),
    ("beeline", b'p', OptionArgument::Secret),
    ("rabbitmqadmin", b'p', OptionArgument::Secret),
    ("psexec", b'p', OptionArgument::Secret),
    ("PsExec.exe", b'p', OptionArgument::Secret),
    ("ldapsearch", b'w', OptionArgument::Secret),
    ("ldapmodify", b'w', OptionArgument::Secret),
    ("ldapadd", b'w', OptionArgument::Secret),
    ("ldapwhoami", b'w', OptionArgument::Secret),
    ("smbclient", b'U', OptionArgument::PercentPair),
    ("rpcclient", b'U', OptionArgument::PercentPair),
    ("sqlcmd", b'P', OptionArgument::Secret),
    ("bcp", b'P', OptionArgument::Secret),
    ("unzip", b'P', OptionArgument::Secret),
    ("zip", b'P', OptionArgument::Secret),
    ("mosquitto_pub", b'P', OptionArgument::Secret),
    ("mosquitto_sub", b'P', OptionArgument::Secret),
    ("snmpwalk", b'A', OptionArgument::Secret),
    ("snmpwalk", b'X', OptionArgument::Secret),
    ("snmpget", b'A', OptionArgument::Secret),
    ("snmpget", b'X', OptionArgument::Secret),
];

/// Cache of the commands on the line that was looked up last: a line with many options is scanned once.
#[derive(Debug, Default)]
pub(super) struct LineCommands {
    /// One more than the offset where the line begins; 0 for no line. `until` is how far the line has been
    /// scanned.
    begin: usize,
    until: usize,
    found: Vec<(u8, OptionArgument)>,
}

/// Whether the `-` at `at` may begin a short option of [`COMMANDS`]. Runs at every hyphen, so it compares
/// bytes only.
pub(super) fn may_be_flag(text: &[u8], at: usize) -> bool {
    let follows = |byte: u8| !matches!(byte, b'-' | b'\n');
    matches!(text.get(at + 1), Some(b'p' | b'u' | b'a' | b'w' | b'P' | b'U' | b'b' | b'A' | b'X'))
        && text.get(at + 2).is_some_and(|&byte| follows(byte))
}

/// Whether the `--` at `at` begins an option that takes a secret. Runs at every long option of every text, so most are ruled
/// out by the last letters of the name.
pub(super) fn takes_secret(text: &[u8], at: usize, keys: &KeyRules) -> bool {
    let name = &text[option_name(text, at)];
    (keys.may_be_secret(name) || keys::may_be_option(name))
        && (is_openssl_password(name) || option_kind(name, keys).is_some())
}

/// The range of the name of a long option.
fn option_name(text: &[u8], at: usize) -> Range<usize> {
    let start = run(&text[..text.len().min(at + 4)], at, |byte| byte == b'-');
    start..run(&text[..text.len().min(start + 64)], start, |byte| url_safe(byte) || byte == b'.')
}

/// Whether an option takes a password as OpenSSL's do: `-passin pass:x`.
fn is_openssl_password(name: &[u8]) -> bool {
    matches!(name, b"passin" | b"passout" | b"pass")
}

/// Whether the `-` at `at` begins an option of a whole word, as Java's and Microsoft's programs write them:
/// `-storepass x`, `-Password x`.
pub(super) fn may_be_single_dash_option(text: &[u8], at: usize) -> bool {
    let name = run(&text[..text.len().min(at + 24)], at + 1, |byte| byte.is_ascii_alphabetic());
    // Three letters may be short options in one word.
    name - at > 4
        && matches!(text.get(name), Some(b' ' | b'\t'))
        && [&b"ass"[..], b"ord", b"ken", b"key", b"ret", b"ase", b"ssin", b"sout"]
            .iter()
            .any(|ending| text[at..name].to_ascii_lowercase().ends_with(ending))
}

/// The password after a short option, if a command on the line takes one there.
pub(super) fn flag(text: &[u8], at: usize, memo: &mut Memo) -> Option<SecretMatch> {
    let flag = text[at + 1];
    let known = commands_of_line(text, at, &mut memo.command).iter().find(|(known, _)| *known == flag);
    let Some(&(_, takes)) = known else { return unknown_flag(text, at) };
    let next = at + 2;
    let start = match (text.get(next)?, takes) {
        (b' ' | b'\t', OptionArgument::Attached) => return None,
        (b'=', _) => next + 1,
        (b'"' | b'\'', _) if text.get(next + 1).is_some_and(|byte| matches!(byte, b',' | b' ')) => {
            argument_start(text, next)?
        }
        _ => argument_start(text, next)?,
    };
    let (start, end) = argument(text, start)?;
    let value = &text[start..end];
    let skip = match takes {
        OptionArgument::Secret | OptionArgument::Attached => 0,
        // `curl -u <token>:` sends the token as the user, without a password.
        OptionArgument::Pair if value.ends_with(b":") && values::is_random(&value[..value.len() - 1]) => {
            return Some(SecretMatch { start, end: end - 1, rule: rules::COMMAND_LINE });
        }
        // That token, once it has been redacted: the colons are the marker's.
        OptionArgument::Pair if value.starts_with(Marker::PREFIX_COLON) => return None,
        OptionArgument::Pair => memchr::memchr(b':', value)? + 1,
        OptionArgument::PercentPair => memchr::memchr(b'%', value)? + 1,
    };
    let secret = &value[skip..];
    values::is_secret(rules::PASSWORD, Strength::Strong, secret).then_some(SecretMatch {
        start: start + skip,
        end,
        rule: rules::COMMAND_LINE,
    })
}

/// `-p hunter2x` of an unknown command. Only a value that looks like a password counts, because `-p` is more
/// often a port or a path.
fn unknown_flag(text: &[u8], at: usize) -> Option<SecretMatch> {
    if text[at + 1] != b'p' || text.get(at + 2) != Some(&b' ') {
        return None;
    }
    let (start, end) = argument(text, argument_start(text, at + 2)?)?;
    is_password(&text[start..end]).then_some(SecretMatch { start, end, rule: rules::COMMAND_LINE })
}

/// Whether a value has letters and digits, and none of the characters of paths, ports and file names.
fn is_password(value: &[u8]) -> bool {
    let allowed = |byte: &u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'/' | b':' | b'.' | b'=' | b'-' | b'_' | b'$' | b',')
    };
    value.len() >= 6
        && value.iter().all(allowed)
        && has_digit(value)
        && value.iter().any(u8::is_ascii_alphabetic)
}

/// The short options that take a password, for the commands between the start of the line and `at`.
fn commands_of_line<'k>(text: &[u8], at: usize, known: &'k mut LineCommands) -> &'k [(u8, OptionArgument)] {
    // Only what was added since the last call is scanned. Without this, a line of n options would cost n²
    // steps.
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
        // A bound for texts that repeat a command's name without an end.
        known.found.truncate(16);
    }
    known.until = at;
    &known.found
}

/// The value after a long option that is named like a secret.
pub(super) fn option(text: &[u8], at: usize, keys: &KeyRules) -> Option<SecretMatch> {
    let place = option_name(text, at);
    let name = &text[place.clone()];
    // `--name=value` has a separator, and is found by `named`.
    if name.len() < 2 || text.get(place.end) == Some(&b'=') {
        return None;
    }
    let (start, end) = argument(text, argument_start(text, place.end)?)?;
    if is_openssl_password(name)
        && let Some(password) = text[start..end].strip_prefix(b"pass:")
    {
        return values::is_secret(rules::PASSWORD, Strength::Strong, password).then_some(SecretMatch {
            start: start + "pass:".len(),
            end,
            rule: rules::COMMAND_LINE,
        });
    }
    let kind = option_kind(name, keys)?;
    kind.secret_in(&text[start..end]).map(|(skip, rule)| SecretMatch { start: start + skip, end, rule })
}

/// What a long option takes as its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionKind {
    Named(&'static str, Strength),
    /// `--key`, `--pat`: only a value that looks random, or a UUID. Many options of these names take a path
    /// or an identifier.
    Key,
    /// `--user`: a pair `user:password`, of which only the password is a secret.
    Pair,
    /// `-p` of an unknown command: only a value that looks like a password.
    Looks,
}

/// Classifies an option by its name, without the dashes.
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
    /// The offset where the secret begins in an argument, and its rule.
    pub(super) fn secret_in(self, value: &[u8]) -> Option<(usize, &'static str)> {
        // In `--password --verbose` the program prompts for the password; but a password may itself begin
        // with a dash.
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

/// Where the next argument begins: after blanks, or after the quote and comma between two elements of a list.
fn argument_start(text: &[u8], at: usize) -> Option<usize> {
    let window = &text[..text.len().min(at + 16)];
    if text.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        // A backslash and a newline continue a command on the next line.
        return Some(run(window, at, |byte| matches!(byte, b' ' | b'\t' | b'\\' | b'\n')));
    }
    let quote = run(window, at, |byte| byte == b'\\');
    let Some(b'"' | b'\'') = text.get(quote) else { return Some(at) };
    let next = run(window, quote + 1, |byte| matches!(byte, b' ' | b'\t' | b',' | b'\n'));
    if next == quote + 1 { Some(at) } else { Some(next) }
}

/// The range of the argument that begins at `start`, without its quotes.
pub(super) fn argument(text: &[u8], start: usize) -> Option<(usize, usize)> {
    if let Some(quoted) = quoted_value(text, start) {
        return quoted;
    }
    let window = &text[..text.len().min(start + 4096)];
    let end = run(window, start, |byte| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'|' | b';' | b'<' | b'>')
    });
    (start < end).then_some((start, end))
}

/// What the short option `flag` takes in a list of arguments, by the programs that the list names.
pub(super) fn list_flag(command: &[String], flag: &str) -> Option<OptionKind> {
    let &[b'-', letter] = flag.as_bytes() else { return None };
    let program = |word: &String| word.rsplit(['/', '\\']).next().map(str::to_owned);
    // The program need not come first: `sudo`, `env` and `docker exec` precede it.
    let programs: Vec<String> = command.iter().take(6).filter_map(program).collect();
    let of_program = |(name, known, _): &&(&str, u8, OptionArgument)| {
        *known == letter && programs.iter().any(|word| word == name)
    };
    let Some(found) = COMMANDS.iter().find(of_program) else {
        return (letter == b'p').then_some(OptionKind::Looks);
    };
    match found.2 {
        OptionArgument::Secret => Some(OptionKind::Named(rules::COMMAND_LINE, Strength::Strong)),
        OptionArgument::Pair => Some(OptionKind::Pair),
        OptionArgument::Attached | OptionArgument::PercentPair => None,
    }
}

/// The offset of a secret that is attached to its short option, in a list of arguments: `mysql -phunter2`.
pub(super) fn attached(command: &[String], argument: &str) -> Option<usize> {
    let [b'-', letter, _, ..] = argument.as_bytes() else { return None };
    let program = command.first()?.rsplit(['/', '\\']).next()?;
    let takes = COMMANDS.iter().any(|(name, known, takes)| {
        *known == *letter && *takes == OptionArgument::Attached && *name == program
    });
    // `--port` is not `-p` with a value.
    (takes && memmem::find(argument.as_bytes(), b"--") != Some(0)).then_some(2)
}
