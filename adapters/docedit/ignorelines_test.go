package docedit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/domain/deployment"
)

func ignoreKeys(lines ...string) (out []deployment.Key) {
	for _, line := range lines {
		out = append(out, deployment.Key{Path: []string{line}, Value: json.RawMessage("true")})
	}
	return out
}

// TestIgnoreLines: lines go into a section at the end, in order, and come out again; what is left then is the file as it was, to the byte.
func TestIgnoreLines(t *testing.T) {
	const section = "# agentpack:begin\n/a\n/b\n# agentpack:end\n"
	for before, after := range map[string]string{
		"":                  section,
		"bin/\n":            "bin/\n" + section,
		"bin/\n\n":          "bin/\n\n" + section,
		"bin/":              "bin/\n# agentpack:begin no-newline\n/a\n/b\n# agentpack:end\n",
		"bin/\r\nx\r\n":     "bin/\r\nx\r\n# agentpack:begin\r\n/a\r\n/b\r\n# agentpack:end\r\n",
		"bin/\r\nx":         "bin/\r\nx\r\n# agentpack:begin no-newline\r\n/a\r\n/b\r\n# agentpack:end\r\n",
		"/a\n# agentpack\n": "/a\n# agentpack\n" + section,
	} {
		var d docedit.Documents
		set, err := d.Set(deployment.FormatIgnore, []byte(before), ignoreKeys("/b", "/a"))
		require.NoError(t, err)
		assert.Equal(t, after, string(set))
		again, err := d.Set(deployment.FormatIgnore, set, ignoreKeys("/a", "/b"))
		require.NoError(t, err)
		assert.Equal(t, after, string(again))
		there, err := d.Values(deployment.FormatIgnore, set, ignoreKeys("/a", "/c", "bin/"))
		require.NoError(t, err)
		assert.Equal(t, map[int]json.RawMessage{0: json.RawMessage("true")}, there)
		one, err := d.Remove(deployment.FormatIgnore, set, ignoreKeys("/a", "/c"), nil)
		require.NoError(t, err)
		assert.Contains(t, string(one), "/b")
		back, err := d.Remove(deployment.FormatIgnore, one, ignoreKeys("/b"), nil)
		require.NoError(t, err)
		assert.Equal(t, before, string(back))
	}
}

// TestIgnoreLinesOfOthersStay: what somebody wrote into the section, or behind it, is left alone.
func TestIgnoreLinesOfOthersStay(t *testing.T) {
	var d docedit.Documents
	const text = "x\n# agentpack:begin\n/a\n/mine\n# agentpack:end\ny\n"
	out, err := d.Remove(deployment.FormatIgnore, []byte(text), ignoreKeys("/a"), nil)
	require.NoError(t, err)
	assert.Equal(t, "x\n# agentpack:begin\n/mine\n# agentpack:end\ny\n", string(out))
	for _, broken := range []string{"# agentpack:begin\n/a\n", "# agentpack:end\n", "# agentpack:begin\n# agentpack:begin\n# agentpack:end\n",
		"# agentpack:begin\n# agentpack:end\n# agentpack:begin\n# agentpack:end\n"} {
		_, err := d.Set(deployment.FormatIgnore, []byte(broken), ignoreKeys("/a"))
		require.ErrorIs(t, err, docedit.ErrFormat, broken)
	}
}
