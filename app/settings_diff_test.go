package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// TestAutoApproveIsAskedAboutWhenItIsOpen: a tool may join the list while the list is off, which opens nothing; switching it on names all that are on it.
func TestAutoApproveIsAskedAboutWhenItIsOpen(t *testing.T) {
	with := func(on bool, tools ...string) ports.Settings {
		return ports.Settings{Auto: policy.AutoApprove{Enabled: on, Tools: tools}}
	}
	opens := func(had, next ports.Settings) []string {
		return app.LoosenedSettings(had, next, policy.ExecuteWithConfirm)
	}
	assert.Empty(t, opens(with(false), with(false, "run_script")))
	const runs = ": runs without asking, unless its plan is of high risk"
	assert.Equal(t, []string{"deploy_apply" + runs, "run_script" + runs}, opens(with(false, "deploy_apply", "run_script"), with(true, "deploy_apply", "run_script")))
	assert.Equal(t, []string{"run_script" + runs}, opens(with(true, "deploy_apply"), with(true, "deploy_apply", "run_script")))
	assert.Empty(t, opens(with(true, "deploy_apply", "run_script"), with(false, "deploy_apply", "run_script")))
	assert.Empty(t, opens(with(true, "deploy_apply", "run_script"), with(true, "deploy_apply")))
}

// TestNothingOfAChangeIsSaidTwice: what a change opens is one line, and what differs besides is another; a list that also lost something is one of both.
func TestNothingOfAChangeIsSaidTwice(t *testing.T) {
	had := ports.Settings{Level: policy.ExecuteWithConfirm, Tools: map[string]policy.Setting{"deploy": policy.Allowed, "run_script": policy.Blocked},
		Auto: policy.AutoApprove{Enabled: true, Tools: []string{"deploy_apply"}}, Forms: []string{"codex"}}
	next := ports.Settings{Level: policy.FullAccess, Tools: map[string]policy.Setting{"deploy": policy.AlwaysConfirm, "run_script": policy.Allowed},
		Auto: policy.AutoApprove{Enabled: true, Tools: []string{"run_workflow"}}, Forms: []string{"codex", "cursor"}}
	assert.Equal(t, []string{"permission level full_access instead of execute_with_confirm", "run_script: runs without asking instead of blocked",
		"run_workflow: runs without asking, unless its plan is of high risk",
		"the form of the host entry cursor approves plans below high risk; any process of this user can start that entry and answer its form itself"},
		app.LoosenedSettings(had, next, policy.ReadOnly))
	assert.Equal(t, []string{"permission level full_access", "run_script: allowed", "run_workflow", "the form of cursor"}, app.LoosenedNames(had, next, policy.ReadOnly))
	assert.Equal(t, []string{"tool deploy: always asks, was runs without asking", "auto-approved: run_workflow, was deploy_apply"}, app.TightenedSettings(had, next, policy.ReadOnly))
	assert.Len(t, app.ChangedSettings(had, next), 5)
	assert.Empty(t, app.LoosenedSettings(next, next, policy.ReadOnly))
	assert.Empty(t, app.ChangedSettings(next, next))
}
