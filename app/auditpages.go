package app

import (
	"context"
	"iter"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/ports"
)

// page is the number of records read at a time.
const page = 1000

// AuditRecords yields the records after the given sequence number (0 for all), oldest first, page by page. It stops at an error.
func AuditRecords(ctx context.Context, log ports.AuditLog, after int64) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for {
			records, err := log.Records(ctx, after, page)
			if err != nil {
				yield(audit.Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
				after = r.Seq
			}
			if len(records) < page {
				return
			}
		}
	}
}
