//! HTTPS that is read on its way: a server and a client of other makes, each with its own idea of TLS.

use crate::proxy::{Proxy, say_skipped, wiretape};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// Answers every POST with the words of its second argument.
const SERVER: &str = "
import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_POST(self):
        self.rfile.read(int(self.headers['content-length']))
        body = sys.argv[2].encode()
        self.send_response(200)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + '/cert.pem', sys.argv[1] + '/key.pem')
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
";

/// A server of HTTPS, killed when dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", SERVER]).arg(dir).arg(RESULT).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Server { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a certificate for a server on this machine; `false` if the tools aren't there.
fn certify(dir: &Path) -> bool {
    // An extension of the system's own configuration would make it one of an authority.
    fs::write(dir.join("openssl.cnf"), "[req]\ndistinguished_name = name\n[name]\n").unwrap();
    let mut openssl = Command::new("openssl");
    openssl.current_dir(dir).args([
        "req",
        "-x509",
        "-config",
        "openssl.cnf",
        "-newkey",
        "rsa:2048",
        "-nodes",
    ]);
    openssl.args(["-subj", "/CN=server", "-days", "7", "-addext", "subjectAltName=IP:127.0.0.1"]);
    openssl.args(["-keyout", "key.pem", "-out", "cert.pem"]).stderr(Stdio::null());
    let works =
        |command: &mut Command| command.stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    works(&mut openssl)
        && works(Command::new("python3").args(["-c", "import ssl"]))
        && works(Command::new("curl").arg("--version"))
}

#[test]
fn https_is_recorded_with_the_authority_that_clients_trust() {
    let home = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    if !certify(dir.path()) {
        return say_skipped("openssl, python3 and curl are needed for a server and a client of HTTPS");
    }
    let server = Server::start(dir.path());
    assert!(wiretape(home.path()).arg("ca").stdout(Stdio::null()).status().unwrap().success());
    let authority = home.path().join("data/ca/ca.pem");
    let trusted = dir.path().join("cert.pem");
    let environment = [("SSL_CERT_FILE", trusted.to_str().unwrap())];
    let proxy = Proxy::start_with(home, &["--forward", "--intercept"], &environment);

    let ask = |trusted: &Path| {
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--max-time",
            "60",
            "--proxy",
            &format!("http://{}", proxy.address()),
        ]);
        curl.arg("--cacert").arg(trusted).args([
            "--header",
            "content-type: application/json",
            "--data",
            CALL,
        ]);
        curl.args(["--header", "authorization: Bearer SECRET-token-1"]);
        // Whoever sets these doesn't mean this test.
        curl.env_remove("NO_PROXY").env_remove("no_proxy");
        curl.arg(format!("https://127.0.0.1:{}/mcp", server.port)).output().unwrap()
    };
    let answer = ask(&authority);
    assert_eq!(
        String::from_utf8_lossy(&answer.stdout),
        RESULT,
        "{}",
        String::from_utf8_lossy(&answer.stderr)
    );
    // A client that doesn't trust the CA gets nothing, and the user gets a hint.
    assert!(!ask(&trusted).status.success());

    let stopped = proxy.stop();
    let trace = stopped.trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![CALL], vec![RESULT]));
    assert_eq!(trace.lines[0]["command"], json!([format!("https://127.0.0.1:{}", server.port)]));
    assert!(!trace.text.contains("SECRET"), "{}", trace.text);
    assert_eq!(stopped.warnings().len(), 1, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("wiretape ca"), "{}", stopped.stderr);
}

/// A server of a company's own has a certificate of its own authority.
#[test]
fn an_upstream_with_an_unknown_authority_is_told_with_what_to_do() {
    let (home, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    if !certify(dir.path()) {
        return say_skipped("openssl, python3 and curl are needed for a server and a client of HTTPS");
    }
    let server = Server::start(dir.path());
    let upstream = format!("https://127.0.0.1:{}/mcp", server.port);
    let ask = |proxy: &Proxy| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "60", "--header", "content-type: application/json"]);
        curl.args(["--data", CALL, &format!("http://{}/mcp", proxy.address())]);
        let answer = curl.env_remove("http_proxy").output().unwrap();
        String::from_utf8(answer.stdout).unwrap()
    };
    let proxy = Proxy::start_with(home, &["--upstream", &upstream], &[]);
    for _ in 0..2 {
        let answer = ask(&proxy);
        assert!(answer.contains("UnknownIssuer") && answer.contains("SSL_CERT_FILE"), "{answer}");
    }
    let stopped = proxy.stop();
    assert_eq!(stopped.warnings().len(), 1, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("set SSL_CERT_FILE to a file"), "{}", stopped.stderr);

    let trusted = dir.path().join("cert.pem");
    let environment = [("SSL_CERT_FILE", trusted.to_str().unwrap())];
    let home = tempfile::tempdir().unwrap();
    let proxy = Proxy::start_with(home, &["--upstream", &upstream], &environment);
    assert_eq!(ask(&proxy), RESULT);
    assert!(proxy.stop().warnings().is_empty());
}
