package workspace

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	listSchema   = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"}},"additionalProperties":false,"type":"object"}`
	startSchema  = `{"properties":{"ticket_id":{"type":"string","maxLength":64,"minLength":1},"repos":{"items":{"type":"string"},"type":"array","description":"only these repositories"},"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"}},"additionalProperties":false,"type":"object","required":["ticket_id"]}`
	switchSchema = `{"properties":{"ticket_id":{"type":"string","maxLength":64,"minLength":1,"description":"a ticket's id or main for none"},"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"}},"additionalProperties":false,"type":"object","required":["ticket_id"]}`
	endSchema    = `{"properties":{"ticket_id":{"type":"string","maxLength":64,"minLength":1},"cleanup":{"type":"string","enum":["none","local","all"],"description":"what else goes: local worktrees and branches or those at origin too"},"force":{"type":"boolean","description":"work that is nowhere else may go; it is kept under refs"},"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"}},"additionalProperties":false,"type":"object","required":["ticket_id"]}`
)
