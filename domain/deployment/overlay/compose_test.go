package overlay_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/fault"
)

const (
	global  = deployment.GlobalScope
	machine = deployment.MachineScope
	project = deployment.ProjectScope
)

func input(upstream texts, layers ...overlay.Layer) overlay.ComposeInput {
	return overlay.ComposeInput{Module: deployment.Module{ID: "skill:x"}, Upstream: upstream.tree(), Layers: layers, Read: read}
}

func compose(t *testing.T, upstream texts, layers ...overlay.Layer) overlay.Composed {
	t.Helper()
	out, err := overlay.Compose(input(upstream, layers...))
	require.NoError(t, err)
	return out
}

func refused(t *testing.T, want *fault.Error, upstream texts, layers ...overlay.Layer) (string, deployment.Details) {
	t.Helper()
	out, err := overlay.Compose(input(upstream, layers...))
	require.ErrorIs(t, err, want)
	assert.Zero(t, out)
	d := details(t, err)
	assert.Equal(t, "skill:x", d["module_id"])
	assert.Equal(t, "/repo/overlays/x", d["overlay_dir"])
	assert.Equal(t, "/repo/overlays/x", d["overlay_dir_posix"])
	assert.NotEmpty(t, d["hint"])
	return fault.From(err).Message, d
}

func TestLayersFromLowToHigh(t *testing.T) {
	upstream := texts{"a": "up", "b": "up", "c": "up", "d!": "up"}
	layers := []overlay.Layer{ // in any order
		dirLayer(project, texts{"c": "project", "e/f": "project"}),
		dirLayer(global, texts{"a!": "global", "b": "global", "c": "global", "0": "global"}),
		dirLayer(machine, texts{"b": "machine", "c": "machine"}),
		{Scope: machine, Kind: "nonsense", Overrides: texts{"a": "not there"}.tree()},
	}
	out := compose(t, upstream, layers...)
	assert.Equal(t, texts{"0": "global", "a!": "global", "b": "machine", "c": "project", "d!": "up", "e/f": "project"}, textsOf(t, out.Tree))
	assert.Equal(t, map[string]string{"0": "global", "a": "global", "b": "machine", "c": "project", "e/f": "project"}, out.Credit)
	assert.Equal(t, overlay.UpstreamLayer, out.Layer("d"))
	assert.Equal(t, "project", out.Layer("c"))
	assert.Empty(t, out.Layer("zzz"))
	assert.Empty(t, out.Warnings)
}

func TestPatchesAreDoneOverTheLayersBelow(t *testing.T) {
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n"
	two := strings.Replace(lines, "2", "two", 1)
	upstream := texts{"a!": lines, "dir/b": "x\n", "c": "c\n"}
	in := input(upstream,
		patchLayer(project, texts{"a": diff("a", two, strings.Replace(two, "7", "seven", 1))}),
		patchLayer(global, texts{"a": diff("a", lines, two), "dir/b": diff("dir/b", "x\n", "y\n")}),
	)
	out, err := overlay.Compose(in)
	require.NoError(t, err)
	assert.Equal(t, texts{"a!": "1\ntwo\n3\n4\n5\n6\nseven\n8\n", "dir/b": "y\n", "c": "c\n"}, textsOf(t, out.Tree))
	assert.Equal(t, map[string]string{"a": "project", "dir/b": "global"}, out.Credit)
	assert.Equal(t, upstream, textsOf(t, in.Upstream), "upstream itself is not changed")
}

func TestWithoutLayersNothingIsDone(t *testing.T) {
	upstream := texts{"a": "a", "b": "b"}.tree()
	never := func(deployment.Content) ([]byte, error) { return nil, errors.New("nothing is to be read") }
	out, err := overlay.Compose(overlay.ComposeInput{Upstream: upstream, Read: never, Layers: []overlay.Layer{{}, {Exists: true, Kind: overlay.KindPatch}}})
	require.NoError(t, err)
	assert.Same(t, &upstream[0], &out.Tree[0])

	big := make(deployment.Tree, 10_000)
	for i := range big {
		big[i] = deployment.File{Path: fmt.Sprintf("f%05d", i)}
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		_, err = overlay.Compose(overlay.ComposeInput{Upstream: big, Read: never})
	}), 2.0)
	require.NoError(t, err)
}

func TestOnlyWhatHasToBeReadIsRead(t *testing.T) {
	far := func(text, origin string) deployment.File {
		c := deployment.ContentOf([]byte(text))
		c.Data, c.Origin = nil, origin
		return deployment.File{Path: origin, Mode: deployment.PlainMode, Content: c}
	}
	upstream := deployment.Tree{far("a\n", "a"), far("b\n", "b"), far("c\n", "c"), far("d\n", "d")}
	same, based, changed := far("a\n", "a"), far("old\n", "b"), far("c2\n", "c")
	l := overlay.Layer{Scope: global, Exists: true, Overrides: deployment.Tree{same, based, changed}}
	l.Baseline = &overlay.Baseline{Manifest: deployment.Tree{based}.Entries()}
	var seen []string
	out, err := overlay.Compose(overlay.ComposeInput{Upstream: upstream, Layers: []overlay.Layer{l}, Read: func(c deployment.Content) ([]byte, error) {
		seen = append(seen, c.Origin)
		return []byte("c2\n"), nil
	}})
	require.NoError(t, err)
	assert.Equal(t, []string{"c"}, seen, "what is as upstream or the baseline has it holds no conflict of ours")
	assert.Equal(t, deployment.Tree{same, based, changed, upstream[3]}, out.Tree, "contents stay as they came")
}

func TestMetadataIsNeverDeployed(t *testing.T) {
	out := compose(t, texts{"a": "a"}, dirLayer(global, texts{".agentpack/overlay.json": "{}", "x/.git/config": "", "x/.agentpack/y": "", "x/.agentpacked": "ok"}))
	assert.Equal(t, texts{"a": "a", "x/.agentpacked": "ok"}, textsOf(t, out.Tree))
}

func TestKindRules(t *testing.T) {
	patches, files := patchLayer(machine, texts{"a": "p"}), dirLayer(machine, texts{"a": "f"})
	mixed := files
	mixed.Patches = patches.Patches
	lists := func(d deployment.Details) []any { return []any{d["override_files"], d["patch_files"]} }

	text, d := refused(t, deployment.ErrConfig, texts{}, mixed)
	assert.Contains(t, text, "both")
	assert.Equal(t, []any{[]string{"a"}, []string{"a.patch"}}, lists(d))
	assert.Equal(t, "machine", d["scope"])

	patches.Kind = overlay.KindDir
	_, d = refused(t, deployment.ErrConfig, texts{}, patches)
	assert.Equal(t, []any{[]string{}, []string{"a.patch"}}, lists(d))

	patches.Kind = "" // without metadata
	refused(t, deployment.ErrConfig, texts{}, patches)

	files.Kind = overlay.KindPatch
	_, d = refused(t, deployment.ErrConfig, texts{}, files)
	assert.Equal(t, []any{[]string{"a"}, []string{}}, lists(d))

	files.Kind = "symlink"
	_, d = refused(t, deployment.ErrConfig, texts{}, files)
	assert.Equal(t, "/repo/overlays/x/.agentpack/overlay.json", d["meta_path"])

	upper := patchLayer(global, nil)
	upper.Patches = []overlay.PatchFile{{Name: "a.PATCH"}, {Name: "README"}}
	out := compose(t, texts{"a": "a"}, upper)
	require.Len(t, out.Warnings, 1, "a patch is passed over, but not silently; other files are no patches")
	assert.Contains(t, out.Warnings[0], "a.PATCH")
	upper.Kind = overlay.KindDir
	refused(t, deployment.ErrConfig, texts{}, upper)

	bare := dirLayer(global, texts{"a": "f"})
	bare.Kind = ""
	assert.Equal(t, texts{"a": "f"}, textsOf(t, compose(t, texts{"a": "a"}, bare).Tree))
}

func TestFilesThatAreDirectoriesToo(t *testing.T) {
	for _, c := range []struct{ upstream, layer, named string }{{"a", "a/b", "a"}, {"a/b/c", "a", "a"}, {"a/b/c", "a/b", "a/b"}, {"a/b", "a/b/c/d", "a/b"}} {
		text, d := refused(t, deployment.ErrConfig, texts{c.upstream: "", "a-b": ""}, dirLayer(global, texts{c.layer: "x"}))
		assert.Contains(t, text, c.named+" both a file and a directory")
		assert.Equal(t, c.layer, d["path"])
	}
	compose(t, texts{"a-b": "", "a/b": "", "a.b": ""}, dirLayer(global, texts{"a/c": "", "a/b": "", "ab": ""}))
}

func TestPatchesThatAreRefused(t *testing.T) {
	good := diff("a", "1\n", "2\n")
	for name, c := range map[string]struct {
		file, patch, has string
		words            string
	}{
		"no file":          {"b", diff("b", "1\n", "2\n"), "1\n", "does not have"},
		"no UTF-8":         {"a", good, "\xff\n", "not UTF-8"},
		"patch no UTF-8":   {"a", good + "\xff", "1\n", "UTF-8"},
		"binary":           {"a", "diff --git a/a b/a\nGIT binary patch\n", "1\n", "binary"},
		"two files":        {"a", good + good, "1\n", "second file"},
		"nothing":          {"a", "", "1\n", "header"},
		"no name":          {"", good, "1\n", "has no matching file"},
		"upwards":          {"../a", good, "1\n", "has no matching file"},
		"a dot":            {"x/./a", good, "1\n", "has no matching file"},
		"absolute":         {"/a", good, "1\n", "has no matching file"},
		"creation":         {"a", strings.Replace(good, "--- a/a", "--- /dev/null", 1), "1\n", "/dev/null"},
		"for another file": {"a", diff("b", "1\n", "2\n"), "1\n", `names "a/b"`},
	} {
		t.Run(name, func(t *testing.T) {
			text, d := refused(t, deployment.ErrConfig, texts{"a": c.has}, patchLayer(project, texts{c.file: c.patch}))
			assert.Contains(t, text, c.words)
			assert.Equal(t, c.file, d["relpath"])
			assert.Equal(t, "/repo/overlays/x/.agentpack/patches/"+c.file+".patch", d["patch_file"])
			assert.Equal(t, d["patch_file"], d["patch_file_posix"])
			assert.Equal(t, "project", d["scope"])
		})
	}
	_, d := refused(t, deployment.ErrConfig, texts{"a": "1\n"}, patchLayer(project, texts{"a": diff("b", "1\n", "2\n")}))
	assert.Equal(t, []any{"a", "a/b", "b/b"}, []any{d["expected_relpath"], d["patch_old_path"], d["patch_new_path"]})
}

func TestPatchThatDoesNotFit(t *testing.T) {
	text, d := refused(t, deployment.ErrPatch, texts{"a": "3\n"}, patchLayer(machine, texts{"a": diff("a", "1\n", "2\n")}))
	assert.Contains(t, text, "a.patch")
	assert.Contains(t, text, "hunk 1")
	assert.Equal(t, deployment.Details{
		"module_id": "skill:x", "scope": "machine", "overlay_dir": "/repo/overlays/x", "overlay_dir_posix": "/repo/overlays/x",
		"patch_file": "/repo/overlays/x/.agentpack/patches/a.patch", "patch_file_posix": "/repo/overlays/x/.agentpack/patches/a.patch",
		"relpath": "a", "stderr": d["stderr"], "error": d["error"], "hint": d["hint"],
		"reason_code": "overlay_patch_apply_failed", "next_actions": []string{"regenerate_patch", "switch_to_dir_overlay", "retry_command"},
	}, d)
	assert.Contains(t, d["stderr"], "hunk 1")
}

func TestNativePathsOfWindows(t *testing.T) {
	l := patchLayer(machine, texts{"d/a": "nonsense"})
	l.Dir = `C:\repo\x`
	_, err := overlay.Compose(input(texts{"d/a": "1\n"}, l))
	d := details(t, err)
	assert.Equal(t, `C:\repo\x\.agentpack\patches\d\a.patch`, d["patch_file"])
	assert.Equal(t, "C:/repo/x/.agentpack/patches/d/a.patch", d["patch_file_posix"])
}

func TestNoConflictIsComposed(t *testing.T) {
	marked := "x\n<<<<<<< overlay\no\n||||||| baseline\nb\n=======\nt\n>>>>>>> upstream\n"

	left := dirLayer(global, texts{"a": "fine\n"})
	left.Conflicts = []string{"b", "a"}
	text, d := refused(t, deployment.ErrConflictsUnsolved, texts{"a": "a\n"}, left)
	assert.Equal(t, []string{"a", "b"}, d["conflicts"])
	assert.Contains(t, text, "a, b")
	assert.Contains(t, text, ".agentpack/conflicts")
	assert.Equal(t, []any{"overlay_conflicts_unresolved", []string{"resolve_overlay_conflicts", "retry_overlay_rebase"}}, []any{d["reason_code"], d["next_actions"]})

	left.Conflicts, left.ConflictFiles = nil, texts{"c": "resolved, but not rebased\n"}.tree()
	_, d = refused(t, deployment.ErrConflictsUnsolved, texts{"a": "a\n"}, left)
	assert.Equal(t, []string{"c"}, d["conflicts"])

	_, d = refused(t, deployment.ErrConflictsUnsolved, texts{"a": "a\n"}, dirLayer(global, texts{"a": marked, "b": "fine", "c": strings.ReplaceAll(marked, "\n", "\r\n")}))
	assert.Equal(t, []string{"a", "c"}, d["conflicts"])

	text, d = refused(t, deployment.ErrConflictsUnsolved, texts{"a": "a\n"}, patchLayer(global, texts{"a": diff("a", "a\n", marked)}))
	assert.Equal(t, []string{"a"}, d["conflicts"])
	assert.Contains(t, text, "a.patch")

	compose(t, texts{"a": marked}, dirLayer(global, texts{"a": "changed\n" + marked})) // upstream shows such markers
	for _, fine := range []string{"Title\n=======\n", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n", " <<<<<<< overlay\n", "text <<<<<<< overlay\n"} {
		compose(t, texts{}, dirLayer(global, texts{"a": fine}))
	}
}

func TestDrift(t *testing.T) {
	based := func(l overlay.Layer, upstream texts) overlay.Layer {
		l.Baseline = overlay.NewBaseline(upstream.tree(), nil, now())
		return l
	}
	warnings := func(upstream texts, layers ...overlay.Layer) []string {
		return compose(t, upstream, layers...).Warnings
	}
	before := texts{"a": "1\n", "b": "1\n", "c": "1\n"}
	after := texts{"a": "2\n", "c": "1\n"}
	files := texts{"a": "mine", "b": "mine", "c": "mine", "new": "mine"}

	assert.Empty(t, warnings(before, based(dirLayer(global, files), before)))
	assert.Empty(t, warnings(after, dirLayer(global, files)), "without a baseline nothing is known")

	short := func(text string) string { return deployment.SumOf([]byte(text)).Short(12) }
	assert.Equal(t, []string{
		"overlay drift (global) module skill:x: upstream changed a (" + short("1\n") + " -> " + short("2\n") + "); to rebase the overlay: countersign agents overlay rebase skill:x --scope global",
		"overlay drift (global) module skill:x: upstream removed b (baseline " + short("1\n") + "); to rebase the overlay: countersign agents overlay rebase skill:x --scope global",
	}, warnings(after, based(dirLayer(global, files), before)))

	sums := before.tree().Sum().Short(12) + " -> " + after.tree().Sum().Short(12)
	general := func(scope string) string {
		return "overlay drift (" + scope + ") module skill:x: upstream changed (" + sums + "); to rebase the overlay: countersign agents overlay rebase skill:x --scope " + scope
	}
	assert.Equal(t, []string{general("global"), general("project")}, warnings(after,
		based(dirLayer(project, texts{"c": "mine"}), before), based(dirLayer(global, texts{"new": "mine"}), before)))
	assert.Equal(t, []string{general("machine")}, warnings(after, based(patchLayer(machine, texts{"c": diff("c", "1\n", "3\n")}), before)))

	got := warnings(texts{"a": "1\nmore\n"}, based(patchLayer(machine, texts{"a": "--- a/a\n+++ b/a\n@@ -1,1 +1,2 @@\n+0\n 1\n"}), texts{"a": "1\n"}))
	require.Len(t, got, 1)
	assert.Contains(t, got[0], "upstream changed a (", "a patched file is named too")

	twice := based(dirLayer(global, texts{"a": "mine"}), before)
	assert.Len(t, warnings(after, twice, twice), 1, "no warning comes twice")
}

func TestReadErrorsPass(t *testing.T) {
	boom := errors.New("boom")
	for _, l := range []overlay.Layer{dirLayer(global, texts{"a": "x"}), patchLayer(global, texts{"a": diff("a", "1\n", "2\n")})} {
		in := input(texts{"a": "1\n"}, l)
		in.Read = func(deployment.Content) ([]byte, error) { return nil, boom }
		_, err := overlay.Compose(in)
		require.ErrorIs(t, err, boom)
	}
}

// FuzzCompose: for any layers, composing does not panic, keeps trees in order, and never deploys metadata or a conflict.
func FuzzCompose(f *testing.F) {
	f.Add("a", "1\n", "a", "2\n", "a.patch", diff("a", "2\n", "3\n"), uint8(0))
	f.Add("a/b", "1\n", "a", "<<<<<<< overlay\n", "../x.patch", "@@", uint8(1))
	f.Add("a", "1\n", ".agentpack/x", "", ".patch", "--- a/\n+++ b/\n@@ -1 +1 @@\n-1\n+2\n", uint8(2))
	f.Add("", "", "", "", "", "", uint8(255))
	f.Fuzz(func(t *testing.T, path, text, over, overText, name, patch string, flags uint8) {
		files := overlay.Layer{Scope: global, Dir: "/o", Exists: true, Kind: overlay.KindDir, Overrides: texts{over: overText}.tree()}
		patches := overlay.Layer{Scope: project, Dir: `C:\o`, Exists: true, Kind: overlay.KindPatch,
			Patches: []overlay.PatchFile{{Name: name, Content: deployment.ContentOf([]byte(patch))}}}
		if flags&1 != 0 {
			files.Patches = patches.Patches
		}
		if flags&2 != 0 {
			patches.Baseline = overlay.NewBaseline(files.Overrides, nil, now())
		}
		if flags&4 != 0 {
			files.Conflicts = []string{over}
		}
		if flags&8 != 0 {
			patches.Kind = overlay.Kind(overText)
		}
		upstream := texts{path: text}
		out, err := overlay.Compose(input(upstream, patches, files))
		if err != nil {
			assert.Zero(t, out)
			require.NotEqual(t, fault.Internal, fault.From(err).Kind)
			return
		}
		for path, text := range textsOf(t, out.Tree) {
			path = strings.TrimSuffix(path, "!")
			if layer := out.Layer(path); layer != overlay.UpstreamLayer {
				assert.NotContains(t, "/"+path+"/", "/.agentpack/")
				if !strings.Contains(upstream[path], "overlay") && !strings.Contains(upstream[path], "upstream") {
					assert.NotContains(t, "\n"+text+"\n", "\n<<<<<<< overlay\n")
				}
			}
		}
	})
}
