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

// Releases shows the current version, the release checks and the release history, and makes the next version.
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
	a.Add(ui.Part("Next version", ui.Div(ui.Class("grid"), ui.Card("New version", bump(a)), ui.Card("Next stage", promote(a, now)))))
	a.Add(releaseLog(a))
	a.Write("releases", liveRuns, liveCalls)
}

// versionFacts returns the current version and the possible next versions.
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
		ui.Fact{Name: "Versions differ between repositories", Value: YesText(n.Drift)}),
		ui.DataTable("Repositories", []string{"Repository", "Branch", "Head", "Tag", "Commits since", "Next", "Status"}, repos, "No repositories to release."),
		ui.Disclosure("Recent commits", false, ui.DataTable("Recent commits", []string{"Repository", "Commit", "Subject"}, commits, "No commits since.")),
		ui.Disclosure("Next versions", false, ui.DataTable("Next versions", []string{"Version", "How"}, next, "No next version.")))
}

// checks returns the results of the release checks.
func checks(a *EcosystemPage) ui.Node {
	var found releases.Validation
	if err := a.Read(releases.Validate.Name, nil, &found); err != nil {
		return ui.Part("Release checks", ui.Problem(fault.From(err)))
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
	return ui.Part("Release checks", ui.DataTable("Checks", []string{"Result", "Check"}, rows, "No checks."))
}

// making returns the fields that the forms bump and promote share.
func making(id string) ui.Node {
	return ui.Group{ui.Field(id+"-message", "message", "Tag message (optional)", ""), ui.CheckboxField(id+"-push", "push", "Push branches and tags afterwards", false),
		ui.CheckboxField(id+"-github", "github", "Create GitHub releases (needs gh and a push)", false), ui.CheckboxField(id+"-independent", "independent", "Give each repository its own version", false),
		ui.CheckboxField(id+"-strict", "strict", "Treat warnings as errors", false), ui.CheckboxField(id+"-skip", "skip_validation", "Release even if checks fail", false)}
}

func bump(a *EcosystemPage) ui.Node {
	return a.ActionForm("bump", "Release", "a new version of "+a.Name,
		ui.SelectField("bump-type", "bump_type", "Version part", "patch", ui.Choice{Value: "auto", Text: "auto: from the commit messages"}, ui.Choice{Value: "patch", Text: "patch: fixes"}, ui.Choice{Value: "minor", Text: "minor: new features"},
			ui.Choice{Value: "major", Text: "major: breaking changes"}),
		ui.SelectField("bump-pre", "pre_release", "Stage", "", ui.Choice{Text: "Stable"}, ui.Choice{Value: "alpha", Text: "Alpha"},
			ui.Choice{Value: "beta", Text: "Beta"}, ui.Choice{Value: "rc", Text: "Release candidate"}), making("bump"))
}

func promote(a *EcosystemPage, n releases.StatusResult) ui.Node {
	if !strings.Contains(n.Version, "-") {
		return ui.Empty("The current version is stable; there is no next stage.")
	}
	return a.ActionForm("promote", "Promote", "the version of "+a.Name,
		ui.SelectField("promote-target", "target", "Next stage", "", ui.Choice{Text: "Stable"}, ui.Choice{Value: "beta", Text: "Beta"}, ui.Choice{Value: "rc", Text: "Release candidate"}),
		making("promote"))
}

func releaseLog(a *EcosystemPage) ui.Node {
	var past releases.ReleaseLog
	if err := a.Read(releases.Log.Name, map[string]any{"limit": 30}, &past); err != nil {
		return ui.Part("Release history", ui.Problem(fault.From(err)))
	}
	var rows []ui.Node
	for _, p := range past.Records {
		rows = append(rows, ui.Row(mono(p.Tag), when(p.Date), said(p.Stage), said(ui.Deref(p.Action)), said(number(p.Commits)), said(ui.Deref(p.Origin))))
	}
	return ui.Part("Release history", ui.DataTable("Releases", []string{"Version", "Released", "Stage", "Method", "Commits", "Released by"}, rows, "No releases yet."))
}
