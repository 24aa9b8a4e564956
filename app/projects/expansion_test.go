package projects_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// planned returns the plan of a waiting call, as the user sees it.
func planned(t *testing.T, o tool.Outcome) string {
	t.Helper()
	require.NotNil(t, o.Request, "%v", o.Err)
	return string(o.Request.Plan)
}

// flow returns a workflow of the project with one step for each command.
func flow(d *projectrig.Core, id any, commands ...string) map[string]any {
	w := d.Do("create_workflow", map[string]any{"name": "flow", "project_id": id})["workflowId"]
	for _, c := range commands {
		d.Do("add_workflow_step", map[string]any{"workflow_id": w, "name": "step", "command": c})
	}
	return map[string]any{"workflow_id": w}
}

// TestScriptsThatStepsStart: they are shown with their text and hooks, checked like the step itself, and covered by its plan.
func TestScriptsThatStepsStart(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", `
-- package.json --
{"scripts": {"go": "npm run deep", "prego": "sh before.sh", "deep": "echo DEEP", "blk": "rm -rf /", "via": "pnpm blk", "pub": "git push --force", "loop": "npm run loop",
 "d1": "npm run d2", "d2": "npm run d3", "d3": "npm run d4", "d4": "npm run d5", "d5": "npm run d6", "d6": "npm run blk", "server": "npm run dev", "dev": "vite"}}
-- go.sh --
echo ran
`)
	for command, want := range map[string]struct{ risk, code, shows string }{
		"{pm} run go": {"medium", "", "sh before.sh"}, "sh -c 'npm run go'": {"medium", "", "echo DEEP"}, "yarn go": {"medium", "", "echo DEEP"}, "npm run loop": {"medium", "", `"loop"`},
		"{pm} run blk": {"", "COMMAND_BLOCKED", ""}, "npm run via": {"", "COMMAND_BLOCKED", ""}, "npm run pub": {"high", "", "git push --force"},
		"npm run none": {"high", "", "script-unclear"}, "N=$(cat x); npm run $N": {"high", "", "script-unclear"}, "npm -w other run go": {"high", "", "script-unclear"}, "npm --prefix .. run go": {"high", "", "script-unclear"},
		"npm run d1": {"high", "", "script-depth"}, "npm run go --script-shell ./evil": {"high", "", "script-unclear"}, "echo npm run blk": {"medium", "", ""},
	} {
		t.Run(command, func(t *testing.T) {
			d := d.Fresh()
			o := d.Ask("run_workflow", flow(d, id, command))
			if want.code != "" {
				assert.Equal(t, want.code, code(o))
				return
			}
			assert.Contains(t, planned(t, o), want.shows)
			assert.Equal(t, want.risk, o.Request.Risk)
		})
	}
	d = d.Fresh()
	assert.Equal(t, "COMMAND_BLOCKED", code(d.Ask("run_script", map[string]any{"script_name": "via", "project_path": dir})))
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_script", map[string]any{"script_name": "server", "project_path": dir})), "it never ends, although its name and text do not say so")
	assert.Equal(t, "COMMAND_BLOCKED", code(d.Ask("run_npm_script", map[string]any{"scriptName": "args", "projectPath": r.Dir("shop", "-- package.json --\n"+`{"scripts":{"args":"npm run","blk":"rm -rf /"}}`), "args": []string{"blk"}})))

	r.Write(dir, "package.json", `{"scripts":{"go":"echo BEFORE"}}`)
	call := asked(t, d, "run_workflow", flow(d, id, "npm run go"))
	r.Write(dir, "package.json", `{"scripts":{"go":"echo AFTER"}}`)
	refused := d.Call(t.Context(), call)
	assert.Equal(t, "CONFLICT", code(refused))
	assert.Contains(t, places(t, refused), "scripts")
	assert.Empty(t, r.Told())
}

// TestStepsAreLookedAtAgain: right before a step starts, changes by earlier steps to its scripts or directory make it fail.
func TestStepsAreLookedAtAgain(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", "-- package.json --\n"+`{"scripts":{"go":"echo BEFORE"}}`+"\n-- other.json --\n"+`{"scripts":{"go":"echo AFTER"}}`+"\n-- sub/a --\n")
	r.Dir("outside", "")
	o := d.Confirmed("run_workflow", flow(d, id, "cp other.json package.json", "npm run go"))
	assert.Equal(t, "EXECUTION_FAILED", code(o))
	assert.ErrorContains(t, o.Err, "was changed since it was confirmed")
	assert.Empty(t, r.Told())

	w := flow(d, id, "sh -c 'mv sub was; ln -s ../outside sub'")
	d.Do("add_workflow_step", map[string]any{"workflow_id": w["workflow_id"], "name": "in sub", "command": "touch here", "cwd": "sub"})
	assert.Equal(t, "EXECUTION_FAILED", code(d.Confirmed("run_workflow", w)))
	assert.NoFileExists(t, filepath.Join(r.Top, "outside", "here"))
	assert.NoFileExists(t, filepath.Join(dir, "was", "here"))
}

// TestSettingsOfPackageManagers: those that change what runs are shown, high risk, and covered by the plan.
func TestSettingsOfPackageManagers(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", shop)
	build := map[string]any{"script_name": "build", "project_path": dir}
	call := asked(t, d, "run_script", build)
	for file, text := range map[string]string{
		".npmrc": "color=false\rscript-shell = ./evil\n", ".yarnrc.yml": "nodeLinker: node-modules\nyarnPath: ./evil.cjs\n", "pnpm-workspace.yaml": "packages: [a]\nscriptShell: ./evil\n",
		"bunfig.toml": "[run]\nshell = \"./evil\"\n", ".yarnrc": "script-shell \"./evil\"\n",
	} {
		t.Run(file, func(t *testing.T) {
			d := d.Fresh()
			r.Write(dir, file, text)
			assert.Equal(t, "CONFLICT", code(d.Call(t.Context(), call)))
			o := d.Ask("run_script", build)
			assert.Contains(t, planned(t, o), "./evil")
			assert.Equal(t, "high", o.Request.Risk)
			o = d.Ask("run_workflow", flow(d, id, "npm run build"))
			assert.Contains(t, planned(t, o), "./evil")
			assert.Equal(t, "high", o.Request.Risk)
			o = d.Ask("run_workflow", flow(d, id, "sh build.sh"))
			assert.NotContains(t, planned(t, o), "./evil", "no package manager runs there")
			require.NoError(t, os.Remove(filepath.Join(dir, file)))
		})
	}
	r.Write(dir, ".npmrc", "registry=https://registry.example.org/\nsave-exact=true\n")
	r.Write(dir, ".yarnrc.yml", "yarnPath: .yarn/releases/yarn-4.1.0.cjs\n")
	o := d.Fresh().Ask("run_script", build)
	assert.Equal(t, "medium", o.Request.Risk, "every day's settings")
	assert.Contains(t, planned(t, o), "yarn-4.1.0")
}

// TestNothingHidesBehindAMask: code is shown in full, and masked parts are reported to the user who decides.
func TestNothingHidesBehindAMask(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", "")
	show := func(text string, args ...string) (plan, risk string) {
		args = append([]string{}, args...)
		doc, err := json.Marshal(map[string]any{"scripts": map[string]string{"t": text}})
		require.NoError(t, err)
		r.Write(dir, "package.json", string(doc))
		o := d.Fresh().Ask("run_npm_script", map[string]any{"scriptName": "t", "projectPath": dir, "args": args})
		return planned(t, o), o.Request.Risk
	}
	for _, text := range []string{"TOKEN=`node evil.js` true", "password=$(node evil.js) true", "x --token `node evil.js`"} {
		plan, _ := show(text)
		assert.Contains(t, plan, "node evil.js")
	}
	for _, c := range [][]string{{"TOKEN=abcdefgh12345678 true"}, {"true", "--token", "abcdefgh12345678"}} {
		plan, risk := show(c[0], c[1:]...)
		assert.NotContains(t, plan, "abcdefgh")
		assert.Contains(t, plan, "part of this is masked")
		assert.Equal(t, "high", risk)
	}
	_, risk := show("echo hello")
	assert.Equal(t, "medium", risk)
}

// TestAlwaysIsForContent: a session grant does not cover another text, other arguments, the background, other settings or an edited workflow.
func TestAlwaysIsForContent(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", shop)
	manifest := r.Read(dir, "package.json")
	always := func(name tool.Name, args any) {
		c := asked(t, d, name, args)
		c.Always = true
		require.Empty(t, code(d.Call(t.Context(), c)))
		d = d.Fresh()
		require.Empty(t, code(d.Ask(name, args)))
	}
	asks := func(name tool.Name, args any, why string) {
		assert.Equal(t, "CONFIRMATION_PENDING", code(d.Ask(name, args)), why)
	}
	script := map[string]any{"scriptName": "args", "projectPath": dir, "args": []string{"safe"}}
	always("run_npm_script", script)
	asks("run_npm_script", with(script, "args", []string{"other"}), "other arguments")
	asks("run_npm_script", with(script, "runInBackground", true), "the background")
	r.Write(dir, "package.json", strings.Replace(manifest, "sh args.sh", "sh args.sh more", 1))
	asks("run_npm_script", script, "another text")
	r.Write(dir, "package.json", manifest)
	require.Empty(t, code(d.Ask("run_npm_script", script)), "the same again")

	w := flow(d, id, "sh build.sh")
	d = d.Fresh()
	always("run_workflow", w)
	d.Do("add_workflow_step", map[string]any{"workflow_id": w["workflow_id"], "name": "more", "command": "true"})
	asks("run_workflow", w, "an edited workflow")

	always("create_workflow", map[string]any{"name": "x"})
	asks("create_workflow", map[string]any{"name": "y", "project_id": id}, "a project's")
}

// TestLongArguments: arguments that are too long to be shown are an error.
func TestLongArguments(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	for _, args := range [][]string{{strings.Repeat("x", 32<<10+1)}, {strings.Repeat("x", 32<<10), strings.Repeat("x", 32<<10), strings.Repeat("x", 32<<10), strings.Repeat("x", 32<<10), "x"}} {
		assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_npm_script", map[string]any{"scriptName": "args", "projectPath": dir, "args": args})))
	}
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_npm_script", map[string]any{"scriptName": "args", "projectPath": dir, "timeoutMs": 0})))
}
