package releases

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Publisher makes them.
type Publisher struct{ Deps }

// What is noted beside the state of an ecosystem: a release that is being made, and what is still to be pushed.
const (
	OperationNote = "release/journal"
	unpushedNote  = "release/unpushed"
)

// tidyWait is how long a release that is being made is waited for, before a new one is refused.
const tidyWait = 2 * time.Second

// journal is a release that is being made: all its steps, exactly, and how far it is. It is noted before each of them.
type journal struct {
	Tag    string                      `json:"tag"`
	At     int                         `json:"at"`     // the step that is under way
	Finish bool                        `json:"finish"` // whatever was interrupted is to be finished
	Steps  []ecosystemport.ReleaseStep `json:"steps"`  // the last one, without a tag, records the release in the workspace root
	Record ecosystemport.ReleaseWork   `json:"record"`
	Push   bool                        `json:"push"` // it is to be pushed afterwards
	Forge  []ForgeRelease              `json:"github,omitempty"`
}

func (d Publisher) note(ctx context.Context, l ecosystem.Layout, j *journal) error {
	if j == nil {
		return d.States.Note(ctx, l, OperationNote, nil)
	}
	doc, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return d.States.Note(ctx, l, OperationNote, doc)
}

func (d Publisher) noted(ctx context.Context, l ecosystem.Layout) (*journal, error) {
	doc, err := d.States.Noted(ctx, l, OperationNote)
	if err != nil || doc == nil {
		return nil, err
	}
	j := &journal{}
	if err := json.Unmarshal(doc, j); err != nil {
		return nil, ecosystem.ErrState.WithMessage("the journal of an interrupted release of %s cannot be read; delete %s/release/journal once its tags and commits are in order", l.Name, l.State).WithCause(err)
	}
	return j, nil
}

// Tidy puts in order what an interrupted release left, before a new one is worked out. While one is being made it fails with
// ecosystem.ErrBusy.
func (d Publisher) Tidy(ctx context.Context, f runs.Ecosystem) error {
	j, err := d.noted(ctx, f.Layout)
	if err != nil || j == nil {
		return err
	}
	ctx, release, err := d.States.Lock(ctx, f.Layout, tidyWait)
	if err != nil {
		return err
	}
	defer release()
	return d.settle(ctx, f.Layout, func(string, string) {})
}

// Recover implements runs.Performer.
func (d Publisher) Recover(ctx context.Context, j runs.Job) error {
	return d.settle(ctx, j.Found.Layout, j.Log)
}

// settle finishes an interrupted release all of whose tags exist, and takes any other back. The caller has the ecosystem's lock.
func (d Publisher) settle(ctx context.Context, l ecosystem.Layout, log func(level, message string)) error {
	j, err := d.noted(ctx, l)
	if err != nil || j == nil {
		return err
	}
	whole := true
	for _, s := range j.Steps {
		if s.Tag == "" || j.Finish {
			continue
		}
		is, err := d.Git.Tagged(ctx, s)
		if err != nil {
			return err
		}
		whole = whole && is
	}
	if whole {
		log("info", "finishing "+j.Tag+", which every repository is tagged with")
		return d.finish(ctx, l, j, log)
	}
	log("warning", "taking "+j.Tag+" back, which not every repository is tagged with")
	return d.undo(ctx, l, j, log)
}

// finish brings the steps to their end.
func (d Publisher) finish(ctx context.Context, l ecosystem.Layout, j *journal, log func(level, message string)) error {
	for i, s := range j.Steps {
		if s.Tag == "" {
			again, err := d.recordAgain(ctx, j)
			if err != nil {
				return err
			}
			if again != nil {
				j.Steps[i], j.Finish = *again, true
				if err := d.note(ctx, l, j); err != nil {
					return err
				}
				s = *again
			}
		}
		left, err := d.Git.Finish(ctx, s)
		if err != nil {
			return err
		}
		tell(log, left)
	}
	if err := d.recordPendingPush(ctx, l, j); err != nil {
		return err
	}
	return d.note(ctx, l, nil)
}

// recordPendingPush puts on record what of a release is on this machine alone: from then on, the next push brings it out whatever becomes of this one.
func (d Publisher) recordPendingPush(ctx context.Context, l ecosystem.Layout, j *journal) error {
	if !slices.ContainsFunc(j.Steps, func(s ecosystemport.ReleaseStep) bool { return s.Tag != "" }) {
		return nil // a commit that records a push is not a release
	}
	left, err := d.loadUnpushed(ctx, l)
	if err != nil {
		return err
	}
	add := func(repo, tag string) {
		if !slices.Contains(left[repo], tag) {
			left[repo] = append(left[repo], tag)
		}
	}
	for _, s := range j.Steps {
		if s.Tag != "" {
			add(s.Name, s.Tag)
		}
	}
	add(rootKey, j.Tag)
	if err := d.saveUnpushed(ctx, l, left); err != nil { // before releases on GitHub are, which wait for the tags
		return err
	}
	return d.oweForge(ctx, l, j.Forge)
}

// recordAgain returns the step that records the release, where the workspace root has gone on since it was prepared and the record is not there; nil
// where the step can be finished as it is.
func (d Publisher) recordAgain(ctx context.Context, j *journal) (*ecosystemport.ReleaseStep, error) {
	step := j.Steps[len(j.Steps)-1]
	foot := d.Git.ReleaseBases(ctx, []string{step.Dir})[0]
	file := d.Git.Texts(ctx, step.Dir, []string{j.Record.Files[0].Path})[0]
	if foot.Err != nil || foot.Branch == "" || foot.Head == step.Old && foot.Branch == step.Branch || foot.Head == step.New || !file.Missing {
		return nil, foot.Err
	}
	w := j.Record
	w.Branch, w.Head = foot.Branch, foot.Head
	again, err := d.Git.Prepare(ctx, w)
	return &again, err
}

// undo takes the steps back that were begun, the last one first.
func (d Publisher) undo(ctx context.Context, l ecosystem.Layout, j *journal, log func(level, message string)) error {
	var failed []error
	for _, s := range slices.Backward(j.Steps[:min(j.At+1, len(j.Steps))]) {
		left, err := d.Git.Undo(ctx, s)
		if err != nil {
			failed = append(failed, err)
			log("error", s.Name+" could not be taken back: "+err.Error())
		}
		tell(log, left)
	}
	if len(failed) > 0 { // the journal stays, and with it the next attempt
		return errors.Join(failed...)
	}
	return d.note(ctx, l, nil)
}

func tell(log func(level, message string), left []string) {
	for _, line := range left {
		log("warning", line)
	}
}

// byHand returns what the user would type to push a repository.
func byHand(m *RepoState, names []string) string {
	return "git -C '" + strings.ReplaceAll(m.Dir, "'", `'\''`) + "' push --atomic origin " + m.Foot.Branch + " " + strings.Join(names, " ")
}
