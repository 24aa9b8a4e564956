package releases

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Request contains the input of a release and the versions computed when it was approved.
type Request struct {
	Action  string              `json:"action"` // bump or promote
	Part    string              `json:"bump_part,omitempty"`
	Stage   string              `json:"stage,omitempty"` // pre_release, or target
	Message string              `json:"message,omitempty"`
	Push    bool                `json:"push,omitempty"`
	Strict  bool                `json:"strict,omitempty"`
	Skip    bool                `json:"skip_validation,omitempty"`
	Own     bool                `json:"independent,omitempty"` // each repository has its own version
	Forge   []ForgeRelease      `json:"github,omitempty"`      // that are made there once the tags are
	Others  []OtherRelease      `json:"not_on_github,omitempty"`
	Origin  string              `json:"origin"` // cli or agent
	At      time.Time           `json:"at"`     // the day, in UTC; from the beginning of its run on, the moment
	Tag     string              `json:"tag"`
	Earlier map[string][]string `json:"earlier,omitempty"` // tags that a failed push left here, by repository
}

// next returns the version that the order leads to; part is what the commits say, for a bump that leaves it to them.
func (o Request) next(v release.Version, part string) (release.Version, error) {
	if o.Action == "promote" {
		return release.Promote(v, o.Stage)
	}
	if o.Part != release.Auto {
		part = o.Part
	}
	return release.Bump(v, part, o.Stage)
}

// Draft is a release that was worked out and not made.
type Draft struct {
	*ReleaseState
	Order  Request
	Next   release.Version // where versions are independent, that of the first member
	Checks release.Checks

	Unchanged []string // repositories that are not released, where versions are independent
}

// Draft works a release out. Nothing but what cannot be asked about is an error: the checks say what is in the way.
func (d Deps) Draft(ctx context.Context, f runs.Ecosystem, o Request) (*Draft, error) {
	s, err := d.LoadState(ctx, f)
	if err != nil {
		return nil, err
	}
	dr := &Draft{ReleaseState: s, Order: o}
	for _, m := range s.Members {
		if m.Foot.Err != nil {
			return nil, release.ErrChecks.WithMessage("%s cannot be released: %s", m.Name, fault.From(m.Foot.Err).Message).WithCause(m.Foot.Err)
		}
	}
	if err := d.choose(ctx, dr); err != nil {
		return nil, err
	}
	for _, m := range s.Members {
		if err := tagName(m.NextTag); err != nil {
			return nil, err
		}
	}
	if err := dr.taken(); err != nil {
		return nil, err
	}
	if err := d.loadNotes(ctx, dr); err != nil {
		return nil, err
	}
	d.LoadFiles(ctx, s, true, dr.notes)
	stage, _ := dr.Next.Stage()
	dr.Checks = d.Check(ctx, s, o, dr.Order.Tag, stage)
	return dr, nil
}

// notes returns the entries for a member's changelog.
func (dr *Draft) notes(m *RepoState) release.Notes {
	return release.Notes{Version: m.Next.String(), Date: dr.Order.At.Format(time.DateOnly), Subjects: subjects(m.Notes), More: m.Notes.Total - len(m.Notes.Commits), Updated: m.Updated}
}

// subjects returns the subjects of the commits that are not releases.
func subjects(h ecosystemport.History) []string {
	out := make([]string, 0, len(h.Commits))
	for _, c := range h.Commits {
		if !strings.HasPrefix(c.Subject, release.CommitSubject("")) {
			out = append(out, c.Subject)
		}
	}
	return out
}

// loadNotes reads what changelogs and tags are told: what was committed since the current version, and for a stable release since the last stable one.
func (d Deps) loadNotes(ctx context.Context, dr *Draft) error {
	for _, m := range dr.Members {
		m.Notes = m.History
	}
	since := dr.lastStable()
	var spans []ecosystemport.CommitRange
	var wanted []*RepoState
	for _, m := range dr.Members {
		if dr.Independent {
			since = m.lastStable(dr.Rules.TagPrefix)
		}
		if m.Next.Pre == "" && since != m.Tag {
			spans, wanted = append(spans, ecosystemport.CommitRange{Dir: m.Dir, From: m.Foot.Tags[since], Head: m.Foot.Head}), append(wanted, m)
		}
	}
	for i, h := range d.Git.Since(ctx, spans, release.MaxSubjects) {
		if h.Err != nil {
			return h.Err
		}
		for j := range h.Commits {
			h.Commits[j].Subject = release.PlainSubject(h.Commits[j].Subject)
		}
		wanted[i].Notes = h
	}
	return nil
}

// lastStable returns the tag of a repository's highest stable version; empty for none.
func (m *RepoState) lastStable(prefix string) string {
	tags := release.ParseTags(prefix, slices.Collect(maps.Keys(m.Foot.Tags)))
	maps.DeleteFunc(tags, func(_ string, v release.Version) bool { return v.Pre != "" })
	tag, _ := release.HighestTag(tags)
	return tag
}

// lastStable returns the tag of the highest stable version that all repositories have; empty for none.
func (s *ReleaseState) lastStable() string {
	var versions []map[string]release.Version
	for _, m := range s.Members {
		tags := release.ParseTags(s.Rules.TagPrefix, slices.Collect(maps.Keys(m.Foot.Tags)))
		maps.DeleteFunc(tags, func(_ string, v release.Version) bool { return v.Pre != "" })
		versions = append(versions, tags)
	}
	tag, _, _ := release.CommonTag(versions)
	return tag
}

// taken fails with release.ErrTag where the tag exists, naming the repositories.
func (dr *Draft) taken() error {
	var has []string
	for _, m := range dr.Members {
		if _, there := m.Foot.Tags[m.NextTag]; there && !dr.Independent { // one that is higher than all others is none of them
			has = append(has, m.Name)
		}
	}
	if len(has) == 0 {
		return nil
	}
	return release.ErrTag.WithMessage("tag %s exists already in %s, and not in every repository; delete it there (git tag -d %s), or give it to the other repositories", dr.Order.Tag,
		strings.Join(has, ", "), dr.Order.Tag).WithDetails(map[string]any{"tag": dr.Order.Tag, "repos": has})
}

// CheckError fails with release.ErrChecks when a check failed.
func (dr *Draft) CheckError() error {
	if dr.Checks.OK {
		return nil
	}
	return release.ErrChecks.WithMessage("%s cannot be released as %s: %s", dr.Found.Layout.Name, dr.Order.Tag, strings.Join(dr.Checks.Errors[:min(3, len(dr.Checks.Errors))], "; ")).
		WithDetails(map[string]any{"validation": dr.Checks, "current": dr.Current.Shown(), "next": dr.Next.Shown()})
}

// FileChange is a file that a release writes, relative to the workspace root.
type FileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"`
}

// Files returns what the release writes.
func (dr *Draft) Files() []FileChange {
	out := []FileChange{}
	for _, m := range dr.Members {
		below := dr.below(m)
		for _, c := range dr.fileChanges(m) {
			out = append(out, FileChange{Path: path.Join(below, c.Path), Change: c.Change})
		}
	}
	return append(out, FileChange{Path: dr.RecordPath(dr.Order.Tag), Change: "new record"})
}

// below returns a member's directory, relative to the workspace root.
func (dr *Draft) below(m *RepoState) string {
	return strings.TrimPrefix(m.Dir, dr.Found.Layout.Root+"/")
}

// fileChanges returns what the release writes in a repository, relative to it.
func (dr *Draft) fileChanges(m *RepoState) []FileChange {
	out := []FileChange{}
	for _, e := range m.Edits {
		var does []string
		for _, v := range m.Checked.Versions {
			if says := v.Says + " → " + m.Next.String(); v.Path == e.Path && v.Says != m.Next.String() && !slices.Contains(does, says) {
				does = append(does, says)
			}
		}
		does = append(does, m.Ranges[e.Path]...)
		if e.Path == dr.Rules.Changelog {
			does = append(does, "section ["+m.Next.String()+"]")
		}
		out = append(out, FileChange{Path: e.Path, Change: cmp.Or(strings.Join(does, ", "), "rewritten")})
	}
	return out
}

// commitMessage returns the message of the commits of a release in its repositories.
func commitMessage(o Request, tag string) string {
	message := release.CommitSubject(tag) + "\n"
	if o.Message != "" {
		message += "\n" + o.Message + "\n"
	}
	return message
}

// Facts returns what the release is made from (amof contract §14, rule 4).
func (dr *Draft) Facts() any {
	type repoFacts struct {
		Name string `json:"name"`
		ecosystemport.ReleaseBase
	}
	repos := make([]repoFacts, 0, len(dr.All))
	for _, m := range dr.All {
		repos = append(repos, repoFacts{m.Name, m.Foot})
	}
	facts := map[string]any{"manifest": dr.Found.Loaded.SHA256, "latest": dr.Tag, "next": dr.Order.Tag, "repos": repos, "root_branch": dr.Root.Branch}
	if dr.Independent {
		facts["versions"] = release.Independent
	}
	return facts
}

// Facts implements runs.Performer.
func (d Deps) Facts(ctx context.Context, f runs.Ecosystem, payload json.RawMessage) (any, error) {
	var o Request
	if err := json.Unmarshal(payload, &o); err != nil {
		return nil, err
	}
	s, err := d.LoadState(ctx, f)
	if err != nil {
		return nil, err
	}
	dr := &Draft{ReleaseState: s, Order: o}
	if o.Own || s.Independent || o.Part == release.Auto { // commits decide
		err = d.choose(ctx, dr)
	} else if dr.Next, err = o.next(s.Current, ""); err == nil {
		dr.Order.Tag = s.Rules.TagPrefix + dr.Next.String()
	}
	if err != nil {
		return nil, err
	}
	return dr.Facts(), nil
}
