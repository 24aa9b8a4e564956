package sandbox

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Backups is the prefix of refs that keep lost work (opencode contract §12.3).
const Backups = "refs/opencode-backup/"

// Kind is what a backup keeps.
type Kind string

// The kinds, as they end the ref.
const (
	Commits Kind = ""        // the commit that a worktree stood on
	Branch  Kind = "-branch" // a branch's last commit, where that was another one
	Stash   Kind = "-stash"  // changes that were not committed
)

// Inner is the kind of a submodule's commit, or of its changes that were not committed. Submodules count from 1.
func Inner(number int, changes bool) Kind {
	k := Kind("-sub" + strconv.Itoa(number))
	if changes {
		k += Stash
	}
	return k
}

// IsStash reports whether it is changes that were not committed.
func (k Kind) IsStash() bool { return strings.HasSuffix(string(k), string(Stash)) }

// Changes is the kind of the changes that go with commits of this kind.
func (k Kind) Changes() Kind {
	if k.IsStash() {
		return k
	}
	return k + Stash
}

// WorktreeSet names the backups that were made together.
type WorktreeSet struct {
	Sandbox string
	At      time.Time // whole seconds
	Number  int       // 0, or from 2 on when several were made in a second
}

// Ref is the name of the set's backup of a kind.
func (s WorktreeSet) Ref(k Kind) string {
	number := ""
	if s.Number > 0 {
		number = "-" + strconv.Itoa(s.Number)
	}
	return Below(s.Sandbox) + strconv.FormatInt(s.At.Unix(), 10) + number + string(k)
}

// Below is what the backup refs of a sandbox begin with.
func Below(name string) string { return Backups + name + "/" }

// nameForm is a sandbox's name; numberForm is canonical, so that a ref has one reading.
const (
	nameForm   = `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`
	numberForm = `(0|[1-9][0-9]{0,11})(?:-([1-9][0-9]{0,5}))?(-branch|(?:-sub[1-9][0-9]{0,3})?(?:-stash)?)`
)

// ParseBackup reads a ref that Set.Ref made; anything else is not ok.
func ParseBackup(ref string) (s WorktreeSet, k Kind, ok bool) {
	form := regexp.MustCompile(`^` + Backups + `(` + nameForm + `)/` + numberForm + `$`)
	found := form.FindStringSubmatch(ref)
	if found == nil {
		return WorktreeSet{}, "", false
	}
	seconds, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil {
		return WorktreeSet{}, "", false
	}
	number, _ := strconv.Atoi(found[3])
	return WorktreeSet{Sandbox: found[1], At: time.Unix(seconds, 0).UTC(), Number: number}, Kind(found[4]), number != 1
}

// Next is the set at that second that has no backup yet. has reports whether a ref exists.
func Next(name string, at time.Time, has func(ref string) bool) WorktreeSet {
	s := WorktreeSet{Sandbox: name, At: time.Unix(max(at.Unix(), 0), 0).UTC()}
	for has(s.Ref(Commits)) || has(s.Ref(Branch)) || has(s.Ref(Stash)) || has(s.Ref(Inner(1, false))) || has(s.Ref(Inner(1, true))) {
		s.Number = max(s.Number+1, 2)
	}
	return s
}
