package authoring

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// What becomes of a candidate, and why nothing does (agentpack contract appendix B).
const (
	opCreate   = "create"
	opExisting = "skip_existing_module"
	opInvalid  = "skip_invalid"

	reasonExisting  = "module_id_already_exists"
	reasonInvalid   = "invalid_module_source"
	reasonMissing   = "source_missing"
	reasonDuplicate = "duplicate_module_id_in_scan"
)

// ImportItem is one line of the plan.
type ImportItem struct {
	DestExists  bool                  `json:"dest_exists,omitempty"`
	Dest        string                `json:"dest_path"`
	DestPosix   string                `json:"dest_path_posix"`
	ModuleID    string                `json:"module_id"`
	ModuleType  deployment.ModuleType `json:"module_type"`
	Op          string                `json:"op"`
	Scope       deployment.Scope      `json:"scope"`
	SkipReason  string                `json:"skip_reason,omitempty"`
	Source      string                `json:"source_path"`
	SourcePosix string                `json:"source_path_posix"`
	Tags        []string              `json:"tags,omitempty"`
	Targets     []string              `json:"targets,omitempty"`
	module      deployment.Module
	tree        deployment.Tree
}

// judge decides on every candidate.
func (s *importService) judge(ctx context.Context, f *found, candidates []candidate) error {
	deployed, err := s.deployed(ctx, f)
	if err != nil {
		return err
	}
	f.items = []ImportItem{}
	taken := map[string]bool{}
	left := 0
	for _, c := range candidates {
		dest := s.paths().Join(f.at.Repo, c.module.Source.Local)
		i := ImportItem{Dest: dest, DestPosix: deployment.PosixPath(dest), ModuleID: c.module.ID, ModuleType: c.module.Type, Scope: c.scope, Source: c.Path,
			SourcePosix: deployment.PosixPath(c.Path), Tags: c.module.Tags, Targets: c.module.Targets, module: c.module}
		_, unknown := f.config.Manifest.Module(c.module.ID)
		switch {
		case unknown == nil:
			i.Op, i.SkipReason = opExisting, reasonExisting
		case deployed(c.Path):
			left++
			f.leave(c.Path, leftDeployed)
			continue
		case taken[c.module.ID]:
			i.Op, i.SkipReason = opInvalid, reasonDuplicate
		default:
			if err := s.check(ctx, f, c, &i); err != nil {
				return err
			}
			taken[c.module.ID] = i.Op == opCreate
		}
		f.items = append(f.items, i)
	}
	if left > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("sources left out because a deployment wrote them: %d", left))
	}
	return nil
}

// check reads a candidate and holds it to the rules of its type.
func (s *importService) check(ctx context.Context, f *found, c candidate, i *ImportItem) error {
	i.Op, i.SkipReason = opInvalid, reasonMissing
	if c.Kind == deployment.Absent {
		f.warnings = append(f.warnings, c.Path+" is a link that leads nowhere, and was left out")
		return nil
	}
	tree, err := s.Scanner.Tree(ctx, c.Path)
	if err == nil {
		i.SkipReason = reasonInvalid
		read := func(content deployment.Content) ([]byte, error) { return s.Compiler.Sources.Content(ctx, content) }
		err = s.valid(c, tree, read)
	}
	switch cause := fault.From(err); {
	case err == nil:
		i.Op, i.SkipReason, i.tree = opCreate, "", tree
		if c.Link && c.Kind == deployment.Directory {
			f.warnings = append(f.warnings, c.Path+": dereferenced symlinked directory source, its files are copied")
		}
	case ctx.Err() != nil:
		return err
	case i.SkipReason == reasonMissing && !errors.Is(err, deployment.ErrConfig):
		i.SkipReason = reasonInvalid // it is there, and cannot be read
		fallthrough
	default:
		f.warnings = append(f.warnings, c.Path+" was left out: "+cause.Message)
	}
	return nil
}

func (s *importService) valid(c candidate, tree deployment.Tree, read func(deployment.Content) ([]byte, error)) error {
	if err := s.paths().Confined(c.module.Source.Local); err != nil {
		return err
	}
	return deployment.ValidateModule(c.module, tree, read, s.Compiler.Configs.Frontmatter)
}

// destinations finds out where something stands already.
func (s *importService) destinations(ctx context.Context, f *found) error {
	var paths []string
	for _, i := range f.items {
		if i.Op == opCreate {
			paths = append(paths, i.Dest)
		}
	}
	o, err := s.Machine.Observe(ctx, deployport.Look{Place: f.at, Paths: paths})
	if err != nil {
		return err
	}
	for n, i := range f.items {
		f.items[n].DestExists = i.Op == opCreate && o.Files[i.Dest].Kind != deployment.Absent
	}
	return nil
}

// deployed reports sources that a deployment wrote, as the manifests of the configured targets tell: they came from modules.
func (s *importService) deployed(ctx context.Context, f *found) (func(path string) bool, error) {
	targets := f.config.Manifest.Targets
	chosen, err := target.SelectTargets(targets, target.AllTargets)
	if err != nil {
		return nil, err
	}
	bare, err := target.Render(target.Input{Place: f.at, Targets: targets, Chosen: chosen, Sep: s.Compiler.Sep})
	if err != nil { // what would stop a deployment stops no import, and nothing was deployed to roots that cannot be worked out
		bare.Roots = nil
	}
	_, codex, err := s.homes(f.at, "")
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{s.paths().Join(codex, "prompts"), s.paths().Join(codex, "skills"), s.paths().Join(f.at.ProjectRoot, ".codex/skills")} { // where deployments wrote before Codex looked elsewhere
		if !slices.ContainsFunc(bare.Roots, func(r deployment.Root) bool { return r.Path == dir }) {
			bare.Roots = append(bare.Roots, deployment.Root{Target: "codex", Path: dir})
		}
	}
	o, err := s.Machine.Observe(ctx, deployport.Look{Place: f.at, Roots: bare.Roots})
	if err != nil {
		return nil, err
	}
	f.warnings = append(f.warnings, o.Warnings...)
	owned := append(o.Owned(), o.Others...)
	return func(path string) bool {
		return slices.ContainsFunc(owned, func(o deployment.Owned) bool {
			return o.Part == nil && deployment.IsBelow(path, o.Path, s.Compiler.Sep)
		})
	}, nil
}
