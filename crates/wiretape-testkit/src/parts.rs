//! The real MCP servers and SDKs and the conformance suite that tests run against, where `cargo xtask setup` installs
//! them.
//!
//! This module defines the layout, `xtask` fills it; `cargo xtask test` passes its location in [`VARIABLE`].

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment variable that names the directory of the parts.
pub const VARIABLE: &str = "WIRETAPE_TEST_PARTS";

/// The names under which a Chromium-based browser may be installed; the first one that runs is used.
pub const CHROMIUM: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// The directory of the parts, and its layout.
#[derive(Clone, Debug)]
pub struct Parts {
    root: PathBuf,
}

impl Parts {
    /// The parts in `root`, whether or not they have been installed.
    pub fn in_directory(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The parts that [`VARIABLE`] names, if it is set: tests of real parts end early without it, so that a bare
    /// `cargo test` needs nothing but Rust.
    pub fn from_environment() -> Option<Self> {
        env::var_os(VARIABLE).map(Self::in_directory)
    }

    /// The directory that holds the installed programs.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The npm project, with `package.json` and `node_modules`. A script in here can import the SDK.
    pub fn npm(&self) -> PathBuf {
        self.root.join("npm")
    }

    /// The virtual environment with the Python SDK and servers.
    pub fn venv(&self) -> Venv {
        Venv { root: self.root.join("python") }
    }

    /// The virtual environment with the Python SDK as it was before its second version.
    pub fn venv_v1(&self) -> Venv {
        Venv { root: self.root.join("python-v1") }
    }

    /// The Python of [`Self::venv`]: `import mcp` works in it.
    pub fn python(&self) -> PathBuf {
        self.venv().python()
    }

    /// The Python of [`Self::venv_v1`].
    pub fn python_v1(&self) -> PathBuf {
        self.venv_v1().python()
    }

    /// The official conformance suite, npm's `@modelcontextprotocol/conformance`, on a Node that is new enough.
    pub fn conformance(&self) -> Command {
        let mut command = Command::new(self.npm().join("node_modules/.bin/node"));
        command.arg(self.script("conformance"));
        command
    }

    /// npm's `@modelcontextprotocol/server-everything`, over stdio.
    pub fn server_everything(&self) -> Command {
        self.server_everything_over("stdio")
    }

    /// The same over `stdio`, `streamableHttp` (at `/mcp`) or `sse` (at `/sse`); HTTP is served at the port that the
    /// environment variable `PORT` names.
    pub fn server_everything_over(&self, transport: &str) -> Command {
        let mut command = self.node("server-everything");
        command.arg(transport);
        command
    }

    /// npm's `@modelcontextprotocol/server-filesystem`, allowed to see `directory`.
    pub fn server_filesystem(&self, directory: &Path) -> Command {
        let mut command = self.node("server-filesystem");
        command.arg(directory);
        command
    }

    /// A command that starts `mcp-server-time` of PyPI.
    pub fn server_time(&self) -> Command {
        let mut command = Command::new(self.python());
        command.args(["-m", "mcp_server_time", "--local-timezone", "UTC"]);
        command
    }

    /// A headless browser that makes no requests other than those of its page, and runs until it is killed. Its state
    /// is kept in `profile`.
    ///
    /// # Panics
    ///
    /// If no browser is installed.
    pub fn chromium(&self, profile: &Path) -> Command {
        let answers = |name: &&&str| {
            let mut command = Command::new(name);
            command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let name = CHROMIUM.iter().find(answers).expect("`cargo xtask setup` installs a browser");
        let mut command = Command::new(name);
        command.args([
            "--headless",
            // Chromium refuses to run as root with its sandbox, and containers run as root. The pages are the tests'
            // own.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--remote-debugging-port=0",
        ]);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command
    }

    fn node(&self, package: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.script(package));
        command
    }

    fn script(&self, package: &str) -> PathBuf {
        self.npm().join("node_modules/@modelcontextprotocol").join(package).join("dist/index.js")
    }
}

/// A Python virtual environment.
#[derive(Clone, Debug)]
pub struct Venv {
    root: PathBuf,
}

impl Venv {
    /// The directory of the environment.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of its interpreter.
    pub fn python(&self) -> PathBuf {
        self.root.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
    }
}
