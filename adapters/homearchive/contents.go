package homearchive

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
)

// The files of a home that this package knows by name.
const (
	database     = "countersign.db"
	keys         = "keys"
	config       = "config.yaml"
	anchorList   = "anchors.json"
	anchorState  = "anchors.state.json" // how far each anchor is: of this record at this time, so it is set aside and does not come back
	manifest     = "countersign-backup.json"
	staged       = "restore.staged"
	restoreLock  = "restore.lock"
	serverLock   = "serve.lock"
	asidePrefix  = "replaced-"
	peekPrefix   = ".restore-peek-"
	backupFormat = 1
)

// runtime returns the names in a home that belong to what runs there and then, or can be made anew: they are no state, stay out of backups, and stay where
// they are when the home is restored.
func runtime() []string {
	return []string{"cache", "processes", "servers", "owners", "signals", "anchors", "serve.json", staged, sqlitestore.RestoreNote, manifest}
}

// passing reports a name in a home that is no state.
func passing(name string) bool {
	return slices.Contains(runtime(), name) || strings.HasPrefix(name, asidePrefix) || strings.HasPrefix(name, database+".") || strings.HasPrefix(name, database+"-") ||
		strings.HasPrefix(name, "serve.json.") || fleeting(name)
}

// fleeting reports a file, wherever it is, that somebody holds or is just writing.
func fleeting(name string) bool {
	return strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") || strings.HasPrefix(name, peekPrefix)
}

// listing is what of a home is state, the database apart: slash paths of plain files, sorted, and what was left out although it may be state.
type listing struct {
	files []string
	odd   []string
	size  int64 // of all files
}

// list looks at a home, which need not exist.
func list(home string) (l listing, err error) {
	err = filepath.WalkDir(home, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) { // it, or what was there a moment ago
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(home, at)
		if err != nil || rel == "." {
			return err
		}
		name := filepath.ToSlash(rel)
		skip := !strings.Contains(name, "/") && (passing(name) || name == database) || fleeting(path.Base(name))
		switch {
		case skip && e.IsDir():
			return fs.SkipDir
		case skip, e.IsDir(), e.Type()&fs.ModeSocket != 0:
			return nil
		case !e.Type().IsRegular():
			l.odd = append(l.odd, name+": it is not a regular file")
			return nil
		case name != anchorState && !within(name):
			l.odd = append(l.odd, name+": backups do not support this name")
			return nil
		}
		if info, err := e.Info(); err == nil {
			l.size += info.Size()
		}
		l.files = append(l.files, name)
		return nil
	})
	slices.Sort(l.files)
	return l, err
}

// kept returns the files that a backup holds, the database apart.
func (l listing) kept() []string {
	return slices.DeleteFunc(slices.Clone(l.files), func(n string) bool { return n == anchorState })
}

// tops returns the names directly in the home that the files are in, each once.
func tops(files []string) (all []string) {
	for _, f := range files {
		top, _, _ := strings.Cut(f, "/")
		if !slices.Contains(all, top) {
			all = append(all, top)
		}
	}
	return all
}

// arising are names that asking about a backup or a restore brings about: they are told of whether they are there already or not, so that a plan stays what
// it is while somebody decides.
func arising() []string { return []string{database, keys, "notices.json"} }

// told returns the names in a home that users are told of.
func told(files []string) []string {
	all := slices.Concat(tops(files), arising())
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(n string) bool { return n == anchorState })
}

// secrets says of what is told of what it opens.
func secrets(names []string) (open, others []string) {
	for _, n := range names {
		switch n {
		case keys:
			open = append(open, keys+"/secret.key: opens the sealed columns of the database: arguments of pending calls, bodies of webhooks and workflows",
				keys+"/audit.key: signs the audit log of this home")
		case database:
			open = append(open, n+": all requests, decisions and results; hashes of tokens, and the public parts of enrolled keys")
		case config:
			open = append(open, n+": may contain passwords of notification channels")
		default:
			others = append(others, n)
		}
	}
	return open, others
}
