// Package person decides approvals in place of a user in tests, at a simulated terminal.
package person

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// AtTerminal is the proof of a decision in a terminal.
var AtTerminal = confirm.Proof{Surface: confirm.SurfaceTerminal, User: "tester", TTY: "/dev/pts/0", Host: "here"}

// Approval is human or caller.
func Approval(human bool) policy.Approval {
	if human {
		return policy.ApprovalHuman
	}
	return policy.ApprovalCaller
}

// Call makes a call by hand and approves what it asks.
func Call(ctx context.Context, a *app.App, c tool.Call) tool.Outcome {
	if c.Session == "" {
		c.Session = "cli"
	}
	if c.Principal.ID == "" {
		c.Principal = policy.Principal{ID: "local", Grants: policy.All}
	}
	c.FromUser = true
	o := a.Call(ctx, c)
	for range 3 {
		if o.Err == nil || o.Request == nil {
			break
		}
		i := o.Request
		c.Decision = &confirm.Decision{ID: i.ID, Approve: true, Typed: i.Target, Shown: i.PlanHash, By: "terminal", Proof: AtTerminal}
		o = a.Call(ctx, c)
	}
	return o
}

// Settings changes the settings as the user does, and approves what that opens.
func Settings(t testing.TB, a *app.App, change func(*app.Settings) error) app.Settings {
	t.Helper()
	c, err := a.SettingsCall(t.Context(), change)
	require.NoError(t, err)
	o := Call(t.Context(), a, c)
	require.NoError(t, o.Err)
	var saved app.Settings
	require.NoError(t, json.Unmarshal(c.Args, &saved))
	return saved
}

// ByCaller returns the options with the caller approving its own plans, as an embedding program's author may choose.
func ByCaller(o app.Options) app.Options {
	o.Policy.Approval = policy.ApprovalCaller
	return o
}
