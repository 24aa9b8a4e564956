package policy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
)

// table is a hand-written table of testdata: rows that fold combinations with wildcards.
type table struct {
	name string
	dims []dim
	rows []row
}

// dim is one input column and every word it can hold; a word's place in the list is the value's number.
type dim struct {
	name  string
	words []string
}

// row is one line: the set of values it matches in each dimension, as bits, and what it says.
type row struct {
	line  int
	match []uint8
	says  []string
}

var (
	modeWords     = []string{"-", "ask", "plan", "execute"}
	levelWords    = []string{"-", "read_only", "execute_with_confirm", "full_access"}
	overrideWords = []string{"-", "blocked", "confirm", "allowed"}
	strengthWords = []string{"none", "simple", "preview", "type"}
	riskWords     = []string{"none", "low", "medium", "high"}
	actionWords   = []string{"-", "deny", "confirm", "auto"} // none, deny, require_confirm, auto_approve
	classWords    = []string{"unknown", "read", "scratch", "write", "dangerous"}
	noYes         = []string{"no", "yes"}
)

func modeTable(t *testing.T) table {
	return load(t, "testdata/modes.txt", 1,
		dim{"call", modeWords}, dim{"session", modeWords}, dim{"operator", modeWords}, dim{"toolset", modeWords}, dim{"ceiling", modeWords})
}

func decisionTable(t *testing.T) table {
	return load(t, "testdata/decisions.txt", 2,
		dim{"class", classWords}, dim{"mode", modeWords[1:]}, dim{"level", levelWords}, dim{"override", overrideWords},
		dim{"strength", strengthWords}, dim{"risk", riskWords}, dim{"action", actionWords}, dim{"grants", []string{"missing", "held"}}, dim{"session", noYes}, dim{"auto", noYes})
}

// load reads a table whose rows have one cell a dimension and then so many answers. It refuses words no dimension has.
func load(t *testing.T, file string, answers int, dims ...dim) table {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	tab := table{name: file, dims: dims}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "|")
		require.Len(t, cells, len(dims)+answers, "%s:%d", file, i+1)
		r := row{line: i + 1}
		for c, cell := range cells {
			cell = strings.TrimSpace(cell)
			if c >= len(dims) {
				r.says = append(r.says, cell)
				continue
			}
			r.match = append(r.match, bits(t, file, i+1, dims[c], cell))
		}
		tab.rows = append(tab.rows, r)
	}
	return tab
}

func bits(t *testing.T, file string, line int, d dim, cell string) uint8 {
	t.Helper()
	if cell == "*" {
		return 1<<len(d.words) - 1
	}
	var set uint8
	for word := range strings.SplitSeq(cell, ",") {
		at := slices.Index(d.words, word)
		require.GreaterOrEqual(t, at, 0, "%s:%d: %q is no %s", file, line, word, d.name)
		set |= 1 << at
	}
	return set
}

// resolve walks every combination of the table's dimensions, last dimension fastest, and returns the row of each. It fails when a
// combination matches no row or two, and when a row is never used.
func (tab table) resolve(t *testing.T) []*row {
	t.Helper()
	size := 1
	for _, d := range tab.dims {
		size *= len(d.words)
	}
	out, used := make([]*row, size), make([]bool, len(tab.rows))
	for n := range out {
		for i := range tab.rows {
			r := &tab.rows[i]
			if !r.matches(tab, n) {
				continue
			}
			require.Nil(t, out[n], "%s: %s matches two lines, one of them %d", tab.name, tab.words(n), r.line)
			out[n], used[i] = r, true
		}
		require.NotNil(t, out[n], "%s: %s matches no line", tab.name, tab.words(n))
	}
	for i, u := range used {
		assert.True(t, u, "%s:%d is never used", tab.name, tab.rows[i].line)
	}
	return out
}

func (r *row) matches(tab table, n int) bool {
	for d := len(tab.dims) - 1; d >= 0; d-- {
		size := len(tab.dims[d].words)
		if r.match[d]&(1<<(n%size)) == 0 {
			return false
		}
		n /= size
	}
	return true
}

// words spells a combination out, for messages.
func (tab table) words(n int) string {
	out := make([]string, len(tab.dims))
	for d := len(tab.dims) - 1; d >= 0; d-- {
		size := len(tab.dims[d].words)
		out[d] = tab.dims[d].name + "=" + tab.dims[d].words[n%size]
		n /= size
	}
	return strings.Join(out, " ")
}

const toolName = "some_tool"

// The states auto-approve can be in. Only the last is "yes" in the tables: an empty list approves nothing.
var autoStates = []struct {
	auto policy.AutoApprove
	yes  int
}{
	{policy.AutoApprove{}, 0},
	{policy.AutoApprove{Tools: []string{toolName}}, 0},
	{policy.AutoApprove{Enabled: true}, 0},
	{policy.AutoApprove{Enabled: true, Tools: []string{"some_tool_2", "SOME_TOOL", "*"}}, 0},
	{policy.AutoApprove{Enabled: true, Tools: []string{"other", toolName}}, 1},
}

// claimsOf is what a tool of each class claims, and what its principal lacks when grants are missing.
var claimsOf = []policy.Effects{policy.Read, policy.Read, policy.Read | policy.Write, policy.Read | policy.Write, policy.Read | policy.Delete | policy.Exec}

// TestDecideAgainstTheTables asks Decide about every combination there is and compares it with what users wrote down. Where a risk or a
// rule of an action comes in, the ways to a mode are taken in turns instead of all of them each time.
func TestDecideAgainstTheTables(t *testing.T) {
	modes, decisions := modeTable(t).resolve(t), decisionTable(t).resolve(t)
	ways := make([][]int, 3)
	for m, row := range modes {
		mode := slices.Index(modeWords, row.says[0]) - 1
		ways[mode] = append(ways[mode], m)
	}
	const turns = 8
	wrong, turn := 0, 0
	for n, expected := range decisions {
		q, p, mode, auto := request(n)
		for _, state := range autoStates {
			if state.yes != auto {
				continue
			}
			p.Auto = state.auto
			tried := len(ways[mode])
			if q.Risk > policy.RiskNone || q.Action > policy.ActionNone {
				tried = turns
			}
			for range tried {
				m := ways[mode][turn%len(ways[mode])]
				turn++
				setModes(&q, &p, m)
				d := p.Evaluate(q)
				if d.Verdict.String() == expected.says[0] && d.Rule == expected.says[1] && d.Mode.String() == modes[m].says[0] {
					continue
				}
				if wrong++; wrong <= 10 {
					t.Errorf("decisions.txt:%d and modes.txt:%d say %s by %s in mode %s; Decide says %s by %s in mode %s\n  policy %+v\n  request %+v",
						expected.line, modes[m].line, expected.says[0], expected.says[1], modes[m].says[0], d.Verdict, d.Rule, d.Mode, p, q)
				}
			}
		}
	}
	assert.Zero(t, wrong, "combinations decided otherwise than the tables say")
}

// request returns the decision table's combination n without its modes; mode counts from ask.
func request(n int) (q policy.Request, p policy.Policy, mode, auto int) {
	take := func(size int) int {
		v := n % size
		n /= size
		return v
	}
	auto = take(2)
	q.Granted = take(2) == 1
	held := take(2) == 1
	q.Action = policy.ActionRule(take(4))
	q.Risk = policy.Risk(take(4))
	q.Strength = policy.Strength(take(4))
	p.Tools = map[string]policy.Setting{toolName: policy.Setting(take(4)), "other": policy.Allowed}
	p.Level = policy.Level(take(4))
	mode = take(3)
	q.Claims.Class = policy.Class(take(5))
	q.Claims.Effects = claimsOf[q.Claims.Class]
	q.Tool, q.Principal = toolName, policy.Principal{ID: "p", Grants: policy.All}
	if !held {
		q.Principal.Grants = policy.All &^ highest(q.Claims.Effects)
	}
	return q, p, mode, auto
}

// highest returns one effect of a set: lacking a single one of several is enough to be refused.
func highest(e policy.Effects) policy.Effects {
	for bit := policy.Network; bit > 0; bit >>= 1 {
		if e&bit != 0 {
			return bit
		}
	}
	return 0
}

func setModes(q *policy.Request, p *policy.Policy, m int) {
	take := func() policy.Mode {
		v := policy.Mode(m % 4)
		m /= 4
		return v
	}
	p.Ceiling, q.ToolsetMode, p.Mode, q.SessionMode, q.CallMode = take(), take(), take(), take(), take()
}

// TestTableWordsAreTheProducts ties the tables' words to the values they stand for.
func TestTableWordsAreTheProducts(t *testing.T) {
	for i := range 4 {
		assert.Equal(t, modeWords[i], dash(policy.Mode(i).String()))
		assert.Equal(t, levelWords[i], dash(policy.Level(i).String()))
		assert.Equal(t, overrideWords[i], dash(policy.Setting(i).String()))
		assert.Equal(t, strengthWords[i], policy.Strength(i).String())
		assert.Equal(t, riskWords[i], policy.Risk(i).String())
	}
	assert.Equal(t, []string{"none", "deny", "require_confirm", "auto_approve"}, []string{
		policy.ActionNone.String(), policy.ActionDeny.String(), policy.ActionRequireConfirm.String(), policy.ActionAutoApprove.String(),
	})
	for i, w := range classWords {
		assert.Equal(t, w, policy.Class(i).String())
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
