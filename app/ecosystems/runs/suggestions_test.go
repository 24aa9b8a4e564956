package runs_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
)

// brief is actions as "id priority", in their order.
func brief(actions []runs.Action) string {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = a.ID + strings.Repeat("!", a.Priority)
	}
	return strings.Join(words, " ")
}

func TestActionsAfterALook(t *testing.T) {
	for want, n := range map[string]runs.Observations{
		"validate! describe!!!":                                       {Ecosystem: "demo", Invalid: true, Installed: true, Dirty: 1},
		"install! validate! describe!!!":                              {Ecosystem: "demo"},
		"ticket_start!!! ticket_list!!!!":                             {Ecosystem: "demo", Installed: true},
		"ticket_list!!!!":                                             {Ecosystem: "demo", Installed: true, Ticket: "T"},
		"push! ticket_list!!!!":                                       {Ecosystem: "demo", Installed: true, Ticket: "T", Unpushed: 1, Dirty: 2},
		"push!! ticket_list!!!!":                                      {Ecosystem: "demo", Installed: true, Ticket: "T", Dirty: 2},
		"sync! ticket_switch!! ticket_start!!! ticket_list!!!!":       {Ecosystem: "demo", Installed: true, Missing: 1, WrongBranch: 1},
		"sync! push! ticket_switch!! ticket_start!!! ticket_list!!!!": {Ecosystem: "demo", Installed: true, Missing: 1, WrongBranch: 1, Dirty: 1, Unpushed: 1},
	} {
		got := n.Actions()
		assert.Equal(t, want, brief(got))
		for _, a := range got {
			sound(t, a)
			assert.Equal(t, "demo", a.Args["ecosystem"])
		}
	}
	wrong := runs.Observations{Ecosystem: "demo", Installed: true, WrongBranch: 1}
	assert.Equal(t, "main", wrong.Actions()[0].Args["ticket_id"])
	wrong.Ticket = "T"
	assert.Equal(t, "T", wrong.Actions()[0].Args["ticket_id"])
}

func TestActionsAfterARelease(t *testing.T) {
	for stage, want := range map[string]any{"alpha": "beta", "beta": "rc", "rc": nil} {
		got := runs.AfterRelease("demo", stage, 3)
		assert.Equal(t, "release_promote! release_bump!!", brief(got))
		assert.Equal(t, want, got[0].Args["target"])
		assert.Equal(t, "alpha", got[1].Args["pre_release"])
	}
	assert.Equal(t, "release_log!!!", brief(runs.AfterRelease("demo", "stable", 0)))
	assert.Equal(t, "release_bump!! release_log!!!", brief(runs.AfterRelease("demo", "stable", 1)))
	assert.Equal(t, "release_log!!!", brief(runs.AfterRelease("demo", "", 0)))
	assert.Equal(t, "list_ecosystems!!!", brief(runs.AfterRemoval()))
}

// sound holds an action to the contract.
func sound(t *testing.T, a runs.Action) {
	t.Helper()
	assert.LessOrEqual(t, utf8.RuneCountInString(a.Label), 30, a.ID)
	assert.NotEmpty(t, a.Label, a.ID)
	assert.NotEmpty(t, a.Description, a.ID)
	assert.True(t, strings.HasPrefix(a.Tool, "amof_"), a.ID)
	assert.Contains(t, []string{"global", "ecosystem", "run", "release", "server"}, a.Scope, a.ID)
	assert.Contains(t, []string{"none", "simple", "preview", "type"}, a.Confirm, a.ID)
	assert.Equal(t, map[string]string{"read-only": "ask", "safe-write": "plan", "dangerous-write": "execute"}[a.Safety], a.ModeRequired, a.ID)
	assert.Equal(t, a.Safety == "dangerous-write", a.Confirm != "none", a.ID)
	assert.True(t, a.Priority >= 1 && a.Priority <= 5, a.ID)
	assert.NotNil(t, a.Args, a.ID)
}

// TestSuggest knows every id that the tools use; two actions never share a map of arguments.
func TestSuggest(t *testing.T) {
	for _, id := range []string{"list_ecosystems", "create_ecosystem", "switch_ecosystem", "scope_global", "describe", "status", "validate", "install", "sync", "push", "ticket_list",
		"ticket_start", "ticket_switch", "spin_deploy", "spin_destroy", "archive", "discard", "release_status", "release_validate", "release_log", "release_bump", "release_promote",
		"server_start"} {
		a := runs.SuggestAction(id, "demo", map[string]any{"x": 1})
		assert.Equal(t, id, a.ID)
		assert.Equal(t, 1, a.Args["x"])
		sound(t, a)
	}
	a := runs.SuggestAction("push", "demo", nil)
	a.Args["x"] = 1
	assert.Equal(t, map[string]any{"ecosystem": "demo"}, runs.SuggestAction("push", "demo", nil).Args)
	assert.Equal(t, map[string]any{}, runs.SuggestAction("list_ecosystems", "demo", nil).Args)
	assert.Equal(t, map[string]any{"ecosystem": "demo"}, runs.SuggestAction("switch_ecosystem", "demo", nil).Args)
}
