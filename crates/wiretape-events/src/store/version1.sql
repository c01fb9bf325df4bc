-- Version 1 of the store. Never changed: later versions are steps of their own.

-- What calls have in common, so that a call's row is small.
CREATE TABLE operation (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    listener TEXT,
    transport TEXT NOT NULL,
    kind TEXT NOT NULL,
    method TEXT NOT NULL,
    tool TEXT,
    calls INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX operation_by_name ON operation (method, tool, server);

CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    name TEXT NOT NULL,
    listener TEXT,
    transport TEXT NOT NULL,
    client_name TEXT,
    client_version TEXT,
    client_platform TEXT,
    protocol_version TEXT,
    server_name TEXT,
    server_version TEXT,
    trace TEXT,
    started INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    ended INTEGER,
    -- Of the calls that are in the store: how many, how many failed, and between which rows they are.
    calls INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0,
    first_call INTEGER,
    last_call INTEGER,
    UNIQUE (name, server)
);
CREATE INDEX session_by_last_seen ON session (last_seen);
CREATE INDEX session_by_trace ON session (trace) WHERE trace IS NOT NULL;

-- Times are milliseconds since 1970. `status` is the place in Status::ALL.
CREATE TABLE call (
    id INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    session INTEGER,
    status INTEGER NOT NULL,
    latency_us INTEGER,
    upstream_us INTEGER,
    first_byte_us INTEGER,
    request_bytes INTEGER NOT NULL,
    response_bytes INTEGER NOT NULL,
    http_status INTEGER,
    error_code INTEGER,
    event_run INTEGER,
    event_number INTEGER,
    request_id TEXT NOT NULL,
    path TEXT,
    error_message TEXT
);
-- All that statistics need, so that they don't read the rows.
CREATE INDEX call_by_time
    ON call (time, operation, session, status, latency_us, request_bytes, response_bytes);

-- What servers offer: the lists that were seen, what is on them now, and what has changed.
CREATE TABLE schema_list (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    method TEXT NOT NULL,
    last_seen INTEGER NOT NULL,
    UNIQUE (server, method)
);
CREATE TABLE schema_item (
    id INTEGER PRIMARY KEY,
    list INTEGER NOT NULL,
    key TEXT NOT NULL,
    definition BLOB NOT NULL,
    first_seen INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    UNIQUE (list, key)
);
CREATE TABLE schema_change (
    id INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    server TEXT NOT NULL,
    method TEXT NOT NULL,
    session TEXT,
    change TEXT NOT NULL,
    key TEXT NOT NULL,
    definition BLOB NOT NULL
);
CREATE INDEX schema_change_by_time ON schema_change (time);

-- What browsers have blocked.
CREATE TABLE violation (
    id INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    server TEXT NOT NULL,
    session TEXT,
    blocked_uri TEXT NOT NULL,
    directive TEXT NOT NULL
);
CREATE INDEX violation_by_time ON violation (time);

-- Traces whose lines were loaded, or are being.
CREATE TABLE trace (
    id TEXT PRIMARY KEY,
    loaded INTEGER NOT NULL,
    complete INTEGER NOT NULL
) WITHOUT ROWID;

-- One row: how often rows were pruned that other programs may remember the ids of.
CREATE TABLE pruning (count INTEGER NOT NULL);
INSERT INTO pruning VALUES (0);
