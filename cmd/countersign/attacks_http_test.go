//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// attacker is a program with a token that the user made for it, on one transport of one server.
type attacker struct {
	*consoleFixture
	token string
	mcp   *program // nil over the JSON API
}

// raid returns the three transports of a server as users install it, one caller each, around a machine that the user has set up: a project, a deployment, an
// ecosystem with work that is nowhere else.
func raid(t *testing.T) (*consoleFixture, map[string]*attacker) {
	needs(t, "npm")
	b := &consoleFixture{workshop: newWorkshop(t), in: "site"}
	b.env = append(b.env, "AGENTPACK_MACHINE_ID="+sampleMachine, "AMOF_WORKSPACE_ROOT="+b.at("ws"))
	write(t, b.at("site/src/main.go"), "package main\n")
	b.git("site", "init", "-q", "-b", "main")
	b.git("site", "remote", "add", "origin", sampleRemote)
	b.shop(map[string]string{"mark": "echo done > mark"}, nil)
	b.ecosystem()
	b.deployment()
	edit(t, b.at("site/AGENTS.md"), "# House rules", "# House rules of somebody's own")
	b.commits("../home/.agentpack/repo")
	out := map[string]*attacker{}
	for _, name := range []string{"HTTP with sessions", "HTTP of 2026-07-28", "the JSON API"} {
		var made struct{ Token string }
		b.asCaller(&made, "token", "create", strings.ReplaceAll(strings.ToLower(name), " ", "-"), "--toolsets", "projects,deployments,ecosystems,sandboxes")
		out[name] = &attacker{consoleFixture: b, token: made.Token}
	}
	exe, err := exec.LookPath("countersign-strict")
	require.NoError(t, err)
	b.exe = exe
	b.opens()
	t.Cleanup(b.closes)
	for name, r := range out {
		if name == "the JSON API" {
			continue
		}
		r.mcp = &program{t: t, url: b.place.MCP, token: r.token, http: &http.Client{Transport: &http.Transport{}}, more: args{"X-MCP-Confirm-Wait": "0s"}}
		t.Cleanup(r.mcp.http.CloseIdleConnections)
		if r.mcp.newer = name == "HTTP of 2026-07-28"; !r.mcp.newer {
			answer := r.mcp.request("initialize", args{"protocolVersion": "2025-11-25", "capabilities": args{"elicitation": args{}}, "clientInfo": args{"name": "claude-code", "version": "2"}})
			require.Nil(t, answer.Error, "%+v", answer.Error)
		}
	}
	return b, out
}

// call calls a tool over the attacker's transport, with more members beside its arguments where that has any, and gives all that came back.
func (r *attacker) call(tool string, a, beside args) string {
	r.t.Helper()
	if r.mcp == nil {
		return r.send(http.MethodPost, "/tools/"+tool, a)
	}
	params := args{"name": tool, "arguments": a}
	for name, value := range beside {
		params[name] = value
	}
	text, err := json.Marshal(r.mcp.request("tools/call", params))
	require.NoError(r.t, err)
	return string(text)
}

// send returns a request to the JSON API, with the attacker's token and whatever headers could be taken for consent.
func (r *attacker) send(method, path string, body any) string {
	r.t.Helper()
	doc, err := json.Marshal(body)
	require.NoError(r.t, err)
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.place.API+path, strings.NewReader(string(doc)))
	require.NoError(r.t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + r.token, "X-Confirm-Wait": "0s", "X-Confirm-Token": "6f1c9a54-3f0b-4a57-9d59-1d6f2f8f1a11",
		"X-Confirm": "approve", "X-Approved-By": "console"} {
		req.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(r.t, err)
	return fmt.Sprintf("%d %s", answer.StatusCode, text)
}

// TestAttacksOverHTTP are the attacks of TestAttacks that a caller over a network can try, and those on tools that overwrite, take back and delete, each over
// every transport of one server. A row fails when its attack succeeds: when anything that the user has is not as it was.
func TestAttacksOverHTTP(t *testing.T) {
	t.Parallel()
	b, raiders := raid(t)
	shop := b.at("shop")
	mark := args{"project_path": shop, "script_name": "mark"}
	with := func(more args) args {
		out := args{}
		for _, from := range []args{mark, more} {
			for name, value := range from {
				out[name] = value
			}
		}
		return out
	}
	made := "6f1c9a54-3f0b-4a57-9d59-1d6f2f8f1a11"
	attacks := []struct {
		name string
		try  func(t *testing.T, r *attacker)
	}{
		{"the call alone, again and again", func(t *testing.T, r *attacker) {
			for range 3 {
				assert.Contains(t, r.call("run_script", mark, nil), "countersign approve")
			}
		}},
		{"a token of its own making", func(_ *testing.T, r *attacker) {
			r.call("run_script", with(args{"confirm_token": made}), nil)
			r.call("confirm", args{"token": made, "decision": "approve"}, nil)
		}},
		{"the id of the question", func(t *testing.T, r *attacker) {
			r.call("run_script", mark, nil)
			asked := b.questions(-1)
			require.NotEmpty(t, asked)
			for _, q := range asked {
				r.call("run_script", with(args{"confirm_token": q.ID}), nil)
				for _, decision := range []string{"approve", "always"} {
					r.call("confirm", args{"token": q.ID, "decision": decision}, nil)
				}
				for _, how := range []string{"approve", "confirm"} {
					assert.NotContains(t, r.send(http.MethodPost, "/confirmations/"+q.ID+"/"+how, args{"always": true}), `"approved"`)
				}
			}
		}},
		{"a typed value, and words that sound like consent", func(_ *testing.T, r *attacker) {
			r.call("run_script", with(args{"typed_value": "mark"}), nil)
			r.call("run_script", with(args{"yes": true, "approved": true, "force": true}), nil)
		}},
		{"a form that the caller fills in", func(t *testing.T, r *attacker) {
			answers := args{"confirmation": args{"action": "accept", "content": args{"decision": "approve"}}}
			r.call("run_script", mark, args{"inputResponses": answers})
			for _, q := range b.questions(-1) {
				r.call("run_script", mark, args{"inputResponses": answers, "requestState": q.ID})
			}
			said := r.call("run_script", mark, args{"_meta": args{"countersign/approved": true}})
			assert.NotContains(t, said, "elicitation/create")
			assert.NotContains(t, said, "input_required")
		}},
		{"a higher mode", func(_ *testing.T, r *attacker) {
			r.call("set_mode", args{"mode": "execute"}, nil)
			r.call("run_script", with(args{"mode": "execute"}), nil)
		}},
		{"policy, projects and tokens", func(t *testing.T, r *attacker) {
			for tool, in := range map[string]args{"change_settings": {"revision": 1, "approval": "caller", "permission_level": "full_access"}, "create_token": {"name": "mine"},
				"create_credential": {"name": "mine"}, "register_project": {"path": "/"}, "approve_remote": {"fetch_from": []string{"https://example.invalid/x"}}} {
				assert.NotContains(t, r.call(tool, in, nil), `"success"`, tool)
			}
			said := r.send(http.MethodPut, "/settings", args{"revision": 0, "permission_level": "full_access", "approval": "caller", "tool_permissions": args{"run_script": "allowed"}})
			assert.Regexp(t, "^4", said)
			r.call("run_script", mark, nil)
		}},
		{"deploy unseen", func(_ *testing.T, r *attacker) {
			said := r.call("deploy", args{}, nil)
			_, token, _ := strings.Cut(said, `confirm_token`)
			token = strings.Trim(token, `\":, `)
			token, _, _ = strings.Cut(token, `\`)
			token, _, _ = strings.Cut(token, `"`)
			for _, offered := range []string{token, made} {
				r.call("deploy_apply", args{"yes": true, "adopt": true, "confirm_token": offered}, nil)
				r.call("confirm", args{"token": offered, "decision": "approve"}, nil)
			}
		}},
		{"rollback and evolve unseen", func(t *testing.T, r *attacker) {
			assert.Contains(t, r.call("rollback", args{"yes": true, "to": "initial"}, nil), "countersign approve")
			said := r.call("evolve_propose", args{"yes": true, "branch": "mine"}, nil)
			assert.Contains(t, said, "countersign approve")
			assert.Contains(t, said, "overlay files on a new branch", "it has something to propose")
			assert.Contains(t, r.call("evolve_restore", args{"yes": true}, nil), "countersign approve")
		}},
		{"destroy unseen", func(t *testing.T, r *attacker) {
			r.call("amof_set_mode", args{"mode": "execute"}, nil)
			for _, tool := range []string{"amof_discard_ecosystem", "amof_push_ecosystem"} {
				said := r.call(tool, args{"ecosystem": "shop", "mode": "execute", "typed_value": "shop"}, nil)
				assert.Contains(t, said, "countersign approve", tool)
				for _, word := range strings.FieldsFunc(said, func(c rune) bool { return !strings.ContainsRune("0123456789abcdef-", c) }) {
					if len(word) == len(made) {
						r.call("amof_confirm", args{"confirm_token": word, "typed_value": "shop"}, nil)
						r.call(tool, args{"ecosystem": "shop", "mode": "execute", "confirm_token": word, "typed_value": "shop"}, nil)
					}
				}
			}
		}},
	}
	require.NoError(t, os.Remove(filepath.Join(b.home, ".codex/AGENTS.md")))
	repo := filepath.Join(b.home, ".agentpack/repo")
	homes := []string{filepath.Join(b.home, ".codex"), b.at("site"), shop, b.at("ws"), b.at("origin"), repo}
	stands := func() map[string]string {
		out := treeBut(t, []string{filepath.Join(repo, ".git")}, homes...)
		out["refs"] = b.git("../home/.agentpack/repo", "for-each-ref") + b.git("../home/.agentpack/repo", "symbolic-ref", "HEAD")
		return out
	}
	before := stands()
	for _, attack := range attacks {
		for name, r := range raiders {
			b.part(attack.name+", "+name, func(t *testing.T) {
				if r.mcp != nil {
					r.mcp.t = t
				}
				attack.try(t, r)
				assert.Equal(t, before, stands(), "something was done that nobody has approved")
				_, err := openDB(t, filepath.Join(b.home, ".countersign")).Exec("DELETE FROM grants") // only so many may wait of one session
				require.NoError(t, err)
			})
		}
	}
	stdout, problems, code := b.try("policy", "show", "--json")
	require.Zero(t, code, problems)
	assert.Contains(t, stdout, `"approval":"human"`)
	tokens, _, _ := b.try("token", "list", "--json")
	assert.NotContains(t, tokens, `"mine"`)
}
