package releases

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// RepoPlan is a repository that a release tags.
type RepoPlan struct {
	Name    string `json:"name"`
	Dir     string `json:"dir"` // relative to the workspace root
	Branch  string `json:"branch"`
	Head    string `json:"head"`
	Commits int    `json:"commits"`
	Commit  bool   `json:"commit"` // files are written, so that there is one

	Message string   `json:"commit_message,omitempty"` // of that commit
	Files   int      `json:"files_total"`              // that it writes; the plan's own files name them
	Pushes  []string `json:"pushes,omitempty"`         // branch and tags

	// Where versions are independent:
	Current string   `json:"current,omitempty"`
	Next    string   `json:"next,omitempty"`
	Tag     string   `json:"tag,omitempty"`
	Updated []string `json:"updated,omitempty"` // what it depends on that is released with it: "api to 1.2.0"
}

// Preview is a release that is about to be made (amof contract §13.26).
type Preview struct {
	Current  string              `json:"current"`
	Next     string              `json:"next"`
	Branch   string              `json:"branch"`
	Commits  []UnreleasedCommit  `json:"commits"` // at most release.MaxSubjects, the newest first
	Total    int                 `json:"commits_total"`
	Files    []FileChange        `json:"files"`
	Tag      string              `json:"tag"`
	WillPush bool                `json:"will_push"`
	Checks   release.Checks      `json:"validation"`
	Repos    []RepoPlan          `json:"repos"`
	Message  string              `json:"message,omitempty"`
	Earlier  map[string][]string `json:"also_pushed,omitempty"` // tags that an earlier push failed to bring out
	Root     *RootPlan           `json:"root"`                  // where the release is recorded
	Notes    []string            `json:"notes"`

	Versions  string   `json:"versions,omitempty"`  // independent, or empty: one for all. Then current, next and tag are each repository's, and tag here names the release
	Unchanged []string `json:"unchanged,omitempty"` // repositories that are not released, as nothing was committed in them
	Counts    *Counts  `json:"totals"`

	Forge  []ForgeRelease `json:"github_releases,omitempty"` // that gh makes once the tags are pushed
	Others []OtherRelease `json:"not_on_github,omitempty"`   // for which nobody makes one
}

// Counts is how much a release is.
type Counts struct {
	Repos   int `json:"repositories"`
	Commits int `json:"commits_made"`
	Files   int `json:"files_written"`
	Tags    int `json:"tags"`
}

func (d service) planBump(ctx context.Context, sc tool.Scope, in BumpInput) (runs.Plan, error) {
	o := Request{Action: "bump", Part: in.BumpType, Stage: in.PreRelease}
	return d.plan(ctx, sc, call{in.Target, in.ChangeInput, Bump.Name, BumpAction}, o)
}

func (d service) planPromote(ctx context.Context, sc tool.Scope, in PromoteInput) (runs.Plan, error) {
	return d.plan(ctx, sc, call{in.Target, in.ChangeInput, Promote.Name, PromoteAction}, Request{Action: "promote", Stage: in.Stage})
}

// call is what bumps and promotions are called with.
type call struct {
	runs.Target
	ChangeInput
	tool   tool.Name
	action string
}

func (d service) plan(ctx context.Context, sc tool.Scope, in call, o Request) (runs.Plan, error) {
	f, err := d.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	maker := Publisher(d)
	if err := maker.Tidy(ctx, f); err != nil {
		return runs.Plan{}, err
	}
	o.Message, o.Push, o.Strict, o.Skip = readable(in.Message), in.Push || f.Manifest().Release.Push, in.Strict, in.SkipValidation
	o.Own = in.Independent || f.Manifest().Release.Independent
	o.At, o.Origin = d.Clock.Now().UTC().Truncate(24*time.Hour), "agent" // the day stands in changelogs; the moment is that of the run
	if strings.HasPrefix(sc.Client, "countersign-cli") {
		o.Origin = "cli"
	}
	dr, err := d.Draft(ctx, f, o)
	if err == nil {
		err = dr.CheckError()
	}
	if err != nil {
		return runs.Plan{}, err
	}
	if in.GitHub {
		if err := d.planForge(ctx, dr); err != nil {
			return runs.Plan{}, err
		}
	}
	if dr.Order.Push {
		owed, err := maker.OwedForge(ctx, f.Layout)
		if err != nil {
			return runs.Plan{}, err
		}
		dr.Order.Forge = append(owed, dr.Order.Forge...)
		if !sc.Explaining {
			if err := maker.checkRemotes(ctx, dr); err != nil {
				return runs.Plan{}, err
			}
		}
	}
	pending, err := maker.Outgoing(ctx, dr.ReleaseState)
	if err != nil {
		return runs.Plan{}, err
	}
	if dr.Order.Push {
		dr.Order.Earlier = dr.earlier(pending)
	}
	root, err := maker.releaseRoot(ctx, dr, pending, !sc.Explaining)
	if err != nil {
		return runs.Plan{}, err
	}
	p := planOf(dr, root)
	if len(pending.Tags) > 0 {
		p.Warnings = append([]string{unpushedWarning(pending, dr.Order)}, p.Warnings...)
	}
	p.Tool, p.Action = in.tool, in.action
	if p.Payload, err = json.Marshal(dr.Order); err != nil {
		return runs.Plan{}, err
	}
	return p.Sealed(f)
}

// earlier returns the tags of earlier releases that a push of this one brings out with it.
func (dr *Draft) earlier(pending Outgoing) map[string][]string {
	var out map[string][]string
	for _, m := range dr.Members {
		if tags := pending.Tags[m.Name]; len(tags) > 0 {
			if out == nil {
				out = map[string][]string{}
			}
			out[m.Name] = tags
		}
	}
	return out
}

// unpushedWarning says that an earlier release is on this machine alone: whoever repeats a call whose push was interrupted gets another version.
func unpushedWarning(pending Outgoing, o Request) string {
	var names []string
	for _, tags := range pending.Tags {
		for _, tag := range tags {
			if !slices.Contains(names, tag) {
				names = append(names, tag)
			}
		}
	}
	slices.Sort(names)
	said := strings.Join(names, ", ") + " is released here and not pushed; amof_push_ecosystem pushes it, and this makes " + o.Tag + ", which is another version"
	if o.Push && len(o.Earlier) == len(pending.Tags) {
		said += ", and pushes both"
	}
	return said
}

// releaseRoot returns what becomes of the workspace root.
func (d Publisher) releaseRoot(ctx context.Context, dr *Draft, pending Outgoing, ask bool) (*RootPlan, error) {
	commits, files := []string{release.CommitSubject(dr.Order.Tag)}, []string{}
	if dr.Order.Push {
		records := append(pending.Without(dr.Order.Earlier), dr.Order.Tag)
		for _, e := range d.pushedRecords(ctx, dr.ReleaseState, records) {
			files = append(files, e.Path)
		}
		commits = append(commits, pushedSubject(records))
	}
	return d.RootPlan(ctx, dr.Root, dr.Found.Layout, commits, files, dr.Order.Push, ask)
}

// readable returns a message without control characters, which neither commits nor tags take.
func readable(message string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ReplaceAll(message, "\r\n", "\n")))
}

// checkRemotes fails if an origin would reject the push of the release, or does not answer: with release.ErrTag if it has the tag, with release.ErrChecks if its
// branch has commits that are not here.
func (d Publisher) checkRemotes(ctx context.Context, dr *Draft) error {
	found := make([]ecosystemport.PushObstacles, len(dr.Members))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(askAtATime)
	for i, m := range dr.Members {
		group.Go(func() (err error) {
			found[i], err = d.Git.Obstacles(within, m.Dir, m.Foot.Branch, m.NextTag)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var moved []string
	for i, m := range dr.Members {
		if found[i].Tag {
			return release.ErrTag.WithMessage("the origin of %s has tag %s already; fetch it and see what it is, or delete it there", m.Name, m.NextTag).
				WithDetails(map[string]any{"tag": m.NextTag, "repos": []string{m.Name}})
		}
		if found[i].Moved {
			moved = append(moved, m.Name+" ("+m.Foot.Branch+")")
		}
	}
	if len(moved) > 0 {
		return release.ErrChecks.WithMessage("the push would be rejected: origin has commits that are not here, in %s; amof_sync_ecosystem brings them in", strings.Join(moved, ", ")).
			WithDetails(map[string]any{"repos": moved})
	}
	return nil
}

const askAtATime = 8

// planOf returns the draft as it is shown.
func planOf(dr *Draft, root *RootPlan) runs.Plan {
	name := dr.Found.Layout.Name
	pv := Preview{Current: dr.Current.Shown(), Next: dr.Next.Shown(), Branch: dr.Branch(), Commits: dr.NewestCommits(release.MaxSubjects), Total: dr.Commits(), Files: dr.Files(), Tag: dr.Order.Tag,
		WillPush: dr.Order.Push, Checks: dr.Checks, Message: dr.Order.Message, Earlier: dr.Order.Earlier, Root: root,
		Notes: []string{"hooks of the repositories are not run", "commits and tags are not signed"}}
	pv.Counts = &Counts{Repos: len(dr.Members), Commits: len(root.Commits), Files: len(pv.Files), Tags: len(dr.Members)}
	as := " as " + dr.Order.Tag
	if dr.Independent {
		pv.Current, pv.Next, pv.Versions, pv.Unchanged = "", "", release.Independent, dr.Unchanged
		as = ", each with its own version"
		if dr.Next.Pre != "" {
			as += ", as " + dr.Order.Stage
		}
	}
	affects := []string{}
	if dr.Order.Push && !root.WillPush {
		pv.Notes = append(pv.Notes, "the workspace root has no remote, so that the record stays on this machine")
	}
	for _, m := range dr.Members {
		one := RepoPlan{Name: m.Name, Dir: dr.below(m), Branch: m.Foot.Branch, Head: ShortCommit(m.Foot.Head), Commits: m.History.Total, Commit: len(m.Edits) > 0, Files: len(m.Edits)}
		if one.Commit {
			one.Message = commitMessage(dr.Order, m.NextTag)
		}
		if dr.Order.Push {
			one.Pushes = append(append([]string{m.Foot.Branch}, dr.Order.Earlier[m.Name]...), m.NextTag)
		}
		if dr.Independent {
			one.Current, one.Next, one.Tag, one.Updated = m.Current.Shown(), m.Next.Shown(), m.NextTag, m.Updated
		}
		pv.Repos = append(pv.Repos, one)
		if one.Commit {
			pv.Counts.Commits++
		}
		if dr.Independent {
			affects = append(affects, m.Name+" "+m.NextTag+" ("+m.Foot.Branch+")")
		} else {
			affects = append(affects, m.Name+" ("+m.Foot.Branch+")")
		}
	}
	affects = append(affects, "workspace root ("+root.Branch+")")
	risk := runs.Risk{Level: "high", Irreversible: dr.Order.Push, Reasons: []string{map[bool]string{false: "tags every repository", true: "tags repositories"}[dr.Independent]}}
	what := fmt.Sprintf("Releases %s%s: writes version files and changelogs, commits them, and tags %s", name, as, plural(len(dr.Members), "repository", "repositories"))
	if dr.Order.Push {
		risk.Reasons = append(risk.Reasons, "writes to remotes")
		what += ", and pushes branch and tag, and the branch of the workspace root, which records the release"
	}
	if pv.Forge = dr.Order.Forge; len(pv.Forge) > 0 {
		pv.Notes = append(pv.Notes, "gh runs with your login, outside of the repositories; a release that is there already stays as it is")
		risk.Reasons = append(risk.Reasons, "publishes releases on GitHub")
		what += ", and has gh make " + plural(len(pv.Forge), "release", "releases") + " on GitHub"
	}
	if pv.Others = dr.Order.Others; len(pv.Others) > 0 {
		what += ", and none for " + strings.Join(named(pv.Others), ", ") + ", as that is elsewhere"
		pv.Notes = append(pv.Notes, "no release is made for what is not on GitHub; the run says where it can be made by hand")
	}
	stage, _ := dr.Current.Stage()
	return runs.Plan{Summary: fmt.Sprintf("release of %s as %s (%s)", name, dr.Order.Tag, plural(len(dr.Members), "repository", "repositories")), Preview: pv, Facts: dr.Facts(), Warnings: dr.Checks.Warnings,
		Explanation: runs.Explanation{What: what + ".", Irreversible: dr.Order.Push, Affects: affects, Alternatives: []string{string(Status.Name), string(Validate.Name)}},
		Current:     map[string]any{"tag": tool.NilIfZero(dr.Tag), "version": dr.Current.Shown(), "stage": stage, "commits_since_tag": dr.Commits(), "dirty": dr.Dirty()},
		Risk:        risk, Hint: "repeat the call in execute mode, look at the preview and confirm it"}
}

func plural(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}
