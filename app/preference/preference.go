// Package preference keeps what people set, product-wide: each change starts from what is in force, and is on record before it is made.
//
// It refuses to know what settings mean: they are policy's.
package preference

import (
	"context"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// auditTool is the name under which changes of the settings stand in the audit. It is no tool: only people change settings.
const auditTool = "settings"

// Parts is what a Keeper works with. Every field is required.
type Parts struct {
	Settings ports.SettingsStore
	Audit    ports.AuditLog
	Clock    ports.Clock
	IDs      ports.IDs
	Operator policy.Policy // what the first settings start from
}

// Keeper keeps settings. It is safe for concurrent use; New makes it.
type Keeper struct{ Parts }

// New is a keeper of those settings. It opens nothing.
func New(p Parts) *Keeper { return &Keeper{p} }

// Change runs change on the settings and stores what it leaves, unless change fails. The first settings start from the operator's, which they
// replace. by is who asks ("terminal"). Settings that somebody else changes meanwhile are a ports.ErrSettingsConflict.
func (k *Keeper) Change(ctx context.Context, by string, change func(*ports.Settings) error) (ports.Settings, error) {
	s, err := k.Settings.Load(ctx)
	if err != nil {
		return ports.Settings{}, err
	}
	if s.Revision == 0 {
		s.Tools, s.Auto = k.Operator.Tools, k.Operator.Auto
	}
	s.Tools, s.Auto.Tools = maps.Clone(s.Tools), slices.Clone(s.Auto.Tools)
	if err := change(&s); err != nil {
		return ports.Settings{}, err
	}
	args, err := tool.Encode(s)
	if err != nil {
		return ports.Settings{}, err
	}
	e := audit.Event{Time: k.Clock.Now(), Phase: audit.Intent, CallID: k.IDs.NewID("call_", 16), Tool: auditTool, Args: args, ApprovedBy: by}
	if err := k.Audit.Append(ctx, e); err != nil {
		return ports.Settings{}, err
	}
	saved, err := k.Settings.Save(ctx, s)
	e.Phase, e.Time, e.Args = audit.Outcome, k.Clock.Now(), nil
	if err != nil {
		e.Code = string(fault.From(err).Code)
	}
	if auditErr := k.Audit.Append(context.WithoutCancel(ctx), e); err == nil {
		err = auditErr
	}
	return saved, err
}
