//! The tables, and the migrations of older stores.
//!
//! `PRAGMA user_version` has the version of a store. Each step of [`MIGRATIONS`] leads to the next version,
//! in its own transaction; a released step is never changed.

use super::error::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// `PRAGMA application_id` of a store: "wtap" in ASCII.
pub const APPLICATION_ID: i64 = 0x7774_6170;

/// The migrations: each leads from the version that is its index to the next.
pub const MIGRATIONS: &[&str] = &[
    include_str!("version1.sql"),
    include_str!("version2.sql"),
    include_str!("version3.sql"),
    include_str!("version4.sql"),
    include_str!("version5.sql"),
];

/// The version that this program reads and writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// What a database file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A new file without tables.
    Empty,
    /// A store with this version, not newer than ours.
    Store(i64),
}

/// Protects against a prepared file: its schema can't call functions with side effects, and can't be modified
/// by writing to `sqlite_schema`.
pub(super) fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}

/// Determines what a file contains. Databases of other programs and newer stores are refused.
pub(super) fn content(connection: &Connection, path: &Path, known: i64) -> Result<Content, StoreError> {
    let of_sqlite = |source| StoreError::from_sqlite(path.to_owned(), source);
    let application = pragma(connection, "application_id").map_err(of_sqlite)?;
    let version = pragma(connection, "user_version").map_err(of_sqlite)?;
    let (tables, programs): (i64, i64) = connection
        .query_row(
            "SELECT count(*), count(*) FILTER (WHERE type NOT IN ('table', 'index')) FROM sqlite_schema",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map_err(of_sqlite)?;
    match (application, version) {
        // A store has no views and no triggers. In a file from someone else they are SQL that would run under our queries: a
        // view in the place of a table can take forever, and a trigger runs on every row that is loaded.
        _ if programs > 0 => Err(StoreError::Foreign { path: path.to_owned() }),
        (0, 0) if tables == 0 => Ok(Content::Empty),
        (APPLICATION_ID, version) if version > known => {
            Err(StoreError::Newer { path: path.to_owned(), version, known })
        }
        (APPLICATION_ID, version) => Ok(Content::Store(version)),
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}

/// Migrates a store step by step.
/// Another process may do the same concurrently: each step locks the database first, and reads the version
/// under that lock.
pub(super) fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    loop {
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version = usize::try_from(pragma(&step, "user_version")?).unwrap_or(usize::MAX);
        let Some(sql) = migrations.get(version) else { return step.commit() };
        apply(&step, sql, version + 1)?;
        step.commit()?;
    }
}

fn apply(step: &Transaction<'_>, sql: &str, version: usize) -> rusqlite::Result<()> {
    step.execute_batch(sql)?;
    step.pragma_update(None, "application_id", APPLICATION_ID)?;
    step.pragma_update(None, "user_version", version as i64)
}

/// Reads a pragma whose value is an integer.
pub(super) fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_taken_once_and_in_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE one (n INTEGER); INSERT INTO one VALUES (1);";
        let second = "ALTER TABLE one ADD COLUMN m INTEGER; UPDATE one SET m = n + 1;";
        migrate(&mut connection, &[first]).unwrap();
        migrate(&mut connection, &[first]).unwrap();
        migrate(&mut connection, &[first, second]).unwrap();
        migrate(&mut connection, &[first, second]).unwrap();
        let row = connection.query_row("SELECT count(*), max(n), max(m) FROM one", [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?])
        });
        assert_eq!(row.unwrap(), [1, 1, 2]);
        assert_eq!(pragma(&connection, "user_version").unwrap(), 2);
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE one (n INTEGER);", "CREATE TABLE two (n INTEGER); no SQL;"];
        migrate(&mut connection, &steps).unwrap_err();
        assert_eq!(pragma(&connection, "user_version").unwrap(), 1);
        let two = connection.prepare("SELECT * FROM two");
        assert!(two.is_err(), "half a step is none");
    }

    #[test]
    fn newer_and_foreign_databases_are_refused() {
        let check = |sql: &str| {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(sql).unwrap();
            content(&connection, Path::new("store.db"), 1)
        };
        assert_eq!(check("").unwrap(), Content::Empty);
        let ours = format!("PRAGMA application_id = {APPLICATION_ID};");
        assert_eq!(check(&format!("{ours} PRAGMA user_version = 1;")).unwrap(), Content::Store(1));
        assert!(matches!(check(&format!("{ours} PRAGMA user_version = 2;")), Err(StoreError::Newer { .. })));
        assert!(matches!(check("CREATE TABLE notes (text TEXT);"), Err(StoreError::Foreign { .. })));
        assert!(matches!(check("PRAGMA application_id = 7;"), Err(StoreError::Foreign { .. })));
        let view = format!("{ours} PRAGMA user_version = 1; CREATE VIEW operation AS SELECT 1;");
        assert!(matches!(check(&view), Err(StoreError::Foreign { .. })), "a view is SQL that would run");
        let trigger = format!(
            "{ours} PRAGMA user_version = 1; CREATE TABLE call (n); CREATE TRIGGER t AFTER INSERT ON call BEGIN SELECT 1; END;"
        );
        assert!(matches!(check(&trigger), Err(StoreError::Foreign { .. })), "so is a trigger");
    }
}
