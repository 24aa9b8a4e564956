package gitcli

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

const (
	timeout = 10 * time.Second // for one object
	maxFile = 16 << 20         // bytes of one file that are looked at
)

// ErrGit reports a git that cannot be run.
var ErrGit = fault.New(fault.Unavailable, "git_unavailable", "git cannot be run; install git 2.39 or newer, or put it on the PATH")

// history reads source files as they were at a commit: packport.History over the repositories that the source roots lie in.
type history struct {
	roots map[pack.Root]string
}

// NewHistory reads below the given source roots, which need not be repositories.
func NewHistory(roots map[pack.Root]string) *history { return &history{roots: roots} }

// Lines implements packport.History. It fails with packport.ErrMissing when root, commit, file or lines are not there, and with ErrGit
// when git itself cannot be run.
func (h *history) Lines(ctx context.Context, at packport.Location, commit pack.Commit, l pack.LineRange) ([]string, error) {
	dir, ok := h.roots[at.Root]
	if !ok {
		return nil, packport.ErrRoot
	}
	text, err := object(ctx, dir, string(commit)+":./"+string(at.Path))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" || l.Start < 1 || l.End > len(lines) || l.Start > l.End {
		return nil, packport.ErrMissing.WithMessage("%s has no lines %d-%d at commit %s", at.Path, l.Start, l.End, commit)
	}
	lines = lines[l.Start-1 : l.End]
	for i, line := range lines {
		if !utf8.ValidString(line) {
			return nil, packport.ErrNotText.WithMessage("%s is not valid UTF-8 text at commit %s", at.Path, commit)
		}
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines, nil
}

// object returns the blob of that name in the repository around dir.
func object(ctx context.Context, dir, name string) (string, error) {
	blob := Command{Dir: dir, Args: []string{"cat-file", "blob", name}, Env: []string{"GIT_NO_REPLACE_OBJECTS=1"}, Limit: maxFile, Timeout: timeout}
	text, err := blob.Output(ctx)
	var missing *MissingError
	var exit *ExitError
	switch {
	case err == nil:
		return string(text), nil
	case errors.As(err, &missing):
		return "", ErrGit.WithCause(err)
	case errors.Is(err, ErrLarge):
		return "", packport.ErrMissing.WithMessage("%s is larger than %d MiB", name, maxFile>>20)
	case errors.As(err, &exit):
		return "", packport.ErrMissing.WithMessage("the repository has no %s", strings.Replace(name, ":./", ":", 1)).WithCause(err)
	}
	return "", fault.From(err)
}
