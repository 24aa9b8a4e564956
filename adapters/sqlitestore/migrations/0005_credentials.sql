-- What lets requests in that arrive over a network. The columns are what is searched by; body is the whole credential as JSON, but for its
-- digest. Secrets are nowhere.
CREATE TABLE credentials (
  seq        INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  kind       TEXT    NOT NULL CHECK (kind IN ('token', 'login', 'browser')),
  name       TEXT    NOT NULL,
  digest     BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, -- 0: not by itself
  ended_at   INTEGER NOT NULL, -- 0: not yet
  body       BLOB    NOT NULL
) STRICT;
CREATE INDEX credentials_age ON credentials (created_at, seq);
CREATE UNIQUE INDEX credentials_name ON credentials (name) WHERE kind = 'token' AND ended_at = 0;

-- Whoever writes: a log-in is good once, and what has ended stays ended.
CREATE TRIGGER credentials_end BEFORE UPDATE ON credentials
WHEN OLD.ended_at <> 0 AND NEW.ended_at <> OLD.ended_at
BEGIN
  SELECT RAISE(ABORT, 'a credential that has ended stays so');
END;
