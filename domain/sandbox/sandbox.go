package sandbox

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/git"
)

// The limits and timeouts of the contract (opencode contract §7, §8, §18).
const (
	firstPort        = 4100 // of servers; 100 of them
	Ports            = 100
	FirstGatewayPort = 5100 // of the gateway; 100 of them
	GatewayPorts     = 100
	HealthTimeout    = 60 * time.Second
	ProbeTimeout     = 2 * time.Second // of a health check in status
	StopGrace        = 5 * time.Second
	BusyTimeout      = 30 * time.Second // waiting for another operation on the same project
	ReachTimeout     = 30 * time.Second // ls-remote, ssh-keygen
	CloneTimeout     = 5 * time.Minute
	WorktreeTimeout  = time.Minute
	CommandTimeout   = 2 * time.Minute // start_command
	CommandOutput    = 4 << 10         // bytes of it in an answer
	MaxName          = 64              // characters of a sandbox's name
	MaxChanges       = 50              // lines of a list of unsaved work
	MaxNear          = 20              // names suggested for a missing branch
)

// Layout is the directories of a project (opencode contract §4.2). All absolute.
type Layout struct {
	Base      string // everything of the project that can be created again, and its work
	Repo      string // the main clone
	Worktrees string // sandboxes, one directory each
	Secrets   string // the project's settings
	Key       string // private SSH key; the public one is beside it
	ServerLog string
	PIDFile   string
}

// Server is the record of an agent server.
type Server struct {
	ProcessID string    `json:"process_id,omitempty"` // in Countersign's process table, which knows whether it runs
	PID       int       `json:"pid"`
	Port      int       `json:"port"`
	Status    Status    `json:"status"`
	StartedAt time.Time `json:"started_at,omitzero"`
	LastError string    `json:"last_error,omitempty"`
	Version   string    `json:"opencode_version,omitempty"`
	Exe       string    `json:"exe,omitempty"`
	UsedAt    time.Time `json:"used_at,omitzero"` // last request to it, as far as the gateway saw
}

// Status is the status of a server (opencode contract §8.5).
type Status string

// The statuses.
const (
	Starting Status = "starting"
	Running  Status = "running"
	Stopped  Status = "stopped"
	Failed   Status = "failed"
	Unknown  Status = "unknown"
)

// Sandbox is a worktree of a project.
type Sandbox struct {
	Name          string            `json:"name"`
	Branch        string            `json:"branch"`
	BaseRef       string            `json:"base_ref"` // what it was created from
	Directory     string            `json:"directory"`
	CreatedAt     time.Time         `json:"created_at"`
	CreatedBranch bool              `json:"created_branch"` // the branch was created for it, and is deleted with it
	StartCommand  string            `json:"start_command,omitempty"`
	Leases        map[string]string `json:"leases,omitempty"`    // variable → port or name that nobody else has
	Review        []Comment         `json:"review,omitempty"`    // what people said of its work
	Reviewed      *Look             `json:"reviewed,omitempty"`  // when a person has looked at its work last; nil for never
	Isolation     string            `json:"isolation,omitempty"` // what keeps its commands and agents inside; empty for nothing
	Agent         *Agent            `json:"agent,omitempty"`     // that was started in it last
	Server        *Server           `json:"server,omitempty"`    // of its own, which its isolation keeps inside; nil until one was started
	Preparing     string            `json:"preparing,omitempty"` // owner that runs its set-up; one that is gone has not finished it
}

// Project is the record of a repository.
type Project struct {
	URL        git.URL // the key
	CloneURL   string  // as given, without credentials
	Name       string  // for users and for directories; never computed again
	ProjectID  string  // commit ID of the root commit
	BaseDir    string
	SSHKey     string // the user's own; empty for the deploy key
	Server     Server
	Sandboxes  map[string]Sandbox // by lower-case name
	CreatedAt  time.Time
	LastHealth time.Time
	Setup      string            // hex SHA-256 of the .worktreesetup that the user last approved
	Isolations map[string]string // of deleted sandboxes, for a later restore, by lower-case name
	Doing      *Operation        // an operation in progress; if its owner is dead, the next call finishes or undoes it
}

// Operation is a change of several steps, recorded before its first step.
type Operation struct {
	What    string    `json:"what"` // "destroy", "create", "delete", "reset"
	Sandbox string    `json:"sandbox,omitempty"`
	Owner   string    `json:"owner"`
	Since   time.Time `json:"since"`
	Undo    string    `json:"undo,omitempty"` // a ref or directory that is needed to undo it

	// Call and Plan are the call that does it, and its plan as shown: the audit log says whether that call was allowed with that plan. No other call
	// finishes an operation that the audit log does not know, because the record is a file that any program of the user can write.
	Call string `json:"call_id,omitempty"`
	Plan string `json:"plan,omitempty"` // a JSON document
}

// Gateway is the record of the MCP server in front of all agent servers.
type Gateway struct {
	ProcessID  string    `json:"process_id,omitempty"`
	PID        int       `json:"pid"`
	Port       int       `json:"port"`
	Status     Status    `json:"status"`
	Error      string    `json:"error,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	LastHealth time.Time `json:"last_health_check,omitzero"`
	Held       bool      `json:"held,omitempty"` // the user stopped it, and it stays stopped until a project starts or it is restarted
}

// State is everything that is stored.
type State struct {
	Gateway  Gateway
	Projects map[string]Project // by canonical URL
}

// SandboxNames returns the names of a project's sandboxes, sorted.
func SandboxNames(p Project) []string {
	out := make([]string, 0, len(p.Sandboxes))
	for _, s := range p.Sandboxes {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

// ProjectsByName returns the projects sorted by name.
func ProjectsByName(s State) []Project {
	out := slices.Collect(maps.Values(s.Projects))
	slices.SortFunc(out, func(a, b Project) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// UniqueProjectName returns a project's name: the one from its URL, made unique among the other projects.
func UniqueProjectName(url git.URL, s State) string {
	return ProjectName(url, func(name string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(s.Projects)), func(p Project) bool { return p.Name == name && p.URL != url })
	})
}
