package golden_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// recorder is a test that may fail without failing this one.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, a ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, a...))
}
func (r *recorder) FailNow() { panic(r) }

// failing runs check and returns what it complained about.
func failing(check func(golden.T)) (failures []string) {
	r := &recorder{}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		failures = r.failures
	}()
	check(r)
	return r.failures
}

func inDir(t *testing.T, ci, update string) {
	t.Chdir(t.TempDir())
	t.Setenv("CI", ci)
	require.NoError(t, flag.Set("update", update))
	t.Cleanup(func() { require.NoError(t, flag.Set("update", "false")) })
}

func TestMissingFileFailsAndSaysHowToMakeIt(t *testing.T) {
	inDir(t, "", "false")
	got := failing(func(f golden.T) { golden.Text(f, "a", "text") })
	require.NotEmpty(t, got)
	assert.Contains(t, got[0], "-update")
}

func TestUpdateWritesWhatLaterCompares(t *testing.T) {
	inDir(t, "", "true")
	golden.Text(t, "deep/a", "text\n")
	golden.JSON(t, "b", map[string]string{"k": "<v>"})
	require.NoError(t, flag.Set("update", "false"))

	golden.Text(t, "deep/a", "text\n")
	golden.JSON(t, "b", json.RawMessage(`{"k":"<v>"}`))
	moved := failing(func(f golden.T) { golden.Text(f, "deep/a", "other\n") })
	require.Len(t, moved, 1)
	assert.Contains(t, moved[0], "-text\n")
	assert.Contains(t, moved[0], "+other\n")

	text, err := os.ReadFile(filepath.Join("testdata", "b.golden.json"))
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"k\": \"<v>\"\n}\n", string(text))
}

func TestContinuousIntegrationNeverWrites(t *testing.T) {
	inDir(t, "true", "true")
	assert.NotEmpty(t, failing(func(f golden.T) { golden.Text(f, "a", "text") }))
	assert.NoFileExists(t, filepath.Join("testdata", "a.golden"))
}

func TestBrokenJSONFails(t *testing.T) {
	inDir(t, "", "false")
	assert.NotEmpty(t, failing(func(f golden.T) { golden.JSON(f, "a", []byte(`{"k":`)) }))
	assert.NotEmpty(t, failing(func(f golden.T) { golden.JSON(f, "a", func() {}) }))
}
