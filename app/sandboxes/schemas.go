package sandboxes

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	noSchema = `{"properties":{},"additionalProperties":false,"type":"object"}`
)
