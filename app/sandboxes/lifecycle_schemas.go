package sandboxes

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	startSchema     = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL (SSH or HTTPS format; will be normalized)"},"user_ssh_key":{"type":"string","description":"Optional: Path to user's SSH key"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	urlSchema       = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL (SSH or HTTPS; will be normalized)"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	destroySchema   = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL"},"force":{"type":"boolean","description":"work that is nowhere else may be lost"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	projectNoSchema = `{"properties":{},"additionalProperties":false,"type":"object"}`
)
