package release_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/ecosystem/release"
)

func TestSetVersion(t *testing.T) {
	for name, c := range map[string]struct{ text, pattern, want, was string }{
		"plain":             {"1.0.2\n", `^(\S+)$`, "1.0.3-rc.1\n", "1.0.2"},
		"the first alone":   {`{"version": "1.0.2", "d": {"version": "9"}}`, `"version": "([^"]+)"`, `{"version": "1.0.3-rc.1", "d": {"version": "9"}}`, "1.0.2"},
		"a v stays":         {"tag: v1.0.2 # now\n", `tag: (\S+)`, "tag: v1.0.3-rc.1 # now\n", "1.0.2"},
		"carriage returns":  {"a\r\n__version__ = '1.0.2'\r\nb\r\n", `^__version__ = '([^']*)'$`, "a\r\n__version__ = '1.0.3-rc.1'\r\nb\r\n", "1.0.2"},
		"mixed endings":     {"a\nb\r\nversion=1.0.2\r\nc\n", `^version=(.*)$`, "a\nb\r\nversion=1.0.3-rc.1\r\nc\n", "1.0.2"},
		"no last newline":   {"version=1.0.2", `^version=(.*)$`, "version=1.0.3-rc.1", "1.0.2"},
		"a byte order mark": {"\ufeffversion=1.0.2\n", `version=(.*)$`, "\ufeffversion=1.0.3-rc.1\n", "1.0.2"},
	} {
		out, was, err := release.SetVersion("f", []byte(c.text), c.pattern, "1.0.3-rc.1")
		require.NoError(t, err, name)
		assert.Equal(t, c.want, string(out), name)
		assert.Equal(t, c.was, was, name)
	}
	for name, c := range map[string]struct{ text, pattern, says string }{
		"no match":          {"x", `version=(.*)`, "no match for its pattern"},
		"no group":          {"version=1", `version=.*`, "no group"},
		"no expression":     {"version=1", `version=(`, "is not a valid regular expression"},
		"an empty group":    {"version=\n", `version=(.*)$`, "no match for its pattern"},
		"a group aside":     {"a", `(b)?a`, "no match for its pattern"},
		"a group too tight": {"version=1.0.2", `version=(\d+\.\d+\.\d+)`, "does not match all of"},
		"an anchor too":     {"version=1.0.2", `version=(\d+\.\d+\.\d+)$`, "does not match all of"},
	} {
		_, _, err := release.SetVersion("f", []byte(c.text), c.pattern, "1.0.3-rc.1")
		require.ErrorIs(t, err, release.ErrText, name)
		assert.Contains(t, err.Error(), c.says, name)
		assert.Contains(t, err.Error(), "f", name)
	}
}

func TestChangelog(t *testing.T) {
	n := release.Notes{Version: "1.0.3", Date: "2026-01-02", Subjects: []string{"feat: b", "fix: a"}, More: 2}
	section := "## [1.0.3] - 2026-01-02\n\n- feat: b\n- fix: a\n- and 2 more commits\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":                {"", section},
		"a title":              {"# Changelog\n", "# Changelog\n\n" + section},
		"no newline":           {"# Changelog", "# Changelog\n\n" + section},
		"before the last":      {"# C\n\n## [1.0.2] - 2025-01-01\n\n- x\n", "# C\n\n" + section + "\n## [1.0.2] - 2025-01-01\n\n- x\n"},
		"unreleased and empty": {"# C\n\n## [Unreleased]\n\n## 1.0.2\n", "# C\n\n## [Unreleased]\n\n" + section + "\n## 1.0.2\n"},
		"unreleased, headings": {"## Unreleased\n### Added\n", "## Unreleased\n### Added\n\n" + section},
		"unreleased with text": {"# C\n\n## [Unreleased]\n\n- mine\n\n## [1.0.2]\n", "# C\n\n## [Unreleased]\n\n## [1.0.3] - 2026-01-02\n\n- mine\n\n## [1.0.2]\n"},
		"in a fence":           {"# C\n```\n## [1.0.3]\n## [Unreleased]\n```\n", "# C\n```\n## [1.0.3]\n## [Unreleased]\n```\n\n" + section},
		"carriage returns":     {"# C\r\n\r\n## 1.0.2\r\n", "# C\r\n\r\n" + strings.ReplaceAll(section, "\n", "\r\n") + "\r\n## 1.0.2\r\n"},
	} {
		out, changed := release.UpdateChangelog([]byte(c.text), n)
		assert.True(t, changed, name)
		assert.Equal(t, c.want, string(out), name)
		again, changed := release.UpdateChangelog(out, n)
		assert.False(t, changed, name)
		assert.Equal(t, out, again, name)
	}
	for _, there := range []string{"## [1.0.3]\n", "## 1.0.3 - soon\n", "## [v1.0.3] (soon)\r\n", "## v1.0.3"} {
		out, changed := release.UpdateChangelog([]byte(there), n)
		assert.False(t, changed)
		assert.Equal(t, there, string(out))
	}
	out, _ := release.UpdateChangelog(nil, release.Notes{Version: "1.0.0", Date: "2026-01-02"})
	assert.Contains(t, string(out), "No changes in this repository.")
}

// TestNothingElseIsTouched: what was there before stands before and behind what was written, byte for byte.
func TestNothingElseIsTouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"", "# C", "## [Unreleased]", "## Unreleased", "## 0.9.0", "- x", "```", "text", "## [", "##", "\r", "## v"})).Draw(t, "lines")
		text := []byte(strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")))
		out, changed := release.UpdateChangelog(bytes.Clone(text), release.Notes{Version: "1.0.0-beta.1", Date: "2026-01-02", Subjects: []string{"s"}})
		if !changed {
			require.Equal(t, text, out)
			return
		}
		pre := 0
		for pre < len(text) && text[pre] == out[pre] {
			pre++
		}
		post := 0
		for post < len(text)-pre && text[len(text)-1-post] == out[len(out)-1-post] {
			post++
		}
		require.Equal(t, len(text), pre+post)
		require.Equal(t, 1, bytes.Count(out, []byte("## [1.0.0-beta.1]")))
	})
}

func FuzzTexts(f *testing.F) {
	f.Add([]byte("version=1.0.2\r\n"), `version=(\S+)`)
	f.Add([]byte("## [Unreleased]\n- x\n"), `(.)`)
	f.Add([]byte("\r\r\n\n\r"), `(\s+)`)
	f.Fuzz(func(t *testing.T, text []byte, pattern string) {
		if len(pattern) > 200 {
			return
		}
		const next = "2.0.0-rc.1"
		if out, _, err := release.SetVersion("f", text, pattern, next); err == nil {
			at := bytes.Index(out, []byte(next))
			require.GreaterOrEqual(t, at, 0)
			require.Less(t, len(out)-len(text), len(next)+2)
		} else {
			require.ErrorIs(t, err, release.ErrText)
		}
		n := release.Notes{Version: next, Date: "2026-01-02"}
		out, changed := release.UpdateChangelog(text, n)
		require.Equal(t, changed, len(out) != len(text))
		_, again := release.UpdateChangelog(out, n)
		require.False(t, changed && again && !bytes.Contains(text, []byte("```")), "%q", out)
	})
}

func TestPlain(t *testing.T) {
	assert.Equal(t, "a b c", release.PlainSubject("a\x00b\u2028 \t c\x1b"))
	assert.LessOrEqual(t, len(release.PlainSubject(strings.Repeat("é", 1000))), 304)
	assert.True(t, strings.HasSuffix(release.PlainSubject(strings.Repeat("x", 1000)), "…"))
}

func TestChecks(t *testing.T) {
	sound := func() release.Repo {
		return release.Repo{Name: "api", Branch: "main", Usual: "main", Born: true, Highest: "v1.0.0", Versions: []release.File{{Path: "VERSION", Says: "1.0.0"}}, Log: release.File{Path: "CHANGELOG.md"}}
	}
	aim := release.Target{Tag: "v1.0.0", Current: release.Version{Major: 1}, NextTag: "v1.1.0", Next: release.Version{Major: 1, Minor: 1}, Prefix: "v", Stage: "stable"}
	first := func(a *release.Target, r *release.Repo, next release.Version, says string) {
		a.Tag, a.Current, a.Next, a.NextTag, r.Highest, r.Versions[0].Says = "", release.Version{}, next, "v"+next.String(), "", says
	}
	for name, c := range map[string]struct {
		change func(*release.Target, *release.Repo)
		status string
		says   string
	}{
		"sound":            {func(*release.Target, *release.Repo) {}, "ok", ""},
		"dirty":            {func(_ *release.Target, r *release.Repo) { r.Dirty = 2 }, "failed", "uncommitted: 2 changes"},
		"dirty, skipped":   {func(a *release.Target, r *release.Repo) { r.Dirty, a.Skip = 2, true }, "ok", ""},
		"dirty alpha":      {func(a *release.Target, r *release.Repo) { r.Dirty, a.Stage = 1, "alpha" }, "warning", "uncommitted: 1 change"},
		"strict alpha":     {func(a *release.Target, r *release.Repo) { r.Dirty, a.Stage, a.Strict = 1, "alpha", true }, "failed", "uncommitted: 1 change"},
		"another branch":   {func(_ *release.Target, r *release.Repo) { r.Branch = "topic" }, "warning", "stable release from topic"},
		"a release branch": {func(_ *release.Target, r *release.Repo) { r.Branch = "release/1" }, "ok", ""},
		"the usual branch": {func(_ *release.Target, r *release.Repo) { r.Branch, r.Usual = "trunk", "trunk" }, "ok", ""},
		"a branch, beta":   {func(a *release.Target, r *release.Repo) { r.Branch, a.Stage = "topic", "beta" }, "ok", ""},
		"file drift":       {func(_ *release.Target, r *release.Repo) { r.Versions[0].Says = "0.9.0" }, "warning", "VERSION has version 0.9.0"},
		"lower": {func(_ *release.Target, r *release.Repo) { r.Versions[0].Says = "1.2.0" }, "warning",
			"VERSION has version 1.2.0, but the current version is 1.0.0; this release lowers it to 1.1.0. If 1.2.0 was released, tag its commit in every repository first (git tag v1.2.0 COMMIT); if not, bump major, which is 2.0.0"},
		"a first that lowers": {func(a *release.Target, r *release.Repo) { first(a, r, release.Version{Patch: 1}, "0.1.0") }, "warning",
			"VERSION has version 0.1.0, but no release of it was found, so the first release starts from 0.0.0; this release lowers it to 0.0.1. If 0.1.0 was released, tag its commit in every repository first (git tag v0.1.0 COMMIT); if not, bump minor, which is 0.1.0"},
		"a first far below": {func(a *release.Target, r *release.Repo) { first(a, r, release.Version{Major: 1}, "v1.4.0") }, "warning", "(git tag v1.4.0 COMMIT)"},
		"a first, strict": {func(a *release.Target, r *release.Repo) {
			first(a, r, release.Version{Patch: 1}, "0.1.0")
			a.Strict = true
		}, "failed", "lowers it to 0.0.1"},
		"a first that is stated": {func(a *release.Target, r *release.Repo) { first(a, r, release.Version{Minor: 1}, "0.1.0") }, "ok", ""},
		"no first step yet": {func(a *release.Target, r *release.Repo) {
			first(a, r, release.Version{}, "0.1.0")
			a.NextTag = ""
		}, "warning", "; a patch lowers it to 0.0.1."},
		"tag drift":         {func(_ *release.Target, r *release.Repo) { r.Highest = "v2.0.0" }, "warning", "api v2.0.0"},
		"no changelog":      {func(_ *release.Target, r *release.Repo) { r.Log.Missing = true }, "failed", "CHANGELOG.md is missing"},
		"no changelog, rc":  {func(a *release.Target, r *release.Repo) { r.Log.Missing, a.Stage = true, "rc" }, "warning", "CHANGELOG.md is missing"},
		"behind":            {func(_ *release.Target, r *release.Repo) { r.Behind = 3 }, "warning", "3 commits behind"},
		"version file gone": {func(a *release.Target, r *release.Repo) { r.Versions[0].Missing, a.Skip = true, true }, "failed", "version file VERSION is missing"},
		"pattern":           {func(a *release.Target, r *release.Repo) { r.Versions[0].Err, a.Skip = errors.New("no match"), true }, "failed", "no match"},
		"touched":           {func(a *release.Target, r *release.Repo) { r.Changed, a.Skip = []string{"VERSION"}, true }, "failed", "VERSION has uncommitted changes, but a release writes to it"},
		"touched directory": {func(a *release.Target, r *release.Repo) {
			r.Versions[0].Path, r.Changed, a.Skip = "sub/VERSION", []string{"sub/"}, true
		}, "failed", "sub/VERSION has uncommitted changes, but a release writes to it"},
		"detached": {func(a *release.Target, r *release.Repo) { r.Branch, a.Skip = "", true }, "failed", "detached"},
		"a merge":  {func(a *release.Target, r *release.Repo) { r.Doing, a.Skip = "merge", true }, "failed", "a git merge is in progress"},
		"unborn":   {func(a *release.Target, r *release.Repo) { r.Born, a.Skip = false, true }, "failed", "no commit to release"},
		"tagged":   {func(a *release.Target, r *release.Repo) { r.HasNext, a.Skip = true, true }, "failed", "v1.1.0 already exists"},
		"nobody":   {func(a *release.Target, r *release.Repo) { a.Author, a.Skip = errors.New("who?"), true }, "failed", "who?"},
		"problem":  {func(a *release.Target, r *release.Repo) { r.Problem, a.Skip = "not cloned", true }, "failed", "api: not cloned"},
		"wrong":    {func(a *release.Target, r *release.Repo) { a.Wrong, a.Skip = []string{"no root"}, true }, "failed", "no root"},
	} {
		t.Run(name, func(t *testing.T) {
			a, r := aim, sound()
			c.change(&a, &r)
			got := release.RunChecks(a, []release.Repo{r})
			assert.Equal(t, c.status, got.Status)
			assert.Equal(t, c.status != "failed", got.OK)
			assert.Contains(t, strings.Join(append(got.Warnings, got.Errors...), "\n"), c.says)
			assert.Equal(t, c.says == "", len(got.Warnings)+len(got.Errors) == 0)
		})
	}
}

func TestAnnotation(t *testing.T) {
	a := release.Annotation{Tag: "v1.0.0", Message: "Hello.", Ecosystem: "demo", Branch: "main", Subjects: make([]string, 30), Commits: 70}
	assert.Equal(t, 20, strings.Count(a.Text(), "\n- \n"[1:]))
	assert.Contains(t, a.Text(), "- and 50 more commits\n")
	assert.True(t, strings.HasPrefix(a.Text(), "v1.0.0\n\nHello.\n\nEcosystem: demo\nPrevious: none\nBranch: main\n\n- "))
}

func TestRecords(t *testing.T) {
	was := "v0.9.0"
	r := release.Record{Schema: release.RecordVersion, Tag: "v1.0.0", Version: "1.0.0", Previous: &was, Repos: map[string]release.Recorded{"api": {SHA: "1", TagSHA: "2"}}}
	text, err := r.Text()
	require.NoError(t, err)
	for _, key := range []string{"schema_version", "version", "tag", "previous_tag", "timestamp", "action", "bump_part", "stage", "stage_num", "branch", "commit", "author", "commits_since_previous",
		"commit_subjects", "files_updated", "origin", "dry_run", "pushed", "ecosystem", "repos", "tag_sha"} {
		assert.Contains(t, string(text), `"`+key+`":`)
	}
	back, ok := release.ReadRecord(text)
	assert.True(t, ok)
	assert.Equal(t, r, back)
	for _, bad := range []string{"", "{}", "[]", `{"tag":1}`} {
		_, ok := release.ReadRecord([]byte(bad))
		assert.False(t, ok)
	}
}

// TestChecksOfManyRepositories say once what holds for more than a few of them.
func TestChecksOfManyRepositories(t *testing.T) {
	t.Parallel()
	var repos []release.Repo
	for _, name := range []string{"api", "web", "docs", "lib"} {
		repos = append(repos, missing(name))
	}
	repos[3].Dirty = 2
	c := release.RunChecks(release.Target{Stage: release.Stable, Empty: true}, repos)
	assert.Equal(t, []string{"api, web, docs, lib: CHANGELOG.md is missing; add it, because a stable release needs it",
		"lib: uncommitted: 2 changes; commit or stash what belongs to the release"}, c.Errors)
	assert.Contains(t, c.Passed, "api, web, docs, lib: on main")
	assert.Contains(t, c.Passed, "docs: clean", "three have a line each")
	two := release.RunChecks(release.Target{Stage: "rc"}, []release.Repo{missing("api"), missing("web")}).Warnings
	assert.Contains(t, two, "api, web: CHANGELOG.md is missing; no entry is written for this release", "what is wrong is said once")
}

func missing(repo string) release.Repo {
	return release.Repo{Name: repo, Branch: "main", Usual: "main", Born: true, Log: release.File{Path: "CHANGELOG.md", Missing: true}}
}
