package agentcmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
)

// Import shows the data of import and import --apply.
func (s Screen) Import(data json.RawMessage) error {
	d, err := DecodeData[authoring.ImportData](data)
	if err != nil {
		return err
	}
	within := func(source, key string) string {
		if key != "" {
			source += " " + key
		}
		return command.Plain(source)
	}
	for _, i := range d.Plan {
		i.Source = within(i.Source, i.Key)
		if i.SkipReason != "" {
			s.Line("%s    %s  %s", s.Tinted("skip", command.Faded), command.Plain(i.ModuleID), s.Tinted(i.Source+" ("+strings.ReplaceAll(i.SkipReason, "_", " ")+")", command.Faded))
			continue
		}
		if len(i.Also) > 0 {
			i.Source += ", " + strings.Join(i.Also, ", ")
		}
		s.Line("%s  %s  %s -> %s", s.Tinted("create", command.Added), command.Plain(i.ModuleID), command.Plain(i.Source), command.Plain(i.Dest))
		if i.Aside != "" {
			s.Line("        switched off: %s", command.Plain(strings.ReplaceAll(i.Aside, "_", " ")))
		}
		for _, r := range i.References {
			s.Line("        %s is a secret: the module says ${%s}, and the value stays in %s alone", command.Plain(r.At), command.Plain(r.Variable), command.Plain(r.Source))
		}
	}
	for _, o := range d.Options {
		line := command.Plain(o.Target)
		if o.New {
			line += " (new)"
		}
		for _, name := range slices.Sorted(maps.Keys(o.Options)) {
			line += "  " + command.Plain(fmt.Sprintf("%s: %v", name, o.Options[name]))
		}
		s.Line("%s  %s", s.Tinted("target", command.Added), line)
	}
	for _, l := range d.LeftOut {
		s.Line("%s  %s", s.Tinted("left out", command.Faded), s.Tinted(command.Plain(within(l.Source, l.Key)+" ("+strings.ReplaceAll(l.Reason, "_", " ")+")"), command.Faded))
	}
	if more := d.Summary.LeftOut - len(d.LeftOut); more > 0 {
		s.Line("%s  %d more", s.Tinted("left out", command.Faded), more)
	}
	for _, c := range d.Conflicts {
		s.Line("%s  %s: %s", s.Tinted("conflict", command.Removed), strings.ReplaceAll(c.Kind, "_", " "), command.Plain(strings.Join(c.Sample, ", ")))
		if c.Hint != "" {
			s.Line("          %s", command.Plain(c.Hint))
		}
	}
	left := ""
	if d.Summary.LeftOut > 0 {
		left = fmt.Sprintf("; %d left out", d.Summary.LeftOut)
	}
	off := ""
	if d.Summary.Aside > 0 {
		off = fmt.Sprintf(" (%d switched off)", d.Summary.Aside)
	}
	switch {
	case d.Summary.Create == 0:
		s.Line("nothing to import: %d found; %d there already, %d not usable%s", d.Summary.Candidates, d.Summary.Existing, d.Summary.Invalid, left)
	default:
		s.Line("%s %s of %d found into %s; %d there already, %d not usable%s", DoneVerb(d.Applied, "imported", "import"), count(d.Summary.Create, "module", "modules"),
			d.Summary.Candidates, command.Plain(d.Repo)+off, d.Summary.Existing, d.Summary.Invalid, left)
	}
	switch {
	case d.Applied:
		s.Next(d.NextActions)
	case d.Summary.Create > 0 && len(d.NextActions) > 0: // the profile that they name is there once it is applied
		prefix, _, _ := strings.Cut(d.NextActions[0], " preview")
		prefix, _, _ = strings.Cut(prefix, " --profile ")
		s.Next([]string{prefix + " import --apply"})
	}
	return nil
}

// lowerFirst is a sentence as it goes on behind a colon.
func lowerFirst(s string) string { return strings.ToLower(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// stateNote is the state of a file beside its path.
func (s Screen) stateNote(state string) string {
	if words := present.StateWords(state); words != "" {
		return "  " + s.Tinted("("+words+")", command.Faded)
	}
	return ""
}

// Proposal shows the data of evolve propose.
func (s Screen) Proposal(data json.RawMessage) error {
	d, err := DecodeData[deployments.ProposeData](data)
	if err != nil {
		return err
	}
	for _, c := range d.Candidates {
		s.Line("%s  %s  %s%s", s.Tinted("propose", command.Changed), command.Plain(c.ModuleID), command.Plain(c.Path), s.stateNote(string(c.State)))
		if c.Unified != "" {
			s.Line("%s", strings.TrimSuffix(s.Diff(c.Unified), "\n"))
		}
	}
	edited := len(d.Candidates) > 0
	var next []string
	var skipped []deployments.EvolveSkip
	if d.Skipped != nil {
		skipped = *d.Skipped
	}
	type said struct{ path, message string }
	known := map[said]bool{}
	var ways []deployments.EvolveSuggestion
	for _, c := range skipped {
		if known[said{c.Path, c.ReasonMessage}] { // of a file of several targets it is said once
			continue
		}
		known[said{c.Path, c.ReasonMessage}] = true
		if len(ways) == 0 && c.Reason == "conflict" {
			ways = c.Suggestions
		}
		s.Line("%s     %s%s  %s", s.Tinted("skip", command.Faded), command.Plain(c.Path), s.stateNote(string(c.State)), s.Tinted(c.ReasonMessage, command.Faded))
		edited = edited || c.State == "edited_here" || c.State == "conflict"
		if len(next) == 0 {
			next = c.NextActions
		}
	}
	if edited { // a deployment would undo the edits
		next = slices.DeleteFunc(next, func(action string) bool { return strings.Contains(action, " deploy ") })
	}
	switch {
	case d.Created:
		for _, f := range d.FilesPosix {
			s.Line("wrote  %s", command.Plain(f))
		}
		s.Line("proposed on branch %s; review it, merge it and deploy", command.Plain(d.Branch))
		if d.Committed != nil && !*d.Committed {
			s.Line("the commit failed; the changes are in the work tree of that branch")
		}
	case d.Reason == "no_drift":
		s.Line("nothing to propose: no deployed file was edited")
	case d.Reason == "no_proposeable_drift":
		s.Line("nothing to propose: no edit can become an overlay change")
	}
	for i, way := range ways {
		lead := "to resolve a conflict"
		if i > 0 {
			lead = "or"
		}
		s.Line("%s: %s; %s", lead, lowerFirst(command.Plain(way.Action)), command.Plain(way.Reason))
	}
	s.Next(next)
	return nil
}

// Restored shows the data of evolve restore.
func (s Screen) Restored(data json.RawMessage, done bool) error {
	d, err := DecodeData[deployments.RestoreData](data)
	if err != nil {
		return err
	}
	for _, r := range d.Restored {
		s.Line("%s  %s  %s", s.Tinted("create", command.Added), command.Plain(r.Target), command.Plain(r.Path))
	}
	if len(d.Restored) == 0 {
		s.Line("no missing files")
		return nil
	}
	s.Line("%s %s", DoneVerb(done, "restored", "restore"), count(len(d.Restored), "file", "files"))
	return nil
}

// Rebased shows the data of overlay rebase, and the details of one with conflicts.
func (s Screen) Rebased(data json.RawMessage, done bool) error {
	d, err := DecodeData[authoring.RebaseData](data)
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
	s.Line("%s the overlay of %s in %s", DoneVerb(done, "rebased", "rebase"), command.Plain(d.ModuleID), command.Plain(d.Dir))
	return nil
}

// Synced shows the data of sync.
func (s Screen) Synced(data json.RawMessage, done bool) error {
	d, err := DecodeData[authoring.SyncData](data)
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
