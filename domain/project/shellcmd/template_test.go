package shellcmd_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func noon() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }

func verdict(t *testing.T, command string) shellcmd.Report {
	t.Helper()
	filled, err := shellcmd.Fill(shellcmd.Example(command), project.NPM)
	require.NoError(t, err)
	in := shellcmd.Context{Home: "/home/ann", Project: "/home/ann/shop", Parse: projectfile.Parser{}.Parse}
	return shellcmd.Check(projectfile.Parser{}.Parse(filled), in)
}

func TestBuiltInTemplatesAreWholeAndUnique(t *testing.T) {
	ids, names := map[string]bool{}, map[string]bool{}
	perCategory := map[shellcmd.Category]int{}
	for _, b := range shellcmd.Builtin() {
		assert.False(t, ids[b.ID], "id %s twice", b.ID)
		name := string(b.Category) + b.Name
		assert.False(t, names[name], "name %s twice", name)
		ids[b.ID], names[name] = true, true
		perCategory[b.Category]++
		assert.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, b.ID)
		assert.NotContains(t, b.ID, "custom-")
		assert.NotEmpty(t, b.Description, b.ID)
		assert.False(t, b.IsCustom)
		assert.True(t, b.CreatedAt.IsZero())
		assert.Contains(t, []shellcmd.Risk{shellcmd.Low, shellcmd.Medium, shellcmd.TemplateHigh}, b.Risk)
		assert.NoError(t, shellcmd.CheckText(b.Command))
		assert.Equal(t, b.Command, strings.TrimSpace(b.Command))
		_, err := shellcmd.ParseCategory(string(b.Category))
		assert.NoError(t, err, b.ID)
	}
	assert.Len(t, ids, 139)
	for _, c := range shellcmd.Categories() {
		assert.Equal(t, c == shellcmd.Custom, perCategory[c] == 0, c)
	}
}

func TestRisksAgreeWithTheLinter(t *testing.T) {
	byHand := map[string]bool{"docker-compose-down": true, "db-redis-flush": true} // they delete data, which no shape of a command shows
	for _, b := range shellcmd.Builtin() {
		r := verdict(t, b.Command)
		assert.NotEqual(t, shellcmd.Block, r.Verdict, "%s: %v", b.ID, r.Findings)
		assert.Equal(t, r.Verdict == shellcmd.High || byHand[b.ID], b.Risk == shellcmd.TemplateHigh, "%s: %v", b.ID, r.Findings)
	}
}

func TestBuiltInTemplatesAsTheyAreListed(t *testing.T) {
	var b strings.Builder
	for _, c := range shellcmd.Categories() {
		fmt.Fprintf(&b, "%s (%s)\n", c.Label(), c)
		for _, one := range shellcmd.Select(nil, shellcmd.Filter{Category: c, Builtin: true}) {
			fmt.Fprintf(&b, "  %-24s %-6s %s\n", one.ID, one.Risk, one.Command)
		}
	}
	golden.Text(t, "builtin", b.String())
}

func TestNothingOfTheOriginalsThatCouldNotWorkIsLeft(t *testing.T) {
	for _, b := range shellcmd.Builtin() {
		assert.NotRegexp(t, `codex (analyze|debug)|claude (brainstorm|release)|gemini (plan|summar)`, b.Command, b.ID)
		assert.NotRegexp(t, `^nvm |docker-compose |(run|exec) -it|^git rebase -i`, b.Command, b.ID)
	}
}

func TestBuiltInTemplatesBelongToWhoeverAsks(t *testing.T) {
	shellcmd.Builtin()[0].Name = "changed"
	assert.NotEqual(t, "changed", shellcmd.Builtin()[0].Name)
}

func TestCategoriesAreNamedInManyWays(t *testing.T) {
	for text, want := range map[string]shellcmd.Category{
		"git": shellcmd.Git, "GIT": shellcmd.Git, "Git Operations": shellcmd.Git, "package-manager": shellcmd.PackageManager, "PackageManager": shellcmd.PackageManager,
		"packagemanager": shellcmd.PackageManager, "package_manager": shellcmd.PackageManager, "Package Manager": shellcmd.PackageManager, "Node.js": shellcmd.NodeJS, "nodejs": shellcmd.NodeJS,
		"My Templates": shellcmd.Custom, " custom ": shellcmd.Custom, "shell & system": shellcmd.TemplateShell,
	} {
		got, err := shellcmd.ParseCategory(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "rust", "gitt", "-"} {
		_, err := shellcmd.ParseCategory(text)
		assert.ErrorIs(t, err, project.ErrArgument, text)
	}
	_, err := shellcmd.ParseCategory("rust")
	assert.EqualError(t, err, `category "rust" is none of package-manager, git, docker, shell, testing, code-quality, kubernetes, database, cloud, ai, security, nodejs, custom`)
	assert.Len(t, shellcmd.Categories(), 13)
	assert.Equal(t, "rust", shellcmd.Category("rust").Label())
}

func TestFilters(t *testing.T) {
	mine, err := shellcmd.New("custom-1", shellcmd.Draft{Name: "Ship it", Command: "make ship", Category: "Docker"}, noon())
	require.NoError(t, err)
	other, err := shellcmd.New("custom-2", shellcmd.Draft{Name: "Docs", Command: "make docs", Description: "Builds the MANUAL"}, noon())
	require.NoError(t, err)
	ids := func(f shellcmd.Filter) []string {
		out := []string{}
		for _, one := range shellcmd.Select([]shellcmd.Template{mine, other}, f) {
			out = append(out, one.ID)
		}
		return out
	}
	assert.Equal(t, []string{"custom-1", "custom-2"}, ids(shellcmd.Filter{}))
	assert.Len(t, ids(shellcmd.Filter{Builtin: true}), 141)
	docker := ids(shellcmd.Filter{Category: "DOCKER", Builtin: true})
	assert.Len(t, docker, 18)
	assert.Equal(t, "custom-1", docker[17], "built-in ones come first")
	assert.Equal(t, []string{"custom-1"}, ids(shellcmd.Filter{Category: shellcmd.Docker}))
	assert.Equal(t, []string{"custom-2"}, ids(shellcmd.Filter{Query: " manual "}), "in the description")
	assert.Equal(t, []string{"custom-1", "custom-2"}, ids(shellcmd.Filter{Query: "MAKE"}), "in the command")
	assert.Equal(t, []string{"custom-1"}, ids(shellcmd.Filter{Query: "ship it", Builtin: true}), "in the name")
	assert.Equal(t, []string{}, ids(shellcmd.Filter{Query: "nothing has this", Builtin: true}))
	assert.Equal(t, []string{"git-worktree-add", "git-worktree-list"}, ids(shellcmd.Filter{Category: shellcmd.Git, Query: "worktree", Builtin: true}))
}

func TestCustomTemplatesHaveBounds(t *testing.T) {
	made, err := shellcmd.New("custom-x", shellcmd.Draft{
		Name: "  " + strings.Repeat("ä", 256) + " ", Command: " \n" + strings.Repeat("c", 8192) + "\n", Category: "ai", Description: strings.Repeat("d", 2048) + " ",
	}, noon())
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("ä", 256), made.Name)
	assert.Len(t, made.Command, 8192)
	assert.Equal(t, shellcmd.AI, made.Category)
	assert.True(t, made.IsCustom)

	good := shellcmd.Draft{Name: "n", Command: "c"}
	with := func(change func(*shellcmd.Draft)) shellcmd.Draft {
		d := good
		change(&d)
		return d
	}
	for says, d := range map[string]shellcmd.Draft{
		"name is empty":               with(func(d *shellcmd.Draft) { d.Name = " " }),
		"name has 257 characters":     with(func(d *shellcmd.Draft) { d.Name = strings.Repeat("ä", 257) }),
		"name contains a control":     with(func(d *shellcmd.Draft) { d.Name = "a\x1bb" }),
		"command is empty":            with(func(d *shellcmd.Draft) { d.Command = "\n" }),
		"command has 8193 bytes":      with(func(d *shellcmd.Draft) { d.Command = strings.Repeat("c", 8193) }),
		"command contains a NUL":      with(func(d *shellcmd.Draft) { d.Command = "a\x00b" }),
		"description has 2049 charac": with(func(d *shellcmd.Draft) { d.Description = strings.Repeat("d", 2049) }),
		`category "rust"`:             with(func(d *shellcmd.Draft) { d.Category = "rust" }),
	} {
		_, err := shellcmd.New("custom-x", d, noon())
		assert.ErrorIs(t, err, project.ErrArgument, says)
		assert.ErrorContains(t, err, says)
	}
	for _, id := range []string{"", "x", "custom-", "pm-install"} {
		_, err := shellcmd.New(id, good, noon())
		assert.ErrorIs(t, err, project.ErrArgument, id)
	}
}

func TestTheJSONForm(t *testing.T) {
	made, err := shellcmd.New("custom-6f", shellcmd.Draft{Name: "Docs", Command: "make docs"}, noon())
	require.NoError(t, err)
	text, err := json.Marshal([]shellcmd.Template{made, shellcmd.Builtin()[0]})
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"id":"custom-6f","name":"Docs","command":"make docs","category":"custom","isCustom":true,"risk":"medium","createdAt":"2026-05-04T12:00:00Z"},
		{"id":"pm-install","name":"Install dependencies","command":"{pm} install","category":"package-manager","description":"Installs what package.json and the lockfile ask for","isCustom":false,"risk":"medium"}
	]`, string(text))
}

func TestFillingIn(t *testing.T) {
	for _, pm := range []project.Manager{project.NPM, project.PNPM, project.Yarn, project.Bun} {
		got, err := shellcmd.Fill("rm -rf x && {pm} install && {pm} test", pm)
		require.NoError(t, err)
		assert.Equal(t, "rm -rf x && "+string(pm)+" install && "+string(pm)+" test", got)
	}
	got, err := shellcmd.Fill("make", "")
	require.NoError(t, err)
	assert.Equal(t, "make", got)
	for _, pm := range []project.Manager{"", "rm -rf /;", "NPM"} {
		_, err := shellcmd.Fill("{pm} install", pm)
		assert.ErrorIs(t, err, project.ErrArgument, pm)
	}
	assert.Equal(t, []string{"image", "tag"}, shellcmd.Placeholders("docker tag <image>:<tag> x/<image>:<tag> < in > out <<E a<B>"))
	assert.Equal(t, []string{}, shellcmd.Placeholders("{pm} install"))
	assert.Equal(t, "git cherry-pick hash", shellcmd.Example("git cherry-pick <hash>"))
}
