package ecocmd_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/ecocmd"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// What agents are told to call, users read as what they type: a refusal never names a tool that has a command.
func TestRefusalsAreInWordsOfTheCommandLine(t *testing.T) {
	without := map[string]bool{"amof_get_server_status": true, "amof_get_global_telemetry": true, "amof_server_start": true, "amof_server_stop": true, "amof_server_restart": true}
	for _, row := range ecosystems.PolicyMatrix() {
		if said := ecocmd.CommandText("call " + row.Tool + " then"); !without[row.Tool] {
			assert.Regexp(t, `^call countersign eco [a-z ]+ then$`, said, row.Tool)
		}
	}
	for _, f := range []*fault.Error{ecosystem.ErrNone, ecosystem.ErrUnknown, ecosystem.ErrManifest, ecosystem.ErrNotInstalled, ecosystem.ErrTicketExists, ecosystem.ErrTrash} {
		said := fault.From(ecocmd.NewRunner(nil).Explain(f))
		assert.NotRegexp(t, `amof_|ecosystem_`, said.Message)
		assert.Regexp(t, `countersign eco `, said.Message)
		assert.Equal(t, f.Code, said.Code)
	}
	bare := ecosystem.ErrNotInstalled.WithMessage("it is not there")
	assert.IsType(t, command.Hint(""), fault.From(ecocmd.NewRunner(nil).Explain(bare)).Details, "what says no way out gets one")
	unserved := tool.ErrUnknown.WithMessage("tool %q not found here", "amof_sync_ecosystem")
	assert.Contains(t, ecocmd.NewRunner(nil).Explain(unserved).Error(), "amof_sync_ecosystem", "a tool that is not served is named as it is")
}

func TestMembersInWords(t *testing.T) {
	a := ecocmd.ParseAnswer([]byte(`{"on":true,"off":false,"n":3,"none":null,"all":["a","b"],"map":{"b":1,"a":2},"at":"2020-01-02T03:04:05Z","o":{"x":"y"},"list":[{"x":"1"},7]}`))
	for member, want := range map[string]string{"on": "yes", "off": "", "n": "3", "none": "", "all": "a, b", "map": "a=2 b=1", "at": "2020-01-02", "gone": ""} {
		assert.Equal(t, want, a.Word(member), member)
	}
	assert.Equal(t, "y", a.Object("o").Word("x"))
	assert.Empty(t, a.Object("n").Word("x"))
	assert.Len(t, a.List("list"), 1)
	assert.Nil(t, ecocmd.ParseAnswer([]byte(`[1]`)))
}
