package homepages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Thresholds of free space, in bytes, and how long results are cached.
const (
	littleSpace = 1 << 30
	noSpace     = 100 << 20
	fresh       = time.Minute
)

// check is the result of one check: its tone, the details, and a command that helps; empty for none.
type check struct{ name, tone, found, advice string }

// checks runs the checks and caches their results, because the page reloads after every event.
type checks struct {
	core    Core
	machine Machine
	now     func() time.Time

	mu   sync.Mutex
	made time.Time
	last []check
}

// results returns the results of the checks.
func (c *checks) results(ctx context.Context) []check {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made.IsZero() || c.now().Sub(c.made) > fresh {
		ctx = context.WithoutCancel(ctx) // closing the page must not cancel checks whose results other pages show
		c.last, c.made = []check{c.database(ctx), c.auditLog(ctx), c.disk(), c.policy(ctx)}, c.now()
	}
	return slices.Clone(c.last)
}

func (c *checks) database(ctx context.Context) check {
	damage, err := c.machine.Damage(ctx)
	switch {
	case err != nil:
		return check{"Database", ui.Bad, fault.From(err).Message, "countersign doctor"}
	case len(damage) > 0:
		return check{"Database", ui.Bad, "damaged: " + strings.Join(damage, "; "), "countersign restore FILE"}
	}
	return check{"Database", ui.Good, "no damage found", ""}
}

func (c *checks) auditLog(ctx context.Context) check {
	r, err := c.core.CheckNewAudit(ctx)
	if err == nil {
		err = r.Err()
	}
	switch {
	case errors.Is(err, audit.ErrUnchecked):
		return check{"Audit log", ui.Warn, fault.From(err).Message, "countersign audit status"}
	case err != nil:
		return check{"Audit log", ui.Bad, fault.From(err).Message, "countersign audit verify"}
	}
	return check{"Audit log", ui.Good, ui.Count(int(r.Records), "record", "records") + ", hash chain valid", ""}
}

func (c *checks) disk() check {
	free, err := c.machine.Free()
	found := fmt.Sprintf("%.1f GB free", float64(free)/1e9)
	switch {
	case err != nil:
		return check{"Disk", ui.Plain, "free space unknown", ""}
	case free < noSpace:
		return check{"Disk", ui.Bad, found + ": free disk space; changes that cannot be recorded are denied", ""}
	case free < littleSpace:
		return check{"Disk", ui.Warn, found + ": free disk space soon", ""}
	}
	return check{"Disk", ui.Good, found, ""}
}

func (c *checks) policy(ctx context.Context) check {
	rules, err := c.core.PolicyInForce(ctx)
	switch {
	case err != nil:
		return check{"Policy", ui.Bad, fault.From(err).Message, "countersign policy show"}
	case len(rules.Missing) > 0:
		return check{"Policy", ui.Warn, strings.Join(rules.Missing, "; "), "countersign policy show"}
	case rules.Approval.ByCaller():
		return check{"Policy", ui.Warn, "approvals are disabled: clients approve their own calls", "countersign policy show"}
	}
	return check{"Policy", ui.Good, "you approve changes", ""}
}

// hostChecks returns the state of the agent hosts that have an entry.
func hostChecks(hosts []host) (out []check) {
	for _, h := range hosts {
		again := "countersign connect " + h.Host
		switch h.State {
		case connected:
			out = append(out, check{h.Title, ui.Good, "connected", ""})
		case "outdated":
			out = append(out, check{h.Title, ui.Bad, "the entry starts another program or uses another COUNTERSIGN_HOME: " + h.Detail, again})
		case "unreadable", "other_entry":
			out = append(out, check{h.Title, ui.Warn, h.Detail, again})
		}
	}
	return out
}

// healthPanel returns the results, problems first.
func healthPanel(all []check) ui.Node {
	rank := map[string]int{ui.Bad: 0, ui.Warn: 1}
	word := map[string]string{ui.Bad: "Failed", ui.Warn: "Warning", ui.Good: "OK", ui.Plain: "Unknown"}
	order := func(c check) int {
		if n, wrong := rank[c.tone]; wrong {
			return n
		}
		return len(rank)
	}
	slices.SortStableFunc(all, func(a, b check) int { return order(a) - order(b) })
	var rows []ui.Node
	for _, c := range all {
		rows = append(rows, ui.Row(ui.Text(ui.Printable(c.name)), ui.Badge(c.tone, word[c.tone]), ui.Group{ui.Text(ui.Printable(c.found) + " "), ui.OptionalCode(c.advice)}))
	}
	return ui.Part("Health", ui.DataTable("Health", []string{"Check", "Status", "Details"}, rows, ""),
		ui.P(ui.Class("quiet"), ui.Text("In a terminal, run "), ui.InlineCode("countersign doctor"), ui.Text(" for more checks and for repairs.")))
}
