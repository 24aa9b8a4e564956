package audit

import (
	"bytes"
	"iter"
	"time"
)

// Pruning is a removal that a check of the whole log has found to be allowed. It is carried out step by step.
type Pruning struct {
	Before    time.Time // only reads that are older go
	Retention Retention // that allows it
	Seen      int64     // the last record that was checked
	Steps     []PruneStep
}

// Pruned is the result of a removal.
type Pruned struct {
	Removed int64     `json:"removed"` // reads
	Before  time.Time `json:"before"`  // they were older
	Days    int       `json:"days"`    // for so long reads are kept
	To      int64     `json:"to"`      // up to this record none is left that is older; zero if nothing was removed
}

// PruneStep is one step of a removal: the records between two positions that a check of the whole log has found in order, with at least one read that may
// go and none that may not.
type PruneStep struct {
	From, To Position
	Reads    int64
}

// pruneSearch looks for what may be removed while a check passes the records.
type pruneSearch struct {
	before time.Time // zero: nothing is looked for
	behind int64     // only records before this one go
	size   int64
	over   bool
	from   Position
	to     Position
	reads  int64
	steps  []PruneStep
}

// SeekPrune has the check find steps of at most size reads that are older than before and stand before the record behind. It is called before the first record
// of a check of all records, and after Removed.
func (c *Check) SeekPrune(before time.Time, behind, size int64) {
	c.prune = pruneSearch{before: before, behind: behind, size: max(size, 1), from: Start()}
	if c.removal.To > 0 {
		c.prune.from = c.removal.Position()
	}
	c.prune.to = c.prune.from
}

// note passes the record that the checker found in order.
func (p *pruneSearch) note(c *Checker, r Raw) {
	if p.before.IsZero() || p.over || r.Seq <= p.from.Seq {
		return
	}
	if r.Seq >= p.behind {
		p.over = true
		return
	}
	if c.read {
		if at, ok := eventTime(r.Event); !ok || !at.Before(p.before) {
			p.over = true
			return
		}
		p.reads++
	}
	if p.to = c.at(); p.reads >= p.size {
		p.cut()
	}
}

func (p *pruneSearch) cut() {
	if p.reads > 0 {
		p.steps = append(p.steps, PruneStep{From: p.from, To: p.to, Reads: p.reads})
		p.from, p.reads = p.to, 0
	}
}

// Pruning returns what SeekPrune asked for. The last step may be smaller than the others.
func (c *Check) Pruning() Pruning {
	c.prune.cut()
	return Pruning{Before: c.prune.before, Retention: c.selfRecords.Retention, Seen: c.checker.last.Seq, Steps: c.prune.steps}
}

var memberTime = []byte(`{"time":"`)

// eventTime returns the time of an event, which is its first member.
func eventTime(event []byte) (time.Time, bool) {
	text, ok := bytes.CutPrefix(event, memberTime)
	end := bytes.IndexByte(text, '"')
	if !ok || end < 0 {
		return time.Time{}, false
	}
	var t time.Time
	err := t.UnmarshalText(text[:end])
	return t, err == nil
}

// Pick passes the checker of a step its records, from a store that is about to carry it out, and returns the runs of records to remove: it fails with
// ErrBroken if they are not those that the check has found.
func (s PruneStep) Pick(before time.Time, records iter.Seq2[Raw, error]) (runs [][2]int64, err error) {
	c := newChecker(s.From)
	var reads int64
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if err := c.Next(r); err != nil {
			return nil, err
		}
		if !c.read {
			continue
		}
		if at, ok := eventTime(r.Event); !ok || !at.Before(before) {
			return nil, ErrBroken.WithMessage("audit record %d is not old enough to be removed", r.Seq)
		}
		reads++
		if n := len(runs); n > 0 && runs[n-1][1] == r.Seq-1 {
			runs[n-1][1] = r.Seq
			continue
		}
		runs = append(runs, [2]int64{r.Seq, r.Seq})
	}
	if c.at() != s.To || reads != s.Reads {
		return nil, ErrBroken.WithMessage("audit records %d to %d differ from the verified ones", s.From.Seq+1, s.To.Seq)
	}
	return runs, nil
}
