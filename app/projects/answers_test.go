package projects_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TestAnAnswerOfSeveralForms: it is written in the JSON of the form that it has, and read back as the same.
func TestAnAnswerOfSeveralForms(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	ran := projects.ScriptResult{Success: true, Script: "build", Command: "a && b <c>", Argv: []string{"npm"}}
	started := projects.StartedScript{Background: true, ProcessID: "bp_1", Initial: []string{}, Status: "running"}
	execution := project.Execution{ID: "exec-1", Kind: project.KindWebhook, Name: "deploy", Status: project.Completed, Result: json.RawMessage(`{"pid":1,"toolName":"x"}`), StartedAt: at}
	call := tool.Record{CallID: "call-1", Tool: "run_script", Args: json.RawMessage(`{}`), At: at}
	process := runner.Process{ID: "bp_1", PID: 7, ScriptName: "dev", StartedAt: at}
	rule := projects.Permission{ActionID: "act-1", Level: webhook.Deny, From: "action"}
	rules := projects.Permissions{Rules: []webhook.ActionRule{{ActionID: "act-1", Level: webhook.Deny, CreatedAt: at}}, Default: webhook.RequireConfirm}
	reads[projects.NPMScriptAnswer](t, ran, projects.NPMScriptAnswer{Result: &ran})
	reads[projects.NPMScriptAnswer](t, started, projects.NPMScriptAnswer{Started: &started})
	reads[projects.ExecutionAnswer](t, execution, projects.ExecutionAnswer{Execution: &execution})
	reads[projects.ExecutionAnswer](t, call, projects.ExecutionAnswer{Call: &call})
	reads[projects.ExecutionAnswer](t, process, projects.ExecutionAnswer{Process: &process})
	reads[projects.PermissionAnswer](t, rule, projects.PermissionAnswer{Permission: &rule})
	reads[projects.PermissionAnswer](t, rules, projects.PermissionAnswer{Permissions: &rules})
}

func reads[T any](t *testing.T, form any, answer T) {
	t.Helper()
	want, err := tool.Encode(form)
	require.NoError(t, err)
	doc, err := tool.Encode(answer)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(doc))
	var back T
	require.NoError(t, json.Unmarshal(doc, &back))
	assert.Equal(t, answer, back)
}
