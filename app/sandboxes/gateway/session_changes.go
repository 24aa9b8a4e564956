package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// plan is a request that changes something. Its server is fixed, even if the default changes later.
type plan struct {
	sandboxes.Plan
	request sandboxport.RouteRequest
	starts  bool // the server must be started first
}

// shown is how a plan shows its destination.
type shown struct {
	Server    string `json:"server"`
	Project   string `json:"project"`
	Sandbox   string `json:"sandbox,omitempty"`
	Starts    bool   `json:"starts_server,omitempty"`
	Session   string `json:"session,omitempty"`
	What      any    `json:"what,omitempty"`
	Isolation string `json:"isolation,omitempty"` // of the sandbox, which keeps its server inside
	// NotBound says what a plan cannot cover when an agent acts on its own.
	NotBound []string `json:"not_bound,omitempty"`
}

// draft is a plan before it is hashed.
type draft struct {
	tool    tool.Name
	request sandboxport.RouteRequest
	begins  bool   // a stopped server may be started for it
	summary string // with %s for the project
	what    any
	asks    policy.Strength
	hands   bool // it makes an agent act on its own
}

// beyond is what plans say about an agent that acts on its own.
const beyond = "what the agent then does: the programs that it runs, the files that it changes and where it reaches are its own, and not part of this plan"

// plan finds the server and hashes the plan.
func (s service) plan(ctx context.Context, d draft) (plan, error) {
	route, err := s.Router.Resolve(ctx, d.request)
	if err != nil {
		return plan{}, err
	}
	p := plan{request: d.request, starts: !route.Active() && d.begins && s.Ensure != nil}
	if !route.Active() && !p.starts {
		return plan{}, sandbox.ErrNotRunning.WithMessage("the server %s is not active (status: %.40s); opencode_project_start starts it", called(route), route.Status)
	}
	p.request.Server = route.ID
	asks, notes := sandboxes.ConfirmOptions{Strength: d.asks}, []string(nil)
	if d.hands {
		asks.Risk, notes = policy.RiskHigh, []string{beyond}
	}
	p.Plan, err = sandboxes.NewPlan(d.tool, fmt.Sprintf(d.summary, called(route)),
		shown{Server: route.ID, Project: route.Name, Sandbox: d.request.Sandbox, Starts: p.starts, Session: sessionOf(d.request), What: d.what, Isolation: route.Isolation, NotBound: notes}, asks)
	return p, err
}

func called(r sandboxport.Route) string {
	if r.Name != "" {
		return r.Name
	}
	return r.ID
}

// sessionOf returns the session of a request, if it has one.
func sessionOf(q sandboxport.RouteRequest) string {
	if strings.HasPrefix(string(q.Act), "session.") {
		return q.ID
	}
	return ""
}

// commit applies any plan.
func (s service) commit(ctx context.Context, sc tool.Scope, p plan) (Answer, error) {
	// Agents may take long, and other calls must be able to permit what they wait for: from here on this call blocks no other.
	sc.Progress(tool.Progress{Message: p.Summary})
	started := false
	if p.starts {
		// It may run by now: the callee ensures that one runs, and does not start a second one.
		if err := s.Ensure(ctx, sc, p.request.Server); err != nil {
			return Answer{}, err
		}
		started = true
	}
	if s.Used != nil { // an agent may work longer than a server may be idle
		defer s.Used(ctx, p.request.Server)()
	}
	out, body, err := s.ask(ctx, p.request)
	if err != nil {
		return Answer{}, err
	}
	out.Started = started
	switch p.request.Act {
	case sandbox.SessionCreate:
		out.Session = body
	case sandbox.SessionMessage:
		if m, ok := messageOf(body); ok {
			out.Reply = &m
		} else {
			out.Raw = body
		}
	case sandbox.SessionPrompt:
		out.Message = "the message was sent; opencode_session_messages shows the answer as it comes, opencode_permission_list what the agent waits for"
	default:
		out.Message = "done: " + p.Summary
	}
	return out, nil
}

// CreateInput is a session to be made.
type CreateInput struct {
	At
	Title string `json:"title,omitempty" jsonschema:"maxLength=200"`
}

func (s service) planCreate(ctx context.Context, sc tool.Scope, in CreateInput) (plan, error) {
	q := in.request(sc, sandbox.SessionCreate)
	q.Title = in.Title
	return s.plan(ctx, draft{tool: SessionCreate.Name, request: q, begins: true, summary: "create a session with the agent of %s", what: map[string]string{"title": in.Title}})
}

// MessageInput is a message to an agent.
type MessageInput struct {
	At
	Session string `json:"session" jsonschema:"pattern=^ses[A-Za-z0-9_-]{1\\,128}$"`
	Text    string `json:"text" jsonschema:"minLength=1,maxLength=100000"`
	Agent   string `json:"agent,omitempty" jsonschema:"maxLength=100"`
	Model   string `json:"model,omitempty" jsonschema:"pattern=^[^/]+/.+$"`
	Wait    *bool  `json:"wait,omitempty" jsonschema:"description=default true"`
}

func (s service) planMessage(ctx context.Context, sc tool.Scope, in MessageInput) (plan, error) {
	q := in.request(sc, sandbox.SessionMessage)
	if in.Wait != nil && !*in.Wait {
		q.Act = sandbox.SessionPrompt
	}
	q.ID, q.Text, q.Agent, q.Model = in.Session, in.Text, in.Agent, in.Model
	return s.plan(ctx, draft{tool: SessionMessage.Name, request: q, begins: true, hands: true, summary: "send a message to the agent of %s",
		what: map[string]any{"text": in.Text, "agent": in.Agent, "model": in.Model, "wait": q.Act == sandbox.SessionMessage}})
}

// SessionInput names a session.
type SessionInput struct {
	At
	Session string `json:"session" jsonschema:"pattern=^ses[A-Za-z0-9_-]{1\\,128}$,description=id as opencode_session_list shows it"`
}

func (s service) planAbort(ctx context.Context, sc tool.Scope, in SessionInput) (plan, error) {
	q := in.request(sc, sandbox.SessionAbort)
	q.ID = in.Session
	return s.plan(ctx, draft{tool: SessionAbort.Name, request: q, summary: "stop what the agent of %s does in a session"})
}

// planDelete shows which session is deleted.
func (s service) planDelete(ctx context.Context, sc tool.Scope, in SessionInput) (plan, error) {
	q := in.request(sc, sandbox.SessionInfo)
	q.ID = in.Session
	_, body, err := s.ask(ctx, q)
	if err != nil {
		return plan{}, err
	}
	var session struct{ Title, Directory string }
	_ = json.Unmarshal(body, &session) // there is a session even if the server says neither
	q.Act = sandbox.SessionDelete
	return s.plan(ctx, draft{tool: SessionDelete.Name, request: q, summary: "delete a session of %s with all its messages", what: map[string]string{"title": session.Title, "directory": session.Directory}})
}

// PermissionInput is the answer to a permission request.
type PermissionInput struct {
	At
	Permission string `json:"permission" jsonschema:"pattern=^per[A-Za-z0-9_-]{1\\,128}$,description=id as opencode_permission_list shows it"`
	Reply      string `json:"reply" jsonschema:"enum=once,enum=always,enum=reject"`
}

// Claims: a rejection changes nothing except what the agent is told.
func (in PermissionInput) Claims() (policy.Class, policy.Effects) {
	s := permitting()
	if in.Reply == "reject" {
		return policy.ClassWrite, s.Effects
	}
	return s.Class, s.Effects
}

// planPermission shows what would be permitted; the plan covers only that.
func (s service) planPermission(ctx context.Context, sc tool.Scope, in PermissionInput) (plan, error) {
	_, body, err := s.ask(ctx, in.request(sc, sandbox.PermissionList))
	if err != nil {
		return plan{}, err
	}
	var pending []permission
	if err := json.Unmarshal(body, &pending); err != nil {
		return plan{}, sandbox.ErrAnswer.WithMessage("what the agent asks for cannot be read, so it cannot be answered").WithCause(err)
	}
	for _, p := range pending {
		if p.ID != in.Permission {
			continue
		}
		q := in.request(sc, sandbox.PermissionReply)
		q.ID, q.Reply = in.Permission, in.Reply
		d := draft{tool: PermissionReply.Name, request: q, hands: in.Reply != "reject", what: reply{Reply: in.Reply, permission: p, Details: string(p.Metadata)}}
		switch in.Reply {
		case "once":
			d.asks, d.summary = policy.Simple, "permit the agent of %s, this once: "
		case "always":
			d.asks, d.summary = policy.Preview, "permit the agent of %s, from now on: "
		default:
			d.summary = "refuse the agent of %s: "
		}
		d.summary += verbatim(p.Permission + " " + strings.Join(p.Patterns, " "))
		return s.plan(ctx, d)
	}
	return plan{}, sandbox.ErrRequest.WithMessage("no permission request %s is pending; opencode_permission_list shows those that are", in.Permission)
}

// verbatim escapes a text for a format string.
func verbatim(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// permission is a permission that an agent waits for.
type permission struct {
	ID         string   `json:"id"`
	Session    string   `json:"sessionID"`
	Permission string   `json:"permission"`
	Patterns   []string `json:"patterns"`
	Always     []string `json:"always,omitempty"` // what "always" would cover
	// Metadata is whatever the server adds, including fractions, which a plan cannot contain; it is shown as text.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// reply is what the user sees before an agent gets a permission.
type reply struct {
	Reply string `json:"reply"`
	permission
	Details string `json:"metadata,omitempty"`
}

// QuestionInput is answers to an agent's questions.
type QuestionInput struct {
	At
	Question string     `json:"question" jsonschema:"pattern=^que[A-Za-z0-9_-]{1\\,128}$,description=id as opencode_question_list shows it"`
	Answers  [][]string `json:"answers" jsonschema:"minItems=1,description=for each question the chosen labels"`
}

func (s service) planAnswer(ctx context.Context, sc tool.Scope, in QuestionInput) (plan, error) {
	q := in.request(sc, sandbox.QuestionReply)
	q.ID, q.Answers = in.Question, in.Answers
	return s.plan(ctx, draft{tool: QuestionReply.Name, request: q, hands: true, summary: "answer a question of the agent of %s", what: map[string]any{"question": in.Question, "answers": in.Answers}})
}

// RejectInput names questions that will not be answered.
type RejectInput struct {
	At
	Question string `json:"question" jsonschema:"pattern=^que[A-Za-z0-9_-]{1\\,128}$,description=id as opencode_question_list shows it"`
}

func (s service) planReject(ctx context.Context, sc tool.Scope, in RejectInput) (plan, error) {
	q := in.request(sc, sandbox.QuestionReject)
	q.ID = in.Question
	return s.plan(ctx, draft{tool: QuestionReject.Name, request: q, summary: "refuse to answer the agent of %s", what: map[string]string{"question": in.Question}})
}
