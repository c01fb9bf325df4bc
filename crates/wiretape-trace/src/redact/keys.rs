//! Secrets that are known by their names.
//!
//! A name is compared without regard to case, hyphens, underscores and dots, so that `api_key`, `apiKey`,
//! `API-KEY` and `x-api-key` are one; and by its end, so that `github_token` is a token and `token_type` is not.

use super::rules::{self, RuleError, Rules};

/// The rule of the names that the user added.
pub(super) const CUSTOM_KEY: &str = "custom-key";

/// Names longer than this are no names.
const MAX_NAME: usize = 96;

/// Which names are secret, and by which rule.
#[derive(Debug, Clone)]
pub struct KeyRules {
    endings: Vec<(&'static str, &'static str)>,
    exact: Vec<(&'static str, &'static str)>,
    custom: Vec<Glob>,
    allowed: Vec<Glob>,
}

/// What a member's name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyClass {
    /// Nothing.
    Plain,
    /// It is a secret.
    Secret(&'static str),
    /// It is never one, whatever it looks like: progress tokens and cursors.
    Exempt,
    /// Its value maps names to JSON Schemas.
    SchemaMap,
}

const ENDINGS: &[(&str, &str)] = &[
    ("password", rules::PASSWORD),
    ("passwd", rules::PASSWORD),
    ("passphrase", rules::PASSWORD),
    ("secret", rules::SECRET),
    ("secretkey", rules::SECRET),
    ("signingkey", rules::SECRET),
    ("encryptionkey", rules::SECRET),
    ("token", rules::TOKEN),
    ("apikey", rules::API_KEY),
    ("accesskey", rules::API_KEY),
    ("privatekey", rules::PRIVATE_KEY),
    ("credential", rules::CREDENTIALS),
    ("credentials", rules::CREDENTIALS),
    ("authorization", rules::AUTHORIZATION),
    ("connectionstring", rules::CONNECTION_STRING),
];

const EXACT: &[(&str, &str)] = &[
    ("pwd", rules::PASSWORD),
    ("pass", rules::PASSWORD),
    ("jwt", rules::TOKEN),
    ("bearer", rules::TOKEN),
    ("cookie", rules::COOKIE),
    ("cookies", rules::COOKIE),
    ("setcookie", rules::COOKIE),
    ("dsn", rules::CONNECTION_STRING),
];

/// Names that end like a token's and are none: pages, streams and models have tokens too.
const EXEMPT: &[&str] = &[
    "progresstoken",
    "cursor",
    "nextcursor",
    "prevcursor",
    "previouscursor",
    "endcursor",
    "startcursor",
    "pagetoken",
    "nextpagetoken",
    "prevpagetoken",
    "previouspagetoken",
    "nexttoken",
    "synctoken",
    "nextsynctoken",
    "continuationtoken",
    "resumptiontoken",
    "cancellationtoken",
    "bostoken",
    "eostoken",
    "padtoken",
    "unktoken",
    "stoptoken",
];

/// Parameters of URLs by which OAuth hands over what is as good as a token.
pub(super) const OAUTH_PARAMETERS: &[&str] = &[
    "code",
    "code_verifier",
    "device_code",
    "user_code",
    "assertion",
    "client_assertion",
    "id_token_hint",
    "SAMLResponse",
];

/// Members of a JSON Schema whose values map names to schemas.
const SCHEMA_MAPS: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

impl KeyRules {
    pub(super) fn new(enabled: &[&'static str], rules: &Rules) -> Result<Self, RuleError> {
        let on = |table: &'static [(&str, &str)]| {
            table.iter().filter(|(_, rule)| enabled.contains(rule)).copied().collect::<Vec<_>>()
        };
        Ok(KeyRules {
            endings: on(ENDINGS),
            exact: on(EXACT),
            custom: rules.keys.iter().map(|key| Glob::new(key)).collect::<Result<_, _>>()?,
            allowed: rules.allowed_keys.iter().map(|key| Glob::new(key)).collect::<Result<_, _>>()?,
        })
    }

    /// The rule by which a name is secret.
    #[inline]
    pub fn classify(&self, name: &[u8]) -> Option<&'static str> {
        if !self.may_be_secret(name) {
            return None;
        }
        match self.class(name) {
            KeyClass::Secret(rule) => Some(rule),
            _ => None,
        }
    }

    pub(super) fn class(&self, name: &[u8]) -> KeyClass {
        if !self.may_be_secret(name) && !OTHER_TAILS.may_end(name) {
            return KeyClass::Plain;
        }
        if SCHEMA_MAPS.iter().any(|map| map.as_bytes() == name) {
            return KeyClass::SchemaMap;
        }
        let mut buffer = [0; MAX_NAME];
        let Some(name) = normalize(name, &mut buffer) else { return KeyClass::Plain };
        self.class_of_normal(name)
    }

    /// Whether a name that ends so may be a secret's.
    #[inline]
    pub(super) fn may_be_secret(&self, ending: &[u8]) -> bool {
        SECRET_TAILS.may_end(ending) || !self.custom.is_empty()
    }

    fn class_of_normal(&self, name: &str) -> KeyClass {
        if EXEMPT.contains(&name) {
            return KeyClass::Exempt;
        }
        if self.allowed.iter().any(|glob| glob.matches(name)) {
            return KeyClass::Plain;
        }
        if self.custom.iter().any(|glob| glob.matches(name)) {
            return KeyClass::Secret(CUSTOM_KEY);
        }
        let exact = self.exact.iter().find(|(key, _)| *key == name);
        let rule = exact.or_else(|| self.endings.iter().find(|(ending, _)| name.ends_with(ending)));
        rule.map_or(KeyClass::Plain, |(_, rule)| KeyClass::Secret(rule))
    }
}

/// Whether a value that stands under a password's name is no password: shells keep the working directory in `PWD`, and
/// programs report it as `pwd`. ODBC has a password under the same name, so the value decides.
pub(super) fn is_working_directory(rule: &str, name: &[u8], value: &[u8]) -> bool {
    rule == rules::PASSWORD && name.eq_ignore_ascii_case(b"pwd") && is_absolute_path(value)
}

fn is_absolute_path(value: &[u8]) -> bool {
    match value {
        [b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// A set of three letters, of either case, that names may end in: a bit for each, found by five bits of each letter.
struct Tails([u64; 512]);

impl Tails {
    const fn new(tails: &[&[u8; 3]]) -> Self {
        let mut bits = [0; 512];
        let mut at = 0;
        while at < tails.len() {
            let index = Self::index(tails[at]);
            bits[index / 64] |= 1 << (index % 64);
            at += 1;
        }
        Tails(bits)
    }

    const fn index(&[a, b, c]: &[u8; 3]) -> usize {
        ((a & 31) as usize) << 10 | ((b & 31) as usize) << 5 | (c & 31) as usize
    }

    /// A cheap look that rules out nearly every name. It is taken for every member of every message, so it has no
    /// branch in it but for names that are too short.
    #[inline]
    fn may_end(&self, name: &[u8]) -> bool {
        let Some(tail) = name.last_chunk() else { return false };
        let index = Self::index(tail);
        self.0[index / 64] >> (index % 64) & 1 == 1
    }
}

/// What the names of secrets end in.
static SECRET_TAILS: Tails = Tails::new(&[
    b"ord", b"swd", b"pwd", b"ase", b"ass", b"ret", b"key", b"ken", b"jwt", b"rer", b"ial", b"als", b"ion",
    b"ing", b"kie", b"ies", b"dsn",
]);

/// What the other names end in that are not plain.
static OTHER_TAILS: Tails = Tails::new(&[b"sor", b"ken", b"ies", b"efs", b"ons", b"mas"]);

/// Lower case, letters and digits only.
fn normalize<'b>(name: &[u8], buffer: &'b mut [u8; MAX_NAME]) -> Option<&'b str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let mut len = 0;
    for byte in name.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) {
        buffer[len] = byte.to_ascii_lowercase();
        len += 1;
    }
    std::str::from_utf8(&buffer[..len]).ok()
}

/// A normalized name in which `*` stands for anything.
#[derive(Debug, Clone)]
struct Glob(Vec<String>);

impl Glob {
    fn new(pattern: &str) -> Result<Self, RuleError> {
        let pieces: Vec<String> = pattern
            .split('*')
            .map(|piece| piece.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect())
            .collect();
        if pieces.iter().all(String::is_empty) { Err(RuleError::EmptyKey) } else { Ok(Glob(pieces)) }
    }

    fn matches(&self, name: &str) -> bool {
        let (first, rest) = self.0.split_first().expect("a split has at least one piece");
        let Some(mut name) = name.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return name.is_empty() };
        for piece in middle {
            let Some(at) = name.find(piece.as_str()) else { return false };
            name = &name[at + piece.len()..];
        }
        name.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(rules: &Rules) -> KeyRules {
        KeyRules::new(&rules.enabled().unwrap(), rules).unwrap()
    }

    #[test]
    fn names_are_secret_by_what_they_end_in() {
        let keys = keys(&Rules::default());
        for (name, rule) in [
            ("password", "password"),
            ("DB_PASSWORD", "password"),
            ("pwd", "password"),
            ("Client-Secret", "secret"),
            ("accessToken", "token"),
            ("GITHUB_TOKEN", "token"),
            ("x-api-key", "api-key"),
            ("aws_secret_access_key", "api-key"),
            ("Authorization", "authorization"),
            ("Set-Cookie", "cookie"),
            ("privateKey", "private-key"),
            ("connection_string", "connection-string"),
        ] {
            assert_eq!(keys.classify(name.as_bytes()), Some(rule), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_it_are_not() {
        let keys = keys(&Rules::default());
        for name in [
            "token_type",
            "maxTokens",
            "max_tokens",
            "tokens",
            "inputTokens",
            "tokenCount",
            "progressToken",
            "nextPageToken",
            "cursor",
            "nextCursor",
            "key",
            "publicKey",
            "monkey",
            "author",
            "passed",
            "compass2",
            "keyboard",
            "secretary",
            "tokenizer",
            "id",
            "",
            "k",
        ] {
            assert_eq!(keys.classify(name.as_bytes()), None, "{name}");
        }
        assert_eq!(keys.class(b"progressToken"), KeyClass::Exempt);
        assert_eq!(keys.class(b"properties"), KeyClass::SchemaMap);
    }

    #[test]
    fn a_working_directory_is_not_a_password() {
        let check = |name: &str, value: &str, expected| {
            let found = is_working_directory("password", name.as_bytes(), value.as_bytes());
            assert_eq!(found, expected, "{name} {value}");
        };
        check("PWD", "/home/me/project", true);
        check("pwd", "/", true);
        check("PWD", "C:\\Users\\me", true);
        check("PWD", "\\\\server\\share", true);
        check("PWD", "hunter2", false);
        check("PWD", "c:hunter2", false);
        check("password", "/home/me", false);
        assert!(!is_working_directory(CUSTOM_KEY, b"pwd", b"/home/me"));
    }

    #[test]
    fn the_quick_look_never_rules_out_a_secret() {
        for (name, _) in ENDINGS.iter().chain(EXACT) {
            for name in [(*name).to_owned(), name.to_uppercase()] {
                assert!(SECRET_TAILS.may_end(name.as_bytes()), "{name}");
            }
        }
        for name in EXEMPT.iter().chain(SCHEMA_MAPS) {
            assert!(OTHER_TAILS.may_end(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn users_add_and_take_away() {
        let rules = Rules {
            disabled: vec!["password".into()],
            keys: vec!["internal-*-code".into(), "ssn".into()],
            allowed_keys: vec!["csrf_token".into()],
            ..Rules::default()
        };
        let keys = keys(&rules);
        assert_eq!(keys.classify(b"password"), None);
        assert_eq!(keys.classify(b"csrfToken"), None);
        assert_eq!(keys.classify(b"SSN"), Some("custom-key"));
        assert_eq!(keys.classify(b"internal_door_code"), Some("custom-key"));
        assert_eq!(keys.classify(b"internal_code"), Some("custom-key"));
        assert_eq!(keys.classify(b"internalcodes"), None);
        assert!(Glob::new("*").is_err());
    }
}
