package deployment_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/deployment"
)

const (
	begin = "<!-- agentpack:begin -->"
	bare  = "<!-- agentpack:begin no-newline -->"
	end   = "<!-- agentpack:end -->"
)

func TestPutIntoTextWithoutABlock(t *testing.T) {
	for name, c := range map[string]struct{ text, block, want string }{
		"nothing":            {"", "x\n", begin + "\nx\n" + end + "\n"},
		"text":               {"mine\n", "x\n", "mine\n\n" + begin + "\nx\n" + end + "\n"},
		"blank line already": {"mine\n\n", "x\n", "mine\n\n\n" + begin + "\nx\n" + end + "\n"},
		"one blank line":     {"\n", "x\n", "\n\n" + begin + "\nx\n" + end + "\n"},
		"no final newline":   {"mine", "x\n", "mine\n\n" + bare + "\nx\n" + end + "\n"},
		"other line ends":    {"mine\r\n", "x\n", "mine\r\n\r\n" + begin + "\r\nx\n" + end + "\r\n"},
		"other, no final":    {"mine\r\ntoo", "x\n", "mine\r\ntoo\r\n\r\n" + bare + "\r\nx\n" + end + "\r\n"},
		"carriage return":    {"mine\r", "x\n", "mine\r\n\n" + bare + "\nx\n" + end + "\n"},
		"block without end":  {"mine\n", "x", "mine\n\n" + begin + "\nx\n" + end + "\n"},
		"block, other end":   {"mine\n", "x\r\ny", "mine\n\n" + begin + "\nx\r\ny\r\n" + end + "\n"},
		"empty block":        {"mine\n", "", "mine\n\n" + begin + "\n" + end + "\n"},
		"block with code":    {"mine\n", "```\n" + end + "\n```\n", "mine\n\n" + begin + "\n```\n" + end + "\n```\n" + end + "\n"},
		"marks in code":      {"```\n" + begin + "\n```\n", "x\n", "```\n" + begin + "\n```\n\n" + begin + "\nx\n" + end + "\n"},
		"marks in a list":    {"- ~~~\n" + begin + "\n  ~~~\n", "x\n", "- ~~~\n" + begin + "\n  ~~~\n\n" + begin + "\nx\n" + end + "\n"},
		"code left open":     {"```\nmine\n", "x\n", "```\nmine\n\n" + begin + "\nx\n" + end + "\n"},
		"marks within lines": {"see " + begin + "\n " + end + "\n", "x\n", "see " + begin + "\n " + end + "\n\n" + begin + "\nx\n" + end + "\n"},
		"code in a list":     {"1. ```sh\n   ls\n   ```\n", "```\nx\n```\n", "1. ```sh\n   ls\n   ```\n\n" + begin + "\n```\nx\n```\n" + end + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := deployment.PutBlock(c.text, c.block)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)

			back, found, err := deployment.CutBlock(got)
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, c.text, back)
		})
	}
}

func TestPutReplacesNothingButTheBlock(t *testing.T) {
	const before, after = "mine\r\n", "\r\nalso mine\n\tand this\r\n  no end"
	text := before + begin + " \t\r\nold\r\n" + end + after
	got, err := deployment.PutBlock(text, "new\nlines")
	require.NoError(t, err)
	assert.Equal(t, before+begin+" \t\r\nnew\nlines\n"+end+after, got)

	block, found, err := deployment.FindBlock(got)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, "new\nlines\n", block)
}

func TestCut(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"whole file":                  {begin + "\nx\n" + end, ""},
		"no blank line before":        {"mine\n" + begin + "\nx\n" + end + "\n", "mine\n"},
		"text added behind":           {"mine\n\n" + begin + "\nx\n" + end + "\nmore\n", "mine\nmore\n"},
		"text added behind a cut end": {"mine\n\n" + bare + "\nx\n" + end + "\nmore\n", "mine\nmore\n"},
		"line ends converted":         {"mine\r\n\r\n" + bare + "\r\nx\r\n" + end + "\r\n", "mine"},
		"line ends mixed":             {"mine\n\n" + bare + "\r\nx\r\n" + end + "\r\n", "mine"},
		"at the top":                  {begin + "\nx\n" + end + "\nmine\n", "mine\n"},
		"blank line at the top":       {"\n" + begin + "\nx\n" + end + "\nmine\n", "\nmine\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, found, err := deployment.CutBlock(c.text)
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestTextWithoutABlock(t *testing.T) {
	text := "mine\n```\n" + begin + "\nx\n" + end + "\n```\n"
	got, found, err := deployment.CutBlock(text)
	require.NoError(t, err)
	assert.False(t, found)
	assert.Equal(t, text, got)

	block, found, err := deployment.FindBlock(text)
	require.NoError(t, err)
	assert.False(t, found)
	assert.Empty(t, block)
}

func TestMarksThatDoNotPairUp(t *testing.T) {
	for name, c := range map[string]struct{ text, message string }{
		"no end":              {"a\n" + begin + "\nx\n", "the block that begins at line 2 has no end"},
		"end in code":         {begin + "\n```\n" + end + "\n```\n", "the block that begins at line 1 has no end"},
		"begin at the end":    {begin, "the block that begins at line 1 has no end"},
		"no begin":            {"x\n" + end + "\n", "line 2 (<!-- agentpack:end -->) ends a block without a beginning"},
		"two ends":            {begin + "\n" + end + "\n" + end + "\n", "line 3 (<!-- agentpack:end -->) ends a block without a beginning"},
		"nested":              {begin + "\n\n" + bare + "\n" + end + "\n", "line 3 begins a block inside the block of line 1"},
		"two":                 {begin + "\n" + end + "\n" + begin + "\n" + end + "\n", "line 3 begins a second block after the block of line 1"},
		"code left open":      {"```\n" + begin + "\n", "the block that begins at line 2 has no end"},
		"two left open":       {"``````\n~~~~\n~~~~~x\n```\n" + begin + "\n", "the block that begins at line 5 has no end"},
		"backticks on a line": {"``` not `code`\n" + begin + "\n```\n", "the block that begins at line 2 has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := deployment.PutBlock(c.text, "new\n")
			require.ErrorIs(t, err, deployment.ErrFormat)
			assert.ErrorContains(t, err, c.message)

			same, found, err := deployment.CutBlock(c.text)
			require.ErrorContains(t, err, c.message)
			assert.False(t, found)
			assert.Equal(t, c.text, same)

			_, found, err = deployment.FindBlock(c.text)
			require.ErrorContains(t, err, c.message)
			assert.False(t, found)
		})
	}
}

func TestPutRefusesWhatWouldNotBeFoundAgain(t *testing.T) {
	for name, c := range map[string]struct{ text, block, message string }{
		"begin in the block":      {"", "a\n" + begin + "\n", "line 2 of the block is the block marker <!-- agentpack:begin -->"},
		"other begin":             {"", bare, "line 1 of the block is the block marker <!-- agentpack:begin no-newline -->"},
		"end in the block":        {"", end + " ", "line 1 of the block is the block marker <!-- agentpack:end -->"},
		"open code in the block":  {"", "a\n~~~\nx\n", "line 2 of the block opens fenced code that is not closed"},
		"open code in the text":   {"a\n```\nb\n", "```\nx\n```\n", "line 2 opens fenced code that is not closed"},
		"open code, block exists": {"a\n```\nb\n" + begin + "\n" + end + "\n", "```\nx\n```\n", "line 2 opens fenced code that is not closed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := deployment.PutBlock(c.text, c.block)
			require.ErrorIs(t, err, deployment.ErrFormat)
			assert.ErrorContains(t, err, c.message)
		})
	}
}

// checkPut checks every promise of PutBlock for one text and two blocks.
func checkPut(t require.TestingT, text, first, second string) {
	_, had, err := deployment.FindBlock(text)
	once, putErr := deployment.PutBlock(text, first)
	if err != nil {
		require.ErrorIs(t, putErr, deployment.ErrFormat)
		return
	}
	if putErr != nil {
		require.ErrorIs(t, putErr, deployment.ErrFormat)
		return
	}
	block, found, err := deployment.FindBlock(once)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, strings.TrimRight(first, "\r\n"), strings.TrimRight(block, "\r\n"))
	require.True(t, strings.HasPrefix(block, first))

	again, err := deployment.PutBlock(once, block)
	require.NoError(t, err)
	require.Equal(t, once, again)

	if twice, err := deployment.PutBlock(once, second); err == nil {
		once = twice
	}
	cut, found, err := deployment.CutBlock(once)
	require.NoError(t, err)
	require.True(t, found)
	if had {
		want, _, err := deployment.CutBlock(text)
		require.NoError(t, err)
		require.Equal(t, want, cut)
	} else {
		require.Equal(t, text, cut)
	}
}

func TestPutThenCutGivesTheTextBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := piece().Draw(t, "text")
		if rapid.IntRange(0, 3).Draw(t, "has a block") == 0 {
			text += "\n" + begin + "\n" + piece().Draw(t, "inside") + "\n" + end + "\n" + piece().Draw(t, "behind")
		}
		checkPut(t, text, piece().Draw(t, "block"), piece().Draw(t, "other block"))
	})
}

// FuzzPutCut: no text and no block causes a panic, and CutBlock restores whatever PutBlock accepts.
func FuzzPutCut(f *testing.F) {
	f.Add("mine", "x\n", "")
	f.Add("mine\r\n\r\n"+begin+"\r\nx\r\n"+end+"\r\nmore", "```\nx\n```", "y\r\n")
	f.Add("- ```\n"+begin+"\n  ```\n~~~\n", "~~~ x\n````\n~~~~", "\r")
	f.Add("a\r", "\r", "b\r\n\r\n")
	f.Fuzz(func(t *testing.T, text, first, second string) {
		checkPut(t, text, first, second)
	})
}

// A text that would make the search for the ends of its fences start again and again still takes time in proportion to its length.
func BenchmarkPutManyOpenFences(b *testing.B) {
	text := strings.Repeat("```x\n~~~y\n", 50_000)
	for b.Loop() {
		_, err := deployment.PutBlock(text, "x\n")
		require.NoError(b, err)
	}
}

// TestBlocksOfSeveralOwners: each owner finds, changes and removes its own block, in any order.
func TestBlocksOfSeveralOwners(t *testing.T) {
	labels := []string{"", deployment.BlockLabel("/team"), deployment.BlockLabel("/mine")}
	for _, text := range []string{"", "mine\n", "mine", "mine\r\nall\r\n", "a\n\n```\n<!-- agentpack:begin -->\n```\n"} {
		for _, in := range [][]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}} {
			for _, out := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
				all, err := text, error(nil)
				for _, i := range in {
					all, err = deployment.PutBlockOf(labels[i], all, fmt.Sprintf("block %d\n", i))
					require.NoError(t, err)
				}
				all, err = deployment.PutBlockOf(labels[in[1]], all, "changed\n")
				require.NoError(t, err)
				for _, i := range in {
					block, found, err := deployment.FindBlockOf(labels[i], all)
					require.NoError(t, err)
					want := fmt.Sprintf("block %d\n", i)
					if i == in[1] {
						want = "changed\n"
					}
					assert.True(t, found)
					assert.Equal(t, want, block)
				}
				for _, i := range out {
					all, _, err = deployment.CutBlockOf(labels[i], all)
					require.NoError(t, err)
				}
				assert.Equal(t, text, all, "in %v out %v", in, out)
			}
		}
	}
	_, err := deployment.PutBlockOf(labels[1], "", "<!-- agentpack:begin 0123abcd no-newline -->\n")
	require.ErrorIs(t, err, deployment.ErrFormat)
	_, found, err := deployment.FindBlock("<!-- agentpack:begin something else -->\n")
	require.NoError(t, err)
	assert.False(t, found, "a comment of somebody's is no mark")
}
