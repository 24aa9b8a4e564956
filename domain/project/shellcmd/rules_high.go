package shellcmd

import (
	"regexp"
	"slices"
	"strings"
)

// privilege flags programs that run as another user.
func privilege(c *check, r Run) {
	if slices.Contains([]string{"sudo", "su", "doas", "pkexec", "runuser"}, r.Name) {
		c.flag(r.At, "privilege", VerdictHigh, r.Name+" runs it as another user with more permissions; remove it, or do that part yourself")
	}
}

// isShell reports whether a program runs shell text.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"}, name)
}

// inlineText examines shell text in an argument or on standard input.
func inlineText(c *check, r Run) {
	found, hidden := c.shellText(r)
	switch {
	case hidden:
		c.flag(r.At, "hidden-code", VerdictHigh, "it runs text that is generated at run time and cannot be reviewed; put it in a file in the project and run that")
	case r.Name == "eval":
		c.flag(r.At, "eval", VerdictHigh, "eval runs text as commands after expansion; write the commands directly")
	}
	c.examine(r.At, found)
}

// shellText returns the texts that a program runs as shell scripts, and whether one of them is only known when it runs.
func (c *check) shellText(r Run) (texts []string, hidden bool) {
	var carriers []Arg
	_, operands := SplitOptions(r.Args, "")
	switch name := r.Name; {
	case name == "eval", name == "watch", name == "parallel", name == "cross-env-shell":
		all := SkipOptions(r.Args, wrapper{Valued: "nIj"})
		return joined(all), len(all) > 0 && madeUp(all[0])
	case isShell(name) && HasFlag(r.Args, "c", "--command"):
		carriers = script(r.Args)
	case isShell(name) && runsInput(r):
		return c.fed(r.At), c.reads(r.At, c.decodes)
	case (name == "su" || name == "script" || name == "flock" || name == "npx" || name == "runuser") && HasFlag(r.Args, "c", "--command"):
		carriers = following(r.Args, "c", "--command", "--call")
	case name == "env" && HasFlag(r.Args, "S", "--split-string"):
		carriers = following(r.Args, "S", "--split-string")
	case name == "git":
		carriers = following(r.Args, "c")
		carriers = slices.DeleteFunc(slices.Clone(carriers), func(a Arg) bool { return !strings.Contains(a.First(), "=!") })
		for i, a := range carriers {
			_, text, _ := strings.Cut(a.First(), "=!")
			carriers[i] = KnownArg(text)
		}
	case name == "nodemon":
		carriers = following(r.Args, "x", "--exec")
	case name == "concurrently":
		carriers = operands
	case name == "trap" && len(operands) > 0:
		carriers = operands[:1]
	case name == "alias":
		for _, a := range operands {
			_, text, _ := strings.Cut(a.First(), "=")
			carriers = append(carriers, KnownArg(text))
		}
	}
	for _, a := range carriers {
		texts = append(texts, a.Texts()...)
		hidden = hidden || madeUp(a)
	}
	return texts, hidden
}

// madeUp reports whether a text begins with something that is only known when it runs, so that the program it starts is unknown.
func madeUp(a Arg) bool {
	if a.Word == nil || len(a.Word.Parts) == 0 {
		return strings.HasPrefix(a.First(), MarkUnknown)
	}
	kind := a.Word.Parts[0].Kind
	return (kind == PartVariable || kind == PartSubstitution) && strings.HasPrefix(a.First(), MarkUnknown)
}

func joined(args []Arg) []string {
	var written, known []string
	for _, a := range args {
		all := append(a.Texts(), a.First())
		written, known = append(written, all[0]), append(known, all[min(1, len(all)-1)])
	}
	return unique([]string{strings.Join(written, " "), strings.Join(known, " ")})
}

// script returns the argument with the script of sh -c: the first that is not an option.
func script(args []Arg) []Arg {
	_, operands := SplitOptions(args, "oO")
	return operands[:min(1, len(operands))]
}

// following returns the values of an option: the next argument, or what follows = or the letter.
func following(args []Arg, letter string, long ...string) []Arg {
	var out []Arg
	for i, a := range args {
		text := a.First()
		name, value, joined := strings.Cut(text, "=")
		switch {
		case joined && slices.Contains(long, name):
			out = append(out, KnownArg(value))
		case i+1 < len(args) && (slices.Contains(long, text) || short(text) && strings.HasSuffix(text, letter)):
			out = append(out, args[i+1])
		case short(text) && text[1:2] == letter && len(text) > 2:
			out = append(out, KnownArg(text[2:]))
		}
	}
	return out
}

// runsInput reports whether a shell or an interpreter runs its standard input, because nothing else is given.
func runsInput(r Run) bool {
	lang, code := coderOf(r.Name)
	valued := lang.valued + lang.letters
	switch {
	case isShell(r.Name):
		valued = "oO"
		if HasFlag(r.Args, "s", "") {
			return true
		}
		if HasFlag(r.Args, "c", "--command") {
			return false
		}
	case !code, strings.HasSuffix(r.Name, "awk"), lang.letters != "" && HasFlag(r.Args, lang.letters, ""):
		return false
	}
	_, operands := SplitOptions(r.Args, valued)
	return len(operands) == 0 || operands[0].First() == "-" || operands[0].First() == "/dev/stdin"
}

// coder is a programming language's interpreter.
type coder struct {
	letters string   // options with code, or that say what to run
	long    []string // long ones
	valued  string   // options with a value
}

func coderOf(name string) (coder, bool) {
	known := map[string]coder{
		"python": {letters: "cm", valued: "WX"}, "pypy": {letters: "cm", valued: "WX"}, "node": {letters: "ep", long: []string{"--eval", "--print"}, valued: "rC"},
		"nodejs": {letters: "ep", long: []string{"--eval", "--print"}, valued: "rC"}, "bun": {letters: "ep", long: []string{"--eval", "--print"}},
		"deno": {}, "perl": {letters: "eEn", valued: "I"}, "ruby": {letters: "en", valued: "rI"}, "php": {letters: "r", long: []string{"--run"}}, "lua": {letters: "e"},
		"osascript": {letters: "e"}, "tclsh": {}, "pwsh": {letters: "c"}, "powershell": {letters: "c"}, "Rscript": {letters: "e"},
		"awk": {}, "gawk": {}, "mawk": {},
	}
	if found, ok := known[name]; ok {
		return found, true
	}
	found, ok := known[strings.TrimRight(name, "0123456789.")]
	return found, ok
}

// inlineCode finds code in an argument that decodes what it runs, or that starts a shell.
func inlineCode(c *check, r Run) {
	lang, ok := coderOf(r.Name)
	if !ok {
		return
	}
	code := following(r.Args, "c", lang.long...)
	for _, letter := range strings.Split(lang.letters, "") {
		code = append(code, following(r.Args, letter, lang.long...)...)
	}
	_, operands := SplitOptions(r.Args, "")
	if r.Name == "deno" || strings.HasSuffix(r.Name, "awk") {
		code = operands
	}
	if runsInput(r) {
		for _, text := range c.fed(r.At) {
			code = append(code, KnownArg(text))
		}
		if c.reads(r.At, c.decodes) {
			c.flag(r.At, "hidden-code", VerdictHigh, "it decodes a program and runs it, which cannot be reviewed; put it in a file in the project and run that")
		}
	}
	for _, a := range code {
		text := strings.Join(a.Texts(), "\n")
		if madeUp(a) || a.Word != nil && contains(a.Word.Parts, c.decodes) || decoding().MatchString(text) {
			c.flag(r.At, "hidden-code", VerdictHigh, "its program is decoded or assembled at run time and cannot be reviewed; put it in a file in the project and run that")
		}
		if starting().MatchString(text) {
			c.examine(r.At, quotedTexts(text))
		}
	}
}

func decoding() *regexp.Regexp {
	return regexp.MustCompile(`(?i)b64decode|b32decode|base64|\batob\s*\(|fromhex|unhexlify|decode_hex|codecs\.decode|['"]hex['"]|zlib|fromCharCode|\bpack\s*\(|encodedcommand|marshal\.loads|hex2bin|gzinflate`)
}

func starting() *regexp.Regexp {
	return regexp.MustCompile("(?i)system|exec|spawn|popen|subprocess|shell|qx|`|Process")
}

// quotedTexts returns the string literals of a program in almost any language.
func quotedTexts(code string) []string {
	var out []string
	for _, match := range regexp.MustCompile("'([^']{3,})'|\"([^\"]{3,})\"|`([^`]{3,})`").FindAllStringSubmatch(code, maxBefore) {
		out = append(out, match[1]+match[2]+match[3])
	}
	return out
}

// downloaded flags code that runs right after its download.
func downloaded(c *check, r Run) {
	_, code := coderOf(r.Name)
	reader := r.Name == "eval" || r.Name == "source" || r.Name == "."
	loaded := slices.ContainsFunc(c.saved, func(file string) bool { return file[strings.LastIndexByte(file, '/')+1:] == r.Name })
	if !code && !isShell(r.Name) && !reader && !loaded {
		return
	}
	loaded = loaded || (runsInput(r) || r.Fed) && c.reads(r.At, c.loads)
	for _, a := range r.Args {
		loaded = loaded || a.Word != nil && contains(a.Word.Parts, c.loads)
	}
	if _, operands := SplitOptions(r.Args, "oO"); len(operands) > 0 {
		loaded = loaded || slices.Contains(c.saved, operands[0].First())
	}
	if loaded {
		c.flag(r.At, "download-run", VerdictHigh, "it runs downloaded content without review; download it into the project, read it, then run the file")
	}
}

// gitForce flags commands that discard commits or files that git cannot restore.
func gitForce(c *check, r Run) {
	if r.Name != "git" {
		return
	}
	args := SkipOptions(r.Args, wrapper{Valued: "Cc", Long: []string{"--git-dir", "--work-tree", "--namespace", "--exec-path"}})
	if len(args) == 0 {
		return
	}
	verb, rest := args[0].First(), args[1:]
	_, operands := SplitOptions(rest, "o")
	switch {
	case verb == "push" && !HasFlag(rest, "n", "--dry-run"):
		forced := HasFlag(rest, "f", "--force") || HasFlag(rest, "", "--force-with-lease") || HasFlag(rest, "", "--mirror")
		if forced || slices.ContainsFunc(operands, func(a Arg) bool { return strings.HasPrefix(a.First(), "+") }) {
			c.flag(r.At, "git-force", VerdictHigh, "it rewrites the remote and may delete commits of others; push without force, or check what is replaced")
		}
	case verb == "reset" && HasFlag(rest, "", "--hard"):
		c.flag(r.At, "git-force", VerdictHigh, "it discards all uncommitted changes; save them with git stash first")
	case verb == "clean" && HasFlag(rest, "f", "--force") && !HasFlag(rest, "n", "--dry-run"):
		c.flag(r.At, "git-force", VerdictHigh, "it deletes untracked files, which git cannot restore; git clean -n lists them")
	}
}

// danger is a flagged subcommand.
type danger struct {
	rule    string
	names   []string
	verbs   []string
	not     []string // operands before the verb that change its meaning
	message string
}

func dangers() []danger {
	scripts := []string{"run", "run-script", "exec", "x", "dlx", "test", "start", "install", "i", "add", "remove", "info", "view", "help", "why"}
	const outOfReach = "; check the context it runs in, or do it yourself"
	return []danger{
		{rule: "docker-prune", names: []string{"docker", "podman", "nerdctl"}, verbs: []string{"prune"}, not: []string{"run", "exec"},
			message: "it deletes everything unused, including other projects' data; name what to delete"},
		{rule: "cluster-delete", names: []string{"kubectl", "oc", "k"}, verbs: []string{"delete"}, not: []string{"exec", "get", "describe", "logs"},
			message: "it deletes resources in a cluster, which others may use" + outOfReach},
		{rule: "infrastructure-destroy", names: []string{"terraform", "tofu", "terragrunt", "pulumi", "cdk"}, verbs: []string{"destroy"},
			message: "it destroys infrastructure and its data" + outOfReach},
		{rule: "publish", names: []string{"npm", "pnpm", "yarn", "bun", "cargo", "lerna"}, verbs: []string{"publish", "unpublish"}, not: scripts,
			message: "it publishes to a public registry, which cannot be undone; --dry-run shows what would be published"},
	}
}

func subcommands(c *check, r Run) {
	for _, d := range dangers() {
		if !slices.Contains(d.names, r.Name) || d.rule == "publish" && HasFlag(r.Args, "", "--dry-run") {
			continue
		}
		_, operands := SplitOptions(r.Args, "")
		for _, a := range operands {
			if slices.Contains(d.not, a.First()) {
				break
			}
			if slices.Contains(d.verbs, a.First()) {
				c.flag(r.At, d.rule, VerdictHigh, d.message)
				break
			}
		}
	}
}

// remote flags commands that act on other machines.
func remote(c *check, r Run) {
	_, operands := SplitOptions(r.Args, "")
	host := func(a Arg) bool {
		before, _, found := strings.Cut(a.First(), ":")
		return found && before != "" && !strings.Contains(before, "/")
	}
	switch {
	case slices.Contains([]string{"ssh", "scp", "sftp", "mosh", "slogin"}, r.Name), r.Name == "rsync" && slices.ContainsFunc(operands, host):
		c.flag(r.At, "remote", VerdictHigh, r.Name+" works on another machine with the user's keys; check which, or do it yourself")
	}
}

// aiClients flags AI clients that are started without their own questions, or with other servers.
func aiClients(c *check, r Run) {
	if !slices.Contains([]string{"claude", "codex", "gemini", "opencode", "cursor-agent", "cursor", "code", "qwen", "copilot"}, r.Name) {
		return
	}
	for i, a := range r.Args {
		text := a.First()
		switch {
		case slices.Contains([]string{"--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox", "--full-auto", "--yolo", "-y", "--allow-all-tools", "--force"}, text),
			strings.HasPrefix(text, "--approval-mode=yolo"), strings.HasPrefix(text, "bypassPermissions"):
			c.flag(r.At, "agent-unleashed", VerdictHigh, r.Name+" is started so that it acts without asking; remove "+text+" out")
		case i == 0 && text == "mcp" && len(r.Args) > 1 && slices.Contains([]string{"add", "add-json", "remove"}, r.Args[1].First()), text == "--add-mcp":
			c.flag(r.At, "agent-servers", VerdictHigh, "it changes which servers "+r.Name+" starts; do that yourself")
		}
	}
}
