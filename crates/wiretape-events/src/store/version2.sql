-- Version 2 of the store: a session may be recorded in several traces. A call names its own where that is not its session's.
ALTER TABLE call ADD COLUMN trace TEXT;
