package packs

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

// readers is the number of source files that are read concurrently.
const readers = 4

// SourceReader reads the source lines of refs.
type SourceReader struct {
	Excerpts packport.Excerpts
	History  packport.History // nil: earlier text is not available
	Mask     func(lines []string) (masked []string, secrets int)
}

// RefEvidence is what a pack's refs show now, or why they cannot be read, in the order of the refs.
type RefEvidence struct {
	Evidence []pack.Evidence
	Faults   []error
}

// ReadRefs reads the refs at the wanted indices, every distinct file once. A ref that cannot be read does not stop the others; only a cancelled call
// is an error.
func (s SourceReader) ReadRefs(ctx context.Context, refs []pack.Ref, wanted []int) (RefEvidence, error) {
	f := RefEvidence{Evidence: make([]pack.Evidence, len(refs)), Faults: make([]error, len(refs))}
	files := map[packport.Location][]int{}
	var order []packport.Location
	for _, i := range wanted {
		at := packport.Location{Root: refs[i].Root, Path: refs[i].Path}
		if files[at] == nil {
			order = append(order, at)
		}
		files[at] = append(files[at], i)
	}
	group, ctx := errgroup.WithContext(ctx)
	workers := min(readers, len(order))
	look := func(w int) error { // each worker takes every workers-th file: a goroutine per file costs more than reading a small one
		for i := w; i < len(order) && ctx.Err() == nil; i += workers {
			s.lookInto(ctx, order[i], refs, files[order[i]], f)
		}
		return ctx.Err()
	}
	for w := 1; w < workers; w++ {
		group.Go(func() error { return look(w) })
	}
	err := look(0)
	if others := group.Wait(); err == nil {
		err = others
	}
	return f, err
}

// lookInto reads one file for the refs at the indices. No two calls share an index, so they need no lock.
func (s SourceReader) lookInto(ctx context.Context, at packport.Location, refs []pack.Ref, indices []int, f RefEvidence) {
	mine := make([]pack.Ref, len(indices))
	for k, i := range indices {
		mine[k] = refs[i]
	}
	r := pack.NewResolver(mine)
	for from, visit, ok := r.Pass(); ok; from, visit, ok = r.Pass() {
		lines, err := s.Excerpts.Read(ctx, at, from, visit)
		if err != nil {
			for _, i := range indices {
				f.Faults[i], f.Evidence[i] = err, unreadable(refs[i], err)
			}
			return
		}
		r.Done(lines)
	}
	for k, i := range indices {
		f.Evidence[i] = r.Evidence(k)
		e := &f.Evidence[i]
		if !keyLike(e.Text) {
			continue
		}
		above, err := s.above(ctx, at, e.Lines.Start)
		if err != nil { // what cannot be judged is not shown
			f.Faults[i], *e = err, unreadable(refs[i], err)
			continue
		}
		e.Above = above
	}
}

func unreadable(r pack.Ref, err error) pack.Evidence {
	e := pack.Evidence{Standing: pack.RefUnreadable, Lines: r.Lines}
	if errors.Is(err, packport.ErrMissing) {
		e.Standing, e.Reason = pack.RefStale, string(r.Path)+" does not exist under source root"
		return e
	}
	e.Reason = fault.From(err).Message
	if !strings.Contains(e.Reason, string(r.Path)) {
		e.Reason = string(r.Path) + ": " + e.Reason
	}
	return e
}

// AllRefs returns every index of refs.
func AllRefs(refs []pack.Ref) []int {
	out := make([]int, len(refs))
	for i := range out {
		out[i] = i
	}
	return out
}

// Redact redacts secrets in what will be shown. Anchors stay unchanged: they hash the file's real content.
func (s SourceReader) Redact(evidence []pack.Evidence) {
	for i := range evidence {
		if e := &evidence[i]; e.Text != nil {
			e.Text, e.Masked = s.mask(*e)
		}
	}
}

// Keep returns the redacted text to store of a ref when its pack is finalized.
func (s SourceReader) Keep(e pack.Evidence) *pack.Snapshot {
	if e.Text == nil {
		return nil
	}
	text, n := s.mask(e)
	return &pack.Snapshot{Lines: e.Lines, Text: strings.Join(text, "\n"), Masked: n}
}

// Judge reads every ref of a pack for finalizing. The pack itself judges a missing file; any other read error is returned (context-pack contract
// §1.4).
func (s SourceReader) Judge(ctx context.Context, p *pack.Pack) (RefEvidence, error) {
	_, refs := p.State().Refs()
	f, err := s.ReadRefs(ctx, refs, AllRefs(refs))
	if err != nil {
		return f, err
	}
	for _, err := range f.Faults {
		if err != nil && !errors.Is(err, packport.ErrMissing) {
			return f, err
		}
	}
	return f, nil
}

// Anchor adds anchors to refs that have none, as far as their lines can be read; a draft may refer to lines that do not exist yet.
func (s SourceReader) Anchor(ctx context.Context, refs []pack.Ref) error {
	_, err := s.anchor(ctx, refs)
	return err
}

func (s SourceReader) anchor(ctx context.Context, refs []pack.Ref) (RefEvidence, error) {
	for i := range refs {
		refs[i].Anchor = nil
	}
	f, err := s.ReadRefs(ctx, refs, AllRefs(refs))
	if err != nil {
		return f, err
	}
	for i := range refs {
		refs[i].Anchor = f.Evidence[i].Anchor
	}
	return f, nil
}

// anchorNew is Anchor for refs named in a call; it rejects obvious mistakes: lines that a file does not have, and a pattern that is not a file. Refs
// that stored already has stay, even if their files are gone.
func (s SourceReader) anchorNew(ctx context.Context, refs []pack.Ref, stored func(pack.Ref) bool) error {
	f, err := s.anchor(ctx, refs)
	if err != nil {
		return err
	}
	for i, r := range refs {
		e, fault := f.Evidence[i], f.Faults[i]
		switch {
		case stored(r):
		case errors.Is(fault, packport.ErrMissing) && strings.ContainsAny(string(r.Path), "*?["):
			return pack.ErrValue.WithMessage("%s: no file has this name, and a ref is of one file; name each file that the pattern stands for (countersign pack add takes patterns)", r.Path)
		case fault == nil && e.Standing == pack.RefStale:
			return pack.ErrValue.WithMessage("%s; name lines that are there", e.Reason)
		}
	}
	return nil
}
