// Package runview is how people read what became of a call: its status, why it ended as it did, and who decided.
//
// It refuses to look anything up.
package runview

import (
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/domain/toolrun"
)

// Badge is the status of a run.
func Badge(s toolrun.Status) markup.Node {
	switch s {
	case toolrun.PendingConfirmation:
		return page.Badge(page.Warn, "waits for a person")
	case toolrun.Executing:
		return page.Badge(page.Plain, "runs")
	case toolrun.Completed:
		return page.Badge(page.Good, "done")
	case toolrun.Failed:
		return page.Badge(page.Bad, "failed")
	case toolrun.Denied:
		return page.Badge(page.Bad, "not done")
	}
	return page.Badge(page.Plain, "unknown")
}

// Why is why a run was not done, or failed; empty for one that went well or has not ended.
func Why(r toolrun.Record) string {
	words, known := map[toolrun.Reason]string{
		toolrun.Policy: "policy refused it", toolrun.UserDenied: "a person denied it", toolrun.Expired: "nobody answered in time, which denies",
		toolrun.Cancelled: "whoever asked withdrew it", toolrun.ContextChanged: "what it would do had changed since it was asked", toolrun.Mistyped: "the name was mistyped three times",
		toolrun.Rejected: "it was refused before it began", toolrun.Errored: "it ran and failed", toolrun.NonZeroExit: "the command it ran said so",
		toolrun.TimedOut: "it took longer than it may", toolrun.Stopped: "it was stopped while it ran", toolrun.Interrupted: "the process that carried it out is gone; how far it came is not known",
	}[r.Reason]
	switch {
	case r.Reason == "":
		return ""
	case !known:
		return page.Printable(string(r.Reason))
	case r.Said != "":
		return words + ": " + page.Printable(r.Said)
	}
	return words
}

// By is who decided, or which rule did, as the record or the audit has it; empty for nobody.
func By(word string) string {
	browser, here := strings.CutPrefix(word, "console")
	switch {
	case word == "":
		return ""
	case here && strings.TrimSpace(browser) != "":
		return "a person in the console (browser " + page.Printable(strings.TrimSpace(browser)) + ")"
	case here:
		return "a person in the console"
	case word == "terminal":
		return "a person in a terminal"
	case word == "elicitation":
		return "a person in the agent's own window"
	case word == "token":
		return "its confirmation token, which whoever asked repeated"
	}
	return "rule " + page.Printable(word)
}
