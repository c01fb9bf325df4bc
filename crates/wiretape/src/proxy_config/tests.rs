use super::*;
use wiretape_proxy::http::csp::{Directive, Mode, Reporting};

const PAGE: &str = include_str!("../../../../docs/configuration.md");

fn read(text: &str) -> Result<ProxyConfig, Vec<String>> {
    read_proxy(text, Path::new("/etc/wiretape/wiretape.toml"), NamedFiles::NotChecked)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(read(text).err().unwrap_or_default(), expected, "{text}");
}

/// Every key there is, once.
const EVERYTHING: &str = r#"
traces = "traces"
events = "events.ndjson"
print = "json"
store = "store.db"
admin = "127.0.0.1:3005"
admin_hosts = ["metrics.example.com"]
drain = "30s"
[retention]
max_age = "7d"
max_bytes = "100MB"
[webhook]
url = "https://events.example.com/in"
token_file = "token"
ca_file = "roots.pem"
batch_events = 100
batch_time = "2s"
spool = "spool"
spool_bytes = "10MB"
[limits]
body = "64MB"
headers = "64kB"
connections = 1024
connect_timeout = "10s"
header_timeout = "1m 30s"
idle_timeout = "none"
total_timeout = "500ms"
[redact]
disable = ["jwt"]
keys = ["ssn"]
allow-keys = ["csrf_token"]
[[redact.patterns]]
name = "card"
regex = '\b4\d{15}\b'
[[redact.tokens]]
name = "acme"
prefix = "acme_"
alphabet = "hex"
length = 32
[[redact.tokens]]
name = "badge"
prefix = "badge-"
alphabet = "digits"
min_length = 8
max_length = 12
[[csp]]
paths = ["/widgets/**", "ui://**"]
mode = "replace"
report = "report-to"
default-src = ["'none'"]
script-src = ["'self'", "https://cdn.example.com"]
child-src = ["*"]
style-src = ["*"]
connect-src = ["*"]
font-src = ["*"]
frame-src = ["*"]
img-src = ["*"]
manifest-src = ["*"]
media-src = ["*"]
object-src = ["*"]
script-src-attr = ["*"]
script-src-elem = ["*"]
style-src-attr = ["*"]
style-src-elem = ["*"]
worker-src = ["*"]
base-uri = ["*"]
form-action = ["*"]
frame-ancestors = ["*"]
[[upstream]]
name = "search"
url = "http://localhost:9000/mcp"
listen = "127.0.0.1:3004"
rewrite_host = true
allow_hosts = ["mcp.example.com"]
oauth_rewrite = true
[[upstream.csp]]
connect_src = ["https://api.example.com"]
report = false
[[upstream]]
url = "https://mcp.example.com"
listen = "[::1]:3004"
[forward]
listen = "127.0.0.1:3128"
intercept = false
allow_private_targets = false
auth_file = "proxy-auth"
"#;

#[test]
fn every_key_is_read() {
    let config = read(EVERYTHING).unwrap();
    assert_eq!(config.traces, Some(Switch::On("/etc/wiretape/traces".into())));
    assert_eq!(config.admin, Some(Switch::On("127.0.0.1:3005".parse().unwrap())));
    assert_eq!(config.admin_hosts, ["metrics.example.com"]);
    assert_eq!(config.drain, Some(Duration::from_secs(30)));
    let events = &config.events;
    assert_eq!(events.events, Some(Switch::On("/etc/wiretape/events.ndjson".into())));
    assert_eq!(events.store, Some(Switch::On("/etc/wiretape/store.db".into())));
    assert_eq!(events.print, Some(crate::events::PrintFormat::Json));
    let retention = events.retention.retention();
    assert_eq!(retention.max_age, Some(Duration::from_secs(7 * 24 * 60 * 60)));
    assert_eq!(retention.max_bytes, Some(100_000_000));
    let webhook = events.webhook.as_ref().unwrap();
    assert_eq!((webhook.batch_events, webhook.batch_time), (Some(100), Some(Duration::from_secs(2))));
    assert_eq!(webhook.token_file.as_deref(), Some(Path::new("/etc/wiretape/token")));
    assert_eq!(webhook.ca_file.as_deref(), Some(Path::new("/etc/wiretape/roots.pem")));
    assert_eq!((webhook.spool_bytes, webhook.spool.is_some()), (Some(10_000_000), true));
    let LimitsConfig { body, headers, connections, connect_timeout, .. } = config.limits;
    assert_eq!((body, headers, connections), (Some(64_000_000), Some(64_000), Some(1024)));
    assert_eq!(connect_timeout, Some(Switch::On(Duration::from_secs(10))));
    assert_eq!(config.limits.header_timeout, Some(Switch::On(Duration::from_secs(90))));
    assert_eq!(config.limits.idle_timeout, Some(Switch::Off));
    assert_eq!(config.limits.total_timeout, Some(Switch::On(Duration::from_millis(500))));
    let [search, other] = &config.upstreams[..] else { panic!("{:?}", config.upstreams) };
    assert_eq!((search.name.as_str(), search.url.path()), ("search", "/mcp"));
    assert_eq!((search.rewrite_host, search.oauth_rewrite), (Some(true), Some(true)));
    assert_eq!(search.allow_hosts, ["mcp.example.com"]);
    assert_eq!((other.name.as_str(), other.rewrite_host), ("mcp-example-com", None));
    let [rule] = &config.csp[..] else { panic!("{:?}", config.csp) };
    assert_eq!((rule.mode, rule.report), (Mode::Replace, Some(Reporting::ReportTo)));
    assert_eq!(rule.directives.iter().count(), Directive::NAMES.len());
    let told = serde_json::to_string(&search.csp).unwrap();
    assert_eq!(
        told,
        r#"[{"paths":[],"mode":"extend","directives":{"connect-src":["https://api.example.com"]},"report":"off"}]"#
    );
    assert!(other.csp.is_empty());
    let forward = config.forward.unwrap();
    assert_eq!((forward.listen.port(), forward.intercept), (3128, Some(false)));
    let rules = config.redact.unwrap().rules(&["x+".to_owned()]);
    assert_eq!((rules.disabled, rules.keys), (vec!["jwt".to_owned()], vec!["ssn".to_owned()]));
    assert_eq!(rules.allowed_keys, ["csrf_token"]);
    assert_eq!(rules.patterns.len(), 2);
    let lengths: Vec<_> =
        rules.tokens.iter().map(|token| (token.name.as_str(), token.min, token.max)).collect();
    assert_eq!(lengths, [("acme", 32, 32), ("badge", 8, 12)]);
}

#[test]
fn the_example_and_the_page_have_every_key() {
    for schema in TABLES {
        for key in schema.keys {
            let example = EVERYTHING.replace("allow-keys", "allow_keys");
            let is_there = example.contains(&format!("\n{key} ="))
                || ["[", "."].iter().any(|mark| example.contains(&format!("{mark}{key}]")));
            assert!(is_there, "{key} of {} is not in the example", schema.title);
            // The keys are those of [[csp]], and so is what they mean.
            let table = schema.title.trim_matches(['[', ']']).trim_start_matches("upstream.csp");
            let table = if table.is_empty() { "csp" } else { table };
            let name = if table.contains(' ') { (*key).to_owned() } else { format!("{table}.{key}") };
            assert!(PAGE.contains(&format!("`{name}`")), "{name} is not in docs/configuration.md");
        }
    }
}

#[test]
fn nothing_need_be_said() {
    assert_eq!(read(""), Ok(ProxyConfig::default()));
    let config = read("traces = false\nadmin = false\n").unwrap();
    assert_eq!((config.traces, config.admin), (Some(Switch::Off), Some(Switch::Off)));
    assert_eq!(read("limits.body = 1_000\n").unwrap().limits.body, Some(1000));
    assert_eq!(read("traces = \"/var/traces\"\n").unwrap().traces, Some(Switch::On("/var/traces".into())));
}

#[test]
fn a_key_in_the_wrong_place_is_sent_to_the_right_one() {
    check(
        "[[upstream]]\nurl = \"http://a\"\nlisten = \"127.0.0.1:1\"\nintercept = true\n",
        &["4:1: `intercept` has no effect in [[upstream]]; it belongs in [forward]"],
    );
    check(
        "[forward]\nlisten = \"127.0.0.1:1\"\nrewrite-host = true\n",
        &["3:1: `rewrite-host` has no effect in [forward]; it belongs in [[upstream]]"],
    );
    check(
        "listen = \"127.0.0.1:1\"\n",
        &["1:1: `listen` has no effect at the top of the file; it belongs in [[upstream]] or in [forward]"],
    );
    check(
        "[limits]\ndrain = \"1s\"\n",
        &["2:1: `drain` has no effect in [limits]; it belongs at the top of the file"],
    );
    check(
        "traces = false\nstore = false\n[redact]\nkeys = [\"ssn\"]\n",
        &["3:2: `redact` has no effect: with `traces` and `store` off, nothing is recorded"],
    );
    check("traces = false\n[redact]\nkeys = [\"ssn\"]\n", &[]);
    check(
        "store = false\n[retention]\nmax_age = \"1d\"\n",
        &["2:2: `retention` has no effect: there is no store (`store = false`)"],
    );
}

#[test]
fn urls_of_webhooks_are_not_repeated() {
    for url in ["ftp://user:hidden@example.com/hidden", "https://user:hidden@example.com/hidden"] {
        let problems = read(&format!("[webhook]\nurl = \"{url}\"\n")).unwrap_err();
        assert!(problems.len() == 1 && !problems[0].contains("hidden"), "{problems:?}");
    }
    check("[webhook]\nbatch_time = \"1s\"\n", &["1:1: [webhook] needs `url`"]);
}

#[test]
fn unknown_keys_are_named_with_what_may_be_meant() {
    check("amdin = false\n", &["1:1: unknown key `amdin` at the top of the file; did you mean `admin`?"]);
    check("[limits]\nmax_body = 1\n", &["2:1: unknown key `max_body` in [limits]; did you mean `body`?"]);
    check(
        "[forward]\nlisten = \"127.0.0.1:1\"\nidel_timeout = \"1s\"\n",
        &["3:1: unknown key `idel_timeout` in [forward]; did you mean `idle_timeout` in [limits]?"],
    );
    check(
        "[forward]\nlisten = \"127.0.0.1:1\"\ncolour = 1\n",
        &[
            "3:1: unknown key `colour` in [forward]; known keys: listen, intercept, allow_private_targets, auth_file",
        ],
    );
}

#[test]
fn values_are_checked() {
    let value = |text: &str, expected: &str| check(text, &[expected]);
    value("drain = 30\n", "1:9: `drain` must be a duration such as \"30s\", not a number");
    value("drain = \"30\"\n", "1:9: `drain`: `30` is not a duration: expected e.g. 500ms, 30s or 2m");
    value("traces = true\n", "1:10: `traces` must be a directory in quotes, or false, not true");
    value("traces = \"~/traces\"\n", "1:10: `traces`: `~` is not expanded here; write the full path");
    value(
        "admin = \"localhost:3005\"\n",
        "1:9: `admin`: `localhost:3005` is not an IP address with a port: expected e.g. 127.0.0.1:3005",
    );
    value("[limits]\nheaders = \"1kB\"\n", "2:11: `headers`: must be at least 8,192 bytes");
    value("[limits]\nconnections = 0\n", "2:15: `connections`: must be at least 1");
    value(
        "[limits]\nconnections = -1\n",
        "2:15: `connections` must be a non-negative integer, not a negative number",
    );
    value(
        "[limits]\nidle_timeout = \"0s\"\n",
        "2:16: `idle_timeout`: every request would time out; write \"none\" for no limit",
    );
    value(
        "[forward]\nlisten = \"127.0.0.1:1\"\nintercept = \"yes\"\n",
        "3:13: `intercept` must be true or false, without quotes, not text",
    );
}

#[test]
fn urls_are_checked_and_not_told_back() {
    for (url, expected) in [
        ("localhost:9000/mcp", "this is not a URL"),
        ("localhost", "this is not a URL"),
        ("ftp://example.com", "a server's URL must start with http:// or https://"),
        ("/mcp", "this is not a URL"),
        ("http://", "this is not a URL"),
        ("http://u:hunter2@example.com", "credentials in a URL are not sent"),
        ("http://example.com/#hunter2", "after `?` or `#`"),
        ("http://example.com:99999", "the URL's port is not a number from 1 to 65535"),
        ("http://exa mple.com/hunter2", "this is not a URL"),
    ] {
        let told = read(&format!("[[upstream]]\nlisten = \"127.0.0.1:1\"\nurl = \"{url}\"\n")).unwrap_err();
        assert!(told.len() == 1 && told[0].contains(expected), "{url}: {told:?}");
        assert!(!told[0].contains("hunter2"), "{told:?}");
    }
}

#[test]
fn upstreams_are_complete_and_differ() {
    check(
        "[[upstream]]\nname = \"a\"\n",
        &["1:1: [[upstream]] needs `url`", "1:1: [[upstream]] needs `listen`"],
    );
    check("[forward]\n", &["1:1: [forward] needs `listen`"]);
    let upstream = |name: &str, port: u16| {
        format!("[[upstream]]\n{name}\nurl = \"http://localhost:9000\"\nlisten = \"127.0.0.1:{port}\"\n")
    };
    check(
        &[upstream("name = \"a\"", 1), upstream("name = \"A\"", 2)].concat(),
        &["6:8: the upstream in line 2 is also named `A`; choose another `name`"],
    );
    check(
        &[upstream("", 1), upstream("", 2)].concat(),
        &["5:1: the upstream in line 1 is also named `localhost-9000`; choose another `name`"],
    );
    check(
        &upstream("name = \"a b\"", 1),
        &["2:8: `name`: use at most 64 letters, digits, `_` and single `-`, such as `a-b`"],
    );
}

#[test]
fn two_can_not_listen_on_one_address() {
    let addresses = |admin: &str, forward: &str| {
        read(&format!("admin = \"{admin}\"\n[forward]\nlisten = \"{forward}\"\n"))
    };
    for (admin, forward) in
        [("127.0.0.1:1", "127.0.0.1:1"), ("0.0.0.0:1", "127.0.0.1:1"), ("127.0.0.1:1", "[::]:1")]
    {
        let told = addresses(admin, forward).unwrap_err();
        assert_eq!(told, [format!("3:10: line 1 also listens on {admin}; use another port")]);
    }
    for (admin, forward) in
        [("127.0.0.1:1", "127.0.0.1:2"), ("127.0.0.1:0", "127.0.0.1:0"), ("127.0.0.1:1", "[::1]:1")]
    {
        assert!(addresses(admin, forward).is_ok(), "{admin} {forward}");
    }
}

#[test]
fn an_upstream_is_not_the_proxy_itself() {
    let upstream =
        |url: &str, listen: &str| read(&format!("[[upstream]]\nurl = \"{url}\"\nlisten = \"{listen}\"\n"));
    for (url, listen) in [
        ("http://localhost:3004/mcp", "127.0.0.1:3004"),
        ("http://127.0.0.1:3004", "0.0.0.0:3004"),
        ("http://[::1]:3004", "[::1]:3004"),
        ("http://10.0.0.1", "10.0.0.1:80"),
    ] {
        let told = upstream(url, listen).unwrap_err();
        assert_eq!(
            told,
            ["2:7: `url`: this is the address that the proxy itself listens on (line 3)"],
            "{url}"
        );
    }
    assert!(upstream("http://example.com:3004", "0.0.0.0:3004").is_ok());
    assert!(upstream("http://localhost:9000", "127.0.0.1:3004").is_ok());
}

fn check_rule(rule: &str, expected: &[&str]) {
    let upstream = "[[upstream]]\nurl = \"http://a\"\nlisten = \"127.0.0.1:1\"\n";
    check(&format!("[[csp]]\n{rule}\n{upstream}"), expected);
}

#[test]
fn rules_of_policies_are_checked() {
    check_rule("connect-src = [\"'self'\", \"https://a\"]", &[]);
    check_rule("report = true", &[]);
    check_rule("mode = \"replace\"\nimg-src = [\"'none'\"]", &[]);
    check_rule(
        "conect-src = [\"https://a\"]\nreport = true",
        &["2:1: unknown key `conect-src` in [[csp]]; did you mean `connect-src`?"],
    );
    check_rule(
        "connect-src = [\"https://a; script-src *\"]",
        &[
            "2:16: `connect-src`: a source must not contain spaces, `;`, `,`, double quotes or non-ASCII characters; \
           write several sources as several items of the list",
        ],
    );
    check_rule(
        "connect-src = [\"self\"]",
        &["2:16: `connect-src`: `self` would be a host; quote the keyword: \"'self'\""],
    );
    check_rule(
        "connect-src = \"https://a\"",
        &["2:15: `connect-src` must be a list of strings such as [\"one\", \"two\"], not text"],
    );
    check_rule(
        "mode = \"add\"\nimg-src = [\"https://a\"]",
        &["2:8: `mode`: `add` is not a mode; use \"extend\" or \"replace\""],
    );
    check_rule(
        "report = \"mail\"\nimg-src = [\"https://a\"]",
        &["2:10: `report`: `mail` is not valid here: expected true, false or \"report-to\""],
    );
    check_rule(
        "paths = [\"widgets/*\"]\nimg-src = [\"https://a\"]",
        &[
            "2:10: `paths`: `widgets/*` matches nothing: a path begins with `/`, and a resource's URI contains `://`",
        ],
    );
}

#[test]
fn a_rule_that_does_nothing_is_told() {
    check_rule("report = false", &["1:1: [[csp]] has no directive such as `connect-src`: it has no effect"]);
    check_rule(
        "mode = \"replace\"",
        &[
            "1:1: [[csp]] has no directive such as `connect-src`: it would remove the policy without a replacement",
        ],
    );
    check_rule(
        "img-src = [\"'none'\"]",
        &["2:12: `img-src`: 'none' has no effect unless mode = \"replace\""],
    );
    check_rule(
        "img-src = [\"'none'\", \"https://a\", \"https://a\"]",
        &[
            "2:12: `img-src`: 'none' can't be combined with other sources",
            "2:35: `https://a` is already in `img-src`, so it has no effect",
        ],
    );
    check_rule("img-src = []", &["2:1: `img-src` has no source; write [\"'none'\"] to allow nothing"]);
    check_rule(
        "paths = []\nimg-src = [\"https://a\"]",
        &["2:1: `paths` is empty, so the rule never applies; remove it to match all paths"],
    );
    check(
        "[[csp]]\nimg-src = [\"https://a\"]\n[forward]\nlisten = \"127.0.0.1:1\"\n",
        &["1:3: `csp` has no effect without an [[upstream]]: a forward proxy does not change pages"],
    );
    check(
        "connect-src = [\"https://a\"]\n",
        &[
            "1:1: `connect-src` has no effect at the top of the file; it belongs in [[csp]] or in [[upstream.csp]]",
        ],
    );
}

#[test]
fn brackets_are_explained() {
    check(
        "[upstream]\nurl = \"http://a\"\nlisten = \"127.0.0.1:1\"\ncolour = 1\n",
        &[
            "1:1: this is a list of tables: write [[upstream]], with two brackets",
            "4:1: unknown key `colour` in [[upstream]]; known keys: name, url, listen, rewrite_host, allow_hosts, oauth_rewrite, csp",
        ],
    );
    check("[[forward]]\nlisten = \"127.0.0.1:1\"\n", &["1:1: only one is allowed: write [forward]"]);
    check("forward = true\n", &["1:11: `forward` must be a table, [forward], not true"]);
    check("upstream = [1]\n", &["1:13: `upstream` must be a list of tables, [[upstream]], not a number"]);
}

#[test]
fn what_is_no_toml_does_not_hide_the_rest() {
    check(
        "drain = 30s\nadmin = 127.0.0.1:3005\nadmni = 1\n[limits]\nbody =\n",
        &[
            "1:9: not a value: text must be in quotes",
            "2:9: not a value: text must be in quotes",
            "3:1: unknown key `admni` at the top of the file; did you mean `admin`?",
            "5:7: missing value",
        ],
    );
    check("drain = \"1s\"\ndrain = \"2s\"\n", &["2:1: duplicate key `drain`"]);
    check("[limits\nbody = 1\n", &["1:8: unclosed table, expected `]`"]);
    check(
        "[redact]\nallow-keys = []\nallow_keys = []\n",
        &["3:1: duplicate key `allow_keys`, in another spelling"],
    );
}

/// Whatever is in a file, it is read or refused.
#[test]
fn no_file_makes_it_panic() {
    for start in (0..EVERYTHING.len()).step_by(3) {
        let _ = read(&EVERYTHING[start..]);
        let _ = read(&EVERYTHING[..start]);
        let mut cut = EVERYTHING.to_owned();
        cut.remove(start);
        let _ = read(&cut);
        for disturbance in ['[', '"', 'é', '\u{1b}', '\n'] {
            let mut disturbed = cut.clone();
            disturbed.insert(start, disturbance);
            let told = read(&disturbed).err().unwrap_or_default();
            assert!(!told.iter().any(|line| line.contains('\u{1b}')), "{told:?}");
        }
    }
}
