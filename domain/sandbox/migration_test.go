package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

type migrate func(*sandbox.Object) (sandbox.MigrationReport, error)

func legacyParse(t testing.TB, text string) *sandbox.Object {
	t.Helper()
	o, err := sandbox.ParseObject([]byte(text))
	require.NoError(t, err)
	return o
}

func text(t testing.TB, o *sandbox.Object) string {
	t.Helper()
	out, err := o.Text()
	require.NoError(t, err)
	return string(out)
}

// TestOldFiles migrates files as earlier programs wrote them. The goldens show the document and the report; repeating it does nothing.
func TestOldFiles(t *testing.T) {
	for name, run := range map[string]migrate{"state_v0": sandbox.MigrateState, "state_v1": sandbox.MigrateState, "servers_v0": sandbox.MigrateServers} {
		t.Run(name, func(t *testing.T) {
			old, err := os.ReadFile("testdata/" + name + ".json")
			require.NoError(t, err)
			doc := legacyParse(t, string(old))
			report, err := run(doc)
			require.NoError(t, err)
			require.NotEmpty(t, report.Changes)
			now := text(t, doc)
			golden.Text(t, name, now+"\nchanges:\n  "+strings.Join(report.Changes, "\n  ")+"\nwarnings:\n  "+strings.Join(report.Warnings, "\n  ")+"\n")
			assert.NotContains(t, strings.Join(append(report.Changes, report.Warnings...), " "), "SECRET")
			assert.NotContains(t, strings.Join(append(report.Changes, report.Warnings...), " "), "TOKEN")

			again := legacyParse(t, now)
			report, err = run(again)
			require.NoError(t, err)
			assert.Empty(t, report.Changes)
			assert.Equal(t, now, text(t, again))
		})
	}
}

func TestUpToDateFilesAreLeftAlone(t *testing.T) {
	const state = `{"version":2,"global_mcp_tool":null,"projects":{"git@h:o/r.git":{"project_name":"n","worktrees":["x"]}},"x":1}`
	doc := legacyParse(t, state)
	report, err := sandbox.MigrateState(doc)
	require.NoError(t, err)
	assert.Empty(t, report.Changes)
	assert.Equal(t, text(t, legacyParse(t, state)), text(t, doc))

	const table = `{"version":"2.0","default_server":"nobody","servers":[{"id":"git@h:o/r.git","git_url":"git@h:o/r.git","password":"p"}]}`
	doc = legacyParse(t, table)
	report, err = sandbox.MigrateServers(doc)
	require.NoError(t, err)
	assert.Empty(t, report.Changes)
	assert.Equal(t, text(t, legacyParse(t, table)), text(t, doc))
}

func TestRunningOnesSurviveAMerge(t *testing.T) {
	doc := legacyParse(t, `{"version":2,"global_mcp_tool":null,"projects":{
		"git@h:o/r.git":{"base_dir":"/first","opencode":{"status":"stopped"}},
		"https://H/o/r":{"base_dir":"/second","opencode":{"status":"running"}},
		"ssh://git@h/o/r":{"base_dir":"/third","opencode":{"status":"running"}}}}`)
	report, err := sandbox.MigrateState(doc)
	require.NoError(t, err)
	projects, err := doc.Child("projects")
	require.NoError(t, err)
	assert.Equal(t, []string{"git@h:o/r.git"}, projects.Keys())
	assert.Contains(t, string(projects.Raw("git@h:o/r.git")), "/second")
	require.Len(t, report.Warnings, 2)
	assert.Contains(t, report.Warnings[0], "/first")
	assert.Contains(t, report.Warnings[1], "/third")
}

func TestDefaultServerIsRepointed(t *testing.T) {
	for _, row := range []struct{ before, want string }{
		{`"old"`, `"git@h:o/r.git"`}, {`"shown"`, `"git@h:o/r.git"`}, {`"nobody"`, `"git@h:o/r.git"`}, {`null`, `null`},
	} {
		doc := legacyParse(t, `{"default_server":`+row.before+`,"servers":[{"id":"old","project_name":"shown","git_url":"https://h/o/r"}]}`)
		_, err := sandbox.MigrateServers(doc)
		require.NoError(t, err)
		assert.Equal(t, row.want, string(doc.Raw("default_server")), row.before)
	}
}

func TestNamesAreTold(t *testing.T) {
	doc := legacyParse(t, `{"version":2,"global_mcp_tool":null,"projects":{
		"git@github.com:me/blog.git":{"project_name":"me-blog","base_dir":"/b"},
		"git@gitlab.com:me/blog.git":{"project_name":"me-blog","base_dir":"/b","sandbox_dir":"/b"},
		"git@github.com:me/shop.git":{},
		"odd":{"project_name":"me-shop"}}}`)
	report, err := sandbox.MigrateState(doc)
	require.NoError(t, err)
	projects, err := doc.Child("projects")
	require.NoError(t, err)
	assert.JSONEq(t, `{"project_name":"me-blog","base_dir":"/b"}`, string(projects.Raw("git@github.com:me/blog.git")))
	assert.Regexp(t, `^\{"project_name":"me-blog-[0-9a-f]{6}"\}$`, string(projects.Raw("git@gitlab.com:me/blog.git")))
	assert.Regexp(t, `^\{"project_name":"me-shop-[0-9a-f]{6}"\}$`, string(projects.Raw("git@github.com:me/shop.git")), "a name that an entry left alone has")
	assert.Len(t, report.Changes, 2)
	assert.Len(t, report.Warnings, 2)
}

func TestUnknownForms(t *testing.T) {
	for _, bad := range []string{
		`{"version":3}`, `{"version":"x"}`, `{"version":2.5}`, `{"projects":[]}`, `{"projects":{"a":1}}`, `{"projects":{"a":null}}`, `{"projects":"x"}`,
	} {
		_, err := sandbox.MigrateState(legacyParse(t, bad))
		assert.ErrorIs(t, err, sandbox.ErrShape, bad)
	}
	for _, bad := range []string{`{"servers":{}}`, `{"servers":[1]}`, `{"servers":[null]}`, `{"default_server":1}`} {
		_, err := sandbox.MigrateServers(legacyParse(t, bad))
		assert.ErrorIs(t, err, sandbox.ErrShape, bad)
	}
	for _, fine := range []string{`{}`, `{"projects":null}`} {
		_, err := sandbox.MigrateState(legacyParse(t, fine))
		assert.NoError(t, err)
	}
}

// FuzzState: any document is updated or rejected, and repeating it changes nothing.
func FuzzState(f *testing.F) {
	for _, name := range []string{"state_v0", "state_v1"} {
		old, err := os.ReadFile("testdata/" + name + ".json")
		require.NoError(f, err)
		f.Add(string(old))
	}
	f.Add(`{"projects":{"a":{"git_url":"https://h/o/r","worktrees":3}}}`)
	f.Fuzz(func(t *testing.T, text string) { settles(t, text, sandbox.MigrateState) })
}

// FuzzServers is FuzzState for the table of servers.
func FuzzServers(f *testing.F) {
	old, err := os.ReadFile("testdata/servers_v0.json")
	require.NoError(f, err)
	f.Add(string(old))
	f.Add(`{"servers":[{"id":"git@h:o/r"},{"id":1,"git_url":"git@h:o/r","sandbox_dir":null}],"default_server":""}`)
	f.Fuzz(func(t *testing.T, text string) { settles(t, text, sandbox.MigrateServers) })
}

func settles(t *testing.T, input string, run migrate) {
	doc, err := sandbox.ParseObject([]byte(input))
	if err != nil {
		return
	}
	if _, err := run(doc); err != nil {
		require.ErrorIs(t, err, sandbox.ErrShape)
		return
	}
	once := text(t, doc)
	again := legacyParse(t, once)
	report, err := run(again)
	require.NoError(t, err)
	require.Empty(t, report.Changes, "%s", once)
	require.Equal(t, once, text(t, again))
}
