package present

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// envelope is the one form of every answer of agentpack.v1, fields in this order (agentpack contract §6.1).
type envelope struct {
	Schema   int             `json:"schema_version"`
	OK       bool            `json:"ok"`
	Command  string          `json:"command"`
	ID       string          `json:"command_id"`
	Path     []string        `json:"command_path"`
	Version  string          `json:"version"`
	Data     json.RawMessage `json:"data"`
	Warnings []string        `json:"warnings"`
	Errors   []envelopeError `json:"errors"`
}

type envelopeError struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// agentpack presents agentpack.v1: the envelope, as text laid out for reading and as an object. A tool's value is {data, warnings}; a
// fault's details may hold warnings, reason_code and next_actions of their own. A failure on a command line names the first word of its
// command, over MCP the whole of it (agentpack contract §5).
func agentpack(o tool.Outcome) Document {
	e := envelope{Schema: 1, Version: o.Version, Data: json.RawMessage(`{}`), Warnings: []string{}, Errors: []envelopeError{}}
	e.Command, e.Path = commandOf(o)
	e.ID = strings.Join(e.Path, " ")
	f := fault.From(o.Err)
	if f == nil {
		e.OK = true
		e.Data, e.Warnings = reportOf(o)
	} else {
		e.Errors = []envelopeError{errorOf(o, f, e.ID)}
		e.Warnings = append(e.Warnings, takeWarnings(e.Errors[0].Details)...)
	}
	e.Warnings = append(e.Warnings, o.Warnings...)
	compact := Object(e)
	d := Document{Text: laidOut(compact), Object: compact, Fail: f != nil}
	if f != nil {
		d.Kind = f.Kind
		e.Command, _, _ = strings.Cut(e.Command, ".")
	}
	d.Body = json.RawMessage(laidOut(Object(e)))
	return d
}

func laidOut(doc []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, doc, "", "  ") != nil {
		return string(doc)
	}
	return out.String()
}

// commandOf returns the command that a tool stands for, dotted, and the words the user types for it.
func commandOf(o tool.Outcome) (string, []string) {
	name := strings.TrimPrefix(string(o.Spec.Name), "agents_")
	if head, flag, ok := strings.Cut(name, "_"); ok && (flag == "apply" || flag == "fix") {
		return head, []string{head, "--" + flag}
	}
	if name == "explain" {
		var args struct {
			Kind string `json:"kind"`
		}
		_ = json.Unmarshal(o.Args, &args) // arguments that are wrong explain nothing
		switch args.Kind {
		case "status":
			return "explain.status", []string{"explain", "status"}
		case "diff":
			return "explain.plan", []string{"explain", "diff"}
		}
		return "explain.plan", []string{"explain", "plan"}
	}
	words := strings.Split(name, "_")
	return strings.Join(words, "."), words
}

// reportOf returns the data and the warnings of a successful call. A preview's confirmation stands among the data: only here, because what
// leaves the core is redacted, and a token is a secret.
func reportOf(o tool.Outcome) (json.RawMessage, []string) {
	var report struct {
		Data     json.RawMessage `json:"data"`
		Warnings []string        `json:"warnings"`
	}
	if err := json.Unmarshal(o.Value, &report); err != nil || report.Data == nil {
		report.Data = o.Value
	}
	if report.Data == nil {
		report.Data = json.RawMessage(`{}`)
	}
	if report.Warnings == nil {
		report.Warnings = []string{}
	}
	if o.Request == nil {
		return report.Data, report.Warnings
	}
	var data map[string]json.RawMessage
	if json.Unmarshal(report.Data, &data) != nil || data == nil {
		return report.Data, report.Warnings
	}
	data["confirm_plan_hash"] = Object(o.Request.PlanHash.Hex())
	data["confirm_token_expires_at"] = Object(o.Request.ExpiresAt.UTC().Format(time.RFC3339Nano))
	if token := o.Request.Token.Reveal(); token != "" {
		data["confirm_token"] = Object(token)
	} else {
		data["confirmation_id"] = Object(o.Request.ID)
	}
	return Object(data), report.Warnings
}

// errorOf returns a fault in the contract's words.
func errorOf(o tool.Outcome, f *fault.Error, command string) envelopeError {
	row := rowOf(o, f)
	e := envelopeError{Code: row.code, Message: f.Message, Details: Details(f)}
	switch f.Code {
	case "deployment_yes_required":
		e.set("command", command)
	case "confirm_token_mismatch":
		e.hashes()
	}
	if o.Request != nil {
		e.set("confirmation", confirmationOf(o.Request))
	}
	if o.Explained {
		e.set("plan", o.Value)
	}
	if row.reason != "" {
		e.standard("reason_code", row.reason)
		e.standard("next_actions", row.actions)
	}
	if row.hint != "" {
		e.standard("hint", row.hint)
	}
	return e
}

func (e *envelopeError) set(name string, value any) {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[name] = value
}

// standard sets what the raising site did not.
func (e *envelopeError) standard(name string, value any) {
	if _, there := e.Details[name]; !there {
		e.set(name, value)
	}
}

// hashes gives the two plan hashes of a mismatch the contract's names and form.
func (e *envelopeError) hashes() {
	for from, to := range map[string]string{"current_plan_hash": "confirm_plan_hash", "confirmed_plan_hash": "expected_confirm_plan_hash"} {
		if hash, ok := e.Details[from].(string); ok {
			delete(e.Details, from)
			e.Details[to] = strings.TrimPrefix(hash, "sha256:")
		}
	}
}

// takeWarnings takes the warnings that were collected before a failure out of its details.
func takeWarnings(details map[string]any) []string {
	list, _ := details["warnings"].([]any)
	delete(details, "warnings")
	out := make([]string, 0, len(list))
	for _, w := range list {
		if text, ok := w.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
