package push

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// RestoreInput names what to bring back.
type RestoreInput struct {
	runs.Target
	ID string `json:"trash_id,omitempty" jsonschema:"description=of the entry in the trash; default the newest of the ecosystem"`
}

// Restored is a workspace that was brought back.
type Restored struct {
	Status    string                    `json:"status"`
	Trash     string                    `json:"trash_id"`
	Workspace string                    `json:"workspace_dir"`
	Branches  []ecosystemport.TrashHead `json:"branches"`
	runs.Envelope
}

// TrashItem is an entry of the trash.
type TrashItem struct {
	ID        string                    `json:"trash_id"`
	Ecosystem string                    `json:"ecosystem"`
	Why       string                    `json:"why"`
	At        time.Time                 `json:"at"`
	Until     time.Time                 `json:"restorable_until"`
	Workspace string                    `json:"workspace_dir"`
	Branches  []ecosystemport.TrashHead `json:"branches"`
	Restore   string                    `json:"restore"`
}

// TrashList is the trash, and the archives.
type TrashList struct {
	Status   string                   `json:"status"`
	Trash    []TrashItem              `json:"trash"`
	Archives []ecosystemport.Archived `json:"archives"`
	Count    int                      `json:"count"`
	runs.Envelope
}

// restorePlan is the plan of a restore.
type restorePlan struct {
	runs.Plan
	layout ecosystem.Layout
	entry  ecosystemport.TrashEntry
}

// layouts returns where the named ecosystem's things are, or those of all; an ecosystem whose manifest is gone has a trash still.
func (s service) layouts(ctx context.Context, sc tool.Scope, name string) ([]ecosystem.Layout, error) {
	root, err := s.Places.Root(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{name}
	if name == "" {
		focus, err := s.Focus(ctx, sc)
		if err != nil {
			return nil, err
		}
		if names[0] = focus.Ecosystem; focus.Ecosystem == "" {
			if names, err = s.Manifests.Names(ctx, root); err != nil {
				return nil, err
			}
		}
	}
	layouts := make([]ecosystem.Layout, len(names))
	for i, name := range names {
		if layouts[i], err = s.Places.Layout(ctx, root, name); err != nil {
			return nil, err
		}
	}
	return layouts, nil
}

func (s service) planRestore(ctx context.Context, sc tool.Scope, in RestoreInput) (p restorePlan, err error) {
	layouts, err := s.layouts(ctx, sc, in.Ecosystem)
	if err != nil {
		return p, err
	}
	if len(layouts) != 1 {
		return p, ecosystem.ErrNone
	}
	p.layout = layouts[0]
	if p.entry, err = s.trashManager.Find(ctx, p.layout, in.ID); err != nil {
		return p, err
	}
	state, err := s.States.Load(ctx, p.layout)
	if err != nil {
		return p, err
	}
	e := p.entry
	if state.Installed() && !s.trashManager.RestoreInterrupted(ctx, p.layout, e) {
		return p, ecosystem.ErrInstalled.WithMessage("ecosystem %s is installed at %s; discard or archive that before %s can be restored", e.Ecosystem, state.WorkspaceDir, e.ID)
	}
	item := itemOf(e)
	p.Plan = runs.Plan{Tool: Restore.Name, Summary: fmt.Sprintf("restore of %s from %s", e.Ecosystem, e.ID), Preview: item, Facts: e.ID, Risk: runs.Risk{Level: "moderate"},
		Explanation: runs.Explanation{What: "Moves the workspace back from the trash to where it was, with its branches.", Affects: []string{e.Workspace}}}
	p.Plan, err = p.Plan.Sealed(runs.Ecosystem{Layout: p.layout})
	return p, err
}

func (s service) restore(ctx context.Context, sc tool.Scope, p restorePlan) (Restored, error) {
	l, e := p.layout, p.entry
	ctx, release, err := s.States.Lock(ctx, l, lockWait)
	if err != nil {
		return Restored{}, err
	}
	defer release()
	mute := func(string, string) {}
	finished := s.trashManager.RestoreInterrupted(ctx, l, e)
	f, err := s.FindAt(ctx, l.Root, l.Name)
	if err != nil {
		f = runs.Ecosystem{Layout: l} // without its manifest an ecosystem can be brought back still
	}
	if err := s.recoverRun(ctx, f, mute); err != nil {
		return Restored{}, err
	}
	state, err := s.States.Load(ctx, l)
	if err != nil {
		return Restored{}, err
	}
	if state.Installed() && !finished {
		return Restored{}, ecosystem.ErrInstalled.WithMessage("ecosystem %s was installed in the meantime; discard or archive that first", e.Ecosystem)
	}
	if !state.Installed() {
		if err := s.trashManager.Restore(ctx, l, e); err != nil {
			return Restored{}, err
		}
	}
	s.trashManager.Purge(ctx, l, mute)
	text := runs.AnswerText{Summary: "Restored " + e.Ecosystem, Details: []string{"workspace  " + e.Workspace, "from       " + e.ID}}
	return Restored{Status: "success", Trash: e.ID, Workspace: e.Workspace, Branches: e.Heads, Envelope: s.Show(sc, runs.Subject{Ecosystem: e.Ecosystem}, text, runs.SuggestAction("status", e.Ecosystem, nil))}, nil
}

func itemOf(e ecosystemport.TrashEntry) TrashItem {
	branches := e.Heads
	if branches == nil {
		branches = []ecosystemport.TrashHead{}
	}
	return TrashItem{ID: e.ID, Ecosystem: e.Ecosystem, Why: e.Why, At: e.At, Until: e.Until, Workspace: e.Workspace, Branches: branches, Restore: e.Restore}
}

func (s service) trash(ctx context.Context, sc tool.Scope, in runs.EcosystemInput) (TrashList, error) {
	layouts, err := s.layouts(ctx, sc, in.Ecosystem)
	if err != nil {
		return TrashList{}, err
	}
	out := TrashList{Status: "success", Trash: []TrashItem{}, Archives: []ecosystemport.Archived{}}
	text, about := runs.AnswerText{}, runs.Subject{}
	for _, l := range layouts {
		entries, archives, err := s.Trash.List(ctx, l)
		if err != nil {
			return TrashList{}, err
		}
		for _, e := range entries {
			if e.Whole {
				out.Trash = append(out.Trash, itemOf(e))
				text.Details = append(text.Details, fmt.Sprintf("%s  %s  until %s", e.ID, e.Why, e.Until.Format("2006-01-02 15:04 MST")))
			}
		}
		out.Archives = append(out.Archives, archives...)
		about.Ecosystem = l.Name
	}
	if len(layouts) != 1 {
		about.Ecosystem = ""
	}
	if most := 14; len(text.Details) > most {
		text.Details = append(text.Details[:most], fmt.Sprintf("and %d more", len(text.Details)-most))
	}
	out.Count = len(out.Trash)
	text.Summary = fmt.Sprintf("Found %s in the trash, %s", CountNoun(len(out.Trash), "workspace", "workspaces"), CountNoun(len(out.Archives), "archive", "archives"))
	out.Envelope = s.Show(sc, about, text)
	return out, nil
}
