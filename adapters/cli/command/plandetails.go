package command

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ExhibitText returns as text what users see in addition to a plan: the diffs of files, each under its path, and warnings. Other forms are laid out
// as JSON, so that nothing is left out.
func ExhibitText(doc json.RawMessage) string {
	var shown struct {
		Files []struct {
			Root    string `json:"root"`
			Path    string `json:"path"`
			Unified string `json:"unified"`
		} `json:"files"`
		Warnings []string `json:"warnings"`
	}
	if len(doc) == 0 || string(doc) == "null" {
		return ""
	}
	if json.Unmarshal(doc, &shown) != nil || len(shown.Files) == 0 && len(shown.Warnings) == 0 {
		var out bytes.Buffer
		if json.Indent(&out, doc, "", "  ") != nil {
			return string(doc)
		}
		return out.String()
	}
	var out strings.Builder
	said := map[string]bool{}
	for _, f := range shown.Files { // the lines of a file with several targets are shown once
		if f.Unified != "" && !said[f.Root+"/"+f.Path+f.Unified] {
			said[f.Root+"/"+f.Path+f.Unified] = true
			name := f.Path
			if f.Root != "" {
				name = f.Root + "/" + f.Path
			}
			out.WriteString(name + "\n" + strings.TrimSuffix(f.Unified, "\n") + "\n")
		}
	}
	for _, w := range shown.Warnings {
		out.WriteString(w + "\n")
	}
	return out.String()
}
