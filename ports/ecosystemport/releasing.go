package ecosystemport

import (
	"context"
	"time"
)

// Footing is what a release starts from in a checkout.
type Footing struct {
	Branch  string            `json:"branch"` // empty when detached
	Head    string            `json:"head"`   // empty before the first commit
	Doing   string            `json:"doing"`  // what git is in the middle of: rebase, merge, cherry-pick, revert or bisect; empty for nothing
	Changed []string          `json:"-"`      // paths that are not as committed; a directory that is not tracked ends with a slash
	Tree    string            `json:"tree"`   // over all changes; empty for none
	Behind  int               `json:"-"`      // of the branch it follows, as last fetched
	Tags    map[string]string `json:"-"`      // tags → their objects
	Err     error             `json:"-"`      // why it cannot be looked at
}

// Span is the commits that Head has and From has not; From is empty for none. Both are objects.
type Span struct{ Dir, From, Head string }

// ReleaseCommit is a commit that a release is about.
type ReleaseCommit struct {
	ID      string
	At      time.Time // the committer's
	Subject string
}

// History is the commits of a span: the newest first, as many as were wanted, and how many there are.
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

// ReleaseGit is git as releases need it. Hooks of the repositories are never run, and no other file of a working tree and nothing else that is
// staged is touched.
type ReleaseGit interface {
	// What git says of checkouts before a release. It asks no remote and changes nothing.

	// Footings are those of the checkouts, in their order, several looked at at a time.
	Footings(ctx context.Context, dirs []string) []Footing
	// Since is the history of each span, in their order and with at most that many commits each, several looked at at a time.
	Since(ctx context.Context, spans []Span, most int) []History
	// Texts are files as they lie in a checkout, in the order of their paths. No link is followed.
	Texts(ctx context.Context, dir string, paths []string) []FileText
	// Author is who commits there as git's configuration says ("Ada <ada@example.com>"). It fails with ecosystem.ErrIdentity.
	Author(ctx context.Context, dir string) (string, error)
	// Times are when the tags of those names were made; those that are not there are left out.
	Times(ctx context.Context, dir string, tags []string) (map[string]time.Time, error)

	// Making releases, one repository at a time.

	// Prepare makes the objects of a step. Nobody sees them, and git forgets them when nothing comes of it. It fails with ecosystem.ErrIdentity
	// while nobody said who commits, and with ecosystem.ErrChanged where a file is not as the work says.
	Prepare(ctx context.Context, w ReleaseWork) (ReleaseStep, error)
	// Make has the branch and the tag be those of the step, both or neither, and then index and files. What is so already stays. It fails with
	// ecosystem.ErrChanged where something is neither as before nor as after.
	Make(ctx context.Context, s ReleaseStep) error
	// Finish is Make after an interruption: what somebody has changed since is left as it is, and named.
	Finish(ctx context.Context, s ReleaseStep) (left []string, err error)
	// Undo takes back whatever of the step is there and still exactly what it made: the tag, the commit where nobody committed on top, index and
	// files. What it leaves is named.
	Undo(ctx context.Context, s ReleaseStep) (left []string, err error)
	// Tagged reports whether the tag is the step's.
	Tagged(ctx context.Context, s ReleaseStep) (bool, error)

	// The origins of checkouts.

	// HasTag reports whether the origin has a tag of that name, asking it for at most ten seconds.
	HasTag(ctx context.Context, dir, tag string) (bool, error)
	// Push pushes the branch and the tags to the origin, all or none of them.
	Push(ctx context.Context, dir, branch string, tags []string) error

	// The records of releases.

	// Records are the files *.json of that directory, relative to the workspace root; those that are no files of a sensible size are left out. A
	// directory that is not there has none.
	Records(ctx context.Context, root, dir string) ([][]byte, error)
}

// FileEdit is a file that a release writes: from what, nil for a file that is not there, to what.
type FileEdit struct {
	Path     string
	Old, New []byte
}

// ReleaseWork is a commit and a tag that are to be made.
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

// ReleaseStep is such work with every object made and nothing to be seen of it: what there is before and after, exactly.
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

// ReleaseFile is a file of a step: its mode, what git records of it, and its bytes in the working tree, each as a blob. Blobs are empty where
// there is no file.
type ReleaseFile struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`
	Was     string `json:"was,omitempty"`
	Becomes string `json:"becomes"`
	Before  string `json:"before,omitempty"`
	After   string `json:"after"`
}
