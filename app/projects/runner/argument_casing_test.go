package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

type input struct {
	ProjectPath string   `json:"project_path,omitempty"`
	TimeoutMS   int64    `json:"timeoutMs,omitempty"`
	Args        []string `json:"args,omitempty"`
}

// entry returns a tool that answers with its arguments.
func entry() tool.Entry {
	return runner.EitherCasing(bind.Query(tool.Ref[input, input]{Name: "echo"}, runner.ReadSpec(runner.CategoryProjects, "Echo", "Echo.", string(bind.SchemaOf[input]())),
		func(_ context.Context, _ tool.Scope, in input) (input, error) { return in, nil }))
}

func echo(t *testing.T, args string) (string, error) {
	t.Helper()
	i, err := entry().Handler.Decode(json.RawMessage(args))
	if err != nil {
		return "", err
	}
	value, err := i.Commit(t.Context(), tool.Scope{}, nil)
	require.NoError(t, err)
	doc, err := tool.Encode(value)
	require.NoError(t, err)
	return string(doc), nil
}

func TestEitherCasing(t *testing.T) {
	for args, want := range map[string]string{
		`{"project_path":"a","timeoutMs":1}`:       `{"project_path":"a","timeoutMs":1}`,
		`{"projectPath":"a","timeout_ms":1}`:       `{"project_path":"a","timeoutMs":1}`,
		`{"projectPath":"a","project_path":"a"}`:   `{"project_path":"a"}`,
		`{"args":["x"],"timeout_ms": 2 }`:          `{"timeoutMs":2,"args":["x"]}`,
		`{"projectPath":["a"],"project_path":"a"}`: "",
		`{"projectPath":"a","project_path":"b"}`:   "",
		`{"project_Path":"a"}`:                     "",
		`{"ProjectPath":"a"}`:                      "",
		`{"project__path":"a"}`:                    "",
		`{"PROJECT_PATH":"a"}`:                     "",
		`{"timeoutMS":1}`:                          "",
		`{"Args":["x"]}`:                           "",
		`[]`:                                       "",
		`null`:                                     "",
		`{"projectPath":null}`:                     "",
	} {
		got, err := echo(t, args)
		if want == "" {
			require.Error(t, err, args)
			assert.Equal(t, fault.Invalid, fault.From(err).Kind, args)
			continue
		}
		require.NoError(t, err, args)
		assert.JSONEq(t, want, got, args)
	}
	_, err := echo(t, `{"projectPath":"a","project_path":"b"}`)
	assert.ErrorIs(t, err, project.ErrArgument)
}

func TestMerge(t *testing.T) {
	fields := map[string]json.RawMessage{"b": json.RawMessage(` [1, 2]`), "c": json.RawMessage(`[1,2]`)}
	require.NoError(t, runner.MergeAliases(fields, "a", "b", "c", "d"))
	assert.Len(t, fields, 1)
	assert.JSONEq(t, `[1,2]`, string(fields["a"]))
	assert.ErrorIs(t, runner.MergeAliases(map[string]json.RawMessage{"a": json.RawMessage(`1`), "b": json.RawMessage(`2`)}, "a", "b"), project.ErrArgument)
	require.NoError(t, runner.MergeAliases(nil, "a", "b"))
}

// TestPlan: the hash covers everything that is shown, and nothing else.
func TestPlan(t *testing.T) {
	plan := func(name tool.Name, summary string, context any, a policy.Assessment) runner.Plan {
		p, err := runner.NewPlan(name, summary, context, a)
		require.NoError(t, err)
		return p
	}
	first := plan("a", "b", map[string]any{"c": 1}, policy.Assessment{})
	assert.Equal(t, first.Hash(), plan("a", "b", map[string]any{"c": 1}, policy.Assessment{Risk: policy.RiskHigh}).Hash())
	for _, other := range []runner.Plan{plan("x", "b", map[string]any{"c": 1}, policy.Assessment{}), plan("a", "x", map[string]any{"c": 1}, policy.Assessment{}), plan("a", "b", map[string]any{"c": 2}, policy.Assessment{})} {
		assert.NotEqual(t, first.Hash(), other.Hash())
	}
	_, err := runner.NewPlan("a", "b", map[string]any{"c": func() {}}, policy.Assessment{})
	require.Error(t, err)
}

// FuzzEitherCasing: any input is accepted or rejected with a message, and sending the renamed arguments gives the same result.
func FuzzEitherCasing(f *testing.F) {
	for _, seed := range []string{`{}`, `{"projectPath":"a"}`, `{"project_path":"a","projectPath":"a"}`, `{"timeout_ms":1e3}`, `{"timeoutMs":2.0,"timeout_ms":2}`, `[1]`, `{"args":[null]}`, `{"a":1,"a":2}`, "{\"\xff\":1}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		got, err := echo(t, args)
		if err != nil {
			var known *fault.Error
			require.True(t, errors.As(err, &known), "%v", err)
			require.Equal(t, fault.Invalid, known.Kind)
			return
		}
		again, err := echo(t, got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
