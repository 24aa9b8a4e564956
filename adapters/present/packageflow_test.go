package present_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// flow returns an outcome of one of the project tools.
func flow(err *fault.Error, change ...func(*tool.Outcome)) tool.Outcome {
	o := tool.Outcome{CallID: "call_7f", Spec: tool.Spec{Name: "run_npm_script", Description: "Run a script.", Contract: present.Packageflow}, Elapsed: 150*time.Millisecond + 7*time.Microsecond}
	if err != nil {
		o.Err = err
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

func valued(value string, change ...func(*tool.Outcome)) tool.Outcome {
	return flow(nil, append(change, func(o *tool.Outcome) { o.Value = json.RawMessage(value) })...)
}

func flows() map[string]tool.Outcome {
	pending := &tool.ApprovalRequest{ID: "cf_aaaaaaaaaa", Token: confirm.NewToken("3f0c8b1e-token"), Tool: "run_npm_script", Strength: policy.Simple, Risk: "medium",
		Args:   json.RawMessage(`{"scriptName":"build","args":["--token","[REDACTED:cli_flag]"]}`),
		Prompt: "run build in /w/shop", PlanHash: canon.SumBytes("t", nil), ExpiresAt: time.Date(2026, 3, 1, 9, 5, 0, 500_000_000, time.UTC),
		Plan: json.RawMessage(`{"cwd":"/w/shop","context":{"command":"vite build","argv":["pnpm","run","build"]}}`)}
	person, token, bare := *pending, *pending, *pending
	person.Token, person.Pending, token.Pending = confirm.Token{}, true, true
	bare.Risk = ""
	bare.Plan, bare.Strength, bare.Target = json.RawMessage(`{"name":"ship","context":"not an object"}`), policy.Typed, "ship"
	asking := func(i *tool.ApprovalRequest) func(*tool.Outcome) { return func(o *tool.Outcome) { o.Request = i } }
	partial := map[string]any{"executionId": "ex_1", "stdout": "compiling…\n", "stderr": "", "exitCode": nil}
	return map[string]tool.Outcome{
		"success":   valued(`{"projects":[{"name":"a<b"}],"total":1}`, func(o *tool.Outcome) { o.Redactions = 2 }),
		"truncated": valued(`{"truncated":true,"bytes":300000,"head":"{\"diff\":\""}`, func(o *tool.Outcome) { o.Truncated = true }),
		"cut_short": valued(`{"stdout":"…","truncated":true}`),
		"whole":     valued(`{"truncated":false,"inner":{"truncated":true},"text":"\"truncated\":true"}`),
		"dry_run":   valued(`{"name":"ship","context":{}}`, func(o *tool.Outcome) { o.DryRun = true }),
		"warned":    valued(`{}`, func(o *tool.Outcome) { o.Warnings = []string{"not recorded"} }),
		"nothing":   valued(``),
		"text":      flow(nil, func(o *tool.Outcome) { o.Text = "# Title\n" }),
		"list":      valued(`[1]`),
		"denied":    flow(app.ErrPolicy),
		"explained": flow(app.ErrMode, func(o *tool.Outcome) {
			o.Explained, o.Value = true, json.RawMessage(`{"name":"ship"}`)
		}),
		"pending":       flow(app.ErrRequired, asking(pending)),
		"pending_by":    flow(app.ErrRequired, asking(&person)),
		"pending_token": flow(app.ErrRequired, asking(&token)),
		"typed":         flow(app.ErrRequired, asking(&bare)),
		"expired":       flow(confirm.ErrExpired),
		"refused":       flow(confirm.ErrDenied),
		"conflict":      flow(project.ErrConflict.WithDetails(map[string]any{"expected": 3, "actual": 4, "differences": []string{"steps"}})),
		"stale": flow(confirm.ErrMismatch.WithDetails(app.PlanChange{Current: canon.SumBytes("t", []byte("now")), Confirmed: canon.SumBytes("t", []byte("then")),
			Differences: confirm.Differences(json.RawMessage(`{"context":{"command":"vite build"}}`), json.RawMessage(`{"context":{"command":"curl evil"}}`))})),
		"not_found":   flow(project.ErrNotFound),
		"timeout":     flow(project.ErrExecutionTimeout.WithDetails(partial)),
		"failed":      flow(project.ErrExecutionFailed.WithDetails(map[string]any{"hint": "use runInBackground: true", "stderr": "boom"})),
		"rate":        flow(fault.New(fault.Unavailable, "rate_limited", "too many calls").WithDetails(map[string]any{"retry_after_ms": 2000})),
		"limit":       flow(app.ErrLimit),
		"odd_details": flow(project.ErrArgument.WithDetails([]string{"a", "b"})),
		"internal":    flow(fault.ErrInternal),
	}
}

// TestEveryOutcomeOfThePackageflowContract keeps every face of every outcome, and what holds for all of them (packageflow contract §2.3).
func TestEveryOutcomeOfThePackageflowContract(t *testing.T) {
	for name, o := range flows() {
		t.Run(name, func(t *testing.T) {
			d := present.For(present.Packageflow)(o)
			golden.JSON(t, "packageflow/"+name, map[string]any{"text": d.Text, "object": d.Object, "body": d.Body, "meta": d.Meta, "fail": d.Fail})
			waits := o.Request != nil && o.Request.Pending // over MCP no error, so that the model repeats the call (contract §5.2)
			assert.Equal(t, o.Err != nil && !waits, d.Fail)
			if d.Object != nil {
				assert.JSONEq(t, d.Text, string(d.Object), "text and object say the same")
				assert.True(t, strings.HasPrefix(string(d.Object), "{"), "structured content is an object")
			}
			var fields map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(d.Body, &fields))
			assert.Len(t, fields, 4, "the seed's envelope has four fields")
			var e present.Envelope
			require.NoError(t, json.Unmarshal(d.Body, &e))
			assert.Equal(t, o.Err == nil, e.Success)
			if o.Err != nil {
				assert.Empty(t, e.Output)
				assert.Equal(t, fault.From(o.Err).Message, *e.Error)
				assert.Nil(t, e.DurationMS)
				assert.Equal(t, fault.From(o.Err).Kind, d.Kind)
			} else {
				assert.Equal(t, d.Text, e.Output)
				assert.Nil(t, e.Error)
				assert.EqualValues(t, 150, *e.DurationMS)
			}
		})
	}
}

func TestOtherContractsHaveNoMeta(t *testing.T) {
	for _, c := range []tool.Contract{present.Control, present.ContextPack, present.Agentpack} {
		for name, o := range flows() {
			assert.Nil(t, present.For(c)(o).Meta, "%s of %s", name, c)
		}
	}
}

// contractCodes returns the codes of packageflow contract §2.3, the original's seven first.
func contractCodes() []string {
	return strings.Fields(`PROJECT_NOT_FOUND WORKTREE_NOT_FOUND WORKFLOW_NOT_FOUND PERMISSION_DENIED USER_CANCELLED EXECUTION_TIMEOUT EXECUTION_FAILED
		INVALID_ARGUMENT UNKNOWN_TOOL SERVER_DISABLED RATE_LIMITED PATH_NOT_ALLOWED NOT_A_GIT_REPO SCRIPT_NOT_FOUND ACTION_NOT_FOUND ACTION_DISABLED
		EXECUTION_NOT_FOUND PROCESS_NOT_FOUND PROCESS_LIMIT COMMAND_BLOCKED URL_BLOCKED CONFIRMATION_PENDING CONFIRMATION_EXPIRED CONFLICT INTERNAL`)
}

// catalogue returns every error code of the module with its kind.
func catalogue(t *testing.T) map[fault.Code]fault.Kind {
	t.Helper()
	text, err := os.ReadFile("../../internal/testkit/archtest/testdata/codes.golden")
	require.NoError(t, err)
	kinds := map[string]fault.Kind{}
	for k := fault.Internal; k <= fault.Canceled; k++ {
		kinds[strings.ReplaceAll(k.String(), "_", "")] = k
	}
	codes := map[fault.Code]fault.Kind{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && !strings.HasPrefix(line, "#") {
			kind, ok := kinds[strings.ToLower(fields[1])]
			require.True(t, ok, "kind %s of %s", fields[1], fields[0])
			codes[fault.Code(fields[0])] = kind
		}
	}
	require.Greater(t, len(codes), 50, "the catalogue was read")
	return codes
}

// TestEveryFaultHasACodeOfTheContract feeds the whole catalogue through the table: nothing falls out of the contract's vocabulary, and
// a fault whose own code is one of the contract's keeps it.
func TestEveryFaultHasACodeOfTheContract(t *testing.T) {
	known := contractCodes()
	for code, kind := range catalogue(t) {
		p := present.ProblemOf(flow(fault.New(kind, code, "the message")))
		assert.Contains(t, known, p.Code, code)
		assert.Equal(t, "the message", p.Message)
		if own := strings.ToUpper(string(code)); slices.Contains(known, own) {
			assert.Equal(t, own, p.Code)
		}
	}
}

// TestPackageflowCodes says by hand which code stands for what.
func TestPackageflowCodes(t *testing.T) {
	for _, row := range []struct {
		err  *fault.Error
		want string
	}{
		{project.ErrNotFound, "PROJECT_NOT_FOUND"}, {project.ErrWorktreeNotFound, "WORKTREE_NOT_FOUND"}, {project.ErrWorkflowNotFound, "WORKFLOW_NOT_FOUND"},
		{project.ErrScriptNotFound, "SCRIPT_NOT_FOUND"}, {project.ErrActionNotFound, "ACTION_NOT_FOUND"}, {project.ErrExecutionNotFound, "EXECUTION_NOT_FOUND"},
		{project.ErrTemplateNotFound, "INVALID_ARGUMENT"}, {project.ErrActionDisabled, "ACTION_DISABLED"}, {project.ErrPath, "PATH_NOT_ALLOWED"},
		{project.ErrNotRepository, "NOT_A_GIT_REPO"}, {project.ErrCommandBlocked, "COMMAND_BLOCKED"}, {project.ErrURLBlocked, "URL_BLOCKED"},
		{project.ErrExecutionFailed, "EXECUTION_FAILED"}, {project.ErrExecutionTimeout, "EXECUTION_TIMEOUT"}, {project.ErrCancelled, "USER_CANCELLED"},
		{project.ErrArgument, "INVALID_ARGUMENT"}, {project.ErrConflict, "CONFLICT"}, {project.ErrRegistration, "INVALID_ARGUMENT"},
		{project.ErrManifest, "INVALID_ARGUMENT"}, {fault.New(fault.NotFound, "process_not_found", "m"), "PROCESS_NOT_FOUND"},
		{fault.New(fault.State, "process_limit", "m"), "PROCESS_LIMIT"}, {fault.New(fault.Unavailable, "rate_limited", "m"), "RATE_LIMITED"},
		{tool.ErrUnknown, "UNKNOWN_TOOL"}, {tool.ErrArguments, "INVALID_ARGUMENT"}, {tool.ErrToken, "INVALID_ARGUMENT"},
		{app.ErrPolicy, "PERMISSION_DENIED"}, {app.ErrMode, "PERMISSION_DENIED"}, {app.ErrRequired, "CONFIRMATION_PENDING"}, {app.ErrPlanStale, "CONFLICT"},
		{confirm.ErrPending, "CONFIRMATION_PENDING"}, {confirm.ErrExpired, "CONFIRMATION_EXPIRED"}, {confirm.ErrUnknown, "CONFIRMATION_EXPIRED"},
		{confirm.ErrBurnt, "CONFIRMATION_EXPIRED"}, {confirm.ErrCanceled, "CONFIRMATION_EXPIRED"}, {confirm.ErrUsed, "CONFLICT"},
		{confirm.ErrMismatch, "CONFLICT"}, {confirm.ErrTyped, "INVALID_ARGUMENT"}, {confirm.ErrDenied, "USER_CANCELLED"},
		{fault.ErrTimeout, "EXECUTION_TIMEOUT"}, {fault.ErrCanceled, "USER_CANCELLED"}, {fault.ErrUnavailable, "INTERNAL"}, {fault.ErrInternal, "INTERNAL"},
	} {
		assert.Equal(t, row.want, present.ProblemOf(flow(row.err)).Code, row.err.Code)
	}
}
