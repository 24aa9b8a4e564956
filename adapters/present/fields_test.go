package present_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
)

func TestMembersStayInOrder(t *testing.T) {
	v, err := present.Parse(json.RawMessage(`{"z": 1, "a": [true, null, {"y": "x"}], "m": "text"}`))
	require.NoError(t, err)
	fields := v.([]present.Field)
	assert.Equal(t, []present.Field{{Name: "z", Value: json.Number("1")}, {Name: "a", Value: []any{true, nil, []present.Field{{Name: "y", Value: "x"}}}}, {Name: "m", Value: "text"}}, fields)
	assert.Equal(t, "text", present.Text(fields, "m"))
	assert.Empty(t, present.Text(fields, "z"))
	assert.Nil(t, present.Member(fields, "none"))
	for _, bad := range []string{"", "{", `{"a"`, `[1,`, `{"a":}`} {
		_, err := present.Parse(json.RawMessage(bad))
		assert.Error(t, err, bad)
	}
}

func TestCommandLine(t *testing.T) {
	assert.Equal(t, `npm run 'a b' '' 'it'\''s' --x=1`, present.CommandLine([]string{"npm", "run", "a b", "", "it's", "--x=1"}))
}
