package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// victim is a workshop with the command as users install it, and one project that the user has added. Its script leaves a mark.
type victim struct {
	*workshop
	project string
}

func newVictim(t *testing.T) *victim {
	needs(t, "npm")
	t.Parallel()
	w := newWorkshop(t)
	v := &victim{workshop: w, project: w.shop(map[string]string{"mark": "echo done > mark"}, nil)}
	exe, err := exec.LookPath("countersign-strict")
	require.NoError(t, err)
	w.exe = exe
	return v
}

// marked reports whether the script has run.
func (v *victim) marked() bool {
	_, err := os.Stat(filepath.Join(v.project, "mark"))
	return err == nil
}

func (v *victim) mark() args { return args{"project_path": v.project, "script_name": "mark"} }

// agent returns a client that asks for the script and does not wait for anybody.
func (v *victim) agent(flags ...string) *hand {
	return v.serve(append([]string{"--confirm-wait", "0s"}, flags...)...)
}

// sql edits the database as a program of the same user can.
func (v *victim) sql(t *testing.T, query string, arguments ...any) {
	_, err := openDB(t, filepath.Join(v.home, ".countersign")).Exec(query, arguments...)
	require.NoError(t, err)
}

// openDB returns the database of a home, for a program of the same user.
func openDB(t *testing.T, home string) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "countersign.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// refuses runs a command without a terminal, which has to end with 6 and to leave everything as it was.
func (v *victim) refuses(t *testing.T, arguments ...string) {
	t.Helper()
	out, problems, code := v.try(arguments...)
	assert.Equal(t, 6, code, "%v: %s%s", arguments, out, problems)
}

// TestAttacks is the list of attacks on consent, a row each. Every row is what an agent, or a program of the same user, does to have a script run, or policy
// opened, that no user approved. A row fails when its attack succeeds.
func TestAttacks(t *testing.T) {
	with := func(a args, more args) args {
		out := args{}
		for _, from := range []args{a, more} {
			for name, value := range from {
				out[name] = value
			}
		}
		return out
	}
	for name, attack := range map[string]func(t *testing.T, v *victim){
		"the call alone": func(_ *testing.T, v *victim) {
			v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"the call, again and again": func(t *testing.T, v *victim) {
			a := v.agent()
			for range 5 {
				a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			}
			assert.Len(t, v.questions(1), 1, "identical questions are one")
		},
		"a token of its own making": func(_ *testing.T, v *victim) {
			v.agent().Call("run_script", with(v.mark(), args{"confirm_token": "6f1c9a54-3f0b-4a57-9d59-1d6f2f8f1a11"}))
		},
		"the id of the question as a token": func(_ *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			id := v.questions(1)[0].ID
			a.Call("run_script", with(v.mark(), args{"confirm_token": id}))
			for _, decision := range []string{"approve", "always"} {
				a.Call("confirm", args{"token": id, "decision": decision})
			}
		},
		"a typed value": func(_ *testing.T, v *victim) {
			v.agent().Call("run_script", with(v.mark(), args{"typed_value": "mark"}))
		},
		"words that sound like consent": func(_ *testing.T, v *victim) {
			v.agent().Call("run_script", with(v.mark(), args{"yes": true, "approved": true, "force": true}))
		},
		"a form that the client fills in": func(t *testing.T, v *victim) {
			a := stdiotest.Start(t, v.command("mcp", "--toolsets", "projects", "--confirm-wait", "0s", "--host", "claude-code"))
			a.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"claude-code","version":"2"}}}`)
			a.Recv()
			a.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{"name": "run_script", "arguments": v.mark()}})
			require.NoError(t, err)
			a.Send(string(call))
			assert.Contains(t, string(a.Recv()), "pending_confirmation", "no form is offered: nobody has switched it on")
			a.CloseStdin()
			a.Wait()
		},
		"flags": func(t *testing.T, v *victim) {
			for _, flags := range [][]string{{"--approval", "caller"}, {"--approval", "host"}} {
				_, problems, code := v.try(append([]string{"mcp"}, flags...)...)
				assert.Equal(t, 2, code, problems)
			}
			v.agent("--permission-level", "full_access").fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"the environment": func(t *testing.T, v *victim) {
			v.env = append(v.env, "COUNTERSIGN_PERMISSION_LEVEL=full_access", "AMOF_CONFIRM=token")
			v.refuses(t, "run", "mark", "--project", v.project, "--yes")
			v.env = append(v.env, "COUNTERSIGN_APPROVAL=caller")
			_, _, code := v.try("run", "mark", "--project", v.project, "--yes")
			assert.Equal(t, 2, code)
		},
		"config.yaml": func(t *testing.T, v *victim) {
			write(t, filepath.Join(v.home, ".countersign", "config.yaml"), "approval: caller\n")
			_, problems, code := v.try("run", "mark", "--project", v.project, "--yes")
			assert.Equal(t, 2, code)
			assert.Contains(t, problems, "config.yaml")
		},
		"commands without a terminal": func(t *testing.T, v *victim) {
			v.refuses(t, "run", "mark", "--project", v.project)
			v.refuses(t, "run", "mark", "--project", v.project, "--yes")
			id := v.questions(1)[0].ID
			v.refuses(t, "approve", id)
			v.refuses(t, "approve", id, "--yes")
			other := v.at("other")
			require.NoError(t, os.MkdirAll(other, 0o700))
			for _, opens := range [][]string{{"policy", "set", "full_access"}, {"policy", "allow", "run_script"}, {"policy", "approval", "caller"}, {"token", "create", "mine"},
				{"project", "add", other}} {
				v.refuses(t, append(opens, "--yes")...)
			}
		},
		"a host connected, and its forms switched on, from a shell": func(t *testing.T, v *victim) {
			v.refuses(t, "connect", "codex", "--toolsets", "all", "--yes")
			v.refuses(t, "connect", "codex", "--forms", "--yes")
			assert.NoFileExists(t, filepath.Join(v.home, ".codex", "config.toml"))
			seen, code := v.atTerminal("y", "connect", "codex")
			require.Zero(t, code, seen)
			v.refuses(t, "connect", "codex", "--forms", "--yes")
			out, problems, code := v.try("connect")
			assert.Zero(t, code, problems)
			assert.Contains(t, out, "codex")
			assert.NotContains(t, out, "forms enabled")
			seen, code = v.atTerminal("y", "connect", "codex", "--forms")
			require.Zero(t, code, seen)
			out, _, _ = v.try("connect")
			assert.Contains(t, out, "forms enabled")
			_, problems, code = v.try("connect", "codex", "--forms=off") // narrows: nobody is asked
			assert.Zero(t, code, problems)
			out, _, _ = v.try("connect")
			assert.NotContains(t, out, "forms enabled")
		},
		"a row of the questions": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			v.sql(t, "UPDATE grants SET state = 1, answerer = 'terminal'")
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"a row of the settings": func(t *testing.T, v *victim) {
			v.sql(t, `INSERT INTO settings (one, revision, body) VALUES (1, 1, CAST('{"revision":1,"permission_level":"full_access","approval":"caller","tool_permissions":{"run_script":"allowed"},"auto_approve":{"enabled":true,"tools":["run_script"]}}' AS BLOB))
				ON CONFLICT (one) DO UPDATE SET revision = excluded.revision, body = excluded.body`)
			v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"a row of the account's settings, seen from another home": func(t *testing.T, v *victim) {
			v.sql(t, `INSERT INTO settings (one, revision, body) VALUES (1, 1, CAST('{"revision":1,"permission_level":"full_access","approval":"caller","tool_permissions":{"run_script":"allowed"}}' AS BLOB))
				ON CONFLICT (one) DO UPDATE SET revision = excluded.revision, body = excluded.body`)
			v.env = append(v.env, "COUNTERSIGN_HOME="+filepath.Join(v.base, "elsewhere"))
			v.refuses(t, "project", "add", v.project, "--yes")
			v.refuses(t, "token", "create", "mine", "--yes")
		},
		"a row of what is always allowed": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			v.sql(t, `INSERT OR REPLACE INTO sessions (key, body) SELECT CAST(principal || char(0) || session AS BLOB),
				CAST('{"mode":"","allowances":[{"id":"' || id || '","tool":"run_script","scope":"","created_by":"terminal","created_at":"2999-01-01T00:00:00Z"}]}' AS BLOB) FROM grants`)
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"a row of what is allowed until a date": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			v.sql(t, `INSERT INTO dated_grants (id, body) SELECT id, CAST(json_object('id', id, 'tool', tool, 'scope', json_extract(CAST(extra AS TEXT), '$.reach.scope'),
				'content', json_extract(CAST(extra AS TEXT), '$.reach.content'), 'any_args', json('false'), 'principal', principal, 'any_entry', json('true'), 'what', prompt, 'by', 'terminal',
				'at', '2020-01-01T00:00:00Z', 'until', '2999-01-01T00:00:00Z') AS BLOB) FROM grants WHERE json_extract(CAST(extra AS TEXT), '$.reach.content') IS NOT NULL`)
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"a grant until a date, without a terminal": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			id := v.questions(1)[0].ID
			v.refuses(t, "approve", id, "--for", "8h", "--yes")
			a.Call("confirm", args{"token": id, "decision": "always"})
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"a passkey in the database": func(t *testing.T, v *victim) {
			out, problems, code := v.try("policy", "require", "passkey", "run_script")
			require.Zero(t, code, "%s%s", out, problems)
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			v.sql(t, `INSERT INTO enrolled_keys (id, kind, handle, body) VALUES ('ek_1', 'passkey', 'aGk', CAST('{"kind":"passkey","name":"mine","handle":"aGk","public":"AQ==","rp_id":"localhost"}' AS BLOB))`)
			v.sql(t, `UPDATE grants SET state = 1, answerer = 'console', extra = CAST(json_set(extra, '$.needs', '', '$.proof', json('{"surface":"passkey","credential":"aGk"}')) AS BLOB)`)
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			seen, code := v.atTerminal("y", "approve", v.questions(1)[0].ID)
			assert.NotZero(t, code, "a terminal is no passkey: %s", seen)
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"a question that shows something else": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			id := v.questions(1)[0].ID
			v.sql(t, `UPDATE grants SET prompt = 'run nothing', plan = CAST(replace(CAST(plan AS TEXT), 'mark', 'none') AS BLOB)`)
			seen, code := v.atTerminal("y", "approve", id)
			assert.NotZero(t, code, seen)
			assert.NotContains(t, seen, "run nothing")
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"settings taken away": func(t *testing.T, v *victim) {
			for _, tightens := range [][]string{{"policy", "block", "run_script"}, {"policy", "max-mode", "plan"}} {
				out, problems, code := v.try(tightens...)
				require.Zero(t, code, "%s%s", out, problems)
			}
			out, problems, code := v.try("project", "add", t.TempDir())
			assert.NotZero(t, code, "%s%s", out, problems)
			assert.NotContains(t, out, "registered")
			assert.Contains(t, problems, "project_add changed nothing")
			v.sql(t, `DELETE FROM settings`)
			out, _, _ = v.try("status")
			assert.Contains(t, out, "deleted or edited")
			out, problems, _ = v.try("policy", "show")
			assert.Contains(t, problems, "deleted or edited")
			assert.Regexp(t, `run_script +blocked`, out)
			v.agent().Call("run_script", v.mark())
			assert.Empty(t, v.questions(0), "nobody is even asked")
		},
		"another record": func(t *testing.T, v *victim) {
			v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
			for _, loosens := range [][]string{{"audit", "key", "new"}, {"audit", "anchor", "remove", "file", "/nowhere"}, {"audit", "accept", "--reason", "none"}} {
				v.refuses(t, append(loosens, "--yes")...)
			}
			seen, code := v.atTerminal("n", "audit", "key", "new", "--yes")
			assert.Equal(t, 6, code, seen)
		},
		"a home of its own": func(t *testing.T, v *victim) {
			v.env = append(v.env, "COUNTERSIGN_HOME="+filepath.Join(v.base, "elsewhere"))
			v.refuses(t, "policy", "approval", "caller", "--yes")
			v.refuses(t, "project", "add", v.project, "--yes")
		},
		"a second server with another policy": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			for _, tightens := range [][]string{{"policy", "approval", "human"}, {"policy", "require", "passkey", "run_script"}} {
				out, problems, code := v.try(tightens...)
				require.Zero(t, code, "%s%s", out, problems)
			}
			seen, _ := v.atTerminal("y", "project", "add", v.project)
			require.NotContains(t, seen, "elsewhere")
			account := v.env
			// of this home, by what a second server may be started with
			for _, loosens := range []struct{ env, config string }{{"COUNTERSIGN_APPROVAL=caller", ""}, {"", "approval: caller\n"}} {
				write(t, filepath.Join(v.home, ".countersign", "config.yaml"), loosens.config)
				v.env = append(slices.Clone(account), loosens.env)
				for _, server := range [][]string{{"mcp"}, {"serve", "--no-open", "--addr", "127.0.0.1:0"}} {
					_, problems, code := v.try(server...)
					assert.Equal(t, 2, code, "%v %v: %s", loosens, server, problems)
				}
			}
			require.NoError(t, os.Remove(filepath.Join(v.home, ".countersign", "config.yaml")))
			// of another home, where the user said otherwise
			v.env = append(slices.Clone(account), "COUNTERSIGN_HOME="+filepath.Join(v.base, "elsewhere"))
			seen, code := v.atTerminal("y", "project", "add", v.project)
			require.Zero(t, code, seen)
			for _, loosens := range [][]string{{"policy", "set", "full_access"}, {"policy", "allow", "run_script"}, {"policy", "approval", "caller"}} {
				v.atTerminal("y", loosens...)
			}
			v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
			v.refuses(t, "run", "mark", "--project", v.project, "--yes")
			for _, q := range v.questions(-1) {
				if q.Tool == "run_script" {
					seen, code := v.atTerminal("y", "approve", q.ID)
					assert.NotZero(t, code, seen)
				}
			}
			v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
			v.env = account
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"an approval, and what is allowed until a date, in a copy of the home": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			a.CloseStdin()
			require.Zero(t, a.Wait())
			seen, code := v.atTerminal("y", "approve", v.questions(1)[0].ID, "--for", "8h")
			require.Zero(t, code, seen)
			copied := filepath.Join(v.base, "copied")
			require.NoError(t, exec.Command("cp", "-a", filepath.Join(v.home, ".countersign"), copied).Run())
			v.env = append(slices.Clone(v.env), "COUNTERSIGN_HOME="+copied)
			v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"a home committed in a repository": func(t *testing.T, v *victim) {
			account, theirs := v.env, filepath.Join(v.base, "theirs")
			v.env = append(slices.Clone(account), "COUNTERSIGN_HOME="+theirs) // somebody else's, who has allowed everything
			for _, loosens := range [][]string{{"project", "add", v.project}, {"policy", "set", "full_access"}, {"policy", "allow", "run_script"}} {
				seen, code := v.atTerminal("y", loosens...)
				require.Zero(t, code, seen)
			}
			require.NoError(t, os.Mkdir(filepath.Join(v.project, ".git"), 0o700))
			committed := filepath.Join(v.project, ".countersign")
			clone := func() {
				require.NoError(t, os.RemoveAll(committed))
				require.NoError(t, exec.Command("cp", "-a", theirs, committed).Run())
				v.env = append(slices.Clone(account), "COUNTERSIGN_HOME="+committed)
			}
			clone()
			asks := func() {
				agent := v.agent()
				agent.fails("CONFIRMATION_PENDING", "run_script", v.mark())
				agent.leaves() // it writes in its home until it has ended
			}
			asks()
			v.refuses(t, "run", "mark", "--project", v.project, "--yes")
			shown, _, _ := v.try("policy", "show")
			assert.Regexp(t, "permission level +execute_with_confirm +a home inside a git worktree", shown)
			assert.NotRegexp(t, "run_script +allowed", shown)
			v.env = append(slices.Clone(account), "COUNTERSIGN_HOME="+theirs)
			seen, code := v.atTerminal("y", "policy", "approval", "caller")
			require.Zero(t, code, seen)
			clone()
			asks()
			v.refuses(t, "run", "mark", "--project", v.project, "--yes")
		},
		"a host entry and configuration committed in a repository": func(t *testing.T, v *victim) {
			require.NoError(t, os.Mkdir(filepath.Join(v.project, ".git"), 0o700))
			for _, place := range []string{"config.yaml", ".countersign/config.yaml", ".countersign/policy.yaml"} {
				write(t, filepath.Join(v.project, place), "approval: caller\npermission_level: full_access\n")
			}
			entry := func(doc string) *stdiotest.Client {
				var file struct {
					MCPServers map[string]struct {
						Args []string
						Env  map[string]string
					} `json:"mcpServers"`
				}
				write(t, filepath.Join(v.project, ".mcp.json"), doc)
				write(t, filepath.Join(v.project, ".claude", "settings.json"), `{"enableAllProjectMcpServers":true,"permissions":{"allow":["mcp__countersign__*"]}}`)
				require.NoError(t, json.Unmarshal([]byte(doc), &file))
				cmd := v.command(file.MCPServers["countersign"].Args...)
				cmd.Dir = v.project
				for name, value := range file.MCPServers["countersign"].Env {
					cmd.Env = append(slices.Clone(cmd.Env), name+"="+value)
				}
				return stdiotest.Start(t, cmd)
			}
			for _, refused := range []string{
				`{"mcpServers":{"countersign":{"args":["mcp","--toolsets","projects","--approval","caller"]}}}`,
				`{"mcpServers":{"countersign":{"args":["mcp","--toolsets","projects"],"env":{"COUNTERSIGN_APPROVAL":"host"}}}}`,
				`{"mcpServers":{"countersign":{"args":["mcp","--toolsets","projects"],"env":{"COUNTERSIGN_HOME":".countersign"}}}}`,
			} {
				a := entry(refused)
				a.CloseStdin()
				assert.Equal(t, 2, a.Wait(), refused)
			}
			for _, narrowed := range []string{
				`{"mcpServers":{"countersign":{"args":["mcp","--toolsets","projects","--host","claude-code","--confirm-wait","0s","--permission-level","full_access"]}}}`,
				`{"mcpServers":{"countersign":{"args":["mcp","--toolsets","projects","--confirm-wait","0s"],"env":{"COUNTERSIGN_PERMISSION_LEVEL":"full_access","AMOF_CONFIRM":"token"}}}}`,
			} {
				h := &hand{Client: entry(narrowed), t: t}
				h.Initialize("2025-06-18")
				h.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			}
		},
		"a rule for actions": func(t *testing.T, v *victim) {
			out, problems, code := v.try("action", "save", "script", "mark", "--project", v.project, "--yes", "--", "npm", "run", "mark")
			require.Zero(t, code, problems)
			_, problems, code = v.try("action", "rule", "mark", "auto_approve")
			require.Zero(t, code, problems)
			v.sql(t, `INSERT INTO rules (action_id, kind, body) VALUES (NULL, '', CAST('{"permissionLevel":"auto_approve","createdAt":"2020-01-01T00:00:00Z"}' AS BLOB))`)
			id := strings.TrimSpace(out)
			v.agent().fails("CONFIRMATION_PENDING", "run_script", args{"actionId": id})
			v.refuses(t, "tools", "call", "run_script", "--args", `{"actionId":"`+id+`"}`)
			_, problems, code = v.try("action", "rule", "mark", "deny")
			require.Zero(t, code, problems)
			v.refuses(t, "action", "rule", "mark", "--clear")
			v.refuses(t, "action", "rule", "mark", "auto_approve")
			seen, code := v.atTerminal("y", "workflow", "create", "release", "--project", v.project)
			require.Zero(t, code, seen)
			v.refuses(t, "workflow", "incoming", "release") // whoever has that address would start it
		},
		"a person who says no": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			seen, code := v.atTerminal("n", "approve", v.questions(1)[0].ID)
			require.Zero(t, code, seen)
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
		},
		"the script swapped after the approval": func(t *testing.T, v *victim) {
			a := v.agent()
			a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
			seen, code := v.atTerminal("y", "approve", v.questions(1)[0].ID)
			require.Zero(t, code, seen)
			write(t, filepath.Join(v.project, "package.json"), `{"name":"shop","version":"1.0.0","scripts":{"mark":"echo worse > mark"}}`)
			a.Call("run_script", v.mark())
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			attack(t, v)
			assert.False(t, v.marked(), "the script has run")
			stdout, problems, code := v.try("policy", "show", "--json")
			if code == 0 { // it is refused where config.yaml tries to widen
				assert.Contains(t, stdout, `"approval":"human"`, problems)
			}
		})
	}
}

// TestAGrantIsNotWidened: what the user allowed until a date is that plan of that project, asked by that host, and marked; an agent that changes any of it
// asks again.
func TestAGrantIsNotWidened(t *testing.T) {
	v := newVictim(t)
	const npm = "run_npm_script"
	mark := args{"projectPath": v.project, "scriptName": "mark"}
	other := v.at("other")
	require.NoError(t, os.MkdirAll(other, 0o700))
	write(t, filepath.Join(other, "package.json"), `{"name":"other","version":"1.0.0","scripts":{"mark":"echo done > mark"}}`)
	seen, code := v.atTerminal("y", "project", "add", other)
	require.Zero(t, code, seen)
	original, err := os.ReadFile(filepath.Join(v.project, "package.json"))
	require.NoError(t, err)
	a := v.agent("--host", "claude-code")
	a.fails("CONFIRMATION_PENDING", npm, mark)
	seen, code = v.atTerminal("y", "approve", v.questions(1)[0].ID, "--for", "8h")
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "in any session of the agent host claude-code")
	assert.Contains(t, seen, "not bound: how often it runs")
	fresh := func(what string, agent *hand) {
		t.Helper()
		value, failed := outcome(t, agent.Call(npm, mark))
		require.Nil(t, failed, "%s: %+v", what, failed)
		assert.Contains(t, string(value), "success", what)
	}
	fresh("the call that was approved", a)
	fresh("again", a)
	fresh("in another session", v.agent("--host", "claude-code"))
	asks := func(what string, agent *hand, a args) {
		t.Helper()
		_, failed := outcome(t, agent.Call(npm, a))
		require.NotNil(t, failed, what)
		assert.Equal(t, "CONFIRMATION_PENDING", failed.Code, what)
	}
	asks("another host", v.agent("--host", "codex"), mark)
	asks("another project", a, args{"projectPath": other, "scriptName": "mark"})
	asks("another argument", a, args{"projectPath": v.project, "scriptName": "mark", "args": []string{"x"}})
	write(t, filepath.Join(v.project, "package.json"), `{"name":"shop","version":"1.0.0","scripts":{"mark":"echo worse > mark"}}`)
	asks("another content", a, mark)
	write(t, filepath.Join(v.project, "package.json"), string(original))
	fresh("as it was", a)

	var list struct {
		Grants []struct {
			ID    string
			Dated *struct{ Uses int }
		}
	}
	v.typed(&list, "grants")
	require.Len(t, list.Grants, 1)
	require.NotNil(t, list.Grants[0].Dated)
	assert.GreaterOrEqual(t, list.Grants[0].Dated.Uses, 2)
	shown, _, code := v.try("policy", "show")
	require.Zero(t, code)
	assert.Contains(t, shown, "grant "+list.Grants[0].ID)
	marked, _, code := v.try("audit", "list", "--unattended", "--grant", list.Grants[0].ID)
	require.Zero(t, code)
	assert.Contains(t, marked, "not asked: dated_grant "+list.Grants[0].ID)

	v.sql(t, `UPDATE dated_grants SET body = CAST(json_set(CAST(body AS TEXT), '$.any_entry', json('true')) AS BLOB)`)
	asks("a row that was edited", v.agent("--host", "codex"), mark)
	v.sql(t, `UPDATE dated_grants SET body = CAST(json_remove(CAST(body AS TEXT), '$.any_entry') AS BLOB)`)
	_, problems, code := v.try("grants", "revoke", list.Grants[0].ID)
	require.Zero(t, code, problems)
	asks("once it is revoked", v.agent("--host", "claude-code"), mark)
}

// TestOneYesLetsOneCallRun: an approval is spent by the first of many calls.
func TestOneYesLetsOneCallRun(t *testing.T) {
	v := newVictim(t)
	a := v.agent()
	a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	seen, code := v.atTerminal("y", "approve", v.questions(1)[0].ID)
	require.Zero(t, code, seen)
	value, failed := outcome(t, a.Call("run_script", v.mark()))
	require.Nil(t, failed, "%+v", failed)
	assert.Contains(t, string(value), "success")
	assert.True(t, v.marked())
	a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
}

// TestAYesIsNotBroughtBack: nor is an "always" carried into another session, by a program of the same user that edits the database.
func TestAYesIsNotBroughtBack(t *testing.T) {
	v := newVictim(t)
	a := v.agent()
	a.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	id := v.questions(1)[0].ID
	seen, code := v.atTerminal("a", "approve", id)
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "not bound: how often it runs; the contents of other files")
	for range 2 {
		value, failed := outcome(t, a.Call("run_script", v.mark()))
		require.Nil(t, failed, "%+v", failed)
		assert.Contains(t, string(value), "success")
	}
	db := openDB(t, filepath.Join(v.home, ".countersign"))
	var key, body []byte
	require.NoError(t, db.QueryRow(`SELECT key, body FROM sessions WHERE CAST(body AS TEXT) LIKE '%'||?||'%'`, id).Scan(&key, &body))

	thief := v.agent()
	thief.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	var session string
	require.NoError(t, db.QueryRow(`SELECT session FROM grants WHERE tool = 'run_script' ORDER BY seq DESC LIMIT 1`).Scan(&session))
	principal, _, _ := strings.Cut(string(key), "\x00")
	v.sql(t, `INSERT OR REPLACE INTO sessions (key, body) VALUES (?, ?)`, []byte(principal+"\x00"+session), body)
	thief.fails("CONFIRMATION_PENDING", "run_script", v.mark())

	v.sql(t, `DELETE FROM runs WHERE confirmation = ?1 OR redeemed = ?1`, id)
	back := func() {
		v.sql(t, `DELETE FROM runs WHERE confirmation = ?1 OR redeemed = ?1`, id)
		v.sql(t, `UPDATE grants SET state = 1, session = ?, expires_at = expires_at + 864000000000000 WHERE id = ?`, session, id)
	}
	back()
	thief.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	v.emptyIndexes(t)
	back()
	thief.fails("CONFIRMATION_PENDING", "run_script", v.mark())
}

// TestASettingIsNotBroughtBack: what the user took back does not open anything again, whatever the database and its indexes say.
func TestASettingIsNotBroughtBack(t *testing.T) {
	v := newVictim(t)
	seen, code := v.atTerminal("y", "policy", "allow", "run_script")
	require.Zero(t, code, seen)
	value, failed := outcome(t, v.agent().Call("run_script", v.mark()))
	require.Nil(t, failed, "%+v", failed)
	assert.Contains(t, string(value), "success")
	v.sql(t, `CREATE TABLE kept AS SELECT * FROM settings`)
	_, problems, code := v.try("policy", "reset", "run_script")
	require.Zero(t, code, problems)
	v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
	v.sql(t, `DELETE FROM settings`)
	v.sql(t, `INSERT INTO settings SELECT * FROM kept`)
	v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
	v.emptyIndexes(t)
	v.agent().fails("CONFIRMATION_PENDING", "run_script", v.mark())
}

// emptyIndexes has the indexes of the audit miss the newest half of its records, and look as they did.
func (v *victim) emptyIndexes(t *testing.T) {
	t.Helper()
	db := openDB(t, filepath.Join(v.home, ".countersign"))
	db.SetMaxOpenConns(1)
	do := func(query string, arguments ...any) {
		t.Helper()
		_, err := db.Exec(query, arguments...)
		require.NoError(t, err)
	}
	var half int64
	require.NoError(t, db.QueryRow("SELECT max(seq) / 2 FROM audit").Scan(&half))
	for _, name := range []string{"audit_call", "audit_confirmation", "audit_tool"} {
		var terms string
		require.NoError(t, db.QueryRow("SELECT sql FROM sqlite_schema WHERE name = ?", name).Scan(&terms))
		do("DROP INDEX " + name)
		word := " WHERE"
		if strings.Contains(terms, "\n  WHERE ") {
			word = " AND"
		}
		do(fmt.Sprintf("%s%s seq <= %d", terms, word, half))
		do("PRAGMA writable_schema = ON")
		do("UPDATE sqlite_schema SET sql = ? WHERE name = ?", terms, name)
		do("PRAGMA writable_schema = OFF")
	}
	var version int
	require.NoError(t, db.QueryRow("PRAGMA schema_version").Scan(&version))
	do(fmt.Sprintf("PRAGMA schema_version = %d", version+1))
}

// TestAnAnswerThatSavesQuestions: "u" at the question, with a tick for any arguments; a suggestion of it; and several questions answered as one.
func TestAnAnswerThatSavesQuestions(t *testing.T) {
	v := newVictim(t)
	const npm = "run_npm_script"
	a := v.agent()
	with := func(words ...string) args {
		return args{"projectPath": v.project, "scriptName": "mark", "args": append([]string{}, words...)}
	}
	runs := func(call args) {
		t.Helper()
		value, failed := outcome(t, a.Call(npm, call))
		require.Nil(t, failed, "%+v", failed)
		assert.Contains(t, string(value), "success")
	}
	a.fails("CONFIRMATION_PENDING", npm, with("one"))
	a.fails("CONFIRMATION_PENDING", npm, with("two"))
	both := v.questions(2)
	seen, code := v.atTerminal("n", "approve", both[0].ID, both[1].ID)
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "nothing was approved")
	seen, code = v.atTerminal("y", "approve", both[0].ID, both[1].ID)
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "1 of 2")
	assert.Contains(t, seen, "Approve all 2?")
	runs(with("one"))
	runs(with("two"))

	a.fails("CONFIRMATION_PENDING", npm, with("one"))
	id := v.questions(1)[0].ID
	seen, code = v.atTerminal("u\nsoon\n24h any-arguments\nn\nn", "approve", id)
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "You approved this call once before.")
	assert.Contains(t, seen, "invalid duration")
	assert.Contains(t, seen, "not bound: how often it runs; its arguments")
	a.fails("CONFIRMATION_PENDING", npm, with("one"))
	id = v.questions(1)[0].ID
	seen, code = v.atTerminal("u\n24h any-arguments\ny", "approve", id)
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "to revoke: countersign grants revoke "+id)
	runs(with("one"))
	runs(with("three"))
	runs(with())
	waits := v.serve("--confirm-wait", "10m")
	write(t, filepath.Join(v.project, "package.json"), `{"name":"shop","version":"1.0.0","scripts":{"mark":"echo other > mark"}}`)
	waits.send("waits", npm, with("z"))
	v.questions(1)
	a.fails("CONFIRMATION_PENDING", npm, with("z"))
	list := v.questions(2)
	seen, code = v.atTerminal("y", "approve", list[1].ID, "--for", "1h")
	require.Zero(t, code, seen)
	_, failed := waits.answer("waits")
	assert.Nil(t, failed, "a call that waits for its own question goes on: %+v", failed)
	runs(with("z"))
	v.questions(0)
}
