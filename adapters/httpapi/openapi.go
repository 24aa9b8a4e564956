package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Version is the version of the OpenAPI standard.
const Version = "3.1.0"

// About is the data of the document that does not come from the tools.
type About struct {
	Version string // of the product
	Prefix  string // prefix of every path: "/api/v1"
	Cookie  string // name of the browser cookie
}

// object is a JSON object. Its members are written sorted by name, so that a document has one form.
type object = map[string]any

// Document describes an API that serves these tools. The same tools give the same bytes.
func Document(a About, tools []tool.Spec) (json.RawMessage, error) {
	paths := object{}
	for _, r := range routes() {
		path, _ := paths[a.Prefix+r.path].(object)
		if path == nil {
			path = object{}
			paths[a.Prefix+r.path] = path
		}
		path[r.method] = r.operation()
	}
	sets := []string{}
	for _, s := range tools {
		paths[a.Prefix+"/tools/"+string(s.Name)] = object{"post": call(s)}
		sets = append(sets, s.Toolset)
	}
	slices.Sort(sets)
	tags := []any{tag("catalogue", "available tools"), tag("confirmations", "approval requests and grants"), tag("records", "call records and the audit log"),
		tag("settings", "settings of the user"), tag("events", "server-sent events"), tag("api", "this document")}
	responses := refusals()
	contracts(responses, tools)
	last := ""
	for _, set := range sets {
		if set != last {
			tags = append(tags, tag("toolset "+set, "the tools of "+set))
		}
		last = set
	}
	return tool.Encode(object{
		"openapi": Version,
		"info": object{"title": "Countersign", "version": a.Version, "description": "Agents propose; you countersign. Every tool is called by POST with its arguments " +
			"as a JSON object; the response follows the tool's contract, and the HTTP status gives the kind of failure.",
			"license": object{"name": "MIT", "identifier": "MIT"}},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"servers":           []any{object{"url": "/"}},
		"security":          []any{object{"bearer": []any{}}, object{"cookie": []any{}}},
		"tags":              tags,
		"paths":             paths,
		"components": object{
			"schemas": schemas(), "responses": responses, "parameters": parameters(),
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "description": "an access token; its scope limits the tools and the mode"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": a.Cookie, "description": "a logged-in browser. Requests that change something also need X-Form-Token"},
			},
		},
	})
}

func tag(name, description string) object { return object{"name": name, "description": description} }

// call returns the operation of a tool.
func call(s tool.Spec) object {
	op := object{
		"operationId": "call_" + string(s.Name), "summary": s.Title, "description": s.Description, "tags": []any{"toolset " + s.Toolset},
		"parameters":  []any{parameter("wait"), parameter("confirmWait")},
		"requestBody": object{"required": required(s.Input), "content": content(s.Input)},
		"responses":   answers(s),
		"x-countersign": object{"contract": s.Contract, "class": s.Class, "effects": s.Effects.String(), "permission": s.Permission(), "confirm": s.Confirm,
			"risk": risk(s.Risk)},
	}
	return op
}

func risk(r policy.Risk) string {
	if r <= policy.RiskNone {
		return "none"
	}
	return r.String()
}

// required reports whether the arguments cannot be omitted as a whole.
func required(input json.RawMessage) bool {
	var schema struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(input, &schema) // the registry has checked it
	return len(schema.Required) > 0
}

// kinds lists how a call can fail, with descriptions.
var kinds = []struct {
	kind fault.Kind
	says string
}{
	{fault.Invalid, "the arguments are invalid"},
	{fault.Denied, "policy or the user denies the call"},
	{fault.NotFound, "the tool, or something that the arguments name, does not exist"},
	{fault.Conflict, "the current state differs from the state that the call was made for"},
	{fault.State, "the call is not possible in the current state"},
	{fault.Unconfirmed, "the user must approve the call first; the body has the approval request (confirmation)"},
	{fault.Canceled, "the client cancelled the request"},
	{fault.Internal, "the tool failed with an internal error"},
	{fault.Unavailable, "a required service is unavailable, or there were too many calls; Retry-After gives the time to wait if it is known"},
	{fault.Timeout, "the call timed out"},
}

// answers returns the responses of a tool: those of its contract, except for a success that it describes itself.
func answers(s tool.Spec) object {
	all := object{
		"401": reference("responses", "Unauthorized"), "413": reference("responses", "TooLong"), "415": reference("responses", "UnsupportedMediaType"),
		"429": reference("responses", "TooMany"),
		"200": reference("responses", named(s.Contract, "200")),
	}
	if s.Contract != present.Packageflow && len(present.Results(s)) > 0 { // its answers are in the text of an envelope
		all["200"] = success(s)
	}
	for _, k := range kinds {
		status := strconv.Itoa(present.HTTPStatus(k.kind))
		all[status] = reference("responses", named(s.Contract, status))
	}
	return all
}

// named returns the name of a contract's response with that status.
func named(c tool.Contract, status string) string { return string(c) + "." + status }

// success returns the response of a successful call.
func success(s tool.Spec) object {
	form, _ := contractOf(s)
	return object{"description": "the result, in the form of " + string(s.Contract), "headers": headers(false), "content": content(form)}
}

// headers returns the headers of an answer to a call, which may ask for approval.
func headers(asks bool) object {
	all := object{"X-Call-Id": object{"description": "id of the call", "schema": text()},
		"X-Approval": object{"description": "caller if clients approve their own plans; otherwise absent", "schema": text()}}
	if asks {
		all["X-Confirmation-Id"] = object{"description": "id of the approval request", "schema": text()}
		all["X-Confirm-Token"] = object{"description": "confirm_token for the repeated call; absent if only the user approves", "schema": text()}
	}
	return all
}

// contracts adds the responses of the tools' contracts: their success, and their failure under the status of every kind.
func contracts(to object, tools []tool.Spec) {
	for _, s := range tools {
		bare := tool.Spec{Contract: s.Contract}
		_, failure := contractOf(bare)
		to[named(s.Contract, "200")] = success(bare)
		for _, k := range kinds {
			to[named(s.Contract, strconv.Itoa(present.HTTPStatus(k.kind)))] = object{"description": k.says, "headers": headers(k.kind == fault.Unconfirmed), "content": content(failure)}
		}
	}
}

// content returns a JSON body of that schema.
func content(schema any) object { return object{"application/json": object{"schema": schema}} }

func reference(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

func schema(name string) object { return reference("schemas", name) }

func parameter(name string) object { return reference("parameters", name) }

// refusals returns the responses that several routes share. Clients that are not admitted are answered in countersign.v1.
func refusals() object {
	all := object{}
	for name, says := range map[string]string{
		"NotFound": "not found", "Conflict": "changed or decided in the meantime; see details", "Invalid": "the query or the body is invalid",
		"UnsupportedMediaType": "the body is not application/json", "Unprocessable": "the values are invalid", "ApprovalRequired": "the user must approve it first; details have the approval request", "Unavailable": "a required service is unavailable",
	} {
		all[name] = object{"description": says, "content": content(schema("Error"))}
	}
	for name, says := range map[string]string{
		"Unauthorized": "no valid credential", "Forbidden": "not allowed for this client, host or origin", "TooLong": "the body is too long",
		"TooMany": "too many requests at once; Retry-After says when to try again",
	} {
		all[name] = object{"description": says, "content": content(object{"anyOf": []any{schema("Error"), schema("CountersignFailure")}})}
	}
	return all
}

// parameters returns those that several routes share.
func parameters() object {
	path := object{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"}}
	return object{
		"wait":        query("wait", "how long to wait if the user must approve the call: for example 30s, at most 10m", text()),
		"confirmWait": object{"name": "X-Confirm-Wait", "in": "header", "description": "the same as wait", "schema": object{"type": "string"}},
		"id":          path,
	}
}

// method returns the key of an HTTP method in a path.
func method(name string) string {
	switch name {
	case http.MethodPost:
		return "post"
	case http.MethodPut:
		return "put"
	}
	return "get"
}
