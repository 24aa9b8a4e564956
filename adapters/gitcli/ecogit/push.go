package ecogit

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Push implements ecosystemport.PushGit. Commits of submodules that are on no remote have git refuse, as what was pushed would be of no use.
func (c *PushClient) Push(ctx context.Context, dir, branch string, names []string) (ecosystemport.Pushed, error) {
	return c.push(ctx, dir, branch, names, true)
}

// PushWithoutHooks implements ecosystemport.PushGit.
func (c *PushClient) PushWithoutHooks(ctx context.Context, dir, branch string) (ecosystemport.Pushed, error) {
	return c.push(ctx, dir, branch, nil, false)
}

func (c *PushClient) push(ctx context.Context, dir, branch string, names []string, hooks bool) (ecosystemport.Pushed, error) {
	wanted := []string{"refs/heads/" + branch}
	args := []string{"push", "--porcelain", "--no-progress", "--set-upstream", "--no-follow-tags", "--recurse-submodules=check"}
	if len(names) > 0 {
		args = append(args, "--atomic")
	}
	for _, name := range names {
		wanted = append(wanted, tags+name)
	}
	args = append(args, "--", "origin")
	for _, ref := range wanted {
		args = append(args, ref+":"+ref)
	}
	cmd := gitcli.Command{Hooks: hooks, Protocols: gitcli.Network, Timeout: netTime, Args: args}
	wait := c.pause
	for attempt := 1; ; attempt++ {
		out, err := gitPush(ctx, dir, cmd)
		if ctx.Err() != nil {
			return ecosystemport.Pushed{}, fault.From(ctx.Err())
		}
		if err != nil {
			out = gitcli.Printed(err)
		}
		pushed := outcome(string(out), wanted, err)
		if pushed.Status != "failed" || attempt == attempts || !pushPassing(pushed.Reason) {
			return pushed, nil
		}
		select {
		case <-ctx.Done():
			return ecosystemport.Pushed{}, fault.From(ctx.Err())
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// outcome reads what git push --porcelain printed of those refs, a line each: a flag, the refs and what came of it, with tabs between. One that was
// refused is the reason for all of them.
func outcome(text string, wanted []string, err error) ecosystemport.Pushed {
	pushed := ecosystemport.Pushed{Status: "up_to_date"}
	named := false
	for _, line := range lines(text) {
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 || !slices.ContainsFunc(wanted, func(ref string) bool { return strings.HasSuffix(fields[1], ":"+ref) }) {
			continue
		}
		switch {
		case fields[0] == "!" && strings.Contains(fields[2], "atomic push failed"): // because of another one
			if pushed.Status != "rejected" {
				pushed = ecosystemport.Pushed{Status: "rejected", Reason: reason(fields[2], err)}
			}
		case fields[0] == "!" || err != nil && fields[0] != "=":
			why := reason(fields[2], err)
			if _, ref, _ := strings.Cut(fields[1], ":"); strings.HasPrefix(ref, tags) {
				why = "tag " + strings.TrimPrefix(ref, tags) + ": " + why
			}
			return ecosystemport.Pushed{Status: "rejected", Reason: why}
		case fields[0] != "=" && pushed.Status != "rejected":
			pushed.Status = "pushed"
		}
		named = true
	}
	if !named && err != nil {
		return ecosystemport.Pushed{Status: "failed", Reason: words(err)}
	}
	return pushed
}

// reason is git's summary of a refusal, and what the other side said about it.
func reason(summary string, err error) string {
	said := []string{gitcli.Mask(summary)}
	for line := range strings.SplitSeq(gitcli.Words(err), "\n") {
		if text, ok := strings.CutPrefix(line, "remote:"); ok && strings.TrimSpace(text) != "" && len(said) < 6 {
			said = append(said, strings.TrimSpace(text))
		}
	}
	return strings.Join(said, "; ")
}

// pushPassing reports words of a network that may be there again in a moment.
func pushPassing(words string) bool {
	words = strings.ToLower(words)
	for _, sign := range []string{"could not resolve host", "temporary failure in name resolution", "connection refused", "connection timed out", "connection reset", "operation timed out",
		"network is unreachable", "failed to connect", "hung up unexpectedly", "early eof", "rpc failed", "the requested url returned error: 5"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// DeleteMergedBranch implements ecosystemport.PushGit. That the branch is where it was is checked by origin itself, in the moment it goes.
func (c *PushClient) DeleteMergedBranch(ctx context.Context, dir string, h ecosystemport.Head, into string) (string, error) {
	ref, trunk := "refs/heads/"+h.Branch, "refs/heads/"+into
	heads, err := remoteHeads(ctx, dir, ref, trunk)
	switch {
	case err != nil:
		return "", err
	case heads[ref] == "":
		return "origin does not have it", nil
	case heads[ref] != h.Commit:
		return "origin has a different commit for it", nil
	case heads[trunk] == "":
		return "origin has no branch " + into, nil
	}
	if _, err := gitPush(ctx, dir, gitcli.Command{Protocols: gitcli.Network, Timeout: netTime, Args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", "origin", trunk}}); err != nil {
		return "", named(dir, err)
	}
	if _, err := word(ctx, dir, "merge-base", "--is-ancestor", h.Commit, heads[trunk]); err != nil {
		if exited(err) {
			return "it is not merged into " + into + " at origin", nil
		}
		return "", named(dir, err)
	}
	_, err = gitPush(ctx, dir, gitcli.Command{Hooks: true, Protocols: gitcli.Network, Timeout: netTime,
		Args: []string{"push", "--porcelain", "--no-progress", "--force-with-lease=" + ref + ":" + h.Commit, "--", "origin", ":" + ref}})
	if exited(err) {
		return words(err), nil
	}
	return "", named(dir, err)
}
