package sandboxcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/sandboxcmd"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

// input is what any of the tools takes.
type input struct {
	URL   string `json:"git_url,omitempty"`
	Name  string `json:"name,omitempty"`
	Key   string `json:"user_ssh_key,omitempty"`
	Ref   string `json:"ref,omitempty"`
	Model string `json:"model,omitempty"`
	Force bool   `json:"force,omitempty"`
}

// answers are tools by name. What real tools answer only when a host refuses a key or a server hangs, these say on demand.
type answers map[tool.Name]func(input) (any, error)

// says returns a tool that always answers with this JSON.
func says(doc string) func(input) (any, error) {
	return func(input) (any, error) { return json.RawMessage(doc), nil }
}

// fails returns a tool that always refuses.
func fails(err error) func(input) (any, error) {
	return func(input) (any, error) { return nil, err }
}

// stage is a command line over such tools.
type stage struct {
	answers  answers
	template command.Core // for its functions; the rest is made
}

// open returns a core over the tools.
func (s stage) open(func(string) string) (command.Core, error) {
	var entries []tool.Entry
	for _, name := range slices.Sorted(maps.Keys(s.answers)) {
		answer := s.answers[name]
		spec := tool.Spec{Title: "T", Description: "A tool for tests.", Class: policy.ClassRead, Effects: policy.Read}
		entries = append(entries, bind.Query(tool.Ref[input, any]{Name: name}, spec, func(_ context.Context, _ tool.Scope, in input) (any, error) { return answer(in) }))
	}
	store := memstore.New()
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(),
		Limiter: memstore.Unlimited{}, Runs: store.Runs(), Owner: system.Owner{}, Log: slog.New(slog.DiscardHandler),
		Redact: sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Options{}) })}
	a, err := app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "sandboxes", Contract: present.Opencode, Mode: policy.Execute, Entries: entries})
	if err != nil {
		return command.Core{}, err
	}
	template := s.template
	template.App, template.Principal, template.Close = a, policy.Principal{ID: "local", Grants: policy.All}, func() error { return a.Close(context.Background()) }
	return template, nil
}

// said is what a command wrote, and how it ended.
type said struct {
	out, problems string
	err           error
}

// run runs a command as the user types it, without "countersign sandbox". --json is understood.
func (s stage) run(t *testing.T, words ...string) said {
	t.Helper()
	var out, problems bytes.Buffer
	err := s.runOn(t, context.Background(), &command.Terminal{In: strings.NewReader(""), Out: &out, Err: &problems}, words)
	return said{out.String(), problems.String(), err}
}

// runOn is run on streams of one's own, until ctx ends.
func (s stage) runOn(t *testing.T, ctx context.Context, streams *command.Terminal, words []string) error {
	t.Helper()
	sh := &command.Shell{Terminal: streams, Open: s.open, Client: "test"}
	words = slices.DeleteFunc(words, func(w string) bool {
		sh.JSON = sh.JSON || w == "--json"
		return w == "--json"
	})
	failed := sh.Documents()
	root := sandboxcmd.Command(sh)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(words)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	err := root.ExecuteContext(ctx)
	var exit command.Exit
	if err != nil && !errors.As(err, &exit) {
		failed(fault.From(err))
	}
	require.NoError(t, sh.Close())
	return err
}
