package opencode

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// maxPrompt is how many bytes a prompt may have: it is an argument of a program.
const maxPrompt = 64 << 10

// Agent is sandboxport.Launcher. Beside what every program gets, an agent gets its own settings and keys, and what passVariable names.
func (l *Launcher) Agent(s sandboxport.Settings, name, prompt string) (process.Spec, error) {
	args := sandbox.AgentArguments(name, prompt)
	own, install := map[string][]string{sandbox.AgentClaude: {"ANTHROPIC_", "CLAUDE_"}, sandbox.AgentCodex: {"OPENAI_", "CODEX_"}}[name],
		map[string]string{sandbox.AgentClaude: "npm install -g @anthropic-ai/claude-code", sandbox.AgentCodex: "npm install -g @openai/codex"}[name]
	switch {
	case args == nil:
		return process.Spec{}, sandbox.ErrArguments.WithMessage("unknown agent %.40q; use opencode, claude, codex or none", name)
	case strings.TrimSpace(prompt) == "":
		return process.Spec{}, sandbox.ErrArguments.WithMessage("%s needs a prompt, because it runs without a user and then exits", name)
	case len(prompt) > maxPrompt:
		return process.Spec{}, sandbox.ErrArguments.WithMessage("the limit for a prompt is %d KiB, and this one has %d bytes; put the rest into a file and name it in the prompt", maxPrompt>>10, len(prompt))
	}
	var pass []string
	path := ""
	for _, pair := range s.Environ {
		variable, value, _ := strings.Cut(pair, "=")
		switch {
		case variable == "PATH":
			path = value
		case variable == passVariable:
			for word := range strings.SplitSeq(value, ",") {
				pass = append(pass, strings.TrimSpace(word))
			}
		case slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(variable, prefix) }):
			pass = append(pass, variable)
		}
	}
	program := onPath(path, name)
	if program == "" {
		return process.Spec{}, sandbox.ErrAgentMissing.WithMessage("%s is not installed: it is not on the PATH; run %s, or use --agent none for a sandbox without an agent", name, install)
	}
	env, secrets := process.ChildEnvironment(s.Environ, pass, nil, nil)
	delete(env, "CI")
	return process.Spec{Argv: append([]string{program}, args...), Env: env, Secrets: secrets}, nil
}

// onPath returns the program of that name in the directories of a PATH, or "" if there is none.
func onPath(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		candidate := filepath.Join(dir, name)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate
		}
	}
	return ""
}

// Prompt is sandboxport.Launcher.
func (l *Launcher) Prompt(ctx context.Context, s sandboxport.Settings, port int, dir, title, text string) (string, error) {
	at := net.JoinHostPort(reachable(s.Host), strconv.Itoa(port))
	where := "?" + url.Values{"directory": {dir}}.Encode()
	var made struct {
		ID string `json:"id"`
	}
	if err := l.post(ctx, at, "/session"+where, s.Password, titled{title}, &made); err != nil {
		return "", err
	}
	if made.ID == "" || strings.ContainsAny(made.ID, "/?#.") {
		return "", sandbox.ErrUnhealthy.WithMessage("the server at port %d created a session without an id", port)
	}
	if strings.TrimSpace(text) == "" {
		return made.ID, nil
	}
	return made.ID, l.post(ctx, at, "/session/"+made.ID+"/prompt_async"+where, s.Password, prompt{Parts: []part{{"text", text}}}, nil)
}

// post sends a document and reads the answer into out, unless that is nil.
func (l *Launcher) post(ctx context.Context, at, path, password string, doc, out any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status, body, err := l.send(limited, http.MethodPost, at, path, password, text)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return sandbox.ErrUnhealthy.WithMessage("the server at %s did not accept the prompt: %s", at, reason(err))
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return sandbox.ErrAuth
	case status < 200 || status > 299:
		return sandbox.ErrUnhealthy.WithMessage("the server at %s rejected the prompt: %s", at, said(status, body, redact.New(redact.Options{}).With(password)))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return sandbox.ErrUnhealthy.WithMessage("the answer of the server at %s to the prompt is not JSON", at).WithCause(err)
	}
	return nil
}
