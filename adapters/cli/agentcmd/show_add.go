package agentcmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// finding is one thing to know of a file before agents read it.
type finding struct {
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	ID       string `json:"module_id"`
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Text     string `json:"text"`
}

// Findings shows what is to be known of files, the most severe first.
func (s Screen) Findings(all []finding) {
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
		s.Line("%s  %s  %s %s: %s", s.Tinted(fmt.Sprintf("%-6s", f.Severity), tint), strings.ReplaceAll(command.Plain(f.Rule), "_", " "), command.Plain(f.ID), command.Plain(at), command.Plain(f.Text))
	}
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
	d, err := DecodeData[struct {
		URL    string `json:"url"`
		Ref    string `json:"ref"`
		Commit string `json:"commit"`
		Skills []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Subdir      string `json:"subdir"`
			Files       int    `json:"files"`
			Problem     string `json:"problem"`
		} `json:"skills"`
	}](data)
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
		s.Line("no skills: no directory there has a SKILL.md")
		return nil
	}
	s.Next([]string{"countersign agents add " + command.Plain(source) + " --skill " + command.Plain(d.Skills[0].Name)})
	return nil
}

// AddedFrom shows what is added from a repository.
func (s Screen) AddedFrom(data json.RawMessage, done bool) error {
	d, err := DecodeData[struct {
		Manifest string `json:"manifest"`
		URL      string `json:"url"`
		Ref      string `json:"ref"`
		Commit   string `json:"commit"`
		Modules  []struct {
			ID          string   `json:"module_id"`
			Description string   `json:"description"`
			Tags        []string `json:"tags"`
			Files       []struct {
				Path string `json:"path"`
			} `json:"file_manifest"`
		} `json:"modules"`
		Findings []finding `json:"findings"`
	}](data)
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
	s.Findings(d.Findings)
	s.Line("%s %s to %s and locked to the commit", DoneVerb(done, "added", "add"), count(len(d.Modules), "module", "modules"), command.Plain(d.Manifest))
	if done {
		s.Next([]string{"countersign agents preview --diff", "countersign agents deploy"})
	}
	return nil
}

// Checked shows how modules compare with what was locked.
func (s Screen) Checked(data json.RawMessage) error {
	d, err := DecodeData[struct {
		Modules []struct {
			ID        string `json:"module_id"`
			Status    string `json:"status"`
			Ref       string `json:"ref"`
			LockedRef string `json:"locked_ref"`
			Locked    string `json:"locked"`
			Latest    string `json:"latest"`
			Error     string `json:"error"`
		} `json:"modules"`
		Summary struct {
			Modules  int `json:"modules"`
			Outdated int `json:"outdated"`
			Unknown  int `json:"unknown"`
		} `json:"summary"`
	}](data)
	if err != nil {
		return err
	}
	var outdated []string
	local := false
	for _, m := range d.Modules {
		word := strings.ReplaceAll(m.Status, "_", " ")
		switch m.Status {
		case "update_available":
			s.Line("%s  %s  %s -> %s (%s)", s.Tinted(word, command.Changed), command.Plain(m.ID), brief(m.Locked), brief(m.Latest), command.Plain(m.Ref))
			outdated = append(outdated, m.ID)
		case "ref_changed":
			s.Line("%s  %s  %s -> %s", s.Tinted(word, command.Changed), command.Plain(m.ID), command.Plain(m.LockedRef), command.Plain(m.Ref))
			outdated = append(outdated, m.ID)
		case "edited", "not_locked":
			s.Line("%s  %s", s.Tinted(word, command.Changed), command.Plain(m.ID))
			local = true
		case "unknown":
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
