package tasks_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/tasks"
)

// files is a tree whose documents are all JSON.
type files struct {
	fs  fstest.MapFS
	dir string
}

func (f files) At(dir string) tasks.Documents { return files{f.fs, path.Join(f.dir, dir)} }

func (f files) Dirs(dir string) (out []string) {
	entries, _ := f.fs.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

func (f files) Has(name string) bool { _, err := f.fs.Stat(path.Join(f.dir, name)); return err == nil }

func (f files) Text(name string) ([]byte, error) { return fs.ReadFile(f.fs, path.Join(f.dir, name)) }

func (f files) Tree(name string) (doc any, err error) {
	text, err := f.Text(name)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	return doc, err
}

func tree(all map[string]string) files {
	f := fstest.MapFS{}
	for name, text := range all {
		f[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files{f, "."}
}

func list(all map[string]string) tasks.List { return tasks.Read(tree(all), project.Facts{}) }

// TestANameSaysWhichTask: a task named in a file takes precedence over a built-in one, and a name in two files needs its runner's.
func TestANameSaysWhichTask(t *testing.T) {
	l := list(map[string]string{"go.mod": "module x", "Makefile": "test:\n\tgo test\nlint:\n\tgo vet\n", "justfile": "lint:\n  go vet\n", "build.gradle": ""})
	for word, want := range map[string]string{"test": "make:test", "go:test": "go:test", "vet": "go:vet", "just:lint": "just:lint", "gradle:assemble": "gradle:assemble", "gradle::app:run": "gradle::app:run"} {
		got, err := l.Find(word)
		require.NoError(t, err, word)
		assert.Equal(t, want, got.ID())
	}
	_, err := l.Find("lint")
	require.ErrorIs(t, err, project.ErrArgument)
	assert.Contains(t, err.Error(), "make:lint, just:lint")
	_, err = l.Find("tset")
	require.ErrorIs(t, err, project.ErrScriptNotFound)
	assert.Contains(t, err.Error(), "did you mean test?")
	for _, word := range []string{"gradle:-Dx", "gradle:a b", "mvn:test", "", "make:--eval"} {
		_, err := l.Find(word)
		require.ErrorIs(t, err, project.ErrScriptNotFound, word)
	}
	_, err = list(nil).Find("x")
	require.ErrorIs(t, err, project.ErrScriptNotFound)
}

// TestNamesThatCouldBeOptionsAreNoTasks: nor are those that no runner would accept.
func TestNamesThatCouldBeOptionsAreNoTasks(t *testing.T) {
	l := list(map[string]string{"composer.json": `{"scripts":{"-x":"a","ok":"b","a b":"c","$(x)":"d","x;y":"e","":"f"}}`})
	require.Len(t, l.Tasks, 1)
	assert.Equal(t, "ok", l.Tasks[0].Name)
}

// TestMakefilesThatNeverEnd: variables that name themselves, unclosed brackets and tasks that need one another are read all the same.
func TestMakefilesThatNeverEnd(t *testing.T) {
	l := list(map[string]string{"Makefile": "A = $(A) $(B\nB = $(A)$(A)\na: b\n\techo $(A) $\nb: a\n\techo $(shell $(A)\n"})
	require.Len(t, l.Tasks, 2)
	assert.Equal(t, "b", l.Needed(l.Tasks[0])[0].Name)
	assert.Len(t, l.Needed(l.Tasks[0]), 1)
}

// FuzzReading: no file makes it panic, and every task that is listed can be found by its ID.
func FuzzReading(f *testing.F) {
	f.Add("A := 1\na: b ; @echo $(A) ${B} $@\n\t$(shell x\n.PHONY: a", "x := 'y'\n[private]\na b=x: c\n  #!/bin/sh\n  {{x}}", "use (\n\t./a\n)")
	f.Fuzz(func(t *testing.T, makefile, justfile, work string) {
		all := map[string]string{"Makefile": makefile, "justfile": justfile, "go.work": work, "a/go.mod": work}
		l := list(all)
		for _, task := range l.Tasks {
			found, err := l.Find(task.ID())
			require.NoError(t, err)
			assert.Equal(t, task.ID(), found.ID())
			l.Needed(task)
		}
		tasks.FindWorkspace(tree(all), project.Facts{})
	})
}

var shop = []tasks.Member{{Name: "shop", Dir: ".", Kinds: []string{"package.json"}}, {Name: "web", Dir: "apps/web", Needs: []string{"packages/ui"}}, {Name: "core", Dir: "packages/core"},
	{Name: "@x/ui", Dir: "packages/ui", Needs: []string{"packages/core"}}, {Name: "deep", Dir: "packages/ui/deep"}}

func names(members []tasks.Member) string {
	var out []string
	for _, m := range members {
		out = append(out, m.Name)
	}
	return strings.Join(out, " ")
}

func TestMembersAreChosen(t *testing.T) {
	for filters, want := range map[string]string{"": "web core @x/ui deep", "*": "web core @x/ui deep", "shop": "shop", ".": "shop", "web core": "web core", "packages/*": "core @x/ui",
		"packages/**": "core @x/ui deep", "./apps/web/": "web", "@x/*": "@x/ui", "!core": "web @x/ui deep", "* !packages/** web": "web", "* shop": "shop web core @x/ui deep"} {
		got, err := tasks.Select(shop, strings.Fields(filters))
		require.NoError(t, err, filters)
		assert.Equal(t, want, names(got), filters)
	}
	_, err := tasks.Select(shop, []string{"cores"})
	require.ErrorIs(t, err, project.ErrArgument)
	assert.Contains(t, err.Error(), "did you mean core?")
	_, err = tasks.Select(nil, []string{"x"})
	require.ErrorIs(t, err, project.ErrArgument)
}

func TestMembersInTheOrderOfTheirNeeds(t *testing.T) {
	ordered, circle := tasks.Ordered(shop)
	assert.Equal(t, "shop core @x/ui web deep", names(ordered))
	assert.Empty(t, circle)
	ordered, circle = tasks.Ordered([]tasks.Member{{Name: "a", Dir: "a", Needs: []string{"b", "elsewhere"}}, {Name: "b", Dir: "b", Needs: []string{"a"}}})
	assert.Equal(t, "a b", names(ordered))
	assert.Equal(t, []string{"a"}, circle)
}

func TestWhatChangedAffectsWhatNeedsIt(t *testing.T) {
	for files, want := range map[string]string{"": "", "README.md": "shop", "packages/core/a.js": "web core @x/ui", "packages/ui/deep/a.js": "deep", "packages/ui/a.js": "web @x/ui", "packages/corex": "shop"} {
		got := tasks.Affected(shop, slices.DeleteFunc([]string{files}, func(f string) bool { return f == "" }))
		assert.Equal(t, want, names(got), files)
	}
}
