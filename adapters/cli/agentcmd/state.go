package agentcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/planner"
)

type drift struct {
	Kind    string   `json:"kind"`
	State   string   `json:"state"`
	Target  string   `json:"target"`
	Root    string   `json:"root"`
	Path    string   `json:"path"`
	Modules []string `json:"modules"`
	OwnedBy string   `json:"owned_by"` // another config repository
}

// goes reports a file that the config repository does not want any more, and that nobody edited.
func (d drift) goes() bool { return d.Kind == planner.DriftExtra && d.State == "changed_upstream" }

// word is how the file stands, in the words that are the same everywhere; of one that no deployment manages, its kind.
func (d drift) word() string {
	switch {
	case d.OwnedBy != "" && d.State == "not_deployed":
		return "owned by another"
	case d.goes():
		return present.NotWanted
	}
	return cmp.Or(present.StateWords(d.State), d.Kind)
}

// wide is how wide the words of a list are.
func wide(all []drift) int {
	if slices.ContainsFunc(all, drift.goes) {
		return len(present.NotWanted)
	}
	return len("changed upstream")
}

func (s Screen) driftLine(indent string, wide int, d drift, path string) {
	tint := command.Changed
	switch {
	case d.Kind == "missing", d.State == "conflict":
		tint = command.Removed
	case d.State == "" && d.Kind == "extra":
		tint = command.Faded
	}
	line := indent + s.Tinted(fmt.Sprintf("%-*s", wide, d.word()), tint) + "  " + command.Plain(path)
	if d.Kind == planner.DriftExtra && d.State != "" && !d.goes() {
		line += "  " + s.Tinted("("+present.NotWanted+")", command.Faded)
	}
	if d.OwnedBy != "" {
		line += "  " + s.Tinted("("+command.Plain(present.Held(d.State, d.OwnedBy))+")", command.Faded)
	}
	if len(d.Modules) > 0 {
		line += "  " + s.Tinted("("+strings.Join(d.Modules, ", ")+")", command.Faded)
	}
	s.Line("%s", line)
}

// Status shows the data of status: drift under the root where it is, and what to do next.
func (s Screen) Status(data json.RawMessage) error {
	d, err := DecodeData[struct {
		Drift   []drift             `json:"drift"`
		Omitted int                 `json:"drift_omitted"`
		Next    []string            `json:"next_actions"`
		States  present.StateCounts `json:"summary_by_state"`
	}](data)
	if err != nil {
		return err
	}
	slices.SortStableFunc(d.Drift, func(a, b drift) int {
		if c := strings.Compare(a.Target, b.Target); c != 0 {
			return c
		}
		return strings.Compare(a.Root, b.Root)
	})
	under := drift{}
	for i, item := range d.Drift {
		if i == 0 || item.Target != under.Target || item.Root != under.Root {
			under = item
			s.Line("%s  %s", s.Tinted(item.Target, command.Heading), command.Plain(or(&item.Root, "(no root)")))
		}
		path := item.Path
		if item.Root != "" {
			path = strings.TrimLeft(strings.TrimPrefix(path, item.Root), `/\`)
		}
		s.driftLine("  ", wide(d.Drift), item, path)
	}
	if d.Omitted > 0 {
		s.Line("… and %d more", d.Omitted)
	}
	var all []string
	for _, n := range d.States.Each() {
		all = append(all, fmt.Sprintf("%d %s", n.Files, n.Words))
	}
	s.Line("Files: %s", cmp.Or(strings.Join(all, ", "), "none"))
	next := slices.DeleteFunc(d.Next, func(action string) bool { return strings.Contains(action, " bootstrap ") }) // Warnings has told of that
	s.Next(next)
	return nil
}

// Doctor shows the data of doctor, and of doctor --fix.
func (s Screen) Doctor(data json.RawMessage, fixing, done bool) error {
	d, err := DecodeData[deployments.DoctorData](data)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(d.Roots))
	problems := 0
	for _, r := range d.Roots {
		state := "ok"
		switch {
		case slices.Equal(r.Issues, []string{"missing"}):
			state = "does not exist yet; a deployment creates it"
		case len(r.Issues) > 0:
			state = strings.Join(r.Issues, ", ")
			problems++
		}
		rows = append(rows, []string{r.Target, r.Root, state})
	}
	if len(rows) > 0 {
		s.Table([]string{"target", "directory", "state"}, rows)
	}
	for _, f := range d.GitignoreFixes {
		if fixing && f.Updated {
			s.Line("%s the line for manifests to %s", DoneVerb(done, "added", "add"), command.Plain(f.Path))
		}
	}
	for _, m := range d.Unread {
		s.Line("no agent reads %s: %s", command.Plain(m.ModuleID), command.Plain(m.Reason))
	}
	s.FindingsIn(data)
	attention := "nothing needs attention"
	if problems > 0 {
		attention = count(problems, "directory needs attention", "directories need attention")
	}
	s.Line("machine %s: %s", command.Plain(d.MachineID), attention)
	s.Next(slices.DeleteFunc(d.NextActions, func(action string) bool { return strings.HasPrefix(action, "mkdir ") })) // which a deployment does
	return nil
}

// Explained shows the data of explain plan, diff and status.
func (s Screen) Explained(data json.RawMessage) error {
	d, err := DecodeData[struct {
		Changes []struct {
			present.Change
			Modules []struct {
				ID    string  `json:"module_id"`
				Type  *string `json:"module_type"`
				Layer *string `json:"layer"`
				Path  *string `json:"module_path"`
			} `json:"modules"`
		} `json:"changes"`
		Drift []drift `json:"drift"`
	}](data)
	if err != nil {
		return err
	}
	for _, c := range d.Changes {
		s.Line("%s  %s  %s", s.Tinted(fmt.Sprintf("%-6s", c.Op), tintOf(c.Op)), command.Plain(c.Target), command.Plain(c.Path))
		for _, m := range c.Modules {
			s.Line("        %s  %s", command.Plain(m.ID), s.Tinted(or(m.Path, "(gone)")+" from "+or(m.Layer, "nowhere"), command.Faded))
		}
	}
	for _, item := range d.Drift {
		s.driftLine("", wide(d.Drift), item, item.Path)
	}
	if len(d.Changes)+len(d.Drift) == 0 {
		s.Line("nothing to explain: no drift")
	}
	return nil
}
