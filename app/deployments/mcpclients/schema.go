package mcpclients

// The published schemas of the tools, written out so that no start has to derive them; a test holds them to the types.
const (
	connectSchema = `{"properties":{"host":{"type":"string","description":"claude-code or codex or cursor or vscode or gemini-cli or opencode"},` +
		`"scope":{"type":"string","enum":["user","project"],"description":"whose configuration (default user)"},` +
		`"name":{"type":"string","description":"what the host calls the server (default countersign)"},` +
		`"url":{"type":"string","description":"of a server that runs: connect over HTTP with a token instead of starting a program"},` +
		`"toolsets":{"items":{"type":"string"},"type":"array","description":"served to the host (default: those that are served by themselves; all is every one)"},` +
		`"sandbox":{"type":"string","description":"of this project or sandbox: connect to the gateway to its agent server"},` +
		`"remove":{"type":"boolean","description":"take the entry away"},` +
		`"force":{"type":"boolean","description":"replace or remove an entry of that name that is not Countersign's"},` +
		`"project_root":{"type":"string","description":"of the scope project (default: the project around the working directory)"},` +
		`"dry_run":{"type":"boolean","description":"show the plan and write nothing"}},"additionalProperties":false,"type":"object","required":["host"]}`
	listSchema = `{"properties":{"host":{"type":"string","description":"only this one"},` +
		`"scope":{"type":"string","enum":["user","project"],"description":"whose configuration (default user)"},` +
		`"name":{"type":"string","description":"of the server (default countersign)"},"url":{"type":"string","description":"of a server that runs"},` +
		`"toolsets":{"items":{"type":"string"},"type":"array","description":"served to the host"},` +
		`"sandbox":{"type":"string","description":"of this project or sandbox: the gateway to its agent server"},` +
		`"project_root":{"type":"string","description":"of the scope project"}},"additionalProperties":false,"type":"object"}`
)
