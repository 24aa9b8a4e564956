package sandboxfile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// program returns the agent server's program (opencode contract §5.4), or where was looked for it in vain.
func (s SettingsFiles) program(l lookup, file string) (bin, missing string) {
	for _, wish := range []struct{ value, where string }{
		{l.own["OPENCODE_BIN"], file},
		{l.global["OPENCODE_BIN"], s.Global},
		{strings.TrimSpace(s.Env("OPENCODE_BIN")), "the environment"},
	} {
		if wish.value == "" {
			continue
		}
		if found := s.named(wish.value); found != "" {
			return found, ""
		}
		return "", "OPENCODE_BIN in " + wish.where + " is " + strconv.Quote(wish.value) + ", which is not a program"
	}
	if found := s.onPath("opencode"); found != "" {
		return found, ""
	}
	return "", "OPENCODE_BIN is not set, and opencode is not on the PATH"
}

// named returns the program of that path or name. A directory is an npm prefix, and so is the directory of a path that leads nowhere.
func (s SettingsFiles) named(value string) string {
	if !strings.ContainsRune(value, '/') && value != "~" {
		return s.onPath(value)
	}
	if !filepath.IsAbs(value) && !strings.HasPrefix(value, "~") {
		return ""
	}
	value = s.Expand(value)
	inside := filepath.Join("node_modules", ".bin", "opencode")
	for _, candidate := range []string{value, filepath.Join(value, inside), filepath.Join(value, "bin", "opencode"), filepath.Join(filepath.Dir(value), inside)} {
		if executable(candidate) {
			return candidate
		}
	}
	return ""
}

func (s SettingsFiles) onPath(name string) string {
	for _, dir := range filepath.SplitList(s.Env("PATH")) {
		if candidate := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(candidate) {
			return candidate
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
