package present

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// How many actions suggest themselves, and how long labels and names are (amof contract §3, §15, §22).
const (
	mostAfterChange = 5
	mostAfterQuery  = 3
	maxLabel        = 30
	maxName         = 64 // of an ecosystem
)

// amofEnvelope is the envelope of an answer.
type amofEnvelope struct {
	Scope      string  `json:"scope"`
	Ecosystem  *string `json:"ecosystem"`
	Breadcrumb string  `json:"breadcrumb"`
	RunID      *string `json:"run_id"`
	SessionID  string  `json:"session_id,omitempty"`
	Timestamp  string  `json:"timestamp,omitempty"`
}

// action is a call that suggests itself.
type action struct {
	ID           string         `json:"id"`
	Label        string         `json:"label"`
	Tool         string         `json:"tool"`
	Args         map[string]any `json:"args"`
	Scope        string         `json:"scope"`
	ModeRequired string         `json:"mode_required"`
	Safety       string         `json:"safety"`
	Confirm      string         `json:"confirm"`
	Priority     int            `json:"priority"`
	Description  string         `json:"description"`
	Condition    string         `json:"condition,omitempty"`
}

// AmofAnswer is an outcome in the contract's form.
type AmofAnswer struct {
	Text   string
	Object json.RawMessage
	Fail   bool
	Kind   fault.Kind
}

// RenderAmof returns an outcome as amof.v1 has it. A confirmation that is asked for is an answer like any other; a refusal in mode ask explains what the
// call would do.
func RenderAmof(o tool.Outcome) AmofAnswer {
	f := fault.From(o.Err)
	switch {
	case o.Request != nil && f != nil && f.Code == required:
		return asked(o)
	case f != nil && (o.Explained || f.Code == "mode_forbids"):
		return blocked(o, f)
	case f != nil:
		return failed(o, f)
	case o.DryRun:
		return dryRun(o)
	}
	return done(o)
}

// answer returns an object and its text.
func answer(fields map[string]any, c amofEnvelope, text prose, actions []action) AmofAnswer {
	fields["_context"] = c
	if actions == nil {
		actions = []action{}
	}
	fields["suggested_actions"] = actions
	return AmofAnswer{Text: text.laid(c, actions), Object: Object(fields)}
}

// done returns the value of a call that went well.
func done(o tool.Outcome) AmofAnswer {
	fields := map[string]any{}
	var own map[string]json.RawMessage
	if json.Unmarshal(o.Value, &own) != nil {
		fields["result"] = cmp.Or(o.Text, string(o.Value))
	}
	for name, v := range own {
		fields[name] = v
	}
	c, text, actions := shown(o, own)
	delete(fields, "_text")
	if text.Summary == "" {
		text.Summary = "Done: " + o.Spec.Title
	}
	if o.Confirmed {
		fields["confirmed"], fields["token_consumed"] = true, true
	}
	if len(o.Warnings) > 0 {
		fields["_warnings"] = o.Warnings
		for _, warning := range o.Warnings {
			text.last = append(text.last, "Warning: "+warning)
		}
	}
	return answer(fields, c, text, actions)
}

// shown returns what a value says of itself beside its own members.
func shown(o tool.Outcome, own map[string]json.RawMessage) (amofEnvelope, prose, []action) {
	c, text := about(o, ""), prose{}
	var actions []action
	if doc := own["_context"]; doc != nil {
		_ = json.Unmarshal(doc, &c) // a value's own envelope has this form, or the one above stays
	}
	_ = json.Unmarshal(own["_text"], &text)
	_ = json.Unmarshal(own["suggested_actions"], &actions)
	return c, text, chosen(actions, o)
}

// chosen returns the actions that may be suggested: those the mode lets run, each once, the most urgent, and not what was just done.
func chosen(all []action, o tool.Outcome) []action {
	slices.SortStableFunc(all, func(a, b action) int { return a.Priority - b.Priority })
	most := mostAfterChange
	if o.Spec.Class == policy.ClassRead {
		most = mostAfterQuery
	}
	chosen := []action{}
	for _, a := range all {
		var needs policy.Mode
		a.Label = clip(line(a.Label), maxLabel)
		a.ModeRequired = cmp.Or(a.ModeRequired, policy.Ask.String())
		if a.Args == nil {
			a.Args = map[string]any{}
		}
		repeated := a.Tool == string(o.Spec.Name) && a.Tool != "amof_get_run_status"
		known := slices.ContainsFunc(chosen, func(c action) bool { return c.ID == a.ID })
		if needs.UnmarshalText([]byte(a.ModeRequired)) != nil || needs > max(o.Decision.Mode, policy.Ask) || repeated || known || len(chosen) == most {
			continue
		}
		chosen = append(chosen, a)
	}
	return chosen
}

// about returns the envelope of a call whose value does not bring one: about the ecosystem named, else the one its arguments name. What can be no name is
// not repeated.
func about(o tool.Outcome, ecosystem string) amofEnvelope {
	var args struct {
		Ecosystem string `json:"ecosystem"`
	}
	_ = json.Unmarshal(o.Args, &args) // what is no such object names none
	c := amofEnvelope{Scope: "global", Breadcrumb: "global", SessionID: o.Session}
	if !o.Begun.IsZero() {
		c.Timestamp = o.Begun.UTC().Format(time.RFC3339Nano)
	}
	if ecosystem = cmp.Or(ecosystem, args.Ecosystem); valid(ecosystem) {
		c.Scope, c.Ecosystem, c.Breadcrumb = "ecosystem", &ecosystem, "global > "+ecosystem
	}
	return c
}

// valid reports whether a name could be an ecosystem's: other input is not shown in a breadcrumb.
func valid(name string) bool {
	const others = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return name != "" && len(name) <= 64 && strings.Trim(name, others) == ""
}

// plan is a plan as its capability shows it.
type plan struct {
	Tool        string          `json:"tool"`
	Action      string          `json:"action"`
	Ecosystem   string          `json:"ecosystem"`
	Summary     string          `json:"summary"`
	Preview     json.RawMessage `json:"preview"`
	PreviewHash string          `json:"preview_hash"`
	Warnings    []string        `json:"warnings"`
	Explanation json.RawMessage `json:"explanation"`
	Current     json.RawMessage `json:"current_state"`
	Risk        json.RawMessage `json:"risk"`
	Hint        string          `json:"execute_hint"`
}

func planOf(doc json.RawMessage) (p plan) {
	_ = json.Unmarshal(doc, &p) // what is no plan has nothing to show
	return p
}

// dryRun returns a plan that was shown and not carried out (amof contract §11).
func dryRun(o tool.Outcome) AmofAnswer {
	p := planOf(o.Value)
	hint := cmp.Or(p.Hint, "amof_set_mode execute, or call "+string(o.Spec.Name)+" with mode execute")
	warnings := append(append([]string{}, p.Warnings...), o.Warnings...)
	c := about(o, p.Ecosystem)
	fields := map[string]any{"status": "dry_run", "executed": false, "mode": o.Decision.Mode, "tool": o.Spec.Name, "ecosystem": c.Ecosystem, "preview": p.Preview,
		"preview_hash": p.PreviewHash, "warnings": warnings, "execute_hint": hint,
		"would_require": map[string]any{"mode": "execute", "confirmation": max(o.Spec.Confirm, o.Decision.Strength)}}
	text := prose{Summary: "Previewed " + cmp.Or(p.Summary, string(o.Spec.Name)), Details: []string{"Nothing was changed."}, last: []string{"Hint: " + hint}}
	for _, warning := range warnings {
		text.Details = append(text.Details, "Warning: "+warning)
	}
	text.Details = append(text.Details, amofLaidOut(p.Preview)...)
	return answer(fields, c, text, nil)
}
