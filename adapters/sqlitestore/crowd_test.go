package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// The test binary runs itself as another process that uses the database which its environment names.
const projectEnvPath = "PROJECTDB_TEST_PATH"

// crowdChild is that process.
func crowdChild(path string) {
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end of standard input is the signal to start
	s := sqlitestore.Open(path)
	done, err := crowd(sqlitestore.NewCatalogue(s), hectic)
	fmt.Println(done, err)
	if err := s.Close(); err != nil {
		fmt.Println("close:", err)
		os.Exit(1)
	}
}

// hectic is how long everybody uses the database at once.
const hectic = 5 * time.Second

// crowd has eight goroutines change one project, and read and write executions, as fast as they can. It is how many changes of the project
// succeeded, and the first failure.
func crowd(c projectport.Catalogue, d time.Duration) (changes int64, err error) {
	var group sync.WaitGroup
	var done atomic.Int64
	var failed atomic.Pointer[error]
	until := time.Now().Add(d)
	for range 8 {
		group.Go(func() {
			for time.Now().Before(until) && failed.Load() == nil {
				if err := use(c); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	if first := failed.Load(); first != nil {
		return done.Load(), *first
	}
	return done.Load(), nil
}

func use(c projectport.Catalogue) error {
	ctx := context.Background()
	if _, err := c.Projects.List(ctx); err != nil {
		return err
	}
	if _, _, err := c.Executions.List(ctx, project.ExecutionFilter{Limit: 5}); err != nil {
		return err
	}
	if err := c.Executions.Prune(ctx, "wf", 3, time.Now()); err != nil {
		return err
	}
	_, err := c.Projects.Update(ctx, "one", func(*project.Project) error { return nil })
	return err
}

// TestNobodyIsToldThatTheDatabaseIsBusy: two stores here and two other processes use one database at once.
func TestNobodyIsToldThatTheDatabaseIsBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	one, two := projectStoreAt(t, path), projectStoreAt(t, path)
	stock(t, sqlitestore.NewCatalogue(one))
	self, err := os.Executable()
	require.NoError(t, err)
	var said []*bufio.Scanner
	var starts []io.Closer
	for range 2 {
		cmd := exec.Command(self)
		cmd.Env, cmd.Stderr = append(os.Environ(), projectEnvPath+"="+path), os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			cmd.Process.Kill() //nolint:errcheck // it has ended when all went well
			cmd.Wait()         //nolint:errcheck // likewise
		})
		said, starts = append(said, bufio.NewScanner(out)), append(starts, in)
	}
	for _, s := range starts {
		require.NoError(t, s.Close())
	}
	var total atomic.Int64
	var group sync.WaitGroup
	for _, s := range []*sqlitestore.Store{one, two} {
		group.Go(func() {
			n, err := crowd(sqlitestore.NewCatalogue(s), hectic)
			assert.NoError(t, err)
			total.Add(n)
		})
	}
	group.Wait()
	for _, out := range said {
		require.True(t, out.Scan())
		var n int64
		_, err := fmt.Sscan(out.Text(), &n)
		require.NoError(t, err, out.Text())
		assert.True(t, strings.HasSuffix(out.Text(), "<nil>"), out.Text())
		assert.False(t, out.Scan(), out.Text())
		total.Add(n)
	}
	have, err := sqlitestore.NewCatalogue(one).Projects.Find(t.Context(), "one")
	require.NoError(t, err)
	assert.Equal(t, 1+total.Load(), have.Revision, "and nothing was lost")
	t.Logf("%d rounds in %v", total.Load(), hectic)
}
