package runs

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	listSchema   = `{"properties":{"ecosystem":{"type":"string"},"status":{"type":"string","enum":["queued","paused","running","success","failed","cancelled"]},"action":{"type":"string"},"limit":{"type":"integer","maximum":200,"minimum":1,"description":"default 20"}},"additionalProperties":false,"type":"object"}`
	activeSchema = `{"properties":{"limit":{"type":"integer","maximum":200,"minimum":1,"description":"default 20"},"status":{"type":"string","enum":["queued","paused","running"]}},"additionalProperties":false,"type":"object"}`
	statusSchema = `{"properties":{"run_id":{"type":"string","description":"its id or the first 6 or more characters of it; default the selected run"},"wait_seconds":{"type":"integer","maximum":50,"minimum":0,"description":"wait so long for its end"}},"additionalProperties":false,"type":"object"}`
	logsSchema   = `{"properties":{"run_id":{"type":"string","description":"its id or the first 6 or more characters of it; default the selected run"},"tail":{"type":"integer","maximum":1000,"minimum":1,"description":"how many (default 50)"},"level":{"type":"string","enum":["info","warning","error"]},"since":{"type":"string","description":"only later ones: a sequence number (next of the answer before) or an RFC 3339 time"}},"additionalProperties":false,"type":"object"}`
	runSchema    = `{"properties":{"run_id":{"type":"string","description":"its id or the first 6 or more characters of it; default the selected run"}},"additionalProperties":false,"type":"object"}`
	cancelSchema = `{"properties":{"run_id":{"type":"string","description":"its id or the first 6 or more characters of it; default the selected run"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"}},"additionalProperties":false,"type":"object"}`
	noSchema     = `{"properties":{},"additionalProperties":false,"type":"object"}`
	serverSchema = `{"properties":{"host":{"type":"string","description":"a loopback address (default 127.0.0.1)"},"port":{"type":"integer","maximum":65535,"minimum":1,"description":"default 8000"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"}},"additionalProperties":false,"type":"object"}`
)
