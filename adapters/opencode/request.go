package opencode

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// wire is a request as opencode takes it (opencode contract §16).
type wire struct {
	method string
	path   []string // its parts, escaped
	query  url.Values
	body   json.RawMessage
	limit  time.Duration
}

// requestOf puts a request into opencode's words.
func requestOf(q sandboxport.RouteRequest) (wire, error) {
	id := url.PathEscape(q.ID)
	w := wire{method: http.MethodPost, limit: requestTimeout}
	var body any
	switch q.Act {
	case sandbox.SessionList:
		w.method, w.path, w.query = http.MethodGet, []string{"session"}, limited(q.Limit)
	case sandbox.SessionInfo:
		w.method, w.path = http.MethodGet, []string{"session", id}
	case sandbox.SessionCreate:
		w.path, body = []string{"session"}, titled{q.Title}
	case sandbox.SessionMessage:
		w.path, body, w.limit = []string{"session", id, "message"}, promptOf(q), messageTimeout
	case sandbox.SessionPrompt:
		w.path, body = []string{"session", id, "prompt_async"}, promptOf(q)
	case sandbox.SessionMessages:
		w.method, w.path, w.query = http.MethodGet, []string{"session", id, "message"}, limited(q.Limit)
	case sandbox.SessionAbort:
		w.path = []string{"session", id, "abort"}
	case sandbox.SessionDelete:
		w.method, w.path = http.MethodDelete, []string{"session", id}
	case sandbox.PermissionList:
		w.method, w.path = http.MethodGet, []string{"permission"}
	case sandbox.PermissionReply:
		w.path, body = []string{"permission", id, "reply"}, map[string]string{"reply": q.Reply}
	case sandbox.QuestionList:
		w.method, w.path = http.MethodGet, []string{"question"}
	case sandbox.QuestionReply:
		w.path, body = []string{"question", id, "reply"}, map[string]any{"answers": q.Answers}
	case sandbox.QuestionReject:
		w.path = []string{"question", id, "reject"}
	default:
		return wire{}, sandbox.ErrArguments.WithMessage("unknown request %.80q", q.Act)
	}
	for _, part := range w.path {
		if part == "" || part == "." || part == ".." { // it would be another path
			return wire{}, sandbox.ErrArguments.WithMessage("invalid id %.80q", q.ID)
		}
	}
	if body == nil {
		return w, nil
	}
	var err error
	w.body, err = json.Marshal(body)
	return w, err
}

func limited(n int) url.Values {
	if n <= 0 {
		return nil
	}
	return url.Values{"limit": {strconv.Itoa(n)}}
}

type titled struct {
	Title string `json:"title,omitempty"`
}

type prompt struct {
	Parts []part `json:"parts"`
	Agent string `json:"agent,omitempty"`
	Model *model `json:"model,omitempty"`
}

type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type model struct {
	Provider string `json:"providerID"`
	Model    string `json:"modelID"`
}

func promptOf(q sandboxport.RouteRequest) prompt {
	p := prompt{Parts: []part{{"text", q.Text}}, Agent: q.Agent}
	if provider, name, ok := strings.Cut(q.Model, "/"); ok {
		p.Model = &model{provider, name}
	}
	return p
}
