package packs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/packport"
)

// PackFinder finds packs in a store.
type PackFinder struct {
	Packs packport.Reader
	Clock ports.Clock
}

// Find returns the pack with an identifier (context-pack contract §1.6): text in the form of an ID is only an ID, other text is a name. Several packs
// with one name are pack.ErrAmbiguous with Candidates.
func (s PackFinder) Find(ctx context.Context, identifier string) (*pack.Pack, error) {
	if id, err := pack.ParseID(identifier); err == nil {
		return s.Packs.Get(ctx, id)
	}
	found, err := s.named(ctx, identifier)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		c := Candidates{}
		for _, f := range found {
			c.CandidateIDs = append(c.CandidateIDs, f.ID)
		}
		return nil, pack.ErrAmbiguous.WithMessage("%d live packs are called %q; use an id", len(found), identifier).WithDetails(c)
	}
	return s.Packs.Get(ctx, found[0].ID)
}

// Candidates is the details of pack.ErrAmbiguous.
type Candidates struct {
	CandidateIDs []pack.ID `json:"candidate_ids"`
}

func (s PackFinder) named(ctx context.Context, identifier string) ([]pack.Summary, error) {
	name, err := pack.ParseName(identifier)
	if err != nil {
		return nil, err
	}
	found, err := s.Packs.Lookup(ctx, name)
	if err == nil && len(found) == 0 {
		err = pack.ErrNotFound.WithMessage("no live pack is called %q", name)
	}
	return found, err
}

// Pick is Find for reading: of several packs with one name it takes a finalized one before a draft, then the last updated, then the higher revision,
// then the lower id, and says so in legend lines. If there are packs of the wanted status, only they count.
func (s PackFinder) Pick(ctx context.Context, identifier string, want pack.Status) (*pack.Pack, []string, error) {
	if id, err := pack.ParseID(identifier); err == nil {
		p, err := s.Packs.Get(ctx, id)
		return p, nil, err
	}
	found, err := s.named(ctx, identifier)
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 1 {
		p, err := s.Packs.Get(ctx, found[0].ID)
		return p, nil, err
	}
	rank := func(p pack.Summary) int {
		if p.Status == want || want == 0 && p.Status == pack.Finalized {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b pack.Summary) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), latestFirst(a, b)) })
	p, err := s.Packs.Get(ctx, found[0].ID)
	if err != nil {
		return nil, nil, err
	}
	return p, []string{"selected_by: name_latest_" + p.Status().String() + "_updated_at_then_revision"}, nil
}

// latestFirst sorts by updated_at and revision, both descending, then by id.
func latestFirst(a, b pack.Summary) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.ID, b.ID))
}

// Listing is the result of List: the number of matches, and the page of them.
type Listing struct {
	Total int
	Packs []pack.Summary
}

// List filters, orders and pages the live packs (context-pack contract §2).
func (s PackFinder) List(ctx context.Context, a Args) (Listing, error) {
	keep, err := s.filter(a)
	if err != nil {
		return Listing{}, err
	}
	all, err := s.Packs.List(ctx)
	if err != nil {
		return Listing{}, err
	}
	all = slices.DeleteFunc(all, func(p pack.Summary) bool { return !keep(p) })
	slices.SortFunc(all, latestFirst)
	out := Listing{Total: len(all)}
	offset, _ := a.Count("offset")
	all = all[min(offset, len(all)):]
	if limit, ok := a.Count("limit"); ok {
		all = all[:min(limit, len(all))]
	}
	out.Packs = all
	return out, nil
}

func (s PackFinder) filter(a Args) (func(pack.Summary) bool, error) {
	var status pack.Status
	var fresh pack.Freshness
	var err error
	if t := a.Text("status"); t != "" {
		if status, err = pack.ParseStatus(t); err != nil {
			return nil, err
		}
	}
	if t := a.Text("freshness"); t != "" {
		if fresh, err = pack.ParseFreshness(t); err != nil {
			return nil, err
		}
	}
	query, now := strings.ToLower(a.Text("query")), s.Clock.Now()
	return func(p pack.Summary) bool {
		return (status == 0 || p.Status == status) &&
			(fresh == "" || pack.FreshnessAt(p.ExpiresAt, now) == fresh) &&
			(query == "" || strings.Contains(strings.ToLower(string(p.Title+" "+p.Name+" "+p.Brief)), query))
	}, nil
}
