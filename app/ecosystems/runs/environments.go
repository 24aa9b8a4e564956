package runs

import (
	"context"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
)

// RecordedEnvironment is an environment of which something is recorded.
type RecordedEnvironment struct {
	Environment string     `json:"environment"`
	State       string     `json:"state"` // deploying, deployed, failed, destroying, or unreadable
	Since       *time.Time `json:"since"`
	RunID       *string    `json:"run_id"`
}

// Environments returns the environments of an ecosystem that are deployed, or that a deployment or destruction left in between; the default one first.
func (d Deps) Environments(ctx context.Context, l ecosystem.Layout) ([]RecordedEnvironment, error) {
	dir := strings.TrimSuffix(ecosystem.StateKey(""), "/")
	names, err := d.States.Notes(ctx, l, dir)
	if err != nil {
		return nil, err
	}
	var out []RecordedEnvironment
	for _, name := range names {
		if ecosystem.CheckName(name) != nil {
			continue
		}
		one := RecordedEnvironment{Environment: name, State: "unreadable"}
		doc, err := d.States.Noted(ctx, l, ecosystem.StateKey(name))
		if err != nil {
			return nil, err
		}
		if st, err := ecosystem.DecodeEnvironment(name, doc); err == nil {
			if st.State == ecosystem.PhaseNone || st.State == "" {
				continue
			}
			one = RecordedEnvironment{Environment: name, State: string(st.State), Since: tool.NilIfZero(st.Since), RunID: tool.NilIfZero(st.RunID)}
		}
		if name == ecosystem.DefaultEnvironment {
			out = append([]RecordedEnvironment{one}, out...)
		} else {
			out = append(out, one)
		}
	}
	return out, nil
}
