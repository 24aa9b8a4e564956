// Package routing is the toolset of the gateway: tools that query and command the agent servers of all projects, with the server as an argument (opencode
// contract §10). Reading starts nothing. A tool that begins work starts a stopped server. An agent's permission request is answered only after the user has
// seen what it asks for. Package opencode sends the requests.
//
// Its API may change at any time.
package gateway

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Name is the toolset's name.
const Name = "gateway"

// Contract is the contract of these tools, which is that of the sandboxes'.
const Contract tool.Contract = "opencode.v1"

// How many sessions and messages a list has when nobody says.
const (
	SessionsListed = 50
	MessagesListed = 20
)

// The typed handles.
var (
	Servers         = tool.Ref[NoInput, ServerList]{Name: "opencode_servers"}
	SessionList     = tool.Ref[ListInput, Answer]{Name: "opencode_session_list"}
	SessionMessages = tool.Ref[HistoryInput, Answer]{Name: "opencode_session_messages"}
	PermissionList  = tool.Ref[At, Answer]{Name: "opencode_permission_list"}
	QuestionList    = tool.Ref[At, Answer]{Name: "opencode_question_list"}
	SessionCreate   = tool.Ref[CreateInput, Answer]{Name: "opencode_session_create"}
	SessionMessage  = tool.Ref[MessageInput, Answer]{Name: "opencode_session_message"}
	SessionAbort    = tool.Ref[SessionInput, Answer]{Name: "opencode_session_abort"}
	SessionDelete   = tool.Ref[SessionInput, Answer]{Name: "opencode_session_delete"}
	PermissionReply = tool.Ref[PermissionInput, Answer]{Name: "opencode_permission_reply"}
	QuestionReply   = tool.Ref[QuestionInput, Answer]{Name: "opencode_question_reply"}
	QuestionReject  = tool.Ref[RejectInput, Answer]{Name: "opencode_question_reject"}
)

// Deps is the dependencies of the tools.
type Deps struct {
	Router sandboxport.Router
	// Ensure has the stopped server of that ID run, on behalf of the caller, and returns when it answers. Nil: stopped servers are refused.
	Ensure func(ctx context.Context, sc tool.Scope, id string) error
	// Used is told that the server of that ID is in use until done is called, so that it is not taken for idle. It may be nil, and must return at once.
	Used func(ctx context.Context, id string) (done func())
}

type service struct{ Deps }

// Capability returns the toolset.
func Capability(d Deps) tool.Capability {
	s := service{d}
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute, Entries: []tool.Entry{
		bind.Query(Servers, sandboxes.ReadSpec("List agent servers", "List the agent servers that can be named in server, and which of them are active.", noSchema), s.servers),
		bind.Query(SessionList, sandboxes.ReadSpec("List sessions", "List an agent server's sessions.", listSchema), s.sessions),
		bind.Query(SessionMessages, sandboxes.ReadSpec("Read session", "Show a session's latest messages: text and the tools that were used.", historySchema), s.history),
		bind.Query(PermissionList, sandboxes.ReadSpec("List permission requests", "List what agents wait to be permitted.", atSchema), s.permissions),
		bind.Query(QuestionList, sandboxes.ReadSpec("List questions", "List the questions that agents wait to have answered.", atSchema), s.questions),
		bind.Command(SessionCreate, sandboxes.ChangeSpec("Create session", "Create a session with the agent of a project, in its clone or a sandbox; a stopped server is started.", createSchema), s.planCreate, s.commit),
		bind.Command(SessionMessage, sandboxes.ChangeSpec("Send message", "Send a message to a session and wait up to 300 s for the answer; wait false returns at once. An agent that asks for permission waits for opencode_permission_reply.", messageSchema), s.planMessage, s.commit),
		bind.Command(SessionAbort, sandboxes.ChangeSpec("Abort session", "Stop what the agent of a session is doing.", sessionSchema), s.planAbort, s.commit),
		bind.Command(SessionDelete, deleting(), s.planDelete, s.commit),
		bind.Command(PermissionReply, permitting(), s.planPermission, s.commit),
		bind.Command(QuestionReply, sandboxes.ChangeSpec("Answer question", "Answer an agent's questions: for each the labels that are chosen, in order.", questionSchema), s.planAnswer, s.commit),
		bind.Command(QuestionReject, sandboxes.ChangeSpec("Reject question", "Refuse to answer an agent's questions.", rejectSchema), s.planReject, s.commit),
	}}
}

// deleting takes a conversation away for good, so it asks.
func deleting() tool.Spec {
	s := sandboxes.DestroySpec("Delete session", "Delete a session with all its messages. Asks for a confirmation.", sessionSchema)
	s.Confirm = policy.Simple
	return s
}

// permitting lets an agent do what it was held back from.
func permitting() tool.Spec {
	s := sandboxes.ChangeSpec("Answer permission request", "Permit what an agent asks for, once or always, or reject it. Permitting asks for a confirmation that shows the request.", permissionSchema)
	s.Class = policy.ClassDangerous
	return s
}

// NoInput is the input of a tool without arguments.
type NoInput struct{}

// At says where: which server, and which sandbox of its project.
type At struct {
	Server  string `json:"server,omitempty" jsonschema:"description=id or project name; default: the default server"`
	Sandbox string `json:"sandbox,omitempty" jsonschema:"description=name of a sandbox; default: the main clone"`
}

// Resources returns the server.
func (a At) Resources() []string {
	if a.Server == "" {
		return nil
	}
	return []string{a.Server}
}

func (a At) request(act sandbox.Act) sandboxport.RouteRequest {
	return sandboxport.RouteRequest{Act: act, Server: a.Server, Sandbox: a.Sandbox}
}

// ServerView is a server as it is listed.
type ServerView struct {
	ID          string `json:"id"`
	Name        string `json:"project_name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Status      string `json:"status"`
	Default     bool   `json:"default"`
}

// ServerList is the servers there are.
type ServerList struct {
	Status   string       `json:"status"`
	Default  *string      `json:"default_server"`
	Servers  []ServerView `json:"servers"`
	Count    int          `json:"count"`
	Active   int          `json:"active"`
	Warnings []string     `json:"warnings,omitempty"`
}

func (s service) servers(ctx context.Context, _ tool.Scope, _ NoInput) (ServerList, error) {
	t, err := s.Router.Table(ctx)
	if err != nil {
		return ServerList{}, err
	}
	out := ServerList{Status: "success", Servers: make([]ServerView, 0, len(t.Servers)), Count: len(t.Servers)}
	if t.Default != "" {
		out.Default = &t.Default
	}
	if t.Problem != "" {
		out.Warnings = []string{"the table of servers cannot be read, this is the last one that could be: " + t.Problem}
	}
	for _, r := range t.Servers {
		if r.Active() {
			out.Active++
		}
		out.Servers = append(out.Servers, ServerView{r.ID, r.Name, r.Title, r.Description, r.Status, r.ID == t.Default})
	}
	return out, nil
}

// Answer is what a server answered. What is not asked for is not there.
type Answer struct {
	Status      string          `json:"status"`
	Server      string          `json:"server"`
	Project     string          `json:"project"`
	Sandbox     string          `json:"sandbox,omitempty"`
	Started     bool            `json:"server_started,omitempty"`
	Message     string          `json:"message,omitempty"`
	Session     json.RawMessage `json:"session,omitempty"`
	Sessions    json.RawMessage `json:"sessions,omitempty"`
	Reply       *Message        `json:"reply,omitempty"`
	Messages    []Message       `json:"messages,omitempty"`
	Permissions json.RawMessage `json:"permissions,omitempty"`
	Questions   json.RawMessage `json:"questions,omitempty"`
	Raw         json.RawMessage `json:"raw,omitempty"` // as the server said it
}

// ask puts a request to a server.
func (s service) ask(ctx context.Context, q sandboxport.RouteRequest) (Answer, json.RawMessage, error) {
	got, err := s.Router.Call(ctx, q)
	if err != nil {
		return Answer{}, nil, err
	}
	if s.Used != nil {
		s.Used(ctx, got.Server.ID)()
	}
	return Answer{Status: "success", Server: got.Server.ID, Project: got.Server.Name, Sandbox: q.Sandbox}, got.Body, nil
}

// ListInput chooses sessions.
type ListInput struct {
	At
	Limit int `json:"limit,omitempty" jsonschema:"minimum=1,maximum=500,description=default 50"`
}

func (s service) sessions(ctx context.Context, _ tool.Scope, in ListInput) (Answer, error) {
	q := in.request(sandbox.SessionList)
	if q.Limit = in.Limit; q.Limit == 0 {
		q.Limit = SessionsListed
	}
	out, body, err := s.ask(ctx, q)
	out.Sessions = body
	return out, err
}

// HistoryInput chooses messages.
type HistoryInput struct {
	At
	Session string `json:"session" jsonschema:"pattern=^ses[A-Za-z0-9_-]{1\\,128}$,description=id as opencode_session_list shows it"`
	Limit   int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200,description=the latest so many; default 20"`
	Full    bool   `json:"full,omitempty" jsonschema:"description=everything as the server has it"`
}

func (s service) history(ctx context.Context, _ tool.Scope, in HistoryInput) (Answer, error) {
	q := in.request(sandbox.SessionMessages)
	q.ID = in.Session
	if q.Limit = in.Limit; q.Limit == 0 {
		q.Limit = MessagesListed
	}
	out, body, err := s.ask(ctx, q)
	if err != nil {
		return out, err
	}
	messages, ok := messagesOf(body)
	if in.Full || !ok {
		out.Raw = body
		return out, nil
	}
	out.Messages = messages
	return out, nil
}

func (s service) permissions(ctx context.Context, _ tool.Scope, in At) (Answer, error) {
	out, body, err := s.ask(ctx, in.request(sandbox.PermissionList))
	out.Permissions = body
	return out, err
}

func (s service) questions(ctx context.Context, _ tool.Scope, in At) (Answer, error) {
	out, body, err := s.ask(ctx, in.request(sandbox.QuestionList))
	out.Questions = body
	return out, err
}
