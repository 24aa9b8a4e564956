package docedit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// TestItemsStandBesideTheUsers: values of a list come and go one by one; the user's, their comments and their layout stay, and what was put in and taken
// out again leaves every byte as it was.
func TestItemsStandBesideTheUsers(t *testing.T) {
	t.Parallel()
	item := func(value string) deployment.Key {
		return deployment.Key{Path: []string{"permissions", "allow"}, Value: json.RawMessage(value), Item: true}
	}
	ours := []deployment.Key{item(`"Bash(ls:*)"`), item(`"Read(/etc/**)"`), {Path: []string{"model"}, Value: json.RawMessage(`"m"`)}}
	var d docedit.Documents
	for name, c := range map[string]struct {
		format deployment.Format
		before string
		after  string
	}{
		"nothing":   {deployment.FormatJSON, "", "{\n  \"model\": \"m\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls:*)\",\n      \"Read(/etc/**)\"\n    ]\n  }\n}\n"},
		"no list":   {deployment.FormatJSON, "{\"permissions\": {\"defaultMode\": \"plan\"}}\n", ""},
		"empty":     {deployment.FormatJSON, "{\n  \"permissions\": {\"allow\": []}\n}\n", "{\n  \"permissions\": {\"allow\": [\"Bash(ls:*)\", \"Read(/etc/**)\"]},\n  \"model\": \"m\"\n}\n"},
		"one line":  {deployment.FormatJSON, "{\"permissions\": {\"allow\": [\"A\", \"B\"]}}", ""},
		"comments":  {deployment.FormatJSONC, "{\n  \"permissions\": {\n    \"allow\": [\n      \"A\", // mine\n      \"B\", // and this\n    ],\n  },\n}\n", ""},
		"CRLF":      {deployment.FormatJSON, "{\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"A\"\r\n    ]\r\n  }\r\n}\r\n", ""},
		"one of it": {deployment.FormatJSON, "{\"permissions\": {\"allow\": [\"Read(/etc/**)\", \"B\"]}}", ""},
		"TOML":      {deployment.FormatTOML, "[permissions]\nallow = [\"A\"]\n", "model = \"m\"\n\n[permissions]\nallow = [\"A\", \"Bash(ls:*)\", \"Read(/etc/**)\"]\n"},
		"TOML, lines": {deployment.FormatTOML, "[permissions]\nallow = [ # mine\n    \"A\", # first\n    'B', # second\n] # end\n",
			"model = \"m\"\n\n[permissions]\nallow = [ # mine\n    \"A\", # first\n    'B',\n    \"Bash(ls:*)\",\n    \"Read(/etc/**)\", # second\n] # end\n"},
		"TOML, no list":   {deployment.FormatTOML, "# mine\n[other]\na = 1\n", ""},
		"TOML, empty":     {deployment.FormatTOML, "permissions.allow = [ ]\n", ""},
		"TOML, CRLF":      {deployment.FormatTOML, "[permissions]\r\nallow = [\r\n  \"A\"\r\n]\r\n", ""},
		"TOML, in a line": {deployment.FormatTOML, "permissions = { allow = [\"A\"] }\n", ""},
		"TOML, one of it": {deployment.FormatTOML, "[permissions]\nallow = [\"Read(/etc/**)\", \"B\"]\n", ""},
	} {
		made, err := d.Made(c.format, []byte(c.before), ours)
		require.NoError(t, err, name)
		had, err := d.Values(c.format, []byte(c.before), ours)
		require.NoError(t, err, name)
		after, err := d.Set(c.format, []byte(c.before), ours)
		require.NoError(t, err, name)
		if c.after != "" {
			assert.Equal(t, c.after, string(after), name)
		}
		again, err := d.Set(c.format, after, ours)
		require.NoError(t, err, name)
		assert.Equal(t, string(after), string(again), "%s: what is there is not put in again", name)
		values, err := d.Values(c.format, after, ours)
		require.NoError(t, err, name)
		assert.Len(t, values, len(ours), name)

		var out []deployment.Key // what the user had before stays the user's
		for i, k := range ours {
			if _, there := had[i]; !there {
				out = append(out, k)
			}
		}
		back, err := d.Remove(c.format, after, out, made)
		require.NoError(t, err, name)
		assert.Equal(t, c.before, string(back), name)

		more, err := d.Set(c.format, after, []deployment.Key{item(`{"b": 1, "a": [true]}`)})
		require.NoError(t, err, name)
		left, err := d.Remove(c.format, more, out, made)
		require.NoError(t, err, name)
		kept, err := d.Values(c.format, left, []deployment.Key{item(`{"a": [true], "b": 1}`)})
		require.NoError(t, err, name)
		assert.Len(t, kept, 1, "%s: what the user added stays", name)
	}
	_, err := d.Set(deployment.FormatJSON, []byte(`{"permissions": {"allow": "all"}}`), ours)
	require.ErrorIs(t, err, docedit.ErrShape)
	_, err = d.Set(deployment.FormatJSON, []byte(`{"permissions": []}`), ours)
	require.ErrorIs(t, err, docedit.ErrShape)
}
