// Package sandboxport declares what sandboxes need: recorded state, settings and keys, git with its worktrees, agent servers, and the configuration of
// models. The comments of each method are its contract; the adapters' tests hold them to it.
//
// Its API may change at any time.
package sandboxport

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// States keeps the recorded state, in files that other programs read too (opencode contract §9).
type States interface {
	// Load returns the recorded state. Older forms are migrated after a copy was kept. An unreadable file is sandbox.ErrState, never an empty state.
	Load(ctx context.Context) (sandbox.State, error)
	// Update runs change on the recorded state and stores the result unless change fails: the state and the gateway's table of servers, both or neither. One
	// Update runs at a time, across all processes; after sandbox.BusyTimeout it fails with sandbox.ErrBusy.
	Update(ctx context.Context, change func(*sandbox.State) error) (sandbox.State, error)
	// Hold locks the project against changes by others, in this process and in others, until release is called. It waits as Update does. The zero URL is the
	// gateway, which is locked last.
	Hold(ctx context.Context, url git.URL) (release func(), err error)
}

// ProjectDirs resolves a project's directories and settings (opencode contract §4, §5).
type ProjectDirs interface {
	// Identify returns the canonical URL for user input: a clone URL, or the path of a repository on this machine (made absolute, links resolved). warnings
	// report credentials that were removed. It fails with sandbox.ErrURL.
	Identify(ctx context.Context, raw string) (url git.URL, cloneURL string, warnings []string, err error)
	// Layout returns the directories of the project with that name; base is its recorded base directory, empty for the default.
	Layout(name, base string) sandbox.Layout
	// Prepare creates missing directories and the project's settings file, and writes a changed key path into it.
	Prepare(ctx context.Context, p sandbox.Project, l sandbox.Layout) error
	// Settings returns the global settings and the project's. A global file that is missing, readable by others or incomplete is sandbox.ErrConfiguration,
	// whose message says what to do; Environ is there all the same.
	Settings(ctx context.Context, name string) (Settings, error)
	// Discard deletes the project's directories and returns their paths: only below the managed root or with Countersign's mark, without following links. The
	// key stays.
	Discard(ctx context.Context, l sandbox.Layout) (deleted []string, err error)
}

// Settings is the user's configuration. It holds secrets and is never shown.
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

// Keys keeps one deploy key per project (opencode contract §6).
type Keys interface {
	// Ensure returns the project's deploy key, creating it if there is none; a missing public half is derived.
	Ensure(ctx context.Context, name string) (Key, error)
	// Check returns the user's own key if it can be used, or fails with sandbox.ErrKeyNotFound or sandbox.ErrKeyInvalid.
	Check(ctx context.Context, path string) (Key, error)
	// Peek returns the project's deploy key if there is one.
	Peek(ctx context.Context, name string) (Key, bool, error)
}

// Key is an SSH key pair on disk.
type Key struct {
	Path       string // private
	PublicPath string
	Public     string // the public key's line
	Made       bool   // just now
}

// Access is how a repository is accessed: without a key (https, local) or with one.
type Access struct {
	URL string // for git: as it was given over https, else canonical
	Key string // path of a private key; empty for none
}

// Repositories runs git for sandboxes: on a project's clone, its worktrees (opencode contract §12) and their content. repo is the clone's directory.
// Nothing that a repository contains is run: no hooks, no submodules, no filters of its own.
type Repositories interface {
	// Reaching and cloning.

	// Reach checks that the repository can be read. It fails with sandbox.ErrGit and git's redacted message.
	Reach(ctx context.Context, a Access) error
	// Clone makes dir a clone of the repository, atomically, and reports progress in percent. If dir is a clone of it already, it stays as it is; anything else
	// there is sandbox.ErrBaseDir. It fails with sandbox.ErrClone.
	Clone(ctx context.Context, a Access, dir string, progress func(percent int, what string)) error
	// Root returns the ID of a clone's root commit, its current branch and its origin's URL.
	Root(ctx context.Context, dir string) (Clone, error)

	// Worktrees.

	// Survey returns every worktree but the main one, with its content, reading a few at a time. Entries whose directory is missing are marked.
	Survey(ctx context.Context, repo string) ([]Tree, error)
	// Plan chooses the branch of a new worktree; without a request, a new branch from the current one. It changes nothing and uses no network. It fails with
	// sandbox.ErrBranch, naming similar branches, and with sandbox.ErrArguments.
	Plan(ctx context.Context, repo, name, branch string) (BranchPlan, error)
	// Add creates the planned worktree at dir, atomically.
	Add(ctx context.Context, repo, dir string, p BranchPlan) (head string, err error)
	// Remove removes the worktree, also a dirty one, and its branch if the Removal says so, after backing up unsaved work under refs, which it returns. A
	// missing worktree is not an error.
	Remove(ctx context.Context, repo, dir string, r Removal) (backups []string, err error)
	// Reset brings the worktree to the default branch after backing up unsaved work under refs.
	Reset(ctx context.Context, repo, dir string, r Reset) (ResetDone, error)

	// Work that is nowhere else, and its backups.

	// Losses returns the unsaved work of the clone and its worktrees: uncommitted changes and commits that no remote has. It covers the clone, with its stashes
	// and branches, and the worktrees in dirs, by those names; without dirs, all worktrees, and what their set-ups made
	// counts too, as backups go with the clone. In a directory that is no worktree, and in all of them if the clone
	// is missing, every file counts.
	Losses(ctx context.Context, repo string, dirs []string) ([]Loss, error)
	// Fetch fetches the remote's branches.
	Fetch(ctx context.Context, repo string, a Access) error
	// FetchRequest fetches the commits of a pull request (refs/pull/N/head, or refs/merge-requests/N/head) and returns the last one. It fails with
	// sandbox.ErrBranch where the remote has none of that number.
	FetchRequest(ctx context.Context, repo string, a Access, number int) (commit string, err error)
	// Backups returns the refs that Remove and Reset made, newest first.
	Backups(ctx context.Context, repo string) ([]Backup, error)
	// Restore creates a worktree at dir from a backup, uncommitted changes included.
	Restore(ctx context.Context, repo, dir, ref, branch string) error

	// Work that comes back.

	// Compare returns how a worktree differs from the branch that it goes back to: commits, and files as they are now, whether committed, tracked or neither.
	// Nothing is changed. It fails with sandbox.ErrNotFound when the worktree is gone, and with sandbox.ErrBranch.
	Compare(ctx context.Context, repo, dir string, c Compare) (Comparison, error)
	// Snapshot returns the ID of all files of the worktree as they are, also uncommitted and untracked: a git tree. keep has git keep them until the next one that is
	// kept, or until the worktree goes.
	Snapshot(ctx context.Context, repo, dir string, keep bool) (tree string, err error)
	// CountLines returns how many lines a file of the working tree in dir has. It fails with sandbox.ErrArguments when there is no such file.
	CountLines(ctx context.Context, dir, path string) (int, error)
	// PlanMerge works out what moving one branch onto the work of the other would come to, without changing anything. It fails with sandbox.ErrConflicts, with
	// sandbox.ErrBaseDirty or sandbox.ErrUncommitted for a working tree that has changes, with sandbox.ErrBranch and sandbox.ErrArguments. A plan whose Method
	// is MergeNothing has nothing to do.
	PlanMerge(ctx context.Context, repo string, m Merge) (MergePlan, error)
	// MergedLines returns the lines that a plan changes, by file: at most limit bytes of them, of the files with the fewest. left counts the files whose lines were left out.
	MergedLines(ctx context.Context, repo string, p MergePlan, limit int) (files []FileLines, left int, err error)
	// Merge does what was planned. begun is told the commit that the branch will stand on before anything is changed. It fails with sandbox.ErrMoved when either
	// side is not where it was, and with those of PlanMerge; then nothing was changed.
	Merge(ctx context.Context, repo string, p MergePlan, begun func(commit string) error) (MergeDone, error)
	// FinishMerge finishes what a process that is gone had begun. What it finds in the way is kept under backup refs. A branch that has moved since stays as it is.
	FinishMerge(ctx context.Context, repo string, p MergePlan, commit string) error

	// PlanPush works out what pushing a branch to origin would send; an empty one is the branch of the worktree in dir. It asks origin what it has. It fails with
	// sandbox.ErrMoved when origin's branch has commits that are not in the clone.
	PlanPush(ctx context.Context, repo string, a Access, dir, branch string) (PushPlan, error)
	// Push sends the planned commit. No hooks are run, also not those of a remote that is a directory on this machine. It fails with sandbox.ErrMoved when the remote's branch has moved since.
	Push(ctx context.Context, repo string, a Access, p PushPlan) error
	// Patch returns how a worktree differs from its base as a patch that Apply takes: at most limit bytes, or sandbox.ErrArguments.
	Patch(ctx context.Context, repo, dir string, c Compare, limit int) ([]byte, error)
	// Apply puts a patch into the working tree in dir, all of it or nothing. check only says whether it fits. It fails with sandbox.ErrConflicts, naming the files;
	// a check of one whose changes are all there, with sandbox.ErrApplied.
	Apply(ctx context.Context, dir string, patch []byte, check bool) error

	// Top returns the top of the working tree that dir lies in, or sandbox.ErrArguments.
	Top(ctx context.Context, dir string) (string, error)

	// Readying a worktree as its repository wants it.

	// Include copies the ignored files that the repository's .worktreeinclude lists into dir and returns their names. It never overwrites a file.
	Include(ctx context.Context, repo, dir string) (copied []string, err error)
	// Script returns the text of .worktreesetup in a ref: commands, one per line. It is empty if there is none.
	Script(ctx context.Context, repo, ref string) (string, error)
	// RecordSetup records the current changes in the worktree as those of its set-up: as long as such a file is unchanged, this port does not count
	// it as work, and comparisons leave it out. Remove and Reset back it up all the same; where that would be more than 32 MiB, it counts as work.
	RecordSetup(ctx context.Context, repo, dir string) error
	// Commit returns the commit of a ref, or sandbox.ErrBranch.
	Commit(ctx context.Context, repo, ref string) (string, error)
}

// Clone describes a clone.
type Clone struct {
	RootCommit, Branch, Origin string
}

// Tree is a worktree with its content.
type Tree struct {
	Directory, Branch, Head          string
	Dirty, Locked, Prunable, Missing bool
	Ahead, Behind                    int
	Unpushed                         int // commits that no remote branch has
	Changes                          int // files
	Err                              string
}

// BranchPlan is the branch and commit of a new worktree.
type BranchPlan struct {
	Branch string `json:"branch"`
	From   string `json:"from"`           // ref or commit
	Create bool   `json:"create"`         // Branch is made
	Track  bool   `json:"track"`          // and follows From
	Note   string `json:"note,omitempty"` // why it is not the branch that was wished for
}

// Removal says how to remove a worktree.
type Removal struct {
	Name         string // of the sandbox, for backups
	Branch       string
	DeleteBranch bool
	Force        bool // dirty or not
	At           time.Time
}

// Reset says how to reset a worktree.
type Reset struct {
	Name         string
	CleanIgnored bool
	At           time.Time
}

// ResetDone is the result of a reset.
type ResetDone struct {
	Branch, Head, To string
	Backups          []string
}

// Loss is unsaved work.
type Loss struct {
	Directory string   `json:"directory"`
	Branch    string   `json:"branch"`
	Changes   []string `json:"changes"`          // at most sandbox.MaxChanges, porcelain lines
	Commits   []string `json:"unpushed_commits"` // likewise, one line each
	More      int      `json:"more,omitempty"`
	SetUp     int      `json:"set_up_files,omitempty"` // of the changes: files that the set-up left behind, too large together to be backed up unasked
}

// Backup is a ref under refs/opencode-backup with saved work.
type Backup struct {
	Ref     string    `json:"ref"`
	Sandbox string    `json:"sandbox"`
	Commit  string    `json:"commit"`
	Stash   bool      `json:"stash"` // changes that were not committed
	At      time.Time `json:"at"`
}

// Compare says what to compare a worktree with.
type Compare struct {
	BaseRef string   // what the sandbox was made from, as recorded
	Base    string   // the branch that was wished for; empty for the recorded one
	From    string   // a kept snapshot that the files are compared with; empty for what both have. It fails with sandbox.ErrReviewGone
	Paths   []string // to look at, from the top of the worktree; empty for all
	Lines   int      // bytes of changed lines; 0 for none
	Files   int      // at most; likewise Commits
	Commits int
}

// Comparison is how a worktree differs from its base.
type Comparison struct {
	Base        string        `json:"base"`        // branch
	BaseCommit  string        `json:"base_commit"` // where that stands
	Since       string        `json:"since"`       // the last commit that both have; what is compared with
	Branch      string        `json:"branch"`      // of the worktree; empty when detached
	Head        string        `json:"head"`
	Doing       string        `json:"in_progress,omitempty"` // merge, rebase, …
	Ahead       int           `json:"ahead"`                 // commits that the base does not have
	Behind      int           `json:"behind"`                // commits of the base that the worktree does not have
	Commits     []CommitLine  `json:"commits"`               // newest first
	MoreCommits int           `json:"more_commits,omitempty"`
	FileCount   int           `json:"file_count"`
	Added       int           `json:"lines_added"`
	Deleted     int           `json:"lines_deleted"`
	Files       []ChangedFile `json:"files"`
	MoreFiles   int           `json:"more_files,omitempty"`
	Uncommitted []string      `json:"uncommitted"` // at most sandbox.MaxChanges, porcelain lines
	MoreChanges int           `json:"more_uncommitted,omitempty"`
	Setup       int           `json:"setup_output,omitempty"` // files that the set-up created or changed and that are unchanged since; left out
	Lines       string        `json:"diff,omitempty"`         // unified
	Cut         bool          `json:"diff_cut,omitempty"`
}

// CommitLine is a commit in a list.
type CommitLine struct {
	Commit  string    `json:"commit"`
	Author  string    `json:"author"`
	At      time.Time `json:"at"`
	Subject string    `json:"subject"`
}

// ChangedFile is a file in a list of differences.
type ChangedFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // of a rename or copy
	Change  string `json:"change"`         // added, changed, deleted, renamed, copied, type, conflict
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
	Again   bool   `json:"changed_since_review,omitempty"` // since a person has looked at it
	Mode    string `json:"mode,omitempty"`                 // the new one where it changes, or is not a plain file's
}

// Line returns it in one line, for users.
func (f ChangedFile) Line() string {
	line := f.Change + " " + f.Path
	if f.From != "" {
		line = f.Change + " " + f.From + " → " + f.Path
	}
	switch {
	case f.Binary:
		line += " (binary)"
	case f.Added+f.Deleted > 0:
		line += fmt.Sprintf(" (+%d -%d)", f.Added, f.Deleted)
	}
	if word := map[string]string{"100755": "executable", "100644": "no longer executable", "120000": "a link", "160000": "a submodule"}[f.Mode]; word != "" {
		line += ", " + word
	}
	return line
}

// FileLines is a file's changed lines.
type FileLines struct {
	Path    string `json:"path"`
	Unified string `json:"unified"`
}

// MergeMethod is how a branch takes over the work of another.
type MergeMethod string

// The methods. The last two are only answers.
const (
	MergeCommit  MergeMethod = "merge"  // a commit with both as parents, or moving forward where that suffices
	MergeSquash  MergeMethod = "squash" // all of it as one commit
	MergeRebase  MergeMethod = "rebase" // each commit anew, on top of the base
	MergeForward MergeMethod = "fast_forward"
	MergeNothing MergeMethod = "nothing"
)

// Merge says what to merge: the work of a sandbox into its base, or its base into the sandbox.
type Merge struct {
	Name          string // of the sandbox
	Dir           string // its worktree
	BaseRef       string // what it was made from, as recorded
	Base          string // the branch that was wished for; empty for the recorded one
	Update        bool   // the sandbox's branch is moved, and not its base
	Method        MergeMethod
	Message       string // of the commit, where one is made; empty for one that says what was merged
	Look          bool   // only whether there is something to merge: the working tree of the branch may have changes
	CommittedOnly bool   // changes that are not committed may stay behind in the sandbox
	At            time.Time
}

// MergePlan is what a merge comes to.
type MergePlan struct {
	Name      string
	Dir       string // of the sandbox's worktree
	Update    bool
	Method    MergeMethod
	Branch    string // that is moved
	Place     string // directory in which that is checked out; empty for nowhere
	Other     string // branch that it takes from, for users
	OtherRef  string // the same in full; empty for what the sandbox stands on
	From      string // commit on which Branch stands
	With      string // commit on which Other stands
	Tree      string // ID of all files, as they will be
	Commit    string // on which Branch will stand, where no commit is made
	Message   string // of the commit that is made
	By        string // whose commit that is: "A <a@example.com>"
	Commits   []CommitLine
	Files     []ChangedFile
	Left      []string // changes in the sandbox that are not committed and stay behind
	MoreLeft  int
	Rewritten int // commits of Branch that are made anew
	Behind    int // commits that the base's own remote has and the base does not, as far as was fetched
	At        time.Time
}

// PushPlan is what a push sends.
type PushPlan struct {
	Branch   string
	Commit   string       // on which the branch stands
	Old      string       // on which origin's stands; empty for a new one
	Commits  []CommitLine // that no branch of origin has, newest first
	Replaced int          // commits of origin's branch that the push takes off it
}

// MergeDone is what a merge came to.
type MergeDone struct {
	Commit  string   // on which the branch stands
	Backups []string // refs of commits that were rewritten
}

// Launcher starts and queries one kind of agent server; the program is opencode unless configured otherwise.
type Launcher interface {
	// Spec returns how to start the server in a clone on a port.
	Spec(s Settings, l sandbox.Layout, port int, key string) process.Spec
	// Healthy queries the server once and returns its version, or fails with sandbox.ErrAuth or sandbox.ErrUnhealthy.
	Healthy(ctx context.Context, host string, port int, password string) (version string, err error)
	// Busy reports whether an agent of the server is working in one of the directories. A server that cannot tell counts as idle.
	Busy(ctx context.Context, s Settings, port int, dirs []string) bool
	// Agent returns how an agent that is a process of its own (sandbox.AgentClaude, sandbox.AgentCodex) is started with a prompt: program, arguments and environment.
	// It fails with sandbox.ErrAgentMissing where it is not installed, with a way out.
	Agent(s Settings, name, prompt string) (process.Spec, error)
	// Prompt opens a session of the server at a port, in a directory, and has its agent work on the text. It does not wait for what that comes to.
	Prompt(ctx context.Context, s Settings, port int, dir, title, text string) (session string, err error)
	// Models returns the models that the program knows, as "provider/model".
	Models(ctx context.Context, s Settings) ([]string, error)
}

// Isolator keeps programs inside of a sandbox (sandbox.IsolationHolds says how far).
type Isolator interface {
	// Check fails with sandbox.ErrIsolation where this machine cannot do it, with a way out.
	Check(isolation string) error
	// Wrap returns the command that runs argv in the worktree in dir so. path is the PATH that it is run with; variables are the names of those that it gets besides,
	// where it would not get them by itself. It fails as Check does, and for what is no worktree of the clone in repo.
	Wrap(isolation, repo, dir, path string, variables, argv []string) ([]string, error)
	// Home returns where a server that runs in the worktree in dir keeps its own files, which its isolation lets it write. It goes with the worktree. It fails for what
	// is no worktree of the clone in repo.
	Home(repo, dir string) (string, error)
	// Begins returns what a container's command begins with, for plans; dir may still be to be made. It is nil for any other isolation.
	Begins(isolation, repo, dir string, variables []string) ([]string, error)
}

// Sockets inspects the ports and processes of this machine.
type Sockets interface {
	// Free reports whether a server could listen on the port now.
	Free(port int) bool
	// Serves reports whether the process, or one of its descendants, listens on the port; true if the system cannot tell.
	Serves(ctx context.Context, pid, port int) bool
	// ResidentMB returns the memory of the process and its descendants.
	ResidentMB(pid int) (int, error)
	// Foreign returns agent servers that other programs run in one of the directories.
	Foreign(ctx context.Context, dirs []string) ([]ForeignServer, error)
}

// ForeignServer is an agent server that Countersign did not start.
type ForeignServer struct {
	PID int    `json:"pid"`
	Dir string `json:"directory"`
	Cmd string `json:"command"`
}

// Models reads and writes the model in the user's configuration (opencode contract §11). It never returns anything else of that file.
type Models interface {
	// Read returns the configured model, empty if none, and the file that it is in or would be written to.
	Read(ctx context.Context) (model, path string, exists bool, err error)
	// Write sets the model and leaves the rest of the file unchanged, comments included.
	Write(ctx context.Context, model string) (previous, path string, err error)
}

// ServerTable is the table that the gateway reads (opencode contract §9.2); States writes it.
type ServerTable struct {
	Version string        `json:"version"`
	Default *string       `json:"default_server"`
	Servers []ServerEntry `json:"servers"`
}

// ServerEntry is one server of the table.
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
	Sandbox     string    `json:"sandbox,omitempty"` // isolated, in which alone it works
	Isolation   string    `json:"isolation,omitempty"`
	KeyID       string    `json:"key_id,omitempty"` // what secrets of its own are derived with (sandbox.SecretKey)
}

// GatewayLauncher starts and checks the gateway.
type GatewayLauncher interface {
	// Spec returns how to start the gateway on a port.
	Spec(s Settings, port int) process.Spec
	// Healthy queries the gateway once, or fails with sandbox.ErrGateway.
	Healthy(ctx context.Context, port int) error
}
