-- What a confirmation covers when it is answered with "always", and how much is at stake.
ALTER TABLE grants ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN risk INTEGER NOT NULL DEFAULT 0;

-- What became of each call that wanted to change something. The columns are what is searched by; body is the whole record as JSON.
CREATE TABLE runs (
  seq          INTEGER PRIMARY KEY,
  call_id      TEXT    NOT NULL UNIQUE,
  redeemed     TEXT    NOT NULL,
  confirmation TEXT    NOT NULL,
  tool         TEXT    NOT NULL,
  session      TEXT    NOT NULL,
  status       TEXT    NOT NULL CHECK (status IN ('pending_confirmation', 'executing', 'completed', 'failed', 'denied')),
  at           INTEGER NOT NULL,
  body         BLOB    NOT NULL
) STRICT;
CREATE INDEX runs_age ON runs (at, seq);
CREATE INDEX runs_redeemed ON runs (redeemed) WHERE redeemed <> '';
CREATE INDEX runs_confirmation ON runs (confirmation) WHERE confirmation <> '';

-- Whoever writes: a record only ever moves as its states may, and one that has ended stays as it is.
CREATE TRIGGER runs_move BEFORE UPDATE ON runs
WHEN NOT (OLD.status = NEW.status AND OLD.status IN ('pending_confirmation', 'executing')
  OR OLD.status = 'pending_confirmation' AND NEW.status IN ('executing', 'denied')
  OR OLD.status = 'executing' AND NEW.status IN ('completed', 'failed'))
BEGIN
  SELECT RAISE(ABORT, 'a run record cannot move so');
END;
