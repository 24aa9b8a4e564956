package ecosystem

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
)

// The defaults of repositories (amof contract §3).
const (
	standardBranch = "main"
	standardDir    = "repos/"

	longUser = 20 // characters from which on what stands before the @ of a URL is a token rather than a user's name
)

// repos reads the repositories. Those whose name or place is taken are left out, and so the manifest never holds two that would meet.
func (r *reader) repos(top object) []Repo {
	if top.absent("repos") {
		top.wrong("repos", "write repos: and list the repositories", "the list of repositories is missing")
		return nil
	}
	entries := top.objects("repos")
	if len(entries) > MaxRepos {
		top.wrong("repos", "split the ecosystem", "%d repositories; at most %d are allowed", len(entries), MaxRepos)
		entries = entries[:MaxRepos]
	} else if len(entries) > manyRepos {
		top.doubt("repos", "split the ecosystem into smaller ones", "%d repositories; operations on more than %d are slow", len(entries), manyRepos)
	}
	if list, ok := top.members["repos"].([]any); ok && len(list) == 0 {
		top.doubt("repos", "add a repository: - {name: api, url: …}", "the ecosystem has no repositories")
	}
	repos := make([]Repo, 0, len(entries))
	var taken []object
	for _, o := range entries {
		repo, ok := repoOf(o)
		if ok && o.apart(repo, repos) {
			repos, taken = append(repos, repo), append(taken, o)
		}
	}
	for i := range repos {
		taken[i].dependencies(&repos[i], repos)
	}
	if len(repos) > 1 && circular(repos) {
		top.wrong("repos", "remove one of them from depends_on", "the repositories depend on each other in a cycle")
	}
	return repos
}

// dependencies reads what a repository depends on: other repositories of the ecosystem.
func (o object) dependencies(repo *Repo, all []Repo) {
	if o.absent("depends_on") {
		return
	}
	o.texts("depends_on", func(at, name string) {
		switch {
		case name == repo.Name:
			o.wrong(at, "remove it", "%s cannot depend on itself", manifestClip(name))
		case !slices.ContainsFunc(all, func(r Repo) bool { return r.Name == name }):
			o.wrong(at, "use one of: "+strings.Join(RepoNames(all), ", "), "%q is not a repository of this ecosystem", manifestClip(name))
		case !slices.Contains(repo.After, name):
			repo.After = append(repo.After, name)
		}
	})
}

// circular reports repositories that wait for each other.
func circular(repos []Repo) bool {
	left := slices.Clone(repos)
	for {
		rest := slices.DeleteFunc(slices.Clone(left), func(r Repo) bool {
			return !slices.ContainsFunc(r.After, func(name string) bool { return slices.ContainsFunc(left, func(o Repo) bool { return o.Name == name }) })
		})
		if len(rest) == len(left) {
			return len(left) > 0
		}
		left = rest
	}
}

func repoOf(o object) (Repo, bool) {
	o.known("name", "url", "branch", "path", "readonly", "enabled", "include", "exclude", "run", "depends_on")
	repo := Repo{
		Name: o.text("name"), URL: o.url(), Branch: o.branch(), ReadOnly: o.flag("readonly", false), Enabled: o.flag("enabled", true),
		Include: o.patterns("include", false), Exclude: o.patterns("exclude", false), Run: o.prose("run", maxProse),
	}
	if repo.Name == "" {
		if o.empty("name") {
			o.wrong("name", "write name: …", "the repository has no name")
		}
		return repo, false
	}
	if !o.named("name", repo.Name) {
		return repo, false
	}
	repo.Path = standardDir + repo.Name
	if dir, ok := o.path("path"); ok {
		if problem := placeProblem(dir); problem != "" {
			o.wrong("path", "write path: "+repo.Path+", or remove it", "%q %s", manifestClip(dir), problem)
		} else {
			repo.Path = dir
		}
	}
	return repo, true
}

// empty reports a member that is absent, or text without a letter: nothing else was said of it yet.
func (o object) empty(key string) bool {
	s, text := o.members[key].(string)
	return o.absent(key) || text && strings.TrimSpace(s) == ""
}

// placeProblem says why a repository cannot be at that place of the workspace, empty when it can.
func placeProblem(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	switch {
	case dir == ".":
		return "is the workspace itself"
	case strings.EqualFold(first, ".git") || strings.Contains(strings.ToLower("/"+dir+"/"), "/.git/") || first == ".amof":
		return "is used by git or Countersign for internal files"
	case first == "tickets":
		return "contains the worktrees of tickets"
	case first == "ecosystems":
		return "contains the ecosystem manifests"
	}
	return ""
}

// apart reports a repository whose name and place are its own, and records what it has in common with one before.
func (o object) apart(repo Repo, before []Repo) bool {
	for _, other := range before {
		switch {
		case other.Name == repo.Name:
			o.wrong("name", "rename one of them", "two repositories have the name %s", repo.Name)
			return false
		case other.Path == repo.Path:
			o.wrong("path", "change the path of one of them", "%s is also the path of %s", manifestClip(repo.Path), other.Name)
			return false
		case within(repo.Path, other.Path), within(other.Path, repo.Path):
			o.wrong("path", "give each a separate directory, such as "+standardDir+repo.Name, "%s (%s) and %s (%s) are nested", repo.Name, manifestClip(repo.Path), other.Name, manifestClip(other.Path))
			return false
		case strings.EqualFold(other.Path, repo.Path) || strings.EqualFold(other.Name, repo.Name):
			o.doubt("name", "rename one of them", "%s and %s differ only in letter case, which some file systems ignore", other.Name, repo.Name)
		}
	}
	return true
}

func within(inner, outer string) bool { return strings.HasPrefix(inner, outer+"/") }

// branch returns the branch that is installed.
func (o object) branch() string {
	if o.empty("branch") {
		o.doubt("branch", "write branch: "+standardBranch, "the branch is missing; %s is used", standardBranch)
		return standardBranch
	}
	name := o.text("branch")
	if name == "" {
		return standardBranch // said already
	}
	if problem, fix := branchProblem(name); problem != "" {
		o.wrong("branch", fix, "%s", problem)
		return standardBranch
	}
	return name
}

// url returns where a repository is cloned from; empty when it is absent or wrong. No message repeats it: it may hold a password.
func (o object) url() string {
	if o.empty("url") {
		o.wrong("url", "write url: git@host:owner/repo.git, or another clone URL", "the repository has no URL")
		return ""
	}
	url := o.text("url")
	if url == "" {
		return ""
	}
	_, err := git.ParseURL(url)
	switch {
	case url[0] == '-' || strings.ContainsAny(url, " \t") || strings.Contains(url, "::"):
		o.wrong("url", "write a clone URL, like git@host:owner/repo.git", "the URL begins with a dash, contains spaces, or runs a program (::)")
		return ""
	case secret(url):
		o.wrong("url", "remove it from the URL; use git's credential helper or an SSH key", "the URL contains a password or a token")
		return ""
	case !usual(url):
		o.doubt("url", "write a URL that begins with git@, https://, http://, ssh:// or file://, or an absolute path", "the URL has an unknown form")
	case err != nil && !strings.HasPrefix(url, "local"):
		o.wrong("url", "correct the URL", "%s", fault.From(err).Message)
		return ""
	case git.CarriesCredentials(url):
		o.doubt("url", "remove the part before the @", "the URL contains a user name")
	}
	return url
}

func usual(url string) bool {
	return slices.ContainsFunc([]string{"git@", "https://", "http://", "ssh://", "file://", "local", "/"}, func(p string) bool { return strings.HasPrefix(url, p) })
}

// secret reports a URL with a password, or with what can hardly be a user's name.
func secret(url string) bool {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || !git.CarriesCredentials(url) {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	user, _, _ := strings.Cut(authority, "@")
	name, password, _ := strings.Cut(user, ":")
	return cmp.Or(password != "", len(name) >= longUser && !strings.HasPrefix(scheme, "ssh"))
}
