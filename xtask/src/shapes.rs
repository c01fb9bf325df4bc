//! Generates the schemas that lint validates params and results against, from the crate `rust-mcp-schema`.
//!
//! The crate doesn't contain schema files, but each of its types is generated from the specification's schemas and
//! has its schema in its documentation. They are extracted from there without descriptions, one definition per line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::failure::{Context as _, Failure, Result};
use crate::sh;

/// The version of `rust-mcp-schema` that the schemas are taken from.
const VERSION: &str = "2.0.0";
const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Writes the schemas of all revisions.
pub(crate) fn generate() -> Result {
    let source = crate_source()?;
    for revision in REVISIONS {
        let file = source.join("src/generated_schema").join(revision.replace('-', "_")).join("mcp_schema.rs");
        let definitions = definitions(&read(&file)?);
        let target =
            sh::root().join("crates/wiretape-analyze/src/lint/shapes").join(format!("{revision}.json"));
        let text = render(&needed(&definitions));
        fs::write(&target, text).context(target.display())?;
        println!("{}", target.display());
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).context(path.display())
}

/// The directory of the crate's source, which cargo downloads if necessary.
fn crate_source() -> Result<PathBuf> {
    let dir = tempfile::tempdir()?;
    let manifest = dir.path().join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"nothing\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\nrust-mcp-schema = \"={VERSION}\"\n[workspace]\n"
    );
    fs::write(&manifest, text)?;
    fs::write(dir.path().join("lib.rs"), "")?;
    let manifest = manifest.to_string_lossy().into_owned();
    let words = ["metadata", "--format-version", "1", "--manifest-path", &manifest];
    let output = sh::capture(&mut sh::cargo(words))?;
    let metadata: Value = serde_json::from_str(&output).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| package["name"] == "rust-mcp-schema")
        .find_map(|package| Some(Path::new(package["manifest_path"].as_str()?).parent()?.to_owned()))
        .ok_or_else(|| Failure::new("cargo does not know where rust-mcp-schema is"))
}

/// The schema in the documentation of each type.
fn definitions(source: &str) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut doc = String::new();
    for line in source.lines().map(str::trim_start) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text.strip_prefix(' ').unwrap_or(text));
            doc.push('\n');
        } else if !line.starts_with("#[") {
            let name =
                ["pub struct ", "pub enum ", "pub type "].iter().find_map(|start| line.strip_prefix(start));
            let name = name.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric()).collect::<String>());
            if let (Some(name), Some(schema)) = (name, schema_in(&doc)) {
                found.insert(name, schema);
            }
            doc.clear();
        }
    }
    found
}

fn schema_in(doc: &str) -> Option<Value> {
    let (_, rest) = doc.split_once("```json\n")?;
    let (json, _) = rest.split_once("\n```")?;
    serde_json::from_str(json).ok()
}

/// The definitions of messages, results and errors, and everything that they refer to.
fn needed(all: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let clean: BTreeMap<String, Value> =
        all.iter().map(|(name, schema)| (name.clone(), tidy(schema, all))).collect();
    let is_message =
        |schema: &Value| schema.pointer("/properties/method/const").is_some_and(Value::is_string);
    let mut open: Vec<&String> = clean
        .iter()
        .filter(|(name, schema)| is_message(schema) || name.ends_with("Result") || name.ends_with("Error"))
        .map(|(name, _)| name)
        .collect();
    let mut kept = BTreeSet::new();
    while let Some(name) = open.pop() {
        if kept.insert(name) {
            let mut names = Vec::new();
            references(&clean[name], &mut names);
            open.extend(clean.keys().filter(|key| names.contains(key)));
        }
    }
    let kept: BTreeSet<String> = kept.into_iter().cloned().collect();
    clean.into_iter().filter(|(name, _)| kept.contains(name)).collect()
}

fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().filter(|_| key == "$ref") {
                    Some(reference) => names.extend(reference.rsplit('/').next().map(str::to_owned)),
                    None => references(value, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        _ => {}
    }
}

/// A schema without descriptions, and with references that resolve.
fn tidy(schema: &Value, all: &BTreeMap<String, Value>) -> Value {
    let Value::Object(members) = schema else {
        return match schema {
            Value::Array(items) => items.iter().map(|item| tidy(item, all)).collect(),
            other => other.clone(),
        };
    };
    let mut out = Map::new();
    for (key, value) in members {
        match key.as_str() {
            // A member of this name whose value is an object is a schema, not text.
            "description" | "examples" if !value.is_object() => {}
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let tidied = properties.map(|(name, property)| (name.clone(), tidy(property, all)));
                out.insert(key.clone(), Value::Object(tidied.collect()));
            }
            "$ref" => out.extend(reference(value, all)),
            "type" => {
                out.insert(key.clone(), any_number(value));
            }
            _ => {
                out.insert(key.clone(), tidy(value, all));
            }
        }
    }
    Value::Object(out)
}

/// A reference under the crate's name for the type. A type that the crate doesn't have accepts anything.
fn reference(value: &Value, all: &BTreeMap<String, Value>) -> Option<(String, Value)> {
    let name = value.as_str()?.rsplit('/').next()?;
    match name {
        "JSONValue" => return None,
        "JSONObject" => return Some(("type".to_owned(), json!("object"))),
        _ => {}
    }
    let known = all.keys().find(|key| key.eq_ignore_ascii_case(name))?;
    Some(("$ref".to_owned(), json!(format!("#/$defs/{known}"))))
}

/// Where the specification's source says `string | number | boolean`, its JSON Schema says `integer`. The source is
/// authoritative.
fn any_number(types: &Value) -> Value {
    let Some(names) = types.as_array().filter(|names| names.contains(&json!("boolean"))) else {
        return types.clone();
    };
    names.iter().map(|name| if name == "integer" { json!("number") } else { name.clone() }).collect()
}

fn render(definitions: &BTreeMap<String, Value>) -> String {
    let lines: Vec<String> =
        definitions.iter().map(|(name, schema)| format!("{}:{}", json!(name), sorted(schema))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// JSON with sorted member names, so that the output is deterministic whatever features `serde_json` is built with.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, &Value> = members.iter().collect();
            let members =
                members.into_iter().map(|(name, value)| format!("{}:{}", json!(name), sorted(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_taken_from_documentation() {
        let source = "/// Text.\n///\n/// ```json\n///{\"type\":\"object\",\"description\":\"x\",\n/// \
                      \"properties\":{\"description\":{\"$ref\":\"#/$defs/JSONValue\"}}}\n/// ```\n#[derive(Debug)]\npub struct OneResult {\n";
        let found = needed(&definitions(source));
        assert_eq!(
            render(&found),
            "{\n\"OneResult\":{\"properties\":{\"description\":{}},\"type\":\"object\"}\n}\n"
        );
        assert_eq!(
            any_number(&json!(["string", "integer", "boolean"])),
            json!(["string", "number", "boolean"])
        );
    }
}
