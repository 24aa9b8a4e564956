package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/archtest"
)

// rules returns all rules, with the settings that the small modules in testdata are written for.
func rules() map[string]func(*archtest.Module) []archtest.Finding {
	return map[string]func(*archtest.Module) []archtest.Finding{
		"imports": func(m *archtest.Module) []archtest.Finding { return archtest.Imports(m, archtest.Law()) },
		"apart":   func(m *archtest.Module) []archtest.Finding { return archtest.Apart(m, archtest.Stems()) },
		"pure":    archtest.Pure,
		"docs":    archtest.Docs,
		"map":     func(m *archtest.Module) []archtest.Finding { return archtest.Map(m, "ARCHITECTURE.md") },
		"names":   archtest.Names,
		"hidden":  archtest.Hidden,
		"git":     func(m *archtest.Module) []archtest.Finding { return archtest.OneGit(m, "adapters/gitcli") },
		"answers": func(m *archtest.Module) []archtest.Finding {
			return archtest.Answers(m, []string{"adapters/cli/...", "adapters/console/..."})
		},
		"handles":   archtest.Handles,
		"supported": func(m *archtest.Module) []archtest.Finding { return archtest.Supported(m, archtest.Public()) },
		"codes": func(m *archtest.Module) []archtest.Finding {
			_, found := archtest.Codes(m)
			return found
		},
	}
}

// TestEachRuleCanFail runs every rule over a small module that breaks it; the archive's comment is what the rule has to say.
func TestEachRuleCanFail(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
			require.NoError(t, err)
			m, err := archtest.Load(tree(archive))
			require.NoError(t, err)

			want := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
			assert.ElementsMatch(t, want, lines(rule(m)))
		})
	}
}

func tree(archive *txtar.Archive) fs.FS {
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return files
}

func lines(found []archtest.Finding) []string {
	text := make([]string, len(found))
	for i, f := range found {
		text[i] = f.String()
	}
	return text
}

func TestLoadRefusesWhatIsNoModule(t *testing.T) {
	_, err := archtest.Load(fstest.MapFS{"go.mod": {Data: []byte("go 1.26\n")}})
	require.ErrorIs(t, err, archtest.ErrNoModule)

	_, err = archtest.Load(fstest.MapFS{"go.mod": {Data: []byte("module m\n")}, "a.go": {Data: []byte("nonsense")}})
	require.ErrorContains(t, err, "a.go")
}

func TestEveryRowHasAReasonAndItsOwnPackages(t *testing.T) {
	owner := map[string]string{}
	for _, row := range archtest.Law() {
		assert.Greater(t, len(strings.Fields(row.Reason)), 4, "the row of %v needs a reason, in a sentence", row.Packages)
		for _, pattern := range row.Packages {
			assert.Empty(t, owner[pattern], "%s has two rows", pattern)
			owner[pattern] = row.Reason
		}
	}
}

// TestOnlyOneRowKnowsEachLibrary keeps every library exchangeable in a single place. The extended sync package, the calls of
// the operating system and the libraries of tests are no technology.
func TestOnlyOneRowKnowsEachLibrary(t *testing.T) {
	users := map[string][]string{}
	for _, row := range archtest.Law() {
		for _, module := range row.Modules {
			if !strings.HasPrefix(row.Packages[0], "internal/") && module != "golang.org/x/sync" && module != "golang.org/x/sys" {
				users[module] = append(users[module], row.Packages...)
			}
		}
	}
	for module, packages := range users {
		assert.Len(t, packages, 1, "%s may be imported by %v", module, packages)
	}
}

func root() fs.FS { return os.DirFS(filepath.Join("..", "..", "..")) }
