package wiring

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/admincmd"
	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/fault"
)

// host serves what it opened over HTTP.
type host struct {
	Build
	local *local.Local
}

// web returns what the commands of the server need.
func (b Build) web() admincmd.Machine {
	h := &host{Build: b}
	return admincmd.Machine{Open: h.open, Serve: h.serve, Link: linkOf, Browse: browse, Process: system.Owner{}.Self, Hold: hold, InUse: local.InUse, Free: system.FreeSpace, Version: b.Version,
		Token: func() string { return httpauth.Secret(httpauth.TokenPrefix) }}
}

// hold locks the home against other servers, until release is called or this process ends.
func hold(home string) (release func(), err error) {
	lock, err := docfile.NewDir(home).TryLock(admincmd.ServerLockFile)
	if lock == nil || err != nil {
		return nil, err
	}
	return func() { _ = lock.Release() }, nil
}

// linkOf returns a new one-time log-in.
func linkOf(base, wanted string) (link, code string) {
	code = httpauth.Secret(httpauth.LoginPrefix)
	return httpauth.LoginURL(base, code, wanted), code
}

// open returns the core for a server: it has every toolset, unless the server configuration selects some, because the console shows everything there is.
func (h *host) open(env func(string) string) (command.Core, error) {
	l, err := h.openLocal(env, func(c *local.Config) {
		c.Toolsets = nil
		c.Log = local.Logger(os.Stderr, env, "off")
	})
	if err != nil {
		return command.Core{}, err
	}
	h.local = l
	return openCore(l, env), nil
}

// serve serves what was opened until ctx ends.
func (h *host) serve(ctx context.Context, o admincmd.ServeOptions, ready func(admincmd.ServeAddress) error) error {
	if h.local == nil {
		return fault.ErrInternal.WithMessage("no listener was opened")
	}
	wait, err := patience(o.Env)
	if err != nil {
		return err
	}
	names := make([]httpauth.Host, len(o.Hosts))
	for i, text := range o.Hosts {
		if names[i], err = httpauth.ParseHost(text); err != nil {
			return err
		}
	}
	ciphered, err := httpauth.Certificate(o.Cert, o.Key)
	if err != nil {
		return err
	}
	listener, err := httpauth.Listen(ctx, o.Addr, o.Plain || ciphered != nil)
	if err != nil {
		return err
	}
	at := admincmd.ServeAddress{Listens: listener.Addr().String(), URL: httpauth.BaseURL(listener.Addr(), names, ciphered != nil)}
	log := local.Logger(os.Stderr, o.Env, "off")
	guard := httpauth.NewGuard(httpauth.Options{Credentials: h.local.Admission(), Owner: h.local.Owner(), Account: command.AccountName(), Hosts: httpauth.ReachableHosts(listener.Addr(), names), TLS: ciphered != nil, Log: log})
	if err := ready(at); err != nil {
		_ = listener.Close() // what went wrong is said already
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // calls end with the requests that made them, not before
	defer end()
	p := &parts{local: h.local, version: h.Version, cookie: httpauth.CookieName(at.URL), open: onlyHere(listener.Addr()), wait: wait, log: log}
	p.assemble(life)
	h.local.Notifier().Watch()
	pruned := make(chan struct{})
	go func() {
		defer close(pruned)
		pruning(life, h.local, log)
	}()
	err = httpauth.Serve(ctx, listener, behind(life, guard, p), httpauth.ListenOptions{TLS: ciphered, Ending: guard.End, Log: log})
	end()
	<-pruned
	return errors.Join(err, p.close(context.WithoutCancel(ctx)))
}

// When a server removes old reads from the audit: soon after it has started, and then once a day.
const (
	pruneFirst = 5 * time.Minute
	pruneEvery = 24 * time.Hour
)

// pruning removes the reads that are older than the user has set, until ctx ends.
func pruning(ctx context.Context, l *local.Local, log *slog.Logger) {
	timer := time.NewTimer(pruneFirst)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		switch done, err := l.PruneAudit(ctx); {
		case err != nil && ctx.Err() == nil:
			log.Warn("old records of reads could not be removed from the audit log", "cause", err.Error())
		case done.Removed > 0:
			log.Info("old records of reads were removed from the audit log", "reads", done.Removed, "before", done.Before)
		}
		timer.Reset(pruneEvery)
	}
}

// onlyHere reports an address that nobody but this machine reaches.
func onlyHere(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// behind returns everything of a server, behind the guard.
func behind(life context.Context, g *httpauth.Guard, p *parts) http.Handler {
	mux := http.NewServeMux()
	g.Mount(mux)
	p.mount(life, mux, g)
	return g.Middleware(mux)
}
