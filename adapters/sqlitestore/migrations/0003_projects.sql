-- The catalogue of projects. The columns are what is searched by and what belongs to what; body is the value as JSON. Times are nanoseconds
-- since 1970 (UTC).
CREATE TABLE projects (
  seq  INTEGER PRIMARY KEY,
  id   TEXT    NOT NULL UNIQUE,
  path TEXT    NOT NULL UNIQUE,
  body BLOB    NOT NULL
) STRICT;

-- The project stands in its column alone, so that a workflow whose project goes is of none without being written anew.
CREATE TABLE workflows (
  seq        INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  project_id TEXT    REFERENCES projects (id) ON DELETE SET NULL,
  updated_at INTEGER NOT NULL,
  body       BLOB    NOT NULL
) STRICT;
CREATE INDEX workflows_project ON workflows (project_id);

CREATE TABLE actions (
  seq        INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  project_id TEXT    REFERENCES projects (id) ON DELETE CASCADE,
  updated_at INTEGER NOT NULL,
  body       BLOB    NOT NULL
) STRICT;
CREATE INDEX actions_project ON actions (project_id);

-- One rule an action, a type, and for all. To a rule of an action its type means nothing, so it is no part of what the rule is for.
CREATE TABLE rules (
  seq       INTEGER PRIMARY KEY,
  action_id TEXT    REFERENCES actions (id) ON DELETE CASCADE,
  kind      TEXT    NOT NULL CHECK (action_id IS NULL OR kind = ''),
  body      BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX rules_subject ON rules (ifnull(action_id, ''), kind);
CREATE INDEX rules_action ON rules (action_id);

CREATE TABLE templates (
  seq  INTEGER PRIMARY KEY,
  id   TEXT    NOT NULL UNIQUE,
  body BLOB    NOT NULL
) STRICT;

-- The history outlives what it is of, so it refers to nothing. Lists read the head alone; steps and output are in the detail.
CREATE TABLE executions (
  seq         INTEGER PRIMARY KEY,
  id          TEXT    NOT NULL UNIQUE,
  action_id   TEXT    NOT NULL,
  workflow_id TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  status      TEXT    NOT NULL,
  owner       TEXT    NOT NULL,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  head        BLOB    NOT NULL,
  detail      BLOB    NOT NULL
) STRICT;
CREATE INDEX executions_age ON executions (started_at, seq);
CREATE INDEX executions_workflow ON executions (workflow_id, started_at, seq);
