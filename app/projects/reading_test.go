package projects_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// behind is a project whose commands refer to files: a script to a script, an installed program, a makefile.
const behind = "-- package.json --\n" + `{"scripts":{"go":"sh go.sh","tool":"tool","prego":"sh before.sh"}}` + "\n-- go.sh --\nsh inner.sh\n-- inner.sh --\necho BEFORE\n-- before.sh --\ntrue\n" +
	"-- node_modules/tool/cli.sh --\n#!/bin/sh\necho BEFORE\n-- Makefile --\nall:\n\tsh inner.sh\n-- other.js --\n1\n"

// TestFilesBehindCommandsAreBound: a file that was replaced after the plan is not run, however it is referred to; the error names the file.
func TestFilesBehindCommandsAreBound(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", behind)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node_modules/.bin"), 0o755))
	require.NoError(t, os.Symlink("../tool/cli.sh", filepath.Join(dir, "node_modules/.bin/tool")))
	action := d.ByPerson("action_save", map[string]any{"type": "script", "name": "run it", "project": id, "script": map[string]any{"command": "sh", "args": []string{"go.sh"}}})["id"].(string)
	script := func(name string) map[string]any { return map[string]any{"script_name": name, "project_path": dir} }
	for name, c := range map[string]struct {
		tool tool.Name
		args map[string]any
		file string
	}{
		"a script":                 {"run_script", script("go"), "go.sh"},
		"one that it starts":       {"run_script", script("go"), "inner.sh"},
		"what runs before it":      {"run_script", script("go"), "before.sh"},
		"an installed program":     {"run_script", script("tool"), "node_modules/tool/cli.sh"},
		"in the background":        {"run_npm_script", map[string]any{"scriptName": "go", "projectPath": dir, "runInBackground": true}, "go.sh"},
		"a step":                   {"run_workflow", flow(d, id, "sh go.sh"), "inner.sh"},
		"a makefile":               {"run_workflow", flow(d, id, "make all"), "Makefile"},
		"what a makefile starts":   {"run_workflow", flow(d, id, "make all"), "inner.sh"},
		"a file of its own":        {"run_workflow", flow(d, id, "./go.sh"), "go.sh"},
		"an interpreter's file":    {"run_workflow", flow(d, id, "node other.js"), "other.js"},
		"an action":                {"run_script", map[string]any{"actionId": action}, "go.sh"},
		"a file that is put there": {"run_workflow", flow(d, id, "make all"), "GNUmakefile"},
	} {
		t.Run(name, func(t *testing.T) {
			d := d.Fresh()
			was, there := os.ReadFile(filepath.Join(dir, c.file))
			call := asked(t, d, c.tool, c.args)
			if there == nil {
				assert.Contains(t, planned(t, d.Ask(c.tool, c.args)), `"path":"`+c.file+`"`)
			}
			r.Write(dir, c.file, "echo AFTER > swapped\n")
			o := d.Call(t.Context(), call)
			assert.Equal(t, "CONFLICT", code(o), "%v", o.Err)
			assert.Contains(t, places(t, o), "reads")
			assert.NoFileExists(t, filepath.Join(dir, "swapped"))
			if there != nil {
				require.NoError(t, os.Remove(filepath.Join(dir, c.file)))
			} else {
				r.Write(dir, c.file, string(was))
			}
		})
	}
}

// TestStepsDoNotRunWhatAnEarlierOneSwapped: a file is checked again right before its step, except what earlier steps build.
func TestStepsDoNotRunWhatAnEarlierOneSwapped(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", "-- run.sh --\ntrue\n-- evil.sh --\ntouch swapped\n-- dist/made.sh --\nfalse\n")
	o := d.Confirmed("run_workflow", flow(d, id, "cp evil.sh run.sh", "sh run.sh"))
	assert.Equal(t, "EXECUTION_FAILED", code(o))
	assert.ErrorContains(t, o.Err, "the file run.sh")
	assert.NoFileExists(t, filepath.Join(dir, "swapped"))

	w := flow(d, id, "sh -c 'echo true > dist/made.sh'", "sh dist/made.sh")
	assert.Contains(t, planned(t, d.Ask("run_workflow", w)), "files that earlier steps build or install are read as those steps leave them")
	require.Empty(t, code(d.Confirmed("run_workflow", w)), "what is built is what comes next")
}

// TestAlwaysForTheSessionLeavesFilesToTheAgent: a session grant allows edited files, because editing is the agent's job, but no other script text or
// arguments.
func TestAlwaysForTheSessionLeavesFilesToTheAgent(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", behind)
	args := map[string]any{"script_name": "go", "project_path": dir}
	c := asked(t, d, "run_script", args)
	c.Always = true
	require.Empty(t, code(d.Call(t.Context(), c)))
	r.Write(dir, "inner.sh", "echo edited\n")
	require.Empty(t, code(d.Ask("run_script", args)))
	r.Write(dir, "package.json", strings.Replace(r.Read(dir, "package.json"), "sh go.sh", "sh inner.sh", 1))
	assert.Equal(t, "CONFIRMATION_PENDING", code(d.Ask("run_script", args)))
}

// TestAProjectIsDescribedByItsPackage: without a description of the user's, in lists, in searches and alone.
func TestAProjectIsDescribedByItsPackage(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", "-- package.json --\n{\"description\": \" Sells apples \"}")
	assert.Equal(t, "Sells apples", d.Do("get_project", map[string]any{"path": dir})["description"])
	list := func(query string) []any {
		return d.Do("list_projects", map[string]any{"query": query})["projects"].([]any)
	}
	require.Len(t, list("APPLES"), 1)
	assert.Equal(t, "Sells apples", list("apples")[0].(map[string]any)["description"])
	d.ByPerson("project_change", map[string]any{"project": dir, "description": "my shop"})
	assert.Equal(t, "my shop", d.Do("get_project", map[string]any{"path": dir})["description"])
	assert.Empty(t, list("apples"))
	r.Write(dir, "package.json", `{"description": "a\u001b[2Jb"}`)
	d.ByPerson("project_change", map[string]any{"project": dir, "description": ""})
	assert.Nil(t, d.Do("get_project", map[string]any{"path": dir})["description"], "control characters are no description")
}
