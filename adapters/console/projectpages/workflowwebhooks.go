package projectpages

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// outgoing is where the end of a workflow's runs is told, as it may be shown.
type outgoing struct {
	Enabled bool              `json:"enabled"`
	URL     string            `json:"url"`
	Trigger string            `json:"trigger"`
	Headers map[string]string `json:"headers"`
	Payload string            `json:"payloadTemplate"`
}

// incoming is how requests from outside start a workflow, as it may be shown.
type incoming struct {
	Enabled bool  `json:"enabled"`
	Signed  bool  `json:"requireSignature"`
	Allowed int64 `json:"approvedRevision"`
}

// hooks is both, and the forms that set them.
func (s *workflowSection) hooks(v httpauth.Identity, f flow) ui.Node {
	if !s.Calls.Serves(v, "workflow_webhook_set") {
		return ui.Part("Webhooks", told(f.Webhook), opened(f))
	}
	to := workflowPath(f.ID)
	var quiet, closing ui.Node
	if f.Webhook != nil {
		quiet = ui.ActionForm(v, to+"/webhook", "Tell nobody any more", "of the end of its runs", ui.Hidden("off", "true"))
	}
	if f.Incoming != nil {
		closing = ui.ActionForm(v, to+"/incoming", "Close", "to requests from outside", ui.Hidden("off", "true"))
	}
	return ui.Part("Webhooks", told(f.Webhook), quiet,
		ui.Disclosure("Tell an address when a run ends", false, ui.PostForm(v, to+"/webhook", ui.Field("hook-url", "url", "Address (https://…)", "", ui.Required()),
			ui.SelectField("hook-trigger", "trigger", "When", "always", ui.Choice{Value: "always", Text: "always"}, ui.Choice{Value: "onSuccess", Text: "when it succeeds"},
				ui.Choice{Value: "onFailure", Text: "when it fails"}),
			ui.TextareaField("hook-headers", "headers", "Headers, NAME: VALUE, one a line; they are kept secret (may be empty)", ""),
			ui.TextareaField("hook-payload", "payload", "Payload with {{names}} (empty: a JSON object that tells it all)", ""), ui.SubmitButton("Set the address"))),
		opened(f), closing,
		ui.Disclosure("Let requests from outside start it", false, ui.PostForm(v, to+"/incoming",
			ui.P(ui.Text("A token is made, and shown once. Whoever changes the workflow closes it until it is opened again. "), ui.InlineCode("countersign webhooks serve"), ui.Text(" answers the requests.")),
			ui.CheckboxField("in-signed", "signed", "Take signed requests alone; a secret is made for it", true), ui.SubmitButton("Open it"))))
}

// told says where the end of runs is told.
func told(h *outgoing) ui.Node {
	if h == nil || !h.Enabled {
		return ui.P(ui.Text("The end of its runs is told to nobody."))
	}
	when := map[string]string{"onSuccess": "when it succeeds", "onFailure": "when it fails"}[h.Trigger]
	if when == "" {
		when = "always"
	}
	facts := []ui.Fact{{Name: "Tells the end of runs to", Value: ui.OptionalCode(h.URL)}, {Name: "When", Value: ui.Text(when)}}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		facts = append(facts, ui.Fact{Name: "Header " + ui.Printable(name), Value: ui.OptionalCode(h.Headers[name])})
	}
	return ui.Group{ui.Facts(facts...), payload(h.Payload)}
}

func payload(template string) ui.Node {
	if template == "" {
		return nil
	}
	return ui.CodeBlock("payload", ui.Printable(template))
}

// opened says whether requests from outside start the workflow.
func opened(f flow) ui.Node {
	switch {
	case f.Incoming == nil || !f.Incoming.Enabled:
		return ui.P(ui.Text("Requests from outside do not start it."))
	case f.Incoming.Allowed != f.Revision:
		return ui.Notice(ui.Warn, ui.P(ui.Text("It was opened to requests from outside, and changed since: they do not start it until it is opened again.")))
	case f.Incoming.Signed:
		return ui.P(ui.Text("Signed requests from outside start it."))
	}
	return ui.P(ui.Text("Requests from outside that bring its token start it."))
}

var errAddress = fault.New(fault.Invalid, "workflow_address_missing", "the address that is told is missing; go back and give one that begins with https://")

func (s *workflowSection) setWebhook(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	args := ui.Args{"workflow_id": id}
	title := "Tell nobody of the end of its runs"
	if r.PostFormValue("off") != "true" {
		if title = "Tell an address when a run ends"; strings.TrimSpace(r.PostFormValue("url")) == "" {
			s.Fail(w, v, errAddress)
			return
		}
		args.Set("url", r.PostFormValue("url")).Set("trigger", r.PostFormValue("trigger")).Set("payload_template", r.PostFormValue("payload"))
		headers := map[string]string{}
		for _, line := range ui.Lines(r.PostFormValue("headers")) {
			name, value, _ := strings.Cut(line, ":")
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		if len(headers) > 0 {
			args["headers"] = headers
		}
	}
	s.Calls.Do(w, r, v, ui.Task{Title: title, Tool: "workflow_webhook_set", Args: args, Back: workflowPath(id)})
}

// endpoint is where requests from outside arrive by default, without the workflow's id (packageflow contract §1.9).
const endpoint = "http://127.0.0.1:9876/webhook/"

func (s *workflowSection) setIncoming(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	if r.PostFormValue("off") == "true" {
		s.Calls.Do(w, r, v, ui.Task{Title: "Close the workflow to requests from outside", Tool: "workflow_incoming_set", Args: ui.Args{"workflow_id": id, "enabled": false}, Back: workflowPath(id)})
		return
	}
	facts := []ui.Fact{{Name: "Address", Value: ui.InlineCode(endpoint + id)}}
	args := ui.Args{"workflow_id": id, "enabled": true, "token": secret()}
	facts = append(facts, ui.Fact{Name: "Token", Value: ui.InlineCode(args["token"].(string))})
	if r.PostFormValue("signed") == "true" {
		args["require_signature"], args["secret"] = true, secret()
		facts = append(facts, ui.Fact{Name: "Secret that signs", Value: ui.InlineCode(args["secret"].(string))})
	}
	s.Calls.Do(w, r, v, ui.Task{Title: "Open the workflow to requests from outside", Tool: "workflow_incoming_set", Args: args, Back: workflowPath(id),
		Show: func(o tool.Outcome) ui.Node {
			if o.Err != nil {
				return nil
			}
			return ui.Group{ui.Notice(ui.Warn, ui.P(ui.Text("Keep these now: they are not shown anywhere else, and not again once this page is forgotten."))), ui.Facts(facts...)}
		}})
}

// secretBytes is how many random bytes a token and a secret have.
const secretBytes = 32

func secret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
