package orderly_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present/orderly"
)

func TestMembersStayInOrder(t *testing.T) {
	v, err := orderly.Parse(json.RawMessage(`{"z": 1, "a": [true, null, {"y": "x"}], "m": "text"}`))
	require.NoError(t, err)
	fields := v.([]orderly.Field)
	assert.Equal(t, []orderly.Field{{Name: "z", Value: json.Number("1")}, {Name: "a", Value: []any{true, nil, []orderly.Field{{Name: "y", Value: "x"}}}}, {Name: "m", Value: "text"}}, fields)
	assert.Equal(t, "text", orderly.Text(fields, "m"))
	assert.Empty(t, orderly.Text(fields, "z"))
	assert.Nil(t, orderly.Member(fields, "none"))
	for _, bad := range []string{"", "{", `{"a"`, `[1,`, `{"a":}`} {
		_, err := orderly.Parse(json.RawMessage(bad))
		assert.Error(t, err, bad)
	}
}

func TestCommandLine(t *testing.T) {
	assert.Equal(t, `npm run 'a b' '' 'it'\''s' --x=1`, orderly.CommandLine([]string{"npm", "run", "a b", "", "it's", "--x=1"}))
}
