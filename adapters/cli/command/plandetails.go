package command

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ExhibitText returns what users see beside a plan as text: the diffs of files, each under its path, and warnings. What has another form is laid out as JSON, so
// that nothing of it is left out.
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
	for _, f := range shown.Files { // of a file of several targets the lines are said once
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
