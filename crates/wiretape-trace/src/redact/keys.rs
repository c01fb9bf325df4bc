//! Which names make their values secrets.
//!
//! Names are compared without regard to case, hyphens, underscores and dots, so that `api_key`, `apiKey`,
//! `API-KEY` and `x-api-key` are one; and by their ends, so that `github_token` is a token and `token_type`
//! is not.
//!
//! A name is classified for every member of every message, so a test of its last three letters (`Tails`)
//! rules out nearly all of them first. Whether a value is a secret or only refers to one is decided in
//! `values`.

use super::rules::{self, RuleError, Rules};
use super::values::Strength;

/// The rule's name in markers for keys that the user added.
pub(super) const CUSTOM_KEY: &str = "custom-key";

/// The longest name that is classified, in bytes. Also the size of a buffer on the stack.
const MAX_NAME: usize = 96;

/// The names that are secret under the enabled rules and the user's changes.
#[derive(Debug, Clone)]
pub struct KeyRules {
    endings: Vec<(Tail, Ending)>,
    /// For each last letter, `a` first, the range in `endings`.
    by_letter: [std::ops::Range<u8>; 26],
    custom: Vec<Glob>,
    allowed: Vec<Glob>,
    key_is_on: bool,
}

/// What a member's name implies for its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyClass {
    /// The name implies nothing.
    Plain,
    /// The value is a secret by this rule.
    Secret(&'static str, Strength),
    /// The value is never a secret, whatever it looks like: progress tokens and cursors.
    Exempt,
    /// The value maps names to JSON Schemas, so the names below it are not those of secrets.
    SchemaMap,
}

/// What may precede an ending in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Anything, even without a separator: `dbpassword`.
    Anything,
    /// A whole word, or nothing: `smtp_pass`, but not `compass`.
    Words,
    /// Nothing: the ending is the whole name.
    Nothing,
}

#[derive(Debug, Clone, Copy)]
struct Ending {
    text: &'static str,
    rule: &'static str,
    before: Before,
    strength: Strength,
}

/// The last four bytes of an ending, with a mask for endings that are shorter.
#[derive(Debug, Clone, Copy)]
struct Tail {
    bytes: u32,
    mask: u32,
}

impl Tail {
    fn of(ending: &str) -> Self {
        let unused = 4_u32.saturating_sub(u32::try_from(ending.len()).unwrap_or(4));
        Tail { bytes: last_four(ending.as_bytes()), mask: u32::MAX >> (8 * unused) }
    }

    /// Whether a name with these last four bytes may end so.
    fn may_end(self, name: u32) -> bool {
        name & self.mask == self.bytes
    }
}

/// The last four bytes of a text, the last one lowest.
fn last_four(text: &[u8]) -> u32 {
    let last = &text[text.len().saturating_sub(4)..];
    last.iter().fold(0, |bytes, &byte| bytes << 8 | u32::from(byte))
}

const fn anything(text: &'static str, rule: &'static str) -> Ending {
    Ending { text, rule, before: Before::Anything, strength: Strength::Strong }
}

const fn words(text: &'static str, rule: &'static str) -> Ending {
    Ending { text, rule, before: Before::Words, strength: Strength::Strong }
}

const fn nothing(text: &'static str, rule: &'static str) -> Ending {
    Ending { text, rule, before: Before::Nothing, strength: Strength::Strong }
}

const fn weak(ending: Ending) -> Ending {
    Ending { strength: Strength::Weak, ..ending }
}

/// The endings of secrets' names, normalized: without separators and in lower case.
const ENDINGS: &[Ending] = &[
    anything("password", rules::PASSWORD),
    anything("passwords", rules::PASSWORD),
    anything("passwordconfirmation", rules::PASSWORD),
    anything("passwordvalue", rules::PASSWORD),
    anything("passwd", rules::PASSWORD),
    anything("passwrd", rules::PASSWORD),
    anything("pswd", rules::PASSWORD),
    anything("pword", rules::PASSWORD),
    anything("passphrase", rules::PASSWORD),
    anything("passphrases", rules::PASSWORD),
    anything("passcode", rules::PASSWORD),
    anything("pwd", rules::PASSWORD),
    words("pwds", rules::PASSWORD),
    words("pass", rules::PASSWORD),
    words("pw", rules::PASSWORD),
    anything("rootpw", rules::PASSWORD),
    anything("bindpw", rules::PASSWORD),
    anything("adminpw", rules::PASSWORD),
    anything("userpw", rules::PASSWORD),
    anything("dbpw", rules::PASSWORD),
    words("psw", rules::PASSWORD),
    words("otp", rules::PASSWORD),
    words("totp", rules::PASSWORD),
    anything("otpcode", rules::PASSWORD),
    anything("mfacode", rules::PASSWORD),
    anything("recoverycode", rules::PASSWORD),
    anything("recoverycodes", rules::PASSWORD),
    anything("backupcode", rules::PASSWORD),
    anything("backupcodes", rules::PASSWORD),
    anything("scratchcodes", rules::PASSWORD),
    anything("accesscode", rules::PASSWORD),
    anything("passwort", rules::PASSWORD),
    anything("kennwort", rules::PASSWORD),
    anything("motdepasse", rules::PASSWORD),
    anything("contrasena", rules::PASSWORD),
    anything("senha", rules::PASSWORD),
    anything("wachtwoord", rules::PASSWORD),
    nothing("requirepass", rules::PASSWORD),
    nothing("masterauth", rules::PASSWORD),
    anything("secret", rules::SECRET),
    anything("secrets", rules::SECRET),
    anything("secretkey", rules::SECRET),
    anything("secretkeys", rules::SECRET),
    anything("secretkeybase", rules::SECRET),
    anything("secretvalue", rules::SECRET),
    anything("secretstring", rules::SECRET),
    anything("secretbinary", rules::SECRET),
    anything("secrettext", rules::SECRET),
    anything("secretid", rules::SECRET),
    anything("signingkey", rules::SECRET),
    anything("signingkeys", rules::SECRET),
    anything("encryptionkey", rules::SECRET),
    anything("encryptionkeys", rules::SECRET),
    anything("decryptionkey", rules::SECRET),
    anything("encryptkey", rules::SECRET),
    anything("masterkey", rules::SECRET),
    anything("masterkeys", rules::SECRET),
    anything("rootkey", rules::SECRET),
    anything("hmackey", rules::SECRET),
    anything("aeskey", rules::SECRET),
    anything("fernetkey", rules::SECRET),
    anything("cryptokey", rules::SECRET),
    anything("cipherkey", rules::SECRET),
    anything("jwtkey", rules::SECRET),
    anything("sessionkey", rules::SECRET),
    anything("sharedkey", rules::SECRET),
    anything("presharedkey", rules::SECRET),
    words("psk", rules::SECRET),
    anything("unsealkey", rules::SECRET),
    anything("unsealkeys", rules::SECRET),
    anything("recoverykey", rules::SECRET),
    anything("recoverykeys", rules::SECRET),
    anything("licensekey", rules::SECRET),
    anything("licencekey", rules::SECRET),
    words("mnemonic", rules::SECRET),
    anything("seedphrase", rules::SECRET),
    anything("recoveryphrase", rules::SECRET),
    anything("mnemonicphrase", rules::SECRET),
    anything("codeverifier", rules::SECRET),
    anything("clientassertion", rules::SECRET),
    anything("privatemac", rules::SECRET),
    anything("token", rules::TOKEN),
    anything("tokenvalue", rules::TOKEN),
    anything("tokensecret", rules::TOKEN),
    weak(anything("tokens", rules::TOKEN)),
    anything("authtokens", rules::TOKEN),
    anything("accesstokens", rules::TOKEN),
    anything("refreshtokens", rules::TOKEN),
    anything("bearertokens", rules::TOKEN),
    anything("apitokens", rules::TOKEN),
    anything("deploytokens", rules::TOKEN),
    words("jwt", rules::TOKEN),
    words("jwts", rules::TOKEN),
    nothing("bearer", rules::TOKEN),
    weak(words("salt", rules::SECRET)),
    weak(words("pat", rules::TOKEN)),
    anything("authcode", rules::TOKEN),
    anything("authorizationcode", rules::TOKEN),
    anything("devicecode", rules::TOKEN),
    anything("magiclink", rules::TOKEN),
    anything("apikey", rules::API_KEY),
    anything("apikeys", rules::API_KEY),
    anything("accesskey", rules::API_KEY),
    anything("accesskeys", rules::API_KEY),
    anything("accountkey", rules::API_KEY),
    anything("storagekey", rules::API_KEY),
    anything("subscriptionkey", rules::API_KEY),
    anything("authkey", rules::API_KEY),
    anything("authkeys", rules::API_KEY),
    anything("servicekey", rules::API_KEY),
    anything("servicerolekey", rules::API_KEY),
    anything("anonkey", rules::API_KEY),
    anything("adminkey", rules::API_KEY),
    anything("deploykey", rules::API_KEY),
    anything("functionkey", rules::API_KEY),
    anything("functionskey", rules::API_KEY),
    anything("serverkey", rules::API_KEY),
    anything("appkey", rules::API_KEY),
    anything("appkeys", rules::API_KEY),
    anything("applicationkey", rules::API_KEY),
    anything("consumerkey", rules::API_KEY),
    anything("writekey", rules::API_KEY),
    anything("ingestkey", rules::API_KEY),
    anything("ingestionkey", rules::API_KEY),
    anything("sdkkey", rules::API_KEY),
    anything("instrumentationkey", rules::API_KEY),
    anything("integrationkey", rules::API_KEY),
    anything("webhookkey", rules::API_KEY),
    anything("botkey", rules::API_KEY),
    anything("sendgridkey", rules::API_KEY),
    anything("openaikey", rules::API_KEY),
    anything("stripekey", rules::API_KEY),
    anything("developerkey", rules::API_KEY),
    anything("privatekey", rules::PRIVATE_KEY),
    anything("privatekeys", rules::PRIVATE_KEY),
    anything("privatekeydata", rules::PRIVATE_KEY),
    anything("privatekeypem", rules::PRIVATE_KEY),
    anything("privkey", rules::PRIVATE_KEY),
    anything("sshkey", rules::PRIVATE_KEY),
    anything("sshkeys", rules::PRIVATE_KEY),
    anything("gpgkey", rules::PRIVATE_KEY),
    anything("pgpkey", rules::PRIVATE_KEY),
    anything("rsakey", rules::PRIVATE_KEY),
    anything("tlskey", rules::PRIVATE_KEY),
    anything("sslkey", rules::PRIVATE_KEY),
    anything("clientkey", rules::PRIVATE_KEY),
    anything("clientkeydata", rules::PRIVATE_KEY),
    anything("keymaterial", rules::PRIVATE_KEY),
    anything("credential", rules::CREDENTIALS),
    anything("credentials", rules::CREDENTIALS),
    words("creds", rules::CREDENTIALS),
    weak(words("auth", rules::CREDENTIALS)),
    weak(nothing("userpwd", rules::CREDENTIALS)),
    weak(anything("authident", rules::CREDENTIALS)),
    anything("authorization", rules::AUTHORIZATION),
    nothing("httpauthorization", rules::AUTHORIZATION),
    nothing("cookie", rules::COOKIE),
    nothing("cookies", rules::COOKIE),
    nothing("setcookie", rules::COOKIE),
    nothing("httpcookie", rules::COOKIE),
    anything("sessioncookie", rules::COOKIE),
    anything("authcookie", rules::COOKIE),
    anything("connectionstring", rules::CONNECTION_STRING),
    anything("connectionstrings", rules::CONNECTION_STRING),
    anything("connstring", rules::CONNECTION_STRING),
    anything("connstr", rules::CONNECTION_STRING),
    words("dsn", rules::CONNECTION_STRING),
];

/// Words before `pass` that make it something else than a password.
const NOT_BEFORE_PASS: &[&str] = &[
    "first",
    "second",
    "third",
    "last",
    "render",
    "depth",
    "single",
    "multi",
    "two",
    "one",
    "shadow",
    "boarding",
    "day",
    "season",
    "next",
    "each",
    "final",
    "forward",
    "backward",
    "did",
    "tests",
    "by",
    "com",
    "compiler",
    "optimization",
    "lint",
];

/// Words that may precede `pass` without a separator: `dbpass`.
const BEFORE_PASS: &[&str] = &[
    "db",
    "user",
    "root",
    "admin",
    "smtp",
    "ftp",
    "mail",
    "sql",
    "mysql",
    "pg",
    "my",
    "redis",
    "email",
    "login",
    "ssh",
    "svn",
    "imap",
    "ldap",
    "proxy",
    "http",
    "wifi",
    "web",
    "ssl",
    "key",
    "store",
    "truststore",
    "keystore",
    "require",
];

/// Words before `key` that make it an identifier or a key on a keyboard.
const NOT_BEFORE_KEY: &[&str] = &[
    "primary",
    "foreign",
    "sort",
    "cache",
    "public",
    "partition",
    "unique",
    "index",
    "composite",
    "natural",
    "surrogate",
    "candidate",
    "lookup",
    "routing",
    "idempotency",
    "object",
    "row",
    "map",
    "dict",
    "json",
    "group",
    "range",
    "hash",
    "registry",
    "translation",
    "message",
    "msg",
    "field",
    "column",
    "property",
    "attribute",
    "order",
    "short",
    "hot",
    "arrow",
    "enter",
    "shift",
    "ctrl",
    "alt",
    "meta",
    "escape",
    "tab",
    "answer",
    "tag",
    "label",
    "metric",
    "issue",
    "project",
    "board",
    "space",
    "story",
    "epic",
    "entity",
    "parent",
    "child",
    "item",
    "node",
    "edge",
    "event",
    "config",
    "setting",
    "option",
    "param",
    "header",
    "query",
    "s3",
    "file",
    "feature",
    "flag",
    "experiment",
    "variant",
    "page",
    "cursor",
    "react",
    "list",
    "data",
    "dedupe",
    "dedup",
    "deduplication",
    "correlation",
    "trace",
    "span",
    "log",
    "error",
    "resource",
    "topic",
    "kafka",
    "stream",
    "shard",
    "document",
    "doc",
    "record",
    "table",
    "bucket",
    "blob",
    "image",
    "asset",
    "media",
    "video",
    "verify",
    "verification",
    "host",
    "fingerprint",
    "certificate",
    "pub",
    "publishable",
    "locale",
    "i18n",
    "site",
    "join",
    "merge",
    "distribution",
    "clustering",
    "search",
    "download",
    "upload",
    "output",
    "input",
    "context",
    "memo",
    "any",
    "every",
    "no",
    "has",
    "is",
    "press",
    "by",
    "with",
    "known",
    "websocket",
    "value",
    "store",
    "set",
    "member",
    "user",
];

/// Names that end like a token's but are not secret: pages, streams and models have tokens too.
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

/// URL parameters through which OAuth passes what is as good as a token.
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
        let mut endings: Vec<(Tail, Ending)> = ENDINGS
            .iter()
            .filter(|ending| enabled.contains(&ending.rule))
            .map(|ending| (Tail::of(ending.text), *ending))
            .collect();
        // By the last letter, then the longest first, so that `secret_key` is not just a key.
        endings.sort_by_key(|(_, ending)| (ending.text.bytes().last(), std::cmp::Reverse(ending.text.len())));
        let place = |letter: u8| {
            let before = |(_, ending): &(Tail, Ending)| ending.text.bytes().last() < Some(letter);
            u8::try_from(endings.partition_point(before)).expect("there are fewer than 256 endings")
        };
        let by_letter = std::array::from_fn(|at| {
            let letter = b'a' + u8::try_from(at).expect("there are 26 letters");
            place(letter)..place(letter + 1)
        });
        Ok(KeyRules {
            endings,
            by_letter,
            custom: rules.keys.iter().map(|key| Glob::new(key)).collect::<Result<_, _>>()?,
            allowed: rules.allowed_keys.iter().map(|key| Glob::new(key)).collect::<Result<_, _>>()?,
            key_is_on: enabled.contains(&rules::API_KEY),
        })
    }

    /// The rule by which a name is secret whatever its value. `None` for weak names.
    pub fn classify(&self, name: &[u8]) -> Option<&'static str> {
        self.secret(name).filter(|(_, strength)| *strength == Strength::Strong).map(|(rule, _)| rule)
    }

    /// The rule by which a name is secret, and how strong the evidence is.
    #[inline]
    pub(super) fn secret(&self, name: &[u8]) -> Option<(&'static str, Strength)> {
        if !self.may_be_secret(name) {
            return None;
        }
        match self.class(name) {
            KeyClass::Secret(rule, strength) => Some((rule, strength)),
            _ => None,
        }
    }

    pub(super) fn class(&self, name: &[u8]) -> KeyClass {
        let may_be_other = OTHER_TAILS.may_end(name);
        if !may_be_other && !self.may_be_secret(name) {
            return KeyClass::Plain;
        }
        // Before the name is normalized: JSON Schema's keywords are case-sensitive.
        if may_be_other && SCHEMA_MAPS.iter().any(|map| map.as_bytes() == name) {
            return KeyClass::SchemaMap;
        }
        // On the stack: this runs for members of every message that is not cleared at once.
        let mut buffer = [0; MAX_NAME];
        let Some(normal) = normalize(name, &mut buffer) else { return KeyClass::Plain };
        if may_be_other && EXEMPT.contains(&normal) {
            return KeyClass::Exempt;
        }
        // The user's exceptions come before the user's additions: a wide pattern may have exceptions.
        if self.allowed.iter().any(|glob| glob.matches(normal)) {
            return KeyClass::Plain;
        }
        if self.custom.iter().any(|glob| glob.matches(normal)) {
            return KeyClass::Secret(CUSTOM_KEY, Strength::Strong);
        }
        self.by_ending(trim_number(name), normal.trim_end_matches(|c: char| c.is_ascii_digit()))
    }

    /// Whether a name with this ending may be a secret's.
    #[inline]
    pub(super) fn may_be_secret(&self, ending: &[u8]) -> bool {
        // Custom names may end in anything, which disables the shortcut.
        SECRET_TAILS.may_end(trim_number(ending))
            || ending.eq_ignore_ascii_case(b"pw")
            || !self.custom.is_empty()
    }

    fn by_ending(&self, name: &[u8], normal: &str) -> KeyClass {
        let Some(&last @ b'a'..=b'z') = normal.as_bytes().last() else { return KeyClass::Plain };
        let range = self.by_letter[usize::from(last - b'a')].clone();
        let endings = &self.endings[usize::from(range.start)..usize::from(range.end)];
        // The longest come first, and sixty endings of names end in `y`: those that are longer than the name are skipped,
        // and four bytes at once rule out nearly all of the others.
        let longer = endings.partition_point(|(_, ending)| ending.text.len() > normal.len());
        let tail = last_four(normal.as_bytes());
        let found =
            endings[longer..].iter().filter(|(ending, _)| ending.may_end(tail)).find(|(_, ending)| {
                let Some(before) = normal.strip_suffix(ending.text) else { return false };
                match ending.before {
                    // `OLDPWD` is a directory.
                    // `existingSecret` of Helm's charts is the name of a secret.
                    Before::Anything => {
                        !(ending.text == "pwd" && before == "old"
                            || ending.text == "secret" && before.ends_with("existing"))
                    }
                    Before::Nothing => before.is_empty(),
                    Before::Words if ending.text == "pass" => is_before_pass(name, before),
                    Before::Words => before.is_empty() || begins_word(name, ending.text.len()),
                }
            });
        match found {
            Some((_, ending)) => KeyClass::Secret(ending.rule, ending.strength),
            // Any other `…key` is weak evidence: there are more harmless ones than can be listed.
            None if self.key_is_on && is_key(name, normal) => {
                KeyClass::Secret(rules::API_KEY, Strength::Weak)
            }
            None => KeyClass::Plain,
        }
    }
}

/// Removes a trailing number and its separator: `API_KEY_2`.
#[inline]
fn trim_number(name: &[u8]) -> &[u8] {
    if !name.last().is_some_and(u8::is_ascii_digit) {
        return name;
    }
    let end = name.iter().rposition(u8::is_ascii_alphabetic).map_or(0, |at| at + 1);
    &name[..end]
}

fn is_before_pass(name: &[u8], before: &str) -> bool {
    if before.is_empty() || BEFORE_PASS.contains(&before) {
        return true;
    }
    begins_word(name, "pass".len()) && !NOT_BEFORE_PASS.iter().any(|word| before.ends_with(word))
}

/// Whether a name ends in the word `key` or `keys` after another word that does not make it harmless.
fn is_key(name: &[u8], normal: &str) -> bool {
    let Some((before, key)) = normal
        .strip_suffix("key")
        .map(|before| (before, 3))
        .or_else(|| normal.strip_suffix("keys").map(|before| (before, 4)))
    else {
        return false;
    };
    !before.is_empty() && begins_word(name, key) && !NOT_BEFORE_KEY.iter().any(|word| before.ends_with(word))
}

/// Whether the last N letters of a name are a word of their own: after a separator, or starting with a capital.
fn begins_word(name: &[u8], letters: usize) -> bool {
    let Some(at) = name.len().checked_sub(letters).filter(|&at| at > 0) else { return name.len() == letters };
    let (before, first) = (name[at - 1], name[at]);
    !before.is_ascii_alphanumeric()
        // Camel case; but in `COMPASS` no word begins at the `P`.
        || first.is_ascii_uppercase() && !before.is_ascii_uppercase()
        || before.is_ascii_digit()
}

/// The endings of [`QUERY_SECRETS`].
static QUERY_TAILS: Tails = Tails::new(&[
    b"sig", b"ure", b"uth", b"key", b"ode", b"ion", b"nse", b"ket", b"int", b"pid", b"ier", b"mac", b"sid",
    b"ass", b"pin",
]);

/// URL parameters that are secrets, in addition to names that are secret everywhere.
const QUERY_SECRETS: &[&str] = &[
    "key",
    "sig",
    "signature",
    "auth",
    "x-amz-signature",
    "x-goog-signature",
    "x-oss-signature",
    "hapikey",
    "appid",
    "ticket",
    "hmac",
    "code",
    "code_verifier",
    "assertion",
    "client_assertion",
    "id_token_hint",
    "samlresponse",
    "device_code",
    "user_code",
    "sid",
    "phpsessid",
];

/// The endings of the names of options that are classified in `command_line`, in addition to those of secrets: `auth`, `key`,
/// `pat`, `user`, `userpwd`, `pass`, `passin`, `passout`.
static OPTION_TAILS: Tails = Tails::new(&[b"uth", b"key", b"pat", b"ser", b"pwd", b"ass", b"sin", b"out"]);

/// Whether an option's name may be one of those.
#[inline]
pub(super) fn may_be_option(ending: &[u8]) -> bool {
    OPTION_TAILS.may_end(ending)
}

/// Whether a name before `=` may be one of [`QUERY_SECRETS`].
#[inline]
pub(super) fn may_be_query(ending: &[u8]) -> bool {
    QUERY_TAILS.may_end(ending)
}

pub(super) fn is_query_secret(name: &[u8]) -> bool {
    QUERY_SECRETS.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

/// Whether the value of such a parameter is a secret: a `code` may be that of a country or of an error.
pub(super) fn is_query_value(name: &[u8], value: &[u8]) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    match value.len() {
        0 => false,
        _ if is("key") || is("sig") || is("auth") || name.to_ascii_lowercase().ends_with(b"signature") => {
            true
        }
        length => {
            length >= 16
                || length >= 8
                    && value.iter().any(u8::is_ascii_digit)
                    && value.iter().any(u8::is_ascii_alphabetic)
        }
    }
}

/// Whether a value under a password's name is a directory: shells keep the working directory in `PWD`, and
/// programs report it as `pwd`. ODBC has a password under the same name, so the value decides.
pub(super) fn is_working_directory(rule: &str, name: &[u8], value: &[u8]) -> bool {
    rule == rules::PASSWORD && is_pwd(name) && is_absolute_path(value)
}

/// Whether a name is `PWD` or ends with it, such as `OLDPWD`.
pub(super) fn is_pwd(name: &[u8]) -> bool {
    name.last_chunk::<3>().is_some_and(|tail| tail.eq_ignore_ascii_case(b"pwd"))
}

fn is_absolute_path(value: &[u8]) -> bool {
    match value {
        [b'/', ..] | [b'~', b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// A set of three-letter endings, of either case: one bit each, indexed by five bits of each letter. 4 kB,
/// and no hashing.
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

    /// A cheap test that rules out nearly every name. It runs for every member of every message, so it has no
    /// branch except for names that are too short. Collisions (`{` with `;`) only cost a full check.
    #[inline]
    fn may_end(&self, name: &[u8]) -> bool {
        let Some(tail) = name.last_chunk() else { return false };
        let index = Self::index(tail);
        self.0[index / 64] >> (index % 64) & 1 == 1
    }
}

/// The last three letters of [`ENDINGS`], and of names that end in `key`.
static SECRET_TAILS: Tails = Tails::new(&[
    b"ord", b"rds", b"swd", b"wrd", b"pwd", b"wds", b"ase", b"ses", b"ass", b"ret", b"ets", b"key", b"eys",
    b"ken", b"ens", b"jwt", b"wts", b"rer", b"ial", b"als", b"ion", b"ing", b"ngs", b"kie", b"ies", b"dsn",
    b"otp", b"ode", b"des", b"ort", b"sse", b"ena", b"nha", b"uth", b"lue", b"ary", b"ext", b"tid", b"psk",
    b"nic", b"ier", b"mac", b"_pw", b"-pw", b".pw", b" pw", b"dpw", b"tpw", b"npw", b"rpw", b"bpw", b"ent",
    b"alt", b"psw", b"pat", b"ink", b"ata", b"pem", b"eds", b"str",
]);

/// The last three letters of [`EXEMPT`] and [`SCHEMA_MAPS`].
static OTHER_TAILS: Tails = Tails::new(&[b"sor", b"ken", b"ies", b"efs", b"ons", b"mas"]);

/// Reduces a name to lower-case letters and digits. `None` if it is too long or not UTF-8.
fn normalize<'b>(name: &[u8], buffer: &'b mut [u8; MAX_NAME]) -> Option<&'b str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let mut len = 0;
    // Other alphabets are kept, so that a user's own keys may use them.
    for byte in name.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) {
        buffer[len] = byte.to_ascii_lowercase();
        len += 1;
    }
    std::str::from_utf8(&buffer[..len]).ok()
}

/// A normalized name in which `*` matches anything, split at the `*`.
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
            ("smtp_pass", "password"),
            ("dbPass", "password"),
            ("dbpass", "password"),
            ("MYSQL_ROOT_PWD", "password"),
            ("API_KEY_2", "api-key"),
            ("apiKeys", "api-key"),
            ("Ocp-Apim-Subscription-Key", "api-key"),
            ("SECRET_KEY_BASE", "secret"),
            ("client-key-data", "private-key"),
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
            "render_pass",
            "OLDPWD",
            "cache_key",
            "keyboard",
            "secretary",
            "tokenizer",
            "id",
            "",
            "k",
        ] {
            assert_eq!(keys.classify(name.as_bytes()), None, "{name}");
        }
        assert_eq!(keys.class(b"primary_key"), KeyClass::Plain);
        assert_eq!(keys.class(b"sort-key"), KeyClass::Plain);
        assert_eq!(keys.class(b"datadogKey"), KeyClass::Secret("api-key", Strength::Weak));
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
        for ending in ENDINGS {
            let name = format!("x_{}", ending.text);
            for name in [name.clone(), name.to_uppercase(), format!("{name}_2")] {
                assert!(SECRET_TAILS.may_end(trim_number(name.as_bytes())), "{name}");
            }
        }
        for name in EXEMPT.iter().chain(SCHEMA_MAPS) {
            assert!(OTHER_TAILS.may_end(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn every_ending_ends_a_name() {
        let keys = keys(&Rules::default());
        for ending in ENDINGS {
            let before = if ending.before == Before::Nothing { "" } else { "vendor_" };
            for name in [ending.text.to_owned(), format!("{before}{}", ending.text)] {
                assert!(matches!(keys.class(name.as_bytes()), KeyClass::Secret(..)), "{name}");
            }
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
