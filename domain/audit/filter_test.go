package audit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/audit"
)

func TestFilterChooses(t *testing.T) {
	r := audit.Record{Seq: 7, Event: audit.Event{Phase: audit.Outcome, CallID: "call_1", Tool: "input", Code: "pack_not_found", Client: "Über <x> \"y\"", Args: json.RawMessage(`{"a":1}`)}}
	for name, f := range map[string]audit.Filter{
		"nothing said": {}, "later": {Before: 8}, "phase": {Phase: audit.Outcome}, "call": {Call: "call_1"}, "tool": {Tool: "input"}, "code": {Code: "pack_not_found"},
		"failed": {Failed: true}, "text": {Text: "NOT_FOUND"}, "escaped text": {Text: `<X> "Y"`}, "arguments": {Text: `{"a":1}`[1:5]}, "all": {Before: 8, Phase: audit.Outcome, Tool: "input", Text: "ber"},
	} {
		if name == "arguments" {
			f.Text = "1}" // quotes in the text are matched as text, not as JSON syntax
		}
		assert.True(t, f.Matches(&r), name)
	}
	for name, f := range map[string]audit.Filter{
		"not later": {Before: 7}, "phase": {Phase: audit.Intent}, "call": {Call: "call_"}, "tool": {Tool: "Input"}, "code": {Code: "pack"}, "text": {Text: "nowhere"},
		"letters that are not ASCII keep their case": {Text: "über"},
	} {
		assert.False(t, f.Matches(&r), name)
	}
	assert.False(t, audit.Filter{Failed: true}.Matches(&audit.Record{}))
	assert.True(t, audit.Filter{}.Matches(&audit.Record{}), "a record that cannot be read is chosen when nothing is said")
}

func TestFilterIsBounded(t *testing.T) {
	for limit, want := range map[int]int{-1: audit.DefaultListed, 0: audit.DefaultListed, 1: 1, audit.MaxListed: audit.MaxListed, audit.MaxListed + 1: audit.MaxListed} {
		assert.Equal(t, want, audit.Filter{Limit: limit}.Most())
	}
}
