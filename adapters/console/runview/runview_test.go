package runview_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/runview"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/toolrun"
)

func TestEveryStatusHasWords(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range append(toolrun.Statuses(), toolrun.StatusNone) {
		b := string(markup.HTML(runview.Badge(s)))
		assert.False(t, seen[b], b)
		seen[b] = true
	}
}

func TestWhyAndBy(t *testing.T) {
	assert.Empty(t, runview.Why(toolrun.Record{Status: toolrun.Completed}))
	assert.Equal(t, "a person denied it: not on Sundays", runview.Why(toolrun.Record{Reason: toolrun.UserDenied, Said: "not on Sundays"}))
	assert.Equal(t, "another reason", runview.Why(toolrun.Record{Reason: "another reason"}))
	for word, want := range map[string]string{"": "", "console": "a person in the console", "console key_1": "a person in the console (browser key_1)", "terminal": "a person in a terminal",
		"elicitation": "a person in the agent's own window", "token": "its confirmation token, which whoever asked repeated", "tool_allowed": "rule tool_allowed"} {
		assert.Equal(t, want, runview.By(word))
	}
}

// TestWhoAnsweredIsSaidWithTheProof, on whichever surface it was.
func TestWhoAnsweredIsSaidWithTheProof(t *testing.T) {
	for proof, want := range map[string]string{
		``: "a person in a terminal",
		`{"surface":"terminal","user":"ada","tty":"/dev/pts/1","host":"box"}`: "a person in a terminal (ada, /dev/pts/1, box)",
		`{"surface":"console","user":"ann","credential":"key_1"}`:             "a person in the console (ann, browser key_1)",
		`{"surface":"passkey","user":"ada","credential":"pk_1"}`:              "a person in the console, with a passkey (ada, pk_1)",
		`{"surface":"touch","user":"ada","credential":"SHA256:x"}`:            "a person in a terminal, with a security key that was touched (ada, SHA256:x)",
		`{"surface":"form","entry":"codex"}`:                                  "a person in the agent's own window (codex)",
		`{"surface":"program","user":"embedding host"}`:                       "the program that this runs in (embedding host)",
		`{"surface":"pigeon"}`:                                                "on pigeon (terminal)",
	} {
		assert.Equal(t, want, runview.Answered(audit.Event{ApprovedBy: "terminal", Proof: []byte(proof)}))
	}
	assert.NotEqual(t, string(markup.HTML(runview.State(toolrun.Record{Status: toolrun.Denied, Reason: toolrun.UserDenied}))),
		string(markup.HTML(runview.State(toolrun.Record{Status: toolrun.Denied, Reason: toolrun.Expired}))), "what has expired was denied by nobody")
}
