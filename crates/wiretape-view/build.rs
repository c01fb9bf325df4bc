//! Builds the page of `ui/` into the program, with the Node.js of this machine.

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
    let ui = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../ui");
    for part in ["src", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"]
    {
        println!("cargo::rerun-if-changed={}", ui.join(part).display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("page");
    match build(&ui, &out) {
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

fn build(ui: &Path, out: &Path) -> Result<(), String> {
    let _alone = lock(ui).map_err(|error| format!("can't lock {}: {error}", ui.display()))?;
    install(ui)?;
    npm(ui, &["run", "--silent", "build"], out)?;
    for file in ["index.html", "app.js", "app.css"] {
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
