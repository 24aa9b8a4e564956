package shipping

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/footing"
	"github.com/countersign-dev/countersign/app/ecosystems/shipping/fleet"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PushInput is what to push.
type PushInput struct {
	footing.Target
	Message   string   `json:"message,omitempty" jsonschema:"maxLength=10000,description=of the commits that commit_all makes"`
	CommitAll bool     `json:"commit_all,omitempty" jsonschema:"description=commit everything that is not committed first; needs message"`
	Repos     []string `json:"repos,omitempty" jsonschema:"maxItems=256,description=names of repositories; default all and the workspace's own branch"`
}

// Validate wants a message for commits.
func (in PushInput) Validate() error {
	if in.CommitAll && strings.TrimSpace(in.Message) == "" {
		return ecosystem.ErrArguments.Sayf("commit_all needs a message for the commits it makes; call again with message")
	}
	return nil
}

// Idle is the answer where there is nothing to do.
type Idle struct {
	Status  string         `json:"status"`
	Noop    bool           `json:"noop"`
	Message string         `json:"message"`
	Preview *fleet.Preview `json:"preview,omitempty"`
	footing.Shown
}

func (s service) planPush(ctx context.Context, sc tool.Scope, in PushInput) (footing.Plan, error) {
	f, err := s.Installed(ctx, sc, in.Ecosystem)
	if err != nil {
		return footing.Plan{}, err
	}
	o := fleet.Order{Message: in.Message, CommitAll: in.CommitAll, Repos: in.Repos}
	found, err := s.yard.Look(ctx, f, o)
	if err != nil {
		return footing.Plan{}, err
	}
	for _, v := range found {
		if !v.Commits(o) {
			continue
		}
		if err := s.Committing.Author(ctx, v.Berth.Dir); err != nil {
			return footing.Plan{}, err
		}
		break // it is the same for all
	}
	preview := fleet.Show(f, found, o)
	n := len(preview.ReposAffected)
	p := footing.Plan{Tool: Push.Name, Action: pushing, Summary: fmt.Sprintf("push of %s (%s)", f.Layout.Name, fleet.Counted(n, "repository", "repositories")), Preview: preview, Facts: fleet.Facts(found),
		Warnings: fleet.Warnings(found, o), Current: map[string]any{"repos": preview.Repos, "active_ticket": f.State.ActiveTicket},
		Risk:        footing.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"writes to remote"}},
		Explanation: footing.Explanation{What: "Pushes what is committed to the remotes, never with force; with commit_all, commits everything else first.", Irreversible: true, Affects: preview.ReposAffected, Alternatives: []string{"amof_get_ecosystem_status shows what is not pushed"}}}
	if o.CommitAll {
		p.Risk.Reasons = append(p.Risk.Reasons, "commits what is not committed")
	}
	if n == 0 {
		text := footing.Text{Summary: "Found nothing to push", Details: fleet.Lines(preview)}
		p.Noop = Idle{Status: "success", Noop: true, Message: "there is nothing to push", Preview: &preview,
			Shown: s.Show(sc, footing.About{Ecosystem: f.Layout.Name}, text, footing.Suggest("status", f.Layout.Name, nil))}
	}
	if p.Payload, err = tool.Encode(o); err != nil {
		return p, err
	}
	return p.Sealed(f)
}

func (s service) pushFacts(ctx context.Context, f footing.Found, payload json.RawMessage) (any, error) {
	o, err := fleet.Read(payload)
	if err != nil {
		return nil, err
	}
	found, err := s.yard.Look(ctx, f, o)
	return fleet.Facts(found), err
}

// push carries out a confirmed push.
func (s service) push(ctx context.Context, j footing.Job) (any, error) {
	o, err := fleet.Read(j.Run.Payload)
	if err == nil {
		err = s.mend(ctx, j.Found, j.Log)
	}
	if err != nil {
		return nil, err
	}
	found, err := s.yard.Look(ctx, j.Found, o)
	if err != nil {
		return nil, err
	}
	return s.yard.Send(ctx, j, found, o)
}
