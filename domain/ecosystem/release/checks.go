package release

import (
	"cmp"
	"fmt"
	"strings"
)

// File is a version file, or a changelog, as it was found.
type File struct {
	Path    string
	Says    string // the version that it states
	Missing bool
	Err     error // why it cannot be written
}

// Repo is what of a repository a release depends on.
type Repo struct {
	Name     string
	Problem  string // why it cannot be looked at; empty when it can
	Branch   string // empty when detached
	Usual    string // the branch that the manifest names
	Born     bool   // it has a commit
	Doing    string // what git is in the middle of: "rebase"; empty for nothing
	Dirty    int
	Changed  []string // paths, as many as are known
	Behind   int      // of the branch it follows, as last fetched
	Commits  int      // since the current version
	HasNext  bool     // the next tag exists
	Highest  string   // its own highest tag
	Versions []File
	Log      File // its changelog
	Own      *Own // where versions are independent
}

// Own is the version of one repository among others that have theirs.
type Own struct {
	Tag     string  // the current one; empty for none
	Current Version // 0.0.0 without one
	NextTag string  // empty when only a stage is aimed at
	Next    Version
	Stage   string
}

// Target is the release that is checked.
type Target struct {
	Tag     string  // the current one; empty for none
	Current Version // 0.0.0 without one
	NextTag string  // empty when only a stage is aimed at
	Next    Version // that of NextTag
	Prefix  string  // of tags
	Stage   string
	Empty   bool     // nothing was committed since the current version
	Strict  bool     // warnings are errors
	Skip    bool     // what can be lived with is not checked
	Author  error    // why nobody is known who commits
	Wrong   []string // what else makes a release impossible
}

// Checks are what has to hold before a release (amof contract §13.25).
type Checks struct {
	OK       bool     `json:"ok"`
	Status   string   `json:"status"` // ok, warning or failed
	Passed   []string `json:"passed"`
	Warnings []string `json:"warnings"`
	Errors   []string `json:"errors"`
}

// checker gathers.
type checker struct {
	Checks
	aim Target
}

// RunChecks checks the repositories. What cannot be released at all is an error also where the rest is skipped.
func RunChecks(aim Target, repos []Repo) Checks {
	c := checker{aim: aim, Checks: Checks{Passed: []string{}, Warnings: []string{}, Errors: []string{}}}
	c.must(aim.Author == nil, "git user configured", text(aim.Author))
	for _, wrong := range aim.Wrong {
		c.must(false, "", wrong)
	}
	var differ []string
	independent := false
	for i := range repos {
		r := &repos[i]
		c.aim = aim.of(r)
		independent = independent || r.Own != nil
		if r.Own == nil && r.Highest != aim.Tag {
			differ = append(differ, r.Name+" "+cmp.Or(r.Highest, "none"))
		}
		if c.must(r.Problem == "", "", r.Name+": "+r.Problem) && c.standing(r) {
			c.files(r)
			if !aim.Skip {
				c.habits(r)
			}
		}
	}
	if c.aim = aim; !aim.Skip {
		c.should(!aim.Empty, "", "no commits since "+aim.Tag+"; this releases the same content again")
		same := "all repositories have the same version"
		if independent {
			same = ""
		}
		c.should(len(differ) == 0, same, "the highest tags differ from the common "+cmp.Or(aim.Tag, "none")+": "+strings.Join(differ, ", "))
	}
	c.Passed, c.Warnings, c.Errors = gathered(repos, c.Passed, few), gathered(repos, c.Warnings, 1), gathered(repos, c.Errors, 1)
	c.Status, c.OK = "ok", len(c.Errors) == 0
	switch {
	case !c.OK:
		c.Status = "failed"
	case len(c.Warnings) > 0:
		c.Status = "warning"
	}
	return c.Checks
}

// few is how many repositories may have a line each that says the same, where nothing is wrong.
const few = 3

// gathered returns the lines, what is said of more than that many repositories in the same words once: "api, web, docs, lib: clean".
func gathered(repos []Repo, lines []string, most int) []string {
	known := map[string]bool{}
	for i := range repos {
		known[repos[i].Name] = true
	}
	names := map[string][]string{}
	for _, line := range lines {
		if name, said, ok := strings.Cut(line, ": "); ok && known[name] {
			names[said] = append(names[said], name)
		}
	}
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		name, said, _ := strings.Cut(line, ": ")
		switch all := names[said]; {
		case len(all) <= most || !known[name]:
			out = append(out, line)
		case all[0] == name:
			out = append(out, strings.Join(all, ", ")+": "+said)
		}
	}
	return out
}

// of returns what is aimed at in one repository.
func (t Target) of(r *Repo) Target {
	if o := r.Own; o != nil {
		t.Tag, t.Current, t.NextTag, t.Next, t.Stage = o.Tag, o.Current, o.NextTag, o.Next, o.Stage
	}
	return t
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// must is what cannot be done without.
func (c *checker) must(holds bool, passed, failed string) bool {
	switch {
	case !holds:
		c.Errors = append(c.Errors, failed)
	case passed != "":
		c.Passed = append(c.Passed, passed)
	}
	return holds
}

// should is what can be lived with, unless the check is strict.
func (c *checker) should(holds bool, passed, failed string) {
	if holds || c.aim.Strict {
		c.must(holds, passed, failed)
		return
	}
	c.Warnings = append(c.Warnings, failed)
}

// standing checks the status of the repository.
func (c *checker) standing(r *Repo) bool {
	switch {
	case r.Doing != "":
		return c.must(false, "", fmt.Sprintf("%s: a git %s is in progress; finish or abort it", r.Name, r.Doing))
	case r.Branch == "":
		return c.must(false, "", r.Name+": HEAD is detached; check out a branch for the release commit")
	case !r.Born:
		return c.must(false, "", r.Name+": it has no commit to release")
	case r.HasNext:
		return c.must(false, "", fmt.Sprintf("%s: tag %s already exists; delete it (git tag -d %s), or create it in the other repositories too", r.Name, c.aim.NextTag, c.aim.NextTag))
	}
	return true
}

// files are the files that would be written.
func (c *checker) files(r *Repo) {
	for _, f := range r.Versions {
		good := f.Err == nil && !f.Missing
		why := text(f.Err)
		if f.Missing {
			why = fmt.Sprintf("version file %s is missing; correct release.version_files of the manifest, or add the file", f.Path)
		}
		if c.must(good, "", r.Name+": "+why) && c.untouched(r, f.Path) && !c.aim.Skip {
			if c.aim.Tag != "" {
				c.should(f.Says == c.aim.Current.String(), r.Name+": "+f.Path+" says "+f.Says, fmt.Sprintf("%s: %s has version %s, but the current version is %s%s", r.Name, f.Path, f.Says, c.aim.Current, c.lowering(f)))
			} else if lower := c.lowering(f); lower != "" {
				c.should(false, "", fmt.Sprintf("%s: %s has version %s, but no release of it was found, so the first release starts from 0.0.0%s", r.Name, f.Path, f.Says, lower))
			}
		}
	}
	switch {
	case r.Log.Err != nil:
		c.must(false, "", r.Name+": "+text(r.Log.Err))
	case !r.Log.Missing:
		c.untouched(r, r.Log.Path)
	case c.aim.Skip:
	case c.aim.Stage == Stable:
		c.must(false, "", fmt.Sprintf("%s: %s is missing; add it, because a stable release needs it", r.Name, r.Log.Path))
	default:
		c.should(false, "", fmt.Sprintf("%s: %s is missing; no entry is written for this release", r.Name, r.Log.Path))
	}
}

// lowering says that the release states a lower version in the file than stands there, and how it would not; empty where it does not. Without a next
// version, that is the smallest release that there can be.
func (c *checker) lowering(f File) string {
	says, err := ParseVersion(strings.TrimPrefix(f.Says, "v"))
	next := c.aim.Next
	if c.aim.NextTag == "" {
		next, _ = Bump(c.aim.Current, patch, "")
	}
	if err != nil || CompareVersions(says, next) <= 0 {
		return ""
	}
	lower := "; this release lowers it to " + next.String()
	if c.aim.NextTag == "" {
		lower = "; a patch lowers it to " + next.String()
	}
	lower += fmt.Sprintf(". If %s was released, tag its commit in every repository first (git tag %s%s COMMIT)", says, c.aim.Prefix, says)
	for _, part := range []string{minor, major} {
		if higher, err := Bump(c.aim.Current, part, ""); err == nil && CompareVersions(higher, says) >= 0 {
			return lower + "; if not, bump " + part + ", which is " + higher.String()
		}
	}
	return lower
}

// untouched rejects a file with uncommitted changes, which would become part of the release.
func (c *checker) untouched(r *Repo, path string) bool {
	for _, changed := range r.Changed {
		if changed == path || strings.HasSuffix(changed, "/") && strings.HasPrefix(path, changed) {
			return c.must(false, "", fmt.Sprintf("%s: %s has uncommitted changes, but a release writes to it; commit or undo them", r.Name, path))
		}
	}
	return true
}

// habits are what can be lived with.
func (c *checker) habits(r *Repo) {
	dirty := fmt.Sprintf("%s: uncommitted: %s; commit or stash what belongs to the release", r.Name, count(r.Dirty, "change"))
	if c.aim.Stage == alpha {
		c.should(r.Dirty == 0, r.Name+": clean", dirty)
	} else {
		c.must(r.Dirty == 0, r.Name+": clean", dirty)
	}
	if c.aim.Stage == Stable {
		usual := r.Branch == "main" || r.Branch == "master" || r.Branch == r.Usual || strings.HasPrefix(r.Branch, "release/")
		c.should(usual, r.Name+": on "+r.Branch, fmt.Sprintf("%s: stable release from %s, which is not main, master, release/… or the manifest's branch %s", r.Name, r.Branch, r.Usual))
	}
	if r.Behind > 0 {
		c.should(false, "", fmt.Sprintf("%s: %s is %s behind its upstream branch; sync first", r.Name, r.Branch, count(r.Behind, "commit")))
	}
}
