package local

import (
	"context"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/ports"
)

// journals records in the audit log which operation log a deployment home has.
type journals struct {
	audit ports.AuditLog
	clock ports.Clock
}

var _ deployfile.Operations = journals{}

// log returns the same for every path to the home: later processes may use another link.
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

// records are the lists of sums of a home's records, which are kept as they follow each other.
func (j journals) records(home string) audit.OperationLog {
	log := j.log(home)
	log.Tool = "deployment_records"
	return log
}

func (j journals) Keep(ctx context.Context, home string, sums []byte) error {
	return j.audit.Append(ctx, j.records(home).Ended(j.clock.Now(), sums))
}

func (j journals) Kept(ctx context.Context, home string, sums []byte) (last, before bool, err error) {
	newest, err := j.audit.Search(ctx, j.records(home).Filter())
	if err != nil {
		return false, false, err
	}
	for i := range newest {
		if _, kept := j.records(home).Judge(newest[i:i+1], sums); kept {
			return i == 0, true, nil
		}
	}
	return false, false, nil
}

func (j journals) End(ctx context.Context, home string, journal []byte) error {
	return j.audit.Append(ctx, j.log(home).Ended(j.clock.Now(), journal))
}
