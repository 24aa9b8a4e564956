package gitcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/osproc"
)

// Network is the transports of commands that fetch or push. What is left out runs programs of the URL's choosing.
const Network = "https:http:ssh:git:file"

const (
	defaultTimeout = 30 * time.Second
	defaultLimit   = 64 << 20        // bytes of standard output
	maxWords       = 4 << 10         // bytes of git's last words that are kept
	grace          = 2 * time.Second // between asking git to end and ending it
)

// ErrLarge reports a git that printed more than the command's limit.
var ErrLarge = errors.New("git printed more than expected")

// MissingError reports a git that could not be started at all.
type MissingError struct{ Err error }

// Error returns why it could not be started.
func (e *MissingError) Error() string { return "git cannot be started: " + e.Err.Error() }

// Unwrap is the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// ExitError reports a git that ran and failed.
type ExitError struct {
	Code   int    // its exit status; -1 when a signal ended it
	Output []byte // what it had printed on standard output
	Words  string // the end of its standard error, credentials masked
}

// Error returns the exit status and git's own words.
func (e *ExitError) Error() string {
	return fmt.Sprintf("git failed with status %d: %s", e.Code, e.Words)
}

// Setting is one configuration value that overrules every file. Names are exact, whatever characters are in them.
type Setting struct{ Name, Value string }

// Command is one git to run. Its zero value, with arguments, is the most careful one.
type Command struct {
	Dir       string // where git works; empty is the working directory
	Args      []string
	Stdin     []byte        // empty is a closed standard input
	Sink      io.Writer     // takes standard output as it comes, instead of Output's result; git is stopped when it fails
	Watch     io.Writer     // sees standard error as it comes, unmasked; what it returns does not matter
	Env       []string      // on top of the hardened environment
	Settings  []Setting     // on top of the hardened configuration
	Protocols string        // GIT_ALLOW_PROTOCOL; empty is none
	Machine   bool          // read the machine's configuration, where credential helpers, proxies and identities may be
	Hooks     bool          // run the repository's hooks: for what the user approved who was told of them
	Filters   bool          // run the filters and merge drivers that the repository's own configuration names: likewise
	Limit     int64         // bytes of standard output; 0 is 64 MiB
	Timeout   time.Duration // 0 is 30 seconds
	Inherit   *os.File      // stays open in git and whatever it starts, where the system can do that; may be nil

	// ReceiverHooks runs the hooks of a repository in a directory of this machine that is pushed to: for what the user approved who was told of them. Without it
	// they are not run.
	ReceiverHooks bool
}

// Output runs git and gives what it printed. It fails with *MissingError, *ExitError, ErrLarge, the error of ctx, that of Sink, or one that
// wraps context.DeadlineExceeded when Timeout passed first; with ErrRemote where it would reach a remote that its context does not let it reach. When it returns, git and everything git started in its session was ended.
func (c Command) Output(ctx context.Context) ([]byte, error) {
	if err := c.reaches(ctx); err != nil {
		return nil, err
	}
	c, err := c.received(ctx)
	if err != nil {
		return nil, err
	}
	if c, err = c.guarded(ctx); err != nil {
		return nil, err
	}
	return c.start(ctx)
}

// start is Output of a command that was guarded.
func (c Command) start(ctx context.Context) ([]byte, error) {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, &MissingError{err}
	}
	args := c.Args
	if c.Dir != "" {
		args = append([]string{"-C", c.Dir}, args...)
	}
	out := &limited{max: c.Limit, sink: c.Sink, full: cancel}
	if out.max <= 0 {
		out.max = defaultLimit
	}
	words := &tail{max: maxWords, watch: c.Watch}
	cmd := exec.CommandContext(bounded, git, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.environment(os.Environ()), out, words
	if len(c.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.WaitDelay = grace + time.Second
	release := alone(cmd)
	if mark := osproc.MarkOf(ctx); mark != "" {
		cmd.Env = append(cmd.Env, mark)
		runtime.LockOSThread() // the thread that starts git is to live as long as git does
		defer runtime.UnlockOSThread()
		dieWithUs(cmd)
	}
	if c.Inherit != nil {
		inherit(cmd, c.Inherit)
	}
	err = cmd.Start()
	if err != nil {
		release()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &MissingError{err}
	}
	err = cmd.Wait()
	release()
	return c.judge(ctx, bounded, cmd, err)
}

// judge returns the result of a git process that ended.
func (c Command) judge(ctx, bounded context.Context, cmd *exec.Cmd, err error) ([]byte, error) {
	out, words := cmd.Stdout.(*limited), cmd.Stderr.(*tail)
	code := cmd.ProcessState.ExitCode()
	switch {
	case out.failed != nil:
		return nil, out.failed
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && code == 0: // something that a hook left running still holds the pipe
		return out.kept.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("git took longer than %s: %w", c.Timeout, bounded.Err())
	}
	return nil, &ExitError{Code: code, Output: out.kept.Bytes(), Words: Mask(words.String())}
}

// environment returns the process's without what would lead git elsewhere, and with everything refused that asks or fetches. SSH_AUTH_SOCK
// stays: an agent asks nobody here. GIT_SSH_COMMAND goes, like every GIT_ variable: what runs is in configuration files that last.
func (c Command) environment(env []string) []string {
	kept := make([]string, 0, len(env)+20)
	for _, pair := range env {
		if !strings.HasPrefix(strings.ToUpper(pair), "GIT_") && !strings.HasPrefix(pair, "SSH_ASKPASS") && !strings.HasPrefix(pair, osproc.WorkMark("")) {
			kept = append(kept, pair)
		}
	}
	kept = append(kept, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
		"GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_PAGER=cat", "GIT_MERGE_AUTOEDIT=no", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull) // commits are what their names say, as they are where they are pushed
	if !c.Machine {
		kept = append(kept, "GIT_CONFIG_NOSYSTEM=1")
	}
	if c.Protocols == "" {
		kept = append(kept, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1")
	} else {
		kept = append(kept, "GIT_ALLOW_PROTOCOL="+c.Protocols)
	}
	kept = append(kept, "GIT_CONFIG_COUNT="+strconv.Itoa(len(c.Settings)))
	for i, s := range c.Settings {
		n := strconv.Itoa(i)
		kept = append(kept, "GIT_CONFIG_KEY_"+n+"="+s.Name, "GIT_CONFIG_VALUE_"+n+"="+s.Value)
	}
	return append(kept, c.Env...)
}

// limited keeps what is written, or hands it on, until it is too much, and then has the writer stopped. The buffer is not embedded: its
// ReadFrom would take everything past Write.
type limited struct {
	kept   bytes.Buffer
	sink   io.Writer // may be nil
	taken  int64
	max    int64
	failed error
	full   context.CancelFunc
}

// buffers hold what a git prints on its way: one made for each of hundreds of gits has garbage collected while others are being started, and that waits.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// drain has w take all that r has, through a buffer that is used again.
func drain(w io.Writer, r io.Reader) (int64, error) {
	buffer := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, buffer[:])
}

// ReadFrom is what os/exec reads a program's output with.
func (l *limited) ReadFrom(r io.Reader) (int64, error) { return drain(l, r) }

func (l *limited) Write(p []byte) (int, error) {
	l.taken += int64(len(p))
	switch {
	case l.failed != nil:
	case l.taken > l.max:
		l.failed = ErrLarge
	case l.sink == nil:
		return l.kept.Write(p)
	default:
		_, l.failed = l.sink.Write(p)
	}
	if l.failed != nil {
		l.full()
		return 0, l.failed
	}
	return len(p), nil
}

// tail keeps the end of what is written.
type tail struct {
	kept  []byte
	max   int
	cut   bool      // something was left out
	watch io.Writer // may be nil
}

// ReadFrom is what os/exec reads a program's words with.
func (t *tail) ReadFrom(r io.Reader) (int64, error) { return drain(t, r) }

func (t *tail) Write(p []byte) (int, error) {
	if t.watch != nil {
		_, _ = t.watch.Write(p)
	}
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.max { // seldom, so that talkative programs cost little
		t.shorten()
	}
	return len(p), nil
}

func (t *tail) shorten() {
	if over := len(t.kept) - t.max; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
}

// String returns the kept text; when something was left out, it begins with a whole line, so that no half of a URL escapes Mask.
func (t *tail) String() string {
	t.shorten()
	text := string(t.kept)
	if t.cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
}
