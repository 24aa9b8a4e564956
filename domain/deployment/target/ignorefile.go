package target

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// ignoreOption lists a target's files in a project in a managed section of the project's .gitignore. It is off by default.
const ignoreOption = "gitignore"

// ignoreFileName is the file that git reads in a project's root.
const ignoreFileName = ".gitignore"

// ignored lists what is deployed into the project in the project's .gitignore, for each target whose option says so. Files that are managed in part
// are the user's, and are not listed.
func (r *renderer) ignored(jobs []job) error {
	at := r.in.Place
	if !at.Marked || at.Only == deployment.ScopeUser {
		return nil
	}
	for _, j := range jobs {
		name := j.agent.Name
		if !r.in.Targets[name].Options.Bool(ignoreOption, false) {
			continue
		}
		var keys []deployment.Key
		for i := range r.out.Files {
			d := &r.out.Files[i]
			if d.Target != name || d.Part != nil || !deployment.IsBelow(at.ProjectRoot, d.Path, r.Sep) || strings.ContainsAny(d.Path, "\r\n") {
				continue
			}
			keys = append(keys, deployment.Key{Path: []string{ignoreLine(strings.ReplaceAll(d.Path[len(at.ProjectRoot):], string(r.Sep), "/"))}, Value: json.RawMessage("true")})
		}
		if len(keys) == 0 {
			continue
		}
		slices.SortFunc(keys, byKey)
		d := deployment.Desired{Path: r.Join(at.ProjectRoot, ignoreFileName), Mode: deployment.PlainMode, Modules: []string{}, Part: &deployment.Part{Format: deployment.FormatIgnore, Keys: keys}}
		if err := r.add(&line{ActiveRule: ActiveRule{Agent: name}}, &d); err != nil {
			return err
		}
		if !slices.ContainsFunc(r.out.Roots, func(root deployment.Root) bool { return root.Target == name && root.Path == at.ProjectRoot }) {
			r.out.Roots = append(r.out.Roots, deployment.Root{Target: name, Path: at.ProjectRoot})
		}
	}
	return nil
}

// ignoreLine returns a line that matches only this path below the root: anchored at the root, and with git's special characters escaped.
func ignoreLine(path string) string {
	line := "/" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(strings.TrimPrefix(path, "/"))
	if rest, blank := strings.CutSuffix(line, " "); blank {
		line = rest + `\ `
	}
	return line
}
