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
		return Badge(Bad, "expired")
	}
	return StatusBadge(r.Status)
}

// StatusBadge returns the status of a call.
func StatusBadge(s tool.Status) Node {
	switch s {
	case tool.StatusPendingConfirmation:
		return Badge(Warn, "waits for a person")
	case tool.StatusExecuting:
		return Badge(Plain, "runs")
	case tool.StatusCompleted:
		return Badge(Good, "done")
	case tool.StatusFailed:
		return Badge(Bad, "failed")
	case tool.StatusDenied:
		return Badge(Bad, "not done")
	}
	return Badge(Plain, "unknown")
}

// FailureReason returns why a call was not applied or failed; empty for one that succeeded or has not ended.
func FailureReason(r tool.Record) string {
	words, known := map[tool.Reason]string{
		tool.ReasonPolicy: "policy refused it", tool.ReasonUserDenied: "a person denied it", tool.ReasonExpired: "it expired: nobody answered in time",
		tool.ReasonCancelled: "whoever asked withdrew it", tool.ReasonContextChanged: "what it would do had changed since it was asked", tool.ReasonMistyped: "the name was mistyped three times",
		tool.ReasonRejected: "it was refused before it began", tool.ReasonErrored: "it ran and failed", tool.ReasonNonZeroExit: "the command it ran said so",
		tool.ReasonTimedOut: "it took longer than it may", tool.ReasonStopped: "it was stopped while it ran", tool.ReasonInterrupted: "the process that carried it out is gone; how far it came is not known",
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
		return "a person in the console (browser " + Printable(strings.TrimSpace(browser)) + ")"
	case here:
		return "a person in the console"
	case word == "terminal":
		return "a person in a terminal"
	case word == "form" || word == "elicitation":
		return "a person in the agent's own window"
	case word == "embedding host":
		return "the program that this runs in"
	case word == "incoming webhook":
		return "a request from outside, to a workflow that a person opened to them"
	case strings.HasPrefix(word, "dated_grant"):
		return strings.TrimSpace("what a person allowed until a date " + Printable(strings.TrimPrefix(word, "dated_grant")))
	case word == "token":
		return "its confirmation token, which whoever asked repeated"
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
		return said("a person in a terminal", p.User, p.TTY, p.Host)
	case confirm.SurfaceTouch:
		return said("a person in a terminal, with a security key that was touched", p.User, p.TTY, p.Host, p.Credential)
	case confirm.SurfaceConsole:
		return said("a person in the console", p.User, browser)
	case confirm.SurfacePasskey:
		return said("a person in the console, with a passkey", p.User, p.Credential)
	case confirm.SurfaceForm:
		return said("a person in the agent's own window", p.Entry)
	case confirm.SurfaceProgram:
		return said("the program that this runs in", p.User)
	}
	return said("on "+Printable(string(p.Surface)), cmp.Or(p.User, e.ApprovedBy))
}
