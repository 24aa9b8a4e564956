package tasks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/tasks"
)

// TestWhatStandsAroundATaskIsSaid: variables, environment, directories, shells and commands that run before a task are shown, and what cannot be
// determined is described.
func TestWhatStandsAroundATaskIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text, task string
		shows            []string // in what it sets, runs or needs, as the file has it or as shell text
		open             []string
	}{
		"a shell of make":               {"Makefile", "SHELL = /bin/bash\n.SHELLFLAGS = -ec\n.ONESHELL:\nexport TOKEN = x\na:\n\techo\n", "make:a", []string{"SHELL = /bin/bash", ".SHELLFLAGS = -ec", "one shell", "export TOKEN = x"}, nil},
		"an include of make":            {"Makefile", "-include local.mk\na:\n\techo\n", "make:a", nil, []string{"make may run more than is shown: Makefile includes local.mk"}},
		"eval":                          {"Makefile", "$(eval $(call rule,x))\na:\n\techo\n", "make:a", nil, []string{"make may have other rules than are shown: Makefile uses $(eval"}},
		"eval in a recipe":              {"Makefile", "a:\n\t$(eval X = y)echo\n", "make:a", nil, []string{"a recipe of Makefile uses $(eval"}},
		"a pattern rule":                {"Makefile", "a: x.o\n%.o: %.c\n\tcompile $<\n", "make:a", []string{"%.o (for x.o)", "compile %.c"}, nil},
		"a need that is computed":       {"Makefile", "a: $(wildcard *.c) $(FROM)\n\techo\n", "make:a", nil, []string{"what a needs is computed"}},
		"a default of make":             {"Makefile", "a: nowhere\n.DEFAULT:\n\tfetch $@\n", "make:a", []string{"fetch"}, nil},
		"variables of a Taskfile":       {"Taskfile.yml", `{"vars":{"A":"b","N":1,"S":{"sh":"evil"}},"env":{"E":"f"},"dotenv":[".env"],"tasks":{"a":{"cmds":["echo"],"dir":"sub","env":{"X":{"sh":"other"}}}}}`, "task:a", []string{"vars A: b", "vars N: 1", "vars S: the output of evil", ": $(evil)", ": $(other)", "env E: f", "dir: sub", "dotenv: [.env]"}, []string{"the dotenv files may change variables"}},
		"an include of a Taskfile":      {"Taskfile.yml", `{"includes":{"docs":"./docs"},"tasks":{"a":{"cmds":["echo"]}}}`, "task:a", nil, []string{"task may run more than is shown: Taskfile.yml includes docs"}},
		"needs of a Taskfile":           {"Taskfile.yml", `{"tasks":{"a":{"deps":[{"task":"b","vars":{"X":"y"}}],"cmds":[{"for":["p","q"],"cmd":"echo {{.ITEM}}"},{"task":"{{.N}}"}]},"b":{"dir":"d","cmds":["evil {{.X}}"]}}}`, "task:a", []string{"b with {X: y}", "for each of [p, q]: echo", "evil ${X}", "dir: d"}, []string{"the name {{.N}} is computed"}},
		"settings and backticks":        {"justfile", "set shell := ['bash', '-c']\nset dotenv-load\nx := `evil`\nexport Y := 'y'\nimport 'more.just'\n[no-cd]\na p='1': (b 'z')\n  echo {{ `inner` }}\nb q:\n  echo {{q}}\n", "just:a", []string{"set shell := ['bash', '-c']", "set dotenv-load", ": $(evil)", ": $(inner)", "export Y := 'y'", "[no-cd]", "parameters: p='1'", "(b 'z')"}, []string{"just may run more than is shown: justfile loads 'more.just'", "environment file"}},
		"an environment made by mise":   {"mise.toml", `{"env":{"A":"b","_":{"source":"evil.sh"}},"tasks":{"a":{"run":"echo","dir":"sub","env":{"C":"d"}}}}`, "mise:a", []string{"env A: b", "source: evil.sh", "dir: sub", "env C: d"}, []string{"mise may run more than is shown"}},
		"an include that is there":      {"Taskfile.yml", `{"includes":{"docs":{"taskfile":"./more","dir":"sub","vars":{"V":"w"}}},"tasks":{"a":{"cmds":["echo",{"task":"docs:b"}]},"c":"root"}}`, "task:a", []string{"docs:b", "docs:inner", "deep ${V}", "root", "included to run in sub", "included with V: w"}, []string{"more/Taskfile.yml includes far"}},
		"an import that is there":       {"justfile", "import 'more/one.just'\nmod m\na: b m\n  echo\nc:\n  mine\n", "just:a", []string{"imported ${z}", "mine"}, []string{"more/one.just loads '../../out.just'"}},
		"a module of just":              {"justfile", "mod m 'more'\n", "just:m::go", []string{"module", "m::need"}, nil},
		"a need by an alias":            {"Taskfile.yml", `{"tasks":{"a":{"deps":["x"]},"b":{"aliases":["x"],"cmds":["evil"]}}}`, "task:a", nil, []string{"the task x, which a starts"}},
		"a need that cannot be called":  {"Taskfile.yml", `{"tasks":{"a":{"deps":["x=y"]},"x=y":"evil"}}`, "task:a", []string{"evil"}, nil},
		"conditions and calls":          {"Taskfile.yml", `{"tasks":{"a":{"if":"evil 1","later":"field","cmds":[{"cmd":"echo","if":"evil 2"},{"defer":{"task":"b","vars":{"X":{"sh":"evil 3"}}}},{"defer":{"cmd":"evil 4"}}]},"b":"echo"}}`, "task:a", []string{"evil 1", "evil 2", ": $(evil 3)", "evil 4", "later: field"}, nil},
		"an include too broken to read": {"Taskfile.yml", `{"includes":{"n":"./broken.yml"},"tasks":{"a":"echo"}}`, "task:a", nil, []string{"broken.yml cannot be read"}},
		"a recipe in a text":            {"justfile", "a:\n  evil\nx := '\na:\n  echo\n'\n", "just:a", []string{"evil"}, nil},
		"a text that stays open":        {"justfile", "a:\n  evil\nx := f'{{'\na:\n  echo\n'}}'\n", "just:a", nil, []string{"text that is not followed"}},
		"commands over several lines":   {"justfile", "x := (\n  'a' + `evil 1`\n)\ny := ```\n  evil 2\n```\na p='b:c' q=`evil 3`: \\\n  b\n  echo\nb:\n  evil 4\n", "just:a", []string{": $(evil 1)", "evil 2\n", "q=`evil 3`", ": $(evil 3)", "evil 4"}, nil},
		"a command between quotes":      {"justfile", "x := '`' + `evil` + '`'\na:\n  echo\n", "just:a", []string{": $(evil)"}, nil},
		"a command that is computed":    {"justfile", "c := 'ev' + 'il'\nx := shell(c)\na:\n  echo\n", "just:a", []string{"c := 'ev' + 'il'"}, []string{"what shell(…) runs in justfile is computed"}},
		"comments that just fills in":   {"justfile", "a:\n  # {{ `evil 1` }}\n  echo a\\\n  #b; evil 2\n  rm \\\n  -rf x\n", "just:a", []string{": $(evil 1)", "#b; evil 2", "\n-rf x"}, nil},
		"definitions for one another":   {"justfile", "x := 'evil 1'\nimport 'first.just'\nimport 'second.just'\na: b\n  {{x}}\n", "just:a", []string{"\nevil 1", "evil 2"}, nil},
		"a parameter for a variable":    {"justfile", "x := 'echo'\na x='evil':\n  {{x}}\n", "just:a", []string{"\n${x}", "parameters: x='evil'"}, nil},
		"a need in a module":            {"justfile", "mod w\na: w::b\n  echo\n", "just:a", []string{"evil 3", ": $(evil 4)"}, nil},
		"a rule for a hidden file":      {"Makefile", "a: .b\n\techo\n.b:\n\tevil\n", "make:a", []string{"evil"}, nil},
		"a rule for an ending":          {"Makefile", "a: x.o\n.c.o:\n\tevil\n", "make:a", nil, []string{".c.o in Makefile may be a rule for all files"}},
		"variables of one target":       {"Makefile", "a: SHELL = evil 1\na: X != evil 2\na:\n\techo\n", "make:a", []string{"a: SHELL = evil 1", "a: X != evil 2", ": $(evil 2)"}, nil},
		"comments that make fills in":   {"Makefile", "a:\n\t# $(shell evil)\n\techo\n", "make:a", []string{"\n: $(evil)\n"}, nil},
		"needs with arguments":          {"mise.toml", `{"tasks":{"a":{"depends":[["b","x"],{"task":"c"},"d*"]},"b":{"run":"evil 1"},"c":{"run":"evil 2"}}}`, "mise:a", []string{"evil 1", "evil 2", "depends: [b, x]"}, []string{"the task d*, which a starts"}},
		"events of Composer":            {"composer.json", `{"scripts":{"a":["@pre-b","@far"],"pre-b":"evil 1","pre-command-run":"evil 2","init":"evil 3"}}`, "composer:a", []string{"evil 1", "evil 2", "evil 3"}, []string{"the task far, which a starts"}},
		"more needs than are shown":     {"Makefile", "a:" + many(101, " n%d") + "\n\techo\n" + many(101, "n%d:\n\techo\n"), "make:a", nil, []string{"a starts more than the 100 tasks that are shown"}},
		"a need behind many tasks":      {"Makefile", "a: z\n" + many(500, "n%d:\n") + "z:\n\tevil\n", "make:a", []string{"evil"}, nil},
		"more tasks than are read":      {"justfile", "a: z\n" + many(5001, "_n%d:\n") + "z:\n  evil\n", "just:a", nil, []string{"there are more tasks than are read"}},
		"values that are added":         {"Makefile", "A = x\nA += y\nA +=\nA += z\na: b\n\techo $(A)\nA += w\nb:\n\techo $(A)\n", "make:a", []string{"echo x y z w"}, nil},
		"a recipe that very many share": {"Makefile", "a" + many(300, " t%d") + ":\n" + many(30, "\techo %01000d\n"), "make:a", []string{"00029"}, []string{"Makefile has too many shared recipes"}},
		"values that double":            {"Taskfile.yml", `{"vars":{"V0":"x"` + doubled(64) + `},"tasks":{"a":"echo {{.V9}}"}}`, "task:a", []string{"echo ${COMPUTED}"}, nil},
		"what loads itself":             {"justfile", "import 'justfile'\na:\n  echo\n", "just:a", nil, []string{"justfile loads 'justfile'"}},
	} {
		l := list(map[string]string{c.file: c.text,
			"more/Taskfile.yml": `{"includes":{"far":"https://example.com/Taskfile.yml"},"tasks":{"b":{"deps":["inner"],"cmds":["deep {{.V}}",{"task":":c"}]},"inner":{"internal":true,"cmds":["x"]}}}`,
			"more/one.just":     "import '../../out.just'\nx := 'y'\nb: c\n  imported {{z}}\nc:\n  overridden\n", "broken.yml": "{", "first.just": "x := 'echo'\nb:\n  evil 2\n", "second.just": "x := 'echo'\nb:\n  echo\n", "w.just": "y := `evil 4`\nb:\n  evil 3\n", "m.just": "go:\n  x\n", "more/mod.just": "go: need\n  module\nneed:\n  x\n"})
		task, err := l.Find(c.task)
		require.NoError(t, err, name)
		said := strings.Join(task.Sets, "\n") + "\n" + task.Command + "\n" + task.Shell
		for _, need := range l.Needed(task) {
			said += "\n" + need.Name + "\n" + need.Shell + "\n" + strings.Join(need.Sets, "\n")
		}
		for _, want := range c.shows {
			assert.Contains(t, said, want, name)
		}
		open := strings.Join(task.Open, "\n")
		for _, need := range l.Needed(task) {
			open += strings.Join(need.Open, "\n")
		}
		for _, want := range c.open {
			assert.Contains(t, open, want, name)
		}
		if len(c.open) == 0 {
			assert.Empty(t, open, name)
		}
	}
}

// TestCargoTakesInCratesThatAreNamedByPath: they are members too, and the order of members respects them.
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

// many returns a text that often, each with its number.
// doubled is variables each of which has the one before it twice.
func doubled(times int) (out string) {
	before := "V0"
	for i := range times {
		next := fmt.Sprintf("V%02d", i+1)
		out, before = out+fmt.Sprintf(`,"%s":"{{.%s}}{{.%s}}"`, next, before, before), next
	}
	return out + fmt.Sprintf(`,"V9":"{{.%s}}"`, before)
}

func many(times int, form string) string {
	var out strings.Builder
	for i := range times {
		fmt.Fprintf(&out, form, i)
	}
	return out.String()
}
