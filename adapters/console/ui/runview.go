package ui

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
)

// CallStatus returns the status of a call; for one that was not applied it says whether its request has expired.
func CallStatus(r tool.Record) Node {
	if r.Status == tool.StatusDenied && r.Reason == tool.ReasonExpired {
		return Badge(Bad, "Expired")
	}
	return StatusBadge(r.Status)
}

// StatusBadge returns the status of a call.
func StatusBadge(s tool.Status) Node {
	switch s {
	case tool.StatusPendingConfirmation:
		return Badge(Warn, "Waiting for approval")
	case tool.StatusExecuting:
		return Badge(Plain, "Running")
	case tool.StatusCompleted:
		return Badge(Good, "Completed")
	case tool.StatusFailed:
		return Badge(Bad, "Failed")
	case tool.StatusDenied:
		return Badge(Bad, "Denied")
	}
	return Badge(Plain, "Unknown")
}

// FailureReason returns why a call was not applied or failed; empty for one that succeeded or has not ended.
func FailureReason(r tool.Record) string {
	words, known := map[tool.Reason]string{
		tool.ReasonPolicy: "denied by policy", tool.ReasonUserDenied: "denied by a user", tool.ReasonExpired: "expired without a decision",
		tool.ReasonCancelled: "cancelled by the client", tool.ReasonContextChanged: "the plan changed before it was approved", tool.ReasonMistyped: "the name was mistyped three times",
		tool.ReasonRejected: "rejected before it started", tool.ReasonErrored: "failed while running", tool.ReasonNonZeroExit: "the command exited with an error",
		tool.ReasonTimedOut: "exceeded its time limit", tool.ReasonStopped: "stopped while running", tool.ReasonInterrupted: "interrupted: its process stopped, and the change may be incomplete",
	}[r.Reason]
	switch {
	case r.Reason == "":
		return ""
	case !known:
		return Printable(string(r.Reason))
	case r.Said != "":
		return words + ": " + Printable(r.Said)
	}
	return words
}

// DecidedBy describes the user or the rule that decided, from the record or the audit log; empty for none.
func DecidedBy(word string) string {
	browser, here := strings.CutPrefix(word, "console")
	switch {
	case word == "":
		return ""
	case here && strings.TrimSpace(browser) != "":
		return "a user in the console (browser " + Printable(strings.TrimSpace(browser)) + ")"
	case here:
		return "a user in the console"
	case word == "terminal":
		return "a user in a terminal"
	case word == "form" || word == "elicitation":
		return "a user in a host form"
	case word == "embedding host":
		return "the embedding program"
	case word == "incoming webhook":
		return "an incoming webhook that a user enabled"
	case strings.HasPrefix(word, "dated_grant"):
		return strings.TrimSpace("a dated grant " + Printable(strings.TrimPrefix(word, "dated_grant")))
	case word == "token":
		return "its approval token, which the client repeated"
	}
	return "rule " + Printable(word)
}

// AnsweredBy describes the author of a recorded decision, its surface and its proof; empty for none. Older records only name the author.
func AnsweredBy(e audit.Event) string {
	var p confirm.Proof
	if json.Unmarshal(e.Proof, &p) != nil || p.Surface == "" {
		return DecidedBy(e.ApprovedBy)
	}
	said := func(words string, known ...string) string {
		var there []string
		for _, k := range known {
			if k != "" {
				there = append(there, Printable(k))
			}
		}
		if len(there) == 0 {
			return words
		}
		return words + " (" + strings.Join(there, ", ") + ")"
	}
	browser := p.Credential
	if browser != "" {
		browser = "browser " + browser
	}
	switch p.Surface {
	case confirm.SurfaceTerminal:
		return said("a user in a terminal", p.User, p.TTY, p.Host)
	case confirm.SurfaceTouch:
		return said("a user in a terminal, with a touched security key", p.User, p.TTY, p.Host, p.Credential)
	case confirm.SurfaceConsole:
		return said("a user in the console", p.User, browser)
	case confirm.SurfacePasskey:
		return said("a user in the console, with a passkey", p.User, p.Credential)
	case confirm.SurfaceForm:
		return said("a user in a host form", p.Entry)
	case confirm.SurfaceProgram:
		return said("the embedding program", p.User)
	}
	return said("on "+Printable(string(p.Surface)), cmp.Or(p.User, e.ApprovedBy))
}
