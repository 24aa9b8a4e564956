package ecosystem

import (
	"slices"
	"strings"
	"time"
)

// The bounds of a manifest and of names (amof contract §3, §6). More than manyRepos repositories are a warning.
const (
	manyRepos        = 64
	MaxRepos         = 256
	MaxManifestBytes = 1 << 20
	maxName          = 64
)

// Manifest is an ecosystem.yaml, complete with its defaults (amof contract §3). ReadManifest makes it.
type Manifest struct {
	Name          string
	Description   string
	WorkspaceDir  string // relative to the workspace root; default worktrees/<name>
	Provisioner   string // empty is none
	Retired       bool
	BranchPrefix  string // of the workspace's own branch; default workspace
	TicketPrefix  string // of tickets' branches; default feature
	Devcontainer  bool
	NoTouch       []string // guardrails: patterns of paths that are never committed
	Repos         []Repo
	Spin          Spin
	Release       Release
	Commands      []SavedCommand
	MaxFiles      int // of the context; zero is unset
	SummaryTokens int
}

// Repo is a repository of an ecosystem.
type Repo struct {
	Name     string
	URL      string
	Branch   string // default main
	Path     string // relative to the workspace; default repos/<name>
	ReadOnly bool
	Enabled  bool
	Include  []string
	Exclude  []string
	After    []string // depends_on: repositories whose work has to be in before this one's
	Run      string   // what the built-in provisioner "local" starts; empty is nothing
}

// Spin is the inline provisioner of a manifest: shell commands, empty if there are none (amof contract §20.5).
type Spin struct {
	Deploy, Destroy, Status, Plan string
	EstimateSeconds               int // zero is unknown
	TimeoutSeconds                int // default 600, at most 3600
}

// Inline reports whether the manifest brings its own provisioner.
func (s Spin) Inline() bool {
	return s.Deploy != "" || s.Destroy != "" || s.Status != "" || s.Plan != ""
}

// Release is how an ecosystem is released (amof contract §20.6).
type Release struct {
	Repos        []string // default: all enabled ones that are not read-only
	TagPrefix    string   // default v
	VersionFiles []VersionFile
	Standard     bool   // none are named: those of each repository that are known by their names count
	Changelog    string // relative to each repository; default CHANGELOG.md
	RecordDir    string // relative to the workspace root; default ecosystems/<name>/releases
	Push         bool
	Independent  bool // versions: each repository has its own
}

// VersionFile is a file that states the version. Pattern is a regular expression whose first group is the version.
type VersionFile struct{ Repo, Path, Pattern string }

// Active returns the repositories that are enabled.
func (m Manifest) Active() []Repo {
	return slices.DeleteFunc(slices.Clone(m.Repos), func(r Repo) bool { return !r.Enabled })
}

// Writable returns the enabled repositories that are not read-only.
func (m Manifest) Writable() []Repo {
	return slices.DeleteFunc(m.Active(), func(r Repo) bool { return r.ReadOnly })
}

// Choose returns the active repositories of those names, in the manifest's order; none named is all of them. It fails with ErrRepo.
func (m Manifest) Choose(names []string) ([]Repo, error) {
	all := m.Active()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(r Repo) bool { return r.Name == name }) {
			return nil, ErrRepo.WithMessage("ecosystem %s has no enabled repository %q; it has: %s", m.Name, name, strings.Join(RepoNames(all), ", "))
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(r Repo) bool { return !slices.Contains(names, r.Name) }), nil
}

// InOrder returns repositories behind those that they depend on, and in the manifest's order else.
func InOrder(repos []Repo) []Repo {
	out := make([]Repo, 0, len(repos))
	placed := map[string]bool{}
	for _, r := range repos { // what is not among them is not waited for
		placed[r.Name] = false
	}
	for len(out) < len(repos) {
		before := len(out)
		for _, r := range repos {
			waits := slices.ContainsFunc(r.After, func(name string) bool { done, among := placed[name]; return among && !done && name != r.Name })
			if !placed[r.Name] && !waits {
				placed[r.Name] = true
				out = append(out, r)
				break
			}
		}
		if len(out) == before { // a circle, which no valid manifest has
			return repos
		}
	}
	return out
}

// RepoNames returns the names of repositories, in their order.
func RepoNames(repos []Repo) []string {
	names := make([]string, len(repos))
	for i, r := range repos {
		names[i] = r.Name
	}
	return names
}

// WorkspaceBranch returns the branch of the workspace's own worktree.
func (m Manifest) WorkspaceBranch() string { return m.BranchPrefix + "/" + m.Name }

// TicketBranch returns the branch of a ticket in every repository.
func (m Manifest) TicketBranch(id string) string { return m.TicketPrefix + "/" + id }

// Mode returns how a repository is worked on, in the words of the contract.
func (r Repo) Mode() string {
	if r.ReadOnly {
		return "RO"
	}
	return "RW"
}

// CheckName fails with ErrName if name is not valid for an ecosystem, a repository or an environment (amof contract §3).
func CheckName(name string) error {
	if !wellFormed(name) {
		return ErrName.WithMessage("invalid name %q: begin with a letter or digit, use only letters, digits, . _ and -, at most %d characters", clip(name), maxName)
	}
	return nil
}

// CheckTicket fails with ErrTicketID for what is no ticket's id (amof contract §6). Git takes no branch that ends in .lock, or in a dot, or
// has two dots in a row.
func CheckTicket(id string) error {
	if !wellFormed(id) || id == "main" || strings.HasSuffix(id, ".lock") || strings.HasSuffix(id, ".") || strings.Contains(id, "..") {
		return ErrTicketID.WithMessage("invalid ticket ID %q: begin with a letter or digit, use only letters, digits, . _ and - (no two dots in a row, no dot at the end), at most %d characters, and do not use main", clip(id), maxName)
	}
	return nil
}

func wellFormed(name string) bool {
	if name == "" || len(name) > maxName || strings.ContainsRune("._-", rune(name[0])) {
		return false
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c) {
			return false
		}
	}
	return true
}

// clip truncates input to a length that fits a message.
func clip(s string) string {
	if len(s) > maxName {
		return strings.ToValidUTF8(s[:maxName], "") + "…"
	}
	return s
}

// Layout is where an ecosystem's things are: absolute paths.
type Layout struct {
	Name      string
	Root      string // the workspace root, a git repository
	Dir       string // <root>/ecosystems/<name>
	Manifest  string // <dir>/ecosystem.yaml
	Workspace string // <root>/worktrees/<name>, a worktree of the root
	State     string // directory of state.json and spin; private
	Data      string // directory of archives and trash; private
}

// StateVersion is the form of state.json that is written; 3 is read once and brought up to date (amof contract §4).
const StateVersion = 4

// State is what is recorded of an installed workspace (amof contract §4). Its zero value is: not installed.
type State struct {
	Version         int               `json:"version"`
	Ecosystem       string            `json:"ecosystem"`
	Root            string            `json:"workspace_root"`
	WorkspaceBranch string            `json:"workspace_branch"`
	WorkspaceDir    string            `json:"workspace_dir"` // absolute
	ActiveTicket    *string           `json:"active_ticket"`
	Tickets         map[string]Ticket `json:"tickets"`
	Repos           []RepoState       `json:"repos"`
	CreatedAt       time.Time         `json:"created_at"`
	LastModified    time.Time         `json:"last_modified"`
}

// Installed reports whether there is a workspace.
func (s State) Installed() bool { return s.WorkspaceDir != "" }

// Ticket is a feature branch across repositories, each in its own worktree.
type Ticket struct {
	CreatedAt    time.Time         `json:"created_at"`
	Repos        map[string]string `json:"repos"` // repository → branch
	WorktreeBase string            `json:"worktree_base"`
	Ecosystem    string            `json:"ecosystem"`
	Phase        string            `json:"phase"` // started
}

// RepoState is a repository as it was installed.
type RepoState struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Path     string `json:"path"`
	Branch   string `json:"branch"`
	ReadOnly bool   `json:"readonly"`
	Enabled  bool   `json:"enabled"`
	LastPush *Push  `json:"last_push,omitempty"`
}

// Push is what was last pushed of a repository.
type Push struct {
	Branch     string    `json:"branch"`
	Commit     string    `json:"commit"` // short
	CommitFull string    `json:"commit_full"`
	PushedAt   time.Time `json:"pushed_at"`
}

// Active returns the active ticket, empty for none.
func (s State) Active() string {
	if s.ActiveTicket == nil {
		return ""
	}
	return *s.ActiveTicket
}

// Repo returns what is recorded of the repository of that name, or nil. It may be changed through the pointer.
func (s *State) Repo(name string) *RepoState {
	for i := range s.Repos {
		if s.Repos[i].Name == name {
			return &s.Repos[i]
		}
	}
	return nil
}

// Settings is amof.yaml with its defaults (amof contract §20.8). Modes and kinds of confirmation are words of the contract, empty where unset.
type Settings struct {
	WorkspaceRoot     string
	DefaultMode       string
	MaxMode           string
	Confirm           string // token, elicit or terminal
	TokenTTLSeconds   int    // 60 to 900; zero is unset
	QueueParallel     int    // default 4
	RunTimeoutSeconds int    // default 600
}
