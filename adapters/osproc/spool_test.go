package osproc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
)

func rules() *redact.Redactor { return redact.New(redact.Options{}) }

// keeping returns a spool in dir that keeps what it is given until the function is called.
func keeping(dir string, secrets ...string) (*osproc.Spool, func()) {
	s := osproc.NewSpool(dir, rules, secrets)
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { s.Keep(end) })
	return s, func() {
		close(end)
		wg.Wait()
	}
}

// texts returns the lines in dir.
func texts(t require.TestingT, dir string) (all []string) {
	chunk, err := osproc.ReadOutput(dir, 0)
	require.NoError(t, err)
	for i, l := range chunk.Lines {
		require.Equal(t, chunk.Dropped+int64(i)+1, l.Number)
		all = append(all, l.Text)
	}
	require.Equal(t, chunk.Total, chunk.Dropped+int64(len(all)))
	return all
}

// However a stream is cut into reads, its lines are the same.
func TestDrainKeepsLines(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "spool")
		require.NoError(t, err)
		lengths := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(0, 40), rapid.IntRange(process.MaxLineBytes-2, process.MaxLineBytes+2), rapid.IntRange(20_000, 400_000),
		), 0, 12).Draw(t, "lengths")
		sizes := append(rapid.SliceOfN(rapid.IntRange(1, 150_000), 0, 5).Draw(t, "sizes"), 20_000)
		want := make([]string, len(lengths))
		for i, n := range lengths {
			want[i] = strings.Repeat(string(rune('a'+i)), n)
		}
		text := strings.Join(want, "\n")
		s, end := keeping(dir)
		require.NoError(t, s.Drain(process.Stdout, &pieces{text: text, sizes: sizes}))
		end()
		require.NoError(t, s.Err())
		if len(want) > 0 && want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		cut := 0
		for i, l := range want {
			cut += len(l) - min(len(l), process.MaxLineBytes)
			want[i] = l[:min(len(l), process.MaxLineBytes)]
		}
		have := texts(t, dir)
		require.Len(t, have, len(want))
		for i := range want {
			require.True(t, want[i] == have[i], "line %d has %d bytes, not %d", i, len(have[i]), len(want[i])) // the lines themselves are too long to show
		}
		stdout, stderr, dropped, _ := s.Result()
		require.Empty(t, stderr)
		require.Equal(t, int64(cut), dropped)
		require.Equal(t, len(text), len(stdout)+cut)
	})
}

// pieces reads a text in pieces of the given sizes, over and over.
type pieces struct {
	text  string
	sizes []int
	next  int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.sizes[p.next%len(p.sizes)])], p.text)
	p.text = p.text[n:]
	p.next++
	return n, nil
}

func TestDrainTellsWhyItEnds(t *testing.T) {
	dir := t.TempDir()
	s, end := keeping(dir)
	failure := errors.New("the pipe is broken")
	require.ErrorIs(t, s.Drain(process.Stderr, io.MultiReader(strings.NewReader("one\ntwo"), iotest.ErrReader(failure))), failure)
	end()
	assert.Equal(t, []string{"one", "two"}, texts(t, dir), "and what was read is kept")
	_, stderr, dropped, _ := s.Result()
	assert.Equal(t, "one\ntwo", string(stderr))
	assert.Zero(t, dropped)
}

// gate lets a test say when the next piece of a stream comes.
type gate chan string

func (g gate) Read(b []byte) (int, error) {
	text, ok := <-g
	if !ok {
		return 0, io.EOF
	}
	return copy(b, text), nil
}

// awaitLines waits until dir has that many lines.
func awaitLines(t *testing.T, dir string, n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		chunk, err := osproc.ReadOutput(dir, 0)
		return err == nil && chunk.Total >= n
	}, time.Minute, time.Millisecond)
}

// A secret over several lines is masked on each of them, also when they come one by one with others in between.
func TestSecretsOverLines(t *testing.T) {
	dir := t.TempDir()
	s, end := keeping(dir)
	out, errs := gate(make(chan string)), gate(make(chan string))
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Drain(process.Stdout, out) })
	wg.Go(func() { _ = s.Drain(process.Stderr, errs) })
	body := strings.Repeat("MIIEowIBAAKCAQEA7", 4)
	lines := int64(0)
	for _, line := range []string{"-----BEGIN RSA " + "PRIVATE KEY-----\n", body + "\n", body + "\n", "-----END RSA " + "PRIVATE KEY-----\n", "after\n"} {
		out <- line
		awaitLines(t, dir, lines+1)
		errs <- "noise\n"
		awaitLines(t, dir, lines+2)
		lines += 2
	}
	close(out)
	close(errs)
	wg.Wait()
	end()
	all := strings.Join(texts(t, dir), "\n")
	assert.NotContains(t, all, "MIIE")
	assert.Equal(t, 5, strings.Count(all, "noise"))
	assert.Contains(t, all, "after")
}

// A secret that the end of what is kept of a line cuts through is not kept in part.
func TestSecretsAtTheCut(t *testing.T) {
	const secret = "a-very-secret-value-indeed"
	for at := process.MaxLineBytes - len(secret); at <= process.MaxLineBytes; at++ {
		dir := t.TempDir()
		s, end := keeping(dir, secret)
		require.NoError(t, s.Drain(process.Stdout, strings.NewReader(strings.Repeat(" ", at)+secret+strings.Repeat("x", 100_000))))
		end()
		all := texts(t, dir)
		require.Len(t, all, 1)
		require.NotContains(t, all[0], "a-v", "cut after %d bytes of it", process.MaxLineBytes-at)
		require.LessOrEqual(t, len(all[0]), process.MaxLineBytes)
	}
}

// What comes too fast is dropped from the middle of nowhere: the newest stays, and every line that is missing is counted.
func TestFlood(t *testing.T) {
	dir := t.TempDir()
	s, end := keeping(dir)
	var text bytes.Buffer
	const lines = 300_000
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	printed := int64(text.Len())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Drain(process.Stdout, &text) })
	for range 200 {
		chunk, err := osproc.ReadOutput(dir, 0)
		require.NoError(t, err, "whoever reads meanwhile finds lines in order")
		for i, l := range chunk.Lines {
			require.Equal(t, chunk.Dropped+int64(i)+1, l.Number)
			require.Equal(t, fmt.Sprint("line ", l.Number), l.Text)
		}
	}
	wg.Wait()
	end()
	all := texts(t, dir)
	assert.Len(t, all, process.MaxLines)
	assert.Equal(t, fmt.Sprint("line ", lines), all[len(all)-1])
	stdout, _, dropped, total := s.Result()
	assert.Equal(t, printed, total)
	head, tail, ok := bytes.Cut(stdout, []byte("[... "))
	require.True(t, ok, "a line says what is missing")
	number, tail, ok := bytes.Cut(tail, []byte(" lines are left out ...]\n"))
	require.True(t, ok)
	assert.Equal(t, printed, int64(len(head)+len(tail))+dropped)
	assert.True(t, bytes.HasPrefix(head, []byte("line 1\nline 2\n")), "the beginning is kept")
	assert.Equal(t, process.HeadLines, bytes.Count(head, []byte("\n")))
	assert.Equal(t, process.MaxLines, bytes.Count(tail, []byte("\n")))
	missing, err := strconv.Atoi(string(number))
	require.NoError(t, err)
	assert.Equal(t, lines, bytes.Count(head, []byte("\n"))+missing+process.MaxLines)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(files), process.MaxLines/1000+1, "old files are removed")
}

// A file that ends in the middle of a line, because its writer died, has the lines before that.
func TestTornFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0000000000000000007.lines"), []byte("1seven\n2eight\n1ni"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.lines"), []byte("1no\n"), 0o600))
	chunk, err := osproc.ReadOutput(dir, 0)
	require.NoError(t, err)
	assert.Equal(t, process.Chunk{
		Lines: []process.Line{{Number: 7, Stream: process.Stdout, Text: "seven"}, {Number: 8, Stream: process.Stderr, Text: "eight"}},
		Next:  8, Total: 8, Dropped: 6,
	}, chunk)
	chunk, err = osproc.ReadOutput(filepath.Join(dir, "none"), 3)
	require.NoError(t, err)
	assert.Equal(t, process.Chunk{Lines: []process.Line{}}, chunk)
}

// A directory that cannot be written for a while has all lines once it can.
func TestDirectoryThatComesLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	s, end := keeping(dir)
	require.NoError(t, s.Drain(process.Stdout, strings.NewReader("one\ntwo\n")))
	require.Eventually(t, func() bool { return s.Err() != nil }, time.Minute, time.Millisecond, "it was tried")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, s.Drain(process.Stdout, strings.NewReader("three\n")))
	end()
	require.NoError(t, s.Err())
	assert.Equal(t, []string{"one", "two", "three"}, texts(t, dir))
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\x1b[31mred\x1b[0m", "\x1b]8;;http://x\x1b\\link\x1b]8;;\a", "a\x00b", "\xff\xfe", "\u202eabc", "\u009b1m", "\x1b", "\x1b[", "line\r\n", "a\rb", "\r\x00",
		"\x1bP+q\x1b\\", "\U000E0041", "\x1b\x1b[[mm", "\xc2\x1b[m\x9b", "\xef\x1b[m\xbb\xbf",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := osproc.CleanLine(s)
		require.Equal(t, clean, osproc.CleanLine(clean), "cleaning again changes nothing")
		require.True(t, utf8.ValidString(clean))
		require.NotContains(t, clean, "\x1b")
		for _, c := range clean {
			require.True(t, !unicode.IsControl(c) || strings.ContainsRune("\t\r\n", c), "%U", c)
		}
	})
}

func TestCleanCostsNothing(t *testing.T) {
	text := strings.Repeat("an ordinary line, née à Paris\t", 20)
	assert.Zero(t, testing.AllocsPerRun(10, func() { osproc.CleanLine(text) }))
	assert.Equal(t, text, osproc.CleanLine(text))
}
