package local_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// everyTool returns the spec of every tool there is, those for users only too.
func everyTool(t *testing.T) (specs []tool.Spec) {
	t.Helper()
	l := whole(t)
	for _, set := range l.Toolsets() {
		for _, name := range slices.Concat(set.Served, set.Hidden) {
			s, ok := l.Spec(tool.Name(name))
			assert.True(t, ok, "%s of %s", name, set.Name)
			specs = append(specs, s)
		}
	}
	return specs
}

// asks is in words when the user is asked about a tool's plans where only users confirm.
func asks(s tool.Spec) string {
	least := max(s.Confirm, s.Human)
	switch {
	case least == policy.None && s.When == "":
		return "never"
	case s.When == "":
		return "always"
	}
	return s.When
}

// TestDecisionTable: who is asked about what, tool by tool. A line that moves is a promise that moves: read it.
func TestDecisionTable(t *testing.T) {
	lines := []string{fmt.Sprintf("%-28s %-10s %-8s %-7s %s", "TOOL", "CLASS", "CONTRACT", "PEOPLE", "A PERSON IS ASKED")}
	for _, s := range everyTool(t) {
		if s.Class == policy.ClassRead {
			assert.Equal(t, policy.None, s.Human, "%s only reads", s.Name)
			continue
		}
		name := string(s.Name)
		if s.UserOnly {
			name += " *"
		}
		lines = append(lines, fmt.Sprintf("%-28s %-10s %-8s %-7s %s", name, s.Class, s.Confirm, max(s.Confirm, s.Human), asks(s)))
	}
	slices.Sort(lines[1:])
	lines = append(lines, "", "* served to people alone")
	golden.Text(t, "decisions", strings.Join(lines, "\n")+"\n")
}

// TestNothingChangesUnasked: every tool that changes more than Countersign's own notes asks where only users confirm, but for those named here.
func TestNothingChangesUnasked(t *testing.T) {
	excepted := []tool.Name{
		"agents_record", "opencode_get_deploy_key", "sandbox_restore", // make what is Countersign's own, and run nothing
		"opencode_sandbox_create", // likewise; what it runs is asked about
		"opencode_sandbox_delete", // takes away what is clean and merged; anything else is asked about
		"sandbox_archive",         // likewise, and refuses anything else
	}
	var unasked []tool.Name
	for _, s := range everyTool(t) {
		registering := s.UserOnly && s.Toolset == "workbench" // the user says what to store, in so many words
		if s.Class >= policy.ClassWrite && max(s.Confirm, s.Human) == policy.None && !registering {
			unasked = append(unasked, s.Name)
		}
	}
	assert.ElementsMatch(t, excepted, unasked)
}
