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
		fixed{method: get, path: "/tools", id: "listTools", tag: "catalogue", says: "List the tools that are served to this visitor",
			parameters: []any{query("toolset", "only of this one", text())}, answer: gives("ToolList", "the tools, by name")},
		fixed{method: get, path: "/tools/{id}", id: "showTool", tag: "catalogue", says: "Show one tool", answer: gives("Tool", "the tool"), refuses: []string{"404"}},
		fixed{method: get, path: "/toolsets", id: "listToolsets", tag: "catalogue", says: "List the toolsets", answer: gives("ToolsetList", "the toolsets")},
		fixed{method: get, path: "/confirmations", id: "listConfirmations", tag: "confirmations", says: "List what waits for a person, oldest first", answer: gives("ConfirmationList", "what waits")},
		fixed{method: get, path: "/confirmations/{id}", id: "showConfirmation", tag: "confirmations", says: "Show one that waits", answer: gives("Confirmation", "it"), refuses: []string{"404"}},
		fixed{method: post, path: "/confirmations/{id}/approve", id: "approveConfirmation", tag: "confirmations", says: "Approve exactly the plan that was shown; only for a person's browser",
			body: "Approval", answer: gives("Confirmation", "it is approved"), refuses: []string{"404", "409", "422"}},
		fixed{method: post, path: "/confirmations/{id}/deny", id: "denyConfirmation", tag: "confirmations", says: "Deny it; only for a person's browser",
			body: "Denial", answer: gives("Confirmation", "it is denied"), refuses: []string{"404", "409"}},
		fixed{method: post, path: "/confirmations/{id}/cancel", id: "cancelConfirmation", tag: "confirmations", says: "Withdraw a question of this visitor's own session",
			body: "Nothing", answer: object{"description": "it is withdrawn", "content": content(object{"type": "object"})}, refuses: []string{"404"}},
		fixed{method: get, path: "/grants", id: "listGrants", tag: "confirmations", says: "List what is always allowed, for the rest of a session or until a date, oldest first", answer: gives("GrantList", "what is always allowed")},
		fixed{method: method(http.MethodDelete), path: "/grants/{id}", id: "revokeGrant", tag: "confirmations", says: "Have calls ask again, from the next one on; only for a person's browser",
			answer: gives("Grant", "it has ended"), refuses: []string{"404"}},
		fixed{method: get, path: "/settings", id: "showSettings", tag: "settings", says: "Show what people set", answer: gives("Settings", "the settings")},
		fixed{method: method(http.MethodPut), path: "/settings", id: "putSettings", tag: "settings", says: "Store settings made from the newest revision; what opens something waits for a person, and is repeated then",
			body: "Settings", answer: gives("Settings", "the settings now"), refuses: []string{"409", "428"}},
		fixed{method: get, path: "/events", id: "streamEvents", tag: "events", says: "Hear what happens, as server-sent events", parameters: eventParameters(),
			answer: object{"description": "events until one side ends", "content": object{"text/event-stream": object{"schema": text()}}}, refuses: []string{"400", "503"}},
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
		{method: get, path: "/tool-calls", id: "listToolCalls", tag: "records", says: "List the calls that wanted to change something, newest first",
			parameters: []any{query("status", "only those that are there", object{"enum": statuses}), query("tool", "only of this one", text()), query("conversationId", "only of this session", text()),
				query("limit", "at most so many", whole(1, 200)), query("before", "only those asked for earlier", object{"type": "string", "format": "date-time"})},
			answer: gives("ToolCallList", "the calls"), refuses: []string{"400"}},
		{method: get, path: "/tool-calls/{id}", id: "showToolCall", tag: "records", says: "Show one, by the id of its call or of its confirmation", answer: gives("ToolCall", "it"), refuses: []string{"404"}},
		{method: get, path: "/audit", id: "listAudit", tag: "records", says: "List audit records, oldest first: the last ones, or those after one",
			parameters: []any{query("after", "only those after this record", whole(0, 0)), query("before", "only those before this record", whole(1, 0)), query("limit", "at most so many", whole(1, 500)),
				query("phase", "only this half of calls, or answers, or questions", object{"enum": []any{"intent", "outcome", "answer", "asked", "begun", "ended"}}), query("tool", "only of this one", text()), query("callId", "only of this call, or confirmation", text()),
				query("code", "only those that failed so", text()), query("failed", "only those that failed", object{"type": "boolean"}), query("unattended", "only changes that no person was asked about", object{"type": "boolean"}), query("text", "only those in which this stands", text())},
			answer: gives("AuditList", "the records"), refuses: []string{"400"}},
		{method: get, path: "/audit/verify", id: "verifyAudit", tag: "records", says: "Check the hash chain of the audit", answer: gives("AuditVerification", "whether it holds")},
		{method: get, path: "/audit/export", id: "exportAudit", tag: "records", says: "Every audit record, a line of JSON each", parameters: []any{query("after", "only those after this record", whole(0, 0))},
			answer: object{"description": "the records, oldest first", "content": object{"application/x-ndjson": object{"schema": schema("AuditRecord")}}}, refuses: []string{"400"}},
	}
}

func eventParameters() []any {
	return []any{
		query("conversationId", "only events of this session", text()), query("events", "only events of these kinds, with commas between", text()),
		query("topics", "also processes, runs, or both: which there are, and how far", text()), query("process", "also what this background process prints", text()),
		query("since", "of that process only what comes after this nextSeq of an earlier answer", whole(0, 0)),
		query("run", "also what this run of an ecosystem says", text()), query("lastEventId", "the same as Last-Event-ID", whole(0, 0)),
		object{"name": "Last-Event-ID", "in": "header", "description": "go on after the audit record of this number: at most 1000 events, none older than a day", "schema": whole(0, 0)},
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
