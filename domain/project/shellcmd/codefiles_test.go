package shellcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

func entries(text string) ([]shellcmd.CodeFile, []string) {
	parser := projectfile.Parser{}
	return shellcmd.CodeFiles(shellcmd.CheckScript(parser.Parse(text), shellcmd.CheckContext{Home: "/home/ada", Project: "/p", Dir: "/p", Parse: parser.Parse}).Starts)
}

// TestEntries: the files that a command line names as code, in any spelling; the first spelling of each stands for the others.
func TestEntries(t *testing.T) {
	for text, want := range map[string]string{
		"node build.js --x y":                        "build.js",
		"node -r ./hook.js --import=./more.mjs a.js": "./hook.js ./more.mjs a.js",
		"node --env-file .env -e 'x' a":              "a",
		"sh script.sh a":                             "script.sh",
		"bash -x ./x":                                "./x",
		"sh -c 'node a.js && ./b.sh'":                "a.js ./b.sh",
		". ./env.sh && ./run":                        "./env.sh ./run",
		"python3.12 -W ignore x.py":                  "x.py",
		"python -m tools.gen":                        "tools/gen.py",
		"uv run python x.py":                         "x.py python",
		"ts-node --project tsconfig.json src/a.ts":   "src/a.ts",
		"deno run -c deno.json a.ts":                 "deno.json a.ts",
		"tsx watch src/a.ts":                         "src/a.ts",
		"make":                                       "GNUmakefile",
		"make -C sub -f rules.mk all":                "rules.mk@/p/sub",
		"task build":                                 "Taskfile.yml",
		"just -f x.just":                             "x.just",
		"cross-env A=1 vite build":                   "vite.config.js",
		"env X=1 timeout 5 ./a.sh":                   "./a.sh",
		"cd tools && ./a.sh":                         "./a.sh@/p/tools",
		"npm install":                                "package.json package-lock.json",
		"yarn lint":                                  "package.json",
		"eslint -c my.config.js src":                 "my.config.js eslint.config.js",
		"java -jar x.jar":                            "x.jar",
		"awk -f x.awk data":                          "x.awk",
		"/usr/bin/env node a.js":                     "/usr/bin/env a.js",
		"echo node a.js && cp a b":                   "",
	} {
		var got []string
		all, _ := entries(text)
		for _, e := range all {
			name := e.Names[0]
			if strings.HasPrefix(name, "node_modules/.bin/") {
				continue
			}
			if len(e.Dirs) > 0 && e.Dirs[0] != "/p" {
				name += "@" + e.Dirs[0]
			}
			got = append(got, name)
		}
		if text == "node --env-file .env -e 'x' a" || strings.HasPrefix(text, "uv ") { // more is bound than is read, which does no harm
			assert.Subset(t, strings.Fields(want), got, text)
			continue
		}
		for _, one := range strings.Fields(want) {
			assert.Contains(t, got, one, text)
		}
		assert.Len(t, got, len(strings.Fields(want)), "%s: %v", text, got)
	}
}

// TestWhatIsNotBoundIsSaid: what a plan cannot cover is reported before it is approved.
func TestWhatIsNotBoundIsSaid(t *testing.T) {
	for text, says := range map[string]string{
		"make all":            "make may include and start more than its file names",
		"node a.js":           "what node loads beyond its entry file is not bound",
		"go run ./cmd":        "go compiles packages of the project, which are not bound",
		"npm ci":              "npm ci runs the install scripts of the packages that it installs",
		"npx thing":           "npx may download the program it starts",
		"sh $FILE":            "sh reads …; which file that is, is only known at run time",
		"$TOOL a":             "which program … is, is only known at run time",
		"cat x | sh":          "sh runs what it reads from its standard input",
		"some-tool --fast":    "some-tool may load more project files than are listed",
		"node - < program.js": "node runs what it reads from its standard input",
	} {
		_, notes := entries(text)
		assert.Contains(t, strings.Join(notes, "\n"), says, text)
	}
	_, notes := entries("echo hi && rm -rf dist && mkdir -p dist")
	assert.Empty(t, notes, "nothing of a project is read as code")
}

// FuzzEntries: any text gives a result, and no entry has a name that is unknown and cannot be looked for.
func FuzzEntries(f *testing.F) {
	for _, seed := range []string{"node", "make -C", "sh $X", "python -m", "$(dirname $0)/x", "deno run", "java -jar", "a -c", "awk -f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := entries(text)
		for _, e := range all {
			require.NotEmpty(t, e.Names)
			for _, name := range e.Names {
				_, beside := shellcmd.Beside(name)
				require.True(t, beside || !strings.ContainsAny(name, shellcmd.MarkUnknown+shellcmd.MarkGlob), name)
			}
		}
	})
}
