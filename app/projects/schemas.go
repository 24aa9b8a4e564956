package projects

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	listSchema       = `{"properties":{"actionType":{"type":"string","enum":["script","webhook","workflow"]},"projectId":{"type":"string","description":"those of this project and of none"},"enabledOnly":{"type":"boolean","description":"leave out those that are switched off"}},"additionalProperties":false,"type":"object"}`
	actionSchema     = `{"properties":{"actionId":{"type":"string","minLength":1,"description":"as list_actions shows it"}},"additionalProperties":false,"type":"object","required":["actionId"]}`
	historySchema    = `{"properties":{"actionId":{"type":"string"},"actionType":{"type":"string","enum":["script","webhook","workflow"]},"status":{"type":"string","enum":["queued","running","completed","failed","cancelled","timed_out","pending_confirm","denied"]},"limit":{"type":"integer","maximum":200,"minimum":1,"description":"default 20"}},"additionalProperties":false,"type":"object"}`
	executionSchema  = `{"properties":{"executionId":{"type":"string","minLength":1,"description":"of an execution, a call (callId) or a process"}},"additionalProperties":false,"type":"object","required":["executionId"]}`
	permissionSchema = `{"properties":{"actionId":{"type":"string","description":"none lists every rule"}},"additionalProperties":false,"type":"object"}`
	triggerSchema    = `{"properties":{"webhook_id":{"type":"string","minLength":1,"description":"id of a webhook action; list_actions shows them"},"payload":{"type":"object","description":"sent as it is in place of the stored template"},"variables":{"additionalProperties":{"type":"string"},"type":"object","description":"values for {{names}} in the stored template"}},"additionalProperties":false,"type":"object","required":["webhook_id"]}`
	programSchema    = `{"properties":{"actionId":{"type":"string","minLength":1,"description":"id of a script action"},"args":{"items":{"type":"string"},"type":"array","description":"further arguments"}},"additionalProperties":false,"type":"object","required":["actionId"]}`
)
