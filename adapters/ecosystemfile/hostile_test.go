package ecosystemfile_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

const runID = "00000001-0000-4000-8000-000000000000"

// newStore returns a store of a user with the ecosystem demo, and where its things are.
func newStore(t testing.TB) (*ecosystemfile.Store, ecosystem.Layout) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return at(t, base)
}

func at(t testing.TB, base string) (*ecosystemfile.Store, ecosystem.Layout) {
	t.Helper()
	u := user{Home: filepath.Join(base, "home"), Dir: workspace(t, filepath.Join(base, "ws"), "demo"), Clock: &clock.Fake{}}
	s := store(u)
	l, err := s.Layout(t.Context(), u.Dir, "demo")
	require.NoError(t, err)
	return s, l
}

func newRun(n int) ecosystem.Run {
	return ecosystem.Run{ID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n), Ecosystem: "demo", Status: ecosystem.RunQueued, CreatedAt: clock.Epoch}
}

func runsDir(t testing.TB, s *ecosystemfile.Store) string {
	t.Helper()
	dir, err := s.RunsDir()
	require.NoError(t, err)
	return dir
}

func install(s *ecosystem.State) error {
	s.WorkspaceDir = "/ws/worktrees/demo"
	return nil
}

func TestWhatIsPrivateStaysPrivate(t *testing.T) {
	s, l := newStore(t)
	ctx := t.Context()
	require.NoError(t, s.Runs().Add(ctx, newRun(1)))
	require.NoError(t, s.Runs().Append(ctx, runID, ecosystem.RunEvent{Message: "x"}))
	_, err := s.States().Update(ctx, l, install)
	require.NoError(t, err)
	require.NoError(t, s.States().Note(ctx, l, "spin/default.json", []byte("{}")))
	_, release, err := s.States().Lock(ctx, l, 0)
	require.NoError(t, err)
	release()
	home := filepath.Dir(filepath.Dir(l.Data)) // ~/.local
	files := 0
	require.NoError(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		assert.Equal(t, want, info.Mode().Perm(), path)
		return nil
	}))
	assert.Greater(t, files, 6)
}

func TestATornLineIsMended(t *testing.T) {
	for _, torn := range []string{`{"seq":3,"times`, `{"seq":3}`, "\x00\x00\x00\x00", strings.Repeat("x", 300_000)} {
		s, _ := newStore(t)
		ctx := t.Context()
		require.NoError(t, s.Runs().Append(ctx, runID, ecosystem.RunEvent{Message: "one"}, ecosystem.RunEvent{Message: "two"}))
		path := filepath.Join(runsDir(t, s), runID+".jsonl")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, torn...), 0o600))
		chunk, err := s.Runs().Events(ctx, runID, 0)
		require.NoError(t, err)
		assert.Len(t, chunk.Events, 2)
		assert.EqualValues(t, 2, chunk.Total)
		require.NoError(t, s.Runs().Append(ctx, runID, ecosystem.RunEvent{Message: "three"}))
		chunk, err = s.Runs().Events(ctx, runID, 1)
		require.NoError(t, err)
		require.Len(t, chunk.Events, 2)
		assert.Equal(t, "three", chunk.Events[1].Message)
		assert.EqualValues(t, 3, chunk.Events[1].Number)
	}
}

func TestALogOfNonsenseIsPassedOver(t *testing.T) {
	s, _ := newStore(t)
	ctx := t.Context()
	path := filepath.Join(runsDir(t, s), runID+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("nonsense\n\n{\"seq\":x}\n{\"seq\":}\n", 20_000)), 0o600))
	chunk, err := s.Runs().Events(ctx, runID, 0)
	require.NoError(t, err)
	assert.Zero(t, chunk)
	require.NoError(t, s.Runs().Append(ctx, runID, ecosystem.RunEvent{Message: "one"}))
	chunk, err = s.Runs().Events(ctx, runID, 0)
	require.NoError(t, err)
	require.Len(t, chunk.Events, 1)
	assert.EqualValues(t, 1, chunk.Events[0].Number)
}

func TestWhatWritersThatDiedLeftDoesNoHarm(t *testing.T) {
	s, l := newStore(t)
	ctx := t.Context()
	require.NoError(t, s.Runs().Add(ctx, newRun(1)))
	_, err := s.States().Update(ctx, l, install)
	require.NoError(t, err)
	old := filepath.Join(runsDir(t, s), "."+runID+".json.ABCDEF.tmp")
	young := filepath.Join(runsDir(t, s), "."+runID+".json.GHIJKL.tmp")
	for _, path := range []string{old, young, filepath.Join(l.State, ".state.json.ABC.tmp"), filepath.Join(l.Root, "ecosystems", ".fresh.ABC.tmp", "ecosystem.yaml")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(`{"run_id":"`), 0o600))
	}
	require.NoError(t, os.Chtimes(old, time.Now().Add(-2*time.Hour), time.Now().Add(-2*time.Hour)))
	list, err := s.Runs().List(ctx, ecosystem.RunFilter{})
	require.NoError(t, err)
	assert.Len(t, list, 1)
	state, err := s.States().Load(ctx, l)
	require.NoError(t, err)
	assert.True(t, state.Installed())
	names, err := s.Names(ctx, l.Root)
	require.NoError(t, err)
	assert.Equal(t, []string{"demo"}, names)
	fresh, err := s.Layout(ctx, l.Root, "fresh")
	require.NoError(t, err)
	_, err = s.Create(ctx, fresh, ecosystem.Draft{})
	require.NoError(t, err)
	require.NoError(t, s.Runs().Purge(ctx))
	assert.NoFileExists(t, old)
	assert.FileExists(t, young, "perhaps somebody still writes it")
}

func TestCorruptRecords(t *testing.T) {
	s, l := newStore(t)
	ctx := t.Context()
	require.NoError(t, s.Runs().Add(ctx, newRun(1)))
	require.NoError(t, s.Runs().Add(ctx, newRun(2)))
	record := filepath.Join(runsDir(t, s), runID+".json")
	for _, text := range []string{"", "{", "[]", "null", `{"run_id":"other","status":"queued"}`, `{"run_id":"` + runID + `","status":"dancing"}`, "\x00", strings.Repeat(" ", 9<<20)} {
		require.NoError(t, os.WriteFile(record, []byte(text), 0o600))
		list, err := s.Runs().List(ctx, ecosystem.RunFilter{})
		require.NoError(t, err)
		assert.Len(t, list, 1, "the others are listed")
		_, err = s.Runs().Load(ctx, runID)
		require.ErrorIs(t, err, ecosystem.ErrState)
		assert.Contains(t, err.Error(), record)
		_, err = s.Runs().Change(ctx, runID, func(*ecosystem.Run) error { return nil })
		require.ErrorIs(t, err, ecosystem.ErrState)
		require.NoError(t, s.Runs().Purge(ctx))
	}
	_, err := s.States().Update(ctx, l, install)
	require.NoError(t, err)
	state := filepath.Join(l.State, "state.json")
	for text, says := range map[string]string{"": "repair", "{": "repair", "[]": "repair", `{"version":"4"}`: "repair", `{"version":5}`: "newer"} {
		require.NoError(t, os.WriteFile(state, []byte(text), 0o600))
		_, err := s.States().Load(ctx, l)
		require.ErrorIs(t, err, ecosystem.ErrState, text)
		assert.Contains(t, err.Error(), state)
		assert.Contains(t, err.Error(), says)
		_, err = s.States().Update(ctx, l, install)
		require.ErrorIs(t, err, ecosystem.ErrState)
		now, err := os.ReadFile(state)
		require.NoError(t, err)
		assert.Equal(t, text, string(now), "what cannot be read is left untouched")
	}
}

// TestADirectoryThatCannotBeMade stands for one that may not be written: permissions do not bind every user.
func TestADirectoryThatCannotBeMade(t *testing.T) {
	s, l := newStore(t)
	ctx := t.Context()
	home := filepath.Dir(filepath.Dir(l.Data))
	require.NoError(t, os.MkdirAll(filepath.Dir(home), 0o755))
	require.NoError(t, os.WriteFile(home, nil, 0o600))
	_, err := s.States().Update(ctx, l, install)
	require.ErrorIs(t, err, ecosystem.ErrStorage)
	assert.Contains(t, err.Error(), "demo")
	require.ErrorIs(t, s.States().Note(ctx, l, "x", []byte("x")), ecosystem.ErrStorage)
	_, _, err = s.States().Lock(ctx, l, 0)
	require.ErrorIs(t, err, ecosystem.ErrStorage)
	require.ErrorIs(t, s.Runs().Add(ctx, newRun(1)), ecosystem.ErrStorage)
	require.ErrorIs(t, s.Runs().Append(ctx, runID, ecosystem.RunEvent{}), ecosystem.ErrStorage)

	eco := filepath.Join(l.Root, "ecosystems")
	require.NoError(t, os.RemoveAll(eco))
	require.NoError(t, os.WriteFile(eco, nil, 0o600))
	_, err = s.Create(ctx, l, ecosystem.Draft{})
	require.Error(t, err)
	require.NoError(t, os.Remove(eco))
}

func TestLinksInPlaceOfFiles(t *testing.T) {
	s, l := newStore(t)
	ctx := t.Context()
	require.NoError(t, s.Runs().Add(ctx, newRun(2)))
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.WriteFile(target, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(target, filepath.Join(runsDir(t, s), runID+".jsonl")))
	require.NoError(t, os.Symlink(target, filepath.Join(runsDir(t, s), runID+".json")))
	require.Error(t, s.Runs().Append(ctx, runID, ecosystem.RunEvent{Message: "x"}))
	_, err := s.Runs().Events(ctx, runID, 0)
	require.Error(t, err)
	require.Error(t, s.Runs().Add(ctx, newRun(1)))
	list, err := s.Runs().List(ctx, ecosystem.RunFilter{})
	require.NoError(t, err)
	assert.Len(t, list, 1)
	require.NoError(t, os.MkdirAll(l.State, 0o700))
	require.NoError(t, os.Symlink(target, filepath.Join(l.State, "state.json")))
	_, err = s.States().Update(ctx, l, install)
	require.Error(t, err)
	text, err := os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
}

func TestTheRootBecomesARepository(t *testing.T) {
	_, l := newStore(t)
	var made []string
	s := ecosystemfile.New(ecosystemfile.Options{Home: filepath.Dir(l.Root), Clock: &clock.Fake{}, Init: func(_ context.Context, dir string) error {
		made = append(made, dir)
		return nil
	}})
	fresh, err := s.Layout(t.Context(), l.Root, "fresh")
	require.NoError(t, err)
	_, err = s.Create(t.Context(), fresh, ecosystem.Draft{})
	require.NoError(t, err)
	assert.Empty(t, made, "it is one")
	plain, err := s.Layout(t.Context(), t.TempDir(), "fresh")
	require.NoError(t, err)
	_, err = s.Create(t.Context(), plain, ecosystem.Draft{})
	require.NoError(t, err)
	assert.Equal(t, []string{plain.Root}, made)

	refusal := ecosystem.ErrGit.WithMessage("no git")
	s = ecosystemfile.New(ecosystemfile.Options{Home: filepath.Dir(l.Root), Clock: &clock.Fake{}, Init: func(context.Context, string) error { return refusal }})
	plain, err = s.Layout(t.Context(), t.TempDir(), "fresh")
	require.NoError(t, err)
	_, err = s.Create(t.Context(), plain, ecosystem.Draft{})
	require.ErrorIs(t, err, refusal)
	assert.NoDirExists(t, plain.Dir)
}

// busy names the directory in which a process started by TestAKilledProcess works without end.
const busy = "ECOSYSTEMFILE_TEST_BUSY"

// TestAKilledProcess kills one that holds the ecosystem's lock while it writes everything there is: nothing is torn, and the lock is free.
func TestAKilledProcess(t *testing.T) {
	if base := os.Getenv(busy); base != "" {
		work(t, base)
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s, l := at(t, base)
	require.NoError(t, s.Runs().Add(t.Context(), newRun(1)))
	for range 3 {
		before, err := s.Runs().Events(t.Context(), runID, 0)
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledProcess$")
		cmd.Env = append(os.Environ(), busy+"="+base)
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			chunk, err := s.Runs().Events(t.Context(), runID, 0)
			return err == nil && chunk.Total >= before.Total+20 // this one is at work
		}, time.Minute, 3*time.Millisecond)
		_, _, err = s.States().Lock(t.Context(), l, 0)
		require.ErrorIs(t, err, ecosystem.ErrBusy)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()

		_, release, err := s.States().Lock(t.Context(), l, time.Minute)
		require.NoError(t, err)
		release()
		state, err := s.States().Load(t.Context(), l)
		require.NoError(t, err)
		assert.True(t, state.Installed())
		_, err = s.Runs().Load(t.Context(), runID)
		require.NoError(t, err)
		require.NoError(t, s.Runs().Append(t.Context(), runID, ecosystem.RunEvent{Message: "afterwards"}))
		chunk, err := s.Runs().Events(t.Context(), runID, 0)
		require.NoError(t, err)
		assert.Len(t, chunk.Events, int(chunk.Total), "every line is whole, and none is missing")
	}
}

func work(t *testing.T, base string) {
	s, l := at(t, base)
	_, release, err := s.States().Lock(t.Context(), l, time.Minute)
	require.NoError(t, err)
	defer release() // a lock that nobody can release is a file that the collector closes
	for i := 0; ; i++ {
		_, err := s.States().Update(t.Context(), l, func(s *ecosystem.State) error {
			s.Repos = []ecosystem.RepoState{{Name: fmt.Sprint(i)}}
			return install(s)
		})
		require.NoError(t, err)
		require.NoError(t, s.Runs().Append(t.Context(), runID, ecosystem.RunEvent{Message: strings.Repeat("x", 5000)}))
		_, err = s.Runs().Change(t.Context(), runID, func(r *ecosystem.Run) error { r.Events = int64(i); return nil })
		require.NoError(t, err)
	}
}

// TestWhatIsListedAgainIsUpToDate changes records behind the back of a store that has listed them: through another one, and by hand.
func TestWhatIsListedAgainIsUpToDate(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s, _ := at(t, base)
	other, _ := at(t, base)
	ctx := t.Context()
	for i := range 3 {
		r := newRun(i + 1)
		r.Status = ecosystem.RunFailed
		require.NoError(t, s.Runs().Add(ctx, r))
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(runsDir(t, s), r.ID+".json"), old, old))
	}
	errorOf := func() string {
		list, err := s.Runs().List(ctx, ecosystem.RunFilter{})
		require.NoError(t, err)
		require.Equal(t, runID, list[len(list)-1].ID)
		return list[len(list)-1].Error
	}
	assert.Empty(t, errorOf())
	for _, said := range []string{"one", "two", "six"} {
		_, err := other.Runs().Change(ctx, runID, func(r *ecosystem.Run) error { r.Error = said; return nil })
		require.NoError(t, err)
		assert.Equal(t, said, errorOf())
	}
	require.NoError(t, os.Remove(filepath.Join(runsDir(t, s), newRun(3).ID+".json")))
	list, err := s.Runs().List(ctx, ecosystem.RunFilter{})
	require.NoError(t, err)
	assert.Len(t, list, 2)
	list[0].Error = "the caller's"
	assert.Equal(t, "six", errorOf())
}

// BenchmarkList lists as many runs as are kept: first by a process that has not seen them, then by one that has.
func BenchmarkList(b *testing.B) {
	base := b.TempDir()
	s, _ := at(b, base)
	for i := range ecosystem.MaxKeptRuns {
		r := newRun(i + 1)
		r.Status, r.Payload = ecosystem.RunSuccess, []byte(`{"repos":["`+strings.Repeat("x", 2000)+`"]}`)
		require.NoError(b, s.Runs().Add(b.Context(), r))
		old := time.Now().Add(-time.Hour)
		require.NoError(b, os.Chtimes(filepath.Join(runsDir(b, s), r.ID+".json"), old, old))
	}
	for name, open := range map[string]func() *ecosystemfile.Store{
		"first": func() *ecosystemfile.Store { s, _ := at(b, base); return s }, "again": func() *ecosystemfile.Store { return s },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list, err := open().Runs().List(b.Context(), ecosystem.RunFilter{})
				require.NoError(b, err)
				require.Len(b, list, ecosystem.MaxKeptRuns)
			}
		})
	}
}

// BenchmarkAppend adds one line to a log of ten thousand.
func BenchmarkAppend(b *testing.B) {
	s, _ := newStore(b)
	require.NoError(b, s.Runs().Append(b.Context(), runID, make([]ecosystem.RunEvent, 10_000)...))
	for b.Loop() {
		require.NoError(b, s.Runs().Append(b.Context(), runID, ecosystem.RunEvent{Message: "pushed api to origin/main"}))
	}
}

// BenchmarkLoad finds, reads and judges the manifest of sixty-four repositories, and its state.
func BenchmarkLoad(b *testing.B) {
	s, l := newStore(b)
	var text strings.Builder
	text.WriteString("name: demo\nrepos:\n")
	for i := range ecosystem.MaxRepos {
		fmt.Fprintf(&text, "  - {name: r%d, url: \"git@host:o/r%d.git\", branch: main, path: repos/r%d, readonly: false}\n", i, i, i)
	}
	require.NoError(b, os.WriteFile(l.Manifest, []byte(text.String()), 0o600))
	for b.Loop() {
		l, err := s.Layout(b.Context(), l.Root, "demo")
		require.NoError(b, err)
		m, err := s.Load(b.Context(), l)
		require.NoError(b, err)
		require.True(b, m.Manifest.Valid())
		_, err = s.States().Load(b.Context(), l)
		require.NoError(b, err)
	}
}
