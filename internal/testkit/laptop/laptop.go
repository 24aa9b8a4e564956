// Package laptop is the setup of a user of five agent hosts: more than 25 artefacts in a home and in two projects, in the forms that the hosts
// themselves and their documents use. Each contains a unique text by which a test recognises it.
package laptop

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed laptop.txtar
var archive []byte

// Private is a file that its owner alone can read.
const Private = "home/.codex/AGENTS.md"

// Lay writes the laptop's files below a directory: a home, and the projects work/shop, work/blog and work/side, of which the last has nothing for any agent.
// Scripts can be run, one file is private, and one skill is a link to another host's.
func Lay(top string) error {
	for _, f := range txtar.Parse(archive).Files {
		name, to, link := strings.Cut(f.Name, " -> ")
		path, mode := filepath.Join(top, name), os.FileMode(0o644)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if link {
			if err := os.Symlink(to, path); err != nil {
				return err
			}
			continue
		}
		switch {
		case strings.HasPrefix(string(f.Data), "#!"):
			mode = 0o755
		case name == Private:
			mode = 0o600
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			return err
		}
	}
	return nil
}

// Projects are the projects below work, in the order in which the user opens them.
var Projects = [...]string{"shop", "blog", "side"}

// Remote is where a project is shared. Nothing answers there.
func Remote(project string) string { return "https://git.invalid/" + project + ".git" }
