package shellcmd

import (
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/domain/project"
)

// Category is what a template is filed under.
type Category string

// The categories (packageflow contract §1.5). There is none for a single language: its commands are builds, tests and the like.
const (
	PackageManager Category = "package-manager"
	Git            Category = "git"
	Docker         Category = "docker"
	TemplateShell  Category = "shell"
	Testing        Category = "testing"
	CodeQuality    Category = "code-quality"
	Kubernetes     Category = "kubernetes"
	Database       Category = "database"
	Cloud          Category = "cloud"
	AI             Category = "ai"
	Security       Category = "security"
	NodeJS         Category = "nodejs"
	Custom         Category = "custom"
)

// Categories are all categories, in the order they are shown.
func Categories() []Category {
	return []Category{PackageManager, Git, Docker, TemplateShell, Testing, CodeQuality, Kubernetes, Database, Cloud, AI, Security, NodeJS, Custom}
}

// Label is the category as people read it, or its own text when it is none of the thirteen.
func (c Category) Label() string {
	switch c {
	case PackageManager:
		return "Package Manager"
	case Git:
		return "Git Operations"
	case Docker:
		return "Docker"
	case TemplateShell:
		return "Shell & System"
	case Testing:
		return "Testing"
	case CodeQuality:
		return "Code Quality"
	case Kubernetes:
		return "Kubernetes"
	case Database:
		return "Database"
	case Cloud:
		return "Cloud"
	case AI:
		return "AI Assistants"
	case Security:
		return "Security"
	case NodeJS:
		return "Node.js"
	case Custom:
		return "My Templates"
	}
	return string(c)
}

// ParseCategory is the category that a text names by its ID or its label, whatever the case and the signs between words. It fails with
// project.ErrArgument, listing those there are.
func ParseCategory(text string) (Category, error) {
	wanted := letters(text)
	ids := make([]string, 0, len(Categories()))
	for _, c := range Categories() {
		if wanted == letters(string(c)) || wanted == letters(c.Label()) {
			return c, nil
		}
		ids = append(ids, string(c))
	}
	return "", project.ErrArgument.Sayf("category %.60q is none of %s", text, strings.Join(ids, ", "))
}

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
