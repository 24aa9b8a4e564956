package releases

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// rootKey stands for the workspace root in the record of what is not pushed: its tags are those of the releases whose records have not got out.
const rootKey = ""

// Outgoing is what of the releases made here has not been pushed, as far as is on record.
type Outgoing struct {
	Tags    map[string][]string // by repository, as far as they are still here; the lowest version first
	Records []string            // tags of the releases whose records the workspace root has not pushed

	own map[string]map[string]string // tags by repository, of releases with independent versions
}

// Empty reports that everything got out.
func (o Outgoing) Empty() bool { return len(o.Tags) == 0 && len(o.Records) == 0 }

// Without returns, by repository, the releases that are complete once those tags are pushed.
func (o Outgoing) Without(pushed map[string][]string) (records []string) {
	for _, tag := range o.Records {
		missing := false
		for repo, names := range o.Tags {
			own := tag
			if by, independent := o.own[tag]; independent {
				own = by[repo]
			}
			missing = missing || slices.Contains(names, own) && !slices.Contains(pushed[repo], own)
		}
		if !missing {
			records = append(records, tag)
		}
	}
	return records
}

// Outgoing returns what has not been pushed of the releases in that state.
func (d Publisher) Outgoing(ctx context.Context, s *ReleaseState) (Outgoing, error) {
	left, err := d.loadUnpushed(ctx, s.Found.Layout)
	out := Outgoing{Tags: map[string][]string{}, own: map[string]map[string]string{}}
	if err != nil {
		return out, err
	}
	out.Records = left[rootKey]
	for _, name := range out.Records {
		if r, ok := release.ReadRecord(d.Git.Texts(ctx, s.Found.Layout.Root, []string{s.RecordPath(name)})[0].Data); ok && r.Versions == release.Independent {
			out.own[name] = map[string]string{}
			for repo, recorded := range r.Repos {
				out.own[name][repo] = recorded.Tag
			}
		}
	}
	for _, m := range s.All {
		for _, tag := range left[m.Name] {
			if _, there := m.Foot.Tags[tag]; there {
				out.Tags[m.Name] = append(out.Tags[m.Name], tag)
			}
		}
		SortTags(s.Rules.TagPrefix, out.Tags[m.Name])
	}
	return out, nil
}

// Pending returns what has not been pushed of an ecosystem's releases. It looks at no repository where nothing is on record.
func (d Publisher) Pending(ctx context.Context, f runs.Ecosystem) (Outgoing, error) {
	left, err := d.loadUnpushed(ctx, f.Layout)
	if err != nil || len(left) == 0 {
		return Outgoing{}, err
	}
	s, err := d.LoadState(ctx, f)
	if err != nil {
		return Outgoing{Records: left[rootKey]}, nil //nolint:nilerr // nothing can be released, so that nothing is waited for
	}
	return d.Outgoing(ctx, s)
}

// ReleaseTags returns those of the tags that name versions, the lowest first.
func ReleaseTags(prefix string, names []string) []string {
	tags := slices.Collect(maps.Keys(release.ParseTags(prefix, names)))
	SortTags(prefix, tags)
	return tags
}

// SortTags sorts tags by their versions, the lowest first.
func SortTags(prefix string, tags []string) {
	versions := release.ParseTags(prefix, tags)
	slices.SortFunc(tags, func(a, b string) int {
		return cmp.Or(release.CompareVersions(versions[a], versions[b]), cmp.Compare(a, b))
	})
}

// Delivered puts on record that those tags of a repository got out.
func (d Publisher) Delivered(ctx context.Context, l ecosystem.Layout, repo string, tags []string) error {
	left, err := d.loadUnpushed(ctx, l)
	if err != nil || len(left) == 0 {
		return err
	}
	left[repo] = slices.DeleteFunc(left[repo], func(tag string) bool { return slices.Contains(tags, tag) })
	return d.saveUnpushed(ctx, l, left)
}

// RootPlan is what becomes of the workspace root, where releases are recorded.
type RootPlan struct {
	Dir      string   `json:"dir"`
	Branch   string   `json:"branch"`
	Remote   string   `json:"remote"`  // empty: there is none, so nothing is pushed
	Commits  []string `json:"commits"` // subjects of the commits that are made, in their order
	Files    []string `json:"files"`   // that they write, relative to the root
	Others   []string `json:"also_pushed"`
	Total    int      `json:"also_pushed_total"`
	WillPush bool     `json:"will_push"`
}

// maxOthers is how many commits that are pushed besides are named.
const maxOthers = 20

// RootPlan returns what is pushed from the workspace root with those commits: the branch with everything that it has. With ask it contacts the root's origin
// to name the other commits.
func (d Publisher) RootPlan(ctx context.Context, root ecosystemport.ReleaseBase, l ecosystem.Layout, commits, files []string, push, ask bool) (*RootPlan, error) {
	p := &RootPlan{Dir: l.Root, Branch: root.Branch, Commits: commits, Files: files, Others: []string{}}
	if !push || root.Err != nil || root.Branch == "" {
		return p, nil
	}
	named := 0
	if ask {
		named = maxOthers
	}
	origin, err := d.Git.Origin(ctx, l.Root, root.Branch, named)
	if err != nil {
		return p, err
	}
	p.Remote, p.WillPush, p.Total = origin.URL, origin.URL != "", origin.Total
	for _, c := range origin.Ahead {
		p.Others = append(p.Others, release.PlainSubject(c.Subject))
	}
	return p, nil
}

// RecordsPlan returns what becomes of the workspace root when those releases have got out, with ask as for RootPlan.
func (d Publisher) RecordsPlan(ctx context.Context, f runs.Ecosystem, tags []string, ask bool) (*RootPlan, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	s := &ReleaseState{Found: f, Rules: f.Manifest().Release}
	root := d.Git.ReleaseBases(ctx, []string{f.Layout.Root})[0]
	if root.Err != nil {
		return nil, root.Err
	}
	commits, files := []string{}, []string{}
	for _, e := range d.pushedRecords(ctx, s, tags) {
		files = append(files, e.Path)
	}
	if len(files) > 0 {
		commits = append(commits, pushedSubject(tags))
	}
	return d.RootPlan(ctx, root, f.Layout, commits, files, true, ask)
}

func pushedSubject(tags []string) string {
	return release.CommitSubject(strings.Join(tags, ", ")) + " pushed"
}

// pushedRecords returns the records of releases as they say that those are pushed, where they do not yet.
func (d Publisher) pushedRecords(ctx context.Context, s *ReleaseState, tags []string) (edits []ecosystemport.FileEdit) {
	for _, tag := range tags {
		name := s.RecordPath(tag)
		text := d.Git.Texts(ctx, s.Found.Layout.Root, []string{name})[0]
		r, ok := release.ReadRecord(text.Data)
		if text.Err != nil || text.Missing || !ok || r.Pushed {
			continue
		}
		r.Pushed = true
		if now, err := r.Text(); err == nil {
			edits = append(edits, ecosystemport.FileEdit{Path: name, Old: text.Data, New: now})
		}
	}
	return edits
}

// RootResult is what came of the workspace root.
type RootResult struct {
	Status string   `json:"status"` // pushed, failed, or skipped where it has no remote
	Branch string   `json:"branch"`
	Tags   []string `json:"tags"` // of the releases whose records say now that they are pushed
	Reason string   `json:"reason,omitempty"`
}

// DeliverRecords has the records of the releases that are out everywhere say so, and pushes the workspace root's branch with them. With nothing to do the
// result is nil. The caller has the ecosystem's lock. Wherever it is interrupted, the next call goes on.
func (d Publisher) DeliverRecords(ctx context.Context, f runs.Ecosystem, log func(level, message string)) (*RootResult, error) {
	pending, err := d.Pending(ctx, f)
	if err != nil {
		return nil, err
	}
	tags := pending.Without(nil)
	if len(tags) == 0 {
		return nil, nil
	}
	s := &ReleaseState{Found: f, Rules: f.Manifest().Release}
	root := d.Git.ReleaseBases(ctx, []string{f.Layout.Root})[0]
	out := &RootResult{Status: "failed", Branch: root.Branch, Tags: tags}
	if root.Err == nil && root.Branch == "" {
		root.Err = ecosystem.ErrFailed.WithMessage("the HEAD is detached; check out a branch")
	}
	if root.Err != nil {
		out.Reason = fault.From(root.Err).Message
		return out, nil
	}
	if edits := d.pushedRecords(ctx, s, tags); len(edits) > 0 {
		if err := d.recordPushed(ctx, f.Layout, root, tags, edits); err != nil {
			log("warning", "the records could not be told that "+strings.Join(tags, ", ")+" is pushed: "+fault.From(err).Message)
		}
	}
	origin, err := d.Git.Origin(ctx, f.Layout.Root, root.Branch, 0)
	if err != nil {
		return out, err
	}
	if out.Status = "skipped"; origin.URL != "" {
		if err := d.Git.Push(ctx, f.Layout.Root, root.Branch, nil); err != nil {
			if ctx.Err() != nil {
				return out, err
			}
			out.Status, out.Reason = "failed", fault.From(err).Message
			log("error", "workspace root: "+root.Branch+" could not be pushed: "+out.Reason)
			return out, nil
		}
		out.Status = "pushed"
		log("info", "workspace root: pushed "+root.Branch+" with the records of "+strings.Join(tags, ", "))
	} else {
		out.Reason = "it has no remote"
		log("info", "workspace root: it has no remote, so that the records stay here")
	}
	return out, d.Delivered(ctx, f.Layout, rootKey, tags)
}

// recordPushed commits the records in the workspace root.
func (d Publisher) recordPushed(ctx context.Context, l ecosystem.Layout, root ecosystemport.ReleaseBase, tags []string, edits []ecosystemport.FileEdit) error {
	work := ecosystemport.ReleaseWork{Name: "workspace root", Dir: l.Root, Branch: root.Branch, Head: root.Head, At: d.Clock.Now().UTC(), Files: edits, Message: pushedSubject(tags) + "\n"}
	step, err := d.Git.Prepare(ctx, work)
	if err != nil {
		return err
	}
	if err := d.note(ctx, l, &journal{Tag: strings.Join(tags, ", "), Finish: true, Steps: []ecosystemport.ReleaseStep{step}, Record: work}); err != nil {
		return err
	}
	err = d.Git.Make(ctx, step)
	if done := d.note(ctx, l, nil); err == nil {
		err = done
	}
	return err
}

// Unpushed returns what is on record as not pushed: tags by repository. It looks at no repository.
func Unpushed(ctx context.Context, states ecosystemport.States, l ecosystem.Layout) map[string][]string {
	left, err := Publisher{Deps: Deps{Deps: runs.Deps{States: states}}}.loadUnpushed(ctx, l)
	if err != nil {
		return nil
	}
	delete(left, rootKey)
	return left
}

func (d Publisher) loadUnpushed(ctx context.Context, l ecosystem.Layout) (map[string][]string, error) {
	doc, err := d.States.Noted(ctx, l, unpushedNote)
	left := map[string][]string{}
	if err == nil && doc != nil && json.Unmarshal(doc, &left) != nil {
		left = map[string][]string{} // only what would be pushed besides is lost with it
	}
	return left, err
}

func (d Publisher) saveUnpushed(ctx context.Context, l ecosystem.Layout, left map[string][]string) error {
	maps.DeleteFunc(left, func(_ string, tags []string) bool { return len(tags) == 0 })
	if len(left) == 0 {
		return d.States.Note(ctx, l, unpushedNote, nil)
	}
	doc, err := json.Marshal(left)
	if err != nil {
		return err
	}
	return d.States.Note(ctx, l, unpushedNote, doc)
}
