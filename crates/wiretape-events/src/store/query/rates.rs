//! How many calls there were when.

use super::filter::Filter;
use super::{Store, count};
use crate::store::error::StoreError;
use crate::store::row::status_code;
use rusqlite::params_from_iter;
use rusqlite::types::Value;
use wiretape_analyze::call::Outcome;

/// The calls of a piece of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRecord {
    /// Which piece, counted from 0 at the beginning of the time.
    pub part: i64,
    /// How many calls.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
}

impl Store {
    /// How many calls there were since a time, in pieces of so many milliseconds; pieces without calls are left out.
    pub fn rates(&self, since_ms: i64, width_ms: i64) -> Result<Vec<RateRecord>, StoreError> {
        let conditions = Filter { since_ms: Some(since_ms), ..Filter::default() }.of_calls();
        let failed: Vec<String> = Outcome::ALL
            .into_iter()
            .filter(|status| status.is_error())
            .map(|status| status_code(status).to_string())
            .collect();
        let sql = format!(
            "SELECT (time - ?) / ?, count(*), sum(status IN ({})) FROM call INDEXED BY call_by_time{} GROUP BY 1",
            failed.join(", "),
            conditions.clause()
        );
        let head = [Value::from(since_ms), Value::from(width_ms.max(1))];
        self.rows(&sql, params_from_iter(head.iter().chain(&conditions.values)), |row| {
            Ok(RateRecord { part: row.get(0)?, calls: count(row, 1)?, errors: count(row, 2)? })
        })
    }
}
