package present

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// opencodeStderr is how many bytes of a program's last words a failure repeats (opencode contract §14).
const opencodeStderr = 2 << 10

// opencodeError is a failure of opencode.v1, fields in this order (opencode contract §14).
type opencodeError struct {
	Status     string         `json:"status"` // always "error"
	Error      string         `json:"error"`
	Message    string         `json:"message"`
	Suggestion string         `json:"suggestion,omitempty"`
	Details    map[string]any `json:"details,omitempty"`
	GitURL     string         `json:"git_url,omitempty"` // canonical

	Confirmation *confirmation `json:"confirmation,omitempty"` // asked for (product rules on policy and confirmation)
}

// opencode presents opencode.v1: one JSON object on every face, as text and as structured content (opencode contract §13). A success is
// the tool's own object, which says its status itself; a dry run shows the plan; isError is set if and only if the status is error.
func opencode(o tool.Outcome) Document {
	if f := fault.From(o.Err); f != nil {
		doc := Object(opencodeFailure(o))
		return Document{Text: string(doc), Object: doc, Body: doc, Fail: true, Kind: f.Kind}
	}
	doc := opencodeSuccess(o)
	var own struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal(doc, &own) // a status that is no text is none
	return Document{Text: string(doc), Object: doc, Body: doc, Fail: own.Status == "error"}
}

// opencodeSuccess returns a value as an object with a status. What the application has to say about the call joins the value's own warnings.
func opencodeSuccess(o tool.Outcome) json.RawMessage {
	var doc json.RawMessage
	switch {
	case o.DryRun:
		doc = Object(struct {
			Status  string          `json:"status"`
			Plan    json.RawMessage `json:"plan,omitempty"`
			Message string          `json:"message"`
		}{"dry_run", o.Value, "nothing was changed; the plan shows what this call would change"})
	case isObject(o.Value):
		doc = withStatus(bytes.TrimSpace(o.Value))
	default:
		doc = Object(struct {
			Status  string          `json:"status"`
			Result  json.RawMessage `json:"result,omitempty"`
			Message string          `json:"message,omitempty"`
		}{"success", o.Value, o.Text})
	}
	var fields map[string]json.RawMessage
	if len(o.Warnings) == 0 || json.Unmarshal(doc, &fields) != nil {
		return doc
	}
	var warnings []string
	_ = json.Unmarshal(fields["warnings"], &warnings) // the contract knows them as a list of texts
	fields["warnings"] = Object(append(warnings, o.Warnings...))
	return Object(fields)
}

// withStatus puts a status in front of an object that has none, such as the head of one that was too long.
func withStatus(doc json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(doc, &fields) != nil || fields["status"] != nil {
		return doc
	}
	status := `{"status":"success"`
	if len(fields) > 0 {
		status += ","
	}
	return append(json.RawMessage(status), doc[1:]...)
}

// opencodeFailure returns an outcome's failure in the words of opencode.v1. A suggestion and a git_url among the details are those of the
// failure, the former better than the standing one, because the raising site knows more.
func opencodeFailure(o tool.Outcome) opencodeError {
	f := fault.From(o.Err)
	e := opencodeError{Status: "error", Error: opencodeCode(f), Message: f.Message, Details: Details(f), Confirmation: confirmationOf(o.Request)}
	e.Suggestion = e.take("suggestion")
	if e.Suggestion == "" {
		e.Suggestion = opencodeSuggestion(f.Code, e.Error)
	}
	if f.Code == tool.ErrArguments.Code && named(o.Args, "project_name") {
		e.Suggestion = "omit project_name: a project is identified by its git_url, and its name is derived from that"
	}
	if i := o.Request; i != nil && i.Pending {
		if f.Code == "confirm_token_required" {
			e.Error = opencodeCodes()["confirm_pending"]
		}
		e.Suggestion = "the user approves or denies this in a terminal (countersign approve " + i.ID + ") or in the console; repeat the call unchanged to wait for the decision or to continue"
	} else if i != nil && i.Strength >= policy.Typed {
		e.Suggestion += " and typed_value, the name that the user typed"
	}
	e.GitURL = opencodeURL(o, e.take("git_url"))
	if text, ok := e.Details["stderr"].(string); ok {
		e.Details["stderr"] = lastBytes(text, opencodeStderr)
	}
	if plan := explained(o); plan != nil {
		if e.Details == nil {
			e.Details = map[string]any{}
		}
		e.Details["plan"] = plan
	}
	return e
}

// take takes a text out of the details.
func (e *opencodeError) take(name string) string {
	text, ok := e.Details[name].(string)
	if ok {
		delete(e.Details, name)
	}
	return text
}

// opencodeURL returns the canonical URL of the project that a failed call was about: what the fault, the plan or else the arguments say. It is
// empty where none of them is a URL, and where the arguments carry credentials, of which nothing is ever repeated. A path of this machine
// is canonical only once its links are resolved, so it counts in a fault or a plan alone.
func opencodeURL(o tool.Outcome, fromFault string) string {
	known := []string{fromFault, urlIn(explained(o))}
	if o.Request != nil {
		known = append(known, urlIn(o.Request.Plan))
	}
	for _, s := range known {
		if u, err := git.ParseURL(s); err == nil && !git.CarriesCredentials(s) {
			return u.String()
		}
	}
	raw := urlIn(o.Args)
	u, err := git.ParseURL(raw)
	if err != nil || u.IsLocal() || git.CarriesCredentials(raw) {
		return ""
	}
	return u.String()
}

// urlIn returns the git_url of an object.
func urlIn(doc json.RawMessage) string {
	var own struct {
		GitURL string `json:"git_url"`
	}
	_ = json.Unmarshal(doc, &own) // what is no such object names no project
	return own.GitURL
}

// named reports an argument that was given, whatever its value.
func named(args json.RawMessage, name string) bool {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(args, &given) // what is no object has no arguments
	_, ok := given[name]
	return ok
}

// lastBytes returns the end of a text, where programs say what stopped them: at most limit bytes, and no half characters.
func lastBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	from := len(text) - limit
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// Renamed returns the tool that took the place of one that an older form of a contract had, with a word about it; empty for every other name.
// The old tools are gone all the same (opencode contract §20; opencode contract, breaking changes).
func Renamed(old string) (now tool.Name, note string) {
	switch old {
	case "opencode_start", "opencode_status", "opencode_stop", "opencode_restart", "opencode_destroy":
		now = tool.Name("opencode_project_" + old[len("opencode_"):])
		return now, "renamed to " + string(now) + ", which takes git_url only; project_name is derived from it"
	case "opencode_list":
		return "opencode_project_list", "renamed to opencode_project_list; its projects have a git_url, which identifies them in every other tool"
	}
	return "", ""
}
