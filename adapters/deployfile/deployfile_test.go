package deployfile_test

import (
	"path/filepath"
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/internal/testkit/clock"

	"github.com/countersign-dev/countersign/ports/deployport"
)

var (
	_ deployport.Machine   = (*deployfile.Machine)(nil)
	_ deployport.Snapshots = (*deployfile.Machine)(nil)
	_ deployport.Recovery  = (*deployfile.Machine)(nil)
)

func host(t *testing.T) machineHost { return hostWith(t, t.TempDir(), nil) }

func hostWith(t testing.TB, dir string, step func(step, path string)) machineHost {
	c := &clock.Fake{}
	m := deployfile.NewMachine(deployfile.Options{Index: observe.OpenIndex(""), Clock: c, Step: step})
	return machineHost{Machine: m, Snapshots: m, Recovery: m, Clock: c, Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "place")}
}

func TestApplying(t *testing.T) { applying(t, host) }
