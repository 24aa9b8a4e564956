package tasks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/tasks"
)

// TestWhatStandsAroundATaskIsSaid: variables, environment, directories, shells and commands that run before it are shown, and what cannot be told is said in words.
func TestWhatStandsAroundATaskIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text, task string
		shows            []string // in what it sets, runs or needs
		open             []string
	}{
		"a shell of make":             {"Makefile", "SHELL = /bin/bash\n.SHELLFLAGS = -ec\n.ONESHELL:\nexport TOKEN = x\na:\n\techo\n", "make:a", []string{"SHELL = /bin/bash", ".SHELLFLAGS = -ec", "one shell", "export TOKEN = x"}, nil},
		"an include of make":          {"Makefile", "-include local.mk\na:\n\techo\n", "make:a", nil, []string{"make may run more than is shown: Makefile includes local.mk"}},
		"eval":                        {"Makefile", "$(eval $(call rule,x))\na:\n\techo\n", "make:a", nil, []string{"make may have other rules than are shown: Makefile uses $(eval"}},
		"eval in a recipe":            {"Makefile", "a:\n\t$(eval X = y)echo\n", "make:a", nil, []string{"a recipe of Makefile uses $(eval"}},
		"a pattern rule":              {"Makefile", "a: x.o\n%.o: %.c\n\tcompile $<\n", "make:a", []string{"%.o (for x.o)", "compile %.c"}, nil},
		"a need that is computed":     {"Makefile", "a: $(wildcard *.c) $(FROM)\n\techo\n", "make:a", nil, []string{"what a needs is computed"}},
		"a default of make":           {"Makefile", "a: nowhere\n.DEFAULT:\n\tfetch $@\n", "make:a", []string{"fetch"}, nil},
		"variables of a Taskfile":     {"Taskfile.yml", `{"vars":{"A":"b","N":1,"S":{"sh":"evil"}},"env":{"E":"f"},"dotenv":[".env"],"tasks":{"a":{"cmds":["echo"],"dir":"sub","env":{"X":{"sh":"other"}}}}}`, "task:a", []string{"vars A: b", "vars N: 1", "vars S: the output of evil", ": $(evil)", ": $(other)", "env E: f", "dir: sub", "dotenv: [.env]"}, []string{"the files that dotenv names"}},
		"an include of a Taskfile":    {"Taskfile.yml", `{"includes":{"docs":"./docs"},"tasks":{"a":{"cmds":["echo"]}}}`, "task:a", nil, []string{"task may run more than is shown: Taskfile.yml includes docs"}},
		"needs of a Taskfile":         {"Taskfile.yml", `{"tasks":{"a":{"deps":[{"task":"b","vars":{"X":"y"}}],"cmds":[{"for":["p","q"],"cmd":"echo {{.ITEM}}"},{"task":"{{.N}}"}]},"b":{"dir":"d","cmds":["evil {{.X}}"]}}}`, "task:a", []string{"b with {X: y}", "for each of [p, q]: echo", "evil ${X}", "dir: d"}, []string{"the name {{.N}} is computed"}},
		"settings and backticks":      {"justfile", "set shell := ['bash', '-c']\nset dotenv-load\nx := `evil`\nexport Y := 'y'\nimport 'more.just'\n[no-cd]\na p='1': (b 'z')\n  echo {{ `inner` }}\nb q:\n  echo {{q}}\n", "just:a", []string{"set shell := ['bash', '-c']", "set dotenv-load", ": $(evil)", ": $(inner)", "export Y := 'y'", "[no-cd]", "parameters: p='1'", "(b 'z')"}, []string{"just may run more than is shown: justfile loads 'more.just'", "environment file"}},
		"an environment made by mise": {"mise.toml", `{"env":{"A":"b","_":{"source":"evil.sh"}},"tasks":{"a":{"run":"echo","dir":"sub","env":{"C":"d"}}}}`, "mise:a", []string{"env A: b", "source: evil.sh", "dir: sub", "env C: d"}, []string{"mise may run more than is shown"}},
		"an include that is there":    {"Taskfile.yml", `{"includes":{"docs":{"taskfile":"./more","dir":"sub","vars":{"V":"w"}}},"tasks":{"a":{"cmds":["echo",{"task":"docs:b"}]},"c":"root"}}`, "task:a", []string{"docs:b", "docs:inner", "deep ${V}", "root", "included to run in sub", "included with V: w"}, []string{"more/Taskfile.yml includes far"}},
		"an import that is there":     {"justfile", "import 'more/one.just'\nmod m\na: b m\n  echo\nc:\n  mine\n", "just:a", []string{"imported ${z}", "mine"}, []string{"more/one.just loads '../../out.just'"}},
		"a module of just":            {"justfile", "mod m 'more'\n", "just:m::go", []string{"module", "m::need"}, nil},
		"what loads itself":           {"justfile", "import 'justfile'\na:\n  echo\n", "just:a", nil, []string{"justfile loads 'justfile'"}},
	} {
		l := list(map[string]string{c.file: c.text,
			"more/Taskfile.yml": `{"includes":{"far":"https://example.com/Taskfile.yml"},"tasks":{"b":{"deps":["inner"],"cmds":["deep {{.V}}",{"task":":c"}]},"inner":{"internal":true,"cmds":["x"]}}}`,
			"more/one.just":     "import '../../out.just'\nx := 'y'\nb: c\n  imported {{z}}\nc:\n  overridden\n", "m.just": "go:\n  x\n", "more/mod.just": "go: need\n  module\nneed:\n  x\n"})
		task, err := l.Find(c.task)
		require.NoError(t, err, name)
		said := strings.Join(task.Sets, "\n") + "\n" + task.Shell
		for _, need := range l.Needed(task) {
			said += "\n" + need.Name + "\n" + need.Shell + "\n" + strings.Join(need.Sets, "\n")
		}
		for _, want := range c.shows {
			assert.Contains(t, said, want, name)
		}
		open := strings.Join(task.Open, "\n")
		for _, want := range c.open {
			assert.Contains(t, open, want, name)
		}
		if len(c.open) == 0 {
			assert.Empty(t, open, name)
		}
	}
}

// TestCargoTakesInCratesThatAreNamedByPath, and the order of members follows them.
func TestCargoTakesInCratesThatAreNamedByPath(t *testing.T) {
	t.Parallel()
	w := tasks.FindWorkspace(tree(map[string]string{
		"Cargo.toml":             `{"workspace":{"exclude":["other"]},"package":{"name":"app"},"dependencies":{"core":{"path":"crates/core"},"other":{"path":"other"},"far":{"path":"../far"}}}`,
		"crates/core/Cargo.toml": `{"package":{"name":"core"},"target":{"cfg(unix)":{"dependencies":{"sys":{"path":"../sys"}}}}}`,
		"crates/sys/Cargo.toml":  `{"package":{"name":"sys"}}`, "other/Cargo.toml": `{"package":{"name":"other"}}`,
	}), project.Facts{})
	ordered, circle := tasks.Ordered(w.Members)
	require.Empty(t, circle)
	var names []string
	for _, m := range ordered {
		names = append(names, m.Name)
	}
	assert.Equal(t, []string{"sys", "core", "app"}, names)
}
