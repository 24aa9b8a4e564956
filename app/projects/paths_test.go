package projects_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// pathTools returns the tools that take a path, with the name of that argument and the other required ones.
func pathTools() map[tool.Name]func(path string) map[string]any {
	type args = map[string]any
	one := func(name string, more args) func(string) args {
		return func(path string) args { return with(more, name, path) }
	}
	return map[tool.Name]func(string) args{
		"get_project": one("path", nil), "list_project_scripts": one("project_path", nil), "list_worktrees": one("project_path", nil), "get_git_status": one("project_path", nil),
		"get_staged_diff": one("project_path", nil), "get_worktree_status": one("worktree_path", nil), "get_git_diff": one("worktree_path", nil),
		"run_script": one("project_path", args{"script_name": "build"}), "run_npm_script": one("projectPath", args{"scriptName": "build"}),
	}
}

// TestPathsStayInside: nothing outside of a registered project is read, and errors do not reveal what exists (packageflow-security contract §4.1).
func TestPathsStayInside(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	outside := r.Dir("outside", shop)
	r.Dir("shop-twin", shop)
	gone, _ := d.Project("gone", shop)
	require.NoError(t, os.RemoveAll(gone))
	replaced, _ := d.Project("replaced", shop)
	require.NoError(t, os.RemoveAll(replaced))
	require.NoError(t, os.Symlink(outside, replaced))
	for link, target := range map[string]string{"out": outside, "up": "../outside", "loop": "loop", "in": "src", "file": "package.json"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "src"), 0o755))
	for name, args := range pathTools() {
		t.Run(string(name), func(t *testing.T) {
			d := d.Fresh()
			said := map[string]bool{}
			for what, path := range map[string]string{
				"outside": outside, "missing": r.Top + "/missing", "a prefix": dir + "-twin", "a link out": dir + "/out", "a relative link out": dir + "/up", "through a link out": dir + "/out/src",
				"a loop": dir + "/loop", "a file": dir + "/package.json", "a link to a file": dir + "/file", "missing inside": dir + "/missing", "a deleted project": gone, "a project that became a link": replaced,
				"the root": "/", "home": r.Home, "our own": r.State,
			} {
				o := d.Ask(name, args(path))
				assert.Equal(t, "PATH_NOT_ALLOWED", code(o), what)
				if o.Err != nil {
					said[strings.ReplaceAll(o.Err.Error(), path, "PATH")] = true
				}
			}
			assert.Len(t, said, 1, "one text for all: %v", said)
			d = d.Fresh()
			for what, path := range map[string]string{"upwards": dir + "/../shop", "home": "~/shop", "relative": "shop", "empty": "", "NUL": dir + "\x00", "a line break": dir + "\n", "long": dir + strings.Repeat("/a", 2100)} {
				assert.Contains(t, []string{"PATH_NOT_ALLOWED", "INVALID_ARGUMENT"}, code(d.Ask(name, args(path))), what)
			}
		})
	}
	assert.Empty(t, r.Told())
	assert.NotEqual(t, "PATH_NOT_ALLOWED", code(d.Ask("list_project_scripts", map[string]any{"project_path": dir + "/in/"})), "a link that stays inside")
}

// TestLinkedWorktrees: one elsewhere is accepted if both sides say that they belong together.
func TestLinkedWorktrees(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	repo := gitfixture.New(t, "-- a.txt --\na\n")
	d.Register(repo.Dir)
	linked := filepath.Join(r.Top, "linked")
	repo.Git("worktree", "add", "--quiet", "-b", "side", linked)
	forged := r.Dir("forged", "-- .git --\ngitdir: "+repo.Dir+"/.git/worktrees/linked\n")
	stranger := gitfixture.New(t, "-- a.txt --\na\n")
	link := filepath.Join(r.Top, "link")
	require.NoError(t, os.Symlink(linked, link))
	for path, allowed := range map[string]bool{linked: true, link: false, forged: false, stranger.Dir: false, stranger.Dir + "/.git": false, repo.Dir: true, repo.Dir + "/.git": true} {
		for _, name := range []tool.Name{"get_worktree_status", "get_git_diff"} {
			got := code(d.Ask(name, map[string]any{"worktree_path": path}))
			assert.Equal(t, allowed, got != "PATH_NOT_ALLOWED", "%s of %s: %s", name, path, got)
		}
	}
	r.Dir("linked", shop)
	assert.Empty(t, code(d.Confirmed("run_script", map[string]any{"script_name": "build", "project_path": linked})))
	r.Write(linked, "Makefile", "hello:\n\techo hello\n")
	for name, ask := range map[tool.Name]map[string]any{
		"run_script": {"script_name": "build", "project_path": linked},
		"run_task":   {"task": "make:hello", "projectPath": linked},
	} {
		asked := d.Ask(name, ask).Request
		require.NotNil(t, asked, name)
		assert.Contains(t, asked.Prompt, "(worktree linked)", name)
		assert.Contains(t, string(asked.Plan), linked, "%s says where", name)
	}
	for _, name := range []tool.Name{"get_git_status", "get_staged_diff", "list_project_scripts"} {
		assert.Empty(t, code(d.Ask(name, map[string]any{"project_path": linked})), name)
		assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask(name, map[string]any{"project_path": forged})), name)
	}
	assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask("run_script", map[string]any{"script_name": "build", "project_path": forged})))
	require.NoError(t, os.RemoveAll(linked))
	assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask("get_git_diff", map[string]any{"worktree_path": linked})))
}

// TestNestedProjects: a path belongs to the innermost one, and a workflow of the outer one may run in the inner one.
func TestNestedProjects(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	outer, id := d.Project("outer", shop)
	inner, _ := d.Project("outer/packages/inner", shop)
	sibling, _ := d.Project("sibling", shop)
	for path, want := range map[string]string{outer: "outer", outer + "/packages": "outer", inner: "inner", inner + "/": "inner"} {
		require.NoError(t, os.MkdirAll(path, 0o755))
		assert.Equal(t, want, d.Do("get_project", map[string]any{"path": path})["name"], path)
	}
	flow := d.Do("create_workflow", map[string]any{"name": "flow", "project_id": id})["workflowId"]
	step := func(cwd string) map[string]any {
		return map[string]any{"workflow_id": flow, "name": "in " + cwd, "command": "pwd", "cwd": cwd}
	}
	d.Do("add_workflow_step", step("packages/inner"))
	d.Do("add_workflow_step", step(outer+"/packages"))
	d.Do("add_workflow_step", step("packages/later"))
	for _, cwd := range []string{sibling, "/tmp", "../sibling", "packages/../../sibling"} {
		assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask("add_workflow_step", step(cwd))), cwd)
	}
	run := map[string]any{"workflow_id": flow}
	assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask("run_workflow", run)), "a directory that is not there yet")
	require.NoError(t, os.Symlink(sibling, outer+"/packages/later"))
	assert.Equal(t, "PATH_NOT_ALLOWED", code(d.Ask("run_workflow", run)), "or leads out by now")
	require.NoError(t, os.Remove(outer+"/packages/later"))
	require.NoError(t, os.Mkdir(outer+"/packages/later", 0o755))
	out := d.Do("run_workflow", run)["outputSummary"]
	assert.Subset(t, out, []any{"  > " + inner, "  > " + outer + "/packages", "  > " + outer + "/packages/later"})
}

// TestActionsStayInside: a stored program runs only in a registered project.
func TestActionsStayInside(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", shop)
	r.Dir("outside", "")
	require.NoError(t, os.Symlink(r.Top+"/outside", dir+"/out"))
	require.NoError(t, os.Mkdir(dir+"/src", 0o755))
	for cwd, want := range map[string]string{"": "", "src": "", dir + "/src": "", "out": "PATH_NOT_ALLOWED", "..": "PATH_NOT_ALLOWED", r.Top: "PATH_NOT_ALLOWED", "missing": "PATH_NOT_ALLOWED"} {
		action := d.ByPerson("action_save", map[string]any{"type": "script", "name": "where", "project": id, "script": map[string]any{"command": "pwd", "cwd": cwd}})["id"]
		assert.Equal(t, want, code(d.Fresh().Confirmed("run_script", map[string]any{"actionId": action})), "%q", cwd)
	}
	global := d.ByPerson("action_save", map[string]any{"type": "script", "name": "where", "script": map[string]any{"command": "pwd"}})["id"]
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_script", map[string]any{"actionId": global})))
}
