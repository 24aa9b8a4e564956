package shellcmd

import (
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/domain/project"
)

// Category is the category of a template.
type Category string

// The categories (packageflow contract §1.5). There is none for a single language: its commands are builds, tests and the like.
const (
	CategoryPackageManager Category = "package-manager"
	CategoryGit            Category = "git"
	CategoryDocker         Category = "docker"
	CategoryShell          Category = "shell"
	CategoryTesting        Category = "testing"
	CategoryCodeQuality    Category = "code-quality"
	CategoryKubernetes     Category = "kubernetes"
	CategoryDatabase       Category = "database"
	CategoryCloud          Category = "cloud"
	CategoryAI             Category = "ai"
	CategorySecurity       Category = "security"
	CategoryNodeJS         Category = "nodejs"
	CategoryCustom         Category = "custom"
)

// Categories returns all categories, in the order they are shown.
func Categories() []Category {
	return []Category{CategoryPackageManager, CategoryGit, CategoryDocker, CategoryShell, CategoryTesting, CategoryCodeQuality, CategoryKubernetes, CategoryDatabase, CategoryCloud, CategoryAI, CategorySecurity, CategoryNodeJS, CategoryCustom}
}

// Label returns the category's display name, or its own text if it is none of the thirteen.
func (c Category) Label() string {
	switch c {
	case CategoryPackageManager:
		return "Package Manager"
	case CategoryGit:
		return "Git Operations"
	case CategoryDocker:
		return "Docker"
	case CategoryShell:
		return "Shell & System"
	case CategoryTesting:
		return "Testing"
	case CategoryCodeQuality:
		return "Code Quality"
	case CategoryKubernetes:
		return "Kubernetes"
	case CategoryDatabase:
		return "Database"
	case CategoryCloud:
		return "Cloud"
	case CategoryAI:
		return "AI Assistants"
	case CategorySecurity:
		return "Security"
	case CategoryNodeJS:
		return "Node.js"
	case CategoryCustom:
		return "My Templates"
	}
	return string(c)
}

// ParseCategory returns the category with that ID or label, ignoring case and the characters between words. It fails with project.ErrArgument,
// listing the existing ones.
func ParseCategory(text string) (Category, error) {
	wanted := letters(text)
	ids := make([]string, 0, len(Categories()))
	for _, c := range Categories() {
		if wanted == letters(string(c)) || wanted == letters(c.Label()) {
			return c, nil
		}
		ids = append(ids, string(c))
	}
	return "", project.ErrArgument.WithMessage("unknown category %.60q; use one of %s", text, strings.Join(ids, ", "))
}

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
