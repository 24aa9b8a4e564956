package sandboxes

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	startSchema      = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL (SSH or HTTPS format; will be normalized)"},"user_ssh_key":{"type":"string","description":"Optional: Path to user's SSH key"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	urlSchema        = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL (SSH or HTTPS; will be normalized)"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	destroySchema    = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL"},"force":{"type":"boolean","description":"work that is nowhere else may be lost"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	projectNoSchema  = `{"properties":{},"additionalProperties":false,"type":"object"}`
	noSchema         = `{"properties":{},"additionalProperties":false,"type":"object"}`
	adminUrlSchema   = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL (SSH or HTTPS; will be normalized)"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	adminNoSchema    = `{"properties":{},"additionalProperties":false,"type":"object"}`
	modelSchema      = `{"properties":{"model":{"type":"string","minLength":1,"description":"provider/model"}},"additionalProperties":false,"type":"object","required":["model"]}`
	createSchema     = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL"},"name":{"type":"string","pattern":"^[a-zA-Z0-9_-]+$","description":"Worktree name (unique within project)"},"branch":{"type":"string","description":"Optional: Branch to checkout (default: current branch)"},"start_command":{"type":"string","description":"Optional: Command to run after creation"}},"additionalProperties":false,"type":"object","required":["git_url","name"]}`
	sandboxUrlSchema = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL (SSH or HTTPS; will be normalized)"}},"additionalProperties":false,"type":"object","required":["git_url"]}`
	deleteSchema     = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL"},"name":{"type":"string","minLength":1,"description":"Worktree name to delete"},"force":{"type":"boolean","description":"work that is nowhere else may go; it is kept under a backup ref"}},"additionalProperties":false,"type":"object","required":["git_url","name"]}`
	resetSchema      = `{"properties":{"git_url":{"type":"string","minLength":1,"description":"Git repository URL"},"name":{"type":"string","minLength":1,"description":"Worktree name"},"clean_ignored":{"type":"boolean","description":"delete ignored files too (node_modules or .env)"}},"additionalProperties":false,"type":"object","required":["git_url","name"]}`
	restoreSchema    = `{"properties":{"git_url":{"type":"string","minLength":1},"ref":{"type":"string","minLength":1,"description":"as sandbox_backups lists it"},"name":{"type":"string","description":"of the new sandbox (default: the old one's)"}},"additionalProperties":false,"type":"object","required":["git_url","ref"]}`
)
