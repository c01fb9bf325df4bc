//! The catalogue of rules, and what a user may change about it.

use regex::bytes::Regex;

/// A rule that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name, as it stands in markers and in the configuration.
    pub name: &'static str,
    /// What it recognises.
    pub what: &'static str,
}

macro_rules! rules {
    ($($constant:ident $name:literal $what:literal)*) => {
        $(pub(super) const $constant: &str = $name;)*

        /// Every rule that comes with the program.
        pub const RULES: &[Rule] = &[$(Rule { name: $name, what: $what }),*];
    };
}

rules! {
    PASSWORD "password" "members and assignments named `password`, `passwd`, `pwd`, `passphrase` or ending so; not `pwd` with an absolute path, which is the working directory"
    SECRET "secret" "members and assignments named `secret` or ending so (`client_secret`), `signing_key`, `encryption_key`"
    TOKEN "token" "members and assignments named `token` or ending so (`access_token`), `jwt`, `bearer`; strings only, and no cursors, counts or progress tokens"
    API_KEY "api-key" "members and assignments named `api_key`, `apikey`, `x-api-key`, `access_key` or ending so"
    AUTHORIZATION "authorization" "the headers `Authorization` and `Proxy-Authorization`, as members and in text"
    COOKIE "cookie" "the headers `Cookie` and `Set-Cookie`, as members and in text, and members named `cookies`"
    PRIVATE_KEY "private-key" "members and assignments named `private_key` or ending so"
    CREDENTIALS "credentials" "every string below members named `credentials` or ending so"
    CONNECTION_STRING "connection-string" "members and assignments named `connection_string` or `dsn`"
    QUERY "query" "the query parameters `key`, `sig`, `signature`, `auth` (others go by their names' rules)"
    AWS "aws" "AWS access key ids: `AKIA…`, `ASIA…`"
    GITHUB "github" "GitHub tokens, classic (`ghp_…` and its kin) and fine-grained (`github_pat_…`)"
    GITLAB "gitlab" "GitLab tokens: `glpat-…`"
    SLACK "slack" "Slack tokens and webhooks: `xoxb-…` and its kin, `xapp-…`, `hooks.slack.com/services/…`"
    STRIPE "stripe" "Stripe keys: `sk_live_…`, `rk_test_…`, `whsec_…`"
    SK_KEY "sk-key" "keys in the style of OpenAI and Anthropic: `sk-…`"
    GOOGLE "google" "Google API keys: `AIza…`"
    NPM "npm" "npm tokens: `npm_…`"
    HUGGING_FACE "hugging-face" "Hugging Face tokens: `hf_…`"
    SENDGRID "sendgrid" "SendGrid keys: `SG.….…`"
    JWT "jwt" "JSON Web Tokens: `eyJ….….…`"
    PEM "pem" "PEM blocks: `-----BEGIN …` to `-----END …-----`"
    BEARER "bearer" "the credentials after `Bearer`"
    BASIC "basic" "the credentials after `Basic`"
    URL_PASSWORD "url-password" "passwords in URLs: `scheme://user:password@host`"
    KEY_PATH "key-path" "paths of private keys: `~/.ssh/id_ed25519`, `/etc/ssl/server.pem`"
}

/// A pattern of the user's own.
#[derive(Debug, Clone)]
pub struct CustomPattern {
    /// The rule's name in markers.
    pub name: String,
    /// What it matches.
    pub regex: Regex,
}

/// What the user wants to be different from the defaults.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Names of rules to leave out.
    pub disabled: Vec<String>,
    /// Names and regular expressions to add; they see string values and text, unescaped.
    pub patterns: Vec<(String, String)>,
    /// Members whose values are secret too: exact names, or patterns with `*`.
    pub keys: Vec<String>,
    /// Members whose values are never secret by their name.
    pub allowed_keys: Vec<String>,
}

/// The user's rules can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A rule to be left out doesn't exist.
    #[error("there is no redaction rule named `{name}`; the rules are {}", names().join(", "))]
    UnknownRule {
        /// The name that was given.
        name: String,
    },
    /// A rule's name can't stand in a marker.
    #[error("the redaction rule name `{name}` must be made of letters, digits and hyphens")]
    RuleName {
        /// The name that was given.
        name: String,
    },
    /// A regular expression can't be read.
    #[error("the redaction pattern `{name}` is no regular expression")]
    Pattern {
        /// The pattern's name.
        name: String,
        /// Why.
        #[source]
        source: Box<regex::Error>,
    },
    /// A pattern would match everywhere.
    #[error("the redaction pattern `{name}` matches the empty text, and so everything")]
    EmptyPattern {
        /// The pattern's name.
        name: String,
    },
    /// A key pattern is empty.
    #[error("a redaction key may not be empty or only `*`")]
    EmptyKey,
}

impl Rules {
    /// The names of the built-in rules that are on.
    pub(super) fn enabled(&self) -> Result<Vec<&'static str>, RuleError> {
        if let Some(name) = self.disabled.iter().find(|name| !names().contains(&name.as_str())) {
            return Err(RuleError::UnknownRule { name: name.clone() });
        }
        Ok(names().into_iter().filter(|rule| !self.disabled.iter().any(|name| name == rule)).collect())
    }

    pub(super) fn custom_patterns(&self) -> Result<Vec<CustomPattern>, RuleError> {
        self.patterns.iter().map(|(name, pattern)| custom_pattern(name, pattern)).collect()
    }
}

fn custom_pattern(name: &str, pattern: &str) -> Result<CustomPattern, RuleError> {
    let name = name.to_owned();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Err(RuleError::RuleName { name });
    }
    match Regex::new(pattern) {
        Ok(regex) if regex.is_match(b"") => Err(RuleError::EmptyPattern { name }),
        Ok(regex) => Ok(CustomPattern { name, regex }),
        Err(source) => Err(RuleError::Pattern { name, source: Box::new(source) }),
    }
}

fn names() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.name).collect()
}
