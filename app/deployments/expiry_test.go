package deployments_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

// sampleDoor returns the toolset over the sample and real files below dir, in a core with a test clock.
func sampleDoor(t *testing.T, dir string, c *clock.Fake) *app.App {
	t.Helper()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "pack/repo"), os.DirFS("testdata/sample")))
	project := filepath.Join(dir, "project")
	require.NoError(t, os.MkdirAll(project, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(project, configrepo.MarkerFile), nil, 0o644))
	return sampleDoorOver(t, dir, c)
}

// sampleDoorOver returns the toolset over what is in dir.
func sampleDoorOver(t *testing.T, dir string, c *clock.Fake, who ...policy.Approval) *app.App {
	t.Helper()
	store := memstore.New()
	core := app.Dependencies{Clock: c, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler), Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	wired := wiredOver(dir, c)
	capability := deployments.Capability(deployments.Deps{Compiler: wired.Compiler, Planner: wired.Planner, Recovery: wired.Machine, Differ: docedit.Differ{},
		History: wired.Git, Remote: wired.Git, Clock: c, Version: "test"})
	door, err := app.New(core, app.Options{Policy: policy.Policy{Approval: append(who, policy.ApprovalCaller)[0], Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, capability)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, door.Close(context.Background())) })
	return door
}

// TestTokenExpires: a token is valid for ten minutes of the server's clock and not longer; an expired one is an error every time, after yes was
// required, and writes nothing.
func TestTokenExpires(t *testing.T) {
	var c clock.Fake
	dir := t.TempDir()
	door := sampleDoor(t, dir, &c)
	call := func(name tool.Name, args string, token confirm.Token) tool.Outcome {
		return door.Call(context.Background(), tool.Call{Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: name, Args: json.RawMessage(args), Token: token})
	}
	offer := func() confirm.Token {
		o := call("deploy", `{}`, confirm.Token{})
		require.NoError(t, o.Err)
		require.NotNil(t, o.Request)
		assert.Equal(t, c.Now().Add(deployments.TokenTTL), o.Request.ExpiresAt)
		return o.Request.Token
	}
	late, good := offer(), offer()
	c.Advance(10 * time.Minute)
	require.ErrorIs(t, call("deploy_apply", `{"yes":true}`, late).Err, confirm.ErrExpired)
	require.ErrorIs(t, call("deploy_apply", `{"yes":true}`, late).Err, confirm.ErrExpired)
	require.ErrorIs(t, call("deploy_apply", `{}`, late).Err, deployment.ErrYes)
	assert.NoFileExists(t, filepath.Join(dir, "project/AGENTS.md"))
	c.Advance(-time.Nanosecond)
	require.NoError(t, call("deploy_apply", `{"yes":true}`, good).Err)
	assert.FileExists(t, filepath.Join(dir, "project/AGENTS.md"))
}
