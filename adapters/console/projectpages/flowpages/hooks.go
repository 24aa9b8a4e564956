package flowpages

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/sectionpage"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
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
func (s *Section) hooks(v httpguard.Visitor, f flow) markup.Node {
	if !s.Desk.Serves(v, "workflow_webhook_set") {
		return page.Part("Webhooks", told(f.Webhook), opened(f))
	}
	to := Path(f.ID)
	var quiet, closing markup.Node
	if f.Webhook != nil {
		quiet = page.Deed(v, to+"/webhook", "Tell nobody any more", "of the end of its runs", page.Hidden("off", "true"))
	}
	if f.Incoming != nil {
		closing = page.Deed(v, to+"/incoming", "Close", "to requests from outside", page.Hidden("off", "true"))
	}
	return page.Part("Webhooks", told(f.Webhook), quiet,
		page.Fold("Tell an address when a run ends", false, page.Form(v, to+"/webhook", page.Field("hook-url", "url", "Address (https://…)", "", markup.Required()),
			page.Select("hook-trigger", "trigger", "When", "always", page.Choice{Value: "always", Text: "always"}, page.Choice{Value: "onSuccess", Text: "when it succeeds"},
				page.Choice{Value: "onFailure", Text: "when it fails"}),
			page.Area("hook-headers", "headers", "Headers, NAME: VALUE, one a line; they are kept secret (may be empty)", ""),
			page.Area("hook-payload", "payload", "Payload with {{names}} (empty: a JSON object that tells it all)", ""), page.Button("Set the address"))),
		opened(f), closing,
		page.Fold("Let requests from outside start it", false, page.Form(v, to+"/incoming",
			markup.P(page.Text("A token is made, and shown once. Whoever changes the workflow closes it until it is opened again. "), page.Code("countersign webhooks serve"), page.Text(" answers the requests.")),
			page.Check("in-signed", "signed", "Take signed requests alone; a secret is made for it", true), page.Button("Open it"))))
}

// told says where the end of runs is told.
func told(h *outgoing) markup.Node {
	if h == nil || !h.Enabled {
		return markup.P(page.Text("The end of its runs is told to nobody."))
	}
	when := map[string]string{"onSuccess": "when it succeeds", "onFailure": "when it fails"}[h.Trigger]
	if when == "" {
		when = "always"
	}
	facts := []page.Fact{{Name: "Tells the end of runs to", Value: sectionpage.Code(h.URL)}, {Name: "When", Value: page.Text(when)}}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		facts = append(facts, page.Fact{Name: "Header " + page.Printable(name), Value: sectionpage.Code(h.Headers[name])})
	}
	return markup.Group{page.Facts(facts...), payload(h.Payload)}
}

func payload(template string) markup.Node {
	if template == "" {
		return nil
	}
	return page.Pre("payload", page.Printable(template))
}

// opened says whether requests from outside start the workflow.
func opened(f flow) markup.Node {
	switch {
	case f.Incoming == nil || !f.Incoming.Enabled:
		return markup.P(page.Text("Requests from outside do not start it."))
	case f.Incoming.Allowed != f.Revision:
		return page.Notice(page.Warn, markup.P(page.Text("It was opened to requests from outside, and changed since: they do not start it until it is opened again.")))
	case f.Incoming.Signed:
		return markup.P(page.Text("Signed requests from outside start it."))
	}
	return markup.P(page.Text("Requests from outside that bring its token start it."))
}

var errAddress = fault.New(fault.Invalid, "workflow_address_missing", "the address that is told is missing; go back and give one that begins with https://")

func (s *Section) setWebhook(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	args := sectionpage.Args{"workflow_id": id}
	title := "Tell nobody of the end of its runs"
	if r.PostFormValue("off") != "true" {
		if title = "Tell an address when a run ends"; strings.TrimSpace(r.PostFormValue("url")) == "" {
			s.Fail(w, v, errAddress)
			return
		}
		args.Set("url", r.PostFormValue("url")).Set("trigger", r.PostFormValue("trigger")).Set("payload_template", r.PostFormValue("payload"))
		headers := map[string]string{}
		for _, line := range sectionpage.Lines(r.PostFormValue("headers")) {
			name, value, _ := strings.Cut(line, ":")
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		if len(headers) > 0 {
			args["headers"] = headers
		}
	}
	s.Desk.Do(w, r, v, work.Task{Title: title, Tool: "workflow_webhook_set", Args: args, Back: Path(id)})
}

// endpoint is where requests from outside arrive by default, without the workflow's id (packageflow contract §1.9).
const endpoint = "http://127.0.0.1:9876/webhook/"

func (s *Section) setIncoming(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	id := r.PathValue("id")
	if r.PostFormValue("off") == "true" {
		s.Desk.Do(w, r, v, work.Task{Title: "Close the workflow to requests from outside", Tool: "workflow_incoming_set", Args: sectionpage.Args{"workflow_id": id, "enabled": false}, Back: Path(id)})
		return
	}
	facts := []page.Fact{{Name: "Address", Value: page.Code(endpoint + id)}}
	args := sectionpage.Args{"workflow_id": id, "enabled": true, "token": secret()}
	facts = append(facts, page.Fact{Name: "Token", Value: page.Code(args["token"].(string))})
	if r.PostFormValue("signed") == "true" {
		args["require_signature"], args["secret"] = true, secret()
		facts = append(facts, page.Fact{Name: "Secret that signs", Value: page.Code(args["secret"].(string))})
	}
	s.Desk.Do(w, r, v, work.Task{Title: "Open the workflow to requests from outside", Tool: "workflow_incoming_set", Args: args, Back: Path(id),
		Show: func(o tool.Outcome) markup.Node {
			if o.Err != nil {
				return nil
			}
			return markup.Group{page.Notice(page.Warn, markup.P(page.Text("Keep these now: they are not shown anywhere else, and not again once this page is forgotten."))), page.Facts(facts...)}
		}})
}

// secretBytes is how many random bytes a token and a secret have.
const secretBytes = 32

func secret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
