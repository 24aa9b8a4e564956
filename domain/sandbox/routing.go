package sandbox

import "github.com/countersign-dev/countersign/domain/fault"

// The errors of a request to an agent server besides those of the server itself.
var (
	ErrServer  = fault.New(fault.NotFound, "sandbox_server_not_found", "the server is not found in configuration; call opencode_servers to list servers")
	ErrRequest = fault.New(fault.NotFound, "sandbox_request_not_found", "the agent server has no object with this name")
	ErrRefused = fault.New(fault.Invalid, "sandbox_request_refused", "the agent server refused the request")
	ErrAnswer  = fault.New(fault.Unavailable, "sandbox_server_failed", "the agent server failed to process the request")
)

// Act is a request to an agent server (opencode contract §10).
type Act string

// The acts.
const (
	SessionList     Act = "session.list"
	SessionInfo     Act = "session.info"
	SessionCreate   Act = "session.create"
	SessionMessage  Act = "session.message" // returns when the agent has answered
	SessionPrompt   Act = "session.prompt"  // returns at once
	SessionMessages Act = "session.messages"
	SessionAbort    Act = "session.abort"
	SessionDelete   Act = "session.delete"
	PermissionList  Act = "permission.list"
	PermissionReply Act = "permission.reply"
	QuestionList    Act = "question.list"
	QuestionReply   Act = "question.reply"
	QuestionReject  Act = "question.reject"
)
