package ecosystem_test

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
)

// of reads a document that is given as JSON; numbers are float64, as they may be.
func of(t *testing.T, doc string) ecosystem.ManifestResult {
	t.Helper()
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(doc), &members))
	return ecosystem.ReadManifest("demo", members)
}

// TestBranchesAreAsPeopleReadThem: full refs, and names with characters that cannot be seen, are refused with what to write instead.
func TestBranchesAreAsPeopleReadThem(t *testing.T) {
	for name, want := range map[string]string{"refs/heads/main": "write main", "refs/heads/feature/x": "write feature/x", "refs/tags/v1": "write main", "ma\\u202ein": "type the name again", "main\\u200b": "type the name again",
		"\\u2066main": "type the name again"} {
		r := of(t, `{"name":"demo","repos":[{"name":"api","url":"git@host:o/api.git","branch":"`+name+`"}]}`)
		require.Len(t, r.Errors, 1, name)
		assert.Equal(t, "repos[0].branch", r.Errors[0].Path)
		assert.Contains(t, r.Errors[0].Fix, want)
	}
	for _, doc := range []string{`"workspace":{"repo_branch_prefix":"refs/heads/x"}`, `"workspace":{"branch_prefix":"w\u202eb"}`, `"release":{"tag_prefix":"v\u200b"}`} {
		assert.Len(t, of(t, strings.TrimSuffix(least, "}")+","+doc+"}").Errors, 1, doc)
	}
	assert.Empty(t, of(t, strings.Replace(least, `"branch":"main"`, `"branch":"größe/日本"`, 1)).Errors)
}

func TestSavedCommands(t *testing.T) {
	r := of(t, strings.TrimSuffix(least, "}")+`,"commands":{"test":["go","test","./...",""],"lint":"make lint | head"}}`)
	assert.Empty(t, r.Errors)
	assert.Equal(t, []ecosystem.SavedCommand{{Name: "lint", Command: []string{"sh", "-c", "make lint | head"}}, {Name: "test", Command: []string{"go", "test", "./...", ""}}}, r.Manifest.Commands)
	_, err := r.Manifest.Command("tset")
	require.ErrorIs(t, err, ecosystem.ErrArguments)
	assert.Contains(t, err.Error(), "lint, test")
	for _, doc := range []string{`{"a b":"x"}`, `{"x":[]}`, `{"x":[1]}`, `{"x":[""]}`, `{"x":{}}`, `{"x":null}`, `{"x":["a\u0000"]}`, `[]`} {
		r := of(t, strings.TrimSuffix(least, "}")+`,"commands":`+doc+`}`)
		assert.Len(t, r.Errors, 1, doc)
		assert.Empty(t, r.Manifest.Commands, doc)
	}
	assert.NotEmpty(t, of(t, strings.TrimSuffix(least, "}")+`,"release":{"versions":"each"}}`).Errors)
	assert.True(t, of(t, strings.TrimSuffix(least, "}")+`,"release":{"versions":"independent"}}`).Manifest.Release.Independent)
}

const least = `{"name":"demo","repos":[{"name":"api","url":"git@host:o/api.git","branch":"main"}]}`

func TestEverythingHasItsDefault(t *testing.T) {
	r := of(t, least)
	assert.Empty(t, r.Errors)
	assert.Empty(t, r.Warnings)
	assert.Equal(t, ecosystem.Manifest{
		Name: "demo", WorkspaceDir: "worktrees/demo", BranchPrefix: "workspace", TicketPrefix: "feature",
		Repos: []ecosystem.Repo{{Name: "api", URL: "git@host:o/api.git", Branch: "main", Path: "repos/api", Enabled: true}},
		Spin:  ecosystem.Spin{TimeoutSeconds: 600},
		Release: ecosystem.Release{Repos: []string{"api"}, TagPrefix: "v", Changelog: "CHANGELOG.md",
			Standard: true, RecordDir: "ecosystems/demo/releases"},
	}, r.Manifest)
}

func TestEverythingIsRead(t *testing.T) {
	r := of(t, `{"name":"demo","description":" two\nlines ","workspace_dir":"work/./demo/","provisioner":"local","retired":true,
		"workspace":{"branch_prefix":"ws/","repo_branch_prefix":"topic"},"devcontainer":{"enabled":true},"context":{"max_files":200,"summary_tokens":2000},
		"guardrails":{"no_touch_paths":["*.pem","secrets/","**/credentials/**"]},
		"repos":[{"name":"api","url":"file:///srv/api.git","branch":"dev","path":"src/api","run":"./serve","include":["*.go"],"exclude":["vendor/"]},
			{"name":"docs","url":"/srv/docs","branch":"main","readonly":true},{"name":"old","url":"https://host/o/old","branch":"main","enabled":false}],
		"release":{"repos":["api"],"tag_prefix":"","version_files":[{"repo":"api","path":"VERSION"},{"repo":"api","path":"a/setup.py","pattern":"v=(.*)"}],
			"changelog":"docs/CHANGES.md","record_dir":"records","push":true}}`)
	assert.Empty(t, r.Errors)
	assert.Empty(t, r.Warnings)
	assert.Equal(t, ecosystem.Manifest{
		Name: "demo", Description: "two\nlines", WorkspaceDir: "work/demo", Provisioner: "local", Retired: true, BranchPrefix: "ws", TicketPrefix: "topic",
		Devcontainer: true, MaxFiles: 200, SummaryTokens: 2000, NoTouch: []string{"*.pem", "secrets/", "**/credentials/**"},
		Repos: []ecosystem.Repo{
			{Name: "api", URL: "file:///srv/api.git", Branch: "dev", Path: "src/api", Enabled: true, Run: "./serve", Include: []string{"*.go"}, Exclude: []string{"vendor/"}},
			{Name: "docs", URL: "/srv/docs", Branch: "main", Path: "repos/docs", ReadOnly: true, Enabled: true},
			{Name: "old", URL: "https://host/o/old", Branch: "main", Path: "repos/old"},
		},
		Spin: ecosystem.Spin{TimeoutSeconds: 600},
		Release: ecosystem.Release{Repos: []string{"api"}, Changelog: "docs/CHANGES.md", RecordDir: "records", Push: true,
			VersionFiles: []ecosystem.VersionFile{{Repo: "api", Path: "VERSION", Pattern: ecosystem.VersionPattern}, {Repo: "api", Path: "a/setup.py", Pattern: "v=(.*)"}}},
	}, r.Manifest)
}

func TestInlineProvisioner(t *testing.T) {
	r := of(t, strings.TrimSuffix(least, "}")+`,"spin":{"deploy":"make up","destroy":"make down","status":"make ps","plan":"make -n up","estimate_seconds":30,"timeout_seconds":3600}}`)
	assert.Empty(t, r.Errors)
	assert.Empty(t, r.Warnings)
	assert.Equal(t, ecosystem.Spin{Deploy: "make up", Destroy: "make down", Status: "make ps", Plan: "make -n up", EstimateSeconds: 30, TimeoutSeconds: 3600}, r.Manifest.Spin)
	assert.True(t, r.Manifest.Spin.Inline())
}

// with returns the least manifest with more members in it; repo is one with a repository that has them.
func with(members string) string { return strings.TrimSuffix(least, "}") + "," + members + "}" }

func repo(members string) string {
	return `{"name":"demo","repos":[{"name":"api","url":"git@host:o/api.git","branch":"main"},{` + members + `}]}`
}

func TestErrors(t *testing.T) {
	second := `"name":"web","url":"git@host:o/web.git","branch":"main"`
	for doc, want := range map[string]string{
		`{}`:                                                                               "repos",
		`{"name":"demo","repos":null}`:                                                     "repos",
		`{"name":"demo","repos":{}}`:                                                       "repos",
		`{"name":"demo","repos":["api"]}`:                                                  "repos[0]",
		`{"name":"other","repos":[]}`:                                                      "name",
		`{"name":7,"repos":[]}`:                                                            "name",
		with(`"description":[]`):                                                           "description",
		with(`"description":"a\u0000b"`):                                                   "description",
		with(`"provisioner":"../p"`):                                                       "provisioner",
		with(`"retired":"yes"`):                                                            "retired",
		with(`"workspace":"x"`):                                                            "workspace",
		with(`"workspace":{"branch_prefix":1}`):                                            "workspace.branch_prefix",
		with(`"workspace":{"branch_prefix":"a b"}`):                                        "workspace.branch_prefix",
		with(`"workspace":{"repo_branch_prefix":"-x"}`):                                    "workspace.repo_branch_prefix",
		with(`"workspace_dir":"../demo"`):                                                  "workspace_dir",
		with(`"workspace_dir":"/tmp/demo"`):                                                "workspace_dir",
		with(`"workspace_dir":"."`):                                                        "workspace_dir",
		with(`"workspace_dir":".git/x"`):                                                   "workspace_dir",
		with(`"workspace_dir":"ecosystems/x"`):                                             "workspace_dir",
		with(`"devcontainer":{"enabled":1}`):                                               "devcontainer.enabled",
		with(`"context":{"max_files":0}`):                                                  "context.max_files",
		with(`"context":{"max_files":1.5}`):                                                "context.max_files",
		with(`"context":{"max_files":"many"}`):                                             "context.max_files",
		with(`"context":{"summary_tokens":99}`):                                            "context.summary_tokens",
		with(`"guardrails":{"no_touch_paths":"*.pem"}`):                                    "guardrails.no_touch_paths",
		with(`"guardrails":{"no_touch_paths":["a",5]}`):                                    "guardrails.no_touch_paths[1]",
		with(`"guardrails":{"no_touch_paths":["[a"]}`):                                     "guardrails.no_touch_paths[0]",
		with(`"guardrails":{"no_touch_paths":[" "]}`):                                      "guardrails.no_touch_paths[0]",
		with(`"spin":{"deploy":["make"]}`):                                                 "spin.deploy",
		with(`"spin":{"timeout_seconds":3601}`):                                            "spin.timeout_seconds",
		with(`"spin":{"timeout_seconds":0}`):                                               "spin.timeout_seconds",
		with(`"spin":{"estimate_seconds":-1}`):                                             "spin.estimate_seconds",
		with(`"release":{"repos":["web"]}`):                                                "release.repos[0]",
		with(`"release":{"tag_prefix":"a b"}`):                                             "release.tag_prefix",
		with(`"release":{"tag_prefix":"-"}`):                                               "release.tag_prefix",
		with(`"release":{"changelog":"../C.md"}`):                                          "release.changelog",
		with(`"release":{"record_dir":".git/x"}`):                                          "release.record_dir",
		with(`"release":{"push":"no"}`):                                                    "release.push",
		with(`"release":{"version_files":[{"repo":"x","path":"V"}]}`):                      "release.version_files[0].repo",
		with(`"release":{"version_files":[{"repo":"api"}]}`):                               "release.version_files[0].path",
		with(`"release":{"version_files":[{"repo":"api","path":"/V"}]}`):                   "release.version_files[0].path",
		with(`"release":{"version_files":[{"repo":"api","path":"V","pattern":"("}]}`):      "release.version_files[0].pattern",
		with(`"release":{"version_files":[{"repo":"api","path":"V","pattern":"x.y"}]}`):    "release.version_files[0].pattern",
		repo(`"url":"git@host:o/web.git","branch":"main"`):                                 "repos[1].name",
		repo(`"name":"","url":"git@host:o/web.git","branch":"main"`):                       "repos[1].name",
		repo(`"name":".web","url":"git@host:o/web.git","branch":"main"`):                   "repos[1].name",
		repo(`"name":"` + strings.Repeat("a", 65) + `","url":"/w","branch":"main"`):        "repos[1].name",
		repo(`"name":"web","branch":"main"`):                                               "repos[1].url",
		repo(`"name":"web","url":3,"branch":"main"`):                                       "repos[1].url",
		repo(`"name":"web","url":"-uX","branch":"main"`):                                   "repos[1].url",
		repo(`"name":"web","url":"ext::sh -c id","branch":"main"`):                         "repos[1].url",
		repo(`"name":"web","url":"https://","branch":"main"`):                              "repos[1].url",
		repo(`"name":"web","url":"https://me:secret@host/o/web","branch":"main"`):          "repos[1].url",
		repo(`"name":"web","url":"https://0123456789abcdef0123@host/o/w","branch":"main"`): "repos[1].url",
		repo(`"name":"web","url":"file:///srv/../x","branch":"main"`):                      "repos[1].url",
		repo(`"name":"web","url":"/w","branch":"a..b"`):                                    "repos[1].branch",
		repo(`"name":"web","url":"/w","branch":"--all"`):                                   "repos[1].branch",
		repo(`"name":"web","url":"/w","branch":7`):                                         "repos[1].branch",
		repo(`"name":"api","url":"/w","branch":"main"`):                                    "repos[1].name",
		repo(second + `,"path":"repos/api"`):                                               "repos[1].path",
		repo(second + `,"path":"./repos//api/"`):                                           "repos[1].path",
		repo(second + `,"path":"repos/api/web"`):                                           "repos[1].path",
		repo(second + `,"path":"repos"`):                                                   "repos[1].path",
		repo(second + `,"path":"../web"`):                                                  "repos[1].path",
		repo(second + `,"path":"repos/../../web"`):                                         "repos[1].path",
		repo(second + `,"path":"/web"`):                                                    "repos[1].path",
		repo(second + `,"path":"."`):                                                       "repos[1].path",
		repo(second + `,"path":".git/web"`):                                                "repos[1].path",
		repo(second + `,"path":"x/.GIT/web"`):                                              "repos[1].path",
		repo(second + `,"path":"tickets/web"`):                                             "repos[1].path",
		repo(second + `,"path":["x"]`):                                                     "repos[1].path",
		repo(second + `,"readonly":"true"`):                                                "repos[1].readonly",
		repo(second + `,"enabled":0`):                                                      "repos[1].enabled",
		repo(second + `,"include":[1]`):                                                    "repos[1].include[0]",
		repo(second + `,"exclude":"x"`):                                                    "repos[1].exclude",
		repo(second + `,"run":true`):                                                       "repos[1].run",
	} {
		r := of(t, doc)
		assert.False(t, r.Valid(), doc)
		assert.Contains(t, paths(r.Errors), want, doc)
		for _, p := range slices.Concat(r.Errors, r.Warnings) {
			assert.NotEmpty(t, p.Message, doc)
			assert.NotEmpty(t, p.Fix, doc)
			assert.NotContains(t, p.Message+p.Fix, "secret", doc)
		}
		sound(t, r.Manifest)
	}
}

func TestWarnings(t *testing.T) {
	second := `"name":"web","url":"git@host:o/web.git","branch":"main"`
	for doc, want := range map[string]string{
		`{"repos":[]}`:                                                    "name",
		`{"name":"demo","repos":[]}`:                                      "repos",
		with(`"surprise":1`):                                              "surprise",
		with(`"workspace":{"prefix":"x"}`):                                "workspace.prefix",
		with(`"context":{"max_files":50001}`):                             "context.max_files",
		with(`"context":{"summary_tokens":200001}`):                       "context.summary_tokens",
		with(`"guardrails":{"no_touch_paths":["/x"]}`):                    "guardrails.no_touch_paths[0]",
		with(`"spin":{"status":"make ps"}`):                               "spin.deploy",
		with(`"spin":{"deploy":"make"}`):                                  "spin.destroy",
		with(`"provisioner":"local","spin":{"deploy":"a","destroy":"b"}`): "provisioner",
		with(`"release":{"repos":["api","api"]}`):                         "release.repos[1]",
		repo(second + `,"colour":"red"`):                                  "repos[1].colour",
		repo(`"name":"web","url":"/w"`):                                   "repos[1].branch",
		repo(`"name":"web","url":"me@host","branch":"main"`):              "repos[1].url",
		repo(`"name":"web","url":"https://me@host/o/w","branch":"main"`):  "repos[1].url",
		repo(`"name":"API","url":"/w","branch":"main"`):                   "repos[1].name",
	} {
		r := of(t, doc)
		assert.True(t, r.Valid(), "%s: %v", doc, r.Errors)
		assert.Contains(t, paths(r.Warnings), want, doc)
	}
}

func paths(found []ecosystem.Problem) (out []string) {
	for _, p := range found {
		out = append(out, p.Path)
	}
	return out
}

func TestUsualURLsAreNotDoubted(t *testing.T) {
	for _, url := range []string{"git@github.com:org/api.git", "https://host/o/r", "http://host/o/r.git", "ssh://git@host:2222/o/r.git", "file:///srv/git/api.git", "/srv/git/api.git", "local"} {
		r := of(t, repo(`"name":"web","url":"`+url+`","branch":"main"`))
		assert.Empty(t, r.Errors, url)
		assert.Empty(t, r.Warnings, url)
		assert.Equal(t, url, r.Manifest.Repos[1].URL)
	}
}

func TestAsManyRepositoriesAsMayBe(t *testing.T) {
	for n, valid := range map[int]bool{ecosystem.MaxRepos: true, ecosystem.MaxRepos + 1: false} {
		repos := make([]any, n)
		for i := range repos {
			repos[i] = map[string]any{"name": fmt.Sprint("r", i), "url": "/srv/r", "branch": "main"}
		}
		r := ecosystem.ReadManifest("demo", map[string]any{"name": "demo", "repos": repos})
		assert.Equal(t, valid, r.Valid(), n)
		assert.Equal(t, valid, len(r.Warnings) == 1, "many are worth a word")
		assert.Len(t, r.Manifest.Repos, ecosystem.MaxRepos)
	}
}

func TestWhatIsFoundIsBounded(t *testing.T) {
	doc := map[string]any{"name": "demo", "repos": []any{}}
	for i := range 5000 {
		doc[fmt.Sprint("key", i, strings.Repeat("x", 500))] = i
	}
	r := ecosystem.ReadManifest("demo", doc)
	assert.LessOrEqual(t, len(r.Warnings), 100)
	assert.Less(t, len(r.Warnings[0].Path), 200)
}

func TestNamesThatGitTakesNoBranchOf(t *testing.T) {
	for _, name := range []string{"a..b", "a.lock", "a."} {
		r := ecosystem.ReadManifest(name, map[string]any{"name": name, "repos": []any{}})
		assert.Contains(t, paths(r.Errors), "workspace.branch_prefix", name)
	}
}

func TestVersionPattern(t *testing.T) {
	re := regexp.MustCompile(ecosystem.VersionPattern)
	for text, want := range map[string]string{
		"1.2.3\n": "1.2.3", "v1.2.3": "1.2.3", "__version__ = \"1.2.3-rc.1\"\n": "1.2.3-rc.1", "{\n  \"version\": \"0.1.0\",\n}": "0.1.0",
		"[package]\nname = \"x\"\nversion = \"2.0.0-alpha.1\"\n": "2.0.0-alpha.1", "VERSION=3.4.5\n": "3.4.5", "version: 1.0.0": "1.0.0",
	} {
		if m := re.FindStringSubmatch(text); assert.NotNil(t, m, text) {
			assert.Equal(t, want, m[1], text)
		}
	}
	assert.Nil(t, re.FindStringSubmatch("golang 1.2.3\nrequires = \"1.2.3\""))
}

func TestNew(t *testing.T) {
	n := ecosystem.Draft{Name: "demo", Description: "Two: \"services\"", Provisioner: "local", Repos: []ecosystem.Repo{
		{Name: "api", URL: "/srv/api.git"}, {Name: "docs", URL: "git@host:o/docs.git", Branch: "dev", ReadOnly: true}}}
	r := n.Read()
	assert.Empty(t, r.Errors)
	assert.Empty(t, r.Warnings)
	assert.Equal(t, []ecosystem.Repo{{Name: "api", URL: "/srv/api.git", Branch: "main", Path: "repos/api", Enabled: true},
		{Name: "docs", URL: "git@host:o/docs.git", Branch: "dev", Path: "repos/docs", ReadOnly: true, Enabled: true}}, r.Manifest.Repos)
	assert.Equal(t, n.Description, r.Manifest.Description)

	assert.True(t, ecosystem.Draft{Name: "demo"}.Read().Valid(), "one may begin without repositories")
	assert.False(t, ecosystem.Draft{Name: "../demo"}.Read().Valid())
	assert.False(t, ecosystem.Draft{Name: "demo", Repos: []ecosystem.Repo{{Name: "a", URL: "/a"}, {Name: "a", URL: "/b"}}}.Read().Valid())
	assert.Equal(t, "repos[0].url", ecosystem.Draft{Name: "demo", Repos: []ecosystem.Repo{{Name: "a"}}}.Read().Errors[0].Path)
}

// sound holds whatever was read to what others rely on, even where it has errors.
func sound(t testing.TB, m ecosystem.Manifest) {
	t.Helper()
	for _, dir := range []string{m.WorkspaceDir, m.Release.Changelog, m.Release.RecordDir} {
		require.True(t, below(dir), "%q", dir)
	}
	require.LessOrEqual(t, len(m.Repos), ecosystem.MaxRepos)
	for i, r := range m.Repos {
		require.NoError(t, ecosystem.CheckName(r.Name))
		require.True(t, below(r.Path), "%q", r.Path)
		_, err := git.ParseBranch(r.Branch)
		require.NoError(t, err)
		require.False(t, strings.HasPrefix(r.URL, "-"))
		for _, other := range m.Repos[:i] {
			require.NotEqual(t, other.Name, r.Name)
			require.False(t, other.Path == r.Path || strings.HasPrefix(other.Path, r.Path+"/") || strings.HasPrefix(r.Path, other.Path+"/"))
		}
	}
	for _, v := range m.Release.VersionFiles {
		require.True(t, below(v.Path), "%q", v.Path)
		require.Positive(t, regexp.MustCompile(v.Pattern).NumSubexp())
	}
	require.GreaterOrEqual(t, m.Spin.TimeoutSeconds, 1)
	require.LessOrEqual(t, m.Spin.TimeoutSeconds, 3600)
}

func below(p string) bool {
	return p != "" && p != "." && p == path.Clean(p) && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../")
}

// FuzzOf reads any JSON document: nothing panics, and what is read is sound, whatever is wrong with it.
func FuzzOf(f *testing.F) {
	f.Add("demo", least)
	f.Add("demo", repo(`"name":"web","url":"/w","branch":"a..b","path":"repos/api/x"`))
	f.Add("a.lock", with(`"release":{"version_files":[{"repo":"api","path":"V","pattern":"(x"}]},"spin":{"timeout_seconds":1e300}`))
	f.Add("..", with(`"workspace_dir":"..\\x","workspace":{"branch_prefix":"///"},"context":null`))
	f.Fuzz(func(t *testing.T, name, doc string) {
		var members map[string]any
		if json.Unmarshal([]byte(doc), &members) != nil || ecosystem.CheckName(name) != nil {
			return
		}
		r := ecosystem.ReadManifest(name, members)
		sound(t, r.Manifest)
		if r.Valid() {
			_, err := git.ParseBranch(r.Manifest.WorkspaceBranch())
			require.NoError(t, err)
		}
		for _, p := range slices.Concat(r.Errors, r.Warnings) {
			require.NotEmpty(t, p.Message)
			require.NotEmpty(t, p.Fix)
		}
	})
}
