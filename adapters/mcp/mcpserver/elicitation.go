package mcpserver

import (
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// QuestionKey names the single approval request among the input requests of a result.
const QuestionKey = "confirmation"

// The field of the form, and the words of a decision.
const (
	fieldDecision = "decision"
	wordApprove   = "approve"
	wordDeny      = "deny"
	wordAlways    = "always"
)

// MaxMessage is the maximum size of a form's text, in bytes. A longer text gets no form: nothing is ever cut.
const MaxMessage = 8 << 10

// SupportsForms reports whether a client with these capabilities shows forms.
func SupportsForms(caps *mcp.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// ApprovalForm returns a form that shows the whole plan and asks for a decision; nil if a form cannot, with the reason. It always has a required
// field, because some hosts accept an empty form without showing it to the user.
func ApprovalForm(i *tool.ApprovalRequest) (form *mcp.ElicitParams, why string) {
	text, err := message(i)
	switch {
	case !i.Formable:
		return nil, "the risk is too high for this host's form"
	case err != nil:
		return nil, "this host's form cannot show the plan"
	case len(text) > MaxMessage:
		return nil, "the plan is too long for this host's form"
	case i.Masked > 0 || strings.Contains(text, "[REDACTED:"):
		return nil, "parts of the plan are redacted, and this host's form cannot reveal them"
	}
	// Some hosts preselect the first word, so that one key sends it.
	words, meaning := []string{wordDeny, wordApprove}, "approve applies exactly this plan, once"
	if i.AllowsSessionGrant() {
		terms := confirm.View{Tool: string(i.Tool), Scope: i.Scope, Covers: i.Covers, PlanHash: i.PlanHash}.AlwaysTerms()
		words, meaning = append(words, wordAlways), meaning+"; always also allows, in this session: "+oneLine(terms)
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: text,
		RequestedSchema: map[string]any{"type": "object", "required": []string{fieldDecision}, "properties": map[string]any{
			fieldDecision: map[string]any{"type": "string", "title": "Decision", "enum": words, "description": meaning},
		}},
	}, ""
}

// message returns the text for the user: the request, the call, its plan and details in full, and when it expires.
func message(i *tool.ApprovalRequest) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Countersign asks: %s\n", oneLine(i.Prompt))
	for _, part := range []struct {
		head string
		doc  []byte
	}{{"Arguments", i.Args}, {"Plan", i.Plan}, {"Changes", i.Exhibit}} {
		if len(part.doc) == 0 || string(part.doc) == "null" {
			continue
		}
		v, err := present.Parse(part.doc)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n%s:\n", part.head)
		laidOut(&b, "  ", v)
	}
	fmt.Fprintf(&b, "\nTool %s, plan %s. Expires %s.", i.Tool, i.PlanHash, i.ExpiresAt.UTC().Format(time.RFC3339))
	return b.String(), nil
}

// laidOut writes a complete value in lines: members with their names, items with a dash, and multi-line texts behind a bar, so that none can be
// mistaken for its surroundings.
func laidOut(b *strings.Builder, margin string, v any) {
	switch v := v.(type) {
	case []present.Field:
		if len(v) == 0 {
			b.WriteString(margin + "(nothing)\n")
		}
		for _, f := range v {
			member(b, margin, visible.Text(oneLine(f.Name))+":", f.Value)
		}
	case []any:
		if len(v) == 0 {
			b.WriteString(margin + "(none)\n")
		}
		for _, item := range v {
			member(b, margin, "-", item)
		}
	default:
		member(b, strings.TrimSuffix(margin, " "), "", v)
	}
}

// member writes one value after its name.
func member(b *strings.Builder, margin, called string, v any) {
	switch v := v.(type) {
	case []present.Field, []any:
		b.WriteString(margin + called + "\n")
		laidOut(b, margin+"  ", v)
	case string:
		if text := visible.Text(v); strings.Contains(text, "\n") {
			b.WriteString(margin + called + "\n")
			for line := range strings.Lines(text) {
				b.WriteString(margin + "  | " + strings.TrimSuffix(line, "\n") + "\n")
			}
		} else {
			b.WriteString(margin + called + " " + text + "\n")
		}
	case nil:
		b.WriteString(margin + called + " -\n")
	default: // a number or a truth value
		fmt.Fprintf(b, "%s%s %v\n", margin, called, v)
	}
}

// oneLine keeps a text from looking like another part of the message.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ParseAnswer reads a form that the host entry showed for the approval request with that ID. It returns nil if the user did not answer: only an
// accepted form with an offered word counts; lasting says that a session grant was offered. Cancelled, dismissed or declined forms are not answers,
// because hosts without a user do that automatically.
func ParseAnswer(confirmation, entry string, lasting bool, r *mcp.ElicitResult) *confirm.Decision {
	if r == nil || r.Action != "accept" {
		return nil
	}
	a := &confirm.Decision{ID: confirmation, By: "form", Proof: confirm.Proof{Surface: confirm.SurfaceForm, Entry: entry}}
	switch decision, _ := r.Content[fieldDecision].(string); {
	case decision == wordApprove:
		a.Approve = true
	case decision == wordAlways && lasting:
		a.Approve, a.Always = true, true
	case decision != wordDeny:
		return nil
	}
	return a
}
