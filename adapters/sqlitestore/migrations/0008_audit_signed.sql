-- The newest end of the chain that was signed, as a line of JSON; it may be behind the end where the key could not be used.
ALTER TABLE audit_head ADD COLUMN signed BLOB;
