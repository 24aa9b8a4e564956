package overlay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

// tree has one file per word, executable if the word ends in +.
func tree(words string) (t deployment.Tree) {
	for _, w := range strings.Fields(words) {
		path, mark := strings.CutSuffix(w, "+")
		mode := deployment.PlainMode
		if mark {
			mode = deployment.ExecutableMode
		}
		t = append(t, deployment.File{Path: path, Mode: mode})
	}
	t.Sort()
	return t
}

func TestOver(t *testing.T) {
	for _, c := range []struct{ below, above, want string }{
		{"", "", ""}, {"a b", "", "a b"}, {"", "a b", "a b"}, {"a c", "b", "a b c"}, {"b", "a c", "a b c"},
		{"a b c", "b+", "a b+ c"}, {"a b", "a+ b+", "a+ b+"}, {"a/b a-b", "a.b", "a-b a.b a/b"}, {"z", "a z+", "a z+"},
	} {
		below, above := tree(c.below), tree(c.above)
		assert.ElementsMatch(t, tree(c.want), overlay.MergeTrees(below, above), c)
		assert.Len(t, overlay.MergeTrees(below, above), len(tree(c.want)))
		for i, f := range overlay.MergeTrees(below, above) {
			assert.Equal(t, tree(c.want)[i], f)
		}
		assert.Equal(t, tree(c.below), below, "the trees stay as they are")
	}
}

func TestIndex(t *testing.T) {
	files := tree("a b/c d")
	for path, want := range map[string]int{"a": 0, "b/c": 1, "d": 2} {
		i, found := overlay.TreeIndex(files, path)
		assert.True(t, found)
		assert.Equal(t, want, i)
	}
	i, found := overlay.TreeIndex(files, "b")
	assert.False(t, found)
	assert.Equal(t, 1, i)
}

func TestClash(t *testing.T) {
	for _, c := range []struct{ files, path, want string }{
		{"a b/c", "a", ""}, {"a b/c", "b/d", ""}, {"a a/b", "a/b", "a"}, {"a a/b", "a", "a"}, {"a a-b a/b", "a/b", "a"}, {"a/b a/b/c/d", "a/b/c/d", "a/b"}, {"ab a/b", "a/b", ""},
	} {
		assert.Equal(t, c.want, overlay.PathClash(tree(c.files), c.path), c)
	}
}
