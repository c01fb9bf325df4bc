//! The catalog of rules, and the user's changes to it.
//!
//! Names are stable: they are written into markers and used in configuration files. Which code implements a
//! rule is not recorded here; the detectors refer to the constants.

use super::custom::CustomToken;
use super::providers;

/// A built-in rule: its name and description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The rule's name, as used in markers and in the configuration.
    pub name: &'static str,
    /// What the rule recognizes, in one line of Markdown for the docs.
    pub what: &'static str,
}

macro_rules! rules {
    ($($constant:ident $name:literal $what:literal)*) => {
        $(pub(super) const $constant: &str = $name;)*

        /// The rules that do not belong to one provider.
        const GENERAL: &[Rule] = &[$(Rule { name: $name, what: $what }),*];
    };
}

rules! {
    PASSWORD "password" "values whose name is or ends in `password`, `passwd`, `pwd`, `pass`, `passphrase` or `otp`; not `pwd` with an absolute path, which is the working directory"
    SECRET "secret" "values whose name is or ends in `secret` (`client_secret`), keys that sign or encrypt (`signing_key`, `master_key`), seed phrases"
    TOKEN "token" "values whose name is or ends in `token` (`access_token`), or is `jwt` or `bearer`; only strings, and not cursors, counts or progress tokens"
    API_KEY "api-key" "values whose name is or ends in `api_key`, `access_key` or `x-api-key`; under other names that end in `key`, only values that look random"
    AUTHORIZATION "authorization" "the headers `Authorization` and `Proxy-Authorization`, as members and in text"
    COOKIE "cookie" "the headers `Cookie` and `Set-Cookie`, as members and in text, and members named `cookies`"
    PRIVATE_KEY "private-key" "values whose name is or ends in `private_key`, `client-key-data`, the private members of JSON Web Keys"
    CREDENTIALS "credentials" "every string below members whose name is or ends in `credentials`; `auth` with a pair or a random value"
    CONNECTION_STRING "connection-string" "values named `connection_string` or `dsn`"
    QUERY "query" "the query parameters `key`, `sig`, `signature`, `auth`, `code` and others (the remaining ones are covered by the rules for names)"
    JWT "jwt" "JSON Web Tokens: `eyJ….….…`"
    PEM "pem" "private keys in PEM: `-----BEGIN … PRIVATE KEY-----` to its end; not certificates and public keys"
    PUTTY "putty" "the private lines of PuTTY's keys"
    BEARER "bearer" "the credentials after `Bearer`"
    BASIC "basic" "the credentials after `Basic`"
    URL_PASSWORD "url-password" "passwords in URLs and addresses: `scheme://user:password@host`, `user:password@host:port`"
    COMMAND_LINE "command-line" "what follows the password options of well-known commands: `curl -u user:…`, `mysql -p…`, `sshpass -p …`"
    SQL "sql" "passwords in SQL: `IDENTIFIED BY '…'`, `WITH PASSWORD '…'`"
    KEY_PATH "key-path" "paths of private keys: `~/.ssh/id_ed25519`, `/etc/ssl/server.pem`; not of certificates"
    REPEATED "repeated" "values that were redacted by name earlier in the session, wherever they appear again"
}

/// All built-in rules: the general ones first, then the providers'.
pub const RULES: &[Rule] = &ALL;

// Concatenated at compile time, because `RULES` is a public constant.
const ALL: [Rule; GENERAL.len() + providers::COUNT] = {
    let mut all = [GENERAL[0]; GENERAL.len() + providers::COUNT];
    let mut count = 0;
    while count < GENERAL.len() {
        all[count] = GENERAL[count];
        count += 1;
    }
    let mut table = 0;
    while table < providers::TABLES.len() {
        let mut at = 0;
        while at < providers::TABLES[table].len() {
            all[count] = providers::TABLES[table][at].rule;
            count += 1;
            at += 1;
        }
        table += 1;
    }
    all
};

/// Names of provider rules that code refers to, beyond the tables.
pub(super) const AWS: &str = "aws";
pub(super) const SLACK: &str = "slack";
pub(super) const WEBHOOK: &str = "webhook";

/// The user's changes to the default rules.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Names of built-in rules to disable.
    pub disabled: Vec<String>,
    /// Names and regular expressions to add. They are matched against unescaped string values and text.
    pub patterns: Vec<(String, String)>,
    /// Token formats to add, matched against the same text.
    pub tokens: Vec<CustomToken>,
    /// Further member names whose values are secret: exact names, or patterns with `*`.
    pub keys: Vec<String>,
    /// Member names whose values are never secret by their name.
    pub allowed_keys: Vec<String>,
}

/// The user's rules can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A rule to be disabled doesn't exist.
    #[error(
        "there is no redaction rule named `{name}`; the rules are {}, and {} of providers (docs/redaction.md lists them)",
        general_names().join(", "),
        RULES.len() - GENERAL.len()
    )]
    UnknownRule {
        /// The name from the configuration.
        name: String,
    },
    /// A rule's name can't be used in a marker.
    #[error("the redaction rule name `{name}` may only contain letters, digits and hyphens")]
    RuleName {
        /// The name from the configuration.
        name: String,
    },
    /// A regular expression can't be parsed.
    #[error("the redaction pattern `{name}` is not a regular expression")]
    Pattern {
        /// The pattern's name in the configuration.
        name: String,
        /// The syntax error, or the size limit that the pattern exceeds.
        #[source]
        source: Box<regex::Error>,
    },
    /// A pattern would match everywhere.
    #[error("the redaction pattern `{name}` matches the empty string, and so matches everywhere")]
    EmptyPattern {
        /// The pattern's name in the configuration.
        name: String,
    },
    /// A token format has no usable prefix.
    #[error(
        "the redaction token `{name}` needs a prefix of visible ASCII characters; without one, use a pattern"
    )]
    TokenPrefix {
        /// The name of the token in the configuration.
        name: String,
    },
    /// A token format allows no length.
    #[error("the minimum length of the redaction token `{name}` ({min}) is greater than the maximum ({max})")]
    TokenRange {
        /// The name of the token in the configuration.
        name: String,
        /// The minimum length that was given.
        min: usize,
        /// The maximum length that was given.
        max: usize,
    },
    /// A token format would match ordinary words.
    #[error(
        "the redaction token `{name}` must be at least {} characters long with its prefix, or it would match ordinary words",
        CustomToken::MIN_LENGTH
    )]
    ShortToken {
        /// The name of the token in the configuration.
        name: String,
    },
    /// A key pattern is empty.
    #[error("a redaction key can't be empty or just `*`")]
    EmptyKey,
}

impl Rules {
    /// The names of the built-in rules that are not disabled. An unknown name is an error: a typo would
    /// silently keep a rule on.
    pub(super) fn enabled(&self) -> Result<Vec<&'static str>, RuleError> {
        if let Some(name) = self.disabled.iter().find(|name| !names().contains(&name.as_str())) {
            return Err(RuleError::UnknownRule { name: name.clone() });
        }
        Ok(names().into_iter().filter(|rule| !self.disabled.iter().any(|name| name == rule)).collect())
    }
}

fn general_names() -> Vec<&'static str> {
    GENERAL.iter().map(|rule| rule.name).collect()
}

fn names() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.name).collect()
}
