package projects

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	infoListSchema = `{"properties":{"query":{"type":"string","description":"part of a name, path or description"}},"additionalProperties":false,"type":"object"}`
	pathSchema     = `{"properties":{"path":{"type":"string","minLength":1,"description":"absolute path of the registered project"}},"additionalProperties":false,"type":"object","required":["path"]}`
	projectSchema  = `{"properties":{"project_path":{"type":"string","minLength":1,"description":"absolute path of the registered project"}},"additionalProperties":false,"type":"object","required":["project_path"]}`
	worktreeSchema = `{"properties":{"worktree_path":{"type":"string","minLength":1,"description":"absolute path of a project or of one of its worktrees"}},"additionalProperties":false,"type":"object","required":["worktree_path"]}`
)
