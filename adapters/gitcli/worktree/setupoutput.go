package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
)

const (
	setupFile  = "countersign-setup" // among git's notes on a worktree: what its set-up made, and goes with it
	maxOutputs = 20_000              // files of a set-up that are remembered; the rest counts as work
	maxBackup  = 32 << 20            // bytes of them that are backed up unasked; of more, all count as work
)

// RecordSetup implements sandboxport.Repositories. What is staged, and repositories that were put into the worktree, are not remembered.
func (c *Client) RecordSetup(ctx context.Context, repo, dir string) error {
	at, err := c.open(repo)
	if err != nil {
		return err
	}
	t, err := sandboxTree(at, dir)
	if err != nil {
		return err
	}
	s, err := unfiltered(ctx, t, "all")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for i, change := range s.Changes {
		if i == maxOutputs {
			break
		}
		if print := fingerprint(t.Dir, change); print != "" {
			text.WriteString(print + "\x00" + change.Path + "\x00")
		}
	}
	path := filepath.Join(t.Admin, setupFile)
	if text.Len() == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return gitcli.Disk(err, path)
		}
		return nil
	}
	if err := os.WriteFile(path+".new", text.Bytes(), 0o600); err != nil {
		return gitcli.Disk(err, path)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return gitcli.Disk(err, path)
	}
	return nil
}

// setupOutputs returns what is remembered of a worktree's set-up: path → fingerprint.
func setupOutputs(t *gitcli.Tree) (map[string]string, error) {
	path := filepath.Join(t.Admin, setupFile)
	said, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || t.Admin == t.Common {
		return nil, nil
	}
	if err != nil {
		return nil, gitcli.Disk(err, path)
	}
	fields := strings.Split(string(said), "\x00")
	made := make(map[string]string, len(fields)/2)
	for ; len(fields) > 2; fields = fields[2:] {
		made[fields[1]] = fields[0]
	}
	return made, nil
}

// fingerprint returns a hash of a file with unstaged changes; empty if it cannot be computed.
func fingerprint(dir string, change git.Change) string {
	if change.Kind != git.Untracked && (change.Kind != git.Modified || change.Index != git.Same) || strings.HasSuffix(change.Path, "/") {
		return ""
	}
	print := string(byte(change.Kind)) + " "
	path := filepath.Join(dir, filepath.FromSlash(change.Path))
	info, err := os.Lstat(path)
	sum := sha256.New()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return print + "gone"
	case err != nil:
		return ""
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			return ""
		}
		print += "link "
		_, _ = io.WriteString(sum, to) // a hash takes everything
	case info.Mode().IsRegular():
		if info.Mode()&0o111 != 0 {
			print += "executable "
		}
		file, err := os.Open(path)
		if err != nil {
			return ""
		}
		_, err = io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return ""
		}
	default:
		return ""
	}
	return print + hex.EncodeToString(sum.Sum(nil))
}

// tooLarge reports whether a set-up's files are more than what is backed up without asking.
func tooLarge(dir string, setup []git.Change) bool {
	var size int64
	for _, change := range setup {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(change.Path))); err == nil {
			size += info.Size()
		}
	}
	return size > maxBackup
}

// partSetup parts changes into work and what the worktree's set-up left behind and nobody has changed since.
func partSetup(t *gitcli.Tree, changes []git.Change, made map[string]string) (work, setup []git.Change) {
	for _, change := range changes {
		if print, known := made[change.Path]; known && print == fingerprint(t.Dir, change) {
			setup = append(setup, change)
		} else {
			work = append(work, change)
		}
	}
	return work, setup
}
