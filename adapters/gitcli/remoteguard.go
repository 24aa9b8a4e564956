package gitcli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrRemote reports a remote that would be reached although no user has approved it.
var ErrRemote = fault.New(fault.Denied, "remote_not_approved", "contacting this remote is not approved")

// Outreach implements ports.Outreach for every git that this package starts.
type Outreach struct{}

type outreachKey struct{}

// outreach is what one context lets git reach, and what it refused.
type outreach struct {
	approved func(ctx context.Context, url string) (bool, error)

	mu      sync.Mutex
	refused []string
}

// Guard implements ports.Outreach.
func (Outreach) Guard(ctx context.Context, approved func(ctx context.Context, url string) (bool, error)) (context.Context, func() []string) {
	o := &outreach{approved: approved}
	return context.WithValue(ctx, outreachKey{}, o), func() []string {
		o.mu.Lock()
		defer o.mu.Unlock()
		slices.Sort(o.refused)
		return slices.Compact(slices.Clone(o.refused))
	}
}

// Reach fails with ErrRemote where ctx is guarded and url is not approved. Every Command that reaches out asks it by itself; callers ask beforehand where
// they would do work for nothing.
func Reach(ctx context.Context, url string) error {
	o, ok := ctx.Value(outreachKey{}).(*outreach)
	if !ok {
		return nil
	}
	approved, err := o.approved(context.WithoutCancel(ctx), url) // also where another fetch of the same call has failed: all that are refused are asked about at once
	if err != nil || approved {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused = append(o.refused, url)
	return ErrRemote.WithMessage("contacting %s is not approved; the user approves it, then call again", Mask(url))
}

// reaches holds a command that reaches out to what its context lets it reach: the remote it names, as git would find it.
func (c Command) reaches(ctx context.Context) error {
	if _, guarded := ctx.Value(outreachKey{}).(*outreach); !guarded || c.Protocols == "" || c.Protocols == "file" || len(c.Args) == 0 {
		return nil
	}
	remote := c.remote()
	if remote == "" || strings.HasPrefix(remote, "-") {
		return ErrRemote.WithMessage("git %s does not name its remote", c.Args[0])
	}
	urls, err := c.urls(ctx, remote)
	for _, url := range urls {
		if refused := Reach(ctx, url); refused != nil {
			err = refused
		}
	}
	if err == nil && len(urls) == 0 {
		err = ErrRemote.WithMessage("git %s does not name its remote", c.Args[0])
	}
	return err
}

// urls returns what the configuration makes of a remote's name or URL: where it is fetched from, or all URLs that a push goes to. It uses no network.
func (c Command) urls(ctx context.Context, remote string) ([]string, error) {
	ask := c
	ask.Stdin, ask.Sink, ask.Watch, ask.Protocols, ask.Hooks = nil, nil, nil, "", false
	var exit *ExitError
	if c.Args[0] == "push" {
		ask.Args = []string{"remote", "get-url", "--push", "--all", "--", remote}
		if out, err := ask.start(ctx); err == nil {
			return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' }), nil
		} else if !errors.As(err, &exit) {
			return nil, err
		}
		ask.Args = []string{"config", "--null", "--get-regexp", `^url\..*\.pushinsteadof$`} // it is a URL rather than the name of a remote
		out, err := ask.start(ctx)
		if err != nil && !errors.As(err, &exit) {
			return nil, err
		}
		if url, instead := pushInstead(string(out), remote); instead {
			return []string{url}, nil
		}
	}
	ask.Args = []string{"ls-remote", "--get-url", "--", remote}
	out, err := ask.start(ctx)
	if err != nil {
		return nil, err
	}
	return []string{strings.TrimSpace(string(out))}, nil
}

// pushInstead returns what the settings url.BASE.pushInsteadOf make of a URL: of several that are its beginning, the longest counts, as for git.
func pushInstead(settings, url string) (string, bool) {
	base, longest := "", ""
	for entry := range strings.SplitSeq(settings, "\x00") {
		key, prefix, ok := strings.Cut(entry, "\n")
		if ok && strings.HasPrefix(url, prefix) && len(prefix) > len(longest) {
			base, longest = key[len("url."):len(key)-len(".pushinsteadof")], prefix
		}
	}
	return base + url[len(longest):], longest != ""
}

// remote returns the remote that a command names after the end of its options; empty if it names none.
func (c Command) remote() string {
	if i := slices.IndexFunc(c.Args, func(arg string) bool { return arg == "--" || arg == "--end-of-options" }); i >= 0 && i+1 < len(c.Args) {
		return c.Args[i+1]
	}
	return ""
}
