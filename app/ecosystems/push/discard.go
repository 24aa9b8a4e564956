package push

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// DiscardPreview is what would be removed (amof contract §13, tool 20). Stashes and ignored files go to the trash too.
type DiscardPreview struct {
	Branches        []ecosystemport.TrashHead `json:"branches"`
	Directories     []string                  `json:"directories"`
	DirtyFiles      []string                  `json:"dirty_files"`
	DirtyCount      int                       `json:"dirty_count"`
	Stashes         int                       `json:"stashes"`
	Tags            map[string][]string       `json:"tags,omitempty"` // by repository, that origin lacks; where it was not asked or did not answer, of releases, by what is on record
	JudgedBy        string                    `json:"judged_by"`      // what is unpushed
	RemoteUntouched bool                      `json:"remote_untouched"`
	Trash           string                    `json:"trash"`
	Suggestion      string                    `json:"suggestion"`
}

// Discarded is the result of a discard.
type Discarded struct {
	Status    string                    `json:"status"`
	Trash     string                    `json:"trash_id"`
	Until     string                    `json:"restorable_until"` // RFC 3339, UTC
	Restore   string                    `json:"restore"`
	Branches  []ecosystemport.TrashHead `json:"branches"`
	Directory string                    `json:"directory"`
}

func (s service) planDiscard(ctx context.Context, sc tool.Scope, in runs.Target) (runs.Plan, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	h, err := s.trashManager.Contents(ctx, f, !sc.Explaining)
	if err != nil {
		return runs.Plan{}, err
	}
	name := f.Layout.Name
	preview := DiscardPreview{Branches: named(h.Heads), Directories: []string{f.State.WorkspaceDir}, RemoteUntouched: true, JudgedBy: h.JudgedBy(), Suggestion: string(Archive.Name),
		Trash: "kept for 7 days; countersign eco restore " + name + " brings it back"}
	preview.DirtyFiles, preview.DirtyCount = h.Dirty(f)
	unpushed := 0
	for _, b := range h.Heads {
		unpushed += b.Unpushed
	}
	preview.Stashes = h.Stashes()
	pending, err := s.publisher.Pending(ctx, f)
	if err != nil {
		return runs.Plan{}, err
	}
	preview.Tags = h.localTags(pending.Tags)
	warnings := append(s.deployed(ctx, f), h.Problem...)
	if !sc.Explaining {
		warnings = append(warnings, h.OriginWarnings()...)
	}
	for repo, tags := range preview.Tags {
		var released []string
		for _, tag := range tags {
			if slices.Contains(pending.Tags[repo], tag) {
				released = append(released, tag)
			}
		}
		if len(released) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %s is released here and not pushed; the tag goes with the workspace, and the record in the workspace root stays", repo, strings.Join(released, ", ")))
		}
	}
	slices.Sort(warnings)
	for _, tree := range h.Strange {
		warnings = append(warnings, "the worktree "+tree+" is not in the workspace; it stays, and works again when the ecosystem is restored")
	}
	p := runs.Plan{Tool: Discard.Name, Action: discarding, Summary: fmt.Sprintf("discard of %s (%s, %s)", name, CountNoun(unpushed, "unpushed commit", "unpushed commits"), CountNoun(preview.DirtyCount, "dirty file", "dirty files")),
		Preview: preview, Facts: h, Warnings: warnings, Current: map[string]any{"branches": preview.Branches, "dirty_count": preview.DirtyCount, "active_ticket": f.State.ActiveTicket, "judged_by": preview.JudgedBy},
		Risk: runs.Risk{Level: "critical", Irreversible: true, Reasons: []string{"removes the workspace with everything that is not pushed", "after 7 days it cannot be brought back"}},
		Explanation: runs.Explanation{What: "Removes the workspace: its clones, branches, tickets and everything that is not committed. Nothing is pushed, and no remote is touched. It is irreversible once the trash is purged, 7 days later.",
			Irreversible: true, Affects: []string{f.State.WorkspaceDir}, Alternatives: []string{string(Archive.Name), string(Push.Name)}},
		Options: tool.PlanOptions{Assessment: policy.Assessment{Strength: policy.Typed}, Target: name}, Payload: json.RawMessage("{}")}
	return p.Sealed(f)
}

// localTags returns the tags of each repository that origin lacks: by what it says, and where that is unknown those that are on record.
func (h WorkspaceContents) localTags(recorded map[string][]string) map[string][]string {
	found := maps.Clone(recorded)
	if found == nil {
		found = map[string][]string{}
	}
	for _, o := range h.Origins {
		if o.Asked && o.Repo != "workspace" {
			found[o.Repo] = o.Tags
		}
	}
	maps.DeleteFunc(found, func(_ string, tags []string) bool { return len(tags) == 0 })
	return found
}

// named gives the workspace's own branch a name for users.
func named(heads []ecosystemport.TrashHead) []ecosystemport.TrashHead {
	out := make([]ecosystemport.TrashHead, len(heads))
	for i, h := range heads {
		if h.Repo == "" {
			h.Repo = "workspace"
		}
		out[i] = h
	}
	return out
}

func (s service) discardFacts(ctx context.Context, f runs.Ecosystem, _ json.RawMessage) (any, error) {
	return s.trashManager.Contents(ctx, f, true)
}

// discard carries out a confirmed discard.
func (s service) discard(ctx context.Context, j runs.Job) (any, error) {
	l := j.Found.Layout
	if err := s.recoverRun(ctx, j.Found, j.Log); err != nil {
		return nil, err
	}
	s.trashManager.Purge(ctx, l, j.Log)
	h, err := s.trashManager.Contents(ctx, j.Found, true)
	if err != nil {
		return nil, err
	}
	e, err := s.trashManager.Entry(ctx, j.Found, discarding, named(h.Heads))
	if err != nil {
		return nil, err
	}
	e.Cut = true
	if e, err = s.Trash.Keep(ctx, l, e); err != nil {
		return nil, err
	}
	j.Log("info", "moving "+e.Workspace+" to the trash as "+e.ID)
	if err := s.trashManager.MoveToTrash(ctx, l, &Operation{Phase: PhaseRemoving, Entry: e}); err != nil {
		return nil, err
	}
	j.Percent(1, 1)
	j.Log("info", "discarded; "+e.Restore+" brings it back until "+e.Until.Format("2006-01-02 15:04 MST"))
	return Discarded{Status: "success", Trash: e.ID, Until: e.Until.Format("2006-01-02T15:04:05Z07:00"), Restore: e.Restore, Branches: e.Heads, Directory: e.Workspace}, nil
}
