package present

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// blocked returns a refusal by mode: what the call would do, how things are, and the way (amof contract §11).
func blocked(o tool.Outcome, f *fault.Error) AmofAnswer {
	p := planOf(o.Value)
	explanation := p.Explanation
	if explanation == nil {
		explanation = Object(map[string]any{"what": o.Spec.Description, "irreversible": false, "affects": []string{}, "alternatives": []string{"use mode plan to preview the change"}})
	}
	current := p.Current
	if current == nil {
		current = json.RawMessage(`{}`)
	}
	c := about(o, p.Ecosystem)
	fields := map[string]any{"status": "blocked", "code": "mode_forbids_mutation", "mode": o.Decision.Mode, "required_mode": policy.Execute, "tool": o.Spec.Name,
		"ecosystem": c.Ecosystem, "explanation": explanation, "current_state": current,
		"message":  string(o.Spec.Name) + " changes something, but the mode is " + o.Decision.Mode.String() + "; to preview it, call amof_set_mode plan; to run it, call amof_set_mode execute",
		"guidance": map[string]any{"tool": "amof_set_mode", "arguments": map[string]any{"mode": "plan"}}}
	if p.Preview != nil {
		fields["preview"] = p.Preview
	}
	text := prose{Summary: "Error: mode " + o.Decision.Mode.String() + " allows no changes", Details: amofLaidOut(explanation),
		last: []string{"Hint: to preview it, call amof_set_mode plan; to run it, call amof_set_mode execute"}}
	for _, now := range amofLaidOut(current) {
		text.Details = append(text.Details, "now "+now)
	}
	a := answer(fields, c, text, nil)
	a.Fail, a.Kind = true, f.Kind
	return a
}

// asked returns a confirmation that is asked for (amof contract §14).
func asked(o tool.Outcome) AmofAnswer {
	p := planOf(o.Request.Plan)
	c := about(o, p.Ecosystem)
	fields := map[string]any{"status": "confirmation_required", "executed": false, "mode": o.Decision.Mode, "tool": o.Request.Tool, "ecosystem": c.Ecosystem}
	ways := question(fields, o.Request, p)
	if o.Request.Pending {
		fields["message"] = asksPerson(o.Request)
	}
	return answer(fields, c, prose{Summary: prompt(o.Request, p), Details: amofLaidOut(p.Preview), last: ways}, nil)
}

// question puts a confirmation into an object, and says how it is answered.
func question(fields map[string]any, i *tool.ApprovalRequest, p plan) (ways []string) {
	fields["confirmation"], fields["preview"], fields["risk"] = amofConfirmation(i, p), p.Preview, p.Risk
	if i.Token.IsZero() {
		fields["confirm_with"] = map[string]any{"command": "countersign approve " + i.ID}
		return []string{"Confirm: " + asksPerson(i)}
	}
	token := i.Token.Reveal()
	args, way := map[string]any{"token": token}, "Confirm: amof_confirm with token "+token
	if i.Target != "" && !i.Pending {
		args["typed_value"] = "<what the user typed: " + i.Target + ">"
		way += ", and typed_value exactly as the user typed it: " + i.Target
	}
	if i.Pending {
		way = "Confirm: " + asksPerson(i)
	}
	fields["confirm_with"] = map[string]any{"tool": "amof_confirm", "arguments": args}
	fields["cancel_with"] = map[string]any{"tool": "amof_cancel_confirm", "arguments": map[string]any{"token": token}}
	return []string{way}
}

// asksPerson says how a confirmation is answered that no caller may answer.
func asksPerson(i *tool.ApprovalRequest) string {
	repeat := "repeat the call unchanged"
	if token := i.Token.Reveal(); token != "" {
		repeat += ", or call amof_confirm with token " + token + ","
	}
	return "the user approves or denies this in a terminal (countersign approve " + i.ID + ") or in the console; " + repeat + " to wait for the decision or to continue"
}

// prompt returns the question (amof contract).
func prompt(i *tool.ApprovalRequest, p plan) string {
	about := cmp.Or(p.Summary, i.Prompt)
	switch {
	case i.Strength >= policy.Typed:
		return "Type " + i.Target + " to proceed with " + about
	case i.Strength == policy.Preview:
		return "Execute " + about + "?"
	}
	return "Proceed with " + about + "? [Yes/No]"
}

func amofConfirmation(i *tool.ApprovalRequest, p plan) map[string]any {
	const form = "2006-01-02T15:04:05Z"
	return map[string]any{"token": tool.NilIfZero(i.Token.Reveal()), "id": i.ID, "type": i.Strength.String(), "prompt": prompt(i, p), "type_target": tool.NilIfZero(i.Target),
		"created_at": i.IssuedAt.UTC().Format(form), "expires_at": i.ExpiresAt.UTC().Format(form), "expires_in_seconds": int(i.ExpiresAt.Sub(i.IssuedAt).Seconds()),
		"single_use": true, "arguments": i.Args, "preview_hash": cmp.Or(p.PreviewHash, i.PlanHash.String())}
}

// failed is any other refusal or failure. Its reason is never cut.
func failed(o tool.Outcome, f *fault.Error) AmofAnswer {
	code := code(f)
	fields := map[string]any{"status": "error", "code": code, "message": f.Message, "tool": o.Spec.Name}
	if code == cancelled {
		fields["status"] = cancelled
	}
	details := Details(f)
	for _, own := range []string{"hint", "errors", "repos"} {
		if v, ok := details[own]; ok {
			fields[own] = v
		}
	}
	if len(details) > 0 {
		fields["details"] = details
	}
	reason := wrapped("Error: "+f.Message, maxSummary)
	text := prose{Summary: reason[0], Details: slices.Concat(reason[1:], marked(details["repos"]), marked(details["errors"]))}
	if hint := cmp.Or(word(details["hint"]), hint(code)); hint != "" {
		fields["hint"] = hint
		text.last = []string{"Hint: " + hint}
	}
	ecosystem := word(details["ecosystem"])
	if o.Request != nil { // what was confirmed has changed: there is a fresh question
		p := planOf(o.Request.Plan)
		ecosystem = cmp.Or(ecosystem, p.Ecosystem)
		fields["changes"], fields["executed"], fields["mode"], fields["ecosystem"] = details["differences"], false, o.Decision.Mode, tool.NilIfZero(ecosystem)
		text.Details = slices.Concat(text.Details, changes(details["differences"]), amofLaidOut(p.Preview))
		text.last = append(text.last, question(fields, o.Request, p)...)
	}
	a := answer(fields, about(o, ecosystem), text, nil)
	a.Fail, a.Kind = true, f.Kind
	return a
}

const cancelled = "cancelled"

// code returns a fault's code in the contract's words.
func code(f *fault.Error) string {
	switch f.Code {
	case confirm.ErrUnknown.Code, confirm.ErrCanceled.Code:
		return "token_unknown"
	case confirm.ErrUsed.Code, confirm.ErrBurnt.Code:
		return "token_used"
	case confirm.ErrExpired.Code:
		return "token_expired"
	case confirm.ErrTyped.Code:
		return "typed_value_mismatch"
	case confirm.ErrMismatch.Code:
		if _, changed := Details(f)["current_plan_hash"]; changed {
			return "preview_changed"
		}
		return "token_unknown"
	case confirm.ErrDenied.Code:
		return cancelled
	case "plan_stale":
		return "preview_changed"
	case required:
		return "confirmation_required"
	}
	return strings.TrimPrefix(string(f.Code), "eco_")
}

// required is the code of a call that has to be confirmed first.
const required = "confirm_token_required"

// hint returns the way out of failures whose message does not name one.
func hint(code string) string {
	switch code {
	case "no_ecosystem":
		return "call amof_list_ecosystems to list the ecosystems and amof_switch_ecosystem to select one"
	case "token_unknown", "token_used", "token_expired":
		return "call the tool again to get a new confirmation"
	case "typed_value_mismatch":
		return "the user must type the name exactly as shown; after three wrong values the confirmation is void"
	case "preview_changed":
		return "show the user the new plan, then confirm that plan"
	case "mode_changed":
		return "amof_set_mode execute, then call the tool again"
	case "confirm_pending":
		return "wait for the user's decision, then repeat the call unchanged"
	case "run_not_found":
		return "call amof_list_runs to list the runs"
	}
	return ""
}
