package releases

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	statusSchema   = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"}},"additionalProperties":false,"type":"object"}`
	validateSchema = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"target":{"type":"string","enum":["alpha","beta","rc","stable"],"description":"stage that is aimed at; default stable"}},"additionalProperties":false,"type":"object"}`
	logSchema      = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"limit":{"type":"integer","maximum":30,"minimum":1,"description":"releases to list (default 10)"}},"additionalProperties":false,"type":"object"}`
	bumpSchema     = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"bump_type":{"type":"string","enum":["patch","minor","major","auto"]},"pre_release":{"type":"string","enum":["alpha","beta","rc"]},"message":{"type":"string","maxLength":2000},"push":{"type":"boolean"},"strict":{"type":"boolean"},"skip_validation":{"type":"boolean"},"independent":{"type":"boolean"},"github":{"type":"boolean"}},"additionalProperties":false,"type":"object","required":["bump_type"]}`
	promoteSchema  = `{"properties":{"ecosystem":{"type":"string","description":"default the selected one"},"mode":{"type":"string","enum":["ask","plan","execute"],"description":"this call only"},"target":{"type":"string","enum":["beta","rc"],"description":"default stable"},"message":{"type":"string","maxLength":2000},"push":{"type":"boolean"},"strict":{"type":"boolean"},"skip_validation":{"type":"boolean"},"independent":{"type":"boolean"},"github":{"type":"boolean"}},"additionalProperties":false,"type":"object"}`
)
