package packfile_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

var _ packport.Excerpts = (*packfile.Source)(nil)

// tree returns a source root beside a directory that must stay unread.
func tree(t testing.TB, files map[string]string) (source *packfile.Source, root, outside string) {
	t.Helper()
	base := t.TempDir()
	root, outside = filepath.Join(base, "root"), filepath.Join(base, "outside")
	require.NoError(t, os.MkdirAll(root, 0o755))
	require.NoError(t, os.MkdirAll(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("do not show\n"), 0o644))
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	return packfile.NewSource(map[pack.Root]string{"": root, "other": outside}), root, outside
}

func at(path string) packport.Location { return packport.Location{Path: pack.Path(path)} }

// read visits the wanted lines, which rise, and gives them as "n:text".
func read(t testing.TB, s *packfile.Source, where packport.Location, want ...int) (got []string, lines int, err error) {
	t.Helper()
	i := 0
	lines, err = s.Read(t.Context(), where, want[0], func(n int, line []byte) int {
		got = append(got, fmt.Sprintf("%d:%s", n, line))
		for i < len(want) && want[i] <= n {
			i++
		}
		if i == len(want) {
			return 0
		}
		return want[i]
	})
	return got, lines, err
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 300<<10) // more than two chunks
	s, _, _ := tree(t, map[string]string{
		"abc": "a\nb\nc\n", "open": "a\nb\nc", "crlf": "a\r\nb\r\r\n\r\n", "empty": "", "blank": "\n", "blanks": "\n\n\n", "long": "a\n" + long + "\nb\n" + long,
		"cr": "a\rb\n", "nul": "a\x00b\n", "mixed": "a\n\xff\xfe\nc\n",
	})
	for name, c := range map[string]struct {
		file  string
		want  []int
		got   []string
		lines int
	}{
		"first":                         {"abc", []int{1}, []string{"1:a"}, 1},
		"from zero is from one":         {"abc", []int{0, 2}, []string{"1:a", "2:b"}, 2},
		"all":                           {"abc", []int{1, 2, 3}, []string{"1:a", "2:b", "3:c"}, 3},
		"gaps":                          {"abc", []int{1, 3}, []string{"1:a", "3:c"}, 3},
		"beyond the end":                {"abc", []int{3, 4}, []string{"3:c"}, 3},
		"far beyond the end":            {"abc", []int{99}, nil, 3},
		"last line without its end":     {"open", []int{3, 9}, []string{"3:c"}, 3},
		"skipping one without its end":  {"open", []int{4}, nil, 3},
		"carriage returns":              {"crlf", []int{1, 2, 3, 4}, []string{"1:a", "2:b\r", "3:"}, 3},
		"carriage return inside":        {"cr", []int{1}, []string{"1:a\rb"}, 1},
		"empty file":                    {"empty", []int{1}, nil, 0},
		"one blank line":                {"blank", []int{1, 2}, []string{"1:"}, 1},
		"blank lines":                   {"blanks", []int{2, 4}, []string{"2:"}, 3},
		"line longer than a chunk":      {"long", []int{2, 3}, []string{"2:" + long, "3:b"}, 3},
		"past a line longer than chunk": {"long", []int{3, 4, 5}, []string{"3:b", "4:" + long}, 4},
		"NUL is text":                   {"nul", []int{1}, []string{"1:a\x00b"}, 1},
		"bad text that is skipped":      {"mixed", []int{1, 3}, []string{"1:a", "3:c"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			got, lines, err := read(t, s, at(c.file), c.want...)
			require.NoError(t, err)
			assert.Equal(t, c.got, got)
			assert.Equal(t, c.lines, lines)
		})
	}
}

func TestVisitEndsTheWalk(t *testing.T) {
	s, _, _ := tree(t, map[string]string{"abc": "a\nb\nc\n"})
	for _, next := range []int{0, -1, 1, 2} {
		calls := 0
		lines, err := s.Read(t.Context(), at("abc"), 2, func(int, []byte) int { calls++; return next })
		require.NoError(t, err)
		assert.Equal(t, 1, calls, "next %d is not above the current line", next)
		assert.Equal(t, 2, lines)
	}
}

// TestSameAsScanning compares every way of skipping with reading line by line.
func TestSameAsScanning(t *testing.T) {
	var text strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&text, "%d %s\n", i, strings.Repeat("é", i%37))
	}
	s, _, _ := tree(t, map[string]string{"big": text.String()})
	all := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for _, step := range []int{1, 2, 7, 100, 1023, 3999, 12_345} {
		for _, from := range []int{1, 2, 500, 39_999, 40_000} {
			var got, want []string
			for n := from; n <= len(all); n += step {
				want = append(want, all[n-1])
			}
			_, err := s.Read(t.Context(), at("big"), from, func(n int, line []byte) int {
				got = append(got, string(line))
				return n + step
			})
			require.NoError(t, err)
			require.Equal(t, want, got, "from %d by %d", from, step)
		}
	}
}

func TestLimits(t *testing.T) {
	s, _, _ := tree(t, map[string]string{
		"fits": strings.Repeat("x", packfile.MaxLine) + "\r\nb\n", "over": strings.Repeat("x", packfile.MaxLine+1) + "\nb\n", "huge": "a\n" + strings.Repeat("x", 40<<20) + "\nb\n",
		"bad": "a\n\xffb\n",
	})
	_, lines, err := read(t, s, at("fits"), 1)
	require.NoError(t, err)
	assert.Equal(t, 1, lines)
	for file, line := range map[string]int{"over": 1, "huge": 2} {
		_, _, err := read(t, s, at(file), line)
		require.ErrorIs(t, err, packport.ErrTooLong, file)
		assert.Equal(t, fmt.Sprintf("%s: line %d is longer than 1048576 bytes", file, line), err.Error())
		got, _, err := read(t, s, at(file), line+1)
		require.NoError(t, err, "skipping it does no harm")
		assert.Equal(t, []string{fmt.Sprintf("%d:b", line+1)}, got)
	}
	_, _, err = read(t, s, at("bad"), 2)
	require.ErrorIs(t, err, packport.ErrNotText)
	assert.Equal(t, "bad: line 2 is not valid UTF-8 text", err.Error())
}

// TestHugeLineIsNotGathered: a line that cannot be shown costs no memory.
func TestHugeLineIsNotGathered(t *testing.T) {
	s, _, _ := tree(t, map[string]string{"huge": strings.Repeat("x", 64<<20)})
	_, _, _ = read(t, s, at("huge"), 1)
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, err := read(b, s, at("huge"), 1)
			require.ErrorIs(b, err, packport.ErrTooLong)
		}
	})
	assert.Less(t, got.AllocedBytesPerOp(), int64(8<<20))
}

func TestConfinement(t *testing.T) {
	s, root, outside := tree(t, map[string]string{"dir/in.txt": "inside\n", "top.txt": "top\n"})
	link := func(target, name string) { require.NoError(t, os.Symlink(target, filepath.Join(root, name))) }
	link("dir/in.txt", "relative")
	link(filepath.Join(root, "dir/in.txt"), "absolute")
	link("../top.txt", "dir/up")
	link("../../root/top.txt", "dir/around")
	link(filepath.Join(root, "dir"), "absdir")
	link(filepath.Join(outside, "secret.txt"), "leak")
	link("../outside/secret.txt", "leakrel")
	link(outside, "leakdir")
	link("nowhere", "dangling")
	link(filepath.Join(root, "nowhere"), "dangabs")
	link("loop", "loop")
	link("/dev/zero", "zero")
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	sock, err := net.Listen("unix", filepath.Join(root, "sock"))
	require.NoError(t, err)
	defer sock.Close()

	for path, want := range map[string]string{
		"dir/in.txt": "inside", "./dir//in.txt": "inside", "relative": "inside", "absolute": "inside", "dir/up": "top", "dir/around": "top", "absdir/in.txt": "inside", "top.txt": "top",
	} {
		got, _, err := read(t, s, at(path), 1)
		require.NoError(t, err, path)
		assert.Equal(t, []string{"1:" + want}, got, path)
	}
	for path, want := range map[string]error{
		"leak": packport.ErrOutside, "leakrel": packport.ErrOutside, "leakdir/secret.txt": packport.ErrOutside, "zero": packport.ErrOutside, "../outside/secret.txt": packport.ErrOutside,
		"missing": packport.ErrMissing, "no/such/dir": packport.ErrMissing, "dangling": packport.ErrMissing, "dangabs": packport.ErrMissing,
		"dir": packport.ErrDirectory, ".": packport.ErrDirectory, "pipe": packport.ErrNotFile, "sock": packport.ErrNotFile, "top.txt/x": packport.ErrNotFile, "loop": packport.ErrDenied,
	} {
		got, _, err := read(t, s, at(path), 1)
		require.ErrorIs(t, err, want, path)
		assert.Empty(t, got, path)
		assert.NotContains(t, err.Error(), outside, path)
		assert.NotContains(t, err.Error(), root, path)
		assert.Contains(t, fault.From(err).Message, path)
	}
}

func TestRoots(t *testing.T) {
	s, _, _ := tree(t, map[string]string{"a": "x\n"})
	got, _, err := read(t, s, packport.Location{Root: "other", Path: "secret.txt"}, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"1:do not show"}, got)
	_, _, err = read(t, s, packport.Location{Root: "unknown", Path: "a"}, 1)
	require.ErrorIs(t, err, packport.ErrRoot)
	_, _, err = read(t, s, packport.Location{Root: "other", Path: "a"}, 1)
	require.ErrorIs(t, err, packport.ErrMissing)
	assert.Equal(t, "other:a does not exist under source root", err.Error())
	gone := packfile.NewSource(map[pack.Root]string{"": filepath.Join(t.TempDir(), "not", "there")})
	_, _, err = read(t, gone, at("a"), 1)
	require.ErrorIs(t, err, packport.ErrMissing, "a root that does not exist makes every file missing")
}

// TestRootMayComeAndGo: nothing is held open, so a root that is replaced is read as it is now. It may be a symbolic link itself.
func TestRootMayComeAndGo(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "link")
	s := packfile.NewSource(map[pack.Root]string{"": root})
	for _, text := range []string{"one", "two"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, text), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(base, text, "f"), []byte(text), 0o644))
		require.NoError(t, os.Symlink(filepath.Join(base, text, "f"), filepath.Join(base, text, "abs")))
		_ = os.Remove(root)
		require.NoError(t, os.Symlink(text, root))
		for _, file := range []string{"f", "abs"} {
			got, _, err := read(t, s, at(file), 1)
			require.NoError(t, err)
			assert.Equal(t, []string{"1:" + text}, got)
		}
	}
}

// readAsNobody is a process of a user who may not read everything.
func readAsNobody(root string) {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, path := range []pack.Path{"closed", "closeddir/f"} {
		_, err := packfile.NewSource(map[pack.Root]string{"": root}).Read(context.Background(), at(string(path)), 1, func(int, []byte) int { return 0 })
		fmt.Println(fault.From(err).Code, err)
	}
}

func TestUnreadableFile(t *testing.T) {
	_, root, _ := tree(t, map[string]string{"closed": "x\n", "closeddir/f": "x\n"})
	for _, dir := range []string{filepath.Dir(filepath.Dir(root)), filepath.Dir(root)} {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	require.NoError(t, os.Chmod(filepath.Join(root, "closed"), 0))
	require.NoError(t, os.Chmod(filepath.Join(root, "closeddir"), 0))
	defer func() { require.NoError(t, os.Chmod(filepath.Join(root, "closeddir"), 0o700)) }()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SRCFILE_CHILD="+root)
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, "source_unreadable closed cannot be read: permission denied\nsource_unreadable closeddir/f cannot be read: permission denied\n", string(out))
}

func TestCancelled(t *testing.T) {
	s, _, _ := tree(t, map[string]string{"big": strings.Repeat("x\n", 1<<20)})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Read(ctx, at("big"), 1, func(n int, _ []byte) int { cancel(); return 1 << 20 })
	require.ErrorIs(t, err, context.Canceled)
}

func TestConcurrentReads(t *testing.T) {
	s, _, _ := tree(t, map[string]string{"a": strings.Repeat("a\n", 100_000), "b": strings.Repeat("b\n", 100_000)})
	done := make(chan error)
	for i := range 8 {
		go func() {
			want := string(rune('a' + i%2))
			_, err := s.Read(context.Background(), at(want), 1, func(n int, line []byte) int {
				if string(line) != want {
					return 0
				}
				return n + 7
			})
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
}

// FuzzWalk: whatever the text and the wanted lines, the walk hands out what splitting the text gives.
func FuzzWalk(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 1, 1)
	f.Add([]byte("\n"), 2, 3)
	f.Fuzz(func(t *testing.T, text []byte, from, step int) {
		from, step = from&0xff, step&0xff+1
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), text, 0o600))
		var all []string
		for r := bufio.NewReader(bytes.NewReader(text)); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				all = append(all, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
			}
			if errors.Is(err, io.EOF) {
				break
			}
		}
		n := max(from, 1)
		lines, err := packfile.NewSource(map[pack.Root]string{"": dir}).Read(t.Context(), at("f"), from, func(got int, line []byte) int {
			require.Equal(t, n, got)
			require.Equal(t, all[n-1], string(line))
			n += step
			return n
		})
		if err == nil {
			require.Equal(t, len(all), lines)
			require.Greater(t, n, len(all))
			return
		}
		require.ErrorIs(t, err, packport.ErrNotText)
		require.NotEqual(t, strings.ToValidUTF8(all[n-1], ""), all[n-1])
	})
}
