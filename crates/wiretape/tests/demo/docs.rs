//! The documentation keeps its promises: examples run, tables are fresh, links lead somewhere.

use crate::environment::{BINARY, Environment};
use std::fs;
use std::path::{Path, PathBuf};
use wiretape_analyze::volatile::{DEFAULTS, META};
use wiretape_trace::redact::RULES;

/// Set, it makes the tests write what they would otherwise ask for.
const UPDATE: &str = "WIRETAPE_UPDATE_DOCS";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page there is.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/design", "docs/rules", "fixtures/traces"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The blocks of a page that are fenced with this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}");
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.trim_end() == fence {
            let block: Vec<&str> = lines.by_ref().take_while(|line| line.trim_end() != "```").collect();
            found.push(block.join("\n"));
        }
    }
    found
}

/// Blocks of `sh` are run verbatim, those of a page one after the other in the same directory. What can't be run
/// everywhere is fenced as `console`.
#[cfg(unix)]
#[test]
fn every_shell_example_works() {
    let mut run = 0;
    for path in pages() {
        let environment = Environment::new();
        let search_path = format!(
            "{}:{}",
            Path::new(BINARY).parent().unwrap().display(),
            std::env::var("PATH").unwrap_or_default()
        );
        for block in blocks(&fs::read_to_string(&path).unwrap(), "sh") {
            let mut shell = environment.prepared("sh");
            shell.args(["-euc", &block]).env("PATH", &search_path);
            let output = shell.output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}:\n{block}\n{told}", path.display());
            run += 1;
        }
    }
    assert!(run >= 3, "only {run} examples were found");
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let examples = blocks(&readme, "sh").join("\n");
    for command in ["demo", "record", "ls", "show", "stats"] {
        assert!(
            examples.contains(&format!("wiretape {command}")),
            "the README shows no `wiretape {command}`"
        );
    }
}

/// A file is in order, and if it is not the proxy's, a recording goes by it.
fn check_configuration(block: &str, page: &Path) {
    let environment = Environment::new();
    let file = environment.path().join("example.toml");
    fs::write(&file, block).unwrap();
    // What an example names has to be there.
    for named in block.lines().filter_map(|line| line.split_once("_file = ")?.1.split('"').nth(1)) {
        fs::write(environment.path().join(named), "secret").unwrap();
    }
    let file = file.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let output = environment.wiretape(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}:\n{block}\n{told}", page.display());
        String::from_utf8(output.stdout).unwrap()
    };
    if run(&["config", "check", "--json", file]).contains(r#""kind": "user""#) {
        run(&["record", "--config", file, "--", BINARY, "sample-server"]);
    }
}

#[test]
fn every_configuration_example_is_valid() {
    for path in pages() {
        for block in blocks(&fs::read_to_string(&path).unwrap(), "toml") {
            check_configuration(&block, &path);
        }
        for block in blocks(&fs::read_to_string(&path).unwrap(), "json") {
            let parsed = serde_json::from_str::<serde_json::Value>(&block);
            assert!(parsed.is_ok(), "{}: {parsed:?}\n{block}", path.display());
        }
    }
}

/// Compares the text between two markers of a page with the expected one, or writes it there.
fn check_generated(page: &str, name: &str, expected: &str) {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let path = root().join(page);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(&begin).expect("the page says where it begins");
    let (found, after) = rest.split_once(&end).expect("the page says where it ends");
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, format!("{before}{begin}{expected}{end}{after}")).unwrap();
    } else {
        assert_eq!(found, expected, "run the tests with {UPDATE}=1 to write {}", path.display());
    }
}

#[test]
fn the_table_of_redaction_rules_is_fresh() {
    let mut table = String::from("| rule | what it redacts |\n|---|---|\n");
    for rule in RULES {
        table.push_str(&format!("| `{}` | {} |\n", rule.name, rule.what));
    }
    check_generated("docs/redaction.md", "the rules", &table);
}

#[test]
fn the_list_of_what_is_left_out_is_fresh() {
    let list: String = META.iter().chain(DEFAULTS).map(|path| format!("- `{path}`\n")).collect();
    check_generated("docs/diff.md", "what is left out", &list);
}

/// The doc comment of the format's module is the specification; the page has a copy for those who read no Rust.
#[test]
fn the_specification_of_the_format_is_fresh() {
    let module = fs::read_to_string(root().join("crates/wiretape-trace/src/format/mod.rs")).unwrap();
    let comment = module.lines().map_while(|line| line.strip_prefix("//!"));
    let mut copy = String::new();
    for line in comment {
        let line = line.strip_prefix(' ').unwrap_or(line);
        let line = line.replace("[`crate::redact`]", "[redaction](redaction.md)");
        let level = if line.starts_with('#') { "#" } else { "" };
        copy.push_str(&format!("{level}{line}\n"));
    }
    let copy = copy.replacen("The trace format, version 1, byte for byte.", "## Version 1, byte for byte", 1);
    check_generated("docs/trace-format.md", "the format", &copy);
}

/// The examples of tests are files, which are run; the page has a copy of each.
#[test]
fn the_examples_of_tests_are_fresh() {
    let languages = [
        ("pytest/record.py", "python"),
        ("pytest/requirements.txt", "text"),
        ("pytest/advice.py", "python"),
        ("pytest/conftest.py", "python"),
        ("pytest/test_advice.py", "python"),
        ("vitest/package.json", "json"),
        ("vitest/advice.ts", "ts"),
        ("vitest/advice.test.ts", "ts"),
        ("rust/Cargo.toml", "toml"),
        ("rust/src/lib.rs", "rust"),
        ("rust/tests/advice.rs", "rust"),
        ("github-actions.yml", "yaml"),
    ];
    for (file, language) in languages {
        let text = fs::read_to_string(root().join("examples/testing").join(file)).unwrap();
        // With its name, for other blocks of TOML are configurations of ours.
        check_generated("docs/testing.md", file, &format!("```{language} {file}\n{text}```\n"));
    }
}

#[test]
fn every_link_leads_somewhere() {
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for target in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.starts_with("http") || target.starts_with('#') {
                continue;
            }
            let file = target.split('#').next().unwrap();
            let linked = path.parent().unwrap().join(file);
            assert!(linked.exists(), "{} links to {target}, which is not there", path.display());
        }
    }
}

#[test]
fn the_map_stays_short() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(architecture.lines().count() < 300);
}
