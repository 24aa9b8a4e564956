-- Confirmations. A token is never stored, only its digest. Times are nanoseconds since 1970 (UTC).
CREATE TABLE grants (
  seq        INTEGER PRIMARY KEY,
  digest     BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
  id         TEXT    NOT NULL UNIQUE,
  session    TEXT    NOT NULL,
  principal  TEXT    NOT NULL,
  tool       TEXT    NOT NULL,
  subject    BLOB    NOT NULL,
  args       BLOB,
  mode       INTEGER NOT NULL,
  strength   INTEGER NOT NULL,
  target     TEXT    NOT NULL,
  prompt     TEXT    NOT NULL,
  plan       BLOB,
  human_only INTEGER NOT NULL,
  issued_at  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  misses     INTEGER NOT NULL,
  answerer   TEXT    NOT NULL
) STRICT;
CREATE INDEX grants_expiry ON grants (expires_at);

-- What happened, as a hash chain. audit_head repeats the newest link, so that a chain cut short at its end does not look whole.
CREATE TABLE audit (
  seq   INTEGER PRIMARY KEY,
  event BLOB NOT NULL,
  prev  BLOB NOT NULL,
  hash  BLOB NOT NULL
) STRICT;
CREATE TABLE audit_head (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  seq  INTEGER NOT NULL,
  hash BLOB    NOT NULL
) STRICT;

-- What a person set, and what is remembered for each client instance: JSON, as the ports define it.
CREATE TABLE settings (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  revision INTEGER NOT NULL,
  body     BLOB    NOT NULL
) STRICT;
CREATE TABLE sessions (
  key  BLOB PRIMARY KEY,
  body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
