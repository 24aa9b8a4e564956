package ecosystems

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	noSchema        = `{"properties":{},"additionalProperties":false,"type":"object"}`
	listSchema      = `{"properties":{"include_retired":{"type":"boolean","description":"list retired ones too"}},"additionalProperties":false,"type":"object"}`
	ecosystemSchema = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"}},"additionalProperties":false,"type":"object"}`
	validateSchema  = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"strict":{"type":"boolean","description":"warnings count as errors"}},"additionalProperties":false,"type":"object"}`
	createSchema    = `{"properties":{"name":{"type":"string","minLength":1},"description":{"type":"string"},"repos":{"items":{"properties":{"name":{"type":"string","minLength":1},"url":{"type":"string","minLength":1},"branch":{"type":"string"},"readonly":{"type":"boolean"}},"additionalProperties":false,"type":"object","required":["name","url"]},"type":"array","maxItems":256},"provisioner":{"type":"string","description":"local or noop or a directory of provisioners/"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"}},"additionalProperties":false,"type":"object","required":["name","repos"]}`
	journalSchema   = `{"properties":{"title":{"type":"string","maxLength":200,"minLength":1},"body":{"type":"string","maxLength":100000,"minLength":1},"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"}},"additionalProperties":false,"type":"object","required":["title","body"]}`
	switchSchema    = `{"properties":{"ecosystem":{"type":"string","minLength":1,"description":"name of the ecosystem"},"name":{"type":"string","minLength":1,"description":"the same"}},"additionalProperties":false,"type":"object"}`
	selectSchema    = `{"properties":{"ecosystem":{"type":"string","description":"name of the ecosystem; none unselects"}},"additionalProperties":false,"type":"object"}`
	infoNoSchema    = `{"properties":{},"additionalProperties":false,"type":"object"}`
)
