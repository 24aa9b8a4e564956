package push

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// ArchiveInput is what to archive.
type ArchiveInput struct {
	runs.Target
	Message string `json:"message,omitempty" jsonschema:"maxLength=10000,description=kept with the archive"`
	Cut     bool   `json:"delete_workspace,omitempty" jsonschema:"description=delete the workspace branch too, once it is saved"`
	CleanUp bool   `json:"cleanup_features,omitempty" jsonschema:"description=delete the tickets' branches at the remotes too, where they are merged"`
	Offline bool   `json:"offline,omitempty" jsonschema:"description=push nothing; save everything in bundles on this machine"`
}

// BundlePlan is a repository that would be saved in a bundle.
type BundlePlan struct {
	Repo   string `json:"repo"`
	Reason string `json:"reason"`
}

// ArchivePreview is what would be pushed, saved and removed (amof contract §13, tool 19).
type ArchivePreview struct {
	Preview
	ArchiveFile string       `json:"archive_file"` // the time is that of the run
	Bundles     []BundlePlan `json:"bundles"`
	Removes     []string     `json:"removes"`
	Keeps       []string     `json:"keeps"`
	Deletes     []string     `json:"deletes"` // remote branches, those of them that are merged
	Trash       string       `json:"trash"`
	JudgedBy    string       `json:"judged_by"` // what is unpushed
}

// archiveContents is an archive that is prepared: what is pushed, and what has to be where before anything goes.
type archiveContents struct {
	trees          []*WorkingTree
	holding        WorkspaceContents
	bundles        []bundle
	mergedBranches []mergedBranch
}

// bundle is a repository to be saved on this machine; with rest, only what is on no remote.
type bundle struct {
	BundlePlan
	dir      string
	rest     bool
	readOnly bool
	tags     []string // that no remote has
}

// mergedBranch is a ticket's branch that may be deleted at its remote.
type mergedBranch struct {
	repo string
	dir  string
	head ecosystemport.Head
	into string
}

// archiveFact is what the preview of an archive rests on.
type archiveFact struct {
	Fleet   []PreviewFact     `json:"fleet"`
	Holding WorkspaceContents `json:"holding"`
}

func (c archiveContents) facts() archiveFact { return archiveFact{PreviewFacts(c.trees), c.holding} }

// prepare works out an archive. It fails with ecosystem.ErrUnsaved where something is in the way.
func (s service) prepare(ctx context.Context, f runs.Ecosystem, o Options) (c archiveContents, err error) {
	var both errgroup.Group // origins that do not answer are waited for once
	both.Go(func() (err error) {
		c.trees, err = s.pusher.Status(ctx, f, o)
		return err
	})
	both.Go(func() (err error) {
		c.holding, err = s.trashManager.Contents(ctx, f, o.asks())
		return err
	})
	if err := both.Wait(); err != nil {
		return c, err
	}
	if err := s.clean(ctx, f, c.holding); err != nil {
		return c, err
	}
	for _, r := range clones(f) {
		b, ok := c.bundleOf(r, o)
		if b.tags = c.localTags(r.Name); len(b.tags) > 0 && !ok {
			b.Reason, ok = "tags that no remote has: "+strings.Join(b.tags, ", "), true
		}
		if ok {
			c.bundles = append(c.bundles, b)
		}
		if o.CleanUp && !o.Offline && !r.ReadOnly {
			c.mergedBranches = append(c.mergedBranches, mergedBranchesOf(f, r, c.holding)...)
		}
	}
	if root := c.root(); o.Cut && (o.Offline || root.Status.Remote == "") {
		c.bundles = append(c.bundles, bundle{BundlePlan: BundlePlan{"workspace", "its branch is deleted and is on no remote"}, dir: f.Layout.Root})
	}
	return c, c.checkUnsaved(f, o)
}

// localTags returns the tags of a repository that are not pushed: they name no release, or the remote has others of their names.
func (c archiveContents) localTags(repo string) (tags []string) {
	for _, v := range c.trees {
		if v.Name == repo && v.Ticket == "" {
			tags = append(append(tags, v.Local...), v.Clash...)
		}
	}
	return tags
}

// root returns the workspace's own working tree.
func (c archiveContents) root() *WorkingTree {
	i := slices.IndexFunc(c.trees, func(v *WorkingTree) bool { return v.Name == "" })
	return c.trees[i]
}

// clean fails if something is uncommitted or in progress, or if the status is unknown.
func (s service) clean(ctx context.Context, f runs.Ecosystem, h WorkspaceContents) error {
	if h.Trees[len(h.Trees)-1].Status.Missing {
		return ecosystem.ErrUnsaved.WithMessage("the workspace %s is gone, so that nothing in it can be saved; amof_discard_ecosystem forgets it", f.State.WorkspaceDir)
	}
	list, count := h.Dirty(f)
	for _, tree := range h.Strange {
		list, count = append(list, tree+" (a worktree that is not in the workspace)"), count+1
	}
	list, count = append(list, h.Problem...), count+len(h.Problem)
	if root, err := s.Git.Look(ctx, ecosystemport.Worktree{Dir: f.Layout.Root}, false); err != nil {
		return err
	} else if root.Doing != "" {
		list, count = append(list, fmt.Sprintf("%s (in the middle of a %s)", f.Layout.Root, root.Doing)), count+1
	}
	if count == 0 {
		return nil
	}
	return ecosystem.ErrUnsaved.WithMessage("ecosystem %s has %s that no commit has, the first being %s; commit them (amof_push_ecosystem with commit_all and message) or take them away, then archive again",
		f.Layout.Name, CountNoun(count, "thing", "things"), list[0]).WithDetails(map[string]any{"dirty_files": list, "dirty_count": count})
}

// bundleOf says whether a repository has to be saved on this machine.
func (c archiveContents) bundleOf(r Clone, o Options) (bundle, bool) {
	remote, stashes, there := "", 0, false
	for _, t := range c.holding.Trees {
		if t.Repo == r.Name && t.Dir == r.Dir {
			remote, stashes, there = t.Status.Remote, t.Stashes, true
		}
	}
	b := bundle{BundlePlan: BundlePlan{Repo: r.Name}, dir: r.Dir, readOnly: r.ReadOnly}
	switch {
	case !there:
		return b, false
	case remote == "":
		b.Reason = "it has no remote"
	case o.Offline && !r.ReadOnly:
		b.Reason = "nothing is pushed"
	case stashes > 0:
		b.Reason, b.rest = CountNoun(stashes, "stash", "stashes"), true
	case c.holding.Backups[r.Name] > 0:
		b.Reason, b.rest = CountNoun(c.holding.Backups[r.Name], "backup of earlier commits", "backups of earlier commits"), true
	case c.unpushed(r.Name) > 0 && r.ReadOnly:
		b.Reason, b.rest = "it is read-only and has commits of its own", true
	default:
		b.rest = true
		return b, r.ReadOnly // if it has own files after all
	}
	return b, true
}

func (c archiveContents) unpushed(repo string) (n int) {
	for _, h := range c.holding.Heads {
		if h.Repo == repo {
			n += h.Unpushed
		}
	}
	return n
}

// mergedBranchesOf returns the tickets' branches of a repository.
func mergedBranchesOf(f runs.Ecosystem, r Clone, h WorkspaceContents) (mergedBranches []mergedBranch) {
	for _, head := range h.Heads {
		for _, t := range f.State.Tickets {
			if head.Repo == r.Name && t.Repos[r.Name] == head.Branch {
				mergedBranches = append(mergedBranches, mergedBranch{repo: r.Name, dir: r.Dir, head: ecosystemport.Head{Branch: head.Branch, Commit: head.Head}, into: r.Branch})
			}
		}
	}
	return mergedBranches
}

// checkUnsaved fails for branches with commits that nothing will push and no bundle will hold.
func (c archiveContents) checkUnsaved(f runs.Ecosystem, o Options) error {
	saved := map[string]bool{}
	for _, b := range c.bundles {
		saved[b.Repo] = !b.rest || b.readOnly
	}
	going := map[string]bool{}
	for _, v := range c.trees {
		if v.Skip == "" {
			going[v.Name+"\x00"+v.Status.Branch] = true
		}
	}
	var list []string
	for _, h := range c.holding.Heads {
		if h.Repo != "" && h.Unpushed > 0 && !saved[h.Repo] && !going[h.Repo+"\x00"+h.Branch] {
			list = append(list, fmt.Sprintf("%s: %s (%s)", h.Repo, h.Branch, CountNoun(h.Unpushed, "commit", "commits")))
		}
	}
	for _, v := range c.trees {
		if v.Skip != "" && v.Name != "" && len(v.Tags) > 0 && !saved[v.Name] {
			list = append(list, fmt.Sprintf("%s: %s (%s)", v.Name, strings.Join(v.Tags, ", "), v.Skip))
		}
	}
	if root := c.root(); o.Cut && !saved["workspace"] && root.Skip != "" {
		list = append(list, "workspace: "+root.Skip)
	}
	if len(list) == 0 {
		return nil
	}
	return stay(f, list, "push them, delete them, or archive with offline: true, which saves everything in bundles")
}

// unmoved fails if the workspace changed since the archive was prepared.
func (s service) unmoved(ctx context.Context, f runs.Ecosystem, c archiveContents) error {
	now, err := s.trashManager.Contents(ctx, f, false)
	if err != nil {
		return err
	}
	pushed := func(heads []ecosystemport.TrashHead) []ecosystemport.TrashHead { // what is not pushed has become less
		out := slices.Clone(heads)
		for i := range out {
			out[i].Unpushed = 0
		}
		return out
	}
	was := c.holding
	was.Backups, now.Backups = nil, nil // so have these
	was.Heads, now.Heads = pushed(was.Heads), pushed(now.Heads)
	before, err := runs.FactsHash(was)
	if err != nil {
		return err
	}
	after, err := runs.FactsHash(now)
	if err == nil && before != after {
		err = ecosystem.ErrChanged.WithMessage("somebody went on working in ecosystem %s while it was being archived; nothing was removed: archive again", f.Layout.Name)
	}
	return err
}

// stay refuses to remove what is nowhere else.
func stay(f runs.Ecosystem, list []string, way string) error {
	return ecosystem.ErrUnsaved.WithMessage("ecosystem %s has %s that would be nowhere else, the first being %s; %s. Nothing was removed", f.Layout.Name, CountNoun(len(list), "branch or tag", "branches or tags"), list[0], way).
		WithDetails(map[string]any{"unsaved": list})
}

func (s service) planArchive(ctx context.Context, sc tool.Scope, in ArchiveInput) (runs.Plan, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	if err := s.publisher.Tidy(ctx, f); err != nil {
		return runs.Plan{}, err
	}
	o := Options{Message: in.Message, Whole: true, Offline: in.Offline, Cut: in.Cut, CleanUp: in.CleanUp, Explaining: sc.Explaining}
	c, err := s.prepare(ctx, f, o)
	if err != nil {
		return runs.Plan{}, err
	}
	name, dir := f.Layout.Name, f.State.WorkspaceDir
	preview := ArchivePreview{Preview: NewPreview(f, c.trees, o), ArchiveFile: path.Join("ecosystems", name, "archives", name+"-<UTC time>.json"), Bundles: []BundlePlan{}, Removes: []string{dir},
		Keeps: []string{f.State.WorkspaceBranch}, Deletes: []string{}, Trash: "what is removed is kept for 7 days; countersign eco restore " + name + " brings it back"}
	preview.JudgedBy = c.holding.JudgedBy()
	warnings := append(s.deployed(ctx, f), PushWarnings(c.trees, o)...)
	if o.asks() {
		warnings = append(warnings, c.holding.OriginWarnings()...)
	}
	if in.Cut {
		preview.Keeps = []string{}
	}
	for _, b := range c.bundles {
		if b.Reason != "" {
			preview.Bundles = append(preview.Bundles, b.BundlePlan)
		}
	}
	for _, l := range c.mergedBranches {
		preview.Deletes = append(preview.Deletes, l.repo+": "+l.head.Branch)
	}
	p := runs.Plan{Tool: Archive.Name, Action: archiving, Summary: fmt.Sprintf("archive of %s (%s pushed, %d saved in bundles)", name, preview.pushed(), len(preview.Bundles)),
		Preview: preview, Facts: c.facts(), Warnings: warnings, Current: map[string]any{"repos": preview.Repos, "active_ticket": f.State.ActiveTicket, "judged_by": preview.JudgedBy},
		Risk: runs.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"writes to remote", "removes the workspace once everything is saved"}},
		Explanation: runs.Explanation{What: "Pushes everything, verifies that every commit is on a remote or in a bundle, commits a record of it in the workspace root, and moves the workspace to the trash. If anything cannot be verified, nothing is removed.",
			Irreversible: true, Affects: append([]string{dir}, preview.ReposAffected...), Alternatives: []string{string(Push.Name)}}}
	if p.Payload, err = tool.Encode(o); err != nil {
		return p, err
	}
	return p.Sealed(f)
}

func (s service) archiveFacts(ctx context.Context, f runs.Ecosystem, payload json.RawMessage) (any, error) {
	o, err := DecodeOptions(payload)
	if err != nil {
		return nil, err
	}
	c, err := s.prepare(ctx, f, o)
	return c.facts(), err
}

// relative returns a path in the root's repository, with slashes.
func relative(l ecosystem.Layout, file string) string {
	return path.Join(RelativePath(l.Root, l.Dir), file)
}
