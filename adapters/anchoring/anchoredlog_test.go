package anchoring_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/anchoring"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// fixture is a home with its record, and a directory elsewhere for anchors.
type fixture struct {
	t         *testing.T
	dir, away string
	clock     *clock.Fake
	store     *sqlitestore.Store
	keeper    *anchoring.AnchoredLog
	journal   anchoring.Place
	calls     int
}

func open(t *testing.T) *fixture {
	h := &fixture{t: t, dir: filepath.Join(t.TempDir(), "home"), away: t.TempDir(), clock: &clock.Fake{}}
	h.open()
	t.Cleanup(h.close)
	return h
}

func (h *fixture) open() {
	h.store = sqlitestore.Open(h.db())
	signer := docfile.NewSigner(filepath.Join(h.dir, "keys"), h.dir, "m1", h.clock.Now)
	h.store.SignWith(signer)
	h.keeper = anchoring.NewAnchoredLog(anchoring.Options{Log: h.store, Signer: signer, Dir: h.dir, Home: h.dir, Machine: "m1", Clock: h.clock, Slog: slog.New(slog.DiscardHandler),
		Journal: h.journal, Open: func(a audit.Anchor) (anchoring.Place, error) { return anchoring.OpenFile(a.Where) }})
}

func (h *fixture) close() {
	assert.NoError(h.t, h.keeper.Close(context.Background()))
	assert.NoError(h.t, h.store.Close())
}

// again is another process: what is on its way to the anchors gets there first.
func (h *fixture) again() {
	h.close()
	h.clock.Advance(time.Minute)
	h.open()
}

func (h *fixture) db() string   { return filepath.Join(h.dir, "countersign.db") }
func (h *fixture) file() string { return filepath.Join(h.away, "heads.jsonl") }
func (h *fixture) key(name string) string {
	return filepath.Join(h.dir, "keys", name)
}

func (h *fixture) append(n int) {
	h.t.Helper()
	events := make([]audit.Event, n)
	for i := range events {
		events[i] = porttest.Event(fmt.Sprint("call_", h.calls))
		h.calls++
	}
	require.NoError(h.t, h.keeper.Append(h.t.Context(), events...))
}

func (h *fixture) anchored() audit.Anchor {
	h.t.Helper()
	a, err := h.keeper.Add(h.t.Context(), "terminal", audit.Anchor{Kind: "file", Where: h.file()})
	require.NoError(h.t, err)
	return a
}

func (h *fixture) check() audit.Report {
	h.t.Helper()
	r, err := h.keeper.Check(h.t.Context())
	require.NoError(h.t, err)
	return r
}

// do changes the database past the program.
func (h *fixture) do(query string, args ...any) {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+h.db()+"?_pragma=busy_timeout(5000)")
	require.NoError(h.t, err)
	_, err = db.Exec(query, args...)
	require.NoError(h.t, err)
	require.NoError(h.t, db.Close())
}

func (h *fixture) write(path string, data []byte) {
	require.NoError(h.t, os.WriteFile(path, data, 0o600))
}

func (h *fixture) read(path string) []byte {
	data, err := os.ReadFile(path)
	require.NoError(h.t, err)
	return data
}

// rebuild changes a record and makes the chain behind it whole again, as anybody can who can write the database; sign also signs its end, as anybody can
// who can read the key.
func (h *fixture) rebuild(from int64, sign bool) {
	h.t.Helper()
	records, err := h.store.Records(h.t.Context(), 0, 1000)
	require.NoError(h.t, err)
	var last audit.Record
	for _, r := range records {
		if r.Seq >= from {
			r.Event.Client = "somebody/else"
		}
		r, err = audit.Link(last, r.Event)
		require.NoError(h.t, err)
		event, err := json.Marshal(r.Event)
		require.NoError(h.t, err)
		h.do("UPDATE audit SET event = ?, prev = ?, hash = ? WHERE seq = ?", event, r.Prev[:], r.Hash[:], r.Seq)
		last = r
	}
	h.do("UPDATE audit_head SET hash = ?", last.Hash[:])
	if sign {
		signer := docfile.NewSigner(filepath.Join(h.dir, "keys"), h.dir, "m1", h.clock.Now)
		key, err := signer.Peek()
		require.NoError(h.t, err)
		head, err := signer.Sign(key, audit.Position{Seq: last.Seq, Hash: last.Hash})
		require.NoError(h.t, err)
		h.do("UPDATE audit_head SET signed = ?", head.Line())
	}
}

func words(r audit.Report) string {
	var all []string
	for _, err := range r.Faults {
		all = append(all, err.Error())
	}
	return strings.Join(all, "\n")
}

func TestAWholeRecord(t *testing.T) {
	h := open(t)
	assert.Empty(t, words(h.check()), "nobody has begun it")
	h.append(3)
	h.anchored()
	h.append(2)
	h.again()
	r := h.check()
	assert.Empty(t, words(r))
	assert.EqualValues(t, 6, r.Records)
	require.Len(t, r.Keys, 1)
	assert.Equal(t, []int64{1, 6}, []int64{r.Keys[0].From, r.Keys[0].To})
	require.Len(t, r.Anchors, 2)
	for _, v := range r.Anchors {
		assert.EqualValues(t, 6, v.To, v.Kind)
		assert.Zero(t, v.Behind, v.Kind)
	}
	info, err := os.Stat(h.key("audit.key"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	st, err := h.keeper.Standing(t.Context())
	require.NoError(t, err)
	assert.Empty(t, st.Faults)
	assert.EqualValues(t, 6, st.Signed)
	require.Len(t, st.Anchors, 2)
	assert.EqualValues(t, 6, st.Anchors[1].Put)
}

func TestAnAnswerIsPutAtOnceAndReadsInAWhile(t *testing.T) {
	h := open(t)
	h.append(1)
	h.anchored()
	h.again()
	had := len(h.read(h.file()))
	h.append(1)
	assert.Len(t, h.read(h.file()), had, "a record by itself waits")
	require.NoError(t, h.keeper.Append(t.Context(), audit.Event{Phase: audit.Answer, Tool: "deploy"}))
	require.Eventually(t, func() bool { return h.check().Anchors[1].Behind == 0 }, time.Minute, time.Millisecond)
}

func TestWhatWasDoneToTheRecordIsFound(t *testing.T) {
	older := map[*fixture][]byte{}
	for name, c := range map[string]struct {
		do     func(h *fixture)
		code   error
		says   string
		vouch  int64 // up to where the file still vouches
		intact int64
	}{
		"the tail cut": {func(h *fixture) { h.do("DELETE FROM audit WHERE seq > 6") }, audit.ErrBroken, "audit record 7 is missing: the chain was truncated; it ended with record 9", 4, 6},
		"the tail and the end cut": {func(h *fixture) {
			h.do("DELETE FROM audit WHERE seq > 6")
			h.do("UPDATE audit_head SET seq = 6, hash = (SELECT hash FROM audit WHERE seq = 6)")
		}, audit.ErrContradicted, "record 9 was signed at", 4, 6},
		"the signature cut as well": {func(h *fixture) {
			h.do("DELETE FROM audit WHERE seq > 6")
			h.do("UPDATE audit_head SET seq = 6, signed = NULL, hash = (SELECT hash FROM audit WHERE seq = 6)")
		}, audit.ErrUnsigned, "the anchor file", 4, 6},
		"the table emptied":     {func(h *fixture) { h.do("DELETE FROM audit") }, audit.ErrBroken, "audit record 1 is missing: the chain was truncated; it ended with record 9", 0, 0},
		"the table and its end": {func(h *fixture) { h.do("DELETE FROM audit"); h.do("DELETE FROM audit_head") }, audit.ErrContradicted, "it has record 9", 0, 0},
		"a row edited": {func(h *fixture) {
			h.do("UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), 'suite/1', 'suite/2') AS BLOB) WHERE seq = 6")
		}, audit.ErrBroken, "audit record 6 was changed after it was written", 4, 5},
		"a hash edited":   {func(h *fixture) { h.do("UPDATE audit SET hash = zeroblob(32) WHERE seq = 3") }, audit.ErrBroken, "audit record 3 was changed after it was written", 0, 2},
		"a row taken out": {func(h *fixture) { h.do("DELETE FROM audit WHERE seq = 5") }, audit.ErrBroken, "audit record 5 is missing", 4, 4},
		"a row put behind the end": {func(h *fixture) {
			h.do("INSERT INTO audit SELECT 10, event, hash, zeroblob(32) FROM audit WHERE seq = 9")
		}, audit.ErrBroken, "audit record 10 was changed", 9, 9},
		"a row forged behind the end": {func(h *fixture) { h.forge() }, audit.ErrUnsigned, "signed up to record 9", 9, 10},
		"an index that misses records": {func(h *fixture) {
			h.do(`CREATE TEMP TABLE was AS SELECT sql FROM sqlite_schema WHERE name = 'audit_call'; DROP INDEX audit_call; CREATE INDEX audit_call ON audit (prev);
				PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = (SELECT sql FROM was) WHERE name = 'audit_call'`)
		}, audit.ErrBroken, "the audit log cannot be searched reliably", 9, 9},
		"the end edited":             {func(h *fixture) { h.do("UPDATE audit_head SET hash = zeroblob(32)") }, audit.ErrBroken, "audit record 9 is not the recorded last record of the chain", 9, 9},
		"the end moved":              {func(h *fixture) { h.do("UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM audit WHERE seq = 4)") }, audit.ErrBroken, "audit record 5 comes after the recorded end of the chain, record 4", 9, 9},
		"rebuilt from the middle":    {func(h *fixture) { h.rebuild(5, false) }, audit.ErrContradicted, "audit record 9 differs from the one signed", 4, 9},
		"rebuilt and signed":         {func(h *fixture) { h.rebuild(5, true) }, audit.ErrContradicted, "record 9 differs from the one anchored at", 4, 9},
		"rebuilt from the beginning": {func(h *fixture) { h.rebuild(1, true) }, audit.ErrContradicted, "record 3 differs from the one anchored at", 0, 9},
		"an older copy":              {func(h *fixture) { h.write(h.db(), older[h]) }, audit.ErrContradicted, "it has record 9", 4, 4},
		"an older copy that went on": {func(h *fixture) { h.write(h.db(), older[h]); h.append(8); h.again() }, audit.ErrContradicted, "record 9 differs from the one anchored at", 4, 12},
		"no database at all":         {func(h *fixture) { require.NoError(h.t, os.Remove(h.db())) }, audit.ErrContradicted, "it has record 9", 0, 0},
		"begun anew":                 {func(h *fixture) { require.NoError(h.t, os.Remove(h.db())); h.append(20); h.again() }, audit.ErrContradicted, "record 9 differs from the one anchored at", 0, 20},
		"everything but the file begun anew": {func(h *fixture) { require.NoError(h.t, os.RemoveAll(h.dir)); h.append(3); h.anchored(); h.again() }, audit.ErrContradicted,
			"is not in the audit log", 0, 4},
		"the key gone":                    {func(h *fixture) { require.NoError(h.t, os.Remove(h.key("audit.key"))) }, docfile.ErrSigner, "is missing; restore that file from a copy, or start a new key", 9, 9},
		"the key gone, and records since": {func(h *fixture) { require.NoError(h.t, os.Remove(h.key("audit.key"))); h.append(1) }, docfile.ErrSigner, "is missing", 9, 10},
		"another key":                     {func(h *fixture) { h.write(h.key("audit.key"), make([]byte, 32)) }, audit.ErrUnsigned, "this machine's key is", 9, 9},
		"the anchor taken from the list":  {func(h *fixture) { require.NoError(h.t, os.Remove(filepath.Join(h.dir, "anchors.json"))) }, audit.ErrContradicted, "was removed without an audit record", -1, 9},
		"the file cut":                    {func(h *fixture) { require.NoError(h.t, os.Truncate(h.file(), 400)) }, audit.ErrContradicted, "was truncated", 0, 9},
		"the file gone":                   {func(h *fixture) { require.NoError(h.t, os.Remove(h.file())) }, audit.ErrUnchecked, "no such file", 0, 9},
		"an entry forged": {func(h *fixture) {
			h.write(h.file(), append(h.read(h.file()), strings.Replace(lastLine(h.read(h.file())), `"seq":9`, `"seq":8`, 1)...))
		}, audit.ErrContradicted, "for record 8", 9, 9},
		"entries of others, and none": {func(h *fixture) {
			signer := docfile.NewSigner(filepath.Join(h.away, "keys"), "/elsewhere", "m2", h.clock.Now)
			key, err := signer.Key(audit.Key{})
			require.NoError(h.t, err)
			other, err := signer.Sign(key, audit.Position{Seq: 700, Hash: canon.SumBytes("test", nil)})
			require.NoError(h.t, err)
			h.write(h.file(), append(h.read(h.file()), append([]byte("torn {\n"), other.Line()...)...))
			h.append(1) // behind a line that has no end
			h.again()
		}, nil, "", 10, 10},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.append(3)
			h.anchored() // record 4
			h.again()
			require.NoError(t, h.store.Close())
			older[h] = h.read(h.db())
			h.open()
			h.append(5)
			h.again()
			require.Empty(t, words(h.check()))
			require.NoError(t, h.keeper.Close(t.Context()))
			require.NoError(t, h.store.Close())
			h.open()
			c.do(h)
			r := h.check()
			assert.Equal(t, c.intact, r.Records)
			if c.code == nil {
				assert.Empty(t, words(r))
			} else {
				require.ErrorIs(t, r.Err(), c.code, words(r))
				assert.Contains(t, words(r), c.says)
			}
			if c.vouch >= 0 {
				require.Len(t, r.Anchors, 2)
				assert.Equal(t, c.vouch, r.Anchors[1].To, "the file vouches")
			}
		})
	}
}

// TestACheckGoesOnWhereTheLastEnded: it reads what is new, finds what is wrong with that, and never takes another log, or another's word, for what was
// checked. What was done to older records a check of all of them finds, and after that every check.
func TestACheckGoesOnWhereTheLastEnded(t *testing.T) {
	checkpoint := func(h *fixture) string { return filepath.Join(h.dir, "cache", "audit-checkpoint.json") }
	for name, c := range map[string]struct {
		change func(h *fixture)
		before int64 // records that are not read again
		want   error
	}{
		"nothing": {func(*fixture) {}, 5, nil},
		"another process at once": {func(h *fixture) {
			other := &fixture{t: h.t, dir: h.dir, away: h.away, clock: h.clock}
			other.open()
			defer other.close()
			r, err := other.keeper.CheckNew(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 5, r.Before)
		}, 7, nil},
		"an older record": {func(h *fixture) {
			h.do(`UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), 'call_1', 'call_9') AS BLOB) WHERE seq = 2`)
		}, 5, nil},
		"a new record": {func(h *fixture) {
			h.do(`UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), 'call_6', 'call_9') AS BLOB) WHERE seq = 7`)
		}, 5, audit.ErrBroken},
		"the last that held": {func(h *fixture) { h.do(`DELETE FROM audit WHERE seq = 5`) }, 0, audit.ErrBroken},
		"the end":            {func(h *fixture) { h.do(`DELETE FROM audit WHERE seq = 7`) }, 5, audit.ErrBroken},
		"rebuilt":            {func(h *fixture) { h.rebuild(3, true) }, 0, audit.ErrContradicted},
		"rebuilt behind it":  {func(h *fixture) { h.rebuild(6, false) }, 5, audit.ErrContradicted},
		"an older file": {func(h *fixture) {
			h.close()
			for _, log := range []string{"-wal", "-shm"} {
				_ = os.Remove(h.db() + log)
			}
			h.write(h.db(), h.read(filepath.Join(h.away, "older.db")))
			h.open()
		}, 0, audit.ErrContradicted},
		"a checkpoint cut short": {func(h *fixture) { h.write(checkpoint(h), h.read(checkpoint(h))[:100]) }, 0, nil},
		"another's checkpoint": {func(h *fixture) {
			h.write(checkpoint(h), []byte(strings.Replace(string(h.read(checkpoint(h))), `"seq":5`, `"seq":6`, 1)))
		}, 0, nil},
		"a signed end for a checkpoint": {func(h *fixture) {
			end, err := h.store.End(t.Context())
			require.NoError(t, err)
			doc, err := json.Marshal(audit.Checkpoint{Hash: end.Hash, Head: *end.Signed})
			require.NoError(t, err)
			h.write(checkpoint(h), doc)
		}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.append(3)
			h.again()
			h.write(filepath.Join(h.away, "older.db"), h.read(h.db()))
			h.append(2)
			h.again()
			require.NoError(t, h.check().Err())
			h.append(2)
			h.again()
			c.change(h)
			r, err := h.keeper.CheckNew(t.Context())
			require.NoError(t, err)
			assert.Equal(t, c.before, r.Before)
			if c.want != nil {
				require.ErrorIs(t, r.Err(), c.want)
			} else {
				require.NoError(t, r.Err())
				assert.EqualValues(t, 7, r.Records)
			}
			if name == "an older record" {
				require.ErrorIs(t, h.check().Err(), audit.ErrBroken)
				r, err = h.keeper.CheckNew(t.Context())
				require.NoError(t, err)
				require.ErrorIs(t, r.Err(), audit.ErrBroken)
			}
		})
	}
}

func lastLine(text []byte) string {
	all := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	return all[len(all)-1] + "\n"
}

// forge puts a well-made record behind the last, and moves the end.
func (h *fixture) forge() {
	end, err := h.store.End(h.t.Context())
	require.NoError(h.t, err)
	r, err := audit.Link(audit.Record{Seq: end.Seq, Hash: end.Hash}, porttest.Event("call_x"))
	require.NoError(h.t, err)
	event, err := json.Marshal(r.Event)
	require.NoError(h.t, err)
	h.do("INSERT INTO audit (seq, event, prev, hash) VALUES (?, ?, ?, ?)", r.Seq, event, r.Prev[:], r.Hash[:])
	h.do("UPDATE audit_head SET seq = ?, hash = ?", r.Seq, r.Hash[:])
}

// What the user takes for explained is on record, and from then on the record is held against what comes.
func TestAccepted(t *testing.T) {
	h := open(t)
	h.append(3)
	h.anchored()
	h.again()
	require.NoError(t, h.store.Close())
	require.NoError(t, os.Remove(h.db()))
	h.open()
	h.append(2)
	require.ErrorIs(t, h.check().Err(), audit.ErrContradicted)
	n, err := h.keeper.Accept(t.Context(), "terminal", "the disk was lost")
	require.NoError(t, err)
	assert.Equal(t, 3, n, "the home, the file, and an anchor that the record does not tell of")
	h.again()
	r := h.check()
	assert.Empty(t, words(r))
	assert.EqualValues(t, 3, r.Anchors[1].To)
	assert.Contains(t, r.Anchors[1].Note, "the user accepted older entries")
	n, err = h.keeper.Accept(t.Context(), "terminal", "again")
	require.NoError(t, err)
	assert.Zero(t, n)
	found, err := h.keeper.Search(t.Context(), audit.Filter{Tool: audit.AcceptTool})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, string(found[0].Event.Args), "the disk was lost")
	assert.Contains(t, string(found[0].Event.Args), "configured but not in the audit log")
	h.rebuild(2, true)
	require.ErrorIs(t, h.check().Err(), audit.ErrContradicted, "it holds for what was, and not for what comes")
}

// A new key is never silent: the record tells of it, and from where on it vouches.
func TestANewKeyIsAnnounced(t *testing.T) {
	h := open(t)
	h.append(3)
	h.again()
	require.NoError(t, os.Remove(h.key("audit.key")))
	h.append(2)
	_, err := os.Stat(h.key("audit.key"))
	require.ErrorIs(t, err, os.ErrNotExist, "none is made in its place")
	st, err := h.keeper.Standing(t.Context())
	require.NoError(t, err)
	require.Len(t, st.Faults, 1)
	require.ErrorIs(t, st.Faults[0], docfile.ErrSigner)
	key, err := h.keeper.NewKey(t.Context(), "terminal")
	require.NoError(t, err)
	h.append(1)
	h.again()
	r := h.check()
	assert.Empty(t, words(r))
	require.Len(t, r.Keys, 2)
	assert.Equal(t, []int64{1, 5}, []int64{r.Keys[0].From, r.Keys[0].To})
	assert.Equal(t, audit.Stretch{Key: key, From: 6, To: 7}, r.Keys[1])
}

// A record that was begun by a program that signs nothing goes on signed, and says from where on.
func TestARecordThatWasBegunWithoutAKey(t *testing.T) {
	h := open(t)
	old := sqlitestore.Open(h.db())
	require.NoError(t, old.Append(t.Context(), porttest.Event("call_1"), porttest.Event("call_2")))
	require.NoError(t, old.Close())
	assert.Empty(t, words(h.check()))
	h.append(1)
	h.again()
	r := h.check()
	assert.Empty(t, words(r))
	assert.EqualValues(t, 4, r.Records)
	found, err := h.keeper.Search(t.Context(), audit.Filter{Tool: audit.KeyTool})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.EqualValues(t, 3, found[0].Seq)
	require.Len(t, r.Keys, 1)
}

func TestAnchorsComeAndGoOnRecord(t *testing.T) {
	h := open(t)
	h.append(1)
	a := h.anchored()
	_, err := h.keeper.Add(t.Context(), "terminal", a)
	require.ErrorIs(t, err, anchoring.ErrNoAnchor)
	for _, wrong := range []audit.Anchor{{Kind: "file"}, {Kind: "file", Where: filepath.Join(h.dir, "heads")}, {Kind: "cloud", Where: "x"}, {Kind: "git"}, {Kind: "journal"}} {
		_, err := h.keeper.Add(t.Context(), "terminal", wrong)
		require.ErrorIs(t, err, anchoring.ErrNoAnchor, "%v", wrong)
	}
	_, err = h.keeper.Add(t.Context(), "terminal", audit.Anchor{Kind: "file", Where: filepath.Join(h.away, "nowhere", "heads")})
	require.ErrorIs(t, err, anchoring.ErrAnchor)
	_, err = h.keeper.Remove(t.Context(), "terminal", audit.Anchor{Kind: "file", Where: "/other"})
	require.ErrorIs(t, err, anchoring.ErrNoAnchor)
	_, err = h.keeper.Remove(t.Context(), "terminal", a)
	require.NoError(t, err)
	h.again()
	assert.Empty(t, words(h.check()))
	found, err := h.keeper.Search(t.Context(), audit.Filter{Tool: audit.AnchorTool})
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, audit.AnchorRemoved, found[0].Event.Verdict)
}

// An anchor that takes nothing is counted and said, and no call waits for it.
func TestAFailingAnchorHoldsNothingUp(t *testing.T) {
	h := open(t)
	h.append(1)
	h.anchored()
	h.again()
	require.NoError(t, os.Remove(h.file()))
	require.NoError(t, os.Mkdir(h.file(), 0o700))
	for range 2 {
		h.append(1)
		h.again()
	}
	st, err := h.keeper.Standing(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, st.Anchors[1].Failures)
	assert.NotEmpty(t, st.Anchors[1].Failure)
	assert.EqualValues(t, 2, st.Anchors[1].Behind)
	r := h.check()
	require.ErrorIs(t, r.Err(), audit.ErrUnchecked)
	assert.Equal(t, 2, r.Anchors[1].Failures)
}

// Several processes and several homes put their heads into one file.
func TestManyShareAFile(t *testing.T) {
	one, two := open(t), open(t)
	two.away = one.away
	for _, h := range []*fixture{one, two} {
		h.append(1)
		h.anchored()
	}
	for range 3 {
		for _, h := range []*fixture{one, two} {
			h.append(1)
			h.again()
		}
	}
	for _, h := range []*fixture{one, two} {
		r := h.check()
		assert.Empty(t, words(r))
		assert.EqualValues(t, 5, r.Anchors[1].To)
	}
}

var _ ports.Checked = (*anchoring.AnchoredLog)(nil)
