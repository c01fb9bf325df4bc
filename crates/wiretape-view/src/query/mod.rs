//! Answers to what the page asks: each a function of the traces that are open.

pub(crate) mod calls;
pub(crate) mod curl;
pub(crate) mod detail;
pub(crate) mod diff;
pub(crate) mod info;
pub(crate) mod lines;
pub(crate) mod lint;
pub(crate) mod select;
pub(crate) mod sessions;
pub(crate) mod store;
pub(crate) mod timeline;
pub(crate) mod tools;

use crate::trace::OpenTrace;
use std::sync::Arc;

/// Traces that are looked at together, in the order of the URL.
#[derive(Clone)]
pub(crate) struct Set {
    pub(crate) traces: Vec<Arc<OpenTrace>>,
}

/// The text of bytes that should be UTF-8.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
