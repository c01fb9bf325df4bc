//! Installs the real MCP servers, SDKs, test runners and the conformance suite that the tests run against, in exactly
//! these versions, under the target directory, and the proxy that benchmarks compare with. The layout is defined in
//! [`wiretape_testkit::parts`], because the tests need it too.

use std::fs;

use wiretape_testkit::parts::{CHROMIUM, Parts, Venv};

use crate::failure::{Context, Failure, Result};
use crate::sh::{command, run, succeeds, target_directory};

const NPM: [(&str, &str); 7] = [
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    // The conformance suite requires a newer Node than many systems have.
    ("node", "22.23.3"),
    // The newest version that runs on Node 20.
    ("vitest", "4.1.12"),
    // Parses the CI workflow among the testing examples.
    ("yaml", "2.9.1"),
];
const PYPI: [&str; 3] = ["mcp==2.3.0", "mcp-server-time==2026.10.19", "pytest==9.2.0"];
/// Version 1 of the SDK, which many servers still use. Both versions can't be installed in one environment.
const PYPI_V1: [&str; 1] = ["mcp==1.30.0"];

pub(crate) const NPM_PROGRAM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
const PYTHON_PROGRAM: &str = if cfg!(windows) { "python" } else { "python3" };

/// Installs whatever is missing.
pub(crate) fn install() -> Result<Parts> {
    let parts = Parts::in_directory(target_directory().join("test-parts"));
    fs::create_dir_all(parts.npm()).context(parts.npm().display())?;
    let package = package_json();
    unless_stamped(&parts, "npm", &package, || install_npm(&parts, &package))?;
    for (name, venv, packages) in
        [("python", parts.venv(), &PYPI[..]), ("python-v1", parts.venv_v1(), &PYPI_V1[..])]
    {
        unless_stamped(&parts, name, &packages.join("\n"), || install_python(&venv, packages))?;
    }
    install_chromium()?;
    // `promtool` checks the proxy's metrics, and `prometheus`, from the same package, runs the dashboard's queries.
    need("promtool", &["prometheus"])?;
    Ok(parts)
}

/// Installs a browser if none is found.
fn install_chromium() -> Result {
    let is_there = || CHROMIUM.into_iter().any(is_there);
    if is_there() {
        return Ok(());
    }
    eprintln!("note: the tests need a browser, and `chromium` is not installed");
    apt_install(&["chromium"])?;
    if is_there() { Ok(()) } else { Err(missing(&["chromium"])) }
}

/// Installs nginx, which benchmarks compare with, if it is missing.
pub(crate) fn install_nginx() -> Result {
    // nginx has no `--version`.
    let is_there = || succeeds(command("nginx").arg("-v"));
    if is_there() {
        return Ok(());
    }
    apt_install(&["nginx-light"])?;
    if is_there() { Ok(()) } else { Err(missing(&["nginx-light"])) }
}

/// Does `work` unless a stamp file shows that it was done with the same pinned versions.
fn unless_stamped(parts: &Parts, name: &str, pins: &str, work: impl FnOnce() -> Result) -> Result {
    let stamp = parts.root().join(format!("{name}.stamp"));
    if fs::read_to_string(&stamp).is_ok_and(|done| done == pins) {
        return Ok(());
    }
    work()?;
    // Last, so that an interrupted installation is repeated.
    fs::write(&stamp, pins).context(stamp.display())
}

fn install_npm(parts: &Parts, package: &str) -> Result {
    need("node", &["nodejs"])?;
    need(NPM_PROGRAM, &["npm"])?;
    let file = parts.npm().join("package.json");
    fs::write(&file, package).context(file.display())?;
    run(command(NPM_PROGRAM).args(["install", "--no-audit", "--no-fund"]).current_dir(parts.npm()))
}

/// The package `node` downloads the binary for this system in an install script, which npm runs only if it is
/// allowed.
fn package_json() -> String {
    let pins = NPM.map(|(name, version)| format!("    \"{name}\": \"{version}\"")).join(",\n");
    format!(
        "{{\n  \"private\": true,\n  \"type\": \"module\",\n  \"dependencies\": {{\n{pins}\n  }},\n  \
         \"allowScripts\": {{ \"node\": true }}\n}}\n"
    )
}

fn install_python(venv: &Venv, packages: &[&str]) -> Result {
    need(PYTHON_PROGRAM, &["python3", "python3-venv"])?;
    make_venv(venv)?;
    let mut pip = command(venv.python());
    run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

fn make_venv(venv: &Venv) -> Result {
    let mut python = command(PYTHON_PROGRAM);
    python.args(["-m", "venv", "--clear"]).arg(venv.root());
    run(&mut python).or_else(|_| {
        // Debian's Python comes without `venv`.
        apt_install(&["python3-venv"])?;
        run(&mut python)
    })
}

/// Installs Debian's `packages` if `program` is missing.
fn need(program: &str, packages: &[&str]) -> Result {
    if is_there(program) {
        return Ok(());
    }
    eprintln!("note: the tests need `{program}`, which is not installed");
    apt_install(packages)?;
    if is_there(program) { Ok(()) } else { Err(missing(packages)) }
}

fn is_there(program: &str) -> bool {
    succeeds(command(program).arg("--version"))
}

fn apt_install(packages: &[&str]) -> Result {
    let mut apt = command("apt-get");
    apt.args(["install", "-y", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive");
    run(&mut apt).or_else(|_| {
        // The package lists of a fresh machine may be outdated or missing.
        run(command("apt-get").arg("update")).and_then(|()| run(&mut apt)).map_err(|_| missing(packages))
    })
}

fn missing(packages: &[&str]) -> Failure {
    Failure::new(format!(
        "this needs {} and it can't be installed from here (that takes apt and root): please install it, then run this again",
        packages.join(" and "),
    ))
}
