package confgit

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// FindLegacyCheckout returns a checkout in one of the older layouts, empty when there is none. Those named the directory above it after the module and not after
// the URL: it is any whose repository says that it came from this URL and stands on this commit.
func FindLegacyCheckout(cache string, source deployment.ResolvedGit) string {
	names, err := os.ReadDir(cache)
	if err != nil {
		return ""
	}
	for _, name := range names {
		var sum deployment.Sum
		if !name.IsDir() || sum.UnmarshalText([]byte(name.Name())) == nil {
			continue
		}
		dir := filepath.Join(cache, name.Name(), source.Commit)
		if !isDir(filepath.Join(dir, ".git")) {
			continue
		}
		head, _ := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
		config, _ := os.ReadFile(filepath.Join(dir, ".git", "config"))
		if strings.EqualFold(strings.TrimSpace(string(head)), source.Commit) && origin(string(config)) == source.URL {
			return dir
		}
	}
	return ""
}

// origin returns the URL of the remote called origin in a repository's configuration as git clone writes it.
func origin(config string) string {
	in := false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = line == `[remote "origin"]`
		}
		if key, value, ok := strings.Cut(line, "="); ok && in && strings.TrimSpace(key) == "url" {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// MoveLegacyCheckout moves an old checkout to where it belongs now, and says where it is.
func MoveLegacyCheckout(old, canonical string) string {
	if os.MkdirAll(filepath.Dir(canonical), 0o700) == nil && os.Rename(old, canonical) == nil {
		_ = os.Remove(filepath.Dir(old)) // only removed if it contains nothing else
		return canonical
	}
	if isDir(canonical) { // another process was faster
		return canonical
	}
	_ = os.Remove(filepath.Dir(canonical))
	return old
}
