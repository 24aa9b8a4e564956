package ecosystemport

import (
	"context"
	"time"
)

// ReleaseBase is the state of a checkout that a release starts from.
type ReleaseBase struct {
	Branch  string            `json:"branch"` // empty when detached
	Head    string            `json:"head"`   // empty before the first commit
	Doing   string            `json:"doing"`  // what git is in the middle of: rebase, merge, cherry-pick, revert or bisect; empty for nothing
	Changed []string          `json:"-"`      // paths that are not as committed; a directory that is not tracked ends with a slash
	Tree    string            `json:"tree"`   // over all changes; empty for none
	Behind  int               `json:"-"`      // of the branch it follows, as last fetched
	Tags    map[string]string `json:"-"`      // tags → their objects
	Err     error             `json:"-"`      // why it cannot be looked at
}

// CommitRange is the commits of Head that From lacks; an empty From lacks all. Both are object names.
type CommitRange struct{ Dir, From, Head string }

// ReleaseCommit is one commit of a release.
type ReleaseCommit struct {
	ID      string
	At      time.Time // the committer's
	Subject string
}

// History is the newest commits of a span, up to the requested number, and their total.
type History struct {
	Commits []ReleaseCommit
	Total   int
	Err     error
}

// FileText is a file of a checkout.
type FileText struct {
	Data    []byte
	Missing bool
	Err     error // why it is none that can be written: a link, a directory, too large
}

// ReleaseGit runs git for releases. It never runs hooks of the repositories, and changes no files and no staged changes but those of the release.
type ReleaseGit interface {
	// What git says of checkouts before a release. It asks no remote and changes nothing.

	// ReleaseBases returns the state of each checkout, in their order, reading several concurrently.
	ReleaseBases(ctx context.Context, dirs []string) []ReleaseBase
	// Since returns the history of each span, in their order, each with at most that many commits.
	Since(ctx context.Context, spans []CommitRange, most int) []History
	// Breaking reports for each span whether a commit of it has a line that begins with BREAKING CHANGE: or BREAKING-CHANGE:. One that cannot be read has none.
	Breaking(ctx context.Context, spans []CommitRange) []bool
	// Texts returns files of a checkout, sorted by path. It follows no links.
	Texts(ctx context.Context, dir string, paths []string) []FileText
	// Tracked returns those of the paths that the checkout's repository has in its index.
	Tracked(ctx context.Context, dir string, paths []string) ([]string, error)
	// Author returns the configured author ("Ada <ada@example.com>"). It fails with ecosystem.ErrIdentity.
	Author(ctx context.Context, dir string) (string, error)
	// Times returns when the tags with those names were made; missing tags are left out.
	Times(ctx context.Context, dir string, tags []string) (map[string]time.Time, error)

	// Making releases, one repository at a time.

	// Prepare creates the git objects of a step. No ref names them, so git removes them if the release is abandoned. It fails with ecosystem.ErrIdentity if git
	// has no author, and with ecosystem.ErrChanged if a file is not as the work says.
	Prepare(ctx context.Context, w ReleaseWork) (ReleaseStep, error)
	// Make sets the branch and the tag to those of the step, both or neither, and then updates index and files. It fails with ecosystem.ErrChanged if something
	// is neither as before nor as after the step.
	Make(ctx context.Context, s ReleaseStep) error
	// Finish is Make after an interruption: it leaves what was changed since and returns its names.
	Finish(ctx context.Context, s ReleaseStep) (left []string, err error)
	// Undo reverts what of the step is still exactly as the step made it: the tag, the commit if nothing was committed on top, index and files. It returns the
	// names of what it leaves.
	Undo(ctx context.Context, s ReleaseStep) (left []string, err error)
	// Tagged reports whether the tag is the step's.
	Tagged(ctx context.Context, s ReleaseStep) (bool, error)

	// The origins of checkouts.

	// Obstacles returns what would have the origin reject a push of that branch with a new tag. Every URL that the push goes to is asked, at most 10 seconds
	// each. It fails with ecosystem.ErrGit if one does not answer.
	Obstacles(ctx context.Context, dir, branch, tag string) (PushObstacles, error)
	// Origin returns where a checkout's branch would be pushed to, and its commits that no branch of the origin has, at most most. The origin itself
	// is asked for its branches, at most 10 seconds; where most is 0, it is not, and no commits are returned.
	Origin(ctx context.Context, dir, branch string, most int) (ReleaseOrigin, error)
	// Push pushes the branch and the tags to the origin atomically.
	Push(ctx context.Context, dir, branch string, tags []string) error

	// The records of releases.

	// Records returns the files *.json of that directory, relative to the workspace root, except those that are not regular files or are too large. A missing
	// directory has none.
	Records(ctx context.Context, root, dir string) ([][]byte, error)
}

// ReleaseOrigin is the origin of a checkout.
type ReleaseOrigin struct {
	URL   string          // masked; empty: there is none
	Ahead []ReleaseCommit // the newest of those that it lacks
	Total int             // of them
}

// PushObstacles is what is in the way of a push.
type PushObstacles struct {
	Tag   bool // there is such a tag
	Moved bool // the branch has commits that the checkout's branch lacks
}

// FileEdit is a file that a release writes: its old content (nil if it does not exist) and its new one.
type FileEdit struct {
	Path     string
	Old, New []byte
}

// ReleaseWork is a planned commit and tag.
type ReleaseWork struct {
	Name       string // of the repository
	Dir        string
	Branch     string // that is checked out
	Head       string // that it stands on; empty before the first commit
	Files      []FileEdit
	Message    string // of the commit
	Tag        string // empty for none
	Annotation string // the tag's message
	At         time.Time
}

// ReleaseStep is a ReleaseWork whose objects exist but are not yet referenced: the exact state before and after.
type ReleaseStep struct {
	Name      string        `json:"name"`
	Dir       string        `json:"dir"`
	Branch    string        `json:"branch"`
	Old       string        `json:"old"` // commit; empty before the first one
	New       string        `json:"new"` // Old where no file had to be written
	Tag       string        `json:"tag,omitempty"`
	TagObject string        `json:"tag_object,omitempty"`
	Author    string        `json:"author"`
	Files     []ReleaseFile `json:"files,omitempty"`
}

// ReleaseFile is a file of a step: its mode, and as blobs what git records and what is in the worktree. Blobs are empty for a missing file.
type ReleaseFile struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`
	Was     string `json:"was,omitempty"`
	Becomes string `json:"becomes"`
	Before  string `json:"before,omitempty"`
	After   string `json:"after"`
}
