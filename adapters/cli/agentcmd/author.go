package agentcmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// Import shows the data of import and import --apply.
func (s Screen) Import(data json.RawMessage) error {
	d, err := DecodeData[struct {
		Applied   bool   `json:"applied"`
		Repo      string `json:"repo"`
		Conflicts []struct {
			Kind  string   `json:"kind"`
			Count int      `json:"count"`
			Paths []string `json:"sample_paths"`
			Hint  string   `json:"hint"`
		} `json:"conflicts"`
		LeftOut []struct {
			Source string `json:"source_path"`
			Reason string `json:"reason"`
		} `json:"left_out"`
		Next []string `json:"next_actions"`
		Plan []struct {
			Op     string `json:"op"`
			ID     string `json:"module_id"`
			Source string `json:"source_path"`
			Dest   string `json:"dest_path"`
			Skip   string `json:"skip_reason"`
		} `json:"plan"`
		Summary struct {
			Candidates int `json:"candidates"`
			Create     int `json:"create"`
			Existing   int `json:"skipped_existing_module"`
			Invalid    int `json:"skipped_invalid"`
			LeftOut    int `json:"left_out"`
		} `json:"summary"`
	}](data)
	if err != nil {
		return err
	}
	for _, i := range d.Plan {
		if i.Skip != "" {
			s.Line("%s    %s  %s", s.Tinted("skip", command.Faded), command.Plain(i.ID), s.Tinted(i.Source+" ("+strings.ReplaceAll(i.Skip, "_", " ")+")", command.Faded))
			continue
		}
		s.Line("%s  %s  %s -> %s", s.Tinted("create", command.Added), command.Plain(i.ID), command.Plain(i.Source), command.Plain(i.Dest))
	}
	for _, l := range d.LeftOut {
		s.Line("%s  %s", s.Tinted("left out", command.Faded), s.Tinted(command.Plain(l.Source+" ("+strings.ReplaceAll(l.Reason, "_", " ")+")"), command.Faded))
	}
	if more := d.Summary.LeftOut - len(d.LeftOut); more > 0 {
		s.Line("%s  %d more", s.Tinted("left out", command.Faded), more)
	}
	for _, c := range d.Conflicts {
		s.Line("%s  %s: %s", s.Tinted("conflict", command.Removed), strings.ReplaceAll(c.Kind, "_", " "), command.Plain(strings.Join(c.Paths, ", ")))
		if c.Hint != "" {
			s.Line("          %s", command.Plain(c.Hint))
		}
	}
	left := ""
	if d.Summary.LeftOut > 0 {
		left = fmt.Sprintf("; %d left out", d.Summary.LeftOut)
	}
	switch {
	case d.Summary.Create == 0:
		s.Line("nothing to import: %d found; %d there already, %d not usable%s", d.Summary.Candidates, d.Summary.Existing, d.Summary.Invalid, left)
	default:
		s.Line("%s %s of %d found into %s; %d there already, %d not usable%s", DoneVerb(d.Applied, "imported", "import"), count(d.Summary.Create, "module", "modules"),
			d.Summary.Candidates, command.Plain(d.Repo), d.Summary.Existing, d.Summary.Invalid, left)
	}
	if d.Applied || d.Summary.Create > 0 {
		s.Next(d.Next)
	}
	return nil
}

// Proposal shows the data of evolve propose.
func (s Screen) Proposal(data json.RawMessage) error {
	type at struct {
		ID     string   `json:"module_id"`
		IDs    []string `json:"module_ids"`
		Target string   `json:"target"`
		Path   string   `json:"path"`
		Why    string   `json:"reason_message"`
		Next   []string `json:"next_actions"`
	}
	d, err := DecodeData[struct {
		Branch     string   `json:"branch"`
		Candidates []at     `json:"candidates"`
		Committed  *bool    `json:"committed"`
		Created    bool     `json:"created"`
		Files      []string `json:"files_posix"`
		Reason     string   `json:"reason"`
		Skipped    []at     `json:"skipped"`
	}](data)
	if err != nil {
		return err
	}
	for _, c := range d.Candidates {
		s.Line("%s  %s  %s", s.Tinted("propose", command.Changed), command.Plain(c.ID), command.Plain(c.Path))
	}
	var next []string
	for _, c := range d.Skipped {
		s.Line("%s     %s  %s", s.Tinted("skip", command.Faded), command.Plain(c.Path), s.Tinted(c.Why, command.Faded))
		if len(next) == 0 {
			next = c.Next
		}
	}
	switch {
	case d.Created:
		for _, f := range d.Files {
			s.Line("wrote  %s", command.Plain(f))
		}
		s.Line("proposed on branch %s: look at it, merge it, deploy", command.Plain(d.Branch))
		if d.Committed != nil && !*d.Committed {
			s.Line("the commit failed; the changes are in the work tree of that branch")
		}
	case d.Reason == "no_drift":
		s.Line("nothing to propose: no deployed file was edited")
	case d.Reason == "no_proposeable_drift":
		s.Line("nothing to propose: no edit can be turned into an overlay")
	}
	s.Next(next)
	return nil
}

// Restored shows the data of evolve restore.
func (s Screen) Restored(data json.RawMessage, done bool) error {
	d, err := DecodeData[struct {
		Restored []struct {
			Target string `json:"target"`
			Path   string `json:"path"`
		} `json:"restored"`
	}](data)
	if err != nil {
		return err
	}
	for _, r := range d.Restored {
		s.Line("%s  %s  %s", s.Tinted("create", command.Added), command.Plain(r.Target), command.Plain(r.Path))
	}
	if len(d.Restored) == 0 {
		s.Line("nothing is missing")
		return nil
	}
	s.Line("%s %s", DoneVerb(done, "restored", "restore"), count(len(d.Restored), "file", "files"))
	return nil
}

// Rebased shows the data of overlay rebase, and the details of one with conflicts.
func (s Screen) Rebased(data json.RawMessage, done bool) error {
	d, err := DecodeData[struct {
		ID     string `json:"module_id"`
		Dir    string `json:"overlay_dir"`
		Report struct {
			Updated   []string `json:"updated"`
			Deleted   []string `json:"deleted"`
			Skipped   []string `json:"skipped"`
			Conflicts []string `json:"conflicts"`
		} `json:"report"`
	}](data)
	if err != nil {
		return err
	}
	list := func(word string, as command.Tint, paths []string) {
		for _, p := range paths {
			s.Line("%s  %s", s.Tinted(word, as), command.Plain(p))
		}
	}
	list("update  ", command.Changed, d.Report.Updated)
	list("delete  ", command.Removed, d.Report.Deleted)
	list("skip    ", command.Faded, d.Report.Skipped)
	list("conflict", command.Removed, d.Report.Conflicts)
	s.Line("%s the overlay of %s in %s", DoneVerb(done, "rebased", "rebase"), command.Plain(d.ID), command.Plain(d.Dir))
	return nil
}

// Synced shows the data of sync.
func (s Screen) Synced(data json.RawMessage, done bool) error {
	d, err := DecodeData[struct {
		Repo     string   `json:"repo"`
		Remote   string   `json:"remote"`
		Branch   string   `json:"branch"`
		Commands []string `json:"commands"`
		FetchURL string   `json:"fetch_url"`
		PushURLs []string `json:"push_urls"`
		GitDir   string   `json:"git_dir"`
		Head     string   `json:"head"`
		Ahead    int      `json:"ahead"`
		Commits  []string `json:"commits"`
		Hooks    []struct {
			Path string `json:"path"`
			Sum  string `json:"sha256"`
		} `json:"hooks"`
		Filters  []string `json:"filters"`
		Settings []string `json:"settings"`
	}](data)
	if err != nil {
		return err
	}
	s.Line("%s %s with %s in %s:", DoneVerb(done, "synced", "sync"), command.Plain(d.Branch), command.Plain(d.Remote), command.Plain(d.Repo))
	list := func(word string, all []string) {
		for _, one := range all {
			s.Line("  %s%s", word, command.Plain(one))
		}
	}
	list("", d.Commands)
	if done {
		return nil
	}
	list("from    ", []string{d.FetchURL})
	list("to      ", d.PushURLs)
	if d.GitDir != "" {
		list("git dir ", []string{d.GitDir})
	}
	s.Line("  head    %s, %d commits that %s lacks", command.Plain(d.Head), d.Ahead, command.Plain(d.Remote))
	list("commit  ", d.Commits)
	for _, h := range d.Hooks {
		list("runs    ", []string{h.Path + " (sha256 " + h.Sum + ")"})
	}
	list("runs    ", d.Filters)
	list("setting ", d.Settings)
	return nil
}
