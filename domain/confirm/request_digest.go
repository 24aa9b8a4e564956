package confirm

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// ErrEdited is returned for an approval request that was modified in the store after it was created.
var ErrEdited = fault.New(fault.Conflict, "confirmation_edited", "the stored approval request was changed after it was created")

// Asked returns the hash of everything in the request that the user sees or that decides how it may be approved. The hash stays the same when another
// session picks the request up, so a different one shows that the stored request was modified. It is zero for a Request without one.
func (g *Request) Asked() canon.Hash {
	doc, err := json.Marshal(struct {
		ID, Principal, Tool    string
		Subject                canon.Hash
		Args, Plan, Exhibit    []byte
		Mode                   policy.Mode
		Strength               policy.Strength
		Risk                   policy.Risk
		Scope, Target, Prompt  string
		Place, Entry, Client   string
		HumanOnly, NoForm      bool
		Insists, Names, ByHand bool
		Needs                  policy.Proving
		Reach                  Reach
		Remotes                []string
		Veil                   Redacted
	}{g.ID, g.Binding.Principal, g.Binding.Tool, g.Binding.Subject, some(g.Args), some(g.Plan), some(g.Exhibit), g.Mode, g.Strength, g.Risk, g.Scope, g.Target, g.Prompt,
		g.Place, g.Entry, g.Client, g.HumanOnly, g.NoForm, g.Insists, g.Names, g.ByHand, g.Needs, g.Reach, append([]string{}, g.Remotes...), g.Redacted})
	if err != nil {
		return canon.Hash{}
	}
	return canon.SumBytes("confirm.asked.v1", doc)
}

// some returns a document as it is hashed: nil and empty are the same.
func some(doc json.RawMessage) []byte { return append([]byte{}, doc...) }
