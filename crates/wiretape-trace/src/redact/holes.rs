//! Regressions: secrets that redaction once missed, each with the text that showed it.

use super::*;

fn redactor() -> Redactor {
    Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap()
}

fn json(input: &str) -> String {
    masked(&redactor().json(input.as_bytes()).unwrap())
}

fn text(input: &str) -> String {
    masked(&redactor().text(input.as_bytes()))
}

fn lines(input: &str) -> String {
    let (redactor, mut state) = (redactor(), LineState::default());
    let clean: Vec<String> =
        input.split('\n').map(|line| masked(&redactor.line(line.as_bytes(), &mut state, None))).collect();
    clean.join("\n")
}

/// Markers with their hash left out.
fn masked(clean: &[u8]) -> String {
    let text = String::from_utf8_lossy(clean);
    regex::Regex::new(r"\[REDACTED:([a-z0-9-]+):[0-9a-f]{8}\]")
        .unwrap()
        .replace_all(&text, "<$1>")
        .into_owned()
}

/// A classic token of GitHub, which is always recognized: if it is left, the place was not scanned.
fn github() -> String {
    ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

#[test]
fn a_private_key_over_several_lines_does_not_reach_the_trace() {
    let label = ["OPENSSH PRIVATE", "KEY"].join(" ");
    let key = format!("start\n-----BEGIN {label}-----\nQUJDREVGQUJDREVG\n-----END {label}-----\nok");
    assert_eq!(lines(&key), "start\n<pem>\n<pem>\n<pem>\nok");
    let logged = format!(
        "12:00 INFO -----BEGIN {label}-----\n12:00 INFO QUJDREVG\n12:00 INFO -----END {label}-----\nok"
    );
    assert_eq!(lines(&logged), "12:00 INFO <pem>\n12:00 INFO <pem>\n12:00 INFO <pem>\nok");
    let putty = "Private-Lines: 2\nQUJDREVG\nQUJD\nPrivate-MAC: 0123456789abcdef0123456789abcdef\nok";
    assert_eq!(lines(putty), "Private-Lines: 2\n<putty>\n<putty>\nPrivate-MAC: <secret>\nok");
    assert_eq!(
        lines("password=\"one\ntwo\nthree\" x\nok"),
        "password=\"<password>\n<password>\n<password>\" x\nok"
    );
    let logged = format!("-----BEGIN {label}-----\nusing {} QUJDREVG\nok", github());
    assert_eq!(lines(&logged), "<pem>\nusing <github> <pem>\n<pem>");
    // A block whose end was lost ends where something else begins.
    let lost = format!("-----BEGIN {label}-----\nQUJD\n{{\"level\":\"info\"}}\nplain words");
    assert_eq!(lines(&lost), "<pem>\n<pem>\n{\"level\":\"info\"}\nplain words");
}

#[test]
fn a_value_on_the_lines_after_its_name_is_redacted() {
    assert_eq!(
        lines("db:\n  password: |\n    river\n\n    bank\n  user: bob\nok"),
        "db:\n  password: |\n    <password>\n\n    <password>\n  user: bob\nok"
    );
    assert_eq!(lines("api_key: >-\n  riverbank\nok"), "api_key: >-\n  <api-key>\nok");
    assert_eq!(
        lines("srv --password \\\n    riverbank --port 80\nok"),
        "srv --password \\\n    <password> --port 80\nok"
    );
    for harmless in [
        "description: |\n  river",
        "srv --port \\\n  8080",
        "srv --password \\\n  --verbose",
        "password: |\nriver",
    ] {
        assert_eq!(lines(harmless), harmless);
    }
    let long = format!("password: |\n{}", " x\n".repeat(600));
    assert!(lines(&long).ends_with("\n x\n x\n"), "a block ends, however long it is indented");
}

#[test]
fn an_exempt_name_hides_no_token_of_a_provider() {
    let token = github();
    assert_eq!(
        json(&format!(r#"{{"nextCursor":"a {token}","progressToken":"\n{token}"}}"#)),
        r#"{"nextCursor":"a <github>","progressToken":"\n<github>"}"#
    );
    let (redactor, memory) = (redactor(), SecretMemory::default());
    redactor.json_with(br#"{"password":"opensesame42"}"#, &memory).unwrap();
    let clean = redactor.json_with(br#"{"cursor":"opensesame42"}"#, &memory).unwrap();
    assert_eq!(masked(&clean), r#"{"cursor":"<repeated>"}"#);
}

#[test]
fn an_exempt_name_protects_no_object_below_it() {
    let answer = format!(
        r#"{{"result":{{"cursor":{{"firstBatch":[{{"user":"bob","password":"hunter2","note":"{}"}}]}}}}}}"#,
        github()
    );
    let expected =
        r#"{"result":{"cursor":{"firstBatch":[{"user":"bob","password":"<password>","note":"<github>"}]}}}"#;
    assert_eq!(json(&answer), expected);
}

#[test]
fn a_name_makes_its_neighbour_a_secret() {
    for (input, expected) in [
        (r#"[{"name":"DB_PASSWORD","value":"x1y2"}]"#, r#"[{"name":"DB_PASSWORD","value":"<password>"}]"#),
        (r#"[{"value":"x1y2","key":"smtp_password"}]"#, r#"[{"value":"<password>","key":"smtp_password"}]"#),
        (
            r#"{"rawHeaders":["Authorization","Token x"]}"#,
            r#"{"rawHeaders":["Authorization","<authorization>"]}"#,
        ),
        (r#"{"password":{"value":"x"}}"#, r#"{"password":{"value":"<password>"}}"#),
        (r#"{"args":["--api-key","x1","-v"]}"#, r#"{"args":["--api-key","<api-key>","-v"]}"#),
        (
            r#"{"columns":["user","password"],"rows":[["bob","x"]]}"#,
            r#"{"columns":["user","password"],"rows":[["bob","<password>"]]}"#,
        ),
        (r#"{"kty":"RSA","n":"a","d":"b"}"#, r#"{"kty":"RSA","n":"a","d":"<private-key>"}"#),
        (r#"{"data":{"x":"eA=="},"kind":"Secret"}"#, r#"{"data":{"x":"<credentials>"},"kind":"Secret"}"#),
    ] {
        assert_eq!(json(input), expected);
    }
    assert_eq!(text(r#"<add key="ApiKey" value="abcdefgh"/>"#), r#"<add key="ApiKey" value="<api-key>"/>"#);
    assert_eq!(text("<password>hunter2</password>"), "<password><password></password>");
    assert_eq!(text("- name: DB_PASSWORD\n  value: hunter2"), "- name: DB_PASSWORD\n  value: <password>");
}

#[test]
fn a_header_goes_to_the_end_of_its_line() {
    for (input, expected) in [
        ("Cookie: theme=\"dark\"; sid=abcdef0123456789\nHost: x", "Cookie: <cookie>\nHost: x"),
        ("Set-Cookie: data=\"x\"; session=abc", "Set-Cookie: <cookie>"),
        (
            "Authorization: Digest username=\"bob\", response=\"0123\"",
            "Authorization: Digest <authorization>",
        ),
        ("curl -H \"Cookie: a=b; c=d\" https://x.dev/", "curl -H \"Cookie: <cookie>\" https://x.dev/"),
        ("-H 'Authorization: Token \"abc\"' x", "-H 'Authorization: Token <authorization>' x"),
        ("Bearer\tabcdefgh12345678", "Bearer\t<bearer>"),
    ] {
        assert_eq!(text(input), expected);
    }
}

#[test]
fn colours_percent_signs_and_entities_hide_nothing() {
    let token = github();
    assert_eq!(text(&format!("\x1b[33m{token}\x1b[0m")), "\x1b[33m<github>\x1b[0m");
    assert_eq!(text(&format!("?next=%2Fx%3Fv%3D{token}")), "?next=%2Fx%3Fv%3D<github>");
    assert_eq!(text("\x1b[36mpassword=\x1b[0mhunter2x9 ok"), "\x1b[36mpassword=\x1b[0m<password> ok");
    assert_eq!(
        text("{&quot;password&quot;:&quot;hunter2&quot;}"),
        "{&quot;password&quot;:&quot;<password>&quot;}"
    );
    assert_eq!(text("user%3Dbob%26password%3Dhunter2%26x%3D1"), "user%3Dbob%26password%3D<password>%26x%3D1");
    let base64 = "cGFzc3dvcmQ9aHVudGVyMmh1bnRlcg==";
    assert_eq!(json(&format!(r#"{{"data":"{base64}"}}"#)), r#"{"data":"<password>"}"#);
}

#[test]
fn values_are_taken_whole() {
    for (input, expected) in [
        ("DB_PASSWORD=P@ss(word)123longtail99", "DB_PASSWORD=<password>"),
        ("password: opensesameforever", "password: <password>"),
        ("machine h login bob password letters", "machine h login bob password <password>"),
        ("db:5432:app:bob:letters", "db:5432:app:bob:<password>"),
        ("host=db user=bob password=letters dbname=x", "host=db user=bob password=<password> dbname=x"),
        ("jdbc:oracle:thin:u/letters@h:1521:x", "jdbc:oracle:thin:u/<url-password>@h:1521:x"),
        ("curl -u bob:letters https://x.dev", "curl -u bob:<command-line> https://x.dev"),
        ("mysql -u root -phunter db", "mysql -u root -p<command-line> db"),
        ("CREATE USER b IDENTIFIED BY 'letters'", "CREATE USER b IDENTIFIED BY '<sql>'"),
        ("a,password\nb,letters\n", "a,password\nb,<password>\n"),
        ("PresharedKey = abcdef0123456789=", "PresharedKey = <secret>"),
        ("bob:letters1@db.example.com:5432/x", "bob:<url-password>@db.example.com:5432/x"),
        ("https://x.dev/cb?code=abcdef0123456789", "https://x.dev/cb?code=<query>"),
        ("https://x.dev/f?SIG=abc", "https://x.dev/f?SIG=<query>"),
    ] {
        assert_eq!(text(input), expected);
    }
    let secret = ["wh", "sec_", "abc/def+ghijklmnop0123456789="].concat();
    assert_eq!(text(&secret), "<stripe>");
}

#[test]
fn command_lines_hide_what_their_options_take() {
    let command = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        masked(redactor().command(&words).join(" ").as_bytes())
    };
    assert_eq!(command("srv --password -x9abcdef run"), "srv --password <password> run");
    assert_eq!(command("srv -p hunter2x"), "srv -p <command-line>");
    assert_eq!(command("srv -p 8080 -p 80:80 -p /srv"), "srv -p 8080 -p 80:80 -p /srv");
    assert_eq!(command("srv --auth bob:hunter2"), "srv --auth bob:<command-line>");
    assert_eq!(command("srv --key 550e8400-e29b-41d4-a716-446655440000"), "srv --key <api-key>");
    assert_eq!(command("srv --header X-Api-Key:letters"), "srv --header X-Api-Key:<api-key>");
}

#[test]
fn only_a_whole_marker_counts_as_redacted() {
    assert_eq!(json(r#"{"password":"[REDACTED]"}"#), r#"{"password":"[REDACTED]"}"#);
    assert_eq!(json(r#"{"password":"[REDACTED hunter2"}"#), r#"{"password":"<password>"}"#);
}

#[test]
fn what_a_session_has_named_is_known_wherever_it_is_said() {
    let (redactor, memory) = (redactor(), SecretMemory::default());
    let json = |input: &str| masked(&redactor.json_with(input.as_bytes(), &memory).unwrap());
    let text = |input: &str| masked(&redactor.text_with(input.as_bytes(), &memory));
    assert_eq!(json(r#"["opensesame forever"]"#), r#"["opensesame forever"]"#);
    json(r#"{"password":"opensesame/42\"x"}"#);
    assert_eq!(text("it is opensesame/42\"x."), "it is <repeated>.");
    assert_eq!(json(r#"["it is opensesame/42\"x."]"#), r#"["it is <repeated>."]"#);
    let nested = serde_json::to_string(r#"["opensesame/42\"x"]"#).unwrap();
    assert_eq!(json(&nested), r#""[\"<repeated>\"]""#);
    assert_eq!(text("u=opensesame%2F42%22x"), "u=<repeated>");
    use base64::Engine;
    let wrapped = base64::engine::general_purpose::STANDARD.encode("the word is opensesame/42\"x, friend");
    assert_eq!(text(&format!("got {wrapped} back")), "got <repeated> back");
    // The pair that `Basic` is Base64 of.
    let pair = base64::engine::general_purpose::STANDARD.encode("bob:swordfish99");
    json(&format!(r#"{{"Authorization":"Basic {pair}"}}"#));
    assert_eq!(text("login as bob:swordfish99, swordfish99"), "login as <repeated>, <repeated>");
    // Common words and short values are not remembered.
    json(r#"{"password":"password","token":"short"}"#);
    assert_eq!(text("password and short"), "password and short");
    // Named and repeated in one message.
    assert_eq!(
        json(r#"{"note":"use correct-horse-9","password":"correct-horse-9"}"#),
        r#"{"note":"use <repeated>","password":"<password>"}"#
    );
    // A number is a number.
    json(r#"{"password":"123456789012"}"#);
    assert_eq!(json(r#"{"id":123456789012}"#), r#"{"id":123456789012}"#);
}

#[test]
fn findings_say_where_and_why() {
    let redactor = redactor();
    let found = redactor.explain_text(b"user=bob password=hunter2x9 ok");
    assert_eq!(found, [Finding { rule: "password".into(), range: 18..27 }]);
    let found = redactor.explain_json(br#"{"a":"\tpassword=hunter2x9"}"#).unwrap();
    assert_eq!(found, [Finding { rule: "password".into(), range: 17..26 }]);
}

#[test]
fn rules_have_names_of_their_own() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert!(names.len() >= 200, "{} rules", names.len());
    assert!(names.iter().all(|name| {
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    }));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len(), "two rules have one name");
}

#[test]
fn a_table_of_names_and_values_hides_the_values_of_secret_names() {
    let table = "| Setting | Value |\n|---|---|\n| port | 8080 |\n| DB_PASSWORD | riverbank |\n";
    assert_eq!(text(table), table.replace("riverbank", "<password>"));
    let insert =
        "INSERT INTO settings (name, value) VALUES ('theme', 'dark'), ('smtp_password', 'riverbank');";
    assert_eq!(text(insert), insert.replace("riverbank", "<password>"));
}

#[test]
fn an_element_may_be_named_by_the_one_before_it() {
    for element in [
        "<name>db.password</name><value>riverbank</value>",
        "<Key>Password</Key><Value Protected=\"True\">riverbank</Value>",
        "<wsse:Password Type=\"text\">riverbank</wsse:Password>",
    ] {
        assert_eq!(text(element), element.replace("riverbank", "<password>"));
    }
}

#[test]
fn a_line_of_json_is_redacted_by_its_structure() {
    let line = r#"{"outputs":{"db_password":{"sensitive":true,"value":"riverbank"}}}"#;
    assert_eq!(lines(line), line.replace("riverbank", "<password>"));
}

#[test]
fn placeholders_in_the_form_of_a_token_stay() {
    for placeholder in [["ghp", &"x".repeat(36)].join("_"), ["glpat", &"x".repeat(20)].join("-")] {
        assert_eq!(text(&placeholder), placeholder);
    }
    assert_eq!(text("token = tokens[i]"), "token = tokens[i]");
    assert_eq!(text("existingSecret: db-credentials"), "existingSecret: db-credentials");
    let prepared = "INSERT INTO users (name, password) VALUES (?, ?)";
    assert_eq!(text(prepared), prepared);
}

#[test]
fn options_of_one_dash_and_other_forms_of_configuration_are_read() {
    for (before, after) in [
        ("keytool -list -storepass riverbank", "keytool -list -storepass <password>"),
        ("openssl rsa -passin pass:riverbank", "openssl rsa -passin pass:<command-line>"),
        ("cifs username=bob,password=riverbank,uid=1000", "cifs username=bob,password=<password>,uid=1000"),
        ("user bob\npassword riverbank\n", "user bob\npassword <password>\n"),
        ("Config { password: Some(\"riverbank\") }", "Config { password: Some(\"<password>\") }"),
        ("postgres://app:ri#er9bank@db:5432/app", "postgres://app:<url-password>@db:5432/app"),
    ] {
        assert_eq!(text(before), after);
    }
}

#[test]
fn tokens_without_an_anchor_are_found_by_their_parts() {
    let mut random = corpus::Random::new(43);
    let mut part = |length| random.text(corpus::ALPHANUMERIC, length);
    let id = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
    for (token, rule) in [
        (format!("{}_{}_{id}", part(64), part(4)), "webex"),
        (format!("{}.{}:{}", part(6), part(6), part(43)), "ably"),
        (format!("{id}:fx"), "deepl"),
        (format!("0.{id}.{}:{}", part(30), part(22)), "bitwarden"),
        (format!("1-{}", part(64)), "truenas"),
        (format!("0.A{}", part(80)), "azure"),
        (format!("2/1{}/1{}:{}", "2".repeat(15), "3".repeat(15), "0a".repeat(16)), "asana"),
    ] {
        assert_eq!(text(&format!("it is {token} now")), format!("it is <{rule}> now"));
    }
}

#[test]
fn a_key_in_a_block_scalar_is_redacted_to_its_end() {
    let label = ["PRIVATE", "KEY"].join(" ");
    let body: Vec<String> = (0..99).map(|n| format!("    MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{n:04}")).collect();
    let key = format!("    -----BEGIN {label}-----\n{}\n    -----END {label}-----", body.join("\n"));
    let markers = vec!["    <pem>"; 101].join("\n");
    assert_eq!(
        lines(&format!("config:\n  private_key: |\n{key}\n  port: 80\nok")),
        format!("config:\n  private_key: |\n{markers}\n  port: 80\nok")
    );
    // The value continues after a key.
    assert_eq!(
        lines(&format!("  private_key: |\n    river\n{key}\n    bank\n{key}\n  port: 80")),
        format!("  private_key: |\n    <private-key>\n{markers}\n    <private-key>\n{markers}\n  port: 80")
    );
    // A key that was cut off ends with its block.
    let cut = format!("  private_key: |\n    -----BEGIN {label}-----\n    a (b)\n    QUJD\n  user: bob");
    assert_eq!(lines(&cut), "  private_key: |\n    <pem>\n    <pem>\n    <pem>\n  user: bob");
    // Without the rule for keys, the one for the name still applies.
    let rules = Rules { disabled: vec!["pem".into()], ..Rules::default() };
    let redactor = Redactor::new(&rules, &RedactionKey::new([7; 32])).unwrap();
    let mut state = LineState::default();
    redactor.line(b"  private_key: |", &mut state, None);
    for line in key.split('\n') {
        assert_eq!(masked(&redactor.line(line.as_bytes(), &mut state, None)), "    <private-key>");
    }
}

#[test]
fn the_lines_of_a_key_in_a_block_scalar_are_not_remembered() {
    let (redactor, memory, mut state) = (redactor(), SecretMemory::default(), LineState::default());
    let begin = ["    -----BEGIN", "PRIVATE KEY-----"].join(" ");
    for line in ["private_key: |", &begin, "    MIIEvQIBADANBgkqhkiG9w0BAQEF"] {
        redactor.line(line.as_bytes(), &mut state, Some(&memory));
    }
    let text = b"MIIEvQIBADANBgkqhkiG9w0BAQEF";
    assert_eq!(masked(&redactor.text_with(text, &memory)).as_bytes(), text);
}

#[test]
fn an_option_may_follow_an_escaped_blank() {
    for blank in [r"\n", r"\t", r"\r", r"\r\n"] {
        for (option, expected) in [
            ("--api-key 8fj29fj29fj2kd83", "--api-key <api-key>"),
            ("--passphrase hunter2abc9", "--passphrase <password>"),
            ("-storepass hunter2abc9", "-storepass <password>"),
            ("-p hunter2abc9", "-p <command-line>"),
        ] {
            assert_eq!(
                json(&format!(r#"{{"text":"run{blank}{option}"}}"#)),
                format!(r#"{{"text":"run{blank}{expected}"}}"#)
            );
        }
    }
}

#[test]
fn a_letter_escaped_twice_may_be_part_of_a_password() {
    assert_eq!(
        json(r#"{"text":"{\"url\": \"https://ada:\\u20acx9hunter@db.example.com/x\"}"}"#),
        r#"{"text":"{\"url\": \"https://ada:<url-password>@db.example.com/x\"}"}"#
    );
}

#[test]
fn the_letters_of_an_escape_are_not_part_of_the_word_before_a_token() {
    let (token, letters) = (github(), "abcdefghijklmnopqrstuvwxyz");
    for escape in [r"\n", r"\u4e2d", r"\ud83d\ude00"] {
        for length in [18, 19, 20, 24] {
            let word = &letters[..length];
            assert_eq!(
                json(&format!(r#"["x{escape}{word}{token}"]"#)),
                format!(r#"["x{escape}{word}<github>"]"#)
            );
        }
        // Longer runs may be Base64.
        let long = format!(r#"["x{escape}{}{token}"]"#, &letters[..25]);
        assert_eq!(json(&long), long);
    }
}

#[test]
fn lines_that_are_redacted_again_keep_their_markers() {
    let begin = ["    -----BEGIN", "PRIVATE KEY-----"].join(" ");
    let end = begin.replace("BEGIN", "END");
    for input in [
        "password: |\n  hunter2abc9\n  riverbank\nok",
        "Private-Lines: 2\nQUJDREVG\nQUJD\nok",
        "srv --password \\\n    riverbank --port 80\nok",
        "password=\"one\ntwo\nthree\" x\nok",
        &format!("  private_key: |\n{begin}\n    QUJD\n{end}\n    bank\n  port: 80"),
    ] {
        let redactor = redactor();
        let redact = |input: &str| {
            let mut state = LineState::default();
            let clean = input.split('\n').map(|line| {
                String::from_utf8(redactor.line(line.as_bytes(), &mut state, None).into_owned()).unwrap()
            });
            clean.collect::<Vec<_>>().join("\n")
        };
        let once = redact(input);
        assert_ne!(once, input);
        assert_eq!(redact(&once), once);
    }
}

#[test]
fn a_long_name_makes_its_neighbour_a_secret() {
    let name = format!("{}_PASSWORD", "A".repeat(70));
    assert_eq!(
        json(&format!(r#"{{"name":"{name}","value":"hunter2abc9"}}"#)),
        format!(r#"{{"name":"{name}","value":"<password>"}}"#)
    );
}
