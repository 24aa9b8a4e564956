package confirm

import "github.com/countersign-dev/countersign/domain/fault"

// ErrReveal is returned for an approval of redacted text that could hide a payload, if the user has not revealed it.
var ErrReveal = fault.New(fault.Denied, "confirm_not_revealed", "the redacted values in this plan must be revealed before you approve it")

// Redacted is how much of an approval request is redacted, and whether it has to be revealed.
type Redacted struct {
	// Masked counts the redacted parts of the plan, its accompanying data and the arguments.
	Masked int `json:"masked,omitempty"`
	// MustReveal reports that a redacted part contains shell syntax, or is in text that runs: the user has to reveal it before approving.
	MustReveal bool `json:"must_reveal,omitempty"`
}

// revealed fails if something had to be revealed and was not.
func (g *Request) revealed(a Decision) error {
	if !g.MustReveal || a.Revealed {
		return nil
	}
	return ErrReveal.WithMessage("this plan may run redacted values, so reveal them before you approve it: countersign approve %s --reveal, the key r in countersign approvals, or \"Reveal redacted values\" on its page of the console", g.ID)
}
