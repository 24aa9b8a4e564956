package planner

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/policy"
)

// InspectFunc returns the findings of a module's file, the most severe first.
type InspectFunc func(ctx context.Context, id string, f deployment.File) ([]inspection.Finding, error)

// Inspector scans files, one after the other, unless their findings are already known.
func (c Compiler) Inspector() InspectFunc {
	var eye *inspection.Inspector
	return func(ctx context.Context, id string, f deployment.File) ([]inspection.Finding, error) {
		of := judged{id, f.Path, f.Mode, f.Content.Sum}
		if all, known := c.Judged.found(of); known {
			return all, nil
		}
		look := inspection.File{ModuleID: id, Path: f.Path, Mode: f.Mode, Size: f.Content.Size}
		if f.Content.Size <= inspection.MaxBytes { // a longer one is reported as not read
			var err error
			if look.Data, err = c.Sources.Content(ctx, f.Content); err != nil {
				return nil, err
			}
			c.Judged.setHandover(f.Content.Sum, deployment.TextHandover(look.Data))
		}
		if eye == nil {
			eye = inspection.New(c.Configs.Frontmatter)
		}
		all := eye.Inspect(look)
		c.Judged.setFound(of, all)
		return all, nil
	}
}

// Tree scans all of a module's files.
func (look InspectFunc) Tree(ctx context.Context, id string, tree deployment.Tree) (out []inspection.Finding, err error) {
	for _, f := range tree {
		found, err := look(ctx, id, f)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	inspection.Sort(out)
	return out, nil
}

// InspectChanges scans the modules of which changes write something.
func (c Compiler) InspectChanges(ctx context.Context, s State, changes []deployment.Change) ([]inspection.Finding, error) {
	written := map[string]bool{}
	for _, change := range changes {
		if change.Op == deployment.OpDelete {
			continue
		}
		for _, id := range change.Modules {
			written[id] = true
		}
	}
	if len(written) == 0 {
		return nil, nil
	}
	return c.inspectModules(ctx, s, func(id string) bool { return written[id] })
}

// InspectAll scans every module that is deployed.
func (c Compiler) InspectAll(ctx context.Context, s State) ([]inspection.Finding, error) {
	return c.inspectModules(ctx, s, func(string) bool { return true })
}

// inspectModules scans modules concurrently; the result does not depend on the order.
func (c Compiler) inspectModules(ctx context.Context, s State, wanted func(id string) bool) (out []inspection.Finding, err error) {
	all := slices.DeleteFunc(slices.Clone(s.Modules), func(m Module) bool { return !wanted(m.ID) })
	const least = 64 // modules per goroutine: making an inspector takes longer than scanning one of them
	share := max(least, (len(all)+inspectors-1)/inspectors)
	found := make([][]inspection.Finding, (len(all)+share-1)/share)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(inspectors)
	for n, some := range slices.Collect(slices.Chunk(all, share)) {
		group.Go(func() error {
			look := c.Inspector()
			for _, m := range some {
				of, err := look.Tree(inner, m.ID, m.Tree)
				if err != nil {
					return err
				}
				found[n] = append(found[n], of...)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out = slices.Concat(found...)
	inspection.Sort(out)
	return out, nil
}

// inspectors is how many goroutines look through modules.
const inspectors = 4

// MaxFindings is the maximum number of findings in an answer, the most severe first.
const MaxFindings = 200

// Told returns the findings that an answer carries.
func Told(all []inspection.Finding) []inspection.Finding { return all[:min(len(all), MaxFindings)] }

// RaisedBy returns an assessment that requires the user to type the names of the modules with severe findings, if there are any.
func RaisedBy(all []inspection.Finding, a policy.Assessment) policy.Assessment {
	if inspection.Name(all) == "" {
		return a
	}
	return a.Raised(policy.Assessment{Risk: policy.RiskHigh, Human: policy.Typed})
}
