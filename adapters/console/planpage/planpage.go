// Package planpage lays a plan out for the person who decides about it: what would be done, to what, and what would be lost.
//
// It refuses to know any tool: names of members say how they are shown. Nothing of a plan is left out; what only machines need is folded.
package planpage

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/present/orderly"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Question is everything a person needs to decide: who wants to do what with which arguments, how much is at stake, and the whole plan.
func Question(v confirm.View, client string) markup.Node {
	return markup.Group{
		markup.P(markup.Class("prompt"), markup.Text(page.Printable(v.Prompt)), markup.Text(" "), page.Risk(v.Risk)),
		Asked(v, client), Plan(v.Plan), Arguments(v.Arguments),
	}
}

// Asked is who asks with which tool, and how and until when it can be answered.
func Asked(v confirm.View, client string) markup.Node {
	var asks, typed markup.Node
	if client != "" {
		asks = markup.Text(page.Printable(client))
	}
	if v.Strength >= policy.Typed {
		typed = markup.Group{markup.Text("only by typing "), page.Code(page.Printable(v.Target))}
	}
	var needs, gone markup.Node
	if v.Needs > policy.ProvingNone {
		needs = markup.Text(v.Needs.Words())
	}
	if v.Gone {
		gone = markup.Text("whoever asked is gone: an approval is used by the same call when it is made anew, and lapses with the question")
	}
	return page.Facts(page.Fact{Name: "Tool", Value: page.Code(page.Printable(v.Tool))}, page.Fact{Name: "Asked by", Value: asks}, page.Fact{Name: "Waiting", Value: gone}, page.Fact{Name: "Approved", Value: typed},
		page.Fact{Name: "Approval needs", Value: needs},
		page.Fact{Name: "Expires", Value: markup.Group{page.When(v.ExpiresAt), markup.Text(" "),
			markup.Span(markup.Class("quiet"), markup.Data("until", v.ExpiresAt.UTC().Format(time.RFC3339)))}},
		page.Fact{Name: "Plan", Value: short(v.PlanHash.Hex())})
}

// Arguments are a call's arguments, folded; nothing for none.
func Arguments(args json.RawMessage) markup.Node {
	if len(args) == 0 || string(args) == "{}" || string(args) == "null" {
		return nil
	}
	return page.Fold("Arguments as they were sent", false, page.Value(args))
}

// Plan is a plan for people: what speaks against it and what would be lost first, then what would be run, then what would change; and, folded, all of
// it as data.
func Plan(plan json.RawMessage) markup.Node {
	body := Brief(plan)
	if body == nil {
		return nil
	}
	return markup.Group{body, page.Fold("The whole plan as data", false, page.Pre("the whole plan", page.Printable(pretty(string(plan)))))}
}

// Brief is Plan without the data.
func Brief(plan json.RawMessage) markup.Node {
	if len(plan) == 0 || string(plan) == "null" {
		return nil
	}
	v, err := orderly.Parse(plan)
	fields, ok := v.([]orderly.Field)
	if err != nil || !ok {
		return page.Value(plan)
	}
	body, around := opened(fields)
	return markup.Div(markup.Class("plan"), explained(around), block(gathered(body, around), 0))
}

// Exhibit is what people see beside a plan, the lines of files for example; nil for nothing.
func Exhibit(doc json.RawMessage) markup.Node {
	v, err := orderly.Parse(doc)
	fields, ok := v.([]orderly.Field)
	if err != nil || !ok || nothing(fields) {
		return nil
	}
	return markup.Div(markup.Class("plan"), block(fields, 0))
}

// opened is the member of a plan that says what would be done, and what stands around it: {tool, summary, context}, {data, warnings}, or
// {preview, explanation, risk, …}. Any other plan is all body.
func opened(fields []orderly.Field) (body, around []orderly.Field) {
	for _, name := range []string{"context", "preview", "data"} {
		if inner, ok := orderly.Member(fields, name).([]orderly.Field); ok {
			return inner, without(fields, name)
		}
	}
	return fields, nil
}

// gathered is the body with the warnings and findings that stand around it.
func gathered(body, around []orderly.Field) []orderly.Field {
	out := append([]orderly.Field(nil), body...)
	for _, f := range around {
		if warns(f.Name) || f.Name == "findings" {
			out = append(out, f)
		}
	}
	return out
}

// explained is what a plan says of itself in words: what it does, how much is at stake and why, and what could be done instead.
func explained(around []orderly.Field) markup.Node {
	var out markup.Group
	why, _ := orderly.Member(around, "explanation").([]orderly.Field)
	if what := orderly.Text(why, "what"); what != "" {
		out = append(out, markup.P(markup.Text(page.Printable(what))))
	}
	risk, _ := orderly.Member(around, "risk").([]orderly.Field)
	if gone, _ := orderly.Member(risk, "irreversible").(bool); gone {
		out = append(out, markup.P(page.Badge(page.Bad, "cannot be taken back")))
	}
	if reasons := texts(orderly.Member(risk, "reasons")); len(reasons) > 0 {
		tone := page.Warn
		if level := orderly.Text(risk, "level"); level == "critical" {
			tone = page.Bad
		}
		out = append(out, notice(tone, lines(reasons)))
	}
	if instead := texts(orderly.Member(why, "alternatives")); len(instead) > 0 {
		out = append(out, page.Fold("What could be done instead", false, lines(instead)))
	}
	return out
}
