//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// ecosystemClient is an agent that works with an ecosystem of three repositories, over MCP, and the user at the command line.
type ecosystemClient struct {
	*workshop
	*stdiotest.Client
}

// newEcosystemClient returns a workspace root with nothing in it, and three bare origins.
func newEcosystemClient(t *testing.T) *ecosystemClient {
	t.Helper()
	w := newWorkshopFor(t, built(t))
	w.env = append(w.env, "AMOF_WORKSPACE_ROOT="+w.at("ws"))
	write(t, w.at("ws/README.md"), "# Workspace\n")
	w.git("ws", "init", "-q", "-b", "main")
	w.git("ws", "add", "-A")
	w.git("ws", "commit", "-q", "-m", "begin")
	for _, name := range []string{"api", "web", "lib"} {
		write(t, w.at(name+"/main.txt"), name+"\n")
		write(t, w.at(name+"/CHANGELOG.md"), "# Changelog\n")
		w.git(name, "init", "-q", "-b", "main")
		w.git(name, "add", "-A")
		w.git(name, "commit", "-q", "-m", "feat: begin "+name)
		w.git("", "clone", "-q", "--bare", w.at(name), w.at("origin/"+name+".git"))
	}
	c := stdiotest.Start(t, w.command("mcp", "--toolsets", "ecosystems"))
	c.Initialize("2025-06-18")
	return &ecosystemClient{workshop: w, Client: c}
}

// said is an answer of the contract amof.v1, as far as these tests look.
type said struct {
	Status       string
	Code         string
	Message      string
	RunID        string `json:"run_id"`
	Confirmed    bool   `json:"confirmed"`
	Terminal     bool
	ExitCode     *int   `json:"exit_code"`
	Error        string `json:"error"`
	Result       json.RawMessage
	Preview      map[string]any
	Confirmation struct {
		Token, Type, Prompt string
		Target              *string `json:"type_target"`
	}
	Current string `json:"current_version"`
	Repos   []struct{ Name, Branch, Worktree, Status, Result string }
	Valid   bool
	Next    int64
}

func (c *ecosystemClient) ask(tool string, in args) (out said) {
	c.t.Helper()
	r := c.Call(tool, in)
	require.Nil(c.t, r.Err, "%s: %+v", tool, r.Err)
	require.NoError(c.t, json.Unmarshal(r.Structured, &out), r.Text)
	require.True(c.t, strings.HasPrefix(r.Text, "[global"), "an answer begins with where it stands: %s", r.Text)
	require.LessOrEqual(c.t, strings.Count(r.Text, "\n"), 19, r.Text)
	return out
}

// does returns a call in mode execute that has to succeed, with a confirmation of that kind. A run is waited for.
func (c *ecosystemClient) does(kind, tool string, in args) said {
	c.t.Helper()
	out := c.ask(tool, in)
	if kind != "none" {
		require.Equal(c.t, "confirmation_required", out.Status, "%s: %s %s", tool, out.Code, out.Message)
		require.Equal(c.t, kind, out.Confirmation.Type, tool)
		answer := args{"token": out.Confirmation.Token}
		if kind == "type" {
			wrong := c.ask("amof_confirm", args{"token": out.Confirmation.Token, "typed_value": "nope"})
			require.Equal(c.t, "typed_value_mismatch", wrong.Code)
			answer["typed_value"] = *out.Confirmation.Target
		}
		out = c.ask("amof_confirm", answer)
		require.True(c.t, out.Confirmed, "%s: %s %s", tool, out.Code, out.Message)
		require.Equal(c.t, "token_used", c.ask("amof_confirm", answer).Code, "a token is good once")
	}
	require.NotEqual(c.t, "error", out.Status, "%s: %s %s", tool, out.Code, out.Message)
	if out.Status == "queued" {
		return c.await(out.RunID)
	}
	return out
}

// await returns the end of a run, which has to be a good one.
func (c *ecosystemClient) await(id string) said {
	c.t.Helper()
	for range 60 {
		out := c.ask("amof_get_run_status", args{"run_id": id, "wait_seconds": 20})
		if out.Terminal {
			require.Equal(c.t, "success", out.Status, "%s: %s", out.Error, c.Call("amof_get_run_logs", args{"run_id": id}).Text)
			return out
		}
	}
	c.t.Fatalf("run %s does not end", id)
	return said{}
}

// edit changes a text of the manifest, and commits it.
func (c *ecosystemClient) edit(from, to string) {
	c.t.Helper()
	file := c.at("ws/ecosystems/shop/ecosystem.yaml")
	text := read(c.t, file)
	require.Contains(c.t, text, from)
	write(c.t, file, strings.Replace(text, from, to, 1))
	c.git("ws", "add", "-A")
	c.git("ws", "commit", "-q", "-m", "manifest")
}

// port returns one that nobody listens on.
func port(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestEcosystemMainJob is the whole life of an ecosystem of three real repositories over MCP, each dangerous step through its own kind of
// confirmation (amof contract).
func TestEcosystemMainJob(t *testing.T) {
	t.Parallel()
	c := newEcosystemClient(t)
	assert.Equal(t, "blocked", c.ask("amof_create_ecosystem", args{"name": "shop", "repos": []any{}}).Status, "ask is the default")
	require.Equal(t, "success", c.ask("amof_set_mode", args{"mode": "execute"}).Status)
	var repos []any
	for _, name := range []string{"api", "web", "lib"} {
		repos = append(repos, args{"name": name, "url": c.at("origin/" + name + ".git"), "branch": "main"})
	}
	c.does("none", "amof_create_ecosystem", args{"name": "shop", "description": "a shop", "provisioner": "local", "repos": repos})
	server, err := fakeserver.Install(t.TempDir())
	require.NoError(t, err)
	listen := port(t)
	c.edit("name: api\n", fmt.Sprintf("name: api\n  run: \"%s serve --port %d --hostname 127.0.0.1\"\n", server, listen))
	c.does("none", "amof_switch_ecosystem", args{"ecosystem": "shop"})
	require.True(t, c.ask("amof_validate_manifest", args{}).Valid, c.Call("amof_validate_manifest", args{}).Text)

	c.does("simple", "amof_install_ecosystem", args{})
	assert.FileExists(t, c.at("ws/worktrees/shop/repos/api/main.txt"))
	assert.Equal(t, "already_installed", c.ask("amof_install_ecosystem", args{}).Code)

	c.does("none", "amof_ticket_start", args{"ticket_id": "T-1"})
	c.does("none", "amof_ticket_switch", args{"ticket_id": "main"})
	c.does("none", "amof_ticket_switch", args{"ticket_id": "T-1"})
	tree := c.at("ws/worktrees/shop/tickets/T-1/api")
	write(t, filepath.Join(tree, "main.txt"), "better\n")
	c.git("ws/worktrees/shop/tickets/T-1/api", "commit", "-q", "-am", "feat: better")
	c.does("simple", "amof_push_ecosystem", args{})
	assert.Contains(t, c.git("origin/api.git", "branch", "--list", "feature/T-1"), "feature/T-1")
	c.does("none", "amof_ticket_end", args{"ticket_id": "T-1"})

	c.does("preview", "amof_spin_deploy", args{})
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/global/health", listen))
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, answer.Body)
	require.NoError(t, answer.Body.Close())
	c.does("type", "amof_spin_destroy", args{})
	_, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", listen))
	require.Error(t, err, "the service is gone")

	for _, step := range []struct {
		tool string
		in   args
		want string
	}{
		{"amof_release_bump", args{"bump_type": "patch", "pre_release": "alpha"}, "v0.0.1-alpha.1"},
		{"amof_release_promote", args{"target": "beta"}, "v0.0.1-beta.1"},
		{"amof_release_promote", args{"target": "rc"}, "v0.0.1-rc.1"},
		{"amof_release_promote", args{}, "v0.0.1"},
	} {
		c.does("preview", step.tool, step.in)
		assert.Equal(t, step.want, c.ask("amof_release_status", args{}).Current)
		for _, name := range []string{"api", "web", "lib"} {
			assert.Contains(t, c.git("ws/worktrees/shop/repos/"+name, "tag", "--list"), step.want)
		}
	}
	c.does("simple", "amof_archive_ecosystem", args{"message": "done"})
	assert.NoDirExists(t, c.at("ws/worktrees/shop"))
	archives, err := filepath.Glob(c.at("ws/ecosystems/shop/archives/*.json"))
	require.NoError(t, err)
	assert.Len(t, archives, 1)
	assert.Contains(t, c.git("origin/lib.git", "log", "--oneline", "main"), "chore(release): v0.0.1", "nothing was deleted that is not at origin")
	c.CloseStdin()
	assert.Equal(t, 0, c.Wait())
	c.deserted()
}

// TestEcosystemFromTheCommandLine is the same for the user, as far as commands go.
func TestEcosystemFromTheCommandLine(t *testing.T) {
	t.Parallel()
	c := newEcosystemClient(t)
	c.CloseStdin()
	require.Equal(t, 0, c.Wait())
	c.must("eco", "create", "shop", "--repo", "api="+c.at("origin/api.git"), "--repo", "web="+c.at("origin/web.git"), "--readonly-repo", "lib="+c.at("origin/lib.git"))
	c.must("eco", "use", "shop")
	c.must("eco", "validate")
	c.must("eco", "install", "--dry-run")
	assert.NoDirExists(t, c.at("ws/worktrees/shop"))
	_, problems, code := c.try("eco", "install")
	assert.Equal(t, 6, code, problems)
	assert.Contains(t, c.must("eco", "install", "-y"), "api")
	assert.Contains(t, c.must("eco", "status"), "api")
	c.must("eco", "ticket", "start", "T-2")
	write(t, c.at("ws/worktrees/shop/tickets/T-2/web/main.txt"), "new\n")
	_, problems, code = c.try("eco", "ticket", "end", "T-2", "--cleanup", "local", "-y")
	assert.Equal(t, 4, code, "work would be lost: %s", problems)
	c.must("eco", "push", "--commit-all", "-m", "feat: new", "-y")
	c.must("eco", "sync")
	c.must("eco", "ticket", "end", "T-2", "--cleanup", "local", "-y")
	assert.NoDirExists(t, c.at("ws/worktrees/shop/tickets/T-2/web"))
	c.must("eco", "release", "bump", "minor", "-y")
	assert.Contains(t, c.must("eco", "release", "status"), "v0.1.0")
	_, problems, code = c.try("eco", "discard", "-y")
	assert.Equal(t, 6, code, "-y never answers what has to be typed: %s", problems)
	c.must("eco", "discard", "--confirm-name", "shop")
	assert.NoDirExists(t, c.at("ws/worktrees/shop"))
	c.must("eco", "restore", "-y")
	assert.FileExists(t, c.at("ws/worktrees/shop/repos/web/main.txt"))
	var listed struct {
		Runs []struct{ Action, Status string }
	}
	c.typed(&listed, "eco", "runs", "list")
	assert.NotEmpty(t, listed.Runs)
	for _, r := range listed.Runs {
		assert.Equal(t, "success", r.Status, r.Action)
	}
	c.deserted()
}

// TestEcosystemModes: what the amof contract tells of "deploy this ecosystem" and "discard this ecosystem" in the three modes.
func TestEcosystemModes(t *testing.T) {
	t.Parallel()
	c := newEcosystemClient(t)
	c.must("eco", "create", "shop", "--provisioner", "noop", "--repo", "api="+c.at("origin/api.git"))
	c.must("eco", "install", "shop", "-y")
	in := args{"ecosystem": "shop"}
	for _, tool := range []string{"amof_spin_deploy", "amof_discard_ecosystem"} {
		r := c.Call(tool, in)
		assert.True(t, r.IsError, "ask forbids")
		for _, word := range []string{`"blocked"`, `"mode_forbids_mutation"`, `"explanation"`, `"current_state"`, `"amof_set_mode"`} {
			assert.Contains(t, string(r.Structured), word, tool)
		}
	}
	assert.Contains(t, string(c.Call("amof_discard_ecosystem", in).Structured), "amof_archive_ecosystem", "archiving first is suggested")
	plan := args{"ecosystem": "shop", "mode": "plan"}
	deploy := c.ask("amof_spin_deploy", plan)
	assert.Equal(t, "dry_run", deploy.Status)
	for _, key := range []string{"provisioner", "script", "estimated_duration_seconds", "execute_hint"} {
		assert.Contains(t, deploy.Preview, key)
	}
	discard := c.ask("amof_discard_ecosystem", plan)
	assert.Equal(t, "dry_run", discard.Status)
	assert.Contains(t, discard.Preview, "branches")
	assert.Contains(t, discard.Preview, "directories")
	assert.DirExists(t, c.at("ws/worktrees/shop"), "nothing was done")

	c.ask("amof_set_mode", args{"mode": "execute"})
	asked := c.ask("amof_discard_ecosystem", in)
	assert.Equal(t, "type", asked.Confirmation.Type)
	c.ask("amof_set_mode", args{"mode": "ask"})
	assert.Equal(t, "mode_changed", c.ask("amof_confirm", args{"token": asked.Confirmation.Token, "typed_value": "shop"}).Code)
	c.ask("amof_set_mode", args{"mode": "execute"})
	asked = c.ask("amof_spin_deploy", in)
	c.git("ws/worktrees/shop/repos/api", "commit", "-q", "--allow-empty", "-m", "meanwhile")
	changed := c.ask("amof_confirm", args{"token": asked.Confirmation.Token})
	assert.Equal(t, "preview_changed", changed.Code)
	require.NotEmpty(t, changed.Confirmation.Token, "there is a fresh question")
	done := c.ask("amof_confirm", args{"token": changed.Confirmation.Token})
	assert.Equal(t, "queued", done.Status, done.Message)
	c.await(done.RunID)
	c.does("type", "amof_discard_ecosystem", in)
	_, err := os.Stat(c.at("ws/worktrees/shop"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	c.CloseStdin()
	assert.Equal(t, 0, c.Wait())
	c.deserted()
}
