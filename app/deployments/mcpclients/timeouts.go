package mcpclients

import (
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// How long hosts let one call of a tool take, and where that is known from. Calls wait for people, so the entry raises the limit where the host reads
// one, and says how long the server waits: less, so that the answer is "pending, repeat to go on" before the host gives up, and what a person approved
// last still has time to run.
//
//   - Claude Code: "timeout" of a server, in milliseconds from 1000 to 2^31-1, ends a call, whatever progress it reports. Without it a call may take 28
//     hours (MCP_TOOL_TIMEOUT). Over HTTP, and in newer versions over stdio too, a call that reports nothing for minutes ends as well: reports keep it
//     alive. Read in the program, 2.1.197.
//   - Codex: tool_timeout_sec of a server ends a call; forms stop that clock, other waiting does not. Where it is not set, 300 (60 and 120 in older
//     versions; codex-rs/config/src/mcp_types.rs). 0.169.0 takes a day.
//   - opencode: "timeout" of a server, in milliseconds, for every request to it; reports of a call start it anew. A call without it ends after 60
//     seconds without a report, and in older versions with them. Read in the program, 1.18.33.
//   - Gemini CLI: "timeout" of a server, in milliseconds, ends a call, whatever it reports; 600000 where it is not set. Its command takes it. Read in the
//     program, 0.61.0.
//   - VS Code reads none (code.visualstudio.com/docs/agents/reference/mcp-configuration). The only limit that was ever reported is five minutes
//     (github.com/microsoft/vscode/issues/261734).
//   - Cursor documents none. Others report a minute, which what the server waits by itself stays below.
//
// Over HTTP the libraries beneath Claude Code, Gemini CLI and opencode give up on an answer whose beginning does not come within five minutes.
const (
	callLimit = 24 * time.Hour
	spare     = 30 * time.Minute // for what runs once it was approved

	dayWait     = callLimit - spare
	minutesWait = 4*time.Minute + 30*time.Second // under a limit of five
)

// WaitHeader is the HTTP request header that says how long calls wait for the user.
const WaitHeader = "X-MCP-Confirm-Wait"

// millis returns the keys of an entry with the limit in milliseconds, and others.
func millis(more target.Object) target.Object {
	out := target.Object{"timeout": callLimit.Milliseconds()}
	for key, value := range more {
		out[key] = value
	}
	return out
}

// Wait returns how long the server waits for the user behind an entry for the host, over HTTP or not; zero is the server's default.
func (h Host) Wait(remote bool) time.Duration {
	if remote {
		return min(h.wait, minutesWait)
	}
	return h.wait
}

// Entry returns the name by which the server knows that it was started from the host's entry: questions of one entry are picked up by it alone, and a
// person switches forms on by that name. An entry of a project, whose file others share, is another one than its user's.
func (h Host) Entry(server string, scope deployment.Scope) string {
	name := h.Name
	if server != ProgramName {
		name += ":" + server
	}
	if scope == deployment.ScopeProject {
		name += "@project"
	}
	return name
}

// spell returns a duration in short form: 23h30m, not 23h30m0s.
func spell(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if len(text) > len(zero) && text[len(text)-len(zero):] == zero {
			text = text[:len(text)-len(zero)+1]
		}
	}
	return text
}
