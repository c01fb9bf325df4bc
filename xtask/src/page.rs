//! The page of `wiretape view`, copied into `crates/wiretape-view/page` for `cargo package`: the packaged crate contains the page,
//! and so needs no Node.js to build.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::failure::{Context as _, Failure, Result};
use crate::sh::{capture, cargo, root};

const FILES: [&str; 3] = ["index.html", "app.js", "app.css"];

pub(crate) fn build() -> Result {
    let built = built_page()?;
    let page = root().join("crates/wiretape-view/page");
    fs::create_dir_all(&page).context(page.display())?;
    for file in FILES {
        fs::copy(built.join(file), page.join(file)).context(file)?;
    }
    let packaged = capture(&mut cargo(["package", "--list", "--allow-dirty", "--package", "wiretape-view"]))?;
    for file in FILES {
        if !packaged.lines().any(|line| line == format!("page/{file}")) {
            return Err(Failure::new(format!("the packaged crate would not have page/{file}")));
        }
    }
    println!("{}", page.display());
    Ok(())
}

/// Where the crate's build script builds the page. It is not built a second time here, because the build script's lock prevents
/// two builds from installing packages into `ui/node_modules` at once.
fn built_page() -> Result<PathBuf> {
    let words = ["build", "--package", "wiretape-view", "--message-format", "json-render-diagnostics"];
    let output = capture(&mut cargo(words))?;
    let messages = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut scripts = messages.filter(|message| message["reason"] == "build-script-executed");
    scripts
        .find_map(|script| {
            let is_view = script["package_id"].as_str()?.contains("crates/wiretape-view");
            is_view.then(|| Some(PathBuf::from(script["out_dir"].as_str()?).join("page")))?
        })
        .ok_or_else(|| Failure::new("cargo does not report where wiretape-view's page was built"))
}
