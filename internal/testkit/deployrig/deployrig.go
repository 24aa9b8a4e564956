// Package deployrig assembles the deployment use cases over real files and real git, in temporary directories: a config repository, a home and a project.
// Only time is simulated.
package deployrig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// Rig is everything the use cases need. The machine is called ada, and the clock stands still.
type Rig struct {
	T        testing.TB
	Repo     *gitfixture.Repo // the config repository
	UserHome string           // with .agentpack in it
	Project  string           // marked as one
	Clock    *clock.Fake
	Wired

	Audit     *Audit                  // of the machine; nil: every record is believed
	Step      func(step, path string) // of the machine; may be nil
	Entries   []tool.Entry            // what Must and Fails call
	MaxOutput int                     // bytes that callers take; 0 is any number
}

// New is a rig whose config repository holds the files of a txtar archive, committed.
func New(t *testing.T, archive string) *Rig {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &Rig{T: t, Repo: gitfixture.New(t, archive), UserHome: filepath.Join(top, "home"), Project: filepath.Join(top, "project"), Clock: &clock.Fake{}}
	for _, dir := range []string{r.UserHome, r.Project} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.Project, configrepo.MarkerFile), nil, 0o644))
	t.Setenv("HOME", r.UserHome)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r.In(r.Project)
	return r
}

// In works in another directory from now on.
func (r *Rig) In(dir string) {
	r.Wired = Wire(Wiring{Dir: dir, Clock: r.Clock, Audit: r.Audit, Step: r.Step, Index: filepath.Join(r.UserHome, ".cache", "deployments.idx"),
		Env: map[string]string{"HOME": r.UserHome, "AGENTPACK_HOME": filepath.Join(r.UserHome, ".agentpack"), "AGENTPACK_MACHINE_ID": "ada"}})
}

// Call is a tool's answer, paths replaced as Plain does, or its fault. Arguments are a JSON object; the config repository is added to them.
// What the core would do is done here, in its order: decode, prepare, gate, commit.
func (r *Rig) Call(entries []tool.Entry, name tool.Name, args string) (string, *fault.Error) {
	r.T.Helper()
	value, err := r.call(entries, name, args)
	if err != nil {
		return "", fault.From(err)
	}
	text, err := json.Marshal(value)
	require.NoError(r.T, err)
	return r.Plain(string(text)), nil
}

// Must is the answer of one of Entries that has to succeed.
func (r *Rig) Must(name tool.Name, args string) string {
	r.T.Helper()
	out, err := r.Call(r.Entries, name, args)
	require.Nil(r.T, err, "%v", err)
	return out
}

// Fails is the fault of one of Entries that has to fail so.
func (r *Rig) Fails(name tool.Name, args string, as *fault.Error) *fault.Error {
	r.T.Helper()
	out, err := r.Call(r.Entries, name, args)
	require.NotNil(r.T, err, "it gave %s", out)
	require.ErrorIs(r.T, err, as)
	return err
}

func (r *Rig) call(entries []tool.Entry, name tool.Name, args string) (any, error) {
	r.T.Helper()
	i, class, err := r.decode(entries, name, args)
	if err != nil {
		return nil, err
	}
	ctx, sc := r.T.Context(), tool.Scope{Progress: func(tool.Progress) {}, MaxOutput: r.MaxOutput}
	p, err := i.Prepare(ctx, sc)
	if err != nil {
		return nil, err
	}
	if g, gated := p.(tool.Precondition); gated && class > policy.ClassRead {
		if err := g.Check(); err != nil {
			return nil, err
		}
	}
	out, err := i.Commit(ctx, sc, p)
	if err == nil {
		readBack(r.T, out)
	}
	return out, err
}

// readBack requires that a Go caller's answer, which is read from the JSON of the tool's, says all that the tool's says. Plans are none: they are
// pointers to what only they know.
func readBack(t testing.TB, answer any) {
	t.Helper()
	if reflect.TypeOf(answer).Kind() == reflect.Pointer {
		return
	}
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	again := reflect.New(reflect.TypeOf(answer))
	require.NoError(t, json.Unmarshal(text, again.Interface()), "%T cannot be read: %s", answer, text)
	back, err := json.Marshal(again.Interface())
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(back), "%T loses what it says", answer)
}

func (r *Rig) decode(entries []tool.Entry, name tool.Name, args string) (tool.Invocation, policy.Class, error) {
	r.T.Helper()
	given := map[string]any{}
	require.NoError(r.T, json.Unmarshal([]byte(args), &given))
	if _, named := given["repo"]; !named {
		given["repo"] = r.Repo.Dir
	}
	raw, err := json.Marshal(given)
	require.NoError(r.T, err)
	at := slices.IndexFunc(entries, func(e tool.Entry) bool { return e.Spec.Name == name })
	require.GreaterOrEqual(r.T, at, 0, "there is no tool %s", name)
	i, err := entries[at].Handler.Decode(raw)
	if err != nil {
		return nil, 0, err
	}
	return i, i.Claims().Class, nil
}

// Prepare is what a tool would do.
func (r *Rig) Prepare(entries []tool.Entry, name tool.Name, args string) tool.Plan {
	r.T.Helper()
	i, _, err := r.decode(entries, name, args)
	require.NoError(r.T, err)
	p, err := i.Prepare(r.T.Context(), tool.Scope{Progress: func(tool.Progress) {}, MaxOutput: r.MaxOutput})
	require.NoError(r.T, err)
	return p
}

// Plain is text with the directories of this test replaced by names that stay.
func (r *Rig) Plain(text string) string {
	return strings.NewReplacer(r.Repo.Dir, "/repo", r.Repo.Remote, "/remote", r.Project, "/project", r.UserHome, "/home").Replace(text)
}

// Write puts a file below dir, with directories as needed.
func (r *Rig) Write(dir, name, text string) {
	r.T.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(r.T, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(r.T, os.WriteFile(file, []byte(text), 0o644))
}

// Read is a file below dir; a file that is not there ends the test.
func (r *Rig) Read(dir, name string) string {
	r.T.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	require.NoError(r.T, err)
	return string(text)
}

// Tree is every file below dir, by slash path, apart from .git.
func (r *Rig) Tree(dir string) map[string]string {
	r.T.Helper()
	out := map[string]string{}
	require.NoError(r.T, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = r.Read(dir, filepath.ToSlash(rel))
		return err
	}))
	return out
}
