package ecopages

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Releases shows which version there is, whether another one can be made, those there were, and makes the next one.
func (s stages) Releases(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	a, ok := s.base.Open(w, r, v)
	if !ok {
		return
	}
	var now releases.StatusResult
	if err := a.Read(releases.Status.Name, nil, &now); err != nil {
		if f := fault.From(err); f.Kind == fault.NotFound {
			s.base.Fail(w, v, err)
			return
		}
		a.Add(ui.Part("Releases", ui.Problem(fault.From(err)))) // not installed, say: then there is nothing to release
		a.Write("releases", liveRuns)
		return
	}
	a.Add(versionFacts(now))
	a.Add(checks(a))
	a.Add(ui.Part("The next version", ui.Card("A new version", bump(a)), ui.Card("The next stage of this version", promote(a, now))))
	a.Add(releaseLog(a))
	a.Write("releases", liveRuns, liveCalls)
}

// versionFacts returns the version an ecosystem is at, and which may follow.
func versionFacts(n releases.StatusResult) ui.Node {
	var repos, commits, next []ui.Node
	for _, r := range n.Repos {
		repos = append(repos, ui.Row(said(r.Name), mono(r.Branch), mono(r.Head), said(FirstNonEmpty(r.Tag, "–")), said(strconv.Itoa(r.Commits)), said(r.Next),
			WithNote(said(map[bool]string{true: "uncommitted changes", false: "clean"}[r.Dirty]), r.Problem)))
	}
	for _, c := range n.Recent {
		commits = append(commits, ui.Row(said(c.Repo), mono(c.Commit), said(c.Subject)))
	}
	for _, way := range n.Next {
		next = append(next, ui.Row(mono(way.Version), said(way.How)))
	}
	return ui.Part("Version", ui.Facts(ui.Fact{Name: "Current version", Value: said(n.Version)}, ui.Fact{Name: "Tag", Value: ui.OptionalCode(ui.Deref(n.Tag))}, ui.Fact{Name: "Stage", Value: ui.OptionalText(n.Stage)},
		ui.Fact{Name: "Commits since", Value: said(strconv.Itoa(n.Commits))}, ui.Fact{Name: "Uncommitted changes", Value: YesText(n.Dirty)},
		ui.Fact{Name: "Versions differ between the repositories", Value: YesText(n.Drift)}),
		ui.DataTable("Repositories", []string{"Repository", "Branch", "Head", "Its tag", "Commits since", "Next", "Is"}, repos, "There are none to release."),
		ui.Disclosure("Recent commits", false, ui.DataTable("Recent commits", []string{"Repository", "Commit", "Subject"}, commits, "There are none since.")),
		ui.Disclosure("Versions that may follow", false, ui.DataTable("Versions that may follow", []string{"Version", "By"}, next, "There is none.")))
}

// checks returns what speaks for and against a release.
func checks(a *EcosystemPage) ui.Node {
	var found releases.Validation
	if err := a.Read(releases.Validate.Name, nil, &found); err != nil {
		return ui.Part("Can it be released?", ui.Problem(fault.From(err)))
	}
	var rows []ui.Node
	add := func(lines []string, tone, word string) {
		for _, line := range lines {
			rows = append(rows, ui.Row(ui.Badge(tone, word), said(line)))
		}
	}
	add(found.Errors, ui.Bad, "error")
	add(found.Warnings, ui.Warn, "warning")
	add(found.Passed, ui.Good, "passed")
	return ui.Part("Can it be released?", ui.DataTable("Checks", []string{"Check", "What it found"}, rows, "There is nothing to check."))
}

// making returns the fields that both ways of making a version have.
func making(id string) ui.Node {
	return ui.Group{ui.Field(id+"-message", "message", "Message, for the tag (may be empty)", ""), ui.CheckboxField(id+"-push", "push", "Push branches and tags afterwards", false),
		ui.CheckboxField(id+"-github", "github", "Make releases on GitHub, too (needs gh and a push)", false), ui.CheckboxField(id+"-independent", "independent", "Give each repository its own version", false),
		ui.CheckboxField(id+"-strict", "strict", "Take warnings for errors", false), ui.CheckboxField(id+"-skip", "skip_validation", "Release in spite of what the checks find", false)}
}

func bump(a *EcosystemPage) ui.Node {
	return a.ActionForm("bump", "Release", "a new version of "+a.Name,
		ui.SelectField("bump-type", "bump_type", "How far it goes", "patch", ui.Choice{Value: "auto", Text: "as the commits say"}, ui.Choice{Value: "patch", Text: "patch: mended"}, ui.Choice{Value: "minor", Text: "minor: something new"},
			ui.Choice{Value: "major", Text: "major: something is different"}),
		ui.SelectField("bump-pre", "pre_release", "As", "", ui.Choice{Text: "a stable version"}, ui.Choice{Value: "alpha", Text: "an alpha version"},
			ui.Choice{Value: "beta", Text: "a beta version"}, ui.Choice{Value: "rc", Text: "a release candidate"}), making("bump"))
}

func promote(a *EcosystemPage, n releases.StatusResult) ui.Node {
	if !strings.Contains(n.Version, "-") {
		return ui.Empty("The current version is a stable one: there is no next stage.")
	}
	return a.ActionForm("promote", "Promote", "the version of "+a.Name,
		ui.SelectField("promote-target", "target", "To", "", ui.Choice{Text: "the stable version"}, ui.Choice{Value: "beta", Text: "a beta version"}, ui.Choice{Value: "rc", Text: "a release candidate"}),
		making("promote"))
}

func releaseLog(a *EcosystemPage) ui.Node {
	var past releases.ReleaseLog
	if err := a.Read(releases.Log.Name, map[string]any{"limit": 30}, &past); err != nil {
		return ui.Part("Releases so far", ui.Problem(fault.From(err)))
	}
	var rows []ui.Node
	for _, p := range past.Records {
		rows = append(rows, ui.Row(mono(p.Tag), when(p.Date), said(p.Stage), said(ui.Deref(p.Action)), said(number(p.Commits)), said(ui.Deref(p.Origin))))
	}
	return ui.Part("Releases so far", ui.DataTable("Releases", []string{"Version", "Released", "Stage", "By way of", "Commits", "By"}, rows, "Nothing is released yet."))
}
