package git

import (
	"iter"
	"strconv"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrOutput reports output of git that is not in the form that git documents for scripts.
var ErrOutput = fault.New(fault.Unavailable, "git_output_unknown", "git printed what this version does not read; use git 2.39 or newer")

func unexpected(what, record string) error {
	return ErrOutput.Sayf("git printed %.80q for %s, which is not in the form that this version reads; use git 2.39 or newer", record, what)
}

// The prefixes of refs.
const (
	HeadsPrefix   = "refs/heads/"
	RemotesPrefix = "refs/remotes/origin/"
)

// SplitRecords splits what git printed with a NUL behind every record (option -z).
func SplitRecords(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// Status is what git status says of a working tree.
type Status struct {
	Head          string // commit, in full; empty before the first one
	Branch        string // without refs/heads/; empty when detached
	Detached      bool
	Upstream      string // as the branch's configuration says, "origin/main"; empty when it says nothing
	Tracked       bool   // the upstream exists, and Ahead and Behind were counted
	Ahead, Behind int    // commits, of the upstream
	Stashes       int    // with --show-stash
	Changes       []Change
}

// Change is a path that differs from the last commit, or that is not tracked or is ignored.
type Change struct {
	Kind   ChangeKind
	Index  byte   // one letter: how the index differs from the commit, or Same
	Tree   byte   // how the working tree differs from the index, or Same
	Path   string // bytes as on disk, relative to the top; ends with a slash for a directory
	From   string // the path before, of a rename or copy
	Record string // what git printed, without the last NUL
}

// Same is the letter of what is not changed.
const Same byte = '.'

// Code returns the two letters that git's short form has for it: index and working tree, with blanks for what is not changed.
func (c Change) Code() string {
	return strings.ReplaceAll(string([]byte{c.Index, c.Tree}), ".", " ")
}

// String returns the line that git's short form has for it, as text, with control characters quoted.
func (c Change) String() string {
	path := strings.ToValidUTF8(c.Path, "\uFFFD")
	if strings.ContainsFunc(path, unicode.IsControl) {
		path = strconv.Quote(path)
	}
	return c.Code() + " " + path
}

// ChangeKind is the first character of a record of git status.
type ChangeKind byte

// The kinds of changes.
const (
	Modified  ChangeKind = '1' // added, changed or deleted
	Renamed   ChangeKind = '2' // or copied
	Unmerged  ChangeKind = 'u'
	Untracked ChangeKind = '?'
	Ignored   ChangeKind = '!' // only when asked for
)

// fields returns how many blank-separated fields a record has; the last one is the path, blanks and all. It is 0 for what is no kind.
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

// ParseStatus reads what `git status --porcelain=v2 -z --branch` prints. It fails with ErrOutput for a record that is not as git promises;
// headers that it does not know are left out.
func ParseStatus(out []byte) (Status, error) {
	var s Status
	for rest := string(out); rest != ""; {
		record, after, ended := strings.Cut(rest, "\x00")
		ok := ended && len(record) > 2 && record[1] == ' '
		switch {
		case ok && record[0] == '#':
			ok = s.header(record[2:])
		case ok && ChangeKind(record[0]) == Renamed: // the path before follows
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
		if value == "+? -?" { // it differs from the upstream, and --no-ahead-behind has nobody count by how much
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
	Path     string // absolute, as git keeps it: it need not exist any more, and links in it are not resolved
	Branch   string // without refs/heads/; empty when detached or bare
	Head     string // full ID of the commit; empty when there is none yet, or bare
	Main     bool   // the one the repository itself lies in; when that is Bare it has no files
	Bare     bool
	Detached bool
	Locked   bool // git will not prune it
	Prunable bool // its directory is gone
}

// ParseWorktrees reads what `git worktree list --porcelain -z` prints: the main working tree comes first. It fails with ErrOutput for a record
// that names no path; attributes that it does not know are left out.
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

// Ref is a name in a repository and the object that it stands for.
type Ref struct {
	Name     string // in full, refs/heads/main
	Object   string
	Symbolic string // the ref that it stands for, of a symbolic one
	Worktree string // where the branch is checked out; empty when nowhere, and unless RefsInWorktrees asked for it
}

// The forms of `git for-each-ref --format=` that ParseRefs reads. To say where a branch is checked out git looks into every worktree, and
// stumbles over one that another git is just making.
const (
	RefsFormat      = "%(refname)%00%(objectname)%00%(symref)%00"
	RefsInWorktrees = RefsFormat + "%(worktreepath)%00"
)

// ParseRefs reads what `git for-each-ref` prints in RefsFormat or RefsInWorktrees. It fails with ErrOutput.
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
		if rest != "" && rest[0] != '\n' { // a directory is absolute, so no line end begins it
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
	Path   string // relative to where git was started; ends with no slash
}

// Entries goes through what `git ls-files --stage -z`, `git ls-tree -z` and `git ls-tree --long -z` print. Paths with conflicts are in the index
// several times, one after the other. What is not as git promises is ErrOutput, and the last that there is.
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
			case "blob", "tree", "commit": // of a commit; of the index it is the object, and then the stage
				e.Object = words[2]
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
