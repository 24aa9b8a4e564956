package commands

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	execSchema = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"command":{"items":{"type":"string"},"type":"array","minItems":1,"description":"argv; no shell is added"},"saved":{"type":"string","description":"a command of the manifest"},"repos":{"items":{"type":"string"},"type":"array"},"dirty":{"type":"boolean"},"changed":{"type":"string","description":"only those changed since this ref"},"parallel":{"type":"integer","minimum":1},"timeout_seconds":{"type":"integer","minimum":1}},"additionalProperties":false,"type":"object"}`
)
