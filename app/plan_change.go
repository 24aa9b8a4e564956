package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PlanChange is the details of an approval for another plan than the current one: which plan, and the differences.
type PlanChange struct {
	Current     canon.Hash           `json:"current_plan_hash"`
	Confirmed   canon.Hash           `json:"confirmed_plan_hash"`
	Differences []confirm.Difference `json:"differences,omitempty"`
}

// MismatchError returns the error for an approval that does not fit its call. If everything but the plan fits, it says what changed; now is the current plan as
// shown, or nil.
func MismatchError(g *confirm.Request, call confirm.Binding, now json.RawMessage) error {
	changed := PlanChange{Current: call.Subject, Confirmed: g.Binding.Subject}
	if call.Subject = g.Binding.Subject; call != g.Binding || changed.Current == changed.Confirmed {
		return confirm.ErrMismatch
	}
	where := "it differs in parts that are not shown"
	if len(now) > 0 && len(g.Plan) > 0 {
		if changed.Differences = alike(confirm.Differences(g.Plan, now)); len(changed.Differences) > 0 {
			where = "see the differences"
		}
	}
	return confirm.ErrMismatch.WithMessage("the plan changed since it was approved, and the call would now do something else (%s); request a new approval", where).
		WithDetails(changed)
}

// IsPlanChanged reports whether err is a MismatchError for which only the plan differs.
func IsPlanChanged(err error) bool {
	if err == nil {
		return false
	}
	_, changed := fault.From(err).Details.(PlanChange)
	return changed
}

// WithRecordedReason adds to err, the end of an approval request, the reason in the call record; by is who decided.
func WithRecordedReason(rec tool.Record, by string, err error) error {
	switch {
	case errors.Is(err, confirm.ErrDenied):
		said := "the user denied this call"
		if rec.Said != "" {
			said += ": " + rec.Said
		}
		where := map[string]string{"terminal": "denied in a terminal", "console": "denied in the console", "elicitation": "denied in this client's form"}[by]
		return confirm.ErrDenied.WithMessage("%s (%s; nothing was changed; do not repeat the call, ask what they want instead)", said, cmp.Or(where, "denied"))
	case errors.Is(err, confirm.ErrCanceled) && rec.Reason == tool.ReasonContextChanged:
		return confirm.ErrCanceled.WithMessage("the plan changed; call again to get the new plan and a new approval request")
	}
	return err
}

// alike redacts, in each difference, the side that shows what is wholly redacted on the other: its value is or was a secret, whatever it looks like
// now.
func alike(differences []confirm.Difference) []confirm.Difference {
	for i := range differences {
		d := &differences[i]
		if masked(d.Before) && len(d.After) > 0 {
			d.After = d.Before
		} else if masked(d.After) && len(d.Before) > 0 {
			d.Before = d.After
		}
	}
	return differences
}

// masked reports whether a JSON string is a single placeholder of package redact.
func masked(doc json.RawMessage) bool {
	inner, ok := strings.CutPrefix(string(doc), `"[REDACTED:`)
	return ok && strings.IndexByte(inner, ']') == len(inner)-2
}
