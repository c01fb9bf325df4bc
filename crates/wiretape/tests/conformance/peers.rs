//! The processes between client and server, killed when they are dropped.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use wiretape_testkit::bins;
use wiretape_testkit::peer::Peer;

/// After this a process is killed and its test fails: generous, for the machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

/// A server that passes the suite.
pub(crate) struct Server {
    url: String,
    _peer: Peer,
}

impl Server {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(bins::path("wt-conformance-server"));
        command.args(["--listen", "127.0.0.1:0"]);
        let mut peer = Peer::spawn(&mut command, LIMIT).unwrap();
        let url = String::from_utf8(peer.receive_line().unwrap()).unwrap();
        Self { url: url.trim_end().to_owned(), _peer: peer }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// A proxy that says on standard error where it listens.
pub(crate) struct Proxy {
    origin: String,
    _peer: Peer,
}

impl Proxy {
    pub(crate) fn start(command: &mut Command) -> Self {
        let stderr = tempfile::NamedTempFile::new().unwrap();
        command.stdout(Stdio::null()).stderr(File::create(stderr.path()).unwrap());
        let peer = Peer::spawn(command, LIMIT).unwrap();
        let start = Instant::now();
        loop {
            let said = fs::read_to_string(stderr.path()).unwrap();
            if let Some(origin) = origin_in(&said) {
                return Self { origin: origin.to_owned(), _peer: peer };
            }
            assert!(start.elapsed() < Duration::from_secs(30), "the proxy never listened: {said}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// `http://ADDRESS:PORT`.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }
}

fn origin_in(said: &str) -> Option<&str> {
    let (line, _) = said.split_once("wiretape: listening on ")?.1.split_once('\n')?;
    line.split_whitespace().next()
}
