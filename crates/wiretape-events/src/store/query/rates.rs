//! Call rates over time, for the page's chart.

use super::filter::Filter;
use super::{Store, count};
use crate::store::error::StoreError;
use crate::store::row::status_code;
use rusqlite::params_from_iter;
use rusqlite::types::Value;
use wiretape_analyze::call::Outcome;

/// The calls in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRecord {
    /// The index of the interval; 0 begins at the start of the range.
    pub part: i64,
    /// The number of calls in it.
    pub calls: u64,
    /// The number of these that failed.
    pub errors: u64,
}

impl Store {
    /// The calls since a time, counted in intervals of `width_ms`. Intervals without calls are omitted.
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
