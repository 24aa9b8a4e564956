package system_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/ports"
)

var _ ports.Owner = system.Owner{}

func TestOwnerKnowsItself(t *testing.T) {
	self := system.Owner{}.Self()
	assert.Equal(t, self, system.Owner{}.Self())
	assert.True(t, strings.HasPrefix(self, strconv.Itoa(os.Getpid())+" "), self)
	assert.Len(t, strings.Fields(self), 3)
	assert.True(t, system.Owner{}.Alive(self))
}

// TestOwnerTellsProcessesApart: a process that is gone, and one that has its number now.
func TestOwnerTellsProcessesApart(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc: a process is told apart by its number alone")
	}
	parts := strings.Fields(system.Owner{}.Self())
	for name, other := range map[string]string{
		"started at another time":         parts[0] + " 1 " + parts[2],
		"before the machine's last start": parts[0] + " " + parts[1] + " 00000000-0000-0000-0000-000000000000",
		"no process":                      "2147483647 1 " + parts[2],
	} {
		assert.False(t, system.Owner{}.Alive(other), name)
	}
}

func TestOwnerOfAnEndedProcessIsDead(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self, "-test.run=^$")
	in, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(child.Process.Pid) + "/stat")
	require.NoError(t, err)
	began := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[19]
	name := strconv.Itoa(child.Process.Pid) + " " + began + " " + strings.Fields(system.Owner{}.Self())[2]
	require.NoError(t, in.Close())
	require.NoError(t, child.Wait())
	assert.False(t, system.Owner{}.Alive(name))
}

func TestOwnerRefusesWhatIsNoName(t *testing.T) {
	for _, bad := range []string{"", "x", "1", "1 2", "0 - -", "-1 - -", "x - -", "1 2 3 4", "99999999999999999999 - -"} {
		assert.False(t, system.Owner{}.Alive(bad), "%q", bad)
	}
}
