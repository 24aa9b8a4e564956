package authoring

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ModuleData is the data of add and remove (agentpack contract §5.2).
type ModuleData struct {
	Manifest      string `json:"manifest"`
	ManifestPosix string `json:"manifest_posix"`
	ModuleID      string `json:"module_id"`
}

func (s *service) moduleEdit(ctx context.Context, at deployment.Locations, command, id string, edit deployport.ManifestEdit) (*planner.Edit[ModuleData], error) {
	w, err := s.Compiler.Configs.Edit(ctx, at.Repo, edit)
	if err != nil {
		return nil, err
	}
	path := s.in(at.Repo, deployment.ManifestFile)
	return &planner.Edit[ModuleData]{Command: command + " " + id, Place: at, Writes: []deployment.Write{w},
		Report: planner.NewReport(ModuleData{Manifest: path, ManifestPosix: deployment.PosixPath(path), ModuleID: id})}, nil
}

// prepareAdd works out the manifest with a module more.
func (s *service) prepareAdd(ctx context.Context, _ tool.Scope, c AddInput) (*planner.Edit[ModuleData], error) {
	source, err := deployment.ParseSource(c.Source)
	if err != nil {
		return nil, err
	}
	m := deployment.Module{ID: strings.TrimSpace(c.ID), Type: c.ModuleType, Enabled: true, Tags: words(c.Tags),
		Targets: words(c.Targets), Source: source}
	if m.ID == "" {
		m.ID = string(c.ModuleType) + ":" + source.SpecName()
	}
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	e, err := s.moduleEdit(ctx, at, "add", m.ID, deployport.ManifestEdit{Add: &m})
	if err != nil {
		return nil, err
	}
	e.Report.Warnings = append(e.Report.Warnings, s.doubts(ctx, at, m)...)
	if config, err := s.config(ctx, at, false); err == nil { // what is wrong with it is told by whoever reads it
		e.Report.Warnings = append(e.Report.Warnings, target.NoPlace(config.Manifest.Targets, m)...)
	}
	if m.Source.Git != nil {
		e.From = []string{m.Source.Git.URL}
	}
	return e, ctx.Err()
}

// words returns the texts that say something, each once.
func words(list []string) []string {
	var out []string
	for _, word := range list {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// doubts returns what would keep a module in the config repository from being deployed: no reason not to list it, since its files and overlays may
// come later.
func (s *service) doubts(ctx context.Context, at deployment.Locations, m deployment.Module) (warnings []string) {
	if len(m.Tags) == 0 {
		warnings = append(warnings, m.ID+" has no tags: only profiles that name it in include_modules deploy it")
	}
	if m.Source.Git != nil {
		return warnings
	}
	if config, err := s.Compiler.Configs.Load(ctx, at.Repo); err == nil { // what is wrong with it is said when it is edited
		warnings = append(warnings, calledAlike(config.Manifest.Modules, m)...)
	}
	tree, err := s.Compiler.Sources.Local(ctx, at, m.Source.Local)
	if err == nil {
		read := func(content deployment.Content) ([]byte, error) { return s.Compiler.Sources.Content(ctx, content) }
		err = deployment.ValidateModule(m, tree, read, s.Compiler.Configs.Frontmatter)
		warnings = append(warnings, clashing(m.ID, tree)...)
	}
	if err != nil {
		warnings = append(warnings, m.ID+" cannot be deployed as it is: "+fault.From(err).Message)
	}
	return warnings
}

// calledAlike returns modules of the same type whose names differ from that of a module in upper and lower case alone: they are deployed to the same
// place there.
func calledAlike(all []deployment.Module, m deployment.Module) (warnings []string) {
	for _, other := range all {
		if other.Type == m.Type && other.ID != m.ID && other.Name() != m.Name() && strings.EqualFold(other.Name(), m.Name()) {
			warnings = append(warnings, fmt.Sprintf("%s and %s differ in upper and lower case alone; on macOS and Windows they are deployed to one place, so give one of them another id", other.ID, m.ID))
		}
	}
	return warnings
}

// prepareRemove works out the manifest with a module less.
func (s *service) prepareRemove(ctx context.Context, _ tool.Scope, c RemoveInput) (*planner.Edit[ModuleData], error) {
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	if c.ModuleID == "" { // nothing to remove would be an edit that changes nothing
		return nil, tool.ErrArguments.WithMessage("module_id is empty; name the module to remove")
	}
	return s.moduleEdit(ctx, at, "remove", c.ModuleID, deployport.ManifestEdit{Remove: c.ModuleID})
}
