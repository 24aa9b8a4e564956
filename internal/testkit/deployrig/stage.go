package deployrig

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// Stage calls tools step by step, and watches every file below a directory meanwhile.
type Stage struct {
	testing.TB
	Top       string              // with links resolved; answers show it as /w
	Tools     func() []tool.Entry // as the test has wired them by now
	Unwatched []string            // names of directories that Shape leaves out
}

// NewStage is one over a directory of its own.
func NewStage(t *testing.T) *Stage {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("HOME", t.TempDir()) // what the product starts sees no other variable of git's
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return &Stage{TB: t, Top: top, Unwatched: []string{".git"}}
}

// Args are the arguments of a call.
type Args map[string]any

// Yes is arguments with approval: pairs of names and values besides it.
func Yes(pairs ...any) Args {
	a := Args{"yes": true}
	for i := 0; i < len(pairs); i += 2 {
		a[pairs[i].(string)] = pairs[i+1]
	}
	return a
}

// Answer is what every tool of deployments answers.
type Answer struct {
	Data     json.RawMessage `json:"data"`
	Warnings []string        `json:"warnings"`
}

// Begun is a call that was prepared.
type Begun struct {
	stage      *Stage
	Invocation tool.Invocation
	Plan       tool.Plan
}

// Entry is the tool of that name.
func (s *Stage) Entry(name string) tool.Entry {
	s.Helper()
	entries := s.Tools()
	i := slices.IndexFunc(entries, func(e tool.Entry) bool { return string(e.Spec.Name) == name })
	require.GreaterOrEqual(s, i, 0, name)
	return entries[i]
}

// Scope is what calls are made with.
func (s *Stage) Scope() tool.Scope { return tool.Scope{Progress: func(tool.Progress) {}} }

// Begin prepares a call, and holds it to its class and to making no plan beside an error.
func (s *Stage) Begin(name string, a Args) (Begun, error) {
	s.Helper()
	text, err := json.Marshal(a)
	require.NoError(s, err)
	e := s.Entry(name)
	b := Begun{stage: s}
	if b.Invocation, err = e.Handler.Decode(text); err != nil {
		return b, err
	}
	assert.LessOrEqual(s, b.Invocation.Claims().Class, e.Spec.Class)
	b.Plan, err = b.Invocation.Prepare(s.Context(), s.Scope())
	if err != nil {
		assert.Nil(s, b.Plan, "a plan beside an error")
	}
	return b, err
}

// Commit carries the call out.
func (b Begun) Commit() (Answer, error) {
	s := b.stage
	s.Helper()
	out, err := b.Invocation.Commit(s.Context(), s.Scope(), b.Plan)
	if err != nil {
		assert.Nil(s, out, "a result beside an error")
		return Answer{}, err
	}
	readBack(s, out)
	return s.Answer(out), nil
}

// Answer reads what a tool gave.
func (s *Stage) Answer(value any) (a Answer) {
	s.Helper()
	require.NoError(s, json.Unmarshal(s.plain(value), &a))
	require.NotNil(s, a.Warnings, "warnings are a list")
	return a
}

// plain is the JSON of a value with paths below /w.
func (s *Stage) plain(value any) []byte {
	s.Helper()
	text, err := json.Marshal(value)
	require.NoError(s, err)
	return []byte(strings.ReplaceAll(string(text), s.Top, "/w"))
}

// Try is a whole call.
func (s *Stage) Try(name string, a Args) (Answer, error) {
	s.Helper()
	b, err := s.Begin(name, a)
	if err != nil {
		return Answer{}, err
	}
	return b.Commit()
}

// Call is a whole call that has to succeed.
func (s *Stage) Call(name string, a Args) Answer {
	s.Helper()
	out, err := s.Try(name, a)
	require.NoError(s, err, "%s %v", name, a)
	return out
}

// Golden compares the data of a call, and its warnings, with a file.
func (s *Stage) Golden(file, name string, a Args) Answer {
	s.Helper()
	out := s.Call(name, a)
	golden.JSON(s, file, out)
	return out
}

// Decode reads the data of an answer.
func (s *Stage) Decode(a Answer, into any) {
	s.Helper()
	require.NoError(s, json.Unmarshal(a.Data, into))
}

// Refused is the details of the fault that a call has to fail with.
func (s *Stage) Refused(sentinel *fault.Error, name string, a Args) (details map[string]any) {
	s.Helper()
	_, err := s.Try(name, a)
	require.ErrorIs(s, err, sentinel, "%s %v", name, a)
	require.NoError(s, json.Unmarshal(s.plain(fault.From(err).Details), &details))
	return details
}

// Quiet holds a call to leaving every file alone.
func (s *Stage) Quiet(name string, a Args) Answer {
	s.Helper()
	before := s.Shape()
	out := s.Call(name, a)
	assert.Equal(s, before, s.Shape(), "%s %v changed a file", name, a)
	return out
}

// Write puts a file where it belongs, with directories as needed.
func (s *Stage) Write(file, text string) {
	s.Helper()
	require.NoError(s, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(s, os.WriteFile(file, []byte(text), 0o644))
}

// Text is a file's; a file that is not there ends the test.
func (s *Stage) Text(file string) string {
	s.Helper()
	data, err := os.ReadFile(file)
	require.NoError(s, err)
	return string(data)
}

// Shape is every file below Top, but what is unwatched, by name with its text.
func (s *Stage) Shape() map[string]string {
	s.Helper()
	out := map[string]string{}
	require.NoError(s, filepath.WalkDir(s.Top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(s.Unwatched, d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular():
			out[path] = s.Text(path)
		}
		return nil
	}))
	return out
}
