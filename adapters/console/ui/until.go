package ui

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

// The fields of a form that allows something until a time.
const (
	FieldFor     = "for"
	FieldAnyArgs = "any_arguments"
	FieldAnyHost = "any_host"
)

// lengths are for how long something can be allowed here.
func lengths() []Choice {
	return []Choice{{Value: "1h", Text: "1 hour"}, {Value: "4h", Text: "4 hours"}, {Value: "8h", Text: "8 hours"}, {Value: "24h", Text: "24 hours"},
		{Value: "168h", Text: "7 days, which is longer than usual"}}
}

// Until is the form that approves a question and allows the same until a time, in any session. told is the suggestion to do so; empty for none.
func Until(v httpauth.Visitor, action string, c confirm.View, told string) Node {
	if !c.Datable() || !v.Proof().Meets(c.Needs) || !v.Proof().Meets(policy.ProvingPerson) {
		return nil
	}
	bound, unbound := c.Bound(confirm.Until{})
	ticks := Group{Check("any-host-"+c.ID, FieldAnyHost, "Whichever agent host of the same user asks", false)}
	if !c.Reach.Loose.IsZero() {
		ticks = append(ticks, Check("any-args-"+c.ID, FieldAnyArgs, "With any arguments: neither these nor what they name is bound then", false))
	}
	const label = "Approve, and allow the same until then"
	body := PageForm(v, action, Hidden(FieldPlan, c.PlanHash.String()), If(c.Revealed, Hidden(FieldRevealed, "yes")),
		P(Text("Allowed without asking: "+Printable(bound)+".")), P(Text("Not bound: "+Printable(unbound)+".")),
		PageSelect("for-"+c.ID, FieldFor, "For how long", "8h", lengths()...), ticks,
		Div(Class("buttons"), PageButton(label, Name(FieldDecision), Value("until"), Data("patience", patient), about(label, c))))
	line := "Allow this until …"
	if told != "" {
		line = told + " Allow it until …"
	}
	return Fold(line, told != "", body)
}

// until is what a person chose in the form of Until. It fails where that is no length of time.
func until(r *http.Request) (*confirm.Until, error) {
	d, err := time.ParseDuration(r.PostFormValue(FieldFor))
	if err != nil {
		return nil, ErrDecision
	}
	return &confirm.Until{For: d, AnyArgs: r.PostFormValue(FieldAnyArgs) == "true", AnyEntry: r.PostFormValue(FieldAnyHost) == "true"}, nil
}
