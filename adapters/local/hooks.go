package local

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
)

// ServeHooks lets signed requests start the workflows that the user has opened to them, on a loopback address, until ctx ends. Where it
// listens, and then every answer, is reported in a line.
func (l *Local) ServeHooks(ctx context.Context, addr string, report func(line string)) error {
	return Hooks{Door: l.App, Flows: sqlitestore.NewCatalogue(l.store).Workflows}.Serve(ctx, addr, report)
}
