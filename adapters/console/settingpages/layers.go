package settingpages

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
)

// layers is the policy in force, a line each, with the layer that decided it.
func layers(r policy.Resolved) markup.Node {
	var rows []markup.Node
	line := func(name, key, value string) {
		rows = append(rows, page.Row(page.Text(page.Printable(name)), page.Text(page.Printable(value)), page.Text(page.Printable(cmp.Or(r.By[key], policy.BuiltIn)))))
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
	var refused []markup.Node
	for _, w := range r.Wider {
		refused = append(refused, markup.Li(page.Text(page.Printable(w.Layer+" says "+w.Key+": "+w.Value+". It stays "+w.Than+", as "+w.By+" decides: a layer only narrows what stands above it."))))
	}
	for _, lost := range r.Missing {
		refused = append(refused, markup.Li(page.Text(page.Printable(lost))))
	}
	body := markup.Group{page.Table("Policy in force", []string{"What", "In force", "Decided by"}, rows, "")}
	if len(refused) > 0 {
		body = append(body, page.Notice(page.Warn, markup.Ul(markup.Group(refused))))
	}
	return page.Part("In force", body)
}

// approver is who approves, in words.
func approver(a policy.Approval) string {
	if a.ByCaller() {
		return "caller: no person is asked"
	}
	return "human: a person, in a terminal or here"
}

func approvalPart(v httpguard.Visitor, set app.Settings, r policy.Resolved) markup.Node {
	choices := []page.Choice{{Value: "", Text: "nothing of its own: " + approver(r.Approval)}, {Value: policy.ApprovalHuman.String(), Text: approver(policy.ApprovalHuman)},
		{Value: policy.ApprovalCaller.String(), Text: "caller: whoever calls a tool approves its plan (scripts and CI)"}}
	return page.Part("Who approves", page.Form(v, section+"/approval", page.Hidden("was", set.Approval.String()),
		page.Select("approval", "approval", "Who approves a plan", set.Approval.String(), choices...), page.Button("Set who approves")))
}

func ceilingPart(v httpguard.Visitor, set app.Settings) markup.Node {
	return page.Part("Highest mode", page.Form(v, section+"/ceiling", page.Hidden("was", set.MaxMode.String()),
		page.Select("max-mode", "max_mode", "No call goes further, whoever makes it", set.MaxMode.String(), page.Choice{Value: "", Text: "as the operator says"},
			page.Choice{Value: "ask", Text: "ask"}, page.Choice{Value: "plan", Text: "plan"}, page.Choice{Value: "execute", Text: "execute"}), page.Button("Set the highest mode")))
}

// proofs are what an approval can have to come with.
func proofs() []page.Choice {
	choices := []page.Choice{{Value: "", Text: policy.ProvingNone.Words()}}
	for _, p := range []policy.Proving{policy.ProvingPerson, policy.ProvingTouch, policy.ProvingPasskey} {
		choices = append(choices, page.Choice{Value: p.String(), Text: p.Words()})
	}
	return choices
}

func requirePart(v httpguard.Visitor, set app.Settings) markup.Node {
	var rows []markup.Node
	for _, key := range slices.Sorted(maps.Keys(set.Require)) {
		rows = append(rows, page.Row(page.Name(key), page.Text(set.Require[key].Words()), page.Deed(v, section+"/require", "Drop it", "for "+page.Printable(key), page.Hidden("key", key),
			page.Hidden("was", set.Require[key].String()), page.Hidden("proof", ""))))
	}
	return page.Part("Proof of approvals", markup.P(page.Text("What an approval has to come with: for a tool, for what is of high risk (high), or for what wants a name typed (type).")),
		page.Table("Proof that approvals need", []string{"For", "Needs", ""}, rows, "Any person's answer approves."),
		page.Form(v, section+"/require", page.Field("require-key", "key", "For: high, type, or the name of a tool", ""), page.Select("require-proof", "proof", "An approval needs", policy.ProvingPerson.String(), proofs()...),
			page.Button("Require it")))
}

func formsPart(v httpguard.Visitor, set app.Settings) markup.Node {
	return page.Part("Forms of hosts", markup.P(page.Text("A host entry on this list may approve what is below high risk in the agent's own window. Any process of this user can start such an entry and answer its form itself.")),
		page.Form(v, section+"/forms", page.Hidden("was", strings.Join(set.Forms, " ")), page.Area("forms-entries", "entries", "Host entries, one a line", strings.Join(set.Forms, "\n")), page.Button("Save whose forms may approve")))
}
