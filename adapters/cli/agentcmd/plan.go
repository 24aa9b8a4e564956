package agentcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
)

func tintOf(op string) command.Tint {
	switch op {
	case "create":
		return command.Added
	case "delete":
		return command.Removed
	}
	return command.Changed
}

// Directories shows which directories a plan writes into: first the project that one stands in ("" for none), then those outside of it, one for each target.
func (s Screen) Directories(p present.Plan, project string) {
	below := func(path string) bool {
		return project != "" && strings.HasPrefix(path+string(filepath.Separator), strings.TrimSuffix(project, string(filepath.Separator))+string(filepath.Separator))
	}
	inside := 0
	for _, at := range p.Places {
		if below(at.Path) {
			inside += at.Summary.Total()
		}
	}
	if len(p.Places) > 0 { // not all changes are here
		if inside > 0 {
			s.insideProject(project, inside)
		}
		for _, at := range p.Places {
			if !below(at.Path) {
				s.Line("writes into %s (%s, %s)", command.Plain(at.Path), command.Plain(at.Target), count(at.Summary.Total(), "file", "files"))
			}
		}
		return
	}
	within, outside := map[string]bool{}, map[string]string{}
	for _, c := range p.Changes {
		if below(c.Path) {
			within[c.Path] = true
			continue
		}
		dir, there := outside[c.Target]
		if !there {
			dir = filepath.Dir(c.Path)
		}
		for !strings.HasPrefix(c.Path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator)) {
			dir = filepath.Dir(dir)
		}
		outside[c.Target] = dir
	}
	if inside = len(within); inside > 0 {
		s.insideProject(project, inside)
	}
	for _, target := range slices.Sorted(maps.Keys(outside)) {
		s.Line("writes into %s (%s)", command.Plain(outside[target]), command.Plain(target))
	}
}

func (s Screen) insideProject(project string, files int) {
	s.Line("writes into the project %s (%s; --project-root names another)", command.Plain(project), count(files, "file", "files"))
}

// How many changes people are shown one by one: a plan of more than manyChanges is cut to about a page, of which each change takes a line.
const (
	manyChanges = 60
	pageChanges = 40
)

// page is the changes that are shown of a long plan, what concerns files that are there already before what is new.
func page(all []present.Change) []present.Change {
	var out []present.Change
	for _, creates := range []bool{false, true} {
		for _, c := range all {
			if len(out) < pageChanges && (c.Op == "create") == creates {
				out = append(out, c)
			}
		}
	}
	return out
}

// Changes shows one line for each change, of a long plan for the most important ones, unless all are asked for.
func (s Screen) Changes(p present.Plan, all bool) {
	total := p.Len()
	if !all && total > manyChanges {
		p.Changes = page(p.Changes)
	}
	p.Omitted = total - len(p.Changes)
	wide := 0
	for _, c := range p.Changes {
		wide = max(wide, len(c.Target))
	}
	for _, c := range p.Changes {
		line := fmt.Sprintf("%s  %-*s  %s", s.Tinted(fmt.Sprintf("%-6s", c.Op), tintOf(c.Op)), wide, command.Plain(c.Target), command.Plain(c.Path))
		if note := c.Note(); note != "" {
			line += "  " + s.Tinted("("+note+")", command.Faded)
		}
		s.Line("%s", line)
	}
	if p.Omitted > 0 {
		s.Line("… and %d more; countersign agents plan --all lists every one, preview --diff shows every line", p.Omitted)
	}
}

// Total shows the line that counts the files.
func (s Screen) Total(p present.Plan) {
	sum := p.Files()
	s.Line("Plan: %s %s %s", s.Tinted(fmt.Sprintf("+%d", sum.Create), command.Added), s.Tinted(fmt.Sprintf("~%d", sum.Update), command.Changed),
		s.Tinted(fmt.Sprintf("-%d", sum.Delete), command.Removed))
}

// Plan shows the data of plan.
func (s Screen) Plan(data json.RawMessage, all bool) error {
	p, err := DecodeData[present.Plan](data)
	if err != nil {
		return err
	}
	s.Changes(p, all)
	s.Total(p)
	return nil
}

// preview is the data of preview.
type preview struct {
	Findings []present.Finding `json:"findings"`
	Plan     present.Plan      `json:"plan"`
	Diff     struct {
		Files []deployments.FileDiff `json:"files"`
	} `json:"diff"`
}

// Preview shows the data of preview: the changes, and the diffs where there are any.
func (s Screen) Preview(ctx context.Context, data json.RawMessage, all bool) error {
	p, err := DecodeData[preview](data)
	if err != nil {
		return err
	}
	s.Changes(p.Plan, all)
	if err := s.Diffs(ctx, p.Diff.Files); err != nil {
		return err
	}
	s.Findings(p.Findings)
	s.Total(p.Plan)
	return nil
}

// Diffs shows files as unified diffs, in the person's pager where they are longer than the screen.
func (s Screen) Diffs(ctx context.Context, files []deployments.FileDiff) error {
	return s.diffs(ctx, files, false)
}

// diffs is Diffs; listed are files that stand above it already, so that the only one of them is not named again.
func (s Screen) diffs(ctx context.Context, files []deployments.FileDiff, listed bool) error {
	var doc strings.Builder
	for _, f := range files {
		if listed && len(files) == 1 && f.Unified != nil {
			doc.WriteString(s.Diff(strings.TrimSuffix(*f.Unified, "\n") + "\n"))
			continue
		}
		if listed { // what becomes of it is said there
			doc.WriteString(s.Tinted(strings.TrimSuffix(f.RootPosix, "/")+"/"+f.PathPosix, command.Heading) + "\n")
		} else {
			doc.WriteString(s.Tinted(fmt.Sprintf("%s %s %s/%s", f.Op, f.Target, strings.TrimSuffix(f.RootPosix, "/"), f.PathPosix), command.Heading) + "\n")
		}
		switch {
		case f.Unified != nil:
			doc.WriteString(s.Diff(*f.Unified))
			if !strings.HasSuffix(*f.Unified, "\n") && *f.Unified != "" {
				doc.WriteByte('\n')
			}
		case f.Op != "delete":
			doc.WriteString("(no text to show)\n")
		}
	}
	return s.Page(ctx, doc.String())
}

// Adoptions names what would be overwritten or deleted of somebody's own work, and reports whether there is any.
func (s Screen) Adoptions(p present.Plan) bool {
	known := map[string]bool{}
	own := slices.DeleteFunc(p.Adoptions(), func(c present.Change) bool { // of a file of several targets it is said once
		again := known[c.Path]
		known[c.Path] = true
		return again
	})
	if len(own) == 0 {
		return false
	}
	s.Line("%s", s.Tinted(count(len(own), "file is", "files are")+" unmanaged:", command.Heading))
	for _, c := range own {
		s.Line("  %s  %s", s.Tinted(command.Plain(c.Path), command.Removed), c.Note())
	}
	return true
}

// Deployed shows the data of a deployment or bootstrap that was carried out, or would be.
func (s Screen) Deployed(data json.RawMessage) error {
	p, err := DecodeData[present.Plan](data)
	switch {
	case err != nil:
		return err
	case !p.Applied:
		s.Line("nothing to change")
	case p.Summary.Empty():
		s.Line("nothing to change; the deployed files are recorded as snapshot %s", command.Plain(p.SnapshotID))
	default:
		sum := p.Files()
		s.Line("deployed: %d created, %d updated, %d deleted; snapshot %s", sum.Create, sum.Update, sum.Delete, command.Plain(p.SnapshotID))
		s.Note("to undo it: countersign agents rollback ID, with the ID of an earlier snapshot (countersign agents snapshots), or initial for the state before the first deployment")
	}
	return nil
}
