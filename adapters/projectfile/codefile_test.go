package projectfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/process"
)

var reader = projectfile.Reader{Parser: projectfile.Parser{}, Home: "/home/nobody"}

// tree returns a project with these files; those that begin with "->" are links.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(top, "p")
	require.NoError(t, os.Mkdir(root, 0o755))
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	at := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	if target, link := strings.CutPrefix(text, "->"); link {
		require.NoError(t, os.Symlink(target, at))
		return
	}
	require.NoError(t, os.WriteFile(at, []byte(text), 0o755))
}

// code returns what the command reads in a project: the paths, and the notes as one text.
func code(t *testing.T, root, dir, text string) ([]string, string) {
	t.Helper()
	c := whole(t, root, dir, text)
	paths := []string{}
	for _, r := range c.Reads {
		paths = append(paths, r.Path)
	}
	return paths, strings.Join(c.NotBound, "\n")
}

func whole(t *testing.T, root, dir, text string) process.Code {
	t.Helper()
	c, err := reader.Code(t.Context(), root, []process.ShellCommand{{Dir: filepath.Join(root, dir), Text: text}})
	require.NoError(t, err)
	return c
}

// TestWhatIsRead: the files that commands read as code, links resolved, as they are now.
func TestWhatIsRead(t *testing.T) {
	root := tree(t, map[string]string{
		"build.js": "require('./lib')", "lib/index.js": "x", "a.sh": "#!/bin/sh\n. ./env.sh\nnode build.js\nsh deep.sh\n", "env.sh": "A=1", "deep.sh": "sh deeper.sh", "deeper.sh": "true",
		"Makefile": "CC=cc\nall: x\n\t@sh a.sh\n\t$(CC) x.c\n", "sub/Taskfile.yml": "tasks:\n  go:\n    cmds:\n      - ./run.sh\n", "sub/run.sh": "#!/usr/bin/env bash\ntrue\n",
		"node_modules/tool/cli.js": "#!/usr/bin/env node\n", "node_modules/.bin/tool": "->../tool/cli.js", "tool.py": "print()", "pkg/__main__.py": "x", "vite.config.ts": "export default {}",
		"bin/elf": "\x7fELF\x00\x01", "here.sh": "#!/bin/bash\n\"$(dirname \"$0\")/lib/x.sh\"\n", "lib/x.sh": "true", "sub/inner/keep": "",
	})
	for text, want := range map[string][]string{
		"node build":                         {"build.js"},
		"node ./lib":                         {"lib/index.js"},
		"sh a.sh":                            {"a.sh", "build.js", "deep.sh", "env.sh"},
		"./a.sh":                             {"a.sh", "build.js", "deep.sh", "env.sh"},
		"make all":                           {"Makefile", "a.sh"},
		"task -d sub go":                     {"sub/Taskfile.yml", "sub/run.sh"},
		"tool --x":                           {"node_modules/tool/cli.js"},
		"npx tool":                           {"node_modules/tool/cli.js"},
		"pnpm tool":                          {"node_modules/tool/cli.js"},
		"python3 tool.py":                    {"tool.py"},
		"python3 -m pkg":                     {"pkg/__main__.py"},
		"vite build":                         {"vite.config.ts"},
		"bin/elf":                            {"bin/elf"},
		"bash here.sh":                       {"here.sh", "lib/x.sh"},
		"sh -c './a.sh' && tool":             {"a.sh", "build.js", "deep.sh", "env.sh", "node_modules/tool/cli.js"},
		"node missing.js":                    {},
		"echo build.js":                      {},
		root + "/bin/elf && node build.js":   {"bin/elf", "build.js"},
		"cd lib && node index.js && ./x.sh":  {"lib/index.js", "lib/x.sh"},
		"node build.js; node build; ./a.sh ": {"a.sh", "build.js", "deep.sh", "env.sh"},
	} {
		got, _ := code(t, root, "", text)
		assert.Equal(t, want, got, text)
	}
	got, _ := code(t, root, "sub/inner", "tool")
	assert.Equal(t, []string{"node_modules/tool/cli.js"}, got, "what is installed above counts")
	sum := sha256.Sum256([]byte("require('./lib')"))
	assert.Equal(t, []process.CodeFile{{Path: "build.js", SHA256: hex.EncodeToString(sum[:]), Size: 16}}, whole(t, root, "", "node build.js").Reads)
}

// TestWhatChanges: another content, another file in its place, and one that was not there make another answer.
func TestWhatChanges(t *testing.T) {
	root := tree(t, map[string]string{"Makefile": "all:\n\tsh a.sh\n", "a.sh": "true", "node_modules/x/1.js": "1", "node_modules/x/2.js": "2", "node_modules/.bin/x": "->../x/1.js"})
	for name, change := range map[string]func(){
		"make":        func() { put(t, root, "GNUmakefile", "all:\n") },
		"make all":    func() { put(t, root, "a.sh", "evil") },
		"node new.js": func() { put(t, root, "new.js", "evil") },
		"x": func() {
			require.NoError(t, os.Remove(filepath.Join(root, "node_modules/.bin/x")))
			put(t, root, "node_modules/.bin/x", "->../x/2.js")
		},
	} {
		if name == "make all" {
			require.NoError(t, os.RemoveAll(filepath.Join(root, "GNUmakefile")))
		}
		before := whole(t, root, "", name)
		require.True(t, whole(t, root, "", name).Same(before))
		change()
		assert.False(t, whole(t, root, "", name).Same(before), name)
	}
}

// TestWhatIsNotRead: nothing outside of the project is opened, nothing that is no regular file, nothing that never ends; each is said.
func TestWhatIsNotRead(t *testing.T) {
	root := tree(t, map[string]string{"link.js": "->../secret.js", "node_modules/.bin/out": "->/etc/hostname", "long.sh": strings.Repeat("true\n", 10_000)})
	put(t, filepath.Dir(root), "secret.js", "secret")
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe.sh"), 0o644))
	require.NoError(t, os.Truncate(filepath.Join(root, "long.sh"), 40_000))
	large := filepath.Join(root, "large.js")
	require.NoError(t, os.WriteFile(large, nil, 0o644))
	require.NoError(t, os.Truncate(large, 65<<20))
	for text, want := range map[string]string{
		"node link.js":                           "link.js leads outside the project",
		"node ../secret.js":                      filepath.Dir(root) + "/secret.js is outside the project",
		"sh pipe.sh":                             "sh reads pipe.sh, which does not exist in the project now",
		"out":                                    "node_modules/.bin/out leads outside the project",
		"node large.js":                          "large.js cannot be read, or is too large to be covered by the plan",
		"cat " + strings.Repeat("x", 10) + "|sh": "sh runs what it reads from its standard input",
	} {
		got, notes := code(t, root, "", text)
		assert.Empty(t, got, text)
		assert.Contains(t, notes, want, text)
	}
	got, notes := code(t, root, "", "sh long.sh")
	assert.Equal(t, []string{"long.sh"}, got)
	assert.Contains(t, notes, "long.sh is too long to inspect: the plan does not cover what it starts")

	c, err := reader.Code(t.Context(), filepath.Join(root, "gone"), []process.ShellCommand{{Dir: root, Text: "node link.js"}})
	require.NoError(t, err)
	assert.Empty(t, c.Reads)
}

// TestBounds: however much a command names, an answer has an end, and says so.
func TestBounds(t *testing.T) {
	root := tree(t, nil)
	var text strings.Builder
	for i := range 250 {
		name := "s" + strings.Repeat("x", i) + ".js"
		put(t, root, name[:min(len(name), 200)], "x")
		text.WriteString("node " + name[:min(len(name), 200)] + "\n")
	}
	var commands []process.ShellCommand
	for line := range strings.SplitSeq(text.String(), "\n") {
		commands = append(commands, process.ShellCommand{Dir: root, Text: line})
	}
	for i := range 250 {
		name := "t" + strings.Repeat("y", i%190) + strings.Repeat("z", i/190) + ".js"
		put(t, root, name, "x")
		commands = append(commands, process.ShellCommand{Dir: root, Text: "node " + name})
	}
	c, err := reader.Code(t.Context(), root, commands)
	require.NoError(t, err)
	assert.Len(t, c.Reads, 200)
	assert.Contains(t, c.NotBound, "it reads more than 200 files; only the first ones are listed")
}
