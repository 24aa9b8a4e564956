package gitcli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// receiving is the program that takes a push into a directory of this machine. None of what that repository's configuration could have it run is run; its hooks
// only where the user approved them.
const receiving = "--receive-pack=git -c core.fsmonitor=false -c core.alternateRefsCommand=true -c receive.autogc=false -c receive.denyCurrentBranch=refuse"

// local reports whether git takes a URL for a directory of this machine.
func local(url string) bool {
	head, _, _ := strings.Cut(url, "/")
	return strings.HasPrefix(url, "file:") || !strings.Contains(head, ":") || filepath.VolumeName(url) != ""
}

// received returns the command with what it has the receiving side run, where that is this machine: git starts it as this user. Other machines decide for
// themselves.
func (c Command) received(ctx context.Context) (Command, error) {
	if len(c.Args) == 0 || c.Args[0] != "push" || !slices.Contains(strings.Split(c.Protocols, ":"), "file") {
		return c, nil
	}
	here, elsewhere := c.Protocols == "file", false
	if !here {
		urls, err := c.PushURLs(ctx, c.remote())
		if err != nil {
			return c, err
		}
		for _, url := range urls {
			here, elsewhere = here || local(url), elsewhere || !local(url)
		}
	}
	if !here {
		return c, nil
	}
	if elsewhere {
		return c, ErrRemote.WithMessage("%s has several URLs, on this machine and on others, so it cannot be pushed to; keep one of them (git remote set-url --push), or push by hand", Mask(c.remote()))
	}
	program := receiving
	if !c.ReceiverHooks {
		program += " -c core.hooksPath=/dev/null"
	}
	c.Args = slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return strings.HasPrefix(arg, "--receive-pack=") })
	c.Args = slices.Insert(c.Args, 1, program+" receive-pack")
	return c, nil
}

// PushURLs returns the URLs that a git push to a remote, or to a URL, goes to, according to the configuration. It uses no network.
func (c Command) PushURLs(ctx context.Context, remote string) ([]string, error) {
	c.Args = []string{"push", "--", remote}
	urls, err := c.urls(ctx, remote)
	if err == nil && len(urls) == 0 {
		err = fmt.Errorf("git does not report the push URL of %s", Mask(remote))
	}
	return urls, err
}

// Exactly returns settings that have git reach a URL as it stands: the configuration's insteadOf and pushInsteadOf have been applied to it already, or are not
// to be. A URL that is the whole of one of the configuration's own is still rewritten.
func Exactly(url string) []Setting {
	return []Setting{{"url." + url + ".insteadOf", url}, {"url." + url + ".pushInsteadOf", url}}
}
