package mcpclients_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

func TestHidden(t *testing.T) {
	t.Parallel()
	hidden := mcpclients.SecretValues(json.RawMessage(`{"a": {"env": {"X": "plain words", "Y": "abc", "COUNTERSIGN_HOME": "/home/of/it"}, "headers": ["one two"]}, "myApiKey": {"deep": ["nested"]},
		"name": "shown", "Authorization": "Bearer <token>", "n": 7}`), nil, json.RawMessage(`broken`), json.RawMessage(`{"token": "plain words and more"}`))
	assert.Equal(t, []string{"plain words and more", "plain words", "one two", "nested"}, hidden, "longer ones first")
}

func TestMask(t *testing.T) {
	t.Parallel()
	text := mcpclients.RedactText(`"a": "it's \"q\"", b = 'C:\x', "c": "C:\\x", "shown"`, []string{`it's "q"`, `C:\x`})
	assert.Equal(t, `"a": "[masked]", b = '[masked]', "c": "[masked]", "shown"`, text)
}

func TestEntry(t *testing.T) {
	t.Parallel()
	assert.Nil(t, mcpclients.RedactedEntry(nil))
	o := target.Object{"command": "x", "env": map[string]any{"A": "b", "COUNTERSIGN_HOME": "/h"}, "headers": map[string]any{"Authorization": "Bearer <token>", "B": "c", "X-MCP-Confirm-Wait": "4m30s"}, "n": 1}
	assert.JSONEq(t, `{"command":"x","env":{"A":"[masked]","COUNTERSIGN_HOME":"/h"},"headers":{"Authorization":"Bearer <token>","B":"[masked]","X-MCP-Confirm-Wait":"4m30s"},"n":1}`, string(mcpclients.RedactedEntry(o)))
}

func TestDiffOfOneLongLine(t *testing.T) {
	t.Parallel()
	unified := func(_, _ string, a, b []byte) string { return "-" + string(a) + "\n+" + string(b) + "\n" }
	assert.Equal(t, "-a\n+b\n", mcpclients.RedactedDiff("p", "a", "b", unified))
	long := strings.Repeat("漢", 500)
	diff := mcpclients.RedactedDiff("p", long+"old"+long, long+"new"+long, unified)
	assert.Less(t, len(diff), 500)
	for _, want := range []string{"-…", "old", "+…", "new"} {
		assert.Contains(t, diff, want)
	}
	assert.NotContains(t, diff, "\ufffd")
	assert.Less(t, len(mcpclients.RedactedDiff("p", "", strings.Repeat("x", 1<<20), unified)), 5000)
}
