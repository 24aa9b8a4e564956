package tasks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMakefilesHideNothing: what make runs for a target is in its task, or in those that it needs, or is reported as computed.
func TestMakefilesHideNothing(t *testing.T) {
	t.Parallel()
	for name, makefile := range map[string]string{
		"a condition in a recipe":       "a:\n\techo ok\nifeq (1,1)\n\tevil\nendif\n",
		"a comment that is continued":   "a:\n\t@# nothing \\\n\tevil\n",
		"signs of a comment in a line":  "a: ; echo '##'; evil\n",
		"a variable called define":      "a:\n\techo ok\ndefine = x\na:\n\tevil\n",
		"another prefix of recipes":     ".RECIPEPREFIX = >\na:\n> evil\n",
		"what is computed when read":    "_ := $(shell evil)\na:\n\techo ok\n",
		"what is assigned from a shell": "X != evil\na:\n\techo ok\n",
		"what a condition asks":         "ifeq ($(shell evil),)\nendif\na:\n\techo ok\n",
		"another shell":                 "SHELL = ./evil\na:\n\techo ok\n",
		"flags of make":                 "MAKEFLAGS += --eval=evil\na:\n\techo ok\n",
		"a makefile that is remade":     "a:\n\techo ok\nMakefile: b\n\tevil\nb:\n",
	} {
		l := list(map[string]string{"Makefile": makefile})
		task, err := l.Find("make:a")
		require.NoError(t, err, name)
		said := task.Shell
		for _, need := range l.Needed(task) {
			said += "\n" + need.Shell
		}
		assert.Contains(t, said, "evil", name)
	}
	for name, makefile := range map[string]string{
		"two values":               "ifdef X\nC = echo ok\nelse\nC = evil\nendif\nifdef X\nC = echo ok\nendif\na:\n\t$(C)\n",
		"a value of the target":    "C = echo ok\na: C = evil\na:\n\t$(C)\n",
		"a value of several lines": "C = echo ok\noverride define C\nevil\nendef\na:\n\t$(C)\n",
	} {
		task, err := list(map[string]string{"Makefile": makefile}).Find("make:a")
		require.NoError(t, err, name)
		assert.Equal(t, "${COMPUTED}", strings.TrimSpace(task.Shell), name)
	}
}

// TestTheTaskThatRunsIsTheOneShown: if files have several with one name, the one that runs is shown.
func TestTheTaskThatRunsIsTheOneShown(t *testing.T) {
	t.Parallel()
	l := list(map[string]string{"justfile": "set allow-duplicate-recipes\na:\n  echo ok\na:\n  evil\n", "mise.toml": `{"tasks":{"m":"echo ok"}}`, "mise.local.toml": `{"tasks":{"m":"evil"}}`})
	for _, name := range []string{"just:a", "mise:m"} {
		task, err := l.Find(name)
		require.NoError(t, err, name)
		assert.Equal(t, "evil", task.Command, name)
	}
}
