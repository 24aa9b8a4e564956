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

// outgoing is a completion webhook with redacted secrets.
type outgoing struct {
	Enabled bool              `json:"enabled"`
	URL     string            `json:"url"`
	Trigger string            `json:"trigger"`
	Headers map[string]string `json:"headers"`
	Payload string            `json:"payloadTemplate"`
}

// incoming is an incoming webhook without its secrets.
type incoming struct {
	Enabled bool  `json:"enabled"`
	Signed  bool  `json:"requireSignature"`
	Allowed int64 `json:"approvedRevision"`
}

// hooks returns both webhooks, and the forms that set them.
func (s *workflowSection) hooks(v httpauth.Identity, f flow) ui.Node {
	if !s.Calls.Serves(v, "workflow_webhook_set") {
		return ui.Group{ui.Panel("Completion webhook", told(f.Webhook)), ui.Panel("Incoming webhook", opened(f))}
	}
	to := workflowPath(f.ID)
	var remove, disable ui.Node
	if f.Webhook != nil {
		remove = ui.ActionForm(v, to+"/webhook", "Remove webhook", "of completed executions", ui.Hidden("off", "true"))
	}
	if f.Incoming != nil {
		disable = ui.ActionForm(v, to+"/incoming", "Disable", "incoming webhook", ui.Hidden("off", "true"))
	}
	return ui.Group{ui.Panel("Completion webhook", ui.P(ui.Class("quiet"), ui.Text("Sends a request when an execution ends.")), told(f.Webhook), remove,
		ui.Disclosure("Set completion webhook …", f.Webhook == nil, ui.PostForm(v, to+"/webhook", ui.Field("hook-url", "url", "URL (https://…)", "", ui.Required()),
			ui.SelectField("hook-trigger", "trigger", "When", "always", ui.Choice{Value: "always", Text: "always"}, ui.Choice{Value: "onSuccess", Text: "on success"},
				ui.Choice{Value: "onFailure", Text: "on failure"}),
			ui.TextareaField("hook-headers", "headers", "Headers (NAME: VALUE), one per line, stored as secrets (optional)", ""),
			ui.TextareaField("hook-payload", "payload", "Payload template with {{variables}} (default: JSON with all fields)", ""), ui.SubmitButton("Save webhook")))),
		ui.Panel("Incoming webhook", ui.P(ui.Class("quiet"), ui.Text("Lets requests from other programs start the workflow.")), opened(f), disable,
			ui.Disclosure("Enable incoming webhook …", f.Incoming == nil, ui.PostForm(v, to+"/incoming",
				ui.P(ui.Text("Creates a token, which is shown once. Any change to the workflow disables the webhook until you enable it again. To accept requests, run: "), ui.InlineCode("countersign webhooks serve")),
				ui.CheckboxField("in-signed", "signed", "Require signed requests (creates a secret)", true), ui.SubmitButton("Enable", ui.Aria("label", "Enable incoming webhook")))))}
}

// told returns the completion webhook.
func told(h *outgoing) ui.Node {
	if h == nil || !h.Enabled {
		return ui.P(ui.Text("No completion webhook."))
	}
	when := map[string]string{"onSuccess": "on success", "onFailure": "on failure"}[h.Trigger]
	if when == "" {
		when = "always"
	}
	facts := []ui.Fact{{Name: "URL", Value: ui.OptionalCode(h.URL)}, {Name: "When", Value: ui.Text(when)}}
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

// opened returns the status of the incoming webhook.
func opened(f flow) ui.Node {
	switch {
	case f.Incoming == nil || !f.Incoming.Enabled:
		return ui.P(ui.Text("Incoming webhook disabled."))
	case f.Incoming.Allowed != f.Revision:
		return ui.Notice(ui.Warn, ui.P(ui.Text("The incoming webhook is off because the workflow changed. Review it and enable the webhook again.")))
	case f.Incoming.Signed:
		return ui.P(ui.Text("Incoming webhook enabled. Requests must be signed."))
	}
	return ui.P(ui.Text("Incoming webhook enabled. Requests must contain its token."))
}

var errAddress = fault.New(fault.Invalid, "workflow_address_missing", "the URL of the completion webhook is missing; enter one that starts with https://")

func (s *workflowSection) setWebhook(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	args := ui.Args{"workflow_id": id}
	title := "Remove completion webhook"
	if r.PostFormValue("off") != "true" {
		if title = "Save completion webhook"; strings.TrimSpace(r.PostFormValue("url")) == "" {
			s.Fail(w, v, errAddress)
			return
		}
		args.Set("url", r.PostFormValue("url")).Set("trigger", r.PostFormValue("trigger")).Set("payload_template", r.PostFormValue("payload"))
		headers, err := pairs(r.PostFormValue("headers"), ":")
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		if len(headers) > 0 {
			args["headers"] = headers
		}
	}
	s.Calls.Do(w, r, v, ui.Task{Title: title, Tool: "workflow_webhook_set", Args: args, Back: workflowTab(id, tabWebhooks)})
}

// endpoint is the default URL of incoming webhooks, without the ID of the workflow (packageflow contract §1.9).
const endpoint = "http://127.0.0.1:9876/webhook/"

func (s *workflowSection) setIncoming(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	id := r.PathValue("id")
	if r.PostFormValue("off") == "true" {
		s.Calls.Do(w, r, v, ui.Task{Title: "Disable incoming webhook", Tool: "workflow_incoming_set", Args: ui.Args{"workflow_id": id, "enabled": false}, Back: workflowTab(id, tabWebhooks)})
		return
	}
	facts := []ui.Fact{{Name: "URL", Value: ui.InlineCode(endpoint + id)}}
	args := ui.Args{"workflow_id": id, "enabled": true, "token": secret()}
	facts = append(facts, ui.Fact{Name: "Token", Value: ui.InlineCode(args["token"].(string))})
	if r.PostFormValue("signed") == "true" {
		args["require_signature"], args["secret"] = true, secret()
		facts = append(facts, ui.Fact{Name: "Signing secret", Value: ui.InlineCode(args["secret"].(string))})
	}
	s.Calls.Do(w, r, v, ui.Task{Title: "Enable incoming webhook", Tool: "workflow_incoming_set", Args: args, Back: workflowTab(id, tabWebhooks),
		Show: func(o tool.Outcome) ui.Node {
			if o.Err != nil {
				return nil
			}
			return ui.Group{ui.Notice(ui.Warn, ui.P(ui.Text("Copy these values now. They are not shown again."))), ui.Facts(facts...)}
		}})
}

// secretBytes is the number of random bytes in a token and in a secret.
const secretBytes = 32

func secret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
