package environment

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	deploySchema  = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"environment":{"type":"string","description":"default default"},"args":{"items":{"type":"string"},"type":"array","description":"handed on to the provisioner"}},"additionalProperties":false,"type":"object"}`
	destroySchema = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"environment":{"type":"string","description":"default default"}},"additionalProperties":false,"type":"object"}`
	statusSchema  = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"environment":{"type":"string","description":"default default"}},"additionalProperties":false,"type":"object"}`
	askSchema     = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"environment":{"type":"string","description":"default default"},"action":{"type":"string","enum":["status","plan"]}},"additionalProperties":false,"type":"object","required":["action"]}`
)
