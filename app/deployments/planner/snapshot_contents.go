package planner

import (
	"context"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// FillContents adds the stored contents, by sum, to the writes of a rollback. It fails with ErrSnapshotDamaged if one is lost.
func FillContents(ctx context.Context, t *deployment.Transaction, kept deployport.Snapshots) error {
	kept, done, err := kept.Open(ctx, t.Place.Home)
	if err != nil {
		return err
	}
	defer done()
	for i, w := range t.Writes {
		if w.After.Kind != deployment.Regular || w.Data.Data != nil {
			continue
		}
		data, err := kept.Blob(ctx, t.Place.Home, w.Data.Sum)
		if err != nil {
			return err
		}
		t.Writes[i].Data = deployment.ContentOf(data)
		t.Writes[i].After.Size = int64(len(data))
	}
	return nil
}
