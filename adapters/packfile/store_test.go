package packfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/ids"
	"github.com/countersign-dev/countersign/internal/testkit/packtest"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/packport"
)

var (
	_ packport.Repository = (*packfile.Store)(nil)
	_ packport.Doctor     = (*packfile.Store)(nil)
)

func isDamage(err error) bool {
	return errors.Is(err, pack.ErrMalformed) || errors.Is(err, pack.ErrSchema)
}

func TestSuite(t *testing.T) {
	packtest.Repository(t, func(t testing.TB, c ports.Clock) packport.Repository {
		return packfile.New(filepath.Join(t.TempDir(), "made", "lazily"), c)
	})
}

// fixture is a store with what tests need to look behind it.
type fixture struct {
	*packfile.Store
	t     testing.TB
	root  string
	clock *clock.Fake
	ids   *ids.Sequence
}

func open(t testing.TB) *fixture {
	s := &fixture{t: t, root: filepath.Join(t.TempDir(), "store"), clock: &clock.Fake{}, ids: &ids.Sequence{}}
	s.Store = packfile.New(s.root, s.clock)
	return s
}

func (s *fixture) add(name string, minutes pack.TTL) pack.ID {
	s.t.Helper()
	p := packtest.New(s.t, s.ids, s.clock.Now(), name, minutes)
	require.NoError(s.t, s.Create(s.t.Context(), p))
	return p.ID()
}

func (s *fixture) path(parts ...string) string {
	return filepath.Join(append([]string{s.root}, parts...)...)
}

func (s *fixture) put(file, text string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(s.path("packs"), 0o755))
	require.NoError(s.t, os.WriteFile(s.path("packs", file), []byte(text), 0o644))
}

func (s *fixture) listed() []pack.ID {
	s.t.Helper()
	all, err := s.List(s.t.Context())
	require.NoError(s.t, err)
	found := []pack.ID{}
	for _, p := range all {
		found = append(found, p.ID)
	}
	return found
}

// files returns the names in a directory of the store, sorted.
func (s *fixture) files(dir string) []string {
	s.t.Helper()
	entries, err := os.ReadDir(s.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(s.t, err)
	found := []string{}
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func allow(*pack.Pack) error { return nil }

func touch(p *pack.Pack) error { return p.ExtendTTL(1, p.State().UpdatedAt) }

func TestReadingMakesNothing(t *testing.T) {
	s := open(t)
	assert.Empty(t, s.listed())
	_, err := s.Get(t.Context(), "pk_aaaaaaaa")
	require.ErrorIs(t, err, pack.ErrNotFound)
	_, err = s.Update(t.Context(), "pk_aaaaaaaa", touch)
	require.ErrorIs(t, err, pack.ErrNotFound)
	require.ErrorIs(t, s.Delete(t.Context(), "pk_aaaaaaaa", allow), pack.ErrNotFound)
	damage, err := s.Inspect(t.Context())
	require.NoError(t, err)
	assert.Empty(t, damage)
	assert.NoDirExists(t, s.root, "the directory appears with the first pack")
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	s := open(t)
	id := s.add("private", 60)
	for path, want := range map[string]fs.FileMode{"": 0o700, "packs": 0o700, "packs/" + string(id) + ".md": 0o600} {
		info, err := os.Stat(s.path(path))
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), path)
	}
}

// TestStoreOfTheOriginal: a directory and files with the modes the original gives them are used as they are.
func TestStoreOfTheOriginal(t *testing.T) {
	s := open(t)
	s.clock.Set(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	s.put("pk_k3v7m2qa.md", golden(t, "original/plain.md"))
	s.put("pk_k3v7m2qa.lock", "")
	s.put("pk_zzzzzzzz.md", golden(t, "original/scalars.md"))
	s.put("pk_zzzzzzzz.tmp", "half")
	s.put("notes.MD", "not a pack")
	require.NoError(t, os.Mkdir(s.path("packs", "dir.md"), 0o755))
	assert.Equal(t, []pack.ID{"pk_k3v7m2qa", "pk_zzzzzzzz"}, s.listed())
	found, err := s.Lookup(t.Context(), "yes")
	require.NoError(t, err)
	require.Len(t, found, 1)

	got, err := s.Update(t.Context(), "pk_k3v7m2qa", touch)
	require.NoError(t, err)
	assert.EqualValues(t, 5, got.Revision())
	text, err := os.ReadFile(s.path("packs", "pk_k3v7m2qa.md"))
	require.NoError(t, err)
	want := strings.Replace(golden(t, "original/plain.md"), "revision: 4", "revision: 5", 1)
	want = strings.Replace(want, "expires_at: 2026-03-01T10:30:00", "expires_at: 2026-03-01T10:31:00", 1)
	assert.Equal(t, want, string(text), "an edit changes what it edits and no other byte")
	info, err := os.Stat(s.path("packs", "pk_k3v7m2qa.md"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

// TestFailsClosed: one damaged file stops lists and lookups by name, and nothing that has an id.
func TestFailsClosed(t *testing.T) {
	plain := golden(t, "original/plain.md")
	for name, c := range map[string]struct {
		file, text string
		want       error
		reason     string
	}{
		"stray file":       {"README.md", "# hello\n", pack.ErrMalformed, "line 1 is not ---"},
		"empty":            {"pk_bbbbbbbb.md", "", pack.ErrMalformed, "the file is empty"},
		"wrong file name":  {"pk_bbbbbbbb.md", plain, pack.ErrMalformed, "it contains pack pk_k3v7m2qa"},
		"broken rule":      {"pk_k3v7m2qa.md", strings.Replace(plain, "start: 12", "start: 0", 1), pack.ErrMalformed, "lines 0-40: lines count from 1"},
		"newer schema":     {"pk_k3v7m2qa.md", strings.Replace(plain, "schema_version: 2", "schema_version: 3", 1), pack.ErrSchema, "schema version 3"},
		"expired, damaged": {"pk_k3v7m2qa.md", strings.Replace(plain, "revision: 4", "revision: x", 1), pack.ErrMalformed, "line 33, column 11"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			healthy := s.add("healthy", 600)
			nameless := s.add("", 600)
			s.put(c.file, c.text)

			_, listErr := s.List(t.Context())
			_, nameErr := s.Lookup(t.Context(), "healthy")
			createErr := s.Create(t.Context(), packtest.New(t, s.ids, s.clock.Now(), "another", 60))
			for _, err := range []error{listErr, nameErr, createErr} {
				require.ErrorIs(t, err, c.want)
				said := fault.From(err).Message
				assert.Contains(t, said, s.path("packs", c.file), "the message names the file")
				assert.Contains(t, said, c.reason, "and the reason")
				assert.Regexp(t, "doctor|version that wrote it", said, "and the way out")
			}

			_, err := s.Get(t.Context(), healthy)
			require.NoError(t, err)
			_, err = s.Update(t.Context(), healthy, touch)
			require.NoError(t, err)
			require.NoError(t, s.Delete(t.Context(), nameless, allow))
			s.add("", 600) // without a name there is nothing to compare
			if c.file == "pk_k3v7m2qa.md" {
				_, err = s.Get(t.Context(), "pk_k3v7m2qa")
				require.ErrorIs(t, err, c.want)
				_, err = s.Update(t.Context(), "pk_k3v7m2qa", touch)
				require.ErrorIs(t, err, c.want)
			}

			damage, err := s.Inspect(t.Context())
			require.NoError(t, err)
			require.Len(t, damage, 1)
			assert.Equal(t, s.path("packs", c.file), damage[0].File)
			assert.Contains(t, damage[0].Reason, c.reason)
			assert.Equal(t, c.want == pack.ErrSchema, damage[0].Schema)
			moved, err := s.Quarantine(t.Context(), damage[0].File)
			require.NoError(t, err)
			assert.Equal(t, s.path("quarantine", c.file), moved)
			kept, err := os.ReadFile(moved)
			require.NoError(t, err)
			assert.Equal(t, c.text, string(kept), "nothing is lost")
			assert.Contains(t, s.listed(), healthy)
		})
	}
}

func TestQuarantine(t *testing.T) {
	s := open(t)
	id := s.add("healthy", 60)
	outside := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(outside, []byte("x"), 0o600))
	for _, file := range []string{
		s.path("packs", string(id)+".md"), string(id) + ".md", "missing.md", "notes.txt", "", ".", "..", outside, "../../README.md", s.path("packs", ".create.lock"),
	} {
		_, err := s.Quarantine(t.Context(), file)
		require.ErrorIs(t, err, packport.ErrHealthy, file)
	}
	assert.FileExists(t, outside)
	for i, want := range []string{"README.md", "README.md.2", "README.md.3"} {
		s.put("README.md", fmt.Sprint(i))
		moved, err := s.Quarantine(t.Context(), "README.md")
		require.NoError(t, err)
		assert.Equal(t, s.path("quarantine", want), moved, "an earlier one is not replaced")
	}
	assert.Equal(t, []string{".create.lock", string(id) + ".md"}, s.files("packs"))
}

func TestDamageThatIsNoText(t *testing.T) {
	s := open(t)
	id := s.add("healthy", 60)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret: yes\n"), 0o600))
	require.NoError(t, os.Symlink(secret, s.path("packs", "pk_bbbbbbbb.md")))
	require.NoError(t, os.Symlink("/nowhere/at/all", s.path("packs", "pk_dddddddd.md"))) // a link to nothing is no file at all
	big, err := os.Create(s.path("packs", "pk_cccccccc.md"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(packfile.MaxFile+1))
	require.NoError(t, big.Close())
	damage, err := s.Inspect(t.Context())
	require.NoError(t, err)
	require.Len(t, damage, 2)
	assert.Contains(t, damage[0].Reason, "escapes")
	assert.NotContains(t, damage[0].Reason, "secret: yes")
	assert.Contains(t, damage[1].Reason, "larger than")
	_, err = s.Get(t.Context(), "pk_bbbbbbbb")
	require.ErrorIs(t, err, pack.ErrMalformed)
	_, err = s.Get(t.Context(), id)
	require.NoError(t, err)
}

func TestLinkInsideTheStoreIsFollowed(t *testing.T) {
	s := open(t)
	id := s.add("", 60)
	require.NoError(t, os.Mkdir(s.path("shared"), 0o755))
	require.NoError(t, os.Rename(s.path("packs", string(id)+".md"), s.path("shared", "x")))
	require.NoError(t, os.Symlink("../shared/x", s.path("packs", string(id)+".md")))
	assert.Equal(t, []pack.ID{id}, s.listed())
	_, err := s.Update(t.Context(), id, touch)
	require.NoError(t, err)
	got, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	assert.EqualValues(t, 2, got.Revision())
}

func TestPlainFileForTheRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(root, []byte("x"), 0o600))
	s := open(t)
	s.Store = packfile.New(root, s.clock)
	assert.Empty(t, s.listed())
	_, err := s.Get(t.Context(), "pk_aaaaaaaa")
	require.ErrorIs(t, err, pack.ErrNotFound)
	err = s.Create(t.Context(), packtest.New(t, s.ids, s.clock.Now(), "", 60))
	require.ErrorIs(t, err, packfile.ErrStore)
	assert.Contains(t, fault.From(err).Message, root)
	assert.Contains(t, fault.From(err).Message, "CONTEXT_PACK_ROOT")
}

// TestIndexSeesWhatOthersDo: files that appear, change in place, are replaced or go are noticed by the next list.
func TestIndexSeesWhatOthersDo(t *testing.T) {
	s := open(t)
	other := packfile.New(s.root, s.clock)
	a, b := s.add("a-pack", 60), s.add("b-pack", 60)
	assert.Equal(t, []pack.ID{a, b}, s.listed())
	titles := func() map[pack.ID]pack.Optional {
		all, err := s.List(t.Context())
		require.NoError(t, err)
		found := map[pack.ID]pack.Optional{}
		for _, p := range all {
			found[p.ID] = p.Title
		}
		return found
	}
	for _, title := range []pack.Optional{"one", "two", "six", "ten"} { // of one length, written as fast as can be
		_, err := other.Update(t.Context(), a, func(p *pack.Pack) error { return p.SetMeta(pack.MetaEdit{Title: &title}, s.clock.Now()) })
		require.NoError(t, err)
		assert.Equal(t, title, titles()[a])
	}
	for _, title := range []string{"tan", "tin", "tub"} {
		file := s.path("packs", string(a)+".md")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		at := strings.Index(string(text), "title: t") + len("title: ")
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte(title), int64(at))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		assert.EqualValues(t, title, titles()[a], "changed in place, to the same size")
	}
	require.NoError(t, other.Delete(t.Context(), b, allow))
	assert.Equal(t, []pack.ID{a}, s.listed())
	require.NoError(t, os.Rename(s.path("trash", string(b)+".md"), s.path("packs", string(b)+".md")))
	assert.Equal(t, []pack.ID{a, b}, s.listed())
	require.NoError(t, os.RemoveAll(s.root))
	assert.Empty(t, s.listed())
	c := s.add("c-pack", 60)
	assert.Equal(t, []pack.ID{c}, s.listed(), "a store that was removed is made again")
}

func TestDeleteMovesToTrash(t *testing.T) {
	s := open(t)
	id := s.add("doomed", 60)
	text, err := os.ReadFile(s.path("packs", string(id)+".md"))
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), id, allow))
	kept, err := os.ReadFile(s.path("trash", string(id)+".md"))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(kept))
	assert.Equal(t, []string{".create.lock"}, s.files("packs"), "the pack's lock file goes with it")
}

func TestExpiredFilesAreDeleted(t *testing.T) {
	s := open(t)
	keep := s.add("", 60)
	for range 3 {
		s.add("", 1)
	}
	require.Len(t, s.listed(), 4)
	s.clock.Advance(time.Minute)
	assert.Equal(t, []pack.ID{keep}, s.listed())
	assert.Equal(t, []string{".create.lock", string(keep) + ".md"}, s.files("packs"), "with their locks")

	gone := s.add("", 1)
	s.clock.Advance(time.Minute)
	s.add("", 60)
	assert.NotContains(t, s.files("packs"), string(gone)+".md", "creating cleans too")
}

func TestAStoreThatOnlyLooksDeletesNothing(t *testing.T) {
	s := open(t)
	s.Store.LookOnly()
	gone := s.add("", 1)
	s.clock.Advance(time.Minute)
	assert.Empty(t, s.listed(), "hidden all the same")
	assert.Contains(t, s.files("packs"), string(gone)+".md")
}

func TestDamageDoesNotKeepExpiredFiles(t *testing.T) {
	s := open(t)
	gone := s.add("", 1)
	s.put("README.md", "x")
	s.clock.Advance(time.Minute)
	_, err := s.List(t.Context())
	require.ErrorIs(t, err, pack.ErrMalformed)
	assert.NotContains(t, s.files("packs"), string(gone)+".md")
	assert.Contains(t, s.files("packs"), "README.md", "what is not ours is never deleted")
}

func TestListsWhileOthersWrite(t *testing.T) {
	s := open(t)
	ids := []pack.ID{s.add("a-pack", 600), s.add("b-pack", 600), s.add("", 600)}
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			for range 10 {
				if i%2 == 0 {
					_, err := s.Update(t.Context(), ids[i/2], touch)
					assert.NoError(t, err)
					continue
				}
				all, err := s.List(t.Context())
				assert.NoError(t, err)
				assert.Len(t, all, 3)
			}
		})
	}
	group.Wait()
	all, err := s.List(t.Context())
	require.NoError(t, err)
	for _, p := range all {
		assert.EqualValues(t, 11, p.Revision)
	}
}

func TestPurgeIsRareAndPolite(t *testing.T) {
	s := open(t)
	first, second := s.add("", 1), s.add("", 2)
	s.clock.Advance(time.Minute)
	assert.Equal(t, []pack.ID{second}, s.listed())
	assert.NotContains(t, s.files("packs"), string(first)+".md")

	third := s.add("", 1)
	s.clock.Advance(time.Minute - time.Second)
	assert.Len(t, s.listed(), 2)
	s.clock.Advance(time.Second)
	assert.Empty(t, s.listed())
	assert.Contains(t, s.files("packs"), string(third)+".md", "not again within seconds")

	locked := packfile.New(s.root, s.clock)
	s.clock.Advance(-time.Minute)
	_, err := locked.Update(t.Context(), third, func(p *pack.Pack) error {
		s.clock.Advance(2 * time.Minute)
		assert.Empty(t, s.listed())
		assert.Contains(t, s.files("packs"), string(third)+".md", "a pack somebody works on is left alone")
		return p.ExtendTTL(5, s.clock.Now())
	})
	require.NoError(t, err)
	assert.Equal(t, []pack.ID{third}, s.listed(), "and lives on when it was extended")
}

func TestLeftoversOfDeadWritersAreSwept(t *testing.T) {
	s := open(t)
	id := s.add("", 60)
	old := time.Now().Add(-time.Hour)
	s.put("."+string(id)+".md.XYZ.tmp", "half")
	s.put("."+string(id)+".md.NEW.tmp", "half")
	require.NoError(t, os.Chtimes(s.path("packs", "."+string(id)+".md.XYZ.tmp"), old, old))
	assert.Equal(t, []pack.ID{id}, packfileListed(t, packfile.New(s.root, s.clock)))
	assert.Equal(t, []string{".create.lock", "." + string(id) + ".md.NEW.tmp", string(id) + ".md"}, s.files("packs"))
}

func packfileListed(t *testing.T, s *packfile.Store) []pack.ID {
	t.Helper()
	all, err := s.List(t.Context())
	require.NoError(t, err)
	found := []pack.ID{}
	for _, p := range all {
		found = append(found, p.ID)
	}
	return slices.Clip(found)
}

func TestTooLargeIsRefusedBeforeItIsWritten(t *testing.T) {
	s := open(t)
	id := s.add("", 60)
	big := pack.Optional(strings.Repeat("x", packfile.MaxFile))
	_, err := s.Update(t.Context(), id, func(p *pack.Pack) error { return p.SetMeta(pack.MetaEdit{Brief: &big}, s.clock.Now()) })
	require.ErrorIs(t, err, packfile.ErrTooLarge)
	got, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	assert.EqualValues(t, 1, got.Revision())
}

func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	s := open(t)
	id := s.add("", 60)
	_, err := s.Update(t.Context(), id, func(p *pack.Pack) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := packfile.New(s.root, s.clock).Update(ctx, id, touch)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return nil
	})
	require.NoError(t, err)
}

func TestOddIDsAreNotFound(t *testing.T) {
	s := open(t)
	s.add("", 60)
	for _, id := range []pack.ID{"", "..", "../packs/pk_aaaaaaaa", "pk_aaaaaaaa/../x", "README", "pk_AAAAAAAA", " pk_aaaaaaaa"} {
		_, err := s.Get(t.Context(), id)
		require.ErrorIs(t, err, pack.ErrNotFound, id)
		_, err = s.Update(t.Context(), id, touch)
		require.ErrorIs(t, err, pack.ErrNotFound, id)
		require.ErrorIs(t, s.Delete(t.Context(), id, allow), pack.ErrNotFound, id)
	}
	assert.Len(t, s.files("packs"), 2)
}
