//! Runs the suite and reads what it says about each scenario.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::ops::Index;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use wiretape_testkit::parts::Parts;

/// The suite for one revision of the protocol.
pub(crate) struct Suite<'a> {
    parts: &'a Parts,
    revision: &'a str,
    home: &'a Path,
}

impl<'a> Suite<'a> {
    /// It leaves its findings in folders in `home`.
    pub(crate) fn new(parts: &'a Parts, revision: &'a str, home: &'a Path) -> Self {
        Self { parts, revision, home }
    }

    /// Is a client to the server at `url`.
    pub(crate) fn test_server(&self, folder: &str, url: &str) -> Results {
        let mut command = self.parts.conformance();
        command.args(["server", "--url", url]);
        self.run(folder, &mut command)
    }

    /// Runs several servers for `client`, which is configured to use the proxy.
    pub(crate) fn test_client(&self, folder: &str, client: &Path, proxy: Option<&str>) -> Results {
        let mut command = self.parts.conformance();
        command.args(["client", "--command"]).arg(client);
        // Somebody else's proxy must not get in the way, nor an exception for this machine.
        for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(variable).env_remove(variable.to_lowercase());
        }
        if let Some(proxy) = proxy {
            command.env("HTTP_PROXY", proxy).env("HTTPS_PROXY", proxy);
        }
        self.run(folder, &mut command)
    }

    fn run(&self, folder: &str, command: &mut Command) -> Results {
        let folder = self.home.join(folder);
        command.args(["--requirements", self.revision, "--output-dir"]).arg(&folder).current_dir(self.home);
        let output = command.output().unwrap();
        // A client's summary goes to one stream, a server's to the other.
        let said = [output.stdout, output.stderr].concat();
        Results::read(&String::from_utf8_lossy(&said), folder)
    }
}

/// How a scenario came out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    passes: bool,
    failed_checks: String,
}

/// How the scenarios came out, and what the suite found in detail.
pub(crate) struct Results {
    outcomes: BTreeMap<String, Outcome>,
    /// Scenarios that a revision doesn't require.
    reported: Vec<String>,
    folder: PathBuf,
    said: String,
}

impl Results {
    fn read(said: &str, folder: PathBuf) -> Self {
        let outcomes = said.lines().filter_map(outcome_in).collect();
        let reported = said.lines().filter_map(reported_in).collect();
        Self { outcomes, reported, folder, said: said.to_owned() }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.outcomes.keys().map(String::as_str)
    }

    pub(crate) fn reported(&self) -> impl Iterator<Item = &str> {
        self.reported.iter().map(String::as_str)
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.names().filter(|name| !self.reported.iter().any(|reported| reported == name))
    }

    pub(crate) fn passes(&self, name: &str) -> bool {
        self[name].passes
    }

    /// A scenario, and the checks in it that failed.
    pub(crate) fn explain(&self, name: &str) -> String {
        let mut explained = format!("{name}: {:?}\n", self[name]);
        for check in self.checks(name) {
            if matches!(check["status"].as_str(), Some("FAILURE" | "WARNING")) {
                explained.push_str(&format!("  {}: {}\n", check["id"], check["errorMessage"]));
            }
        }
        explained
    }

    /// The suite's folder for a scenario is called by its name, with a `server-` before and a time behind.
    fn checks(&self, name: &str) -> Vec<Value> {
        let (group, name) = name.rsplit_once('/').unwrap_or(("", name));
        let Ok(entries) = fs::read_dir(self.folder.join(group)) else {
            return Vec::new();
        };
        let is_it = |path: &PathBuf| {
            let folder = path.file_name().unwrap().to_string_lossy().into_owned();
            folder
                .trim_start_matches("server-")
                .starts_with(&format!("{}-20", name.trim_start_matches("server-")))
        };
        let folder = entries.map(|entry| entry.unwrap().path()).find(is_it);
        let checks = folder.and_then(|folder| fs::read(folder.join("checks.json")).ok());
        checks.map_or_else(Vec::new, |checks| serde_json::from_slice(&checks).unwrap())
    }
}

impl Index<&str> for Results {
    type Output = Outcome;

    fn index(&self, name: &str) -> &Outcome {
        self.outcomes.get(name).unwrap_or_else(|| panic!("{name} was not run:\n{self}"))
    }
}

impl Display for Results {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

/// A line of the summary: `✓ name: 2 passed, 0 failed`.
///
/// The number of passed checks is ignored. The suite runs clients concurrently and sometimes counts a check for the
/// wrong one, though only checks that no client fails. A client that did nothing passes no check, and so fails here.
fn outcome_in(line: &str) -> Option<(String, Outcome)> {
    let passes = line.starts_with('✓');
    let (name, counts) = line.strip_prefix(['✓', '✗'])?.strip_prefix(' ')?.split_once(": ")?;
    let (passed, failed) = counts.split_once(" passed, ")?;
    let failed = failed.split_once(" failed")?.0;
    let outcome = Outcome { passes: passes && passed != "0", failed_checks: failed.to_owned() };
    Some((name.to_owned(), outcome))
}

/// A line of the list of what isn't required: `  ✓ name (extension)`.
fn reported_in(line: &str) -> Option<String> {
    let line = line.strip_prefix("  ")?.strip_prefix(['✓', '✗'])?;
    Some(line.trim_start().split_once(" (")?.0.to_owned())
}
