package adminpages

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
)

// layers returns the effective policy, a line each, with the layer that decided it.
func layers(r policy.Resolved) ui.Node {
	var rows []ui.Node
	line := func(name, key, value string) {
		rows = append(rows, ui.Row(ui.Text(ui.Printable(name)), ui.Text(ui.Printable(value)), ui.Text(ui.Printable(cmp.Or(r.By[key], policy.BuiltIn)))))
	}
	line("Who approves", "approval", approver(r.Approval))
	line("Permission level", "permission_level", either(r.Level.String(), "not set: nothing changes"))
	line("Mode", "mode", either(r.Mode.String(), "each toolset's own"))
	line("Highest mode", "max_mode", either(r.Ceiling.String(), "ask"))
	line("Only reading", "read_only", map[bool]string{true: "yes", false: "no"}[r.ReadOnly])
	auto := "off"
	if r.Auto.Enabled {
		auto = "on: " + either(strings.Join(r.Auto.Tools, ", "), "no tool")
	}
	line("Answered in advance", "auto_approve", auto)
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		line("Tool "+name, "tool "+name, r.Tools[name].String())
	}
	for _, key := range slices.Sorted(maps.Keys(r.Require)) {
		line("Approving "+key+" needs", "require "+key, r.Require[key].Words())
	}
	var refused []ui.Node
	for _, w := range r.Wider {
		refused = append(refused, ui.Li(ui.Text(ui.Printable(w.Layer+" says "+w.Key+": "+w.Value+". It stays "+w.Than+", as "+w.By+" decides: a layer only narrows what stands above it."))))
	}
	for _, lost := range r.Missing {
		refused = append(refused, ui.Li(ui.Text(ui.Printable(lost))))
	}
	body := ui.Group{ui.DataTable("Policy in force", []string{"What", "In force", "Decided by"}, rows, "")}
	if len(refused) > 0 {
		body = append(body, ui.Notice(ui.Warn, ui.Ul(ui.Group(refused))))
	}
	return ui.Part("In force", body)
}

// approver returns who approves, in words.
func approver(a policy.Approval) string {
	if a.ByCaller() {
		return "caller: no person is asked"
	}
	return "human: a person, in a terminal or here"
}

func approvalPart(v httpauth.Identity, set app.Settings, r policy.Resolved) ui.Node {
	choices := []ui.Choice{{Value: "", Text: "nothing of its own: " + approver(r.Approval)}, {Value: policy.ApprovalHuman.String(), Text: approver(policy.ApprovalHuman)},
		{Value: policy.ApprovalCaller.String(), Text: "caller: whoever calls a tool approves its plan (scripts and CI)"}}
	return ui.Part("Who approves", ui.PostForm(v, settingSection+"/approval", ui.Hidden("was", set.Approval.String()),
		ui.SelectField("approval", "approval", "Who approves a plan", set.Approval.String(), choices...), ui.SubmitButton("Set who approves")))
}

func ceilingPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Highest mode", ui.PostForm(v, settingSection+"/ceiling", ui.Hidden("was", set.MaxMode.String()),
		ui.SelectField("max-mode", "max_mode", "No call goes further, whoever makes it", set.MaxMode.String(), ui.Choice{Value: "", Text: "as the operator says"},
			ui.Choice{Value: "ask", Text: "ask"}, ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}), ui.SubmitButton("Set the highest mode")))
}

// proofs returns what an approval can have to come with.
func proofs() []ui.Choice {
	choices := []ui.Choice{{Value: "", Text: policy.ProvingNone.Words()}}
	for _, p := range []policy.Proving{policy.ProvingPerson, policy.ProvingTouch, policy.ProvingPasskey} {
		choices = append(choices, ui.Choice{Value: p.String(), Text: p.Words()})
	}
	return choices
}

func requirePart(v httpauth.Identity, set app.Settings) ui.Node {
	var rows []ui.Node
	for _, key := range slices.Sorted(maps.Keys(set.Require)) {
		rows = append(rows, ui.Row(ui.ToolName(key), ui.Text(set.Require[key].Words()), ui.ActionForm(v, settingSection+"/require", "Drop it", "for "+ui.Printable(key), ui.Hidden("key", key),
			ui.Hidden("was", set.Require[key].String()), ui.Hidden("proof", ""))))
	}
	return ui.Part("Proof of approvals", ui.P(ui.Text("What an approval has to come with: for a tool, for what is of high risk (high), or for what wants a name typed (type).")),
		ui.DataTable("Proof that approvals need", []string{"For", "Needs", ""}, rows, "Any person's answer approves."),
		ui.PostForm(v, settingSection+"/require", ui.Field("require-key", "key", "For: high, type, or the name of a tool", ""), ui.SelectField("require-proof", "proof", "An approval needs", policy.ProvingPerson.String(), proofs()...),
			ui.SubmitButton("Require it")))
}

func formsPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Forms of hosts", ui.P(ui.Text("A host entry on this list may approve what is below high risk in the agent's own window. Any process of this user can start such an entry and answer its form itself.")),
		ui.PostForm(v, settingSection+"/forms", ui.Hidden("was", strings.Join(set.Forms, " ")), ui.TextareaField("forms-entries", "entries", "Host entries, one a line", strings.Join(set.Forms, "\n")), ui.SubmitButton("Save whose forms may approve")))
}
