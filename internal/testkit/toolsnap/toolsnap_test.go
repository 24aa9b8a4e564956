package toolsnap_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// recorder collects failures; it is handed to checks that must not stop the test.
type recorder struct{ failures strings.Builder }

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { fmt.Fprintf(&r.failures, format, a...) }
func (r *recorder) FailNow()                       {}

func sample() []tool.Spec {
	return []tool.Spec{
		{Name: "input", Title: "Input", Description: "Write a pack.", Toolset: "packs", Contract: "contextpack.v2", Class: policy.ClassScratch,
			Effects: policy.Read | policy.Write, Timeout: 3 * time.Second, Input: json.RawMessage(`{"type":"object"}`)},
		{Name: "output", Title: "Output", Description: "Read packs.", Toolset: "packs", Class: policy.ClassRead, Effects: policy.Read, Input: json.RawMessage(`{"type":"object"}`)},
	}
}

func hints(s tool.Spec) any { return map[string]bool{"readOnlyHint": s.Class == policy.ClassRead} }

func setUpdate(t *testing.T, value string) { require.NoError(t, flag.Set("update", value)) }

func recorded(t *testing.T) string {
	t.Setenv("CI", "")
	dir := filepath.Join(t.TempDir(), "tools")
	setUpdate(t, "true")
	t.Cleanup(func() { setUpdate(t, "false") })
	toolsnap.Check(t, dir, slices.Values(sample()), hints)
	setUpdate(t, "false")
	return dir
}

func TestSnapshotHoldsEverythingPublished(t *testing.T) {
	dir := recorded(t)
	toolsnap.Check(t, dir, slices.Values(sample()), hints)
	text, err := os.ReadFile(filepath.Join(dir, "input.json"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"input","title":"Input","description":"Write a pack.","toolset":"packs","contract":"contextpack.v2",
		"class":"scratch","effects":"read,write","confirm":"none","timeout":"3s","annotations":{"readOnlyHint":false},
		"input_schema":{"type":"object"}}`, string(text))
}

func TestMovedShapeFailsAndNamesWhatMoved(t *testing.T) {
	dir := recorded(t)
	specs := sample()
	specs[1].Description, specs[1].Effects = "Read many packs.", policy.Read|policy.Network
	var r recorder
	toolsnap.Check(&r, dir, slices.Values(specs), hints)
	assert.Contains(t, r.failures.String(), "the public shape of tool output has moved: description, effects")
	assert.NotContains(t, r.failures.String(), "tool input has moved")
}

func TestLostToolFailsUntilItsSnapshotGoes(t *testing.T) {
	dir := recorded(t)
	var r recorder
	toolsnap.Check(&r, dir, slices.Values(sample()[:1]), hints)
	assert.Contains(t, r.failures.String(), "output.json has a snapshot and no tool")

	foreign := filepath.Join(dir, "other.json")
	require.NoError(t, os.WriteFile(foreign, []byte(`{"name":"else"}`), 0o644))
	setUpdate(t, "true")
	toolsnap.Check(t, dir, slices.Values(sample()[:1]), hints)
	assert.FileExists(t, foreign, "what is no snapshot is left alone")
	assert.NoFileExists(t, filepath.Join(dir, "output.json"))
}

func TestNoToolsFails(t *testing.T) {
	var r recorder
	toolsnap.Check(&r, t.TempDir(), slices.Values([]tool.Spec(nil)), nil)
	assert.Contains(t, r.failures.String(), "no tools")
}
