package releases

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/relpath"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Deps is what releases are worked out and made with. Every field is required.
type Deps struct {
	runs.Deps
	Git   ecosystemport.ReleaseGit
	Forge ecosystemport.Forge
}

// RepoState is a repository of a release, as it is.
type RepoState struct {
	ecosystem.Repo
	Dir     string // absolute
	Foot    ecosystemport.ReleaseBase
	History ecosystemport.History    // since the current tag
	Notes   ecosystemport.History    // that changelogs and tags are told
	Edits   []ecosystemport.FileEdit // files that are written
	Ranges  map[string][]string      // by file: dependencies on others of the release that are written anew, as "lib ^1.2.0 → ^1.3.0"
	Checked release.Repo

	Tag      string          // the current version's: the common one, or its own where versions are independent
	Current  release.Version // 0.0.0 without one
	Next     release.Version // that it is released as
	NextTag  string
	standard map[string][]byte // the standard files that git tracks

	Updated []string // what it depends on that is released with it: "api to 1.2.0"
}

// ReleaseState is what a release starts from.
type ReleaseState struct {
	Found   runs.Ecosystem
	Rules   ecosystem.Release
	Members []*RepoState              // that are released
	All     []*RepoState              // and those that could be
	Root    ecosystemport.ReleaseBase // of the workspace root, where releases are recorded
	Tag     string                    // the current one; empty for none
	Current release.Version
	Differ  []int // members with another highest tag

	Independent bool // each repository has a version of its own; Tag and Current are none then
}

// members returns the repositories of a release, in the order of the manifest's release.repos. It fails with ecosystem.ErrRepo,
// ecosystem.ErrReadOnly and ecosystem.ErrNoWork.
func members(f runs.Ecosystem) ([]*RepoState, error) {
	m := f.Manifest()
	names := m.Release.Repos
	if len(names) == 0 {
		names = ecosystem.RepoNames(m.Writable())
	}
	var out []*RepoState
	for _, name := range names {
		repos, err := m.Choose([]string{name})
		if err != nil {
			return nil, err
		}
		if repos[0].ReadOnly {
			return nil, ecosystem.ErrReadOnly.WithMessage("release.repos of ecosystem %s names %s, which is read-only; take it out, or make it writable", m.Name, name)
		}
		out = append(out, &RepoState{Repo: repos[0], Dir: path.Join(f.Layout.Workspace, repos[0].Path)})
	}
	if len(out) == 0 {
		return nil, ecosystem.ErrNoWork.WithMessage("ecosystem %s has no repository that may be written, so that there is nothing to release", m.Name)
	}
	return out, nil
}

// LoadState looks at all repositories, and at the workspace root.
func (d Deps) LoadState(ctx context.Context, f runs.Ecosystem) (*ReleaseState, error) {
	s := &ReleaseState{Found: f, Rules: f.Manifest().Release}
	var err error
	if s.Members, err = members(f); err != nil {
		return nil, err
	}
	var dirs []string
	for _, m := range s.Members {
		dirs = append(dirs, m.Dir)
	}
	feet := d.Git.ReleaseBases(ctx, append(dirs, f.Layout.Root))
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	var versions []map[string]release.Version
	for i, m := range s.Members {
		m.Foot = feet[i]
		if m.Foot.Err == nil { // one that cannot be looked at says so in the checks, and nothing about versions
			versions = append(versions, release.ParseTags(s.Rules.TagPrefix, slices.Collect(maps.Keys(m.Foot.Tags))))
		}
	}
	s.Root = feet[len(s.Members)]
	s.All = slices.Clone(s.Members)
	if s.Rules.Independent {
		s.ownVersions()
		return s, nil
	}
	s.Tag, s.Current, s.Differ = release.CommonTag(versions)
	for _, m := range s.Members {
		m.Tag, m.Current = s.Tag, s.Current
	}
	return s, nil
}

// LoadCommits reads what was committed since the current tag, at most that many commits a repository.
func (d Deps) LoadCommits(ctx context.Context, s *ReleaseState, most int) error {
	var spans []ecosystemport.CommitRange
	for _, m := range s.Members {
		spans = append(spans, m.span())
	}
	for i, h := range d.Git.Since(ctx, spans, most) {
		m := s.Members[i]
		if m.History = h; h.Err != nil && m.Foot.Err == nil {
			m.Foot.Err = h.Err
		}
		for j := range m.History.Commits {
			m.History.Commits[j].Subject = release.PlainSubject(m.History.Commits[j].Subject)
		}
	}
	if err := ctx.Err(); err != nil {
		return fault.From(err)
	}
	return nil
}

// Examine fills in what the checks need to know about a member that moves to that tag, or to that stage.
func (s *ReleaseState) Examine(m *RepoState, nextTag, aimed string) {
	own, _ := release.HighestTag(release.ParseTags(s.Rules.TagPrefix, slices.Collect(maps.Keys(m.Foot.Tags))))
	if s.Independent {
		stage, _ := m.Next.Stage()
		m.Checked.Own = &release.Own{Tag: m.Tag, Current: m.Current, NextTag: m.NextTag, Next: m.Next, Stage: cmp.Or(aimed, stage)}
		nextTag = m.NextTag
	}
	_, has := m.Foot.Tags[nextTag]
	m.Checked.Name, m.Checked.Usual, m.Checked.Highest, m.Checked.HasNext = m.Name, m.Branch, own, has && nextTag != ""
	m.Checked.Branch, m.Checked.Born, m.Checked.Doing = m.Foot.Branch, m.Foot.Head != "", m.Foot.Doing
	m.Checked.Dirty, m.Checked.Changed, m.Checked.Behind, m.Checked.Commits = len(m.Foot.Changed), m.Foot.Changed, m.Foot.Behind, m.History.Total
	if m.Foot.Err != nil {
		m.Checked.Problem = fault.From(m.Foot.Err).Message
	}
}

// Branch returns the checked-out branch of the repositories; if they differ, all are named.
func (s *ReleaseState) Branch() string {
	var names []string
	for _, m := range s.Members {
		if b := m.Foot.Branch; b != "" && !slices.Contains(names, b) {
			names = append(names, b)
		}
	}
	return strings.Join(names, ", ")
}

// Dirty reports changes that are not committed.
func (s *ReleaseState) Dirty() bool {
	return slices.ContainsFunc(s.Members, func(m *RepoState) bool { return len(m.Foot.Changed) > 0 })
}

// Commits returns how many there are since the current tag.
func (s *ReleaseState) Commits() (n int) {
	for _, m := range s.Members {
		n += m.History.Total
	}
	return n
}

// LoadFiles reads the version files and the changelog of every member and works out what becomes of them when a release is made.
func (d Deps) LoadFiles(ctx context.Context, s *ReleaseState, making bool, notes func(*RepoState) release.Notes) {
	for _, m := range s.Members {
		next := ""
		if making {
			next = m.Next.String()
		}
		if m.Foot.Err != nil {
			continue
		}
		var paths []string
		for _, v := range s.Rules.VersionFiles {
			if v.Repo == m.Name && !slices.Contains(paths, v.Path) {
				paths = append(paths, v.Path)
			}
		}
		if s.Rules.Standard {
			d.standardFiles(ctx, s, m, next)
		}
		if s.Rules.Changelog != "" && !slices.Contains(paths, s.Rules.Changelog) {
			paths = append(paths, s.Rules.Changelog)
		}
		found := d.Git.Texts(ctx, m.Dir, paths)
		for i, name := range paths {
			edit := ecosystemport.FileEdit{Path: name, Old: found[i].Data, New: found[i].Data}
			s.versions(m, &edit, found[i], next)
			if name == s.Rules.Changelog {
				m.Checked.Log = release.File{Path: name, Missing: found[i].Missing, Err: found[i].Err}
				if found[i].Data != nil && next != "" {
					edit.New, _ = release.UpdateChangelog(edit.New, notes(m))
				}
			}
			if string(edit.New) != string(edit.Old) {
				m.Edits = append(m.Edits, edit)
			}
		}
	}
	if making && s.Rules.Standard {
		s.setRanges()
	}
}

// setRanges has the members depend on one another as they are released: where the manifest of a package names another member's package by a version.
func (s *ReleaseState) setRanges() {
	for _, file := range []string{"package.json", "Cargo.toml"} {
		packages := map[string]release.Version{}
		for _, m := range s.Members {
			if name := release.PackageName(file, m.standard[file]); name != "" {
				packages[name] = m.Next
			}
		}
		for _, m := range s.Members {
			at := slices.IndexFunc(m.Edits, func(e ecosystemport.FileEdit) bool { return e.Path == file })
			text := m.standard[file]
			if at >= 0 {
				text = m.Edits[at].New
			}
			out, changes := release.SetRanges(file, text, packages)
			if len(changes) == 0 {
				continue
			}
			if at < 0 {
				m.Edits = append(m.Edits, ecosystemport.FileEdit{Path: file, Old: text, New: out})
			} else {
				m.Edits[at].New = out
			}
			if m.Ranges == nil {
				m.Ranges = map[string][]string{}
			}
			for _, c := range changes {
				m.Ranges[file] = append(m.Ranges[file], c.Name+" "+c.Old+" → "+c.New)
			}
		}
	}
}

// standardFiles reads the version files that are known by their names, and works out what becomes of them.
func (d Deps) standardFiles(ctx context.Context, s *ReleaseState, m *RepoState, next string) {
	texts, there := map[string][]byte{}, []string{}
	for i, text := range d.Git.Texts(ctx, m.Dir, release.StandardFiles) {
		if text.Err == nil && !text.Missing && release.StandardFiles[i] != s.Rules.Changelog {
			texts[release.StandardFiles[i]] = text.Data
			there = append(there, release.StandardFiles[i])
		}
	}
	if len(there) == 0 {
		return
	}
	tracked, err := d.Git.Tracked(ctx, m.Dir, there)
	if err != nil {
		m.Foot.Err = err
		return
	}
	maps.DeleteFunc(texts, func(name string, _ []byte) bool { return !slices.Contains(tracked, name) }) // ignored and untracked files are not released
	m.standard = texts
	out, was := release.SetStandard(texts, cmp.Or(next, m.Current.String()))
	for _, name := range release.StandardFiles {
		if out[name] == nil {
			continue
		}
		m.Checked.Versions = append(m.Checked.Versions, release.File{Path: name, Says: was[name]})
		if next != "" && string(out[name]) != string(texts[name]) {
			m.Edits = append(m.Edits, ecosystemport.FileEdit{Path: name, Old: texts[name], New: out[name]})
		}
	}
}

// versions applies all patterns to the file.
func (s *ReleaseState) versions(m *RepoState, edit *ecosystemport.FileEdit, found ecosystemport.FileText, next string) {
	for _, v := range s.Rules.VersionFiles {
		if v.Repo != m.Name || v.Path != edit.Path {
			continue
		}
		file := release.File{Path: v.Path, Missing: found.Missing, Err: found.Err}
		if found.Data != nil {
			to := next
			if to == "" {
				to = m.Current.String()
			}
			var out []byte
			if out, file.Says, file.Err = release.SetVersion(v.Path, edit.New, v.Pattern, to); file.Err == nil && next != "" {
				edit.New = out
			}
		}
		m.Checked.Versions = append(m.Checked.Versions, file)
	}
}

// wrong returns what makes a release impossible wherever it is tagged.
func (s *ReleaseState) wrong() (out []string) {
	for _, v := range s.Rules.VersionFiles {
		if !slices.ContainsFunc(s.All, func(m *RepoState) bool { return m.Name == v.Repo }) {
			out = append(out, "release.version_files of the manifest names "+v.Path+" of "+v.Repo+", which is not released; take it out, or add the repository to release.repos")
		}
	}
	switch root := s.Root; {
	case root.Err != nil:
		out = append(out, "the workspace root, where releases are recorded: "+fault.From(root.Err).Message)
	case root.Doing != "":
		out = append(out, "the workspace root, where releases are recorded: git is in the middle of a "+root.Doing+"; finish or abort it")
	case root.Branch == "":
		out = append(out, "the workspace root, where releases are recorded: the HEAD is detached; check out a branch")
	}
	if _, err := relpath.Parse(s.Rules.RecordDir); err != nil {
		out = append(out, "release.record_dir of the manifest: "+fault.From(err).Message)
	}
	return out
}

// RecordPath returns where the release of a tag is recorded, relative to the workspace root.
func (s *ReleaseState) RecordPath(tag string) string {
	return path.Join(s.Rules.RecordDir, strings.ReplaceAll(tag, "/", "-")+".json")
}

// tagName fails with ecosystem.ErrManifest for a tag that git would not take.
func tagName(tag string) error {
	if _, err := git.ParseBranch(tag); err != nil {
		return ecosystem.ErrManifest.WithMessage("%q is no tag that git accepts; correct release.tag_prefix of the manifest", tag)
	}
	return nil
}

// UnreleasedCommit is a commit that no release has.
type UnreleasedCommit struct {
	Repo    string `json:"repo"`
	Commit  string `json:"commit"` // short
	Subject string `json:"subject"`
}

// NewestCommits returns the newest commits of all members, at most that many.
func (s *ReleaseState) NewestCommits(most int) []UnreleasedCommit {
	type place struct {
		at    time.Time
		m     *RepoState
		index int
	}
	var all []*place
	for _, m := range s.Members {
		for i, c := range m.History.Commits {
			all = append(all, &place{c.At, m, i})
		}
	}
	slices.SortStableFunc(all, func(a, b *place) int { return b.at.Compare(a.at) })
	out := []UnreleasedCommit{}
	for _, p := range all[:min(most, len(all))] {
		c := p.m.History.Commits[p.index]
		out = append(out, UnreleasedCommit{Repo: p.m.Name, Commit: ShortCommit(c.ID), Subject: c.Subject})
	}
	return out
}

// ShortCommit returns a commit as users see it.
func ShortCommit(id string) string { return id[:min(12, len(id))] }

// Check returns the checks of a release of that tag (empty where only the stage counts). The members' texts were read before.
func (d Deps) Check(ctx context.Context, s *ReleaseState, o Request, nextTag, stage string) release.Checks {
	next, _ := release.ParseVersion(strings.TrimPrefix(nextTag, s.Rules.TagPrefix))
	aim := release.Target{Tag: s.Tag, Current: s.Current, NextTag: nextTag, Next: next, Prefix: s.Rules.TagPrefix, Stage: stage, Empty: nextTag != "" && o.Action == "bump" && s.Tag != "" && (s.Current.Pre == "" || o.Stage != "") && s.Commits() == 0, Strict: o.Strict, Skip: o.Skip, Wrong: s.wrong()}
	if i := slices.IndexFunc(s.Members, func(m *RepoState) bool { return m.Foot.Err == nil }); i >= 0 {
		_, aim.Author = d.Git.Author(ctx, s.Members[i].Dir)
	}
	if nextTag != "" && len(aim.Wrong) == 0 {
		record := s.RecordPath(nextTag)
		if !d.Git.Texts(ctx, s.Found.Layout.Root, []string{record})[0].Missing {
			aim.Wrong = append(aim.Wrong, record+" is there already, although "+nextTag+" is not released; move it away")
		}
	}
	var repos []release.Repo
	for _, m := range s.Members {
		aimed := ""
		if nextTag == "" {
			aimed = stage
		}
		s.Examine(m, nextTag, aimed)
		repos = append(repos, m.Checked)
	}
	return release.RunChecks(aim, repos)
}
