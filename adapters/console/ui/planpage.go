package ui

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Question returns everything that the user needs to decide, in the order of a decision: what it is about, who asks, what would be lost, what would run, what
// would change, and then the details.
func Question(v confirm.View, client string) Node {
	return Group{
		H2(Class("prompt"), TextNode(Printable(v.Prompt)), TextNode(" "), Risk(v.Risk)),
		asked(v, client), Brief(v.Plan), Exhibit(v.Exhibit),
		Facts(Fact{Name: "Tool", Value: InlineCode(Printable(v.Tool))}, Fact{Name: "Plan hash", Value: short(v.PlanHash.Hex())}),
		planData(v.Plan), arguments(v.Arguments),
	}
}

// asked returns the client of a request, and how and until when it can be decided.
func asked(v confirm.View, client string) Node {
	var asks, typed Node
	if client != "" {
		asks = TextNode(Printable(client))
	}
	if v.Strength >= policy.Typed {
		typed = Group{TextNode("type "), InlineCode(Printable(v.Target)), TextNode(" to approve")}
	}
	var needs, gone Node
	if v.Needs > policy.ProvingNone {
		needs = TextNode(v.Needs.Words())
	}
	if v.Gone {
		gone = TextNode("disconnected; an approval applies when the client repeats the call before the request expires")
	}
	return Facts(Fact{Name: "Client", Value: asks}, Fact{Name: "Client status", Value: gone}, Fact{Name: "Approval", Value: typed},
		Fact{Name: "Required proof", Value: needs},
		Fact{Name: "Expires", Value: Deadline(v.ExpiresAt)})
}

// arguments returns a call's arguments, collapsed; nothing if there are none.
func arguments(args json.RawMessage) Node {
	if len(args) == 0 || string(args) == "{}" || string(args) == "null" {
		return nil
	}
	return Disclosure("Arguments", false, JSONValue(args))
}

// Plan returns a plan for users: first warnings and losses, then commands, then changes; and, collapsed, all of it as data.
func Plan(plan json.RawMessage) Node {
	body := Brief(plan)
	if body == nil {
		return nil
	}
	return Group{body, planData(plan)}
}

// planData returns a plan as data, collapsed; nothing if there is none.
func planData(plan json.RawMessage) Node {
	if len(plan) == 0 || string(plan) == "null" {
		return nil
	}
	return Disclosure("Plan as JSON", false, CodeBlock("plan as JSON", Printable(pretty(string(plan)))))
}

// Brief is Plan without the data.
func Brief(plan json.RawMessage) Node {
	if len(plan) == 0 || string(plan) == "null" {
		return nil
	}
	v, err := present.Parse(plan)
	fields, ok := v.([]present.Field)
	if err != nil || !ok {
		return JSONValue(plan)
	}
	body, around := opened(fields)
	return Div(Class("plan"), explained(around), block(gathered(body, around), 0))
}

// Exhibit returns what users see in addition to a plan, such as changed lines; nil for nothing.
func Exhibit(doc json.RawMessage) Node {
	v, err := present.Parse(doc)
	fields, ok := v.([]present.Field)
	if err != nil || !ok || nothing(fields) {
		return nil
	}
	return Div(Class("plan"), block(fields, 0))
}

// opened returns the member of a plan that describes the change, and the members around it: {tool, summary, context}, {data, warnings}, or {preview,
// explanation, risk, …}. Any other plan is all body.
func opened(fields []present.Field) (body, around []present.Field) {
	for _, name := range []string{"context", "preview", "data"} {
		if inner, ok := present.Member(fields, name).([]present.Field); ok {
			if name == "data" {
				inner = present.DeploymentPlan(inner)
			}
			if release, is := present.ReleasePlan(inner, present.Member(fields, "warnings")); is {
				inner = release
			}
			return inner, without(fields, name)
		}
	}
	return fields, nil
}

// gathered returns the body with the warnings and findings around it.
func gathered(body, around []present.Field) []present.Field {
	out := append([]present.Field(nil), body...)
	for _, f := range around {
		if warns(f.Name) || f.Name == "findings" {
			out = append(out, f)
		}
	}
	return out
}

// explained returns a plan's description of itself: what it does, its risk and the reason, and alternatives.
func explained(around []present.Field) Node {
	var out Group
	why, _ := present.Member(around, "explanation").([]present.Field)
	if what := present.Text(why, "what"); what != "" {
		out = append(out, P(TextNode(Printable(what))))
	}
	risk, _ := present.Member(around, "risk").([]present.Field)
	if gone, _ := present.Member(risk, "irreversible").(bool); gone {
		out = append(out, P(Badge(Bad, "cannot be undone")))
	}
	if reasons := texts(present.Member(risk, "reasons")); len(reasons) > 0 {
		tone := Warn
		if level := present.Text(risk, "level"); level == "critical" {
			tone = Bad
		}
		out = append(out, notice(tone, lines(reasons)))
	}
	if instead := texts(present.Member(why, "alternatives")); len(instead) > 0 {
		out = append(out, Disclosure("Alternatives", false, lines(instead)))
	}
	return out
}
