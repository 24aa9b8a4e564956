package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/tool"
)

func TestEveryStatusHasWords(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range append(tool.Statuses(), tool.StatusNone) {
		b := string(ui.HTML(ui.StatusBadge(s)))
		assert.False(t, seen[b], b)
		seen[b] = true
	}
}

func TestWhyAndBy(t *testing.T) {
	assert.Empty(t, ui.FailureReason(tool.Record{Status: tool.StatusCompleted}))
	assert.Equal(t, "denied by a user: not on Sundays", ui.FailureReason(tool.Record{Reason: tool.ReasonUserDenied, Said: "not on Sundays"}))
	assert.Equal(t, "another reason", ui.FailureReason(tool.Record{Reason: "another reason"}))
	for word, want := range map[string]string{"": "", "console": "a user in the console", "console key_1": "a user in the console (browser key_1)", "terminal": "a user in a terminal",
		"elicitation": "a user in a host form", "token": "its approval token, which the client repeated", "tool_allowed": "rule tool_allowed"} {
		assert.Equal(t, want, ui.DecidedBy(word))
	}
}

// TestWhoAnsweredIsSaidWithTheProof, on whichever surface it was.
func TestWhoAnsweredIsSaidWithTheProof(t *testing.T) {
	for proof, want := range map[string]string{
		``: "a user in a terminal",
		`{"surface":"terminal","user":"ada","tty":"/dev/pts/1","host":"box"}`: "a user in a terminal (ada, /dev/pts/1, box)",
		`{"surface":"console","user":"ann","credential":"key_1"}`:             "a user in the console (ann, browser key_1)",
		`{"surface":"passkey","user":"ada","credential":"pk_1"}`:              "a user in the console, with a passkey (ada, pk_1)",
		`{"surface":"touch","user":"ada","credential":"SHA256:x"}`:            "a user in a terminal, with a touched security key (ada, SHA256:x)",
		`{"surface":"form","entry":"codex"}`:                                  "a user in a host form (codex)",
		`{"surface":"program","user":"embedding host"}`:                       "the embedding program (embedding host)",
		`{"surface":"pigeon"}`:                                                "on pigeon (terminal)",
	} {
		assert.Equal(t, want, ui.AnsweredBy(audit.Event{ApprovedBy: "terminal", Proof: []byte(proof)}))
	}
	assert.NotEqual(t, string(ui.HTML(ui.CallStatus(tool.Record{Status: tool.StatusDenied, Reason: tool.ReasonUserDenied}))),
		string(ui.HTML(ui.CallStatus(tool.Record{Status: tool.StatusDenied, Reason: tool.ReasonExpired}))), "what has expired was denied by nobody")
}
