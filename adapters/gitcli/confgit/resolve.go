package confgit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/git"
)

const (
	commitDigits = 40
	nearby       = 5       // refs that are offered instead of one that does not exist
	nearbyLimit  = 4 << 20 // bytes of a listing they are chosen from
)

// commitOf is s in lower case when it is the full id of a commit.
func commitOf(s string) (string, bool) {
	if len(s) != commitDigits {
		return "", false
	}
	commit, err := git.ParseCommit(s)
	return commit.String(), err == nil
}

// Resolve asks the remote which commit a ref is: 40 hex digits are a commit already and need no remote; of an annotated tag it is the
// commit that the tag stands for, then comes a branch, then any other tag (agentpack contract §2.4). It fails with ErrConfig for a URL or
// a ref that git must not see, and with ErrGit when the remote does not answer or has no such ref.
func (c *Client) Resolve(ctx context.Context, source deployment.GitSource) (string, error) {
	if err := checkURL(source.URL, false); err != nil {
		return "", err
	}
	ref := cmp.Or(source.Ref, deployment.DefaultRef)
	if commit, ok := commitOf(ref); ok {
		return commit, nil
	}
	if _, err := git.ParseBranch(ref); err != nil {
		return "", deployment.ErrConfig.WithMessage("invalid ref of %s: %v", shown(source.URL), err).WithCause(err)
	}
	if err := gitcli.Reach(ctx, source.URL); err != nil {
		return "", err
	}
	branch, tag := "refs/heads/"+ref, "refs/tags/"+ref
	wanted := []string{tag + "^{}", branch, tag}
	var commit string
	err := outside(func(dir string, settle []string) error {
		list := gitcli.Command{Dir: dir, Env: settle, Protocols: gitcli.Network, Args: append([]string{"ls-remote", "--quiet", "--", source.URL}, wanted...)}
		out, err := c.git(ctx, list)
		if err != nil {
			return err
		}
		found := refs(out)
		for _, name := range wanted {
			if id := found[name]; id != "" && commit == "" {
				commit = id
			}
		}
		if commit != "" {
			return nil
		}
		list.Args, list.Limit = []string{"ls-remote", "--quiet", "--refs", "--heads", "--tags", "--", source.URL}, nearbyLimit
		all, _ := c.git(ctx, list) // without an answer there is nothing to offer
		return noRef(source.URL, ref, refs(all))
	})
	if err != nil {
		return "", err
	}
	id, ok := commitOf(commit)
	if !ok {
		return "", deployment.ErrGit.WithMessage("%s does not use SHA-1 commit ids; such repositories cannot be module sources", shown(source.URL))
	}
	return id, nil
}

// Branch asks the remote which branch its HEAD is on. It fails with ErrConfig for a URL that git must not see, and with ErrGit when the remote does not
// answer or its HEAD is on no branch that there is.
func (c *Client) Branch(ctx context.Context, url string) (branch string, err error) {
	if err := checkURL(url, false); err != nil {
		return "", err
	}
	if err := gitcli.Reach(ctx, url); err != nil {
		return "", err
	}
	err = outside(func(dir string, settle []string) error {
		list := gitcli.Command{Dir: dir, Env: settle, Protocols: gitcli.Network, Args: []string{"ls-remote", "--quiet", "--symref", "--", url, "HEAD"}}
		out, err := c.git(ctx, list)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(out)) {
			target, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if head, ok := strings.CutPrefix(target, "ref: refs/heads/"); ok && name == "HEAD" {
				branch = head
			}
		}
		if branch != "" {
			return nil
		}
		return deployment.ErrGit.WithMessage("the HEAD of %s is not on a branch; name a ref: @ref after owner/repo, or #ref=… after a URL", shown(url)).
			WithDetails(deployment.Details{"url": shown(url)})
	})
	return branch, err
}

// refs reads what ls-remote printed: ids by name.
func refs(out []byte) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			found[name] = id
		}
	}
	return found
}

func noRef(url, ref string, all map[string]string) error {
	var names []string
	for name := range all {
		short := strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/")
		if !slices.Contains(names, short) {
			names = append(names, short)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(likeness(b, ref)-likeness(a, ref), cmp.Compare(a, b)) })
	names = names[:min(len(names), nearby)]
	offer := "and no other branch or tag was found"
	if len(names) > 0 {
		offer = "there are: " + strings.Join(names, ", ")
	}
	return deployment.ErrGit.WithMessage("%s has no branch or tag %q; %s", shown(url), ref, offer).
		WithDetails(deployment.Details{"url": shown(url), "ref": ref, "refs": names})
}

// likeness is how much of a name another one shares, from either end.
func likeness(name, wanted string) int {
	a, b := strings.ToLower(name), strings.ToLower(wanted)
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	likely := 0
	if name == deployment.DefaultRef || name == "master" {
		likely = 1
	}
	return 2*(head+tail) + likely
}
