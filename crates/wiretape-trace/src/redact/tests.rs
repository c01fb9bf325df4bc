use super::*;
use proptest::prelude::*;

fn redactor() -> Redactor {
    Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap()
}

fn json(input: &str) -> String {
    String::from_utf8(redactor().json(input.as_bytes()).unwrap().into_owned()).unwrap()
}

fn text(input: &str) -> String {
    String::from_utf8(redactor().text(input.as_bytes()).into_owned()).unwrap()
}

/// Markers with their hash left out, so that expectations can be read.
fn masked(clean: &str) -> String {
    regex::Regex::new(r"\[REDACTED:([a-z-]+):[0-9a-f]{8}\]").unwrap().replace_all(clean, "<$1>").into_owned()
}

const TOKENS: &[(&str, &str)] = &[
    ("AKIAIOSFODNN7EXAMPLE", "aws"),
    ("ASIAY34FZKBOKMUTVV7A", "aws"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github"),
    ("gho_16C7e42F292c6912E7710c838347Ae178B4a", "github"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789", "github"),
    ("glpat-ABcd1234efGH5678ijKL", "gitlab"),
    ("xoxb-123456789012-abcdefABCDEF", "slack"),
    ("xapp-1-A0123-456-abcdef", "slack"),
    ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "stripe"),
    ("rk_test_4eC39HqLyjWDarjtT1zdp7dc", "stripe"),
    ("sk-proj-abcdefghijklmnop1234567890", "sk-key"),
    ("sk-ant-api03-abcdefghijklmnop-1234567890", "sk-key"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "google"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm"),
    ("hf_abcdefghijklmnopqrstuvwxyzABCD1234", "hugging-face"),
    ("SG.abcdefghijklmnop1234.qrstuvwxyz0123456789ABCD", "sendgrid"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij", "jwt"),
];

#[test]
fn tokens_go_wherever_they_stand() {
    for (secret, rule) in TOKENS {
        for (before, after) in
            [("", ""), ("see ", " here"), ("(", ")"), ("x=", "&y"), ("\n", "\n"), ("'", "',")]
        {
            let expected = format!("{before}<{rule}>{after}");
            assert_eq!(masked(&text(&format!("{before}{secret}{after}"))), expected);
            let string = serde_json::to_string(&format!("{before}{secret}{after}")).unwrap();
            let expected = serde_json::to_string(&expected).unwrap();
            assert_eq!(masked(&json(&format!("{{\"a\":{string}}}"))), format!("{{\"a\":{expected}}}"));
        }
    }
}

#[test]
fn tokens_go_though_a_word_stands_before_them() {
    for (secret, rule) in TOKENS {
        // These end ordinary words, or have no end that distinguishes them.
        let is_apart = ["sk-", "SG.", "eyJ", "xapp-"].iter().any(|prefix| secret.starts_with(prefix));
        for word in ["x", "null", "key_", "v1"] {
            let glued = format!("{word}{secret}");
            let expected = if is_apart { glued.clone() } else { format!("{word}<{rule}>") };
            assert_eq!(masked(&text(&glued)), expected);
            assert_eq!(masked(&json(&format!("[\"{glued}\"]"))), format!("[\"{expected}\"]"));
        }
        let blob = format!("{}{secret}", "Zm9v".repeat(20));
        assert_eq!(masked(&text(&blob)), blob, "not inside of what may be Base64");
    }
    for harmless in [
        "disk_test_1234567890",
        "task-assessment-of-2024-and-later",
        "linuxapp-release-2024-01-02",
        "MSG.package2.with.a.very.long.name.in.it",
        "xghp_short1",
    ] {
        assert_eq!(masked(&text(harmless)), harmless);
    }
}

#[test]
fn what_is_around_a_secret_stays() {
    for (input, expected) in [
        (
            "curl -H 'Authorization: Bearer abc12345xyz' x",
            "curl -H 'Authorization: Bearer <authorization>' x",
        ),
        ("got Bearer abc12345xyz.", "got Bearer <bearer>"),
        ("Basic dXNlcjpwYXNz next", "Basic <basic> next"),
        ("Cookie: a=b; c=d\nHost: x", "Cookie: <cookie>\nHost: x"),
        ("postgres://bob:s3cret@db:5432/x", "postgres://bob:<url-password>@db:5432/x"),
        ("https://0123456789abcdef0123@github.com/x", "https://<url-password>@github.com/x"),
        (
            "https://x.dev/cb?code=1&access_token=abc&state=2#f",
            "https://x.dev/cb?code=1&access_token=<token>&state=2#f",
        ),
        ("https://x.dev/?key=abc&b=1", "https://x.dev/?key=<query>&b=1"),
        ("https://s3/x?X-Amz-Signature=ab12&z=1", "https://s3/x?X-Amz-Signature=<query>&z=1"),
        (
            "https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXX",
            "https://hooks.slack.com/services/<slack>",
        ),
        ("DB_PASSWORD=hunter2\nPORT=1", "DB_PASSWORD=<password>\nPORT=1"),
        ("export API_KEY='abc def'", "export API_KEY='<api-key>'"),
        ("password: hunter2hunter2", "password: <password>"),
        ("{\"password\": \"hunter2\", oops", "{\"password\": \"<password>\", oops"),
        ("log: {\\\"token\\\":\\\"abc\\\"}", "log: {\\\"token\\\":\\\"<token>\\\"}"),
        ("cut off: {\"password\":\"hunt", "cut off: {\"password\":\"<password>"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "<pem>\nrest"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "<pem>"),
        (r"x\nghp_16C7e42F292c6912E7710c838347Ae178B4a", r"x\n<github>"),
        (r"\u000aAKIAIOSFODNN7EXAMPLE", r"\u000a<aws>"),
        ("http://a:pw-AKIAIOSFODNN7EXAMPLE@h", "http://a:<url-password>@h"),
        ("cat ~/.ssh/id_ed25519, then", "cat <key-path>, then"),
        ("C:\\keys\\server.pfx", "<key-path>"),
    ] {
        let clean = text(input);
        assert_eq!(masked(&clean), expected);
        assert_eq!(text(&clean), clean, "what was redacted stays as it is");
    }
}

#[test]
fn prose_and_code_stay_as_they_are() {
    for input in [
        "Bearer authentication and Basic overview",
        "the token: it is a word",
        "let token = parser.next_token();",
        "Rule::TOKEN => Some(rule), SECRET = other",
        "a block begins with -----BEGIN and a label",
        "if password == other { token::new() }",
        "task-force-alpha-and-beta-and-gamma",
        "sk-learn-is-a-very-long-package-name",
        "https://example.com/a:b@c file:///home/me/x",
        "ssh://git@github.com/x",
        "the file id_rsa is secret, ~/.ssh/id_rsa.pub is not",
        "PASSWORD=$SECRET_FROM_ENV ${TOKEN}",
        "max_tokens: 4096, tokens=12345678ab",
        "eyJhbGciOiJIUzI1NiJ9 alone is a header",
        "PWD=/home/me/project1 OLDPWD=/home/me/project2",
        "export PWD='/home/me/project1'; pwd: /home/me/project1",
        "ASIA IS A CONTINENT, broken tokens, cookie dough",
    ] {
        assert_eq!(text(input), input);
    }
}

#[test]
fn members_go_by_their_names() {
    for (input, expected) in [
        (r#"{"password":"hunter2"}"#, r#"{"password":"<password>"}"#),
        (r#"{"pass\u0077ord":"hunter2"}"#, r#"{"pass\u0077ord":"<password>"}"#),
        (
            r#"{"headers":{"X-Api-Key":"k","Set-Cookie":["a=b","c=d"]}}"#,
            r#"{"headers":{"X-Api-Key":"<api-key>","Set-Cookie":["<cookie>","<cookie>"]}}"#,
        ),
        (
            r#"{"pin_secret":1234,"token":17,"secret":true,"password":"","apiKey":null}"#,
            r#"{"pin_secret":"<secret>","token":17,"secret":true,"password":"","apiKey":null}"#,
        ),
        (
            r#"{"credentials":{"user":"bob","n":[{"x":"y"}]},"user":"bob"}"#,
            r#"{"credentials":{"user":"<credentials>","n":[{"x":"<credentials>"}]},"user":"bob"}"#,
        ),
        (r#"{"password":"[REDACTED]"}"#, r#"{"password":"[REDACTED]"}"#),
        (r#"{"API Key":"a","x y":"b"}"#, r#"{"API Key":"<api-key>","x y":"b"}"#),
        (r#"{"a":"\npwd=hunter2x9"}"#, r#"{"a":"\npwd=<password>"}"#),
        (r#"{"PWD":"hunter2","pwd":["a","/b"]}"#, r#"{"PWD":"<password>","pwd":["<password>","/b"]}"#),
        (
            r#"{"env":{"PWD":"/home/me/project","OLDPWD":"/home/me"},"pwd":"C:\\work"}"#,
            r#"{"env":{"PWD":"/home/me/project","OLDPWD":"/home/me"},"pwd":"C:\\work"}"#,
        ),
        (r#"{"a":"UID=sa;PWD=hunter2x9;"}"#, r#"{"a":"UID=sa;PWD=<password>;"}"#),
        (r#"[{"token":"a"},{"id":"b"},"c"]"#, r#"[{"token":"<token>"},{"id":"b"},"c"]"#),
    ] {
        assert_eq!(masked(&json(input)), expected);
    }
}

#[test]
fn schemas_progress_tokens_cursors_and_counts_stay() {
    for input in [
        r#"{"inputSchema":{"type":"object","properties":{"token":{"type":"string","description":"your token"},"password":{"type":"string"},"credentials":{"type":"object","properties":{"key":{"type":"string"}}}},"required":["token","password"]}}"#,
        r#"{"$defs":{"secret":{"enum":["a","b"]}},"definitions":{"apiKey":{"$ref":"x"}}}"#,
        r#"{"_meta":{"progressToken":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij"}}"#,
        r#"{"nextCursor":"eyJrIjoiMTIzNDU2Nzg5MCIsIm4iOiJhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eiIsImlkIjoxfQ"}"#,
        r#"{"cursor":"0123456789abcdef0123456789abcdef.0123456789abcdef","pageToken":"EAACEdEose0cBAAAAAAAAAAAAAAAAAA"}"#,
        r#"{"maxTokens":100,"usage":{"input_tokens":5,"tokenCount":7},"tokens":["a"]}"#,
        r#"{"id":12345678901234567890,"a":1.0,"a":1e999,"b":"\u00e9\/"}"#,
    ] {
        assert_eq!(json(input), input);
    }
    // A member called `properties` that maps names to strings is not a schema.
    assert_eq!(masked(&json(r#"{"properties":{"token":"abc"}}"#)), r#"{"properties":{"token":"<token>"}}"#);
}

#[test]
fn json_inside_strings_is_followed() {
    let inner = r#"{"user":"bob","password":"hunter2 \" x","n":{"api_key":1234,"pin":1}}"#;
    let clean = r#"{"user":"bob","password":"<password>","n":{"api_key":"<api-key>","pin":1}}"#;
    let mut input = inner.to_owned();
    let mut expected = clean.to_owned();
    for _ in 0..4 {
        input = format!("{{\"text\":{}}}", serde_json::to_string(&input).unwrap());
        expected = format!("{{\"text\":{}}}", serde_json::to_string(&expected).unwrap());
        assert_eq!(masked(&json(&input)), expected);
    }
}

#[test]
fn escapes_hide_nothing() {
    for (input, expected) in [
        (r#"{"a":"\u0067hp_16C7e42F292c6912E7710c838347Ae178B4a\n"}"#, r#"{"a":"<github>\n"}"#),
        (r#"{"a":"x\nAKIAIOSFODNN7EXAMPLE\ty"}"#, r#"{"a":"x\n<aws>\ty"}"#),
        (r#"{"a":"postgres:\/\/bob:s3\u0063ret@db"}"#, r#"{"a":"postgres:\/\/bob:<url-password>@db"}"#),
        (r#"{"a":"-----BEGIN KEY-----\nMII\n-----END KEY-----\né"}"#, r#"{"a":"<pem>\né"}"#),
    ] {
        assert_eq!(masked(&json(input)), expected);
    }
}

#[test]
fn equal_secrets_stay_equal_and_keys_differ() {
    let once = json(
        r#"{"a":["ghp_16C7e42F292c6912E7710c838347Ae178B4a","gh\u0070_16C7e42F292c6912E7710c838347Ae178B4a"]}"#,
    );
    let markers: Vec<&str> = once.split('"').filter(|piece| piece.starts_with("[RED")).collect();
    assert_eq!(markers.len(), 2);
    assert_eq!(markers[0], markers[1]);
    let other = Redactor::new(&Rules::default(), &RedactionKey::new([8; 32])).unwrap();
    assert_ne!(other.text(b"ghp_16C7e42F292c6912E7710c838347Ae178B4a"), markers[0].as_bytes());
}

#[test]
fn commands_are_redacted_like_messages() {
    let command = [
        "npx",
        "srv",
        "--api-key",
        "abc",
        "--token=abc",
        "API_KEY=abc",
        "--verbose",
        "x",
        "-H",
        "Authorization: Bearer abc12345xyz",
        "--password",
        "--flag",
        "--pwd",
        "/srv/data",
        "PWD=/srv/data",
        "postgres://a:b@c/d",
    ];
    let command: Vec<String> = command.into_iter().map(str::to_owned).collect();
    let clean: Vec<String> = redactor().command(&command).iter().map(|a| masked(a)).collect();
    let expected = [
        "npx",
        "srv",
        "--api-key",
        "<api-key>",
        "--token=<token>",
        "API_KEY=<api-key>",
        "--verbose",
        "x",
        "-H",
        "Authorization: Bearer <authorization>",
        "--password",
        "--flag",
        "--pwd",
        "/srv/data",
        "PWD=/srv/data",
        "postgres://a:<url-password>@c/d",
    ];
    assert_eq!(clean, expected);
}

#[test]
fn users_patterns_see_strings_numbers_and_text() {
    let rules = Rules { patterns: vec![("card".into(), r"\b4\d{15}\b".into())], ..Rules::default() };
    let redactor = Redactor::new(&rules, &RedactionKey::new([7; 32])).unwrap();
    let clean = redactor.json(br#"{"a":"pay 4111111111111111!","b":4111111111111111,"c":411}"#).unwrap();
    assert_eq!(masked(std::str::from_utf8(&clean).unwrap()), r#"{"a":"pay <card>!","b":"<card>","c":411}"#);
    for (name, pattern) in [("x", "("), ("x", "a*"), ("", "a"), ("a b", "a")] {
        let rules = Rules { patterns: vec![(name.into(), pattern.into())], ..Rules::default() };
        assert!(Redactor::new(&rules, &RedactionKey::new([7; 32])).is_err());
    }
    let rules = Rules { disabled: vec!["nope".into()], ..Rules::default() };
    assert!(Redactor::new(&rules, &RedactionKey::new([7; 32])).unwrap_err().to_string().contains("jwt"));
}

#[test]
fn users_tokens_are_found_in_strings_text_and_encodings() {
    let token = CustomToken {
        name: "acme".into(),
        prefix: "acme_".into(),
        alphabet: Alphabet::Alnum,
        min: 12,
        max: 12,
    };
    let rules = Rules { tokens: vec![token], ..Rules::default() };
    let redactor = Redactor::new(&rules, &RedactionKey::new([7; 32])).unwrap();
    let clean =
        redactor.json(br#"{"a":"see acme_0123456789ab.","b":"{\"c\":\"acme_0123456789ab\"}"}"#).unwrap();
    assert_eq!(
        masked(std::str::from_utf8(&clean).unwrap()),
        r#"{"a":"see <acme>.","b":"{\"c\":\"<acme>\"}"}"#
    );
    let clean = redactor.text(b"next=%22acme_0123456789ab%22 acme_0123456789abc");
    assert_eq!(masked(std::str::from_utf8(&clean).unwrap()), "next=%22<acme>%22 acme_0123456789abc");
}

/// Each of these has made, or could make, a check read the same range again and again. Quadratic time would
/// show here as a test that does not finish.
#[test]
fn hostile_repetition_comes_to_an_end() {
    for piece in [
        "eyJa-",
        "eyJaaaaaaaaaa.",
        "sk-",
        "@",
        "a@/",
        "-----BEGIN X-----.",
        "-----BEGIN ",
        "token:",
        "TOKEN=$",
        "password=\"",
        "://",
        "/x.pem.",
        "\\",
        "\"",
        "AKIA",
        "Bearer ",
        "x_",
        "id_rsa",
        "a.",
        "{\"a\":",
        "ghp_",
        "?key=",
        "Cookie: ",
        "hooks.slack.com",
        "a:b@c://",
        "\"token\":\"",
        "token='",
        "[",
        "secret=>",
        "-p ",
        " -storepass ",
        ".0.A",
        "1-",
        "</name><a>",
        "<a b=\"\">",
        "| name | value |\n",
        "curl -u ",
        " --password ",
        "PASSWORD=a(",
        "password: |\n ",
        "%3D",
        "%25",
        "&quot;",
        "&amp;",
        "\u{1b}[0m",
        "a,password\n\n",
        "| password |\n|---|\n",
        "name: password\n",
        "key=\"password\" ",
        "<password>",
        "VALUES (",
        "(password) VALUES ('",
        "kind: Secret\ndata:\n a: b\n",
        "Q~",
        "00Dabcdefghijkl!",
        "$2b$",
        "12345678:AA",
        "token is ",
        "password is ",
        "define('password', '",
        "cGFzc3dvcmQ9aHVudGVyMg",
        "data: cGFzc3dvcmQ9aHVudGVyMg\n",
        "AZDO",
        "+ASt",
        "SK0",
        " SK0",
        "_NbAkKc",
        "y_NbAkKc-",
        "p.eyJ",
        "-p.eyJ",
        "perm-",
        "perm:a.",
        "AIza",
        "[[\"password\",",
        "{\"name\":\"password\",",
        "{\"kty\":\"x\",\"d\":\"a\"},",
        "Private-Lines: 9\n",
    ] {
        let hostile = piece.repeat(400_000 / piece.len());
        text(&hostile);
        json(&serde_json::to_string(&hostile).unwrap());
    }
}

#[test]
fn long_strings_are_redacted_like_short_ones() {
    let filler = "x ".repeat(walk::LONG);
    for (secret, rule) in TOKENS {
        let clean = json(&format!("[\"{filler}\",\"{filler}{secret}\",\"{filler}\",\"a\"]"));
        assert!(masked(&clean).ends_with(&format!("x <{rule}>\",\"{filler}\",\"a\"]")), "{rule}");
        let clean = json(&format!("[\"{filler}\",{{\"password\":\"{secret}\"}}]"));
        assert!(masked(&clean).ends_with("{\"password\":\"<password>\"}]"), "{rule}");
    }
    let innocent = format!("[\"{filler}\",\"{filler}\",\"{filler}\"]");
    assert_eq!(json(&innocent), innocent);
    assert!(redactor().json(&innocent.as_bytes()[..innocent.len() - 1]).is_err());
}

/// The first word after `Authorization:` may be the credentials themselves.
#[test]
fn credentials_are_not_taken_for_a_scheme() {
    let token = ["glpat-", "ABcd1234efGH5678ijKL"].concat();
    for rest in ["", " event: &", " and more words"] {
        assert!(!text(&format!("Authorization:  {token}{rest}")).contains(&token), "{rest}");
    }
    assert!(
        text("Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=abcdef12")
            .contains("AWS4-HMAC-SHA256")
    );
}

#[test]
fn a_rule_that_is_off_is_off() {
    let rules = Rules { disabled: vec!["jwt".into(), "password".into()], ..Rules::default() };
    let redactor = Redactor::new(&rules, &RedactionKey::new([7; 32])).unwrap();
    let input = br#"{"password":"x","a":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij"}"#;
    assert_eq!(&*redactor.json(input).unwrap(), input);
}

/// The pieces from which secrets, and the texts around them, are built.
const PIECES: &[&str] = &[
    "password",
    "token",
    "api_key",
    "=",
    ":",
    ": ",
    "\"",
    "\\\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "eyJ",
    ".",
    "sk-",
    "://",
    "@",
    "a1",
    "x",
    "hunter2x9",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "-----",
    "Bearer ",
    "Basic ",
    "\n",
    " ",
    "/id_rsa",
    ".pem",
    "?key=",
    "&",
    "ghp_",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
    "é",
    "'",
    "hooks.slack.com",
    "/services/",
    "Cookie",
    "%3D",
    "&quot;",
    "\u{1b}[33m",
    "|",
    ",",
    "---",
    " -p ",
    "curl ",
    " --password ",
    "name",
    "value",
    "<password>",
    "</password>",
    "VALUES (",
    "IDENTIFIED BY ",
    "[REDACTED:token:0a1b2c3d]",
    "[REDACTED]",
    "machine ",
    "login ",
    "kind: Secret\n",
    "data:\n",
    "  a: b\n",
    "key=",
    "cGFzc3dvcmQ9aHVudGVyMng5",
    "DB_PASSWORD=",
    "is ",
    "Private-Lines: 2\n",
    "$2b$10$",
    "(",
    ")",
    "-> ",
];

proptest! {
    #[test]
    fn no_secret_is_left_wherever_it_stands(
        (secret, _) in proptest::sample::select(TOKENS),
        before in "[ a-z0-9(\n\"\\\\é]{0,12}[ (\n\"é]",
        after in "[ )\n\"\\\\é][ a-z0-9(\n\"\\\\é]{0,12}",
        levels in 0usize..4,
    ) {
        let mut payload = format!("{before}{secret}{after}");
        for _ in 0..levels {
            payload = format!("{{\"t\":{}}}", serde_json::to_string(&payload).unwrap());
        }
        let clean = if levels == 0 { text(&payload) } else { json(&payload) };
        prop_assert!(!clean.contains(secret), "{clean}");
        if levels > 0 {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{clean}");
        }
    }

    #[test]
    fn no_password_is_left(
        key in proptest::sample::select(&["password", "apiKey", "CLIENT_SECRET", "access-token", "Authorization"][..]),
        secret in "[a-zA-Z0-9\"\\\\\n]{3,20}",
        levels in 1usize..4,
    ) {
        let secret = format!("Zq{secret}qZ");
        let mut payload = serde_json::to_string(&secret).unwrap();
        payload = format!("{{\"x\":[{{\"{key}\":{payload}}}]}}");
        for _ in 1..levels {
            payload = format!("{{\"t\":{}}}", serde_json::to_string(&payload).unwrap());
        }
        let clean = json(&payload);
        prop_assert!(!clean.contains("Zq"), "{clean}");
        prop_assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{clean}");
    }

    #[test]
    fn the_quick_look_clears_nothing_that_a_walk_would_change(pieces in proptest::collection::vec(proptest::sample::select(&[
        "{", "}", "[", "]", ",", ":", "                    :", "\"pass\\tword\"", "\"my \\\"secret\"", "\"a\"", "\"password\"", "\"API Key\"", "\"\\npwd=x1234567\"", "\"pass\\u0077ord\"", "1", "\"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"",
        "\"x\\nAKIAIOSFODNN7EXAMPLE\"", "\"{\\\"token\\\":\\\"abc\\\"}\"", "\"\\tpostgres:\\/\\/a:b@c\"", "\"\\neyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij\"",
        "\"/x/id_rsa\"", "\"Cookie: a=b\"", "\"https://x/?key=abc\"", "null", "\"cursor\"", "\"-----BEGIN X-----\"", "\"Bearer abcdefgh12\"", "\"cookies\"", "\"\\\\npwd=hunter2x9\"",
        "\"x\\n--api-key 8fj29fj29fj2kd83\"", "\"x\\t--api-key 8fj29fj29fj2kd83\"", "\"{\\\"a\\\":\\\"https://ada:\\\\u20acx9hunter@db.example.com\\\"}\"",
        "\"\\u4e2dabcdefghijklmnopqrstughp_16C7e42F292c6912E7710c838347Ae178B4a\"",
    ][..]), 0..12)) {
        let input = pieces.concat();
        let redactor = redactor();
        let edits = walk::edits(&mut Pass::new(&redactor, None), input.as_bytes());
        if edits.is_ok_and(|edits| !edits.is_empty()) {
            prop_assert!(!redactor.is_clean(input.as_bytes()).unwrap(), "{input}");
        }
    }

    #[test]
    fn redacting_again_changes_nothing(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..30)) {
        let once = text(&pieces.concat());
        prop_assert_eq!(&text(&once), &once);
        let once = json(&format!("{{\"a\":{}}}", serde_json::to_string(&pieces.concat()).unwrap()));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&once).is_ok(), "{}", once);
        prop_assert_eq!(&json(&once), &once);
    }

    #[test]
    fn no_secret_survives_whatever_chunks_it_comes_in(
        (secret, _) in proptest::sample::select(TOKENS),
        before in "[ a-z0-9(\n\"\\\\é]{0,12}[ (\n\"é]",
        after in "[ )\n\"\\\\é][ a-z0-9(\n\"\\\\é]{0,12}",
        cuts in proptest::collection::vec(1usize..20, 0..40),
    ) {
        let stream = format!("{before}{secret}{after}\nDB_PASSWORD=Zq{secret}qZ\n");
        let mut framer = crate::framing::LineFramer::new();
        let (redactor, mut state) = (redactor(), LineState::default());
        let mut rest = stream.as_bytes();
        let mut clean = Vec::new();
        let mut cuts = cuts.into_iter();
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
            framer.push(chunk);
            while let Some(frame) = framer.next_frame() {
                clean.extend_from_slice(&redactor.line(frame.bytes, &mut state, None));
            }
            rest = behind;
        }
        let clean = String::from_utf8_lossy(&clean).into_owned();
        prop_assert!(!clean.contains(secret) && !clean.contains("Zq"), "{}", clean);
    }

    #[test]
    fn anything_goes_through(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        redactor().text(&bytes);
        let _ = redactor().json(&bytes);
    }

    #[test]
    fn pieces_of_secrets_go_through(pieces in proptest::collection::vec(proptest::sample::select(&[
        "password", "=", ":", "\"", "\\\"", "\\", "{", "}", "token", "eyJ", ".", "sk-", "://", "@", "a1", "-----BEGIN ", "-----END ", "-----", "Bearer ",
        "\n", " ", "/id_rsa", ".pem", "?key=", "&", "ghp_", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", "é", "'", "hooks.slack.com", "/services/", "Cookie",
    ][..]), 0..40)) {
        let payload = pieces.concat();
        text(&payload);
        let wrapped = serde_json::to_string(&payload).unwrap();
        let clean = json(&wrapped);
        prop_assert!(serde_json::from_str::<String>(&clean).is_ok(), "{clean}");
    }
}
