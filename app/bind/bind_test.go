package bind_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

type input struct {
	Path  string   `json:"path" jsonschema:"minLength=1"`
	Mode  string   `json:"mode,omitempty" jsonschema:"enum=read,enum=write"`
	Count int64    `json:"count,omitempty" jsonschema:"minimum=0"`
	Tags  []string `json:"tags,omitempty"`
}

var errTags = fault.New(fault.Invalid, "test_tags", "too many tags")

func (in input) Validate() error {
	if len(in.Tags) > 2 {
		return errTags
	}
	return nil
}

func (in input) Resources() []string { return []string{in.Path} }

var spec = tool.Spec{Title: "T", Description: "D.", Class: policy.ClassRead, Effects: policy.Read}

func query() tool.Entry {
	return bind.Query(tool.Ref[input, int64]{Name: "q"}, spec, func(_ context.Context, _ tool.Scope, in input) (int64, error) { return in.Count, nil })
}

func TestTheSchemaIsAFlatClosedObject(t *testing.T) {
	assert.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
		"path":{"type":"string","minLength":1},"mode":{"type":"string","enum":["read","write"]},
		"count":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"type":"string"}}}}`, string(query().Spec.Input))
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	_, err := query().Handler.Decode(json.RawMessage(`{"mode":"delete","count":-1,"pth":"x","tags":[1]}`))
	require.ErrorIs(t, err, tool.ErrArguments)
	problems := fault.From(err).Details.(bind.Problems).Problems
	fields := make([]string, 0, len(problems))
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	assert.Equal(t, []string{"path", "count", "mode", "pth", "tags"}, fields)
	assert.Equal(t, "'path' is required; 'count' must be an integer of at least 0; 'mode' must be one of read, write; "+
		"'pth' is not supported; did you mean 'path'?; 'tags' must be an array of strings", err.Error())
}

func TestIntegersAreExact(t *testing.T) {
	for args, want := range map[string]int64{
		`{"path":"a","count":9007199254740993}`: 9007199254740993,
		`{"path":"a","count":2.0}`:              2,
		`{"path":"a.e","count":3}`:              3,
	} {
		inv, err := query().Handler.Decode(json.RawMessage(args))
		require.NoError(t, err, args)
		got, err := inv.Commit(t.Context(), tool.Scope{}, nil)
		require.NoError(t, err)
		assert.Equal(t, want, got, args)
		assert.NotEmpty(t, inv.Claims().Resources)
	}
	_, err := query().Handler.Decode(json.RawMessage(`{"path":"a","count":2.5}`))
	require.ErrorIs(t, err, tool.ErrArguments)
}

func TestTheTypeHasTheLastWord(t *testing.T) {
	_, err := query().Handler.Decode(json.RawMessage(`{"path":"a","tags":["1","2","3"]}`))
	require.ErrorIs(t, err, errTags)
}

func TestOnlyObjectsAreArguments(t *testing.T) {
	for _, args := range []string{``, `null`, `[]`, `1`, `"x"`, `{`, `{"path":"a"} {}`} {
		_, err := query().Handler.Decode(json.RawMessage(args))
		require.ErrorIs(t, err, tool.ErrArguments, args)
	}
}

func TestConfirmableToolsPublishTheirToken(t *testing.T) {
	s := spec
	s.Class, s.Effects, s.Confirm = policy.ClassWrite, policy.Write, policy.Simple
	e := bind.Direct(tool.Ref[input, int64]{Name: "d"}, s, func(context.Context, tool.Scope, input) (int64, error) { return 1, nil })
	assert.Contains(t, string(e.Spec.Input), `"confirm_token"`)
	assert.True(t, json.Valid(e.Spec.Input))
	assert.NotContains(t, string(query().Spec.Input), `"confirm_token"`)

	one, err := e.Handler.Decode(json.RawMessage(`{"path":"a","count":1}`))
	require.NoError(t, err)
	same, err := e.Handler.Decode(json.RawMessage(` {"count":1, "path":"a"}`))
	require.NoError(t, err)
	other, err := e.Handler.Decode(json.RawMessage(`{"path":"a","count":2}`))
	require.NoError(t, err)
	hash := func(i tool.Invocation) string {
		p, err := i.Prepare(t.Context(), tool.Scope{})
		require.NoError(t, err)
		return p.Hash().String()
	}
	assert.Equal(t, hash(one), hash(same))
	assert.NotEqual(t, hash(one), hash(other))
}

func TestMisdeclaredToolsPanicAtWiring(t *testing.T) {
	s := spec
	s.Effects = policy.Write
	assert.Panics(t, func() {
		bind.Query(tool.Ref[input, int64]{Name: "q"}, s, func(context.Context, tool.Scope, input) (int64, error) { return 0, nil })
	})
}

// loose is an input of a contract with its own words, which may ask for the plan alone.
type loose struct {
	Name   string   `json:"name" jsonschema_description:"whose it is"`
	Kinds  []string `json:"kinds,omitempty" jsonschema:"enum=a,enum=b"`
	Count  int      `json:"count,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
}

var errLoose = fault.New(fault.Invalid, "test_loose", "refused")

func (in loose) OnlyPlans() bool { return in.DryRun }

// Refused lets a missing name pass where the count is known.
func (in loose) Refused(of tool.Name, problems []bind.Problem) error {
	problems = slices.DeleteFunc(problems, func(p bind.Problem) bool { return p.Kind == bind.ProblemMissing && in.Count == 7 })
	if len(problems) == 0 {
		return nil
	}
	return errLoose.WithMessage("%s", of).WithDetails(bind.Problems{Problems: problems})
}

func TestAContractMayWordWhatIsWrong(t *testing.T) {
	s := spec
	s.Class, s.Effects, s.Input = policy.ClassWrite, policy.Write|policy.Network, json.RawMessage(`{"type":"object","required":["count"]}`)
	e := bind.Direct(tool.Ref[loose, int]{Name: "l"}, s, func(_ context.Context, _ tool.Scope, in loose) (int, error) { return in.Count, nil })
	assert.JSONEq(t, `{"type":"object","required":["count"]}`, string(e.Spec.Input), "it is published as it is given")
	_, err := e.Handler.Decode(json.RawMessage(`{"kinds":["a","c"],"count":"1","nam":2}`))
	require.ErrorIs(t, err, errLoose)
	assert.Equal(t, []bind.Problem{
		{Field: "name", Message: "'name' is required", Kind: bind.ProblemMissing, Description: "whose it is"},
		{Field: "count", Message: "'count' must be an integer", Type: "integer"},
		{Field: "kinds", Message: "'kinds' must be an array of strings", Kind: bind.ProblemChoice, Type: "array", Values: []string{"c"}, Choices: []string{"a", "b"}},
		{Field: "nam", Message: "'nam' is not supported; did you mean 'name'?", Kind: bind.ProblemUnknown, Near: "name", Known: []string{"count", "dry_run", "kinds", "name"}},
	}, fault.From(err).Details.(bind.Problems).Problems)
	for _, args := range []string{`{"name":"x"}`, `{"name":"x","count":null,"kinds":null}`, `{"count":7}`} {
		_, err := e.Handler.Decode(json.RawMessage(args))
		require.NoError(t, err, args)
	}
	for _, args := range []string{``, `{}`, `null`, `{"name":null}`, `{"name":"x","other":null}`} {
		_, err := e.Handler.Decode(json.RawMessage(args))
		require.ErrorIs(t, err, errLoose, args)
	}
	_, err = e.Handler.Decode(json.RawMessage(`[]`))
	require.ErrorIs(t, err, tool.ErrArguments)

	dry, err := e.Handler.Decode(json.RawMessage(`{"name":"x","dry_run":true}`))
	require.NoError(t, err)
	assert.Equal(t, policy.Claims{Class: policy.ClassRead, Effects: policy.Read | policy.Network}, dry.Claims())
	plan, err := dry.Prepare(t.Context(), tool.Scope{})
	require.NoError(t, err)
	shown, err := dry.Commit(t.Context(), tool.Scope{}, plan)
	require.NoError(t, err)
	assert.Equal(t, plan, shown, "a dry run answers with its plan")
}

func FuzzDecodeNeverPanics(f *testing.F) {
	e := query()
	for _, s := range []string{`{"path":"a"}`, `{"path":1e400}`, `[1]`, `{"count":-0.0,"path":"é"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		inv, err := e.Handler.Decode(args)
		if err == nil {
			_, err = inv.Prepare(t.Context(), tool.Scope{})
			require.NoError(t, err)
			return
		}
		require.NotEmpty(t, fault.From(err).Message)
	})
}
