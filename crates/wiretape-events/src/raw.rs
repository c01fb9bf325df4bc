//! JSON that is embedded in other JSON without being parsed or re-serialized.

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use wiretape_trace::format::Head;

/// A JSON value in the bytes that were on the wire, so that key order and number formats survive. Cloning it shares them.
#[derive(Debug, Clone)]
pub struct Raw(Json);

#[derive(Debug, Clone)]
enum Json {
    Bytes(Bytes),
    /// A head as the trace has it: nearly all events have two, and only those that are sent as JSON need them.
    Head(Arc<Head>),
}

impl Raw {
    /// The JSON text, not validated.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Json::Bytes(bytes) => bytes,
            Json::Head(head) => head.json(),
        }
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Raw {}

impl From<Vec<u8>> for Raw {
    fn from(json: Vec<u8>) -> Self {
        Bytes::from(json).into()
    }
}

impl From<Bytes> for Raw {
    fn from(json: Bytes) -> Self {
        Raw(Json::Bytes(json))
    }
}

impl From<Arc<Head>> for Raw {
    fn from(head: Arc<Head>) -> Self {
        Raw(Json::Head(head))
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `RawValue` validates but doesn't build a tree; the bytes are then copied as they are.
        serde_json::from_slice::<&RawValue>(self.as_bytes()).map_err(S::Error::custom)?.serialize(serializer)
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
