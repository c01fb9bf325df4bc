use crate::environment::TestEnvironment;
use std::fs;

/// Checks a file with this content, named as a user would.
fn check(env: &TestEnvironment, content: impl AsRef<[u8]>, args: &[&str]) -> String {
    fs::write(env.data_dir().join("wiretape.toml"), content).unwrap();
    env.run(&[&["config", "check", "wiretape.toml"], args].concat())
}

const GOOD: &str = r#"
traces = "recorded"
admin = false
drain = "30s"

[limits]
body = "64MB"
idle_timeout = "none"

[[upstream]]
name = "search"
url = "http://localhost:9000/mcp"
listen = "127.0.0.1:3004"
oauth_rewrite = true

[[upstream]]
url = "https://files.example.com"
listen = "[::1]:3004"

[forward]
listen = "127.0.0.1:3128"
intercept = true

[redact]
keys = ["ssn"]
[[redact.patterns]]
name = "card"
regex = '\b4\d{15}\b'
"#;

const TEN_MISTAKES: &str = r#"
amdin = "127.0.0.1:3005"
drain = "soon"

[limits]
body = 64 MB
idle_timeouts = "10s"

[[upstream]]
name = "search"
url = "ftp://localhost:9000/mcp"
listen = "127.0.0.1:3004"
intercept = true

[[upstream]]
name = "search"
url = "http://localhost:9001/mcp"
listen = "0.0.0.0:3004"

[forward]
listen = "localhost:3128"
rewrite_host = false
"#;

#[test]
fn a_file_in_order_is_said_to_be() {
    let env = TestEnvironment::new();
    insta::assert_snapshot!("config-good", check(&env, GOOD, &[]));
    let json = check(&env, GOOD, &["--json"]);
    assert!(!json.contains("hunter2") && !json.contains("15}"), "{json}");
    insta::assert_snapshot!("config-good-json", json);
    insta::assert_snapshot!("config-no-listener", check(&env, "drain = \"1s\"\n", &[]));
}

#[test]
fn all_mistakes_are_told_at_once() {
    let env = TestEnvironment::new();
    let told = check(&env, TEN_MISTAKES, &[]);
    assert_eq!(told.matches("wiretape.toml:").count(), 10, "{told}");
    insta::assert_snapshot!("config-ten-mistakes", told);
    insta::assert_snapshot!("config-mistakes-json", check(&env, "drain = 1\nadmni = false\n", &["--json"]));
}

#[test]
fn files_that_the_file_names_must_be_there() {
    let env = TestEnvironment::new();
    let text =
        "[webhook]\nurl = \"https://events.example.com\"\ntoken_file = \"secret\"\nca_file = \"traces\"\n";
    insta::assert_snapshot!("config-files", check(&env, text, &[]));
    fs::write(env.data_dir().join("secret"), "hunter2").unwrap();
    let told = check(&env, text.replace("traces", "secret"), &[]);
    assert!(told.contains("valid") && !told.contains("hunter2"), "{told}");
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    let env = TestEnvironment::new();
    let told = [
        check(&env, "[forward\nlisten = 1\n", &[]),
        check(&env, "drain = 30s\nadmin = 127.0.0.1:3005\nlimits.body =\ndrain = \"1s\"\n", &[]),
        check(&env, b"# caf\xe9\n", &[]),
        check(&env, "", &[]),
    ];
    insta::assert_snapshot!("config-syntax", told.join("\n"));
}

#[test]
fn rules_of_redaction_are_checked_and_their_patterns_are_not_shown() {
    let env = TestEnvironment::new();
    let text = r#"
[redact]
disable = ["gihub", "jwt", "jwt", "zzz"]
keys = ["", "ssn", 7]
allow-keys = ["S-S-N"]
kyes = []
[[redact.patterns]]
name = "hunter2 card"
regex = "x"
[[redact.patterns]]
name = "open"
regex = "hunter2("
[[redact.patterns]]
name = "everything"
regex = "(hunter2)?"
[[redact.patterns]]
nam = "badge"
"#;
    let told = check(&env, text, &[]);
    assert!(!told.contains("hunter2(") && !told.contains("(hunter2)?"), "{told}");
    insta::assert_snapshot!("config-redact", told);
}

#[test]
fn token_formats_are_checked() {
    let env = TestEnvironment::new();
    let text = r#"
[[redact.tokens]]
name = "fine"
prefix = "acme_"
alphabet = "base64url"
min_length = 20
[[redact.tokens]]
name = "not fine"
prefix = "acme_"
alphabet = "hex"
length = 32
[[redact.tokens]]
name = "prefix"
prefix = ""
alphabet = "hex"
length = 32
[[redact.tokens]]
name = "alphabet"
prefix = "acme_"
alphabet = "base46"
length = 32
[[redact.tokens]]
name = "short"
prefix = "a_"
alphabet = "hex"
length = 4
[[redact.tokens]]
name = "range"
prefix = "acme_"
alphabet = "hex"
min_length = 32
max_length = 16
[[redact.tokens]]
name = "both"
prefix = "acme_"
alphabet = "hex"
length = 32
max_length = 64
[[redact.tokens]]
name = "type"
prefix = "acme_"
alphabet = "hex"
length = "32"
[[redact.tokens]]
lenght = 32
"#;
    insta::assert_snapshot!("config-redact-tokens", check(&env, text, &[]));
}

#[test]
fn without_a_file_it_is_the_users_own() {
    let env = TestEnvironment::new();
    let check = |content: &str| {
        fs::write(env.data_dir().join("config.toml"), content).unwrap();
        env.run(&["config", "check"])
    };
    let told = [
        env.run(&["config", "check"]),
        check("[redact]\nkeys = [\"ssn\"]\n"),
        check("[redcat]\n[redact]\nallowed_keys = []\n"),
        check("admin = false\n[[upstream]]\nname = \"a\"\n"),
        env.run(&["config", "check", "config.toml"]),
        env.run(&["config", "check", "nowhere.toml"]),
        env.run(&["config", "check", "traces"]),
    ];
    let told = told.join("\n");
    insta::with_settings!({filters => vec![(r"caused by: .*", "caused by: [OS]")]}, {
        insta::assert_snapshot!("config-own", told);
    });
}
