package sandbox

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// BackupsRoot is the prefix of refs that keep lost work (opencode contract §12.3).
const BackupsRoot = "refs/opencode-backup/"

// BackupKind says what a backup contains.
type BackupKind string

// The kinds, as suffixes of the ref.
const (
	BackupCommits BackupKind = ""        // the commit of a worktree
	BackupBranch  BackupKind = "-branch" // a branch's last commit, if it differs
	BackupStash   BackupKind = "-stash"  // uncommitted changes
)

// SubmoduleBackup returns the kind of a submodule's commit, or of its uncommitted changes. Submodules count from 1.
func SubmoduleBackup(number int, changes bool) BackupKind {
	k := BackupKind("-sub" + strconv.Itoa(number))
	if changes {
		k += BackupStash
	}
	return k
}

// IsStash reports whether the kind is that of uncommitted changes.
func (k BackupKind) IsStash() bool { return strings.HasSuffix(string(k), string(BackupStash)) }

// Changes returns the kind of the changes that go with commits of this kind.
func (k BackupKind) Changes() BackupKind {
	if k.IsStash() {
		return k
	}
	return k + BackupStash
}

// BackupSet names the backups that were made together.
type BackupSet struct {
	Sandbox string
	At      time.Time // 0, or from 2 on if several were made in a second
	Number  int       // 0, or from 2 on when several were made in a second
}

// Ref returns the name of the set's backup of a kind.
func (s BackupSet) Ref(k BackupKind) string {
	number := ""
	if s.Number > 0 {
		number = "-" + strconv.Itoa(s.Number)
	}
	return BackupPrefix(s.Sandbox) + strconv.FormatInt(s.At.Unix(), 10) + number + string(k)
}

// BackupPrefix returns the prefix of the backup refs of a sandbox.
func BackupPrefix(name string) string { return BackupsRoot + name + "/" }

// nameForm is a sandbox's name; numberForm is canonical, so that a ref has one reading.
const (
	nameForm   = `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`
	numberForm = `(0|[1-9][0-9]{0,11})(?:-([1-9][0-9]{0,5}))?(-branch|(?:-sub[1-9][0-9]{0,3})?(?:-stash)?)`
)

// ParseBackup parses a ref made by BackupSet.Ref; ok is false for anything else.
func ParseBackup(ref string) (s BackupSet, k BackupKind, ok bool) {
	form := regexp.MustCompile(`^` + BackupsRoot + `(` + nameForm + `)/` + numberForm + `$`)
	found := form.FindStringSubmatch(ref)
	if found == nil {
		return BackupSet{}, "", false
	}
	seconds, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil {
		return BackupSet{}, "", false
	}
	number, _ := strconv.Atoi(found[3])
	return BackupSet{Sandbox: found[1], At: time.Unix(seconds, 0).UTC(), Number: number}, BackupKind(found[4]), number != 1
}

// NextBackup returns the set at that second without a backup yet. has reports whether a ref exists.
func NextBackup(name string, at time.Time, has func(ref string) bool) BackupSet {
	s := BackupSet{Sandbox: name, At: time.Unix(max(at.Unix(), 0), 0).UTC()}
	for has(s.Ref(BackupCommits)) || has(s.Ref(BackupBranch)) || has(s.Ref(BackupStash)) || has(s.Ref(SubmoduleBackup(1, false))) || has(s.Ref(SubmoduleBackup(1, true))) {
		s.Number = max(s.Number+1, 2)
	}
	return s
}
