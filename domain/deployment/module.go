package deployment

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FrontmatterFunc returns the YAML mapping at the beginning of a document; found is false when the document does not begin with one.
type FrontmatterFunc = func(doc []byte) (fields map[string]any, found bool, err error)

// ValidateModule checks a composed module against the rules of its type. Every violation is ErrConfig, with module_id, the path if there is one, and
// what was missing or expected in the details; errors of read are returned unchanged.
func ValidateModule(m Module, tree Tree, read func(Content) ([]byte, error), frontmatter FrontmatterFunc) error {
	c := check{m, tree, read, frontmatter}
	if m.AsIs {
		return c.asIs()
	}
	switch m.Type {
	case ModuleInstructions:
		_, err := c.root("AGENTS.md")
		return err
	case ModuleSkill:
		return c.skill()
	case ModulePrompt:
		_, err := c.single()
		return err
	case ModuleCommand:
		return c.command()
	case ModuleMCP:
		return c.servers()
	case ModuleSettings:
		return c.settings()
	case ModuleAgent:
		file, err := c.single()
		if err == nil {
			_, _, err = c.matter(file, "name", "description")
		}
		return err
	case ModuleStyle:
		_, err := c.single()
		return err
	case ModuleHooks:
		return c.hooks()
	case ModulePermissions:
		return c.permissions()
	case ModulePlugins:
		return c.plugins()
	}
	return c.refuse(fmt.Sprintf("unknown module type %q", m.Type), "use one of "+list(ModuleTypes()), c.details("").Add("field", "type"))
}

func list[T ~string](names []T) string {
	text := make([]string, len(names))
	for i, n := range names {
		text[i] = string(n)
	}
	return strings.Join(text, ", ")
}

// check is one module under validation.
type check struct {
	module      Module
	tree        Tree
	read        func(Content) ([]byte, error)
	frontmatter FrontmatterFunc
}

// details returns module_id, and path unless it is empty.
func (c check) details(path string) Details {
	d := FieldDetails("module_id", c.module.ID)
	if path != "" {
		d.Add("path", path)
	}
	return d
}

func (c check) refuse(problem, way string, details Details) error {
	return ErrConfig.WithMessage("the %s module %q cannot be deployed: %s; %s", c.module.Type, c.module.ID, problem, way).WithDetails(details)
}

// root returns a file that must be at the module's root.
func (c check) root(name string) (File, error) {
	file, ok := c.tree.Find(name)
	if !ok {
		return file, c.refuse("it has no "+name+" at its root", "add the file, or correct the module's source", c.details(name).Add("missing", []string{name}))
	}
	return file, nil
}

// asIs checks a file in the form of other programs, whose rules are theirs; so its targets must be named.
func (c check) asIs() error {
	switch {
	case c.module.Type != ModuleCommand && c.module.Type != ModuleAgent:
		return c.refuse("as_is is only for commands and agents", "remove it", c.details("").Add("field", "as_is"))
	case len(c.module.Targets) == 0:
		return c.refuse("as_is needs targets, because the file is in the format of its targets", "add targets", c.details("").Add("field", "targets"))
	}
	_, err := c.file(".md", ".toml")
	return err
}

// single returns the file of a module that must be one Markdown file.
func (c check) single() (File, error) { return c.file(".md") }

// file returns the file of a module that must be one file with one of the extensions.
func (c check) file(extensions ...string) (File, error) {
	const shown = 10
	wanted := "one " + strings.Join(extensions, " or ") + " file"
	if len(c.tree) != 1 {
		names := make([]string, 0, shown)
		for _, f := range c.tree[:min(len(c.tree), shown)] {
			names = append(names, f.Path)
		}
		return File{}, c.refuse(fmt.Sprintf("it has %d files", len(c.tree)), "it must be exactly "+wanted+"; create one module for each",
			c.details("").Add("expected", wanted).Add("files", names))
	}
	file := c.tree[0]
	fits := func(ext string) bool {
		return strings.HasSuffix(file.Path, ext) && !strings.HasSuffix("/"+file.Path, "/"+ext)
	}
	if !slices.ContainsFunc(extensions, fits) {
		return file, c.refuse(fmt.Sprintf("%q is not a %s file", file.Path, strings.Join(extensions, " or ")), "rename it", c.details(file.Path).Add("expected", wanted))
	}
	return file, nil
}

// matter returns the frontmatter of a file. Details are those of the file, plus what else is known.
func (c check) matter(file File, required ...string) (doc []byte, fields map[string]any, err error) {
	if doc, err = c.read(file.Content); err != nil {
		return nil, nil, err
	}
	fields, found, err := c.frontmatter(doc)
	switch {
	case err != nil:
		details := c.details(file.Path).Add("error", err.Error()).Add("expected", "mapping").Add("required_fields", required)
		return nil, nil, c.refuse(fmt.Sprintf("the YAML frontmatter of %s is not valid (%v)", file.Path, err), "write a YAML mapping between two lines ---", details)
	case !found:
		details := c.details(file.Path).Add("missing", []string{"frontmatter"}).Add("required_fields", required)
		return nil, nil, c.refuse(file.Path+" is missing YAML frontmatter", "begin it with a line ---, "+list(required)+", and another line ---", details)
	}
	for _, name := range required {
		if err := c.text(file.Path, fields, name); err != nil {
			return nil, nil, err
		}
	}
	return doc, fields, nil
}

// text checks that a field of frontmatter is text that is not blank.
func (c check) text(path string, fields map[string]any, name string) error {
	value := fields[name]
	text, ok := value.(string)
	switch {
	case value == nil:
		return c.refuse("the frontmatter of "+path+" has no "+name, "add it", c.details(path).Add("field", name).Add("missing", []string{name}))
	case !ok:
		return c.refuse(name+" in the frontmatter of "+path+" is not text", "put it in quotes", c.details(path).Add("field", name).Add("expected", "string"))
	case strings.TrimSpace(text) == "":
		return c.refuse(name+" in the frontmatter of "+path+" is blank", "write a description",
			c.details(path).Add("field", name).Add("missing", []string{name}).Add("expected", "string"))
	}
	return nil
}

// skill checks SKILL.md, and that the skill's directory is exactly one level below an agent's skills (agentpack contract §10.2).
func (c check) skill() error {
	if name := c.module.Name(); (c.module.Called != "" || strings.Contains(c.module.ID, ":")) && !component(name) { // an identifier without a colon is made safe by its target
		return c.refuse(fmt.Sprintf("%q is not a valid directory name", name), "choose an identifier like skill:my-skill",
			c.details("").Add("field", "id").Add("expected", "one path component after the colon"))
	}
	file, err := c.root("SKILL.md")
	if err != nil {
		return err
	}
	_, _, err = c.matter(file, "name", "description")
	return err
}

// component reports whether a name can be one file or directory on every system and is not reserved.
func component(name string) bool {
	const longest = 255 // bytes, on most file systems
	switch strings.ToLower(name) {
	case "", ".", "..", ".git", ".agentpack":
		return false
	}
	return len(name) <= longest && utf8.ValidString(name) && !strings.ContainsAny(name, `/\<>:"|?*`) && !strings.ContainsFunc(name, unicode.IsControl) &&
		strings.TrimSpace(name) == name && !strings.HasSuffix(name, ".") && !device(name)
}

// device reports whether Windows reserves the name for a device, with any extension.
func device(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, stem) {
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '1' && stem[3] <= '9'
}
