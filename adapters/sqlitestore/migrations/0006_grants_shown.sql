-- What people see of a confirmation beside its plan (redacted, and forgotten once it has ended), and where the process stands that asked.
ALTER TABLE grants ADD COLUMN exhibit BLOB;
ALTER TABLE grants ADD COLUMN place TEXT NOT NULL DEFAULT '';
