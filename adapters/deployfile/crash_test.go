package deployfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

func mortal(t *testing.T) machineHost {
	h := host(t)
	h.Die = func(t *testing.T, tx deployment.Transaction, n int) bool {
		return dies(t, order{Action: "apply", Home: h.Home, Tx: tx, Die: n, At: h.Clock.Now()})
	}
	return h
}

func TestRecovering(t *testing.T) { recovering(t, mortal) }

// stage is a prepared host that is put back to how it was as often as it is needed, at the same paths.
type stage struct {
	h     machineHost
	tx    deployment.Transaction
	saved string
	dirs  []string
}

func prepared(t *testing.T, back bool) *stage {
	dir := t.TempDir()
	h := hostWith(t, dir, nil)
	s := &stage{h: h, saved: t.TempDir(), dirs: []string{h.Dir, h.Home}}
	h.Put(t, h.Path("canary", "song"), "yellow", 0o640)
	s.tx = h.Upheaval(t)
	if back {
		first, _, err := h.Snapshots.List(t.Context(), h.Home)
		require.NoError(t, err)
		s.tx = h.Inverse(t, h.Apply(t, s.tx), s.tx.Roots, first[0].Managed)
	}
	for _, d := range s.dirs {
		copyTree(t, d, filepath.Join(s.saved, filepath.Base(d)))
	}
	return s
}

func (s *stage) reset(t *testing.T) {
	for _, d := range s.dirs {
		require.NoError(t, os.RemoveAll(d))
		copyTree(t, filepath.Join(s.saved, filepath.Base(d)), d)
	}
}

func copyTree(t testing.TB, from, to string) {
	require.NoError(t, filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			if err := os.MkdirAll(target, 0o700); err != nil {
				return err
			}
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(target, data, 0o600); err != nil {
				return err
			}
		}
		return os.Chmod(target, info.Mode().Perm())
	}))
}

func (s *stage) do(t *testing.T, action string, die int) (died bool) {
	t.Helper()
	return dies(t, order{Action: action, Home: s.h.Home, Tx: s.tx, Die: die, At: s.h.Clock.Now()})
}

// lists are the home's own lists, which go with the files.
func (s *stage) lists(t *testing.T) map[string]string {
	lists := map[string]string{}
	for name, text := range tree(t, filepath.Join(s.h.Home, "state")) {
		if dir := filepath.Join(s.h.Home, "state"); (filepath.Dir(name) == dir || filepath.Dir(name) == filepath.Join(dir, "owned")) && strings.HasSuffix(name, ".json") {
			lists[name] = text
		}
	}
	return lists
}

// TestKilledAtEveryStep kills an operation at every step it has, and finishes it in one run and takes it back in another: the files are exactly
// as after it, or exactly as before.
func TestKilledAtEveryStep(t *testing.T) {
	t.Run("there", func(t *testing.T) { killedAtEveryStep(t, prepared(t, false)) })
	t.Run("and back again", func(t *testing.T) { killedAtEveryStep(t, prepared(t, true)) })
}

func killedAtEveryStep(t *testing.T, s *stage) {
	before, listsBefore := tree(t, s.h.Dir), s.lists(t)
	require.False(t, s.do(t, "apply", 0))
	after, listsAfter := tree(t, s.h.Dir), s.lists(t)
	require.NotEqual(t, before, after)
	journalled := 0
	for n := 1; ; n += stride {
		ended := false
		for _, action := range []string{"resume", "undo"} {
			s.reset(t)
			if ended = !s.do(t, "apply", n); ended {
				break
			}
			p, err := s.h.Recovery.Pending(t.Context(), s.h.Home)
			require.NoError(t, err)
			if p == nil && journalled > 0 {
				require.Equal(t, after, tree(t, s.h.Dir), "killed at step %d, everything was done", n)
				continue
			}
			if p == nil {
				require.Equal(t, before, tree(t, s.h.Dir), "killed at step %d, nothing was done", n)
				continue
			}
			journalled = n
			s.recovers(t, action, 0)
			wantFiles, wantLists := after, listsAfter
			if action == "undo" {
				wantFiles, wantLists = before, listsBefore
			}
			require.Equal(t, wantFiles, tree(t, s.h.Dir), "%s after a kill at step %d", action, n)
			require.Equal(t, wantLists, s.lists(t), "%s after a kill at step %d", action, n)
		}
		if ended {
			require.Greater(t, n, 30, "there is much to do")
			break
		}
	}
}

// recovers finishes or takes back, killed at a step or not, and checks that nothing is pending then.
func (s *stage) recovers(t *testing.T, action string, die int) (died bool) {
	t.Helper()
	if s.do(t, action, die) {
		return true
	}
	p, err := s.h.Recovery.Pending(t.Context(), s.h.Home)
	require.NoError(t, err)
	require.Nil(t, p)
	return false
}

// TestRecoveryKilledAtEveryStep kills resume and undo themselves, at every step, and then does either.
func TestRecoveryKilledAtEveryStep(t *testing.T) {
	s := prepared(t, false)
	before := tree(t, s.h.Dir)
	require.False(t, s.do(t, "apply", 0))
	after := tree(t, s.h.Dir)
	want := map[string]map[string]string{"resume": after, "undo": before}
	for _, first := range []string{"resume", "undo"} {
		for n := 1; ; n += stride {
			s.reset(t)
			require.True(t, s.do(t, "apply", 20))
			died := s.recovers(t, first, n)
			p, err := s.h.Recovery.Pending(t.Context(), s.h.Home)
			require.NoError(t, err)
			last := first
			if p != nil {
				last = []string{"resume", "undo"}[n/stride%2]
				s.recovers(t, last, 0)
			}
			require.Equal(t, want[last], tree(t, s.h.Dir), "%s was killed at step %d, then %s", first, n, last)
			if !died {
				require.Greater(t, n, 10)
				break
			}
		}
	}
}

// TestPruneKilledAtEveryStep leaves every record that is still there with everything it needs.
func TestPruneKilledAtEveryStep(t *testing.T) {
	s := prepared(t, false)
	h := s.h
	h.Apply(t, s.tx)
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	require.Len(t, list, 3)
	saved := t.TempDir()
	copyTree(t, h.Home, filepath.Join(saved, "home"))
	for n := 1; ; n += stride {
		require.NoError(t, os.RemoveAll(h.Home))
		copyTree(t, filepath.Join(saved, "home"), h.Home)
		died := dies(t, order{Action: "prune", Home: h.Home, IDs: []string{list[0].ID}, Die: n})
		left, warnings, err := h.Snapshots.List(t.Context(), h.Home)
		require.NoError(t, err)
		require.Empty(t, warnings)
		for _, snapshot := range left {
			for _, c := range snapshot.Changes {
				for _, seen := range []deployment.Seen{c.Before, c.After} {
					if seen.Kind == deployment.Regular {
						_, err := h.Snapshots.Blob(t.Context(), h.Home, seen.Sum)
						require.NoError(t, err, c.Path)
					}
				}
			}
		}
		if !died {
			assert.Len(t, left, 2)
			break
		}
	}
}
