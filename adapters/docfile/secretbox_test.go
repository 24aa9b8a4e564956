package docfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The test binary runs itself as another process that seals with the key in the directory which its environment names.
const envDir = "SECRETBOX_TEST_DIR"

// sealChild is that process.
func sealChild(dir string) {
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end of standard input is the signal to start
	blob, err := docfile.NewSecretBox(dir).Seal(here, []byte("from a child"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(blob) //nolint:errcheck // the parent notices
}

var here = docfile.SecretLocation{Table: "actions", Row: "a-1", Column: "body"}

func homeOf(t testing.TB) string { return filepath.Join(t.TempDir(), "keys") }

func TestSealsAndOpens(t *testing.T) {
	dir := homeOf(t)
	box := docfile.NewSecretBox(dir)
	assert.NoDirExists(t, dir, "nothing is made before it is needed")
	first, err := box.Seal(here, []byte("hunter2"))
	require.NoError(t, err)
	again, err := box.Seal(here, []byte("hunter2"))
	require.NoError(t, err)
	assert.NotEqual(t, first, again, "nobody sees that two are the same")
	assert.NotContains(t, string(first), "hunter2")
	assert.Equal(t, byte(1), first[0])
	assert.Len(t, first, 1+12+len("hunter2")+16)
	assert.True(t, docfile.IsSealed(first))
	for _, text := range []string{"", "{}", " []", "null", "\n1"} {
		assert.False(t, docfile.IsSealed([]byte(text)), "%q", text)
	}
	plain, err := docfile.NewSecretBox(dir).Open(here, first)
	require.NoError(t, err, "another process has the same key")
	assert.Equal(t, "hunter2", string(plain))

	key, err := os.Stat(box.File())
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), key.Mode())
	assert.Equal(t, int64(32), key.Size())
	home, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), home.Mode().Perm())
}

func TestOpensNowhereElseAndNothingElse(t *testing.T) {
	box := docfile.NewSecretBox(homeOf(t))
	blob, err := box.Seal(here, []byte("hunter2"))
	require.NoError(t, err)
	for _, place := range []docfile.SecretLocation{
		{Table: "actions", Row: "a-2", Column: "body"}, {Table: "workflows", Row: "a-1", Column: "body"}, {Table: "actions", Row: "a-1", Column: "args"},
		{Table: "actions", Row: "a-1|body", Column: ""}, {Table: "", Row: "actions|a-1", Column: "body"},
	} {
		_, err := box.Open(place, blob)
		require.ErrorIs(t, err, docfile.ErrSecretLost, "%v", place)
	}
	for i := range blob {
		spoilt := bytes.Clone(blob)
		spoilt[i] ^= 1
		_, err := box.Open(here, spoilt)
		require.ErrorIs(t, err, docfile.ErrSecretLost, "byte %d", i)
		_, err = box.Open(here, blob[:i])
		require.ErrorIs(t, err, docfile.ErrSecretLost, "cut to %d", i)
	}
	_, err = box.Open(here, append(bytes.Clone(blob), 0))
	require.ErrorIs(t, err, docfile.ErrSecretLost)
	plain, err := box.Open(here, blob)
	require.NoError(t, err)
	assert.Equal(t, "hunter2", string(plain))
}

func TestLostKey(t *testing.T) {
	dir := homeOf(t)
	blob, err := docfile.NewSecretBox(dir).Seal(here, []byte("hunter2"))
	require.NoError(t, err)
	file := docfile.NewSecretBox(dir).File()
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	says := func(why string) {
		t.Helper()
		_, err := docfile.NewSecretBox(dir).Open(here, blob)
		require.ErrorIs(t, err, docfile.ErrSecretLost)
		said := fault.From(err).Message
		assert.Contains(t, said, why)
		assert.Contains(t, said, file)
		assert.Contains(t, said, "restore that file")
	}
	require.NoError(t, os.Remove(file))
	says("is missing")
	assert.NoFileExists(t, file, "opening makes no key")
	fresh, err := docfile.NewSecretBox(dir).Seal(here, []byte("new"))
	require.NoError(t, err)
	says("is not the one that sealed it")
	plain, err := docfile.NewSecretBox(dir).Open(here, fresh)
	require.NoError(t, err, "what is sealed from now on is not affected")
	assert.Equal(t, "new", string(plain))
	require.NoError(t, os.WriteFile(file, kept, 0o600))
	plain, err = docfile.NewSecretBox(dir).Open(here, blob)
	require.NoError(t, err, "the way out leads out")
	assert.Equal(t, "hunter2", string(plain))
}

func TestRefusesAKeyThatOthersMayHave(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir, file string)
		says  string
	}{
		"file for the group":      {func(t *testing.T, _, file string) { require.NoError(t, os.Chmod(file, 0o640)) }, "chmod 600 %[2]s"},
		"file for all":            {func(t *testing.T, _, file string) { require.NoError(t, os.Chmod(file, 0o604)) }, "chmod 600 %[2]s"},
		"directory for the group": {func(t *testing.T, dir, _ string) { require.NoError(t, os.Chmod(dir, 0o750)) }, "chmod 700 %[1]s"},
		"directory for all":       {func(t *testing.T, dir, _ string) { require.NoError(t, os.Chmod(dir, 0o701)) }, "chmod 700 %[1]s"},
		"too short":               {func(t *testing.T, _, file string) { require.NoError(t, os.Truncate(file, 31)) }, "%[2]s is damaged"},
		"empty":                   {func(t *testing.T, _, file string) { require.NoError(t, os.Truncate(file, 0)) }, "%[2]s is damaged"},
		"between":                 {func(t *testing.T, _, file string) { require.NoError(t, os.Truncate(file, 63)) }, "%[2]s is damaged"},
		"too long":                {func(t *testing.T, _, file string) { require.NoError(t, os.Truncate(file, 96)) }, "%[2]s is damaged"},
		"no file": {func(t *testing.T, _, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Mkdir(file, 0o700))
		}, "%[2]s is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := homeOf(t)
			box := docfile.NewSecretBox(dir)
			blob, err := box.Seal(here, []byte("hunter2"))
			require.NoError(t, err)
			c.spoil(t, dir, box.File())
			want := fmt.Sprintf(c.says, dir, box.File())
			for _, refused := range []func(*docfile.SecretBox) error{
				func(b *docfile.SecretBox) error { _, err := b.Seal(here, nil); return err },
				func(b *docfile.SecretBox) error { _, err := b.Open(here, blob); return err },
				func(b *docfile.SecretBox) error {
					return b.Rotate(t.Context(), func() error { t.Error("nothing to seal with"); return nil })
				},
			} {
				err := refused(docfile.NewSecretBox(dir))
				require.True(t, errors.Is(err, docfile.ErrSecretKey) || errors.Is(err, docfile.ErrNotFile), "%v", err)
				assert.ErrorContains(t, err, want)
			}
			if strings.HasPrefix(name, "file for") {
				_, err = box.Seal(here, nil)
				require.ErrorIs(t, err, docfile.ErrSecretKey, "whoever has read it already notices too")
			}
		})
	}
}

// TestManyProcessesAgreeOnOneKey: each finds none, and seals; all can be opened.
func TestManyProcessesAgreeOnOneKey(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for range 5 {
		dir := homeOf(t)
		var starts []io.Closer
		var children []*exec.Cmd
		var said []*bytes.Buffer
		for range 8 {
			cmd, out := exec.Command(self), new(bytes.Buffer)
			cmd.Env = append(os.Environ(), envDir+"="+dir)
			cmd.Stdout, cmd.Stderr = out, os.Stderr
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			starts, children, said = append(starts, in), append(children, cmd), append(said, out)
		}
		for _, start := range starts {
			require.NoError(t, start.Close())
		}
		box := docfile.NewSecretBox(dir)
		for i, cmd := range children {
			require.NoError(t, cmd.Wait())
			plain, err := box.Open(here, said[i].Bytes())
			require.NoError(t, err)
			assert.Equal(t, "from a child", string(plain))
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	box := docfile.NewSecretBox(homeOf(t))
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			at := docfile.SecretLocation{Table: "t", Row: fmt.Sprint(n), Column: fmt.Sprint(n % 3)}
			for range 50 {
				blob, err := box.Seal(at, []byte(at.Row))
				if !assert.NoError(t, err) {
					return
				}
				plain, err := box.Open(at, blob)
				assert.NoError(t, err)
				assert.Equal(t, at.Row, string(plain))
			}
		})
	}
	group.Wait()
}

// TestRotate: what was sealed opens before, while and after the key is exchanged, for others as well, and the old key is gone.
func TestRotate(t *testing.T) {
	dir := homeOf(t)
	box, other := docfile.NewSecretBox(dir), docfile.NewSecretBox(dir)
	stored, err := box.Seal(here, []byte("hunter2"))
	require.NoError(t, err)
	old, err := os.ReadFile(box.File())
	require.NoError(t, err)
	opens := func(b *docfile.SecretBox) {
		t.Helper()
		plain, err := b.Open(here, stored)
		require.NoError(t, err)
		assert.Equal(t, "hunter2", string(plain))
	}
	opens(other)
	failure := errors.New("no")
	require.ErrorIs(t, box.Rotate(t.Context(), func() error { return failure }), failure)
	half, err := os.ReadFile(box.File())
	require.NoError(t, err)
	require.Len(t, half, 64, "both keys are kept when it is cut short")
	assert.Equal(t, old, half[32:])
	opens(box)
	opens(other)
	late, err := other.Seal(here, []byte("sealed meanwhile"))
	require.NoError(t, err)

	require.NoError(t, box.Rotate(t.Context(), func() error {
		plain, err := box.Open(here, stored)
		require.NoError(t, err)
		opens(other)
		stored, err = box.Seal(here, plain)
		return err
	}))
	now, err := os.ReadFile(box.File())
	require.NoError(t, err)
	assert.Equal(t, half[:32], now, "the second goes on with the new key of the first")
	opens(box)
	opens(other)
	opens(docfile.NewSecretBox(dir))
	plain, err := other.Open(here, late)
	require.NoError(t, err, "what was sealed while both were there was sealed with the new one")
	assert.Equal(t, "sealed meanwhile", string(plain))
	info, err := os.Stat(box.File())
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode())
}

// TestRotateWaits: two exchanges never mix, and one that may not wait gives up.
func TestRotateWaits(t *testing.T) {
	dir := homeOf(t)
	box := docfile.NewSecretBox(dir)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, box.Rotate(t.Context(), func() error {
		cancel()
		require.ErrorIs(t, docfile.NewSecretBox(dir).Rotate(ctx, func() error { t.Error("both at once"); return nil }), context.Canceled)
		return nil
	}))
	require.NoError(t, box.Rotate(t.Context(), func() error { return nil }))
	assert.FileExists(t, box.File(), "where there was no key, there is one now")
}

func FuzzOpenGivesWhatWasSealed(f *testing.F) {
	box := docfile.NewSecretBox(filepath.Join(f.TempDir(), "keys"))
	f.Add("actions", "a-1", "body", []byte(`{"secret":"hunter2"}`))
	f.Add("grants", "cf_1|x", "args", []byte{})
	f.Add("", "", "", []byte{1, 0, 255})
	f.Fuzz(func(t *testing.T, table, row, column string, plain []byte) {
		at := docfile.SecretLocation{Table: table, Row: row, Column: column}
		blob, err := box.Seal(at, plain)
		require.NoError(t, err)
		have, err := box.Open(at, blob)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, have))
		_, err = box.Open(docfile.SecretLocation{Table: table, Row: row + "x", Column: column}, blob)
		require.ErrorIs(t, err, docfile.ErrSecretLost)
	})
}

func FuzzOpenRefusesWhatItDidNotSeal(f *testing.F) {
	box := docfile.NewSecretBox(filepath.Join(f.TempDir(), "keys"))
	mine, err := box.Seal(here, []byte("hunter2"))
	require.NoError(f, err)
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add(append(slices.Clone(mine), 1))
	f.Fuzz(func(t *testing.T, blob []byte) {
		_, err := box.Open(here, blob)
		require.ErrorIs(t, err, docfile.ErrSecretLost)
	})
}

func BenchmarkSeal(b *testing.B) {
	box, plain := docfile.NewSecretBox(homeOf(b)), bytes.Repeat([]byte("x"), 2048)
	for b.Loop() {
		_, err := box.Seal(here, plain)
		require.NoError(b, err)
	}
}

func BenchmarkOpen(b *testing.B) {
	box := docfile.NewSecretBox(homeOf(b))
	blob, err := box.Seal(here, bytes.Repeat([]byte("x"), 2048))
	require.NoError(b, err)
	for b.Loop() {
		_, err := box.Open(here, blob)
		require.NoError(b, err)
	}
}
