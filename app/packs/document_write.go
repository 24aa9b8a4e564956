package packs

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/pack"
)

// DefaultTTL is the time to live of a pack written as a document without one: one day.
const DefaultTTL = pack.TTL(24 * 60)

// checkWrite requires expected_revision exactly if an existing pack is named.
func checkWrite(a Args) error {
	if a.Identifier() != "" {
		if _, ok := a.Number("expected_revision"); !ok {
			return RequiredError("expected_revision")
		}
		return nil
	}
	if a.Given("expected_revision") {
		return ErrArguments.WithMessage("'expected_revision' belongs to an existing pack; give 'id' or 'name' with it")
	}
	return nil
}

// planDocument returns the plan of the action write: it replaces all of stored, or creates a pack if that is nil. However much changes, it is one
// revision.
func (c *inputCall) planDocument(ctx context.Context, stored *pack.Pack, now time.Time) (*plan, error) {
	d, err := pack.ParseDocument(c.args["document"])
	if err != nil {
		return nil, err
	}
	var next *pack.Pack
	revision := uint64(1)
	if stored == nil {
		next, err = c.blank(d, now)
	} else {
		next, revision = stored.Clone(), stored.Revision()+1
		err = sameName(stored, d)
	}
	if err != nil {
		return nil, err
	}
	content, err := c.content(ctx, d, stored)
	if err != nil {
		return nil, err
	}
	if err := next.Rewrite(content, now); err != nil {
		return nil, err
	}
	if err := c.settle(ctx, next, stored, d, now); err != nil {
		return nil, err
	}
	next.Squash(revision)
	p, err := newPlan(c.name, next)
	if err != nil {
		return nil, err
	}
	if stored != nil {
		p.ID, p.Revision = stored.ID(), stored.Revision()
	}
	if d.TTLMinutes != nil {
		p.TTLMinutes = *d.TTLMinutes
	}
	return p, nil
}

// settle applies the parts of a document that are not content: time to live and status.
func (c *inputCall) settle(ctx context.Context, next, stored *pack.Pack, d pack.Document, now time.Time) error {
	if d.TTLMinutes != nil && stored != nil {
		if err := next.SetTTL(pack.TTL(*d.TTLMinutes), now); err != nil {
			return err
		}
	}
	if strings.TrimSpace(d.Status) == "" {
		return nil
	}
	to, err := pack.ParseStatus(d.Status)
	if err != nil {
		return err
	}
	if to == pack.Finalized {
		return c.finalize(ctx, next, c.args.Flag("snapshot"), now)
	}
	return next.Reopen(now)
}

func (c *inputCall) blank(d pack.Document, now time.Time) (*pack.Pack, error) {
	ttl := DefaultTTL
	if d.TTLMinutes != nil {
		ttl = pack.TTL(*d.TTLMinutes)
	}
	return pack.New(c.newID(), pack.OptionalText(d.Name), now, ttl)
}

// sameName rejects a document that would rename its pack: a name is set once.
func sameName(stored *pack.Pack, d pack.Document) error {
	if n := pack.OptionalText(d.Name); n != "" && n != stored.Name() {
		return pack.ErrValue.WithMessage("pack %s is called %q and keeps its name; leave 'document.name' out", stored.ID(), string(stored.Name()))
	}
	return nil
}

// content checks a document and anchors its refs. Files of refs that stored, which may be nil, already has may be missing.
func (s *service) content(ctx context.Context, d pack.Document, stored *pack.Pack) (pack.Content, error) {
	c, err := d.Content(s.Roots)
	if err != nil {
		return c, err
	}
	var refs []pack.Ref
	for _, sec := range c.Sections {
		refs = append(refs, sec.Refs...)
	}
	type place struct {
		root  pack.Root
		path  pack.Path
		lines pack.LineRange
	}
	known := map[place]bool{}
	if stored != nil {
		_, had := stored.State().Refs()
		for _, r := range had {
			known[place{r.Root, r.Path, r.Lines}] = true
		}
	}
	if err := s.sight.anchorNew(ctx, refs, func(r pack.Ref) bool { return known[place{r.Root, r.Path, r.Lines}] }); err != nil {
		return c, err
	}
	next := 0
	for _, sec := range c.Sections {
		next += copy(sec.Refs, refs[next:])
	}
	return c, nil
}

// validation is the payload of write with validate_only: the pack that the document would make.
type validation struct {
	Valid    bool     `json:"valid"`
	ID       pack.ID  `json:"id,omitempty"`
	Revision uint64   `json:"revision"`
	Status   string   `json:"status"`
	Sections int      `json:"sections"`
	Refs     int      `json:"refs"`
	Diagrams int      `json:"diagrams"`
	Missing  []string `json:"unresolved_refs"` // refs whose lines cannot be read now; allowed in a draft
}

// validate checks a document and stores nothing. Its errors are those of a write.
func (c *inputCall) validate(ctx context.Context) (any, error) {
	p, err := c.plan(ctx, c.now())
	if err != nil {
		return nil, err
	}
	s := p.next.State()
	v := validation{Valid: true, ID: p.ID, Revision: s.Revision, Status: s.Status.String(), Sections: len(s.Sections), Missing: []string{}}
	for _, sec := range s.Sections {
		v.Diagrams += len(sec.Diagrams)
	}
	ids, refs := s.Refs()
	v.Refs = len(refs)
	for i, r := range refs {
		if r.Anchor == nil {
			v.Missing = append(v.Missing, ids[i].String()+" ("+string(r.Path)+":"+r.Lines.String()+")")
		}
	}
	return c.result(v)
}
