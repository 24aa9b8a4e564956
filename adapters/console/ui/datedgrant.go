package ui

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

// The fields of a form that gives a dated grant.
const (
	fieldFor     = "for"
	fieldAnyArgs = "any_arguments"
	fieldAnyHost = "any_host"
)

// lengths returns the durations of dated grants offered here.
func lengths() []Choice {
	return []Choice{{Value: "1h", Text: "1 hour"}, {Value: "4h", Text: "4 hours"}, {Value: "8h", Text: "8 hours"}, {Value: "24h", Text: "24 hours"},
		{Value: "168h", Text: "7 days (longer than usual)"}}
}

// Until returns the form that approves a request and gives a dated grant for any session. told is the suggestion to do so; empty for none.
func Until(v httpauth.Identity, action string, c confirm.View, told string) Node {
	if !c.Datable() || !v.Proof().Meets(c.Needs) || !v.Proof().Meets(policy.ProvingPerson) {
		return nil
	}
	bound, unbound := c.Bound(confirm.Until{})
	ticks := Group{CheckboxField("any-host-"+c.ID, fieldAnyHost, "Any agent host of this user", false)}
	if !c.Reach.Loose.IsZero() {
		ticks = append(ticks, CheckboxField("any-args-"+c.ID, fieldAnyArgs, "Any arguments (removes the limits on arguments and the files they name)", false))
	}
	const label = "Approve and allow until then"
	body := PostForm(v, action, Hidden(fieldPlan, c.PlanHash.String()), If(c.Revealed, Hidden(fieldRevealed, "yes")),
		P(TextNode("Allowed without asking: "+Printable(bound)+".")), P(TextNode("Not limited: "+Printable(unbound)+".")),
		SelectField("for-"+c.ID, fieldFor, "Duration", "8h", lengths()...), ticks,
		Div(Class("buttons"), SubmitButton(label, Name(fieldDecision), Value("until"), Data("patience", patient), about(label, c))))
	line := "Allow until …"
	if told != "" {
		line = told + " Allow until …"
	}
	return Disclosure(line, told != "", body)
}

// until returns the user's choice in the form of Until. It fails for an invalid duration.
func until(r *http.Request) (*confirm.Until, error) {
	d, err := time.ParseDuration(r.PostFormValue(fieldFor))
	if err != nil {
		return nil, ErrDecision
	}
	return &confirm.Until{For: d, AnyArgs: r.PostFormValue(fieldAnyArgs) == "true", AnyEntry: r.PostFormValue(fieldAnyHost) == "true"}, nil
}
