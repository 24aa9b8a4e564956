package template_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/shellparse"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/lint"
	"github.com/countersign-dev/countersign/domain/project/template"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func noon() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }

func verdict(t *testing.T, command string) lint.Report {
	t.Helper()
	filled, err := template.Fill(template.Example(command), project.NPM)
	require.NoError(t, err)
	in := lint.Context{Home: "/home/ann", Project: "/home/ann/shop", Parse: shellparse.Parser{}.Parse}
	return lint.Check(shellparse.Parser{}.Parse(filled), in)
}

func TestBuiltInTemplatesAreWholeAndUnique(t *testing.T) {
	ids, names := map[string]bool{}, map[string]bool{}
	perCategory := map[template.Category]int{}
	for _, b := range template.Builtin() {
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
		assert.Contains(t, []template.Risk{template.Low, template.Medium, template.High}, b.Risk)
		assert.NoError(t, lint.CheckText(b.Command))
		assert.Equal(t, b.Command, strings.TrimSpace(b.Command))
		_, err := template.ParseCategory(string(b.Category))
		assert.NoError(t, err, b.ID)
	}
	assert.Len(t, ids, 139)
	for _, c := range template.Categories() {
		assert.Equal(t, c == template.Custom, perCategory[c] == 0, c)
	}
}

func TestRisksAgreeWithTheLinter(t *testing.T) {
	byHand := map[string]bool{"docker-compose-down": true, "db-redis-flush": true} // they delete data, which no shape of a command shows
	for _, b := range template.Builtin() {
		r := verdict(t, b.Command)
		assert.NotEqual(t, lint.Block, r.Verdict, "%s: %v", b.ID, r.Findings)
		assert.Equal(t, r.Verdict == lint.High || byHand[b.ID], b.Risk == template.High, "%s: %v", b.ID, r.Findings)
	}
}

func TestBuiltInTemplatesAsTheyAreListed(t *testing.T) {
	var b strings.Builder
	for _, c := range template.Categories() {
		fmt.Fprintf(&b, "%s (%s)\n", c.Label(), c)
		for _, one := range template.Select(nil, template.Filter{Category: c, Builtin: true}) {
			fmt.Fprintf(&b, "  %-24s %-6s %s\n", one.ID, one.Risk, one.Command)
		}
	}
	golden.Text(t, "builtin", b.String())
}

func TestNothingOfTheOriginalsThatCouldNotWorkIsLeft(t *testing.T) {
	for _, b := range template.Builtin() {
		assert.NotRegexp(t, `codex (analyze|debug)|claude (brainstorm|release)|gemini (plan|summar)`, b.Command, b.ID)
		assert.NotRegexp(t, `^nvm |docker-compose |(run|exec) -it|^git rebase -i`, b.Command, b.ID)
	}
}

func TestBuiltInTemplatesBelongToWhoeverAsks(t *testing.T) {
	template.Builtin()[0].Name = "changed"
	assert.NotEqual(t, "changed", template.Builtin()[0].Name)
}

func TestCategoriesAreNamedInManyWays(t *testing.T) {
	for text, want := range map[string]template.Category{
		"git": template.Git, "GIT": template.Git, "Git Operations": template.Git, "package-manager": template.PackageManager, "PackageManager": template.PackageManager,
		"packagemanager": template.PackageManager, "package_manager": template.PackageManager, "Package Manager": template.PackageManager, "Node.js": template.NodeJS, "nodejs": template.NodeJS,
		"My Templates": template.Custom, " custom ": template.Custom, "shell & system": template.Shell,
	} {
		got, err := template.ParseCategory(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "rust", "gitt", "-"} {
		_, err := template.ParseCategory(text)
		assert.ErrorIs(t, err, project.ErrArgument, text)
	}
	_, err := template.ParseCategory("rust")
	assert.EqualError(t, err, `category "rust" is none of package-manager, git, docker, shell, testing, code-quality, kubernetes, database, cloud, ai, security, nodejs, custom`)
	assert.Len(t, template.Categories(), 13)
	assert.Equal(t, "rust", template.Category("rust").Label())
}

func TestFilters(t *testing.T) {
	mine, err := template.New("custom-1", template.Draft{Name: "Ship it", Command: "make ship", Category: "Docker"}, noon())
	require.NoError(t, err)
	other, err := template.New("custom-2", template.Draft{Name: "Docs", Command: "make docs", Description: "Builds the MANUAL"}, noon())
	require.NoError(t, err)
	ids := func(f template.Filter) []string {
		out := []string{}
		for _, one := range template.Select([]template.Template{mine, other}, f) {
			out = append(out, one.ID)
		}
		return out
	}
	assert.Equal(t, []string{"custom-1", "custom-2"}, ids(template.Filter{}))
	assert.Len(t, ids(template.Filter{Builtin: true}), 141)
	docker := ids(template.Filter{Category: "DOCKER", Builtin: true})
	assert.Len(t, docker, 18)
	assert.Equal(t, "custom-1", docker[17], "built-in ones come first")
	assert.Equal(t, []string{"custom-1"}, ids(template.Filter{Category: template.Docker}))
	assert.Equal(t, []string{"custom-2"}, ids(template.Filter{Query: " manual "}), "in the description")
	assert.Equal(t, []string{"custom-1", "custom-2"}, ids(template.Filter{Query: "MAKE"}), "in the command")
	assert.Equal(t, []string{"custom-1"}, ids(template.Filter{Query: "ship it", Builtin: true}), "in the name")
	assert.Equal(t, []string{}, ids(template.Filter{Query: "nothing has this", Builtin: true}))
	assert.Equal(t, []string{"git-worktree-add", "git-worktree-list"}, ids(template.Filter{Category: template.Git, Query: "worktree", Builtin: true}))
}

func TestCustomTemplatesHaveBounds(t *testing.T) {
	made, err := template.New("custom-x", template.Draft{
		Name: "  " + strings.Repeat("ä", 256) + " ", Command: " \n" + strings.Repeat("c", 8192) + "\n", Category: "ai", Description: strings.Repeat("d", 2048) + " ",
	}, noon())
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("ä", 256), made.Name)
	assert.Len(t, made.Command, 8192)
	assert.Equal(t, template.AI, made.Category)
	assert.True(t, made.IsCustom)

	good := template.Draft{Name: "n", Command: "c"}
	with := func(change func(*template.Draft)) template.Draft {
		d := good
		change(&d)
		return d
	}
	for says, d := range map[string]template.Draft{
		"name is empty":               with(func(d *template.Draft) { d.Name = " " }),
		"name has 257 characters":     with(func(d *template.Draft) { d.Name = strings.Repeat("ä", 257) }),
		"name contains a control":     with(func(d *template.Draft) { d.Name = "a\x1bb" }),
		"command is empty":            with(func(d *template.Draft) { d.Command = "\n" }),
		"command has 8193 bytes":      with(func(d *template.Draft) { d.Command = strings.Repeat("c", 8193) }),
		"command contains a NUL":      with(func(d *template.Draft) { d.Command = "a\x00b" }),
		"description has 2049 charac": with(func(d *template.Draft) { d.Description = strings.Repeat("d", 2049) }),
		`category "rust"`:             with(func(d *template.Draft) { d.Category = "rust" }),
	} {
		_, err := template.New("custom-x", d, noon())
		assert.ErrorIs(t, err, project.ErrArgument, says)
		assert.ErrorContains(t, err, says)
	}
	for _, id := range []string{"", "x", "custom-", "pm-install"} {
		_, err := template.New(id, good, noon())
		assert.ErrorIs(t, err, project.ErrArgument, id)
	}
}

func TestTheJSONForm(t *testing.T) {
	made, err := template.New("custom-6f", template.Draft{Name: "Docs", Command: "make docs"}, noon())
	require.NoError(t, err)
	text, err := json.Marshal([]template.Template{made, template.Builtin()[0]})
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"id":"custom-6f","name":"Docs","command":"make docs","category":"custom","isCustom":true,"risk":"medium","createdAt":"2026-05-04T12:00:00Z"},
		{"id":"pm-install","name":"Install dependencies","command":"{pm} install","category":"package-manager","description":"Installs what package.json and the lockfile ask for","isCustom":false,"risk":"medium"}
	]`, string(text))
}

func TestFillingIn(t *testing.T) {
	for _, pm := range []project.Manager{project.NPM, project.PNPM, project.Yarn, project.Bun} {
		got, err := template.Fill("rm -rf x && {pm} install && {pm} test", pm)
		require.NoError(t, err)
		assert.Equal(t, "rm -rf x && "+string(pm)+" install && "+string(pm)+" test", got)
	}
	got, err := template.Fill("make", "")
	require.NoError(t, err)
	assert.Equal(t, "make", got)
	for _, pm := range []project.Manager{"", "rm -rf /;", "NPM"} {
		_, err := template.Fill("{pm} install", pm)
		assert.ErrorIs(t, err, project.ErrArgument, pm)
	}
	assert.Equal(t, []string{"image", "tag"}, template.Placeholders("docker tag <image>:<tag> x/<image>:<tag> < in > out <<E a<B>"))
	assert.Equal(t, []string{}, template.Placeholders("{pm} install"))
	assert.Equal(t, "git cherry-pick hash", template.Example("git cherry-pick <hash>"))
}
