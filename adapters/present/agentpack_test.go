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
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// answer returns an outcome of one of the deployment tools.
func answer(name tool.Name, change func(*tool.Outcome)) tool.Outcome {
	o := tool.Outcome{Spec: tool.Spec{Name: name, Contract: present.Agentpack}, Version: "1.2.3", Args: json.RawMessage(`{}`)}
	change(&o)
	return o
}

func failing(name tool.Name, err *fault.Error) tool.Outcome {
	return answer(name, func(o *tool.Outcome) { o.Err = err })
}

func TestEveryOutcomeOfTheAgentpackContract(t *testing.T) {
	report := json.RawMessage(`{"data":{"applied":false,"changes":[],"profile":"default","targets":["codex"]},"warnings":["mind the gap"]}`)
	issued := &tool.ApprovalRequest{ID: "cf_aaaaaaaaaa", Token: confirm.NewToken("3f0c8b1e-token"), Tool: "deploy_apply", Strength: policy.Preview, Prompt: "deploy it",
		PlanHash: canon.SumBytes("t", nil), ExpiresAt: time.Date(2026, 3, 1, 9, 5, 0, 500_000_000, time.UTC)}
	named, token, person := *issued, *issued, *issued
	named.Names, token.Pending = true, true
	person.Token, person.Pending = confirm.Token{}, true
	changed := app.PlanChange{Current: canon.SumBytes("t", []byte("now")), Confirmed: canon.SumBytes("t", []byte("then"))}
	for name, o := range map[string]tool.Outcome{
		"success":        answer("plan", func(o *tool.Outcome) { o.Value = report }),
		"offer":          answer("deploy", func(o *tool.Outcome) { o.Value, o.Request = report, issued }),
		"offer_human":    answer("deploy", func(o *tool.Outcome) { o.Value, o.Request = report, &named }),
		"apply":          answer("deploy_apply", func(o *tool.Outcome) { o.Value = report }),
		"dry_run":        answer("rollback", func(o *tool.Outcome) { o.Value, o.DryRun = report, true }),
		"explain_diff":   answer("explain", func(o *tool.Outcome) { o.Value, o.Args = report, json.RawMessage(`{"kind":"diff"}`) }),
		"explain_status": answer("explain", func(o *tool.Outcome) { o.Value, o.Args = report, json.RawMessage(`{"kind":"status"}`) }),
		"fix":            answer("agents_doctor_fix", func(o *tool.Outcome) { o.Value = report }),
		"nested":         failing("agents_overlay_edit", deployment.ErrConfigMissing.WithDetails(deployment.FieldDetails("path", "/r/agentpack.yaml"))),
		"yes":            failing("deploy_apply", deployment.ErrYes),
		"token":          failing("deploy_apply", app.ErrRequired),
		"expired":        failing("deploy_apply", confirm.ErrExpired),
		"mismatch":       failing("deploy_apply", confirm.ErrMismatch.WithDetails(changed)),
		"arguments":      failing("plan", tool.ErrArguments),
		"own_reason":     failing("plan", deployment.ErrConfig.WithDetails(deployment.ReasonDetails("profile_not_found", "fix_config").Add("profile", "work"))),
		"warned":         failing("plan", deployment.ErrDesired.WithDetails(deployment.Details{"warnings": []string{"seen before"}, "path": "/x"})),
		"unexpected":     failing("plan", fault.ErrInternal),
		"denied":         failing("rollback", app.ErrMode),
		"explained": answer("rollback", func(o *tool.Outcome) {
			o.Err, o.Explained, o.Value = app.ErrMode, true, report
		}),
		"waiting_token": answer("deploy_apply", func(o *tool.Outcome) { o.Err, o.Request = app.ErrRequired, &token }),
		"waiting":       answer("rollback", func(o *tool.Outcome) { o.Err, o.Request = app.ErrRequired, &person }),
		"nothing":       answer("plan", func(*tool.Outcome) {}),
	} {
		t.Run(name, func(t *testing.T) {
			d := present.For(present.Agentpack)(o)
			golden.JSON(t, "agentpack/"+name, map[string]any{"object": d.Object, "body": d.Body, "fail": d.Fail})
			assert.JSONEq(t, string(d.Object), d.Text, "text and object say the same")
			assert.True(t, strings.HasPrefix(d.Text, "{\n  \"schema_version\": 1,\n  \"ok\": "), "laid out, in the contract's order")
			assert.Equal(t, o.Err != nil, d.Fail)
		})
	}
}

// TestEveryCodeOfTheContractIsGiven: each code of the contract's table comes out of exactly the fault that stands for it, with a reason
// and next actions.
func TestEveryCodeOfTheContractIsGiven(t *testing.T) {
	var codes []string
	for _, err := range []*fault.Error{deployment.ErrYes, app.ErrRequired, confirm.ErrExpired, confirm.ErrMismatch, deployment.ErrAdopt, deployment.ErrTTY,
		deployment.ErrImportConflict, deployment.ErrConfigMissing, deployment.ErrConfig, deployment.ErrConfigVersion, deployment.ErrLockMissing, deployment.ErrLock,
		deployment.ErrLockVersion, deployment.ErrTarget, deployment.ErrDesired, deployment.ErrOverlayMissing, deployment.ErrBaselineMissing, deployment.ErrBaseline,
		deployment.ErrRebaseConflict, deployment.ErrPatch, deployment.ErrGitRepo, deployment.ErrGitDirty, deployment.ErrGitDetached, deployment.ErrGitRemote,
		deployment.ErrGitMissing, deployment.ErrPolicyViolations, deployment.ErrPolicyMissing, deployment.ErrPolicyConfig, deployment.ErrPolicyVersion,
		deployment.ErrPermission, deployment.ErrPath, deployment.ErrPathLong} {
		code, details := codeOf(t, failing("deploy_apply", err))
		assert.NotEmpty(t, details["reason_code"], code)
		assert.NotEmpty(t, details["next_actions"], code)
		codes = append(codes, code)
	}
	slices.Sort(codes)
	assert.Len(t, slices.Compact(slices.Clone(codes)), len(codes), "one fault a code")
	golden.Text(t, "agentpack/codes", strings.Join(codes, "\n")+"\n")
}

func codeOf(t *testing.T, o tool.Outcome) (string, map[string]any) {
	t.Helper()
	var e struct {
		Data   map[string]any `json:"data"`
		Errors []struct {
			Code    string         `json:"code"`
			Details map[string]any `json:"details"`
		} `json:"errors"`
	}
	require.NoError(t, json.Unmarshal(present.For(present.Agentpack)(o).Object, &e))
	require.Len(t, e.Errors, 1)
	assert.Empty(t, e.Data, "a failure has no data")
	return e.Errors[0].Code, e.Errors[0].Details
}

// TestNoDeploymentFaultIsUnexpected: every fault of the capability has a code of its own in the contract's form.
func TestNoDeploymentFaultIsUnexpected(t *testing.T) {
	source, err := os.ReadFile("../../domain/deployment/faults.go")
	require.NoError(t, err)
	for _, line := range strings.Split(string(source), "\n") {
		_, rest, ok := strings.Cut(line, `"deployment_`)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, `"`)
		if name == "sum_invalid" {
			continue // a damaged document is reported as that document
		}
		code, _ := codeOf(t, failing("plan", fault.New(fault.Invalid, fault.Code("deployment_"+name), "m")))
		assert.NotEqual(t, "E_UNEXPECTED", code, name)
	}
}
