-- What people allowed until a date: one JSON document each (domain/confirm.Dated). A row counts only with its answer in the audit.
CREATE TABLE dated_grants (
  id   TEXT NOT NULL PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;
