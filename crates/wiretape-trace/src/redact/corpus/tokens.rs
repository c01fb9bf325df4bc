//! Tokens of every format of the tables, and tokens as providers document them, written down apart from the tables.

use super::super::format::FORMATS;
use super::{ALPHANUMERIC, BASE64, HEX, Random};

/// A kind of token, and one of it.
pub(super) struct Token {
    pub(super) kind: String,
    pub(super) text: String,
}

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER_DIGITS: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const DIGITS: &str = "0123456789";
const URL_SAFE: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

/// Fixed text, and an alphabet with a length.
type Part = (&'static str, &'static str, usize);

/// Kinds, and what their tokens are made of: fixed text, and alphabets with lengths. The fixed text is cut, so that no scanner
/// takes it for a token.
const DOCUMENTED: &[(&str, &[Part])] = &[
    ("aws access key", &[("AK", "", 0), ("IA", BASE32, 16)]),
    ("aws temporary key", &[("AS", "", 0), ("IA", BASE32, 16)]),
    ("aws key of letters", &[("AK", "", 0), ("IA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 16)]),
    ("github classic", &[("gh", "", 0), ("p_", ALPHANUMERIC, 36)]),
    ("github classic of letters", &[("gh", "", 0), ("p_", LETTERS, 36)]),
    ("github oauth", &[("gh", "", 0), ("o_", ALPHANUMERIC, 36)]),
    ("github server", &[("gh", "", 0), ("s_", ALPHANUMERIC, 36)]),
    ("github refresh", &[("gh", "", 0), ("r_", ALPHANUMERIC, 76)]),
    ("github fine-grained", &[("github", "", 0), ("_pat_", ALPHANUMERIC, 22), ("_", ALPHANUMERIC, 59)]),
    ("gitlab", &[("gl", "", 0), ("pat-", URL_SAFE, 20)]),
    ("gitlab routable", &[("gl", "", 0), ("pat-", ALPHANUMERIC, 27), (".01.", LOWER_DIGITS, 9)]),
    ("gitlab runner", &[("gl", "", 0), ("rt-", ALPHANUMERIC, 20)]),
    ("slack bot", &[("xo", "", 0), ("xb-", DIGITS, 12), ("-", DIGITS, 12), ("-", ALPHANUMERIC, 24)]),
    (
        "slack user",
        &[("xo", "", 0), ("xp-", DIGITS, 12), ("-", DIGITS, 12), ("-", DIGITS, 12), ("-", HEX, 32)],
    ),
    ("slack app", &[("xa", "", 0), ("pp-1-A", UPPER, 10), ("-", DIGITS, 13), ("-", HEX, 64)]),
    ("slack config", &[("xo", "", 0), ("xe.xo", "", 0), ("xp-1-", ALPHANUMERIC, 163)]),
    ("stripe live", &[("sk", "", 0), ("_live_", ALPHANUMERIC, 24)]),
    ("stripe live of letters", &[("sk", "", 0), ("_live_", LETTERS, 24)]),
    ("stripe long", &[("sk", "", 0), ("_live_51", ALPHANUMERIC, 97)]),
    ("stripe restricted", &[("rk", "", 0), ("_live_", ALPHANUMERIC, 24)]),
    ("stripe webhook", &[("wh", "", 0), ("sec_", BASE64, 32)]),
    ("openai", &[("sk", "", 0), ("-", ALPHANUMERIC, 20), ("T3Blbk", "", 0), ("FJ", ALPHANUMERIC, 20)]),
    ("openai project", &[("sk", "", 0), ("-proj-", URL_SAFE, 74), ("T3Blbk", "", 0), ("FJ", URL_SAFE, 74)]),
    ("anthropic", &[("sk", "", 0), ("-ant-api03-", URL_SAFE, 93), ("AA", "", 0)]),
    ("openrouter", &[("sk", "", 0), ("-or-v1-", HEX, 64)]),
    ("google api key", &[("AI", "", 0), ("zaSy", URL_SAFE, 33)]),
    ("google oauth", &[("ya", "", 0), ("29.a0", URL_SAFE, 150)]),
    ("google refresh", &[("1/", "", 0), ("/0g", URL_SAFE, 60)]),
    ("google client secret", &[("GOC", "", 0), ("SPX-", URL_SAFE, 28)]),
    ("npm", &[("np", "", 0), ("m_", ALPHANUMERIC, 36)]),
    ("pypi", &[("py", "", 0), ("pi-AgEIcHlwaS5vcmc", URL_SAFE, 150)]),
    ("hugging face of letters", &[("h", "", 0), ("f_", LETTERS, 34)]),
    ("sendgrid", &[("S", "", 0), ("G.", URL_SAFE, 22), (".", URL_SAFE, 43)]),
    ("jwt", &[("ey", "", 0), ("JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", ALPHANUMERIC, 30), (".", URL_SAFE, 43)]),
    ("digitalocean", &[("do", "", 0), ("p_v1_", HEX, 64)]),
    ("databricks", &[("da", "", 0), ("pi", HEX, 32)]),
    ("dynatrace", &[("dt", "", 0), ("0c01.", UPPER, 24), (".", UPPER, 64)]),
    ("doppler", &[("d", "", 0), ("p.pt.", ALPHANUMERIC, 43)]),
    ("vault service", &[("hv", "", 0), ("s.", URL_SAFE, 95)]),
    ("terraform cloud", &[("", ALPHANUMERIC, 14), (".atlas", "", 0), ("v1.", ALPHANUMERIC, 67)]),
    ("twilio key", &[("S", "", 0), ("K", HEX, 32)]),
    ("mailgun", &[("ke", "", 0), ("y-", HEX, 32)]),
    ("mailchimp", &[("", HEX, 32), ("-us", "", 0), ("1", DIGITS, 1)]),
    ("telegram", &[("", "123456789", 10), (":A", "", 0), ("A", URL_SAFE, 33)]),
    ("discord", &[("M", ALPHANUMERIC, 23), (".", ALPHANUMERIC, 6), (".", URL_SAFE, 27)]),
    ("azure client secret", &[("", ALPHANUMERIC, 3), ("8Q~", URL_SAFE, 34)]),
    ("azure devops", &[("", ALPHANUMERIC, 76), ("AZ", "", 0), ("DO", ALPHANUMERIC, 4)]),
    ("age", &[("AGE-SEC", "", 0), ("RET-KEY-1", UPPER, 58)]),
    ("shopify", &[("shp", "", 0), ("at_", HEX, 32)]),
    ("square", &[("sq", "", 0), ("0atp-", URL_SAFE, 22)]),
    ("new relic user", &[("NR", "", 0), ("AK-", UPPER, 27)]),
    ("grafana service account", &[("gl", "", 0), ("sa_", ALPHANUMERIC, 32), ("_", HEX, 8)]),
    ("linear", &[("lin", "", 0), ("_api_", ALPHANUMERIC, 40)]),
    ("notion", &[("nt", "", 0), ("n_", DIGITS, 11), ("", ALPHANUMERIC, 35)]),
    ("figma", &[("fi", "", 0), ("gd_", URL_SAFE, 40)]),
    ("postman", &[("PM", "", 0), ("AK-", HEX, 24), ("-", HEX, 34)]),
    ("airtable", &[("pa", "", 0), ("t", ALPHANUMERIC, 14), (".", HEX, 64)]),
    ("atlassian", &[("AT", "", 0), ("ATT3xFf", URL_SAFE, 180), ("=", UPPER, 8)]),
    ("heroku", &[("HR", "", 0), ("KU-AA", URL_SAFE, 58)]),
    ("rubygems", &[("ruby", "", 0), ("gems_", HEX, 48)]),
    ("docker hub", &[("dc", "", 0), ("kr_pat_", URL_SAFE, 27)]),
    ("tailscale", &[("ts", "", 0), ("key-auth-k", ALPHANUMERIC, 11), ("CNTRL-", ALPHANUMERIC, 32)]),
    ("supabase", &[("sb", "", 0), ("p_", HEX, 40)]),
    ("groq", &[("gs", "", 0), ("k_", ALPHANUMERIC, 52)]),
    ("perplexity", &[("pp", "", 0), ("lx-", ALPHANUMERIC, 48)]),
    ("replicate", &[("r", "", 0), ("8_", ALPHANUMERIC, 37)]),
    ("alibaba", &[("LT", "", 0), ("AI5t", ALPHANUMERIC, 20)]),
    ("artifactory", &[("AK", "", 0), ("Cp", ALPHANUMERIC, 69)]),
    ("salesforce session", &[("00D", ALPHANUMERIC, 12), ("!AQ", ALPHANUMERIC, 94)]),
    ("facebook", &[("EA", "", 0), ("AC", ALPHANUMERIC, 160)]),
    ("twitter", &[("", "123456789", 18), ("-", ALPHANUMERIC, 40)]),
    ("nuget", &[("o", "", 0), ("y2", LOWER_DIGITS, 43)]),
    ("Cargo registry", &[("ci", "", 0), ("o", ALPHANUMERIC, 32)]),
    ("maxmind", &[("", ALPHANUMERIC, 6), ("_", ALPHANUMERIC, 29), ("_m", "", 0), ("mk", "", 0)]),
    ("openshift", &[("sha2", "", 0), ("56~", URL_SAFE, 43)]),
    ("zoho", &[("10", "", 0), ("00.", HEX, 32), (".", HEX, 32)]),
    ("astra", &[("Astra", "", 0), ("CS:", ALPHANUMERIC, 24), (":", HEX, 64)]),
    ("fal", &[("", HEX, 8), ("-", HEX, 4), ("-", HEX, 4), ("-", HEX, 4), ("-", HEX, 12), (":", HEX, 32)]),
    ("bcrypt", &[("$2", "", 0), ("b$12$", ALPHANUMERIC, 53)]),
    ("clojars", &[("CLO", "", 0), ("JARS_", LOWER_DIGITS, 60)]),
    (
        "context7",
        &[("ctx7", "", 0), ("sk-", HEX, 8), ("-", HEX, 4), ("-", HEX, 4), ("-", HEX, 4), ("-", HEX, 12)],
    ),
    (
        "amazon mws",
        &[("amzn", "", 0), (".mws.", HEX, 8), ("-", HEX, 4), ("-", HEX, 4), ("-", HEX, 4), ("-", HEX, 12)],
    ),
    ("login with amazon", &[("amzn1", "", 0), (".oa2-cs.v1.", HEX, 64)]),
    ("aws session token", &[("IQoJ", "", 0), ("b3JpZ2lu", BASE64, 300)]),
    ("aws session token, older", &[("FwoG", "", 0), ("ZXIvYXdz", BASE64, 300)]),
    ("aws key and secret", &[("AK", "", 0), ("IA", BASE32, 16), (":", BASE64, 40)]),
    ("firebase cloud messaging", &[("AAAA", URL_SAFE, 7), (":APA9", "", 0), ("1b", URL_SAFE, 134)]),
    ("anyscale", &[("ese", "", 0), ("cret_", ALPHANUMERIC, 26)]),
    ("baidu", &[("bce-v3/", "", 0), ("ALTAK-", ALPHANUMERIC, 21), ("/", HEX, 40)]),
    ("coze", &[("pa", "", 0), ("t_", ALPHANUMERIC, 64)]),
    ("vault, older", &[("s", "", 0), (".", ALPHANUMERIC, 24)]),
    ("github server with an app id", &[("gh", "", 0), ("s_", DIGITS, 7), ("_", ALPHANUMERIC, 60)]),
    ("new relic license", &[("", HEX, 32), ("FFFF", "", 0), ("NRAL", "", 0)]),
];

pub(super) fn tokens() -> Vec<Token> {
    let mut random = Random::new(17);
    let documented = DOCUMENTED.iter().map(|(kind, parts)| {
        let text = parts
            .iter()
            .map(|(fixed, alphabet, length)| format!("{fixed}{}", random.text_or_nothing(alphabet, *length)));
        Token { kind: (*kind).to_owned(), text: text.collect() }
    });
    let mut tokens: Vec<Token> = documented.collect();
    for format in &FORMATS.all {
        let kind = format!("{} {}", format.rule, String::from_utf8_lossy(format.anchor));
        tokens.push(Token { kind, text: format.example(|limit| random.below(limit)) });
    }
    tokens
}

impl Random {
    fn text_or_nothing(&mut self, alphabet: &str, length: usize) -> String {
        if length == 0 { String::new() } else { self.text(alphabet, length) }
    }
}
