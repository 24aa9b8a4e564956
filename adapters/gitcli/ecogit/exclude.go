package ecogit

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const (
	excludeFile = "exclude"
	maxExclude  = 1 << 20 // bytes
)

// InitRoot makes a directory a git repository for a workspace root. What a root keeps for one machine alone (.amof: the selected ecosystem, the server's
// process) stays out of its commits.
func InitRoot(ctx context.Context, dir string) error {
	if _, err := (gitcli.Command{Dir: dir, Args: []string{"init", "--quiet"}, Machine: true}).Output(ctx); err != nil {
		return err
	}
	at, err := gitcli.OpenRepo(dir, localTime)
	if err != nil {
		return err
	}
	return exclude(at, []string{"/.amof/"})
}

// exclusions returns the lines that keep workspaces out of the root, and clones and tickets out of workspaces: one file serves all worktrees.
func exclusions(s ecosystemport.InstallTarget) []string {
	lines := []string{"/repos/", "/tickets/"}
	rel, _ := filepath.Rel(s.Root, s.Dir)
	if top, _, below := strings.Cut(filepath.ToSlash(rel), "/"); below && top == "worktrees" {
		lines = append(lines, "/worktrees/")
	} else {
		lines = append(lines, "/"+literal(filepath.ToSlash(rel))+"/")
	}
	for _, path := range s.Paths {
		if !strings.HasPrefix(path, "repos/") {
			lines = append(lines, "/"+literal(path)+"/")
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// literal returns a path in which no character is a pattern.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `).Replace(path)
}

func info(at *gitcli.Repo) *docfile.Dir { return docfile.NewDir(filepath.Join(at.Common, "info")) }

// excluded returns what the file says, and its mode.
func excluded(at *gitcli.Repo) (string, fs.FileMode, error) {
	text, is, err := info(at).Read(excludeFile, maxExclude)
	switch {
	case err == nil:
		return string(text), is.Mode().Perm(), nil
	case errors.Is(err, fs.ErrNotExist):
		return "", 0o644, nil
	}
	return "", 0, disk(err, info(at).File(excludeFile))
}

// lacking returns those of the lines that are not there.
func lacking(at *gitcli.Repo, lines []string) ([]string, error) {
	text, _, err := excluded(at)
	if err != nil {
		return nil, err
	}
	have := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return slices.Contains(have, line) }), nil
}

// exclude adds the lines.
func exclude(at *gitcli.Repo, lines []string) error {
	lines, err := lacking(at, slices.Clone(lines))
	if err != nil || len(lines) == 0 {
		return err
	}
	text, mode, err := excluded(at)
	if err != nil {
		return err
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return write(at, text+strings.Join(lines, "\n")+"\n", mode)
}

// include takes the lines away again.
func include(at *gitcli.Repo, lines []string) error {
	text, mode, err := excluded(at)
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !slices.Contains(lines, strings.TrimRight(line, "\r\n")) {
			kept.WriteString(line)
		}
	}
	if kept.Len() == len(text) {
		return nil
	}
	return write(at, kept.String(), mode)
}

func write(at *gitcli.Repo, text string, mode fs.FileMode) error {
	if err := info(at).WriteMode(excludeFile, []byte(text), mode); err != nil {
		return disk(err, info(at).File(excludeFile))
	}
	return nil
}
