package work

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/planpage"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present/foreshown"
	"github.com/countersign-dev/countersign/domain/confirm"
)

// diffsShown bounds the diffs on a page, in bytes.
const diffsShown = 256 << 10

// Diffs are the diffs behind a plan that only lists files: those that were made when it was asked, else those of now, as long as they are still of that
// plan; nil where there are none.
func (d *Desk) Diffs(ctx context.Context, v httpguard.Visitor, c confirm.View) markup.Node {
	if shown := planpage.Exhibit(c.Exhibit); shown != nil {
		return shown
	}
	name, args, ok := foreshown.Call(c.Tool, c.Arguments)
	if !ok {
		return nil
	}
	out := d.door.Call(ctx, v.Call(name, args))
	if out.Err != nil {
		return nil // the page of deployments says why; the plan stands by itself
	}
	var parts markup.Group
	left := diffsShown
	for _, f := range foreshown.Files(c.Plan, out.Value) {
		if left -= len(f.Unified); left < 0 {
			parts = append(parts, page.Notice(page.Warn, page.Text("There are more diffs than fit here; the page of deployments has them all.")))
			break
		}
		parts = append(parts, page.Fold(page.Printable(f.Path), true, page.Diff("changes of "+page.Printable(f.Path), f.Unified)))
	}
	if len(parts) == 0 {
		return nil
	}
	return parts
}
