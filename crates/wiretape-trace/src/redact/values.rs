//! Whether a value under a secret's name is a secret, or only refers to one.
//!
//! Configuration and code name secrets far more often than they contain them: `${TOKEN}`,
//! `process.env.TOKEN`, `{{ vault_password }}`, `credentials: "include"`. Those stay readable: a trace without
//! them is hard to debug with. The lists here grow by examples; `corpus/lookalikes.rs` counts harmless values
//! that are redacted.

use super::format::is_words;
use super::marker;
use super::rules;
use super::views;

/// How strong the evidence of a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Strength {
    /// Any value is a secret, unless it only refers to one: `password`, `client_secret`.
    #[default]
    Strong,
    /// Only a value that looks random is a secret, because many harmless names end like this one:
    /// `datadog_key`, `auth`.
    Weak,
}

/// Whether a value under a secret's name is to be redacted.
pub(super) fn is_secret(rule: &str, strength: Strength, value: &[u8]) -> bool {
    if value.is_empty() || marker::is_redacted_already(value) || is_reference(value) || is_placeholder(value)
    {
        return false;
    }
    let is_container = matches!(rule, rules::COOKIE | rules::AUTHORIZATION);
    match strength {
        // Cookies and credentials of headers contain words and blanks by their syntax.
        Strength::Strong => is_container || !is_keyword(value) && !is_prose(value),
        Strength::Weak => {
            is_random(value)
                || rule == rules::CREDENTIALS && (is_pair(value) || views::base64_pair(value).is_some())
        }
    }
}

/// Values under a secret's name that describe it: types, states, modes.
const KEYWORDS: &[&str] = &[
    "include",
    "omit",
    "same-origin",
    "string",
    "str",
    "text",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "object",
    "array",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "required",
    "optional",
    "masked",
    "hidden",
    "redacted",
    "[redacted]",
    "filtered",
    "[filtered]",
    "removed",
    "n/a",
    "na",
    "invalid",
    "expired",
    "missing",
    "unknown",
    "unset",
    "empty",
    "valid",
    "ok",
    "default",
    "bearer",
    "basic",
    "digest",
    "oauth",
    "oauth2",
    "jwt",
    "apikey",
    "api_key",
    "api-key",
    "any",
    "never",
    "always",
    "disabled",
    "enabled",
    "prompt",
    "ask",
    "...",
    "…",
    "sensitive",
    "(sensitive value)",
    "(known after apply)",
    "<sensitive>",
];

pub(super) fn is_keyword(value: &[u8]) -> bool {
    value.len() <= 20 && KEYWORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Identifiers that values are read from in code and configuration: `process.env.TOKEN`, `secrets.TOKEN`.
const SOURCES: &[&str] = &[
    "process",
    "os",
    "env",
    "environ",
    "settings",
    "config",
    "cfg",
    "conf",
    "self",
    "this",
    "ctx",
    "context",
    "args",
    "argv",
    "params",
    "options",
    "opts",
    "req",
    "request",
    "res",
    "response",
    "secrets",
    "vars",
    "var",
    "local",
    "module",
    "data",
    "input",
    "inputs",
    "steps",
    "needs",
    "github",
    "matrix",
    "state",
    "props",
    "Deno",
    "Bun",
    "import",
    "System",
    "ENV",
    "Rails",
    "window",
    "localStorage",
    "sessionStorage",
    "kwargs",
    "keyring",
    "app",
    "credentials",
    "creds",
    "terraform",
    "each",
    "values",
    "Values",
    "variables",
    "Environment",
    "ConfigurationManager",
    "session",
    "user",
    "client",
    "cls",
    "parser",
    "event",
    "aws_secretsmanager_secret_version",
    "random_password",
    "std",
    "dotenv",
    "configService",
    "flags",
];

/// How addresses of secrets in vaults and files begin.
const ADDRESSES: &[&str] = &[
    "op://",
    "vault:",
    "arn:aws:",
    "ref+",
    "env:",
    "ENV[",
    "secretsmanager:",
    "ssm:",
    "secret://",
    "!Ref",
    "!Sub",
    "!vault",
    "@Microsoft.KeyVault",
    "keyvault://",
    "file:/",
    "gcpsm://",
    "awssm://",
    "bws://",
    "doppler://",
];

/// Whether a text begins with one of these. The first byte is compared before the rest, because this runs for each value.
fn begins_with_any(text: &[u8], beginnings: &[&str]) -> bool {
    let Some(first) = text.first() else { return false };
    beginnings
        .iter()
        .any(|known| known.as_bytes().first() == Some(first) && text.starts_with(known.as_bytes()))
}

/// Whether a value only refers to a secret: a variable, a template, an address in a vault, a function call.
pub(super) fn is_reference(value: &[u8]) -> bool {
    // `Bearer ${TOKEN}` is a reference, too.
    let value = without_scheme(value.trim_ascii());
    match value {
        [b'$', b'{' | b'(' | b'[', ..] | [b'{', b'{' | b'%', ..] | [b'#', b'{', ..] | [b'<', b'%', ..] => {
            return true;
        }
        [b'$', rest @ ..] => return is_name(rest),
        [b'%', name @ .., b'%'] => return is_name(name),
        [b'@', b'@', ..] => return true,
        _ => {}
    }
    if begins_with_any(value, ADDRESSES) {
        return true;
    }
    let first =
        value.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(value.len());
    // A known name alone is not enough: `config` may be a password, `config.token` is not.
    let is_member = matches!(value.get(first), Some(b'.' | b'[' | b'('))
        || value[first..].starts_with(b"::")
        || value[first..].starts_with(b"->");
    is_member && SOURCES.iter().any(|source| source.as_bytes() == &value[..first])
        || is_call(value)
        || is_parameter(value)
        || is_element(value)
}

fn without_scheme(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"Bearer ").or_else(|| value.strip_prefix(b"Basic ")).unwrap_or(value)
}

/// Whether a value is the parameter of a prepared statement: `?`, `?2`, `:name`.
fn is_parameter(value: &[u8]) -> bool {
    match value {
        [b'?'] => true,
        [b'?', number @ ..] => number.iter().all(u8::is_ascii_digit),
        [b':', name @ ..] => name.len() <= 12 && is_name(name) && !name.iter().any(u8::is_ascii_digit),
        _ => false,
    }
}

fn is_name(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.'))
        && !text[0].is_ascii_digit()
}

/// Whether a value is an element of an array: `tokens[i]`, `parts[2];`.
fn is_element(value: &[u8]) -> bool {
    let value = value.strip_suffix(b";").unwrap_or(value);
    let Some(value) = value.strip_suffix(b"]") else { return false };
    memchr::memchr(b'[', value).is_some_and(|open| {
        let (name, index) = (&value[..open], &value[open + 1..]);
        !name.is_empty()
            && name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && index.len() <= 3
            && index.iter().all(u8::is_ascii_alphanumeric)
    })
}

/// Whether a value is a function call: `getToken()`, `os.getenv("TOKEN");`.
fn is_call(value: &[u8]) -> bool {
    let name = value
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | b'$' | b':'));
    let closes =
        value.strip_suffix(b";").or_else(|| value.strip_suffix(b",")).unwrap_or(value).ends_with(b")");
    name.is_some_and(|at| at > 0 && value[at] == b'(') && closes
}

/// Whether a value is a placeholder: `<your-token>`, `YOUR_API_KEY`, `xxxxxxxx`, `********`.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let value = without_scheme(value.trim_ascii());
    // Short hexadecimal numbers are flags and addresses.
    if let Some(digits) = value.strip_prefix(b"0x")
        && digits.len() <= 8
    {
        return true;
    }
    let same = |set: &[u8]| value.len() >= 3 && value.iter().all(|byte| set.contains(byte));
    if same(b"*")
        || same(b"xX")
        || same(b".")
        || same(b"-")
        || same(b"_")
        || same("•●…".as_bytes())
        || same(b"0")
    {
        return true;
    }
    let is_tag = |open: u8, close: u8| {
        value.len() > 2
            && value[0] == open
            && value[value.len() - 1] == close
            && value[1..value.len() - 1].iter().all(|byte| {
                byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'_' | b'-' | b'.' | b'\'' | b'/')
            })
    };
    if is_tag(b'<', b'>') || is_tag(b'[', b']') || is_tag(b'{', b'}') {
        return true;
    }
    let starts =
        |prefix: &[u8]| value.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let is_wordy =
        value.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b' ' | b'.'));
    is_wordy
        && value.len() <= 48
        && [
            &b"your_"[..],
            b"your-",
            b"your ",
            b"my_",
            b"replace",
            b"insert",
            b"example_",
            b"enter_",
            b"put_your",
            b"the_",
        ]
        .into_iter()
        .any(starts)
}

/// Words that nearly every English sentence contains, and hardly any passphrase.
const FUNCTION_WORDS: &[&str] = &[
    "the", "is", "a", "an", "must", "be", "your", "to", "for", "of", "this", "not", "can't", "can", "and",
    "or", "with", "has", "have", "that", "was", "are", "in", "on", "if", "should", "you", "when", "it", "no",
    "from", "may", "will", "by", "as", "at", "use", "used", "too", "does", "match", "required", "field",
    "see", "please",
];

/// Whether a text is a sentence rather than a value.
pub(super) fn is_prose(value: &[u8]) -> bool {
    let words = || value.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    // Sentences under a secret's name are short messages ("is required"); a value of several lines is a key.
    if value.len() > 400 || words().count() < 2 || value.contains(&b'\n') {
        return false;
    }
    let is_word = |word: &[u8]| {
        let word = word.strip_suffix(b".").or_else(|| word.strip_suffix(b",")).unwrap_or(word);
        word.iter().all(|byte| {
            byte.is_ascii_alphabetic()
                || matches!(byte, b'\'' | b'-' | b'(' | b')' | b'`' | b'"' | b':' | b'/' | 0x80..)
        })
    };
    let is_function =
        |word: &[u8]| FUNCTION_WORDS.iter().any(|function| word.eq_ignore_ascii_case(function.as_bytes()));
    let wordy = words().filter(|word| is_word(word)).count();
    let functions = words().filter(|word| is_function(word)).count();
    // A single one may be chance: `a` is a word, too.
    wordy * 5 >= words().count() * 4 && functions >= 2
}

/// Whether a value is a pair `user:password`, as given to `--user` and in `auth`.
pub(super) fn is_pair(value: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', value) else { return false };
    let (user, password) = (&value[..colon], &value[colon + 1..]);
    !user.is_empty()
        && password.len() >= 3
        && user.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'"' | b'{' | b'['))
        && password.iter().all(u8::is_ascii_graphic)
        && !password.starts_with(b"//")
        && !is_reference(password)
}

/// Whether a value looks random: long, of the characters of tokens, with digits among letters or letters of
/// both cases that don't form words. Not an entropy: hashes of commits and ids have as much, and this is only
/// asked under a name that suggests a secret.
pub(super) fn is_random(value: &[u8]) -> bool {
    // UUIDs are random, but identify things far more often than they open them.
    if !(16..=4096).contains(&value.len()) || is_uuid(value) {
        return false;
    }
    let is_token = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b':')
    };
    if !value.iter().all(is_token) || value.contains(&b'/') && looks_like_path(value) {
        return false;
    }
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    if letters < 4
        || value.iter().filter(|byte| matches!(byte, b'.' | b'-' | b'_' | b':' | b'/')).count() * 5
            > value.len()
    {
        return false;
    }
    // In a name that contains a number, the letters form words and few characters are digits.
    let has_words = value
        .split(|byte| !byte.is_ascii_alphabetic())
        .all(|word| word.len() < 2 || is_words(word) && word.len() > 2);
    if digits == 0 {
        !is_words(value) && changes_of_case(value) * 4 >= value.len()
    } else {
        digits >= 2 && !has_words || digits * 6 >= value.len() && digits >= 3 && !is_dated(value)
    }
}

fn changes_of_case(value: &[u8]) -> usize {
    value.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()).count()
}

/// Whether a value is a name with a date or a version: its parts are all letters or all digits.
fn is_dated(value: &[u8]) -> bool {
    value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .all(|word| word.iter().all(u8::is_ascii_digit) || word.iter().all(u8::is_ascii_alphabetic))
}

fn looks_like_path(value: &[u8]) -> bool {
    let first = memchr::memchr(b'/', value).unwrap_or(0);
    first == 0
        || value
            .split(|&byte| byte == b'/')
            .all(|part| part.is_empty() || is_words(part) || part.contains(&b'.'))
}

pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_placeholders_are_not_secrets() {
        for value in [
            "${TOKEN}",
            "$TOKEN",
            "{{ vault_db_password }}",
            "%TOKEN%",
            "process.env.AUTH_TOKEN1",
            "settings.OPENAI_API_KEY2",
            "os.environ[\"X\"]",
            "<your-token>",
            "YOUR_API_KEY",
            "********",
            "include",
            "getToken();",
            "$(cat /run/x)",
            "The password must be long.",
            "can't be blank",
            "op://vault/item/field",
            "[REDACTED]",
        ] {
            assert!(!is_secret(rules::PASSWORD, Strength::Strong, value.as_bytes()), "{value}");
        }
        for value in
            ["hunter2", "opensesame", "correct horse battery staple", "P@ss(word)1", "$ecret!", "[REDACTED"]
        {
            assert!(is_secret(rules::PASSWORD, Strength::Strong, value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn random_values_are_told_from_names_and_paths() {
        for value in [
            "a8f5f167f44f4964e6c998dee827110c",
            "Zm9vYmFyYmF6cXV4MTIzNA",
            "x9K2mP4qR7tV1wY3zB5n",
            "QwErTyUiOpAsDfGhJk",
        ] {
            assert!(is_random(value.as_bytes()), "{value}");
        }
        for value in [
            "users/42/avatar-large.png",
            "order_2024_05_01_export",
            "the-quick-brown-fox",
            "550e8400-e29b-41d4-a716-446655440000",
            "SomeVeryLongCamelCase",
            "2024-05-01T12:00:00Z",
            "app.settings.theme.dark",
            "short1",
        ] {
            assert!(!is_random(value.as_bytes()), "{value}");
        }
    }
}
