package deployfile_test

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// childVariable names the order of a test binary that is to be a child process.
const childVariable = "DEPLOYFILE_TEST_CHILD"

// order is what a child does.
type order struct {
	Action string // apply, resume, undo, prune
	Home   string
	At     time.Time
	Die    int // kills itself at this step; zero: never
	Tx     deployment.Transaction
	IDs    []string
}

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := obey(path); err != nil {
			fmt.Println(fault.From(err).Code)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// obey carries out an order, and dies in it when it says so.
func obey(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var o order
	if err := gob.NewDecoder(f).Decode(&o); err != nil {
		return err
	}
	var steps atomic.Int64
	step := func(string, string) {
		if steps.Add(1) == int64(o.Die) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	c := &clock.Fake{}
	c.Set(o.At)
	m := deployfile.NewMachine(deployfile.Options{Index: observe.OpenIndex(""), Clock: c, Step: step})
	ctx := context.Background()
	switch o.Action {
	case "apply":
		_, err = m.Apply(ctx, o.Tx, nil)
	case "resume":
		_, err = m.Resume(ctx, o.Home)
	case "undo":
		_, err = m.Undo(ctx, o.Home)
	case "prune":
		_, err = m.Prune(ctx, o.Home, o.IDs)
	default:
		err = errors.New(o.Action)
	}
	return err
}

// command is a child that will carry out an order.
func command(t testing.TB, o order) *exec.Cmd {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "order"))
	require.NoError(t, err)
	require.NoError(t, gob.NewEncoder(f).Encode(o))
	require.NoError(t, f.Close())
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+f.Name())
	cmd.Stderr = os.Stderr
	return cmd
}

// dies has a child carry out an order, and reports whether it was killed; otherwise it must succeed.
func dies(t testing.TB, o order) bool {
	t.Helper()
	out, err := command(t, o).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return true
	}
	require.NoError(t, err, "%s", out)
	return false
}
