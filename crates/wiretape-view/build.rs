//! Builds the page of `ui/` into the program, with the Node.js of this machine. A packaged crate has no `ui/` and contains the built
//! page instead, in `page/` (`cargo xtask page`), so that it needs no Node.js.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, io};

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_FEATURE_PAGE");
    if env::var_os("CARGO_FEATURE_PAGE").is_none() {
        return ExitCode::SUCCESS;
    }
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("page");
    let (ui, packaged) = (package.join("../../ui"), package.join("page"));
    // In a checkout `ui/` wins, because `page/` may be left from an older version.
    if !is_checkout(&ui) && packaged.is_dir() {
        println!("cargo::rerun-if-changed={}", packaged.display());
        return report(copy(&packaged, &out));
    }
    for part in ["src", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"]
    {
        println!("cargo::rerun-if-changed={}", ui.join(part).display());
    }
    report(build(&ui, &out))
}

const FILES: [&str; 3] = ["index.html", "app.js", "app.css"];

/// Whether this is the `ui/` of Wiretape's repository: beside a vendored crate there may be another project's.
fn is_checkout(ui: &Path) -> bool {
    fs::read_to_string(ui.join("package.json")).is_ok_and(|package| package.contains("\"wiretape-ui\""))
}

fn report(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("cargo::error=the page of `wiretape view` could not be built");
            for line in problem.lines().chain(ADVICE) {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

const ADVICE: [&str; 2] = [
    "It is built with Node.js 20 or newer and npm (https://nodejs.org): install them, and build again.",
    "Or build without the page: cargo build --release --no-default-features",
];

/// Copies the built page of a packaged crate.
fn copy(packaged: &Path, out: &Path) -> Result<(), String> {
    fs::create_dir_all(out).map_err(|error| error.to_string())?;
    for file in FILES {
        let from = packaged.join(file);
        // By content: a copy of a read-only file would be read-only, and the next build could not replace it.
        let written = fs::read(&from).and_then(|content| fs::write(out.join(file), content));
        written.map_err(|error| format!("can't copy {}: {error}", from.display()))?;
    }
    Ok(())
}

fn build(ui: &Path, out: &Path) -> Result<(), String> {
    let _alone = lock(ui).map_err(|error| format!("can't lock {}: {error}", ui.display()))?;
    install(ui)?;
    npm(ui, &["run", "--silent", "build"], out)?;
    for file in FILES {
        if !out.join(file).is_file() {
            return Err(format!("the page has no {file}"));
        }
    }
    Ok(())
}

/// Two builds at once would install the same packages into the same place.
fn lock(ui: &Path) -> io::Result<File> {
    let file = File::create(ui.join(".build.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Installs what the page is made with, unless that was done for this very lock file.
fn install(ui: &Path) -> Result<(), String> {
    let wanted = fs::read(ui.join("package-lock.json")).map_err(|error| error.to_string())?;
    let stamp = ui.join("node_modules").join(".wiretape-installed");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    npm(ui, &["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], ui)?;
    fs::write(&stamp, wanted).map_err(|error| error.to_string())
}

fn npm(ui: &Path, arguments: &[&str], out: &Path) -> Result<(), String> {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let run = Command::new(program).args(arguments).current_dir(ui).env("WIRETAPE_UI_OUT", out).output();
    let run = run.map_err(|error| format!("can't run {program}: {error}"))?;
    if run.status.success() {
        return Ok(());
    }
    let said = [run.stdout, run.stderr].concat();
    Err(format!("`{program} {}` failed:\n{}", arguments.join(" "), String::from_utf8_lossy(&said)))
}
