package git

import (
	"iter"
	"strconv"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrOutput is returned for git output that does not have the form documented for scripts.
var ErrOutput = fault.New(fault.Unavailable, "git_output_unknown", "unexpected git output; use git 2.39 or newer")

func unexpected(what, record string) error {
	return ErrOutput.WithMessage("unexpected git output %.80q for %s; use git 2.39 or newer", record, what)
}

// The prefixes of refs.
const (
	HeadsPrefix   = "refs/heads/"
	RemotesPrefix = "refs/remotes/origin/"
)

// SplitRecords splits git output that ends every record with a NUL (option -z).
func SplitRecords(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// Status is the result of git status for a working tree.
type Status struct {
	Head          string // commit, in full; empty before the first one
	Branch        string // without refs/heads/; empty when detached
	Detached      bool
	Upstream      string // from the branch's configuration, "origin/main"; empty if none is configured
	Tracked       bool   // the upstream exists, and Ahead and Behind are set
	Ahead, Behind int    // commits, compared with the upstream
	Stashes       int    // with --show-stash
	Changes       []Change
}

// Change is a path that differs from the last commit, or that is untracked or ignored.
type Change struct {
	Kind   ChangeKind
	Index  byte   // one letter: the difference between the commit and the index, or Same
	Tree   byte   // one letter: the difference between the index and the working tree, or Same
	Path   string // bytes as on disk, relative to the top; ends with a slash for a directory
	From   string // the old path of a rename or copy
	Record string // the record as git printed it, without the final NUL
}

// Same is the letter for an unchanged path.
const Same byte = '.'

// Code returns the two letters of git's short format: index and working tree, with a space for unchanged.
func (c Change) Code() string {
	return strings.ReplaceAll(string([]byte{c.Index, c.Tree}), ".", " ")
}

// String returns the line of git's short format as text, with control characters quoted.
func (c Change) String() string {
	path := strings.ToValidUTF8(c.Path, "\uFFFD")
	if strings.ContainsFunc(path, unicode.IsControl) {
		path = strconv.Quote(path)
	}
	return c.Code() + " " + path
}

// ChangeKind is the first character of a git status record.
type ChangeKind byte

// The kinds of changes.
const (
	Modified  ChangeKind = '1' // added, changed or deleted
	Renamed   ChangeKind = '2' // or copied
	Unmerged  ChangeKind = 'u'
	Untracked ChangeKind = '?'
	Ignored   ChangeKind = '!' // only when asked for
)

// fields returns the number of space-separated fields of a record; the last one is the path and may contain spaces. It is 0 for an unknown kind.
func (k ChangeKind) fields() int {
	switch k {
	case Modified:
		return 9
	case Renamed:
		return 10
	case Unmerged:
		return 11
	case Untracked, Ignored:
		return 2
	}
	return 0
}

// ParseStatus parses the output of `git status --porcelain=v2 -z --branch`. It fails with ErrOutput for a record in an unknown form and ignores
// unknown headers.
func ParseStatus(out []byte) (Status, error) {
	var s Status
	for rest := string(out); rest != ""; {
		record, after, ended := strings.Cut(rest, "\x00")
		ok := ended && len(record) > 2 && record[1] == ' '
		switch {
		case ok && record[0] == '#':
			ok = s.header(record[2:])
		case ok && ChangeKind(record[0]) == Renamed: // the old path follows
			var from string
			from, after, ok = strings.Cut(after, "\x00")
			ok = ok && from != "" && s.change(record, from)
		case ok:
			ok = s.change(record, "")
		}
		if !ok {
			return Status{}, unexpected("status", record)
		}
		rest = after
	}
	return s, nil
}

func (s *Status) change(record, from string) bool {
	c := Change{Kind: ChangeKind(record[0]), Index: record[0], Tree: record[0], From: from, Record: record}
	want := c.Kind.fields()
	fields := strings.SplitN(record, " ", want)
	if want == 0 || len(fields) < want || fields[want-1] == "" {
		return false
	}
	c.Path = fields[want-1]
	if want > 2 {
		letters := fields[1]
		if len(letters) != 2 || letters == ".." {
			return false
		}
		c.Index, c.Tree = letters[0], letters[1]
	}
	if from != "" {
		c.Record += "\x00" + from
	}
	s.Changes = append(s.Changes, c)
	return true
}

func (s *Status) header(text string) bool {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "branch.oid":
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if s.Detached = value == "(detached)"; !s.Detached {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		if value == "+? -?" { // it differs from the upstream; with --no-ahead-behind the commits are not counted
			return true
		}
		ahead, behind, _ := strings.Cut(value, " ")
		var okA, okB bool
		s.Ahead, okA = count(ahead, "+")
		s.Behind, okB = count(behind, "-")
		s.Tracked = okA && okB
		return s.Tracked
	case "stash":
		var ok bool
		s.Stashes, ok = count(value, "")
		return ok
	}
	return true
}

func count(text, sign string) (int, bool) {
	digits, ok := strings.CutPrefix(text, sign)
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), ok && err == nil
}

// Worktree is one of a repository's working trees.
type Worktree struct {
	Path     string // absolute, as git stores it: it may no longer exist, and symbolic links in it are not resolved
	Branch   string // without refs/heads/; empty when detached or bare
	Head     string // full ID of the commit; empty before the first commit, or if bare
	Main     bool   // the worktree of the repository itself; if it is Bare it has no files
	Bare     bool
	Detached bool
	Locked   bool // git will not prune it
	Prunable bool // its directory is gone
}

// ParseWorktrees parses the output of `git worktree list --porcelain -z`: the main worktree comes first. It fails with ErrOutput for a record without
// a path and ignores unknown attributes.
func ParseWorktrees(out []byte) ([]Worktree, error) {
	var found []Worktree
	begun := false
	for rest := string(out); rest != ""; {
		line, after, ended := strings.Cut(rest, "\x00")
		rest = after
		word, value, _ := strings.Cut(line, " ")
		switch {
		case !ended, word != "worktree" && line != "" && !begun, word == "worktree" && (begun || value == ""):
			return nil, unexpected("the list of worktrees", line)
		case word == "worktree":
			begun, found = true, append(found, Worktree{Path: value, Main: len(found) == 0})
		case line == "":
			begun = false
		default:
			found[len(found)-1].attribute(word, value)
		}
	}
	return found, nil
}

func (w *Worktree) attribute(word, value string) {
	switch word {
	case "HEAD":
		if strings.Trim(value, "0") != "" { // zeros stand for no commit
			w.Head = value
		}
	case "branch":
		w.Branch = strings.TrimPrefix(value, HeadsPrefix)
	case "detached":
		w.Detached = true
	case "bare":
		w.Bare = true
	case "locked":
		w.Locked = true
	case "prunable":
		w.Prunable = true
	}
}

// Ref is a name in a repository and the object that it refers to.
type Ref struct {
	Name     string // full name, refs/heads/main
	Object   string
	Symbolic string // target ref of a symbolic one
	Worktree string // the worktree where the branch is checked out; empty if there is none, and without RefsInWorktrees
}

// The formats of `git for-each-ref --format=` that ParseRefs parses. To report where a branch is checked out, git reads every worktree and fails on
// one that another git process is just creating.
const (
	RefsFormat      = "%(refname)%00%(objectname)%00%(symref)%00"
	RefsInWorktrees = RefsFormat + "%(worktreepath)%00"
)

// ParseRefs parses the output of `git for-each-ref` in RefsFormat or RefsInWorktrees. It fails with ErrOutput.
func ParseRefs(out []byte) ([]Ref, error) {
	var refs []Ref
	for rest := string(out); rest != ""; {
		var r Ref
		line := rest
		for _, field := range []*string{&r.Name, &r.Object, &r.Symbolic} {
			var ended bool
			if *field, rest, ended = strings.Cut(rest, "\x00"); !ended {
				return nil, unexpected("the list of refs", line)
			}
		}
		if rest != "" && rest[0] != '\n' { // a directory is absolute, so it does not start with a line end
			var ended bool
			if r.Worktree, rest, ended = strings.Cut(rest, "\x00"); !ended {
				return nil, unexpected("the list of refs", line)
			}
		}
		if rest = strings.TrimPrefix(rest, "\n"); !strings.HasPrefix(r.Name, "refs/") || r.Object == "" {
			return nil, unexpected("the list of refs", line)
		}
		refs = append(refs, r)
	}
	return refs, nil
}

// The modes of entries.
const (
	FileMode      = "100644"
	ScriptMode    = "100755"
	LinkMode      = "120000"
	SubmoduleMode = "160000"
	DirectoryMode = "040000" // in commits only
)

// Entry is a path in the index or in a commit.
type Entry struct {
	Mode   string
	Object string
	Path   string // relative to git's working directory; no trailing slash
}

// Entries yields the entries in the output of `git ls-files --stage -z`, `git ls-tree -z` and `git ls-tree --long -z`. Paths with conflicts occur in
// the index several times in a row. On a record in an unknown form it yields ErrOutput and stops.
func Entries(out []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for rest := string(out); rest != ""; {
			record, after, ended := strings.Cut(rest, "\x00")
			rest = after
			facts, path, ok := strings.Cut(record, "\t")
			words := strings.Fields(facts)
			if !ok || !ended || path == "" || len(words) < 3 || len(words) > 4 {
				yield(Entry{}, unexpected("a list of files", record))
				return
			}
			e := Entry{Mode: words[0], Object: words[1], Path: path}
			switch words[1] {
			case "blob", "tree", "commit": // of a commit; in the index it is the object ID, followed by the stage
				e.Object = words[2]
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
