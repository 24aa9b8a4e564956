package mcpclients_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// TestThePlanIsWhatHappens: the plan names the file and the entry, shows the diff without other programs' secrets, changes nothing, and stays the
// same while nothing changes.
func TestThePlanIsWhatHappens(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.put(filepath.Join(s.home, ".claude.json"), `{
  "mcpServers": {
    "files": {"command": "files", "env": {"GREETING": "good morning all"}, "headers": {"X-Auth": "quiet\"one"}}
  },
  "oauthAccount": {"emailAddress": "me@example.com"}
}
`)
	before := s.tree()
	b, err := s.begin("connect_host", args{"host": "claude-code", "toolsets": []string{"packs", "projects"}})
	require.NoError(t, err)
	shown, err := golden.Indent(b.plan)
	require.NoError(t, err)
	for _, secret := range []string{"good morning all", "quiet", "me@example.com"} {
		assert.NotContains(t, string(shown), secret)
	}
	golden.Text(t, "plan", s.plain(string(shown)))
	assert.Equal(t, before, s.tree())
	assert.NoFileExists(t, s.own)
	again, err := s.begin("connect_host", args{"host": "claude-code", "toolsets": []string{"packs", "projects"}})
	require.NoError(t, err)
	assert.Equal(t, b.plan.Hash(), again.plan.Hash())
	other, err := s.begin("connect_host", args{"host": "claude-code", "toolsets": []string{"packs"}})
	require.NoError(t, err)
	assert.NotEqual(t, b.plan.Hash(), other.plan.Hash())
	s.put(path, s.read(path)+" ")
	other, err = s.begin("connect_host", args{"host": "claude-code", "toolsets": []string{"packs", "projects"}})
	require.NoError(t, err)
	assert.NotEqual(t, b.plan.Hash(), other.plan.Hash(), "the whole file counts")

	answer := s.must(args{"host": "claude-code", "dry_run": true})
	assert.False(t, answer.Applied)
	assert.Contains(t, answer.Diff, "+    \"countersign\": {")
	assert.NotContains(t, s.read(path), "countersign")
}

// TestBackupsAreNeverOverwritten: not even by one at the same time.
func TestBackupsAreNeverOverwritten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.put(filepath.Join(s.home, ".claude.json"), `{"a": 1}`)
	first := s.must(args{"host": "claude-code"})
	s.must(args{"host": "claude-code", "remove": true})
	s.put(path, `{"a": 2}`)
	third := s.must(args{"host": "claude-code"})
	assert.NotEqual(t, first.Backup, third.Backup)
	assert.Equal(t, `{"a": 1}`, s.read(first.Backup))
	assert.Equal(t, `{"a": 2}`, s.read(third.Backup))
	assert.Equal(t, filepath.Join(s.own, "backups"), filepath.Dir(first.Backup))
	assert.Contains(t, filepath.Base(first.Backup), "claude-code-20261122T093000")
}

func TestRemoveTakesExactlyOurEntry(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := filepath.Join(s.home, ".cursor", "mcp.json")
	s.must(args{"host": "cursor"})
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(s.read(path)), &doc))
	doc["mcpServers"].(map[string]any)["later"] = map[string]any{"command": "later"}
	text, err := json.MarshalIndent(doc, "", "  ")
	require.NoError(t, err)
	s.put(path, string(text))
	s.must(args{"host": "cursor", "remove": true})
	assert.JSONEq(t, `{"mcpServers": {"later": {"command": "later"}}}`, s.read(path), "what came since stays")

	s.put(path, `{"mcpServers": {"countersign": {"command": "/x/countersign", "args": ["mcp"]}}}`)
	require.NoError(t, os.RemoveAll(s.own))
	s.must(args{"host": "cursor", "remove": true})
	assert.JSONEq(t, `{"mcpServers": {}}`, s.read(path), "what nobody remembers making stays")
}

// TestOverHTTP: the entry has a token made for that host, which no plan and no result shows, which stays as long as it is valid, and is revoked with
// the entry.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:7447/mcp"
	mask := func(doc json.RawMessage) json.RawMessage {
		masked, _, err := redact.New(redact.Options{}).JSON(doc)
		require.NoError(t, err)
		return masked
	}
	for host, f := range map[string]struct{ path, address, headers string }{
		"claude-code": {"/home/.claude.json", "url", "headers"}, "codex": {"/home/.codex/config.toml", "url", "http_headers"},
		"cursor": {"/home/.cursor/mcp.json", "url", "headers"}, "vscode": {"/home/.config/Code/User/mcp.json", "url", "headers"},
		"gemini-cli": {"/home/.gemini/settings.json", "httpUrl", "headers"}, "opencode": {"/home/.config/opencode/opencode.json", "url", "headers"},
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			call := args{"host": host, "url": url, "toolsets": []string{"packs"}}
			s.must(args{"host": host}) // over stdio before
			b, err := s.begin("connect_host", call)
			require.NoError(t, err)
			assert.Empty(t, s.keys.secrets, "a plan makes no token")
			sees := app.InspectPlan(t.Context(), b.plan, nil, mask)
			assert.False(t, sees.MustReveal, "the word for a token hides nothing")
			assert.Contains(t, string(sees.Plan), `"Bearer <token>"`)
			data, _, err := b.commit()
			require.NoError(t, err)
			secret := s.keys.secrets["connect:"+host]
			require.NotEmpty(t, secret)
			assert.Equal(t, []string{"packs"}, s.keys.scopes["connect:"+host])
			shown, err := json.Marshal(b.plan)
			require.NoError(t, err)
			assert.NotContains(t, string(shown)+string(data), secret)
			text := s.read(s.top + f.path)
			assert.Contains(t, text, "Bearer "+secret)
			assert.NotContains(t, text, program, "it is reached in one way")
			golden.Text(t, "http/"+host, strings.ReplaceAll(text, secret, "SECRET"))

			assert.Equal(t, "already_connected", s.must(call).State)
			assert.Equal(t, secret, s.keys.secrets["connect:"+host])
			again, err := s.begin("connect_host", call)
			require.NoError(t, err)
			shown, err = json.Marshal(again.plan)
			require.NoError(t, err)
			assert.NotContains(t, string(shown), secret)
			assert.Equal(t, "connected", s.listed(args{})[host].State)

			delete(s.keys.secrets, "connect:"+host) // revoked
			b, err = s.begin("connect_host", call)
			require.NoError(t, err)
			shown, err = json.Marshal(b.plan)
			require.NoError(t, err)
			assert.NotContains(t, string(shown), secret)
			_, _, err = b.commit()
			require.NoError(t, err)
			assert.NotContains(t, s.read(s.top+f.path), secret)

			s.must(args{"host": host, "remove": true})
			assert.Empty(t, s.keys.secrets)
			assert.Equal(t, "(no file)", s.read(s.top+f.path), "it was made for the entry")
		})
	}
}

// TestTheGatewayOfSandboxes: its token is only in the host's file, never in a plan, a result or a record; a previous token of the entry is revoked, a
// gateway that moved since the plan is an error, and remove restores the file.
func TestTheGatewayOfSandboxes(t *testing.T) {
	t.Parallel()
	const secret, later = "0123456789abcdef-one", "0123456789abcdef-two"
	s := newStage(t)
	_, err := s.begin("connect_host", args{"host": "codex", "sandbox": "shop"})
	require.ErrorIs(t, err, mcpclients.ErrServer)
	s.gateway = mcpclients.GatewayAccess{URL: "http://127.0.0.1:5100/mcp", Secret: secret}
	path := s.put(filepath.Join(s.home, ".codex", "config.toml"), "model = \"x\"\n")
	call := args{"host": "codex", "sandbox": "shop"}
	s.must(args{"host": "codex", "name": mcpclients.GatewayName, "url": "http://127.0.0.1:7447/mcp"})
	for _, now := range []string{secret, later, later} { // connected, after its token was changed, and once more
		s.gateway.Secret = now
		b, err := s.begin("connect_host", call)
		require.NoError(t, err)
		data, _, err := b.commit()
		require.NoError(t, err)
		again, err := s.begin("connect_host", call)
		require.NoError(t, err)
		assert.True(t, again.plan.NoOp())
		shown, err := json.Marshal([]any{b.plan, data, again.plan, s.listed(call)})
		require.NoError(t, err)
		assert.NotContains(t, string(shown), "0123456789abcdef")
		assert.Contains(t, s.read(path), "Bearer "+now)
		assert.Empty(t, s.keys.secrets, "the token of the entry before")
	}
	records, err := filepath.Glob(filepath.Join(s.own, "connections", "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 1)
	assert.NotContains(t, s.read(records[0]), "0123456789abcdef")

	s.gateway.Secret = secret
	b, err := s.begin("connect_host", call)
	require.NoError(t, err)
	assert.Equal(t, policy.RiskHigh, b.plan.Assessment().Risk)
	s.gateway.URL = "http://127.0.0.1:5101/mcp"
	_, _, err = b.commit()
	require.ErrorIs(t, err, deployment.ErrStale)
	s.gateway = mcpclients.GatewayAccess{} // it is not running
	s.must(args{"host": "codex", "sandbox": "shop", "remove": true})
	assert.Equal(t, "model = \"x\"\n", s.read(path))
	for field, value := range map[string]any{"toolsets": []string{"packs"}, "url": "http://127.0.0.1:1/mcp", "scope": "project"} {
		_, err = s.begin("connect_host", call.with(field, value))
		require.Error(t, err, field)
	}
}

// TestTheTokenGoesWithTheEntry: the token of an entry that starts the program again is revoked, whoever changed the entry; the plan says so before.
func TestTheTokenGoesWithTheEntry(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:7447/mcp"
	for host, path := range map[string]string{"codex": "/home/.codex/config.toml", "opencode": "/home/.config/opencode/opencode.json", "vscode": "/home/.config/Code/User/mcp.json"} {
		s := newStage(t)
		s.must(args{"host": host})
		local := s.read(s.top + path)
		for range 2 { // back and forth
			answer := s.must(args{"host": host, "url": url})
			assert.Empty(t, answer.Revoked)
			require.NotEmpty(t, s.keys.secrets)
			b, err := s.begin("connect_host", args{"host": host})
			require.NoError(t, err)
			assert.Equal(t, "the token connect:"+host+" is revoked", b.plan.Context.LetInBy)
			require.NotEmpty(t, s.keys.secrets, "a plan revokes nothing")
			data, _, err := b.commit()
			require.NoError(t, err)
			assert.Contains(t, string(data), `"revoked":"connect:`+host+`"`)
			assert.Empty(t, s.keys.secrets)
			after := s.read(s.top + path)
			assert.NotContains(t, after, "Bearer")
			assert.NotContains(t, after, url)
			assert.Len(t, after, len(local), "the same entry, in whatever order")
			assert.Equal(t, "already_connected", s.must(args{"host": host}).State)
		}

		s.must(args{"host": host, "url": url})
		s.put(s.top+path, local) // the user has restored the old entry by hand
		b, err := s.begin("connect_host", args{"host": host})
		require.NoError(t, err)
		assert.False(t, b.plan.NoOp(), "the token is still there")
		assert.Contains(t, b.plan.Summary, "revoke the token connect:"+host)
		assert.Empty(t, b.plan.Context.Opens)
		_, _, err = b.commit()
		require.NoError(t, err)
		assert.Empty(t, s.keys.secrets)
		assert.Equal(t, local, s.read(s.top+path))

		s.must(args{"host": host, "url": url})
		require.NoError(t, os.Remove(s.top+path))
		answer := s.must(args{"host": host, "remove": true})
		assert.Equal(t, "not_connected", answer.State)
		assert.Equal(t, "connect:"+host, answer.Revoked)
		assert.Empty(t, s.keys.secrets)
	}

	s := newStage(t) // another document's token is not this one's
	s.must(args{"host": "codex", "url": url})
	s.must(args{"host": "codex", "scope": "project"})
	s.env["CODEX_HOME"] = filepath.Join(s.top, "elsewhere")
	s.must(args{"host": "codex"})
	s.must(args{"host": "codex", "remove": true})
	assert.NotEmpty(t, s.keys.secrets)
}

// TestATokenReachesNoFurtherThanItHasTo: it covers the toolsets that are enabled by default, unless others are named.
func TestATokenReachesNoFurtherThanItHasTo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	call := args{"host": "cursor", "url": "http://127.0.0.1:7447/mcp"}
	b, err := s.begin("connect_host", call)
	require.NoError(t, err)
	assert.Contains(t, b.plan.Context.LetInBy, "for the tools of packs, deployments")
	assert.Contains(t, b.plan.Context.Opens[0], "its agent calls the tools of packs, deployments; what needs a person still asks one")
	assert.Equal(t, policy.RiskHigh, b.plan.Assessment().Risk, "a token stays")
	s.must(call)
	assert.Equal(t, []string{"packs", "deployments"}, s.keys.scopes["connect:cursor"])
	assert.Equal(t, "already_connected", s.must(call).State)
	s.must(call.with("toolsets", []string{"all"}))
	assert.Empty(t, s.keys.scopes["connect:cursor"], "every one")
	assert.Equal(t, "connected", s.must(call).State, "a token that reaches further is another one")
}

// TestWhatAnEntryOpens: an entry needs approval with the strongest proof that policy requires, whatever was approved beforehand; removing one permits
// nothing.
func TestWhatAnEntryOpens(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.rules.Needs = policy.ProvingPasskey
	b, err := s.begin("connect_host", args{"host": "codex"})
	require.NoError(t, err)
	assert.Equal(t, []string{"Codex starts Countersign, and its agent calls the tools of packs, deployments (or of those that config.yaml says are served); what needs a person still asks one"}, b.plan.Context.Opens)
	assert.True(t, b.plan.Insists())
	assert.Equal(t, policy.ProvingPasskey, b.plan.Needs())
	assert.Equal(t, policy.Preview, b.plan.Assessment().Human)
	s.rules.Needs = policy.ProvingNone
	b, err = s.begin("connect_host", args{"host": "codex"})
	require.NoError(t, err)
	assert.Equal(t, policy.ProvingPerson, b.plan.Needs(), "a terminal or the console, whatever policy says")
	answer := s.must(args{"host": "codex"})
	assert.Equal(t, "codex", answer.HostEntry)
	for _, a := range []args{{"host": "codex"}, {"host": "codex", "remove": true}, {"host": "vscode", "dry_run": true}} {
		b, err := s.begin("connect_host", a)
		require.NoError(t, err)
		assert.Equal(t, a["dry_run"] == nil, len(b.plan.Context.Opens) == 0, "a look shows what would be opened, and opens nothing")
		assert.False(t, b.plan.Insists())
		assert.Equal(t, policy.ProvingNone, b.plan.Needs())
	}

	s.rules = mcpclients.PolicyInfo{ByCaller: true, By: "the system's file"}
	b, err = s.begin("connect_host", args{"host": "cursor"})
	require.NoError(t, err)
	assert.Contains(t, b.plan.Context.Opens[0], "no person is asked")
	_, warnings, err := b.commit()
	require.NoError(t, err)
	assert.Contains(t, strings.Join(warnings, "; "), "approval is caller (the system's file)")
}

func TestANewFileWithATokenIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	answer := s.must(args{"host": "cursor", "url": "http://127.0.0.1:1/mcp"})
	info, err := os.Stat(answer.File)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	s.put(filepath.Join(s.home, ".claude.json"), "{}")
	b, err := s.begin("connect_host", args{"host": "claude-code", "url": "http://127.0.0.1:1/mcp"})
	require.NoError(t, err)
	assert.Contains(t, strings.Join(b.plan.Context.Warnings, "; "), "others on this machine may read")
}

// TestAHomeThatWasChosen: it is passed to the server, because hosts pass on very little of their environment.
func TestAHomeThatWasChosen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.own = filepath.Join(s.top, "elsewhere")
	s.env["COUNTERSIGN_HOME"] = s.own
	s.put(filepath.Join(s.home, ".cursor", "mcp.json"), `{"mcpServers": {"countersign": {"command": "countersign", "args": ["mcp"], "env": {"MINE": "1"}}}}`)
	s.must(args{"host": "cursor"})
	text := s.read(filepath.Join(s.home, ".cursor", "mcp.json"))
	assert.Contains(t, text, `"COUNTERSIGN_HOME":`)
	assert.Contains(t, text, s.own)
	assert.Contains(t, text, `"MINE": "1"`)
	assert.Equal(t, "already_connected", s.must(args{"host": "cursor"}).State)
	s.must(args{"host": "codex", "scope": "project"})
	assert.NotContains(t, s.read(filepath.Join(s.project, ".codex", "config.toml")), "elsewhere", "a repository's file is for others, too")

	delete(s.env, "COUNTERSIGN_HOME")
	s.own = filepath.Join(s.home, ".countersign")
	assert.Equal(t, "outdated", s.listed(args{})["cursor"].State)
	s.must(args{"host": "cursor"})
	assert.JSONEq(t, `{"mcpServers": {"countersign": {"command": "`+program+`", "args": ["mcp", "--host", "cursor"], "env": {"MINE": "1"}}}}`, s.read(filepath.Join(s.home, ".cursor", "mcp.json")))
}

func TestWhereTheEnvironmentPutsDocuments(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, dir := range map[string]string{"CLAUDE_CONFIG_DIR": "a", "CODEX_HOME": "b", "GEMINI_CLI_HOME": "c", "XDG_CONFIG_HOME": "d"} {
		s.env[name] = filepath.Join(s.top, dir)
	}
	for host, path := range map[string]string{"claude-code": "/a/.claude.json", "codex": "/b/config.toml", "gemini-cli": "/c/.gemini/settings.json",
		"opencode": "/d/opencode/opencode.json", "vscode": "/d/Code/User/mcp.json", "cursor": "/home/.cursor/mcp.json"} {
		assert.Equal(t, s.top+path, s.must(args{"host": host}).File)
	}
	assert.Equal(t, s.top+"/d/opencode/opencode.jsonc", func() string {
		s.must(args{"host": "opencode", "remove": true})
		s.put(filepath.Join(s.top, "d", "opencode", "opencode.jsonc"), "{} // mine\n")
		return s.must(args{"host": "opencode"}).File
	}(), "the one that is there")
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.lasting = false
	warned := func(a args) string {
		b, err := s.begin("connect_host", a)
		require.NoError(t, err)
		return strings.Join(b.plan.Context.Warnings, "; ")
	}
	assert.Contains(t, warned(args{"host": "cursor"}), "temporary build")
	assert.Contains(t, warned(args{"host": "cursor"}), "was not found on this machine")
	assert.NotContains(t, warned(args{"host": "codex", "scope": "project"}), "temporary")
	assert.Contains(t, warned(args{"host": "codex", "scope": "project"}), "trusted")
	require.NoError(t, os.Mkdir(filepath.Join(s.home, ".cursor"), 0o755))
	assert.NotContains(t, warned(args{"host": "cursor"}), "not found")
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	bin := filepath.Join(s.top, "bin")
	s.env["PATH"] = bin
	require.NoError(t, os.Chmod(s.put(filepath.Join(bin, "codex"), "#!/bin/sh\n"), 0o755))
	s.put(filepath.Join(s.home, ".gemini", "settings.json"), `{"mcpServers": {"countersign": {"command": "else"}}}`)
	s.put(filepath.Join(s.home, ".cursor", "mcp.json"), `{"mcpServers": {"countersign": {"command": "/old/countersign", "args": ["mcp"]}, "mine": {"command": "countersign-mcp"}}}`)
	s.must(args{"host": "claude-code"})
	hosts := s.listed(args{})
	for host, want := range map[string]string{"claude-code": "connected", "codex": "not_connected", "cursor": "outdated", "vscode": "not_connected", "gemini-cli": "other_entry",
		"opencode": "not_connected"} {
		assert.Equal(t, want, hosts[host].State, host)
	}
	for host, want := range map[string]bool{"claude-code": false, "codex": true, "cursor": true, "vscode": false, "gemini-cli": true, "opencode": false} {
		assert.Equal(t, want, hosts[host].Installed, host)
	}
	assert.Equal(t, []string{"countersign", "mine"}, hosts["cursor"].Servers)
	shown, err := golden.Indent(hosts)
	require.NoError(t, err)
	golden.Text(t, "list", s.plain(string(shown)))

	remote, err := golden.Indent(s.listed(args{"url": "http://127.0.0.1:7447/mcp", "name": "cs", "toolsets": []string{"packs"}}))
	require.NoError(t, err)
	golden.Text(t, "list_remote", s.plain(string(remote)))
	project, err := golden.Indent(s.listed(args{"scope": "project", "toolsets": []string{"packs", "projects"}}))
	require.NoError(t, err)
	golden.Text(t, "list_project", s.plain(string(project)))
	assert.Empty(t, s.keys.secrets)
}

// TestWhatIsNotNamedStays: toolsets, the timeout, and the user's additions; a call that names toolsets changes only those.
func TestWhatIsNotNamedStays(t *testing.T) {
	t.Parallel()
	for host, path := range map[string]string{"claude-code": "/home/.claude.json", "codex": "/home/.codex/config.toml", "opencode": "/home/.config/opencode/opencode.json"} {
		s := newStage(t)
		s.must(args{"host": host, "toolsets": []string{"packs", "projects", "deployments"}})
		for from, to := range map[string]string{`"23h30m"`: `"2m"`, `"packs,projects,deployments"`: `"packs,projects,deployments", "--read-only"`} {
			require.Contains(t, s.read(s.top+path), from)
			s.put(s.top+path, strings.Replace(s.read(s.top+path), from, to, 1))
		}
		mine := s.read(s.top + path)
		answer := s.must(args{"host": host})
		assert.Equal(t, "already_connected", answer.State)
		assert.Equal(t, []string{"packs", "projects", "deployments"}, answer.Toolsets)
		assert.Equal(t, mine, s.read(s.top+path))
		listed := s.listed(args{})[host]
		assert.Equal(t, "connected", listed.State, "other arguments are no other program")
		assert.Equal(t, answer.Toolsets, listed.Toolsets)

		b, err := s.begin("connect_host", args{"host": host, "toolsets": []string{"all"}})
		require.NoError(t, err)
		assert.Contains(t, b.plan.Context.Opens[0], "every tool that is served")
		_, _, err = b.commit()
		require.NoError(t, err)
		after := s.read(s.top + path)
		for _, stays := range []string{`"2m"`, `"--read-only"`, `"all"`} {
			assert.Contains(t, after, stays)
		}
		assert.NotContains(t, after, "packs,projects")
		assert.Equal(t, "already_connected", s.must(args{"host": host}).State)

		s.env["COUNTERSIGN_HOME"], s.own = s.top+"/other", s.top+"/other"
		assert.Equal(t, "outdated", s.listed(args{})[host].State, "it starts the server of another home")
	}
}

// TestAtOnce: of many concurrent calls that connect several hosts and servers, each either succeeds or fails because the file changed; nothing is
// lost.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.put(filepath.Join(s.home, ".claude.json"), "{\n  // mine\n  \"a\": 1\n}\n")
	var group errgroup.Group
	for _, name := range []string{"one", "two", "three", "four"} {
		for _, host := range []string{"claude-code", "codex"} {
			group.Go(func() error {
				for {
					_, err := s.try(args{"host": host, "name": name})
					if !errors.Is(err, deployment.ErrStale) {
						return err
					}
				}
			})
		}
	}
	require.NoError(t, group.Wait())
	for _, f := range []struct {
		format deployment.Format
		path   string
		key    string
	}{{deployment.FormatJSON, path, "mcpServers"}, {deployment.FormatTOML, filepath.Join(s.home, ".codex", "config.toml"), "mcp_servers"}} {
		values, err := docedit.Documents{}.Values(f.format, []byte(s.read(f.path)), []deployment.Key{{Path: []string{f.key, "one"}}, {Path: []string{f.key, "two"}},
			{Path: []string{f.key, "three"}}, {Path: []string{f.key, "four"}}})
		require.NoError(t, err)
		assert.Len(t, values, 4, f.path)
	}
	assert.Contains(t, s.read(path), "// mine")
	backups, err := os.ReadDir(filepath.Join(s.own, "backups"))
	require.NoError(t, err)
	assert.Len(t, backups, 7, "of every change but the one that made a file")
}

// TestPublishedSchemas checks that they are those of the types.
func TestPublishedSchemas(t *testing.T) {
	t.Parallel()
	for _, e := range newStage(t).tools() {
		want := map[string]json.RawMessage{"connect_host": bind.SchemaOf[mcpclients.Input](), "list_hosts": bind.SchemaOf[mcpclients.Query]()}[string(e.Spec.Name)]
		var published, derived map[string]any
		require.NoError(t, json.Unmarshal(e.Spec.Input, &published))
		require.NoError(t, json.Unmarshal(want, &derived))
		for _, name := range []string{"confirm_token", "typed_value"} {
			delete(published["properties"].(map[string]any), name)
		}
		assert.Equal(t, derived, published, e.Spec.Name)
	}
}
