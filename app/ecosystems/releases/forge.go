package releases

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/ecosystem/release"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// forgeNote keeps the releases that are still to be made on GitHub.
const forgeNote = "release/github"

// ForgeRelease is a release that is made on GitHub once its tag is there.
type ForgeRelease struct {
	Repo string `json:"repo"`
	ecosystemport.ForgeRelease
}

// PublishedRelease is what came of one.
type PublishedRelease struct {
	Repo  string `json:"repo"`
	Tag   string `json:"tag"`
	Page  string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
}

// OtherRelease is a release that is to be made by hand, because the origin is not on GitHub.
type OtherRelease struct {
	Repo string `json:"repo"`
	Tag  string `json:"tag"`
	Page string `json:"url,omitempty"` // where its site has one made, if that is known
}

// planForge works out the releases on GitHub, and those that are to be made elsewhere by hand. It fails with ecosystem.ErrForge where none can be made, or gh is missing.
func (d Deps) planForge(ctx context.Context, dr *Draft) error {
	if !dr.Order.Push {
		return ecosystem.ErrForge.WithMessage("a release on GitHub needs its tag there: call with push, too")
	}
	remotes := make([]string, len(dr.Members))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askAtATime)
	for i, m := range dr.Members {
		group.Go(func() error {
			origin, err := d.Git.Origin(ctx, m.Dir, m.Foot.Branch, 0)
			remotes[i] = origin.URL
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, m := range dr.Members {
		u, err := git.ParseURL(remotes[i])
		if err != nil || !u.GitHub() {
			dr.Order.Others = append(dr.Order.Others, OtherRelease{Repo: m.Name, Tag: m.NextTag, Page: u.ReleasePage(m.NextTag)})
			continue
		}
		if _, err := d.Forge.Program(remotes[i]); err != nil {
			return err
		}
		dr.Order.Forge = append(dr.Order.Forge, ForgeRelease{Repo: m.Name, ForgeRelease: ecosystemport.ForgeRelease{Remote: remotes[i], Tag: m.NextTag, Notes: dr.forgeNotes(m), PreRelease: m.Next.Pre != ""}})
	}
	if len(dr.Order.Forge) == 0 {
		return ecosystem.ErrForge.WithMessage("no origin is on GitHub (%s); release without github, and make the releases on their sites by hand", strings.Join(named(dr.Order.Others), ", "))
	}
	return nil
}

// named returns the repositories of releases that are made by hand.
func named(others []OtherRelease) (out []string) {
	for _, r := range others {
		out = append(out, r.Repo)
	}
	return out
}

// reportOthers says where the releases that gh does not make can be made.
func reportOthers(others []OtherRelease, log func(level, message string)) {
	for _, r := range others {
		at := "on the site of its origin"
		if r.Page != "" {
			at = "at " + r.Page
		}
		log("info", r.Repo+" is not on GitHub: a release of "+r.Tag+" can be made by hand "+at)
	}
}

// forgeNotes returns what the release says: the changelog's section of it, or what was committed.
func (dr *Draft) forgeNotes(m *RepoState) string {
	for _, e := range m.Edits {
		if e.Path == dr.Rules.Changelog {
			return release.SectionText(e.New, m.Next.String())
		}
	}
	return release.NotesText(dr.notes(m))
}

// oweForge puts on record that releases are to be made on GitHub: from then on the next push makes those that this one does not.
func (d Publisher) oweForge(ctx context.Context, l ecosystem.Layout, more []ForgeRelease) error {
	left, err := d.OwedForge(ctx, l)
	if err != nil || len(more) == 0 {
		return err
	}
	for _, r := range more {
		if !slices.ContainsFunc(left, func(o ForgeRelease) bool { return o.Repo == r.Repo && o.Tag == r.Tag }) {
			left = append(left, r)
		}
	}
	return d.saveForge(ctx, l, left)
}

// OwedForge returns the releases that are still to be made on GitHub.
func (d Publisher) OwedForge(ctx context.Context, l ecosystem.Layout) (left []ForgeRelease, err error) {
	doc, err := d.States.Noted(ctx, l, forgeNote)
	if err == nil && doc != nil {
		_ = json.Unmarshal(doc, &left) // what cannot be read can be made by hand
	}
	return left, err
}

func (d Publisher) saveForge(ctx context.Context, l ecosystem.Layout, left []ForgeRelease) error {
	if len(left) == 0 {
		return d.States.Note(ctx, l, forgeNote, nil)
	}
	doc, err := json.Marshal(left)
	if err != nil {
		return err
	}
	return d.States.Note(ctx, l, forgeNote, doc)
}

// forgetForge takes releases from the record that are taken back.
func (d Publisher) forgetForge(ctx context.Context, l ecosystem.Layout, gone map[string]string) error {
	left, err := d.OwedForge(ctx, l)
	if err != nil || len(left) == 0 {
		return err
	}
	return d.saveForge(ctx, l, slices.DeleteFunc(left, func(r ForgeRelease) bool { return gone[r.Repo] == r.Tag }))
}

// DeliverForge makes those of the approved releases on GitHub that are still missing and whose tags are out. One that fails does not stop the others; it fails with ecosystem.ErrForge then. Wherever it
// is interrupted, the next call goes on.
func (d Publisher) DeliverForge(ctx context.Context, l ecosystem.Layout, approved []ForgeRelease, log func(level, message string)) (done []PublishedRelease, err error) {
	left, err := d.OwedForge(ctx, l)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	unpushed, err := d.loadUnpushed(ctx, l)
	if err != nil {
		return nil, err
	}
	var failed []string
	var first error
	for _, r := range slices.Clone(left) {
		if slices.Contains(unpushed[r.Repo], r.Tag) || !slices.Contains(approved, r) {
			continue
		}
		one := PublishedRelease{Repo: r.Repo, Tag: r.Tag}
		one.Page, err = d.Forge.Release(ctx, r.ForgeRelease)
		if ctx.Err() != nil {
			return done, fault.From(ctx.Err())
		}
		if err != nil {
			one.Error = fault.From(err).Message
			failed, first = append(failed, r.Repo), err
			log("error", r.Repo+": the release of "+r.Tag+" on GitHub could not be made: "+one.Error)
			done = append(done, one)
			continue
		}
		log("info", r.Repo+": released "+r.Tag+" on GitHub: "+one.Page)
		done = append(done, one)
		left = slices.DeleteFunc(left, func(o ForgeRelease) bool { return o.Repo == r.Repo && o.Tag == r.Tag })
		if err := d.saveForge(ctx, l, left); err != nil {
			return done, err
		}
	}
	if len(failed) > 0 {
		return done, ecosystem.ErrForge.WithMessage("everything is pushed, but %s on GitHub could not be made (%s): %s; amof_push_ecosystem makes what is missing",
			plural(len(failed), "release", "releases"), strings.Join(failed, ", "), fault.From(first).Message).WithCause(first)
	}
	return done, nil
}

// forgeTitles returns releases on GitHub in words.
func forgeTitles(all []ForgeRelease) (out []string) {
	for _, r := range all {
		out = append(out, fmt.Sprintf("%s %s", r.Repo, r.Tag))
	}
	return out
}
