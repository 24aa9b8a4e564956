package projectfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/ports/projectport"
)

func statesFacts(t *testing.T, open openDirectories) {
	for name, c := range map[string]struct {
		entries []string
		want    project.Facts
	}{
		"nothing":       {nil, project.Facts{}},
		"go":            {[]string{"go.mod", "go.work", "README.md"}, project.Facts{Type: "go", Monorepo: true, MonorepoTool: "go"}},
		"rust before":   {[]string{"Cargo.toml", "package.json = {}"}, project.Facts{Type: "rust", Manager: project.NPM}},
		"next and pnpm": {[]string{`package.json = {"dependencies":{"react":"1","next":"1"},"engines":{"node":">=20"}}`, "pnpm-lock.yaml"}, project.Facts{Type: "nextjs", Manager: project.PNPM, DecidedBy: "pnpm-lock.yaml", NodeVersion: ">=20"}},
		"a directory":   {[]string{"package.json = {}", "src-tauri/"}, project.Facts{Type: "tauri", Manager: project.NPM}},
		"field first": {[]string{`package.json = {"packageManager":"yarn@4.1.0+sha224.abc"}`, "pnpm-lock.yaml"},
			project.Facts{Type: "node", Manager: project.Yarn, ManagerVersion: "4.1.0", Corepack: true, Declared: "yarn@4.1.0+sha224.abc", DecidedBy: "packageManager"}},
		"nvmrc":           {[]string{".nvmrc =   v20.1.0 \r\nmore\n", ".node-version = 18"}, project.Facts{NodeVersion: "v20.1.0"}},
		"node-version":    {[]string{".nvmrc = \n\n", ".node-version = 18"}, project.Facts{NodeVersion: "18"}},
		"nvmrc of bytes":  {[]string{".nvmrc = \x00\xff\x1b[2J"}, project.Facts{}},
		"nvmrc elsewhere": {[]string{".nvmrc -> /etc/hostname"}, project.Facts{}},
		"workspaces":      {[]string{`package.json = {"workspaces":["packages/*"]}`}, project.Facts{Type: "node", Manager: project.NPM, Monorepo: true, MonorepoTool: "npm"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := grow(t, land(t), c.entries...)
			got, err := open(t, machine{Home: "/nowhere"}).Facts(t.Context(), dir)
			require.NoError(t, err)
			require.NoError(t, got.Broken)
			assert.Equal(t, grew(c.entries, "package.json"), got.Manifest != nil)
			got.Manifest = nil
			assert.Equal(t, c.want, got)
		})
	}
}

func grew(entries []string, name string) bool {
	for _, e := range entries {
		if e == name || strings.HasPrefix(e, name+" ") {
			return true
		}
	}
	return false
}

func readsOddManifests(t *testing.T, open openDirectories) {
	const good = `{"name":"odd","scripts":{"build":"make"}}`
	for name, c := range map[string]struct {
		put    func(t *testing.T, dir string)
		broken string // what the reason says; empty: it is read
	}{
		"a link inside": {func(t *testing.T, dir string) { grow(t, dir, "sub/p.json = "+good, "package.json -> sub/p.json") }, ""},
		"an absolute one inside": {func(t *testing.T, dir string) {
			grow(t, dir, "sub/p.json = "+good, "package.json -> "+dir+"/sub/p.json")
		}, ""},
		"a link out": {func(t *testing.T, dir string) {
			grow(t, filepath.Dir(dir), "p.json = "+good)
			grow(t, dir, "package.json -> ../p.json")
		}, "to nothing inside"},
		"a link to nothing outside": {func(t *testing.T, dir string) { grow(t, dir, "package.json -> ../none.json") }, "to nothing inside"},
		"a link to itself":          {func(t *testing.T, dir string) { grow(t, dir, "package.json -> package.json") }, "to nothing inside"},
		"a directory":               {func(t *testing.T, dir string) { grow(t, dir, "package.json/") }, "not a regular file"},
		"a link to a device":        {func(t *testing.T, dir string) { grow(t, dir, "package.json -> /dev/zero") }, "to nothing inside"},
		"a pipe":                    {func(t *testing.T, dir string) { require.NoError(t, syscall.Mkfifo(dir+"/package.json", 0o644)) }, "not a regular file"},
		"50 MB":                     {func(t *testing.T, dir string) { huge(t, dir+"/package.json", 50<<20) }, "exceeds the limit"},
		"a terabyte of holes":       {func(t *testing.T, dir string) { huge(t, dir+"/package.json", 1<<40) }, "exceeds the limit"},
		"empty":                     {func(t *testing.T, dir string) { grow(t, dir, "package.json") }, "empty"},
		"no JSON":                   {func(t *testing.T, dir string) { grow(t, dir, "package.json = {") }, "cannot be read"},
		"a byte order mark":         {func(t *testing.T, dir string) { grow(t, dir, "package.json = \ufeff"+good) }, ""},
		"keys twice": {func(t *testing.T, dir string) {
			grow(t, dir, `package.json = {"name":"x","scripts":{"build":"rm -rf","build":"make"},"name":"odd"}`)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := land(t) + "/proj"
			require.NoError(t, os.Mkdir(dir, 0o755))
			c.put(t, dir)
			got, err := open(t, machine{Home: "/nowhere"}).Facts(t.Context(), dir)
			require.NoError(t, err)
			assert.Equal(t, "node", got.Type)
			assert.Equal(t, project.NPM, got.Manager)
			if c.broken != "" {
				require.ErrorIs(t, got.Broken, project.ErrManifest)
				assert.ErrorContains(t, got.Broken, c.broken)
				assert.NotContains(t, got.Broken.Error(), dir)
				assert.Nil(t, got.Manifest)
				return
			}
			require.NoError(t, got.Broken)
			assert.Equal(t, "odd", got.Manifest.Name)
			assert.Equal(t, map[string]string{"build": "make"}, got.Manifest.Scripts)
			assert.Equal(t, name == "keys twice", len(got.Manifest.Notes) == 2)
		})
	}
}

// huge is a file of that size that takes no room.
func huge(t *testing.T, path string, size int64) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	require.NoError(t, os.Truncate(path, size))
}

func factsOfWhatIsGone(t *testing.T, open openDirectories) {
	base := grow(t, land(t), "file", "real/", "link -> real", "hostile/pnpm-lock.yaml", `hostile/package.json = {"name":"h","packageManager":"npm;id"}`)
	require.NoError(t, syscall.Mkfifo(base+"/pipe", 0o644))
	d := open(t, machine{Home: base})
	for _, name := range []string{"none", "file", "link", "pipe"} {
		_, err := d.Facts(t.Context(), base+"/"+name)
		require.ErrorIs(t, err, project.ErrPath, name)
		_, err = d.Surroundings(t.Context(), base+"/"+name)
		require.ErrorIs(t, err, project.ErrPath, name)
	}
	f, err := d.Facts(t.Context(), base+"/hostile")
	require.ErrorIs(t, err, project.ErrManifest)
	assert.Equal(t, "node", f.Type, "everything else is filled in")
	assert.Equal(t, "h", f.Manifest.Name)
	assert.Empty(t, f.Manager)
}

// tool puts a program where a package manager would be.
func tool(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexit 1\n"), 0o755))
}

func around(t testing.TB, d projectport.Directories, dir string) projectport.Surroundings {
	t.Helper()
	s, err := d.Surroundings(t.Context(), dir)
	require.NoError(t, err)
	return s
}

func findsTools(t *testing.T, open openDirectories) {
	base := grow(t, land(t), "home/", "proj/sub/", "empty/", "dirs/npm/", "dirs/pnpm = not executable", "mono/",
		`lib/pnpm/package.json = {"name":"pnpm","version":"9.1.0"}`, `lib/corepack/package.json = {"name":"corepack","version":"0.29.0"}`)
	for _, path := range []string{"proj/node_modules/.bin/pnpm", "mono/node_modules/.bin/pnpm", "proj/tools/pnpm", "lib/pnpm/bin/pnpm.cjs", "lib/corepack/dist/yarn.js",
		"lib/bun", "home/.volta/bin/volta", "home/.volta/bin/npm", "other/volta", "other/npm", "volta home/bin/volta"} {
		tool(t, filepath.Join(base, path))
	}
	grow(t, base, "bin/pnpm -> ../lib/pnpm/bin/pnpm.cjs", "bin/yarn -> ../lib/corepack/dist/yarn.js", "bin/bun -> ../lib/bun", "bin/corepack -> ../lib/none",
		"evil/pnpm -> ../proj/tools/pnpm", "sly -> proj/tools", "neat -> mono/node_modules/.bin", "proj/tools/yarn -> ../../lib/bun",
		"linked/node_modules/.bin -> ../../other")
	path := "PATH=" + strings.Join([]string{"", ".", "node_modules/.bin", base + "/proj/node_modules/.bin", base + "/mono/node_modules/.bin", base + "/neat", base + "/linked/node_modules/.bin",
		base + "/proj/tools", base + "/sly", base + "/evil", base + "/none", base + "/empty", base + "/dirs", base + "/bin", base + "/other"}, ":")

	got := around(t, open(t, machine{Home: base + "/home", Env: []string{"PATH=/none", path}}), base+"/proj").Tools
	assert.Equal(t, base+"/bin/pnpm", got.Managers[project.PNPM], "links stay, the project's own programs do not count")
	assert.Equal(t, "9.1.0", got.Versions[project.PNPM])
	assert.Equal(t, base+"/bin/yarn", got.Managers[project.Yarn])
	assert.NotContains(t, got.Versions, project.Yarn, "a shim is of no version")
	assert.Equal(t, base+"/bin/bun", got.Managers[project.Bun])
	assert.NotContains(t, got.Versions, project.Bun)
	assert.Equal(t, base+"/other/npm", got.Managers[project.NPM], "PATH comes before the directories of toolchains")
	assert.Equal(t, base+"/home/.volta/bin/volta", got.Volta, "volta counts only where it installs itself")

	got = around(t, open(t, machine{Home: base + "/home"}), base+"/proj").Tools
	assert.Equal(t, base+"/home/.volta/bin/npm", got.Managers[project.NPM], "directories of toolchains count without a PATH")
	got = around(t, open(t, machine{Home: base + "/home", Env: []string{"VOLTA_HOME=" + base + "/volta home"}}), base+"/proj").Tools
	assert.Equal(t, base+"/volta home/bin/volta", got.Volta)
	got = around(t, open(t, machine{Home: base, Env: []string{"VOLTA_HOME=other/..", path}}), base+"/proj").Tools
	assert.Empty(t, got.Volta, "not in PATH, not by a relative path")
}

func namesToolchains(t *testing.T, open openDirectories) {
	base := grow(t, land(t), "home/.volta/bin/", "home/.cargo/bin/", "home/.bun/bin = a file", "pnpm/", "proj/", "own/", "dots/claude/", "home/.claude -> ../dots/claude",
		"codex/")
	env := []string{"PNPM_HOME=" + base + "/pnpm", "CARGO_HOME=" + base + "/home/.cargo", "BUN_INSTALL=", "CODEX_HOME=" + base + "/codex", "A=b=c"}
	home := base + "/home"
	got := around(t, open(t, machine{Home: home, Own: []string{base + "/own", base + "/own/not yet"}, Env: env}), base+"/proj")
	assert.Equal(t, env, got.Environ)
	assert.Equal(t, home, got.Home)
	require.GreaterOrEqual(t, len(got.Paths), 3)
	assert.Equal(t, []string{home + "/.volta/bin", base + "/pnpm", home + "/.cargo/bin"}, got.Paths[:3])
	assert.Contains(t, got.Paths, "/usr/bin")
	seen := map[string]bool{}
	for _, dir := range got.Paths {
		assert.DirExists(t, dir+"/.") // which may be a link
		assert.False(t, seen[dir], dir)
		seen[dir] = true
	}
	assert.Subset(t, got.Own, []string{base + "/own", base + "/own/not yet", home + "/.claude", base + "/dots/claude", home + "/.claude.json", home + "/.codex",
		base + "/codex", home + "/.cursor", home + "/.gemini", home + "/.config/opencode"})
	for _, own := range got.Own {
		assert.True(t, filepath.IsAbs(own), own)
	}
	got = around(t, open(t, machine{Home: home, Env: []string{"XDG_CONFIG_HOME=" + base + "/config", "PNPM_HOME=.", "CLAUDE_CONFIG_DIR=."}}), base+"/proj")
	assert.NotContains(t, got.Paths, ".")
	assert.NotContains(t, got.Own, ".")
	assert.Contains(t, got.Own, base+"/config/opencode")
}

func knowsSecrets(t *testing.T, open openDirectories) {
	base := land(t)
	dir := grow(t, base, "proj/") + "/proj"
	grow(t, base, "elsewhere = OUT_TOKEN=outside-outside\n")
	var many strings.Builder
	for range 100_000 {
		many.WriteString("# nothing\n")
	}
	env := strings.Join([]string{"# A_TOKEN=commented-out", "API_KEY=plain-value-1 # a remark", "export DB_PASSWORD='single quoted 1'", `MY_SECRET="double \"quoted\" 1"`,
		"COLON_TOKEN: after-a-colon", "PORT=8080808080", "NODE_ENV=production1", "SHORT_TOKEN=1234567", "REF_TOKEN=${OTHER_TOKEN}", "SPACED_TOKEN =   spaced-value-1\r",
		`PRIVATE_KEY="-----BEGIN KEY-----`, "bGluZSBvbmUgb2Yga2V5", "-----END KEY-----\"", `FOLDED_SECRET="first line\nsecond line"`, "BROKEN_TOKEN=\"never-closed", "LAST_TOKEN=last-value-1"}, "\n")
	grow(t, dir, ".env = "+env, ".env.local = LOCAL_TOKEN=local-value-1", ".envrc = export RC_TOKEN=rc-value-12", "sub/.env = SUB_TOKEN=sub-value-1", "env = NO_TOKEN=no-value-12",
		".env.out -> ../elsewhere", ".env.in -> sub/.env", ".env.dir/", ".env.late = "+many.String()+"LATE_TOKEN=late-value-1", ".env.again = LOCAL_TOKEN=local-value-1")
	require.NoError(t, syscall.Mkfifo(dir+"/.env.pipe", 0o644))
	got := around(t, open(t, machine{Home: base}), dir).Secrets
	for _, want := range []string{"plain-value-1", "single quoted 1", `double "quoted" 1`, "after-a-colon", "spaced-value-1", "bGluZSBvbmUgb2Yga2V5", "first line\nsecond line",
		"second line", "never-closed", "last-value-1", "local-value-1", "rc-value-12", "sub-value-1"} {
		assert.Contains(t, got, want)
	}
	seen := map[string]bool{}
	for _, v := range got {
		assert.False(t, seen[v], v)
		seen[v] = true
		assert.GreaterOrEqual(t, len(v), 8)
		for _, not := range []string{"8080808080", "production1", "commented-out", "OTHER_TOKEN", "outside-outside", "no-value-12", "late-value-1"} {
			assert.NotContains(t, v, not)
		}
	}
	t.Run("bounded", func(t *testing.T) {
		dir := land(t)
		for file := range 60 {
			var hostile strings.Builder
			for i := range 10_000 {
				fmt.Fprintf(&hostile, "T_TOKEN=value-%d-%d\n\"'`\\=\"\n", file, i)
			}
			grow(t, dir, fmt.Sprintf(".env.%d = %s", file, hostile.String()))
		}
		got := around(t, open(t, machine{Home: base}), dir).Secrets
		assert.NotEmpty(t, got)
		assert.LessOrEqual(t, len(got), 1000)
	})
	t.Run("twenty files", func(t *testing.T) {
		dir := grow(t, land(t), ".env = A_TOKEN=the-first-one")
		for file := range 40 {
			grow(t, dir, fmt.Sprintf(".env.%d = A_TOKEN=value-of-%d", file, file))
		}
		got := around(t, open(t, machine{Home: base}), dir).Secrets
		assert.Len(t, got, 20)
		assert.Contains(t, got, "the-first-one")
	})
}
