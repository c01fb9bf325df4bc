//! The queries behind the API: functions of the open traces.

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

use crate::index::Index;
use crate::trace::OpenTrace;
use parking_lot::RwLockReadGuard;
use std::sync::Arc;

/// The traces of a page, in the order of the URL.
#[derive(Clone)]
pub(crate) struct Set {
    pub(crate) traces: Vec<Arc<OpenTrace>>,
}

impl Set {
    /// The indexes of all of them. They are locked in one global order, whatever that of the URL: otherwise two requests
    /// could wait for each other for ever.
    pub(crate) fn indexes(&self) -> Vec<RwLockReadGuard<'_, Index>> {
        let mut order: Vec<usize> = (0..self.traces.len()).collect();
        order.sort_by_key(|at| Arc::as_ptr(&self.traces[*at]));
        let mut taken: Vec<_> = order.into_iter().map(|at| (at, self.traces[at].index())).collect();
        taken.sort_by_key(|(at, _)| *at);
        taken.into_iter().map(|(_, index)| index).collect()
    }
}

/// The text of bytes that should be UTF-8.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
