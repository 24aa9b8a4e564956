package local

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
)

// ServeHooks serves incoming webhooks on a loopback address, for the workflows that the user has enabled them for, until ctx ends. The address, and
// then every answer, is reported in a line.
func (l *Local) ServeHooks(ctx context.Context, addr string, report func(line string)) error {
	return Hooks{Door: l.App, Flows: sqlitestore.NewCatalogue(l.store).Workflows}.Serve(ctx, addr, report)
}
