//! Measures redaction: nanoseconds per byte of different texts, and of one text without each family of rules. Prints one
//! line for each: a label, a tab, and the figure. `cargo xtask bench --only redaction` runs it several times. For a profile of
//! one text, give a part of its label as the argument.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example is a program, with output and a clock"
)]

use std::time::{Duration, Instant};
use wiretape_trace::redact::{RULES, RedactionKey, Redactor, Rules, SecretMemory};

const SIZE: usize = 1 << 20;

/// Each text is redacted again and again for this long.
const LEAST: Duration = Duration::from_millis(120);

/// Rules that go by a name.
const BY_NAME: [&str; 10] = [
    "password",
    "secret",
    "token",
    "api-key",
    "authorization",
    "cookie",
    "private-key",
    "credentials",
    "connection-string",
    "query",
];

/// Rules for formats and documents that don't belong to one provider.
const GENERAL: [&str; 9] =
    ["jwt", "pem", "putty", "bearer", "basic", "url-password", "command-line", "sql", "key-path"];

const REPEATED: [&str; 1] = ["repeated"];

fn main() {
    let redactor = without(&[]);
    for (name, text) in texts() {
        report(name, text.len(), || drop(redactor.text(text.as_bytes())));
    }
    for (name, json) in documents() {
        report(name, json.len(), || drop(redactor.json(json.as_bytes())));
    }
    let memory = SecretMemory::default();
    for n in 0..256 {
        let login = format!(r#"{{"password":"correct-horse-{n}-battery"}}"#);
        drop(redactor.json_with(login.as_bytes(), &memory));
    }
    let session = session();
    report("a session that remembers 256 secrets", session.len(), || {
        drop(redactor.json_with(session.as_bytes(), &memory));
    });
    let logins: Vec<String> =
        (0..1000).map(|n| format!(r#"{{"user":"ada","password":"correct-horse-{n}-battery"}}"#)).collect();
    let bytes = logins.iter().map(String::len).sum();
    report("a session whose messages name new secrets", bytes, || {
        let memory = SecretMemory::default();
        for login in &logins {
            drop(redactor.json_with(login.as_bytes(), &memory));
        }
    });
    let providers: Vec<&str> = RULES.iter().map(|rule| rule.name).filter(|name| !is_general(name)).collect();
    let families: [(&str, &[&str]); 5] = [
        ("all rules", &[]),
        ("without names", &BY_NAME),
        ("without general formats", &GENERAL),
        ("without providers", &providers),
        ("without repeats", &REPEATED),
    ];
    for (name, rules) in families {
        let redactor = without(rules);
        report(name, session.len(), || drop(redactor.json_with(session.as_bytes(), &memory)));
    }
}

fn is_general(name: &str) -> bool {
    [&BY_NAME[..], &GENERAL, &REPEATED].iter().any(|family| family.contains(&name))
}

fn without(rules: &[&str]) -> Redactor {
    let disabled = rules.iter().map(ToString::to_string).collect();
    let rules = Rules { disabled, ..Rules::default() };
    Redactor::new(&rules, &RedactionKey::new([7; 32])).expect("the names are those of built-in rules")
}

/// Prints the time for a byte, the lowest of all passes: whatever disturbs a pass only makes it longer.
fn report(name: &str, bytes: usize, mut pass: impl FnMut()) {
    if std::env::args().nth(1).is_some_and(|selected| !name.contains(&selected)) {
        return;
    }
    let (begin, mut least) = (Instant::now(), Duration::MAX);
    while begin.elapsed() < LEAST {
        let start = Instant::now();
        pass();
        least = least.min(start.elapsed());
    }
    println!("{name}\t{}", least.as_nanos() as f64 / bytes as f64);
}

fn repeat(piece: &str) -> String {
    piece.repeat(SIZE / piece.len())
}

/// Text as it is, and text made of what the scan looks for.
fn texts() -> [(&'static str, String); 12] {
    [
        ("prose", prose()),
        ("base64", base64()),
        ("`eyJa-`", repeat("eyJa-")),
        ("`sk-`", repeat("sk-")),
        ("`AKIA`", repeat("AKIA")),
        ("quotes", repeat("\"")),
        ("`key=`", repeat("key=")),
        ("`password: `", repeat("password: ")),
        ("`-----BEGIN `", repeat("-----BEGIN ")),
        ("`https://a:`", repeat("https://a:")),
        ("`%3D`", repeat("%3D")),
        ("`&quot;`", repeat("&quot;")),
    ]
}

fn documents() -> [(&'static str, String); 2] {
    let text = |text: &str| serde_json::to_string(text).expect("a string is JSON");
    let rows = records();
    [("JSON", rows.clone()), ("JSON in a string", format!(r#"{{"content":[{{"text":{}}}]}}"#, text(&rows)))]
}

/// A message with everything that a session has, and a secret now and then.
fn session() -> String {
    let text = serde_json::to_string(&prose()[..SIZE / 4]).expect("a string is JSON");
    let secret = r#"{"arguments":{"user":"ada","password":"open-sesame-42"}}"#;
    format!(r#"{{"prose":{text},"data":"{}","rows":{},"login":{secret}}}"#, &base64()[..SIZE / 4], records())
}

fn prose() -> String {
    repeat(
        "The server answered after a while, and the client asked for the next page of results, as it had been told \
         to. Nothing in this text is secret; it has commas, full stops, a key to the door and the word password.\n",
    )
}

fn base64() -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 1_u64;
    let mut digit = || {
        // A linear congruential generator: the same text in every run.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(DIGITS[(state >> 58) as usize])
    };
    (0..SIZE).map(|_| digit()).collect()
}

fn records() -> String {
    let row = |n: usize| {
        format!(r#"{{"id":{n},"name":"item {n}","tags":["a","b"],"price":{}.5,"in_stock":true}}"#, n % 97)
    };
    let rows: Vec<String> = (0..SIZE / 70).map(row).collect();
    format!("[{}]", rows.join(","))
}
