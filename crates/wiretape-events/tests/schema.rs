//! The committed schemas are what the code writes.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::path::Path;
use wiretape_events::schema;

/// `WIRETAPE_UPDATE_DOCS=1` writes them anew.
fn check(name: &str, schema: &serde_json::Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas").join(name);
    let fresh = format!("{schema:#}\n");
    if std::env::var_os("WIRETAPE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, fresh, "docs/schemas/{name} is stale: run this test with WIRETAPE_UPDATE_DOCS=1");
}

#[test]
fn the_schemas_are_fresh() {
    check("event.schema.json", &schema::events());
    check("events-line.schema.json", &schema::lines());
}

#[test]
fn they_are_schemas() {
    for schema in [schema::events(), schema::lines()] {
        jsonschema::meta::validate(&schema).unwrap();
    }
}
