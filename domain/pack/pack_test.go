package pack_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
)

var epoch = time.Date(2026, 3, 1, 9, 0, 0, 500_000_000, time.UTC)

func draft(t require.TestingT) *pack.Pack {
	p, err := pack.New("pk_k3v7m2qa", "token-audit", epoch, 90)
	require.NoError(t, err)
	return p
}

// filled returns a draft with a section, a ref and a diagram.
func filled(t require.TestingT) *pack.Pack {
	p := draft(t)
	require.NoError(t, p.PutSection(pack.SectionEdit{Key: "flow", Title: "Flow"}, epoch))
	require.NoError(t, p.PutRef("flow", pack.Ref{Key: "one", Path: "a.go", Lines: pack.LineRange{Start: 1, End: 2}}, epoch))
	require.NoError(t, p.PutDiagram("flow", pack.Diagram{Key: "dd", Title: "D", Mermaid: "graph TD"}, epoch))
	return p
}

func exact() []pack.Evidence {
	a := pack.TakeAnchor(nil, []string{"a", "b"}, nil)
	return []pack.Evidence{{Standing: pack.RefExact, Lines: pack.LineRange{Start: 1, End: 2}, Text: []string{"a", "b"}, Anchor: &a}}
}

func TestNewStartsAsDraftAtRevisionOne(t *testing.T) {
	s := draft(t).State()
	assert.Equal(t, pack.State{
		SchemaVersion: 2, ID: "pk_k3v7m2qa", Name: "token-audit", Status: pack.Draft, Tags: []string{}, Sections: []pack.Section{}, Revision: 1,
		CreatedAt: epoch, UpdatedAt: epoch, ExpiresAt: epoch.Add(90 * time.Minute),
	}, s)
	for ttl, ok := range map[pack.TTL]bool{0: false, 1: true, 2_628_000: true, 2_628_001: false} {
		_, err := pack.New("pk_k3v7m2qa", "", epoch, ttl)
		assert.Equal(t, ok, err == nil, "%d minutes", ttl)
	}
}

// TestEveryStatusPair covers the status machine: each transition, the no-ops, and the pairs that are not allowed.
func TestEveryStatusPair(t *testing.T) {
	for _, from := range []pack.Status{pack.Draft, pack.Finalized} {
		for _, to := range []pack.Status{pack.Draft, pack.Finalized} {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) {
				p := filled(t)
				if from == pack.Finalized {
					require.NoError(t, p.Finalize(exact(), nil, epoch))
				}
				before := p.Revision()
				var err error
				if to == pack.Finalized {
					err = p.Finalize(exact(), nil, epoch)
				} else {
					err = p.Reopen(epoch)
				}
				require.NoError(t, err)
				assert.Equal(t, to, p.Status())
				want := before
				if from != to {
					want++
				}
				assert.Equal(t, want, p.Revision(), "staying is no change")
			})
		}
	}
}

func TestFinalizeAsksRefsFirstThenContent(t *testing.T) {
	p := filled(t)
	require.ErrorIs(t, p.Finalize([]pack.Evidence{{Standing: pack.RefStale, Reason: "gone"}}, nil, epoch), pack.ErrStale)
	require.ErrorIs(t, p.Finalize(nil, nil, epoch), pack.ErrRevision, "evidence of another pack")
	for standing := range pack.RefExact {
		err := filled(t).Finalize([]pack.Evidence{{Standing: standing}}, nil, epoch)
		assert.Equal(t, standing == pack.RefChanged || standing == pack.RefMoved, err == nil, standing)
	}
	require.ErrorIs(t, draft(t).Finalize(nil, nil, epoch), pack.ErrEmpty)

	require.NoError(t, p.Finalize(exact(), func(e pack.Evidence) *pack.Snapshot {
		return &pack.Snapshot{Lines: e.Lines, Text: strings.Join(e.Text, "\n")}
	}, epoch))
	ref := p.State().Sections[0].Refs[0]
	assert.Equal(t, "a\nb", ref.Snapshot.Text)
	assert.NotNil(t, ref.Anchor, "a ref that was never anchored is anchored now")
	require.NoError(t, p.Reopen(epoch))
	assert.Nil(t, p.State().Sections[0].Refs[0].Snapshot)
}

func TestExtendCountsFromTheLaterAndIsCapped(t *testing.T) {
	p := draft(t)
	require.NoError(t, p.ExtendTTL(10, epoch))
	assert.Equal(t, epoch.Add(100*time.Minute), p.ExpiresAt())
	later := epoch.Add(200 * time.Minute)
	require.NoError(t, p.ExtendTTL(10, later))
	assert.Equal(t, later.Add(10*time.Minute), p.ExpiresAt(), "from now when the expiry has passed")
	for range 2 {
		require.NoError(t, p.ExtendTTL(pack.MaxTTL, later))
		assert.Equal(t, later.Add(pack.TTL(pack.MaxTTL).Duration()), p.ExpiresAt(), "extensions do not pile up beyond the cap")
	}
	require.ErrorIs(t, p.ExtendTTL(pack.MaxTTL+1, later), pack.ErrValue)
	require.NoError(t, p.SetTTL(1, later))
	assert.Equal(t, later.Add(time.Minute), p.ExpiresAt())
	assert.True(t, p.Expired(later.Add(time.Minute)))
	assert.False(t, p.Expired(later.Add(time.Minute-1)))
}

// TestRestoreChecksAgain: a stored state that no edit would allow is malformed; another schema version is told apart, but only if the id is valid.
func TestRestoreChecksAgain(t *testing.T) {
	good := filled(t).State()
	_, err := pack.Restore(good)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		damage func(*pack.State)
		want   error
	}{
		"id":                   {func(s *pack.State) { s.ID = "pk_K3v7m2qa" }, pack.ErrMalformed},
		"id before schema":     {func(s *pack.State) { s.ID, s.SchemaVersion = "x", 1 }, pack.ErrMalformed},
		"schema":               {func(s *pack.State) { s.SchemaVersion = 3 }, pack.ErrSchema},
		"schema before rest":   {func(s *pack.State) { s.SchemaVersion, s.Revision = 1, 0 }, pack.ErrSchema},
		"name":                 {func(s *pack.State) { s.Name = "ab" }, pack.ErrMalformed},
		"untrimmed name":       {func(s *pack.State) { s.Name = " abc" }, pack.ErrMalformed},
		"status":               {func(s *pack.State) { s.Status = 0 }, pack.ErrMalformed},
		"unknown status":       {func(s *pack.State) { s.Status = 9 }, pack.ErrMalformed},
		"revision":             {func(s *pack.State) { s.Revision = 0 }, pack.ErrMalformed},
		"time":                 {func(s *pack.State) { s.ExpiresAt = time.Time{} }, pack.ErrMalformed},
		"blank tag":            {func(s *pack.State) { s.Tags = []string{" "} }, pack.ErrMalformed},
		"section key":          {func(s *pack.State) { s.Sections[0].Key = "-x" }, pack.ErrMalformed},
		"section title":        {func(s *pack.State) { s.Sections[0].Title = "" }, pack.ErrMalformed},
		"section twice":        {func(s *pack.State) { s.Sections = append(s.Sections, s.Sections[0]) }, pack.ErrMalformed},
		"ref key":              {func(s *pack.State) { s.Sections[0].Refs[0].Key = "x" }, pack.ErrMalformed},
		"ref twice":            {func(s *pack.State) { s.Sections[0].Refs = append(s.Sections[0].Refs, s.Sections[0].Refs[0]) }, pack.ErrMalformed},
		"path":                 {func(s *pack.State) { s.Sections[0].Refs[0].Path = "../x" }, pack.ErrMalformed},
		"path with backslash":  {func(s *pack.State) { s.Sections[0].Refs[0].Path = `a\b` }, pack.ErrMalformed},
		"lines 0-0":            {func(s *pack.State) { s.Sections[0].Refs[0].Lines = pack.LineRange{} }, pack.ErrMalformed},
		"root":                 {func(s *pack.State) { s.Sections[0].Refs[0].Root = "a/b" }, pack.ErrMalformed},
		"commit":               {func(s *pack.State) { s.Sections[0].Refs[0].Commit = "HEAD" }, pack.ErrMalformed},
		"snapshot lines":       {func(s *pack.State) { s.Sections[0].Refs[0].Snapshot = &pack.Snapshot{} }, pack.ErrMalformed},
		"diagram title":        {func(s *pack.State) { s.Sections[0].Diagrams[0].Title = " " }, pack.ErrMalformed},
		"diagram without text": {func(s *pack.State) { s.Sections[0].Diagrams[0].Mermaid = "" }, pack.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			s := filled(t).State()
			c.damage(&s)
			_, err := pack.Restore(s)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestStateIsACopyAndSurvivesJSON(t *testing.T) {
	p := filled(t)
	require.NoError(t, p.Finalize(exact(), func(e pack.Evidence) *pack.Snapshot { return &pack.Snapshot{Lines: e.Lines, Text: "a"} }, epoch))
	s := p.State()
	s.Sections[0].Refs[0].Anchor.Print++
	s.Sections[0].Refs[0].Snapshot.Text = "forged"
	s.Sections[0].Title = "forged"
	s.Tags = append(s.Tags, "forged")
	assert.NotContains(t, fmt.Sprint(p.State()), "forged")
	assert.NotEqual(t, s, p.State())

	doc, err := json.Marshal(p.State())
	require.NoError(t, err)
	var back pack.State
	require.NoError(t, json.Unmarshal(doc, &back))
	again, err := pack.Restore(back)
	require.NoError(t, err)
	assert.Equal(t, p.State(), again.State())
}

func TestReplaceOnlyFollowsItsRevision(t *testing.T) {
	p := filled(t)
	next := p.Clone()
	require.NoError(t, next.SetTTL(5, epoch))
	later := next.Clone()
	require.NoError(t, later.SetTTL(6, epoch))
	require.ErrorIs(t, p.Clone().Replace(later), pack.ErrRevision)
	other, err := pack.New("pk_aaaaaaaa", "", epoch, 5)
	require.NoError(t, err)
	require.ErrorIs(t, p.Clone().Replace(other), pack.ErrNotFound)
	require.NoError(t, p.Replace(next))
	assert.Equal(t, next.State(), p.State())
	require.NoError(t, p.Replace(next), "the same revision is no change")
	require.ErrorIs(t, p.Replace(filled(t)), pack.ErrRevision, "an older one is refused")
}

func TestTimesHaveNoneThreeSixOrNineDigits(t *testing.T) {
	for nanos, want := range map[int]string{0: "", 500_000_000: ".500", 1_000: ".000001", 1: ".000000001"} {
		assert.Equal(t, "2026-03-01T09:00:00"+want+"Z", pack.FormatTime(time.Date(2026, 3, 1, 10, 0, 0, nanos, time.FixedZone("", 3600))))
	}
}

// TestRevisionRisesByOnePerChange: an effective change adds exactly one, an error and a no-op nothing, and the result is always a state that Restore
// accepts.
func TestRevisionRisesByOnePerChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draft(t)
		key := rapid.SampledFrom([]pack.Key{"aa", "bb", "cc"})
		word := rapid.SampledFrom([]string{"", "x", "y"})
		now := epoch
		for range rapid.IntRange(1, 40).Draw(t, "edits") {
			now = now.Add(time.Second)
			before, was := p.State(), p.Revision()
			err := edit(t, p, key.Draw(t, "key"), word.Draw(t, "word"), now)
			after := p.State()
			unstamped := after
			unstamped.Revision, unstamped.UpdatedAt = before.Revision, before.UpdatedAt
			switch {
			case err != nil:
				require.Equal(t, before, after, "a refused edit changes nothing: %v", err)
				require.NotEqual(t, fault.Internal, fault.From(err).Kind)
			case p.Revision() == was:
				require.Equal(t, before, after)
			default:
				require.Equal(t, was+1, p.Revision())
				require.Equal(t, now, after.UpdatedAt)
				require.LessOrEqual(t, len(after.Removed), 16)
			}
			back, err := pack.Restore(after)
			require.NoError(t, err)
			require.Equal(t, after, back.State())
		}
	})
}

func edit(t *rapid.T, p *pack.Pack, key pack.Key, word string, now time.Time) error {
	order := uint64(rapid.IntRange(0, 4).Draw(t, "order"))
	_, refs := p.State().Refs()
	evidence := slices.Repeat(exact(), len(refs))
	for i := range evidence {
		evidence[i].Standing = rapid.SampledFrom([]pack.RefStatus{pack.RefExact, pack.RefMoved, pack.RefChanged, pack.RefStale}).Draw(t, "standing")
	}
	edits := []func() error{
		func() error { return p.PutSection(pack.SectionEdit{Key: key, Title: "T" + word, Order: &order}, now) },
		func() error {
			return p.PutSection(pack.SectionEdit{Key: key, Title: "T", Description: pack.Optional(word)}, now)
		},
		func() error { return p.DeleteSection(key, now) },
		func() error {
			return p.PutRef(key, pack.Ref{Key: key, Path: "a", Lines: pack.LineRange{Start: 1, End: 2}, Why: pack.Optional(word)}, now)
		},
		func() error { return p.DeleteRef(key, key, now) },
		func() error { return p.PutDiagram(key, pack.Diagram{Key: key, Title: "T", Mermaid: "x" + word}, now) },
		func() error { return p.DeleteDiagram(key, key, now) },
		func() error {
			o, tags := pack.Optional(word), []string{"t" + word}
			return p.SetMeta(pack.MetaEdit{Title: &o, Tags: &tags}, now)
		},
		func() error { return p.SetMeta(pack.MetaEdit{}, now) },
		func() error { return p.SetTTL(pack.TTL(order), now) },
		func() error { return p.ExtendTTL(pack.TTL(order), now) },
		func() error { return p.Finalize(evidence, nil, now) },
		func() error { return p.Reopen(now) },
		func() error {
			_, err := pack.Reanchor(p, evidence, func(id pack.RefID) bool { return id.Section == key }, now)
			return err
		},
		func() error {
			s := pack.Section{Key: key, Title: "T" + word, Refs: []pack.Ref{{Key: "rr", Path: "b", Lines: pack.LineRange{Start: 1, End: 1}}}}
			return p.Rewrite(pack.Content{Title: pack.Optional(word), Tags: []string{}, Sections: []pack.Section{s}}, now)
		},
		func() error {
			s := pack.Section{Key: key, Title: ""}
			return p.Rewrite(pack.Content{Sections: []pack.Section{s}}, now)
		},
	}
	return edits[rapid.IntRange(0, len(edits)-1).Draw(t, "edit")]()
}
