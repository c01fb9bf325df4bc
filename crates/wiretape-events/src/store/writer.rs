//! Writes rows, many in one transaction: a commit costs far more than an insert.

use super::batcher::now_ms;
use super::error::StoreError;
use super::file::{self, Identity};
use super::retention::CallRemoval;
use super::row::{
    CallRow, Operation, Progress, Row, RowSource, SchemaRow, SessionKey, SessionRow, TraceDigest,
    ViolationRow, bounded, status_code,
};
use super::schema::{self, Content, MIGRATIONS, VERSION, pragma};
use crate::event::{ChangeType, SchemaItem};
use rusqlite::{
    CachedStatement, Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for another process's transaction. Longer would let rows pile up for no benefit: the
/// batcher keeps them and retries.
const BUSY_TIMEOUT: Duration = Duration::from_millis(1500);

/// The number of cached ids, for sessions and for operations. When it is reached, the cache is cleared:
/// simpler than an LRU, and rare.
const MAX_REMEMBERED: usize = 16 * 1024;

/// The length at which ids, paths and messages are cut, in bytes.
const MAX_TEXT: usize = 500;

/// The write connection to a store.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    pub(super) connection: Connection,
    identity: Option<Identity>,
    names: Names,
}

/// Caches the ids that rows refer to, so that an insert needs no lookup.
#[derive(Debug, Default)]
struct Names {
    operations: HashMap<Operation, i64>,
    sessions: HashMap<SessionKey, KnownSession>,
    /// Traces whose calls a proxy reports.
    proxy_reported: HashSet<Arc<str>>,
    /// `PRAGMA data_version`, which changes whenever another connection has committed.
    data_version: i64,
    /// The counter in the table `pruning`, which changes whenever ids may have been deleted.
    prunings: i64,
}

/// A session in the store.
#[derive(Debug, Clone)]
struct KnownSession {
    id: i64,
    /// The trace in which it was first seen. Calls of the same trace don't repeat it.
    trace: Option<Arc<str>>,
}

impl KnownSession {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(KnownSession { id: row.get(0)?, trace: row.get(1)? })
    }
}

impl Names {
    /// Drops ids that another process may have deleted, and bounds the cache.
    fn refresh(&mut self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        if self.operations.len() >= MAX_REMEMBERED || self.sessions.len() >= MAX_REMEMBERED {
            self.clear();
        }
        // `data_version` needs no table access, so the usual case of a single writer costs one pragma per
        // batch.
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
        self.proxy_reported.clear();
    }
}

impl Writer {
    /// Opens a store for writing: created for its owner only if it doesn't exist, migrated if it is older.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if path.is_dir() {
            return Err(StoreError::Directory { path: path.to_owned() });
        }
        file::create(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        Self::open_file(path).map_err(StoreError::while_opening)
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        let of_sqlite = |source| StoreError::from_sqlite(path.to_owned(), source);
        // Before connecting: if the file is replaced in between, `is_in_place` notices. The other way round
        // it would not.
        let identity = file::identity(path);
        let mut connection = connect(path).map_err(of_sqlite)?;
        let content = schema::content(&connection, path, VERSION)?;
        prepare(&mut connection, content).map_err(of_sqlite)?;
        Ok(Writer { path: path.to_owned(), connection, identity, names: Names::default() })
    }

    /// A private store in memory, which is gone with its writer. For commands that query traces instead of the store, and for tests.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let of_sqlite = |source| StoreError::from_sqlite(PathBuf::from(":memory:"), source);
        let mut connection = Connection::open_in_memory().map_err(of_sqlite)?;
        prepare(&mut connection, Content::Empty).map_err(of_sqlite)?;
        Ok(Writer { path, connection, identity: None, names: Names::default() })
    }

    /// The path of the store; `:memory:` for one in memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all rows in one transaction, or none.
    pub fn write(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        let result = write_all(&mut self.connection, &mut self.names, rows);
        result.map_err(|source| {
            // Ids of rows that were inserted in this transaction were rolled back with it.
            self.names.clear();
            self.error(source)
        })
    }

    /// Whether the open file is still the one at its path.
    pub(super) fn is_in_place(&self) -> bool {
        file::identity(&self.path) == self.identity
    }

    /// How far a trace is loaded; `None` if the store doesn't know it.
    pub fn trace(&self, id: &str) -> Result<Option<Progress>, StoreError> {
        trace_progress(&self.connection, id).map_err(|source| self.error(source))
    }

    /// Whether the store has the digest of a trace.
    pub(super) fn has_digest(&self, id: &str) -> Result<bool, StoreError> {
        let found: rusqlite::Result<bool> = self.connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM trace_digest WHERE trace = ?1)",
            [id],
            |row| row.get(0),
        );
        found.map_err(|source| self.error(source))
    }

    /// Deletes what was loaded of a trace. Its digest stays: the trace is about to be loaded again.
    pub(super) fn forget_trace(&mut self, id: &str) -> Result<(), StoreError> {
        let result = forget_trace(&mut self.connection, id);
        self.names.clear();
        result.map_err(|source| self.error(source))
    }

    /// The number of a trace's calls in the store.
    pub(super) fn calls_of_trace(&self, id: &str) -> Result<u64, StoreError> {
        let count: rusqlite::Result<i64> =
            self.connection
                .query_row(&format!("SELECT count(*) FROM call WHERE {OF_TRACE}"), [id], |row| row.get(0));
        count.map(|count| u64::try_from(count).unwrap_or(0)).map_err(|source| self.error(source))
    }

    /// Drops all cached ids, because rows were deleted.
    pub(super) fn forget_names(&mut self) {
        self.names.clear();
    }

    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(self.path.clone(), source)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // The connection is owned by one thread at a time, so SQLite's own mutex is not needed.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    if connection.is_readonly("main")? {
        // If we only read it, SQLite would create companion files that can't be written or removed either.
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(error, None));
    }
    schema::harden(&connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn prepare(connection: &mut Connection, content: Content) -> rusqlite::Result<()> {
    if content == Content::Empty {
        // Can't be changed once there are tables, and without it a file never shrinks.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // Committed rows survive a crash of the process; a power failure may lose the last ones. The traces have
    // them.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Negative means KiB: 8 MiB of page cache.
    connection.pragma_update(None, "cache_size", -8192)?;
    // After a burst, the WAL is truncated to 16 MiB instead of keeping its peak size.
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
    // A proxy reports the calls of the traces it writes. A trace without a row of its own is known from its sessions.
    let proxy_reported = connection
        .query_row("SELECT 1 FROM session WHERE trace = ?1 LIMIT 1", [id], |_| Ok(()))
        .optional()?;
    Ok(proxy_reported.map(|()| Progress::ReportedByProxy))
}

/// The calls of a trace: those that name it, and those of its sessions that name none. The range of ids keeps
/// SQLite from scanning all calls for a session.
const OF_TRACE: &str = "id IN (SELECT id FROM call WHERE trace = ?1 UNION ALL \
     SELECT call.id FROM session JOIN call ON call.session = session.id \
     AND call.id BETWEEN session.first_call AND session.last_call WHERE session.trace = ?1 AND call.trace IS NULL)";

fn forget_trace(connection: &mut Connection, id: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    CallRemoval::by(&transaction, OF_TRACE, [id])?;
    transaction.execute("DELETE FROM session WHERE trace = ?1 AND calls = 0", [id])?;
    // These sessions continue in other traces, which their calls name.
    transaction.execute("UPDATE session SET trace = NULL WHERE trace = ?1", [id])?;
    transaction.execute("DELETE FROM trace WHERE id = ?1", [id])?;
    transaction.execute("UPDATE pruning SET count = count + 1", [])?;
    transaction.commit()
}

fn write_all(connection: &mut Connection, names: &mut Names, rows: &[Row]) -> rusqlite::Result<()> {
    // Immediate: a deferred transaction would fail with "busy" when it upgrades from reading to writing.
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

/// One transaction: the rows being written, and the counters they change.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    names: &'a mut Names,
    insert: CachedStatement<'a>,
    /// The number of new calls for each operation.
    operations: BTreeMap<i64, i64>,
    sessions: BTreeMap<i64, SessionTally>,
}

/// What a transaction adds to a session. Updated once at the end, not with every call.
struct SessionTally {
    calls: i64,
    errors: i64,
    last_seen: i64,
    first_call: i64,
    last_call: i64,
    /// When the latest of its calls began.
    began: i64,
}

impl Batch<'_> {
    fn row(&mut self, row: &Row) -> rusqlite::Result<()> {
        match row {
            Row::Call(call) => self.call(call),
            Row::Session(session) => self.session(session),
            Row::SessionEnd { session, time, crash } => self.session_end(session, *time, crash.as_deref()),
            Row::Schema(schema) => self.schema(schema),
            Row::Violation(violation) => self.violation(violation),
            Row::Trace { id, time, progress } => self.trace(id, *time, *progress),
            Row::TraceDigest(digest) => self.trace_digest(digest),
        }
    }

    fn call(&mut self, call: &CallRow) -> rusqlite::Result<()> {
        // Calls loaded from the trace set its progress through `Row::Trace`.
        if let (Some(trace), RowSource::Proxy) = (&call.trace, call.source) {
            self.mark_proxy_reported(trace, call.time)?;
        }
        let operation = self.operation_id(&call.operation)?;
        let session = match &call.session {
            Some(key) => Some(self.session_of(key, call)?),
            None => None,
        };
        // A call doesn't repeat the trace of its session, which is nearly always the same.
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

    /// The session of a call, created if this is its first.
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

    fn session_end(&mut self, key: &SessionKey, time: i64, crash: Option<&str>) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("UPDATE session SET ended = ?3, crash = ?4 WHERE name = ?1 AND server = ?2")?
            .execute(params![key.id, key.server, time, crash])
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

    /// An initial list is complete, so whatever else the store has is removed.
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
            // Another proxy on this store has already reported the same change.
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

    /// Records that a proxy reports the calls of a trace, so that they are not loaded from it a second time.
    fn mark_proxy_reported(&mut self, trace: &Arc<str>, time: i64) -> rusqlite::Result<()> {
        if self.names.proxy_reported.contains(trace) {
            return Ok(());
        }
        if self.names.proxy_reported.len() >= MAX_REMEMBERED {
            self.names.proxy_reported.clear();
        }
        self.names.proxy_reported.insert(Arc::clone(trace));
        // Not overwritten: a trace that was pruned in part has to stay incomplete.
        self.transaction
            .prepare_cached(
                "INSERT INTO trace (id, loaded, complete) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![trace, time, Progress::ReportedByProxy.code()])
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

    /// Stores the digest of a trace, unless there is one: a process that changes a trace and its check values must not be able to
    /// change this by loading it.
    fn trace_digest(&mut self, digest: &TraceDigest) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "INSERT INTO trace_digest (trace, part, sha256, stored) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (trace) DO NOTHING",
            )?
            .execute(params![digest.trace, integer(digest.part), digest.sha256, now_ms()])
            .map(drop)
    }

    /// Adds up the counters of sessions and operations.
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

/// When a call's exchange ended, in milliseconds since 1970. Its session lasts at least until then.
fn ended(call: &CallRow) -> i64 {
    let ms = call.exchange_us.map_or(0, |us| integer(us / 1000));
    call.time.saturating_add(ms)
}

/// SQLite's integers are signed.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
