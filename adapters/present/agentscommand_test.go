package present_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/present"
)

func TestCommandsAsAPersonTypesThem(t *testing.T) {
	for action, want := range map[string]string{
		"countersign agents --target codex bootstrap --yes --json": "countersign agents --target codex bootstrap",
		"countersign agents doctor --fix --yes --json":             "countersign agents doctor --fix",
		"countersign agents evolve restore":                        "countersign agents evolve restore",
		"git pull --json":                                          "git pull --json",
		"agentpack deploy --json":                                  "agentpack deploy --json",
		"":                                                         "",
	} {
		assert.Equal(t, want, present.Command(action))
	}
	assert.Equal(t, "write them with countersign agents --target codex bootstrap", present.Prose("write them with countersign agents --target codex bootstrap --yes --json"))
	assert.Equal(t, "nothing to say", present.Prose("nothing to say"))
}
