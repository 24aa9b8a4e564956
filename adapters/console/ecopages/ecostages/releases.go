package ecostages

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ecopages/ecodesk"
	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/domain/fault"
)

// released is which version an ecosystem is at, and which may follow.
type released struct {
	Version string  `json:"current_version"`
	Tag     *string `json:"tag"`
	Stage   string  `json:"stage"`
	Dirty   bool    `json:"dirty"`
	Drift   bool    `json:"version_drift"`
	Branch  string  `json:"branch"`
	Commits int     `json:"commits_since_tag"`
	Recent  []struct{ Repo, Commit, Subject string }
	Next    []struct{ Version, How string } `json:"next_versions"`
	Repos   []struct {
		Name    string `json:"name"`
		Branch  string `json:"branch"`
		Head    string `json:"head"`
		Tag     string `json:"tag"`
		Dirty   bool   `json:"dirty"`
		Commits int    `json:"commits_since_tag"`
		Problem string `json:"problem"`
	} `json:"repos"`
}

// Releases shows which version there is, whether another one can be made, those there were, and makes the next one.
func (s Stages) Releases(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	a, ok := s.desk.Open(w, r, v)
	if !ok {
		return
	}
	var now released
	if err := a.Read("amof_release_status", nil, &now); err != nil {
		if f := fault.From(err); f.Kind == fault.NotFound {
			s.desk.Fail(w, v, err)
			return
		}
		a.Add(page.Part("Releases", page.Problem(fault.From(err)))) // not installed, say: then there is nothing to release
		a.Write("releases", ecodesk.LiveRuns)
		return
	}
	a.Add(now.show())
	a.Add(checks(a))
	a.Add(page.Part("The next version", page.Card("A new version", bump(a)), page.Card("The next stage of this version", promote(a, now))))
	a.Add(releaseLog(a))
	a.Write("releases", ecodesk.LiveRuns, ecodesk.LiveCalls)
}

func (n released) show() markup.Node {
	var repos, commits, next []markup.Node
	for _, r := range n.Repos {
		repos = append(repos, page.Row(ecodesk.Said(r.Name), ecodesk.Mono(r.Branch), ecodesk.Mono(r.Head), ecodesk.Said(ecodesk.First(r.Tag, "–")), ecodesk.Said(strconv.Itoa(r.Commits)),
			ecodesk.Under(ecodesk.Said(map[bool]string{true: "uncommitted changes", false: "clean"}[r.Dirty]), r.Problem)))
	}
	for _, c := range n.Recent {
		commits = append(commits, page.Row(ecodesk.Said(c.Repo), ecodesk.Mono(c.Commit), ecodesk.Said(c.Subject)))
	}
	for _, way := range n.Next {
		next = append(next, page.Row(ecodesk.Mono(way.Version), ecodesk.Said(way.How)))
	}
	return page.Part("Version", page.Facts(page.Fact{Name: "Current version", Value: ecodesk.Said(n.Version)}, page.Fact{Name: "Tag", Value: sectionpage.Code(sectionpage.Deref(n.Tag))}, page.Fact{Name: "Stage", Value: sectionpage.Text(n.Stage)},
		page.Fact{Name: "Commits since", Value: ecodesk.Said(strconv.Itoa(n.Commits))}, page.Fact{Name: "Uncommitted changes", Value: ecodesk.Yes(n.Dirty)},
		page.Fact{Name: "Versions differ between the repositories", Value: ecodesk.Yes(n.Drift)}),
		page.Table("Repositories", []string{"Repository", "Branch", "Head", "Its tag", "Commits since", "Is"}, repos, "There are none to release."),
		page.Fold("Recent commits", false, page.Table("Recent commits", []string{"Repository", "Commit", "Subject"}, commits, "There are none since.")),
		page.Fold("Versions that may follow", false, page.Table("Versions that may follow", []string{"Version", "By"}, next, "There is none.")))
}

// checks are what speaks for and against a release.
func checks(a *ecodesk.About) markup.Node {
	var found struct {
		Status                   string
		Passed, Warnings, Errors []string
	}
	if err := a.Read("amof_release_validate", nil, &found); err != nil {
		return page.Part("Can it be released?", page.Problem(fault.From(err)))
	}
	var rows []markup.Node
	add := func(lines []string, tone, word string) {
		for _, line := range lines {
			rows = append(rows, page.Row(page.Badge(tone, word), ecodesk.Said(line)))
		}
	}
	add(found.Errors, page.Bad, "error")
	add(found.Warnings, page.Warn, "warning")
	add(found.Passed, page.Good, "passed")
	return page.Part("Can it be released?", page.Table("Checks", []string{"Check", "What it found"}, rows, "There is nothing to check."))
}

// making are the fields that both ways of making a version have.
func making(id string) markup.Node {
	return markup.Group{page.Field(id+"-message", "message", "Message, for the tag (may be empty)", ""), page.Check(id+"-push", "push", "Push branches and tags afterwards", false),
		page.Check(id+"-strict", "strict", "Take warnings for errors", false), page.Check(id+"-skip", "skip_validation", "Release in spite of what the checks find", false)}
}

func bump(a *ecodesk.About) markup.Node {
	return a.Act("bump", "Release", "a new version of "+a.Name,
		page.Select("bump-type", "bump_type", "How far it goes", "patch", page.Choice{Value: "patch", Text: "patch: mended"}, page.Choice{Value: "minor", Text: "minor: something new"},
			page.Choice{Value: "major", Text: "major: something is different"}),
		page.Select("bump-pre", "pre_release", "As", "", page.Choice{Text: "a stable version"}, page.Choice{Value: "alpha", Text: "an alpha version"},
			page.Choice{Value: "beta", Text: "a beta version"}, page.Choice{Value: "rc", Text: "a release candidate"}), making("bump"))
}

func promote(a *ecodesk.About, n released) markup.Node {
	if !strings.Contains(n.Version, "-") {
		return page.Empty("The current version is a stable one: there is no next stage.")
	}
	return a.Act("promote", "Promote", "the version of "+a.Name,
		page.Select("promote-target", "target", "To", "", page.Choice{Text: "the stable version"}, page.Choice{Value: "beta", Text: "a beta version"}, page.Choice{Value: "rc", Text: "a release candidate"}),
		making("promote"))
}

func releaseLog(a *ecodesk.About) markup.Node {
	var past struct {
		Records []struct {
			Tag     string     `json:"tag"`
			Date    *time.Time `json:"date"`
			Action  *string    `json:"action"`
			Stage   string     `json:"stage"`
			Commits *int       `json:"commits"`
			Origin  *string    `json:"origin"`
		} `json:"records"`
	}
	if err := a.Read("amof_release_log", map[string]any{"limit": 30}, &past); err != nil {
		return page.Part("Releases so far", page.Problem(fault.From(err)))
	}
	var rows []markup.Node
	for _, p := range past.Records {
		rows = append(rows, page.Row(ecodesk.Mono(p.Tag), ecodesk.When(p.Date), ecodesk.Said(p.Stage), ecodesk.Said(sectionpage.Deref(p.Action)), ecodesk.Said(ecodesk.Number(p.Commits)), ecodesk.Said(sectionpage.Deref(p.Origin))))
	}
	return page.Part("Releases so far", page.Table("Releases", []string{"Version", "Released", "Stage", "By way of", "Commits", "By"}, rows, "Nothing is released yet."))
}
