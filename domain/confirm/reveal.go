package confirm

import "github.com/countersign-dev/countersign/domain/fault"

// ErrReveal reports an approval of what is masked in a way that could hide a payload, by somebody who has not had it revealed.
var ErrReveal = fault.New(fault.Denied, "confirm_not_revealed", "what is masked in this plan has to be revealed before it is approved")

// Redacted is how much of a question is masked, and whether that may stay so.
type Redacted struct {
	// Masked counts the parts of the plan, of what stands beside it and of the arguments that are masked.
	Masked int `json:"masked,omitempty"`
	// MustReveal says that a masked part contains shell syntax, or stands in text that runs: a person reveals it before approving.
	MustReveal bool `json:"must_reveal,omitempty"`
}

// revealed fails where something had to be revealed and was not.
func (g *Request) revealed(a Answer) error {
	if !g.MustReveal || a.Revealed {
		return nil
	}
	return ErrReveal.Sayf("what is masked in this plan may run, so it has to be revealed before it is approved: countersign approve %s --reveal, the key r in countersign approvals, or \"Reveal what is masked\" on its page of the console", g.ID)
}
