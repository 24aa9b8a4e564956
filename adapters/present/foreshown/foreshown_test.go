package foreshown_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/present/foreshown"
)

func TestOnlyADeploymentHasDiffsElsewhere(t *testing.T) {
	name, args, ok := foreshown.Call("deploy_apply", json.RawMessage(`{"yes":true,"target":"codex","confirm_token":"x"}`))
	assert.True(t, ok)
	assert.EqualValues(t, "preview", name)
	assert.JSONEq(t, `{"target":"codex","diff":true}`, string(args))
	for tool, args := range map[string]string{"run_script": `{}`, "deploy_apply": `[]`, "": ``} {
		_, _, ok := foreshown.Call(tool, json.RawMessage(args))
		assert.False(t, ok, tool)
	}
}

func TestDiffsAreOfThatPlanOrNone(t *testing.T) {
	value := json.RawMessage(`{"data":{"diff":{"changes":[{"op":"create","path":"a"}],"files":[{"root":"/r","path":"a","unified":"+x\n"},{"root":"/r","path":"same","unified":""}]}}}`)
	assert.Equal(t, []foreshown.File{{Path: "/r/a", Unified: "+x\n"}}, foreshown.Files(json.RawMessage(`{"data":{"changes":[{"op":"create","path":"a"}]}}`), value))
	for _, plan := range []string{`{"data":{"changes":[{"op":"update","path":"a"}]}}`, `{"data":{"changes":[]}}`, `nonsense`, ``} {
		assert.Empty(t, foreshown.Files(json.RawMessage(plan), value), plan)
	}
	assert.Empty(t, foreshown.Files(json.RawMessage(`{"data":{"changes":[{"op":"create","path":"a"}]}}`), json.RawMessage(`7`)))
}
