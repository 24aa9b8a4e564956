package sandboxes

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	adminUrlSchema = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL (SSH or HTTPS; will be normalized)"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	adminNoSchema  = `{"properties":{},"additionalProperties":false,"type":"object"}`
	modelSchema    = `{"properties":{"model":{"type":"string","minLength":1,"description":"provider/model"}},"additionalProperties":false,"type":"object","required":["model"]}`
)
