package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
)

// The terms that records are indexed by, as the migrations 0011 and 0012 have them: SQLite uses the index of a term that reads the same, and works the term
// out for every record where somebody dropped the index.
const (
	callOf         = `substr(event, instr(event, X'2263616C6C5F6964223A22') + 11, instr(substr(event, instr(event, X'2263616C6C5F6964223A22') + 11), X'222C22') - 1)`
	toolOf         = `substr(event, instr(event, X'22746F6F6C223A22') + 8, instr(substr(event, instr(event, X'22746F6F6C223A22') + 8), X'222C22') - 1)`
	phaseOf        = `substr(event, instr(event, X'227068617365223A22') + 9, instr(substr(event, instr(event, X'227068617365223A22') + 9), X'222C22') - 1)`
	confirmationOf = `CASE WHEN instr(event, X'2C22636F6E6669726D6174696F6E223A22') > 0 THEN CASE WHEN json_valid(CAST(event AS TEXT)) THEN CAST(event AS TEXT) -> '$.confirmation' ELSE '' END END`
	codeOf         = `CASE WHEN instr(event, X'2C22636F6465223A22') > 0 THEN CASE WHEN json_valid(CAST(event AS TEXT)) THEN CAST(event AS TEXT) -> '$.code' ELSE '' END END`
	grantOf        = `CASE WHEN instr(event, X'2C226772616E74223A22') > 0 THEN CASE WHEN json_valid(CAST(event AS TEXT)) THEN CAST(event AS TEXT) -> '$.grant' ELSE '' END END`
	unattendedOf   = `CASE WHEN instr(event, X'22636C617373223A22') > 0 AND substr(event, instr(event, X'22636C617373223A22') + 9, 5) <> X'7265616422' THEN CASE WHEN json_valid(CAST(event AS TEXT)) THEN CASE WHEN (CAST(event AS TEXT) ->> '$.phase' = 'intent' OR CAST(event AS TEXT) ->> '$.phase' = 'outcome' AND CAST(event AS TEXT) ->> '$.code' IS NULL) AND (CAST(event AS TEXT) ->> '$.verdict' = 'allow' AND ifnull(CAST(event AS TEXT) ->> '$.approved_by', 'caller') IN ('token', 'caller') OR CAST(event AS TEXT) ->> '$.verdict' = 'confirm' AND (CAST(event AS TEXT) ->> '$.approved_by' IN ('token', 'caller') OR CAST(event AS TEXT) ->> '$.approved_by' = CAST(event AS TEXT) ->> '$.rule')) THEN 1 END ELSE 1 END END`
)

// Searches, each with the index that it uses; selectFound itself uses none.
const (
	selectFound = `SELECT seq, event, prev, hash FROM audit WHERE seq < ?1 AND (length(?2) = 0 OR instr(event, ?2) > 0) AND (length(?3) = 0 OR instr(event, ?3) > 0) AND
		(length(?4) = 0 OR instr(event, ?4) > 0) AND (length(?5) = 0 OR instr(event, ?5) > 0) AND (?6 = '' OR instr(lower(CAST(event AS TEXT)), ?6) > 0) AND
		(NOT ?8 OR instr(event, X'22636c617373223a22') > 0 AND substr(event, instr(event, X'22636c617373223a22') + 9, 5) <> X'7265616422')
		AND (length(?9) = 0 OR instr(event, ?9) > 0) AND (length(?10) = 0 OR instr(event, ?10) > 0)`
	checkIndex     = `PRAGMA integrity_check(audit)`
	nextPhase      = `SELECT ` + phaseOf + ` FROM audit WHERE ` + toolOf + ` = ?1 AND ` + phaseOf + ` > ?2 ORDER BY ` + phaseOf + ` LIMIT 1`
	newestFirst    = ` ORDER BY seq DESC LIMIT ?7`
	behind         = ` AND seq > ?11`
	byCall         = ` AND ` + callOf + ` = ?11`
	byTool         = ` AND ` + toolOf + ` = ?11 AND ` + phaseOf + ` = ?12`
	byPhase        = ` AND ` + phaseOf + ` = ?11 AND ` + phaseOf + ` <> X'6F7574636F6D65'`
	byConfirmation = ` AND ` + confirmationOf + ` = ?11`
	byGrant        = ` AND ` + grantOf + ` = ?11`
	byCode         = ` AND ` + codeOf + ` = ?11`
	failed         = ` AND (` + codeOf + ` IS NOT NULL) = ?11 AND ` + codeOf + ` IS NOT NULL`
	unattended     = ` AND ` + unattendedOf + ` = ?11`
)

// way is a term by which an index finds records, with what it is compared to; the zero way uses no index.
type way struct {
	by   string
	keys []any
}

// ways returns the ways that find together whatever the filter may choose. What is looked for behind a record is looked for in the rows themselves.
// Of what SQLite cannot read as JSON, no member is known: it is found by the empty text.
func ways(f audit.Filter) []way {
	member := func(by, value string) []way {
		return []way{{by, []any{`"` + string(text(value)) + `"`}}, {by, []any{""}}}
	}
	switch {
	case f.After > 0:
		return []way{{behind, []any{f.After}}}
	case f.Call != "":
		return []way{{byCall, []any{text(f.Call)}}}
	case f.Confirmation != "":
		return member(byConfirmation, f.Confirmation)
	case f.Grant != "":
		return member(byGrant, f.Grant)
	case f.Code != "":
		return member(byCode, f.Code)
	case f.Tool != "" && f.Phase != "":
		return []way{{byTool, []any{text(f.Tool), text(string(f.Phase))}}}
	case f.Unattended:
		return []way{{unattended, []any{1}}}
	case f.Failed:
		return []way{{failed, []any{1}}}
	case f.Phase != "" && f.Phase != audit.Outcome: // most records are outcomes: those are found without an index
		return []way{{byPhase, []any{text(string(f.Phase))}}}
	}
	return []way{{}}
}

// Search returns the newest records that the filter chooses, newest first. What stands before the class of an event holds no bare quote, so that the first
// "class" is its own. The database looks for the members' text in the rows, which finds all of them
// and perhaps more, where an argument reads the same; the filter itself has the last word.
//
// One that says more than a text costs as much as there is to find, however long the audit is; one for a text reads the records from the newest on.
func (s *Store) Search(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	most := f.Most()
	var found []audit.Record
	err := s.reading(ctx, func(h *handle) error {
		found = nil
		tx, err := h.read.BeginTx(ctx, nil) // the ways are of one moment
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // nothing was written
		all := ways(f)
		if f.Tool != "" && all[0].by == "" {
			if all, err = byPhases(ctx, tx, f.Tool); err != nil {
				return err
			}
		}
		for _, w := range all {
			some, err := along(ctx, tx, w, f)
			if err != nil {
				return err
			}
			found = append(found, some...)
		}
		slices.SortFunc(found, func(a, b audit.Record) int { return cmp.Compare(b.Seq, a.Seq) })
		found = found[:min(len(found), most)]
		return nil
	})
	return found, err
}

// byPhases returns a way for every phase that records of the tool have.
func byPhases(ctx context.Context, db querier, name string) (all []way, err error) {
	for phase := []byte(nil); ; {
		next := []byte{}
		switch err := db.QueryRowContext(ctx, nextPhase, text(name), append([]byte{}, phase...)).Scan(&next); {
		case errors.Is(err, sql.ErrNoRows):
			return all, nil
		case err != nil:
			return nil, err
		}
		all, phase = append(all, way{byTool, []any{text(name), next}}), next
	}
}

// along returns the newest records that the filter chooses of those that the way finds.
func along(ctx context.Context, db querier, w way, f audit.Filter) (found []audit.Record, err error) {
	most := f.Most()
	for rest := f; ; {
		query, args := search(rest, w)
		rows, err := records(ctx, db, query, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if rest.Before = r.Seq; f.Matches(&r) && len(found) < most {
				found = append(found, r)
			}
		}
		if len(rows) < most || len(found) == most {
			return found, nil
		}
	}
}

// search returns what finds the records that the filter may choose, that way.
func search(f audit.Filter, w way) (query string, args []any) {
	before := f.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	code := written("code", f.Code)
	if f.Failed && f.Code == "" {
		code = []byte(`"code":"`)
	}
	needle := ""
	if f.Text != "" {
		needle = f.Needle()
	}
	args = []any{before, written("phase", string(f.Phase)), written("call_id", f.Call), written("tool", f.Tool), code, needle, f.Most(), f.Unattended,
		written("grant", f.Grant), written("confirmation", f.Confirmation)}
	return selectFound + w.by + newestFirst, append(args, w.keys...)
}

// integrity fails with audit.ErrBroken where an index does not have the records that it should have, so that a search could miss one. What an index is made
// of is worked out anew from every event, by SQLite.
func integrity(ctx context.Context, db querier) error {
	wrong := ""
	err := db.QueryRowContext(ctx, checkIndex).Scan(&wrong)
	if err == nil && wrong != "ok" {
		err = audit.ErrBroken.WithMessage("the audit log cannot be searched reliably: its index was changed or the file is damaged (%s); restore a copy of the database", wrong)
	}
	return err
}

// written returns a member of an event as it stands in its row; empty for none.
func written(name, value string) []byte {
	if value == "" {
		return []byte{}
	}
	return []byte(`"` + name + `":"` + string(text(value)) + `"`)
}

// text returns a text as it stands between the quotes of JSON.
func text(value string) []byte {
	doc, err := json.Marshal(value)
	if err != nil { // of a text it never is
		return []byte(value)
	}
	return doc[1 : len(doc)-1]
}
