package worktree

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// joiner merges trees and makes commits of them. It touches no working tree, no index and no ref.
type joiner struct {
	t       *gitcli.Tree
	env     []string // where objects are stored
	seconds int64    // when the commits are made
	who     []string // environment that says by whom
	name    string
	email   string
}

// conflictError is files that cannot be merged.
type conflictError struct {
	commit string // that is recreated; empty for a merge
	files  []string
	list   []conflict
}

// Error says how many there are.
func (e *conflictError) Error() string { return fmt.Sprintf("%d files with conflicts", len(e.files)) }

func (j *joiner) git(ctx context.Context, stdin []byte, args ...string) (string, error) {
	out, err := j.t.Git(ctx, gitcli.Command{Args: args, Stdin: stdin, Env: append(append([]string{}, j.env...), j.who...), Timeout: longTime, Limit: manyCommits, Settings: plain()})
	return strings.TrimSuffix(string(out), "\n"), err
}

// identify finds out who commits: the user, as their environment or git's configuration says, or else Countersign.
func (j *joiner) identify(ctx context.Context) error {
	if j.name != "" {
		return nil
	}
	out, err := j.t.Git(ctx, gitcli.Command{Args: []string{"config", "-z", "--get-regexp", `^user\.(name|email)$`}})
	if err != nil && gitcli.ExitOf(err) != 1 {
		return err
	}
	for _, record := range git.SplitRecords(out) {
		switch key, value, _ := strings.Cut(record, "\n"); key {
		case "user.name":
			j.name = value
		case "user.email":
			j.email = value
		}
	}
	for _, pair := range gitcli.Identity() {
		switch key, value, _ := strings.Cut(pair, "="); key {
		case "GIT_COMMITTER_NAME":
			j.name = value
		case "GIT_COMMITTER_EMAIL":
			j.email = value
		}
	}
	if j.name, j.email = personal(j.name), personal(j.email); j.name == "" || j.email == "" {
		j.name, j.email = "Countersign", "countersign@localhost"
	}
	date := "@" + strconv.FormatInt(j.seconds, 10) + " +0000"
	j.who = []string{"GIT_AUTHOR_NAME=" + j.name, "GIT_AUTHOR_EMAIL=" + j.email, "GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_NAME=" + j.name, "GIT_COMMITTER_EMAIL=" + j.email, "GIT_COMMITTER_DATE=" + date}
	return nil
}

// personal is a name or an address as a commit can have it.
func personal(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || unicode.IsControl(r) {
			return -1
		}
		return r
	}, text))
}

func (j *joiner) shown() string { return j.name + " <" + j.email + ">" }

// merged returns the tree of both, or fails with *conflictError.
func (j *joiner) merged(ctx context.Context, ours, theirs string) (string, error) {
	out, err := j.git(ctx, nil, "merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs)
	clash := gitcli.ExitOf(err) == 1
	if clash {
		out = string(gitcli.Printed(err))
	} else if err != nil {
		return "", err
	}
	m, err := git.ParseMergeTree([]byte(out))
	if err != nil {
		return "", sandbox.ErrGit.WithMessage("%v", err).WithCause(err)
	}
	if !clash {
		return m.Tree, nil
	}
	found := &conflictError{}
	for _, file := range m.Files {
		found.files = append(found.files, readable(file))
	}
	for _, c := range m.Conflicts[:min(len(m.Conflicts), sandbox.MaxChanges)] {
		one := conflict{Kind: readable(c.Kind), Paths: []string{}}
		for _, path := range c.Paths {
			one.Paths = append(one.Paths, readable(path))
		}
		found.list = append(found.list, one)
	}
	return "", found
}

// commit makes a commit.
func (j *joiner) commit(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-F", "-"}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	return j.git(ctx, []byte(message), append(args, tree)...)
}

// replay recreates a commit on top of another, with its changes, author and message. It returns the other one if no change is left.
func (j *joiner) replay(ctx context.Context, commit, onto string) (string, error) {
	raw, err := j.t.Git(ctx, gitcli.Command{Args: []string{"cat-file", "commit", commit}, Env: j.env})
	if err != nil {
		return "", err
	}
	head, message, _ := bytes.Cut(raw, []byte("\n\n"))
	var own, parent, author, encoding string // signatures would no longer be valid
	for line := range strings.Lines(string(head) + "\n") {
		switch key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); key {
		case "tree":
			own = value
		case "parent":
			parent = value
		case "author":
			author = line
		case "encoding":
			encoding = line
		}
	}
	if parent == "" {
		return "", sandbox.ErrArguments.WithMessage("commit %.12s starts an unrelated history, which cannot be rebased here; merge it instead", commit)
	}
	if parent == onto {
		return commit, nil
	}
	was, err := j.git(ctx, nil, "rev-parse", "--verify", parent+"^{tree}")
	if err != nil {
		return "", err
	}
	there, err := j.git(ctx, nil, "rev-parse", "--verify", onto+"^{tree}")
	if err != nil {
		return "", err
	}
	tree, err := j.picked(ctx, commit, parent, there)
	if err != nil {
		return "", err
	}
	if tree == there && own != was { // all of it is there already
		return onto, nil
	}
	text := fmt.Sprintf("tree %s\nparent %s\n%scommitter %s %d +0000\n%s\n", tree, onto, author, j.shown(), j.seconds, encoding)
	return j.git(ctx, append([]byte(text), message...), "hash-object", "-t", "commit", "-w", "--stdin")
}

// picked returns the tree of onto with the changes of a commit applied.
func (j *joiner) picked(ctx context.Context, commit, parent, onto string) (string, error) {
	// Git looks for what both sides have in common in their history: with this one in the place of onto, that is the parent.
	side, err := j.commit(ctx, onto, "side\n", parent)
	if err != nil {
		return "", err
	}
	tree, err := j.merged(ctx, side, commit)
	if found, ok := err.(*conflictError); ok { //nolint:errorlint // merged wraps it in nothing
		found.commit = commit
	}
	return tree, err
}
