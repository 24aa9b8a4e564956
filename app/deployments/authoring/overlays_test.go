package authoring_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const overlayArchive = `
-- agentpack.yaml --
version: 1
profiles: {default: {include_tags: [base]}}
targets: {codex: {mode: files, scope: user}}
modules:
  - {id: "skill:tool", type: skill, tags: [base], source: {local_path: {path: modules/tool}}}
  - {id: "prompt:hello", type: prompt, tags: [base], source: {local_path: {path: modules/prompts/hello.md}}}
-- modules/tool/SKILL.md --
---
name: tool
description: does it
---
one
two
three
four
five
-- modules/tool/run.sh --
#!/bin/sh
echo 1
-- modules/prompts/hello.md --
hello
there
friend
`

// overlayDir is where the overlay of skill:tool is.
const overlayDir = "overlays/skill_tool--6d3c3e2c8e"

type overlayWorld struct{ *deployrig.Rig }

func overlayNewWorld(t *testing.T) overlayWorld {
	t.Helper()
	r := deployrig.New(t, overlayArchive)
	require.NoError(t, os.Chmod(filepath.Join(r.Repo.Dir, "modules/tool/run.sh"), 0o755))
	r.Repo.Commit("executable")
	r.Entries = authoring.OverlayEntries(authoring.OverlayDeps{Compiler: r.Compiler, Machine: r.Machine, History: r.Git, Merger: r.Git, Differ: docedit.Differ{}, Clock: r.Clock})
	return overlayWorld{r}
}

const edit, path, rebase = tool.Name("agents_overlay_edit"), tool.Name("agents_overlay_path"), tool.Name("agents_overlay_rebase")

func TestDataOfEveryCommand(t *testing.T) {
	w := overlayNewWorld(t)
	golden.JSON(t, "edit_dry_run", []byte(w.Must(edit, `{"module_id":"skill:tool","dry_run":true}`)))
	assert.NoDirExists(t, filepath.Join(w.Repo.Dir, "overlays"), "a dry run writes nothing")
	golden.JSON(t, "edit", []byte(w.Must(edit, `{"module_id":"skill:tool","yes":true}`)))
	golden.JSON(t, "edit_machine_patch", []byte(w.Must(edit, `{"module_id":"skill:tool","scope":"machine","kind":"patch","yes":true}`)))
	golden.JSON(t, "edit_project_sparse", []byte(strings.ReplaceAll(
		w.Must(edit, `{"module_id":"skill:tool","scope":"project","sparse":true,"yes":true}`), deployment.ProjectID("", w.Project), "<project>")))
	golden.JSON(t, "path", []byte(w.Must(path, `{"module_id":"instructions:none","scope":"machine"}`)))
	golden.JSON(t, "rebase", []byte(w.Must(rebase, `{"module_id":"skill:tool","yes":true,"sparsify":true}`)))
}

func TestEditCopiesTheModuleOnce(t *testing.T) {
	w := overlayNewWorld(t)
	assert.Contains(t, w.Must(edit, `{"module_id":"skill:tool","yes":true}`), `"created":true`)
	files := w.Tree(filepath.Join(w.Repo.Dir, overlayDir))
	assert.Equal(t, w.Read(w.Repo.Dir, "modules/tool/run.sh"), files["run.sh"])
	assert.Equal(t, "skill:tool\n", files[".agentpack/module_id"])
	assert.Equal(t, "{\n  \"overlay_kind\": \"dir\"\n}\n", files[".agentpack/overlay.json"])
	golden.Text(t, "baseline", files[".agentpack/baseline.json"])
	info, err := os.Stat(filepath.Join(w.Repo.Dir, overlayDir, "run.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100, "a script stays one")

	w.Write(w.Repo.Dir, overlayDir+"/run.sh", "mine\n")
	w.Write(w.Repo.Dir, overlayDir+"/.agentpack/overlay.json", `{"note": 1}`)
	require.NoError(t, os.Remove(filepath.Join(w.Repo.Dir, overlayDir, "SKILL.md")))
	assert.Contains(t, w.Must(edit, `{"module_id":"skill:tool","yes":true}`), `"created":false`)
	assert.Equal(t, "mine\n", w.Read(w.Repo.Dir, overlayDir+"/run.sh"))
	assert.Equal(t, `{"note": 1}`, w.Read(w.Repo.Dir, overlayDir+"/.agentpack/overlay.json"))
	assert.NoFileExists(t, filepath.Join(w.Repo.Dir, overlayDir, "SKILL.md"), "an overlay that exists is not filled")

	assert.Contains(t, w.Must(edit, `{"module_id":"skill:tool","yes":true,"materialize":true}`), `"materialized":true`)
	assert.Equal(t, "mine\n", w.Read(w.Repo.Dir, overlayDir+"/run.sh"))
	assert.FileExists(t, filepath.Join(w.Repo.Dir, overlayDir, "SKILL.md"))
}

// TestAPlanIsTheSameLater: what was approved a while ago is what is done, although the baseline gets the time at which it is written.
func TestAPlanIsTheSameLater(t *testing.T) {
	w := overlayNewWorld(t)
	const args = `{"module_id":"skill:tool","yes":true}`
	before := w.Prepare(w.Entries, edit, args).Hash()
	w.Clock.Advance(time.Hour)
	assert.Equal(t, before, w.Prepare(w.Entries, edit, args).Hash())
	w.Must(edit, args)
	assert.Contains(t, w.Read(w.Repo.Dir, overlayDir+"/.agentpack/baseline.json"), `"created_at": "2026-01-02T04:04:05Z"`)

	w.Write(w.Repo.Dir, "modules/tool/run.sh", "next\n")
	w.Repo.Commit("next")
	before = w.Prepare(w.Entries, rebase, args).Hash()
	w.Clock.Advance(time.Hour)
	assert.Equal(t, before, w.Prepare(w.Entries, rebase, args).Hash())
	w.Must(rebase, args)
	assert.Contains(t, w.Read(w.Repo.Dir, overlayDir+"/.agentpack/baseline.json"), `"created_at": "2026-01-02T05:04:05Z"`)
}

func TestEditKinds(t *testing.T) {
	w := overlayNewWorld(t)
	w.Must(edit, `{"module_id":"skill:tool","yes":true,"sparse":true}`)
	assert.Len(t, w.Tree(filepath.Join(w.Repo.Dir, overlayDir)), 3, "metadata alone")
	w.Write(w.Repo.Dir, overlayDir+"/.agentpack/overlay.json", `{"note": 1, "overlay_kind": "dir"}`)
	assert.Contains(t, w.Must(edit, `{"module_id":"skill:tool","yes":true,"kind":"patch"}`), `"overlay_kind":"patch"`)
	assert.JSONEq(t, `{"note": 1, "overlay_kind": "patch"}`, w.Read(w.Repo.Dir, overlayDir+"/.agentpack/overlay.json"))
	assert.DirExists(t, filepath.Join(w.Repo.Dir, overlayDir, ".agentpack/patches"))
	assert.Contains(t, w.Must(edit, `{"module_id":"skill:tool","yes":true}`), `"overlay_kind":"patch"`, "without a kind it keeps its own")
}

func TestEditRefuses(t *testing.T) {
	w := overlayNewWorld(t)
	w.Must(edit, `{"module_id":"prompt:hello","yes":true}`)
	for args, as := range map[string]*fault.Error{
		`{"module_id":"skill:tool"}`:                                              deployment.ErrYes,
		`{"module_id":"skill:none"}`:                                              deployment.ErrYes,
		`{"module_id":"skill:none","yes":true}`:                                   deployment.ErrConfig,
		`{"module_id":"skill:tool","yes":true,"sparse":true,"materialize":true}`:  tool.ErrArguments,
		`{"module_id":"skill:tool","yes":true,"kind":"patch","materialize":true}`: deployment.ErrConfig,
		`{"module_id":"prompt:hello","yes":true,"kind":"patch"}`:                  deployment.ErrConfig,
		`{"module_id":"skill:tool","yes":true,"scope":"everywhere"}`:              tool.ErrArguments,
		`{"yes":true}`: tool.ErrArguments,
		`{"module_id":"skill:tool","yes":true,"repo":"/none"}`: deployment.ErrConfigMissing,
	} {
		t.Run(args, func(t *testing.T) {
			w := w
			w.T = t
			w.Fails(edit, args, as)
		})
	}
	assert.Len(t, w.Tree(filepath.Join(w.Repo.Dir, "overlays")), 4, "the one that was made")
}

func TestAnOverlayOutsideGitWarns(t *testing.T) {
	w := overlayNewWorld(t)
	require.NoError(t, os.RemoveAll(filepath.Join(w.Repo.Dir, ".git")))
	assert.Contains(t, w.Must(edit, `{"module_id":"skill:tool","yes":true}`), "cannot be rebased")
	assert.Contains(t, w.Read(w.Repo.Dir, overlayDir+"/.agentpack/baseline.json"), `"repo_git_rev": null`)
	w.Write(w.Repo.Dir, "modules/tool/run.sh", "theirs\n")
	w.Write(w.Repo.Dir, overlayDir+"/run.sh", "ours\n")
	f := w.Fails(rebase, `{"module_id":"skill:tool","yes":true}`, deployment.ErrBaseline)
	assert.Equal(t, "modules/tool", f.Details.(deployment.Details)["repo_rel_path"])
}

func TestPathFindsTheDirectoryThereIs(t *testing.T) {
	w := overlayNewWorld(t)
	w.Write(w.Repo.Dir, "overlays/plain/x", "")
	assert.Contains(t, w.Must(path, `{"module_id":"plain"}`), `"overlay_dir":"/repo/overlays/plain"`)
	w.Write(w.Repo.Dir, overlayDir+"/.agentpack/overlay.json", "damaged")
	assert.Contains(t, w.Must(path, `{"module_id":"skill:tool"}`), `"overlay_dir":"/repo/`+overlayDir+`"`)
	w.Fails(path, `{"module_id":"plain","repo":"/none"}`, deployment.ErrConfigMissing)
}

func TestRebaseChecksInOrder(t *testing.T) {
	w := overlayNewWorld(t)
	w.Fails(rebase, `{"module_id":"skill:none"}`, deployment.ErrYes)
	w.Fails(rebase, `{"module_id":"skill:none","yes":true}`, deployment.ErrOverlayMissing)
	dir := "overlays/" + deployment.ModuleKey("skill:none")
	w.Write(w.Repo.Dir, dir+"/a", "a\n")
	w.Write(w.Repo.Dir, dir+"/.agentpack/patches/a.patch", "x\n")
	f := w.Fails(rebase, `{"module_id":"skill:none","dry_run":true}`, deployment.ErrBaselineMissing)
	assert.Contains(t, f.Details, "baseline_path")
	w.Write(w.Repo.Dir, dir+"/.agentpack/baseline.json", `{"version":1,"upstream_sha256":"`+strings.Repeat("a", 64)+`","file_manifest":[]}`)
	f = w.Fails(rebase, `{"module_id":"skill:none","yes":true}`, deployment.ErrConfig)
	assert.Contains(t, f.Details, "override_files")
	require.NoError(t, os.Remove(filepath.Join(w.Repo.Dir, dir, ".agentpack/patches/a.patch")))
	f = w.Fails(rebase, `{"module_id":"skill:none","yes":true}`, deployment.ErrConfig)
	assert.Equal(t, "module_not_found", f.Details.(deployment.Details)["reason_code"])
}

// TestRebaseMerges: ours changed the first line, theirs the last.
func TestRebaseMerges(t *testing.T) {
	w := overlayNewWorld(t)
	w.Must(edit, `{"module_id":"skill:tool","yes":true}`)
	skill := w.Read(w.Repo.Dir, "modules/tool/SKILL.md")
	w.Write(w.Repo.Dir, overlayDir+"/SKILL.md", strings.Replace(skill, "one", "ONE", 1))
	w.Write(w.Repo.Dir, "modules/tool/SKILL.md", strings.Replace(skill, "five", "FIVE", 1))
	w.Write(w.Repo.Dir, "modules/tool/run.sh", "#!/bin/sh\necho 2\n")

	before := w.Tree(w.Repo.Dir)
	dry := w.Must(rebase, `{"module_id":"skill:tool","dry_run":true}`)
	assert.Equal(t, before, w.Tree(w.Repo.Dir), "a dry run writes nothing")
	assert.Contains(t, dry, `"updated":["SKILL.md","run.sh"]`)
	done := w.Must(rebase, `{"module_id":"skill:tool","yes":true}`)
	assert.Equal(t, dry, strings.Replace(done, `"dry_run":false`, `"dry_run":true`, 1), "both say the same")
	merged := w.Read(w.Repo.Dir, overlayDir+"/SKILL.md")
	assert.Contains(t, merged, "ONE\ntwo\nthree\nfour\nFIVE\n")
	assert.Contains(t, w.Read(w.Repo.Dir, overlayDir+"/run.sh"), "echo 2")
	info, err := os.Stat(filepath.Join(w.Repo.Dir, overlayDir, "run.sh"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&0o100, "a script stays one")
}

func TestRebaseConflicts(t *testing.T) {
	w := overlayNewWorld(t)
	w.Must(edit, `{"module_id":"skill:tool","yes":true}`)
	w.Clock.Advance(1)
	skill := w.Read(w.Repo.Dir, "modules/tool/SKILL.md")
	w.Write(w.Repo.Dir, overlayDir+"/SKILL.md", strings.Replace(skill, "one", "ours", 1))
	w.Write(w.Repo.Dir, "modules/tool/SKILL.md", strings.Replace(skill, "one", "theirs", 1))
	w.Write(w.Repo.Dir, "modules/tool/run.sh", "#!/bin/sh\necho 2\n")
	w.Repo.Commit("theirs")

	before := w.Tree(w.Repo.Dir)
	dry := w.Fails(rebase, `{"module_id":"skill:tool","dry_run":true}`, deployment.ErrRebaseConflict)
	assert.Equal(t, before, w.Tree(w.Repo.Dir), "a dry run writes nothing")
	assert.Equal(t, true, dry.Details.(deployment.Details)["dry_run"])
	f := w.Fails(rebase, `{"module_id":"skill:tool","yes":true}`, deployment.ErrRebaseConflict)
	text, err := golden.Indent(f.Details)
	require.NoError(t, err)
	golden.Text(t, "rebase_conflict", w.Plain(string(text)))

	artifact := overlayDir + "/.agentpack/conflicts/SKILL.md"
	assert.Contains(t, w.Read(w.Repo.Dir, artifact), "<<<<<<< overlay\nours\n")
	assert.Contains(t, w.Read(w.Repo.Dir, overlayDir+"/SKILL.md"), "ours", "the overlay stays as it was")
	assert.Contains(t, w.Read(w.Repo.Dir, overlayDir+"/run.sh"), "echo 2", "what merged was written")
	w.Fails(rebase, `{"module_id":"skill:tool","yes":true}`, deployment.ErrRebaseConflict)

	w.Write(w.Repo.Dir, artifact, strings.Replace(skill, "one", "both", 1))
	w.Must(rebase, `{"module_id":"skill:tool","yes":true}`)
	assert.NoFileExists(t, filepath.Join(w.Repo.Dir, artifact))
	assert.Contains(t, w.Read(w.Repo.Dir, overlayDir+"/SKILL.md"), "both")
}

// TestASingleFileModuleRebases: in its commit it is the file itself, not a directory with the file in it.
func TestASingleFileModuleRebases(t *testing.T) {
	w := overlayNewWorld(t)
	dir := "overlays/" + deployment.ModuleKey("prompt:hello")
	w.Must(edit, `{"module_id":"prompt:hello","yes":true}`)
	w.Write(w.Repo.Dir, dir+"/hello.md", "HELLO\nthere\nfriend\n")
	w.Write(w.Repo.Dir, "modules/prompts/hello.md", "hello\nthere\nFRIEND\n")
	w.Must(rebase, `{"module_id":"prompt:hello","yes":true}`)
	assert.Equal(t, "HELLO\nthere\nFRIEND\n", w.Read(w.Repo.Dir, dir+"/hello.md"))
}

func TestABaselineOfAnUnknownCommit(t *testing.T) {
	w := overlayNewWorld(t)
	w.Must(edit, `{"module_id":"skill:tool","yes":true}`)
	baseline := w.Read(w.Repo.Dir, overlayDir+"/.agentpack/baseline.json")
	w.Write(w.Repo.Dir, overlayDir+"/.agentpack/baseline.json", strings.Replace(baseline, w.Repo.Head(), strings.Repeat("a", 40), 1))
	w.Write(w.Repo.Dir, overlayDir+"/run.sh", "ours\n")
	w.Write(w.Repo.Dir, "modules/tool/run.sh", "theirs\n")
	before := w.Tree(w.Repo.Dir)
	w.Fails(rebase, `{"module_id":"skill:tool","yes":true}`, deployment.ErrBaseline)
	assert.Equal(t, before, w.Tree(w.Repo.Dir), "nothing is written")
}

func TestPatchOverlaysRebase(t *testing.T) {
	w := overlayNewWorld(t)
	w.Must(edit, `{"module_id":"skill:tool","kind":"patch","yes":true}`)
	skill := w.Read(w.Repo.Dir, "modules/tool/SKILL.md")
	ours := docedit.Differ{}.Unified("a/SKILL.md", "b/SKILL.md", []byte(skill), []byte(strings.Replace(skill, "five", "FIVE", 1)))
	w.Write(w.Repo.Dir, overlayDir+"/.agentpack/patches/SKILL.md.patch", ours)
	w.Write(w.Repo.Dir, "modules/tool/SKILL.md", strings.Replace(skill, "one", "zero\none", 1))
	w.Must(rebase, `{"module_id":"skill:tool","yes":true}`)
	golden.Text(t, "patch", w.Read(w.Repo.Dir, overlayDir+"/.agentpack/patches/SKILL.md.patch"))
}

// TestGitModules: the base comes from the commit that the baseline names, out of the cache.
func TestGitModules(t *testing.T) {
	w := overlayNewWorld(t)
	upstream := gitfixture.New(t, "-- skill/SKILL.md --\n---\nname: far\ndescription: away\n---\na\nb\nc\nd\ne\n")
	commit := upstream.Head()
	manifest := w.Read(w.Repo.Dir, "agentpack.yaml") + `  - {id: "skill:far", type: skill, tags: [base], source: {git: {url: "` + upstream.Remote + `", subdir: skill}}}` + "\n"
	w.Write(w.Repo.Dir, "agentpack.yaml", manifest)
	f := w.Fails(edit, `{"module_id":"skill:far","yes":true}`, deployment.ErrLockMissing)
	assert.Contains(t, f.Details, "path_posix")

	w.lock(upstream, commit)
	w.Must(edit, `{"module_id":"skill:far","yes":true}`)
	dir := "overlays/" + deployment.ModuleKey("skill:far")
	assert.Contains(t, w.Read(w.Repo.Dir, dir+"/.agentpack/baseline.json"), `"commit": "`+commit+`"`)
	text := w.Read(w.Repo.Dir, dir+"/SKILL.md")
	w.Write(w.Repo.Dir, dir+"/SKILL.md", strings.Replace(text, "a\nb", "A\nb", 1))

	upstream.Write("-- skill/SKILL.md --\n" + strings.Replace(text, "e\n", "E\n", 1))
	upstream.Write("-- skill/SKILL.md --\n---\nname: far\ndescription: away\n---\na\nb\nc\nd\nE\n")
	next := upstream.Commit("next")
	upstream.Git("push", "--quiet")
	w.lock(upstream, next)
	w.Must(rebase, `{"module_id":"skill:far","yes":true}`)
	assert.Contains(t, w.Read(w.Repo.Dir, dir+"/SKILL.md"), "---\nA\nb\nc\nd\nE\n")
	assert.Contains(t, w.Read(w.Repo.Dir, dir+"/.agentpack/baseline.json"), `"commit": "`+next+`"`)
}

// lock writes the lockfile for skill:far at a commit.
func (w overlayWorld) lock(upstream *gitfixture.Repo, commit string) {
	w.T.Helper()
	source := deployment.ResolvedGit{URL: upstream.Remote, Commit: commit, Subdir: "skill"}
	at, err := w.Compiler.Load(w.T.Context(), request(w))
	require.NoError(w.T, err)
	tree, err := w.Compiler.Sources.Git(w.T.Context(), at.Place, source, false)
	require.NoError(w.T, err)
	data, err := w.Compiler.Configs.EncodeLock(deployment.Lock{GeneratedAt: w.Clock.Now(), Modules: []deployment.LockedModule{{ID: "skill:far", Type: deployment.ModuleSkill,
		Source: deployment.ResolvedSource{Git: &source}, Version: commit, Sum: tree.Sum(), Manifest: tree.Entries()}}})
	require.NoError(w.T, err)
	w.Write(w.Repo.Dir, "agentpack.lock.json", string(data))
}

// TestWithoutGit: an overlay can be made, and says that it cannot be rebased; a merge names what is missing.
func TestWithoutGit(t *testing.T) {
	w := overlayNewWorld(t)
	_, err := exec.LookPath("git")
	require.NoError(t, err)
	t.Setenv("PATH", t.TempDir())
	assert.Contains(t, w.Must(edit, `{"module_id":"skill:tool","yes":true}`), "cannot be rebased")
}

func request(w overlayWorld) planner.Request {
	return planner.Request{Asked: deployport.Selection{Repo: w.Repo.Dir}, Profile: deployment.DefaultProfile, Target: planner.AllTargets}
}
