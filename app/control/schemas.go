package control

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	noSchema          = `{"properties":{},"additionalProperties":false,"type":"object"}`
	setModeSchema     = `{"properties":{"mode":{"type":"string","enum":["ask","plan","execute"]}},"additionalProperties":false,"type":"object","required":["mode"]}`
	confirmSchema     = `{"properties":{"token":{"type":"string","minLength":1,"description":"the confirmation's token"},"typed_value":{"type":"string","description":"what the person typed where a name must be typed"},"decision":{"type":"string","enum":["approve","deny","always"],"description":"default approve"}},"additionalProperties":false,"type":"object","required":["token"]}`
	settingsSchema    = `{"properties":{"revision":{"type":"integer","minimum":1},"permission_level":{"type":"string"},"tool_permissions":{"additionalProperties":{"type":"string"},"type":"object"},"auto_approve":{"properties":{"enabled":{"type":"boolean"},"tools":{"items":{"type":"string"},"type":"array"}},"additionalProperties":false,"type":"object","required":["enabled","tools"]},"approval":{"type":"string"},"max_mode":{"type":"string"},"require":{"additionalProperties":{"type":"string"},"type":"object"},"forms":{"items":{"type":"string"},"type":"array"}},"additionalProperties":false,"type":"object","required":["revision"]}`
	ownerSchema       = `{"properties":{"owner":{"type":"string","pattern":"^[0-9a-f]{12}$"}},"additionalProperties":false,"type":"object","required":["owner"]}`
	cancelSchema      = `{"properties":{"id":{"type":"string","description":"the confirmation's id"},"token":{"type":"string","description":"or its token"}},"additionalProperties":false,"type":"object"}`
	tailSchema        = `{"properties":{"limit":{"type":"integer","maximum":200,"minimum":1,"description":"how many records (default 20)"}},"additionalProperties":false,"type":"object"}`
	amofConfirmSchema = `{"properties":{"token":{"type":"string","minLength":1,"description":"the confirmation's token"},"typed_value":{"type":"string","description":"what the person typed where a name must be typed"},"decision":{"type":"string","enum":["yes","no"],"description":"default yes"}},"additionalProperties":false,"type":"object","required":["token"]}`
	amofTokenSchema   = `{"properties":{"token":{"type":"string","minLength":1,"description":"the confirmation's token"}},"additionalProperties":false,"type":"object","required":["token"]}`
)
