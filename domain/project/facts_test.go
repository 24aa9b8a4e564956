package project_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

// found returns a directory with these entries and, when it is not empty, this package.json.
func found(t *testing.T, manifest string, entries ...string) project.DirContents {
	t.Helper()
	c := project.DirContents{}
	if manifest != "" {
		m, err := project.ParseManifest([]byte(manifest))
		require.NoError(t, err)
		c.Manifest = &m
		entries = append(entries, "package.json")
	}
	c.Has = func(name string) bool {
		for _, e := range entries {
			if e == name {
				return true
			}
		}
		return false
	}
	return c
}

func TestTypeIsTheFirstWhoseMarkIsThere(t *testing.T) {
	files := []struct{ mark, want string }{
		{"Cargo.toml", "rust"}, {"go.mod", "go"}, {"requirements.txt", "python"}, {"pyproject.toml", "python"}, {"setup.py", "python"},
		{"Gemfile", "ruby"}, {"pom.xml", "java"}, {"build.gradle", "java"}, {"build.gradle.kts", "java"}, {"Package.swift", "swift"}, {"pubspec.yaml", "dart"},
	}
	var all []string
	for i := len(files) - 1; i >= 0; i-- { // every file wins over all that come later, and over a package.json
		all = append(all, files[i].mark)
		for _, entries := range [][]string{{files[i].mark}, all} {
			f, err := project.DetectFacts(found(t, `{"dependencies":{"next":"1"}}`, entries...))
			require.NoError(t, err)
			assert.Equal(t, files[i].want, f.Type, entries)
		}
	}
	dependencies := []struct{ name, want string }{
		{"next", "nextjs"}, {"nuxt", "nuxt"}, {"@tauri-apps/api", "tauri"}, {"electron", "electron"}, {"react-native", "react-native"}, {"expo", "react-native"},
		{"vue", "vue"}, {"react", "react"}, {"svelte", "svelte"}, {"@angular/core", "angular"}, {"express", "node-server"}, {"fastify", "node-server"},
		{"koa", "node-server"}, {"hono", "node-server"}, {"left-pad", "node"},
	}
	var names []string
	for i := len(dependencies) - 1; i >= 0; i-- {
		names = append(names, fmt.Sprintf("%q:\"1\"", dependencies[i].name))
		for _, field := range []string{"dependencies", "devDependencies"} {
			for _, object := range []string{names[len(names)-1], strings.Join(names, ",")} {
				f, err := project.DetectFacts(found(t, fmt.Sprintf(`{%q:{%s}}`, field, object)))
				require.NoError(t, err)
				assert.Equal(t, dependencies[i].want, f.Type, object)
			}
		}
	}
	for name, c := range map[string]struct {
		in   project.DirContents
		want string
	}{
		"nothing":                  {found(t, ""), ""},
		"some other file":          {found(t, "", "Makefile", "cargo.toml", "src-tauri"), ""},
		"an empty package.json":    {found(t, "{}"), "node"},
		"src-tauri":                {found(t, `{"dependencies":{"react":"1"}}`, "src-tauri"), "tauri"},
		"src-tauri, but next":      {found(t, `{"dependencies":{"next":"1"}}`, "src-tauri"), "nextjs"},
		"peers do not count":       {found(t, `{"peerDependencies":{"react":"1"}}`), "node"},
		"an unreadable one":        {found(t, "", "package.json"), "node"},
		"a name that is no string": {found(t, `{"dependencies":{"react":1}}`), "node"},
	} {
		f, err := project.DetectFacts(c.in)
		require.NoError(t, err)
		assert.Equal(t, c.want, f.Type, name)
	}
}

func TestManagerIsTheFieldThenTheLockfile(t *testing.T) {
	locks := []struct {
		file string
		want project.Manager
	}{{"pnpm-lock.yaml", project.PNPM}, {"yarn.lock", project.Yarn}, {"bun.lockb", project.Bun}, {"bun.lock", project.Bun}, {"package-lock.json", project.NPM}}
	var all []string
	for i := len(locks) - 1; i >= 0; i-- {
		all = append(all, locks[i].file)
		for _, entries := range [][]string{{locks[i].file}, all} {
			f, err := project.DetectFacts(found(t, "", entries...))
			require.NoError(t, err)
			assert.Equal(t, locks[i].want, f.Manager, entries)
			assert.False(t, f.Corepack)
		}
		f, err := project.DetectFacts(found(t, `{"packageManager":"npm@10.0.0"}`, all...))
		require.NoError(t, err)
		assert.Equal(t, project.NPM, f.Manager, "the field comes first")
	}
	f, err := project.DetectFacts(found(t, "{}"))
	require.NoError(t, err)
	assert.Equal(t, project.NPM, f.Manager)
	f, err = project.DetectFacts(found(t, "", "go.mod"))
	require.NoError(t, err)
	assert.Empty(t, f.Manager)

	for field, want := range map[string][2]string{
		"npm@10.2.0":                {"npm", "10.2.0"},
		"pnpm@9.1.0+sha512.abc":     {"pnpm", "9.1.0"},
		"yarn@4.0.0-rc.1":           {"yarn", "4.0.0-rc.1"},
		"bun@1":                     {"bun", "1"},
		"pnpm":                      {"pnpm", ""},
		"pnpm@":                     {"pnpm", ""},
		"pnpm@^9":                   {"pnpm", "^9"},
		"pnpm@9.1.0+sha512.$(id);x": {"pnpm", "9.1.0"}, // the hash goes nowhere
	} {
		f, err := project.DetectFacts(found(t, fmt.Sprintf(`{"packageManager":%q}`, field)))
		require.NoError(t, err, field)
		assert.Equal(t, want, [2]string{string(f.Manager), f.ManagerVersion}, field)
		assert.True(t, f.Corepack)
	}
}

// hostileManagers returns packageManager fields that would do harm if any part of them were pasted anywhere.
func hostileManagers() []string {
	return []string{"npm;rm -rf /", "npm; rm -rf /@1", "../npm", "./npm@1", "/bin/sh@1", "npm@$(id)", "npm@`id`", "npm@1;id", "npm@1 && id", "npm@1\nid", "npm@--version=1 x",
		"npm@../../x", "npm@https://evil.test/npm.tgz", "NPM@1", "Npm", " npm@1", "npm @1", "npm\x00@1", "npx@1", "cnpm", "deno@2", "@scope/npm@1", "@1", "yаrn@1", "npm@1@2", "npm@１", "npm@-g"}
}

func TestNothingIsRunWithAHostileManager(t *testing.T) {
	for _, field := range hostileManagers() {
		t.Run(field, func(t *testing.T) {
			text := strings.NewReplacer("\n", `\n`, "\x00", `\u0000`).Replace(field)
			f, err := project.DetectFacts(found(t, `{"packageManager":"`+text+`","volta":{"node":"20"},"dependencies":{"vue":"3"}}`, "pnpm-lock.yaml", "turbo.json"))
			require.ErrorIs(t, err, project.ErrManifest)
			assert.Empty(t, f.Manager, "and no lockfile decides instead")
			assert.Empty(t, f.ManagerVersion)
			assert.False(t, f.Corepack)
			assert.Equal(t, [3]string{"vue", "20", "turbo"}, [3]string{f.Type, f.NodeVersion, f.MonorepoTool}, "everything else is filled in")
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := project.DetectFacts(found(t, `{"packageManager":"`+strings.Repeat("x", 100_000)+`"}`))
	require.ErrorIs(t, err, project.ErrManifest)
	assert.Less(t, len(err.Error()), 300)
	f, err := project.DetectFacts(found(t, `{"packageManager":{"name":"npm;id"}}`, "yarn.lock"))
	require.NoError(t, err, "what is no string is as good as absent")
	assert.Equal(t, project.Yarn, f.Manager)
}

func TestNodeVersionHasFourSources(t *testing.T) {
	const both = `{"volta":{"node":"20.1.0"},"engines":{"node":">=18"}}`
	for name, c := range map[string]struct {
		manifest, nvmrc, file, want string
	}{
		"none":             {"{}", "", "", ""},
		"no package.json":  {"", "", "v22", "v22"},
		"all":              {both, "lts/*", "19", "lts/*"},
		"node-version":     {both, " \t", "19", "19"},
		"volta":            {both, "", "", "20.1.0"},
		"engines":          {`{"engines":{"node":" >=18 ","npm":"9"}}`, "", "", ">=18"},
		"volta without":    {`{"volta":{"yarn":"1"},"engines":{"node":"16"}}`, "", "", "16"},
		"of another type":  {`{"volta":{"node":20},"engines":["node"]}`, "", "", ""},
		"blanks are cut":   {"{}", " v20 ", "", "v20"},
		"engines as array": {`{"engines":"node >= 4"}`, "", "", ""},
	} {
		in := found(t, c.manifest)
		in.NVMRC, in.NodeVersion = c.nvmrc, c.file
		f, err := project.DetectFacts(in)
		require.NoError(t, err)
		assert.Equal(t, c.want, f.NodeVersion, name)
	}
}

func TestMonorepos(t *testing.T) {
	for mark, tool := range map[string]string{"pnpm-workspace.yaml": "pnpm", "nx.json": "nx", "turbo.json": "turbo", "lerna.json": "lerna", "rush.json": "rush", "go.work": "go"} {
		f, err := project.DetectFacts(found(t, "", mark))
		require.NoError(t, err)
		assert.True(t, f.Monorepo)
		assert.Equal(t, tool, f.MonorepoTool)
	}
	for manifest, want := range map[string]bool{`{"workspaces":["a"]}`: true, `{"workspaces": {"packages":[]}}`: true, `{"workspaces":null}`: false,
		`{"workspaces":true}`: false, `{"workspaces":"a"}`: false, `{}`: false} {
		f, err := project.DetectFacts(found(t, manifest))
		require.NoError(t, err)
		assert.Equal(t, want, f.Monorepo, manifest)
		assert.Equal(t, map[bool]string{true: "npm"}[want], f.MonorepoTool, manifest)
	}
}

func TestBrokenManifestIsCarriedAlong(t *testing.T) {
	why := errors.New("it is a pipe")
	in := found(t, "", "package.json", "yarn.lock")
	in.Broken = why
	f, err := project.DetectFacts(in)
	require.NoError(t, err)
	assert.Equal(t, why, f.Broken)
	assert.Equal(t, project.Yarn, f.Manager)
}

func TestKnownManagers(t *testing.T) {
	for _, m := range []project.Manager{project.NPM, project.PNPM, project.Yarn, project.Bun} {
		assert.True(t, m.Known(), m)
	}
	for _, m := range []project.Manager{"", "unknown", "NPM", "npm ", "npx"} {
		assert.False(t, m.Known(), m)
	}
}
