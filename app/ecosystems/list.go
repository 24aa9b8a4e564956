package ecosystems

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// tableLines is the maximum number of rows in an answer for users; further rows are only counted.
const tableLines = 13

// ListInput chooses ecosystems.
type ListInput struct {
	Retired bool `json:"include_retired,omitempty" jsonschema:"description=list retired ones too"`
}

// EcosystemItem is an ecosystem in a list.
type EcosystemItem struct {
	Name         string   `json:"name"`
	Path         string   `json:"path"` // absolute
	Description  string   `json:"description"`
	ReposCount   int      `json:"repos_count"`
	Repos        []string `json:"repos"`
	Provisioner  *string  `json:"provisioner"`
	Installed    bool     `json:"installed"`
	ActiveTicket *string  `json:"active_ticket"`
	KB           int      `json:"kb_files_count"`
	Journal      int      `json:"journal_files_count"`
	Tasks        int      `json:"active_tasks"`
	Selected     bool     `json:"selected"`
	Retired      bool     `json:"retired,omitempty"`
	Problem      string   `json:"problem,omitempty"` // why it cannot be worked with
}

// EcosystemList is a workspace's ecosystems, by name.
type EcosystemList struct {
	Ecosystems []EcosystemItem `json:"ecosystems"`
	Count      int             `json:"count"`
	Root       string          `json:"workspace_root"`
	runs.Envelope
}

// list reads files alone: it starts no git.
func (s service) list(ctx context.Context, sc tool.Scope, in ListInput) (EcosystemList, error) {
	root, err := s.Places.Root(ctx)
	if err != nil {
		return EcosystemList{}, err
	}
	names, err := s.Manifests.Names(ctx, root)
	if err != nil {
		return EcosystemList{}, err
	}
	focus, err := s.Focus(ctx, sc)
	if err != nil {
		return EcosystemList{}, err
	}
	out := EcosystemList{Ecosystems: []EcosystemItem{}, Root: root}
	for _, name := range names {
		item := s.item(ctx, root, name)
		if ctx.Err() != nil {
			return EcosystemList{}, fault.From(ctx.Err())
		}
		if item.Retired && !in.Retired {
			continue
		}
		item.Selected = name == focus.Ecosystem
		out.Ecosystems = append(out.Ecosystems, item)
	}
	out.Count = len(out.Ecosystems)
	out.Envelope = s.Show(sc, runs.Subject{}, runs.AnswerText{Summary: "Listed " + count(out.Count, "ecosystem"), Details: table(out.Ecosystems)}, afterList(out.Ecosystems)...)
	return out, nil
}

// item returns one ecosystem, whatever is wrong with it.
func (s service) item(ctx context.Context, root, name string) EcosystemItem {
	item := EcosystemItem{Name: name, Repos: []string{}}
	l, err := s.Places.Layout(ctx, root, name)
	if err != nil {
		item.Problem = fault.From(err).Message
		return item
	}
	item.Path = l.Dir
	f, err := s.FindAt(ctx, root, name)
	if err != nil {
		item.Problem = fault.From(err).Message
		return item
	}
	if err := f.Sound(); err != nil {
		item.Problem = fault.From(err).Message
	}
	m := f.Manifest()
	item.Description, item.Provisioner, item.Retired = m.Description, tool.NilIfZero(m.Provisioner), m.Retired
	item.Repos, item.ReposCount = ecosystem.RepoNames(m.Repos), len(m.Repos)
	item.Installed, item.ActiveTicket = f.State.Installed(), f.State.ActiveTicket
	counts, err := s.Manifests.Counts(ctx, l)
	if err != nil && item.Problem == "" {
		item.Problem = fault.From(err).Message
	}
	item.KB, item.Journal, item.Tasks = counts.KB, counts.Journal, counts.Tasks
	return item
}

func table(items []EcosystemItem) (lines []string) {
	for i, item := range items {
		if i == tableLines {
			return append(lines, fmt.Sprintf("… and %d more", len(items)-i))
		}
		state := "not installed"
		switch {
		case item.Problem != "":
			state = "has problems"
		case item.ActiveTicket != nil:
			state = "ticket " + *item.ActiveTicket
		case item.Installed:
			state = "installed"
		}
		mark := " "
		if item.Selected {
			mark = "*"
		}
		lines = append(lines, fmt.Sprintf("%s %-24s %-16s %s", mark, item.Name, count(item.ReposCount, "repo"), state))
	}
	return lines
}

// afterList suggests working on what is selected, else on the first.
func afterList(items []EcosystemItem) []runs.Action {
	if len(items) == 0 {
		return []runs.Action{runs.SuggestAction("create_ecosystem", "", nil)}
	}
	for _, item := range items {
		if item.Selected {
			return []runs.Action{runs.SuggestAction("status", item.Name, nil), runs.SuggestAction("describe", item.Name, nil)}
		}
	}
	return []runs.Action{runs.SuggestAction("switch_ecosystem", items[0].Name, nil), runs.SuggestAction("describe", items[0].Name, nil)}
}

// count returns a number of things, in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if rest := len(thing) - 1; thing[rest] == 'y' {
		return fmt.Sprintf("%d %sies", n, thing[:rest])
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
