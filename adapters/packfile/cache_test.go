package packfile_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/pack"
)

// age makes a pack's file as old as a second, so that it is remembered when it is read.
func (s *fixture) age(id pack.ID) {
	past := time.Now().Add(-time.Second)
	require.NoError(s.t, os.Chtimes(s.path("packs", string(id)+".md"), past, past))
}

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
