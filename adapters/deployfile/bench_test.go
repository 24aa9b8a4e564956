package deployfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// creates is a transaction that makes n files of about 4 KiB, ten a directory.
func creates(home, root string, n int) deployment.Transaction {
	body := strings.Repeat("Line by line, what an agent should know.\n", 110)
	t := deployment.Transaction{Kind: deployment.KindDeploy, Place: deployment.Locations{Home: home}, Targets: []string{"codex"}, Claim: true,
		Roots: []deployment.Root{{Target: "codex", Path: root}}}
	for i := range n {
		path := filepath.Join(root, "skills", fmt.Sprintf("some-skill-%04d", i/10), "references", fmt.Sprintf("topic-%d.md", i%10))
		data := deployment.ContentOf(fmt.Appendf(nil, "%d\n%s", i, body[i%400:]))
		t.Writes = append(t.Writes, deployment.Write{Target: "codex", Op: deployment.OpCreate, Path: path, Root: root, Data: data,
			After: deployment.Seen{Kind: deployment.Regular, Sum: data.Sum, Size: data.Size, Mode: deployment.PlainMode}})
		t.Owned = append(t.Owned, deployment.Owned{Target: "codex", Root: root, Path: path, Sum: data.Sum, Mode: deployment.PlainMode, Modules: []string{"skill:some-skill"}})
	}
	return t
}

// BenchmarkApply makes files in an empty root; the floor writes the same files, each beside its place and then renamed, with as many
// goroutines.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		base := b.TempDir()
		b.Run(fmt.Sprintf("creates/%d", n), func(b *testing.B) {
			m := deployfile.NewMachine(deployfile.Options{Index: observe.OpenIndex(""), Clock: &clock.Fake{}})
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				dir := filepath.Join(base, fmt.Sprint("apply", i))
				require.NoError(b, os.MkdirAll(filepath.Join(dir, "root"), 0o755))
				t := creates(filepath.Join(dir, "home"), filepath.Join(dir, "root"), n)
				b.StartTimer()
				_, err := m.Apply(b.Context(), t, nil)
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, os.RemoveAll(dir))
				b.StartTimer()
			}
		})
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("floor/%d/workers=%d", n, workers), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					b.StopTimer()
					dir := filepath.Join(base, fmt.Sprint("floor", i))
					t := creates(filepath.Join(dir, "home"), filepath.Join(dir, "root"), n)
					b.StartTimer()
					writeAll(b, t, workers)
					b.StopTimer()
					require.NoError(b, os.RemoveAll(dir))
					b.StartTimer()
				}
			})
		}
	}
}

func writeAll(b *testing.B, t deployment.Transaction, workers int) {
	var group errgroup.Group
	share := (len(t.Writes) + workers - 1) / workers
	for begin := 0; begin < len(t.Writes); begin += share {
		group.Go(func() error {
			for _, w := range t.Writes[begin:min(begin+share, len(t.Writes))] {
				if err := writeOne(w); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
}

func writeOne(w deployment.Write) error {
	temp := w.Path + ".tmp"
	err := os.WriteFile(temp, w.Data.Data, 0o644)
	if os.IsNotExist(err) {
		if err := os.MkdirAll(filepath.Dir(w.Path), 0o755); err != nil {
			return err
		}
		err = os.WriteFile(temp, w.Data.Data, 0o644)
	}
	if err != nil {
		return err
	}
	return os.Rename(temp, w.Path)
}

// BenchmarkContents reads what is kept of a thousand files, as a plan does for files that were edited here; the floor is reading the archive once.
func BenchmarkContents(b *testing.B) {
	dir := b.TempDir()
	home, root := filepath.Join(dir, "home"), filepath.Join(dir, "root")
	require.NoError(b, os.MkdirAll(root, 0o755))
	m := deployfile.NewMachine(deployfile.Options{Index: observe.OpenIndex(""), Clock: &clock.Fake{}})
	t := creates(home, root, 1_000)
	_, err := m.Apply(b.Context(), t, nil)
	require.NoError(b, err)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			kept, done, err := m.Open(b.Context(), home)
			require.NoError(b, err)
			for i := range t.Owned {
				if _, err := kept.Blob(b.Context(), home, t.Owned[i].Sum); err != nil {
					b.Fatal(err)
				}
			}
			done()
		}
	})
	b.Run("floor", func(b *testing.B) {
		archives, err := filepath.Glob(filepath.Join(home, "state", "vault", "*.zip"))
		require.NoError(b, err)
		require.Len(b, archives, 1)
		for b.Loop() {
			_, err := os.ReadFile(archives[0])
			require.NoError(b, err)
		}
	})
}
