use crate::environment::TestEnvironment;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

#[test]
fn what_can_not_be_looked_at_is_told_before_a_browser_opens() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    env.file("noise.jsonl", "noise\n");
    insta::assert_snapshot!("view-one-of-two", env.run(&["view", "--diff", "aaaa"]));
    insta::assert_snapshot!("view-no-such-trace", env.run(&["view", "none.jsonl"]));
    insta::assert_snapshot!("view-no-trace", env.run(&["view", "traces/noise.jsonl"]));
}

/// A server that ends with the test.
struct Server {
    child: Child,
    host: String,
    token: String,
}

impl Server {
    fn start(env: &TestEnvironment, args: &[&str]) -> Self {
        let mut command = env.command(&["view", "--no-open"]);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().trim();
        let (host, rest) = address.split_once('/').unwrap();
        let token = rest.split_once("#token=").unwrap().1;
        Server { child, host: host.to_owned(), token: token.to_owned() }
    }

    /// The answer to a request, head and all.
    fn get(&self, path: &str, headers: &str) -> String {
        let mut socket = TcpStream::connect(&self.host).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// As the page asks.
    fn ask(&self, path: &str) -> String {
        self.get(path, &format!("Host: {}\r\nAuthorization: Bearer {}\r\n", self.host, self.token))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_who_knows_the_token_sees_traces() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    let server = Server::start(&env, &[]);
    assert!(server.ask("/api/home").contains("\"key\":\"aaaa\""));
    let host = format!("Host: {}\r\n", server.host);
    for (headers, status) in [
        (host.clone(), "401"),
        (format!("{host}Authorization: Bearer {}\r\n", "0".repeat(32)), "401"),
        (format!("Host: evil.example\r\nAuthorization: Bearer {}\r\n", server.token), "421"),
        (format!("{host}Authorization: Bearer {}\r\nOrigin: http://evil.example\r\n", server.token), "403"),
        (format!("{host}Authorization: Bearer {}\r\nSec-Fetch-Site: cross-site\r\n", server.token), "403"),
    ] {
        let answer = server.get("/api/home", &headers);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}{answer}");
        assert!(!answer.contains("aaaa"), "{answer}");
    }
}

#[test]
fn only_traces_of_this_machine_are_opened() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    std::fs::copy(env.path("a.jsonl"), env.data_dir().join("elsewhere.jsonl")).unwrap();
    let server = Server::start(&env, &[]);
    assert!(server.ask("/api/set?trace=aaaa").starts_with("HTTP/1.1 200"));
    let secret = env.data_dir().join("elsewhere.jsonl").display().to_string();
    for name in [secret.as_str(), "../elsewhere.jsonl", "/etc/passwd", "bbbb"] {
        let answer = server.ask(&format!("/api/set?trace={name}"));
        assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("hint"), "{name}: {answer}");
    }
    let server = Server::start(&env, &["elsewhere.jsonl"]);
    let secret = env.data_dir().join("elsewhere.jsonl").canonicalize().unwrap().display().to_string();
    assert!(server.ask(&format!("/api/set?trace={secret}")).starts_with("HTTP/1.1 200"));
}

#[test]
fn questions_that_make_no_sense_are_answered_in_words() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    let server = Server::start(&env, &[]);
    for (question, status, word) in [
        ("/api/calls?trace=aaaa&filter=latency%3Esoon", 400, "\"span\":[0,12]"),
        ("/api/calls?trace=aaaa&sort=size", 400, "not sorted by"),
        ("/api/calls?trace=", 400, "no trace is named"),
        ("/api/call?trace=aaaa&call=99", 404, "there is no such call"),
        ("/api/line?trace=aaaa&line=99", 404, "there is no such line"),
        ("/api/diff?a=aaaa&b=aaaa&status=odd", 400, "no call is"),
        ("/api/store", 404, "there is no store"),
    ] {
        let answer = server.ask(question);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{question}: {answer}");
        assert!(answer.contains(word), "{question}: {answer}");
    }
}

#[cfg(feature = "page")]
#[test]
fn a_report_holds_the_page_and_no_secrets() {
    let env = TestEnvironment::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let line = format!(
        r#"{{"t":"2026-05-12T23:00:00.123Z","dir":"in","raw":{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"password":"hunter2hunter2","note":"{secret}"}}}}}}"#
    );
    let meta = r#"{"v":1,"type":"meta","label":"</script><b>","command":["srv"],"startedAt":"2026-05-12T23:00:00.000Z"}"#;
    env.file("a.jsonl", format!("{meta}\n{line}\n"));
    let told = env.run(&["export", "html", "traces/a.jsonl", "-o", "report.html"]);
    assert!(told.contains("secrets were taken out of 1 line") && told.contains("exit 0"), "{told}");
    let report = std::fs::read_to_string(env.data_dir().join("report.html")).unwrap();
    assert!(report.contains("Content-Security-Policy") && report.contains("wiretape-lines-0"));
    assert!(report.contains("&lt;/script&gt;&lt;b&gt;") && !report.contains("hunter2"));
    let refused = env.run(&["export", "html", "traces/a.jsonl", "-o", "traces/a.jsonl"]);
    assert!(refused.contains("it would be overwritten") && refused.contains("exit 2"), "{refused}");
    let told = env.run(&["export", "html", "traces/none.jsonl"]);
    assert!(told.contains("there is no file") && !env.data_dir().join("report-none.html").exists(), "{told}");
}
