package app

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// errRedaction withholds a result the redactor could not read: nothing is ever passed through unread.
var errRedaction = fault.New(fault.Internal, "redaction_failed", "the result could not be checked for secrets and is withheld")

// render encodes, redacts and bounds a value into the outcome.
func (r *run) render(value any) {
	if value == nil {
		return
	}
	if t, ok := value.(tool.Text); ok {
		r.out.Text = r.bound(r.maskText(string(t)))
		return
	}
	doc, err := tool.Encode(value)
	if err != nil {
		r.app.core.Log.Error("a tool's value does not encode", "tool", r.call.Tool, "call", r.call.ID, "cause", err.Error())
		r.out.Err = errRedaction
		return
	}
	doc = r.maskJSON(doc)
	if limit := r.maxOutput(); len(doc) > limit {
		r.out.Truncated = true
		doc, _ = tool.Encode(map[string]any{"truncated": true, "bytes": len(doc), "head": cut(string(doc), limit/2)})
	}
	r.out.Value = doc
}

func (r *run) maxOutput() int {
	for _, n := range []int{r.call.MaxOutput, r.entry.Spec.MaxOutput, r.app.opts.MaxOutput} {
		if n > 0 {
			return n
		}
	}
	return DefaultMaxOutput
}

func (r *run) bound(s string) string {
	limit := r.maxOutput()
	if len(s) <= limit {
		return s
	}
	r.out.Truncated = true
	return cut(s, limit) + "\n[cut: the result is longer than its bound; ask for less]\n"
}

// cut is at most n bytes of s, ending at a rune's end.
func cut(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:min(n, len(s))]
}

func (r *run) maskText(s string) string {
	if s == "" {
		return s
	}
	masked, n := r.app.core.Redact().Text(s)
	r.out.Redactions += n
	return masked
}

// maskJSON masks string leaves; a document the redactor cannot read is replaced, never shown.
func (r *run) maskJSON(doc json.RawMessage) json.RawMessage {
	masked, n, err := r.app.core.Redact().JSON(doc)
	if err != nil {
		return json.RawMessage(`{"error":"redaction_failed"}`)
	}
	r.out.Redactions += n
	return masked
}

// maskArgs is the arguments for the audit: redacted, and bounded so that one call cannot fill it.
func (r *run) maskArgs() json.RawMessage {
	const limit = 16 << 10
	if len(r.call.Args) == 0 {
		return nil
	}
	masked, _, err := r.app.core.Redact().JSON(r.call.Args)
	if err != nil {
		return json.RawMessage(`{"redaction_failed":true}`)
	}
	if len(masked) > limit {
		masked, _ = tool.Encode(map[string]any{"truncated": true, "bytes": len(masked), "head": cut(string(masked), limit)})
	}
	return masked
}

// maskFault is the fault with message and details redacted and its cause gone.
func (r *run) maskFault(f *fault.Error) *fault.Error {
	out := &fault.Error{Kind: f.Kind, Code: f.Code, Message: r.maskText(strings.ToValidUTF8(f.Message, "\uFFFD"))}
	if f.Details == nil {
		return out
	}
	if doc, err := tool.Encode(f.Details); err == nil {
		out.Details = r.maskJSON(doc)
	}
	return out
}

// ReadOnlyGrants is what a caller of a read-only server may do at most.
const ReadOnlyGrants = policy.Read | policy.Network
