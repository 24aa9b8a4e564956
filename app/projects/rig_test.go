package projects_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/projects"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

func TestMain(m *testing.M) { projectrig.Main(m.Run) }

// shop is a project with scripts of every kind. The managers of a rig run NAME.sh for the script NAME.
const shop = `
-- package.json --
{"name": "shop", "scripts": {
  "build": "sh build.sh",
  "fail": "sh fail.sh",
  "loud": "sh loud.sh",
  "slow": "sh slow.sh",
  "env": "sh env.sh",
  "args": "sh args.sh",
  "dev": "sh dev.sh",
  "precheck": "sh before.sh",
  "check": "sh build.sh",
  "postcheck": "sh after.sh"
}}
-- build.sh --
echo built
-- check.sh --
echo checked
-- fail.sh --
echo it broke >&2; exit 3
-- loud.sh --
i=0; while [ $i -lt 20000 ]; do echo "line $i of what is far too much to be shown to anybody"; i=$((i+1)); done
-- slow.sh --
echo started; sleep 300 & echo $! > child; wait
-- env.sh --
env | sort
-- args.sh --
for a in "$@"; do printf '<%s>\n' "$a"; done
-- dev.sh --
trap 'echo bye; exit 0' TERM
echo starting; echo "ready on port 3000"; echo warming
while :; do sleep 0.05; done
`

// code returns the contract's code of an outcome, empty for a success, and the outcome of a dry run "plan".
func code(o tool.Outcome) string {
	switch {
	case o.Err != nil:
		return present.ProblemOf(o).Code
	case o.DryRun:
		return "plan"
	}
	return ""
}

// details returns the details of an error, in the contract's form.
func details(o tool.Outcome) (plain map[string]any) {
	if o.Err == nil {
		return nil
	}
	doc, err := json.Marshal(present.ProblemOf(o).Details)
	if err != nil || json.Unmarshal(doc, &plain) != nil {
		return nil
	}
	return plain
}

// book collects outcomes for one golden file.
type book struct {
	t       *testing.T
	text    strings.Builder
	replace []string // old, new, …
	names   map[string]string
}

func newBook(t *testing.T, replace ...string) *book {
	return &book{t: t, replace: replace, names: map[string]string{}}
}

// add is one outcome, as MCP shows it.
func (b *book) add(title string, c tool.Call, o tool.Outcome) {
	b.t.Helper()
	if o.Request != nil {
		o.Request.Plan, _ = tool.Encode(map[string]any{"context": present.ContextOf(o.Request.Plan)}) // a plan without its head
	}
	doc := present.For(projects.Contract)(o)
	text, err := golden.Indent([]byte(doc.Text))
	require.NoError(b.t, err)
	fmt.Fprintf(&b.text, "## %s\n%s %s\n%s\n", title, c.Tool, c.Args, text)
}

// tries adds the outcomes of each call: asked, planned, and applied, as in its title.
func (b *book) tries(d *projectrig.Core, name tool.Name, rows ...[2]string) {
	b.t.Helper()
	d = d.Fresh() // no rate limit applies here
	for _, row := range rows {
		title, args := row[0], row[1]
		for i := 0; i+1 < len(b.replace); i += 2 {
			args = strings.ReplaceAll(args, b.replace[i+1], b.replace[i])
		}
		c := d.New(name, args)
		switch {
		case strings.HasPrefix(title, "plan"):
			c.Mode = policy.Plan
			b.add(title, c, d.Call(b.t.Context(), c))
		case strings.HasPrefix(title, "done"):
			b.add(title, c, d.Confirmed(name, args))
		default:
			b.add(title, c, d.Call(b.t.Context(), c))
		}
	}
}

var (
	named = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|\b(bp|run)_[0-9a-f]{8}\b|\b(cf|call)_[0-9A-Za-z]{10,}\b|\b[0-9a-f]{64}\b`)
	fixed = []struct{ find, put string }{
		{`"confirm_token": "[^"]+"`, `"confirm_token": "TOKEN"`},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`, `TIME`},
		{`"(durationMs|duration_ms|retryAfterMs)(\\*": ?)\d+`, `"$1${2}0`},
		{`"(pid|ownerPid|owner_pid)": \d+`, `"$1": 1`},
		{`\(pid \d+\)`, `(pid 1)`},
		{`127\.0\.0\.1:\d+`, `127.0.0.1:PORT`},
		{`("Date\\*": ?\\*")[^"\\]+`, `${1}DATE`},
	}
)

// compare compares everything that was added with testdata/NAME.golden, with variable parts replaced.
func (b *book) compare(name string) {
	b.t.Helper()
	text := strings.NewReplacer(b.replace...).Replace(b.text.String())
	for _, f := range fixed {
		text = regexp.MustCompile(f.find).ReplaceAllString(text, f.put)
	}
	text = named.ReplaceAllStringFunc(text, func(id string) string {
		if b.names[id] == "" {
			kind, _, found := strings.Cut(id, "_")
			if !found {
				kind = map[bool]string{true: "hash", false: "uuid"}[len(id) == 64]
			}
			b.names[id] = fmt.Sprintf("%s%d", strings.ToUpper(kind), len(b.names)+1)
		}
		return b.names[id]
	})
	golden.Text(b.t, name, text)
}

// The timeout and the interval of polling.
const (
	wait = time.Minute
	tick = time.Millisecond
)

// storedExecution returns a row of the history as the database has it.
func storedExecution(t *testing.T, r *projectrig.Rig, id string) string {
	t.Helper()
	e, err := r.Catalogue().Executions.Find(t.Context(), id)
	require.NoError(t, err)
	return fmt.Sprint(e.Output, e.Error, e.Steps[len(e.Steps)-1].Error, string(e.Result), string(e.Parameters))
}
