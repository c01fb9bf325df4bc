//! The digests of traces, for `integrity`.

use super::Store;
use crate::store::error::StoreError;

impl Store {
    /// The SHA-256 that a trace ended with when it was recorded or first loaded, in hexadecimal. `None` if the store has none.
    pub fn trace_digest(&self, id: &str) -> Result<Option<String>, StoreError> {
        let found = self.rows("SELECT sha256 FROM trace_digest WHERE trace = ?1", [id], |row| row.get(0))?;
        Ok(found.into_iter().next())
    }
}
