package sqlitestore_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// looked is what approvals and settings are looked up by and lists filtered by, and the record of lookedUp that each finds.
var looked = map[string]struct {
	filter audit.Filter
	index  string
	want   int64
}{
	"a call":         {audit.Filter{Call: "call_3", Phase: audit.Intent, Limit: audit.MaxListed}, "audit_call", 3},
	"a confirmation": {audit.Filter{Confirmation: "cf_2", Limit: audit.MaxListed}, "audit_confirmation", 2},
	"a change":       {audit.Filter{Tool: "change_settings", Phase: audit.Outcome, Limit: 20}, "audit_tool", 4},
	"a grant":        {audit.Filter{Grant: "gr_1"}, "audit_grant", 5},
	"a code":         {audit.Filter{Code: "pack_not_found"}, "audit_code", 1},
	"failures":       {audit.Filter{Failed: true}, "audit_failed", 1},
	"unattended":     {audit.Filter{Unattended: true}, "audit_unattended", 5},
	"a phase":        {audit.Filter{Phase: audit.Asked}, "audit_phase", 2},
}

// lookedUp are five records, some of which are looked up.
func lookedUp() []audit.Event {
	events := make([]audit.Event, 5)
	for i := range events {
		events[i] = porttest.Event(fmt.Sprint("call_", i+1))
		events[i].Code, events[i].ApprovedBy = "", "terminal"
	}
	events[0].Code, events[1].Phase, events[4].Grant, events[4].ApprovedBy = "pack_not_found", audit.Asked, "gr_1", "token"
	events[1].Confirmation, events[3].Tool, events[3].Phase = "cf_2", "change_settings", audit.Outcome
	return events
}

func requireFound(t *testing.T, s *sqlitestore.Store) {
	t.Helper()
	for name, c := range looked {
		f := c.filter
		f.Before = 7 // what other processes append is not looked for
		found, err := s.Search(t.Context(), f)
		require.NoError(t, err)
		require.Len(t, found, 1, name)
		assert.Equal(t, c.want, found[0].Seq, name)
	}
}

func checkIndex(t testing.TB, s *sqlitestore.Store) error {
	return s.Chain(t.Context(), 0, func(c ports.StoredChain) error {
		for _, err := range c.Records {
			require.NoError(t, err)
		}
		return c.Index()
	})
}

// TestWhatIsLookedUpHasAnIndex: no lookup of an approval or of settings reads the whole audit.
func TestWhatIsLookedUpHasAnIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	s := openAt(t, path)
	require.NoError(t, s.Append(t.Context(), lookedUp()...))
	db := raw(t, path)
	for name, c := range looked {
		query, args := sqlitestore.SearchOf(c.filter)
		rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
		require.NoError(t, err)
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
			plan = append(plan, detail)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		assert.Contains(t, plan[0], "SEARCH audit USING INDEX "+c.index+" ", name)
		assert.NotContains(t, strings.Join(plan, "; "), "SCAN", name)
	}
	requireFound(t, s)
}

// TestEveryUnattendedChangeIsFound: the index holds those that the filter chooses, whatever else they say.
func TestEveryUnattendedChangeIsFound(t *testing.T) {
	var events []audit.Event
	for _, phase := range []audit.Phase{audit.Intent, audit.Outcome, audit.Answer} {
		for _, class := range []string{"", "read", "write"} {
			for _, verdict := range []string{"allow", "confirm", "deny"} {
				for _, by := range []string{"", "caller", "terminal", "session"} {
					for _, rule := range []string{"", "session"} {
						for _, code := range []string{"", "failed"} {
							events = append(events, audit.Event{Phase: phase, Class: class, Verdict: verdict, ApprovedBy: by, Rule: rule, Code: code, Args: json.RawMessage(`{"code":"x"}`)})
						}
					}
				}
			}
		}
	}
	s := openAt(t, filepath.Join(t.TempDir(), "countersign.db"))
	require.NoError(t, s.Append(t.Context(), events...))
	want, found := map[int64]bool{}, map[int64]bool{}
	for i := range events {
		if events[i].Unattended() {
			want[int64(i)+1] = true
		}
	}
	records, err := s.Search(t.Context(), audit.Filter{Unattended: true, Limit: audit.MaxListed})
	require.NoError(t, err)
	for _, r := range records {
		found[r.Seq] = true
	}
	assert.Equal(t, want, found)
}

// TestAnIndexHidesNothing: whoever can write to the database hides no record from a lookup without changing the record, and where the file itself was
// tampered with audit verify says so.
func TestAnIndexHidesNothing(t *testing.T) {
	drop := "DROP INDEX audit_call; DROP INDEX audit_tool; DROP INDEX audit_confirmation;"
	for name, change := range map[string]string{
		"dropped":         drop,
		"without records": drop + `CREATE INDEX audit_call ON audit (hash) WHERE seq > 4; CREATE INDEX audit_tool ON audit (hash) WHERE seq > 4; CREATE INDEX audit_confirmation ON audit (hash) WHERE seq > 4`,
		"other terms":     drop + `CREATE INDEX audit_call ON audit (X'63'); CREATE INDEX audit_tool ON audit (X'63', X'64'); CREATE INDEX audit_confirmation ON audit (NULL)`,
		"analyzed to lie": `ANALYZE; UPDATE sqlite_stat1 SET stat = '1 1 1'`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "countersign.db")
			s := openAt(t, path)
			require.NoError(t, s.Append(t.Context(), lookedUp()...))
			do(t, raw(t, path), change)
			requireFound(t, s)
			require.NoError(t, s.Close())
			requireFound(t, openAt(t, path))
		})
	}
	for name, c := range looked {
		t.Run("the file, "+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "countersign.db")
			s := openAt(t, path)
			require.NoError(t, checkIndex(t, s), "where there is none")
			require.NoError(t, s.Append(t.Context(), lookedUp()...))
			require.NoError(t, checkIndex(t, s))
			require.NoError(t, s.Close())
			db := raw(t, path)
			db.SetMaxOpenConns(1)
			var terms string
			require.NoError(t, db.QueryRow("SELECT sql FROM sqlite_schema WHERE name = ?", c.index).Scan(&terms))
			do(t, db, "DROP INDEX "+c.index)
			do(t, db, fmt.Sprintf("CREATE INDEX %s ON audit (CASE WHEN seq = %d THEN hash ELSE prev END)", c.index, c.want))
			do(t, db, "PRAGMA writable_schema = ON")
			do(t, db, "UPDATE sqlite_schema SET sql = ? WHERE name = ?", terms, c.index)
			require.NoError(t, db.Close())
			require.ErrorIs(t, checkIndex(t, openAt(t, path)), audit.ErrBroken)
		})
	}
}

// TestAnAuditWithoutIndexGetsOne: two processes that find an audit of the schema before at once bring it up to date, and what it holds is found. A row that
// somebody has damaged keeps nobody from it.
func TestAnAuditWithoutIndexGetsOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countersign.db")
	older(t, path, 10, append(lookedUp(), porttest.Event("call_6"))...)
	do(t, raw(t, path), `UPDATE audit SET event = X'7B22636F6E' WHERE seq = 6`)
	a, b := spawn(t, "append", path, "a"), spawn(t, "append", path, "b")
	a.start()
	b.start()
	assert.Empty(t, a.lines(t))
	assert.Empty(t, b.lines(t))
	s := openAt(t, path)
	requireFound(t, s)
	require.NoError(t, checkIndex(t, s))
	found, err := s.Search(t.Context(), audit.Filter{Call: "b199"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
	records, err := s.Records(t.Context(), 0, 500)
	require.NoError(t, err)
	assert.Len(t, records, 406)
	n, err := audit.Verify(audit.Record{}, porttest.All(t.Context(), s))
	require.ErrorIs(t, err, audit.ErrBroken)
	assert.Equal(t, int64(5), n)
}

// older makes a database at path as the program of that schema left it, with these events on record.
func older(t *testing.T, path string, schema int, events ...audit.Event) {
	t.Helper()
	db := raw(t, path)
	scripts, err := os.ReadDir("migrations")
	require.NoError(t, err)
	for _, script := range scripts[:schema] {
		body, err := os.ReadFile(filepath.Join("migrations", script.Name()))
		require.NoError(t, err)
		do(t, db, string(body))
	}
	var last audit.Record
	for _, e := range events {
		last, err = audit.Link(last, e)
		require.NoError(t, err)
		event, err := json.Marshal(last.Event)
		require.NoError(t, err)
		do(t, db, "INSERT INTO audit (seq, event, prev, hash) VALUES (?, ?, ?, ?)", last.Seq, event, last.Prev[:], last.Hash[:])
	}
	do(t, db, "INSERT INTO audit_head (one, seq, hash) VALUES (1, ?, ?)", last.Seq, last.Hash[:])
	do(t, db, fmt.Sprintf("PRAGMA user_version = %d", schema))
}
