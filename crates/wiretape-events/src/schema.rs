//! The JSON Schemas of events and lines, generated from the Rust types. They are a contract with other
//! programs: the copies in `docs/schemas` are checked by a test.

use crate::event::Event;
use crate::line::Line;
use schemars::generate::SchemaSettings;

/// The schema of the four events.
pub fn events() -> serde_json::Value {
    named("Wiretape event", schema_of::<Event>())
}

/// The schema of the lines of `--events`.
pub fn lines() -> serde_json::Value {
    named("Line of wiretape --events", schema_of::<Line>())
}

fn schema_of<T: schemars::JsonSchema>() -> serde_json::Value {
    // Serialization and deserialization have different schemas where fields are skipped; we only ever write
    // events.
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

fn named(title: &str, mut schema: serde_json::Value) -> serde_json::Value {
    schema["title"] = title.into();
    schema
}
