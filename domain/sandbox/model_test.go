package sandbox_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

func goodModels() map[string]string {
	return map[string]string{
		"anthropic/claude-sonnet-4-5":    "anthropic",
		"MoJoLLM/zai-org/glm-4.7-flash":  "MoJoLLM",
		"a/b":                            "a",
		"open.router_1-x/~typ:free@v1.2": "open.router_1-x",
		"a//":                            "a",
		`p/"quoted"\`:                    "p",
		"p/模型":                           "p",
		"p/" + strings.Repeat("x", 510):  "p",
	}
}

func badModels() []string {
	return []string{"", "/", "a", "a/", "/b", "a b/c", "a/b c", " a/b", "a/b ", "a/b\n", "a/\tb", "ä/b", "a:b/c", "a/\x00", "a/\x1b[0m", "a/\u00a0", "a/\u2028b",
		"a/\u0085", "a/\xff", "p/" + strings.Repeat("x", 511), "-oProxy"}
}

func TestSplitModel(t *testing.T) {
	for name, want := range goodModels() {
		provider, id, err := sandbox.SplitModel(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, provider)
		assert.Equal(t, name, provider+"/"+id)
	}
	for _, name := range badModels() {
		provider, id, err := sandbox.SplitModel(name)
		require.ErrorIs(t, err, sandbox.ErrArguments, "%q", name)
		assert.Empty(t, provider+id)
		assert.Less(t, len(err.Error()), 600)
		assert.NotContains(t, err.Error(), "\x1b")
	}
}

func FuzzSplitModel(f *testing.F) {
	for name := range goodModels() {
		f.Add(name)
	}
	for _, name := range badModels() {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		provider, id, err := sandbox.SplitModel(name)
		if err != nil {
			require.ErrorIs(t, err, sandbox.ErrArguments)
			return
		}
		require.Equal(t, name, provider+"/"+id)
		require.NotEmpty(t, provider)
		require.NotEmpty(t, id)
		require.NotContains(t, provider, "/")
		require.False(t, strings.ContainsFunc(name, unicode.IsSpace))
	})
}
