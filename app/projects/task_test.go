package projects_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// monorepo is a pnpm workspace, a Go module and a Makefile in one.
const monorepo = `first
-- package.json --
{"name": "shop", "private": true, "packageManager": "pnpm@9.1.0", "scripts": {"test": "pnpm -r test"}}
-- pnpm-workspace.yaml --
packages: ["packages/*"]
-- packages/ui/package.json --
{"name": "ui", "dependencies": {"core": "workspace:*"}, "scripts": {"test": "sh test.sh"}}
-- packages/ui/test.sh --
echo tested ui
-- packages/core/package.json --
{"name": "core", "scripts": {"test": "sh test.sh", "lint": "eslint ."}}
-- packages/core/test.sh --
echo tested core
-- packages/docs/package.json --
{"name": "docs", "scripts": {"lint": "sh test.sh"}}
-- go.work --
go 1.26
use ./api
-- api/go.mod --
module example.com/api
-- Makefile --
OUT = dist
.PHONY: all test wipe
all: test
	@sh build.sh "$$HOME" $(OUT)
test:
	./check.sh
wipe:
	rm -rf $(TOP)/
-- build.sh --
echo built
-- check.sh --
echo checked
`

// recorder is a fake task runner: it records its arguments, as the managers of a rig do, and prints them.
const recorder = `#!/bin/sh
printf '%s\0' "${0##*/}" "$@" >> "$HOME/told"
printf '\n' >> "$HOME/told"
echo "${0##*/} $* in ${PWD##*/}"
[ ! -e broken ] || exit 2
`

func withRunners(t *testing.T, names ...string) *projectrig.Rig {
	r := projectrig.New(t)
	for _, name := range names {
		r.Write(filepath.Join(r.Home, "bin"), name, recorder)
		require.NoError(t, os.Chmod(filepath.Join(r.Home, "bin", name), 0o755))
	}
	return r
}

// TestTasksAreListedWithoutRunningAnything: those of a directory, and the members of its workspace with theirs.
func TestTasksAreListedWithoutRunningAnything(t *testing.T) {
	r := withRunners(t, "make", "go")
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", monorepo)
	out := d.Do("list_project_tasks", map[string]any{"project_path": dir})
	assert.Equal(t, "pnpm", out["packageManager"])
	assert.Equal(t, "9.1.0", out["packageManagerVersion"])
	var names []string
	for _, one := range out["tasks"].([]any) {
		task := one.(map[string]any)
		names = append(names, task["runner"].(string)+":"+task["name"].(string))
	}
	assert.Equal(t, []string{"script:test", "make:all", "make:test", "make:wipe"}, names)
	members := map[string]any{}
	for _, one := range out["workspace"].(map[string]any)["members"].([]any) {
		member := one.(map[string]any)
		members[member["dir"].(string)] = member["tasks"]
	}
	assert.Equal(t, map[string]any{".": []any{"script:test", "all", "make:test", "wipe"}, "api": []any{"build", "test", "vet"}, "packages/ui": []any{"test"},
		"packages/core": []any{"lint", "test"}, "packages/docs": []any{"lint"}}, members)

	near := d.Do("list_project_tasks", map[string]any{"project_path": filepath.Join(dir, "packages/core")})
	assert.Equal(t, "pnpm", near["packageManager"], "the manager of the whole is that of each member")
	assert.Equal(t, dir, near["workspace"].(map[string]any)["root"])
	assert.Empty(t, r.Told())
}

// TestAMemberIsRunByTheManagerOfTheWhole: in its version, with any tool that runs its script; a member with a lockfile of its own is not.
func TestAMemberIsRunByTheManagerOfTheWhole(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", monorepo)
	core := filepath.Join(dir, "packages/core")
	out := d.Do("run_script", map[string]any{"project_path": core, "script_name": "test"})
	assert.Equal(t, []any{"pnpm", "9.1.0", "tested core\n", "pnpm@9.1.0"}, []any{out["package_manager"], out["package_manager_version"], out["stdout"], out["corepack_config"]})
	r.Write(core, "package-lock.json", "{}")
	assert.Equal(t, "npm", d.Do("run_npm_script", map[string]any{"projectPath": core, "scriptName": "test"})["package_manager"])
	r.Write(dir, "package.json", `{"packageManager":"sh -c evil"}`)
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_script", map[string]any{"project_path": filepath.Join(dir, "packages/ui"), "script_name": "test"})), "nothing is run with it")
}

// TestATaskIsShownWithAllThatIsKnownToRun: the recipe as written and as a shell reads it, the tasks that it needs, and the files that these read as
// code. A change to any of them needs a new approval; no shell is started for it.
func TestATaskIsShownWithAllThatIsKnownToRun(t *testing.T) {
	r := withRunners(t, "make")
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", monorepo)
	args := map[string]any{"projectPath": dir, "task": "all", "args": []string{"$(touch hacked)"}}
	o := d.Ask("run_task", args)
	require.Equal(t, "CONFIRMATION_PENDING", code(o))
	plan := string(o.Request.Plan)
	for _, part := range []string{`"command":"sh build.sh \"$$HOME\" $(OUT)"`, `"read_as":"sh build.sh \"$HOME\" dist"`, `{"name":"test","command":"./check.sh"}`, `"path":"Makefile"`, `"path":"build.sh"`, `"path":"check.sh"`} {
		assert.Contains(t, plan, part)
	}
	c := d.New("run_task", args)
	c.Token = o.Request.Token
	r.Write(dir, "check.sh", "echo other")
	assert.NotEqual(t, "", code(d.Call(t.Context(), c)), "what was seen is not there any more")
	assert.Empty(t, r.Told())

	out := d.Do("run_task", args)
	step := out["steps"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{true, "completed", "make:all", "make all $(touch hacked) in shop\n"}, []any{out["success"], step["status"], step["task"], step["stdout"]})
	assert.Equal(t, [][]string{{"make", "all", "$(touch hacked)"}}, r.Told())
	assert.NoFileExists(t, filepath.Join(dir, "hacked"))

	assert.Equal(t, "COMMAND_BLOCKED", code(d.Ask("run_task", map[string]any{"projectPath": dir, "task": "wipe"})))
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_task", map[string]any{"projectPath": dir, "task": "test"})), "two runners have it")
	assert.Equal(t, "SCRIPT_NOT_FOUND", code(d.Ask("run_task", map[string]any{"projectPath": dir, "task": "al"})))
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_task", map[string]any{"projectPath": dir, "task": "make:test", "args": []string{"a\x00b"}})))
	high := d.Ask("run_task", map[string]any{"projectPath": dir, "task": "make:test", "args": []string{"--eval=$(shell touch hacked)"}})
	assert.Equal(t, "high", high.Request.Risk, "options of make are code")
}

// TestATaskRunsInManyMembers: in the selected ones that have it, each after its dependencies, until one fails; and in those that changed since a
// commit, with those that depend on them.
func TestATaskRunsInManyMembers(t *testing.T) {
	r := withRunners(t, "go")
	d := r.OpenCore(nil)
	repo := gitfixture.New(t, monorepo)
	d.Register(repo.Dir)
	run := func(more map[string]any) (members []string, out map[string]any) {
		args := map[string]any{"projectPath": repo.Dir, "task": "test"}
		for k, v := range more {
			args[k] = v
		}
		o := d.Fresh().Confirmed("run_task", args)
		if out = details(o); o.Err == nil {
			out = projectrig.Object(t, o.Value)
		}
		steps, _ := out["steps"].([]any)
		for _, one := range steps {
			step := one.(map[string]any)
			members = append(members, step["member"].(string)+" "+step["status"].(string))
		}
		return members, out
	}
	all, _ := run(map[string]any{"members": []string{"*"}})
	assert.Equal(t, []string{"example.com/api completed", "core completed", "ui completed"}, all, "without the top, and the member that has no such task")
	assert.Equal(t, [][]string{{"go", "test", "./..."}, {"pnpm", "run", "test"}, {"pnpm", "run", "test"}}, r.Told())
	some, _ := run(map[string]any{"members": []string{"packages/*", "!core"}})
	assert.Equal(t, []string{"ui completed"}, some)

	r.Write(repo.Dir, "packages/core/new.js", "")
	changed, _ := run(map[string]any{"changedSince": "HEAD"})
	assert.Equal(t, []string{"core completed", "ui completed"}, changed, "and whatever needs what changed")
	only, _ := run(map[string]any{"changedSince": "HEAD", "members": []string{"core"}})
	assert.Equal(t, []string{"core completed"}, only)

	r.Write(repo.Dir, "packages/core/test.sh", "echo broken; exit 3")
	failed, out := run(map[string]any{"members": []string{"packages/*"}})
	assert.Equal(t, []string{"core failed", "ui skipped"}, failed)
	assert.Equal(t, "broken\n", out["steps"].([]any)[0].(map[string]any)["stdout"])

	for want, args := range map[string]map[string]any{
		"INVALID_ARGUMENT": {"members": []string{"cor"}}, "SCRIPT_NOT_FOUND": {"members": []string{"docs"}},
	} {
		args["projectPath"], args["task"] = repo.Dir, "test"
		assert.Equal(t, want, code(d.Ask("run_task", args)))
	}
	for _, ref := range []string{"nothing", "--output=x", "HEAD:Makefile"} {
		assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_task", map[string]any{"projectPath": repo.Dir, "task": "test", "changedSince": ref})), ref)
	}
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_task", map[string]any{"projectPath": repo.Dir, "task": "test", "members": []string{"*"}, "runInBackground": true})))
}
