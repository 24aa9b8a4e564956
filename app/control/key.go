package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Keys manages the enrolled keys; *app.KeyManager implements it.
type Keys interface {
	List(ctx context.Context) ([]app.Key, error)
	Usable(k enrolled.Key) error
	Add(ctx context.Context, k enrolled.Key) error
	Remove(ctx context.Context, id string) error
}

// KeyInput is a key to enrol: its public half, and what the authenticator reported.
type KeyInput struct {
	Kind       enrolled.Kind `json:"kind" jsonschema:"enum=passkey,enum=security_key"`
	Name       string        `json:"name" jsonschema:"minLength=1,maxLength=64,description=for people"`
	Handle     string        `json:"handle" jsonschema:"minLength=1,description=the id of a passkey in unpadded base64url; the fingerprint of an ssh key"`
	Public     []byte        `json:"public" jsonschema:"description=in base64: of a passkey its COSE key; of a security key the ssh wire format"`
	RPID       string        `json:"rp_id,omitempty" jsonschema:"description=of a passkey: the name it is bound to"`
	Verified   bool          `json:"user_verified,omitempty"`
	Backup     bool          `json:"backup_eligible,omitempty"`
	BackedUp   bool          `json:"backed_up,omitempty"`
	Model      string        `json:"model,omitempty"`
	Transports []string      `json:"transports,omitempty"`
}

// KeyID names an enrolled key.
type KeyID struct {
	ID string `json:"id" jsonschema:"minLength=1,description=as countersign keys list shows it"`
}

// The tools that enrol and remove a key. They are for users only, and always need approval.
var (
	EnrollKey = tool.Ref[KeyInput, app.Key]{Name: app.EnrollKeyTool}
	RemoveKey = tool.Ref[KeyID, app.Key]{Name: app.RemoveKeyTool}
)

// ErrKeysByCaller is returned for enrolling a key if clients approve their own plans.
var ErrKeysByCaller = fault.New(fault.Denied, "enrolled_key_by_caller", "keys are enrolled where people approve, and here the caller approves its own plans")

func enrollSpec() tool.Spec {
	return tool.Spec{Title: "Enrol a key", Description: "Have a passkey or a security key count as proof of a person; a person approves it first.", Class: policy.ClassScratch,
		Effects: policy.Read | policy.Write, Human: policy.Preview, Input: json.RawMessage(keySchema), UserOnly: true}
}

func removeKeySpec() tool.Spec {
	return tool.Spec{Title: "Remove a key", Description: "Have an enrolled key prove nothing any more; a person approves it first.", Class: policy.ClassScratch,
		Effects: policy.Read | policy.Write, Human: policy.Preview, Input: json.RawMessage(keyIDSchema), UserOnly: true}
}

// keyPlan is the plan to enrol or remove a key.
type keyPlan struct {
	Opens       string        `json:"opens"`
	Kind        enrolled.Kind `json:"kind"`
	Name        string        `json:"name"`
	ID          string        `json:"id"`
	Fingerprint string        `json:"fingerprint_sha256"` // of its public half
	RPID        string        `json:"rp_id,omitempty"`
	First       bool          `json:"first,omitempty"` // of its kind
	key         enrolled.Key
	replaces    string // id of a row in its place that does not count
	hash        canon.Hash
	needs       policy.Proving
}

// Hash returns the hash that identifies the key, or its removal, in the audit log.
func (p keyPlan) Hash() canon.Hash { return p.hash }

// Assessment requires an approval of medium risk, so that the proof that policy requires for high risk does not prevent enrolling the first key that meets
// it: Needs sets the proof.
func (p keyPlan) Assessment() policy.Assessment {
	return policy.Assessment{Strength: policy.Preview, Human: policy.Preview, Risk: policy.RiskMedium}
}

// Insists requires an approval whatever grants exist.
func (p keyPlan) Insists() bool { return true }

// Needs requires another surface than the one on which the first key of a kind was made, and later an enrolled key.
func (p keyPlan) Needs() policy.Proving { return p.needs }

// Prompt says what happens to the key; a row of the plan says what follows.
func (p keyPlan) Prompt() string {
	verb := "enrol"
	if p.hash == p.key.Removal() {
		verb = "remove"
	}
	return fmt.Sprintf("%s the %s %q", verb, p.Kind.Words(), p.Name)
}

// Announcement reports added and removed keys: the holder of one approves in the user's name.
func (p keyPlan) Announcement() string {
	what := "the " + p.Kind.Words() + " " + notice.PlainName(p.Name) + " was "
	switch {
	case p.hash == p.key.Removal():
		return what + "removed, and proves nothing any more"
	case p.First:
		return what + "enrolled, the first of its kind: whoever has it approves calls"
	}
	return what + "enrolled: whoever has it approves calls"
}

// needsFor returns the proof for enrolling a key of the kind, or for removing one that counts. The first of its kind needs a terminal and the console
// together: a passkey is made in a browser and approved in a terminal, a security key the other way round, so that an attacker with only one of the
// two gets no key. Any further one needs a key that already counts.
func needsFor(kind enrolled.Kind, all []app.Key) policy.Proving {
	counting := func(kind enrolled.Kind) bool {
		return slices.ContainsFunc(all, func(s app.Key) bool { return s.Counts && s.Kind == kind })
	}
	switch passkey, touch := counting(enrolled.Passkey), counting(enrolled.SecurityKey); {
	case kind == enrolled.Passkey && passkey:
		return policy.ProvingPasskey
	case passkey || touch:
		return policy.ProvingTouch
	case kind == enrolled.Passkey:
		return policy.ProvingTerminal
	}
	return policy.ProvingConsole
}

// keysFor returns the enrolled keys, for a client that may change them.
func (s service) keysFor(ctx context.Context, sc tool.Scope) ([]app.Key, error) {
	if sc.Narrow || sc.Principal.Ceiling != policy.ModeUnset && sc.Principal.Ceiling != policy.Execute {
		return nil, ErrNarrow
	}
	rules, err := s.required(ctx)
	if err != nil {
		return nil, err
	}
	if rules.Approval.ByCaller() {
		return nil, ErrKeysByCaller.WithMessage("keys are enrolled and removed where people approve, and here the caller approves its own plans; a person changes that first: countersign policy approval human")
	}
	return s.Keys.List(ctx)
}

func (s service) planKey(ctx context.Context, sc tool.Scope, in KeyInput) (keyPlan, error) {
	key := enrolled.Key{Kind: in.Kind, Name: in.Name, Owner: sc.Principal.ID, Credential: in.Handle, Public: in.Public, RPID: in.RPID,
		Facts: enrolled.Facts{Verified: in.Verified, Backup: in.Backup, BackedUp: in.BackedUp, Model: in.Model, Transports: in.Transports}}
	if err := key.Valid(); err != nil {
		return keyPlan{}, err
	}
	if err := s.Keys.Usable(key); err != nil {
		return keyPlan{}, err
	}
	all, err := s.keysFor(ctx, sc)
	if err != nil {
		return keyPlan{}, err
	}
	p := keyPlan{Kind: key.Kind, Name: key.Name, ID: key.ID(), Fingerprint: canon.SumBytes("enrolled.public.v1", key.Public).Hex(), RPID: key.RPID, key: key, hash: key.Sum(),
		needs: needsFor(key.Kind, all), First: !slices.ContainsFunc(all, func(s app.Key) bool { return s.Counts && s.Kind == key.Kind })}
	for _, have := range all {
		switch {
		case !have.Same(key):
		case have.Counts:
			return keyPlan{}, enrolled.ErrTaken.WithMessage("this %s is enrolled already, as %q (%s)", key.Kind.Words(), have.Name, have.ID)
		default:
			p.replaces = have.ID
		}
	}
	p.Opens = fmt.Sprintf("whoever has it approves in your name, also what needs a %s, until it is removed", key.Kind.Words())
	return p, nil
}

func (s service) enrollKey(ctx context.Context, sc tool.Scope, p keyPlan) (app.Key, error) {
	if p.replaces != "" {
		if err := s.Keys.Remove(ctx, p.replaces); err != nil {
			return app.Key{}, err
		}
	}
	p.key.EnrolledAt, p.key.EnrolledBy = s.Clock.Now(), "call "+sc.CallID
	return app.Key{Key: p.key, ID: p.ID, Counts: true}, s.Keys.Add(ctx, p.key)
}

func (s service) planKeyRemoval(ctx context.Context, sc tool.Scope, in KeyID) (keyPlan, error) {
	all, err := s.keysFor(ctx, sc)
	if err != nil {
		return keyPlan{}, err
	}
	i := slices.IndexFunc(all, func(s app.Key) bool { return s.ID == in.ID })
	if i < 0 {
		return keyPlan{}, enrolled.ErrMissing.WithMessage("there is no key %q; countersign keys list shows those there are", in.ID)
	}
	key := all[i].Key
	p := keyPlan{Kind: key.Kind, Name: key.Name, ID: in.ID, Fingerprint: canon.SumBytes("enrolled.public.v1", key.Public).Hex(), RPID: key.RPID, key: key, hash: key.Removal(), needs: policy.ProvingPerson}
	p.Opens = "it does not count: " + all[i].Why
	if all[i].Counts {
		p.needs = needsFor(key.Kind, all)
		p.Opens = "it approves nothing any more"
		if !slices.ContainsFunc(all, func(s app.Key) bool { return s.Counts && s.Kind == key.Kind && s.ID != in.ID }) {
			p.Opens += fmt.Sprintf(", and there is no other: the next %s is enrolled without one, and what policy requires one for waits until then", key.Kind.Words())
		}
	}
	return p, nil
}

func (s service) removeKey(ctx context.Context, _ tool.Scope, p keyPlan) (app.Key, error) {
	return app.Key{Key: p.key, ID: p.ID, Why: "it was removed"}, s.Keys.Remove(ctx, p.ID)
}
