package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli"
	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// --jq and --template print a part of the answer without --json beside them. What does not fit is an error that says what there is, as are names that were mistyped, and a
// failure leaves stdout empty.
func TestAPartOfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words        []string
		code         int
		out, problem string
	}{
		"texts as they are":        {[]string{"version", "--jq", ".version"}, 0, "1.0\n", ""},
		"others as JSON":           {[]string{"version", "--jq", `{v: .version}, [1, null], (.version | length)`}, 0, "{\"v\":\"1.0\"}\n[1,null]\n3\n", ""},
		"beside --json":            {[]string{"version", "--json", "--jq", "keys[]"}, 0, "version\n", ""},
		"nothing selected":         {[]string{"version", "--jq", "empty"}, 0, "", ""},
		"no environment":           {[]string{"version", "--jq", "env | length"}, 0, "0\n", ""},
		"a template":               {[]string{"version", "--template", `{{.version}} {{json .}}`}, 0, "1.0 {\"version\":\"1.0\"}\n", ""},
		"a list of a template":     {[]string{"tools", "list", "--template", `{{range .}}{{.name}} {{end}}`}, 0, "wipe", ""},
		"the contract's own form":  {[]string{"tools", "call", "list_toolsets", "--jq", "type"}, 0, "object\n", ""},
		"no expression":            {[]string{"version", "--jq", ".["}, 2, "", `invalid argument ".[" for "--jq" flag`},
		"no template":              {[]string{"version", "--template", "{{"}, 2, "", `for "--template" flag`},
		"both":                     {[]string{"version", "--jq", ".", "--template", "x"}, 2, "", "exclude each other"},
		"an answer of other shape": {[]string{"version", "--jq", ".version[]"}, 2, "", "hint: the output has version; to see all of it: --json"},
		"a flag mistyped":          {[]string{"version", "--jsn"}, 2, "", "hint: did you mean --json? countersign version --help"},
		"a tool mistyped":          {[]string{"tools", "show", "wpie"}, 3, "", "hint: did you mean wipe?"},
		"a short name":             {[]string{"grants", "ls", "--jq", ".count"}, 0, "0\n", ""},
		"a failure":                {[]string{"grants", "revoke", "nonesuch", "--jq", ".code"}, 3, "", "error: session grant nonesuch not found"},
		"an envelope that failed":  {[]string{"agents", "nonesuch", "--jq", ".ok"}, 2, "", "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, problems bytes.Buffer
			code := cli.Run(t.Context(), cli.Program{Version: "1.0", Open: openDemo}, &command.Terminal{In: strings.NewReader(""), Out: &out, Err: &problems}, c.words)
			assert.Equal(t, c.code, code, problems.String())
			if c.out == "wipe" {
				assert.Contains(t, out.String(), c.out)
			} else {
				assert.Equal(t, c.out, out.String())
			}
			assert.Contains(t, problems.String(), c.problem)
		})
	}
}
