package sandboxes_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

// transcript is calls with the results that an agent gets.
type transcript struct {
	*sandboxrig.Rig
	text strings.Builder
}

func (s *transcript) call(name tool.Name, in args) {
	s.T.Helper()
	s.add(string(name), s.Confirmed(name, in), in)
}

// planned is a call in the mode in which nothing is changed.
func (s *transcript) planned(name tool.Name, in args) {
	s.T.Helper()
	c := s.Core.New(name, in)
	c.Mode = policy.Plan
	o := s.Call(s.T.Context(), c)
	require.NoError(s.T, o.Err)
	require.True(s.T, o.DryRun, "%s", name)
	s.add(string(name)+" in plan mode", o, in)
}

func (s *transcript) add(title string, o tool.Outcome, in args) {
	s.T.Helper()
	doc, err := golden.Indent(present.For(present.Opencode)(o).Object)
	require.NoError(s.T, err)
	fmt.Fprintf(&s.text, "-- %s %s --\n%s\n", title, s.Plain(string(sandboxrig.JSON(s.T, in))), s.Plain(string(doc)))
}

// TestOutcomes records the results of the 18 tools (opencode contract §13): without a project, with one, and afterwards.
func TestOutcomes(t *testing.T) {
	s := &transcript{Rig: sandboxrig.New(t)}
	url, _ := s.Origin("shop", nil)
	project, box := args{"git_url": url}, args{"git_url": url, "name": "one"}
	for _, name := range []tool.Name{list, "opencode_mcp_status", "opencode_mcp_restart", "opencode_stop_mcp_tool", "opencode_detect_duplicates", "opencode_cleanup_orphaned", "opencode_llm_config"} {
		s.call(name, args{})
	}
	for _, name := range []tool.Name{status, stop, restart, destroy, "opencode_sandbox_list"} {
		s.call(name, project)
	}
	s.call(create, box)
	s.call(start, args{"git_url": "no url"})
	s.planned(start, project)
	s.call(start, project)
	s.call(start, project)
	for _, name := range []tool.Name{stop, restart, destroy} {
		s.planned(name, project)
	}
	s.call(status, project)
	s.planned(create, box)
	s.call(create, box)
	s.call(create, box)
	s.call("opencode_sandbox_list", project)
	s.planned("opencode_sandbox_reset", box)
	s.call("opencode_sandbox_reset", box)
	s.planned("opencode_sandbox_delete", box)
	s.Write(filepath.Join(s.Home, ".opencode-projects"), filepath.Base(filepath.Dir(url))+"-shop/worktrees/one/mine.txt", "mine\n")
	s.call("opencode_sandbox_delete", box)
	s.call(destroy, project)
	s.call("opencode_sandbox_delete", args{"git_url": url, "name": "one", "force": true})
	s.call("opencode_sandbox_delete", box)
	for _, name := range []tool.Name{"opencode_mcp_status", "opencode_mcp_restart", "opencode_stop_mcp_tool", "opencode_mcp_status"} {
		s.call(name, args{})
	}
	s.call("opencode_get_deploy_key", args{"git_url": "git@github.com:Acme/Shop.git"})
	s.planned("opencode_llm_set_model", args{"model": "openai/gpt-fake/preview"})
	s.call("opencode_llm_set_model", args{"model": "openai/gpt-fake/preview"})
	s.call("opencode_llm_set_model", args{"model": "none"})
	s.call("opencode_llm_config", args{})
	s.call(list, args{})
	s.call(restart, project)
	s.call(stop, project)
	s.call(destroy, project)
	golden.Text(t, "outcomes", s.text.String())
}
