-- Version 5 of the store: the final SHA-256 of each file of a recording, to detect a trace that was replaced later. The first
-- one that is reported stays. `stored` is when it came into the store, in milliseconds since 1970.
CREATE TABLE trace_digest (
    trace TEXT PRIMARY KEY,
    part INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    stored INTEGER NOT NULL
) WITHOUT ROWID;
