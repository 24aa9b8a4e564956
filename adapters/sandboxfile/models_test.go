package sandboxfile_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// modelFixture is a configuration of models and a way around it.
type modelFixture struct {
	Models sandboxport.Models
	Put    func(doc string)                // what the configuration says from now on, JSON with comments
	Text   func() (doc string, there bool) // and what it says now
}

// models holds a configuration of models to sandboxport's contract. open makes one that says nothing yet.
func models(t *testing.T, open func(t testing.TB) modelFixture) {
	for name, test := range map[string]func(*testing.T, modelFixture){
		"BeginsWithNone":        modelsBeginWithNone,
		"ReadsWhatWasWritten":   modelsReadWhatWasWritten,
		"KeepsEverythingElse":   modelsKeepEverythingElse,
		"ShowsNothingElse":      modelsShowNothingElse,
		"RefusesWhatIsNoModel":  modelsRefuseWhatIsNoModel,
		"LeavesDamageAlone":     modelsLeaveDamageAlone,
		"WritesTheSameForFree":  modelsWriteTheSameForFree,
		"SurvivesManyWriters":   modelsSurviveManyWriters,
		"ListensToCancellation": modelsListenToCancellation,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func modelsBeginWithNone(t *testing.T, h modelFixture) {
	model, path, exists, err := h.Models.Read(t.Context())
	require.NoError(t, err)
	assert.Empty(t, model)
	assert.NotEmpty(t, path, "where it would be written")
	assert.False(t, exists)
	_, there := h.Text()
	assert.False(t, there, "asking makes nothing")

	h.Put("{}")
	model, path, exists, err = h.Models.Read(t.Context())
	require.NoError(t, err)
	assert.Empty(t, model)
	assert.NotEmpty(t, path)
	assert.True(t, exists)
}

func modelsReadWhatWasWritten(t *testing.T, h modelFixture) {
	previous := ""
	for _, model := range []string{"anthropic/claude-sonnet-4-5", "MoJoLLM/zai-org/glm-4.7-flash", `p/"odd"\<&>模型`, "a/b"} {
		was, path, err := h.Models.Write(t.Context(), model)
		require.NoError(t, err)
		assert.Equal(t, previous, was)
		is, from, exists, err := h.Models.Read(t.Context())
		require.NoError(t, err)
		assert.Equal(t, model, is)
		assert.Equal(t, path, from)
		assert.True(t, exists)
		previous = model
	}
}

const commented = `// mine
{
  "provider": { "x": { "options": { "apiKey": "sk-4711-SECRET", "model": "inner/one" } } }, // careful
  /* before */ "model" : /* why */ "old/one" /* because */,
  "theme": "dark", // last
}
`

func modelsKeepEverythingElse(t *testing.T, h modelFixture) {
	h.Put(commented)
	was, _, err := h.Models.Write(t.Context(), "new/one")
	require.NoError(t, err)
	assert.Equal(t, "old/one", was)
	doc, _ := h.Text()
	assert.Equal(t, strings.Replace(commented, `"old/one"`, `"new/one"`, 1), doc)

	h.Put(`{"theme": "dark"} // no model`)
	was, _, err = h.Models.Write(t.Context(), "new/one")
	require.NoError(t, err)
	assert.Empty(t, was)
	doc, _ = h.Text()
	assert.Contains(t, doc, `{"theme": "dark"`)
	assert.Contains(t, doc, `} // no model`)
}

func modelsShowNothingElse(t *testing.T, h modelFixture) {
	for _, doc := range []string{
		commented,
		`{"model": {"apiKey": "sk-4711-SECRET"}}`,
		`{"apiKey": sk-4711-SECRET}`,
		`{"apiKey": "sk-4711-SECRET`,
		`{"apiKey": "sk-4711-SECRET" "model": "a/b"}`,
		`{"model": "a/b", "apiKey": "sk-4711-SECRET", "model": "c/d"}`,
		`["sk-4711-SECRET"]`,
		`"sk-4711-SECRET"`,
		`sk-4711-SECRET`,
	} {
		h.Put(doc)
		model, path, _, readErr := h.Models.Read(t.Context())
		was, to, writeErr := h.Models.Write(t.Context(), "new/one")
		assert.NotContains(t, fmt.Sprint(model, path, readErr, was, to, writeErr), "4711", doc)
	}
}

func modelsRefuseWhatIsNoModel(t *testing.T, h modelFixture) {
	h.Put(commented)
	for _, model := range []string{"", "gpt-5", "/x", "x/", "a b/c", "a/b c", "a/b\n", "a/\x00", "a/\xff", "p/" + strings.Repeat("x", sandbox.MaxModel)} {
		_, _, err := h.Models.Write(t.Context(), model)
		require.ErrorIs(t, err, sandbox.ErrArguments, "%q", model)
	}
	doc, _ := h.Text()
	assert.Equal(t, commented, doc)
}

func modelsLeaveDamageAlone(t *testing.T, h modelFixture) {
	for _, doc := range []string{"{", `{"model": "a/b"`, "[]", "nonsense", `{"model": "a/b" "x": 1}`, "{\n  \"a\": 1,\n  \"b\": oops\n}", `{"model":"a/b","model":"c/d"}`, "\x00"} {
		h.Put(doc)
		_, _, _, err := h.Models.Read(t.Context())
		require.ErrorIs(t, err, sandbox.ErrConfig, "%q", doc)
		_, _, err = h.Models.Write(t.Context(), "new/one")
		require.ErrorIs(t, err, sandbox.ErrConfig, "%q", doc)
		now, _ := h.Text()
		assert.Equal(t, doc, now)
	}
}

func modelsWriteTheSameForFree(t *testing.T, h modelFixture) {
	doc := `{"model":"a\u002fb"}` // the same text, spelled in another way
	h.Put(doc)
	was, _, err := h.Models.Write(t.Context(), "a/b")
	require.NoError(t, err)
	assert.Equal(t, "a/b", was)
	now, _ := h.Text()
	assert.Equal(t, doc, now)
}

func modelsSurviveManyWriters(t *testing.T, h modelFixture) {
	h.Put(commented)
	const writers = 12
	was := make([]string, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			previous, _, err := h.Models.Write(t.Context(), fmt.Sprintf("w/%d", i))
			assert.NoError(t, err)
			was[i] = previous
		})
	}
	all.Wait()
	last, _, _, err := h.Models.Read(t.Context())
	require.NoError(t, err)
	doc, _ := h.Text()
	assert.Equal(t, strings.Replace(commented, "old/one", last, 1), doc)
	assert.ElementsMatch(t, append(was, last), append([]string{"old/one"}, written(writers)...), "each replaced what another one wrote")
}

func written(n int) (models []string) {
	for i := range n {
		models = append(models, fmt.Sprintf("w/%d", i))
	}
	return models
}

func modelsListenToCancellation(t *testing.T, h modelFixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, _, err := h.Models.Read(ctx)
	assert.Equal(t, fault.Canceled, fault.From(err).Kind)
	_, _, err = h.Models.Write(ctx, "a/b")
	assert.Equal(t, fault.Canceled, fault.From(err).Kind)
	_, there := h.Text()
	assert.False(t, there)
}
