package deployments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// EvolveDeps holds the additional dependencies of proposing.
type EvolveDeps struct {
	Differ  deployport.Differ
	History deployport.History
	Remote  deployport.Remote
	Clock   ports.Clock
}

// commitMessage is the commit message of proposals.
const commitMessage = "chore(evolve): propose overlay updates"

// ProposeData is the data of evolve propose, in all its forms.
type ProposeData struct {
	Branch     string            `json:"branch,omitempty"`
	Candidates []EvolveCandidate `json:"candidates,omitempty"`
	Omitted    int               `json:"candidates_omitted,omitempty"`
	Commit     string            `json:"commit,omitempty"`
	Committed  *bool             `json:"committed,omitempty"`
	Created    bool              `json:"created"`
	Files      []string          `json:"files,omitempty"`
	FilesPosix []string          `json:"files_posix,omitempty"`
	FilesLeft  int               `json:"files_omitted,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Scope      string            `json:"scope,omitempty"`
	Skipped    *[]EvolveSkip     `json:"skipped,omitempty"` // present whenever nothing was created, and if an edit was left out
	Left       int               `json:"skipped_omitted,omitempty"`
	Summary    *EvolveSummary    `json:"summary,omitempty"`
}

// EvolveProposal is the edits that were found, as files of overlays on a branch.
type EvolveProposal struct {
	found    found
	place    deployment.Locations
	branch   string
	scope    string
	files    deployment.Tree // by slash path below the repository
	warnings []string
	limit    int // maximum size of an answer in bytes
}

// Bound sets the maximum size of an answer in bytes; 0 is no limit.
func (p *EvolveProposal) Bound(limit int) { p.limit = limit }

// Hash returns the hash of the proposal: the repository, the scope and the content of every file. The branch's name and new baselines contain the
// time, and are not part of it.
func (p *EvolveProposal) Hash() canon.Hash {
	sums := map[string]string{}
	for _, f := range p.files {
		if !strings.HasSuffix(f.Path, "/"+overlay.BaselineFile) {
			sums[f.Path] = fmt.Sprintf("%s %o", f.Content.Sum, f.Mode)
		}
	}
	text, err := json.Marshal(map[string]any{"repo": p.place.Repo, "scope": p.scope, "files": sums})
	if err != nil {
		text = []byte(p.place.Repo) // texts and sums always have a JSON form
	}
	return canon.SumBytes("deployment.evolve.v1", text)
}

// Prompt returns one line for the approval request.
func (p *EvolveProposal) Prompt() string {
	return fmt.Sprintf("commit %d overlay files on a new branch of %s", len(p.files), p.place.Repo)
}

// NoOp reports whether there is nothing to propose.
func (p *EvolveProposal) NoOp() bool { return len(p.found.candidates) == 0 }

// MarshalJSON returns the report that a dry run gives.
func (p *EvolveProposal) MarshalJSON() ([]byte, error) {
	d := p.nothing()
	if len(p.found.candidates) > 0 {
		d.Reason = "dry_run"
		d.Candidates, d.Omitted = planner.FitJSON(p.found.candidates, (p.limit-planner.AnswerOverhead)/2)
	}
	return json.Marshal(planner.Report[ProposeData]{Data: d, Warnings: p.warnings})
}

func (p *EvolveProposal) nothing() ProposeData {
	d := ProposeData{Reason: "no_drift", Summary: &p.found.summary}
	shown, left := planner.FitJSON(p.found.skipped, (p.limit-planner.AnswerOverhead)/2)
	d.Skipped, d.Left = &shown, left
	if len(p.found.skipped) > 0 || p.found.summary.ReadError > 0 {
		d.Reason = "no_proposeable_drift"
	}
	return d
}

// leftOut returns the edits that are not in the proposal, or nil.
func (p *EvolveProposal) leftOut() *[]EvolveSkip {
	edits := slices.DeleteFunc(slices.Clone(p.found.skipped), func(s EvolveSkip) bool { return !s.State.IsEdited() })
	if len(edits) == 0 {
		return nil
	}
	edits, _ = planner.FitJSON(edits, (p.limit-planner.AnswerOverhead)/4)
	return &edits
}

// Propose finds what can be proposed. If there is something and the call is not a dry run, it needs yes, and a clean git repository.
func (e Evolver) Propose(ctx context.Context, s planner.State, r planner.Result, c ProposeInput, prefix string) (*EvolveProposal, error) {
	c.Scope = cmp.Or(c.Scope, deployment.GlobalScope)
	f, err := e.find(ctx, r, search{s, c.ModuleID, prefix, c.Scope})
	if err != nil {
		return nil, err
	}
	p := &EvolveProposal{found: f, place: s.Place, scope: string(c.Scope), warnings: planner.UniqueWarnings(r.Warnings, f.warnings)}
	if len(f.candidates) == 0 {
		return p, nil
	}
	if !c.DryRun {
		if !c.Yes {
			return nil, deployment.ErrYes
		}
		if err := e.ready(ctx, s.Place.Repo); err != nil {
			return nil, err
		}
	}
	p.branch = c.Branch
	if p.branch == "" {
		p.branch = branchName(c, f.candidates, e.Clock.Now().UTC())
	}
	if branch := e.waiting(ctx, s, f.candidates, c.Scope); branch != "" {
		p.warnings = planner.UniqueWarnings(p.warnings, []string{waitingWords(s.Place.Repo, branch)})
	}
	p.files, err = e.overlayFiles(ctx, s, c.Scope, f.candidates)
	return p, err
}

// waiting returns the unmerged branch of the config repository that already has all of the edits; empty if there is none, or if git cannot read the
// repository.
func (e Evolver) waiting(ctx context.Context, s planner.State, candidates []EvolveCandidate, scopes ...deployment.OverlayScope) string {
	if len(candidates) == 0 {
		return ""
	}
	branches, err := e.History.Unmerged(ctx, s.Place.Repo)
	if err != nil || len(branches) == 0 {
		return ""
	}
	for _, scope := range scopes {
		files, err := e.overlayFiles(ctx, s, scope, candidates)
		if err != nil {
			continue
		}
		files = slices.DeleteFunc(files, func(f deployment.File) bool { return strings.Contains(f.Path, "/"+overlay.MetaDir+"/") })
		for _, b := range branches {
			if !slices.ContainsFunc(files, func(f deployment.File) bool {
				data, found, err := e.History.Show(ctx, s.Place.Repo, b.Commit, f.Path)
				return err != nil || !found || !bytes.Equal(data, f.Content.Data)
			}) {
				return b.Name
			}
		}
	}
	return ""
}

// waitingWords says what to do about edits that are on an unmerged branch.
func waitingWords(repo, branch string) string {
	return "the edits made here are proposed on the branch " + branch + " already, which is not merged: git -C " + repo + " merge " + branch + " takes them over"
}

// ready fails if the config repository is not a git repository of its own, or has uncommitted changes.
func (e Evolver) ready(ctx context.Context, repo string) error {
	state, err := e.Remote.State(ctx, repo)
	details := func(hint string) deployment.Details {
		return deployment.FieldDetails("command", "evolve propose").AddPath("repo", repo).Add("hint", hint)
	}
	switch {
	case errors.Is(err, deployment.ErrGitRepo):
		return deployment.ErrGitRepo.WithMessage("%s is no git repository; a proposal is a branch there", repo).WithDetails(details("git -C " + repo + " init"))
	case err != nil:
		return err
	case state.Dirty:
		return deployment.ErrGitDirty.WithMessage("%s has uncommitted changes; commit or stash them first", repo).WithDetails(details("git -C " + repo + " status"))
	}
	return nil
}

// branchName returns a unique name with the time: evolve/propose-<scope>-<module or multi>-<time>-<nanoseconds>.
func branchName(c ProposeInput, candidates []EvolveCandidate, now time.Time) string {
	id := c.ModuleID
	if id == "" {
		id = candidates[0].ModuleID
		if slices.ContainsFunc(candidates, func(o EvolveCandidate) bool { return o.ModuleID != id }) {
			id = "multi"
		}
	}
	return fmt.Sprintf("evolve/propose-%s-%s-%s-%09d", c.Scope, deployment.SafeName(id), now.Format("20060102T150405Z"), now.Nanosecond())
}

// overlaid is a module with its layer of one scope. dir is the layer's, with slashes, below the repository.
type overlaid struct {
	module planner.Module
	layer  overlay.Layer
	repo   string
	dir    string
}

func (e Evolver) overlayOf(ctx context.Context, s planner.State, scope deployment.OverlayScope, id string) (overlaid, error) {
	m, _ := s.Module(id)
	layer, err := e.Compiler.Overlays.Layer(ctx, s.Place, id, scope)
	if err != nil {
		return overlaid{}, err
	}
	dir, within := strings.CutPrefix(deployment.PosixPath(layer.Dir), deployment.PosixPath(s.Place.Repo)+"/")
	if !within {
		return overlaid{}, deployment.ErrPath.WithMessage("the overlay %s lies outside the config repository", layer.Dir)
	}
	return overlaid{m, layer, s.Place.Repo, dir}, nil
}

// overlayFiles returns the candidates as files of overlays in the scope, with the same metadata as an overlay made by hand.
func (e Evolver) overlayFiles(ctx context.Context, s planner.State, scope deployment.OverlayScope, candidates []EvolveCandidate) (deployment.Tree, error) {
	files := map[string]deployment.File{}
	put := func(name string, mode fs.FileMode, data []byte) {
		files[name] = deployment.File{Path: name, Mode: mode, Content: deployment.ContentOf(data)}
	}
	known := map[string]overlaid{}
	for _, c := range candidates {
		o, seen := known[c.ModuleID]
		if !seen {
			var err error
			if o, err = e.overlayOf(ctx, s, scope, c.ModuleID); err != nil {
				return nil, err
			}
			metadata, err := e.metadata(ctx, o)
			if err != nil {
				return nil, err
			}
			for name, data := range metadata {
				put(path.Join(o.dir, name), deployment.PlainMode, data)
			}
			known[c.ModuleID] = o
		}
		if o.layer.Exists && o.layer.Kind == overlay.KindPatch {
			patch, err := e.patch(ctx, o, c)
			if err != nil {
				return nil, err
			}
			put(path.Join(o.dir, overlay.PatchesDir, c.edit.Path+".patch"), deployment.PlainMode, []byte(patch))
		} else {
			mode := deployment.PlainMode
			if f, ok := o.module.Tree.Find(c.edit.Path); ok { // a script stays executable
				mode = f.Mode
			}
			put(path.Join(o.dir, c.edit.Path), mode, c.edit.Data)
		}
	}
	tree := deployment.Tree(slices.Collect(maps.Values(files)))
	tree.Sort()
	return tree, nil
}

// patch returns an edit as a patch of the layers below, for a layer of patches, which contains nothing else.
func (e Evolver) patch(ctx context.Context, o overlaid, c EvolveCandidate) (string, error) {
	m, layer := o.module, o.layer
	read := func(content deployment.Content) ([]byte, error) { return e.Compiler.Sources.Content(ctx, content) }
	lower := slices.DeleteFunc(slices.Clone(m.Layers), func(l overlay.Layer) bool { return !below(l.Scope, layer.Scope) })
	under, err := overlay.Compose(overlay.ComposeInput{Module: m.Module.Module, Upstream: m.Upstream, Layers: lower, Read: read})
	if err != nil {
		return "", err
	}
	f, ok := under.Tree.Find(c.edit.Path)
	if !ok {
		return "", deployment.ErrConfig.WithMessage("the %s overlay of %s holds patches, and %s is not a file it could patch; switch the overlay to kind dir", layer.Scope, m.ID, c.edit.Path)
	}
	base, err := read(f.Content)
	if err != nil {
		return "", err
	}
	return e.Differ.Unified("a/"+c.edit.Path, "b/"+c.edit.Path, base, c.edit.Data), nil
}

func below(a, b deployment.OverlayScope) bool {
	order := deployment.OverlayScopes()
	return slices.Index(order, a) < slices.Index(order, b)
}

// metadata returns the missing kind, module and baseline of an overlay, so that drift of its upstream is noticed and it can be rebased.
func (e Evolver) metadata(ctx context.Context, o overlaid) (map[string][]byte, error) {
	m, layer := o.module, o.layer
	files := map[string][]byte{}
	if layer.ModuleID == "" {
		files[overlay.IDFile] = []byte(m.ID + "\n")
	}
	if !layer.Exists {
		files[overlay.MetaFile] = []byte("{\n  \"overlay_kind\": \"dir\"\n}\n")
	}
	if layer.Baseline != nil {
		return files, nil
	}
	origin, err := m.Origin, error(nil)
	if origin == nil {
		if origin, err = planner.LocalOrigin(ctx, e.History, o.repo, m.Source.Local); err != nil {
			return nil, err
		}
	}
	files[overlay.BaselineFile], err = overlay.NewBaseline(m.Upstream, origin, e.Clock.Now().UTC()).Encode()
	return files, err
}

// Commit creates the branch. Neither the worktree nor its present branch is touched.
func (e Evolver) Commit(ctx context.Context, p *EvolveProposal) (planner.Report[ProposeData], error) {
	if len(p.found.candidates) == 0 {
		return planner.Report[ProposeData]{Data: p.nothing(), Warnings: p.warnings}, nil
	}
	commit, err := e.History.Propose(ctx, p.place.Repo, p.branch, commitMessage, p.files)
	if err != nil {
		return planner.Report[ProposeData]{}, err
	}
	yes := true
	d := ProposeData{Skipped: p.leftOut(), Branch: p.branch, Commit: commit, Committed: &yes, Created: true, Scope: p.scope}
	for _, f := range p.files {
		d.FilesPosix = append(d.FilesPosix, f.Path)
		d.Files = append(d.Files, strings.ReplaceAll(f.Path, "/", string(e.Compiler.Sep)))
	}
	d.FilesPosix, d.FilesLeft = planner.FitJSON(d.FilesPosix, (p.limit-planner.AnswerOverhead)/2)
	d.Files = d.Files[:len(d.FilesPosix)]
	return planner.Report[ProposeData]{Data: d, Warnings: p.warnings}, nil
}
