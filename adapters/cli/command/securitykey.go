package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// securityKeys is the security keys in the user's ssh agent.
type securityKeys interface {
	// Keys returns the agent's security keys with their names, and the number of its plain keys, which prove nothing.
	Keys(ctx context.Context) (keys []enrolled.Key, plain int, err error)
	// Sign has a key sign a challenge; it blocks until the user touches the key.
	Sign(ctx context.Context, k enrolled.Key, challenge [32]byte) (signed json.RawMessage, err error)
}

// ErrUntouchable is returned if no enrolled security key is available here.
var ErrUntouchable = fault.New(fault.Unconfirmed, "security_key_unavailable", "no enrolled security key is available here")

// console is where else an approval can be given.
const console = "or approve it in the console (countersign up)"

// Elsewhere returns an error if an approval cannot be given in this terminal, stating where it can be; nil if it can.
func Elsewhere(v confirm.View) error {
	if v.Needs != policy.ProvingPasskey && v.Needs != policy.ProvingConsole {
		return nil
	}
	way := "approve it in the console (countersign up), or deny it with countersign deny " + v.ID + " denies it"
	if v.Needs == policy.ProvingPasskey {
		way += "; to enrol a passkey: countersign login /keys; to remove a lost one: forget_keys: [ID] in the system's configuration file"
	}
	return ErrUnanswered.WithMessage("approving %s needs %s, which a terminal cannot provide; the request is pending", v.ID, v.Needs.Words()).
		WithDetails(Hint(way))
}

// Touchable returns the enrolled security keys that count and that the user's ssh agent has. It fails with ErrUntouchable, which states what is
// missing.
func (s *Shell) Touchable(ctx context.Context) ([]enrolled.Key, error) {
	core, err := s.Opened()
	if err != nil {
		return nil, err
	}
	all, err := core.App.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var ours []enrolled.Key
	for _, k := range all {
		if k.Counts && k.Kind == enrolled.SecurityKey {
			ours = append(ours, k.Key)
		}
	}
	if len(ours) == 0 {
		return nil, ErrUntouchable.WithMessage("no security key is enrolled").WithDetails(Hint("enrol one from your ssh agent with countersign keys add; " + console))
	}
	if core.SecurityKeys == nil {
		return nil, ErrUntouchable
	}
	there, plain, err := core.SecurityKeys.Keys(ctx)
	if err != nil {
		return nil, ErrUntouchable.WithMessage("%s", fault.From(err).Message).WithDetails(Hint("add the security key to your ssh agent (ssh-add), " + console)).WithCause(err)
	}
	found := slices.DeleteFunc(slices.Clone(ours), func(k enrolled.Key) bool {
		return !slices.ContainsFunc(there, func(t enrolled.Key) bool { return bytes.Equal(t.Public, k.Public) })
	})
	if len(found) == 0 {
		only := ""
		if plain > 0 && len(there) == 0 {
			only = ", only plain ones, which sign without a touch and prove nothing"
		}
		return nil, ErrUntouchable.WithMessage("your ssh agent has none of the enrolled security keys (%s)%s", names(ours), only).
			WithDetails(Hint("plug it in and add it to your ssh agent (ssh-add), " + console))
	}
	return found, nil
}

func names(keys []enrolled.Key) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = Plain(k.Name)
	}
	return strings.Join(out, ", ")
}

// Touch has an enrolled security key sign the approval of this plan and request: the user at this terminal touches it. tell is called with each key
// that it waits for. It fails with ErrUnanswered without a controlling terminal, with ErrUntouchable, with the errors of the ssh agent, and with
// ctx's error.
func (s *Shell) Touch(ctx context.Context, v confirm.View, tell func(line string)) (confirm.Proof, error) {
	proof := s.Proof()
	if proof.Surface != confirm.SurfaceTerminal {
		return confirm.Proof{}, ErrUnanswered.WithMessage("approving %s needs a terminal that shows the plan first", v.ID)
	}
	keys, err := s.Touchable(ctx)
	if err != nil {
		return confirm.Proof{}, err
	}
	for _, k := range keys { // one of them is plugged in
		tell(fmt.Sprintf("touch your security key %q now", Plain(k.Name)))
		var signed json.RawMessage
		if signed, err = s.core.SecurityKeys.Sign(ctx, k, enrolled.Challenge(v.PlanHash, v.ID)); err == nil {
			proof.Surface, proof.Credential, proof.Evidence = confirm.SurfaceTouch, k.Credential, signed
			return proof, nil
		}
		if ctx.Err() != nil {
			return confirm.Proof{}, ctx.Err()
		}
	}
	f := fault.From(err)
	return confirm.Proof{}, ErrUntouchable.WithMessage("%s; nothing was decided", f.Message).WithDetails(Hint("countersign approve " + v.ID + " asks again, " + console)).WithCause(err)
}
