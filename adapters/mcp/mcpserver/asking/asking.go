// Package asking puts a confirmation to a person in the form that an MCP client shows, reads what comes back, and seals what a call carries through
// the client meanwhile.
//
// It refuses to decide anything: what makes an approval good, and good once, is the ledger behind the door.
package asking

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Key names the one question a call can ask among the input requests of its result.
const Key = "confirmation"

// The fields of the form, and the words of a decision.
const (
	fieldDecision = "decision"
	fieldTyped    = "typed_value"
	wordApprove   = "approve"
	wordDeny      = "deny"
	wordAlways    = "always"
)

// Bounds of the plan and the arguments in a form, in bytes.
const (
	maxShownPlan = 8 << 10
	maxShownArgs = 4 << 10
)

// Possible reports whether a client with these capabilities shows forms.
func Possible(caps *mcp.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// Form shows the plan and asks for a decision. It always has a required field, because some hosts accept an
// empty form without showing it to anybody.
func Form(i *tool.Issued) *mcp.ElicitParams {
	words, meaning := []string{wordApprove, wordDeny}, "approve carries out exactly this plan, once"
	if i.Lasting() {
		words, meaning = append(words, wordAlways), meaning+"; always also allows the same again for the rest of this session"
	}
	properties := map[string]any{
		fieldDecision: map[string]any{"type": "string", "title": "Decision", "enum": words, "description": meaning},
	}
	required := []string{fieldDecision}
	if i.Strength >= policy.Typed {
		properties[fieldTyped] = map[string]any{
			"type": "string", "title": "Type to confirm", "description": fmt.Sprintf("type %s to approve", i.Target),
		}
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: message(i),
		RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": required},
	}
}

// message is what the person reads: the question, the plan, and until when it can be answered.
func message(i *tool.Issued) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Countersign asks: %s\n", oneLine(i.Prompt))
	if i.Strength >= policy.Typed {
		fmt.Fprintf(&b, "To approve, type: %s\n", oneLine(i.Target))
	}
	if len(i.Args) > 0 {
		fmt.Fprintf(&b, "Arguments: %s\n", cut(string(i.Args), maxShownArgs))
	}
	if len(i.Plan) > 0 {
		var plan bytes.Buffer
		if json.Indent(&plan, i.Plan, "", "  ") == nil {
			fmt.Fprintf(&b, "\nPlan %s:\n%s\n", i.PlanHash, cut(plan.String(), maxShownPlan))
		}
	}
	fmt.Fprintf(&b, "\nTool: %s. Until %s.", i.Tool, i.ExpiresAt.Format(time.RFC3339))
	return b.String()
}

func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "\n… (cut; list_confirmations has the whole plan)"
}

// oneLine keeps a text from looking like another part of the message.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Answer reads a form that was shown for the confirmation of that id; nil is one that nobody answered. Only an accepted form that says so
// approves, in a word that was offered: lasting says that "always" was.
func Answer(confirmation string, lasting bool, r *mcp.ElicitResult) *confirm.Answer {
	a := &confirm.Answer{ID: confirmation, By: "form", Proof: confirm.Proof{Surface: confirm.SurfaceForm}}
	if r != nil && r.Action == "accept" {
		decision, _ := r.Content[fieldDecision].(string)
		a.Always = lasting && decision == wordAlways
		a.Approve = decision == wordApprove || a.Always
		a.Typed, _ = r.Content[fieldTyped].(string)
	}
	return a
}
