package push_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// picture returns every file of the workspace with its mode and content, what git says in each of its working trees, the root's branches, and the state.
func (r *rig) picture() map[string]string {
	r.t.Helper()
	all := map[string]string{"branches": r.root.Git("for-each-ref", "refs/heads"), "worktrees": r.root.Git("worktree", "list", "--porcelain"), "stash": r.root.Git("stash", "list"),
		"HEAD": r.root.Git("symbolic-ref", "HEAD")}
	state, err := json.Marshal(r.found().State)
	require.NoError(r.t, err)
	var plain args
	require.NoError(r.t, json.Unmarshal(state, &plain))
	delete(plain, "last_modified")
	state, err = json.Marshal(plain)
	require.NoError(r.t, err)
	all["state"] = string(state)
	require.NoError(r.t, filepath.WalkDir(r.at(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.at(), path)
		all[rel] = info.Mode().String()
		if d.Name() == ".git" {
			all["status "+rel] = r.root.Git("-C", filepath.Dir(path), "status", "--porcelain", "--branch")
		}
		if info.Mode().IsRegular() && d.Name() != "index" {
			text, err := os.ReadFile(path)
			all[rel] += " " + string(text)
			return err
		}
		return nil
	}))
	return all
}

// lived has the workspace look like one that is worked in.
func lived(r *rig) {
	r.t.Helper()
	r.commit("api", "unpushed.txt")
	r.write("dirty", "repos", "web", "dirty.txt")
	r.write("staged", "repos", "web", "staged.txt")
	r.git("web", "add", "staged.txt")
	r.write("note", "notes.md")
	r.root.Git("-C", r.at(), "add", "notes.md")
	r.write("ignored", "repos", "api", ".git", "info", "exclude")
	require.NoError(r.t, os.Symlink("nowhere", r.at("repos", "api", "link")))
	require.NoError(r.t, os.Chmod(r.at("repos", "api", "api.txt"), 0o755))
	r.write("stashed", "repos", "web", "web.txt")
	r.git("web", "stash", "push", "--quiet", "--", "web.txt")
	r.ticket("T-1", "api", "web")
	r.write("in the ticket", "tickets", "T-1", "api", "ticket.txt")
}

func TestDiscardInThreeModes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	lived(r)
	before := r.picture()
	o := r.call(discard, "", nil)
	require.Error(t, o.Err)
	p := r.preview(discard, nil)
	assert.Equal(t, true, p["remote_untouched"])
	assert.Equal(t, archive, p["suggestion"])
	assert.Equal(t, []any{r.at()}, p["directories"])
	assert.Contains(t, p["dirty_files"], "worktrees/demo/repos/web/dirty.txt")
	assert.Contains(t, p["dirty_files"], "worktrees/demo/tickets/T-1/api/ticket.txt")
	assert.EqualValues(t, 1, p["stashes"])
	byName := map[string]args{}
	for _, b := range p["branches"].([]any) {
		byName[b.(args)["repo"].(string)+" "+b.(args)["branch"].(string)] = b.(args)
	}
	assert.EqualValues(t, 1, byName["api main"]["unpushed_commits"])
	assert.EqualValues(t, 1, byName["api feature/T-1"]["unpushed_commits"])
	assert.EqualValues(t, 0, byName["web main"]["unpushed_commits"])
	assert.Contains(t, byName, "workspace workspace/demo")
	asked := r.call(discard, "execute", nil)
	require.NotNil(t, asked.Request)
	wrong := r.call(discard, "execute", args{"confirm_token": asked.Request.Token.Reveal(), "typed_value": "Demo"})
	require.Error(t, wrong.Err)
	assert.Equal(t, before, r.picture(), "ask, plan and a wrong word change nothing")
}

func TestDiscardAndRestoreBringEverythingBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	lived(r)
	before, remotes := r.picture(), r.remote("api", "main")+r.remote("web", "main")
	result := r.worked(discard, nil)
	assert.NoDirExists(t, r.at())
	assert.Empty(t, r.root.Git("branch", "--list", "workspace/demo"))
	assert.False(t, r.found().State.Installed())
	assert.Equal(t, remotes, r.remote("api", "main")+r.remote("web", "main"))
	assert.Equal(t, "countersign eco restore demo", result["restore"])
	r.root.Git("gc", "--quiet", "--prune=now")
	r.refused("eco_not_installed", discard, nil)

	listed := decoded(t, r.call(trash, "", nil).Value)
	require.EqualValues(t, 1, listed["count"])
	item := listed["trash"].([]any)[0].(args)
	assert.Equal(t, result["trash_id"], item["trash_id"])
	assert.Equal(t, "2026-03-08T12:00:00Z", item["restorable_until"])

	require.NoError(t, r.call(restore, "plan", nil).Err)
	assert.NoDirExists(t, r.at(), "a dry run brings nothing back")
	o := r.call(restore, "execute", nil)
	require.NoError(t, o.Err)
	assert.Equal(t, before, r.picture())
	assert.Empty(t, r.root.Git("for-each-ref", "refs/countersign"))
	assert.EqualValues(t, 0, decoded(t, r.call(trash, "", nil).Value)["count"])
	assert.Equal(t, "eco_trash_not_found", string(r.refused("eco_trash_not_found", restore, nil).Code))
	r.worked(discard, nil)
}

// TestAcrossDevices: a copy is as good as a move, and what cannot be removed at once is.
func TestAcrossDevices(t *testing.T) {
	t.Parallel()
	other := workroom.Far(t)
	r := newRig(t, "api", "web")
	lived(r)
	require.NoError(t, os.Mkdir(r.at("locked"), 0o755))
	r.write("x", "locked", "x")
	require.NoError(t, os.Chmod(r.at("locked"), 0o555))
	before := r.picture()
	d := r.deps
	d.Places = elsewhere{d.Places, other}
	r.open(d)
	r.worked(discard, nil)
	assert.NoDirExists(t, r.at())
	found, err := filepath.Glob(filepath.Join(other, "trash", "demo-*", "*"))
	require.NoError(t, err)
	assert.Len(t, found, 2, "%v", found)
	require.NoError(t, r.call(restore, "execute", nil).Err)
	assert.Equal(t, before, r.picture())
	require.NoError(t, os.Chmod(r.at("locked"), 0o755))
}

func TestADirectoryDeletedByHand(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	require.NoError(t, os.RemoveAll(r.at()))
	r.refused("eco_unsaved_work", archive, nil)
	r.worked(discard, nil)
	assert.False(t, r.found().State.Installed())
	assert.NotContains(t, r.root.Git("worktree", "list"), "demo")
	done := r.do("amof_install_ecosystem", nil)
	assert.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
}

func TestRestoreInTheWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	first := r.worked(discard, nil)["trash_id"].(string)
	done := r.do("amof_install_ecosystem", nil)
	require.Equal(t, ecosystem.RunSuccess, done.Status, done.Error)
	r.refused("eco_already_installed", restore, nil)
	second := r.worked(discard, nil)["trash_id"].(string)
	assert.NotEqual(t, first, second, "one second, two entries")
	require.NoError(t, os.MkdirAll(r.at("mine"), 0o755))
	r.refused("eco_path_conflict", restore, args{"trash_id": first})
	require.NoError(t, os.RemoveAll(r.at()))
	r.root.Git("branch", "workspace/demo", "HEAD")
	r.root.Git("checkout", "--quiet", "workspace/demo")
	r.root.Commit("elsewhere")
	r.refused("eco_path_conflict", restore, args{"trash_id": first})
	assert.NoDirExists(t, r.at(), "it went back to the trash")
	r.root.Git("checkout", "--quiet", "main")
	r.root.Git("branch", "-D", "workspace/demo")
	require.NoError(t, r.call(restore, "execute", args{"trash_id": first}).Err)
	assert.FileExists(t, r.at("repos", "api", "api.txt"))
	r.refused("eco_trash_not_found", restore, args{"trash_id": "../.."})
}

func TestTheTrashIsPurged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	old := r.worked(discard, nil)["trash_id"].(string)
	r.clock.now = r.clock.now.Add(6 * 24 * time.Hour)
	require.Equal(t, ecosystem.RunSuccess, r.do("amof_install_ecosystem", nil).Status)
	younger := r.worked(discard, nil)["trash_id"].(string)
	assert.Len(t, decoded(t, r.call(trash, "", nil).Value)["trash"], 2)
	r.clock.now = r.clock.now.Add(-60 * 24 * time.Hour)
	require.Equal(t, ecosystem.RunSuccess, r.do("amof_install_ecosystem", nil).Status)
	r.worked(discard, nil)
	assert.Len(t, decoded(t, r.call(trash, "", nil).Value)["trash"], 3, "a clock that went back purges nothing")
	r.clock.now = r.clock.now.Add(61*24*time.Hour + 13*time.Hour + 24*time.Hour)
	require.NoError(t, r.call(restore, "execute", args{"trash_id": younger}).Err)
	assert.Empty(t, decoded(t, r.call(trash, "", nil).Value)["trash"])
	refs := r.root.Git("for-each-ref", "refs/countersign")
	assert.NotContains(t, refs, old)
	assert.Len(t, strings.Split(r.root.Git("worktree", "list"), "\n"), 2)
}

func TestNothingMovesWhereTheTrashCannotBe(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api")
	before := r.picture()
	bin := filepath.Join(r.found().Layout.Data, "trash")
	require.NoError(t, os.MkdirAll(filepath.Dir(bin), 0o755))
	require.NoError(t, os.WriteFile(bin, nil, 0o600))
	r.failed("eco_storage_failed", discard, nil)
	assert.Equal(t, before, r.picture())
	require.NoError(t, os.Remove(bin))
	d := r.deps
	d.Trash = ecogit.NewTrash(func(from, _ string) error { return &os.LinkError{Op: "rename", Old: from, Err: fs.ErrPermission} })
	r.open(d)
	done, _ := r.failed("eco_storage_failed", discard, nil)
	assert.Contains(t, done.Error, "it was not changed")
	assert.Equal(t, before, r.picture())
	assert.Empty(t, decoded(t, r.call(trash, "", nil).Value)["trash"])
	found, _ := os.ReadDir(bin)
	assert.Empty(t, found)
}
