package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/manual"
)

// proses are what stands behind the program's name in sentences that name no command of it.
var proses = []string{"is", "on", "puts", "form", "machine", "secrets", "audit-head", "refuses"}

// isTopic is what the name of a topic, or of a command, looks like.
var isTopic = regexp.MustCompile(`^[a-z][a-z-]*$`)

// verbs go on with a sentence behind a group of commands.
var verbs = []string{"decides", "follows", "lists", "shows", "stores"}

// TestCommandsThatAreNamedExist: whatever the program tells users to run (in messages, hints, next actions, examples, pages, the README and the manual) is a command of it, with
// flags that it has; and it names no other program's.
func TestCommandsThatAreNamedExist(t *testing.T) {
	t.Parallel()
	s := &command.Shell{Terminal: &command.Terminal{}}
	root := commands(Program{}, s)
	named := regexp.MustCompile(`\bcountersign((?: [^ \n]+)+)`)
	others := regexp.MustCompile(`\b(?:agentpack|amof|packageflow|context-pack) (?:add|bootstrap|deploy|diff|doctor|evolve|fetch|import|init|lock|overlay|plan|preview|rollback|status|sync|update)\b`)
	quoted := regexp.MustCompile("(?m)`countersign [^`]+`|^\\$ .*|^countersign [a-z].*")
	found := 0
	look := func(where, text string) {
		for _, other := range others.FindAllString(text, -1) {
			t.Errorf("%s: a program that is not there: %s", where, other)
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if wrong := unknown(root, strings.Fields(m[1])); wrong != "" {
				t.Errorf("%s: countersign%s: %s", where, m[1], wrong)
			}
			found++
		}
	}
	top := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{".git", "testdata", "internal"}, d.Name()) && path != filepath.Join(top, "cmd", "internal")):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"): // the manual, in its code
			text, err := os.ReadFile(path)
			for _, m := range quoted.FindAllString(string(text), -1) {
				look(path, strings.Trim(m, "` "))
			}
			return err
		case strings.HasSuffix(path, ".js"): // of pages
			script, err := os.ReadFile(path)
			look(path, string(script))
			return err
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok && f.Tag != nil { // schemas of the originals speak of their programs
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			if name := filepath.Base(path); !slices.Contains([]string{"schemas.go", "seed_schemas.go", "schema.go"}, name) {
				look(path, text)
			}
			return true
		})
		return nil
	}))
	require.Greater(t, found, 300)
}

// unknown returns what of the words is neither a command nor a flag of one, as far as they go on naming commands; empty where all is.
func unknown(root *cobra.Command, words []string) string {
	at := root
	for i, word := range words {
		if slices.Contains([]string{"--", "&&", "|", "#"}, word) { // another program's begin
			return ""
		}
		whole := word
		word = strings.TrimRight(word, "`'\")],;:.?!…")
		if flag, ok := strings.CutPrefix(word, "--"); ok && at != root {
			name, _, _ := strings.Cut(flag, "=")
			if name != "" && regexp.MustCompile(`^[a-z-]+$`).MatchString(name) && at.Flags().Lookup(name) == nil && at.InheritedFlags().Lookup(name) == nil && name != "help" {
				return at.CommandPath() + " has no flag --" + name
			}
		} else if at.HasSubCommands() {
			if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) {
				return "" // a placeholder, or the end of the sentence's command
			}
			next := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
			switch {
			case next >= 0:
				at = at.Commands()[next]
			case i == 0 && slices.Contains(proses, word), i > 0 && slices.Contains(verbs, word):
				return ""
			case at == root && word == "completion":
				return ""
			case at == root && word == "help":
				if topic := words[i+1:]; len(topic) > 0 && isTopic.MatchString(topic[0]) && !slices.ContainsFunc(manual.Topics(), func(t manual.Topic) bool { return t.Name == topic[0] }) {
					return unknown(root, topic)
				}
				return ""
			default:
				return at.CommandPath() + " has no command " + word
			}
		}
		if whole != word {
			return ""
		}
	}
	return ""
}
