package local

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/adapters/webhookhttp"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// hookClient is who started a workflow, in the audit and in its history, when a request from outside did.
const hookClient = "webhook"

// errReopen is returned for a workflow that changed after the user enabled its incoming webhook.
var errReopen = fault.New(fault.State, "webhook_approval_outdated", "the workflow changed after its incoming webhook was enabled; review it and enable the webhook again with countersign workflow incoming")

// Hooks serves. Both fields are required.
type Hooks struct {
	Door  *app.App
	Flows projectport.Workflows
}

// Serve serves incoming webhooks on a loopback address, for the workflows that the user has enabled them for, until ctx ends. The address, and then
// every answer, is reported in a line.
func (h Hooks) Serve(ctx context.Context, addr string, report func(line string)) error {
	flows := h.Flows
	var running sync.WaitGroup
	defer running.Wait()
	server := webhookhttp.NewServer(webhookhttp.ServerOptions{Clock: system.Clock{}, Report: func(e webhookhttp.Event) { report(lineOf(e)) },
		Lookup: func(ctx context.Context, id string) (webhook.Incoming, error) {
			w, err := flows.Find(ctx, id)
			switch {
			case err != nil:
				return webhook.Incoming{}, err
			case w.Incoming == nil:
				return webhook.Incoming{}, project.ErrWorkflowNotFound
			}
			return incomingOf(*w.Incoming), nil
		},
		Trigger: func(ctx context.Context, id string, _ []byte) (string, error) {
			w, err := flows.Find(ctx, id)
			if err != nil {
				return "", err
			}
			if w.Incoming == nil || w.Incoming.ApprovedRevision != w.Revision {
				return "", errReopen
			}
			return h.start(ctx, id, &running)
		}})
	listener, err := webhookhttp.Listen(ctx, addr)
	if err != nil {
		return err
	}
	report(fmt.Sprintf("accepting requests at http://%s/webhook/WORKFLOW; press Ctrl-C to stop", listener.Addr()))
	return server.Serve(ctx, listener)
}

// lineOf returns an answered request for the one who watches.
func lineOf(e webhookhttp.Event) string {
	line := fmt.Sprintf("%s %s %q: %d", e.At.Format(time.RFC3339), e.Remote, e.Workflow, e.Status)
	switch {
	case e.ExecutionID != "":
		return line + " started as " + e.ExecutionID
	case e.Err != nil:
		return line + " " + fault.From(e.Err).Message
	}
	return line + " " + string(e.Refusal)
}

func incomingOf(i project.Incoming) webhook.Incoming {
	return webhook.Incoming{Enabled: i.Enabled, TokenDigest: i.TokenDigest, Secret: []byte(i.Secret), RequireSignature: i.RequireSignature, Untimed: i.Untimed}
}

// start runs a workflow that the user has approved in its current form, and answers with the call's ID once the start is accepted. A plan with a name
// to type, or of high risk, waits for the user's approval.
func (h Hooks) start(ctx context.Context, id string, running *sync.WaitGroup) (string, error) {
	args, err := tool.Encode(map[string]string{"workflow_id": id})
	if err != nil {
		return "", err
	}
	call := tool.Call{ID: system.IDs{}.NewID("call_", 16), Session: hookClient, Client: hookClient, Principal: policy.Principal{ID: hookClient, Grants: policy.All},
		Tool: "run_workflow", Args: args}
	trial := call
	trial.ID, trial.Mode = "", policy.Plan
	if o := h.Door.Call(ctx, trial); o.Err != nil {
		return "", o.Err
	}
	running.Go(func() {
		ctx := context.WithoutCancel(ctx)
		asked := h.Door.Call(ctx, call)
		if i := asked.Request; i != nil && asked.Err != nil && i.Strength < policy.Typed && i.Risk != policy.RiskHigh.String() {
			answered := call
			answered.ID, answered.Decision = "", &confirm.Decision{ID: i.ID, Approve: true, By: "incoming webhook", Proof: confirm.Proof{Surface: confirm.SurfaceProgram, User: "the user enabled this incoming webhook"}}
			h.Door.Call(ctx, answered)
		}
	})
	return call.ID, nil
}
