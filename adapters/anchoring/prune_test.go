package anchoring_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

const keepDays = 30

// reads appends records of reads.
func (h *fixture) reads(n int) {
	h.t.Helper()
	events := make([]audit.Event, n)
	for i := range events {
		events[i] = audit.Event{Time: h.clock.Now(), Phase: audit.Outcome, CallID: fmt.Sprint("read_", h.calls), Tool: "list_packs", Class: "read", Verdict: "allow"}
		h.calls++
	}
	require.NoError(h.t, h.keeper.Append(h.t.Context(), events...))
}

// allow puts a person's approval on record to remove reads after so many days.
func (h *fixture) allow(days int) {
	h.t.Helper()
	require.NoError(h.t, h.keeper.Append(h.t.Context(), audit.Event{Time: h.clock.Now(), Phase: audit.Outcome, CallID: "call_s", Tool: audit.SettingsTool, Class: "scratch", Verdict: "confirm",
		ApprovedBy: "terminal", Confirmation: "cf_1", Args: json.RawMessage(fmt.Sprintf(`{"revision":1,"keep_reads_days":%d}`, days))}))
}

func (h *fixture) prune(want int64) {
	h.t.Helper()
	done, err := h.keeper.Prune(h.t.Context(), keepDays, 1)
	require.NoError(h.t, err)
	require.Equal(h.t, want, done.Removed)
}

// used is a home with changes and old reads.
func used(t *testing.T) *fixture {
	h := open(t)
	h.allow(keepDays)
	h.anchored()
	for range 4 {
		h.reads(5)
		h.append(1)
	}
	h.again()
	return h
}

func (h *fixture) month() {
	h.clock.Advance((keepDays + 1) * 24 * time.Hour)
	h.append(1)
	h.again()
}

func TestOldReadsGoAndTheRestHolds(t *testing.T) {
	h := used(t)
	h.prune(0)
	h.month()
	h.reads(3)
	h.again()
	before := h.check()
	h.prune(20)
	r := h.check()
	assert.Empty(t, words(r))
	assert.Equal(t, before.Records+1, r.Records, "the removal is on record")
	require.NotNil(t, r.Removed)
	assert.EqualValues(t, 20, r.Removed.Reads)
	assert.EqualValues(t, 1, r.Removed.From)
	assert.Equal(t, h.clock.Now().Add(-keepDays*24*time.Hour).Truncate(time.Second), r.Removed.Before)
	records, err := h.store.Records(t.Context(), 0, 100)
	require.NoError(t, err)
	reads := 0
	for _, rec := range records {
		if rec.Event.Removable() {
			reads++
		}
	}
	assert.Equal(t, 3, reads, "the young ones stay")
	h.again()
	r = h.check()
	assert.Empty(t, words(r))
	for _, v := range r.Anchors {
		assert.Equal(t, r.Records, v.To, v.Kind)
	}
	st, err := h.keeper.Standing(t.Context())
	require.NoError(t, err)
	assert.Empty(t, st.Faults)
	h.prune(0)
	h.month()
	h.prune(3)
	h.append(2)
	news, err := h.keeper.CheckNew(t.Context())
	require.NoError(t, err)
	assert.Empty(t, words(news))
	assert.Empty(t, words(h.check()))
}

// A new key vouches for what was removed under the old one, and further removals are signed with it.
func TestARemovalOutlivesItsKey(t *testing.T) {
	h := used(t)
	h.month()
	h.prune(20)
	_, err := h.keeper.NewKey(t.Context(), "terminal")
	require.NoError(t, err)
	r := h.check()
	assert.Empty(t, words(r))
	assert.EqualValues(t, 20, r.Removed.Reads)
	h.reads(4)
	h.month()
	h.prune(4)
	h.again()
	r = h.check()
	assert.Empty(t, words(r))
	assert.EqualValues(t, 24, r.Removed.Reads)
}

func TestNothingIsRemovedThatIsNotAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(h *fixture)
		says string
	}{
		"other days on record": {func(h *fixture) { h.allow(90) }, "keeping reads for 30 days was not approved"},
		"taken back":           {func(h *fixture) { h.allow(0) }, "was not approved"},
		"a row edited": {func(h *fixture) {
			h.do("UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), 'suite/1', 'suite/2') AS BLOB) WHERE seq = 8")
		}, "its verification failed"},
		"a change that is now a read": {func(h *fixture) { h.reclassify(); h.reads(1); h.again() }, "its verification failed"},
		"an anchor out of reach":      {func(h *fixture) { h.write(h.file(), []byte("{}")) }, "its verification failed"},
		"the key gone":                {func(h *fixture) { h.move(h.key("audit.key")) }, "its verification failed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := used(t)
			h.month()
			c.do(h)
			done, err := h.keeper.Prune(t.Context(), keepDays, 1)
			require.ErrorContains(t, err, c.says)
			assert.Zero(t, done.Removed)
		})
	}
}

// reclassify makes a read of the first change and the chain behind it whole again.
func (h *fixture) reclassify() {
	h.t.Helper()
	records, err := h.store.Records(h.t.Context(), 0, 1000)
	require.NoError(h.t, err)
	last, kept := audit.Record{}, audit.NoneKept()
	for _, r := range records {
		if r.Event.Tool == "deploy_apply" && r.Seq == 8 {
			r.Event = audit.Event{Time: r.Event.Time, Phase: audit.Outcome, CallID: "x", Tool: "list_packs", Class: "read", Verdict: "allow"}
		}
		r, err = audit.Link(last, r.Event)
		require.NoError(h.t, err)
		h.row(r)
		last, kept = r, kept.Of(&r)
	}
	h.do("UPDATE audit_head SET hash = ?, kept = ?, kept_count = ?", last.Hash[:], kept.Hash[:], kept.Count)
}

// row writes a record past the program.
func (h *fixture) row(r audit.Record) {
	h.t.Helper()
	event, err := json.Marshal(r.Event)
	require.NoError(h.t, err)
	h.do("INSERT OR REPLACE INTO audit (seq, event, prev, hash) VALUES (?, ?, ?, ?)", r.Seq, event, r.Prev[:], r.Hash[:])
}

func (h *fixture) move(path string) {
	h.t.Helper()
	data := h.read(path)
	h.write(filepath.Join(h.away, "moved"), data)
	require.NoError(h.t, os.Remove(path))
}

// What is done to a log from which reads were removed, by whoever can write the database and has no key, is found.
func TestACutIsNoRemoval(t *testing.T) {
	at := func(h *fixture, seq int64) audit.Record {
		records, err := h.store.Records(h.t.Context(), seq-1, 1)
		require.NoError(h.t, err)
		require.Equal(h.t, seq, records[0].Seq)
		return records[0]
	}
	end := func(h *fixture) audit.End {
		e, err := h.store.End(h.t.Context())
		require.NoError(h.t, err)
		return e
	}
	// forge appends a record past the program, which then goes on behind it and signs that.
	forge := func(h *fixture, e audit.Event) {
		was := end(h)
		r, err := audit.Link(audit.Record{Seq: was.Seq, Hash: was.Hash}, e)
		require.NoError(h.t, err)
		kept := was.Kept.Of(&r)
		h.row(r)
		h.do("UPDATE audit_head SET seq = ?, hash = ?, kept = ?, kept_count = ?", r.Seq, r.Hash[:], kept.Hash[:], kept.Count)
		h.append(1)
		h.again()
	}
	for name, c := range map[string]struct {
		do   func(h *fixture)
		code error
		says string
	}{
		"a kept change dropped":       {func(h *fixture) { h.do("DELETE FROM audit WHERE seq = 8") }, audit.ErrBroken, "other records were removed"},
		"the settings change dropped": {func(h *fixture) { h.do("DELETE FROM audit WHERE seq = 1") }, audit.ErrBroken, "other records were removed"},
		"a kept change edited": {func(h *fixture) {
			r := at(h, 8)
			r.Event.Principal = "somebody"
			r, err := audit.Link(audit.Record{Seq: 7, Hash: r.Prev}, r.Event)
			require.NoError(h.t, err)
			h.row(r)
		}, audit.ErrBroken, "edited, replaced or added"},
		"a kept change that says it is a read": {func(h *fixture) {
			r := at(h, 8)
			r, err := audit.Link(audit.Record{Seq: 7, Hash: r.Prev}, audit.Event{Phase: audit.Outcome, CallID: "x", Tool: "list_packs", Class: "read", Verdict: "allow"})
			require.NoError(h.t, err)
			h.row(r)
		}, audit.ErrBroken, "it was added later"},
		"a change put where a read was": {func(h *fixture) {
			r, err := audit.Link(audit.Record{Seq: 3}, at(h, 8).Event)
			require.NoError(h.t, err)
			h.row(r)
		}, audit.ErrBroken, "edited, replaced or added"},
		"the removal dropped": {func(h *fixture) {
			h.do("DELETE FROM audit WHERE CAST(event AS TEXT) LIKE '%audit_prune%'")
		}, audit.ErrBroken, "is missing"},
		"more reads cut": {func(h *fixture) {
			h.reads(1)
			h.again()
			h.do("DELETE FROM audit WHERE seq = (SELECT max(seq) - 2 FROM audit)")
		}, audit.ErrBroken, "is missing"},
		"the count dropped": {func(h *fixture) { h.do("UPDATE audit_head SET kept = NULL, kept_count = NULL") }, audit.ErrContradicted, "the head or the records were edited"},
		"the head dropped":  {func(h *fixture) { h.do("UPDATE audit_head SET signed = NULL") }, audit.ErrUnsigned, "although a signing key exists"},
		"the count edited":  {func(h *fixture) { h.do("UPDATE audit_head SET kept_count = kept_count - 1"); h.append(1); h.again() }, audit.ErrContradicted, "differs from the one signed"},
		"a change dropped and the removal said again, signed by another key": {func(h *fixture) {
			h.do("DELETE FROM audit WHERE seq = 8")
			r := h.removal()
			kept := audit.NoneKept()
			records, err := h.store.Records(h.t.Context(), 0, 1000)
			require.NoError(h.t, err)
			for _, rec := range records {
				if rec.Seq <= r.To {
					kept = kept.Of(&rec)
				}
			}
			r.Kept = kept
			other := docfile.NewSigner(filepath.Join(h.away, "keys"), h.dir, "m1", h.clock.Now)
			key, err := other.Key(audit.Key{})
			require.NoError(h.t, err)
			r.Head, err = other.Sign(key, audit.Position{Seq: r.To, Hash: r.Sum()})
			require.NoError(h.t, err)
			forge(h, r.Event(h.clock.Now()))
		}, audit.ErrBroken, "other records were removed"},
		"a removal with the real head of a record": {func(h *fixture) {
			h.reads(6)
			h.append(1)
			signed := *end(h).Signed
			h.append(1)
			h.again()
			h.do("DELETE FROM audit WHERE seq > ? AND seq < ?", signed.Seq-6, signed.Seq)
			r := h.removal()
			r.To, r.Hash, r.Kept, r.Head = signed.Seq, signed.Hash, signed.Kept, signed
			forge(h, r.Event(h.clock.Now()))
		}, audit.ErrBroken, "is missing"},
		"an older removal said again, for more": {func(h *fixture) {
			older := h.removal()
			h.reads(6)
			h.month()
			h.do("DELETE FROM audit WHERE seq > ? AND CAST(event AS TEXT) LIKE '%list_packs%'", older.To)
			forge(h, older.Event(h.clock.Now()))
		}, audit.ErrBroken, "is missing"},
		"a removal without a person's yes": {func(h *fixture) {
			h.allow(0)
			h.again()
			r := h.removal()
			forge(h, r.Event(h.clock.Now()))
		}, audit.ErrContradicted, "no user had allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := used(t)
			h.month()
			h.prune(20)
			h.again()
			require.Empty(t, words(h.check()))
			c.do(h)
			r := h.check()
			require.ErrorIs(t, r.Err(), c.code, words(r))
			assert.Contains(t, words(r), c.says)
		})
	}
}

// removal returns the newest removal on record.
func (h *fixture) removal() audit.Removal {
	found, err := h.store.Search(h.t.Context(), audit.Filter{Tool: audit.PruneTool, Limit: 1})
	require.NoError(h.t, err)
	require.Len(h.t, found, 1)
	event, err := json.Marshal(found[0].Event)
	require.NoError(h.t, err)
	r, ok := audit.ReadRemoval(event)
	require.True(h.t, ok)
	return r
}

// What an earlier version wrote, whose heads do not say what is kept, verifies as before, and loses its old reads like any other.
func TestRecordsOfAnEarlierVersionAreRemoved(t *testing.T) {
	h := used(t)
	h.close()
	h.do("ALTER TABLE audit_head DROP COLUMN kept; ALTER TABLE audit_head DROP COLUMN kept_count; PRAGMA user_version = 12")
	h.write(h.file(), nil)
	signer := docfile.NewSigner(filepath.Join(h.dir, "keys"), h.dir, "m1", h.clock.Now)
	key, err := signer.Peek()
	require.NoError(t, err)
	state := map[string]any{}
	old := func(seq int64) audit.Head { // as earlier versions signed
		var hash canon.Hash
		copy(hash[:], h.hash(seq))
		head, err := signer.Sign(key, audit.Position{Seq: seq, Hash: hash})
		require.NoError(t, err)
		return head
	}
	inside, last := old(4), old(26)
	require.NoError(t, signer.PutHead(t.Context(), last, true))
	h.do("UPDATE audit_head SET signed = ?", last.Line())
	h.write(h.file(), []byte(string(inside.Line())+"\n"+string(last.Line())+"\n"))
	state["file "+h.file()] = map[string]any{"put": last}
	doc, err := json.Marshal(state)
	require.NoError(t, err)
	h.write(filepath.Join(h.dir, "anchors.state.json"), doc)
	h.open()
	r := h.check()
	require.Empty(t, words(r))
	assert.EqualValues(t, 26, r.Anchors[1].To)
	h.month()
	h.prune(20)
	h.again()
	r = h.check()
	assert.Empty(t, words(r))
	assert.EqualValues(t, 20, r.Removed.Reads)
	for _, v := range r.Anchors {
		assert.Equal(t, r.Records, v.To, v.Kind)
	}
}

// hash returns the hash of a record.
func (h *fixture) hash(seq int64) (sum []byte) {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+h.db()+"?_pragma=busy_timeout(5000)")
	require.NoError(h.t, err)
	require.NoError(h.t, db.QueryRow("SELECT hash FROM audit WHERE seq = ?", seq).Scan(&sum))
	require.NoError(h.t, db.Close())
	return sum
}

// A process that is killed while it removes leaves a log that verifies, and the next one goes on: what was removed and its record are one.
func TestKilledWhileRemoving(t *testing.T) {
	if dir := os.Getenv("ANCHORING_TEST_HOME"); dir != "" {
		at, err := time.Parse(time.RFC3339Nano, os.Getenv("ANCHORING_TEST_TIME"))
		require.NoError(t, err)
		h := &fixture{t: t, dir: dir, away: os.Getenv("ANCHORING_TEST_AWAY"), clock: &clock.Fake{}}
		h.clock.Advance(at.Sub(h.clock.Now()))
		h.open()
		h.keeper.Prune(t.Context(), keepDays, 1) //nolint:errcheck // it is killed
		h.close()
		return
	}
	h := open(t)
	h.allow(keepDays)
	for range 30 {
		h.reads(600)
		h.append(1)
	}
	h.month()
	h.close()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^TestKilledWhileRemoving$")
	cmd.Env = append(os.Environ(), "ANCHORING_TEST_HOME="+h.dir, "ANCHORING_TEST_AWAY="+h.away, "ANCHORING_TEST_TIME="+h.clock.Now().Format(time.RFC3339Nano))
	require.NoError(t, cmd.Start())
	over := make(chan struct{})
	go func() { cmd.Wait(); close(over) }() //nolint:errcheck // it is killed
	h.open()
	for begun := false; !begun; { // the first removal is on record
		select {
		case <-over:
			begun = true
		default:
			found, err := h.store.Search(t.Context(), audit.Filter{Tool: audit.PruneTool, Limit: 1})
			require.NoError(t, err)
			begun = len(found) > 0
		}
	}
	cmd.Process.Kill() //nolint:errcheck // it may have ended
	<-over
	r := h.check()
	require.Empty(t, words(r))
	require.NotNil(t, r.Removed)
	done, err := h.keeper.Prune(t.Context(), keepDays, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 18000, r.Removed.Reads+done.Removed)
	assert.Empty(t, words(h.check()))
}

// Two processes that remove at once, while others write, remove each read once.
func TestTwoProcessesRemoveAtOnce(t *testing.T) {
	h := used(t)
	h.reads(9000)
	h.month()
	other := *h
	other.open()
	t.Cleanup(func() { other.close() })
	var all sync.WaitGroup
	var removed [2]int64
	for i, f := range []*fixture{h, &other} {
		all.Go(func() {
			done, err := f.keeper.Prune(t.Context(), keepDays, 1)
			if err != nil {
				assert.ErrorIs(t, err, audit.ErrStale)
			}
			removed[i] = done.Removed
		})
		all.Go(func() {
			for n := range 20 {
				assert.NoError(t, f.keeper.Append(t.Context(), audit.Event{Phase: audit.Intent, CallID: fmt.Sprint("w", i, n), Tool: "deploy", Class: "write"}))
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 9020, removed[0]+removed[1])
	r := h.check()
	assert.Empty(t, words(r))
	assert.EqualValues(t, 9020, r.Removed.Reads)
}
