package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// Raw is a record as stored: the event as the exact bytes that were hashed. A function that is passed one may read it until it returns.
type Raw struct {
	Seq   int64
	Event []byte // JSON
	Prev  []byte // 32 bytes
	Hash  []byte // 32 bytes
}

// Decode returns the event that was written as raw. It reports false for bytes that differ from what writing that event gives: two readers could read
// such a record differently.
func Decode(raw []byte) (Event, bool) {
	var e Event
	if json.Unmarshal(raw, &e) != nil {
		return Event{}, false
	}
	if again, err := json.Marshal(e); err != nil || !bytes.Equal(again, raw) {
		return Event{}, false
	}
	return e, true
}

// sumRaw returns the hash that the record should have, computed after the label that buf begins with. It also returns the buffer, for reuse.
func sumRaw(buf []byte, r Raw) (canon.Hash, []byte) {
	buf = strconv.AppendInt(buf, r.Seq, 10)
	buf = append(buf, '\n')
	buf = hex.AppendEncode(buf, r.Prev)
	buf = append(buf, '\n')
	buf = append(buf, r.Event...)
	return sha256.Sum256(buf), buf
}

// Verify checks records in order of Seq and returns the number of valid ones. It fails with ErrBroken at the first record that was changed, removed
// or inserted. after is the record before the first (zero for the beginning, or a retention checkpoint).
func Verify(after Record, records iter.Seq2[Record, error]) (int64, error) {
	c := NewChecker(after)
	for r, err := range records {
		if err != nil {
			return c.Held(), err
		}
		event, err := json.Marshal(r.Event)
		if err != nil {
			return c.Held(), err
		}
		if err := c.Next(Raw{Seq: r.Seq, Event: event, Prev: r.Prev[:], Hash: r.Hash[:]}); err != nil {
			return c.Held(), err
		}
	}
	return c.Held(), nil
}

// Checker checks records against the chain, one after the other, without decoding them. NewChecker returns one. It must not be used concurrently.
type Checker struct {
	last    Record   // without its event
	kept    Kept     // of the records up to last
	removed Position // up to which retention has removed reads
	resumed bool     // the records up to removed are those that retention has left
	held    int64
	read    bool // last may be removed by retention
	label   int  // length of the label in buf
	buf     []byte
}

// NewChecker returns a Checker for the records after one; the zero Record is the beginning.
func NewChecker(after Record) *Checker {
	return newChecker(Position{Seq: after.Seq, Hash: after.Hash, Kept: NoneKept()})
}

func newChecker(after Position) *Checker {
	buf := canon.AppendLabel(nil, label)
	return &Checker{last: Record{Seq: after.Seq, Hash: after.Hash}, kept: after.Kept, label: len(buf), buf: buf}
}

// Held returns the number of valid records so far.
func (c *Checker) Held() int64 { return c.held }

// Last returns the newest valid record, without its event.
func (c *Checker) Last() Record { return c.last }

// at returns the position behind the newest valid record.
func (c *Checker) at() Position { return Position{Seq: c.last.Seq, Hash: c.last.Hash, Kept: c.kept} }

// Next checks the next record. It fails with ErrBroken.
func (c *Checker) Next(r Raw) error {
	within := r.Seq <= c.removed.Seq
	if !within && !c.resumed {
		if err := c.resume(); err != nil {
			return err
		}
	}
	last := c.last
	switch next := r.Seq == last.Seq+1; {
	case !next && (!within || r.Seq <= last.Seq):
		return ErrBroken.WithMessage("audit record %d is missing: record %d follows record %d", last.Seq+1, r.Seq, last.Seq)
	case next && !bytes.Equal(r.Prev, last.Hash[:]):
		return ErrBroken.WithMessage("audit record %d does not continue record %d", r.Seq, last.Seq)
	}
	var sum canon.Hash
	sum, c.buf = sumRaw(c.buf[:c.label], r)
	ok, read := form(r.Event)
	switch {
	case !bytes.Equal(sum[:], r.Hash) || !ok:
		return ErrBroken.WithMessage("audit record %d was changed after it was written", r.Seq)
	case within && read:
		return ErrBroken.WithMessage("audit record %d is a read in a range from which retention removed all reads: it was added later", r.Seq)
	}
	if c.read = read; !read {
		c.kept = c.kept.With(r.Seq, sum)
	}
	c.last, c.held = Record{Seq: r.Seq, Prev: last.Hash, Hash: sum}, c.held+1
	return nil
}

// resume goes on behind the records from which the reads were removed: what is left of them must be what was to be kept.
func (c *Checker) resume() error {
	to := c.removed
	if c.last.Seq > to.Seq || to.Seq == 0 { // nothing was removed, or the check began behind it
		c.resumed = true
		return nil
	}
	switch {
	case c.kept.Count < to.Kept.Count:
		return ErrBroken.WithMessage("retention removed the reads of audit records 1 to %d and kept %d records, but %d are present: other records were removed", to.Seq, to.Kept.Count, c.kept.Count)
	case c.kept != to.Kept, c.last.Seq == to.Seq && c.last.Hash != to.Hash:
		return ErrBroken.WithMessage("retention removed the reads of audit records 1 to %d, but the remaining records differ from the kept ones: they were edited, replaced or added", to.Seq)
	}
	c.last, c.read, c.resumed = Record{Seq: to.Seq, Hash: to.Hash}, false, true
	return nil
}

// finish ends the check: records may be missing from the end of a stretch from which reads were removed.
func (c *Checker) finish() error {
	if c.resumed {
		return nil
	}
	return c.resume()
}

// kind is the JSON form of an event's member.
type kind uint8

const (
	word   kind = iota // a text without characters that JSON escapes
	moment             // a time
	sum                // a hash, or an empty text
	count              // a whole number
	any_               // any JSON
)

// members are those of an event in the order in which they are written; TestMembersAreThoseOfAnEvent compares them.
var members = [...]struct {
	name  string // with quotes and colon
	kind  kind
	empty bool   // also written when empty
	read  string // the one value that it has in a record that may be removed; empty for any
}{
	{`"time":`, moment, true, ""}, {`"phase":`, word, true, `"outcome"`}, {`"call_id":`, word, true, ""}, {`"session":`, word, false, ""}, {`"principal":`, word, false, ""},
	{`"client":`, word, false, ""}, {`"tool":`, word, true, ""}, {`"class":`, word, false, `"read"`}, {`"args":`, any_, false, ""}, {`"plan":`, sum, true, `""`},
	{`"verdict":`, word, false, `"allow"`}, {`"rule":`, word, false, ""}, {`"approved_by":`, word, false, never}, {`"code":`, word, false, never},
	{`"duration_us":`, count, false, ""}, {`"redactions":`, count, false, ""}, {`"surface":`, word, false, never}, {`"proof":`, any_, false, never},
	{`"grant":`, word, false, never}, {`"confirmation":`, word, false, never}, {`"home":`, word, false, never},
}

const (
	never    = "-" // no value of a member: a record that has it is never removed
	readSays = 4   // members with a value of their own in a record that may be removed
)

// form reports whether reading raw and writing the result gives raw, and whether the event may be removed by retention. Most events are simple enough to
// tell without decoding, at a hundredth of the cost; the others are decoded.
func form(raw []byte) (settled, removable bool) {
	if ok, read := plain(raw); ok {
		return true, read
	}
	e, ok := Decode(raw)
	return ok, ok && e.Removable()
}

// plain reports an event that has only one possible JSON form, and whether that may be removed by retention. False means not known.
func plain(raw []byte) (ok, removable bool) { return glance(raw, nil) }

// Glance returns the members of an event that are plain texts, without decoding it; the others are zero. It reports false for an event that has to be
// decoded to be known.
func Glance(raw []byte) (e Event, ok bool) {
	var values [len(members)][]byte
	if ok, _ := glance(raw, &values); !ok {
		return Event{}, false
	}
	for i, to := range e.words() {
		if v := values[i]; to != nil && len(v) > 2 {
			*to = string(v[1 : len(v)-1])
		}
	}
	e.Phase = Phase(values[1][1 : len(values[1])-1])
	return e, true
}

// words returns where the texts among the members are kept; TestAGlanceSeesTheTexts compares them. The phase has a type of its own.
func (e *Event) words() [len(members)]*string {
	return [...]*string{2: &e.CallID, 3: &e.Session, 4: &e.Principal, 5: &e.Client, 6: &e.Tool, 7: &e.Class, 10: &e.Verdict, 11: &e.Rule, 12: &e.ApprovedBy, 13: &e.Code,
		16: &e.Surface, 18: &e.Grant, 19: &e.Confirmation, 20: &e.Home}
}

// glance is plain, and keeps the values of the members as they stand.
func glance(raw []byte, values *[len(members)][]byte) (ok, removable bool) {
	if len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return false, false
	}
	rest, first, said := raw[1:len(raw)-1], true, 0
	for i := range members {
		m, member := &members[i], rest
		if !first && len(member) > 0 && member[0] == ',' {
			member = member[1:]
		} else if !first && len(member) > 0 {
			return false, false
		}
		if len(member) < len(m.name) || string(member[:len(m.name)]) != m.name {
			if m.empty {
				return false, false
			}
			continue
		}
		value := member[len(m.name):]
		n := m.kind.length(value)
		if n <= 0 || n == 2 && !m.empty && m.kind == word {
			return false, false
		}
		switch {
		case m.read == "":
		case string(value[:n]) == m.read:
			said++
		default:
			said -= len(members)
		}
		if values != nil {
			values[i] = value[:n]
		}
		rest, first = value[n:], false
	}
	return len(rest) == 0, said == readSays
}

// length returns the length of the value at the beginning of s; zero for none, or for one that needs decoding.
func (k kind) length(s []byte) int {
	switch k {
	case word:
		return quoted(s)
	case moment:
		n := quoted(s)
		if n < 2 {
			return 0
		}
		if utc(s[1 : n-1]) {
			return n
		}
		var t time.Time
		if t.UnmarshalText(s[1:n-1]) != nil {
			return 0
		}
		var room [64]byte
		again, err := t.AppendText(room[:0])
		if err != nil || !bytes.Equal(again, s[1:n-1]) {
			return 0
		}
		return n
	case sum:
		n := quoted(s)
		if n == 2 {
			return n
		}
		if _, err := canon.Parse(string(s[1:max(n-1, 1)])); err != nil {
			return 0
		}
		return n
	case count:
		return digits(s)
	}
	n := span(s)
	if n == 0 || !json.Valid(s[:n]) {
		return 0
	}
	return n
}

// utc reports a time in the one form that times in UTC are written in. It knows no days after the 28th: those are decoded.
func utc(s []byte) bool {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) || s[len(s)-1] != 'Z' {
		return false
	}
	for i := range form {
		if c := s[i]; form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return false
		}
	}
	two := func(at int) int { return int(s[at]-'0')*10 + int(s[at+1]-'0') }
	if month, day := two(5), two(8); month < 1 || month > 12 || day < 1 || day > 28 || two(11) > 23 || two(14) > 59 || two(17) > 59 {
		return false
	}
	part := s[len(form) : len(s)-1]
	if len(part) == 0 {
		return true
	}
	if len(part) < 2 || len(part) > 10 || part[0] != '.' || part[len(part)-1] == '0' {
		return false
	}
	for _, c := range part[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// bare has the characters that stand in JSON as they are.
var bare = func() (all [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		all[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return all
}()

// quoted returns the length of a quoted text in which nothing is or should be escaped.
func quoted(s []byte) int {
	if len(s) < 2 || s[0] != '"' {
		return 0
	}
	for i, c := range s[1:] {
		if bare[c] {
			continue
		}
		if c == '"' {
			return i + 2
		}
		return 0
	}
	return 0
}

// digits returns the length of a whole number other than zero.
func digits(s []byte) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n > 18 || n > 0 && s[0] == '0' {
		return 0
	}
	return n
}

// span returns the length of an object or array written without blanks between its members. It does not check that it is valid JSON.
func span(s []byte) int {
	depth, within := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x7f || c < ' ' || c == '<' || c == '>' || c == '&':
			return 0
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case within:
		case c == ' ':
			return 0
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		if depth == 0 {
			return 0
		}
	}
	return 0
}
