package authoring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The operations, and the reasons for skipping a candidate (agentpack contract appendix B).
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
	Also        []string              `json:"also_at,omitempty"` // other locations of exactly the same content
	AsIs        bool                  `json:"as_is,omitempty"`   // its file is imported in the form of its targets, only for them
	Aside       string                `json:"aside_reason,omitempty"`
	DestExists  bool                  `json:"dest_exists,omitempty"`
	Dest        string                `json:"dest_path"`
	DestPosix   string                `json:"dest_path_posix"`
	Disabled    bool                  `json:"disabled,omitempty"` // the module is imported and disabled, because deploying it would change something
	Key         string                `json:"key,omitempty"`      // of the document that contains it
	ModuleID    string                `json:"module_id"`
	ModuleType  deployment.ModuleType `json:"module_type"`
	Op          string                `json:"op"`
	References  []ImportReference     `json:"references,omitempty"`
	Scope       deployment.Scope      `json:"scope"`
	SkipReason  string                `json:"skip_reason,omitempty"`
	Source      string                `json:"source_path"`
	SourcePosix string                `json:"source_path_posix"`
	Tags        []string              `json:"tags,omitempty"`
	Targets     []string              `json:"targets,omitempty"`
	module      deployment.Module
	tree        deployment.Tree
	repo        string
}

// The reasons for importing and disabling a module, besides those in the tables of agents.
const (
	asideSecret  = "holds_references_to_set" // a literal secret became a reference: the variable must be set first
	asideOption  = "switched_off"            // an option of the target says so
	asideScope   = "scope_of_target"
	asideElse    = "other_place_chosen" // the agent's files of that kind go to another of its directories
	asideChanges = "would_be_written_differently"
)

// judge decides about every candidate.
func (s *importService) judge(ctx context.Context, f *found, candidates []candidate) error {
	deployed, err := s.deployed(ctx, f)
	if err != nil {
		return err
	}
	f.items = []ImportItem{}
	f.config.Manifest.Targets = maps.Clone(f.config.Manifest.Targets)
	had := f.config.Manifest.Targets
	taken := map[string]bool{}
	left := 0
	var checked []candidate
	for _, c := range candidates {
		i := c.item(s.paths(), f.at.Repo)
		known, unknown := f.config.Manifest.Module(c.module.ID)
		switch {
		case unknown == nil:
			i.Op, i.SkipReason = opExisting, reasonExisting
			if !deployed(c) && s.differs(ctx, f, c, known) {
				f.differ = append(f.differ, c.Path)
			}
		case deployed(c):
			left++
			f.leaveKey(c.Path, c.key, leftDeployed)
			continue
		case taken[c.module.ID]:
			i.Op, i.SkipReason = opInvalid, reasonDuplicate
		default:
			if err := s.check(ctx, f, &c, &i); err != nil {
				return err
			}
			taken[c.module.ID] = i.Op == opCreate
		}
		f.items, checked = append(f.items, i), append(checked, c)
	}
	if left > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("sources left out because a deployment wrote them: %d", left))
	}
	if err := s.settle(ctx, f, checked); err != nil {
		return err
	}
	f.config.Manifest.Targets = had
	return nil
}

// differs reports whether a module of the config repository differs from what has its name here, and goes to an agent that has it.
func (s *importService) differs(ctx context.Context, f *found, c candidate, known deployment.Module) bool {
	goes := known.Enabled && known.In(c.scope, f.at.ProjectID) && c.aside != target.KeptUnread && c.aside != asideElse && slices.ContainsFunc(c.from, func(l target.ActiveRule) bool { return known.For(l.Agent) })
	if !goes {
		return false
	}
	if known.Source.Git != nil || c.err != nil && !known.AsIs || known.Type != c.module.Type {
		return true
	}
	tree, err := s.Compiler.Sources.Local(ctx, f.at, known.Source.Local)
	if known.AsIs {
		return err != nil || tree.Sum() != c.own.Sum()
	}
	return err != nil || tree.Sum() != c.tree.Sum()
}

// item returns the line of the plan about a candidate.
func (c candidate) item(n target.Paths, repo string) ImportItem {
	dest := n.Join(repo, c.module.Source.Local)
	return ImportItem{Also: c.also, Dest: dest, DestPosix: deployment.PosixPath(dest), Key: c.key, ModuleID: c.module.ID, ModuleType: c.module.Type, Scope: c.scope, Source: c.Path,
		SourcePosix: deployment.PosixPath(c.Path), Tags: c.module.Tags, Targets: c.module.Targets, References: c.refs, module: c.module, repo: repo}
}

// check checks a candidate against the rules of its type.
func (s *importService) check(ctx context.Context, f *found, c *candidate, i *ImportItem) error {
	i.Op, i.SkipReason = opInvalid, reasonMissing
	if c.Kind == deployment.Absent {
		f.warnings = append(f.warnings, c.Path+" is a link that leads nowhere, and was left out")
		return nil
	}
	err := c.err
	if err == nil {
		i.SkipReason = reasonInvalid
		err = s.valid(*c, c.tree, s.content(ctx))
	}
	if err != nil && ctx.Err() == nil && s.asIs(ctx, c, i) {
		i.SkipReason, err = reasonInvalid, nil
	}
	if err == nil {
		if err = secretless(c, s.content(ctx)); err != nil {
			i.SkipReason = leftSecret
		}
	}
	switch cause := fault.From(err); {
	case err == nil:
		i.Op, i.SkipReason, i.tree = opCreate, "", c.tree
		if c.Link && c.Kind == deployment.Directory {
			f.warnings = append(f.warnings, c.Path+": dereferenced symlinked directory source, its files are copied")
		}
	case ctx.Err() != nil:
		return err
	case i.SkipReason == reasonMissing && !errors.Is(err, deployment.ErrConfig):
		i.SkipReason = reasonInvalid // it exists, and cannot be read
		fallthrough
	default:
		f.warnings = append(f.warnings, c.Path+" was left out: "+cause.Message)
	}
	return nil
}

// asIs makes a candidate a module whose file is in the agents' own form; false if that is not possible.
func (s *importService) asIs(ctx context.Context, c *candidate, i *ImportItem) bool {
	one := *c
	one.tree, one.err, one.module.AsIs = c.own, nil, true
	if len(one.tree) != 1 || one.aside != "" {
		return false
	}
	ext := path.Ext(one.tree[0].Path)
	one.module.Source.Local = strings.TrimSuffix(strings.TrimSuffix(one.module.Source.Local, ".md"), ext) + ext
	if err := s.valid(one, one.tree, s.content(ctx)); err != nil {
		return false
	}
	of := one.item(s.paths(), i.repo)
	*c, i.module, i.AsIs, i.tree, i.Dest, i.DestPosix = one, one.module, true, one.tree, of.Dest, of.DestPosix
	return true
}

func (s *importService) valid(c candidate, tree deployment.Tree, read func(deployment.Content) ([]byte, error)) error {
	if err := s.paths().Confined(c.module.Source.Local); err != nil {
		return err
	}
	return deployment.ValidateModule(c.module, tree, read, s.Compiler.Configs.Frontmatter)
}

// destinations finds the existing destinations.
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

// deployed returns sources that a deployment wrote, according to the manifests of the configured targets: they came from modules.
func (s *importService) deployed(ctx context.Context, f *found) (func(c candidate) bool, error) {
	targets := f.config.Manifest.Targets
	chosen, err := target.SelectTargets(targets, target.AllTargets)
	if err != nil {
		return nil, err
	}
	bare, err := target.Render(target.Input{Place: f.at, Targets: targets, Chosen: chosen, Sep: s.Compiler.Sep})
	if err != nil { // what would stop a deployment does not stop an import, and nothing was deployed to roots that cannot be resolved
		bare.Roots = nil
	}
	_, codex, err := s.homes(f.at, "")
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{s.paths().Join(codex, "prompts"), s.paths().Join(codex, "skills"), s.paths().Join(f.at.ProjectRoot, ".codex/skills")} { // where deployments wrote for earlier versions of Codex
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
	return func(c candidate) bool {
		return slices.ContainsFunc(owned, func(o deployment.Owned) bool {
			if o.Part == nil {
				return deployment.IsBelow(c.Path, o.Path, s.Compiler.Sep)
			}
			return c.path != nil && o.Path == c.Path && slices.ContainsFunc(o.Part.Keys, func(k deployment.Key) bool { return slices.Equal(k.Path, c.path) })
		})
	}, nil
}
