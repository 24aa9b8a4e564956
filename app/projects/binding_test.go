package projects_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// asked returns a call that waits for its approval, with the token.
func asked(t *testing.T, d *projectrig.Core, name tool.Name, args any) tool.Call {
	t.Helper()
	c := d.New(name, args)
	o := d.Call(t.Context(), c)
	require.NotNil(t, o.Request, "%v", o.Err)
	c.Token = o.Request.Token
	return c
}

// places returns where an error says that things have changed.
func places(t *testing.T, o tool.Outcome) string {
	t.Helper()
	doc, err := json.Marshal(details(o)["differences"])
	require.NoError(t, err)
	return string(doc)
}

// TestConfirmationsAreForWhatWasShown changes what an approval covers. The call fails and says where things differ; the approval stays valid for what
// was shown, and is used up once.
func TestConfirmationsAreForWhatWasShown(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", shop)
	child := d.Do("create_workflow", map[string]any{"name": "child", "project_id": id})["workflowId"].(string)
	parent := d.Do("create_workflow", map[string]any{"name": "parent", "project_id": id})["workflowId"].(string)
	d.Do("add_workflow_step", map[string]any{"workflow_id": child, "name": "inner", "command": "true"})
	d.ByPerson("workflow_trigger_add", map[string]any{"workflow_id": parent, "name": "start it", "target_workflow_id": child})
	script := map[string]any{"type": "script", "name": "greet", "project": id, "script": map[string]any{"command": "true"}}
	action := d.ByPerson("action_save", script)["id"].(string)
	manifest := r.Read(dir, "package.json")
	edit := func(old, put string) func(*projectrig.Core) {
		return func(*projectrig.Core) {
			require.Contains(t, manifest, old)
			r.Write(dir, "package.json", strings.Replace(manifest, old, put, 1))
		}
	}
	restore := func(*projectrig.Core) { r.Write(dir, "package.json", manifest) }
	build := map[string]any{"script_name": "build", "project_path": dir}
	for name, c := range map[string]struct {
		tool   tool.Name
		args   any
		change func(*projectrig.Core)
		undo   func(*projectrig.Core) // nil when there is no way back
		where  string
	}{
		"the command":         {"run_script", build, edit("sh build.sh", "sh evil.sh"), restore, `$.context.command`},
		"a hook before":       {"run_script", build, edit(`"fail":`, `"prebuild": "sh evil.sh", "fail":`), restore, `$.context.pre`},
		"a hook behind":       {"run_script", build, edit(`"fail":`, `"postbuild": "sh evil.sh", "fail":`), restore, `$.context.post`},
		"the package manager": {"run_script", build, edit(`"name": "shop"`, `"name": "shop", "packageManager": "pnpm@9.0.0"`), restore, `$.context.package_manager`},
		"a lockfile": {"run_script", build, func(*projectrig.Core) { r.Write(dir, "pnpm-lock.yaml", "") }, func(*projectrig.Core) { require.NoError(t, os.Remove(filepath.Join(dir, "pnpm-lock.yaml"))) },
			`$.context.argv`},
		"the workflow": {"run_workflow", map[string]any{"workflow_id": child}, func(d *projectrig.Core) {
			d.Do("add_workflow_step", map[string]any{"workflow_id": child, "name": "more", "command": "sh evil.sh"})
		}, nil, `$.context.steps[`},
		"a workflow within": {"run_workflow", map[string]any{"workflow_id": parent}, func(d *projectrig.Core) {
			d.Do("add_workflow_step", map[string]any{"workflow_id": child, "name": "more", "command": "sh evil.sh"})
		}, nil, `$.context.revisions.` + child},
		"a workflow to add to": {"add_workflow_step", map[string]any{"workflow_id": child, "name": "last", "command": "true"}, func(d *projectrig.Core) {
			d.Do("add_workflow_step", map[string]any{"workflow_id": child, "name": "other", "command": "true"})
		}, nil, `$.context.order`},
		"the action": {"run_script", map[string]any{"actionId": action}, func(d *projectrig.Core) {
			d.ByPerson("action_save", with(with(script, "id", action), "script", map[string]any{"command": "sh", "args": []string{"evil.sh"}}))
		}, nil, `$.context.argv`},
		"variables passed on": {"run_script", build, func(d *projectrig.Core) {
			d.ByPerson("project_change", map[string]any{"project": id, "env_pass": []string{"SHELL_OPTION"}})
		}, func(d *projectrig.Core) {
			d.ByPerson("project_change", map[string]any{"project": id, "env_pass": []string{}})
		}, `$.context.env_passed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SHELL_OPTION", "x")
			d := d.Fresh()
			call := asked(t, d, c.tool, c.args)
			c.change(d)
			told := len(r.Told())
			refused := d.Call(t.Context(), call)
			assert.Equal(t, "CONFLICT", code(refused), "%v", refused.Err)
			assert.Contains(t, places(t, refused), c.where)
			assert.Len(t, r.Told(), told, "nothing was started")
			if c.undo == nil {
				return
			}
			c.undo(d)
			assert.Empty(t, code(d.Call(t.Context(), call)), "it is still good for what was shown")
			assert.Equal(t, "CONFLICT", code(d.Call(t.Context(), call)), "and spent")
		})
	}
}

// TestTokens: they are for one use, by the client that got them, for exactly the same arguments.
func TestTokens(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	call := asked(t, d, "run_npm_script", map[string]any{"projectPath": dir, "scriptName": "args", "args": []string{"a"}})
	for name, change := range map[string]func(*tool.Call){
		"another session":   func(c *tool.Call) { c.Session = "other" },
		"another principal": func(c *tool.Call) { c.Principal.ID = "other" },
		"other arguments":   func(c *tool.Call) { c.Args = []byte(strings.Replace(string(c.Args), `["a"]`, `["b"]`, 1)) },
		"another timeout":   func(c *tool.Call) { c.Args = []byte(strings.Replace(string(c.Args), `{`, `{"timeoutMs":7000,`, 1)) },
		"the background": func(c *tool.Call) {
			c.Args = []byte(strings.Replace(string(c.Args), `{`, `{"runInBackground":true,`, 1))
		},
		"another tool": func(c *tool.Call) {
			c.Tool, c.Args = "run_script", []byte(`{"script_name":"args","project_path":"`+dir+`"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := call
			change(&c)
			assert.Equal(t, "CONFLICT", code(d.Call(t.Context(), c)))
			assert.Empty(t, r.Told())
		})
	}
	var all sync.WaitGroup
	codes := make([]string, 8)
	for i := range codes {
		all.Go(func() { codes[i] = code(d.Call(t.Context(), call)) })
	}
	all.Wait()
	assert.Len(t, r.Told(), 1, "of %v one did it", codes)
	assert.Equal(t, "CONFLICT", code(d.Call(t.Context(), call)))
}

// TestAlways: a session grant is for one script of one project in one session, and never for high risk.
func TestAlways(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	other, _ := d.Project("other", shop)
	script := func(dir, name string) map[string]any { return map[string]any{"script_name": name, "project_path": dir} }
	always := func(args map[string]any) {
		c := asked(t, d, "run_script", args)
		c.Always = true
		require.Empty(t, code(d.Call(t.Context(), c)))
	}
	always(script(dir, "build"))
	o := d.Ask("run_script", script(dir, "build"))
	assert.Empty(t, code(o))
	assert.Equal(t, policy.RuleSession, o.Decision.Rule)
	for name, c := range map[string]tool.Call{
		"another script":  d.New("run_script", script(dir, "check")),
		"another project": d.New("run_script", script(other, "build")),
		"another tool":    d.New("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "build"}),
	} {
		assert.Equal(t, "CONFIRMATION_PENDING", code(d.Call(t.Context(), c)), name)
	}
	stranger := *d
	stranger.Session = "other"
	assert.Equal(t, "CONFIRMATION_PENDING", code(stranger.Ask("run_script", script(dir, "build"))), "another session")

	r.Write(dir, "package.json", `{"scripts":{"build":"sh build.sh","risky":"git push --force || sh build.sh"}}`)
	r.Write(dir, "risky.sh", "echo done")
	always(script(dir, "risky"))
	assert.Equal(t, "CONFIRMATION_PENDING", code(d.Ask("run_script", script(dir, "risky"))), "high risk is asked every time")
	r.Write(dir, "package.json", `{"scripts":{"build":"git push --force"}}`)
	assert.Equal(t, "CONFIRMATION_PENDING", code(d.Ask("run_script", script(dir, "build"))), "and what became so")
	settings(t, d, policy.ExecuteWithConfirm, map[string]policy.Setting{"run_script": policy.Blocked})
	r.Write(dir, "package.json", `{"scripts":{"build":"sh build.sh"}}`)
	assert.Equal(t, "PERMISSION_DENIED", code(d.Ask("run_script", script(dir, "build"))), "blocked outranks it")
}

// TestDenialReachesTheCaller: its token is invalid then.
func TestDenialReachesTheCaller(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	c := asked(t, d, "run_script", map[string]any{"script_name": "build", "project_path": dir})
	waiting, err := d.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	_, err = d.Answer(t.Context(), confirm.Decision{ID: waiting[0].ID, By: "terminal", Proof: person.AtTerminal})
	require.NoError(t, err)
	assert.Equal(t, "USER_CANCELLED", code(d.Call(t.Context(), c)))
	assert.Empty(t, r.Told())
}
