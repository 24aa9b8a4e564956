package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"iter"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/ports"
)

// Chain hands f what the log says of its own end, the records behind one in rising order, and what says whether the indexes have all records; all of one
// moment.
func (s *Store) Chain(ctx context.Context, after int64, f func(ports.StoredChain) error) error {
	none := true
	err := s.reading(ctx, func(h *handle) error {
		none = false
		tx, err := h.read.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // nothing was written
		end, err := ending(ctx, tx)
		if err != nil {
			return err
		}
		sums := newIndexSums()
		return f(ports.StoredChain{
			End:      end,
			Records:  func(yield func(audit.Raw, error) bool) { each(ctx, tx, after, sums, yield) },
			Removals: func() ([]audit.Raw, error) { return removals(ctx, tx) },
			HashAt:   func(seq int64) (canon.Hash, error) { return hashAt(ctx, tx, seq) },
			Index: func() error {
				if sums.match(ctx, tx) {
					return nil
				}
				return integrity(ctx, tx) // it has the last word, and says what is wrong
			},
		})
	})
	if err == nil && none {
		var empty iter.Seq2[audit.Raw, error] = func(func(audit.Raw, error) bool) {}
		return f(ports.StoredChain{Records: empty, Removals: func() ([]audit.Raw, error) { return nil, nil }, HashAt: func(int64) (canon.Hash, error) { return canon.Hash{}, nil }, Index: func() error { return nil }})
	}
	return err
}

// each yields the rows of the chain, undecoded.
func each(ctx context.Context, tx *sql.Tx, after int64, sums *indexSums, yield func(audit.Raw, error) bool) {
	rows, err := tx.QueryContext(ctx, selectAll, after)
	if err != nil {
		yield(audit.Raw{}, err)
		return
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	sums.whole = false
	var event, prev, hash sql.RawBytes
	for rows.Next() {
		var r audit.Raw
		if err := rows.Scan(&r.Seq, &event, &prev, &hash); err != nil {
			yield(audit.Raw{}, err)
			return
		}
		sums.note(r.Seq, event)
		if r.Event, r.Prev, r.Hash = event, prev, hash; !yield(r, nil) {
			return
		}
	}
	if err := rows.Err(); err != nil {
		yield(audit.Raw{}, err)
		return
	}
	sums.whole = after <= 0
}

// The indexes, with what a scan of each reads from it: SQLite takes that from the index itself, and not from the records.
var scans = [...]string{
	ofCall:         `SELECT seq, ` + callOf + ` FROM audit INDEXED BY audit_call`,
	ofTool:         `SELECT seq, ` + toolOf + `, ` + phaseOf + ` FROM audit INDEXED BY audit_tool`,
	ofConfirmation: `SELECT seq, ` + confirmationOf + ` FROM audit INDEXED BY audit_confirmation WHERE ` + confirmationOf + ` IS NOT NULL`,
	ofGrant:        `SELECT seq, ` + grantOf + ` FROM audit INDEXED BY audit_grant WHERE ` + grantOf + ` IS NOT NULL`,
	ofCode:         `SELECT seq, ` + codeOf + ` FROM audit INDEXED BY audit_code WHERE ` + codeOf + ` IS NOT NULL`,
	ofFailed:       `SELECT seq, ` + codeOf + ` IS NOT NULL FROM audit INDEXED BY audit_failed WHERE ` + codeOf + ` IS NOT NULL`,
	ofUnattended:   `SELECT seq, ` + unattendedOf + ` FROM audit INDEXED BY audit_unattended WHERE ` + unattendedOf + ` IS NOT NULL`,
	ofPhase:        `SELECT seq, ` + phaseOf + ` FROM audit INDEXED BY audit_phase WHERE ` + phaseOf + ` <> X'6F7574636F6D65'`,
}

const (
	ofCall = iota
	ofTool
	ofConfirmation
	ofGrant
	ofCode
	ofFailed
	ofUnattended
	ofPhase
	indexes
)

// indexSums compares the indexes with the records at the price of reading each once: what an index should hold is worked out from the events as they pass, and
// both are added up under a key that is another one every time, so that nobody can prepare a file in which one makes up for the other. It errs on one side
// only: where it does not know, it says that they do not match.
type indexSums struct {
	seed  maphash.Seed
	buf   []byte
	want  [indexes]sum
	odd   bool // an event was seen whose terms it cannot work out
	whole bool // every record was seen
}

type sum struct {
	n     int
	total uint64
}

func newIndexSums() *indexSums { return &indexSums{seed: maphash.MakeSeed()} }

// add adds an entry to a sum.
func (x *indexSums) add(to *sum, seq int64, a, b []byte) {
	x.buf = binary.BigEndian.AppendUint64(x.buf[:0], uint64(seq)) //nolint:gosec // its bits are hashed
	x.buf = binary.BigEndian.AppendUint32(x.buf, uint32(len(a)))  //nolint:gosec // no key is so long
	x.buf = append(append(x.buf, a...), b...)
	to.n++
	to.total += maphash.Bytes(x.seed, x.buf)
}

// The members whose texts the indexes are made of.
const (
	memberPhase = iota
	memberCall
	memberTool
	memberClass
	memberCode
	memberGrant
	memberConfirmation
	membersKnown
)

var (
	memberNames = [membersKnown][]byte{memberPhase: []byte("phase"), memberCall: []byte("call_id"), memberTool: []byte("tool"), memberClass: []byte("class"),
		memberCode: []byte("code"), memberGrant: []byte("grant"), memberConfirmation: []byte("confirmation")}
	memberEnd = []byte(`","`)
	readClass = []byte(`read"`)
	oneKey    = []byte("1")
	outcome   = []byte(audit.Outcome)
)

// places says where the texts of members begin in an event; zero for a member that is not there.
type places [membersKnown]int

// locate returns where each member's name, as JSON writes it before a text, stands for the first time: in the order of bytes, as SQL looks for it, whether or not
// that is a member. It goes from colon to colon, of which an event has few: looking for one name after the other takes five times as long.
func locate(event []byte) (at places) {
	for i := 0; ; i++ {
		next := bytes.IndexByte(event[i:], ':')
		if next < 0 {
			return at
		}
		if i += next; i < 2 || i+1 >= len(event) || event[i-1] != '"' || event[i+1] != '"' {
			continue
		}
		var which int
		switch event[i-2] {
		case 'd':
			which = memberCall
		case 'l':
			which = memberTool
		case 's':
			which = memberClass
		case 't':
			which = memberGrant
		case 'n':
			which = memberConfirmation
		case 'e':
			if which = memberPhase; event[max(i-3, 0)] == 'd' {
				which = memberCode
			}
		default:
			continue
		}
		before, there := bytes.CutSuffix(event[:i-1], memberNames[which])
		if !there || at[which] > 0 {
			continue
		}
		before, there = bytes.CutSuffix(before, []byte{'"'})
		if there && (which < memberCode || bytes.HasSuffix(before, []byte{','})) { // what is indexed only where it is there is looked for with the comma before it
			at[which] = i + 2
		}
	}
}

// member returns the text of a member that stands before the arguments, as SQL works it out.
func (x *indexSums) member(event []byte, at int) []byte {
	end := -1
	if at > 0 {
		end = bytes.Index(event[at:], memberEnd)
	}
	if end < 0 {
		x.odd = true
		return nil
	}
	return event[at : at+end]
}

// note adds what the indexes should hold of a record.
func (x *indexSums) note(seq int64, event []byte) {
	at := locate(event)
	phase := x.member(event, at[memberPhase])
	x.add(&x.want[ofCall], seq, x.member(event, at[memberCall]), nil)
	x.add(&x.want[ofTool], seq, x.member(event, at[memberTool]), phase)
	if !bytes.Equal(phase, outcome) {
		x.add(&x.want[ofPhase], seq, phase, nil)
	}
	changes := at[memberClass] > 0 && !bytes.HasPrefix(event[at[memberClass]:], readClass)
	if !changes && at[memberCode] == 0 && at[memberGrant] == 0 && at[memberConfirmation] == 0 {
		return
	}
	var texts struct {
		Code         json.RawMessage `json:"code"`
		Grant        json.RawMessage `json:"grant"`
		Confirmation json.RawMessage `json:"confirmation"`
	}
	e, ok := audit.Glance(event)
	if ok {
		texts.Code, texts.Grant, texts.Confirmation = quoted(e.Code), quoted(e.Grant), quoted(e.Confirmation)
	} else if e, ok = audit.Decode(event); !ok || json.Unmarshal(event, &texts) != nil {
		x.odd = true
		return
	}
	if at[memberCode] > 0 && texts.Code != nil {
		x.add(&x.want[ofCode], seq, texts.Code, nil)
		x.add(&x.want[ofFailed], seq, oneKey, nil)
	}
	if at[memberGrant] > 0 && texts.Grant != nil {
		x.add(&x.want[ofGrant], seq, texts.Grant, nil)
	}
	if at[memberConfirmation] > 0 && texts.Confirmation != nil {
		x.add(&x.want[ofConfirmation], seq, texts.Confirmation, nil)
	}
	if changes && e.Unattended() {
		x.add(&x.want[ofUnattended], seq, oneKey, nil)
	}
}

// quoted returns the JSON of a text in which nothing is escaped; nil for an empty one, which is not written.
func quoted(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(`"` + text + `"`)
}

// match reports whether every index holds what it should, in an order in which a search finds it.
func (x *indexSums) match(ctx context.Context, tx *sql.Tx) bool {
	if x.odd || !x.whole {
		return false
	}
	for i, scan := range scans {
		var have sum
		if !x.scan(ctx, tx, scan, &have) || have != x.want[i] {
			return false
		}
	}
	return true
}

func (x *indexSums) scan(ctx context.Context, tx *sql.Tx, query string, have *sum) bool {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return false
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var (
		seq, last    int64
		a, b         sql.RawBytes
		lastA, lastB []byte
	)
	into := []any{&seq, &a, &b}
	columns, err := rows.Columns()
	if err != nil {
		return false
	}
	into = into[:len(columns)]
	for rows.Next() {
		if rows.Scan(into...) != nil {
			return false
		}
		by := bytes.Compare(a, lastA)
		if by == 0 {
			by = bytes.Compare(b, lastB)
		}
		if have.n > 0 && (by < 0 || by == 0 && len(a) > 0 && seq <= last) {
			return false
		}
		x.add(have, seq, a, b)
		last, lastA, lastB = seq, append(lastA[:0], a...), append(lastB[:0], b...)
	}
	return rows.Err() == nil
}
