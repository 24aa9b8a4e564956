package releases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	recentCommits = 8
	logDefault    = 10
	maxTags       = 20 // amof contract §8
)

// RepoStatus is a repository of a release.
type RepoStatus struct {
	Name    string `json:"name"`
	Branch  string `json:"branch"`
	Head    string `json:"head"` // short
	Tag     string `json:"tag"`  // its own highest one
	Dirty   bool   `json:"dirty"`
	Commits int    `json:"commits_since_tag"`
	Problem string `json:"problem,omitempty"`

	Next     string   `json:"next,omitempty"`          // that its commits lead to, where versions are independent
	Unpushed []string `json:"unpushed_tags,omitempty"` // of releases made here, as far as is on record
}

// StatusResult is the release status of an ecosystem (amof contract §13.24). Versions have no prefix, tags have it.
type StatusResult struct {
	Version string             `json:"current_version"` // empty where versions are independent
	Tag     *string            `json:"tag"`
	Stage   string             `json:"stage"`
	Dirty   bool               `json:"dirty"`
	Drift   bool               `json:"version_drift"`
	Branch  string             `json:"branch"`
	Commits int                `json:"commits_since_tag"`
	Recent  []UnreleasedCommit `json:"recent_commits"`
	Next    []release.Way      `json:"next_versions"`
	Repos   []RepoStatus       `json:"repos"`

	Versions    string       `json:"versions,omitempty"`         // independent, or empty: one for all
	Records     []string     `json:"unpushed_records,omitempty"` // tags of releases whose records the workspace root has not pushed
	Interrupted *Interrupted `json:"interrupted,omitempty"`
	Forge       []string     `json:"missing_github_releases,omitempty"` // "api v1.2.0": amof_push_ecosystem makes them
	runs.Envelope
}

// Interrupted is a release whose making was interrupted. The next push or release finishes it if every repository has its tag, and else takes it back.
type Interrupted struct {
	Tag     string   `json:"tag"`
	Tagged  []string `json:"tagged"`  // repositories that have its tag
	Missing []string `json:"missing"` // and those that have not
	Push    bool     `json:"push"`    // it was to be pushed
}

// interrupted returns a release that is noted as under way; nil for none.
func (d Publisher) interrupted(ctx context.Context, f runs.Ecosystem) (*Interrupted, error) {
	j, err := d.noted(ctx, f.Layout)
	if err != nil || j == nil {
		return nil, err
	}
	out := &Interrupted{Tag: j.Tag, Tagged: []string{}, Missing: []string{}, Push: j.Push}
	for _, s := range j.Steps {
		if s.Tag == "" {
			continue
		}
		is, err := d.Git.Tagged(ctx, s)
		if err != nil {
			return nil, err
		}
		if is {
			out.Tagged = append(out.Tagged, s.Name)
		} else {
			out.Missing = append(out.Missing, s.Name)
		}
	}
	if len(out.Tagged)+len(out.Missing) == 0 {
		return nil, nil // only a record that says that something is pushed
	}
	return out, nil
}

func (d service) status(ctx context.Context, sc tool.Scope, in runs.EcosystemInput) (StatusResult, error) {
	f, err := d.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return StatusResult{}, err
	}
	s, err := d.LoadState(ctx, f)
	if err == nil {
		err = d.LoadCommits(ctx, s, map[bool]int{false: recentCommits, true: maxJudged}[s.Independent])
	}
	if err != nil {
		return StatusResult{}, err
	}
	parts := map[string]string{}
	if s.Independent {
		parts = d.judge(ctx, s)
	}
	d.LoadFiles(ctx, s, false, nil)
	pending, err := Publisher(d).Outgoing(ctx, s)
	if err != nil {
		return StatusResult{}, err
	}
	broken, err := Publisher(d).interrupted(ctx, f)
	if err != nil {
		return StatusResult{}, err
	}
	stage, _ := s.Current.Stage()
	out := StatusResult{Version: s.Current.Shown(), Tag: tool.NilIfZero(s.Tag), Stage: stage, Dirty: s.Dirty(), Drift: len(s.Differ) > 0, Branch: s.Branch(), Commits: s.Commits(),
		Recent: s.NewestCommits(recentCommits), Next: release.Ways(s.Current), Records: pending.Records, Interrupted: broken}
	var details []string
	for _, m := range s.Members {
		s.Examine(m, "", "")
		r := RepoStatus{Name: m.Name, Branch: m.Foot.Branch, Head: ShortCommit(m.Foot.Head), Tag: m.Checked.Highest, Dirty: m.Checked.Dirty > 0, Commits: m.History.Total, Problem: m.Checked.Problem, Unpushed: pending.Tags[m.Name]}
		if s.Independent && len(subjects(m.History)) > 0 {
			if next, err := release.Bump(m.Current, parts[m.Name], ""); err == nil {
				r.Next = next.Shown()
			}
		}
		for _, file := range m.Checked.Versions {
			out.Drift = out.Drift || m.Tag != "" && file.Says != m.Current.String()
		}
		out.Repos = append(out.Repos, r)
		line := fmt.Sprintf("%s: %s, %s since", r.Name, cmp.Or(r.Tag, "no tag"), plural(r.Commits, "commit", "commits"))
		if r.Dirty {
			line += ", dirty"
		}
		if len(r.Unpushed) > 0 {
			line += ", not pushed: " + strings.Join(r.Unpushed, ", ")
		}
		details = append(details, cmp.Or(r.Problem, line))
	}
	if len(pending.Records) > 0 {
		details = append([]string{"amof_push_ecosystem pushes what is missing of " + strings.Join(pending.Records, ", ")}, details...)
	}
	if broken != nil {
		details = append([]string{fmt.Sprintf("the release %s was interrupted: %d of %s have its tag", broken.Tag, len(broken.Tagged), plural(len(broken.Tagged)+len(broken.Missing), "repository", "repositories"))}, details...)
	}
	summary := fmt.Sprintf("Found %s at %s (%s), %s since", f.Layout.Name, cmp.Or(s.Tag, "no release"), stage, plural(out.Commits, "commit", "commits"))
	if s.Independent {
		out.Version, out.Stage, out.Versions = "", "", release.Independent
		out.Next = []release.Way{}
		summary = fmt.Sprintf("Found %s with independent versions, %s since them", f.Layout.Name, plural(out.Commits, "commit", "commits"))
	}
	owed, err := Publisher(d).OwedForge(ctx, f.Layout)
	if err != nil {
		return StatusResult{}, err
	}
	if out.Forge = forgeTitles(owed); len(owed) > 0 {
		details = append([]string{"amof_push_ecosystem makes the missing releases on GitHub: " + strings.Join(out.Forge, ", ")}, details...)
	}
	text := runs.AnswerText{Summary: summary, Details: lines(details)}
	out.Envelope = d.Show(sc, runs.Subject{Ecosystem: f.Layout.Name, Release: s.Tag}, text, runs.AfterRelease(f.Layout.Name, current(s), out.Commits)...)
	return out, nil
}

// current returns the stage of the current release, empty for none.
func current(s *ReleaseState) string {
	if s.Tag == "" {
		return ""
	}
	stage, _ := s.Current.Stage()
	return stage
}

// lines are as many as an answer takes.
func lines(all []string) []string {
	const most = 15
	if len(all) <= most {
		return all
	}
	return append(slices.Clone(all[:most-1]), fmt.Sprintf("and %d more", len(all)-most+1))
}

// ValidateInput is what is to be released.
type ValidateInput struct {
	runs.EcosystemInput
	Stage string `json:"target,omitempty" jsonschema:"enum=alpha,enum=beta,enum=rc,enum=stable,description=stage that is aimed at; default stable"`
}

// Validation is whether an ecosystem can be released (amof contract §13.25).
type Validation struct {
	release.Checks
	runs.Envelope
}

func (d service) validate(ctx context.Context, sc tool.Scope, in ValidateInput) (Validation, error) {
	f, err := d.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return Validation{}, err
	}
	s, err := d.LoadState(ctx, f)
	if err != nil {
		return Validation{}, err
	}
	d.LoadFiles(ctx, s, false, nil)
	out := Validation{Checks: d.Check(ctx, s, Request{}, "", cmp.Or(in.Stage, release.Stable))}
	verdict := map[string]string{"ok": "Checked %s: it can be released", "warning": "Checked %s: it can be released, with %s", "failed": "Checked %s: it cannot be released, %s"}[out.Status]
	args := []any{f.Layout.Name}
	switch out.Status {
	case "warning":
		args = append(args, plural(len(out.Warnings), "warning", "warnings"))
	case "failed":
		args = append(args, plural(len(out.Errors), "error", "errors"))
	}
	var details []string
	for _, e := range out.Errors {
		details = append(details, "✗ "+e)
	}
	for _, w := range out.Warnings {
		details = append(details, "! "+w)
	}
	text := runs.AnswerText{Summary: fmt.Sprintf(verdict, args...), Details: lines(details)}
	out.Envelope = d.Show(sc, runs.Subject{Ecosystem: f.Layout.Name}, text, runs.AfterRelease(f.Layout.Name, current(s), 0)...)
	return out, nil
}

// LogInput bounds a log.
type LogInput struct {
	runs.EcosystemInput
	Limit int `json:"limit,omitempty" jsonschema:"minimum=1,maximum=30,description=releases to list (default 10)"`
}

// LogEntry is a release.
type LogEntry struct {
	Tag     string     `json:"tag"`
	Date    *time.Time `json:"date"`
	Action  *string    `json:"action"`
	Stage   string     `json:"stage"`
	Commits *int       `json:"commits"`
	Origin  *string    `json:"origin"`
	Tags    []string   `json:"tags,omitempty"` // "api v1.2.0", where versions are independent: tag names the release then
}

// ReleaseLog is the releases of an ecosystem (amof contract §13.28): from the records, or from the tags where there are none.
type ReleaseLog struct {
	Records []LogEntry `json:"records"`
	Source  string     `json:"source"` // records or tags
	runs.Envelope
}

func (d service) log(ctx context.Context, sc tool.Scope, in LogInput) (ReleaseLog, error) {
	f, err := d.FindValid(ctx, sc, in.Ecosystem)
	if err != nil {
		return ReleaseLog{}, err
	}
	texts, err := d.Git.Records(ctx, f.Layout.Root, f.Manifest().Release.RecordDir)
	if err != nil {
		return ReleaseLog{}, err
	}
	var records []release.Record
	for _, text := range texts {
		if r, ok := release.ReadRecord(text); ok {
			records = append(records, r)
		}
	}
	out := ReleaseLog{Records: []LogEntry{}, Source: "records"}
	limit := cmp.Or(in.Limit, logDefault)
	if len(records) == 0 && f.State.Installed() {
		out.Source = "tags"
		if out.Records, err = d.tagged(ctx, f, min(limit, maxTags)); err != nil {
			return ReleaseLog{}, err
		}
	}
	for _, r := range release.SortRecords(records)[:min(limit, len(records))] {
		out.Records = append(out.Records, LogEntry{Tag: r.Tag, Date: &r.Timestamp, Action: tool.NilIfZero(r.Action), Stage: r.Stage, Commits: &r.Commits, Origin: tool.NilIfZero(r.Origin), Tags: ownTags(r)})
	}
	var details []string
	for _, e := range out.Records {
		line := e.Tag + " " + e.Stage
		if e.Date != nil {
			line = e.Date.Format(time.DateOnly) + " " + line
		}
		details = append(details, line)
	}
	out.Envelope = d.Show(sc, runs.Subject{Ecosystem: f.Layout.Name}, runs.AnswerText{Summary: fmt.Sprintf("Listed %s of %s", plural(len(out.Records), "release", "releases"), f.Layout.Name), Details: lines(details)})
	return out, nil
}

// ownTags returns the repositories of a release with the tags that they have of their own.
func ownTags(r release.Record) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Repos)) {
		if tag := r.Repos[name].Tag; tag != "" {
			out = append(out, name+" "+tag)
		}
	}
	return out
}

// tagged returns the log that the tags tell which all repositories have.
func (d service) tagged(ctx context.Context, f runs.Ecosystem, limit int) ([]LogEntry, error) {
	s, err := d.LoadState(ctx, f)
	if err != nil {
		return nil, err
	}
	first := s.Members[0]
	shared := release.ParseTags(s.Rules.TagPrefix, slices.Collect(maps.Keys(first.Foot.Tags)))
	maps.DeleteFunc(shared, func(tag string, _ release.Version) bool {
		return slices.ContainsFunc(s.Members, func(m *RepoState) bool { _, has := m.Foot.Tags[tag]; return !has })
	})
	names := slices.SortedFunc(maps.Keys(shared), func(a, b string) int { return cmp.Or(release.CompareVersions(shared[b], shared[a]), cmp.Compare(b, a)) })
	names = names[:min(limit, len(names))]
	times, err := d.Git.Times(ctx, first.Dir, names)
	if err != nil {
		return nil, err
	}
	out := []LogEntry{}
	for _, name := range names {
		stage, _ := shared[name].Stage()
		out = append(out, LogEntry{Tag: name, Stage: stage, Date: tool.NilIfZero(times[name])})
	}
	return out, nil
}
