package ecogit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
)

// Unbundle implements ecosystemport.Clones.
func (c Clones) Unbundle(ctx context.Context, r ecosystem.Repo, dir, bundle string) (names []string, moved bool, err error) {
	at, err := c.open(dir)
	if err != nil {
		return nil, false, err
	}
	t := at.Main()
	said, err := t.Word(ctx, "bundle", "list-heads", bundle)
	if err != nil {
		return nil, false, ours(err)
	}
	has, err := worktree.Refs(ctx, t, tags)
	if err != nil {
		return nil, false, ours(err)
	}
	tip, wanted := "", []string{}
	for _, line := range lines(said) {
		object, ref, _ := strings.Cut(line, " ")
		switch name, isTag := strings.CutPrefix(ref, tags); {
		case isTag && has[ref] == "":
			names, wanted = append(names, name), append(wanted, ref+":"+ref)
		case ref == git.HeadsPrefix+r.Branch:
			tip, wanted = object, append(wanted, ref)
		}
	}
	if len(wanted) == 0 {
		return nil, false, nil
	}
	slices.Sort(names)
	_, err = t.Git(ctx, gitcli.Command{Protocols: "file", Timeout: c.options.Long,
		Args: append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--", bundle}, wanted...)})
	if err != nil || tip == "" {
		return names, false, ours(err)
	}
	head, err := t.Word(ctx, "rev-parse", "--verify", "HEAD")
	if err != nil || head == tip {
		return names, false, ours(err)
	}
	if _, err := t.Word(ctx, "merge-base", "--is-ancestor", head, tip); err != nil {
		var exit *gitcli.ExitError
		if errors.As(err, &exit) {
			return names, false, nil // the origin has gone another way; the commits are here
		}
		return names, false, ours(err)
	}
	_, err = t.Git(ctx, gitcli.Command{Timeout: c.options.Long, Args: []string{"merge", "--ff-only", "--quiet", "--no-autostash", tip}})
	return names, err == nil, ours(err)
}
