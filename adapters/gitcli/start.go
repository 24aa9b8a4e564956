package gitcli

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// SSH returns the environment in which git's ssh never prompts, and uses only the given key, if any. Git passes the value to a shell.
func SSH(key string) string {
	ssh := "GIT_SSH_COMMAND=ssh"
	if key != "" {
		ssh += " -i '" + strings.ReplaceAll(key, "'", `'\''`) + "' -o IdentitiesOnly=yes"
	}
	return ssh + " -o StrictHostKeyChecking=accept-new -o BatchMode=yes"
}

// settings overrule what any configuration says that would start a program, change how files are read, or leave something running.
func settings() []Setting {
	return []Setting{
		{Name: "credential.helper"}, {Name: "core.alternateRefsCommand", Value: "true"}, {Name: "core.quotePath", Value: "false"},
		{Name: "gc.auto", Value: "0"}, {Name: "maintenance.auto", Value: "false"}, {Name: "submodule.recurse", Value: "false"},
		{Name: "core.splitIndex", Value: "false"}, {Name: "advice.detachedHead", Value: "false"}, {Name: "core.longpaths", Value: "true"},
	}
}

// identity returns the author of backup commits, so that they need no configured user name.
func identity() []string {
	return []string{"GIT_AUTHOR_NAME=Countersign", "GIT_AUTHOR_EMAIL=countersign@localhost", "GIT_COMMITTER_NAME=Countersign", "GIT_COMMITTER_EMAIL=countersign@localhost"}
}

// Start runs git with the machine's configuration, and gives its failures the names of the capability: sandbox.ErrBusy while another git holds a
// lock, sandbox.ErrTimeout, and sandbox.ErrGit with git's masked words.
func Start(ctx context.Context, cmd Command) ([]byte, error) {
	cmd.Machine = true
	if cmd.Timeout <= 0 {
		cmd.Timeout = localTime
	}
	cmd.Settings = append(settings(), cmd.Settings...)
	cmd.Env = append(append(identity(), "GIT_LFS_SKIP_SMUDGE=1", "GIT_PROXY_COMMAND=", SSH("")), cmd.Env...)
	out, err := cmd.Output(ctx)
	if err == nil {
		return out, nil
	}
	return nil, named(ctx, cmd, err)
}

// Version returns the version of the git on the PATH, such as 2.47.3. It needs no repository. It fails as Start does.
func Version(ctx context.Context) (string, error) {
	cmd := Command{Args: []string{"version"}}
	out, err := cmd.start(ctx)
	if err != nil {
		return "", named(ctx, cmd, err)
	}
	words := strings.Fields(string(out)) // "git version 2.39.3 (Apple Git-145)"
	if len(words) < 3 {
		return "", sandbox.ErrGit.WithMessage("git did not report its version: %q", Mask(string(out)))
	}
	return words[2], nil
}

// Held is the details of sandbox.ErrBusy.
type Held struct {
	Lock string `json:"lock,omitempty"` // file
}

func named(ctx context.Context, cmd Command, err error) error {
	var missing *MissingError
	var exit *ExitError
	var told *fault.Error
	verb := cmd.Args[0]
	switch {
	case ctx.Err() != nil:
		return fault.From(ctx.Err())
	case errors.As(err, &told): // the sink's
		return err
	case errors.As(err, &missing):
		return sandbox.ErrGit.WithMessage("git cannot be started; install git 2.39 or newer and make sure it is on the PATH").WithCause(err)
	case errors.Is(err, context.DeadlineExceeded):
		return sandbox.ErrTimeout.WithMessage("git %s in %s took longer than %s and was stopped", verb, cmd.Dir, cmd.Timeout).WithCause(err)
	case errors.Is(err, ErrLarge):
		return sandbox.ErrGit.WithMessage("the output of git %s in %s is too large; check whether files are missing from .gitignore", verb, cmd.Dir).WithCause(err)
	case !errors.As(err, &exit):
		return sandbox.ErrGit.WithMessage("git %s in %s failed", verb, cmd.Dir).WithCause(err)
	}
	if lock, busy := held(exit.Words); busy {
		say := "another git process is running in " + cmd.Dir
		if lock != "" {
			say += " and holds " + lock + "; try again when it has finished, or delete that file if no git is running"
		}
		return sandbox.ErrBusy.WithMessage("%s (git %s: %s)", say, verb, Last(exit.Words)).WithDetails(Held{lock}).WithCause(err)
	}
	return sandbox.ErrGit.WithMessage("git %s in %s failed: %s", verb, cmd.Dir, Last(exit.Words)).WithCause(err)
}

// held reports whether git gave up because another one was at work, and names the lock where git does.
func held(words string) (lock string, busy bool) {
	for _, form := range []string{`Unable to create '(.+\.lock)': File exists`, `could not lock config file (.+): File exists`, `[Uu]nable to lock '?(.+?)'?: File exists`} {
		if found := regexp.MustCompile(form).FindStringSubmatch(words); found != nil {
			lock = found[1]
			if !strings.HasSuffix(lock, ".lock") {
				lock += ".lock"
			}
			return lock, true
		}
	}
	for _, sign := range []string{"/commondir", "/gitdir", "/HEAD"} { // the administration of a worktree that another git is just making
		if strings.Contains(words, "failed to read ") && strings.Contains(words, sign) || strings.Contains(words, "/"+adminDir+"/") && strings.Contains(words, sign+"'") {
			return "", true
		}
	}
	return "", false
}

const (
	firstWait = 10 * time.Millisecond
	longWait  = 400 * time.Millisecond
)

// Patiently repeats what fails with sandbox.ErrBusy, at growing and uneven intervals, until it succeeds, fails otherwise, or patience is over.
func Patiently(ctx context.Context, patience time.Duration, do func() error) error {
	over := time.Now().Add(patience)
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		err := do()
		if !errors.Is(err, sandbox.ErrBusy) || time.Now().After(over) {
			return err
		}
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return fault.From(ctx.Err())
		case <-timer.C:
		}
	}
}

// ExitOf returns the exit status of a git that ran and failed, or 0.
func ExitOf(err error) int {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return 0
}

// Printed returns the standard output of a git that failed.
func Printed(err error) []byte {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Output
	}
	return nil
}

// Words returns what a git that failed had said on standard error.
func Words(err error) string {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Words
	}
	return ""
}

// Last is git's words in one line, without progress and advice.
func Last(words string) string {
	var kept []string
	for line := range strings.Lines(words) {
		if cut := strings.LastIndexByte(strings.TrimRight(line, "\r\n"), '\r'); cut >= 0 {
			line = line[cut+1:]
		}
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "hint:") && !strings.HasPrefix(line, "Cloning into") {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return "it gave no reason"
	}
	return strings.Join(kept, "; ")
}

// Disk names what the file system did.
func Disk(err error, path string) error {
	say := "make sure that it is writable and has free space"
	if errors.Is(err, fs.ErrPermission) {
		say = "make sure that this user has access to it"
	}
	return sandbox.ErrGit.WithMessage("%s cannot be used: %v; %s", path, err, say).WithCause(err)
}
