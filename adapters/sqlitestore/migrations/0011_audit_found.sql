-- By what records are looked for: the call, the tool with the phase, and the confirmation that let a call run. SQLite works each out from the event itself
-- whenever a row is written, whoever writes it: there is no column beside the event that could say something else. audit verify holds the indexes against
-- the events. The terms are those of the searches (audit.go), to the letter.
--
-- The first three stand before the arguments, where the first '"call_id":"' is the member: within a text every quote is escaped. Its text ends at the first
-- '","', since another member follows. The confirmation stands behind the arguments, so that the event is read as JSON; one that SQLite cannot read,
-- which may be nested deeper than it goes, is found whatever is looked for, and the filter decides.
CREATE INDEX audit_call ON audit (substr(event, instr(event, X'2263616C6C5F6964223A22') + 11, instr(substr(event, instr(event, X'2263616C6C5F6964223A22') + 11), X'222C22') - 1));
CREATE INDEX audit_tool ON audit (substr(event, instr(event, X'22746F6F6C223A22') + 8, instr(substr(event, instr(event, X'22746F6F6C223A22') + 8), X'222C22') - 1),
  substr(event, instr(event, X'227068617365223A22') + 9, instr(substr(event, instr(event, X'227068617365223A22') + 9), X'222C22') - 1));
CREATE INDEX audit_confirmation ON audit (CASE WHEN instr(event, X'2C22636F6E6669726D6174696F6E223A22') > 0 THEN CASE WHEN json_valid(CAST(event AS TEXT)) THEN CAST(event AS TEXT) -> '$.confirmation' ELSE '' END END)
  WHERE CASE WHEN instr(event, X'2C22636F6E6669726D6174696F6E223A22') > 0 THEN CASE WHEN json_valid(CAST(event AS TEXT)) THEN CAST(event AS TEXT) -> '$.confirmation' ELSE '' END END IS NOT NULL;
