-- What identifies the records that are never removed, up to the end of the chain: a running hash, and how many there are (domain/audit.Kept). The program
-- works it out from the records that are there in the same transaction.
ALTER TABLE audit_head ADD COLUMN kept BLOB;
ALTER TABLE audit_head ADD COLUMN kept_count INTEGER;
