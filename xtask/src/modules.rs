//! Checks that the folders of the HTTP proxy are layers: each uses only itself and those below it. Between modules, the
//! compiler allows cycles, and `cargo deny` sees only crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Context as _, Failure, Result};
use crate::sh::root;

const HTTP: &str = "crates/wiretape-proxy/src/http";

/// From bottom to top. The files beside these folders are below all of them, except `mod.rs`, which declares them.
const LAYERS: [&str; 4] = ["record", "policy", "relay", "serve"];

/// Reports every path in a lower layer that leads to a higher one.
pub(crate) fn check() -> Result {
    let http = root().join(HTTP);
    let declarations = read(&http.join("mod.rs"))?;
    let exports = exports(&declarations);
    let mut found = Vec::new();
    visit(&http, &mut |file| {
        let file = file.strip_prefix(&http).context(file.display())?;
        if file != Path::new("mod.rs") {
            for (line, name) in upward(file, &read(&http.join(file))?, &exports) {
                found.push((file.to_owned(), line, name.to_owned()));
            }
        }
        Ok(())
    })?;
    if found.is_empty() {
        return Ok(());
    }
    found.sort();
    let show = |(file, line, name): &(PathBuf, usize, String)| {
        format!("\n{HTTP}/{}:{line}: uses `{name}`, of a higher layer", file.display())
    };
    let found: String = found.iter().map(show).collect();
    let order: Vec<_> = LAYERS.into_iter().rev().collect();
    let rule = format!("the folders in {HTTP} may use those to their right only: {}", order.join(", "));
    Err(Failure::new(format!("{rule}{found}")))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).context(path.display())
}

fn visit(folder: &Path, each: &mut impl FnMut(&Path) -> Result) -> Result {
    for entry in fs::read_dir(folder).context(folder.display())? {
        let path = entry?.path();
        if path.is_dir() {
            visit(&path, each)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&path)?;
        }
    }
    Ok(())
}

/// The layer of a folder, from 1; 0 for what is below all of them.
fn layer(name: &str) -> usize {
    LAYERS.iter().position(|layer| *layer == name).map_or(0, |at| at + 1)
}

/// The names that `mod.rs` re-exports, with their layers: through them, too, a lower layer could use a higher one.
fn exports(text: &str) -> BTreeMap<&str, usize> {
    let paths = text.split(';').filter_map(|statement| statement.rsplit_once("use ")?.1.split_once("::"));
    paths.flat_map(|(folder, rest)| words(rest).map(move |name| (name, layer(folder)))).collect()
}

/// The lines and names of the paths in a file that lead to a higher layer. Tests may use anything.
fn upward<'a>(file: &Path, text: &'a str, exports: &BTreeMap<&str, usize>) -> Vec<(usize, &'a str)> {
    let mut module: Vec<_> = file.iter().filter_map(|part| part.to_str()?.split('.').next()).collect();
    module.pop_if(|name| *name == "mod");
    let own = module.first().map_or(0, |folder| layer(folder));
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    // Absolute, or from the file up to the root of the folders.
    for prefix in ["http::", &"super::".repeat(module.len())] {
        for (at, _) in code.match_indices(prefix) {
            let line = &code[code[..at].rfind('\n').map_or(0, |end| end + 1)..at];
            // `testkit_http::` is another name, and one `super::` of several leads elsewhere.
            let is_part = line.ends_with(is_word) || line.ends_with("super::");
            if is_part || line.trim_start().starts_with("//") {
                continue;
            }
            let number = code[..at].matches('\n').count() + 1;
            let higher = |name: &&str| layer(name).max(exports.get(name).copied().unwrap_or(0)) > own;
            found.extend(first_words(&code[at + prefix.len()..]).filter(higher).map(|name| (number, name)));
        }
    }
    found
}

/// The first word of a path, or of each path in a group: `{a::b, c::{d, e}}` has `a` and `c`.
fn first_words(path: &str) -> impl Iterator<Item = &str> {
    let nesting = |depth: i32, c: char| depth + i32::from(c == '{') - i32::from(c == '}');
    let mut depth = 0;
    let end = path.find(|c: char| {
        depth = nesting(depth, c);
        depth <= 0 && !is_word(c)
    });
    let path = &path[..end.unwrap_or(path.len())];
    let mut depth = 0;
    let paths = path.strip_prefix('{').unwrap_or(path).split(move |c: char| {
        depth = nesting(depth, c);
        depth == 0 && c == ','
    });
    paths.filter_map(|path| words(path).next())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(file: &str, text: &'a str) -> Vec<(usize, &'a str)> {
        let root = "mod serve;\npub use options::{Route, csp};\npub use serve::server::{ProxyError, run};\n";
        upward(Path::new(file), text, &exports(root))
    }

    #[test]
    fn lower_layers_are_allowed() {
        let text = "use crate::http::policy::login;\nuse crate::http::{headers, record::tap::Tap};\nuse super::body;\n";
        assert_eq!(found("relay/handle.rs", text), []);
        assert_eq!(found("serve/server.rs", "use crate::http::relay::connection;\n"), []);
        assert_eq!(found("options.rs", "use crate::http::Route;\nuse super::target;\n"), []);
    }

    #[test]
    fn higher_layers_are_found_however_they_are_named() {
        let check = |file, text, name| assert_eq!(found(file, text), [(2, name)], "{text}");
        check("record/tap.rs", "\nuse crate::http::serve::server::Shared;", "serve");
        check("record/tap.rs", "\nfn f(x: &crate::http::policy::Csp) {}", "policy");
        check("policy/csp/report.rs", "\nuse super::super::super::relay::body;", "relay");
        check("policy/csp/mod.rs", "\nuse super::super::relay::body;", "relay");
        check(
            "policy/login.rs",
            "\nuse crate::http::{\n    headers::{Hop, name},\n    relay::body,\n};",
            "relay",
        );
        check("relay/body.rs", "\nuse crate::{http::serve::admin};", "serve");
        check("options.rs", "\nuse super::policy::csp::Rule;", "policy");
        check("relay/body.rs", "\nuse crate::http::ProxyError;", "ProxyError");
    }

    #[test]
    fn comments_and_tests_and_other_modules_are_none() {
        let text = "// crate::http::serve\nuse super::relay;\nuse test_http::serve;\n#[cfg(test)]\nmod tests {\n use crate::http::serve;";
        assert_eq!(found("record/tap.rs", text), []);
    }
}
