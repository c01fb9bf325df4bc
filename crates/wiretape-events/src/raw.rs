//! JSON that is embedded in other JSON without being parsed or re-serialized.

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A JSON value in the bytes that were on the wire, so that key order and number formats survive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw(pub Bytes);

impl Raw {
    /// The JSON text, not validated.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Raw {
    fn from(json: Vec<u8>) -> Self {
        Raw(Bytes::from(json))
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `RawValue` validates but doesn't build a tree; the bytes are then copied as they are.
        serde_json::from_slice::<&RawValue>(&self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl JsonSchema for Raw {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Any JSON, as it was on the wire, without its secrets." })
    }
}
