// Package anchoring stores signed heads of the audit log in places outside the database, and checks the log against them: a file beside the signing key,
// the system's journal, and anchors that the user adds (files, git remotes). A program that can write the database cannot change all of them unnoticed.
//
// AnchoredLog is a ports.AuditLog and a ports.Checked. Heads are stored in the background; failures are counted and reported and never delay a call.
//
// Its API may change at any time.
package anchoring

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

// Heads are written after this time, or after this many records, and at once after a user's decision; a process that is only ending does not contact
// a git remote again within spare.
const (
	pause   = 2 * time.Minute
	group   = 200
	spare   = time.Minute
	timeout = 20 * time.Second
)

// ErrAnchor is returned for an anchor that cannot be used.
var ErrAnchor = fault.New(fault.Unavailable, "audit_anchor_unusable", "the anchor is unusable")

// ErrNoAnchor is returned for an invalid or unknown anchor.
var ErrNoAnchor = fault.New(fault.Invalid, "audit_anchor_invalid", "invalid anchor")

// Place is where heads are stored. Mark is the result of the previous Put, empty for none: with it the place detects that data was removed, which is
// an audit.ErrContradicted. Other errors mean that it could not be used.
type Place interface {
	Put(ctx context.Context, h audit.Head, mark string) (next string, err error)
	Heads(ctx context.Context, mark string) (heads []audit.Head, odd int, err error)
}

// log is the audit log: a ports.Chain that signs.
type log interface {
	ports.Chain
	NewKey(ctx context.Context, key audit.Key, told func(follows audit.Key) audit.Event) error
}

// Options configures an AnchoredLog. Every field except Journal is required.
type Options struct {
	Log     log
	Signer  *docfile.Signer
	Dir     string // of the record: COUNTERSIGN_HOME
	Home    string // the same, as named in heads
	Machine string
	Open    func(audit.Anchor) (Place, error) // opens a place that the user named; it contacts nothing
	Journal Place                             // nil if there is none
	Clock   ports.Clock
	Slog    *slog.Logger
}

// AnchoredLog is a ports.AuditLog and a ports.Checked. NewAnchoredLog makes it, Close ends it.
type AnchoredLog struct {
	ports.AuditLog
	parts Options
	book  book

	mu      sync.Mutex
	fresh   int  // records since the last head was written
	urgent  bool // decisions of users are among them
	working bool
	closed  bool
	wake    chan struct{}
	closing chan struct{}
	idle    sync.WaitGroup
}

// NewAnchoredLog returns an AnchoredLog. It opens and starts nothing.
func NewAnchoredLog(p Options) *AnchoredLog {
	return &AnchoredLog{AuditLog: p.Log, parts: p, book: book{docfile.NewDir(p.Dir)}, wake: make(chan struct{}, 1), closing: make(chan struct{})}
}

// Append appends to the log, and later writes the new head to the anchors: at once after a user's decision.
func (k *AnchoredLog) Append(ctx context.Context, events ...audit.Event) error {
	if err := k.AuditLog.Append(ctx, events...); err != nil || len(events) == 0 {
		return err
	}
	k.grew(len(events), slices.ContainsFunc(events, func(e audit.Event) bool { return e.Phase == audit.Answer }))
	return nil
}

func (k *AnchoredLog) grew(n int, urgent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.fresh, k.urgent = k.fresh+n, k.urgent || urgent
	if k.urgent || k.fresh >= group {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	if !k.working {
		k.working = true
		k.idle.Add(1)
		go k.work()
	}
}

// work writes heads until none is left.
func (k *AnchoredLog) work() {
	defer k.idle.Done()
	for {
		timer := time.NewTimer(pause)
		ending := false
		select {
		case <-timer.C:
		case <-k.wake:
		case <-k.closing:
			ending = true
		}
		timer.Stop()
		k.mu.Lock()
		fresh, urgent := k.fresh, k.urgent
		k.fresh, k.urgent = 0, false
		if fresh == 0 {
			k.working = false
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		k.put(context.Background(), ending && !urgent)
	}
}

// Close writes the remaining heads, and waits until that is done or ctx ends. The next process writes the heads of later records.
func (k *AnchoredLog) Close(ctx context.Context) error {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.closing)
	}
	k.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.idle.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fault.From(ctx.Err())
	}
}

// named is an anchor with its place, or the error of opening it.
type named struct {
	audit.Anchor
	place Place
	err   error
}

// places returns the anchors of the list, and the journal.
func (k *AnchoredLog) places() ([]named, list, error) {
	l, err := k.book.list()
	if err != nil {
		return nil, l, err
	}
	var all []named
	if k.parts.Journal != nil && !l.NoJournal {
		all = append(all, named{audit.Anchor{Kind: audit.AnchorJournal}, k.parts.Journal, nil})
	}
	for _, a := range l.Anchors {
		place, err := k.parts.Open(a)
		all = append(all, named{a, place, err})
	}
	return all, l, nil
}

// put writes the newest signed head to every anchor that lacks it. Sparing skips slow anchors that were written recently.
func (k *AnchoredLog) put(ctx context.Context, sparing bool) {
	end, err := k.parts.Log.End(ctx)
	if err != nil || end.Signed == nil {
		return
	}
	h := *end.Signed
	if err := k.beside(ctx, h); err != nil {
		k.parts.Slog.Warn("the audit log does not match its recorded head", "cause", err.Error())
	}
	all, _, err := k.places()
	if err != nil {
		k.parts.Slog.Warn("the anchors of the audit log cannot be used", "cause", err.Error())
		return
	}
	state, _ := k.book.state() // Check reports what cannot be read
	for _, a := range all {
		was := state[a.String()]
		if was.Put.Key == h.Key && was.Put.Seq >= h.Seq || sparing && a.Kind == audit.AnchorGit && k.parts.Clock.Now().Sub(was.Tried) < spare {
			continue
		}
		if err := k.putOne(ctx, a, h, was.Mark); err != nil {
			k.parts.Slog.Warn("the head of the audit log could not be written to an anchor", "anchor", a.String(), "cause", err.Error())
		}
	}
}

// beside writes the head beside the key, unless that would replace one that the log contradicts.
func (k *AnchoredLog) beside(ctx context.Context, h audit.Head) error {
	have, err := k.parts.Signer.Head()
	if err != nil {
		return err
	}
	if have != nil {
		hash, err := k.parts.Log.HashAt(ctx, have.Seq)
		if err != nil {
			return err
		}
		if hash != have.Hash {
			return audit.ErrContradicted.WithMessage("%s has a different record %d than the audit log", docfile.HeadFile, have.Seq)
		}
	}
	return k.parts.Signer.PutHead(ctx, h, false)
}

// putOne writes a head to one anchor and counts failures.
func (k *AnchoredLog) putOne(ctx context.Context, a named, h audit.Head, mark string) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := a.err
	if err == nil {
		mark, err = a.place.Put(bounded, h, mark)
	}
	noted := k.book.note(ctx, a.Anchor, func(p *progress) {
		p.Tried = k.parts.Clock.Now()
		if err != nil {
			p.Failures, p.Failure = p.Failures+1, fault.From(err).Message
			return
		}
		p.Put, p.Mark, p.Failures, p.Failure = h, mark, 0, ""
	})
	return errors.Join(err, noted)
}

// Check verifies the whole audit log against its chain, its signature and its anchors. If it finds no fault, CheckNew continues from there.
func (k *AnchoredLog) Check(ctx context.Context) (audit.Report, error) {
	return k.check(ctx, audit.Checkpoint{}, nil)
}

// CheckNew verifies only the records after the last check. Only Check detects changes to earlier records. CheckNew reads everything if there was no
// check yet, or if the log is another one.
func (k *AnchoredLog) CheckNew(ctx context.Context) (audit.Report, error) {
	own, err := k.parts.Signer.Peek()
	if err != nil {
		return k.Check(ctx)
	}
	at := k.book.checkpoint()
	if !at.Holds(own) {
		return k.Check(ctx)
	}
	return k.check(ctx, at, nil)
}

// errElsewhere reports a checkpoint of another log.
var errElsewhere = errors.New("the checkpoint does not match the audit log")

// check verifies the log from a checkpoint on. If seek is given, it is called before the first record, and the check is of all records.
func (k *AnchoredLog) check(ctx context.Context, from audit.Checkpoint, seek func(*audit.Check)) (audit.Report, error) {
	began := k.parts.Clock.Now()
	all, l, err := k.places()
	if err != nil {
		return audit.Report{}, err
	}
	state, err := k.book.state()
	if err != nil {
		return audit.Report{}, err
	}
	about := audit.Context{Home: k.parts.Home, Machine: k.parts.Machine, Listed: l.Anchors, NoJournal: l.NoJournal}
	beside, besideErr := k.parts.Signer.Head()
	holdings := []audit.AnchorContents{{Anchor: audit.Anchor{Kind: audit.AnchorHome}, Err: besideErr}}
	if beside != nil {
		holdings[0].Heads = []audit.Head{*beside}
	}
	for _, a := range all {
		was := state[a.String()]
		h := audit.AnchorContents{Anchor: a.Anchor, Put: was.Put, Fades: a.Kind == audit.AnchorJournal, Err: a.err}
		if h.Err == nil {
			bounded, cancel := context.WithTimeout(ctx, 3*timeout)
			h.Heads, h.Odd, h.Err = a.place.Heads(bounded, was.Mark)
			cancel()
		}
		holdings = append(holdings, h)
	}
	check := audit.NewCheck(holdings...)
	var report audit.Report
	var signed audit.Key
	err = k.parts.Log.Chain(ctx, from.Head.Seq, func(chain ports.StoredChain) error {
		if chain.End.Signed != nil {
			check.Want(chain.End.Signed.Seq)
			signed = chain.End.Signed.Key
		}
		about.Own, about.OwnErr = k.own(chain.End, beside)
		if removals, err := chain.Removals(); err != nil {
			return err
		} else {
			check.Removed(removals, cmp.Or(about.Own, signed))
		}
		if seek != nil {
			seek(check)
		}
		if from.Head.Seq > 0 {
			if err := goOn(check, from, chain); err != nil {
				return err
			}
		}
		for r, err := range chain.Records {
			if err != nil {
				return err
			}
			if check.Next(r) != nil {
				break
			}
		}
		if from.Head.Seq == 0 { // the indexes are of all records
			if about.Index = chain.Index(); about.Index != nil && !errors.Is(about.Index, audit.ErrBroken) {
				return about.Index
			}
		}
		report = check.End(chain.End, about)
		return nil
	})
	if errors.Is(err, errElsewhere) {
		return k.Check(ctx)
	}
	switch whole := len(report.Faults) == 0 || errors.Is(report.Err(), audit.ErrUnchecked); {
	case err == nil && !whole:
		k.book.forget()
	case err == nil && report.Records > 0 && signed == about.Own:
		k.keep(check.Checkpoint(began), about.Own)
	}
	for i := range report.Anchors {
		v := &report.Anchors[i]
		v.Failures, v.Failure = state[v.String()].Failures, state[v.String()].Failure
	}
	return report, err
}

// goOn continues the check after a checkpoint whose record is in the log.
func goOn(check *audit.Check, from audit.Checkpoint, chain ports.StoredChain) error {
	hash, err := chain.HashAt(from.Head.Seq)
	if err != nil {
		return err
	}
	if hash != from.Hash {
		return errElsewhere
	}
	check.From(from)
	for _, seq := range check.Wanted() {
		hash, err := chain.HashAt(seq)
		if err != nil {
			return err
		}
		check.Know(seq, hash)
	}
	return nil
}

// keep stores a checkpoint. If that fails, the next check reads more.
func (k *AnchoredLog) keep(at audit.Checkpoint, own audit.Key) {
	var err error
	if at.Head, err = k.parts.Signer.Sign(own, audit.Position{Seq: at.Head.Seq, Hash: at.Sum()}); err == nil {
		err = k.book.keep(at)
	}
	if err != nil {
		k.parts.Slog.Debug("the checkpoint of the verification could not be stored", "cause", err.Error())
	}
}

// own returns the key of this machine; an error if it has signed and is missing.
func (k *AnchoredLog) own(end audit.End, beside *audit.Head) (audit.Key, error) {
	key, err := k.parts.Signer.Peek()
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	switch {
	case end.Signed != nil:
		return key, k.parts.Signer.Missing(end.Signed.Key)
	case beside != nil:
		return key, k.parts.Signer.Missing(beside.Key)
	}
	return key, nil
}
