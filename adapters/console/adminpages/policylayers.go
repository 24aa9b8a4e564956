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

// layers returns the effective policy, one row per setting, with the layer that set it.
func layers(r policy.Resolved) ui.Node {
	var rows []ui.Node
	line := func(name, key, value string) {
		rows = append(rows, ui.Row(ui.Text(ui.Printable(name)), ui.Text(ui.Printable(value)), ui.Text(ui.Printable(cmp.Or(r.By[key], policy.BuiltIn)))))
	}
	line("Approver", "approval", approver(r.Approval))
	line("Permission level", "permission_level", either(r.Level.String(), "not set: no changes allowed"))
	line("Mode", "mode", either(r.Mode.String(), "toolset default"))
	line("Maximum mode", "max_mode", either(r.Ceiling.String(), "ask"))
	line("Read-only", "read_only", map[bool]string{true: "yes", false: "no"}[r.ReadOnly])
	auto := "off"
	if r.Auto.Enabled {
		auto = "on: " + either(strings.Join(r.Auto.Tools, ", "), "no tools")
	}
	line("Auto-approve", "auto_approve", auto)
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		line("Tool "+name, "tool "+name, r.Tools[name].String())
	}
	for _, key := range slices.Sorted(maps.Keys(r.Require)) {
		line("Proof for "+key, "require "+key, r.Require[key].Words())
	}
	var refused []ui.Node
	for _, w := range r.Wider {
		refused = append(refused, ui.Li(ui.Text(ui.Printable(w.Layer+" sets "+w.Key+" to "+w.Value+", which is ignored: "+w.By+" sets "+w.Than+", and a layer can only narrow the layers above it."))))
	}
	for _, lost := range r.Missing {
		refused = append(refused, ui.Li(ui.Text(ui.Printable(lost))))
	}
	body := ui.Group{ui.DataTable("Effective policy", []string{"Setting", "Value", "Set by"}, rows, "")}
	if len(refused) > 0 {
		body = append(body, ui.Notice(ui.Warn, ui.Ul(ui.Group(refused))))
	}
	return ui.Part("Effective policy", body)
}

// approver returns who approves, in words.
func approver(a policy.Approval) string {
	if a.ByCaller() {
		return "caller: clients approve their own calls"
	}
	return "human: you approve, in a terminal or in the console"
}

func approvalPart(v httpauth.Identity, set app.Settings, r policy.Resolved) ui.Node {
	choices := []ui.Choice{{Value: "", Text: "not set: " + approver(r.Approval)}, {Value: policy.ApprovalHuman.String(), Text: approver(policy.ApprovalHuman)},
		{Value: policy.ApprovalCaller.String(), Text: "caller: clients approve their own calls (scripts and CI)"}}
	return ui.Part("Approver", ui.PostForm(v, settingSection+"/approval", ui.Hidden("was", set.Approval.String()),
		ui.SelectField("approval", "approval", "Approver", set.Approval.String(), choices...), ui.SubmitButton("Set approver")))
}

func ceilingPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Maximum mode", ui.PostForm(v, settingSection+"/ceiling", ui.Hidden("was", set.MaxMode.String()),
		ui.SelectField("max-mode", "max_mode", "Maximum mode", set.MaxMode.String(), ui.Choice{Value: "", Text: "server configuration"},
			ui.Choice{Value: "ask", Text: "ask"}, ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}), ui.SubmitButton("Set maximum mode")))
}

// proofs returns the proofs that can be required of an approval.
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
		rows = append(rows, ui.Row(ui.ToolName(key), ui.Text(set.Require[key].Words()), ui.ActionForm(v, settingSection+"/require", "Remove", "for "+ui.Printable(key), ui.Hidden("key", key),
			ui.Hidden("was", set.Require[key].String()), ui.Hidden("proof", ""))))
	}
	return ui.Part("Required proof", ui.P(ui.Text("The proof that an approval needs: for one tool, for high-risk calls (high), or for calls that ask you to type a name (type).")),
		ui.DataTable("Required proof", []string{"Calls", "Proof", ""}, rows, "No required proof."),
		ui.PostForm(v, settingSection+"/require", ui.Field("require-key", "key", "Tool, high or type", ""), ui.SelectField("require-proof", "proof", "Proof", policy.ProvingPerson.String(), proofs()...),
			ui.SubmitButton("Require proof")))
}

func formsPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Host forms", ui.P(ui.Text("A host entry on this list can approve calls below high risk in a form of the host. Any process of this user can start such an entry and answer the form itself.")),
		ui.PostForm(v, settingSection+"/forms", ui.Hidden("was", strings.Join(set.Forms, " ")), ui.TextareaField("forms-entries", "entries", "Host entries, one per line", strings.Join(set.Forms, "\n")), ui.SubmitButton("Save host forms")))
}
