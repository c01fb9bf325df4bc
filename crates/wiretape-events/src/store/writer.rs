//! Writing: one transaction for many rows.

use super::error::StoreError;
use super::file::{self, Identity};
use super::retention::CallRemoval;
use super::row::{
    CallRow, Operation, Progress, Row, SchemaRow, SessionKey, SessionRow, ViolationRow, bounded, status_code,
};
use super::schema::{self, MIGRATIONS, Standing, VERSION, pragma};
use crate::event::{ChangeType, SchemaItem};
use rusqlite::{
    CachedStatement, Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long another program's transaction is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_millis(1500);

/// How many ids of sessions and of operations are remembered.
const MAX_REMEMBERED: usize = 16 * 1024;

/// The longest id, path or message that is kept in full.
const MAX_TEXT: usize = 500;

/// Writes a store.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    pub(super) connection: Connection,
    identity: Option<Identity>,
    names: Names,
}

/// The ids of what rows refer to, so that they need not be looked up for each.
#[derive(Debug, Default)]
struct Names {
    operations: HashMap<Operation, i64>,
    sessions: HashMap<SessionKey, KnownSession>,
    /// Traces of which a proxy tells.
    told: HashSet<Arc<str>>,
    /// Changes whenever another connection has written.
    data_version: i64,
    /// Changes whenever ids may have gone.
    prunings: i64,
}

/// A session that is in the store.
#[derive(Debug, Clone)]
struct KnownSession {
    id: i64,
    /// The trace in which it was first seen.
    trace: Option<Arc<str>>,
}

impl KnownSession {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(KnownSession { id: row.get(0)?, trace: row.get(1)? })
    }
}

impl Names {
    /// Forgets ids that may be gone, and makes room.
    fn refresh(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        if self.operations.len() >= MAX_REMEMBERED || self.sessions.len() >= MAX_REMEMBERED {
            self.clear();
        }
        let data_version = pragma(transaction, "data_version")?;
        if data_version == self.data_version {
            return Ok(());
        }
        let prunings = transaction.query_row("SELECT count FROM pruning", [], |row| row.get(0))?;
        if prunings != self.prunings {
            self.clear();
        }
        (self.data_version, self.prunings) = (data_version, prunings);
        Ok(())
    }

    fn clear(&mut self) {
        self.operations.clear();
        self.sessions.clear();
        self.told.clear();
    }
}

impl Writer {
    /// Opens a store, made for its owner only if there is none, and brought up to date if it is older.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if path.is_dir() {
            return Err(StoreError::Directory { path: path.to_owned() });
        }
        file::create(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        Self::open_file(path).map_err(StoreError::while_opening)
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        let of_sqlite = |source| StoreError::from_sqlite(path.to_owned(), source);
        let identity = file::identity(path);
        let mut connection = connect(path).map_err(of_sqlite)?;
        let standing = schema::standing(&connection, path, VERSION)?;
        prepare(&mut connection, standing).map_err(of_sqlite)?;
        Ok(Writer { path: path.to_owned(), connection, identity, names: Names::default() })
    }

    /// A store that nobody else sees, and that is gone with its writer.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let of_sqlite = |source| StoreError::from_sqlite(PathBuf::from(":memory:"), source);
        let mut connection = Connection::open_in_memory().map_err(of_sqlite)?;
        prepare(&mut connection, Standing::Empty).map_err(of_sqlite)?;
        Ok(Writer { path, connection, identity: None, names: Names::default() })
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all rows, or none.
    pub fn write(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        let result = write_all(&mut self.connection, &mut self.names, rows);
        result.map_err(|source| {
            // What was looked up may have been rolled back.
            self.names.clear();
            self.error(source)
        })
    }

    /// Whether the file that is written is still the one at its path.
    pub(super) fn is_in_place(&self) -> bool {
        file::identity(&self.path) == self.identity
    }

    /// How far a trace was loaded; `None` if the store knows nothing of it.
    pub fn trace(&self, id: &str) -> Result<Option<Progress>, StoreError> {
        trace_progress(&self.connection, id).map_err(|source| self.error(source))
    }

    /// Takes out what was loaded of a trace.
    pub(super) fn forget_trace(&mut self, id: &str) -> Result<(), StoreError> {
        let result = forget_trace(&mut self.connection, id);
        self.names.clear();
        result.map_err(|source| self.error(source))
    }

    /// How many calls of a trace are in the store.
    pub(super) fn calls_of_trace(&self, id: &str) -> Result<u64, StoreError> {
        let count: rusqlite::Result<i64> =
            self.connection
                .query_row(&format!("SELECT count(*) FROM call WHERE {OF_TRACE}"), [id], |row| row.get(0));
        count.map(|count| u64::try_from(count).unwrap_or(0)).map_err(|source| self.error(source))
    }

    /// Forgets the ids of rows that have gone.
    pub(super) fn forget_names(&mut self) {
        self.names.clear();
    }

    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(self.path.clone(), source)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    if connection.is_readonly("main")? {
        // Were it read, files would be made beside it that can't be written either, and that nobody would take away.
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(error, None));
    }
    schema::harden(&connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn prepare(connection: &mut Connection, standing: Standing) -> rusqlite::Result<()> {
    if standing == Standing::Empty {
        // It can't be changed later: without it a file never shrinks.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // What was committed survives the end of the program, however it ends; not always that of the machine.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -8192)?;
    connection.pragma_update_and_check(None, "journal_size_limit", 16 << 20, |_| Ok(()))?;
    schema::migrate(connection, MIGRATIONS)
}

fn trace_progress(connection: &Connection, id: &str) -> rusqlite::Result<Option<Progress>> {
    let loaded: Option<i64> = connection
        .query_row("SELECT complete FROM trace WHERE id = ?1", [id], |row| row.get(0))
        .optional()?;
    if let Some(code) = loaded {
        return Ok(Some(Progress::of(code)));
    }
    // A proxy that wrote the trace has told of its calls, too.
    let told = connection
        .query_row("SELECT 1 FROM session WHERE trace = ?1 LIMIT 1", [id], |_| Ok(()))
        .optional()?;
    Ok(told.map(|()| Progress::Told))
}

/// The calls of a trace: those that name it, and those of its sessions that name none.
const OF_TRACE: &str = "id IN (SELECT id FROM call WHERE trace = ?1 UNION ALL \
     SELECT call.id FROM session JOIN call ON call.session = session.id \
     AND call.id BETWEEN session.first_call AND session.last_call WHERE session.trace = ?1 AND call.trace IS NULL)";

fn forget_trace(connection: &mut Connection, id: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    CallRemoval::by(&transaction, OF_TRACE, [id])?;
    transaction.execute("DELETE FROM session WHERE trace = ?1 AND calls = 0", [id])?;
    // It goes on in other traces, which its calls name.
    transaction.execute("UPDATE session SET trace = NULL WHERE trace = ?1", [id])?;
    transaction.execute("DELETE FROM trace WHERE id = ?1", [id])?;
    transaction.execute("UPDATE pruning SET count = count + 1", [])?;
    transaction.commit()
}

fn write_all(connection: &mut Connection, names: &mut Names, rows: &[Row]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    names.refresh(&transaction)?;
    let mut batch = Batch {
        transaction: &transaction,
        names,
        insert: transaction.prepare_cached(INSERT_CALL)?,
        operations: BTreeMap::new(),
        sessions: BTreeMap::new(),
    };
    rows.iter().try_for_each(|row| batch.row(row))?;
    batch.tally()?;
    drop(batch);
    transaction.commit()
}

const INSERT_CALL: &str = "INSERT INTO call (time, operation, session, status, latency_us, upstream_us, \
     first_byte_us, request_bytes, response_bytes, http_status, error_code, event_run, event_number, request_id, \
     path, error_message, trace, subject) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)";

/// Rows on their way into the store.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    names: &'a mut Names,
    insert: CachedStatement<'a>,
    /// How many calls each operation has got.
    operations: BTreeMap<i64, i64>,
    sessions: BTreeMap<i64, SessionTally>,
}

/// What a session has got.
struct SessionTally {
    calls: i64,
    errors: i64,
    last_seen: i64,
    first_call: i64,
    last_call: i64,
    /// When the last of its calls began.
    began: i64,
}

impl Batch<'_> {
    fn row(&mut self, row: &Row) -> rusqlite::Result<()> {
        match row {
            Row::Call(call) => self.call(call),
            Row::Session(session) => self.session(session),
            Row::SessionEnd { session, time } => self.session_end(session, *time),
            Row::Schema(schema) => self.schema(schema),
            Row::Violation(violation) => self.violation(violation),
            Row::Trace { id, time, progress } => self.trace(id, *time, *progress),
        }
    }

    fn call(&mut self, call: &CallRow) -> rusqlite::Result<()> {
        if let (Some(trace), Some(_)) = (&call.trace, &call.event) {
            self.told(trace, call.time)?;
        }
        let operation = self.operation_id(&call.operation)?;
        let session = match &call.session {
            Some(key) => Some(self.session_of(key, call)?),
            None => None,
        };
        let trace = call.trace.as_ref().filter(|&trace| {
            let of_session = session.as_ref().and_then(|session| session.trace.as_ref());
            of_session != Some(trace)
        });
        let trace = trace.map(|trace| &**trace);
        let session = session.as_ref().map(|session| session.id);
        let (run, number) = call.event.map_or((None, None), |event| {
            let (run, number) = event.parts();
            (Some(run as i64), Some(number as i64))
        });
        self.insert.execute(params![
            call.time,
            operation,
            session,
            status_code(call.status),
            call.latency_us.map(integer),
            call.upstream_us.map(integer),
            call.first_byte_us.map(integer),
            integer(call.request_bytes),
            integer(call.response_bytes),
            call.http_status,
            call.error_code,
            run,
            number,
            bounded(&call.request_id, MAX_TEXT),
            call.path.as_deref().map(|path| bounded(path, MAX_TEXT)),
            call.error_message.as_deref().map(|message| bounded(message, MAX_TEXT)),
            trace,
            call.subject.as_deref().map(|subject| bounded(subject, MAX_TEXT)),
        ])?;
        *self.operations.entry(operation).or_default() += 1;
        if let Some(session) = session {
            self.count_for_session(session, call);
        }
        Ok(())
    }

    fn count_for_session(&mut self, session: i64, call: &CallRow) {
        let id = self.transaction.last_insert_rowid();
        let tally = self.sessions.entry(session).or_insert(SessionTally {
            calls: 0,
            errors: 0,
            last_seen: ended(call),
            first_call: id,
            last_call: id,
            began: call.time,
        });
        if call.operation.is_call() {
            tally.calls += 1;
            tally.errors += i64::from(call.status.is_error());
        }
        tally.last_seen = tally.last_seen.max(ended(call));
        tally.last_call = id;
        tally.began = tally.began.max(call.time);
    }

    fn operation_id(&mut self, operation: &Operation) -> rusqlite::Result<i64> {
        if let Some(&id) = self.names.operations.get(operation) {
            return Ok(id);
        }
        let values = params![
            operation.method,
            operation.tool,
            operation.server,
            operation.listener,
            operation.transport.name(),
            operation.kind.name(),
        ];
        let known: Option<i64> = self
            .transaction
            .prepare_cached(
                "SELECT id FROM operation WHERE method = ?1 AND tool IS ?2 AND server = ?3 AND listener IS ?4 \
                 AND transport = ?5 AND kind = ?6",
            )?
            .query_row(values, |row| row.get(0))
            .optional()?;
        let id = match known {
            Some(id) => id,
            None => self
                .transaction
                .prepare_cached(
                    "INSERT INTO operation (method, tool, server, listener, transport, kind) \
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .insert(values)?,
        };
        self.names.operations.insert(operation.clone(), id);
        Ok(id)
    }

    /// The session of a call; it may be the first that is heard of it.
    fn session_of(&mut self, key: &SessionKey, call: &CallRow) -> rusqlite::Result<KnownSession> {
        if let Some(known) = self.names.sessions.get(key) {
            return Ok(known.clone());
        }
        let known = self
            .transaction
            .prepare_cached("SELECT id, trace FROM session WHERE name = ?1 AND server = ?2")?
            .query_row(params![key.id, key.server], KnownSession::read)
            .optional()?;
        let session = match known {
            Some(known) => known,
            None => KnownSession { id: self.insert_session(key, call)?, trace: call.trace.clone() },
        };
        self.names.sessions.insert(key.clone(), session.clone());
        Ok(session)
    }

    fn insert_session(&mut self, key: &SessionKey, call: &CallRow) -> rusqlite::Result<i64> {
        self.transaction
            .prepare_cached(
                "INSERT INTO session (name, server, listener, transport, trace, started, last_seen) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            )?
            .insert(params![
                key.id,
                key.server,
                call.operation.listener,
                call.operation.transport.name(),
                call.trace,
                call.time,
            ])
    }

    fn session(&mut self, session: &SessionRow) -> rusqlite::Result<()> {
        let known = self
            .transaction
            .prepare_cached(
                "INSERT INTO session (name, server, listener, transport, client_name, client_version, \
                 client_platform, protocol_version, server_name, server_version, trace, started, last_seen) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) \
                 ON CONFLICT (name, server) DO UPDATE SET \
                 listener = coalesce(excluded.listener, listener), \
                 client_name = coalesce(excluded.client_name, client_name), \
                 client_version = coalesce(excluded.client_version, client_version), \
                 client_platform = coalesce(excluded.client_platform, client_platform), \
                 protocol_version = coalesce(excluded.protocol_version, protocol_version), \
                 server_name = coalesce(excluded.server_name, server_name), \
                 server_version = coalesce(excluded.server_version, server_version), \
                 trace = coalesce(trace, excluded.trace), \
                 started = min(started, excluded.started), \
                 last_seen = max(last_seen, excluded.last_seen), \
                 ended = NULL \
                 RETURNING id, trace",
            )?
            .query_row(
                params![
                    session.key.id,
                    session.key.server,
                    session.listener,
                    session.transport.name(),
                    session.client_name,
                    session.client_version,
                    session.client_platform,
                    session.protocol_version,
                    session.server_name,
                    session.server_version,
                    session.trace,
                    session.started,
                ],
                KnownSession::read,
            )?;
        self.names.sessions.insert(session.key.clone(), known);
        Ok(())
    }

    fn session_end(&mut self, key: &SessionKey, time: i64) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("UPDATE session SET ended = ?3 WHERE name = ?1 AND server = ?2")?
            .execute(params![key.id, key.server, time])
            .map(drop)
    }

    fn schema(&mut self, schema: &SchemaRow) -> rusqlite::Result<()> {
        let list: i64 = self
            .transaction
            .prepare_cached(
                "INSERT INTO schema_list (server, method, last_seen) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (server, method) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen) \
                 RETURNING id",
            )?
            .query_row(params![schema.server, schema.method, schema.time], |row| row.get(0))?;
        if schema.change == ChangeType::Initial {
            self.remove_others(list, schema)?;
        }
        for item in &schema.items {
            match schema.change {
                ChangeType::Removed => self.remove_item(list, schema, item)?,
                _ => self.set_item(list, schema, item)?,
            }
        }
        Ok(())
    }

    /// An initial list is a whole one: what the store has besides is gone.
    fn remove_others(&mut self, list: i64, schema: &SchemaRow) -> rusqlite::Result<()> {
        let here: HashSet<&str> = schema.items.iter().map(|item| item.key.as_str()).collect();
        let gone: Vec<SchemaItem> = self
            .transaction
            .prepare_cached("SELECT key, definition FROM schema_item WHERE list = ?1 ORDER BY id")?
            .query_map([list], |row| {
                Ok(SchemaItem { key: row.get(0)?, definition: row.get::<_, Vec<u8>>(1)?.into() })
            })?
            .filter(|item| item.as_ref().map_or(true, |item| !here.contains(item.key.as_str())))
            .collect::<rusqlite::Result<_>>()?;
        gone.iter().try_for_each(|item| self.remove_item(list, schema, item))
    }

    fn remove_item(&mut self, list: i64, schema: &SchemaRow, item: &SchemaItem) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("DELETE FROM schema_item WHERE list = ?1 AND key = ?2")?
            .execute(params![list, item.key])?;
        self.changed(schema, ChangeType::Removed, item)
    }

    fn set_item(&mut self, list: i64, schema: &SchemaRow, item: &SchemaItem) -> rusqlite::Result<()> {
        let before: Option<Vec<u8>> = self
            .transaction
            .prepare_cached("SELECT definition FROM schema_item WHERE list = ?1 AND key = ?2")?
            .query_row(params![list, item.key], |row| row.get(0))
            .optional()?;
        let change = match (&before, schema.change) {
            // Another proxy on this store has told of it already.
            (Some(before), _) if before == item.definition.as_bytes() => return Ok(()),
            (Some(_), _) => ChangeType::Modified,
            (None, change) => change,
        };
        self.transaction
            .prepare_cached(
                "INSERT INTO schema_item (list, key, definition, first_seen, changed) VALUES (?1, ?2, ?3, ?4, ?4) \
                 ON CONFLICT (list, key) DO UPDATE SET definition = excluded.definition, changed = excluded.changed",
            )?
            .execute(params![list, item.key, item.definition.as_bytes(), schema.time])?;
        self.changed(schema, change, item)
    }

    fn changed(&mut self, schema: &SchemaRow, change: ChangeType, item: &SchemaItem) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "INSERT INTO schema_change (time, server, method, session, change, key, definition) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                schema.time,
                schema.server,
                schema.method,
                schema.session,
                change.name(),
                item.key,
                item.definition.as_bytes(),
            ])
            .map(drop)
    }

    fn violation(&mut self, violation: &ViolationRow) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "INSERT INTO violation (time, server, session, blocked_uri, directive) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                violation.time,
                violation.server,
                violation.session,
                bounded(&violation.blocked_uri, MAX_TEXT),
                bounded(&violation.directive, MAX_TEXT),
            ])
            .map(drop)
    }

    /// Remembers that a proxy tells of the calls in a trace, so that they are not loaded from it again.
    fn told(&mut self, trace: &Arc<str>, time: i64) -> rusqlite::Result<()> {
        if self.names.told.contains(trace) {
            return Ok(());
        }
        if self.names.told.len() >= MAX_REMEMBERED {
            self.names.told.clear();
        }
        self.names.told.insert(Arc::clone(trace));
        // One that was pruned in part stays incomplete.
        self.transaction
            .prepare_cached(
                "INSERT INTO trace (id, loaded, complete) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![trace, time, Progress::Told.code()])
            .map(drop)
    }

    fn trace(&mut self, id: &str, time: i64, progress: Progress) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "INSERT INTO trace (id, loaded, complete) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (id) DO UPDATE SET loaded = excluded.loaded, complete = excluded.complete",
            )?
            .execute(params![id, time, progress.code()])
            .map(drop)
    }

    /// Brings the counts on sessions and operations up to date.
    fn tally(&mut self) -> rusqlite::Result<()> {
        let mut update =
            self.transaction.prepare_cached("UPDATE operation SET calls = calls + ?2 WHERE id = ?1")?;
        for (id, calls) in &self.operations {
            update.execute(params![id, calls])?;
        }
        let mut update = self.transaction.prepare_cached(
            // A session that is used after its end has not ended.
            "UPDATE session SET calls = calls + ?2, errors = errors + ?3, last_seen = max(last_seen, ?4), \
             first_call = coalesce(first_call, ?5), last_call = ?6, \
             ended = CASE WHEN ended < ?7 THEN NULL ELSE ended END WHERE id = ?1",
        )?;
        for (id, tally) in &self.sessions {
            update.execute(params![
                id,
                tally.calls,
                tally.errors,
                tally.last_seen,
                tally.first_call,
                tally.last_call,
                tally.began,
            ])?;
        }
        Ok(())
    }
}

/// When a call was over: a session lasts at least until then.
fn ended(call: &CallRow) -> i64 {
    let ms = call.latency_us.map_or(0, |us| integer(us / 1000));
    call.time.saturating_add(ms)
}

/// Numbers in a store have a sign.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
