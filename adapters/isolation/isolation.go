// Package isolation keeps programs inside of a sandbox: with Landlock, by starting them through this program, with
// bubblewrap, and in containers of docker or podman.
//
// Its API may change at any time.
package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// Options is what an Isolator works with.
type Options struct {
	Launcher []string // a program, absolute, with arguments that make it call Launch on the rest; without it there is no Landlock
}

// Isolator is a sandboxport.Isolator. It is safe for concurrent use.
type Isolator struct{ o Options }

// New returns one. It touches nothing.
func New(o Options) *Isolator { return &Isolator{o} }

// The words before the rules of a launch.
const (
	wordWrite   = "write="
	wordGit     = "git=" // written, but no link is made in it: git would follow one, for those whom nothing keeps inside
	wordRead    = "read="
	wordTemp    = "temp="
	wordOffline = "offline"
	wordEnd     = "--"
)

// system is what every program needs to read.
func system() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/run/systemd/resolve", "/run/resolvconf"}
}

// Check is sandboxport.Isolator.
func (i *Isolator) Check(word string) error {
	kind, noNetwork, err := sandbox.ParseIsolation(word)
	switch {
	case err != nil:
		return err
	case kind == sandbox.IsolationLandlock && len(i.o.Launcher) == 0:
		return sandbox.ErrIsolation.WithMessage("landlock needs a launcher program, and this program has none")
	case kind == sandbox.IsolationLandlock:
		return Available(noNetwork)
	case kind == sandbox.IsolationBubblewrap:
		_, err := bubblewrap()
		return err
	case kind == sandbox.IsolationContainer:
		_, err := engine()
		return err
	}
	return nil
}

// bubblewrap returns the program.
func bubblewrap() (string, error) {
	program, err := exec.LookPath("bwrap")
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return "", sandbox.ErrIsolation.WithMessage("bubblewrap is not installed: bwrap is not on the PATH; install the package bubblewrap, or use landlock").WithCause(err)
	}
	return program, nil
}

// Wrap is sandboxport.Isolator.
func (i *Isolator) Wrap(word, repo, dir, path string, variables, argv []string) ([]string, error) {
	kind, noNetwork, err := sandbox.ParseIsolation(word)
	if err != nil || kind == sandbox.IsolationNone {
		return argv, err
	}
	if err := i.Check(word); err != nil {
		return nil, err
	}
	git := filepath.Join(repo, ".git")
	notes, err := notesOf(git, dir)
	if err != nil {
		return nil, err
	}
	if kind == sandbox.IsolationContainer {
		out, err := container(word, git, dir, notes, variables)
		return append(out, inside(dir, argv)...), err
	}
	write := []string{dir, notes, filepath.Join(git, "objects"), filepath.Join(git, "refs"), filepath.Join(git, "logs")}
	read := append([]string{git}, searched(path, write)...)
	temp := filepath.Join(notes, temporary)
	if kind == sandbox.IsolationLandlock {
		out := slices.Clone(i.o.Launcher)
		for n, one := range write {
			if n == 0 {
				out = append(out, wordWrite+one)
			} else {
				out = append(out, wordGit+one)
			}
		}
		for _, one := range append(system(), read...) {
			out = append(out, wordRead+one)
		}
		out = append(out, wordTemp+temp)
		if noNetwork {
			out = append(out, wordOffline)
		}
		return append(append(out, wordEnd), argv...), nil
	}
	program, err := bubblewrap()
	if err != nil {
		return nil, err
	}
	out := []string{program, "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc"}
	if noNetwork {
		out = append(out, "--unshare-net")
	}
	for _, one := range append(system(), read...) {
		out = append(out, "--ro-bind-try", one, one)
	}
	out = append(out, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--setenv", "TMPDIR", "/tmp")
	for _, one := range write {
		out = append(out, "--bind-try", one, one)
	}
	return append(append(out, "--chdir", dir, wordEnd), argv...), nil
}

// temporary is the directory for temporary files, below git's notes on a worktree.
const temporary = "countersign-tmp"

// Home is sandboxport.Isolator.
func (i *Isolator) Home(repo, dir string) (string, error) {
	notes, err := notesOf(filepath.Join(repo, ".git"), dir)
	return filepath.Join(notes, temporary, "home"), err
}

// notesOf returns git's notes on the worktree in dir: always below the clone's, whatever the worktree's own .git says, which programs in it may change.
func notesOf(git, dir string) (string, error) {
	all := filepath.Join(git, "worktrees")
	entries, err := os.ReadDir(all)
	if err != nil {
		return "", sandbox.ErrIsolation.WithMessage("git's worktree metadata in %s cannot be read", all).WithCause(err)
	}
	for _, entry := range entries {
		said, err := os.ReadFile(filepath.Join(all, entry.Name(), "gitdir"))
		if err == nil && entry.IsDir() && filepath.Clean(strings.TrimSpace(string(said))) == filepath.Join(dir, ".git") {
			return filepath.Join(all, entry.Name()), nil
		}
	}
	return "", sandbox.ErrIsolation.WithMessage("the worktree metadata for %s is missing; delete the sandbox and create it again", dir)
}

// searched returns the directories of a PATH outside of the system's and of those that may be written, and what lies beside them for their programs. What may be written
// may be read already, and could have become a link that leads elsewhere.
func searched(path string, written []string) (dirs []string) {
	known := append(system(), written...)
	for _, dir := range filepath.SplitList(path) {
		dir = filepath.Clean(dir)
		if !filepath.IsAbs(dir) || filepath.Dir(dir) == dir {
			continue
		}
		if slices.ContainsFunc(known, func(s string) bool { return dir == s || strings.HasPrefix(dir, s+"/") }) {
			continue
		}
		dirs = append(dirs, dir)
		if filepath.Base(dir) == "bin" {
			dirs = append(dirs, filepath.Join(filepath.Dir(dir), "lib"))
		}
	}
	return dirs
}

// rules are what a launch allows.
type rules struct {
	write, read []string
	git         []string // written without links
	temp        string
	offline     bool
	argv        []string
}

// parse reads what Wrap wrote.
func parse(args []string) (r rules, ok bool) {
	for n, arg := range args {
		switch {
		case arg == wordEnd:
			r.argv = args[n+1:]
			return r, len(r.argv) > 0
		case arg == wordOffline:
			r.offline = true
		case strings.HasPrefix(arg, wordWrite):
			r.write = append(r.write, arg[len(wordWrite):])
		case strings.HasPrefix(arg, wordGit):
			r.git = append(r.git, arg[len(wordGit):])
		case strings.HasPrefix(arg, wordRead):
			r.read = append(r.read, arg[len(wordRead):])
		case strings.HasPrefix(arg, wordTemp):
			r.temp = arg[len(wordTemp):]
		default:
			return r, false
		}
	}
	return r, false
}
