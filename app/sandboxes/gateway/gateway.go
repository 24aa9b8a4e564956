// Package gateway implements the toolset of the gateway: tools that query and command the agent servers of all projects, with the server as an
// argument (opencode contract §10). Reading starts nothing. A tool that begins work starts a stopped server. An agent's permission request is
// answered only after the user has seen what it asks for. Package opencode sends the requests.
//
// Its API may change at any time.
package gateway

import (
	"context"
	"encoding/json"
	"strings"

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

// The default numbers of sessions and messages in a list.
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

// Deps holds the dependencies of the tools.
type Deps struct {
	Router sandboxport.Router
	// Ensure starts the stopped server with that ID for the caller, and returns once it answers. Nil: requests to stopped servers fail.
	Ensure func(ctx context.Context, sc tool.Scope, id string) error
	// Used marks the server with that ID as in use until done is called, so that it is not idle. It may be nil, and must return at once.
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
		bind.Query(PermissionList, sandboxes.ReadSpec("List permission requests", "List the agents' pending permission requests.", atSchema), s.permissions),
		bind.Query(QuestionList, sandboxes.ReadSpec("List questions", "List the agents' open questions.", atSchema), s.questions),
		bind.Command(SessionCreate, sandboxes.ChangeSpec("Create session", "Create a session with the agent of a project, in its clone or a sandbox; a stopped server is started.", createSchema), s.planCreate, s.commit),
		bind.Command(SessionMessage, sandboxes.ChangeSpec("Send message", "Send a message to a session and wait up to 300 s for the answer; wait false returns at once. An agent that asks for permission waits for opencode_permission_reply.", messageSchema), s.planMessage, s.commit),
		bind.Command(SessionAbort, sandboxes.ChangeSpec("Abort session", "Stop what the agent of a session is doing.", sessionSchema), s.planAbort, s.commit),
		bind.Command(SessionDelete, deleting(), s.planDelete, s.commit),
		bind.Command(PermissionReply, permitting(), s.planPermission, s.commit),
		bind.Command(QuestionReply, sandboxes.ChangeSpec("Answer question", "Answer an agent's questions: for each the labels that are chosen, in order.", questionSchema), s.planAnswer, s.commit),
		bind.Command(QuestionReject, sandboxes.ChangeSpec("Reject question", "Refuse to answer an agent's questions.", rejectSchema), s.planReject, s.commit),
	}}
}

// deleting is for deleting a session permanently, so it needs approval.
func deleting() tool.Spec {
	s := sandboxes.DestroySpec("Delete session", "Delete a session with all its messages. Asks for a confirmation.", sessionSchema)
	s.Confirm = policy.Simple
	return s
}

// permitting is for granting a permission that an agent waits for.
func permitting() tool.Spec {
	s := sandboxes.ChangeSpec("Answer permission request", "Permit what an agent asks for, once or always, or reject it. Permitting asks for a confirmation that shows the request.", permissionSchema)
	s.Class = policy.ClassDangerous
	return s
}

// NoInput is the input of a tool without arguments.
type NoInput struct{}

// At is the server, and the sandbox of its project.
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

// request returns a request to that place, within what the caller is let in to.
func (a At) request(sc tool.Scope, act sandbox.Act) sandboxport.RouteRequest {
	return sandboxport.RouteRequest{Act: act, Scope: scopeOf(sc.Session), Server: a.Server, Sandbox: a.Sandbox}
}

// sessionWithin begins the session of a caller who is let in to one server, or one project's, before the server's ID.
const sessionWithin = Name + ":"

// SessionWithin returns the session of a caller who is let in to the server of that ID alone, or for a project's to the project's servers. Nothing beyond is listed or
// reached in it, and its approvals and grants are its own.
func SessionWithin(id string) string { return sessionWithin + id }

// scopeOf is the reverse of SessionWithin; empty for a session that is let in to all servers.
func scopeOf(session string) string {
	id, within := strings.CutPrefix(session, sessionWithin)
	if !within {
		return ""
	}
	return id
}

// ServerView is a server in a list.
type ServerView struct {
	ID          string `json:"id"`
	Name        string `json:"project_name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Status      string `json:"status"`
	Default     bool   `json:"default"`
	Sandbox     string `json:"sandbox,omitempty"` // isolated, in which alone it works
	Isolation   string `json:"isolation,omitempty"`
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

func (s service) servers(ctx context.Context, sc tool.Scope, _ NoInput) (ServerList, error) {
	t, err := s.Router.Table(ctx, scopeOf(sc.Session))
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
		out.Servers = append(out.Servers, ServerView{r.ID, r.Name, r.Title, r.Description, r.Status, r.ID == t.Default, r.Sandbox, r.Isolation})
	}
	return out, nil
}

// Answer is a server's answer. Members that were not requested are absent.
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
	Raw         json.RawMessage `json:"raw,omitempty"` // unchanged from the server
}

// ask sends a request to a server.
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

// ListInput selects sessions.
type ListInput struct {
	At
	Limit int `json:"limit,omitempty" jsonschema:"minimum=1,maximum=500,description=default 50"`
}

func (s service) sessions(ctx context.Context, sc tool.Scope, in ListInput) (Answer, error) {
	q := in.request(sc, sandbox.SessionList)
	if q.Limit = in.Limit; q.Limit == 0 {
		q.Limit = SessionsListed
	}
	out, body, err := s.ask(ctx, q)
	out.Sessions = body
	return out, err
}

// HistoryInput selects messages.
type HistoryInput struct {
	At
	Session string `json:"session" jsonschema:"pattern=^ses[A-Za-z0-9_-]{1\\,128}$,description=id as opencode_session_list shows it"`
	Limit   int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200,description=the latest so many; default 20"`
	Full    bool   `json:"full,omitempty" jsonschema:"description=everything as the server has it"`
}

func (s service) history(ctx context.Context, sc tool.Scope, in HistoryInput) (Answer, error) {
	q := in.request(sc, sandbox.SessionMessages)
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

func (s service) permissions(ctx context.Context, sc tool.Scope, in At) (Answer, error) {
	out, body, err := s.ask(ctx, in.request(sc, sandbox.PermissionList))
	out.Permissions = body
	return out, err
}

func (s service) questions(ctx context.Context, sc tool.Scope, in At) (Answer, error) {
	out, body, err := s.ask(ctx, in.request(sc, sandbox.QuestionList))
	out.Questions = body
	return out, err
}
