package local

import (
	"context"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/ports"
)

// journals has the audit know which journal a home of deployments has.
type journals struct {
	audit ports.AuditLog
	clock ports.Clock
}

var _ deployfile.Operations = journals{}

// log returns the same whatever links lead to the home: who comes after may have gone another way.
func (j journals) log(home string) audit.OperationLog {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return audit.OperationLog{Tool: "deployment_operation", Place: map[string]string{"home": filepath.Clean(home)}}
}

func (j journals) Begin(ctx context.Context, home string, journal []byte) error {
	return j.audit.Append(ctx, j.log(home).Begun(j.clock.Now(), journal))
}

func (j journals) Known(ctx context.Context, home string, journal []byte) (bool, error) {
	newest, err := j.audit.Search(ctx, j.log(home).Filter())
	if err != nil {
		return false, err
	}
	open, _ := j.log(home).Judge(newest, journal)
	return open, nil
}

func (j journals) End(ctx context.Context, home string, journal []byte) error {
	return j.audit.Append(ctx, j.log(home).Ended(j.clock.Now(), journal))
}
