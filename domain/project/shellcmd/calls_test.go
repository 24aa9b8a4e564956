package shellcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

func calls(text string) []shellcmd.ScriptCall {
	parser := projectfile.Parser{}
	return shellcmd.ScriptCalls(shellcmd.CheckScript(parser.Parse(text), shellcmd.CheckContext{Home: "/home/ada", Project: "/p", Dir: "/p", Parse: parser.Parse}).Starts)
}

// TestCalls: which scripts a command line starts, in any spelling.
func TestCalls(t *testing.T) {
	for text, want := range map[string]string{
		"npm run build": "build", "npm run-script build": "build", "npm run -s build": "build", "npm --silent run build -- --x": "build", "npm run build --if-present": "build",
		"pnpm run build": "build", "pnpm build": "build?", "yarn build": "build?", "yarn run build --run": "build", "bun run build": "build", "/usr/bin/npm run build": "build",
		"npm test": "test?", "npm t": "test?", "npm start": "start?", "npm stop": "stop?", "npm restart": "restart? stop? start?",
		"npm run a && npm run b; npm run c": "a b c", "sh -c 'npm run a'": "a", "env X=1 npm run a": "a", "npx npm run a": "a", "sudo npm run a": "a", "find . -exec npm run a \\;": "a",
		"corepack pnpm run a": "a", "volta run --node 20 npm run a": "a", `concurrently "npm run a" "npm:b"`: "a b", "run-s a b:* --silent": "a b:*", "npm-run-all --parallel a": "a",
		"N=a; npm run $N": "a", "for n in a b; do npm run $n; done": "a b", "npm run $N": "!", "npm run `cat x`": "!", "cat x | xargs npm run": "!", "$PM run a": "a", "npm $X": "!",
		"npm -w x run a": "!", "pnpm -r run a": "!", "pnpm --filter x run a": "!", "yarn workspace x run a": "!", "npm run a --workspaces": "!",
		"npm --script-shell=./evil run a": "!", "npm run a --script-sh ./evil": "!", "npm run a --node-options=-r./evil": "!", "pnpm --config.script-shell=./evil run a": "!", "turbo run a": "!",
		"npm --prefix x run a": "a@/p/x", "npm -C /q run a": "a@/q", "cd x && npm run a": "a@/p/x", "cd $X && npm run a": "a@", "pnpm -C x a": "a?@/p/x",
		"npm install": "preinstall? install? postinstall? prepublish? preprepare? prepare? postprepare? dependencies?", "yarn": "preinstall? install? postinstall? prepublish? preprepare? prepare? postprepare? dependencies?",
		"node --run a": "a", "node run a": "", "npm exec a": "", "npm": "", "npm run": "", "echo npm run a": "", "git commit -m 'npm run a'": "", "npm --foo a run b": "b", "npm run --foo a b": "a b?", "npx a": "",
	} {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, c := range calls(text) {
				if c.Unclear != "" {
					got = append(got, "!")
					continue
				}
				require.NotEmpty(t, c.Dirs)
				for _, name := range c.Names {
					if c.Loose {
						name += "?"
					}
					if c.Dirs[0] != "/p" {
						name += "@" + c.Dirs[0]
					}
					got = append(got, name)
				}
			}
			for _, one := range strings.Fields(want) {
				assert.Contains(t, got, one)
			}
			if want == "" {
				assert.Empty(t, got)
			}
			for _, one := range got {
				assert.Contains(t, strings.Fields(want), one)
			}
		})
	}
}

func TestManaged(t *testing.T) {
	managed := func(text string) bool {
		parser := projectfile.Parser{}
		return shellcmd.UsesPackageManager(shellcmd.CheckScript(parser.Parse(text), shellcmd.CheckContext{Parse: parser.Parse}).Starts)
	}
	for _, text := range []string{"npm ci", "npx a", "sh -c 'yarn'", "time bun a.ts", "x && pnpm i"} {
		assert.True(t, managed(text), text)
	}
	assert.False(t, managed("node a.js && echo npm"))
}

// FuzzCalls: any text gives a result, and every name in it is either known or reported as unknown.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{"npm run a", "yarn", "pnpm -C $X -r run", "concurrently npm:*", "npm run\x00", "run-s '*'", "node --run"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range calls(text) {
			require.True(t, c.Unclear != "" || len(c.Names) > 0)
			require.NotContains(t, strings.Join(c.Names, ""), "\uFDD1")
		}
	})
}
