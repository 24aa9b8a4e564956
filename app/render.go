package app

import (
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// errRedaction is returned for a result that the redactor could not read: no result passes unread.
var errRedaction = fault.New(fault.Internal, "redaction_failed", "the result could not be checked for secrets and is not shown")

// render encodes, redacts and bounds a value into the outcome.
func (r *run) render(value any) {
	if value == nil {
		return
	}
	if t, ok := value.(tool.Text); ok {
		r.out.Text = r.bound(r.mask.Text(string(t)))
		return
	}
	doc, err := tool.Encode(value)
	if err != nil {
		r.app.core.Log.Error("a tool's value does not encode", "tool", r.call.Tool, "call", r.call.ID, "cause", err.Error())
		r.out.Err = errRedaction
		return
	}
	if doc = r.mask.JSON(doc); reviewed(value) {
		doc = visible.JSON(doc)
	}
	if limit := r.maxOutput(); len(doc) > limit {
		r.out.Truncated = true
		doc, _ = tool.Encode(map[string]any{"truncated": true, "bytes": len(doc), "head": TruncateBytes(string(doc), limit/2)})
	}
	r.out.Value = doc
}

// reviewed reports whether users and agents base a decision on the value: a plan that is shown, the result of a preview tool, and any value that says
// so itself.
func reviewed(value any) bool {
	switch value.(type) {
	case tool.Plan, tool.TokenRequest, tool.Reviewed:
		return true
	}
	return false
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
	return TruncateBytes(s, limit) + "\n[cut: the result is longer than its limit; request less]\n"
}

// ReadOnlyPermissions is the permissions of callers of a read-only server.
const ReadOnlyPermissions = policy.Read | policy.Network
