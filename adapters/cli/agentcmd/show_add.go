package agentcmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
)

// Findings shows what is to be known of files, the most severe first.
func (s Screen) Findings(all []present.Finding) {
	for _, f := range all {
		tint := command.Faded
		switch f.Severity {
		case "high":
			tint = command.Removed
		case "medium":
			tint = command.Changed
		}
		at := f.Path
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
		}
		if f.ModuleID != "" {
			at = f.ModuleID + " " + at
		}
		s.Line("%s  %s  %s: %s", s.Tinted(fmt.Sprintf("%-6s", f.Severity), tint), strings.ReplaceAll(command.Plain(f.Rule), "_", " "), command.Plain(at), command.Plain(f.Text))
	}
}

// FindingsIn shows those of an answer's data.
func (s Screen) FindingsIn(data json.RawMessage) {
	var d struct {
		Findings []present.Finding `json:"findings"`
	}
	_ = json.Unmarshal(data, &d) // what shows the answer says so when it is not understood
	s.Findings(d.Findings)
}

// files lists paths behind a mark.
func (s Screen) files(mark string, paths []string) {
	const most = 20
	for _, p := range paths[:min(len(paths), most)] {
		s.Line("%s %s", mark, command.Plain(p))
	}
	if more := len(paths) - most; more > 0 {
		s.Line("%s %d more", mark, more)
	}
}

// brief is a commit as people name it.
func brief(version string) string {
	const digits, told = 40, 12
	if len(version) == digits {
		return version[:told]
	}
	return version
}

// Skills shows the skills of a repository.
func (s Screen) Skills(data json.RawMessage, source string) error {
	d, err := DecodeData[authoring.SkillsData](data)
	if err != nil {
		return err
	}
	s.Line("%s at %s (%s)", command.Plain(d.URL), command.Plain(brief(d.Commit)), command.Plain(d.Ref))
	for _, k := range d.Skills {
		s.Line("%s  %s  %s", command.Plain(k.Name), s.Tinted(command.Plain(k.Subdir)+", "+count(k.Files, "file", "files"), command.Faded), command.Plain(k.Description))
		if k.Problem != "" {
			s.Line("  %s", s.Tinted(command.Plain(k.Problem), command.Removed))
		}
	}
	if len(d.Skills) == 0 {
		s.Line("no skills: no directory there contains a SKILL.md")
		return nil
	}
	s.Next([]string{"countersign agents add " + command.Plain(source) + " --skill " + command.Plain(d.Skills[0].Name)})
	return nil
}

// AddedFrom shows what is added from a repository.
func (s Screen) AddedFrom(data json.RawMessage, done bool) error {
	d, err := DecodeData[authoring.AddFromData](data)
	if err != nil {
		return err
	}
	s.Line("%s at %s (%s)", command.Plain(d.URL), command.Plain(brief(d.Commit)), command.Plain(d.Ref))
	for _, m := range d.Modules {
		s.Line("%s  %s  %s", s.Tinted(DoneVerb(done, "added", "add"), command.Added), command.Plain(m.ID), command.Plain(m.Description))
		paths := make([]string, len(m.Files))
		for i, f := range m.Files {
			paths[i] = f.Path
		}
		s.files("  +", paths)
	}
	s.FindingsIn(data)
	s.Line("%s %s to %s and locked to the commit", DoneVerb(done, "added", "add"), count(len(d.Modules), "module", "modules"), command.Plain(d.Manifest))
	if done {
		s.Next([]string{"countersign agents preview --diff", "countersign agents deploy"})
	}
	return nil
}

// Checked shows how modules compare with what was locked.
func (s Screen) Checked(data json.RawMessage) error {
	d, err := DecodeData[authoring.CheckData](data)
	if err != nil {
		return err
	}
	var outdated []string
	local := false
	for _, m := range d.Modules {
		word := strings.ReplaceAll(m.Status, "_", " ")
		switch m.Status {
		case authoring.StatusNewer:
			s.Line("%s  %s  %s -> %s (%s)", s.Tinted(word, command.Changed), command.Plain(m.ID), brief(m.Locked), brief(m.Latest), command.Plain(m.Ref))
			outdated = append(outdated, m.ID)
		case authoring.StatusRefChanged:
			s.Line("%s  %s  %s -> %s", s.Tinted(word, command.Changed), command.Plain(m.ID), command.Plain(m.LockedRef), command.Plain(m.Ref))
			outdated = append(outdated, m.ID)
		case authoring.StatusEdited, authoring.StatusUnlocked:
			s.Line("%s  %s", s.Tinted(word, command.Changed), command.Plain(m.ID))
			local = true
		case authoring.StatusUnknown:
			s.Line("%s  %s  %s", s.Tinted(word, command.Removed), command.Plain(m.ID), command.Plain(m.Error))
		}
	}
	same := d.Summary.Modules - d.Summary.Outdated - d.Summary.Unknown
	s.Line("%s: %d as locked, %d not, %d unknown", count(d.Summary.Modules, "module", "modules"), same, d.Summary.Outdated, d.Summary.Unknown)
	var next []string
	if len(outdated) > 0 {
		next = append(next, "countersign agents update "+command.Plain(strings.Join(outdated, " ")))
	}
	if local {
		next = append(next, "countersign agents lock")
	}
	s.Next(next)
	return nil
}
