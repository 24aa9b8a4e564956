package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The user every server's password belongs to (opencode contract §16).
const gatewayUser = "opencode"

// Call is sandboxport.Router.
func (r *Router) Call(ctx context.Context, q sandboxport.RouteRequest) (sandboxport.RouteAnswer, error) {
	e, err := r.find(q)
	if err != nil {
		return sandboxport.RouteAnswer{}, err
	}
	out := sandboxport.RouteAnswer{Server: e.route()}
	switch {
	case !e.speaks():
		return out, sandbox.ErrConfig.WithMessage("the server %s is of kind %.80q, which this gateway does not support", e.called(), e.Backend)
	case !out.Server.Active():
		return out, sandbox.ErrNotRunning.WithMessage("the server %s is not active (status: %.40s); opencode_project_start starts it", e.called(), e.Status)
	}
	w, err := requestOf(q)
	if err != nil {
		return out, err
	}
	if w.query, err = e.where(w.query, q.Sandbox); err != nil {
		return out, err
	}
	password, err := r.password(ctx, e)
	if err != nil {
		return out, err
	}
	limited, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	status, body, err := r.send(limited, e, w, password)
	mask := r.rules.With(password)
	if err != nil {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		return out, broken(e, w, err, mask)
	}
	if out.Body, err = answer(e, status, body, mask); err != nil {
		return out, err
	}
	return out, nil
}

// called returns the server for users.
func (e entry) called() string {
	if e.ProjectName != "" {
		return e.ProjectName
	}
	return e.ID
}

// where adds the worktree to work in. Only worktrees of the project can be named: the server itself would take any directory of the machine.
func (e entry) where(query url.Values, box string) (url.Values, error) {
	if box == "" {
		return query, nil
	}
	if err := sandbox.CheckName(box); err != nil {
		return nil, err
	}
	dir := filepath.Join(e.BaseDir, "worktrees", box)
	info, err := os.Lstat(dir)
	if !filepath.IsAbs(e.BaseDir) || err != nil || !info.IsDir() {
		return nil, sandbox.ErrNotFound.WithMessage("the project %s has no sandbox %q; opencode_sandbox_list lists its sandboxes", e.called(), box)
	}
	if query == nil {
		query = url.Values{}
	}
	query.Set("directory", dir)
	return query, nil
}

// password returns the one that the entry names, else the one that it holds itself.
func (r *Router) password(ctx context.Context, e entry) (string, error) {
	if e.PasswordEnv == "" || r.o.Secret == nil {
		return e.Password, nil
	}
	word, err := r.o.Secret(ctx, e.PasswordEnv)
	if err != nil {
		return "", err
	}
	if word == "" {
		return e.Password, nil
	}
	if e.Sandbox != "" {
		word = sandbox.ServerPassword(word, e.ID, e.KeyID)
	}
	return word, nil
}

func (r *Router) send(ctx context.Context, e entry, w wire, password string) (status int, body []byte, err error) {
	at, err := url.Parse(e.URL) // it was when it was read
	if err != nil {
		return 0, nil, err
	}
	at = at.JoinPath(w.path...)
	at.RawQuery = w.query.Encode()
	req, err := http.NewRequestWithContext(context.WithValue(ctx, askedKey{}, e.ID), w.method, at.String(), bytes.NewReader(w.body))
	if err != nil {
		return 0, nil, err
	}
	req.SetBasicAuth(gatewayUser, password)
	req.Header.Set("Accept", "application/json")
	if w.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	return resp.StatusCode, body, err
}

// broken is a request without an answer, or with half of one.
func broken(e entry, w wire, err error, mask *redact.Redactor) error {
	if errors.Is(err, context.DeadlineExceeded) {
		hint := ""
		if w.limit == messageTimeout {
			hint = "; the agent may still be running: opencode_session_messages shows its output, opencode_session_abort stops it"
		}
		return sandbox.ErrTimeout.WithMessage("the server %s did not answer within %v%s", e.called(), w.limit, hint)
	}
	why := err.Error()
	var failed *url.Error
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		why = "the connection was lost before the answer was complete"
	case errors.As(err, &op):
		why = op.Err.Error()
	case errors.As(err, &failed):
		why = failed.Err.Error()
	}
	why, _ = mask.Text(why)
	return sandbox.ErrUnhealthy.WithMessage("no valid answer from the server %s: %s", e.called(), why)
}

// answer returns the body of an answer, masked, or what the server refused with.
func answer(e entry, status int, body []byte, mask *redact.Redactor) (json.RawMessage, error) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, sandbox.ErrAuth.WithMessage("the server %s rejects the password: another user started it, or the password changed after it started", e.called())
	case status == http.StatusNotFound:
		return nil, sandbox.ErrRequest.WithMessage("the server %s: %s", e.called(), said(status, body, mask))
	case status >= 500:
		return nil, sandbox.ErrAnswer.WithMessage("the server %s failed: %s", e.called(), said(status, body, mask))
	case status < 200 || status > 299:
		return nil, sandbox.ErrRefused.WithMessage("the server %s rejected the request: %s", e.called(), said(status, body, mask))
	case len(body) > maxAnswer:
		return nil, sandbox.ErrAnswer.WithMessage("the answer of the server %s exceeds %d bytes; request less, with limit if the tool has it", e.called(), maxAnswer)
	case len(bytes.TrimSpace(body)) == 0:
		return nil, nil
	case !json.Valid(body):
		return nil, sandbox.ErrAnswer.WithMessage("the answer of the server %s is not JSON", e.called())
	}
	masked, _, err := mask.JSON(body)
	if err != nil {
		return nil, sandbox.ErrAnswer.WithMessage("the answer of the server %s cannot be shown", e.called()).WithCause(err)
	}
	return masked, nil
}

// said returns why a server refused, in its own masked words as far as it has any, a few hundred bytes of them at most.
func said(status int, body []byte, mask *redact.Redactor) string {
	const most = 500
	var doc struct {
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &doc) // else it says nothing that is understood here
	text, _ := mask.Text(redact.StripControl(strings.TrimSpace(doc.Message + " " + doc.Data.Message)))
	if text == "" {
		return http.StatusText(status)
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
