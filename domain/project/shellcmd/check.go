package shellcmd

import (
	"slices"
	"strings"
)

// check is one text under examination.
type check struct {
	CheckContext
	course  *Trace
	depth   int
	texts   *int
	found   *findings
	home    string
	own     []string
	starts  [][]Run  // of each command, the programs it starts
	loads   []int    // loads[i] commands before i download something
	decodes []int    // decodes[i] commands before i decode something
	saved   []string // files that were downloaded
}

func (c *check) flag(at int, rule string, v Verdict, message string) {
	c.found.add(Finding{Rule: rule, Verdict: v, Message: message, Fragment: c.course.Script.Commands[at].Source})
}

// judge applies every rule to every command.
func (c *check) judge() {
	if c.course.Script.Unparsable != "" {
		c.found.add(Finding{Rule: "unparsable", Verdict: VerdictHigh,
			Message: "the command cannot be parsed as a shell script (" + cut(c.course.Script.Unparsable) + "), so its effects are unknown; correct it, or put it in a script file"})
	}
	c.survey()
	c.replication()
	every := rules()
	for at := range c.course.Script.Commands {
		c.redirects(at)
		for _, r := range c.starts[at] {
			for _, rule := range every {
				rule(c, r)
			}
		}
	}
}

// rules returns what is wrong with one program that a command starts.
func rules() []func(*check, Run) {
	return []func(*check, Run){
		deleteRoot, findRoot, formatDisk, writeFiles, permitRoot, power, ownCommand, // block, most of them
		privilege, inlineText, inlineCode, downloaded, gitForce, subcommands, remote, aiClients, // high
	}
}

// survey determines what each command starts, and which of them download or decode.
func (c *check) survey() {
	n := len(c.course.Script.Commands)
	c.starts, c.loads, c.decodes = make([][]Run, n), make([]int, n+1), make([]int, n+1)
	for at := range c.course.Script.Commands {
		runs, all := c.course.Runs(at)
		if !all {
			c.flag(at, "too-deep", VerdictHigh, "it starts programs through too many others to analyze; write it in separate steps")
		}
		c.starts[at] = runs
		c.note(at, runs)
		c.loads[at+1], c.decodes[at+1] = c.loads[at], c.decodes[at]
		if slices.ContainsFunc(c.starts[at], downloads) || slices.ContainsFunc(c.course.Script.Commands[at].Redirects, fromNetwork) {
			c.loads[at+1]++
			c.saved = append(c.saved, c.saves(at)...)
		}
		if slices.ContainsFunc(c.starts[at], decodes) {
			c.decodes[at+1]++
		}
	}
}

// note keeps what a command starts for the report.
func (c *check) note(at int, runs []Run) {
	source := c.course.Script.Commands[at].Source
	for _, r := range runs {
		if len(c.found.starts) == maxStarts {
			c.flag(at, "too-many", VerdictHigh, "it starts too many programs to analyze; write it in separate steps")
			return
		}
		c.found.starts = append(c.found.starts, start{Run: r, Dirs: c.course.dirs(at), Source: cut(source)})
	}
}

func downloads(r Run) bool {
	return slices.Contains([]string{"curl", "wget", "wget2", "aria2c", "fetch", "http", "https", "xh", "nc", "ncat", "netcat", "socat"}, r.Name)
}

func fromNetwork(r Redirect) bool {
	text, _ := r.Target.Literal()
	return strings.HasPrefix(text, "/dev/tcp/") || strings.HasPrefix(text, "/dev/udp/")
}

func decodes(r Run) bool {
	switch r.Name {
	case "base64", "base32", "basenc":
		return HasFlag(r.Args, "dD", "--decode")
	case "openssl":
		return slices.ContainsFunc(r.Args, func(a Arg) bool { return a.First() == "-d" })
	case "xxd":
		return HasFlag(r.Args, "r", "-revert")
	case "uudecode", "zcat", "gunzip", "bunzip2", "unxz", "rev":
		return true
	case "gzip", "bzip2", "xz", "zstd":
		return HasFlag(r.Args, "d", "--decompress")
	}
	return false
}

// saves returns the files that a downloading command writes, as written.
func (c *check) saves(at int) []string {
	var out []string
	for _, r := range c.starts[at] {
		out = append(out, texts(outputs(r))...)
	}
	for _, r := range c.course.Script.Commands[at].Redirects {
		if text, known := r.Target.Literal(); known && r.Writes() && !strings.HasPrefix(text, "/dev/") {
			out = append(out, text)
		}
	}
	return slices.DeleteFunc(out, func(text string) bool { return text == "" || text == "-" })
}

func texts(args []Arg) []string {
	var out []string
	for _, a := range args {
		out = append(out, a.First())
	}
	return out
}

// outputs returns the files that curl or wget writes.
func outputs(r Run) []Arg {
	var out []Arg
	name := map[string]string{"curl": "o", "wget": "O", "wget2": "O", "aria2c": "o"}[r.Name]
	for i, a := range r.Args {
		text := a.First()
		long, value, joined := strings.Cut(text, "=")
		switch {
		case name == "":
		case joined && (long == "--output" || long == "--output-document"):
			out = append(out, KnownArg(value))
		case len(text) > 2 && text[0] == '-' && text[1] == name[0]:
			out = append(out, KnownArg(text[2:]))
		case i+1 < len(r.Args) && (text == "--output" || text == "--output-document" || short(text) && strings.HasSuffix(text, name)):
			out = append(out, r.Args[i+1])
		case name == "O" || r.Name == "curl" && HasFlag(r.Args, "O", "--remote-name"):
			if _, file, found := strings.Cut(text, "://"); found {
				file = file[strings.LastIndexByte(file, '/')+1:]
				out = append(out, KnownArg(file))
			}
		}
	}
	return out
}

func short(text string) bool { return len(text) > 1 && text[0] == '-' && text[1] != '-' }

// counted reports whether a command of a counted sort is in a span.
func counted(counts []int, s Span) bool { return counts[s.To] > counts[s.From] }

// reads reports whether what a command reads, from pipes and redirects, comes from a command of a counted kind.
func (c *check) reads(at int, counts []int) bool {
	for _, p := range c.course.Script.Pipes {
		if p.To.Has(at) && counted(counts, p.From) {
			return true
		}
	}
	return slices.ContainsFunc(c.course.Script.Commands[at].Redirects, func(r Redirect) bool {
		return !r.Writes() && contains(r.Target.Parts, counts)
	})
}

// contains reports whether parts of a word are put out by a command of a counted sort.
func contains(parts []Part, counts []int) bool {
	return slices.ContainsFunc(parts, func(p Part) bool {
		return p.Kind == PartSubstitution && counted(counts, p.Inside) || contains(p.Other, counts)
	})
}

// fed returns the texts known to come in on a command's standard input.
func (c *check) fed(at int) []string {
	out := c.documents(at)
	for _, p := range c.course.Script.Pipes {
		if !p.To.Has(at) {
			continue
		}
		for from := max(p.From.From, p.From.To-maxBefore); from < p.From.To; from++ {
			for _, r := range c.starts[from] {
				switch r.Name {
				case "echo", "printf":
					out = append(out, printed(r))
				case "cat", "tee":
					out = append(out, c.documents(from)...)
				}
			}
		}
	}
	return unique(out)
}

// documents returns the here-documents of a command.
func (c *check) documents(at int) []string {
	var out []string
	for _, r := range c.course.Script.Commands[at].Redirects {
		if r.Feeds() {
			out = append(out, Arg{Word: &r.Target}.Texts()...)
		}
	}
	return out
}

// printed returns what echo or printf prints.
func printed(r Run) string {
	var words []string
	for _, a := range r.Args {
		if text := append(a.Texts(), DisplayText(a.First()))[0]; len(words) > 0 || !short(text) {
			words = append(words, text)
		}
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", "%s", " ").Replace(strings.Join(words, " "))
}

func unique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// examine checks texts that a command passes to a shell.
func (c *check) examine(at int, texts []string) {
	for _, text := range texts {
		if c.Parse == nil || c.depth >= maxNested || *c.texts <= 0 {
			c.flag(at, "too-deep", VerdictHigh, "its scripts are nested too deeply or too many to analyze; write them as separate steps")
			return
		}
		*c.texts--
		inner := &check{
			CheckContext: c.CheckContext, course: c.course.Within(at, c.Parse(text)), depth: c.depth + 1, texts: c.texts, found: c.found, home: c.home, own: c.own,
		}
		inner.judge()
	}
}

// replication finds functions that start more than one copy of themselves.
func (c *check) replication() {
	calls := map[string][]string{}
	for _, command := range c.course.Script.Commands {
		if command.Function != "" && len(command.Words) > 0 {
			name, _ := command.Words[0].Literal()
			calls[command.Function] = append(calls[command.Function], name)
		}
	}
	for _, command := range c.course.Script.Commands {
		if command.Function == "" || len(command.Words) == 0 || !command.Forked {
			continue
		}
		if name, known := command.Words[0].Literal(); known && reaches(calls, name, command.Function) {
			c.found.add(Finding{Rule: "fork-bomb", Verdict: VerdictBlock, Fragment: command.Function + "() { … }",
				Message: "the function starts copies of itself until the machine stops responding (a fork bomb); call it only once, in the foreground, or use a loop"})
			return
		}
	}
}

// reaches reports whether one function calls another, directly or through others.
func reaches(calls map[string][]string, from, to string) bool {
	seen, next := map[string]bool{}, []string{from}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if name == to {
			return true
		}
		if !seen[name] {
			seen[name] = true
			next = append(next, calls[name]...)
		}
	}
	return false
}
