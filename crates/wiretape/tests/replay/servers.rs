//! Real servers over HTTP, with and without the proxy in front of them.

use crate::session::Home;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use wiretape_testkit::bins;
use wiretape_testkit::parts::Parts;
use wiretape_testkit::service::Service;

/// After this a process is killed and its test fails: generous, for the machine may be busy.
const LIMIT: Duration = Duration::from_secs(180);

/// The server that has everything.
pub(crate) fn everything(parts: &Parts, transport: &str) -> Service {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut command = parts.server_everything_over(transport);
    command.env("PORT", port.to_string());
    Service::spawn_at(command, SocketAddr::from((Ipv4Addr::LOCALHOST, port)), LIMIT).unwrap()
}

/// A server of both eras.
pub(crate) fn of_both_eras() -> Service {
    let mut command = Command::new(bins::path("wt-conformance-server"));
    command.args(["--listen", "127.0.0.1:0"]);
    Service::spawn(command, LIMIT).unwrap()
}

/// `wiretape`, as a service.
pub(crate) fn wiretape(home: &Home, arguments: &[&str]) -> Service {
    let words = home.wiretape(arguments);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("WIRETAPE_DATA_DIR", home.path("data"));
    Service::spawn(command, LIMIT).unwrap()
}

/// Records a client's session with a server through the proxy; returns the client's output.
pub(crate) fn record<T>(home: &Home, server: &Service, client: impl FnOnce(SocketAddr) -> T) -> T {
    let upstream = format!("http://{}", server.address());
    let options = ["--no-redact", "--listen", "127.0.0.1:0", "--drain", "5s", "--upstream", &upstream];
    let proxy = wiretape(home, &[&["proxy"], &options[..]].concat());
    let told = client(proxy.address());
    assert!(proxy.stop().unwrap().success());
    told
}

/// The output of a client of the stateless revision for a server.
pub(crate) fn run_stateless(parts: &Parts, at: SocketAddr) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay/clients/stateless.py");
    let mut command = Command::new(parts.python());
    let output = command.arg(script).arg(format!("http://{at}/mcp")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
