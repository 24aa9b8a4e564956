package gitcli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
)

// The flags that keep a command from programs which settings cannot switch off.
var (
	plainDiff = []string{"--no-ext-diff", "--no-textconv"}
	fetching  = []string{"--upload-pack=git-upload-pack", "--no-recurse-submodules"}
	asking    = []string{"--upload-pack=git-upload-pack"}
	pushing   = []string{"--receive-pack=git-receive-pack"}
)

// verbs are the commands that are started at all, with what each is given. Whoever adds one has to know what it can be made to run: git archive,
// difftool, mergetool, send-email, help, web--browse, filter-branch and aliases are left out for that.
var verbs = map[string][]string{
	"diff": plainDiff, "diff-tree": plainDiff, "log": plainDiff,
	"clone": asking, "ls-remote": asking, "fetch": fetching, "pull": fetching, "push": pushing,
	"add": nil, "am": nil, "apply": nil, "bisect": nil, "branch": nil, "bundle": nil, "cat-file": nil, "check-ignore": nil, "checkout": nil, "checkout-index": nil, "cherry-pick": nil, "clean": nil,
	"commit": nil, "commit-tree": nil, "config": nil, "for-each-ref": nil, "hash-object": nil, "init": nil, "ls-files": nil, "ls-tree": nil, "merge": nil,
	"merge-base": nil, "merge-file": nil, "merge-tree": nil, "mktag": nil, "pack-objects": nil, "read-tree": nil, "rebase": nil, "remote": nil, "reset": nil, "rev-list": nil, "rev-parse": nil,
	"revert": nil, "rm": nil, "show-ref": nil, "stash": nil, "status": nil, "submodule": nil, "symbolic-ref": nil, "update-index": nil, "update-ref": nil, "var": nil,
	"worktree": nil, "write-tree": nil,
}

// VerbError reports a command that is not among those that this package starts.
type VerbError struct{ Verb string }

// Error names it.
func (e *VerbError) Error() string { return "git " + e.Verb + " is not an allowed git command" }

// never returns what no command needs and every configuration could ask for.
func (c Command) never() []Setting {
	settings := []Setting{{"core.fsmonitor", "false"}, {"core.alternateRefsCommand", "true"}, {"log.showSignature", "false"}, {"diff.submodule", "short"},
		{"status.submoduleSummary", "false"}, {"submodule.recurse", "false"}, {"fetch.recurseSubmodules", "false"},
		{"push.recurseSubmodules", "no"}, {"transfer.bundleURI", "false"}, {"http.followRedirects", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"}}
	if !c.Hooks {
		settings = append(settings, Setting{"core.hooksPath", "/dev/null"})
	}
	return settings
}

// env returns a variable of the command's own.
func (c Command) env(name string) (value string) {
	for _, pair := range c.Env {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}

// guarded returns the command with everything switched off that the repository names, and with the flags of its verb.
func (c Command) guarded(ctx context.Context) (Command, error) {
	if len(c.Args) == 0 {
		c.Settings = append(c.never(), c.Settings...)
		return c, nil
	}
	verb := c.Args[0]
	flags, known := verbs[verb]
	if !known {
		return c, &VerbError{verb}
	}
	if verb == "submodule" && !slices.Contains(c.Args, "--checkout") { // else the repository says how it is updated
		return c, &VerbError{verb}
	}
	g := guard{Command: c}
	if verb != "config" && verb != "clone" && verb != "init" {
		if err := g.repository(ctx); err != nil {
			return c, err
		}
	}
	args := append([]string{verb}, flags...)
	for _, arg := range c.Args[1:] {
		if arg == "--ignore-submodules=none" && !g.descend {
			arg = "--ignore-submodules=dirty"
		}
		args = append(args, arg)
	}
	if !g.descend {
		g.off = append(g.off, Setting{"diff.ignoreSubmodules", "dirty"})
	}
	c.Args, c.Settings, c.Env = args, slices.Concat(c.never(), g.off, c.Settings), slices.Concat(c.Env, g.more)
	return c, nil
}

// guard finds out about one command.
type guard struct {
	Command
	off     []Setting         // what the repository names, switched off
	more    []string          // environment
	shown   map[string]string // filters that may run, by key
	descend bool              // submodules may be looked into: theirs is switched off too
}

// ask runs a git that reads nothing but configuration and the index, and so runs nothing.
func (g *guard) ask(ctx context.Context, c Command, args ...string) (string, error) {
	c.Args, c.Stdin, c.Sink, c.Watch, c.Protocols, c.Hooks = args, nil, nil, nil, "", false
	c.Settings, c.Limit = append(c.never(), Setting{"core.quotePath", "false"}), manyLinks
	out, err := c.start(ctx)
	return string(out), err
}

const (
	manyLinks = 1 << 30 // bytes of an index, printed
	deepest   = 8       // submodules in submodules
)

// repository switches off what the repository of the command names, and its submodules where git looks into them.
func (g *guard) repository(ctx context.Context) error {
	texts := g.texts()
	if g.url() != "" || suspicious(texts) {
		said, err := g.ask(ctx, g.Command, "config", "-z", "--show-scope", "--list")
		if err != nil {
			return err
		}
		list := parse(said)
		if err := g.led(list, g.Dir); err != nil {
			return err
		}
		g.switchOff(list, g.Filters)
	}
	return g.submodules(ctx)
}

// switchOff replaces what the repository names by what the user has in its place, or by nothing.
func (g *guard) switchOff(said []entry, filters bool) {
	if g.shown == nil {
		g.shown = map[string]string{}
	}
	credential := false
	for _, e := range said {
		switch kind, nothing := program(e.key); {
		case !e.own() || kind == harmless:
		case kind == helper:
			credential = true
		case kind == filter && filters:
			g.shown[e.key] = e.value
		default:
			value, ok := g.shown[e.key]
			if !ok {
				value = users(said, e.key, nothing)
			}
			g.off = append(g.off, Setting{e.key, value})
			if e.key == "core.gitproxy" { // of several settings the first counts
				g.more = append(g.more, "GIT_PROXY_COMMAND=")
			}
		}
	}
	if !credential {
		return
	}
	g.off = append(g.off, Setting{"credential.helper", ""})
	for _, e := range said {
		if kind, _ := program(e.key); kind == helper && e.users() {
			g.off = append(g.off, Setting{e.key, e.value})
		}
	}
}

// Named returns what the repository's own configuration names that runs where Filters is set, as git has it: nothing for most. Nothing of it runs.
func (c Command) Named(ctx context.Context) ([]Setting, error) {
	g := guard{Command: c}
	if !suspicious(g.texts()) {
		return nil, nil
	}
	said, err := g.ask(ctx, c, "config", "-z", "--show-scope", "--list")
	var named []Setting
	for _, e := range parse(said) {
		if kind, _ := program(e.key); kind == filter && e.own() && e.value != "" && !strings.HasSuffix(e.key, ".required") {
			named = append(named, Setting{e.key, e.value})
		}
	}
	return named, err
}

// entry is a setting, and where it is from.
type entry struct{ scope, key, value string }

func (e entry) users() bool { return e.scope == "global" || e.scope == "system" }
func (e entry) own() bool   { return !e.users() && e.scope != "command" }

// fetches reports a program to fetch with, which no setting overrules.
func (e entry) fetches() bool {
	return e.own() && strings.HasPrefix(e.key, "remote.") && (strings.HasSuffix(e.key, ".uploadpack") || strings.HasSuffix(e.key, ".vcs"))
}

// ErrLed reports a repository whose own configuration says by what way, or how safely, remotes are reached.
var ErrLed = fault.New(fault.Denied, "git_network_settings", "the repository's own configuration changes how remotes are reached")

// led fails with ErrLed where the command reaches out and the repository itself names a proxy, another address, or less care: no empty value puts back
// what git would do by itself. What the user's own configuration says stays.
func (g *guard) led(said []entry, dir string) error {
	if g.Protocols == "" {
		return nil
	}
	url := g.url()
	for _, e := range said {
		if e.own() && (g.Protocols != "file" && e.leads() || url != "" && e.diverts(url)) {
			key := Mask(e.key)
			return ErrLed.WithMessage("the configuration of the repository %s sets %s, which would make git reach something that is not approved; remove it (git config --unset-all %s), or set it in your own configuration (git config --global)",
				cmp.Or(dir, "."), key, key)
		}
	}
	return nil
}

// url returns the URL that a command which reaches out names; empty for the name of a remote, of which callers show what it comes to.
func (c Command) url() string {
	if remote := c.remote(); c.Protocols != "" && (strings.Contains(remote, ":") || filepath.IsAbs(remote)) {
		return remote
	}
	return ""
}

// diverts reports a setting that puts another address in the place of a URL: by its beginning, or because it is the name of a remote.
func (e entry) diverts(url string) bool {
	section, rest, _ := strings.Cut(e.key, ".")
	at := strings.LastIndexByte(rest, '.')
	if at < 0 {
		return false
	}
	switch section {
	case "url":
		return strings.HasPrefix(url, e.value)
	case "remote":
		return rest[:at] == url && slices.Contains([]string{"url", "pushurl", "vcs"}, rest[at+1:])
	}
	return false
}

// leads reports a setting of how remotes are reached that is not known to be harmless.
func (e entry) leads() bool {
	section, rest, _ := strings.Cut(e.key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section + "." + name {
	case "remote.proxy", "remote.proxyauthmethod":
		return e.value != ""
	case "http.sslverify", "http.proxysslverify":
		return !slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(e.value))
	case "http.followredirects":
		return !slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(e.value))
	case "http.extraheader": // a log-in goes where everything goes
		return !strings.HasPrefix(strings.ToLower(e.value), "authorization:")
	case "http.postbuffer", "http.version", "http.lowspeedlimit", "http.lowspeedtime", "http.maxrequests", "http.minsessions", "http.useragent", "http.noepsv", "http.receivepack", "http.uploadpack":
		return false
	}
	return section == "http"
}

// parse reads what git config -z --show-scope --list printed.
func parse(said string) (list []entry) {
	for said != "" {
		var e entry
		e.scope, said, _ = strings.Cut(said, "\x00")
		e.key, said, _ = strings.Cut(said, "\x00")
		e.key, e.value, _ = strings.Cut(e.key, "\n")
		list = append(list, e)
	}
	return list
}

// users returns what the user or the machine says, or else nothing.
func users(said []entry, key, nothing string) string {
	for _, e := range said {
		if e.key == key && e.users() {
			nothing = e.value
		}
	}
	return nothing
}

type kind int

const (
	harmless kind = iota // or overruled for every command: by never, by the environment or by the verb's flags
	runs
	filter // runs, and makes what is committed
	helper // of credentials: a list
)

// program says what git, or git-lfs below it, takes the value of a key for, and a value that runs nothing of the repository's.
func program(key string) (kind, string) {
	section, rest, _ := strings.Cut(key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section + "." + name {
	case "filter.clean", "filter.smudge", "filter.process":
		return filter, ""
	case "filter.required":
		return filter, "false"
	case "merge.driver":
		return filter, "false"
	case "credential.helper":
		return helper, ""
	case "core.sshcommand":
		return runs, "ssh"
	case "core.gitproxy", "fetch.bundleuri", "gpg.defaultkeycommand":
		return runs, ""
	case "gpg.program":
		switch key {
		case "gpg.x509.program":
			return runs, "gpgsm"
		case "gpg.ssh.program":
			return runs, "ssh-keygen"
		}
		return runs, "gpg"
	case "lfs.clean", "lfs.smudge": // extensions of git-lfs
		return runs, "cat"
	case "lfs.path", "hook.command", "hook.enabled":
		return runs, "false"
	}
	return harmless, ""
}

// The sections that git writes itself and in which, but for the words, nothing runs. Most repositories have no others.
var (
	plainSections = []string{"core", "remote", "branch", "user", "extensions", "submodule", "gc", "init", "pull", "push", "fetch", "index", "feature", "advice", "color",
		"commit", "tag", "pack", "i18n", "apply", "rerere"}
	plainBut = []string{"sshcommand", "proxy", "bundleuri", "uploadpack", "vcs"}
)

// suspicious reports whether a configuration, in lower case, could name what has to be switched off, or another file that does. What cannot be told
// is suspicious.
func suspicious(text string) bool {
	for _, word := range plainBut {
		if strings.Contains(text, word) {
			return true
		}
	}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "[")
		if !found {
			return false
		}
		rest = after
		end := strings.IndexFunc(rest, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.') })
		if end < 0 {
			end = len(rest)
		}
		name, _, _ := strings.Cut(rest[:end], ".")
		if name != "" && !slices.Contains(plainSections, name) {
			return true
		}
	}
}

const (
	unknown    = "[include" // stands for what could not be read
	maxConfig  = 1 << 20
	maxPointer = 64 << 10
)

// texts returns what the configuration files say of every repository that git could take for the command's, in lower case. Git goes upwards from the
// directory to the first that it can use; which one that is need not be known, as all are read.
func (g *guard) texts() string {
	dir := g.Dir
	if dir == "" {
		dir = "."
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return unknown
	}
	if admin := g.env("GIT_DIR"); admin != "" {
		return administration(fromRun(dir, admin), fromRun(dir, g.env("GIT_COMMON_DIR")))
	}
	said := ""
	for _, at := range upwards(dir) {
		said += around(at)
	}
	return said
}

// upwards returns a directory and all above it, as git finds them.
func upwards(dir string) (all []string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for ; ; dir = filepath.Dir(dir) {
		all = append(all, dir)
		if filepath.Dir(dir) == dir {
			return all
		}
	}
}

// around returns the configuration of the repository that dir is the top of, or is itself.
func around(dir string) string {
	own := filepath.Join(dir, ".git")
	if _, err := os.Stat(own); !errors.Is(err, os.ErrNotExist) {
		return administration(own, "")
	}
	if there(filepath.Join(dir, "HEAD")) {
		return configs(dir, "")
	}
	return ""
}

// administration returns the configuration of what is called .git: a directory, or a file that says where one is.
func administration(path, common string) string {
	info, err := os.Stat(path)
	if err != nil {
		return unknown
	}
	if info.IsDir() {
		return configs(path, common)
	}
	said, err := runSmall(path, maxPointer)
	admin, ok := strings.CutPrefix(strings.TrimRight(said, "\r\n"), "gitdir: ")
	if err != nil || !ok {
		return unknown
	}
	return configs(fromRun(filepath.Dir(path), admin), common)
}

// configs returns the configuration of an administration. Unless it is said, the administration tells where what it shares is.
func configs(admin, common string) string {
	if common == "" {
		common = admin
		if said, err := runSmall(filepath.Join(admin, "commondir"), maxPointer); err == nil {
			common = fromRun(admin, strings.TrimRight(said, "\r\n"))
		} else if !errors.Is(err, os.ErrNotExist) {
			return unknown
		}
	}
	said := ""
	for _, path := range []string{filepath.Join(common, "config"), filepath.Join(admin, "config.worktree"), filepath.Join(common, "config.worktree")} {
		text, err := runSmall(path, maxConfig)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return unknown
		}
		said += "\n" + strings.ToLower(text)
	}
	return said
}

// fromRun returns a path as seen from a directory; nothing stays nothing.
func fromRun(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

var errRunOdd = errors.New("not a small regular file")

// runSmall returns a regular file. Nothing else is opened: a pipe would be waited for.
func runSmall(path string, most int64) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", errRunOdd
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// submodules switches off what the submodules name, for the commands that have git look into them. Which they are is what the index says; a
// repository without a file of submodules is taken to have none, and git is kept out of whatever else is there.
func (g *guard) submodules(ctx context.Context) error {
	comparing := slices.Contains(g.Args, "--ignore-submodules=none")
	if !comparing && !slices.Contains([]string{"add", "commit", "submodule"}, g.Args[0]) {
		return nil
	}
	top := fromRun(g.Dir, g.env("GIT_WORK_TREE"))
	if top == "" {
		dir := g.Dir
		if dir == "" {
			dir = "."
		}
		if comparing && !slices.ContainsFunc(upwards(dir), func(dir string) bool { return there(filepath.Join(dir, ".gitmodules")) }) {
			return nil
		}
		said, err := g.ask(ctx, g.Command, "rev-parse", "--show-toplevel")
		if err != nil {
			return err
		}
		top = strings.TrimSuffix(said, "\n")
	}
	if comparing && !there(filepath.Join(top, ".gitmodules")) {
		return nil
	}
	outer := g.Command
	outer.Dir = top
	whole, err := g.below(ctx, outer, top, deepest)
	g.descend = err == nil && whole
	return err
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// below goes through the submodules of a working tree. It is not whole where there are too many in one another.
func (g *guard) below(ctx context.Context, c Command, top string, depth int) (whole bool, err error) {
	whole = true
	said, err := g.ask(ctx, c, "ls-files", "--stage", "-z")
	if err != nil {
		return false, err
	}
	for entry, err := range git.Entries([]byte(said)) {
		if err != nil {
			return false, errors.New(err.Error()) // callers give it their own name
		}
		if entry.Mode != git.SubmoduleMode {
			continue
		}
		path := filepath.FromSlash(entry.Path)
		dir := filepath.Join(top, path)
		if !filepath.IsLocal(path) || !there(filepath.Join(dir, ".git")) {
			continue // not there
		}
		if depth == 0 {
			return false, nil
		}
		inner := Command{Dir: dir, Env: []string{"GIT_DIR=" + filepath.Join(dir, ".git"), "GIT_WORK_TREE=" + dir}, Machine: c.Machine, Timeout: c.Timeout, Inherit: c.Inherit}
		var exit *ExitError
		switch deeper, err := g.inner(ctx, inner, depth); {
		case errors.As(err, &exit): // a broken one, which git does not look into either
		case err != nil:
			return false, err
		case !deeper:
			whole = false
		}
	}
	return whole, nil
}

// inner returns one submodule.
func (g *guard) inner(ctx context.Context, c Command, depth int) (whole bool, err error) {
	if suspicious(around(c.Dir)) {
		said, err := g.ask(ctx, c, "config", "-z", "--show-scope", "--list")
		if err != nil {
			return false, err
		}
		list := parse(said)
		if err := g.led(list, c.Dir); err != nil {
			return false, err
		}
		if g.Args[0] == "submodule" && slices.ContainsFunc(list, entry.fetches) {
			return false, &VerbError{"submodule update"}
		}
		g.switchOff(list, false)
	}
	return g.below(ctx, c, c.Dir, depth-1)
}
