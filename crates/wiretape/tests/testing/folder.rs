//! A copy of `examples/testing`, as a user has it who followed the page.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use wiretape_testkit::parts::{Parts, VARIABLE};

const BINARY: &str = env!("CARGO_BIN_EXE_wiretape");

/// The examples, with the packages that they want installed.
pub(crate) struct Folder {
    dir: tempfile::TempDir,
    parts: Parts,
}

impl Folder {
    /// A copy, if there are parts to be had.
    pub(crate) fn new() -> Option<Self> {
        let Some(parts) = Parts::from_environment() else {
            let test = std::thread::current().name().unwrap_or_default().to_owned();
            let text = format!(
                "SKIPPED {test}: {VARIABLE} is not set; `cargo xtask test` runs this with real SDKs and test runners\n"
            );
            std::io::stderr().write_all(text.as_bytes()).unwrap();
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        copy(&examples(), dir.path());
        install(&parts.npm().join("node_modules"), &dir.path().join("vitest/node_modules"));
        let folder = Folder { dir, parts };
        // The sample server's version is the binary's, and goes on.
        let version = |version: &str| format!(r#""name":"sample-server","version":"{version}""#);
        folder.edit("weather.jsonl", &version("0.1.0"), &version(env!("CARGO_PKG_VERSION")));
        Some(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Writes one thing for another in a file, in one place.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{name} should say this once: {from}");
        fs::write(self.path(name), text.replace(from, to)).unwrap();
    }

    /// What these lines do in a folder of the copy, in a shell as GitHub's, with `wiretape` and the parts' `python` on the
    /// PATH.
    pub(crate) fn run(&self, folder: &str, lines: &str) -> Told {
        self.run_with(folder, lines, [])
    }

    /// The same, with some variables.
    pub(crate) fn run_with<'a>(
        &self,
        folder: &str,
        lines: &str,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Told {
        let mut shell = Command::new("bash");
        shell.args(["-eo", "pipefail", "-c", lines]).current_dir(self.path(folder)).stdin(Stdio::null());
        shell
            .env("PATH", self.search_path())
            .env("WIRETAPE_DATA_DIR", self.path("data"))
            .env("NO_COLOR", "1");
        // Caches of Python and of its tests don't belong beside the parts.
        shell.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("FORCE_COLOR").envs(variables);
        let Output { status, stdout, stderr } = shell.output().unwrap();
        let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        Told { lines: lines.to_owned(), status: status.code(), text }
    }

    fn search_path(&self) -> OsString {
        let own = [Path::new(BINARY).parent().unwrap().to_owned(), self.parts.venv().root().join("bin")];
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&inherited))).unwrap()
    }
}

/// What some lines said, and how they ended.
pub(crate) struct Told {
    lines: String,
    status: Option<i32>,
    text: String,
}

impl Told {
    /// They ended so, and said all this.
    pub(crate) fn check(&self, status: i32, expected: &[&str]) {
        let Told { lines, text, .. } = self;
        assert_eq!(self.status, Some(status), "{lines}\n{text}");
        for expected in expected {
            assert!(text.contains(expected), "{lines}\nshould say: {expected}\n{text}");
        }
    }
}

/// Where the examples lie.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/testing")
}

/// What `npm install` does for the example. Not all that is among the parts: there is a Node, too, and the example is for
/// the one of this machine.
fn install(from: &Path, to: &Path) {
    for folder in [".bin", "@modelcontextprotocol"] {
        fs::create_dir_all(to.join(folder)).unwrap();
    }
    for name in ["@modelcontextprotocol/sdk", "vitest", ".bin/vitest"] {
        symlink(from.join(name), to.join(name)).unwrap();
    }
}

/// Copies only our own files, not the packages that a developer has installed to try an example in its place.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_file() {
            fs::copy(&path, to.join(&name)).unwrap();
        } else if name != "node_modules" && name != "__pycache__" {
            copy(&path, &to.join(&name));
        }
    }
}
