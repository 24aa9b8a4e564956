package configrepo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lockPath = "/r/agentpack.lock.json"

func lock() deployment.Lock {
	tree := deployment.Tree{{Path: "AGENTS.md", Content: deployment.ContentOf([]byte("# Base instructions\n"))}}
	commit := strings.Repeat("0123456789", 4)
	return deployment.Lock{
		Version: 1, GeneratedAt: time.Date(2026, 3, 1, 11, 0, 0, 500_000_000, time.FixedZone("", 3600)),
		Modules: []deployment.LockedModule{
			{ID: "skill:x", Type: deployment.ModuleSkill, Version: commit, Sum: tree.Sum(), Manifest: tree.Entries(),
				Source: deployment.ResolvedSource{Git: &deployment.ResolvedGit{URL: "https://h/r?a=<b>&c", Commit: commit}}},
			{ID: "instructions:base", Type: deployment.ModuleInstructions, Version: deployment.LocalVersion, Sum: deployment.Tree{}.Sum(),
				Source: deployment.ResolvedSource{Local: &deployment.ResolvedLocal{Path: "modules/base"}}},
		},
	}
}

func TestLockFile(t *testing.T) {
	got, err := configrepo.EncodeLock(lock())
	require.NoError(t, err)
	golden.Text(t, "lock", string(got))
	back, err := configrepo.DecodeLock(got, lockPath)
	require.NoError(t, err)
	require.Equal(t, "instructions:base", back.Modules[0].ID)
	again, err := configrepo.EncodeLock(*back)
	require.NoError(t, err)
	assert.Equal(t, string(got), string(again))
	empty, err := configrepo.EncodeLock(deployment.Lock{})
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"version\": 1,\n  \"generated_at\": \"0001-01-01T00:00:00Z\",\n  \"modules\": []\n}\n", string(empty))
	given := lock()
	_, err = configrepo.EncodeLock(given)
	require.NoError(t, err)
	assert.Equal(t, "skill:x", given.Modules[0].ID, "the caller's lock stays in its order")
	given.Modules[0].Sum = deployment.Sum{}
	_, err = configrepo.EncodeLock(given)
	assert.ErrorIs(t, err, deployment.ErrLock)
}

func TestLockProblems(t *testing.T) {
	good, err := configrepo.EncodeLock(lock())
	require.NoError(t, err)
	sum := deployment.Tree{}.Sum().String()
	for name, c := range map[string]struct {
		old, new string
		want     error
		say      string
	}{
		"cut off":        {"}\n", "", deployment.ErrLock, "line"},
		"no object":      {string(good), "[]", deployment.ErrLock, "line 1"},
		"empty":          {string(good), "", deployment.ErrLock, ""},
		"conflict":       {"\"modules\"", "<<<<<<< ours\n\"modules\"", deployment.ErrLock, "line 4"},
		"no version":     {`"version": 1`, `"versio": 1`, deployment.ErrLock, "version is missing"},
		"version":        {`"version": 1`, `"version": 2`, deployment.ErrLockVersion, "version 2"},
		"version text":   {`"version": 1`, `"version": "one"`, deployment.ErrLock, ""},
		"time":           {"2026-03-01T", "2026-13-01T", deployment.ErrLock, ""},
		"sum":            {sum, sum[1:], deployment.ErrLock, ""},
		"sum missing":    {sum, "", deployment.ErrLock, "sha256"},
		"id":             {`"id": "skill:x"`, `"id": ""`, deployment.ErrLock, "no id"},
		"id twice":       {`"id": "skill:x"`, `"id": "instructions:base"`, deployment.ErrLock, "twice"},
		"id traversal":   {`"id": "skill:x"`, `"id": "skill:../x"`, deployment.ErrLock, "directory"},
		"type":           {`"type": "skill"`, `"type": "skil"`, deployment.ErrLock, "skil"},
		"no source":      {"\"local_path\": {\n          \"path\": \"modules/base\"\n        }", `"local_path": null`, deployment.ErrLock, "exactly one"},
		"resolved":       {`"resolved_version": "local"`, `"resolved_version": ""`, deployment.ErrLock, "resolved_version"},
		"path":           {`"modules/base"`, `"../base"`, deployment.ErrLock, "local_path"},
		"commit":         {`"commit": "0`, `"commit": "`, deployment.ErrLock, "40 hex"},
		"url":            {"https://h", "ext::h", deployment.ErrLock, "url"},
		"subdir":         {`"subdir": ""`, `"subdir": "/x"`, deployment.ErrLock, "subdir"},
		"entry path":     {`"path": "AGENTS.md"`, `"path": "../AGENTS.md"`, deployment.ErrLock, "file_manifest[0]"},
		"entry size":     {`"bytes": 20`, `"bytes": -1`, deployment.ErrLock, "negative"},
		"entry fraction": {`"bytes": 20`, `"bytes": 1.5`, deployment.ErrLock, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(string(good), c.old, c.new, 1)
			if name == "cut off" {
				text = strings.TrimSuffix(string(good), "}\n")
			}
			require.NotEqual(t, string(good), text)
			_, err := configrepo.DecodeLock([]byte(text), lockPath)
			require.ErrorIs(t, err, c.want)
			assert.Contains(t, err.Error(), c.say)
			details := fault.From(err).Details.(deployment.Details)
			assert.Equal(t, lockPath, details["path"])
			if c.want == deployment.ErrLock {
				assert.NotEmpty(t, details["error"])
				return
			}
			assert.Equal(t, []int{1}, details["supported"])
			assert.NotEmpty(t, details["hint"])
			assert.EqualValues(t, "2", details["version"])
		})
	}
}

func TestFrontmatter(t *testing.T) {
	for name, c := range map[string]struct {
		in    string
		want  map[string]any
		found bool
	}{
		"plain":        {"---\nname: a\ntags: [x]\n---\nbody\n", map[string]any{"name": "a", "tags": []any{"x"}}, true},
		"crlf":         {"---\r\nname: a\r\n---\r\nbody", map[string]any{"name": "a"}, true},
		"mark":         {"\ufeff---\nname: a\n---", map[string]any{"name": "a"}, true},
		"empty":        {"---\n---\n", map[string]any{}, true},
		"indented":     {"---\ntext: |\n  ---\n---\n", map[string]any{"text": "---\n"}, true},
		"longer fence": {"---\na: |\n ----\n---\n", map[string]any{"a": "----\n"}, true},
		"none":         {"# title\n---\na: b\n---\n", nil, false},
		"blank first":  {"\n---\na: b\n---\n", nil, false},
		"trailing":     {"--- \na: b\n---\n", nil, false},
		"nothing":      {"", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found, err := configrepo.Frontmatter([]byte(c.in))
			require.NoError(t, err)
			assert.Equal(t, c.found, found)
			assert.Equal(t, c.want, got)
		})
	}
	for name, c := range map[string]struct{ in, say string }{
		"open":      {"---\na: b\n", "not closed"},
		"only":      {"---", "not closed"},
		"list":      {"---\n- a\n---\n", "a mapping is expected"},
		"text":      {"---\nhello\n---\n", "a mapping is expected"},
		"invalid":   {"---\na: b\nc: d: e\n---\n", "line 3"},
		"repeated":  {"---\na: b\na: c\n---\n", "line 3"},
		"too large": {"---\na: " + strings.Repeat("x", configrepo.MaxFrontmatter) + "\n---\n", "65536"},
		"far away":  {"---\n" + strings.Repeat("a\n", configrepo.MaxFrontmatter), "65536"},
	} {
		_, _, err := configrepo.Frontmatter([]byte(c.in))
		require.ErrorIs(t, err, deployment.ErrConfig, name)
		assert.Contains(t, err.Error(), c.say, name)
		assert.Contains(t, fault.From(err).Details.(deployment.Details)["error"], c.say, name)
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add("---\nname: a\n---\nbody")
	f.Add("\ufeff---\r\na: {b: [c]}\r\n---")
	f.Fuzz(func(t *testing.T, doc string) {
		fields, found, err := configrepo.Frontmatter([]byte(doc))
		if err != nil {
			require.ErrorIs(t, err, deployment.ErrConfig)
			return
		}
		require.Equal(t, found, fields != nil)
	})
}
