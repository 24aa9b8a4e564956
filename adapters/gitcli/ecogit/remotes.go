package ecogit

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

const (
	remotes   = "refs/remotes/"
	packedMax = 4 << 20 // bytes; with more refs than that, git is as fast
	looseMax  = 2000    // files, likewise
)

// told reports whether the remotes' tips alone show if some remote branch has the commit, and if so, whether none has it.
func told(s ecosystem.GitStatus, tips map[string]string) (is, known bool) {
	upstream, follows := tips[remotes+s.Upstream]
	follows = follows && s.Tracked // a branch may also follow one that is here
	if follows && s.Ahead == 0 {
		return false, true
	}
	others := false
	for _, tip := range tips {
		if tip == s.Head {
			return false, true
		}
		others = others || tip != upstream
	}
	return true, len(tips) == 0 || follows && !others
}

// question names a commit beside remotes' tips, in a repository.
func question(common, head string, tips map[string]string) [sha256.Size]byte {
	commits := slices.Sorted(maps.Values(tips))
	return sha256.Sum256([]byte(common + "\x00" + head + "\x00" + strings.Join(slices.Compact(commits), " ")))
}

// answersMost is how many answers are remembered.
const answersMost = 8192

// answers are git's to questions.
type answers struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

func (a *answers) get(key [sha256.Size]byte) (is, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	is, known = a.known[key]
	return is, known
}

func (a *answers) keep(key [sha256.Size]byte, is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= answersMost {
		a.known = map[[sha256.Size]byte]bool{}
	}
	a.known[key] = is
}

// remoteTips returns the commits of remotes' branches, by their whole names. It is not ok where they are not plain files, or too many.
func remoteTips(common string) (tips map[string]string, ok bool) {
	if _, err := os.Lstat(filepath.Join(common, "reftable")); err == nil {
		return nil, false
	}
	tips = map[string]string{}
	packed := filepath.Join(common, "packed-refs")
	info, err := os.Stat(packed)
	if err == nil && info.Size() > packedMax || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	said, err := os.ReadFile(packed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	for line := range strings.Lines(string(said)) {
		if tip, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && strings.HasPrefix(name, remotes) {
			tips[name] = tip
		}
	}
	seen := 0
	err = filepath.WalkDir(filepath.Join(common, filepath.FromSlash(remotes)), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		if seen++; seen > looseMax {
			return fs.SkipAll
		}
		tip, err := os.ReadFile(path)
		if name, inside := strings.CutPrefix(path, common+string(filepath.Separator)); inside && !strings.HasPrefix(string(tip), "ref:") {
			tips[filepath.ToSlash(name)] = strings.TrimSpace(string(tip)) // a file has the say over what was packed
		}
		return err
	})
	return tips, seen <= looseMax && (err == nil || errors.Is(err, fs.ErrNotExist))
}
