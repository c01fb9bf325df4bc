-- Version 3 of the store: which resource or prompt a call was for; and the calls of a trace are found without reading all.
ALTER TABLE call ADD COLUMN subject TEXT;
CREATE INDEX call_by_trace ON call (trace) WHERE trace IS NOT NULL;
