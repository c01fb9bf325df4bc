//! The places where secrets occur: arguments and results, text, URLs, headers, logs, commands, and encoded
//! text.

use super::names::Named;
use super::tokens::Token;
use super::{Case, Way};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A result with this text in it.
fn result(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{}}}]}}}}"#,
        quoted(text)
    )
}

fn escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect()
}

fn percent(text: &str) -> String {
    let encode = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encode).collect()
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\'', "&#39;")
}

/// Makes cases of one secret.
struct Placing<'p> {
    what: &'p str,
    secret: &'p str,
    cases: Vec<Case>,
}

impl Placing<'_> {
    fn put(&mut self, group: &str, way: Way, text: String) {
        self.put_as(group, way, text, self.secret.to_owned());
    }

    fn put_as(&mut self, group: &str, way: Way, text: String, secret: String) {
        let case =
            Case { group: group.to_owned(), what: self.what.to_owned(), way, text, secrets: vec![secret] };
        self.cases.push(case);
    }
}

/// Every token, without context that identifies it, and under a name that does.
pub(super) fn of_tokens(tokens: &[Token]) -> Vec<Case> {
    let mut cases = Vec::new();
    for Token { kind, text } in tokens {
        let mut placing = Placing { what: kind, secret: text, cases: Vec::new() };
        by_looks(&mut placing, text);
        cases.append(&mut placing.cases);
    }
    cases
}

fn by_looks(p: &mut Placing<'_>, t: &str) {
    p.put(
        "arguments, neutral key",
        Way::Json,
        format!(r#"{{"method":"tools/call","params":{{"arguments":{{"input":{}}}}}}}"#, quoted(t)),
    );
    p.put(
        "arguments, telling key",
        Way::Json,
        format!(r#"{{"params":{{"arguments":{{"api_key":{}}}}}}}"#, quoted(t)),
    );
    p.put("result, prose", Way::Json, result(&format!("The answer is {t} as you asked.")));
    p.put("result, markdown", Way::Json, result(&format!("# Setup\n\nUse `{t}` for it.\n\n```\n{t}\n```\n")));
    p.put("JSON in a string", Way::Json, result(&format!(r#"{{"items":[{{"note":{}}}]}}"#, quoted(t))));
    p.put("text NAME=value", Way::Json, result(&format!("PORT=1\nVALUE={t}\nHOST=x")));
    p.put("text name: value", Way::Text, format!("name: x\nvalue: {t}\nother: y"));
    p.put("text, cut JSON", Way::Text, format!(r#"{{"a":1,"note":"{t}","b":["#));
    p.put("query of a URL", Way::Json, result(&format!("see https://example.com/x?page=2&v={t}&z=1")));
    p.put("path of a URL", Way::Text, format!("GET https://example.com/v1/{t}/items"));
    p.put("URL of a request", Way::Url, format!("/v1/items?token={t}&z=1"));
    p.put(
        "error message",
        Way::Json,
        format!(
            r#"{{"error":{{"code":-1,"message":{}}}}}"#,
            quoted(&format!("invalid value \"{t}\" (rejected)"))
        ),
    );
    p.put(
        "header as an object",
        Way::Json,
        format!(r#"{{"headers":{{"Authorization":{}}}}}"#, quoted(&format!("Bearer {t}"))),
    );
    p.put("header line", Way::Text, format!("> X-Custom: {t}"));
    p.put(
        "name and value pair",
        Way::Json,
        format!(r#"{{"env":[{{"name":"API_TOKEN","value":{}}}]}}"#, quoted(t)),
    );
    p.put("command line, bare", Way::Command, format!("npx\u{1}server\u{1}{t}"));
    p.put("command line, named", Way::Command, format!("npx\u{1}server\u{1}--api-key\u{1}{t}"));
    p.put("command line, NAME=value", Way::Command, format!("env\u{1}SERVICE={t}\u{1}server"));
    p.put("command line, --name=value", Way::Command, format!("npx\u{1}server\u{1}--endpoint={t}"));
    p.put(
        "result, telling key deep inside",
        Way::Json,
        format!(
            r#"{{"result":{{"structuredContent":{{"a":[{{"b":{{"access_token":{},"n":1}}}}]}}}}}}"#,
            quoted(t)
        ),
    );
    p.put("command in text", Way::Text, format!("$ tool login {t} --verbose"));
    p.put(
        "stderr line",
        Way::Lines,
        format!("2024-05-01T12:00:00Z INFO started\n2024-05-01T12:00:01Z DEBUG using {t}\nok"),
    );
    p.put("unicode escapes", Way::Json, format!(r#"{{"input":"{}"}}"#, escaped(t)));
    p.put("ANSI colors", Way::Json, result(&format!("\u{1b}[36mkey\u{1b}[0m=\u{1b}[33m{t}\u{1b}[0m")));
    p.put("percent-encoded", Way::Text, format!("next=https%3A%2F%2Fx.dev%2F%3Fv%3D{}%26z%3D1", percent(t)));
    p.put("HTML-escaped", Way::Text, format!("<pre>{}</pre>", html(&format!("{{\"v\":\"{t}\"}}"))));
    let encoded = STANDARD.encode(format!("value={t}\n"));
    p.put_as("Base64 of a text", Way::Json, format!(r#"{{"data":"{encoded}"}}"#), encoded);
    p.put("quoted in a list", Way::Text, format!("['a', '{t}', \"b\"]"));
    p.put("XML attribute", Way::Text, format!("<item v=\"{t}\"/>"));
    p.put("parentheses", Way::Text, format!("login({t})"));
}

/// Every name with its value.
pub(super) fn of_names(names: &[Named]) -> Vec<Case> {
    let mut cases = Vec::new();
    for Named { name, value } in names {
        let mut placing = Placing { what: name, secret: value, cases: Vec::new() };
        by_name(&mut placing, name, value);
        in_formats(&mut placing, name, value);
        cases.append(&mut placing.cases);
    }
    cases
}

fn by_name(p: &mut Placing<'_>, n: &str, v: &str) {
    let shouted = n.replace(['-', '.'], "_").to_uppercase();
    p.put("name: argument", Way::Json, format!(r#"{{"params":{{"arguments":{{"{n}":"{v}"}}}}}}"#));
    p.put(
        "name: deep in a result",
        Way::Json,
        format!(r#"{{"result":{{"structuredContent":{{"a":[{{"b":{{"{n}":"{v}"}}}}]}}}}}}"#),
    );
    p.put("name: JSON in a string", Way::Json, result(&format!(r#"{{"user":"bob","{n}":"{v}"}}"#)));
    p.put("name: in a list", Way::Json, format!(r#"{{"{n}":["{v}"]}}"#));
    p.put(
        "name: object with a value",
        Way::Json,
        format!(r#"{{"{n}":{{"sensitive":true,"type":"string","value":"{v}"}}}}"#),
    );
    p.put("name: cut JSON", Way::Text, format!(r#"{{"user":"bob","{n}":"{v}","rest":["#));
    p.put("name: NAME=value", Way::Json, result(&format!("PORT=1\n{shouted}={v}\nHOST=x")));
    p.put("name: export NAME=value", Way::Text, format!("export {shouted}={v}\n"));
    p.put("name: name: value", Way::Text, format!("user: bob\n{n}: {v}\nport: 1\n"));
    p.put("name: name = value", Way::Text, format!("user = bob\n{n} = \"{v}\"\n"));
    p.put(
        "name: error message",
        Way::Json,
        format!(
            r#"{{"error":{{"message":{}}}}}"#,
            quoted(&format!("cannot connect with user=\"bob\" {n}=\"{v}\" to db"))
        ),
    );
    p.put(
        "name: query of a URL",
        Way::Json,
        result(&format!("GET https://example.com/x?page=2&{n}={v}&z=1")),
    );
    p.put("name: URL of a request", Way::Url, format!("/x?{n}={v}&z=1"));
    p.put("name: form", Way::Text, format!("user=bob&{n}={v}&submit=1"));
    p.put("name: header as an object", Way::Json, format!(r#"{{"headers":{{"{n}":"{v}"}}}}"#));
    p.put("name: header line", Way::Text, format!("POST / HTTP/1.1\r\nHost: x\r\n{n}: {v}\r\n\r\n"));
    p.put("name: header of curl", Way::Text, format!("curl -H '{n}: {v}' https://x.dev/"));
    p.put("name: option", Way::Command, format!("srv\u{1}--{}\u{1}{v}\u{1}--verbose", n.replace('_', "-")));
    p.put("name: option=", Way::Command, format!("srv\u{1}--{n}={v}"));
    p.put("name: NAME= argument", Way::Command, format!("env\u{1}{shouted}={v}\u{1}srv"));
    p.put("name: option in text", Way::Text, format!("$ srv --{} {v} --verbose", n.replace('_', "-")));
    p.put("name: options in JSON", Way::Json, format!(r#"{{"args":["--{n}","{v}","-x"]}}"#));
    p.put("name: stderr line", Way::Lines, format!("start\nINFO config user=bob {n}={v}\nok"));
    p.put("name: unicode escapes", Way::Json, format!(r#"{{"{}":"{}"}}"#, escaped(n), escaped(v)));
    p.put(
        "name: ANSI colors",
        Way::Json,
        result(&format!("\u{1b}[36m{n}=\u{1b}[0m{v} \u{1b}[36muser=\u{1b}[0mbob")),
    );
    p.put(
        "name: percent-encoded",
        Way::Text,
        format!("u=https%3A%2F%2Fx%2F%3F{}%3D{}%26b%3D1", percent(n), percent(v)),
    );
    p.put("name: HTML-escaped", Way::Text, html(&format!("{{\"{n}\":\"{v}\"}}")));
}

fn in_formats(p: &mut Placing<'_>, n: &str, v: &str) {
    p.put("name: pair", Way::Json, format!(r#"{{"env":[{{"name":"{n}","value":"{v}"}}]}}"#));
    p.put("name: pair, value first", Way::Json, format!(r#"{{"env":[{{"value":"{v}","name":"{n}"}}]}}"#));
    p.put("name: pair with key", Way::Json, format!(r#"[{{"key":"{n}","value":"{v}","enabled":true}}]"#));
    p.put("name: raw headers", Way::Json, format!(r#"{{"rawHeaders":["Host","x","{n}","{v}"]}}"#));
    p.put("name: rows of pairs", Way::Json, format!(r#"{{"entries":[["user","bob"],["{n}","{v}"]]}}"#));
    p.put(
        "name: columns and rows",
        Way::Json,
        format!(r#"{{"columns":["user","{n}"],"rows":[["bob","{v}"]]}}"#),
    );
    p.put("name: XML element", Way::Text, format!("<c><user>bob</user><{n}>{v}</{n}></c>"));
    p.put("name: XML add", Way::Text, format!("<add key=\"{n}\" value=\"{v}\" />"));
    p.put("name: CSV", Way::Text, format!("user,{n},email\nbob,{v},bob@example.com\n"));
    p.put("name: markdown table", Way::Json, result(&format!("| user | {n} |\n|---|---|\n| bob | {v} |\n")));
    p.put(
        "name: YAML list of pairs",
        Way::Text,
        format!("env:\n  - name: {n}\n    value: {v}\n  - name: PORT\n    value: 1\n"),
    );
    p.put("name: YAML block", Way::Text, format!("a: 1\n{n}: |\n  {v}\nb: 2\n"));
    p.put("name: TOML", Way::Text, format!("[db]\nuser = 'bob'\n{n} = '{v}'\n"));
    p.put("name: Ruby hash", Way::Text, format!("config = {{ :user => 'bob', '{n}' => '{v}' }}"));
    p.put("name: Python", Way::Text, format!("settings['{n}'] = '{v}'"));
    p.put(
        "name: JavaScript",
        Way::Text,
        format!("const config = {{\n  user: 'bob',\n  \"{n}\": \"{v}\",\n}};"),
    );
}
