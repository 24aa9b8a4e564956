package overlay_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/deployment/overlay"
)

func TestTakeOurs(t *testing.T) {
	hunk := func(ours, base, theirs string) string {
		return "<<<<<<< overlay\n" + ours + "||||||| baseline\n" + base + "=======\n" + theirs + ">>>>>>> upstream\n"
	}
	for name, c := range map[string]struct {
		merged, want string
		left         int
	}{
		"no conflict":                     {"a\nb\n", "a\nb\n", 0},
		"nothing":                         {"", "", 0},
		"a heading":                       {"Title\n=======\n", "Title\n=======\n", 0},
		"ours with theirs in it":          {"x\n" + hunk("mine\nnew\n", "old\n", "new\n") + "y\n", "x\nmine\nnew\ny\n", 0},
		"theirs around ours":              {hunk("new 1\nmine\nnew 2\n", "old\n", "new 1\nnew 2\n"), "new 1\nmine\nnew 2\n", 0},
		"what both keep":                  {hunk("kept\nnew\nmine\n", "kept\nold\n", "kept\nnew\n"), "kept\nnew\nmine\n", 0},
		"theirs in another order":         {hunk("two\none\n", "old\n", "one\ntwo\n"), hunk("two\none\n", "old\n", "one\ntwo\n"), 1},
		"a line that theirs took away":    {hunk("old\nnew\nmine\n", "old\n", "new\n"), hunk("old\nnew\nmine\n", "old\n", "new\n"), 1},
		"theirs is only taken away":       {hunk("mine\n", "old\n", ""), hunk("mine\n", "old\n", ""), 1},
		"ours alone":                      {hunk("mine\n", "old\n", "new\n"), hunk("mine\n", "old\n", "new\n"), 1},
		"one of two":                      {hunk("mine\nnew\n", "old\n", "new\n") + "a\n" + hunk("m\n", "o\n", "n\n"), "mine\nnew\na\n" + hunk("m\n", "o\n", "n\n"), 1},
		"marks that do not pair up stay":  {"<<<<<<< overlay\nmine\n", "<<<<<<< overlay\nmine\n", 1},
		"no newline at the end of merged": {"a\nb", "a\nb", 0},
	} {
		text, left := overlay.TakeOurs([]byte(c.merged))
		assert.Equal(t, c.want, string(text), name)
		assert.Equal(t, c.left, left, name)
	}
}
