package target

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// The names of modules' own files (agentpack contract §2.5).
const instructionsFile = "AGENTS.md"

// source is a module's file and where a line puts it.
type source struct {
	rel  string // slash path below the line's directory
	file deployment.File
}

// source returns the one file that the line takes from a module. It fails with ErrConfig if the module does not have it.
func (l *line) source(m Module) (source, error) {
	if l.Of == deployment.ModuleInstructions {
		f, ok := m.Tree.Find(instructionsFile)
		if !ok {
			return source{}, lacks(m, instructionsFile, "a file "+instructionsFile+" at its root")
		}
		if _, rel, own := ownFile(m, l.Agent); own && l.Headed() {
			return source{rel, f}, nil
		}
		return source{strings.Replace(l.Path, "{key}", deployment.ModuleKey(m.ID), 1), f}, nil
	}
	if len(m.Tree) != 1 {
		return source{}, lacks(m, "", "exactly one file")
	}
	file := path.Base(m.Tree[0].Path)
	if m.Called != "" {
		file = m.Called
	}
	if m.AsIs {
		file = strings.TrimSuffix(strings.TrimSuffix(file, ".toml"), ".md") + ".md" // in the syntax of the line
	}
	rel := strings.NewReplacer("{file}", file, "{stem}", stem(file), "{prompt}", promptFile(file), "{skill}", l.prompts[m.ID]).Replace(l.Path)
	return source{rel, m.Tree[0]}, nil
}

// directory returns where the line puts a skill's files, as a slash path. It fails with ErrConfig if the name cannot be that of a directory.
func (l *line) directory(m Module, n Paths) (string, error) {
	skill, err := skillDir(m.Module, n)
	return strings.Replace(l.Path, "{skill}", skill, 1), err
}

// ownFile returns the file that makes instructions a file of their own for an agent: it is in a directory named after the agent, at the path that the
// agent's file has below its directory of rules, and holds exactly the header that precedes AGENTS.md there.
func ownFile(m Module, agent string) (header deployment.File, rel string, own bool) {
	if m.Type != deployment.ModuleInstructions {
		return header, "", false
	}
	for _, f := range m.Tree {
		if rel, own = strings.CutPrefix(f.Path, agent+"/"); own {
			return f, rel, true
		}
	}
	return header, "", false
}

func lacks(m Module, file, what string) error {
	return deployment.ErrConfig.WithMessage("module %s of type %s must have %s, but it has %d files", m.ID, m.Type, what, len(m.Tree)).
		WithDetails(deployment.ReasonDetails("module_files_invalid", "fix_config", "retry_command").Add("module_id", m.ID).Add("path", file))
}

// skillDir returns the name of a skill's directory: what follows the first colon of its identifier (agentpack contract §2.7).
func skillDir(m deployment.Module, n Paths) (string, error) {
	name := deployment.SafeName(m.ID)
	if m.Called != "" || strings.Contains(m.ID, ":") {
		name = m.Name()
	}
	if !n.Component(name) {
		return "", deployment.ErrConfig.WithMessage("module %q would be deployed to a directory %q, which is not a valid directory name; change the part of its id after the colon", m.ID, name).
			WithDetails(deployment.ReasonDetails("skill_name_invalid", "fix_config", "retry_command").Add("module_id", m.ID).Add("name", name))
	}
	return name, nil
}

// promptFile returns the name that VS Code looks for (agentpack contract §2.7).
func promptFile(file string) string {
	if strings.HasSuffix(file, ".prompt.md") {
		return file
	}
	return strings.TrimSuffix(file, ".md") + ".prompt.md"
}

// stem returns the name of a command, from the name of its file.
func stem(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".md"), ".prompt")
}

// optionsOf returns the options for a module: the target's, overridden by those under modules.<id>.
func (l line) optionsOf(m Module) deployment.Options {
	all, _ := l.Options["modules"].(map[string]any)
	own, ok := all[m.ID].(map[string]any)
	if !ok {
		return l.Options
	}
	options := maps.Clone(l.Options)
	maps.Copy(options, own)
	return options
}

// globs returns those of a module.
func (l line) globs(m Module) []string { return globList(l.optionsOf(m)["globs"]) }

// header returns the content of the line's frontmatter for a module.
func (l line) header(m Module) (Header, error) {
	options := l.optionsOf(m)
	globs := globList(options["globs"])
	for _, text := range append(slices.Clone(globs), options.Text("description", "")) {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return Header{}, deployment.ErrConfig.WithMessage("target %s has the option %q for module %s; globs and descriptions are one line without control characters", l.Agent, text, m.ID).
				WithDetails(deployment.FieldDetails("target", l.Agent).Add("module_id", m.ID))
		}
	}
	h := Header{Globs: globs, Always: options.Bool("always_apply", len(globs) == 0), Description: options.Text("description", "")}
	if h.Description == "" && l.Shape == ShapeCursorMDC {
		h.Description = "agentpack: " + m.ID
	}
	return h, nil
}

// globList reads a list, or a text with commas between the globs; a comma within braces belongs to its glob.
func globList(v any) (globs []string) {
	switch v := v.(type) {
	case []string:
		globs = slices.Clone(v)
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				globs = append(globs, text)
			}
		}
	case string:
		depth := 0
		globs = strings.FieldsFunc(v, func(r rune) bool {
			switch r {
			case '{':
				depth++
			case '}':
				depth--
			}
			return r == ',' && depth <= 0
		})
	}
	for i, g := range globs {
		globs[i] = strings.TrimSpace(g)
	}
	return slices.DeleteFunc(globs, func(g string) bool { return g == "" })
}

// ModulePath returns the path, within the module, of the file that a deployed file comes from (agentpack contract §5.9): AGENTS.md, the single file's
// own name even if the target renames it, the path below a skill's directory, the file of a target's settings. dir is the root that contains the
// deployed path. The module's tree may be empty if the module is gone; then the deployed name is used. An empty result means that there is no single
// such file.
func ModulePath(target string, m Module, dir, deployed string, sep byte) string {
	below := strings.TrimPrefix(deployed, strings.TrimSuffix(dir, string(sep))+string(sep))
	if sep != '/' {
		below = strings.ReplaceAll(below, string(sep), "/")
	}
	switch m.Type {
	case deployment.ModuleInstructions:
		return instructionsFile
	case deployment.ModuleSkill:
		return skillPath(target, m.Module, below)
	case deployment.ModuleSettings:
		return target + ".json"
	case deployment.ModuleMCP:
		if len(m.Tree) != 1 {
			return ""
		}
		return m.Tree[0].Path
	}
	if len(m.Tree) == 1 {
		return m.Tree[0].Path
	}
	return path.Base(below)
}

// skillPath returns the path below a skill's directory, from the one below the root.
func skillPath(target string, m deployment.Module, below string) string {
	a, _ := FindAgent(target)
	for _, r := range a.Rules {
		before, _, _ := strings.Cut(r.Path, "{skill}")
		if rest, ok := strings.CutPrefix(below, before); ok && r.Of == m.Type {
			below = rest
			break
		}
	}
	_, rest, _ := strings.Cut(below, "/")
	return rest
}
