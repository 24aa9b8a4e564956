package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// trouble is one way to get an error: what is wrong, and the call that meets it.
type trouble struct {
	name, code string
	make       func(*site)                  // what is wrong with the machine; may be nil
	tool       string                       // default plan
	args       args                         // of the call
	call       func(*site, *agent) envelope // instead of tool and args
}

// config is trouble with agentpack.yaml: a text in it that is changed.
func config(name, code, old, changed string) trouble {
	return trouble{name: name, code: code, make: func(s *site) { edit(s.t, s.inRepo("agentpack.yaml"), old, changed) }}
}

// file is trouble with a file of the config repository, which gets this text.
func file(name, code, path, text string) trouble {
	return trouble{name: name, code: code, make: func(s *site) { write(s.t, s.inRepo(path), text) }}
}

// call is trouble with the arguments.
func call(name, code, tool string, a args) trouble {
	return trouble{name: name, code: code, tool: tool, args: a}
}

func configTroubles() []trouble {
	const invalid, skill = "E_CONFIG_INVALID", "modules/skills/release-notes/SKILL.md"
	return []trouble{
		{name: "no config repository", code: "E_CONFIG_MISSING", args: args{"repo": "nowhere"}},
		file("manifest is no YAML", invalid, "agentpack.yaml", "version: [1\n"),
		config("version of another tool", "E_CONFIG_UNSUPPORTED_VERSION", "version: 1", "version: 2"),
		config("no default profile", invalid, "  default:", "  other:"),
		config("module twice", invalid, `id: "command:tidy"`, `id: "prompt:review"`),
		config("unknown module type", invalid, "type: command", "type: macro"),
		config("two sources", invalid, "local_path: {path: modules/commands/tidy.md}", "local_path: {path: modules/commands/tidy.md}\n      git: {url: x}"),
		config("source that is not there", invalid, "modules/commands/tidy.md", "modules/commands/gone.md"),
		config("source outside", "E_CONFIG_INVALID", "modules/commands/tidy.md", "../tidy.md"),
		config("scope that a target lacks", invalid, "  cursor:\n    mode: files\n    scope: project", "  ai_assistant:\n    mode: files\n    scope: user"),
		config("mode that there is not", invalid, "mode: files", "mode: links"),
		config("unknown target", "E_TARGET_UNSUPPORTED", "  cursor:", "  emacs:"),
		config("unknown target of a module", "E_TARGET_UNSUPPORTED", "targets: [claude_code]", "targets: [emacs]"),
		config("two modules want one file", "E_DESIRED_STATE_CONFLICT", "  - id: \"command:tidy\"",
			"  - {id: \"command:tidy2\", type: command, tags: [base], source: {local_path: {path: other/tidy.md}}}\n  - id: \"command:tidy\"").and(
			func(s *site) { write(s.t, s.inRepo("other/tidy.md"), "---\ndescription: another\n---\n") }),
		{name: "instructions without AGENTS.md", code: invalid, make: func(s *site) { require.NoError(s.t, os.Remove(s.inRepo("modules/instructions/base/AGENTS.md"))) }},
		file("skill without frontmatter", invalid, skill, "# no frontmatter\n"),
		file("skill without description", invalid, skill, "---\nname: x\n---\n"),
		file("skill with blank name", invalid, skill, "---\nname: ' '\ndescription: x\n---\n"),
		file("skill with frontmatter that does not end", invalid, skill, "---\nname: x\n"),
		file("command without frontmatter", invalid, "modules/commands/tidy.md", "just text\n"),
		file("command that runs what it may not", invalid, "modules/commands/tidy.md", "---\ndescription: x\n---\n!bash ls\n"),
		config("prompt of two files", invalid, "modules/prompts/review.md", "modules/prompts").and(func(s *site) { write(s.t, s.inRepo("modules/prompts/other.md"), "x\n") }),
		file("overlay of two kinds", invalid, "overlays/machines/workbench/instructions_style--e4b8195334/AGENTS.md", "# Style\n"),
		file("overlay without a readable kind", invalid, "overlays/prompt_review--f892914c82/.agentpack/overlay.json", "{"),
		file("patch that does not apply", "E_OVERLAY_PATCH_APPLY_FAILED", "modules/instructions/style/AGENTS.md", "# Another text\n"),
		file("conflicts left by a rebase", "E_OVERLAY_CONFLICTS_UNRESOLVED", "overlays/machines/workbench/instructions_style--e4b8195334/.agentpack/conflicts/AGENTS.md", "<<<<<<< ours\n"),
		file("lockfile that is no JSON", "E_LOCKFILE_INVALID", "agentpack.lock.json", "{"),
		file("lockfile of another version", "E_LOCKFILE_UNSUPPORTED_VERSION", "agentpack.lock.json", `{"version":2,"generated_at":"2026-03-01T10:00:00Z","modules":[]}`),
	}
}

// and does more to the machine.
func (c trouble) and(more func(*site)) trouble {
	first := c.make
	c.make = func(s *site) {
		first(s)
		more(s)
	}
	return c
}

func callTroubles() []trouble {
	const invalid = "E_CONFIG_INVALID"
	yes := args{"yes": true}
	return []trouble{
		call("unknown target in a call", "E_TARGET_UNSUPPORTED", "plan", args{"target": "emacs"}),
		call("target that is not configured", invalid, "plan", args{"target": "zed"}),
		call("unknown profile", invalid, "plan", args{"profile": "night"}),
		call("unknown argument", invalid, "plan", args{"profil": "default"}),
		call("argument of another type", invalid, "preview", args{"diff": "yes"}),
		call("value that there is not", invalid, "status", args{"only": []string{"changed"}}),
		call("explain nothing", invalid, "explain", nil),
		call("apply without yes", "E_CONFIRM_REQUIRED", "deploy_apply", nil),
		call("apply without token", "E_CONFIRM_TOKEN_REQUIRED", "deploy_apply", yes),
		call("apply with a token that there is not", "E_CONFIRM_TOKEN_MISMATCH", "deploy_apply", args{"yes": true, "confirm_token": "x"}),
		{name: "apply of another plan", code: "E_CONFIRM_TOKEN_MISMATCH", call: func(s *site, a *agent) envelope {
			offer := a.does("deploy", nil)
			return a.ask("deploy_apply", args{"yes": true, "confirm_token": offer.Token, "target": "cursor"})
		}},
		{name: "apply over a user's file", code: "E_ADOPT_CONFIRM_REQUIRED", make: (*site).userFiles, call: func(_ *site, a *agent) envelope {
			return a.ask("deploy_apply", args{"yes": true, "confirm_token": a.does("deploy", nil).Token})
		}},
		call("rollback without yes", "E_CONFIRM_REQUIRED", "rollback", args{"to": "initial"}),
		call("rollback to nothing", invalid, "rollback", yes),
		call("rollback to a snapshot that there is not", "E_SNAPSHOT_NOT_FOUND", "rollback", args{"to": "1", "yes": true}),
		{name: "rollback to a damaged snapshot", code: "E_SNAPSHOT_DAMAGED", call: func(s *site, a *agent) envelope {
			id := a.deploys(nil).Snapshot
			write(s.t, filepath.Join(s.state, "state/snapshots", id+".json"), "{")
			return a.ask("rollback", args{"to": id, "yes": true})
		}},
		{name: "restore without yes", code: "E_CONFIRM_REQUIRED", tool: "evolve_restore"},
		call("unknown scope of a proposal", invalid, "evolve_propose", args{"scope": "planet"}),
	}
}

func machineTroubles() []trouble {
	drifted := func(s *site) { edit(s.t, s.inProject("AGENTS.md"), "Ask before", "Always ask before") }
	propose := func(prepare func(*site)) func(*site, *agent) envelope {
		return func(s *site, a *agent) envelope {
			a.deploys(nil)
			drifted(s)
			if prepare != nil {
				prepare(s)
			}
			return s.agent().ask("evolve_propose", args{"yes": true, "branch": "proposal"})
		}
	}
	return []trouble{
		{name: "home as project", code: "E_PROJECT_REQUIRED", make: func(s *site) { s.env["AGENTPACK_SCOPE"] = "project" }, call: func(s *site, _ *agent) envelope { return s.agentIn(s.home).ask("plan", nil) }},
		{name: "directory where a file goes", code: "E_IO_INVALID_PATH", make: func(s *site) { require.NoError(s.t, os.MkdirAll(s.inProject("AGENTS.md/x"), 0o755)) }},
		{name: "name that is too long", code: "E_IO_PATH_TOO_LONG", make: func(s *site) {
			edit(s.t, s.inRepo("agentpack.yaml"), "scope: both\n  claude_code", "scope: both\n    options: {codex_home: ~/"+strings.Repeat("x", 300)+"}\n  claude_code")
		}},
		{name: "broken document", code: "E_CONFIG_INVALID", make: func(s *site) {
			s.partsConfig()
			write(s.t, s.inProject(".mcp.json"), "{")
		}},
		{name: "git module without lockfile", code: "E_LOCKFILE_MISSING", make: func(s *site) {
			s.gitModule("x\n")
			require.NoError(s.t, os.Remove(s.inRepo("agentpack.lock.json")))
		}},
		{name: "git module offline", code: "E_OFFLINE", make: func(s *site) {
			s.gitModule("x\n")
			s.env["AGENTPACK_OFFLINE"] = "1"
		}},
		{name: "git module without git", code: "E_GIT_NOT_FOUND", make: func(s *site) {
			s.gitModule("x\n")
			s.env["PATH"] = s.outside
		}},
		{name: "git module that is gone", code: "E_GIT_FAILED", make: func(s *site) {
			upstream, _ := s.gitModule("x\n")
			require.NoError(s.t, os.RemoveAll(upstream))
		}},
		{name: "git module that was locked otherwise", code: "E_CONTENT_MISMATCH", make: func(s *site) {
			upstream, commit := s.gitModule("x\n")
			s.lock(upstream, commit, "y\n")
		}},
		{name: "proposal without yes", code: "E_CONFIRM_REQUIRED", call: func(s *site, a *agent) envelope {
			a.deploys(nil)
			drifted(s)
			return a.ask("evolve_propose", nil)
		}},
		{name: "proposal without repository", code: "E_GIT_REPO_REQUIRED", call: propose(nil)},
		{name: "proposal over open changes", code: "E_GIT_WORKTREE_DIRTY", call: propose(func(s *site) {
			s.commitRepo()
			write(s.t, s.inRepo("open.md"), "x")
		})},
		{name: "proposal on a branch that is there", code: "E_GIT_FAILED", call: propose(func(s *site) {
			s.commitRepo()
			s.git(s.repo, "branch", "proposal")
		})},
		{name: "proposal without git", code: "E_GIT_NOT_FOUND", call: propose(func(s *site) {
			s.commitRepo()
			s.env["PATH"] = s.outside
		})},
		{name: "changed while it waited", code: "E_PLAN_STALE", call: changedMeanwhile},
		{name: "mode that forbids", code: "E_POLICY_DENIED", call: func(s *site, _ *agent) envelope {
			return s.agentIn(s.project, "--mode", "ask").ask("rollback", args{"to": "initial", "yes": true})
		}},
		{name: "person has to approve", code: "E_CONFIRM_PENDING", call: func(s *site, a *agent) envelope {
			a.deploys(nil)
			return s.agentIn(s.project, "--approval", "human", "--confirm-wait", "0s").ask("rollback", args{"to": "initial", "yes": true})
		}},
	}
}

// TestEveryError is one table of how to get every code that the eleven tools can give in a test, with what each says to machines and to
// people. Those of killed and expired deployments have tests of their own.
func TestEveryError(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	all := map[string]json.RawMessage{}
	t.Run("each", func(t *testing.T) {
		for _, troubles := range [][]trouble{configTroubles(), callTroubles(), machineTroubles()} {
			for _, c := range troubles {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					said := c.provoke(t)
					mu.Lock()
					defer mu.Unlock()
					all[c.name] = said
				})
			}
		}
	})
	golden.JSON(t, "deploy/errors", all)
}

// provoke gets the error, and is what it says.
func (c trouble) provoke(t *testing.T) json.RawMessage {
	s := newSite(t)
	if c.make != nil {
		c.make(s)
	}
	before := s.deployed()
	a := s.agent()
	var e envelope
	if c.call != nil {
		e = c.call(s, a)
	} else {
		tool := c.tool
		if tool == "" {
			tool = "plan"
		}
		e = a.ask(tool, c.args)
		assert.Equal(t, before, s.deployed(), "an error changes nothing")
	}
	p := e.refusal(t, c.code)
	if _, spoken := p.Details["stderr"]; spoken && strings.HasPrefix(c.code, "E_GIT") { // git's words differ from version to version
		p.Message, p.Details["stderr"] = "GIT", "GIT"
	}
	text, err := json.Marshal(args{"command_id": e.ID, "code": p.Code, "message": p.Message, "details": p.Details})
	require.NoError(t, err)
	return s.normalised(string(text))
}

// changedMeanwhile has an apply wait for the home's lock while somebody edits what it is about to overwrite.
func changedMeanwhile(s *site, a *agent) envelope {
	a.deploys(nil)
	edit(s.t, s.inRepo("modules/instructions/base/AGENTS.md"), "# House rules", "# House rules 2")
	offer := a.does("deploy", nil)
	held := flock.New(filepath.Join(s.state, "state/deploy.lock"))
	require.NoError(s.t, held.Lock())
	defer held.Unlock()
	a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"held","method":"tools/call","params":{"name":"deploy_apply","arguments":{"yes":true,"confirm_token":%q}}}`, offer.Token))
	require.Eventually(s.t, func() bool { // until its intent is on record: from then on it waits for the lock
		out, err := s.commandIn(s.project, "audit", "export").Output()
		return err == nil && strings.Count(string(out), `"phase":"intent"`) == 2
	}, stdiotest.Patience, 20*time.Millisecond)
	edit(s.t, s.inProject("AGENTS.md"), "# House rules", "# My rules")
	require.NoError(s.t, held.Unlock())
	e := checked(s.t, stdiotest.ResultOf(s.t, response(s.t, a.Recv())))
	assert.Contains(s.t, read(s.t, s.inProject("AGENTS.md")), "# My rules")
	return e
}
