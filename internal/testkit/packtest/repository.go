// Package packtest is the suite that every packport.Repository runs, with benchmarks. A test passes it a function that opens a store.
package packtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/ids"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/packport"
)

// Open makes a fresh, empty repository that tells the time by c and is gone when the test is.
type Open func(t testing.TB, c ports.Clock) packport.Repository

// New returns a draft with an id of its own, called name (which may be empty), living for minutes from now.
func New(t testing.TB, seq *ids.Sequence, now time.Time, name string, minutes pack.TTL) *pack.Pack {
	t.Helper()
	p, err := pack.New(pack.ID(seq.NewID(pack.IDPrefix, pack.IDChars)), pack.Optional(name), now, minutes)
	require.NoError(t, err)
	return p
}

// Full returns a pack with one of everything in it, additive parts included.
func Full(t testing.TB, seq *ids.Sequence, now time.Time, name string) *pack.Pack {
	t.Helper()
	p := New(t, seq, now, name, 60)
	title, brief := pack.Optional("Token: audit"), pack.Optional("Where tokens\n  are: checked\n---\nyes")
	tags := []string{"auth", "123", "yes", "auth"}
	require.NoError(t, p.SetMeta(pack.MetaEdit{Title: &title, Brief: &brief, Tags: &tags}, now))
	require.NoError(t, p.PutSection(pack.SectionEdit{Key: "gone", Title: "Gone"}, now))
	require.NoError(t, p.PutSection(pack.SectionEdit{Key: "flow", Title: "Flow \"of\" it", Description: "line one\n\n  line two\n"}, now))
	anchor := pack.TakeAnchor([]string{"before"}, []string{"a", "", "b"}, []string{"after", "more"})
	require.NoError(t, p.PutRef("flow", pack.Ref{
		Key: "verify", Path: "internal/auth/verify.go", Lines: pack.LineRange{Start: 12, End: 14}, Title: "Verify", Why: "entry: point", Group: "core",
		Root: "api", Commit: "0123abcd", Anchor: &anchor,
	}, now))
	require.NoError(t, p.PutRef("flow", pack.Ref{Key: "bare", Path: "a b/ü.txt", Lines: pack.LineRange{Start: 1, End: 1}}, now))
	require.NoError(t, p.PutDiagram("flow", pack.Diagram{Key: "seq", Title: "Order", Mermaid: "sequenceDiagram\n  A->>B: x: y\n  --- \n# no comment", Why: "because"}, now))
	require.NoError(t, p.DeleteSection("gone", now))
	ev := []pack.Evidence{
		{Standing: pack.RefExact, Lines: pack.LineRange{Start: 12, End: 14}, Text: []string{"a", "", "b"}, Anchor: &anchor},
		{Standing: pack.RefExact, Lines: pack.LineRange{Start: 1, End: 1}, Text: []string{"x"}},
	}
	keep := func(e pack.Evidence) *pack.Snapshot {
		return &pack.Snapshot{Lines: e.Lines, Text: "\ttabbed: text\n---\n  trailing  ", Masked: 1}
	}
	require.NoError(t, p.Finalize(ev, keep, now))
	return p
}

// Repository holds a repository to packport's contract.
func Repository(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *bench){
		"StoresEverything":          storesEverything,
		"AbsentIsNotFound":          absentIsNotFound,
		"ReturnsCopies":             returnsCopies,
		"ListsLivePacksByID":        listsLivePacksByID,
		"LooksUpExactNames":         looksUpExactNames,
		"NamesAreUniqueAmongLiving": namesAreUnique,
		"IDsAreNeverReused":         idsAreNeverReused,
		"UpdateStoresWhole":         updateStoresWhole,
		"FailedUpdateStoresNothing": failedUpdateStoresNothing,
		"NoChangeStoresNothing":     noChangeStoresNothing,
		"ExpiredIsInvisible":        expiredIsInvisible,
		"ExtendedIsVisible":         extendedIsVisible,
		"DeletesWhatCheckAllows":    deletesWhatCheckAllows,
		"LosesNoUpdate":             losesNoUpdate,
		"OneOfRacingNames":          oneOfRacingNames,
		"StopsWhenCancelled":        stopsWhenCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{clock: &clock.Fake{}, ids: &ids.Sequence{}}
			b.repo = open(t, b.clock)
			test(t, b)
		})
	}
}

// bench is what one test works with.
type bench struct {
	repo  packport.Repository
	clock *clock.Fake
	ids   *ids.Sequence
}

func (b *bench) create(t *testing.T, name string, minutes pack.TTL) *pack.Pack {
	t.Helper()
	p := New(t, b.ids, b.clock.Now(), name, minutes)
	require.NoError(t, b.repo.Create(t.Context(), p))
	return p
}

func (b *bench) ids4(t *testing.T) []pack.ID {
	t.Helper()
	all, err := b.repo.List(t.Context())
	require.NoError(t, err)
	out := []pack.ID{}
	for _, s := range all {
		out = append(out, s.ID)
	}
	return out
}

func retitle(title string, now time.Time) func(*pack.Pack) error {
	return func(p *pack.Pack) error {
		o := pack.Optional(title)
		return p.SetMeta(pack.MetaEdit{Title: &o}, now)
	}
}

func storesEverything(t *testing.T, b *bench) {
	now := b.clock.Now().Add(123456789 * time.Nanosecond)
	p := Full(t, b.ids, now, "token audit")
	require.NoError(t, b.repo.Create(t.Context(), p))
	got, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err)
	assert.Equal(t, p.State(), got.State())
	all, err := b.repo.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []pack.Summary{p.Summary()}, all)
}

func absentIsNotFound(t *testing.T, b *bench) {
	_, err := b.repo.Get(t.Context(), "pk_aaaaaaaa")
	require.ErrorIs(t, err, pack.ErrNotFound)
	_, err = b.repo.Update(t.Context(), "pk_aaaaaaaa", func(*pack.Pack) error { t.Error("change ran"); return nil })
	require.ErrorIs(t, err, pack.ErrNotFound)
	require.ErrorIs(t, b.repo.Delete(t.Context(), "pk_aaaaaaaa", func(*pack.Pack) error { t.Error("check ran"); return nil }), pack.ErrNotFound)
	found, err := b.repo.Lookup(t.Context(), "nobody")
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Empty(t, b.ids4(t))
}

func returnsCopies(t *testing.T, b *bench) {
	p := b.create(t, "copy", 60)
	got, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err)
	require.NoError(t, retitle("mine alone", b.clock.Now())(got))
	require.NoError(t, retitle("mine too", b.clock.Now())(p))
	again, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err)
	assert.Empty(t, again.State().Title)
}

func listsLivePacksByID(t *testing.T, b *bench) {
	want := []pack.ID{}
	for range 5 {
		want = append(want, b.create(t, "", 60).ID()) // ids of a sequence rise
	}
	assert.Equal(t, want, b.ids4(t))
}

func looksUpExactNames(t *testing.T, b *bench) {
	p := b.create(t, "Token audit/1", 60)
	b.create(t, "token audit/1", 60)
	found, err := b.repo.Lookup(t.Context(), "Token audit/1")
	require.NoError(t, err)
	assert.Equal(t, []pack.Summary{p.Summary()}, found)
	found, err = b.repo.Lookup(t.Context(), "Token audit")
	require.NoError(t, err)
	assert.Empty(t, found)
}

func namesAreUnique(t *testing.T, b *bench) {
	b.create(t, "only one", 1)
	second := New(t, b.ids, b.clock.Now(), "only one", 60)
	require.ErrorIs(t, b.repo.Create(t.Context(), second), pack.ErrNameTaken)
	_, err := b.repo.Get(t.Context(), second.ID())
	require.ErrorIs(t, err, pack.ErrNotFound, "a refused create stores nothing")
	b.create(t, "", 60)
	b.create(t, "", 60) // no name is no name

	b.clock.Advance(time.Minute)
	require.NoError(t, b.repo.Create(t.Context(), second), "an expired pack's name is free at once")
}

func idsAreNeverReused(t *testing.T, b *bench) {
	p := b.create(t, "first", 60)
	other, err := pack.New(p.ID(), "second", b.clock.Now(), 60)
	require.NoError(t, err)
	require.ErrorIs(t, b.repo.Create(t.Context(), other), pack.ErrExists)
	require.NoError(t, b.repo.Delete(t.Context(), p.ID(), func(*pack.Pack) error { return nil }))
	require.ErrorIs(t, b.repo.Create(t.Context(), other), pack.ErrExists, "the trash keeps its ids")
}

func updateStoresWhole(t *testing.T, b *bench) {
	p := b.create(t, "", 60)
	b.clock.Advance(time.Second)
	got, err := b.repo.Update(t.Context(), p.ID(), retitle("new", b.clock.Now()))
	require.NoError(t, err)
	assert.Equal(t, uint64(2), got.Revision())
	stored, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err)
	assert.Equal(t, got.State(), stored.State())
	assert.Equal(t, pack.Optional("new"), stored.State().Title)
	all, err := b.repo.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []pack.Summary{stored.Summary()}, all)
}

func failedUpdateStoresNothing(t *testing.T, b *bench) {
	p := b.create(t, "", 60)
	boom := errors.New("boom")
	_, err := b.repo.Update(t.Context(), p.ID(), func(p *pack.Pack) error {
		require.NoError(t, retitle("half done", b.clock.Now())(p))
		return boom
	})
	require.Equal(t, boom, err, "the change's error comes back as it is")
	stored, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err)
	assert.Equal(t, p.State(), stored.State())
}

func noChangeStoresNothing(t *testing.T, b *bench) {
	p := b.create(t, "", 60)
	got, err := b.repo.Update(t.Context(), p.ID(), func(*pack.Pack) error { return nil })
	require.NoError(t, err)
	assert.Equal(t, p.State(), got.State())
}

func expiredIsInvisible(t *testing.T, b *bench) {
	p := b.create(t, "short", 1)
	b.clock.Advance(time.Minute - time.Nanosecond)
	_, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err, "a nanosecond before its expiry it lives")
	b.clock.Advance(time.Nanosecond)

	_, err = b.repo.Get(t.Context(), p.ID())
	require.ErrorIs(t, err, pack.ErrNotFound)
	_, err = b.repo.Update(t.Context(), p.ID(), func(*pack.Pack) error { t.Error("change ran"); return nil })
	require.ErrorIs(t, err, pack.ErrNotFound)
	require.ErrorIs(t, b.repo.Delete(t.Context(), p.ID(), func(*pack.Pack) error { return nil }), pack.ErrNotFound)
	found, err := b.repo.Lookup(t.Context(), "short")
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Empty(t, b.ids4(t))
}

func extendedIsVisible(t *testing.T, b *bench) {
	p := b.create(t, "", 1)
	_, err := b.repo.Update(t.Context(), p.ID(), func(p *pack.Pack) error { return p.ExtendTTL(5, b.clock.Now()) })
	require.NoError(t, err)
	b.clock.Advance(5 * time.Minute)
	assert.Equal(t, []pack.ID{p.ID()}, b.ids4(t))
}

func deletesWhatCheckAllows(t *testing.T, b *bench) {
	p := b.create(t, "doomed", 60)
	boom := errors.New("boom")
	require.Equal(t, boom, b.repo.Delete(t.Context(), p.ID(), func(*pack.Pack) error { return boom }))
	assert.Equal(t, []pack.ID{p.ID()}, b.ids4(t))
	require.NoError(t, b.repo.Delete(t.Context(), p.ID(), func(p *pack.Pack) error { return p.Expect(1) }))
	_, err := b.repo.Get(t.Context(), p.ID())
	require.ErrorIs(t, err, pack.ErrNotFound)
	b.create(t, "doomed", 60) // the name is free at once
	require.ErrorIs(t, b.repo.Delete(t.Context(), p.ID(), func(*pack.Pack) error { return nil }), pack.ErrNotFound)
}

// losesNoUpdate races writers on one pack: every one that did not conflict is in the result.
func losesNoUpdate(t *testing.T, b *bench) {
	const writers, each = 16, 4
	p := b.create(t, "", 60)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range each {
				_, err := b.repo.Update(t.Context(), p.ID(), func(p *pack.Pack) error {
					tags := append(p.State().Tags, fmt.Sprintf("%d/%d", w, n))
					return p.SetMeta(pack.MetaEdit{Tags: &tags}, b.clock.Now())
				})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	got, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err)
	assert.Equal(t, uint64(1+writers*each), got.Revision())
	assert.Len(t, got.State().Tags, writers*each)
}

func oneOfRacingNames(t *testing.T, b *bench) {
	const racers = 16
	results := make([]error, racers)
	packs := make([]*pack.Pack, racers)
	for i := range packs {
		packs[i] = New(t, b.ids, b.clock.Now(), "contended", 60)
	}
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() { results[i] = b.repo.Create(t.Context(), packs[i]) })
	}
	group.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
			continue
		}
		require.ErrorIs(t, err, pack.ErrNameTaken)
	}
	assert.Equal(t, 1, won)
	assert.Len(t, b.ids4(t), 1)
}

func stopsWhenCancelled(t *testing.T, b *bench) {
	p := b.create(t, "", 60)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.repo.Update(ctx, p.ID(), retitle("too late", b.clock.Now()))
	require.ErrorIs(t, err, context.Canceled)
	stored, err := b.repo.Get(t.Context(), p.ID())
	require.NoError(t, err)
	assert.Empty(t, stored.State().Title)
}
