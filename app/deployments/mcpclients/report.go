package mcpclients

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// ConnectResult is the result of connect_host, applied or planned.
type ConnectResult struct {
	Host      string           `json:"host"`
	Title     string           `json:"title"`
	Scope     deployment.Scope `json:"scope"`
	Server    string           `json:"server"`
	File      string           `json:"file"`
	FilePosix string           `json:"file_posix"`
	State     string           `json:"state"` // connected, already_connected, removed, not_connected
	Applied   bool             `json:"applied"`
	Entry     json.RawMessage  `json:"entry,omitempty"`
	HostEntry string           `json:"host_entry"`          // the name by which a server that it starts knows it
	Toolsets  []string         `json:"toolsets,omitempty"`  // enabled by the entry; all is every one
	LetInBy   string           `json:"let_in_by,omitempty"` // the name of its token; never the token
	Revoked   string           `json:"revoked,omitempty"`   // the name of the token that went with it
	Backup    string           `json:"backup,omitempty"`
	BackupPx  string           `json:"backup_posix,omitempty"`
	Diff      string           `json:"diff,omitempty"`
	Next      string           `json:"next,omitempty"`
}

// The states of a result.
const (
	connected    = "connected"
	already      = "already_connected"
	removed      = "removed"
	notConnected = "not_connected"
)

// state returns the state of a result.
func (k *work) state() string {
	switch {
	case k.in.Remove && k.before == nil:
		return notConnected
	case k.in.Remove:
		return removed
	case !k.writes():
		return already
	}
	return connected
}

// answer returns what is said of the work, done or not.
func (p *Plan) answer(applied bool) ConnectResult {
	k := &p.work
	a := ConnectResult{Host: k.host.Name, Title: k.host.Title, Scope: k.in.scope(), Server: k.in.name(), File: k.sight.path, FilePosix: deployment.PosixPath(k.sight.path),
		State: k.state(), Applied: applied, HostEntry: k.host.Entry(k.in.name(), k.in.scope()), Entry: p.Context.Entry, Diff: p.Context.Diff}
	if k.writes() && !k.in.Remove {
		a.Next = k.host.Next
	}
	if !k.in.Remove {
		a.Toolsets = k.serves
	}
	if k.revoke {
		a.Revoked = k.key()
	}
	if !k.in.Remove && k.in.URL != "" {
		a.LetInBy = k.key()
	}
	return a
}

// report returns a result with its warnings.
func (p *Plan) report(a ConnectResult) planner.Report[ConnectResult] {
	return planner.NewReport(a, p.Context.Warnings...)
}

// plan shows the work.
func (s *service) plan(ctx context.Context, k *work) (*Plan, error) {
	k.serves = s.named(k.in)
	p := &Plan{Tool: ConnectHost.Name, work: *k, Before: k.sight.seen.Sum, After: deployment.SumOf(k.after)}
	p.Context = PlanView{Host: k.host.Title, Scope: k.in.scope(), Server: k.in.name(), File: k.sight.path, Entry: k.entry(), Warnings: s.warnings(ctx, k)}
	if k.sight.real != k.sight.path {
		p.Context.LeadsTo = k.sight.real
	}
	if k.before != nil && !k.ours {
		p.Context.Replaces = RedactedEntry(k.before)
	}
	switch {
	case k.mints() && k.in.Sandbox != "":
		p.Context.LetInBy = "the gateway's token for " + k.in.Sandbox + " is written into the file; it is the same for all clients of that, and removing the entry does not end it"
		if k.revoke {
			p.Context.LetInBy += "; the token " + k.key() + " is revoked"
		}
	case k.mints():
		p.Context.LetInBy = "a new one is made, named " + k.key() + ", for " + s.tools(k.in) + ", in place of any before it"
	case k.revoke:
		p.Context.LetInBy = "the token " + k.key() + " is revoked"
	}
	if k.writes() {
		p.Context.Opens = s.opens(k)
		if k.sight.there() {
			p.Context.Backups = k.world.Join(s.Here.Home, backupsDir)
		}
		p.Context.Diff = s.diff(k)
	}
	p.Summary = k.summary()
	var err error
	p.hash, err = canon.Sum("deployment.connect.v1", p)
	return p, err
}

// opens returns what an entry makes possible, one line each.
func (s *service) opens(k *work) []string {
	if k.in.Remove {
		return nil
	}
	asks := "what needs a person still asks one"
	if k.rules.ByCaller {
		asks = "no person is asked: it approves its own plans"
	}
	how := "starts Countersign"
	switch {
	case k.in.Sandbox != "":
		how = "reaches the gateway of sandboxes over HTTP, as whoever reads the token in that file does, as long as there is that project or sandbox"
	case k.offer.Remote():
		how = "reaches Countersign over HTTP, as whoever reads the token in that file does, until it is revoked"
	}
	return []string{fmt.Sprintf("%s %s, and its agent calls %s; %s", k.host.Title, how, s.tools(k.in), asks)}
}

// entry returns the entry as it is shown.
func (k *work) entry() json.RawMessage {
	if k.in.Remove {
		return RedactedEntry(k.before)
	}
	return RedactedEntry(k.want)
}

func (k *work) summary() string {
	what := fmt.Sprintf("%s (%s)", k.host.Title, k.in.scope())
	if k.revoke && !k.writes() {
		return fmt.Sprintf("revoke the token %s, which nothing of %s uses any more", k.key(), what)
	}
	switch k.state() {
	case notConnected:
		return "nothing to take out of " + what
	case removed:
		return fmt.Sprintf("take the server %s out of %s", k.in.name(), what)
	case already:
		return what + " is connected already"
	}
	if k.before != nil && !k.ours {
		return fmt.Sprintf("replace the server %s in %s, which is not Countersign's", k.in.name(), what)
	}
	if k.before != nil {
		return fmt.Sprintf("change the server %s in %s", k.in.name(), what)
	}
	return fmt.Sprintf("add the server %s to %s", k.in.name(), what)
}

// warnings returns what the user should know about the plan.
func (s *service) warnings(ctx context.Context, k *work) (out []string) {
	if k.rules.ByCaller {
		out = append(out, "approval is caller ("+k.rules.By+"), so clients approve their own calls; for details: countersign policy show")
	}
	if k.in.Remove {
		return out
	}
	if k.offer.Remote() && k.sight.shared() {
		out = append(out, fmt.Sprintf("others on this machine may read %s, and with it the token; chmod 600 keeps them out", k.sight.real))
	}
	if k.in.scope() == deployment.ScopeProject {
		out = append(out, "a project's file is shared: whoever uses it needs countersign on their PATH")
		if k.host.Note != "" {
			out = append(out, k.host.Note)
		}
	} else if !k.offer.Remote() {
		if path, lasting, err := s.Here.Program(); err == nil && !lasting {
			out = append(out, path+" is a temporary build that will be gone; install countersign, then connect again")
		}
	}
	if !s.installed(ctx, k.world, k.host) {
		out = append(out, k.host.Title+" was not found on this machine; the entry is for when it is there")
	}
	return out
}

// diff returns the change of the document, redacted.
func (s *service) diff(k *work) string {
	var docs []json.RawMessage
	for _, doc := range [][]byte{k.sight.data, k.after} {
		if values, err := s.Documents.Values(k.doc.Format, doc, []deployment.Key{{Path: nil}}); err == nil {
			docs = append(docs, values[0])
		}
	}
	hidden := SecretValues(docs...)
	return RedactedDiff(k.sight.path, RedactText(string(k.sight.data), hidden), RedactText(string(k.after), hidden), s.Differ.Unified)
}
