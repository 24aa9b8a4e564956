package overlay_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/fault"
)

// conflictAt returns the location of the conflict file of a path.
func conflictAt(path string) string { return overlay.ConflictsDir + "/" + path }

func patchAt(path string) string { return overlay.PatchesDir + "/" + path + ".patch" }

func TestRebaseNeeds(t *testing.T) {
	d := newDisk(t, overlay.KindDir, texts{"a": "1\n"}, texts{"a": "2\n"})
	for name, c := range map[string]struct {
		change func(*overlay.Layer)
		want   *fault.Error
		field  string
		value  any
	}{
		"a directory": {func(l *overlay.Layer) { *l = overlay.Layer{Scope: l.Scope, Dir: l.Dir} }, deployment.ErrOverlayMissing, "overlay_dir_posix", "/repo/overlays/x"},
		"a baseline": {func(l *overlay.Layer) { l.Baseline, l.Kind = nil, overlay.KindPatch }, deployment.ErrBaselineMissing,
			"baseline_path", "/repo/overlays/x/.agentpack/baseline.json"},
		"one kind": {func(l *overlay.Layer) { l.Kind = overlay.KindPatch }, deployment.ErrConfig, "override_files", []string{"a"}},
	} {
		in := d.input("a")
		c.change(&in.Layer)
		out, err := overlay.Rebase(in)
		require.ErrorIs(t, err, c.want, name)
		assert.Zero(t, out)
		assert.Equal(t, c.value, details(t, err)[c.field], name)
		assert.NotEmpty(t, details(t, err)["hint"])
		assert.Equal(t, "/repo/overlays/x", details(t, err)["overlay_dir"])
	}
}

func TestRebaseChecksTheBaseline(t *testing.T) {
	d := newDisk(t, overlay.KindDir, texts{"a": "1\n"}, texts{"a": "2\n"})
	d.publish("b", texts{"a": "3\n"})
	in := d.input("b")
	in.Base = func(string) ([]byte, bool, error) { return []byte("other\n"), true, nil }
	_, err := overlay.Rebase(in)
	require.ErrorIs(t, err, deployment.ErrBaseline)
	assert.Equal(t, []any{"a", deployment.SumOf([]byte("1\n")).String(), deployment.SumOf([]byte("other\n")).String()},
		[]any{details(t, err)["path"], details(t, err)["expected_sha256"], details(t, err)["base_sha256"]})

	in.Base = func(string) ([]byte, bool, error) { return nil, false, nil }
	_, err = overlay.Rebase(in)
	require.ErrorIs(t, err, deployment.ErrBaseline)
	assert.NotContains(t, details(t, err), "base_sha256")

	boom := errors.New("boom")
	in.Base = func(string) ([]byte, bool, error) { return nil, false, boom }
	_, err = overlay.Rebase(in)
	require.ErrorIs(t, err, boom)

	in = d.input("b")
	in.Merge = func(_, _, _ []byte) ([]byte, int, error) { return nil, 0, boom }
	_, err = overlay.Rebase(in)
	require.ErrorIs(t, err, boom)
	in.Read = func(deployment.Content) ([]byte, error) { return nil, boom }
	_, err = overlay.Rebase(in)
	require.ErrorIs(t, err, boom)
}

// eight returns a text whose lines can be changed independently.
func eight(changes ...string) string {
	return strings.NewReplacer(changes...).Replace("1\n2\n3\n4\n5\n6\n7\n8\n")
}

func TestRebaseOfDirFileByFile(t *testing.T) {
	upstream := texts{"same": "s", "same-gone": "s", "gone": "s", "kept": "s", "caught-up": "s", "merged": eight(), "script!": "s", "mode": "s"}
	next := texts{"same": "new", "kept": "s", "caught-up": "new", "merged": eight("7", "seven"), "script!": "new", "mode": "s", "brand-new": "x"}
	files := texts{"same": "s", "same-gone": "s", "gone": "mine", "kept": "mine", "caught-up": "new", "merged!": eight("2", "two"), "script": "s", "mode!": "s", "added": "mine"}

	d := newDisk(t, overlay.KindDir, upstream, maps.Clone(files))
	d.publish("b", next)
	out := d.rebase("b")
	assert.Equal(t, overlay.RebaseReport{
		Updated: []string{"merged", "same", "script"}, Deleted: []string{"same-gone"}, Conflicts: []string{},
		Skipped: []string{"added", "caught-up", "gone", "kept", "mode"},
		Summary: overlay.RebaseSummary{Processed: 9, Updated: 3, Deleted: 1, Skipped: 5},
	}, out.Report)
	assert.Equal(t, texts{"same": "new", "gone": "mine", "kept": "mine", "caught-up": "new", "merged!": eight("2", "two", "7", "seven"), "script!": "new", "mode!": "s", "added": "mine"}, d.files)
	want := overlay.NewBaseline(next.tree(), commit("b"), now())
	want.CreatedAt = d.baseline.CreatedAt
	assert.Equal(t, want, d.baseline)

	sparse := newDisk(t, overlay.KindDir, upstream, maps.Clone(files))
	sparse.publish("b", next)
	sparse.sparsify = true
	out = sparse.rebase("b")
	assert.Equal(t, []string{"caught-up", "same", "same-gone", "script"}, out.Report.Deleted)
	assert.Equal(t, texts{"gone": "mine", "kept": "mine", "merged!": eight("2", "two", "7", "seven"), "mode!": "s", "added": "mine"}, sparse.files,
		"what says something else than upstream stays, also by its mode")
}

func TestReportAsJSON(t *testing.T) {
	d := newDisk(t, overlay.KindDir, texts{}, texts{})
	text, err := json.Marshal(d.rebase("a").Report)
	require.NoError(t, err)
	assert.Equal(t, `{"updated":[],"deleted":[],"skipped":[],"conflicts":[],"summary":{"processed_files":0,"updated_files":0,"deleted_files":0,"skipped_files":0,"conflict_files":0}}`, string(text))
}

func TestRebaseOfPatches(t *testing.T) {
	upstream := texts{"kept": eight(), "merged": eight(), "taken": eight()}
	d := newDisk(t, overlay.KindPatch, upstream, texts{
		patchAt("kept"): diff("kept", eight(), eight("2", "two")), patchAt("merged"): diff("merged", eight(), eight("2", "two")),
		patchAt("taken"): diff("taken", eight(), eight("2", "two")), patchAt("unknown"): "no patch at all",
	})
	d.publish("b", texts{"kept": eight(), "merged": eight("7", "seven", "1\n", "0\n1\n"), "taken": eight("2", "two", "7", "seven")})
	before := d.files[patchAt("kept")]
	out := d.rebase("b")
	assert.Equal(t, overlay.RebaseReport{Updated: []string{"merged"}, Deleted: []string{"taken"}, Skipped: []string{"kept", "unknown"}, Conflicts: []string{},
		Summary: overlay.RebaseSummary{Processed: 4, Updated: 1, Deleted: 1, Skipped: 2}}, out.Report)
	assert.Equal(t, before, d.files[patchAt("kept")])
	assert.Equal(t, "--- a/merged\n+++ b/merged\n@@ -1,6 +1,6 @@\n 0\n 1\n-2\n+two\n 3\n 4\n 5\n", d.files[patchAt("merged")])
	assert.NotContains(t, d.files, patchAt("taken"), "an empty patch goes")
	delete(d.files, patchAt("unknown"))
	composed, err := d.compose("b")
	require.NoError(t, err)
	assert.Equal(t, texts{"kept": eight("2", "two"), "merged": eight("7", "seven", "1\n", "0\n1\n", "2", "two"), "taken": eight("2", "two", "7", "seven")}, textsOf(t, composed.Tree))
	assert.Empty(t, composed.Warnings)
}

func TestRebaseRefusesPatchesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct{ base, patch, next, words string }{
		"does not fit its baseline": {"1\n", diff("a", "5\n", "6\n"), "2\n", "in the baseline"},
		"no patch":                  {"1\n", "words", "2\n", "header"},
		"baseline no UTF-8":         {"\xff\n", diff("a", "1\n", "2\n"), "2\n", "not UTF-8 text (the baseline)"},
		"upstream no UTF-8":         {"1\n", diff("a", "1\n", "2\n"), "\xff\n", "not UTF-8 text (upstream)"},
	} {
		d := newDisk(t, overlay.KindPatch, texts{"a": c.base}, texts{patchAt("a"): c.patch})
		d.publish("b", texts{"a": c.next})
		out, err := overlay.Rebase(d.input("b"))
		require.ErrorIs(t, err, deployment.ErrConfig, name)
		assert.Zero(t, out)
		got := fault.From(err).Message + " " + details(t, err)["hint"].(string)
		assert.Contains(t, got, c.words, name)
		assert.Equal(t, "a", details(t, err)["relpath"])
	}
}

func TestPatchThatSaysSomethingElseIsNotWritten(t *testing.T) {
	d := newDisk(t, overlay.KindPatch, texts{"a": eight()}, texts{patchAt("a"): diff("a", eight(), eight("2", "two"))})
	d.publish("b", texts{"a": eight("7", "seven")})
	in := d.input("b")
	in.Diff = func(string, string, []byte, []byte) string { return diff("a", eight("7", "seven"), eight("7", "x")) }
	_, err := overlay.Rebase(in)
	require.ErrorIs(t, err, deployment.ErrConfig)
}

const conflictText = "<<<<<<< overlay\nmine\n||||||| baseline\nold\n=======\ntheirs\n>>>>>>> upstream\n"

// atOdds returns a disk whose file a has a conflict with upstream b, and whose file ok merges.
func atOdds(t *testing.T, kind overlay.Kind) *disk {
	upstream := texts{"a": "old\n", "ok": eight()}
	files := texts{"a": "mine\n", "ok": eight("2", "two")}
	if kind == overlay.KindPatch {
		files = texts{patchAt("a"): diff("a", "old\n", "mine\n"), patchAt("ok"): diff("ok", eight(), eight("2", "two"))}
	}
	d := newDisk(t, kind, upstream, files)
	d.publish("b", texts{"a": "theirs\n", "ok": eight("7", "seven")})
	return d
}

func bothKinds(t *testing.T, test func(t *testing.T, d *disk, own string)) {
	t.Helper()
	for kind, own := range map[overlay.Kind]string{overlay.KindDir: "a", overlay.KindPatch: patchAt("a")} {
		t.Run(string(kind), func(t *testing.T) { test(t, atOdds(t, kind), own) })
	}
}

func TestConflictsStayUntilSomebodyResolvesThem(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *disk, own string) {
		mine, old := d.files[own], d.baseline
		out := d.rebase("b")
		assert.Equal(t, []string{"a"}, out.Report.Conflicts)
		assert.Equal(t, []string{"ok"}, append(out.Report.Updated, out.Report.Skipped...)) // its patch is the same
		assert.Equal(t, mine, d.files[own], "ours stays")
		assert.Equal(t, conflictText, d.files[conflictAt("a")])
		assert.Equal(t, old.Manifest[0], d.baseline.Manifest[0], "the entry of a conflict does not advance")
		assert.Equal(t, deployment.SumOf([]byte(eight("7", "seven"))), d.baseline.Manifest[1].Sum, "others do")
		assert.Equal(t, commit("a"), d.baseline.OriginOf("a"))
		assert.Equal(t, commit("b"), d.baseline.OriginOf("ok"))
		_, err := d.compose("b")
		require.ErrorIs(t, err, deployment.ErrConflictsUnsolved)

		before := maps.Clone(d.files)
		again := d.rebase("b")
		assert.Equal(t, out.Report.Conflicts, again.Report.Conflicts)
		assert.Equal(t, before, d.files)
		assert.Empty(t, again.Files)
		assert.Nil(t, again.Baseline, "a second rebase has nothing to write")

		d.files[conflictAt("a")] = "both\n"
		_, err = d.compose("b")
		require.ErrorIs(t, err, deployment.ErrConflictsUnsolved, "until the rebase has taken it over")
		solved := d.rebase("b")
		assert.Equal(t, []string{"a"}, solved.Report.Updated)
		assert.Empty(t, solved.Report.Conflicts)
		assert.NotContains(t, d.files, conflictAt("a"))
		assert.Empty(t, d.baseline.Unsolved)
		assert.Equal(t, d.history[commit("b").Git.Commit].tree().Sum(), d.baseline.Sum)
		composed, err := d.compose("b")
		require.NoError(t, err)
		assert.Equal(t, texts{"a": "both\n", "ok": eight("2", "two", "7", "seven")}, textsOf(t, composed.Tree))
		assert.Empty(t, composed.Warnings)
	})
}

func TestResolvingForOneSide(t *testing.T) {
	for _, text := range []string{"mine\n", "theirs\n"} {
		bothKinds(t, func(t *testing.T, d *disk, _ string) {
			d.rebase("b")
			d.files[conflictAt("a")] = text
			d.sparsify = true
			assert.Empty(t, d.rebase("b").Report.Conflicts)
			composed, err := d.compose("b")
			require.NoError(t, err)
			assert.Equal(t, text, textsOf(t, composed.Tree)["a"])
			assert.NotContains(t, d.files, conflictAt("a"))
		})
	}
}

func TestResolvingHalfwayLosesNothing(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *disk, own string) {
		d.rebase("b")
		half := "my words\n" + conflictText
		d.files[conflictAt("a")] = half
		d.publish("c", texts{"a": "theirs again\n", "ok": eight("7", "seven")})
		mine := d.files[own]
		for _, letter := range []string{"b", "c"} {
			assert.Equal(t, []string{"a"}, d.rebase(letter).Report.Conflicts)
			assert.Equal(t, half, d.files[conflictAt("a")])
			assert.Equal(t, mine, d.files[own])
			assert.Equal(t, commit("a"), d.baseline.OriginOf("a"))
		}
	})
}

func TestUpstreamMovesWhileAConflictIsOpen(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *disk, own string) {
		d.rebase("b")
		mine := d.files[own]
		d.publish("c", texts{"a": "theirs two\n", "ok": eight("7", "seven")})
		assert.Equal(t, []string{"a"}, d.rebase("c").Report.Conflicts)
		assert.Equal(t, strings.Replace(conflictText, "theirs", "theirs two", 1), d.files[conflictAt("a")], "an untouched conflict file follows")
		assert.Equal(t, mine, d.files[own])
		assert.Equal(t, commit("a"), d.baseline.OriginOf("a"))

		d.files[conflictAt("a")] = "resolved for two\n"
		d.publish("d", texts{"a": "theirs three\n", "ok": eight("7", "seven")})
		assert.Equal(t, []string{"a"}, d.rebase("d").Report.Conflicts, "a resolution for another upstream is no resolution for this one")
		assert.Contains(t, d.files[conflictAt("a")], "resolved for two\n|||||||")
		assert.Contains(t, d.files[conflictAt("a")], "theirs three\n")
		assert.Contains(t, d.files[own], "resolved for two", "but it is ours from now on")

		d.files[conflictAt("a")] = "done\n"
		assert.Equal(t, []string{"a"}, d.rebase("d").Report.Updated)
		composed, err := d.compose("d")
		require.NoError(t, err)
		assert.Equal(t, "done\n", textsOf(t, composed.Tree)["a"])
	})
}

func TestUpstreamComesBackWhileAConflictIsOpen(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *disk, own string) {
		mine := d.files[own]
		d.rebase("b")
		assert.Equal(t, []string{"a"}, d.rebase("a").Report.Updated[:1])
		assert.NotContains(t, d.files, conflictAt("a"))
		assert.Equal(t, mine, d.files[own])
		assert.Empty(t, d.baseline.Unsolved)
	})
}

func TestRemovingTheConflictFileGoesOnAsBefore(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *disk, own string) {
		d.rebase("b")
		delete(d.files, conflictAt("a"))
		if d.kind == overlay.KindDir { // a patch for a text that is gone fails by itself
			composed, err := d.compose("b")
			require.NoError(t, err)
			assert.Equal(t, "mine\n", textsOf(t, composed.Tree)["a"])
			require.Len(t, composed.Warnings, 1)
			assert.Contains(t, composed.Warnings[0], "upstream changed a")
		} else {
			_, err := d.compose("b")
			require.ErrorIs(t, err, deployment.ErrPatch)
		}
		assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts)
		assert.Equal(t, conflictText, d.files[conflictAt("a")])

		delete(d.files, conflictAt("a"))
		delete(d.files, own) // to take upstream's
		assert.Empty(t, d.rebase("b").Report.Conflicts)
		composed, err := d.compose("b")
		require.NoError(t, err)
		assert.Equal(t, "theirs\n", textsOf(t, composed.Tree)["a"])
		assert.Empty(t, composed.Warnings)
	})
}

func TestConflictFileWithoutAnOverlayFile(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *disk, own string) {
		d.rebase("b")
		delete(d.files, own)
		assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts, "it is all there is of ours")
		assert.Equal(t, conflictText, d.files[conflictAt("a")])
		d.files[conflictAt("a")] = "both\n"
		assert.Equal(t, []string{"a"}, d.rebase("b").Report.Updated)
		composed, err := d.compose("b")
		require.NoError(t, err)
		assert.Equal(t, "both\n", textsOf(t, composed.Tree)["a"])
	})
}

func TestUpstreamRemovesAPatchedFile(t *testing.T) {
	d := newDisk(t, overlay.KindPatch, texts{"a": "old\n"}, texts{patchAt("a"): diff("a", "old\n", "mine\n")})
	d.publish("b", texts{})
	for range 2 {
		assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts)
		assert.Equal(t, "<<<<<<< overlay\nmine\n||||||| baseline\nold\n=======\n>>>>>>> upstream\n", d.files[conflictAt("a")])
		assert.Contains(t, d.files, patchAt("a"))
	}
	d.files[conflictAt("a")] = "mine, whatever upstream says\n"
	assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts, "no patch can stand for a file that is not there")
	assert.Equal(t, "mine, whatever upstream says\n", d.files[conflictAt("a")])

	d.files[conflictAt("a")] = ""
	assert.Equal(t, []string{"a"}, d.rebase("b").Report.Deleted)
	assert.Empty(t, d.files)
	assert.Empty(t, d.baseline.Manifest)
}

func TestUpstreamRemovesAFileWithAConflict(t *testing.T) {
	d := atOdds(t, overlay.KindDir)
	d.rebase("b")
	d.files[conflictAt("a")] = "both\n"
	d.publish("c", texts{"ok": eight()})
	d.rebase("c")
	composed, err := d.compose("c")
	require.NoError(t, err)
	assert.Equal(t, "both\n", textsOf(t, composed.Tree)["a"])
}

func TestBinaryFilesAreNotMerged(t *testing.T) {
	d := newDisk(t, overlay.KindDir, texts{"a": "\x00old"}, texts{"a": "\x00mine"})
	d.publish("b", texts{"a": "\x00theirs"})
	d.merge = func(_, _, _ []byte) ([]byte, int, error) { panic("no text") }
	for range 2 {
		assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts)
		assert.Equal(t, "\x00mine", d.files["a"])
		assert.Contains(t, d.files[conflictAt("a")], deployment.SumOf([]byte("\x00mine")).String())
	}
	d.files[conflictAt("a")] = "\x00theirs"
	assert.Equal(t, []string{"a"}, d.rebase("b").Report.Updated)
	assert.Equal(t, texts{"a": "\x00theirs"}, d.files)
}

func TestConflictsOfMergersWithOtherMarks(t *testing.T) {
	d := atOdds(t, overlay.KindDir)
	d.merge = func(_, ours, theirs []byte) ([]byte, int, error) { return append(ours, theirs...), 1, nil }
	for range 2 {
		assert.Contains(t, d.rebase("b").Report.Conflicts, "a", "a conflict without marks is not taken for its resolution")
		assert.Equal(t, conflictText, d.files[conflictAt("a")])
	}
}

func TestConflictsOfOtherTools(t *testing.T) {
	d := atOdds(t, overlay.KindDir)
	d.files["a"] = "x\n" + conflictText // written into the file itself
	for range 2 {
		assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts)
		assert.Equal(t, "x\n"+conflictText, d.files["a"])
		assert.NotContains(t, d.files, conflictAt("a"))
		assert.Equal(t, "old\n", d.history[d.baseline.OriginOf("a").Git.Commit]["a"])
	}
	d.files["a"] = "theirs\n"
	assert.Empty(t, d.rebase("b").Report.Conflicts)
	assert.Equal(t, "theirs\n", d.files["a"])

	d = atOdds(t, overlay.KindPatch)
	d.files[conflictAt("a")] = conflictText // not in the baseline
	assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts)
	d.files[conflictAt("a")] = "theirs\n"
	assert.Equal(t, []string{"a"}, d.rebase("b").Report.Deleted)
	assert.NotContains(t, d.files, patchAt("a"))

	in := atOdds(t, overlay.KindDir).input("b")
	in.Layer.Conflicts = []string{"a"} // its content was not read
	out, err := overlay.Rebase(in)
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, out.Report.Conflicts)
	assert.NotContains(t, out.Remove, conflictAt("a"))
}

func TestUpstreamThatShowsMarkers(t *testing.T) {
	d := newDisk(t, overlay.KindDir, texts{"a": "old\n1\n2\n3\n4\n" + conflictText}, texts{"a": "mine\n1\n2\n3\n4\n" + conflictText})
	d.publish("b", texts{"a": "theirs\n1\n2\n3\n4\n" + conflictText})
	for range 2 {
		assert.Equal(t, []string{"a"}, d.rebase("b").Report.Conflicts)
	}
	d.files[conflictAt("a")] = "both\n1\n2\n3\n4\n" + conflictText
	assert.Equal(t, []string{"a"}, d.rebase("b").Report.Updated)
	composed, err := d.compose("b")
	require.NoError(t, err)
	assert.Equal(t, "both\n1\n2\n3\n4\n"+conflictText, textsOf(t, composed.Tree)["a"])
}

func TestBaselineIsRewrittenOnlyWhenItSaysSomething(t *testing.T) {
	yes, no := true, false
	local := func(commit string, dirty *bool) *overlay.Origin {
		return &overlay.Origin{Local: &overlay.LocalOrigin{Path: "m", Commit: commit, Dirty: dirty}}
	}
	for name, c := range map[string]struct {
		old, new *overlay.Origin
		written  bool
	}{
		"both unknown":                     {nil, nil, false},
		"found out":                        {nil, commit("b"), true},
		"same":                             {commit("a"), commit("a"), false},
		"the old one will do":              {commit("a"), commit("b"), false},
		"committed since":                  {local("", nil), local("c", &no), true},
		"clean since":                      {local("c", &yes), local("d", &no), true},
		"still not committed":              {local("", nil), local("", nil), false},
		"still dirty":                      {local("c", &yes), local("c", &yes), false},
		"dirty now, but clean then":        {local("c", &no), local("c", &yes), false},
		"dirty with another commit":        {local("c", &yes), local("d", &yes), true},
		"from the repository to elsewhere": {local("", nil), commit("a"), true},
	} {
		d := newDisk(t, overlay.KindDir, texts{"a": "1\n"}, texts{"a": "2\n"})
		d.baseline.Upstream = c.old
		in := d.input("a")
		in.Origin = c.new
		out, err := overlay.Rebase(in)
		require.NoError(t, err)
		assert.Equal(t, c.written, out.Baseline != nil, name)
		if c.written {
			assert.Same(t, c.new, out.Baseline.Upstream)
			assert.Equal(t, now().Add(3600e9), out.Baseline.CreatedAt)
		}
	}
}

func TestBaselineInUTC(t *testing.T) {
	b := overlay.NewBaseline(texts{"a": "1\n"}.tree(), nil, now().In(now().Local().Location()))
	assert.Equal(t, "UTC", b.CreatedAt.Location().String())
	assert.Equal(t, overlay.BaselineVersion, b.Version)
	assert.Equal(t, texts{"a": "1\n"}.tree().Entries(), b.Manifest)
}
