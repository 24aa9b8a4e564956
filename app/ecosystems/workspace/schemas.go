package workspace

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	installSchema = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"push":{"type":"boolean","description":"push the workspace branch to the root's origin afterwards"}},"additionalProperties":false,"type":"object"}`
	syncSchema    = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"repos":{"items":{"type":"string"},"type":"array","description":"only these repositories; default all"}},"additionalProperties":false,"type":"object"}`
)
