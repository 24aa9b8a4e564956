package webhook

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
)

// DeliveryTimeout is the maximum duration of a notification about an execution (packageflow contract §1.9).
const DeliveryTimeout = 10 * time.Second

// When the end of an execution is notified (packageflow contract §1.9).
const (
	OnSuccess = "onSuccess"
	OnFailure = "onFailure"
	OnAlways  = "always"
)

// Outgoing is a workflow's own webhook, called when an execution ends. Its fields are those that workflows store.
type Outgoing struct {
	Enabled         bool
	URL             string
	Trigger         string
	Headers         map[string]string
	PayloadTemplate string
}

// Validate rejects one that could not be delivered, as Config.Validate does.
func (o Outgoing) Validate() error {
	if o.Trigger != OnSuccess && o.Trigger != OnFailure && o.Trigger != OnAlways {
		return project.ErrArgument.WithMessage("invalid trigger %q; use onSuccess, onFailure or always", o.Trigger)
	}
	return o.config().Validate()
}

func (o Outgoing) config() Config {
	return Config{URL: o.URL, Headers: o.Headers, PayloadTemplate: o.PayloadTemplate, TimeoutMS: DeliveryTimeout.Milliseconds()}
}

// Fires reports whether the end of an execution is notified; a cancelled one did not succeed.
func (o Outgoing) Fires(succeeded bool) bool {
	return o.Enabled && (o.Trigger == OnAlways || o.Trigger == OnSuccess && succeeded || o.Trigger == OnFailure && !succeeded)
}

// ExecutionEnd is an execution that ended.
type ExecutionEnd struct {
	WorkflowID   string
	WorkflowName string
	ExecutionID  string
	Status       string
	Elapsed      time.Duration
	At           time.Time
	Error        string // empty when there is none
}

// Build returns the request about an execution: from the template, or else a JSON document with all values. It fails as Config.Build does.
func (o Outgoing) Build(e ExecutionEnd) (Request, error) {
	in := Input{Variables: e.variables()}
	c := o.config()
	if c.PayloadTemplate == "" && syntaxOf(c.contentType()) == syntaxJSON {
		in.Payload = e.payload()
	}
	return c.Build(in)
}

// variables returns what a template can use.
func (e ExecutionEnd) variables() map[string]string {
	return map[string]string{
		"workflow_id": e.WorkflowID, "workflow_name": e.WorkflowName, "execution_id": e.ExecutionID, "status": e.Status,
		"duration": strconv.FormatInt(e.Elapsed.Milliseconds(), 10), "timestamp": e.timestamp(), "error_message": e.Error,
	}
}

func (e ExecutionEnd) timestamp() string { return e.At.UTC().Format(time.RFC3339) }

// payload returns the default body.
func (e ExecutionEnd) payload() json.RawMessage {
	type workflow struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	type execution struct {
		ID         string `json:"id"`
		Status     string `json:"status"`
		DurationMS int64  `json:"duration_ms"`
		Timestamp  string `json:"timestamp"`
	}
	doc := struct {
		Workflow  workflow  `json:"workflow"`
		Execution execution `json:"execution"`
		Error     *string   `json:"error"`
	}{
		Workflow:  workflow{ID: e.WorkflowID, Name: e.WorkflowName},
		Execution: execution{ID: e.ExecutionID, Status: e.Status, DurationMS: e.Elapsed.Milliseconds(), Timestamp: e.timestamp()},
	}
	if text := strings.TrimSpace(e.Error); text != "" {
		doc.Error = &text
	}
	raw, _ := json.Marshal(doc) // strings and numbers always encode
	return raw
}
