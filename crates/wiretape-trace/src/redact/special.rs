//! Tokens and addresses without a prefix: what identifies them is in their middle or at their end.
//!
//! A table row (see `providers`) starts at a fixed prefix, which these don't have. The functions named after
//! a mark (`dot`, `colon` …) run at every such mark of every text, so they compare a few bytes at fixed
//! distances; only then does [`check`] parse the token.

use super::documents;
use super::marker::Marker;
use super::rules;
use super::text::{Check, Hit, Memo, SecretMatch, begins_word, has_digit, run, url_safe};
use super::values;

/// The formats that are recognised by code instead of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `[3 characters][digit]Q~[31 characters and more]`
    AzureSecret,
    /// A key that contains the fixed signature of an Azure service, such as `AZDO` or `+ASt`.
    AzureKey,
    NewRelic,
    /// `AAAA[7 characters]:APA91b[134 characters]`
    Firebase,
    /// `s.[24 characters]`, the service tokens of Vault before 1.10.
    Vault,
    /// `SK` and 32 hexadecimal digits.
    Twilio,
    OpenShift,
    Salesforce,
    PasswordHash,
    Discord,
    Telegram,
    Mailchimp,
    Mailgun,
    MaxMind,
    Terraform,
    Airtable,
    Zai,
    Fal,
    Twitter,
    AstraCs,
    JetBrains,
    Braintree,
    Putty,
    PgPass,
    PagerDuty,
    Asana,
    Tableau,
    /// `[64 characters]_[4 characters]_[UUID]`
    Webex,
    /// `2[26 characters]_[20 to 22 characters]`
    Ngrok,
    /// `AA[40 hexadecimal digits]-NRMA`
    NewRelicMobile,
    /// `[number]-[64 characters]`
    TrueNas,
    /// `[6 characters].[6 characters]:[43 characters]`
    Ably,
    /// `[UUID]:fx`
    DeepL,
    /// `0.[UUID].[secret]:[key]`
    Bitwarden,
    /// `0.A[50 characters and more]`, the refresh tokens of Microsoft Entra.
    EntraRefresh,
    /// A Tinybird token: `p.eyJ…`.
    Tinybird,
    /// A Kubernetes secret in YAML: found by [`super::documents`].
    Kubernetes,
    /// A webhook URL; the secret begins this many bytes after the mark.
    Webhook(u8),
}

pub(super) const TWILIO: Check = Check::Special(Form::Twilio);
pub(super) const AZURE_KEY: Check = Check::Special(Form::AzureKey);

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

/// Whether exactly N bytes of a class end at `at`.
fn exactly_before(text: &[u8], at: usize, count: usize, allowed: impl Fn(u8) -> bool) -> bool {
    let Some(start) = at.checked_sub(count) else { return false };
    text[start..at].iter().all(|&byte| allowed(byte))
        && start.checked_sub(1).is_none_or(|before| !text[before].is_ascii_alphanumeric())
}

/// Whether at least N bytes of a class end at `at`. Backwards, because the byte next to the mark rules out most texts.
fn ends_with(text: &[u8], at: usize, count: usize, allowed: impl Fn(u8) -> bool) -> bool {
    at >= count && text[at - count..at].iter().rev().all(|&byte| allowed(byte))
}

/// The end of exactly N bytes of a class that start at `at`.
fn exactly(text: &[u8], at: usize, count: usize, allowed: impl Fn(u8) -> bool) -> Option<usize> {
    let end = at.checked_add(count)?;
    let is_run = text.get(at..end)?.iter().all(|&byte| allowed(byte));
    (is_run && text.get(end).is_none_or(|&byte| !allowed(byte))).then_some(end)
}

pub(super) fn underscore(text: &[u8], mark: usize) -> Option<Hit> {
    let form = match text.get(mark + 1)? {
        b'm' if text[mark + 1..].starts_with(b"mmk") => Form::MaxMind,
        b'N' if text[mark + 1..].starts_with(b"NbAkKc") => Form::PagerDuty,
        _ if text.get(mark + 5) == Some(&b'_') && text.get(mark + 14) == Some(&b'-') => Form::Webex,
        _ if mark >= 27
            && text[mark - 27] == b'2'
            && text[mark - 27..mark].iter().all(u8::is_ascii_alphanumeric) =>
        {
            Form::Ngrok
        }
        _ => return None,
    };
    Some(Check::Special(form).at(mark))
}

pub(super) fn hyphen(text: &[u8], mark: usize) -> Option<Hit> {
    if !text[..mark].last().is_some_and(u8::is_ascii_hexdigit) {
        return None;
    }
    let form = match text.get(mark + 1..mark + 4)? {
        [b'u', b's', b'0'..=b'9'] => Form::Mailchimp,
        b"NRM" => Form::NewRelicMobile,
        _ if text.get(mark + 9) == Some(&b'-') && ends_with(text, mark, 32, hex) => Form::Mailgun,
        _ if text[mark - 1].is_ascii_digit() && ends_with(text, mark, 15, |byte| byte.is_ascii_digit()) => {
            Form::Twitter
        }
        // The last of the 64 characters is tested before all of them are: most numbers precede short words.
        _ if text[mark - 1].is_ascii_digit()
            && text.get(mark + 64).is_some_and(u8::is_ascii_alphanumeric)
            && exactly(text, mark + 1, 64, |byte| byte.is_ascii_alphanumeric()).is_some() =>
        {
            Form::TrueNas
        }
        _ => return None,
    };
    Some(Check::Special(form).at(mark))
}

/// Webhook URLs, from the byte after the dot before the domain. The secret follows the text.
const WEBHOOKS: &[&str] = &[
    "slack.com/services/",
    "slack.com/workflows/",
    "slack.com/triggers/",
    "office.com/webhook/",
    "office.com/webhookb2/",
    "zapier.com/hooks/catch/",
    "ifttt.com/trigger/",
    "tines.com/webhook/",
    "feishu.cn/open-apis/bot/v2/hook/",
    "larksuite.com/open-apis/bot/v2/hook/",
    "chime.aws/incomingwebhooks/",
    "rocket.chat/hooks/",
];

pub(super) fn dot(text: &[u8], mark: usize) -> Option<Hit> {
    let (before, after) = (&text[..mark], &text[mark + 1..]);
    let form = match after.first()? {
        b'e' if before.ends_with(b"p") && after.starts_with(b"eyJ") => Form::Tinybird,
        b'A' if matches!(before.last(), Some(b'0' | b'1')) && begins_word(text, mark - 1) => {
            Form::EntraRefresh
        }
        b'a' if after.starts_with(b"atlasv1.") => Form::Terraform,
        b's' | b'c' | b'o' | b'z' | b'i' | b't' | b'f' | b'l' | b'm' | b'r'
            if webhook(before, after).is_some() =>
        {
            Form::Webhook(webhook(before, after)?)
        }
        _ if *before.last()? == b's' && is_vault_token(before, after) => Form::Vault,
        _ if after.get(6) == Some(&b'.') && ends_with(text, mark, 23, url_safe) => Form::Discord,
        _ if *before.last()? == b'0' && after.get(36) == Some(&b'.') && after[8] == b'-' => Form::Bitwarden,
        _ if mark >= 17
            && &text[mark - 17..mark - 14] == b"pat"
            && ends_with(text, mark, 14, |byte| byte.is_ascii_alphanumeric()) =>
        {
            Form::Airtable
        }
        // All of the digits: a decimal number is a digit and a dot, too, and sent nearly every table of prices through
        // the slow walk (`cargo xtask bench --only redaction`, the row "JSON in a string").
        _ if after.len() >= 16 && ends_with(text, mark, 32, hex) => Form::Zai,
        _ => return None,
    };
    Some(Check::Special(form).at(mark))
}

/// Whether `s` and a dot are followed by an older Vault token, rather than by the member of something called `s`.
fn is_vault_token(before: &[u8], after: &[u8]) -> bool {
    if !begins_word(before, before.len() - 1) {
        return false;
    }
    let Some(end) = exactly(after, 0, 24, |byte| byte.is_ascii_alphanumeric()) else { return false };
    // A name in camel case has no digit and a capital letter every few letters; of random letters every other one is.
    let capitals = after[..end].iter().filter(|byte| byte.is_ascii_uppercase()).count();
    (8..=20).contains(&capitals) || has_digit(&after[..end]) && capitals > 0
}

/// The length of the part of a webhook URL between the mark and the secret.
fn webhook(before: &[u8], after: &[u8]) -> Option<u8> {
    let ends = |host: &[u8], window: usize| {
        memchr::memmem::find(&before[before.len().saturating_sub(window)..], host).is_some()
    };
    let found = match after.first_chunk()? {
        b"com/" if after.starts_with(b"com/api/webhooks/") => {
            ends(b"discord", 12).then_some("com/api/webhooks/")
        }
        b"com/" if after.starts_with(b"com/hooks/") => ends(b"mattermost", 24).then_some("com/hooks/"),
        b"make" if after.starts_with(b"make.com/") => ends(b"hook", 10).then_some("make.com/"),
        b"slac" | b"offi" | b"zapi" | b"iftt" | b"tine" | b"feis" | b"lark" | b"chim" | b"rock" => {
            WEBHOOKS.iter().find(|address| after.starts_with(address.as_bytes())).copied()
        }
        _ => None,
    };
    found.and_then(|found| u8::try_from(found.len()).ok())
}

pub(super) fn colon(text: &[u8], mark: usize) -> Option<Hit> {
    let (&before, &after) = (text[..mark].last()?, text.get(mark + 1)?);
    let form = match after {
        b'A' if text[mark + 1..].starts_with(b"APA91b") => Form::Firebase,
        b'A' if ends_with(text, mark, 7, |byte| byte.is_ascii_digit()) => Form::Telegram,
        b'0'..=b'9' | b'*' if documents::is_port(&text[mark + 1..]) => Form::PgPass,
        b' ' if before == b'd'
            && text[..mark].ends_with(b"kind")
            && text[mark + 2..].starts_with(b"Secret") =>
        {
            Form::Kubernetes
        }
        b' ' if before == b's' && text[..mark].ends_with(b"Private-Lines") => Form::Putty,
        b'0'..=b'9' | b'a'..=b'f' if mark >= 12 && text[mark - 12..mark].iter().all(u8::is_ascii_digit) => {
            Form::Asana
        }
        _ if before == b'=' && text[..mark].ends_with(b"==") => Form::Tableau,
        _ if before == b'S' && text[..mark].ends_with(b"AstraCS") => Form::AstraCs,
        _ if before == b'm' && text[..mark].ends_with(b"perm") => Form::JetBrains,
        b'f' if text[mark + 1..].starts_with(b"fx") && ends_with_uuid(text, mark) => Form::DeepL,
        _ if ends_with_uuid(text, mark) => Form::Fal,
        _ if mark >= 13
            && text[mark - 7] == b'.'
            && ends_with(text, mark, 6, url_safe)
            && text.get(mark + 43).is_some_and(|&byte| url_safe(byte)) =>
        {
            Form::Ably
        }
        _ => return None,
    };
    Some(Check::Special(form).at(mark))
}

/// Whether a UUID ends at `at`.
fn ends_with_uuid(text: &[u8], at: usize) -> bool {
    at >= 36 && text[at - 13] == b'-' && values::is_uuid(&text[at - 36..at])
}

/// A hit at `~`, `!` or `$`.
pub(super) fn rare(text: &[u8], mark: usize) -> Option<Hit> {
    let before = &text[..mark];
    let form = match text[mark] {
        b'~' if before.ends_with(b"Q") => Form::AzureSecret,
        b'~' if before.ends_with(b"sha256") => Form::OpenShift,
        b'!' if mark >= 15 && &text[mark - 15..mark - 13] == b"00" => Form::Salesforce,
        b'$' if before.ends_with(b"access_token") => Form::Braintree,
        b'$' if hash_scheme(&text[mark..]).is_some() => Form::PasswordHash,
        _ => return None,
    };
    Some(Check::Special(form).at(mark))
}

/// The least length of a password hash in the format of `crypt`, if one begins here.
fn hash_scheme(text: &[u8]) -> Option<usize> {
    const SCHEMES: &[(&[u8], usize)] = &[
        (b"$2a$", 50),
        (b"$2b$", 50),
        (b"$2y$", 50),
        (b"$2x$", 50),
        (b"$krb5", 60),
        (b"$8$", 50),
        (b"$9$", 50),
        (b"$1$", 24),
        (b"$5$", 43),
        (b"$6$", 60),
        (b"$y$", 50),
        (b"$apr1$", 24),
        (b"$argon2", 40),
        (b"$scrypt$", 40),
        (b"$pbkdf2", 40),
    ];
    SCHEMES.iter().find(|(scheme, _)| text.starts_with(scheme)).map(|(_, least)| *least)
}

/// Parses a token of the given form around a hit. The lengths are those that the providers document or that
/// their tokens have had so far.
pub(super) fn check(text: &[u8], hit: Hit, form: Form) -> Option<SecretMatch> {
    let mark = hit.at;
    match form {
        Form::AzureSecret => azure_secret(text, mark),
        Form::AzureKey => azure_key(text, hit),
        Form::Firebase => firebase(text, mark),
        Form::Vault => Some(SecretMatch { start: mark - 1, end: mark + 25, rule: "vault" }),
        Form::NewRelic => new_relic(text, mark, hit.len),
        Form::Twilio => twilio(text, mark),
        Form::OpenShift => openshift(text, mark),
        Form::Salesforce => salesforce(text, mark),
        Form::Braintree => braintree(text, mark),
        Form::PasswordHash => password_hash(text, mark),
        Form::Discord => discord(text, mark),
        Form::Telegram => telegram(text, mark),
        Form::Mailchimp => mailchimp(text, mark),
        Form::Mailgun => mailgun(text, mark),
        Form::MaxMind => maxmind(text, mark),
        Form::Terraform => terraform(text, mark),
        Form::Airtable => airtable(text, mark),
        Form::Zai => zai(text, mark),
        Form::Fal => fal(text, mark),
        Form::Twitter => twitter(text, mark),
        Form::AstraCs => astra_cs(text, mark),
        Form::JetBrains => jetbrains(text, mark),
        Form::Webex => webex(text, mark),
        Form::Ngrok => ngrok(text, mark),
        Form::NewRelicMobile => new_relic_mobile(text, mark),
        Form::TrueNas => truenas(text, mark),
        Form::Ably => ably(text, mark),
        Form::DeepL => deepl(text, mark),
        Form::Bitwarden => bitwarden(text, mark),
        Form::EntraRefresh => entra_refresh(text, mark),
        Form::Putty => putty(text, mark),
        Form::Tinybird => tinybird(text, mark),
        Form::Asana => asana(text, mark),
        Form::Tableau => tableau(text, mark),
        Form::PagerDuty => pagerduty(text, mark),
        Form::PgPass => documents::pgpass(text, mark),
        Form::Kubernetes => None,
        Form::Webhook(length) => webhook_url(text, mark, length),
    }
}

fn azure_secret(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(5)?;
    let allowed = |byte: u8| url_safe(byte) || matches!(byte, b'~' | b'.');
    let end = run(&text[..text.len().min(mark + 64)], mark, allowed);
    (text[mark - 2].is_ascii_digit() && begins_word(text, start) && (28..=40).contains(&(end - mark)))
        .then_some(SecretMatch { start, end, rule: "azure" })
}

fn firebase(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(11)?;
    let end = run(&text[..text.len().min(mark + 256)], mark + 1, url_safe);
    (end - mark > 100 && text[start..mark].iter().all(|&byte| url_safe(byte))).then_some(SecretMatch {
        start,
        end,
        rule: "firebase",
    })
}

fn new_relic(text: &[u8], mark: usize, length: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(32)?;
    (exactly_before(text, mark, 32, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()))
        .then_some(SecretMatch { start, end: mark + length, rule: "new-relic" })
}

fn twilio(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = exactly(text, mark + 2, 32, hex).filter(|_| begins_word(text, mark))?;
    Some(SecretMatch { start: mark, end, rule: "twilio" })
}

fn openshift(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = run(text, mark + 1, url_safe);
    (end - mark > 40).then_some(SecretMatch { start: mark - 6, end, rule: "openshift" })
}

fn salesforce(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark - 15;
    let end = run(text, mark + 1, |byte| url_safe(byte) || byte == b'.');
    let is_id = text[start..mark].iter().all(u8::is_ascii_alphanumeric) && begins_word(text, start);
    (is_id && end - mark > 60).then_some(SecretMatch { start, end, rule: "salesforce" })
}

fn braintree(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = run(text, mark, |byte| byte.is_ascii_alphanumeric() || byte == b'$');
    (end - mark > 40).then_some(SecretMatch { start: mark - "access_token".len(), end, rule: "braintree" })
}

fn password_hash(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let least = hash_scheme(&text[mark..])?;
    let end = run(&text[..text.len().min(mark + 512)], mark, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'$' | b'.' | b'/' | b'+' | b'=' | b',' | b'-')
    });
    (end - mark >= least).then_some(SecretMatch { start: mark, end, rule: "password-hash" })
}

fn telegram(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let id = text[..mark].iter().rev().take(12).take_while(|byte| byte.is_ascii_digit()).count();
    let end = run(&text[..text.len().min(mark + 64)], mark + 1, url_safe);
    let start = mark - id;
    let is_bot = text[..start].ends_with(b"bot") || begins_word(text, start);
    ((7..=11).contains(&id) && is_bot && (34..=37).contains(&(end - mark - 1))).then_some(SecretMatch {
        start,
        end,
        rule: "telegram",
    })
}

fn mailchimp(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = run(&text[..text.len().min(mark + 6)], mark + 3, |byte| byte.is_ascii_digit());
    exactly_before(text, mark, 32, hex).then(|| SecretMatch { start: mark - 32, end, rule: "mailchimp" })
}

fn mailgun(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = exactly(text, mark + 1, 8, hex).and_then(|middle| exactly(text, middle + 1, 8, hex))?;
    exactly_before(text, mark, 32, hex).then(|| SecretMatch { start: mark - 32, end, rule: "mailgun" })
}

fn maxmind(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(36)?;
    let is_key =
        text[mark - 30] == b'_' && exactly_before(text, mark - 30, 6, |byte| byte.is_ascii_alphanumeric());
    (is_key && text[mark - 29..mark].iter().all(u8::is_ascii_alphanumeric)).then_some(SecretMatch {
        start,
        end: mark + 4,
        rule: "maxmind",
    })
}

fn terraform(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = run(text, mark + ".atlasv1.".len(), |byte| url_safe(byte) || byte == b'=');
    let start =
        mark - text[..mark].iter().rev().take(20).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (mark - start >= 10 && end - mark > 40).then_some(SecretMatch { start, end, rule: "terraform" })
}

fn airtable(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark - 17;
    let end = run(&text[..text.len().min(mark + 80)], mark + 1, hex);
    let is_token = begins_word(text, start) && text[start..mark].iter().all(u8::is_ascii_alphanumeric);
    (is_token && end - mark > 60).then_some(SecretMatch { start, end, rule: "airtable" })
}

fn zai(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = exactly(text, mark + 1, 16, |byte| byte.is_ascii_alphanumeric())?;
    (exactly_before(text, mark, 32, hex) && has_digit(&text[mark + 1..end])).then_some(SecretMatch {
        start: mark - 32,
        end,
        rule: "zai",
    })
}

fn fal(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = exactly(text, mark + 1, 32, hex)?;
    begins_word(text, mark - 36).then_some(SecretMatch { start: mark - 36, end, rule: "fal" })
}

fn twitter(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let digits = text[..mark].iter().rev().take(26).take_while(|byte| byte.is_ascii_digit()).count();
    let start = mark - digits;
    let end = run(&text[..text.len().min(mark + 64)], mark + 1, |byte| byte.is_ascii_alphanumeric());
    let body = &text[mark + 1..end];
    let is_mixed = body.iter().any(u8::is_ascii_lowercase) && body.iter().any(u8::is_ascii_uppercase);
    ((15..=25).contains(&digits) && (30..=50).contains(&body.len()) && is_mixed && begins_word(text, start))
        .then_some(SecretMatch { start, end, rule: "twitter" })
}

fn astra_cs(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = run(text, mark + 1, |byte| byte.is_ascii_alphanumeric() || byte == b':');
    (end - mark > 20).then_some(SecretMatch { start: mark - 7, end, rule: "datastax" })
}

fn jetbrains(text: &[u8], mark: usize) -> Option<SecretMatch> {
    // Bounded, or each mark of `perm-perm-perm-…` would be measured to the end. Real tokens have about a hundred characters.
    let end = run(&text[..text.len().min(mark + 512)], mark + 1, |byte| {
        url_safe(byte) || matches!(byte, b'.' | b'=' | b'+' | b'/')
    });
    let dots = memchr::memchr_iter(b'.', &text[mark..end]).count();
    (end - mark > 40 && dots == 2 && begins_word(text, mark - 4)).then_some(SecretMatch {
        start: mark - 4,
        end,
        rule: "jetbrains",
    })
}

fn webex(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(64)?;
    let is_token = exactly_before(text, mark, 64, |byte| byte.is_ascii_alphanumeric())
        && text.get(mark + 6..mark + 42).is_some_and(values::is_uuid);
    is_token.then_some(SecretMatch { start, end: mark + 42, rule: "webex" })
}

fn ngrok(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = run(&text[..text.len().min(mark + 32)], mark + 1, |byte| byte.is_ascii_alphanumeric());
    let is_token = exactly_before(text, mark, 27, |byte| byte.is_ascii_alphanumeric())
        && (20..=23).contains(&(end - mark - 1))
        && is_varied(&text[mark - 27..end]);
    is_token.then_some(SecretMatch { start: mark - 27, end, rule: "ngrok" })
}

fn new_relic_mobile(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(42)?;
    let is_token = text[mark + 1..].starts_with(b"NRMA")
        && exactly_before(text, mark, 42, |byte| byte.is_ascii_alphanumeric());
    is_token.then_some(SecretMatch { start, end: mark + 5, rule: "new-relic" })
}

fn truenas(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let digits = text[..mark].iter().rev().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    let end = exactly(text, mark + 1, 64, |byte| byte.is_ascii_alphanumeric())?;
    // A hash after a number has no capital letters.
    (digits < 6 && begins_word(text, mark - digits) && is_varied(&text[mark..end])).then_some(SecretMatch {
        start: mark - digits,
        end,
        rule: "truenas",
    })
}

fn ably(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark - 13;
    let end = exactly(text, mark + 1, 43, url_safe)?;
    let is_name = |part: &[u8]| part.iter().all(|&byte| url_safe(byte));
    (is_name(&text[start..mark - 7]) && is_name(&text[mark - 6..mark]) && begins_word(text, start))
        .then_some(SecretMatch { start, end, rule: "ably" })
}

fn deepl(text: &[u8], mark: usize) -> Option<SecretMatch> {
    begins_word(text, mark - 36).then_some(SecretMatch { start: mark - 36, end: mark + 3, rule: "deepl" })
}

fn bitwarden(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let is_id = text.get(mark + 1..mark + 37).is_some_and(values::is_uuid);
    let end = run(&text[..text.len().min(mark + 160)], mark + 37, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'+' | b'/' | b'=')
    });
    (is_id && begins_word(text, mark - 1) && end - mark > 60).then_some(SecretMatch {
        start: mark - 1,
        end,
        rule: "bitwarden",
    })
}

fn entra_refresh(text: &[u8], mark: usize) -> Option<SecretMatch> {
    // Bounded like JetBrains' above; these have up to two thousand characters.
    let window = &text[..text.len().min(mark + 4096)];
    let first = run(&window[..window.len().min(mark + 256)], mark + 1, url_safe);
    let end =
        if first - mark > 50 { run(window, mark, |byte| url_safe(byte) || byte == b'.') } else { first };
    (first - mark > 50).then_some(SecretMatch { start: mark - 1, end, rule: "azure" })
}

fn tinybird(text: &[u8], mark: usize) -> Option<SecretMatch> {
    // Before the run is measured: in one long run of such marks each would be measured to its end.
    let start = Some(mark - 1).filter(|&start| begins_word(text, start))?;
    let end = run(text, mark, |byte| url_safe(byte) || byte == b'.');
    (end - mark > 40).then_some(SecretMatch { start, end, rule: "tinybird" })
}

fn asana(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let end = exactly(text, mark + 1, 32, hex)?;
    let id = text[..mark].iter().rev().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    // `1/<user>:…`, or `2/<user>/<token>:…`.
    let first = (mark - id).checked_sub(2).filter(|&at| text[at].is_ascii_digit() && text[at + 1] == b'/')?;
    let digits = text[..first].iter().rev().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    let start = match first.checked_sub(digits + 2) {
        Some(start) if digits > 0 && matches!(&text[start..start + 2], b"1/" | b"2/") => start,
        _ => first,
    };
    Some(SecretMatch { start, end, rule: "asana" })
}

fn tableau(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(24)?;
    let end = exactly(text, mark + 1, 32, |byte| byte.is_ascii_alphanumeric())?;
    let is_id =
        text[start..mark - 2].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    is_id.then_some(SecretMatch { start, end, rule: "tableau" })
}

fn pagerduty(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let start = mark.checked_sub(1).filter(|&start| begins_word(text, start))?;
    let end = run(text, mark, url_safe);
    (end - mark >= 18).then_some(SecretMatch { start, end, rule: "pagerduty" })
}

fn webhook_url(text: &[u8], mark: usize, length: u8) -> Option<SecretMatch> {
    let start = mark + 1 + usize::from(length);
    let end = run(text, start, |byte| url_safe(byte) || matches!(byte, b'/' | b'@' | b'.' | b'%'));
    let rule = if text[mark + 1..].starts_with(b"slack") { rules::SLACK } else { rules::WEBHOOK };
    (end - start >= 16).then_some(SecretMatch { start, end, rule })
}

/// Where the secret access key ends that follows an access key id, as in `AKIA…:secret` and in the rows of a
/// `credentials.csv`. It has no prefix of its own, so only this place tells it from a hash.
pub(super) fn aws_secret_end(text: &[u8], id_end: usize) -> Option<usize> {
    let between = text[id_end..].iter().take(4).take_while(|byte| b" :,;|/\t\"'".contains(byte)).count();
    let start = id_end + between;
    let end = exactly(text, start, 40, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))?;
    // A SHA-1 next to a key id is more likely a hash than a key of 40 lower-case hexadecimal digits.
    let is_hash = text[start..end].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (between > 0 && !is_hash && is_varied(&text[start..end])).then_some(end)
}

fn is_varied(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_uppercase) && text.iter().any(u8::is_ascii_lowercase)
}

/// The Base64 around the signature of an Azure service: 48 to 92 characters, with the signature near the end.
fn azure_key(text: &[u8], hit: Hit) -> Option<SecretMatch> {
    // Tokens of Azure DevOps consist of letters and digits, and may be part of a path.
    let is_devops = text[hit.at..].starts_with(b"AZDO");
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || !is_devops && matches!(byte, b'+' | b'/' | b'-' | b'_');
    let before = text[..hit.at].iter().rev().take(90).take_while(|&&byte| allowed(byte)).count();
    let start = hit.at - before;
    let mut end = run(&text[..text.len().min(hit.at + 64)], hit.at, allowed);
    let after = end - hit.at;
    while text.get(end) == Some(&b'=') && end < hit.at + 64 {
        end += 1;
    }
    // The position of the signature in keys of 52, 56, 84 or 88 characters.
    ((33..=80).contains(&before)
        && (6..=34).contains(&after)
        && has_digit(&text[start..end])
        && (44..=92).contains(&(end - start)))
    .then_some(SecretMatch { start, end, rule: "azure" })
}

/// A Discord token: the id in Base64, a timestamp and a hash, joined with dots.
fn discord(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let id = text[..mark].iter().rev().take(30).take_while(|&&byte| url_safe(byte)).count();
    let start = mark - id;
    let stamp = text.get(mark + 1..mark + 7)?.iter().all(|&byte| url_safe(byte));
    let end = run(&text[..text.len().min(mark + 56)], mark + 8, url_safe);
    let is_token = (23..=28).contains(&id)
        && (27..=40).contains(&(end - mark - 8))
        // Ids are decimal, and the Base64 of a digit begins with one of these.
        && matches!(text[start], b'M' | b'N' | b'O');
    (is_token && stamp && begins_word(text, start)).then_some(SecretMatch { start, end, rule: "discord" })
}

/// The lines of a PuTTY key after `Private-Lines: <count>`.
fn putty(text: &[u8], mark: usize) -> Option<SecretMatch> {
    let line = memchr::memchr(b'\n', &text[mark..text.len().min(mark + 16)]).map(|at| mark + at + 1)?;
    let count: usize = std::str::from_utf8(&text[mark + 1..line]).ok()?.trim().parse().ok()?;
    let mut end = line;
    // The count comes from the text; no real key is longer.
    for _ in 0..count.min(256) {
        let next = memchr::memchr(b'\n', &text[end..]).map_or(text.len(), |at| end + at + 1);
        end = next;
    }
    let end = line + text[line..end].trim_ascii_end().len();
    (line < end).then_some(SecretMatch { start: line, end, rule: rules::PUTTY })
}

/// Words before a colon and an address that are labels and not users: `email: a@b.c`.
const LABELS: &[&str] = &[
    "email",
    "mail",
    "mailto",
    "e-mail",
    "from",
    "to",
    "cc",
    "bcc",
    "user",
    "username",
    "login",
    "account",
    "contact",
    "author",
    "owner",
    "by",
    "sender",
    "recipient",
    "reply-to",
    "replyto",
    "id",
    "sip",
    "sips",
    "xmpp",
    "acct",
    "ssh",
    "git",
    "scp",
    "name",
    "assignee",
    "subject",
    "uid",
    "upn",
    "principal",
    "npm",
    "docker",
    "image",
    "serviceAccount",
    "member",
    "group",
    "smtp",
    "im",
];

/// Whether a byte may be part of the authority of a URL (RFC 3986, section 3.2), in text that may quote or wrap it.
pub(super) fn is_authority(byte: u8) -> bool {
    !(byte.is_ascii_whitespace() || matches!(byte, b'/' | b'?' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`'))
}

/// The password in `user:password@host`, or a user name that is so long that it must be a token.
pub(super) fn at_sign(text: &[u8], at: usize, memo: &mut Memo) -> Option<SecretMatch> {
    if at < memo.authority {
        return None;
    }
    let before = &text[memo.authority..at];
    let start = at - before.iter().rev().take_while(|&&byte| is_authority(byte)).count();
    // Up to here everything has been read, so a text of many at signs is read once.
    memo.authority = run(text, at, is_authority);
    let authority = &text[start..memo.authority];
    let at_sign = memchr::memrchr(b'@', authority)?;
    let found = |from: usize, to: usize| {
        Some(SecretMatch { start: start + from, end: start + to, rule: rules::URL_PASSWORD })
    };
    // With a scheme, the syntax of URLs shows what is a password. Without one, more evidence is needed.
    let Some(scheme) = text[..start].strip_suffix(b"://") else {
        return without_scheme(text, start, at_sign, authority).and_then(|(from, to)| found(from, to));
    };
    match memchr::memchr(b':', &authority[..at_sign]) {
        _ if !scheme.last().is_some_and(u8::is_ascii_alphanumeric) => None,
        _ if authority.starts_with(Marker::PREFIX) => None,
        Some(colon) if is_placeholder(&authority[colon + 1..at_sign]) => None,
        Some(colon) => found(colon + 1, at_sign),
        // `https://<token>@host`, as Git hosts accept it.
        None if at_sign >= 16 && has_digit(&authority[..at_sign]) => found(0, at_sign),
        None => None,
    }
}

fn is_placeholder(password: &[u8]) -> bool {
    values::is_reference(password)
        || matches!(password, b"password" | b"PASSWORD" | b"pass" | b"***" | b"****")
}

/// The range of the password in an authority without `scheme://`: `user:password@host:port`,
/// `user:password@tcp(host)/db`, `jdbc:oracle:thin:user/password@…`.
fn without_scheme(text: &[u8], start: usize, at_sign: usize, authority: &[u8]) -> Option<(usize, usize)> {
    if text[..start].ends_with(b"/") {
        let lead = &text[start.saturating_sub(96)..start];
        // Oracle separates user and password with a slash, which elsewhere separates directories.
        let is_oracle = memchr::memmem::find(lead, b"jdbc:oracle:").is_some()
            || memchr::memmem::find(lead, b"sqlplus ").is_some();
        return (is_oracle && at_sign >= 3).then_some((0, at_sign));
    }
    let colon = memchr::memchr(b':', &authority[..at_sign])?;
    let user_start =
        authority[..colon].iter().rposition(|byte| !url_safe(*byte) && *byte != b'.').map_or(0, |at| at + 1);
    let user = &authority[user_start..colon];
    let password = &authority[colon + 1..at_sign];
    let host = &authority[at_sign + 1..];
    let is_label = LABELS.iter().any(|label| user.eq_ignore_ascii_case(label.as_bytes()));
    if user.is_empty()
        || is_label
        || password.len() < 4
        || password.contains(&b':')
        || is_placeholder(password)
        || password.starts_with(Marker::PREFIX)
    {
        return None;
    }
    let has_port = host
        .iter()
        .position(|&byte| byte == b':')
        .is_some_and(|at| host.get(at + 1).is_some_and(u8::is_ascii_digit));
    let is_tcp = host.starts_with(b"tcp(") || host.starts_with(b"unix(");
    let has_path = text.get(start + authority.len()) == Some(&b'/');
    // Without a port or a path this may be a label and an e-mail address; then the password has to look like
    // one.
    let is_certain = is_tcp || is_host(host) && (has_port || has_path);
    let is_mixed = has_digit(password) || password.iter().any(u8::is_ascii_punctuation);
    (is_certain || is_host(host) && is_mixed && password.len() >= 6).then_some((colon + 1, at_sign))
}

/// Whether an address begins with a host: `localhost`, a name with a domain, an IPv4 address.
fn is_host(host: &[u8]) -> bool {
    let name = host.iter().position(|byte| !url_safe(*byte) && *byte != b'.').map_or(host, |at| &host[..at]);
    let name = name.strip_suffix(b".").unwrap_or(name);
    if name == b"localhost" {
        return true;
    }
    let Some(last) = memchr::memrchr(b'.', name) else {
        return name.len() < host.len()
            && host[name.len()] == b':'
            && name.first().is_some_and(u8::is_ascii_alphabetic);
    };
    let domain = &name[last + 1..];
    let is_number = memchr::memchr_iter(b'.', name).count() == 3
        && name.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_number || domain.len() >= 2 && domain.iter().all(u8::is_ascii_alphabetic) && last > 0
}
