//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOutputStandsBelowItsStep: on a terminal, what a step printed stands below its line and above that of the next step, however fast it was.
func TestOutputStandsBelowItsStep(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	w := newWorkshop(t)
	shop := w.shop(map[string]string{"hi": "echo hi"}, nil)
	w.must("workflow", "create", "rel", "--project", shop, "--yes")
	for _, name := range []string{"one", "two", "six"} {
		w.must("workflow", "add-step", "rel", name, "--yes", "--", "echo", "said by "+name)
	}
	seen, code := w.atTerminal("", "workflow", "run", "rel", "--yes")
	assert.Zero(t, code, seen)
	assert.Regexp(t, `(?s)step 1 of 3: one.*said by one.*step 2 of 3: two.*said by two.*step 3 of 3: six.*said by six.*\[OK\] one.*\[OK\] two.*\[OK\] six`, seen)
	assert.NotContains(t, seen, "[RUN]", "its line stands above the output")
}
