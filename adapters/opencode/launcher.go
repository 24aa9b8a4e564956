package opencode

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// defaultArgs is how opencode serves (opencode contract §8.1).
const defaultArgs = "serve --hostname {host} --port {port}"

// ModelsTimeout bounds asking the program for its models (opencode contract §18). It takes four seconds of a processor the first time.
const ModelsTimeout = 10 * time.Second

// The program goes on when an answer was given up, so that whoever asks again gets its list: killed every time, a slow machine would never have one.
const (
	modelsLimit = 3 * time.Minute // ends the program
	modelsFresh = time.Minute     // how long a list that was waited for in vain is of use
)

// passVariable lists, separated by commas, the variables that servers get besides those every program gets: keys of model providers that
// somebody keeps in the environment.
const passVariable = "OPENCODE_PASS_ENV"

// LauncherOptions is what a Launcher works with.
type LauncherOptions struct {
	Processes  ports.Processes // runs the program to ask for its models; without it there are none
	ModelsWait time.Duration   // how long an answer with its models is waited for; zero means ModelsTimeout
}

// Launcher is a sandboxport.Launcher. It is made by New and safe for concurrent use.
type Launcher struct {
	processes ports.Processes
	client    *http.Client
	wait      time.Duration

	mu     sync.Mutex
	models map[string]*modelsQuery // by program; what runs, and what ended after its answer was given up
}

// modelsQuery is a run of the program that lists its models. result, err and ended may be read once done is closed.
type modelsQuery struct {
	cancel context.CancelFunc
	done   chan struct{}
	result process.Result
	err    error
	ended  time.Time
}

// NewLauncher returns a launcher. It touches nothing.
func NewLauncher(o LauncherOptions) *Launcher {
	return &Launcher{processes: o.Processes, wait: cmp.Or(o.ModelsWait, ModelsTimeout), models: map[string]*modelsQuery{}, client: &http.Client{
		// A proxy would be told the password, and so would whatever a redirection leads to. A connection is used once: another server may have
		// the port a moment later.
		Transport:     &http.Transport{DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Spec is sandboxport.Launcher (opencode contract §8.1, §15).
func (l *Launcher) Spec(s sandboxport.Settings, at sandbox.Layout, port int, key string) process.Spec {
	host := s.Host
	if host == "" {
		host = "127.0.0.1"
	}
	env, secrets := environment(s.Environ)
	env["OPENCODE_SERVER_PASSWORD"], env["OPENCODE_SERVER_USERNAME"], env["OPENCODE_DISABLE_AUTOUPDATE"] = s.Password, user, "1"
	if key != "" {
		env["GIT_SSH_COMMAND"] = "ssh -i " + quoted(key) + " -o IdentitiesOnly=yes -o StrictHostKeyChecking=accept-new -o BatchMode=yes"
	}
	argv := []string{s.Bin}
	template := s.Args
	if strings.TrimSpace(template) == "" {
		template = defaultArgs
	}
	place := strings.NewReplacer("{host}", host, "{port}", strconv.Itoa(port))
	for word := range strings.FieldsSeq(template) {
		argv = append(argv, place.Replace(word))
	}
	return process.Spec{
		Argv: argv, Dir: at.Repo, Env: env, Log: at.ServerLog, Secrets: append(secrets, s.Password),
		Labels: map[string]string{"kind": "agent_server", "project": filepath.Base(at.Base), "port": strconv.Itoa(port)},
	}
}

// environment returns what a server gets of ours: what every program does, its own variables, and what the user opted in.
func environment(inherited []string) (env map[string]string, secrets []string) {
	var pass []string
	for _, pair := range inherited {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == passVariable:
			for word := range strings.SplitSeq(value, ",") {
				pass = append(pass, strings.TrimSpace(word))
			}
		case strings.HasPrefix(name, "OPENCODE_") && name != "OPENCODE_PASSWORD":
			pass = append(pass, name)
		}
	}
	env, secrets = process.ChildEnvironment(inherited, pass, nil, nil)
	delete(env, "CI") // what an agent runs in its shell is no build server's
	return env, secrets
}

// quoted returns a path for the shell that git reads GIT_SSH_COMMAND with.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// modelLine is a line that names a model. (It is compiled when it is needed, not at every start.)
const modelLine = `^[A-Za-z0-9][A-Za-z0-9._-]*/[^\s]+$`

// Models is sandboxport.Launcher. It fails with sandbox.ErrNotInstalled, sandbox.ErrTimeout, or sandbox.ErrConfig when the program fails.
func (l *Launcher) Models(ctx context.Context, s sandboxport.Settings) ([]string, error) {
	if s.Bin == "" || l.processes == nil {
		return nil, sandbox.ErrNotInstalled.WithMessage("no program found that lists models: %s", s.Missing)
	}
	query := l.listing(ctx, s)
	waited := time.NewTimer(l.wait)
	defer waited.Stop()
	late := sandbox.ErrTimeout.WithMessage("%s did not list its models within %v; this can happen at a first start or on a busy machine; call again", s.Bin, l.wait)
	select {
	case <-query.done:
	case <-waited.C:
		return nil, late
	case <-ctx.Done():
		query.cancel()
		return nil, ctx.Err()
	}
	l.taken(s.Bin, query)
	result, err := query.result, query.err
	switch {
	case errors.Is(err, process.ErrStart):
		return nil, sandbox.ErrNotInstalled.WithMessage("%s could not be run to list its models; install it (npm install -g opencode-ai), or set OPENCODE_BIN to its path", s.Bin).WithCause(err)
	case errors.Is(err, context.Canceled), result.Status == process.TimedOut, result.Status == process.Stopped: // another caller may have cancelled it
		return nil, late
	case err != nil:
		return nil, err
	case !result.OK():
		return nil, sandbox.ErrConfig.WithMessage("%s cannot list its models (exit %d): %s", s.Bin, result.Exit.Code, lastLine(result))
	}
	var models []string
	form := regexp.MustCompile(modelLine)
	for line := range strings.Lines(string(result.Stdout)) {
		if line = strings.TrimSpace(line); form.MatchString(line) {
			models = append(models, line)
		}
	}
	slices.Sort(models)
	return slices.Compact(models), nil
}

// listing returns the run of the program that lists its models, and starts it unless it runs, or ended a moment ago without anybody waiting.
func (l *Launcher) listing(ctx context.Context, s sandboxport.Settings) *modelsQuery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.models[s.Bin]; q != nil {
		select {
		case <-q.done:
			if time.Since(q.ended) < modelsFresh {
				return q
			}
		default:
			return q
		}
	}
	env, secrets := environment(s.Environ)
	env["OPENCODE_DISABLE_MODELS_FETCH"] = "1" // it would wait for a download; servers keep the list fresh, and it brings one along
	dir := env["HOME"]
	if !filepath.IsAbs(dir) {
		dir = "/"
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	q := &modelsQuery{cancel: cancel, done: make(chan struct{})}
	l.models[s.Bin] = q
	go func() {
		defer close(q.done)
		defer cancel()
		q.result, q.err = l.processes.Run(running, process.Spec{
			Argv: []string{s.Bin, "models"}, Dir: dir, Env: env, Timeout: modelsLimit, Secrets: append(secrets, s.Password), Labels: map[string]string{"kind": "agent_models"},
		}, nil)
		q.ended = time.Now()
	}()
	return q
}

// taken forgets a run whose answer was given.
func (l *Launcher) taken(bin string, q *modelsQuery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.models[bin] == q {
		delete(l.models, bin)
	}
}

// lastLine returns what a program said last, a few hundred bytes of it at most.
func lastLine(r process.Result) string {
	const most = 400
	text := strings.TrimSpace(string(r.Stderr))
	if text == "" {
		text = strings.TrimSpace(string(r.Stdout))
	}
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
