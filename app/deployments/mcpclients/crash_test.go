package mcpclients_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// dieVariable names, in a test binary that is to be a child process, the step at which it kills itself; topVariable the directory it works in.
const (
	dieVariable = "CONNECTING_TEST_DIE"
	topVariable = "CONNECTING_TEST_TOP"
)

// TestChild is the child: it connects a host and dies on the way.
func TestChild(t *testing.T) {
	if os.Getenv(dieVariable) == "" {
		return
	}
	s := newStage(t)
	top := os.Getenv(topVariable)
	s.top, s.home, s.project, s.own = top, filepath.Join(top, "home"), filepath.Join(top, "project"), filepath.Join(top, "home", ".countersign")
	for name, path := range map[string]string{"HOME": s.home, "AGENTPACK_HOME": filepath.Join(s.home, ".agentpack")} {
		s.env[name] = path
	}
	var steps atomic.Int64
	s.step = func(string, string) {
		if strconv.FormatInt(steps.Add(1), 10) == os.Getenv(dieVariable) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	s.must(args{"host": "claude-code"})
}

// TestKilledAtEveryStep: whenever the process dies, the document is either unchanged or as planned; the next connect finishes the operation.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	const doc = "{\n  // mine\n  \"a\": 1\n}\n"
	for n := 1; ; n++ {
		s := newStage(t)
		path := s.put(filepath.Join(s.home, ".claude.json"), doc)
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestChild$")
		child.Env = append(os.Environ(), dieVariable+"="+strconv.Itoa(n), topVariable+"="+s.top)
		out, err := child.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			require.NoError(t, err, string(out))
			require.Greater(t, n, 8, "there are steps to die at")
			return
		}
		require.True(t, exit.Sys().(syscall.WaitStatus).Signaled(), string(out))
		if text := s.read(path); text != doc {
			assert.Contains(t, text, program, "step %d", n)
		}
		s.twice(args{"host": "claude-code"})
		assert.Contains(t, s.read(path), program)
		assert.Equal(t, "already_connected", s.must(args{"host": "claude-code"}).State)
		s.twice(args{"host": "claude-code", "remove": true})
		assert.Equal(t, doc, s.read(path), "step %d", n)
	}
}

// twice is a call that is repeated if it finds an interrupted one.
func (s *stage) twice(a args) {
	s.Helper()
	if _, err := s.try(a); err != nil {
		require.ErrorIs(s, err, deployment.ErrStale)
		s.must(a)
	}
}
