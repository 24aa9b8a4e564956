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

func verdict(t *testing.T, command string) shellcmd.CheckReport {
	t.Helper()
	filled, err := shellcmd.FillPackageManager(shellcmd.FilledExample(command), project.NPM)
	require.NoError(t, err)
	in := shellcmd.CheckContext{Home: "/home/ann", Project: "/home/ann/shop", Parse: projectfile.Parser{}.Parse}
	return shellcmd.CheckScript(projectfile.Parser{}.Parse(filled), in)
}

func TestBuiltInTemplatesAreWholeAndUnique(t *testing.T) {
	ids, names := map[string]bool{}, map[string]bool{}
	perCategory := map[shellcmd.Category]int{}
	for _, b := range shellcmd.BuiltinTemplates() {
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
		assert.Contains(t, []shellcmd.Risk{shellcmd.RiskLow, shellcmd.RiskMedium, shellcmd.RiskHigh}, b.Risk)
		assert.NoError(t, shellcmd.CheckText(b.Command))
		assert.Equal(t, b.Command, strings.TrimSpace(b.Command))
		_, err := shellcmd.ParseCategory(string(b.Category))
		assert.NoError(t, err, b.ID)
	}
	assert.Len(t, ids, 139)
	for _, c := range shellcmd.Categories() {
		assert.Equal(t, c == shellcmd.CategoryCustom, perCategory[c] == 0, c)
	}
}

func TestRisksAgreeWithTheLinter(t *testing.T) {
	byHand := map[string]bool{"docker-compose-down": true, "db-redis-flush": true} // they delete data, which no shape of a command shows
	for _, b := range shellcmd.BuiltinTemplates() {
		r := verdict(t, b.Command)
		assert.NotEqual(t, shellcmd.VerdictBlock, r.Verdict, "%s: %v", b.ID, r.Findings)
		assert.Equal(t, r.Verdict == shellcmd.VerdictHigh || byHand[b.ID], b.Risk == shellcmd.RiskHigh, "%s: %v", b.ID, r.Findings)
	}
}

func TestBuiltInTemplatesAsTheyAreListed(t *testing.T) {
	var b strings.Builder
	for _, c := range shellcmd.Categories() {
		fmt.Fprintf(&b, "%s (%s)\n", c.Label(), c)
		for _, one := range shellcmd.SelectTemplates(nil, shellcmd.TemplateFilter{Category: c, Builtin: true}) {
			fmt.Fprintf(&b, "  %-24s %-6s %s\n", one.ID, one.Risk, one.Command)
		}
	}
	golden.Text(t, "builtin", b.String())
}

func TestNothingOfTheOriginalsThatCouldNotWorkIsLeft(t *testing.T) {
	for _, b := range shellcmd.BuiltinTemplates() {
		assert.NotRegexp(t, `codex (analyze|debug)|claude (brainstorm|release)|gemini (plan|summar)`, b.Command, b.ID)
		assert.NotRegexp(t, `^nvm |docker-compose |(run|exec) -it|^git rebase -i`, b.Command, b.ID)
	}
}

func TestBuiltInTemplatesBelongToWhoeverAsks(t *testing.T) {
	shellcmd.BuiltinTemplates()[0].Name = "changed"
	assert.NotEqual(t, "changed", shellcmd.BuiltinTemplates()[0].Name)
}

func TestCategoriesAreNamedInManyWays(t *testing.T) {
	for text, want := range map[string]shellcmd.Category{
		"git": shellcmd.CategoryGit, "GIT": shellcmd.CategoryGit, "Git Operations": shellcmd.CategoryGit, "package-manager": shellcmd.CategoryPackageManager, "PackageManager": shellcmd.CategoryPackageManager,
		"packagemanager": shellcmd.CategoryPackageManager, "package_manager": shellcmd.CategoryPackageManager, "Package Manager": shellcmd.CategoryPackageManager, "Node.js": shellcmd.CategoryNodeJS, "nodejs": shellcmd.CategoryNodeJS,
		"My Templates": shellcmd.CategoryCustom, " custom ": shellcmd.CategoryCustom, "shell & system": shellcmd.CategoryShell,
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
	assert.EqualError(t, err, `unknown category "rust"; use one of package-manager, git, docker, shell, testing, code-quality, kubernetes, database, cloud, ai, security, nodejs, custom`)
	assert.Len(t, shellcmd.Categories(), 13)
	assert.Equal(t, "rust", shellcmd.Category("rust").Label())
}

func TestFilters(t *testing.T) {
	mine, err := shellcmd.NewTemplate("custom-1", shellcmd.TemplateDraft{Name: "Ship it", Command: "make ship", Category: "Docker"}, noon())
	require.NoError(t, err)
	other, err := shellcmd.NewTemplate("custom-2", shellcmd.TemplateDraft{Name: "Docs", Command: "make docs", Description: "Builds the MANUAL"}, noon())
	require.NoError(t, err)
	ids := func(f shellcmd.TemplateFilter) []string {
		out := []string{}
		for _, one := range shellcmd.SelectTemplates([]shellcmd.Template{mine, other}, f) {
			out = append(out, one.ID)
		}
		return out
	}
	assert.Equal(t, []string{"custom-1", "custom-2"}, ids(shellcmd.TemplateFilter{}))
	assert.Len(t, ids(shellcmd.TemplateFilter{Builtin: true}), 141)
	docker := ids(shellcmd.TemplateFilter{Category: "DOCKER", Builtin: true})
	assert.Len(t, docker, 18)
	assert.Equal(t, "custom-1", docker[17], "built-in ones come first")
	assert.Equal(t, []string{"custom-1"}, ids(shellcmd.TemplateFilter{Category: shellcmd.CategoryDocker}))
	assert.Equal(t, []string{"custom-2"}, ids(shellcmd.TemplateFilter{Query: " manual "}), "in the description")
	assert.Equal(t, []string{"custom-1", "custom-2"}, ids(shellcmd.TemplateFilter{Query: "MAKE"}), "in the command")
	assert.Equal(t, []string{"custom-1"}, ids(shellcmd.TemplateFilter{Query: "ship it", Builtin: true}), "in the name")
	assert.Equal(t, []string{}, ids(shellcmd.TemplateFilter{Query: "nothing has this", Builtin: true}))
	assert.Equal(t, []string{"git-worktree-add", "git-worktree-list"}, ids(shellcmd.TemplateFilter{Category: shellcmd.CategoryGit, Query: "worktree", Builtin: true}))
}

func TestCustomTemplatesHaveBounds(t *testing.T) {
	made, err := shellcmd.NewTemplate("custom-x", shellcmd.TemplateDraft{
		Name: "  " + strings.Repeat("ä", 256) + " ", Command: " \n" + strings.Repeat("c", 8192) + "\n", Category: "ai", Description: strings.Repeat("d", 2048) + " ",
	}, noon())
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("ä", 256), made.Name)
	assert.Len(t, made.Command, 8192)
	assert.Equal(t, shellcmd.CategoryAI, made.Category)
	assert.True(t, made.IsCustom)

	good := shellcmd.TemplateDraft{Name: "n", Command: "c"}
	with := func(change func(*shellcmd.TemplateDraft)) shellcmd.TemplateDraft {
		d := good
		change(&d)
		return d
	}
	for says, d := range map[string]shellcmd.TemplateDraft{
		"name is empty":               with(func(d *shellcmd.TemplateDraft) { d.Name = " " }),
		"name has 257 characters":     with(func(d *shellcmd.TemplateDraft) { d.Name = strings.Repeat("ä", 257) }),
		"name contains a control":     with(func(d *shellcmd.TemplateDraft) { d.Name = "a\x1bb" }),
		"command is empty":            with(func(d *shellcmd.TemplateDraft) { d.Command = "\n" }),
		"command has 8193 bytes":      with(func(d *shellcmd.TemplateDraft) { d.Command = strings.Repeat("c", 8193) }),
		"command contains a NUL":      with(func(d *shellcmd.TemplateDraft) { d.Command = "a\x00b" }),
		"description has 2049 charac": with(func(d *shellcmd.TemplateDraft) { d.Description = strings.Repeat("d", 2049) }),
		`category "rust"`:             with(func(d *shellcmd.TemplateDraft) { d.Category = "rust" }),
	} {
		_, err := shellcmd.NewTemplate("custom-x", d, noon())
		assert.ErrorIs(t, err, project.ErrArgument, says)
		assert.ErrorContains(t, err, says)
	}
	for _, id := range []string{"", "x", "custom-", "pm-install"} {
		_, err := shellcmd.NewTemplate(id, good, noon())
		assert.ErrorIs(t, err, project.ErrArgument, id)
	}
}

func TestTheJSONForm(t *testing.T) {
	made, err := shellcmd.NewTemplate("custom-6f", shellcmd.TemplateDraft{Name: "Docs", Command: "make docs"}, noon())
	require.NoError(t, err)
	text, err := json.Marshal([]shellcmd.Template{made, shellcmd.BuiltinTemplates()[0]})
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"id":"custom-6f","name":"Docs","command":"make docs","category":"custom","isCustom":true,"risk":"medium","createdAt":"2026-05-04T12:00:00Z"},
		{"id":"pm-install","name":"Install dependencies","command":"{pm} install","category":"package-manager","description":"Installs what package.json and the lockfile ask for","isCustom":false,"risk":"medium"}
	]`, string(text))
}

func TestFillingIn(t *testing.T) {
	for _, pm := range []project.Manager{project.NPM, project.PNPM, project.Yarn, project.Bun} {
		got, err := shellcmd.FillPackageManager("rm -rf x && {pm} install && {pm} test", pm)
		require.NoError(t, err)
		assert.Equal(t, "rm -rf x && "+string(pm)+" install && "+string(pm)+" test", got)
	}
	got, err := shellcmd.FillPackageManager("make", "")
	require.NoError(t, err)
	assert.Equal(t, "make", got)
	for _, pm := range []project.Manager{"", "rm -rf /;", "NPM"} {
		_, err := shellcmd.FillPackageManager("{pm} install", pm)
		assert.ErrorIs(t, err, project.ErrArgument, pm)
	}
	assert.Equal(t, []string{"image", "tag"}, shellcmd.Placeholders("docker tag <image>:<tag> x/<image>:<tag> < in > out <<E a<B>"))
	assert.Equal(t, []string{}, shellcmd.Placeholders("{pm} install"))
	assert.Equal(t, "git cherry-pick hash", shellcmd.FilledExample("git cherry-pick <hash>"))
}
