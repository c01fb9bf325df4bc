-- Version 3 of the store: which resource or prompt a call was for; and the calls of a trace are found without reading all.
ALTER TABLE call ADD COLUMN subject TEXT;
CREATE INDEX call_by_trace ON call (trace) WHERE trace IS NOT NULL;
-- Sessions count the client's requests only: not streams, notifications, or what clients answer to servers.
UPDATE session SET
    calls = (SELECT count(*) FROM call JOIN operation ON operation.id = call.operation
        WHERE call.session = session.id AND kind != 'http' AND method != '' AND method NOT LIKE 'notifications/%'),
    errors = (SELECT count(*) FROM call JOIN operation ON operation.id = call.operation
        WHERE call.session = session.id AND kind != 'http' AND method != '' AND method NOT LIKE 'notifications/%'
            AND status IN (1, 2, 3, 5));
