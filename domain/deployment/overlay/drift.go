package overlay

import (
	"fmt"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// shownDigits is how much of a sum a warning shows.
const shownDigits = 12

// drift warns of what upstream changed below a layer since its baseline: for each file that the layer touches, else for the tree as a whole
// (agentpack contract §3.6).
func (c *composer) drift(s subject, touched []string) {
	base := s.layer.Baseline
	if base == nil {
		return
	}
	found := false
	warn := func(format string, args ...any) {
		found = true
		c.warn(fmt.Sprintf("overlay drift (%s) module %s: ", s.Scope, s.Module) + fmt.Sprintf(format, args...) +
			fmt.Sprintf("; to rebase the overlay: countersign agents overlay rebase %s --scope %s", s.Module, s.Scope))
	}
	entries := base.entries()
	for _, path := range touched {
		entry, known := entries[path]
		if !known {
			continue
		}
		now, there := c.in.Upstream.Find(path)
		switch {
		case !there:
			warn("upstream removed %s (baseline %s)", path, entry.Sum.Short(shownDigits))
		case now.Content.Sum != entry.Sum:
			warn("upstream changed %s (%s -> %s)", path, entry.Sum.Short(shownDigits), now.Content.Sum.Short(shownDigits))
		}
	}
	if found {
		return
	}
	if c.sum.IsZero() {
		c.sum = c.in.Upstream.Sum()
	}
	if base.Sum != c.sum {
		warn("upstream changed (%s -> %s)", base.Sum.Short(shownDigits), c.sum.Short(shownDigits))
	}
}

// entries returns the baseline's manifest by path; a nil baseline has none.
func (b *Baseline) entries() map[string]deployment.Entry {
	if b == nil {
		return nil
	}
	out := make(map[string]deployment.Entry, len(b.Manifest))
	for _, e := range b.Manifest {
		out[e.Path] = e
	}
	return out
}
