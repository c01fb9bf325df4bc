//! Builds JSON from parts that are JSON already.

/// A string, as JSON.
pub(super) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A string or null, as JSON.
pub(super) fn optional(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), string)
}

/// The bytes of a parsed value as text. Invalid UTF-8 is replaced.
pub(super) fn raw(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
