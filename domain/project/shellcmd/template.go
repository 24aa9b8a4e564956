package shellcmd

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
)

// CustomPrefix begins the ID of every template that the user has made; a UUIDv4 follows (packageflow contract §1.5).
const CustomPrefix = "custom-"

// Risk is the risk of a command.
type Risk string

// The risks.
const (
	RiskLow    Risk = "low"    // it only reads
	RiskMedium Risk = "medium" // it changes things in the project, or runs the project's own code
	RiskHigh   Risk = "high"   // it deletes what cannot be restored, or affects other machines
)

// Template is one step template (packageflow contract §1.5). In Command, {pm} stands for the project's package manager, and <like-this> for what the
// user fills in.
type Template struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Command     string    `json:"command"`
	Category    Category  `json:"category"`
	Description string    `json:"description,omitempty"`
	IsCustom    bool      `json:"isCustom"`
	Risk        Risk      `json:"risk"`
	CreatedAt   time.Time `json:"createdAt,omitzero"` // of custom ones
}

// TemplateDraft is the user's input for a new template.
type TemplateDraft struct {
	Name        string
	Command     string
	Category    string // as ParseCategory takes it; empty is custom
	Description string
}

// NewTemplate returns a custom template of medium risk; the caller may raise that after checking its command. White space around texts is removed. It
// fails with project.ErrArgument, naming the field.
func NewTemplate(id string, d TemplateDraft, now time.Time) (Template, error) {
	t := Template{
		ID: id, Name: strings.TrimSpace(d.Name), Command: strings.TrimSpace(d.Command), Category: CategoryCustom,
		Description: strings.TrimSpace(d.Description), IsCustom: true, Risk: RiskMedium, CreatedAt: now,
	}
	if !strings.HasPrefix(id, CustomPrefix) || len(id) == len(CustomPrefix) {
		return Template{}, project.ErrArgument.WithMessage("id %.60q does not begin with %s and a UUID", id, CustomPrefix)
	}
	if t.Name == "" {
		return Template{}, project.ErrArgument.WithMessage("the name is empty; a template needs a name")
	}
	if err := project.CheckText("name", t.Name, project.MaxName); err != nil {
		return Template{}, err
	}
	if err := CheckText(t.Command); err != nil {
		return Template{}, err
	}
	if err := project.CheckText("description", t.Description, project.MaxDescription); err != nil {
		return Template{}, err
	}
	if strings.TrimSpace(d.Category) == "" {
		return t, nil
	}
	var err error
	if t.Category, err = ParseCategory(d.Category); err != nil {
		return Template{}, err
	}
	return t, nil
}

// TemplateFilter selects templates. The zero TemplateFilter selects every custom one.
type TemplateFilter struct {
	Category Category // empty is any
	Query    string   // occurs in name, command or description, ignoring case
	Builtin  bool     // also those that come with Countersign
}

// SelectTemplates returns the selected templates: built-in ones first, in their own order, then custom ones in the given order.
func SelectTemplates(custom []Template, f TemplateFilter) []Template {
	out := []Template{}
	if f.Builtin {
		out = append(out, BuiltinTemplates()...)
	}
	out = append(out, custom...)
	return slices.DeleteFunc(out, func(t Template) bool { return !f.wants(t) })
}

func (f TemplateFilter) wants(t Template) bool {
	if f.Category != "" && !strings.EqualFold(string(f.Category), string(t.Category)) {
		return false
	}
	query := strings.ToLower(strings.TrimSpace(f.Query))
	return slices.ContainsFunc([]string{t.Name, t.Command, t.Description}, func(text string) bool {
		return strings.Contains(strings.ToLower(text), query)
	})
}

// FillPackageManager replaces {pm} by the package manager. Call it before a command is checked; it fails with project.ErrArgument if the command has
// a {pm} and the project no package manager.
func FillPackageManager(command string, pm project.Manager) (string, error) {
	if !strings.Contains(command, "{pm}") {
		return command, nil
	}
	if !pm.Known() {
		return "", project.ErrArgument.WithMessage("the command contains {pm}, but the project has no package manager; replace it with npm, pnpm, yarn or bun")
	}
	return strings.ReplaceAll(command, "{pm}", string(pm)), nil
}

// Placeholders returns the names that the user must fill in, each once, in order.
func Placeholders(command string) []string {
	out := []string{}
	for _, match := range placeholder().FindAllStringSubmatch(command, -1) {
		if !slices.Contains(out, match[1]) {
			out = append(out, match[1])
		}
	}
	return out
}

// FilledExample returns a command as an example: every placeholder is replaced by its own name. Templates are checked in this form, because <name> is
// not shell text.
func FilledExample(command string) string { return placeholder().ReplaceAllString(command, "$1") }

func placeholder() *regexp.Regexp { return regexp.MustCompile(`<([a-z][a-z0-9-]*)>`) }
