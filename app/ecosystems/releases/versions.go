package releases

import (
	"context"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// maxJudged is how many subjects of a repository's commits decide about its next version.
const maxJudged = 10_000

// ownVersions sets the version of each repository to its own highest tag.
func (s *ReleaseState) ownVersions() {
	s.Independent, s.Tag, s.Current, s.Differ = true, "", release.Version{}, nil
	for _, m := range s.All {
		m.Tag, m.Current = release.HighestTag(release.ParseTags(s.Rules.TagPrefix, slices.Collect(maps.Keys(m.Foot.Tags))))
	}
}

// choose decides which repositories are released, and as which version, and reads what was committed in them.
func (d Deps) choose(ctx context.Context, dr *Draft) error {
	s, o := dr.ReleaseState, dr.Order
	if o.Own && !s.Independent {
		s.ownVersions()
	}
	parts := map[string]string{}
	most := release.MaxSubjects
	if o.Part == release.Auto {
		most = maxJudged
	}
	if err := d.LoadCommits(ctx, s, most); err != nil {
		return err
	}
	if o.Part == release.Auto {
		parts = d.judge(ctx, s)
	}
	for _, m := range s.Members {
		m.History.Commits = m.History.Commits[:min(len(m.History.Commits), release.MaxSubjects)]
	}
	if s.Independent {
		return d.chooseOwn(ctx, dr, parts)
	}
	part := release.Patch
	for _, p := range parts {
		part = release.HigherPart(part, p)
	}
	var err error
	if dr.Next, err = o.next(s.Current, part); err != nil {
		return err
	}
	dr.Order.Tag = s.Rules.TagPrefix + dr.Next.String()
	for _, m := range s.Members {
		m.Next, m.NextTag = dr.Next, dr.Order.Tag
	}
	return nil
}

// judge returns which part of its version the commits of each repository raise, by its name.
func (d Deps) judge(ctx context.Context, s *ReleaseState) map[string]string {
	spans := make([]ecosystemport.CommitRange, len(s.Members))
	for i, m := range s.Members {
		spans[i] = m.span()
	}
	parts := map[string]string{}
	for i, breaking := range d.Git.Breaking(ctx, spans) {
		m := s.Members[i]
		parts[m.Name] = release.Part(m.Current, subjects(m.History), breaking)
	}
	return parts
}

// chooseOwn has every repository with commits since its own version go on to its next one, and those that depend on them to a patch at least. Members
// are those alone then, behind what they depend on.
func (d Deps) chooseOwn(ctx context.Context, dr *Draft, parts map[string]string) error {
	s, o := dr.ReleaseState, dr.Order
	texts, err := d.Git.Records(ctx, s.Found.Layout.Root, s.Rules.RecordDir)
	if err != nil {
		return err
	}
	var records []release.Record
	for _, text := range texts {
		if r, ok := release.ReadRecord(text); ok {
			records = append(records, r)
		}
	}
	dr.Order.Tag = release.NextSet(records)
	repos := make([]ecosystem.Repo, len(s.All))
	for i, m := range s.All {
		repos[i] = m.Repo
	}
	chosen := map[string]*RepoState{}
	s.Members, dr.Unchanged = nil, []string{}
	for _, repo := range ecosystem.InOrder(repos) { // what it depends on was decided about before
		m := s.All[slices.IndexFunc(s.All, func(m *RepoState) bool { return m.Name == repo.Name })]
		changed := len(subjects(m.History)) > 0 || m.History.Total > len(m.History.Commits)
		part := parts[m.Name]
		for _, name := range m.After {
			if before := chosen[name]; before != nil {
				m.Updated = append(m.Updated, name+" to "+before.Next.String())
			}
		}
		switch {
		case o.Action == "promote" && m.Current.Pre != "":
			m.Next, err = o.next(m.Current, "")
		case o.Action != "promote" && changed:
			m.Next, err = o.next(m.Current, part)
		case o.Action != "promote" && len(m.Updated) > 0:
			m.Next, err = release.Bump(m.Current, release.Patch, o.Stage)
		default:
			dr.Unchanged = append(dr.Unchanged, m.Name)
			continue
		}
		if err != nil {
			return err
		}
		m.NextTag = s.Rules.TagPrefix + m.Next.String()
		chosen[m.Name], s.Members = m, append(s.Members, m)
	}
	switch {
	case len(s.Members) > 0:
		dr.Next = s.Members[0].Next
		return nil
	case o.Action == "promote":
		return release.ErrStep.WithMessage("no repository of %s is at a pre-release, so that there is nothing to promote; amof_release_bump begins the next versions", s.Found.Layout.Name)
	}
	return ecosystem.ErrNoWork.WithMessage("nothing was committed in any repository of %s since its own version, so that there is nothing to release", s.Found.Layout.Name)
}

// span returns the commits since a repository's current version.
func (m *RepoState) span() ecosystemport.CommitRange {
	return ecosystemport.CommitRange{Dir: m.Dir, From: m.Foot.Tags[m.Tag], Head: m.Foot.Head}
}
