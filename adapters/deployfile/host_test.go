package deployfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// machineHost is a machine to deploy to, with a home and a place of its own.
type machineHost struct {
	Machine   deployport.Machine
	Snapshots deployport.Snapshots
	Recovery  deployport.Recovery
	Clock     *clock.Fake // that the machine tells the time by
	Home      string      // need not exist
	Dir       string      // an empty directory: what roots go below

	// Die applies a transaction in a process that is killed at its nth step, and reports whether it came to that. Nil where nothing can be killed.
	Die func(t *testing.T, tx deployment.Transaction, n int) bool
}

// Path is a path below the host's directory.
func (h machineHost) Path(elem ...string) string {
	return filepath.Join(append([]string{h.Dir}, elem...)...)
}

// Put writes a file as a person would, with exactly that mode.
func (h machineHost) Put(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	require.NoError(t, os.Chmod(path, mode))
}

// Root is a root of a target below the host's directory.
func (h machineHost) Root(target string, elem ...string) deployment.Root {
	return deployment.Root{Target: target, Path: h.Path(elem...), ScanExtras: true}
}

// Apply carries a transaction out; it must succeed.
func (h machineHost) Apply(t testing.TB, tx deployment.Transaction) string {
	t.Helper()
	id, err := h.Machine.Apply(t.Context(), tx, nil)
	require.NoError(t, err)
	h.Clock.Advance(time.Second)
	return id
}

// tree is everything below some directories: kind, permission bits and content by path.
func tree(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			text := ""
			switch {
			case info.Mode().IsRegular():
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text = string(data)
			case info.Mode()&fs.ModeSymlink != 0:
				if text, err = os.Readlink(path); err != nil {
					return err
				}
			}
			tree[path] = info.Mode().String() + " " + text
			return nil
		})
		require.NoError(t, err)
	}
	return tree
}

// wish is a whole file that should be there.
type wish struct {
	Path, Text string
	Mode       fs.FileMode // Plain when it is zero
}

// Deploy is the transaction that makes wishes come true in some roots, worked out as a deployment does.
func (h machineHost) Deploy(t testing.TB, roots []deployment.Root, wishes ...wish) deployment.Transaction {
	t.Helper()
	return h.DeployAs(t, "", roots, wishes...)
}

// DeployAs is Deploy of a config repository.
func (h machineHost) DeployAs(t testing.TB, repo string, roots []deployment.Root, wishes ...wish) deployment.Transaction {
	t.Helper()
	return h.PlanAs(t, repo, roots, wishes...).Transaction(h.place(repo), deployment.KindDeploy, deployment.Sum{})
}

func (h machineHost) place(repo string) deployment.Locations {
	return deployment.Locations{Home: h.Home, Repo: repo, ProjectRoot: h.Dir}
}

// PlanAs is the plan that makes wishes of a config repository come true.
func (h machineHost) PlanAs(t testing.TB, repo string, roots []deployment.Root, wishes ...wish) deployment.Plan {
	t.Helper()
	w := deployment.Wanted{Roots: roots, Targets: []string{}, Repo: repo}
	var paths []string
	for _, wish := range wishes {
		if wish.Mode == 0 {
			wish.Mode = deployment.PlainMode
		}
		for _, r := range roots {
			if deployment.IsBelow(r.Path, wish.Path, filepath.Separator) {
				w.Files = append(w.Files, deployment.Desired{Target: r.Target, Root: r.Path, Path: wish.Path, Mode: wish.Mode,
					Content: deployment.ContentOf([]byte(wish.Text)), Modules: []string{"skill:" + filepath.Base(wish.Path)}})
			}
		}
		paths = append(paths, wish.Path)
	}
	for _, r := range roots {
		w.Targets = append(w.Targets, r.Target)
	}
	seen, err := h.Machine.Observe(t.Context(), deployport.Look{Place: h.place(repo), Repo: repo, Roots: roots, Paths: paths})
	require.NoError(t, err)
	p, err := deployment.NewPlan(w, seen)
	require.NoError(t, err)
	return p
}

// Inverse is the transaction that takes an operation back, by its record. The manifests are left to whoever applies it.
func (h machineHost) Inverse(t testing.TB, id string, roots []deployment.Root, owned []deployment.Owned) deployment.Transaction {
	t.Helper()
	s, err := h.Snapshots.Load(t.Context(), h.Home, id)
	require.NoError(t, err)
	tx := deployment.Transaction{Kind: deployment.KindRollback, Place: deployment.Locations{Home: h.Home}, Targets: s.Targets, Roots: roots, Owned: owned, Claim: true,
		RolledBackTo: deployment.InitialSnapshot}
	for _, c := range s.Changes {
		if strings.HasPrefix(filepath.Base(c.Path), ".agentpack.manifest.") {
			continue
		}
		w := deployment.Write{Target: c.Target, Op: deployment.OpUpdate, Path: c.Path, Before: c.After, After: c.Before,
			Data: deployment.Content{Sum: c.Before.Sum, Size: c.Before.Size}}
		if c.Before.Kind == deployment.Absent {
			w.Op = deployment.OpDelete
		}
		tx.Writes = append(tx.Writes, w)
	}
	return tx
}
