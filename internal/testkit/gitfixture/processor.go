//go:build unix

package gitfixture

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Processor is the processor time, of the user and the system, that this process and the programs that have ended under it have used. On a busy machine it
// tells more than a clock.
func Processor(tb testing.TB) (used time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		require.NoError(tb, syscall.Getrusage(who, &u))
		used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return used
}
