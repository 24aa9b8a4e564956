package projgit

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli/run"
	"github.com/countersign-dev/countersign/domain/project"
)

// inTree runs a command that may compare files of the working tree. Git does that through the clean filters that attributes ask for, and a
// repository's own configuration may name any program as one: those are switched off. What the user configured for every repository
// stays, so that large files kept elsewhere look as they do to git.
func (c *Client) inTree(ctx context.Context, at place, cmd run.Command) ([]byte, error) {
	cmd.Dir = at.dir
	if !at.plain || at.top == "" {
		if err := c.treeful(ctx, at); err != nil {
			return nil, err
		}
	}
	if mayFilter(at) {
		off, err := c.filtersOff(ctx, at.dir)
		if err != nil {
			return nil, err
		}
		cmd.Settings = append(cmd.Settings, off...)
	}
	return c.git(ctx, cmd)
}

// treeful refuses what has no working tree, which not every command of git does: without one it compares, or advises, something else.
func (c *Client) treeful(ctx context.Context, at place) error {
	out, err := c.git(ctx, run.Command{Dir: at.dir, Args: []string{"rev-parse", "--is-inside-work-tree"}})
	if err == nil && strings.TrimSpace(string(out)) != "true" {
		err = project.ErrNotRepository.Sayf("%s is in a git repository without a working tree, so there is nothing to compare; give a directory of one of its worktrees", at.dir)
	}
	return err
}

// mayFilter reports whether the repository's configuration could name a filter, or another file that does. Section names have no other
// spelling than upper and lower case.
func mayFilter(at place) bool {
	if !at.plain {
		return true
	}
	for _, path := range []string{filepath.Join(at.common, "config"), filepath.Join(at.gitDir, "config.worktree")} {
		text, err := small(path)
		text = bytes.ToLower(text)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Contains(text, []byte("filter")) || bytes.Contains(text, []byte("include")) {
			return true
		}
	}
	return false
}

// filtersOff is the settings that switch off every filter that is not the user's own.
func (c *Client) filtersOff(ctx context.Context, dir string) ([]run.Setting, error) {
	out, err := c.git(ctx, run.Command{Dir: dir, Args: []string{"config", "-z", "--show-scope", "--name-only", "--get-regexp", `^filter\.`}})
	if exitOf(err) == 1 { // there is none
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var off []run.Setting
	for rest := string(out); rest != ""; {
		var scope, key string
		scope, rest, _ = strings.Cut(rest, "\x00")
		key, rest, _ = strings.Cut(rest, "\x00")
		if end := strings.LastIndexByte(key, '.'); scope != "global" && end > len("filter.") {
			off = append(off, run.Setting{Name: key[:end] + ".clean"}, run.Setting{Name: key[:end] + ".process"},
				run.Setting{Name: key[:end] + ".required", Value: "false"})
		}
	}
	return off, nil
}
