package releases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// ReleasedRepo is what came of a repository.
type ReleasedRepo struct {
	Name   string `json:"name"`
	Status string `json:"status"` // tagged, or undone
	Branch string `json:"branch"`
	SHA    string `json:"sha"`
	TagSHA string `json:"tag_sha"`
	Commit bool   `json:"commit"`        // one was made for the release
	Tag    string `json:"tag,omitempty"` // its own, where versions are independent
	Push   string `json:"push"`          // pushed, failed or skipped
	Error  string `json:"error,omitempty"`
}

// ReleaseResult is the result of a run.
type ReleaseResult struct {
	Status  string         `json:"status"`  // success or failed
	Version string         `json:"version"` // empty where versions are independent; tag names the release then
	Tag     string         `json:"tag"`
	Was     *string        `json:"previous_tag"`
	Repos   []ReleasedRepo `json:"repos"`
	Record  string         `json:"record"`
	Pushed  bool           `json:"pushed"`
	Root    *RootResult    `json:"root,omitempty"`   // of the push
	Resume  []string       `json:"resume,omitempty"` // how what was not pushed can be
	Notes   []string       `json:"notes"`

	Forge  []PublishedRelease `json:"github_releases,omitempty"`
	Others []OtherRelease     `json:"not_on_github,omitempty"` // that can be made by hand
}

// atATime is how many repositories are prepared at a time.
const atATime = 8

// attempts is how often a record is rewritten because the workspace root has new commits.
const attempts = 5

// job is a release that is being made.
type job struct {
	Publisher
	runs.Job
	*Draft
	journal *journal
	record  release.Record
	out     ReleaseResult
}

// Do implements runs.Performer: every object is made first, then every repository is moved in one stroke each, then the release is recorded.
// On a failure before that everything is taken back. Pushing comes last, and its failure takes nothing back.
func (d Publisher) Do(ctx context.Context, j runs.Job) (any, error) {
	var o Request
	if err := json.Unmarshal(j.Run.Payload, &o); err != nil {
		return nil, err
	}
	if err := d.settle(ctx, j.Found.Layout, j.Log); err != nil {
		return nil, err
	}
	dr, err := d.Draft(ctx, j.Found, o)
	if err == nil {
		err = same(dr, j)
	}
	if err == nil {
		err = dr.CheckError()
	}
	if err != nil {
		return nil, err
	}
	if asked := j.Run.CreatedAt.UTC().Truncate(time.Second); asked.Format(time.DateOnly) == dr.Order.At.Format(time.DateOnly) {
		dr.Order.At = asked
	}
	w := &job{Publisher: d, Job: j, Draft: dr, out: ReleaseResult{Status: "success", Version: dr.Next.Shown(), Tag: dr.Order.Tag, Was: tool.NilIfZero(dr.Tag), Record: dr.RecordPath(dr.Order.Tag),
		Notes: []string{"hooks of the repositories were not run", "commits and tags are not signed"}}}
	if dr.Independent {
		w.out.Version = ""
	}
	if dr.Order.Push {
		if err := d.checkRemotes(ctx, dr); err != nil { // they may have changed since the plan
			return nil, err
		}
	}
	if err := w.prepare(ctx); err != nil {
		return nil, err
	}
	if err := w.make(ctx); err != nil {
		return w.takeBack(ctx, err)
	}
	if !dr.Order.Push {
		return w.out, nil
	}
	return w.pushAll(ctx)
}

// same fails with ecosystem.ErrChanged if the current state differs from the approved one.
func same(dr *Draft, j runs.Job) error {
	hash, err := runs.FactsHash(dr.Facts())
	if err == nil && hash != j.Run.Facts {
		err = ecosystem.ErrChanged.WithMessage("what %s of %s was confirmed from has changed since; call it again to see and confirm what it would do now", j.Run.Action, j.Run.Ecosystem)
	}
	return err
}

// prepare makes all objects. Nothing is to be seen of them.
func (w *job) prepare(ctx context.Context) error {
	steps := make([]ecosystemport.ReleaseStep, len(w.Members)+1)
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for i, m := range w.Members {
		group.Go(func() (err error) {
			steps[i], err = w.Git.Prepare(within, w.work(m))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	w.Log("info", fmt.Sprintf("prepared %s: every commit and tag exists, and nothing shows it yet", w.Order.Tag))
	w.record = w.recorded(steps[:len(w.Members)])
	work, err := w.recording(w.Root.Head, nil)
	if err != nil {
		return err
	}
	if steps[len(w.Members)], err = w.Git.Prepare(ctx, work); err != nil {
		return err
	}
	w.journal = &journal{Tag: w.Order.Tag, Steps: steps, Record: work, Push: w.Order.Push, Forge: w.Order.Forge}
	for i, m := range w.Members {
		s := steps[i]
		one := ReleasedRepo{Name: m.Name, Status: "tagged", Branch: s.Branch, SHA: s.New, TagSHA: s.TagObject, Commit: s.New != s.Old, Push: "skipped"}
		if w.Independent {
			one.Tag = s.Tag
		}
		w.out.Repos = append(w.out.Repos, one)
	}
	return nil
}

// work returns the commit and the tag of a member.
func (w *job) work(m *RepoState) ecosystemport.ReleaseWork {
	a := release.Annotation{Tag: m.NextTag, Message: w.Order.Message, Ecosystem: w.Found.Layout.Name, Previous: m.Tag, Branch: m.Foot.Branch, Subjects: subjects(m.Notes), Commits: m.Notes.Total}
	return ecosystemport.ReleaseWork{Name: m.Name, Dir: m.Dir, Branch: m.Foot.Branch, Head: m.Foot.Head, Files: m.Edits, Message: commitMessage(w.Order, m.NextTag), Tag: m.NextTag, Annotation: a.Text(), At: w.Order.At}
}

// recorded returns what the steps will have made.
func (w *job) recorded(steps []ecosystemport.ReleaseStep) release.Record {
	stage, number := w.Next.Stage()
	r := release.Record{Schema: release.RecordVersion, Ecosystem: w.Found.Layout.Name, Version: w.Next.String(), Tag: w.Order.Tag, Previous: tool.NilIfZero(w.Tag), Timestamp: w.Order.At, Action: w.Order.Action,
		Part: tool.NilIfZero(w.Order.Part), Stage: stage, Number: number, Branch: w.Branch(), Commit: steps[0].New, Author: steps[0].Author, Commits: w.Commits(), Subjects: []string{},
		FilesUpdated: []string{}, Origin: w.Order.Origin, Repos: map[string]release.Recorded{}}
	for _, c := range w.NewestCommits(release.MaxSubjects) {
		r.Subjects = append(r.Subjects, c.Repo+": "+c.Subject)
	}
	for _, f := range w.Files() {
		r.FilesUpdated = append(r.FilesUpdated, f.Path)
	}
	if w.Independent {
		r.Version, r.Versions = "", release.Independent
	}
	for i, s := range steps {
		one := release.Recorded{SHA: s.New, TagSHA: s.TagObject}
		if w.Independent {
			one.Tag, one.Previous = s.Tag, w.Members[i].Tag
		}
		r.Repos[s.Name] = one
	}
	return r
}

// recording returns the commit that adds the record to the workspace root.
func (w *job) recording(head string, old []byte) (ecosystemport.ReleaseWork, error) {
	text, err := w.record.Text()
	return ecosystemport.ReleaseWork{Name: "workspace root", Dir: w.Found.Layout.Root, Branch: w.Root.Branch, Head: head, At: w.Order.At, Message: release.CommitSubject(w.Order.Tag) + "\n",
		Files: []ecosystemport.FileEdit{{Path: w.RecordPath(w.Order.Tag), Old: old, New: text}}}, err
}

// make carries the steps out, each written down before it is.
func (w *job) make(ctx context.Context) error {
	for i, s := range w.journal.Steps {
		if err := ctx.Err(); err != nil {
			return fault.From(err)
		}
		w.journal.At = i
		if err := w.note(ctx, w.Found.Layout, w.journal); err != nil {
			return err
		}
		err := w.Git.Make(ctx, s)
		if s.Tag == "" && errors.Is(err, ecosystem.ErrChanged) {
			err = w.recordOver(ctx)
		}
		if err != nil {
			return err
		}
		if s.Tag != "" {
			w.Log("info", fmt.Sprintf("%s: tagged %s at %s", s.Name, s.Tag, ShortCommit(s.New)))
		} else {
			w.Log("info", "recorded "+w.out.Record)
		}
		w.Percent(i+1, len(w.journal.Steps))
	}
	if err := w.recordPendingPush(ctx, w.Found.Layout, w.journal); err != nil {
		return err
	}
	return w.note(ctx, w.Found.Layout, nil)
}

// recordOver records the release on top of what was committed to the workspace root meanwhile: other ecosystems record theirs there too.
func (w *job) recordOver(ctx context.Context) (err error) {
	last := len(w.journal.Steps) - 1
	for range attempts {
		if _, err = w.Git.Undo(ctx, w.journal.Steps[last]); err != nil {
			return err
		}
		foot := w.Git.ReleaseBases(ctx, []string{w.journal.Record.Dir})[0]
		if foot.Err != nil {
			return foot.Err
		}
		if foot.Branch != w.journal.Record.Branch {
			return ecosystem.ErrChanged.WithMessage("the workspace root is not on branch %s any more", w.journal.Record.Branch)
		}
		w.journal.Record.Head = foot.Head
		if w.journal.Steps[last], err = w.Git.Prepare(ctx, w.journal.Record); err != nil {
			return err
		}
		if err = w.note(ctx, w.Found.Layout, w.journal); err != nil {
			return err
		}
		if err = w.Git.Make(ctx, w.journal.Steps[last]); !errors.Is(err, ecosystem.ErrChanged) {
			return err
		}
	}
	return err
}

// takeBack undoes what was made.
func (w *job) takeBack(ctx context.Context, cause error) (any, error) {
	ctx = context.WithoutCancel(ctx)
	f := fault.From(cause)
	w.Log("error", w.Order.Tag+" is taken back: "+f.Message)
	_ = w.forget(ctx)
	if err := w.undo(ctx, w.Found.Layout, w.journal, w.Log); err != nil {
		return nil, ecosystem.ErrFailed.WithMessage("%s; and not all of it could be taken back (%v); the next release begins with that", f.Message, err).WithCause(errors.Join(cause, err))
	}
	w.out.Status = "failed"
	for i := range w.out.Repos {
		w.out.Repos[i].Status = "undone"
	}
	return w.out, f
}

// forget takes this release from the record of what is not pushed.
func (w *job) forget(ctx context.Context) error {
	left, err := w.loadUnpushed(ctx, w.Found.Layout)
	if err != nil {
		return err
	}
	gone := map[string]string{rootKey: w.Order.Tag}
	for _, m := range w.Members {
		gone[m.Name] = m.NextTag
	}
	for name, names := range left {
		left[name] = slices.DeleteFunc(names, func(tag string) bool { return tag == gone[name] })
	}
	if err := w.forgetForge(ctx, w.Found.Layout, gone); err != nil {
		return err
	}
	return w.saveUnpushed(ctx, w.Found.Layout, left)
}

// pushAll pushes every repository, whatever becomes of the others.
func (w *job) pushAll(ctx context.Context) (any, error) {
	var failed []string
	for i, m := range w.Members {
		names := append(slices.Clone(w.Order.Earlier[m.Name]), m.NextTag)
		r := &w.out.Repos[i]
		err := w.Git.Push(ctx, m.Dir, m.Foot.Branch, names)
		if err == nil {
			r.Push = "pushed"
			w.Log("info", m.Name+": pushed "+m.Foot.Branch+" and "+strings.Join(names, ", "))
			if err := w.Delivered(ctx, w.Found.Layout, m.Name, names); err != nil {
				return w.out, err
			}
			continue
		}
		r.Push, r.Error = "failed", fault.From(err).Message
		w.Log("error", m.Name+": could not be pushed: "+r.Error)
		failed = append(failed, m.Name)
		w.out.Resume = append(w.out.Resume, byHand(m, names))
	}
	const resume = "amof_push_ecosystem pushes what is missing"
	if len(failed) == 0 {
		w.out.Pushed = true
		root, err := w.DeliverRecords(ctx, w.Found, w.Log)
		if w.out.Root = root; err == nil && (root == nil || root.Status != "failed") {
			if w.out.Forge, err = w.DeliverForge(ctx, w.Found.Layout, w.Order.Forge, w.Log); err != nil {
				w.out.Status, w.out.Resume = "failed", []string{resume}
			}
			w.out.Others = w.Order.Others
			reportOthers(w.Order.Others, w.Log)
			return w.out, err
		}
		if err != nil {
			return w.out, err
		}
		w.out.Status, w.out.Resume = "failed", []string{resume}
		return w.out, ecosystem.ErrFailed.WithMessage("%s is released and pushed, but the workspace root, which has its record, could not be pushed: %s; amof_push_ecosystem does so", w.Order.Tag, root.Reason)
	}
	w.out.Status = "failed"
	w.out.Resume = append([]string{resume}, w.out.Resume...)
	return w.out, ecosystem.ErrFailed.WithMessage("%s is released here, but could not be pushed from %s (%s); amof_push_ecosystem pushes what is missing, and the result says how to do it by hand",
		w.Order.Tag, strings.Join(failed, ", "), w.out.Repos[slices.IndexFunc(w.out.Repos, func(r ReleasedRepo) bool { return r.Push == "failed" })].Error)
}
