-- Version 4 of the store: why a session's server crashed (its exit status and its last line on standard error).
ALTER TABLE session ADD COLUMN crash TEXT;
