package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// The bounds of what one command is unfolded into.
const (
	maxWrapped = 16 // env nice nohup …, nested
	maxRuns    = 64 // programs that one command may start
)

// Arg is one argument of a program.
type Arg struct {
	Sure []string // possible values if variables are not empty
	May  []string // the same, and possible values if they are
	Word *Word    // nil when it is a part of a word, or put together
}

// KnownArg returns an argument that is known.
func KnownArg(text string) Arg { return Arg{Sure: []string{text}, May: []string{text}} }

// First returns the argument's most likely text.
func (a Arg) First() string {
	if len(a.Sure) == 0 {
		return ""
	}
	return a.Sure[0]
}

// Opaque reports whether the whole argument is only known when it runs.
func (a Arg) Opaque() bool { return strings.Trim(a.First(), MarkUnknown+MarkGlob) == "" }

// Texts returns the shell texts that the argument may be: as written, with variables still to be resolved, and resolved.
func (a Arg) Texts() []string {
	var out []string
	if a.Word != nil {
		var b strings.Builder
		for _, p := range a.Word.Parts {
			if p.Kind == PartLiteral {
				b.WriteString(p.Text)
			} else {
				b.WriteString(p.Source)
			}
		}
		out = append(out, b.String())
	}
	for _, text := range a.Sure {
		text = strings.NewReplacer(markGap, " ", MarkGlob, "*").Replace(text)
		if !strings.ContainsAny(text, MarkUnknown+markHome) {
			out = append(out, text)
		}
	}
	return limit(out)
}

// Run is one program that a command starts, directly or through another one.
type Run struct {
	At   int    // of the command
	Name string // without its directory
	Path string // as it is written
	Args []Arg
	Fed  bool // more arguments come from standard input
}

// args returns the words of a command as the program gets them.
func (c *Trace) args(at int, words []Word) []Arg {
	out := make([]Arg, 0, len(words))
	for i := range words {
		a := Arg{Sure: c.Values(at, words[i].Parts, false), May: c.Values(at, words[i].Parts, true), Word: &words[i]}
		if !strings.Contains(strings.Join(a.Sure, ""), markGap) {
			out = append(out, a)
			continue
		}
		for _, field := range fields(a.Sure) {
			out = append(out, KnownArg(field))
		}
	}
	return out
}

func fields(values []string) []string {
	var out []string
	for _, v := range values {
		for field := range strings.SplitSeq(v, markGap) {
			if field != "" {
				out = append(out, field)
			}
		}
	}
	return out
}

// Runs returns the programs that a command starts. All is false if there are too many nested ones to examine.
func (c *Trace) Runs(at int) (runs []Run, all bool) {
	u := unfolding{at: at, all: true}
	u.unfold(c.args(at, c.Script.Commands[at].Words), false, 0)
	return u.runs, u.all
}

type unfolding struct {
	at   int
	runs []Run
	all  bool
}

func (u *unfolding) unfold(args []Arg, fed bool, depth int) {
	if len(args) == 0 {
		return
	}
	if depth > maxWrapped || len(u.runs) >= maxRuns {
		u.all = false
		return
	}
	if args[0].Opaque() { // $SUDO rm is rm when SUDO is empty
		u.unfold(args[1:], fed, depth+1)
	}
	seen := map[string]bool{}
	for _, text := range args[0].Sure {
		name := path.Base(text)
		if seen[name] {
			continue
		}
		seen[name] = true
		r := Run{At: u.at, Name: name, Path: text, Args: args[1:], Fed: fed}
		u.runs = append(u.runs, r)
		for _, inner := range unwrap(r) {
			u.unfold(inner.args, fed || inner.fed, depth+1)
		}
	}
}

// wrapped is a program behind another, with its arguments.
type wrapped struct {
	args []Arg
	fed  bool
}

// unwrap returns the programs that a program starts because of its arguments.
func unwrap(r Run) []wrapped {
	switch {
	case r.Name == "find" || r.Name == "gfind":
		var out []wrapped
		for _, args := range findRuns(r.Args) {
			out = append(out, wrapped{args: args})
		}
		return out
	case r.Name == "command" && HasFlag(r.Args, "v", "") || r.Name == "command" && HasFlag(r.Args, "V", ""):
		return nil // it only says what would run
	}
	if verbs := runnerVerbs(r.Name); verbs != nil {
		for i, a := range r.Args {
			if slices.Contains(verbs, a.First()) {
				return []wrapped{{args: SkipOptions(r.Args[i+1:], wrapper{Valued: "pw", Long: []string{"--package", "--workspace", "--filter", "--node", "--npm", "--yarn", "--pnpm"}})}}
			}
			if !strings.HasPrefix(a.First(), "-") {
				return nil
			}
		}
		return nil
	}
	w, ok := wrapperOf(r.Name)
	if !ok {
		return nil
	}
	return []wrapped{{args: SkipOptions(r.Args, w), fed: r.Name == "xargs" || r.Name == "parallel"}}
}

// findRuns returns the programs that find starts, each with its arguments; {} becomes the start directory, so that the effect on files is attributed
// to it.
func findRuns(args []Arg) [][]Arg {
	var out [][]Arg
	from := findPaths(args)
	for i := 0; i < len(args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, args[i].First()) {
			continue
		}
		var inner []Arg
		for i++; i < len(args) && args[i].First() != ";" && args[i].First() != "+"; i++ {
			if args[i].First() == "{}" {
				inner = append(inner, from...)
				continue
			}
			inner = append(inner, args[i])
		}
		out = append(out, inner)
	}
	return out
}

// findPaths returns the directories that find looks in.
func findPaths(args []Arg) []Arg {
	var out []Arg
	for _, a := range args {
		text := a.First()
		if len(out) == 0 && slices.Contains([]string{"-H", "-L", "-P"}, text) {
			continue
		}
		if strings.HasPrefix(text, "-") || text == "(" || text == "!" {
			break
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return []Arg{KnownArg(".")}
	}
	return out
}

// wrapper describes how the options of a program that starts another one end.
type wrapper struct {
	Valued  string   // short options whose value is the next argument
	Long    []string // long ones
	Skip    int      // arguments between the options and the program
	Assigns bool     // NAME=value may precede the program
}

func wrapperOf(name string) (wrapper, bool) {
	w, ok := map[string]wrapper{
		"env": {Valued: "uC", Long: []string{"--unset", "--chdir"}, Assigns: true}, "cross-env": {Assigns: true},
		"command": {}, "builtin": {}, "exec": {Valued: "a"}, "nohup": {}, "setsid": {}, "busybox": {}, "toybox": {}, "shx": {}, "unbuffer": {},
		"time": {Valued: "fo", Long: []string{"--format", "--output"}}, "nice": {Valued: "n", Long: []string{"--adjustment"}},
		"ionice": {Valued: "cnp"}, "chrt": {Skip: 1}, "taskset": {Skip: 1}, "stdbuf": {Valued: "ioe"}, "caffeinate": {Valued: "tw"},
		"timeout": {Valued: "ks", Long: []string{"--kill-after", "--signal"}, Skip: 1}, "gtimeout": {Valued: "ks", Skip: 1}, "arch": {},
		"flock": {Valued: "wE", Skip: 1}, "chroot": {Skip: 1}, "unshare": {}, "nsenter": {Valued: "t"}, "strace": {Valued: "oeps"}, "ltrace": {Valued: "oeps"},
		"sudo": {Valued: "ughpCTrtUDR", Long: []string{"--user", "--group", "--host", "--chdir"}, Assigns: true}, "doas": {Valued: "uC"},
		"pkexec": {Long: []string{"--user"}}, "runuser": {Valued: "u"},
		"xargs":    {Valued: "InPLsdEaJR", Long: []string{"--max-args", "--max-procs", "--delimiter", "--arg-file", "--max-lines", "--max-chars"}},
		"parallel": {Valued: "jIN"}, "watch": {Valued: "n", Long: []string{"--interval"}}, "npx": {Valued: "p", Long: []string{"--package"}},
		"bunx": {}, "pnpx": {}, "dotenv": {Valued: "ec"}, "dotenvx": {}, "systemd-run": {Valued: "pu"}, "entr": {}, "corepack": {},
	}[name]
	return w, ok
}

// runnerVerbs returns the subcommands with which a package manager starts a program.
func runnerVerbs(name string) []string {
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		return []string{"exec", "x", "dlx"}
	case "volta":
		return []string{"run"}
	}
	return nil
}

// SkipOptions removes the options of a wrapper: the rest is the program.
func SkipOptions(args []Arg, w wrapper) []Arg {
	for len(args) > 0 {
		text := args[0].First()
		name, _, assigned := strings.Cut(text, "=")
		switch {
		case text == "--":
			args = args[1:]
		case strings.HasPrefix(text, "--"):
			args = args[1:]
			if slices.Contains(w.Long, text) && len(args) > 0 {
				args = args[1:]
			}
			continue
		case len(text) > 1 && text[0] == '-':
			args = args[1:]
			if at := strings.IndexAny(text[1:], w.Valued); at == len(text)-2 && at >= 0 && len(args) > 0 {
				args = args[1:]
			}
			continue
		case w.Assigns && assigned && name != "" && !strings.ContainsAny(name, "/ "):
			args = args[1:]
			continue
		}
		break
	}
	if len(args) < w.Skip {
		return nil
	}
	if args = args[w.Skip:]; w.Skip > 0 && len(args) > 0 && args[0].First() == "--" {
		args = args[1:]
	}
	return args
}

// SplitOptions divides arguments into options and operands. The value after a short option of valued is neither.
func SplitOptions(args []Arg, valued string) (flags []string, operands []Arg) {
	for i := 0; i < len(args); i++ {
		text := args[i].First()
		switch {
		case text == "--":
			return flags, append(operands, args[i+1:]...)
		case len(text) < 2 || text[0] != '-':
			operands = append(operands, args[i])
			continue
		}
		flags = append(flags, text)
		if text[1] != '-' && valued != "" && strings.IndexAny(text[1:], valued) == len(text)-2 {
			i++
		}
	}
	return flags, operands
}

// HasFlag reports whether a short option, alone or combined, or a long one, or any prefix of it, is present.
func HasFlag(args []Arg, short, long string) bool {
	flags, _ := SplitOptions(args, "")
	return slices.ContainsFunc(flags, func(flag string) bool {
		if strings.HasPrefix(flag, "--") {
			name, _, _ := strings.Cut(flag, "=")
			return long != "" && len(name) >= 3 && strings.HasPrefix(long, name)
		}
		return short != "" && strings.ContainsAny(flag, short)
	})
}
