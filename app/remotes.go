package app

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// approveRemote is the audit log's name for the user's approval to contact a remote: one record for each remote.
const approveRemote = "approve_remote"

// remotesPlan is the plan that the user approves before a call contacts unapproved remotes to compute its plan or to read.
type remotesPlan struct {
	Summary string   `json:"summary"`
	Remotes []string `json:"fetch_from"`
	Not     []string `json:"not_bound"`
	by      tool.Name
	hash    canon.Hash
}

func newRemotesPlan(remotes []string, by tool.Name) (remotesPlan, error) {
	p := remotesPlan{by: by, Summary: "fetch from " + strings.Join(remotes, ", "), Remotes: remotes, Not: []string{"what the remote answers, now and later"}}
	var err error
	p.hash, err = canon.Sum("remotes.plan.v1", p)
	return p, err
}

// Hash covers the remotes.
func (p remotesPlan) Hash() canon.Hash { return p.hash }

// Prompt says which remotes would be contacted and why.
func (p remotesPlan) Prompt() string {
	return p.Summary + ", which is not approved yet and " + string(p.by) + " needs to read; after approval, no call asks about it again"
}

// Insists requires an approval at a terminal or in the console, because it applies from then on.
func (remotesPlan) Insists() bool { return true }

// remoteName returns the name of a remote without a possible password; empty for a remote on this machine. The name includes how the remote is
// reached: scheme, user, host, port and path as git gets them, so that approving one way approves no other. remoteName of a name returns it
// unchanged.
func remoteName(url string) string {
	url = strings.TrimSpace(url)
	if u, err := git.ParseURL(url); err == nil && u.IsLocal() || err != nil && !strings.Contains(url, ":") {
		return ""
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || strings.ContainsAny(scheme, "/:@") { // user@host:path
		colon := strings.IndexByte(url, ':')
		if end := strings.Index(url, "]:"); end >= 0 {
			colon = end + 1
		}
		if at := strings.IndexByte(url, '@') + 1; at <= colon {
			return url[:at] + strings.ToLower(url[at:colon]) + repositoryPath(url[colon:])
		}
		return url
	}
	scheme = strings.ToLower(scheme)
	authority, path, _ := strings.Cut(rest, "/")
	user, host := "", strings.ToLower(authority)
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, _, _ = strings.Cut(authority[:at], ":")
		if host = strings.ToLower(authority[at+1:]); strings.HasPrefix(scheme, "http") && authority[:at] != "git" {
			user = "***" // it may be a token
		}
		user += "@"
	}
	if own := map[string]string{"https": ":443", "http": ":80", "ssh": ":22", "git+ssh": ":22", "ssh+git": ":22", "git": ":9418"}[scheme]; own != "" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, own), ":")
	}
	return scheme + "://" + user + host + repositoryPath("/"+path)
}

// repositoryPath returns the path of a repository without an optional suffix.
func repositoryPath(path string) string {
	short := strings.TrimRight(path, "/")
	if name := strings.TrimSuffix(short, ".git"); name != "" && name[len(name)-1] != '/' && name[len(name)-1] != ':' {
		return name
	}
	return short
}

// remoteRecord returns the ID under which the audit log has the approval of a remote.
func remoteRecord(name string) (string, canon.Hash) {
	sum := canon.SumBytes("remote.v1", []byte(name))
	return "remote_" + sum.Hex()[:20], sum
}

// approvedRemote reports whether the audit log has the user's approval to contact the remote.
func (a *App) approvedRemote(ctx context.Context, url string) (bool, error) {
	name := remoteName(url)
	if name == "" {
		return true, nil
	}
	id, sum := remoteRecord(name)
	found, err := a.core.Audit.Search(ctx, audit.Filter{Phase: audit.Outcome, Call: id, Tool: approveRemote, Limit: 1})
	return slices.ContainsFunc(found, func(r audit.Record) bool { return r.Event.Plan == sum && r.Event.Code == "" }), err
}

// approveRemotes records that the user has approved the remotes.
func (r *run) approveRemotes(ctx context.Context, urls []string) error {
	for _, url := range urls {
		approved, err := r.app.approvedRemote(ctx, url)
		if err != nil {
			return err
		}
		if approved {
			continue
		}
		name := remoteName(url)
		args, err := tool.Encode(map[string]string{"url": r.mask.Text(name)})
		if err != nil {
			return err
		}
		id, sum := remoteRecord(name)
		e := r.event(audit.Outcome)
		e.CallID, e.Tool, e.Args, e.Plan, e.Code = id, approveRemote, args, sum, ""
		e.Verdict, e.Rule, e.ApprovedBy = policy.Confirm.String(), "person", r.answerer
		if err := r.app.core.Audit.Append(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// guards reports whether contacting remotes needs approval: users approve, and have not turned questions off.
func (r *run) guards() bool { return r.human && !r.open && r.app.core.Outreach != nil }

// askingAboutRemotes runs do, which only reads, and asks the user if it would contact unapproved remotes. Once they are approved, it continues.
func (r *run) askingAboutRemotes(ctx context.Context, do func(context.Context) error) error {
	if !r.guards() {
		return do(ctx)
	}
	for {
		guarded, refused := r.app.core.Outreach.Guard(ctx, r.app.approvedRemote)
		err := do(guarded)
		var names []string
		for _, url := range refused() {
			names = append(names, remoteName(url))
		}
		if len(names) == 0 {
			return err
		}
		slices.Sort(names)
		if err := r.askRemotes(ctx, slices.Compact(names)); err != nil {
			return err
		}
	}
}

// fetches asks for approval of those URLs that are not approved.
func (r *run) fetches(ctx context.Context, urls []string) error {
	if !r.guards() {
		return nil
	}
	var names []string
	for _, url := range urls {
		approved, err := r.app.approvedRemote(ctx, url)
		if err != nil {
			return err
		}
		if !approved {
			names = append(names, remoteName(url))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return r.askRemotes(ctx, slices.Compact(names))
}

// askRemotes returns nil once the user has approved the remotes, and asks until then: once for all calls of the caller that want them.
func (r *run) askRemotes(ctx context.Context, names []string) error {
	plan, err := newRemotesPlan(names, r.call.Tool)
	if err != nil {
		return err
	}
	args, err := tool.Encode(map[string][]string{"fetch_from": names})
	if err != nil {
		return err
	}
	g, found, err := r.question(ctx, r.remotesBinding(plan), args)
	switch {
	case err != nil:
		return err
	case found && g.State == confirm.Approved:
		return r.spendRemotes(ctx, g, plan)
	case !found:
		survey, assessed := r.survey, r.surveyed(ctx, policy.Assessment{Strength: policy.Simple, Human: policy.Simple}, plan, args)
		g, _, err = r.grant(approveRemote, args, plan, assessed)
		if r.survey = survey; err != nil {
			return err
		}
		g.Remotes = names
		if err := r.app.grants.Issue(ctx, g, r.call.FromUser); err != nil {
			return err
		}
	}
	r.decision.Verdict, r.decision.Strength, r.decision.Rule, r.planHash = policy.Confirm, g.Strength, "unapproved remote", plan.hash
	return r.asked(g, confirm.Token{})
}

func (r *run) remotesBinding(plan remotesPlan) confirm.Binding {
	b := r.binding()
	b.Tool, b.Subject = approveRemote, plan.hash
	return b
}

// spendRemotes marks an approval of remotes used and records them. If another call used it first, that call recorded them.
func (r *run) spendRemotes(ctx context.Context, g confirm.Request, plan remotesPlan) error {
	binding, there := r.remotesBinding(plan), true
	for _, name := range plan.Remotes {
		approved, err := r.app.approvedRemote(ctx, name)
		if err != nil {
			return err
		}
		there = there && approved
	}
	if there {
		return nil
	}
	err := r.app.core.Ledger.Settle(ctx, g.Digest, func(g *confirm.Request) error {
		return g.Redeem(binding, g.Target, r.app.core.Clock.Now())
	})
	if err != nil {
		return err
	}
	by := r.answerer
	r.answerer = g.Answerer
	err = r.approveRemotes(ctx, plan.Remotes)
	r.answerer = by
	return err
}

// broughtRemotes removes from a call what it brings for a remotes approval: the decision, or the request that was decided since. After that it is an
// ordinary call.
func (r *run) broughtRemotes(ctx context.Context) error {
	if !r.decided() {
		return nil
	}
	var g confirm.Request
	if a := r.call.Decision; a != nil {
		found, err := r.app.core.Ledger.Pending(ctx, ports.PendingFilter{ID: a.ID}, r.app.core.Clock.Now())
		if err != nil || len(found) == 0 || len(found[0].Remotes) == 0 {
			return err
		}
		if g, err = r.app.answer(ctx, *a); err != nil {
			return err
		}
	} else {
		err := r.app.core.Ledger.Settle(ctx, r.call.ApprovalDigest, func(found *confirm.Request) error {
			g = *found
			return nil
		})
		if err != nil || len(g.Remotes) == 0 {
			return nil //nolint:nilerr // what it is then, the steps to come say
		}
	}
	plan, err := newRemotesPlan(g.Remotes, r.call.Tool)
	if err != nil {
		return err
	}
	if g.State == confirm.Approved {
		if vouched, err := r.app.grants.OnRecord(ctx, g, g.Needs); err != nil || !vouched {
			return cmp.Or(err, error(confirm.ErrPending))
		}
	}
	if err := r.spendRemotes(ctx, g, plan); err != nil {
		return err
	}
	r.call.Decision, r.call.ApprovalDigest = nil, confirm.Digest{}
	return nil
}
