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
