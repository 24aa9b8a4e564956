// Package foreshown finds the diffs behind a plan that only lists files: which call shows them, and whether what it shows is still that plan.
//
// It refuses to call anything, and to show what is not the plan that waits.
package foreshown

import (
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/domain/tool"
)

// File is the diff of one file.
type File struct {
	Path    string // absolute
	Unified string // a unified diff
}

// Call is the tool, with its arguments, that shows the diffs of what a call of that tool with those arguments waits to do. It reports false where
// none does.
func Call(waits string, args json.RawMessage) (tool.Name, json.RawMessage, bool) {
	if waits != "deploy_apply" {
		return "", nil, false
	}
	var sent struct {
		Repo    string `json:"repo,omitempty"`
		Profile string `json:"profile,omitempty"`
		Target  string `json:"target,omitempty"`
		Machine string `json:"machine,omitempty"`
		Diff    bool   `json:"diff"`
	}
	if json.Unmarshal(args, &sent) != nil {
		return "", nil, false
	}
	sent.Diff = true
	doc, err := tool.Encode(sent)
	return "preview", doc, err == nil
}

// Files are the diffs in the value of that call, unless it is not about the plan any more.
func Files(plan, value json.RawMessage) []File {
	var then struct {
		Data struct {
			Changes []json.RawMessage `json:"changes"`
		} `json:"data"`
	}
	var now struct {
		Data struct {
			Diff struct {
				Changes []json.RawMessage `json:"changes"`
				Files   []struct {
					Root    string `json:"root"`
					Path    string `json:"path"`
					Unified string `json:"unified"`
				} `json:"files"`
			} `json:"diff"`
		} `json:"data"`
	}
	if json.Unmarshal(value, &now) != nil || json.Unmarshal(plan, &then) != nil ||
		!slices.EqualFunc(now.Data.Diff.Changes, then.Data.Changes, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		return nil
	}
	var out []File
	for _, f := range now.Data.Diff.Files {
		if f.Unified != "" {
			out = append(out, File{f.Root + "/" + f.Path, f.Unified})
		}
	}
	return out
}
