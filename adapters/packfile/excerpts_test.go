package packfile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

// rootFiles is the files of one source root, by slash path. A value is the file's text, or, after Link, where a symbolic link points:
// relative to its directory, or absolute when it starts with Root (the root's own absolute path) or Outside (a directory beside it
// that holds the file secret.txt). A path that ends in / is a directory.
type rootFiles map[string]string

// How a Tree spells links.
const (
	linkTo     = "\x00link:"
	ownRoot    = "\x00root/"
	besideRoot = "\x00outside/"
)

// openSource makes a source over the trees, and is gone when the test is.
type openSource func(t testing.TB, roots map[pack.Root]rootFiles) packport.Excerpts

// excerpts holds a source to packport's contract.
func excerpts(t *testing.T, open openSource) {
	t.Run("SplitsLines", func(t *testing.T) { splitsLines(t, open) })
	t.Run("SkipsToWantedLines", func(t *testing.T) { skipsToWantedLines(t, open) })
	t.Run("RefusesByReason", func(t *testing.T) { refusesByReason(t, open) })
	t.Run("NamesRoots", func(t *testing.T) { namesRoots(t, open) })
	t.Run("FollowsLinksInside", func(t *testing.T) { followsLinksInside(t, open) })
	t.Run("ReadsConcurrently", func(t *testing.T) { readsConcurrently(t, open) })
	t.Run("StopsWhenCancelled", func(t *testing.T) { stopsReading(t, open) })
}

// everyLine visits all lines from the first.
func everyLine(t testing.TB, e packport.Excerpts, at packport.Location) ([]string, int) {
	t.Helper()
	got := []string{}
	total, err := e.Read(t.Context(), at, 1, func(n int, line []byte) int {
		require.Equal(t, len(got)+1, n)
		got = append(got, string(line))
		return n + 1
	})
	require.NoError(t, err)
	return got, total
}

func splitsLines(t *testing.T, open openSource) {
	long := strings.Repeat("x", 300_000)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"no bytes":            {"", []string{}},
		"one line":            {"a\n", []string{"a"}},
		"no final newline":    {"a\nb", []string{"a", "b"}},
		"blank lines":         {"\n\na\n\n", []string{"", "", "a", ""}},
		"carriage returns":    {"a\r\nb\r\n", []string{"a", "b"}},
		"one of two stripped": {"a\r\r\nb\rc\n", []string{"a\r", "b\rc"}},
		"last line with cr":   {"a\nb\r", []string{"a", "b"}},
		"not ASCII":           {"ü\n日本\n", []string{"ü", "日本"}},
		"across buffers":      {long + "\n" + long + "y\nz", []string{long, long + "y", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, map[pack.Root]rootFiles{"": {"f.txt": c.text}})
			got, total := everyLine(t, e, packport.Location{Path: "f.txt"})
			assert.Equal(t, c.want, got)
			assert.Equal(t, len(c.want), total)
		})
	}
}

func skipsToWantedLines(t *testing.T, open openSource) {
	var b strings.Builder
	for n := 1; n <= 50_000; n++ {
		fmt.Fprintf(&b, "line %d\n", n)
	}
	e := open(t, map[pack.Root]rootFiles{"": {"f.txt": b.String()}})
	read := func(from int, next map[int]int) (visited []int, lines int) {
		lines, err := e.Read(t.Context(), packport.Location{Path: "f.txt"}, from, func(n int, line []byte) int {
			assert.Equal(t, fmt.Sprintf("line %d", n), string(line))
			visited = append(visited, n)
			return next[n]
		})
		require.NoError(t, err)
		return visited, lines
	}
	for name, c := range map[string]struct {
		from    int
		next    map[int]int
		visited []int
		lines   int
	}{
		"stops at the last wanted": {3, map[int]int{3: 4, 4: 40_000}, []int{3, 4, 40_000}, 40_000},
		"never goes back":          {10, map[int]int{10: 9}, []int{10}, 10},
		"beyond the end":           {49_999, map[int]int{49_999: 60_000}, []int{49_999}, 50_000},
		"starting beyond the end":  {50_001, nil, nil, 50_000},
		"the last line":            {50_000, map[int]int{50_000: 50_001}, []int{50_000}, 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			visited, lines := read(c.from, c.next)
			assert.Equal(t, c.visited, visited)
			assert.Equal(t, c.lines, lines)
		})
	}
}

func refusesByReason(t *testing.T, open openSource) {
	e := open(t, map[pack.Root]rootFiles{"": {
		"dir/": "", "dir/f.txt": "a\n", "bad.txt": "ok\n\xff\xfe\n", "dangling": linkTo + "nowhere", "out": linkTo + besideRoot + "secret.txt",
		"outdir": linkTo + besideRoot, "up": linkTo + "../outside/secret.txt", "long.txt": "a\n" + strings.Repeat("x", 5<<20) + "\nb\n",
	}})
	for path, want := range map[pack.Path]error{
		"nope.txt": packport.ErrMissing, "nodir/f.txt": packport.ErrMissing, "dangling": packport.ErrMissing, "dir": packport.ErrDirectory, ".": packport.ErrDirectory,
		"dir/f.txt/x": packport.ErrNotFile, "bad.txt": packport.ErrNotText, "out": packport.ErrOutside, "outdir/secret.txt": packport.ErrOutside,
		"up": packport.ErrOutside, "../outside/secret.txt": packport.ErrOutside, "dir/../../outside/secret.txt": packport.ErrOutside,
		"long.txt": packport.ErrTooLong,
	} {
		t.Run(string(path), func(t *testing.T) {
			_, err := e.Read(t.Context(), packport.Location{Path: path}, 1, func(n int, line []byte) int {
				assert.NotContains(t, string(line), "secret", "nothing outside the root is ever handed out")
				return n + 1
			})
			require.ErrorIs(t, err, want)
			assert.Contains(t, err.Error(), string(path))
			assert.NotContains(t, err.Error(), t.TempDir()[:5], "no message names a place outside the root")
		})
	}
}

func namesRoots(t *testing.T, open openSource) {
	e := open(t, map[pack.Root]rootFiles{"": {"f.txt": "default\n"}, "api": {"f.txt": "api\n"}})
	got, _ := everyLine(t, e, packport.Location{Path: "f.txt"})
	assert.Equal(t, []string{"default"}, got)
	got, _ = everyLine(t, e, packport.Location{Root: "api", Path: "./f.txt"})
	assert.Equal(t, []string{"api"}, got)
	_, err := e.Read(t.Context(), packport.Location{Root: "web", Path: "f.txt"}, 1, func(int, []byte) int { return 0 })
	require.ErrorIs(t, err, packport.ErrRoot)
}

func followsLinksInside(t *testing.T, open openSource) {
	e := open(t, map[pack.Root]rootFiles{"": {
		"real/f.txt": "here\n", "relative": linkTo + "real/f.txt", "sub/up": linkTo + "../real/f.txt", "absolute": linkTo + ownRoot + "real/f.txt", "dirlink": linkTo + "real",
	}})
	for _, path := range []pack.Path{"relative", "sub/up", "absolute", "dirlink/f.txt"} {
		got, _ := everyLine(t, e, packport.Location{Path: path})
		assert.Equal(t, []string{"here"}, got, path)
	}
}

func readsConcurrently(t *testing.T, open openSource) {
	tree := rootFiles{}
	for f := range 8 {
		tree[fmt.Sprintf("f%d.txt", f)] = strings.Repeat(fmt.Sprintf("file %d\n", f), 2000)
	}
	e := open(t, map[pack.Root]rootFiles{"": tree})
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			f := i % 8
			_, err := e.Read(t.Context(), packport.Location{Path: pack.Path(fmt.Sprintf("f%d.txt", f))}, 1, func(n int, line []byte) int {
				if string(line) != fmt.Sprintf("file %d", f) {
					t.Errorf("line %d of file %d holds %q", n, f, line)
					return 0
				}
				return n + 1
			})
			assert.NoError(t, err)
		})
	}
	group.Wait()
}

func stopsReading(t *testing.T, open openSource) {
	e := open(t, map[pack.Root]rootFiles{"": {"f.txt": strings.Repeat("line\n", 1<<20)}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	visited := 0
	_, err := e.Read(ctx, packport.Location{Path: "f.txt"}, 1, func(n int, _ []byte) int {
		if visited++; n == 10 {
			cancel()
		}
		return n + 1
	})
	require.True(t, errors.Is(err, context.Canceled), "got %v", err)
	assert.Less(t, visited, 1<<20, "a cancelled read ends early")
}

// BenchmarkExcerpts measures one pass over a file of about 50 MB: every line, and 40 lines of it.
func BenchmarkExcerpts(b *testing.B) {
	line := "\tif err := verify(token, now); err != nil { return err }\n"
	const lines = 900_000
	text := make([]byte, 0, lines*len(line))
	for range lines {
		text = append(text, line...)
	}
	e := onDisk(b, map[pack.Root]rootFiles{"": {"big.go": string(text)}})
	for name, step := range map[string]int{"every line": 1, "40 lines": lines / 40} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, err := e.Read(b.Context(), packport.Location{Path: "big.go"}, 1, func(n int, _ []byte) int { return n + step })
				require.NoError(b, err)
			}
		})
	}
}
