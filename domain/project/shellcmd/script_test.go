package shellcmd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

// facts returns those of a directory with that package.json and these other entries.
func facts(t testing.TB, manifest string, entries ...string) (project.Facts, error) {
	t.Helper()
	m, err := project.ParseManifest([]byte(manifest))
	require.NoError(t, err)
	return project.DetectFacts(project.DirContents{Manifest: &m, Has: func(name string) bool { return name == "package.json" || slices.Contains(entries, name) }})
}

func everything() shellcmd.Toolchain {
	t := shellcmd.Toolchain{Managers: map[project.Manager]string{}, Versions: map[project.Manager]string{}, Corepack: "/bin/corepack", Volta: "/volta/bin/volta"}
	for _, m := range managers() {
		t.Managers[m], t.Versions[m] = "/bin/"+string(m), "1.0."+string(m[0])
	}
	return t
}

func managers() []project.Manager {
	return []project.Manager{project.NPM, project.PNPM, project.Yarn, project.Bun}
}

func locks() map[project.Manager]string {
	return map[project.Manager]string{project.NPM: "package-lock.json", project.PNPM: "pnpm-lock.yaml", project.Yarn: "yarn.lock", project.Bun: "bun.lock"}
}

const scripts = `"scripts":{"build":"vite build","prebuild":"clean","postbuild":"size","dev":"vite"}`

// TestBuildOfEveryKind checks every manager with and without volta and corepack, with and without arguments.
func TestBuildOfEveryKind(t *testing.T) {
	args := []string{"--watch", "a b", "$(id)", "", "--", ";rm -rf /"}
	without := everything()
	without.Volta = ""
	for _, m := range managers() {
		name := string(m)
		pinned := fmt.Sprintf(`"volta":{"node":"20.1.0",%q:"8.8.8"}`, name)
		field := fmt.Sprintf(`"packageManager":"%s@9.9.9+sha512.ab"`, name)
		volta := []string{"/volta/bin/volta", "run", "--node", "20.1.0", "--" + name, "8.8.8", name}
		if m == project.Bun { // volta pins no bun
			volta = []string{"/volta/bin/volta", "run", "--node", "20.1.0", "bun"}
		}
		voltaVersion := "8.8.8"
		if m == project.Bun {
			voltaVersion = ""
		}
		for _, c := range []struct {
			manifest, lock    string
			tools             shellcmd.Toolchain
			strategy, version string
			prefix            []string
		}{
			{scripts, locks()[m], everything(), shellcmd.ToolchainSystem, "1.0." + name[:1], []string{"/bin/" + name}},
			{scripts + "," + pinned, locks()[m], without, shellcmd.ToolchainSystem, "1.0." + name[:1], []string{"/bin/" + name}},
			{scripts + "," + field, "pnpm-lock.yaml", everything(), shellcmd.ToolchainCorepack, "9.9.9", []string{"/bin/" + name}},
			{scripts + "," + pinned, locks()[m], everything(), shellcmd.ToolchainVolta, voltaVersion, volta},
			{scripts + `,"volta":{"extends":"../package.json"}`, locks()[m], everything(), shellcmd.ToolchainVolta, "", []string{"/volta/bin/volta", "run", name}},
			{scripts + "," + pinned + "," + field, "", everything(), shellcmd.ToolchainVoltaCorepack, "9.9.9", []string{"/volta/bin/volta", "run", "--node", "20.1.0", name}},
		} {
			t.Run(name+" "+c.strategy, func(t *testing.T) {
				f, err := facts(t, "{"+c.manifest+"}", c.lock)
				require.NoError(t, err)
				got, err := shellcmd.BuildScriptCommand(f, c.tools, "build", nil)
				require.NoError(t, err)
				assert.Equal(t, shellcmd.ScriptCommand{Name: "build", Text: "vite build", Pre: "clean", Post: "size", Manager: m, Version: c.version, Strategy: c.strategy,
					Argv: append(slices.Clone(c.prefix), "run", "build")}, got)
				got, err = shellcmd.BuildScriptCommand(f, c.tools, "build", args)
				require.NoError(t, err)
				want := append(slices.Clone(c.prefix), "run", "build")
				if m == project.NPM {
					want = append(want, "--")
				}
				assert.Equal(t, append(want, args...), got.Argv, "arguments arrive as they are, one by one")
			})
		}
	}
	assert.Equal(t, []string{"--watch", "a b", "$(id)", "", "--", ";rm -rf /"}, args)
}

func TestBuildThroughCorepack(t *testing.T) {
	only := shellcmd.Toolchain{Corepack: "/bin/corepack"}
	for _, m := range managers() {
		f, err := facts(t, fmt.Sprintf(`{%s,"packageManager":"%s@9.9.9"}`, scripts, m))
		require.NoError(t, err)
		got, err := shellcmd.BuildScriptCommand(f, only, "dev", []string{"x"})
		if m == project.NPM || m == project.Bun { // corepack has no shim of these
			require.ErrorIs(t, err, project.ErrExecutionFailed)
			assert.ErrorContains(t, err, string(m)+" is not installed")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []string{"/bin/corepack", string(m), "run", "dev", "x"}, got.Argv)
		assert.Equal(t, shellcmd.ToolchainCorepack, got.Strategy)
		assert.True(t, got.DevLike)

		f, err = facts(t, "{"+scripts+"}", locks()[m])
		require.NoError(t, err)
		_, err = shellcmd.BuildScriptCommand(f, only, "dev", nil)
		require.ErrorIs(t, err, project.ErrExecutionFailed, "a lockfile does not ask for corepack")
	}
}

func TestBuildWithoutManager(t *testing.T) {
	m, err := project.ParseManifest([]byte("{" + scripts + "}"))
	require.NoError(t, err)
	for _, unknown := range []project.Manager{"", "unknown", "../npm"} {
		got, err := shellcmd.BuildScriptCommand(project.Facts{Manifest: &m, Manager: unknown}, everything(), "build", nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"/bin/npm", "run", "build"}, got.Argv)
	}
	_, err = shellcmd.BuildScriptCommand(project.Facts{Manifest: &m}, shellcmd.Toolchain{}, "build", nil)
	require.ErrorIs(t, err, project.ErrExecutionFailed)
}

func TestBuildRefuses(t *testing.T) {
	t.Run("an unreadable manifest", func(t *testing.T) {
		_, err := shellcmd.BuildScriptCommand(project.Facts{Type: "node", Broken: project.ErrManifest.WithMessage("it is a pipe")}, everything(), "build", nil)
		require.ErrorIs(t, err, project.ErrManifest)
	})
	t.Run("no manifest", func(t *testing.T) {
		_, err := shellcmd.BuildScriptCommand(project.Facts{Type: "go"}, everything(), "build", nil)
		require.ErrorIs(t, err, project.ErrScriptNotFound)
	})
	for name, c := range map[string]struct{ manifest, script, says string }{
		"no scripts":        {`{}`, "build", "which has no scripts"},
		"another name":      {"{" + scripts + "}", "test", "build, dev, postbuild, prebuild"},
		"other letters":     {"{" + scripts + "}", "Build", "did you mean build?"},
		"only a hook of it": {`{"scripts":{"prex":"1"}}`, "x", "prex"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := facts(t, c.manifest)
			require.NoError(t, err)
			got, err := shellcmd.BuildScriptCommand(f, everything(), c.script, nil)
			require.ErrorIs(t, err, project.ErrScriptNotFound)
			assert.ErrorContains(t, err, c.says)
			assert.Empty(t, got.Argv)
		})
	}
	t.Run("many scripts", func(t *testing.T) {
		f, err := facts(t, `{"scripts":{"a":"1"`+strings.Repeat(`,"b":"1"`, 2)+manyScripts(5000)+`}}`)
		require.NoError(t, err)
		_, err = shellcmd.BuildScriptCommand(f, everything(), strings.Repeat("x", 10_000), nil)
		require.ErrorIs(t, err, project.ErrScriptNotFound)
		assert.ErrorContains(t, err, "and 4952 more")
		assert.Less(t, len(err.Error()), 1000)
	})
	for name, c := range map[string]struct {
		script string
		args   []string
	}{
		"an option as name": {"--script-shell=evil", nil}, "a dash": {"-g", nil}, "no name": {"", nil}, "NUL in the name": {"a\x00b", nil}, "NUL in an argument": {"build", []string{"x", "y\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := project.Manifest{Scripts: map[string]string{c.script: "true"}}
			got, err := shellcmd.BuildScriptCommand(project.Facts{Manifest: &m, Manager: project.PNPM}, everything(), c.script, c.args)
			require.ErrorIs(t, err, project.ErrArgument)
			assert.Empty(t, got.Argv)
		})
	}
}

func manyScripts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"s%d":"1"`, i)
	}
	return b.String()
}

// TestHostileManifestsStartNothing: what a package.json says about its package manager never becomes a program, nor a part of an argument.
func TestHostileManifestsStartNothing(t *testing.T) {
	for _, field := range []string{"npm;rm -rf /", "../npm", "./npm@1", "/bin/sh", "npm@$(id)", "npm@`id`", "npm && id", "NPM@1", "npx@1", "npm@1 --ignore-scripts", "npm@-g", "@1", "sh"} {
		f, err := facts(t, fmt.Sprintf(`{%s,"packageManager":%q,"volta":{"node":"20"}}`, scripts, field), "pnpm-lock.yaml")
		require.ErrorIs(t, err, project.ErrManifest, field)
		if got, err := shellcmd.BuildScriptCommand(f, everything(), "build", nil); err == nil { // a caller that ignores the error starts npm, by its own path
			for _, arg := range got.Argv {
				assert.NotContains(t, arg, field)
			}
		}
	}
	for _, pin := range []string{`"node":"--help"`, `"node":"20; id"`, `"node":"$(id)"`, `"pnpm":"-x"`, `"pnpm":"../../x"`, `"node":"https://evil.test/"`, `"node":"20\n"`} {
		f, err := facts(t, `{`+scripts+`,"volta":{`+pin+`}}`, "pnpm-lock.yaml")
		require.NoError(t, err)
		got, err := shellcmd.BuildScriptCommand(f, everything(), "build", nil)
		require.ErrorIs(t, err, project.ErrManifest, pin)
		assert.Empty(t, got.Argv)
	}
}

func TestDevLike(t *testing.T) {
	for _, c := range []struct {
		name, command string
		want          bool
	}{
		{"dev", "true", true}, {"start", "", true}, {"serve", "true", true}, {"watch", "true", true}, {"preview", "true", true},
		{"dev:api", "true", true}, {"start:prod:eu", "true", true}, {"watch:", "true", true},
		{"restart-db", "node restart.js", false}, {"restart", "x", false}, {"develop", "x", false}, {"start-all", "x", false}, {"api:dev", "x", false}, {"Dev", "x", false}, {"predev", "x", false},
		// the contract's commands
		{"x", "vite", true}, {"x", "next dev", true}, {"x", "next start", true}, {"x", "nuxt dev", true}, {"x", "nuxt start", true}, {"x", "webpack serve", true},
		{"x", "webpack-dev-server", true}, {"x", "parcel watch", true}, {"x", "react-scripts start", true}, {"x", "vue-cli-service serve", true}, {"x", "nodemon", true},
		{"x", "ts-node-dev", true}, {"x", "tsx watch", true}, {"x", "astro dev", true}, {"x", "remix dev", true},
		// with what goes with them
		{"x", "vite --host 0.0.0.0", true}, {"x", "vite dev", true}, {"x", "vite preview --port 1", true}, {"x", "nodemon src/index.js", true}, {"x", "next dev -p 3000", true},
		{"x", "PORT=3000 HOST=x next dev", true}, {"x", "cross-env NODE_ENV=development vite", true}, {"x", "env A=1 vite", true}, {"x", "npx vite", true}, {"x", "npx --yes vite", true}, {"x", "bunx --bun vite", true}, {"x", "npx --yes vite build", false}, {"x", "./node_modules/.bin/vite", true},
		{"x", "tsc && vite", true}, {"x", "tsc&&vite", true}, {"x", "tsc & nodemon dist", true}, {"x", "rm -rf dist; next dev", true}, {"x", "(cd web && next dev)", true}, {"x", "vite | tee log", true},
		{"x", "false || vite", true}, {"x", "tsc\nvite", true}, {"x", "ts-node-dev --respawn src", true},
		// what ends by itself
		{"x", "vite build", false}, {"x", "vite build --watch-none", false}, {"x", "tsc && vite build", false}, {"x", "vite optimize", false}, {"x", "next build", false}, {"x", "next lint", false}, {"x", "next", false},
		{"x", "nuxt generate", false}, {"x", "webpack", false}, {"x", "webpack --mode production", false}, {"x", "parcel build", false}, {"x", "react-scripts test", false},
		{"x", "vue-cli-service build", false}, {"x", "tsx script.ts", false}, {"x", "astro build", false}, {"x", "remix build", false}, {"x", "echo vite", false}, {"x", "vitest run", false},
		{"x", "eslint vite.config.ts", false}, {"x", "rm -rf node_modules/.vite", false}, {"x", "", false}, {"x", "A=1", false}, {"x", "&& ;|", false}, {"", "", false}, {"build", "npm run clean && tsc", false},
	} {
		assert.Equal(t, c.want, shellcmd.LooksLongRunning(c.name, c.command), "%s: %s", c.name, c.command)
	}
}

// FuzzDevLike: nothing panics, and joining something that ends to a command changes nothing.
func FuzzDevLike(f *testing.F) {
	for _, seed := range []string{"", "vite", "A=1 npx", "tsc && vite build", "((;|&", "cross-env", "\x00\xff"} {
		f.Add("x", seed)
	}
	f.Fuzz(func(t *testing.T, name, command string) {
		assert.Equal(t, shellcmd.LooksLongRunning(name, command), shellcmd.LooksLongRunning(name, command+" && true"), "%q %q", name, command)
	})
}
