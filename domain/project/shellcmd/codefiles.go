package shellcmd

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ScanMode is how a file is searched for what it starts in turn.
type ScanMode uint8

// The modes.
const (
	ScanWhole   ScanMode = iota // not at all: its content is part of the plan, but what it loads is not
	ScanShell                   // it is a shell script
	ScanRecipes                 // lines that are indented, or follow a dash, are shell text
	ScanShebang                 // it is a shell script if its first line says so
)

// CodeFile is a file that a program reads as code, as named on its command line.
type CodeFile struct {
	By    string   // the program
	Names []string // as written; the first that exists counts
	All   bool     // all that exist count
	Must  bool     // if none exists, that is reported
	Up    bool     // directories above count too, the nearest first
	Dirs  []string // where they are looked for; "" is unknown
	Look  ScanMode
}

// CodeFiles returns the files that these programs read as code, and describes what the plan does not cover.
func CodeFiles(starts []start) (entries []CodeFile, notes []string) {
	f := &finding{}
	for _, s := range starts {
		f.start = s
		f.find()
	}
	return f.entries, f.notes
}

type finding struct {
	start   start
	entries []CodeFile
	notes   []string
}

func (f *finding) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// add adds an entry of the present program, in dir below its working directory. A name that is only known when it runs is reported.
func (f *finding) add(e CodeFile, dir string) {
	for _, name := range append(slices.Clone(e.Names), dir) {
		if unknown(name) && !beside(name) {
			f.note("%s reads %s; which file that is, is only known at run time", f.start.Name, DisplayText(name))
			return
		}
	}
	e.By = f.start.Name
	for _, at := range f.start.Dirs {
		switch {
		case dir == "":
		case path.IsAbs(dir):
			at = path.Clean(dir)
		case at != "":
			at = path.Join(at, dir)
		}
		e.Dirs = append(e.Dirs, at)
	}
	f.entries = append(f.entries, e)
}

// beside reports a name that begins with something computed, such as $(dirname "$0")/x, which is usually the script's own directory.
func beside(name string) bool {
	rest, ok := strings.CutPrefix(name, MarkUnknown+"/")
	return ok && rest != "" && !unknown(rest)
}

// Beside returns the rest of a name that begins with something computed, for callers that know the script's directory.
func Beside(name string) (string, bool) {
	return strings.TrimPrefix(name, MarkUnknown+"/"), beside(name)
}

// find is what one program reads.
func (f *finding) find() {
	s := f.start
	if unknown(s.Path) && !beside(s.Path) {
		f.note("which program %s is, is only known at run time", DisplayText(s.Path))
		return
	}
	if strings.Contains(s.Path, "/") {
		f.add(CodeFile{Names: []string{s.Path}, Must: true, Look: ScanShebang}, "")
	} else if !harmless(s.Name) {
		f.add(CodeFile{Names: []string{"node_modules/.bin/" + s.Name}, Up: true, Look: ScanShebang}, "")
	}
	switch {
	case slices.Contains(shells(), s.Name):
		f.shell()
	case s.Name == "source" || s.Name == ".":
		f.operand(s.Args, ScanShell)
	case managerOf(s.Name) != "":
		f.manager(managerOf(s.Name))
	case s.Name == "npx" || s.Name == "pnpx" || s.Name == "bunx":
		f.note("%s may download the program it starts, if it is not installed", s.Name)
	case f.made():
	case f.interpreted():
	default:
		f.other()
	}
}

func shells() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"}
}

// shell is a shell's script.
func (f *finding) shell() {
	s := f.start
	flags, operands := SplitOptions(s.Args, "oO")
	switch {
	case HasFlag(s.Args, "c", "--command"): // its text was taken apart with the rest
	case slices.Contains(flags, "-s") || len(operands) == 0:
		f.note("%s runs what it reads from its standard input", s.Name)
	default:
		f.operand(operands, ScanShell)
	}
}

// operand is a file that is named by the first argument.
func (f *finding) operand(args []Arg, look ScanMode) {
	if len(args) > 0 {
		f.add(CodeFile{Names: []string{args[0].First()}, Must: true, Look: look}, "")
	}
}

// manager is what a package manager reads: the scripts in package.json, which are looked at where they are started, and its own files.
func (f *finding) manager(name string) {
	l := taken(name, f.start.Args)
	f.add(CodeFile{Names: []string{"package.json"}, Up: true}, l.dir)
	if len(l.verbs) == 0 && name != "yarn" {
		return
	}
	word := "install"
	if len(l.verbs) > 0 {
		word = l.verbs[0].First()
	}
	switch kind := verb(name, word); {
	case len(kind) > 1 && kind[0] == "preinstall":
		f.add(CodeFile{Names: []string{"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", ".pnpmfile.cjs", "pnpm-workspace.yaml"}, All: true, Up: true}, l.dir)
		f.note("%s %s runs the install scripts of the packages that it installs", name, word)
	case len(kind) == 0 && name != "npm" && !unknown(word): // a program of a package, when it is no script
		f.add(CodeFile{Names: []string{"node_modules/.bin/" + word}, Up: true, Look: ScanShebang}, l.dir)
		if name == "bun" {
			f.add(CodeFile{Names: []string{word}}, l.dir)
		}
		f.config(word)
	}
}

// interpreter describes the command line of an interpreter.
type interpreter struct {
	valued   []string // options whose value is the next argument
	loads    []string // options that name a file which is loaded as well
	modules  []string // options that name a module instead of a file
	inline   []string // options with code instead of a file
	verbs    []string // commands before the file
	suffixes []string // that may be left out
}

func interpreterOf(name string) (interpreter, bool) {
	script := []string{"", ".js", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".json", "/index.js", "/index.ts"}
	node := interpreter{valued: []string{"-C", "--conditions", "--env-file", "--inspect-port", "--title", "--max-old-space-size", "-P", "--project", "--tsconfig"},
		loads: []string{"-r", "--require", "--import", "--loader", "--experimental-loader"}, inline: []string{"-e", "-p", "-pe", "--eval", "--print"},
		verbs: []string{"watch", "test"}, suffixes: script}
	known := map[string]interpreter{
		"node": node, "nodejs": node, "tsx": node, "ts-node": node, "ts-node-esm": node, "babel-node": node, "esno": node, "swc-node": node, "vite-node": node, "nodemon": node, "pm2": node,
		"bun":    {valued: []string{"--cwd"}, loads: []string{"-r", "--preload"}, inline: []string{"-e", "-p"}, verbs: []string{"run"}, suffixes: script},
		"deno":   {loads: []string{"-c", "--config", "--import-map"}, inline: []string{"eval"}, verbs: []string{"run", "test", "serve", "bench", "compile"}},
		"python": {valued: []string{"-W", "-X"}, inline: []string{"-c"}, modules: []string{"-m"}}, "pypy": {inline: []string{"-c"}, modules: []string{"-m"}},
		"uv": {verbs: []string{"run"}}, "poetry": {verbs: []string{"run"}}, "pipenv": {verbs: []string{"run"}},
		"perl": {valued: []string{"-I"}, loads: nil, inline: []string{"-e", "-E"}}, "ruby": {valued: []string{"-I"}, loads: []string{"-r"}, inline: []string{"-e"}, suffixes: []string{"", ".rb"}},
		"php": {valued: []string{"-d", "-c"}, loads: []string{"-f"}, inline: []string{"-r"}}, "lua": {loads: []string{"-l"}, inline: []string{"-e"}}, "Rscript": {inline: []string{"-e"}},
		"awk": {valued: []string{"-v", "-F"}, loads: []string{"-f"}, inline: []string{}}, "gawk": {valued: []string{"-v", "-F"}, loads: []string{"-f"}},
		"tclsh": {}, "osascript": {inline: []string{"-e"}}, "pwsh": {loads: []string{"-File", "-f"}, inline: []string{"-Command", "-c"}}, "java": {valued: []string{"-cp", "-classpath"}, loads: []string{"-jar"}},
		"groovy": {inline: []string{"-e"}}, "elixir": {loads: []string{"-r"}, inline: []string{"-e"}}, "julia": {inline: []string{"-e"}}, "crystal": {verbs: []string{"run"}},
	}
	if i, ok := known[name]; ok {
		return i, true
	}
	i, ok := known[strings.TrimRight(name, "0123456789.")]
	return i, ok
}

// interpreted is an interpreter's entry file, and what else its options load.
func (f *finding) interpreted() bool {
	in, ok := interpreterOf(f.start.Name)
	if !ok {
		return false
	}
	named := false
	awk := strings.HasSuffix(f.start.Name, "awk")
	for i := 0; i < len(f.start.Args); i++ {
		text := f.start.Args[i].First()
		name, value, joined := strings.Cut(text, "=")
		next := func() string {
			if !joined && i+1 < len(f.start.Args) {
				i++
				value = f.start.Args[i].First()
			}
			return value
		}
		switch {
		case slices.Contains(in.inline, name):
			named = true
			next()
		case slices.Contains(in.modules, name):
			named = true
			module := strings.ReplaceAll(next(), ".", "/")
			f.add(CodeFile{Names: []string{module + ".py", module + "/__main__.py"}}, "")
		case slices.Contains(in.loads, name):
			file := next()
			f.add(CodeFile{Names: in.spelled(file), Must: strings.HasPrefix(file, ".")}, "")
			named = named || name == "-jar" || name == "-File" || awk
		case slices.Contains(in.valued, name):
			next()
		case strings.HasPrefix(text, "-") && len(text) > 1:
		case text == "-":
			f.note("%s runs what it reads from its standard input", f.start.Name)
			named = true
		case slices.Contains(in.verbs, text) && !named && i < len(f.start.Args)-1:
		case awk: // its program is an argument
			i = len(f.start.Args)
		default:
			f.add(CodeFile{Names: in.spelled(text), Must: !named, Look: ScanWhole}, "")
			named = true
			i = len(f.start.Args) // the rest is the program's own
		}
	}
	f.note("what %s loads beyond its entry file is not bound", f.start.Name)
	return true
}

// spelled returns a file's name with the endings that may be left out.
func (in interpreter) spelled(name string) []string {
	if len(in.suffixes) == 0 {
		return []string{name}
	}
	out := make([]string, len(in.suffixes))
	for i, s := range in.suffixes {
		out[i] = name + s
	}
	return out
}

// maker is a program that runs the recipes of a file.
type maker struct {
	files, dirs []string // options that name another file, and another directory
	names       []string // default names of the file
	look        ScanMode
	all         bool
}

func makerOf(name string) (maker, bool) {
	m, ok := map[string]maker{
		"make": {files: []string{"-f", "--file", "--makefile"}, dirs: []string{"-C", "--directory"}, names: []string{"GNUmakefile", "makefile", "Makefile"}, look: ScanRecipes},
		"task": {files: []string{"-t", "--taskfile"}, dirs: []string{"-d", "--dir"}, look: ScanRecipes,
			names: []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml"}},
		"just":           {files: []string{"-f", "--justfile"}, dirs: []string{"-d", "--working-directory"}, names: []string{"justfile", "Justfile", ".justfile"}, look: ScanRecipes},
		"mise":           {names: []string{"mise.toml", ".mise.toml", "mise/config.toml", ".config/mise.toml", ".config/mise/config.toml"}, all: true},
		"composer":       {names: []string{"composer.json", "composer.lock"}, all: true},
		"hatch":          {names: []string{"pyproject.toml", "hatch.toml"}, all: true},
		"rake":           {files: []string{"-f", "--rakefile"}, names: []string{"rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"}},
		"invoke":         {names: []string{"tasks.py", "tasks/__init__.py"}},
		"nox":            {files: []string{"-f", "--noxfile"}, names: []string{"noxfile.py"}},
		"tox":            {files: []string{"-c"}, names: []string{"tox.ini", "pyproject.toml", "setup.cfg"}},
		"ant":            {files: []string{"-f", "-file", "-buildfile"}, names: []string{"build.xml"}},
		"mvn":            {files: []string{"-f", "--file"}, names: []string{"pom.xml"}},
		"gradle":         {files: []string{"-b", "--build-file"}, names: []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}, all: true},
		"cmake":          {names: []string{"CMakeLists.txt", "CMakePresets.json"}, all: true},
		"meson":          {names: []string{"meson.build"}},
		"ninja":          {files: []string{"-f"}, dirs: []string{"-C"}, names: []string{"build.ninja"}},
		"docker":         {files: []string{"-f", "--file"}, names: []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Dockerfile"}, all: true},
		"docker-compose": {files: []string{"-f", "--file"}, names: []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}, all: true},
		"cargo":          {names: []string{"Cargo.toml", "build.rs", ".cargo/config.toml"}, all: true},
		"go":             {names: []string{"go.mod"}},
		"gulp":           {files: []string{"-f", "--gulpfile"}, names: []string{"gulpfile.js", "gulpfile.mjs", "gulpfile.cjs", "gulpfile.ts"}},
		"grunt":          {files: []string{"--gruntfile"}, names: []string{"Gruntfile.js", "Gruntfile.cjs", "gruntfile.js"}},
		"pytest":         {files: []string{"-c"}, names: []string{"conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}, all: true},
	}[usual(name)]
	return m, ok
}

// usual returns the name of a program that has others as well.
func usual(name string) string {
	others := map[string]string{"gmake": "make", "go-task": "task", "gradlew": "gradle", "mvnw": "mvn", "podman": "docker", "inv": "invoke", "drake": "rake", "py.test": "pytest"}
	if known, ok := others[name]; ok {
		return known
	}
	return name
}

// made is the file with the recipes.
func (f *finding) made() bool {
	m, ok := makerOf(f.start.Name)
	if !ok {
		return false
	}
	dir := ""
	var given []string
	for i := 0; i < len(f.start.Args); i++ {
		text := f.start.Args[i].First()
		name, value, joined := strings.Cut(text, "=")
		if !joined && i+1 < len(f.start.Args) {
			value = f.start.Args[i+1].First()
		}
		for _, option := range slices.Concat(m.files, m.dirs) { // -Cdir, as make takes it too
			if len(option) == 2 && len(text) > 2 && strings.HasPrefix(text, option) && !strings.HasPrefix(text, "--") {
				name, value, joined = option, text[2:], true
			}
		}
		switch {
		case slices.Contains(m.files, name):
			given = append(given, value)
		case slices.Contains(m.dirs, name):
			dir = path.Join(dir, value)
		default:
			continue
		}
		if !joined {
			i++
		}
	}
	for _, file := range given {
		f.add(CodeFile{Names: []string{file}, Must: true, Look: m.look}, dir)
	}
	if len(given) == 0 {
		f.add(CodeFile{Names: m.names, All: m.all, Must: !m.all, Up: usual(f.start.Name) != "make", Look: m.look}, dir)
	}
	if f.start.Name == "go" {
		f.note("go compiles packages of the project, which are not bound")
	} else {
		f.note("%s may include and start more than its file names", f.start.Name)
	}
	return true
}

// configured returns the configuration files, which are code, of well-known programs; {} stands for the usual extensions.
func configured(name string) []string {
	return map[string][]string{
		"vite": {"vite.config{}"}, "vitest": {"vitest.config{}", "vite.config{}"}, "webpack": {"webpack.config{}"}, "rollup": {"rollup.config{}"}, "eslint": {"eslint.config{}", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml"},
		"prettier": {"prettier.config{}", ".prettierrc", ".prettierrc.js", ".prettierrc.cjs", ".prettierrc.json"}, "jest": {"jest.config{}", "jest.config.json"}, "mocha": {".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.yml"},
		"babel": {"babel.config{}", "babel.config.json", ".babelrc", ".babelrc.js"}, "next": {"next.config{}"}, "nuxt": {"nuxt.config{}"}, "astro": {"astro.config{}"}, "playwright": {"playwright.config{}"}, "cypress": {"cypress.config{}"},
		"tsup": {"tsup.config{}"}, "esbuild": {"esbuild.config{}"}, "parcel": {".parcelrc"}, "tsc": {"tsconfig.json"}, "postcss": {"postcss.config{}"}, "tailwindcss": {"tailwind.config{}"}, "svelte-kit": {"svelte.config{}"},
		"turbo": {"turbo.json"}, "nx": {"nx.json"}, "lerna": {"lerna.json"}, "husky": {".husky/pre-commit"}, "lint-staged": {"lint-staged.config{}", ".lintstagedrc", ".lintstagedrc.json"}, "react-scripts": {"tsconfig.json"}, "ng": {"angular.json"},
		"ava": {"ava.config{}"}, "tap": {".taprc"}, "c8": {".c8rc.json"}, "nyc": {".nycrc", ".nycrc.json"}, "semantic-release": {"release.config{}", ".releaserc", ".releaserc.json"},
	}[name]
}

// config is what a program is set up with.
func (f *finding) config(name string) {
	var names []string
	for _, pattern := range configured(name) {
		if stem, open := strings.CutSuffix(pattern, "{}"); open {
			for _, end := range []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"} {
				names = append(names, stem+end)
			}
			continue
		}
		names = append(names, pattern)
	}
	if len(names) > 0 {
		f.add(CodeFile{Names: names, All: true}, "")
	}
	f.note("%s may load more project files than are listed", name)
}

// other handles any other program: project files that its options name as its configuration are code too.
func (f *finding) other() {
	s := f.start
	if harmless(s.Name) {
		return
	}
	for i, a := range s.Args {
		name, value, joined := strings.Cut(a.First(), "=")
		if name != "-c" && name != "--config" {
			continue
		}
		if !joined && i+1 < len(s.Args) {
			value = s.Args[i+1].First()
		}
		if value != "" {
			f.add(CodeFile{Names: []string{value}}, "")
		}
	}
	f.config(s.Name)
}

// harmless are programs that run nothing from a file of the project.
func harmless(name string) bool {
	return slices.Contains([]string{
		".", ":", "[", "[[", "alias", "basename", "bg", "break", "builtin", "cat", "cd", "chmod", "chown", "clear", "cmp", "command", "comm", "continue", "cp", "curl", "cut", "date", "declare", "df", "diff", "dirname", "dirs", "du",
		"echo", "egrep", "env", "eval", "exec", "exit", "export", "expr", "false", "fgrep", "file", "find", "fold", "getopts", "grep", "gunzip", "gzip", "hash", "head", "hostname", "id", "install", "jobs", "join", "jq", "kill",
		"let", "ln", "local", "ls", "md5sum", "mkdir", "mktemp", "mv", "nice", "nl", "nohup", "paste", "popd", "printenv", "printf", "ps", "pushd", "pwd", "read", "readlink", "readonly", "realpath", "return", "rev", "rg", "rm", "rmdir", "rimraf", "cpy", "mkdirp", "shx", "cross-env", "sed", "seq", "set",
		"setsid", "sha256sum", "shift", "shopt", "sleep", "sort", "source", "stat", "stdbuf", "sudo", "tac", "tail", "tar", "tee", "test", "time", "timeout", "touch", "tr", "trap", "tree", "true", "tty", "type", "typeset", "ulimit",
		"umask", "unalias", "uname", "uniq", "unset", "unzip", "wait", "wc", "wget", "which", "whoami", "xargs", "yes", "zip", "corepack", "volta", "concurrently", "npm-run-all", "npm-run-all2", "run-s", "run-p",
	}, name)
}
