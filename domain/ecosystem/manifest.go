package ecosystem

import (
	"strings"
)

// Problem is one thing that is wrong. Path is that of the member ("repos[1].url").
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// ManifestResult is a manifest that was read.
type ManifestResult struct {
	Manifest Manifest // as far as it could be read
	Errors   []Problem
	Warnings []Problem
}

// Valid reports a manifest that may be worked with.
func (r ManifestResult) Valid() bool { return len(r.Errors) == 0 }

// The bounds of single members (amof contract §3, §20.5). What is beyond the last two is allowed and warned about.
const (
	minSummaryTokens  = 100
	manyFiles         = 50_000
	manySummaryTokens = 200_000
)

// ReadManifest reads the document of the ecosystem whose directory has that name. doc is what a YAML parser made of the file: maps with string keys, lists,
// strings, booleans, numbers (int, int64, uint64 or float64) and nil. A member that is null counts as absent. What is wrong has its default in the
// manifest; a repository without a usable name is left out.
func ReadManifest(name string, doc map[string]any) ManifestResult {
	r := &reader{}
	top := object{r: r, members: doc}
	m := Manifest{
		Name: name, Description: top.prose("description", maxProse), Retired: top.flag("retired", false),
		WorkspaceDir: "worktrees/" + name,
	}
	top.name(name)
	if dir, ok := top.path("workspace_dir"); ok {
		if problem := workspaceProblem(dir); problem != "" {
			top.wrong("workspace_dir", "write workspace_dir: worktrees/"+name+", or remove it", "%q %s", dir, problem)
		} else {
			m.WorkspaceDir = dir
		}
	}
	if p := top.text("provisioner"); p != "" && top.named("provisioner", p) {
		m.Provisioner = p
	}
	workspace := top.child("workspace")
	m.BranchPrefix = workspace.prefix("branch_prefix", "workspace", name)
	m.TicketPrefix = workspace.prefix("repo_branch_prefix", "feature", "x")
	workspace.known("branch_prefix", "repo_branch_prefix")
	devcontainer := top.child("devcontainer")
	m.Devcontainer = devcontainer.flag("enabled", false)
	devcontainer.known("enabled")
	guardrails := top.child("guardrails")
	m.NoTouch = guardrails.patterns("no_touch_paths", true)
	guardrails.known("no_touch_paths")
	size := top.child("context")
	m.MaxFiles = size.many("max_files", 1, manyFiles)
	m.SummaryTokens = size.many("summary_tokens", minSummaryTokens, manySummaryTokens)
	size.known("max_files", "summary_tokens")
	m.Repos = r.repos(top)
	m.Spin = r.spin(top.child("spin"))
	if m.Spin.Inline() && m.Provisioner != "" {
		top.doubt("provisioner", "remove one of them", "spin: has commands, so the provisioner %s is not used", m.Provisioner)
	}
	m.Release = r.release(top.child("release"), m)
	m.Commands = top.child("commands").commands()
	top.known("name", "description", "workspace_dir", "provisioner", "retired", "workspace", "devcontainer", "context", "guardrails", "repos", "spin", "release", "commands")
	return ManifestResult{Manifest: m, Errors: r.errors, Warnings: r.warnings}
}

// name holds the file to the name of its directory, which is what everything goes by.
func (o object) name(directory string) {
	if err := CheckName(directory); err != nil {
		o.wrong("name", "rename the directory", "%s", err.Error())
		return
	}
	switch given := o.text("name"); {
	case given == "" && o.absent("name"):
		o.doubt("name", "write name: "+directory, "the name is missing; the name of the directory is used")
	case given != "" && given != directory:
		o.wrong("name", "write name: "+directory+", or rename the directory", "the name is %q, but the directory is called %s", manifestClip(given), directory)
	}
}

// workspaceProblem says why a directory of the workspace root cannot be a worktree, empty when it can.
func workspaceProblem(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	switch {
	case dir == ".":
		return "is the workspace root itself"
	case strings.EqualFold(first, ".git") || first == ".amof":
		return "is used by git or Countersign for internal files"
	case first == "ecosystems" || first == "provisioners" || first == "worktrees" && rest == "":
		return "is used for other content of the workspace root"
	}
	return ""
}

// prefix returns the part of branches' names before the last slash; example goes behind it to find out whether git takes it.
func (o object) prefix(key, standard, example string) string {
	prefix := strings.TrimRight(o.text(key), "/")
	if prefix == "" {
		prefix = standard
	}
	if problem, _ := branchProblem(prefix + "/" + example); problem != "" {
		o.wrong(key, "write "+key+": "+standard+", or rename the ecosystem", "%s", problem)
		return standard
	}
	return prefix
}

// many returns a whole number of at least least; zero when it is absent or wrong.
func (o object) many(key string, least, much int) int {
	n, ok := o.number(key, least, 1<<31-1)
	if ok && n > much {
		o.doubt(key, "lower it, or remove it", "%d is unusually high; the usual maximum is %d", n, much)
	}
	return n
}
