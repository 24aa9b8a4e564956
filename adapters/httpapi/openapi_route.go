package httpapi

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/domain/tool"
)

// fixed is a route that is not a tool.
type fixed struct {
	method, path string // the method in lower case
	id, tag      string
	says         string
	parameters   []any
	body         string   // schema of the request body; empty is none
	answer       object   // of 200
	refuses      []string // further statuses
}

// operation returns the route's entry in the document.
func (r fixed) operation() object {
	parameters := r.parameters
	if strings.Contains(r.path, "{id}") {
		parameters = append([]any{parameter("id")}, parameters...)
	}
	op := object{"operationId": r.id, "summary": r.says, "tags": []any{r.tag}, "responses": object{"200": r.answer, "401": reference("responses", "Unauthorized"), "403": reference("responses", "Forbidden"),
		"429": reference("responses", "TooMany")}}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	all := op["responses"].(object)
	names := map[string]string{"400": "Invalid", "404": "NotFound", "409": "Conflict", "413": "TooLong", "415": "UnsupportedMediaType", "422": "Unprocessable", "428": "ApprovalRequired", "503": "Unavailable"}
	refuses := r.refuses
	if r.body != "" {
		op["requestBody"] = object{"content": content(schema(r.body)), "required": r.body == "Approval" || r.body == "Settings"}
		refuses = append([]string{"400", "413", "415"}, refuses...)
	}
	for _, status := range refuses {
		all[status] = reference("responses", names[status])
	}
	return op
}

// gives returns a 200 with a JSON body of that schema.
func gives(name, says string) object {
	return object{"description": says, "content": content(schema(name))}
}

// routes returns the routes that are not tools, in display order.
func routes() []fixed {
	get, post := method(http.MethodGet), method(http.MethodPost)
	return append(records(),
		fixed{method: get, path: "/tools", id: "listTools", tag: "catalogue", says: "List the tools that this client can call",
			parameters: []any{query("toolset", "only this toolset", text())}, answer: gives("ToolList", "the tools, by name")},
		fixed{method: get, path: "/tools/{id}", id: "showTool", tag: "catalogue", says: "Show one tool", answer: gives("Tool", "the tool"), refuses: []string{"404"}},
		fixed{method: get, path: "/toolsets", id: "listToolsets", tag: "catalogue", says: "List the toolsets", answer: gives("ToolsetList", "the toolsets")},
		fixed{method: get, path: "/confirmations", id: "listConfirmations", tag: "confirmations", says: "List pending approval requests, oldest first", answer: gives("ConfirmationList", "pending approval requests")},
		fixed{method: get, path: "/confirmations/{id}", id: "showConfirmation", tag: "confirmations", says: "Show a pending approval request", answer: gives("Confirmation", "it"), refuses: []string{"404"}},
		fixed{method: post, path: "/confirmations/{id}/approve", id: "approveConfirmation", tag: "confirmations", says: "Approve exactly the plan that was shown; only for a logged-in browser",
			body: "Approval", answer: gives("Confirmation", "the approved request"), refuses: []string{"404", "409", "422"}},
		fixed{method: post, path: "/confirmations/{id}/deny", id: "denyConfirmation", tag: "confirmations", says: "Deny an approval request; only for a logged-in browser",
			body: "Denial", answer: gives("Confirmation", "the denied request"), refuses: []string{"404", "409"}},
		fixed{method: post, path: "/confirmations/{id}/cancel", id: "cancelConfirmation", tag: "confirmations", says: "Cancel an approval request of this client's own session",
			body: "Nothing", answer: object{"description": "the request is cancelled", "content": content(object{"type": "object"})}, refuses: []string{"404"}},
		fixed{method: get, path: "/grants", id: "listGrants", tag: "confirmations", says: "List grants for a session or until a date, oldest first", answer: gives("GrantList", "the grants")},
		fixed{method: method(http.MethodDelete), path: "/grants/{id}", id: "revokeGrant", tag: "confirmations", says: "Revoke a grant, so that the next call asks again; only for a logged-in browser",
			answer: gives("Grant", "the revoked grant"), refuses: []string{"404"}},
		fixed{method: get, path: "/settings", id: "showSettings", tag: "settings", says: "Show the settings", answer: gives("Settings", "the settings")},
		fixed{method: method(http.MethodPut), path: "/settings", id: "putSettings", tag: "settings", says: "Store settings based on the newest revision; if they allow more, the user approves them first and the request is repeated",
			body: "Settings", answer: gives("Settings", "the stored settings"), refuses: []string{"409", "428"}},
		fixed{method: get, path: "/events", id: "streamEvents", tag: "events", says: "Stream events as server-sent events", parameters: eventParameters(),
			answer: object{"description": "events until either side closes the stream", "content": object{"text/event-stream": object{"schema": text()}}}, refuses: []string{"400", "503"}},
		fixed{method: get, path: "/openapi.json", id: "showDocument", tag: "api", says: "Show this document", answer: object{"description": "this document", "content": content(object{"type": "object"})}},
	)
}

// records returns the routes of call records and the audit log.
func records() []fixed {
	get := method(http.MethodGet)
	statuses := []any{}
	for _, s := range tool.Statuses() {
		statuses = append(statuses, s.String())
	}
	return []fixed{
		{method: get, path: "/tool-calls", id: "listToolCalls", tag: "records", says: "List calls that change something, newest first",
			parameters: []any{query("status", "only this status", object{"enum": statuses}), query("tool", "only this tool", text()), query("conversationId", "only this session", text()),
				query("limit", "maximum number of entries", whole(1, 200)), query("before", "only calls requested earlier", object{"type": "string", "format": "date-time"})},
			answer: gives("ToolCallList", "the calls"), refuses: []string{"400"}},
		{method: get, path: "/tool-calls/{id}", id: "showToolCall", tag: "records", says: "Show a call by its id or the id of its approval request", answer: gives("ToolCall", "it"), refuses: []string{"404"}},
		{method: get, path: "/audit", id: "listAudit", tag: "records", says: "List audit records, oldest first: the newest ones, or those after a given record",
			parameters: []any{query("after", "only records after this one", whole(0, 0)), query("before", "only records before this one", whole(1, 0)), query("limit", "maximum number of entries", whole(1, 500)),
				query("phase", "only records of this phase", object{"enum": []any{"intent", "outcome", "answer", "asked", "begun", "ended"}}), query("tool", "only this tool", text()), query("callId", "only this call or approval request", text()),
				query("code", "only this error code", text()), query("failed", "only failures", object{"type": "boolean"}), query("unattended", "only changes that ran without asking", object{"type": "boolean"}), query("text", "only records that contain this text", text())},
			answer: gives("AuditList", "the records"), refuses: []string{"400"}},
		{method: get, path: "/audit/verify", id: "verifyAudit", tag: "records", says: "Verify the hash chain of the audit log", answer: gives("AuditVerification", "the result of the verification")},
		{method: get, path: "/audit/export", id: "exportAudit", tag: "records", says: "Export all audit records, one JSON object per line", parameters: []any{query("after", "only records after this one", whole(0, 0))},
			answer: object{"description": "the records, oldest first", "content": object{"application/x-ndjson": object{"schema": schema("AuditRecord")}}}, refuses: []string{"400"}},
	}
}

func eventParameters() []any {
	return []any{
		query("conversationId", "only events of this session", text()), query("events", "only events of these kinds, separated by commas", text()),
		query("topics", "also the status of processes, runs, or both", text()), query("process", "also the output of this background process", text()),
		query("since", "of that process only output after this nextSeq of an earlier response", whole(0, 0)),
		query("run", "also the log of this ecosystem run", text()), query("lastEventId", "the same as Last-Event-ID", whole(0, 0)),
		object{"name": "Last-Event-ID", "in": "header", "description": "continue after the audit record with this number: at most 1000 events, none older than a day", "schema": whole(0, 0)},
	}
}

func query(name, says string, kind object) object {
	return object{"name": name, "in": "query", "description": says, "schema": kind}
}

func text() object { return object{"type": "string"} }

// whole returns the schema of an integer within bounds; most zero is no upper bound.
func whole(least, most int) object {
	n := object{"type": "integer", "minimum": least}
	if most > 0 {
		n["maximum"] = most
	}
	return n
}
