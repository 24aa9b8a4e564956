// Package planpage lays a plan out for the person who decides about it: what would be done, to what, and what would be lost.
//
// It refuses to know any tool: names of members say how they are shown.
package planpage

import (
	"encoding/json"
	"time"

	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/domain/confirm"
)

// Question is everything a person needs to decide: who wants to do what with which arguments, how much is at stake, and the whole plan.
func Question(v confirm.View, client string) gomponents.Node {
	var asks gomponents.Node
	if client != "" {
		asks = gomponents.Text(client)
	}
	return gomponents.Group{
		html.P(html.Class("prompt"), gomponents.Text(v.Prompt), gomponents.Text(" "), page.Risk(v.Risk)),
		page.Facts(page.Fact{Name: "Tool", Value: page.Code(v.Tool)}, page.Fact{Name: "Asked by", Value: asks},
			page.Fact{Name: "Expires", Value: html.Span(html.Data("until", v.ExpiresAt.UTC().Format(time.RFC3339)), page.When(v.ExpiresAt))},
			page.Fact{Name: "Plan", Value: page.Code(v.PlanHash.String())}),
		Plan(v.Plan),
		arguments(v.Arguments),
	}
}

func arguments(args json.RawMessage) gomponents.Node {
	if len(args) == 0 || string(args) == "{}" {
		return nil
	}
	return page.Fold("Arguments as they were sent", false, page.Value(args))
}

// Plan is a plan for people.
func Plan(plan json.RawMessage) gomponents.Node {
	if len(plan) == 0 {
		return nil
	}
	return page.Value(plan)
}
