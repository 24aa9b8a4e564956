package mcpserver

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The one question a call can ask, and the fields of its form.
const (
	questionKey   = "confirmation"
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

// state is what a call carries through the client while a person decides. It is sealed: the client repeats
// it but cannot make one. What makes it good for one use is the ledger, which answers a confirmation once.
type state struct {
	Confirmation string    `json:"c"`
	Call         string    `json:"i"` // so that both rounds are one call in the audit
	Tool         tool.Name `json:"t"`
	Args         []byte    `json:"a"` // digest of the arguments
	Expires      time.Time `json:"e"`
	Lasting      bool      `json:"l,omitempty"` // "always" was offered
}

// question is the result that asks a person, when the outcome wants one and the client can show a form; else
// nil, and the outcome itself says what to do.
func (s *Server) question(req *mcp.CallToolRequest, call tool.Call, out tool.Outcome) *mcp.CallToolResult {
	if !wantsAnswer(out) || !canElicit(req.ClientCapabilities()) {
		return nil
	}
	sealed, err := s.seal.close(state{
		Confirmation: out.Issued.ID, Call: out.CallID, Tool: call.Tool, Args: digest(call.Args), Expires: out.Issued.ExpiresAt, Lasting: out.Issued.Lasting(),
	})
	if err != nil {
		s.opts.Log.Error("a confirmation cannot be sealed", "error", err)
		return nil
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{questionKey: form(out.Issued)},
		RequestState:  sealed,
	}
}

// wantsAnswer reports whether a person's answer would let the call pass. (A preview that offers a token for
// another tool has succeeded.)
func wantsAnswer(out tool.Outcome) bool { return out.Issued != nil && out.Err != nil }

// canElicit reports whether the client shows forms.
func canElicit(caps *mcp.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// form shows the plan and asks for a decision. It always has a required field, because some hosts accept an
// empty form without showing it to anybody.
func form(i *tool.Issued) *mcp.ElicitParams {
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

// answered puts a person's answer into a call that comes back with one. Whatever is not an approval denies.
// A state without an answer is a new call, which asks again.
func (s *Server) answered(req *mcp.CallToolRequest, call *tool.Call) error {
	answer, given := req.Params.InputResponses[questionKey]
	if !given {
		return nil
	}
	st, err := s.seal.open(req.Params.RequestState)
	if err != nil || st.Tool != call.Tool || !bytes.Equal(st.Args, digest(call.Args)) || !time.Now().Before(st.Expires) {
		return invalid("requestState is not this call's, or has expired; call again without inputResponses and requestState")
	}
	result, _ := answer.(*mcp.ElicitResult)
	call.ID, call.Answer = st.Call, answerOf(st.Confirmation, st.Lasting, result)
	return nil
}

// answerOf reads a form. Only an accepted one that says so approves, in a word that was offered.
func answerOf(confirmation string, lasting bool, r *mcp.ElicitResult) *confirm.Answer {
	a := &confirm.Answer{ID: confirmation, By: "elicitation"}
	if r != nil && r.Action == "accept" {
		decision, _ := r.Content[fieldDecision].(string)
		a.Always = lasting && decision == wordAlways
		a.Approve = decision == wordApprove || a.Always
		a.Typed, _ = r.Content[fieldTyped].(string)
	}
	return a
}

// digest is of the arguments as they were sent: the same call repeats them byte for byte, or at least in
// the same canonical form, which is what the plan's hash is checked against afterwards.
func digest(args json.RawMessage) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, args) == nil {
		args = compact.Bytes()
	}
	sum := sha256.Sum256(args)
	return sum[:]
}

// sealer authenticates states with a key that lives as long as the process.
type sealer struct{ key []byte }

func newSealer(secret string) sealer {
	key := sha256.Sum256([]byte("countersign.request-state.v1\n" + secret))
	return sealer{key: key[:]}
}

func (s sealer) close(st state) (string, error) {
	body, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(s.sum(body), body...)), nil
}

func (s sealer) open(sealed string) (state, error) {
	var st state
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return st, err
	}
	if len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], s.sum(raw[sha256.Size:])) {
		return st, fmt.Errorf("the seal is broken")
	}
	return st, json.Unmarshal(raw[sha256.Size:], &st)
}

func (s sealer) sum(body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(body)
	return mac.Sum(nil)
}
