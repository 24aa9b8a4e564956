package overlay_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/fault"
)

const made = "--- a/d/x\n+++ b/d/x\n@@ -1 +1 @@\n-1\n+2\n"

func file(name, text string) overlay.LayerPatch {
	return overlay.LayerPatch{PatchLayer: overlay.PatchLayer{Module: "skill:x", Scope: deployment.ProjectScope, Dir: "/o"}, Name: name, At: "p/" + name, Content: deployment.ContentOf([]byte(text))}
}

func readPatchFile(c deployment.Content) ([]byte, error) { return c.Data, nil }

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{"a.patch": {true, true}, "a.PATCH": {true, false}, "a.patch.orig": {}, "a": {}, ".patch": {true, true}} {
		_, target := file(name, "").Target()
		assert.Equal(t, want, [2]bool{overlay.IsPatchFile(name), target}, name)
	}
	rel, _ := file("d/x.patch", "").Target()
	assert.Equal(t, "d/x", rel)
}

func TestParseAndApply(t *testing.T) {
	f := file("d/x.patch", made)
	p, err := f.Parse(readPatchFile)
	require.NoError(t, err)
	for _, apply := range []func() ([]byte, error){
		func() ([]byte, error) { return f.Apply(p, []byte("1\n")) }, func() ([]byte, error) { return f.ApplyToBaseline(p, []byte("1\n")) },
	} {
		text, err := apply()
		require.NoError(t, err)
		assert.Equal(t, "2\n", string(text))
	}
	_, err = f.Apply(p, []byte("3\n"))
	require.ErrorIs(t, err, deployment.ErrPatch)
	assert.Equal(t, "overlay_patch_apply_failed", fault.From(err).Details.(deployment.Details)["reason_code"])
	_, err = f.ApplyToBaseline(p, []byte("3\n"))
	require.ErrorIs(t, err, deployment.ErrConfig)
	for _, text := range []string{"\xff"} {
		_, err = f.Apply(p, []byte(text))
		require.ErrorIs(t, err, deployment.ErrConfig)
		_, err = f.ApplyToBaseline(p, []byte(text))
		require.ErrorIs(t, err, deployment.ErrConfig)
	}
}

func TestFaultsNameEverything(t *testing.T) {
	for _, f := range []overlay.LayerPatch{file("../x.patch", made), file("d/y.patch", made), file("d/x.patch", "")} {
		_, err := f.Parse(readPatchFile)
		require.ErrorIs(t, err, deployment.ErrConfig)
		text := fault.From(err).Message
		for _, part := range []string{"project", `"skill:x"`, "/o", f.Name} {
			assert.Contains(t, text, part)
		}
		assert.Equal(t, "/o/p/"+f.Name, fault.From(err).Details.(deployment.Details)["patch_file"])
	}
}

func TestWithIsHeldToItsText(t *testing.T) {
	f, err := file("d/x.patch", "").With(made, []byte("1\n"), []byte("2\n"))
	require.NoError(t, err)
	assert.Equal(t, made, string(f.Content.Data))
	for _, c := range []struct{ made, onto, text string }{{made, "1\n", "3\n"}, {made, "3\n", "2\n"}, {"", "1\n", "2\n"}} {
		_, err = file("d/x.patch", "").With(c.made, []byte(c.onto), []byte(c.text))
		require.ErrorIs(t, err, deployment.ErrConfig)
	}
}
