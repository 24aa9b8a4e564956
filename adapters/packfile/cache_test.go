package packfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/packtest"
)

// age makes every file old enough to be remembered when it is read.
func (s *fixture) age(pack.ID) { s.Later() }

// read gets a pack, so that it is remembered.
func (s *fixture) read(id pack.ID) {
	p, err := s.Get(s.t.Context(), id)
	require.NoError(s.t, err)
	require.Equal(s.t, id, p.ID())
}

// TestGetShowsWhatTheFileHolds, however often the pack was read before and whoever changed it.
func TestGetShowsWhatTheFileHolds(t *testing.T) {
	s := open(t)
	id := s.add("one", 60)
	file := s.path("packs", string(id)+".md")
	s.age(id)
	for range 3 {
		s.read(id)
	}

	p, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, p.SetTTL(5, s.clock.Now()))
	again, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	assert.NotEqual(t, p.Revision(), again.Revision(), "what Get hands out is a copy")

	_, err = s.Update(t.Context(), id, func(p *pack.Pack) error { return p.SetTTL(30, s.clock.Now()) })
	require.NoError(t, err)
	after, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, again.Revision()+1, after.Revision(), "an update shows at once")

	s.age(id)
	s.read(id)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("damaged"), 0o600))
	_, err = s.Get(t.Context(), id)
	require.ErrorIs(t, err, pack.ErrMalformed, "a change from outside shows at once")
	require.NoError(t, os.WriteFile(file, whole, 0o600))
	s.age(id)
	s.read(id)

	require.NoError(t, os.Remove(file))
	_, err = s.Get(t.Context(), id)
	require.ErrorIs(t, err, pack.ErrNotFound)
	require.NoError(t, os.WriteFile(file, whole, 0o600))
	s.age(id)
	s.read(id)
	s.clock.Advance(31 * time.Minute)
	_, err = s.Get(t.Context(), id)
	require.ErrorIs(t, err, pack.ErrNotFound, "it has expired")
}

// TestManyPacksInTurn: more packs than are remembered stay themselves.
func TestManyPacksInTurn(t *testing.T) {
	s := open(t)
	var all []pack.ID
	for n := range 40 {
		id := s.add(fmt.Sprintf("pack-%d", n), 60)
		s.age(id)
		all = append(all, id)
	}
	for range 3 {
		for n, id := range all {
			p, err := s.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("pack-%d", n), string(p.Name()))
			p, err = s.Get(t.Context(), all[0])
			require.NoError(t, err)
			require.Equal(t, all[0], p.ID())
		}
	}
}

// retitle changes a pack's title behind the store's back to another of the same length, and gives the file the time that it had: in its place, or by another file
// of its name. It goes on until the file system's own clock has moved.
func (s *fixture) retitle(id pack.ID, renamed bool) (title pack.Optional) {
	file := s.path("packs", string(id)+".md")
	was, err := os.Stat(file)
	require.NoError(s.t, err)
	data, err := os.ReadFile(file)
	require.NoError(s.t, err)
	title = "Title B"
	next := bytes.Replace(data, []byte("Title A"), []byte("Title B"), 1)
	if bytes.Equal(next, data) {
		title, next = "Title A", bytes.Replace(data, []byte("Title B"), []byte("Title A"), 1)
	}
	for ctime := was.Sys().(*syscall.Stat_t).Ctim; ; {
		to := file
		if renamed {
			to += ".new"
		}
		require.NoError(s.t, os.WriteFile(to, next, 0o600))
		require.NoError(s.t, os.Chtimes(to, was.ModTime(), was.ModTime()))
		require.NoError(s.t, os.Rename(to, file))
		now, err := os.Stat(file)
		require.NoError(s.t, err)
		require.Equal(s.t, was.Size(), now.Size())
		require.Equal(s.t, was.ModTime(), now.ModTime())
		if now.Sys().(*syscall.Stat_t).Ctim != ctime {
			return title
		}
	}
}

// TestNoCacheHidesAnOlderFile: a pack file that is replaced by one of the same size and time shows at once, in this process and in the next.
func TestNoCacheHidesAnOlderFile(t *testing.T) {
	s := open(t)
	s.Later()
	listing := filepath.Join(t.TempDir(), "cache", "packs.idx")
	s.Remember(listing)
	p := packtest.New(t, s.ids, s.clock.Now(), "one", 60)
	title := pack.Optional("Title A")
	require.NoError(t, p.SetMeta(pack.MetaEdit{Title: &title}, s.clock.Now()))
	require.NoError(t, s.Create(t.Context(), p))
	for _, renamed := range []bool{false, true, false} {
		fresh := packfile.New(s.root, s.clock).Remember(listing)
		fresh.Later()
		for _, store := range []*packfile.Store{s.Store, fresh} {
			for range 2 {
				got, err := store.Get(t.Context(), p.ID())
				require.NoError(t, err)
				assert.Equal(t, title, got.State().Title)
				all, err := store.List(t.Context())
				require.NoError(t, err)
				require.Len(t, all, 1)
				assert.Equal(t, title, all[0].Title)
			}
		}
		require.FileExists(t, listing)
		title = s.retitle(p.ID(), renamed)
	}
}

// TestAListShowsWhatTheFileHolds: what this process wrote or read last is no reason to believe that the file still holds it.
func TestAListShowsWhatTheFileHolds(t *testing.T) {
	s := open(t)
	s.Later()
	p := packtest.New(t, s.ids, s.clock.Now(), "one", 60)
	title := pack.Optional("Title A")
	require.NoError(t, p.SetMeta(pack.MetaEdit{Title: &title}, s.clock.Now()))
	require.NoError(t, s.Create(t.Context(), p))
	for _, renamed := range []bool{false, true} {
		title = s.retitle(p.ID(), renamed)
		all, err := s.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Equal(t, title, all[0].Title)
		s.read(p.ID())
	}
	file := s.path("packs", string(p.ID())+".md")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	copied := s.path("packs", string(packtest.New(t, s.ids, s.clock.Now(), "two", 60).ID())+".md")
	require.NoError(t, os.WriteFile(copied, data, 0o600))
	_, err = s.List(t.Context())
	require.ErrorIs(t, err, pack.ErrMalformed, "a remembered pack in the file of another one")
}

// TestListingIsBelievedWholeOrNotAtAll: wherever it was cut short or changed, the packs are listed as they are; and where it is whole, it hides no damage.
func TestListingIsBelievedWholeOrNotAtAll(t *testing.T) {
	s := open(t)
	s.Later()
	listing := filepath.Join(t.TempDir(), "packs.idx")
	s.Remember(listing)
	s.add("one", 60)
	id := s.add("two", 60)
	want := s.listed()
	whole, err := os.ReadFile(listing)
	require.NoError(t, err)
	list := func() ([]pack.ID, error) {
		fresh := packfile.New(s.root, s.clock).Remember(listing)
		fresh.Later()
		all, err := fresh.List(t.Context())
		var got []pack.ID
		for _, p := range all {
			got = append(got, p.ID)
		}
		return got, err
	}
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 0x41
		for _, data := range [][]byte{whole[:at], changed} {
			require.NoError(t, os.WriteFile(listing, data, 0o600))
			got, err := list()
			require.NoError(t, err)
			require.Equal(t, want, got, "byte %d", at)
		}
	}
	require.NoError(t, os.Remove(listing))
	require.NoError(t, syscall.Mkfifo(listing, 0o600))
	got, err := list()
	require.NoError(t, err)
	require.Equal(t, want, got, "a pipe that nobody writes to")
	require.NoError(t, os.Remove(listing))
	require.NoError(t, os.WriteFile(listing, whole, 0o600))
	require.NoError(t, os.WriteFile(s.path("packs", string(id)+".md"), []byte("damaged"), 0o600))
	_, err = list()
	require.ErrorIs(t, err, pack.ErrMalformed)
}

// TestKilledReaderLeavesAListing: a process that is killed while it works leaves a listing that is right, or none.
func TestKilledReaderLeavesAListing(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	shared, err := pack.New("pk_aaaaaaaa", "shared", time.Now(), 600)
	require.NoError(t, err)
	require.NoError(t, packfile.New(root, now(0)).Create(t.Context(), shared))
	for range 3 {
		cmd := child("race", root, "m")
		cmd.Stderr = nil
		require.NoError(t, os.RemoveAll(root+".idx"))
		require.NoError(t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
				_, err := os.Stat(root + ".idx")
				running = err != nil
			}
		}
		_ = cmd.Process.Kill()
		<-ended
		want, err := packfile.New(root, now(0)).LookOnly().List(t.Context())
		require.NoError(t, err)
		got, err := packfile.New(root, now(0)).LookOnly().Remember(root + ".idx").List(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
