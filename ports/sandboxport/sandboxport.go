// Package sandboxport is what sandboxes need from outside: what is recorded, settings and keys, git with its worktrees, agent servers, and the
// configuration of models.
//
// It refuses to know file formats, git's commands, HTTP and any particular agent server.
package sandboxport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// States keeps what is recorded, in files that other programs read too (opencode contract §9).
type States interface {
	// Load is what is recorded; files of an older form are brought up to date on the way, after a copy was kept. A file that cannot be read is
	// sandbox.ErrState, never an empty state.
	Load(ctx context.Context) (sandbox.State, error)
	// Update runs change on what is recorded and stores what it leaves, unless change fails: the state and the gateway's table of servers, both
	// or neither. One at a time over all processes; a wait longer than sandbox.BusyTimeout is sandbox.ErrBusy.
	Update(ctx context.Context, change func(*sandbox.State) error) (sandbox.State, error)
	// Hold keeps everybody else from changing the project until release is called, in this process and in others; the same waiting. The zero URL
	// is the gateway, which is held last.
	Hold(ctx context.Context, url git.URL) (release func(), err error)
}

// Homes knows a project's places and settings (opencode contract §4, §5).
type Homes interface {
	// Identify is the canonical URL of what somebody typed: a clone URL, or a path of a repository on this machine, made absolute with links
	// resolved. warnings tell of credentials that were dropped. It fails with sandbox.ErrURL.
	Identify(ctx context.Context, raw string) (url git.URL, cloneURL string, warnings []string, err error)
	// Layout is where the project of that name has its things; base is its recorded base directory, empty for the default.
	Layout(name, base string) sandbox.Layout
	// Prepare makes the directories and the project's settings file where they are missing, and puts a changed key path into the latter.
	Prepare(ctx context.Context, p sandbox.Project, l sandbox.Layout) error
	// Settings are the global ones and the project's. A global file that is missing, readable by others or incomplete is
	// sandbox.ErrConfiguration, saying what to do.
	Settings(ctx context.Context, name string) (Settings, error)
	// Discard deletes the project's directories, only below the managed root or where our mark says they are ours, links never followed, and
	// reports which. The key stays.
	Discard(ctx context.Context, l sandbox.Layout) (deleted []string, err error)
}

// Settings is what people configured. It holds secrets and is never shown.
type Settings struct {
	Password      string // of every agent server
	GatewayToken  string
	Bin           string // program of the agent server, absolute; empty when it is not installed, and then Missing says where was looked
	Missing       string
	Args          string // with which it serves; {host} and {port} stand for where, empty is opencode's own
	SSHKey        string // path that the project's settings name, absolute; empty when they name none
	Port          int    // 0: the deterministic one
	Host          string
	MemoryLimitMB int           // 0: none
	IdleStop      time.Duration // 0: never
	AllowCommands bool
	Environ       []string // of this process, without its secrets
}

// Keys keeps deploy keys, one a project (opencode contract §6).
type Keys interface {
	// Ensure is the project's deploy key, made when there is none; a missing public half is derived.
	Ensure(ctx context.Context, name string) (Key, error)
	// Check is the user's own key as it may be used, or sandbox.ErrKeyNotFound, sandbox.ErrKeyInvalid.
	Check(ctx context.Context, path string) (Key, error)
	// Peek is the project's deploy key when there is one.
	Peek(ctx context.Context, name string) (Key, bool, error)
}

// Key is an SSH key pair on disk.
type Key struct {
	Path       string // private
	PublicPath string
	Public     string // the public key's line
	Made       bool   // just now
}

// Access is how a repository is reached: without a key (https, local), or with one.
type Access struct {
	URL string // for git: as it was given over https, else canonical
	Key string // path of a private key; empty for none
}

// Repositories is git as sandboxes need it: a project's clone, its worktrees (opencode contract §12) and what they hold. repo is the clone's
// directory. Nothing of a repository's content is run: no hooks, no submodules, no filters that it brings.
type Repositories interface {
	// Reaching and cloning.

	// Reach fails when the repository cannot be read, with sandbox.ErrGit and git's own masked words.
	Reach(ctx context.Context, a Access) error
	// Clone makes dir a clone of the repository, all or nothing, telling progress in percent. A dir that is a clone of it already is left as it
	// is; one that is anything else is sandbox.ErrBaseDir. It fails with sandbox.ErrClone.
	Clone(ctx context.Context, a Access, dir string, progress func(percent int, what string)) error
	// Root is the commit ID of a clone's root commit, its current branch, and its origin's URL.
	Root(ctx context.Context, dir string) (Clone, error)

	// Worktrees.

	// Survey is every worktree but the main one, with what it holds; concurrently, a few at a time. Entries whose directory is gone are marked.
	Survey(ctx context.Context, repo string) ([]Tree, error)
	// Plan decides which branch a new worktree would have: without a wish, a new branch from the current one. It changes nothing and asks no
	// network. It fails with sandbox.ErrBranch, naming branches that are near, and with sandbox.ErrArguments.
	Plan(ctx context.Context, repo, name, branch string) (BranchPlan, error)
	// Add makes the worktree at dir as planned, all or nothing.
	Add(ctx context.Context, repo, dir string, p BranchPlan) (head string, err error)
	// Remove takes the worktree away, also a dirty one, and the branch when deleteBranch says so, after everything that would be lost was kept
	// under refs that it returns (backups). A worktree that is gone already is no error.
	Remove(ctx context.Context, repo, dir string, r Removal) (backups []string, err error)
	// Reset brings the worktree to the default branch after keeping what would be lost under refs.
	Reset(ctx context.Context, repo, dir string, r Reset) (ResetDone, error)

	// Work that is nowhere else, and its backups.

	// Losses is what of the clone and its worktrees is nowhere else: changes that are not committed, commits that no remote has. It is about the
	// clone, with its stashes and branches, and the worktrees in dirs, by those names; without dirs, about all worktrees that there are.
	// Of a directory that is no worktree, and of every one when the clone is gone, all that lies in it counts.
	Losses(ctx context.Context, repo string, dirs []string) ([]Loss, error)
	// Fetch gets the remote's branches.
	Fetch(ctx context.Context, repo string, a Access) error
	// Backups are the refs that Remove and Reset kept, newest first.
	Backups(ctx context.Context, repo string) ([]Backup, error)
	// Restore makes a worktree at dir from a backup, changes that were not committed included.
	Restore(ctx context.Context, repo, dir, ref, branch string) error

	// Readying a worktree as its repository wants it.

	// Include copies the ignored files that the repository's .worktreeinclude lists into dir, never overwriting, and names them.
	Include(ctx context.Context, repo, dir string) (copied []string, err error)
	// Script is the text of .worktreesetup as it stands in a ref: commands, one a line. It is empty when there is none.
	Script(ctx context.Context, repo, ref string) (string, error)
	// Commit is the commit that a ref stands on, or sandbox.ErrBranch.
	Commit(ctx context.Context, repo, ref string) (string, error)
}

// Clone is what is known of a clone.
type Clone struct {
	RootCommit, Branch, Origin string
}

// Tree is a worktree with what it holds.
type Tree struct {
	Directory, Branch, Head          string
	Dirty, Locked, Prunable, Missing bool
	Ahead, Behind                    int
	Unpushed                         int // commits that no remote branch has
	Changes                          int // files
	Err                              string
}

// BranchPlan is what a new worktree stands on.
type BranchPlan struct {
	Branch string `json:"branch"`
	From   string `json:"from"`           // ref or commit
	Create bool   `json:"create"`         // Branch is made
	Track  bool   `json:"track"`          // and follows From
	Note   string `json:"note,omitempty"` // why it is not the branch that was wished for
}

// Removal says how a worktree goes.
type Removal struct {
	Name         string // of the sandbox, for backups
	Branch       string
	DeleteBranch bool
	Force        bool // dirty or not
	At           time.Time
}

// Reset says how a worktree is reset.
type Reset struct {
	Name         string
	CleanIgnored bool
	At           time.Time
}

// ResetDone is what a reset did.
type ResetDone struct {
	Branch, Head, To string
	Backups          []string
}

// Loss is work that is nowhere else.
type Loss struct {
	Directory string   `json:"directory"`
	Branch    string   `json:"branch"`
	Changes   []string `json:"changes"`          // at most sandbox.MaxChanges, porcelain lines
	Commits   []string `json:"unpushed_commits"` // likewise, one line each
	More      int      `json:"more,omitempty"`
}

// Backup is work that was kept.
type Backup struct {
	Ref     string    `json:"ref"`
	Sandbox string    `json:"sandbox"`
	Commit  string    `json:"commit"`
	Stash   bool      `json:"stash"` // changes that were not committed
	At      time.Time `json:"at"`
}

// Launcher starts a kind of agent server and speaks to it. The program is opencode unless something else was configured.
type Launcher interface {
	// Spec is how the server is started in a clone, on a port.
	Spec(s Settings, l sandbox.Layout, port int, key string) process.Spec
	// Healthy asks the server once: its version, or sandbox.ErrAuth, sandbox.ErrUnhealthy.
	Healthy(ctx context.Context, host string, port int, password string) (version string, err error)
	// Busy reports whether an agent of the server is at work in one of the directories. A server that cannot say has none at work.
	Busy(ctx context.Context, s Settings, port int, dirs []string) bool
	// Models are those the program knows, "provider/model".
	Models(ctx context.Context, s Settings) ([]string, error)
}

// Sockets knows this machine's ports and files of processes.
type Sockets interface {
	// Free reports whether a server could listen on the port now.
	Free(port int) bool
	// Serves reports whether the process, or one that it started, listens on the port; true where the system does not tell.
	Serves(ctx context.Context, pid, port int) bool
	// ResidentMB is the memory of the process and its descendants.
	ResidentMB(pid int) (int, error)
	// Foreign are agent servers of other programs that run in one of the directories.
	Foreign(ctx context.Context, dirs []string) ([]ForeignServer, error)
}

// ForeignServer is an agent server that we did not start.
type ForeignServer struct {
	PID int    `json:"pid"`
	Dir string `json:"directory"`
	Cmd string `json:"command"`
}

// Models is the user's configuration of models (opencode contract §11). Nothing else of that file is ever returned.
type Models interface {
	// Read is the model that is set, empty when none is, and the file it was found in or would be written to.
	Read(ctx context.Context) (model, path string, exists bool, err error)
	// Write sets it, leaving everything else of the file as it is, comments included.
	Write(ctx context.Context, model string) (previous, path string, err error)
}

// ServerTable is what the gateway reads (opencode contract §9.2); States writes it.
type ServerTable struct {
	Version string        `json:"version"`
	Default *string       `json:"default_server"`
	Servers []ServerEntry `json:"servers"`
}

// ServerEntry is one server in it.
type ServerEntry struct {
	ID          string    `json:"id"`
	GitURL      string    `json:"git_url"`
	ProjectName string    `json:"project_name"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	URL         string    `json:"url"`
	PasswordEnv string    `json:"password_env,omitempty"`
	Password    string    `json:"password,omitempty"`
	Status      string    `json:"status"` // active or inactive
	AddedAt     time.Time `json:"added_at"`
	SSHKeyPath  string    `json:"ssh_key_path,omitempty"`
	BaseDir     string    `json:"base_dir,omitempty"`
}

// Front starts the gateway and asks after it.
type Front interface {
	// Spec is how the gateway is started on a port.
	Spec(s Settings, port int) process.Spec
	// Healthy asks it once, or fails with sandbox.ErrGateway.
	Healthy(ctx context.Context, port int) error
}
