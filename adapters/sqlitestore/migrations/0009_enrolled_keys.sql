-- The keys that prove a person. A row proves nothing: it counts as far as the audit has its enrolment. body is the whole key as JSON; of secrets there
-- is nothing in it.
CREATE TABLE enrolled_keys (
  seq    INTEGER PRIMARY KEY,
  id     TEXT NOT NULL UNIQUE,
  kind   TEXT NOT NULL CHECK (kind IN ('passkey', 'security_key')),
  handle TEXT NOT NULL,
  body   BLOB NOT NULL,
  UNIQUE (kind, handle)
) STRICT;
