package anchoring

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Standing returns the status of the audit log.
func (k *AnchoredLog) Standing(ctx context.Context) (audit.LogStatus, error) {
	end, err := k.parts.Log.End(ctx)
	if err != nil {
		return audit.LogStatus{}, err
	}
	all, _, err := k.places()
	if err != nil {
		return audit.LogStatus{}, err
	}
	state, err := k.book.state()
	if err != nil {
		return audit.LogStatus{}, err
	}
	s := audit.LogStatus{Records: end.Seq, Anchors: []audit.AnchorStatus{}}
	beside, err := k.parts.Signer.Head()
	if err != nil {
		s.Faults = append(s.Faults, err)
	}
	key, err := k.own(end, beside)
	if err != nil {
		s.Faults = append(s.Faults, err)
	}
	s.Key = key
	if end.Signed != nil {
		s.Signed = end.Signed.Seq
	}
	if err == nil && s.Signed < end.Seq && key != (audit.Key{}) {
		s.Faults = append(s.Faults, audit.ErrUnsigned.WithMessage("the audit log has %d records, and only %d of them are signed", end.Seq, s.Signed))
	}
	if beside != nil {
		hash, err := k.parts.Log.HashAt(ctx, beside.Seq)
		if err != nil {
			return s, err
		}
		if hash != beside.Hash {
			s.Faults = append(s.Faults, audit.ErrContradicted.WithMessage("the audit log does not match its recorded head; run countersign audit verify"))
		}
		s.Anchors = append(s.Anchors, audit.AnchorStatus{Anchor: audit.Anchor{Kind: audit.AnchorHome}, Put: beside.Seq, At: beside.At, Behind: max(end.Seq-beside.Seq, 0)})
	}
	for _, a := range all {
		p := state[a.String()]
		s.Anchors = append(s.Anchors, audit.AnchorStatus{Anchor: a.Anchor, Put: p.Put.Seq, At: p.Put.At, Behind: max(end.Seq-p.Put.Seq, 0), Failures: p.Failures, Failure: p.Failure})
		if a.err != nil {
			s.Faults = append(s.Faults, a.err)
		}
	}
	return s, nil
}

// Add adds an anchor, after writing the newest head to it once. by is the author, for the audit log.
func (k *AnchoredLog) Add(ctx context.Context, by string, a audit.Anchor) (audit.Anchor, error) {
	a, place, err := k.known(a)
	if err != nil {
		return a, err
	}
	l, err := k.book.list()
	if err != nil {
		return a, err
	}
	if have := slices.Contains(l.Anchors, a); have || a.Kind == audit.AnchorJournal && !l.NoJournal {
		return a, ErrNoAnchor.WithMessage("%s is already an anchor", a)
	}
	end, err := k.parts.Log.End(ctx)
	if err != nil {
		return a, err
	}
	if end.Signed != nil { // a place that accepts no head is not an anchor
		bounded, cancel := context.WithTimeout(ctx, 3*timeout)
		defer cancel()
		if err := k.putOne(bounded, named{a, place, nil}, *end.Signed, ""); err != nil {
			return a, ErrAnchor.WithMessage("%s cannot be used: %s", a, fault.From(err).Message).WithCause(err)
		}
	}
	return a, k.turn(ctx, by, audit.AnchorAdded, a)
}

// Remove removes an anchor. The heads in it stay. This weakens the checks of the log.
func (k *AnchoredLog) Remove(ctx context.Context, by string, a audit.Anchor) (audit.Anchor, error) {
	l, err := k.book.list()
	if err != nil {
		return a, err
	}
	if a.Kind == audit.AnchorJournal && !l.NoJournal {
		return a, k.turn(ctx, by, audit.AnchorRemoved, audit.Anchor{Kind: a.Kind})
	}
	for _, have := range l.Anchors {
		if where, _, _ := strings.Cut(have.Where, "#"); have == a || have.Kind == a.Kind && (where == a.Where || have.Where == filepath.Clean(a.Where)) {
			return have, k.turn(ctx, by, audit.AnchorRemoved, have)
		}
	}
	return a, ErrNoAnchor.WithMessage("anchor %s not found; run countersign audit anchor list", a)
}

// turn changes the list and records the change, or does neither.
func (k *AnchoredLog) turn(ctx context.Context, by, verdict string, a audit.Anchor) error {
	change := func(verdict string) func(*list) error {
		return func(l *list) error {
			if a.Kind == audit.AnchorJournal {
				l.NoJournal = verdict == audit.AnchorRemoved
				return nil
			}
			l.Anchors = slices.DeleteFunc(l.Anchors, func(have audit.Anchor) bool { return have == a })
			if verdict == audit.AnchorAdded {
				l.Anchors = append(l.Anchors, a)
			}
			return nil
		}
	}
	other := map[string]string{audit.AnchorAdded: audit.AnchorRemoved, audit.AnchorRemoved: audit.AnchorAdded}[verdict]
	if err := k.book.change(ctx, change(verdict)); err != nil {
		return err
	}
	if err := k.Append(ctx, audit.SelfEvent(k.parts.Clock.Now(), audit.AnchorTool, verdict, by, a)); err != nil {
		_ = k.book.change(context.WithoutCancel(ctx), change(other)) // return the first error
		return err
	}
	return nil
}

// known returns an anchor in its stored form, and its place.
func (k *AnchoredLog) known(a audit.Anchor) (audit.Anchor, Place, error) {
	switch a.Kind {
	case audit.AnchorJournal:
		if k.parts.Journal == nil {
			return a, nil, ErrNoAnchor.WithMessage("this machine has no system journal (%s)", JournalSocket)
		}
		return audit.Anchor{Kind: a.Kind}, k.parts.Journal, nil
	case audit.AnchorFile:
		path, err := filepath.Abs(a.Where)
		if err != nil || a.Where == "" {
			return a, nil, ErrNoAnchor.WithMessage("an anchor of kind file needs the path of a file")
		}
		if rel, err := filepath.Rel(k.parts.Home, path); err == nil && filepath.IsLocal(rel) {
			return a, nil, ErrNoAnchor.WithMessage("%s is inside COUNTERSIGN_HOME, where it could be lost together with the audit log; use a file on another disk", path)
		}
		a.Where = path
	case audit.AnchorGit:
		if a.Where == "" {
			return a, nil, ErrNoAnchor.WithMessage("an anchor of kind git needs the URL of a repository")
		}
	default:
		return a, nil, ErrNoAnchor.WithMessage("unknown anchor kind %q; use file, git or journal", a.Kind)
	}
	place, err := k.parts.Open(a)
	if n, ok := place.(interface{ Where() string }); ok && err == nil {
		a.Where = n.Where() // with what was left open
	}
	return a, place, err
}

// Accept records that the user considers the current contradictions explained, and why; the content of the anchors stays. This weakens the checks of
// the log. It returns the number of contradictions. A broken chain cannot be accepted.
func (k *AnchoredLog) Accept(ctx context.Context, by, reason string) (int, error) {
	report, err := k.Check(ctx)
	if err != nil && fault.From(err).Code != ErrAnchor.Code {
		return 0, err
	}
	l, err := k.book.list()
	if err != nil {
		return 0, err
	}
	said := audit.Accepted{Anchors: l.Anchors, NoJournal: l.NoJournal, Reason: reason}
	for _, err := range report.Faults {
		said.Faults = append(said.Faults, fault.From(err).Message)
	}
	if len(said.Faults) == 0 {
		return 0, nil
	}
	if err := k.AuditLog.Append(ctx, audit.SelfEvent(k.parts.Clock.Now(), audit.AcceptTool, "", by, said)); err != nil {
		return 0, err
	}
	for _, a := range l.Anchors {
		if err := k.book.note(ctx, a, func(p *progress) { *p = progress{} }); err != nil {
			return 0, err
		}
	}
	end, err := k.parts.Log.End(ctx)
	if err == nil && end.Signed != nil && end.Signed.Seq == end.Seq {
		err = k.parts.Signer.PutHead(ctx, *end.Signed, true)
	}
	k.grew(1, true)
	return len(said.Faults), err
}

// NewKey creates a new key and records that. This weakens the checks of the log.
func (k *AnchoredLog) NewKey(ctx context.Context, by string) (audit.Key, error) {
	key, err := k.parts.Signer.Renew(ctx)
	if err != nil {
		return key, err
	}
	err = k.parts.Log.NewKey(ctx, key, func(follows audit.Key) audit.Event {
		return audit.SelfEvent(k.parts.Clock.Now(), audit.KeyTool, "", by, audit.KeyAdded{Key: key, Follows: follows})
	})
	if err == nil {
		k.grew(1, true)
	}
	return key, err
}
