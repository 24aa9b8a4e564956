package overlay_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

func TestMarkersAreTheLabelledOnes(t *testing.T) {
	all := "a\n<<<<<<< overlay\nb\n||||||| baseline\n=======\nc\n>>>>>>> upstream\n"
	for text, want := range map[string]int{
		"": 0, "Title\n=======\n": 0, all: 3, strings.ReplaceAll(all, "\n", "\r\n"): 3, all + all: 6, ">>>>>>> upstream": 1,
		" <<<<<<< overlay\n": 0, "<<<<<<< overlay 2\n": 0, "<<<<<<< HEAD\n>>>>>>> main\n": 0, "<<<<<<<< overlay\n": 0,
	} {
		assert.Equal(t, want, overlay.CountMarkers([]byte(text)), text)
	}
}

func never(_, _, _ []byte) ([]byte, int, error) { return nil, 0, errors.New("nothing is to be merged") }

func sides(base, ours, theirs string) overlay.MergeSides {
	return overlay.MergeSides{Base: []byte(base), Ours: []byte(ours), Theirs: []byte(theirs)}
}

func TestEqualSidesNeedNoMerge(t *testing.T) {
	for _, c := range []struct{ base, ours, theirs, want string }{
		{"1", "2", "1", "2"}, {"1", "1", "2", "2"}, {"1", "2", "2", "2"}, {"1", "1", "1", "1"}, {"\x00", "\x00a", "\x00", "\x00a"}, {"a", "", "a", ""},
	} {
		got, clean, err := sides(c.base, c.ours, c.theirs).Merge(never)
		require.NoError(t, err)
		assert.True(t, clean)
		assert.Equal(t, c.want, string(got))
	}
}

func TestWholeFilesAtOdds(t *testing.T) {
	gone := sides("old", "mine\n", "")
	gone.Gone = true
	got, clean, err := gone.Merge(never)
	require.NoError(t, err)
	assert.False(t, clean)
	assert.Equal(t, "<<<<<<< overlay\nmine\n||||||| baseline\nold\n=======\n>>>>>>> upstream\n", string(got))

	got, clean, err = sides("old", "\x00", "theirs").Merge(never)
	require.NoError(t, err)
	assert.False(t, clean)
	assert.Equal(t, "<<<<<<< overlay\n(not text: 1 bytes, sha256 "+deployment.SumOf([]byte{0}).String()+")\n||||||| baseline\nold\n=======\ntheirs\n>>>>>>> upstream\n", string(got))
}

func TestMerge(t *testing.T) {
	boom := errors.New("boom")
	marked := "<<<<<<< overlay\n2\n||||||| baseline\n1\n=======\n3\n>>>>>>> upstream\n"
	for name, c := range map[string]struct {
		text      string
		conflicts int
		err       error
		clean     bool
		want      string
	}{
		"clean": {"x", 0, nil, true, "x"}, "conflicts": {"\n" + marked, 2, nil, false, "\n" + marked},
		"conflicts without marks": {"2 or 3", 1, nil, false, marked}, "fails": {"", 0, boom, true, ""},
	} {
		got, clean, err := sides("1", "2", "3").Merge(func(base, ours, theirs []byte) ([]byte, int, error) {
			assert.Equal(t, "123", string(base)+string(ours)+string(theirs))
			return []byte(c.text), c.conflicts, c.err
		})
		require.ErrorIs(t, err, c.err, name)
		assert.Equal(t, c.clean, clean, name)
		assert.Equal(t, c.want, string(got), name)
	}
}
