package local

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// noPolicy returns layers of policy that do not exist, so that neither the machine's nor those of the account that runs the test count.
func noPolicy(t *testing.T) Trust {
	dir := t.TempDir()
	return Trust{SystemFile: filepath.Join(dir, "no-policy.yaml"), AccountHome: filepath.Join(dir, "no-account")}
}

// fakeToolsets is toolsets of two tools each (a1, a2, b1, …) that note when they are made.
func fakeToolsets(made *[]string, names ...string) (sets []toolset) {
	for _, name := range names {
		sets = append(sets, toolset{name: name, build: func() tool.Capability {
			*made = append(*made, name)
			var entries []tool.Entry
			for _, n := range []string{"1", "2"} {
				entries = append(entries, tool.Entry{Spec: tool.Spec{Name: tool.Name(name + n)}})
			}
			return tool.Capability{Name: name, Entries: entries}
		}})
	}
	return sets
}

// TestOnlyWhatIsServedIsMade: toolsets nobody chose are listed by name and cost nothing; each is made once.
func TestOnlyWhatIsServedIsMade(t *testing.T) {
	for name, c := range map[string]struct {
		serve   app.Selection
		made    string // in order
		given   string // to the core
		exclude []string
	}{
		"nothing said":          {made: "control a b c", given: "control a b c"},
		"all":                   {serve: app.Selection{Toolsets: []string{"all"}}, made: "control a b c", given: "control a b c"},
		"all besides others":    {serve: app.Selection{Toolsets: []string{"b", "all"}}, made: "control a b c", given: "control a b c"},
		"one":                   {serve: app.Selection{Toolsets: []string{"b"}}, made: "control b", given: "control b"},
		"control alone":         {serve: app.Selection{Toolsets: []string{"control"}}, made: "control", given: "control"},
		"a name there is not":   {serve: app.Selection{Toolsets: []string{"x"}}, made: "control", given: "control"},
		"a tool":                {serve: app.Selection{Tools: []string{"b2"}}, made: "control a b", given: "control b"},
		"several tools":         {serve: app.Selection{Tools: []string{"b2", "a1", "b1"}}, made: "control a b", given: "control a b"},
		"a tool besides":        {serve: app.Selection{Toolsets: []string{"b"}, Tools: []string{"b1", "control2"}}, made: "control b", given: "control b"},
		"a tool of another":     {serve: app.Selection{Toolsets: []string{"c"}, Tools: []string{"a1"}}, made: "control c a", given: "control a c"},
		"no such tool":          {serve: app.Selection{Tools: []string{"x1"}}, made: "control a b c", given: "control"},
		"without one":           {serve: app.Selection{Toolsets: []string{"a"}, Exclude: []string{"a1"}}, made: "control a", given: "control a", exclude: []string{"a1"}},
		"without one elsewhere": {serve: app.Selection{Toolsets: []string{"a"}, Exclude: []string{"b2", "a2"}}, made: "control a b", given: "control a", exclude: []string{"a2"}},
		"without what is not":   {serve: app.Selection{Toolsets: []string{"a"}, Exclude: []string{"x1"}}, made: "control a b c", given: "control a", exclude: []string{"x1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var made, given, absent []string
			before := slices.Clone(c.serve.Exclude)
			caps, o := choose(fakeToolsets(&made, "control", "a", "b", "c"), app.Options{Serve: c.serve})
			for _, one := range caps {
				given = append(given, one.Name)
			}
			for _, one := range o.Absent {
				absent = append(absent, one.Name)
				assert.Equal(t, tool.Toolset{Name: one.Name, Served: []string{}, ServedWith: "--toolsets " + one.Name}, one)
			}
			assert.Equal(t, c.made, strings.Join(made, " "))
			assert.Equal(t, c.given, strings.Join(given, " "))
			assert.ElementsMatch(t, []string{"control", "a", "b", "c"}, append(given, absent...), "every toolset is served or listed")
			assert.ElementsMatch(t, c.exclude, o.Serve.Exclude)
			assert.Equal(t, before, c.serve.Exclude, "what the caller handed over stays as it was")
		})
	}
}

// TestEveryToolsetIsListedUnderItsOwnName: the name that chooses a toolset is that of its tools.
func TestEveryToolsetIsListedUnderItsOwnName(t *testing.T) {
	l, err := Open(Config{Trust: noPolicy(t), Dir: t.TempDir(), Toolsets: []string{"control"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	var names []string
	for _, set := range l.toolsets(l.config.core(l.store, l.audit, nil, system.Owner{})) {
		assert.Equal(t, set.name, set.build().Name)
		assert.NotContains(t, names, set.name)
		names = append(names, set.name)
	}
	assert.ElementsMatch(t, names, namesOf(l.Toolsets()))
}

func namesOf(sets []tool.Toolset) (names []string) {
	for _, set := range sets {
		names = append(names, set.Name)
	}
	return names
}

// listToolsets opens a core and asks it for its toolsets.
func listToolsets(t *testing.T, serve app.Selection) json.RawMessage {
	t.Helper()
	o := Defaults()
	o.Serve = serve
	l, err := Open(Config{Trust: noPolicy(t), Dir: t.TempDir(), Options: o, Toolsets: strings.Split(DefaultToolsets, ",")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	answer := l.As(l.Owner()).Call(t.Context(), "list_toolsets", json.RawMessage(`{}`))
	require.NoError(t, answer.Err)
	return answer.Value
}

func TestToolsetsAreListedAsTheyAreServed(t *testing.T) {
	for name, serve := range map[string]app.Selection{
		"default":   {},
		"control":   {Toolsets: []string{"control"}},
		"one-tool":  {Tools: []string{"list_projects"}},
		"workbench": {Toolsets: []string{"workbench"}},
		"excluded":  {Exclude: []string{"list_projects", "rollback"}},
		"read-only": {ReadOnly: true},
	} {
		t.Run(name, func(t *testing.T) { golden.JSON(t, "toolsets/"+name, listToolsets(t, serve)) })
	}
	assert.NotContains(t, string(listToolsets(t, app.Selection{Toolsets: []string{"all"}})), "served_with")
}

// TestWhatIsNotThereIsRefused, whatever is made for the rest of the selection.
func TestWhatIsNotThereIsRefused(t *testing.T) {
	l, err := Open(Config{Trust: noPolicy(t), Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	all := strings.Join(namesOf(l.Toolsets()), ", ")
	require.Contains(t, all, "control, deployments, ")
	for _, c := range []struct {
		serve app.Selection
		says  string
	}{
		{app.Selection{Toolsets: []string{"pakcs"}}, `unknown toolset "pakcs"; use one of ` + all},
		{app.Selection{Toolsets: []string{"packs", "project"}}, `unknown toolset "project"; use one of ` + all},
		{app.Selection{Toolsets: []string{"all", "project"}}, `unknown toolset "project"; use one of ` + all},
		{app.Selection{Tools: []string{"list_project"}}, `unknown tool "list_project"`},
		{app.Selection{Toolsets: []string{"packs"}, Tools: []string{"input", "list_project"}}, `unknown tool "list_project"`},
		{app.Selection{Toolsets: []string{"packs"}, Exclude: []string{"list_projects", "list_project"}}, `unknown tool "list_project"`},
	} {
		_, err := Open(Config{Trust: noPolicy(t), Dir: t.TempDir(), Options: app.Options{Serve: c.serve}})
		require.ErrorIs(t, err, app.ErrWiring)
		assert.Contains(t, err.Error(), c.says)
	}
}

// TestAnUnservedToolsetIsUnknownToCalls and to whoever wants to see its tools.
func TestAnUnservedToolsetIsUnknownToCalls(t *testing.T) {
	l, err := Open(Config{Trust: noPolicy(t), Dir: t.TempDir(), Options: Defaults(), Toolsets: []string{"packs"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	_, known := l.Spec("list_projects")
	assert.False(t, known)
	assert.ErrorIs(t, l.As(l.Owner()).Call(t.Context(), "list_projects", json.RawMessage(`{}`)).Err, tool.ErrUnknown)
	_, err = l.Recover(t.Context())
	assert.NoError(t, err, "what is left running is settled whatever is served")
}

// TestAHomeIsFoundWithoutAnEnvironment: hosts may start a server with no variables at all.
func TestAHomeIsFoundWithoutAnEnvironment(t *testing.T) {
	t.Setenv("HOME", "")
	dir, err := Config{Env: func(string) string { return "" }}.home()
	require.NoError(t, err)
	assert.True(t, filepath.IsAbs(dir), "the user's own, as the system knows it: %s", dir)
}
