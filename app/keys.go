package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// The tools that enrol and remove a key; both are for users only.
const (
	EnrollKeyTool = "enroll_key"
	RemoveKeyTool = "remove_key"
)

// KeyConfig configures a KeyManager. Audit is required. Without Keys there are no keys; a key without a verifier of its kind proves nothing.
type KeyConfig struct {
	Keys      ports.EnrolledKeys
	Audit     ports.AuditLog
	Verifiers map[enrolled.Kind]ports.KeyVerifier
	Forgotten []string // IDs of keys that the system's file excludes
}

// KeyManager decides which enrolled keys count, and verifies their signatures: when a decision is made, when an approval is used, and later from the audit
// log alone. A key counts if the audit log has its enrolment, approved by the user, and no later removal; a row of the database proves nothing. It keeps no state between calls. NewKeyManager makes one.
type KeyManager struct{ KeyConfig }

// NewKeyManager returns a KeyManager with that configuration.
func NewKeyManager(p KeyConfig) *KeyManager { return &KeyManager{p} }

// Key is a stored key and whether it counts.
type Key struct {
	enrolled.Key
	ID     string `json:"id"`
	Counts bool   `json:"counts"`
	Why    string `json:"why,omitempty"` // why it does not count
}

// List returns every stored key, oldest first, with whether it counts, and with when and by whom it was enrolled according to the audit log.
func (k *KeyManager) List(ctx context.Context) ([]Key, error) {
	all := []Key{}
	if k.Keys == nil {
		return all, nil
	}
	stored, err := k.Keys.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range stored {
		s := Key{Key: key, ID: key.ID()}
		d, err := k.enrolment(ctx, key, 0)
		if err != nil {
			return nil, err
		}
		s.EnrolledAt, s.EnrolledBy = d.at, d.by
		s.Why = k.why(key, d)
		s.Counts = s.Why == ""
		all = append(all, s)
	}
	return all, nil
}

// why returns the reason that a key does not count; empty if it counts.
func (k *KeyManager) why(key enrolled.Key, d enrolment) string {
	switch {
	case !d.enrolled:
		return "its enrolment is not in the audit log: it was added or edited by something else"
	case d.removed:
		return "it was removed and then added again outside Countersign"
	case slices.Contains(k.Forgotten, key.ID()):
		return "the system's file excludes it"
	}
	if err := k.Usable(key); err != nil {
		return fault.From(err).Message
	}
	return ""
}

// Usable fails with enrolled.ErrKey if no signature of the key could be verified here.
func (k *KeyManager) Usable(key enrolled.Key) error {
	v := k.Verifiers[key.Kind]
	if v == nil {
		return enrolled.ErrKey.WithMessage("signatures of a %s cannot be verified here", key.Kind.Words())
	}
	return v.Usable(key)
}

// Add stores a key. It counts once the call that enrols it is in the audit log.
func (k *KeyManager) Add(ctx context.Context, key enrolled.Key) error { return k.Keys.Add(ctx, key) }

// Remove deletes the key with that ID.
func (k *KeyManager) Remove(ctx context.Context, id string) error { return k.Keys.Remove(ctx, id) }

// enrolment is what the audit log says about a key.
type enrolment struct {
	enrolled, removed bool
	at                time.Time
	by                string
}

// enrolment returns what the audit log says about the key before that record; zero means the whole log.
func (k *KeyManager) enrolment(ctx context.Context, key enrolled.Key, before int64) (d enrolment, err error) {
	sum := key.Sum()
	if sum.IsZero() {
		return d, nil
	}
	done, err := k.newest(ctx, audit.Filter{Tool: EnrollKeyTool, Phase: audit.Outcome, Text: sum.String(), Before: before}, func(e *audit.Event) bool { return keyCallDone(e, sum) })
	if err != nil || done == nil {
		return d, err
	}
	said, err := k.newest(ctx, audit.Filter{Tool: EnrollKeyTool, Phase: audit.Answer, Text: sum.String(), Before: done.Seq}, func(e *audit.Event) bool {
		return e.Verdict == "approve" && e.Code == "" && e.Plan == sum
	})
	if err != nil || said == nil { // the caller approved it, not a user
		return d, err
	}
	d = enrolment{enrolled: true, at: done.Event.Time, by: said.Event.ApprovedBy}
	gone := key.Removal()
	taken, err := k.newest(ctx, audit.Filter{Tool: RemoveKeyTool, Phase: audit.Outcome, Text: gone.String(), Before: before}, func(e *audit.Event) bool { return keyCallDone(e, gone) })
	d.removed = taken != nil && taken.Seq > done.Seq
	return d, err
}

// keyCallDone reports whether the event is the outcome of a call that applied that plan.
func keyCallDone(e *audit.Event, plan canon.Hash) bool {
	return e.Code == "" && e.Plan == plan && e.Verdict == policy.Confirm.String()
}

// newest returns the newest record that the filter and fits select; nil if there is none. It reads page by page, so that many refused attempts of a
// program cannot hide what the user did.
func (k *KeyManager) newest(ctx context.Context, f audit.Filter, fits func(*audit.Event) bool) (*audit.Record, error) {
	f.Limit = audit.MaxListed
	for {
		found, err := k.Audit.Search(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if fits(&found[i].Event) {
				return &found[i], nil
			}
		}
		if len(found) < f.Limit {
			return nil, nil
		}
		f.Before = found[len(found)-1].Seq
	}
}

// KeyKindOf returns the kind of key that proves a decision on the surface; false for a surface without one.
func KeyKindOf(s confirm.Surface) (enrolled.Kind, bool) {
	switch s {
	case confirm.SurfacePasskey:
		return enrolled.Passkey, true
	case confirm.SurfaceTouch:
		return enrolled.SecurityKey, true
	}
	return "", false
}

// Prove checks the proof of a decision on an approval request and its plan, and returns it in the form for the audit log. A proof by key has the key's handle as
// Credential and the signature as Evidence; it is accepted if the signature verifies with a key that counts, which is added to the Evidence. It fails with
// enrolled.ErrUnproven. Other proofs are returned unchanged, without evidence that proves nothing.
func (k *KeyManager) Prove(ctx context.Context, p confirm.Proof, plan canon.Hash, id string) (confirm.Proof, error) {
	kind, keyed := KeyKindOf(p.Surface)
	if !keyed {
		p.Evidence = nil
		return p, nil
	}
	all, err := k.List(ctx)
	if err != nil {
		return p, err
	}
	i := slices.IndexFunc(all, func(s Key) bool { return s.Kind == kind && s.Credential == p.Credential })
	if i < 0 {
		return p, enrolled.ErrUnproven.WithMessage("this %s is not enrolled here", kind.Words())
	}
	if !all[i].Counts {
		return p, enrolled.ErrUnproven.WithMessage("the %s %s does not count: %s", kind.Words(), all[i].Name, all[i].Why)
	}
	if err := k.Verifiers[kind].Verify(all[i].Key, enrolled.Challenge(plan, id), p.Evidence); err != nil {
		return p, err
	}
	p.Evidence, err = json.Marshal(enrolled.Evidence{Key: all[i].Key, Signed: p.Evidence})
	p.Credential = all[i].ID
	return p, err
}

// Holds verifies a recorded decision by key again, from the record, with a key that counts now. It fails with enrolled.ErrUnproven.
func (k *KeyManager) Holds(ctx context.Context, e audit.Event) error {
	return k.holds(ctx, e, 0)
}

func (k *KeyManager) holds(ctx context.Context, e audit.Event, before int64) error {
	kind, keyed := KeyKindOf(confirm.Surface(e.Surface))
	if !keyed {
		return nil
	}
	var (
		p confirm.Proof
		v enrolled.Evidence
	)
	if json.Unmarshal(e.Proof, &p) != nil || json.Unmarshal(p.Evidence, &v) != nil || v.Key.Kind != kind || string(p.Surface) != e.Surface {
		return enrolled.ErrUnproven.WithMessage("the record contains no %s", kind.Words())
	}
	d, err := k.enrolment(ctx, v.Key, before)
	if err != nil {
		return err
	}
	if why := k.why(v.Key, d); why != "" && (before == 0 || !d.enrolled || d.removed || k.Verifiers[kind] == nil) {
		return enrolled.ErrUnproven.WithMessage("the %s %s does not count: %s", kind.Words(), v.Key.Name, why)
	}
	return k.Verifiers[kind].Verify(v.Key, enrolled.Challenge(e.Plan, e.CallID), v.Signed)
}

// Check verifies every recorded approval by key with the keys that counted when it was given, and returns those that fail, each as enrolled.ErrForged. The error
// means that the audit log could not be read.
func (k *KeyManager) Check(ctx context.Context) (forged []error, err error) {
	for _, surface := range []confirm.Surface{confirm.SurfacePasskey, confirm.SurfaceTouch} {
		f := audit.Filter{Phase: audit.Answer, Text: string(surface), Limit: audit.MaxListed}
		for {
			found, err := k.Audit.Search(ctx, f)
			if err != nil {
				return forged, err
			}
			for _, r := range found {
				if r.Event.Surface != string(surface) || r.Event.Code != "" || r.Event.Verdict == "cancel" {
					continue
				}
				err := k.holds(ctx, r.Event, r.Seq)
				switch f := fault.From(err); {
				case errors.Is(err, enrolled.ErrUnproven), errors.Is(err, enrolled.ErrKey):
					forged = append(forged, enrolled.ErrForged.WithMessage("audit record %d says that %s approved, but its proof is invalid: %s", r.Seq, surface.Words(), f.Message))
				case err != nil:
					return forged, err
				}
			}
			if len(found) < f.Limit {
				break
			}
			f.Before = found[len(found)-1].Seq
		}
	}
	return forged, nil
}
