package admincmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/policy"
)

// The numbers of lines around the list and around a request.
const (
	listFrame = 5 // title, blank, headings; notice, keys
	readFrame = 4 // title, blank; notice, keys
)

// The smallest supported screen.
const (
	leastWidth  = 20
	leastHeight = 6
)

// frame returns the screen: exactly height lines, each of at most width cells.
func (m *model) frame() []line {
	var out []line
	switch {
	case m.width < leastWidth || m.height < leastHeight:
		out = []line{{text: cut("too small", m.width)}}
	case m.screen == helping:
		out = m.help()
	case m.screen == reading:
		out = m.question()
	default:
		out = m.list()
	}
	for len(out) < m.height {
		out = append(out, line{})
	}
	out = out[:max(m.height, 0)]
	for i := range out {
		out[i].text = cut(out[i].text, m.width)
	}
	return out
}

// framed puts a title above and the last two lines below the content, which gets the rest.
func (m *model) framed(title, right string, between []line, keys string) []line {
	title = cut(title, max(m.width-cells(right)-1, 8))
	out := []line{{title + " " + padLeft(right, m.width-cells(title)-1), command.Heading}, {}}
	out = append(out, between...)
	for len(out) < m.height-2 {
		out = append(out, line{})
	}
	out = out[:max(m.height-2, 0)]
	return append(out, m.foot(), line{keys, command.Faded})
}

func padLeft(s string, width int) string { return strings.Repeat(" ", max(width-cells(s), 0)) + s }

// foot returns the line for the last message or the current question.
func (m *model) foot() line {
	switch {
	case m.asking != nil:
		typed := drawable(string(m.asking.typed)) + "▏"
		room := m.width - cells(m.asking.prompt) - 1
		for cells(typed) > max(room, 8) { // the cursor is at its end
			_, typed = split(typed, 2) // a wide character takes two
		}
		return line{m.asking.prompt + " " + typed, command.Heading}
	case m.touch != "":
		return line{oneLine(m.touch) + " (Esc: cancel) …", command.Heading}
	case m.busy:
		return line{"computing the current plan …", command.Faded}
	case m.problem != "":
		return line{oneLine(m.problem), command.Removed}
	}
	return line{oneLine(m.notice.text), m.notice.tint}
}

func (m *model) list() []line {
	title := "Countersign · approvals"
	right := fmt.Sprintf("%d pending", len(m.items))
	if len(m.items) == 0 {
		nothing := "No pending approvals. New requests appear here automatically."
		if !m.loaded {
			nothing, right = "Loading …", ""
		}
		return m.framed(title, right, wrap(line{text: nothing}, m.width), "q quit  ? help")
	}
	columns := m.columns()
	rows := []line{{row(columns, headings()), command.Heading}}
	page := max(m.height-listFrame, 1)
	first := max(0, min(m.chosen-page/2, len(m.items)-page))
	prompts := make([]string, len(m.items))
	for i, item := range m.items {
		prompts[i] = oneLine(item.Prompt)
	}
	for i := first; i < min(first+page, len(m.items)); i++ {
		rows = append(rows, m.row(columns, i, apart(prompts, i, columns[len(columns)-1])))
	}
	return m.framed(title, right, rows, "↑↓ move  Enter open  q quit  ? help")
}

// cellsOf is the cells of a row: the selection mark, then the columns. On narrow screens the least important go first.
type cellsOf [6]string

func headings() cellsOf {
	return cellsOf{"", "TOOL", "RISK", "ASKED BY", "LEFT", "PLAN"}
}

// columns returns the widths.
func (m *model) columns() [6]int {
	w := [6]int{2, 24, 7, 18, 8, 0}
	const least = 24 // for the plan's description
	rest := func() int { return m.width - w[0] - w[1] - w[2] - w[3] - w[4] }
	for _, narrower := range []struct{ column, width int }{{3, 0}, {1, 18}, {2, 0}, {4, 7}, {1, 0}} {
		if rest() >= least {
			break
		}
		w[narrower.column] = narrower.width
	}
	w[5] = max(rest(), 0)
	return w
}

func row(widths [6]int, of cellsOf) string {
	var out strings.Builder
	for i, w := range widths {
		switch {
		case w == 0:
		case i == len(widths)-1:
			out.WriteString(cut(of[i], w))
		default:
			out.WriteString(padded(cut(of[i], w-1), w))
		}
	}
	return out.String()
}

func (m *model) row(columns [6]int, i int, prompt string) line {
	item := m.items[i]
	of := cellsOf{"", oneLine(item.Tool), oneLine(item.Risk), oneLine(item.Client), m.left(item.ExpiresAt), prompt}
	l := line{tint: risky(item.Risk)}
	if i == m.chosen {
		of[0], l.tint = "›", command.Heading
	}
	l.text = row(columns, of)
	return l
}

// risky returns the tint of a risk.
func risky(risk string) command.Tint {
	switch risk {
	case policy.RiskHigh.String():
		return command.Removed
	case policy.RiskMedium.String():
		return command.Changed
	}
	return 0
}

// left returns the time until something expires.
func (m *model) left(until time.Time) string {
	d := until.Sub(m.now)
	if d <= 0 {
		return "expired"
	}
	return d.Truncate(time.Second).String()
}

func (m *model) question() []line {
	body := m.lines()
	page := max(m.height-readFrame, 1)
	m.top = max(0, min(m.top, len(body)-page))
	last := min(m.top+page, len(body))
	right := "expires in " + m.left(m.item.ExpiresAt)
	keys := "a approve  d deny  q back  ? help"
	if m.item.Always {
		keys = "a approve  A always  d deny  q back  ? help"
	}
	if m.item.Dated {
		keys = strings.Replace(keys, "d deny", "u until  d deny", 1)
	}
	if m.item.Touch && m.item.Needs != policy.ProvingTouch {
		keys = strings.Replace(keys, "a approve", "a approve  t with a touch", 1)
	}
	if m.item.Masked > 0 && !m.item.Revealed {
		keys = strings.Replace(keys, "d deny", "r reveal  d deny", 1)
	}
	if m.outcomeText != "" {
		right, keys = "not pending", "q back"
	}
	if len(body) > page {
		keys += fmt.Sprintf("  (%d–%d of %d, Space: next page)", m.top+1, last, len(body))
	}
	return m.framed(oneLine(m.item.Tool), right, body[m.top:last], keys)
}

// lines returns the request laid out for the current width.
func (m *model) lines() []line {
	if m.bodyAt == m.width {
		return m.body
	}
	var out []line
	add := func(text string, tint command.Tint) { out = append(out, wrap(line{text, tint}, m.width)...) }
	if m.outcomeText != "" {
		add(oneLine(m.outcomeText), command.Changed)
		add("", 0)
	}
	if len(m.after) > 0 {
		add("Changes since the plan below was computed:", command.Heading)
		for _, l := range m.after {
			add(l.text, l.tint)
		}
		add("", 0)
	}
	if m.asking != nil && len(m.terms) > 0 {
		for _, l := range m.terms {
			add(l.text, l.tint)
		}
		add("", 0)
	}
	add(oneLine(m.item.Prompt), command.Heading)
	add("", 0)
	if m.item.Risk != "" {
		add("risk      "+oneLine(m.item.Risk), risky(m.item.Risk))
	}
	if m.item.Client != "" {
		add("asked by  "+oneLine(m.item.Client), 0)
	}
	if m.item.Strength >= policy.Typed {
		add("to approve, type the name "+oneLine(m.item.Target), command.Changed)
	}
	if m.item.Needs > policy.ProvingPerson {
		add("approving needs "+m.item.Needs.Words(), command.Changed)
	}
	if m.item.Always && m.item.Strength < policy.Typed {
		add("A: "+command.SessionGrantText(m.item.View), 0)
	}
	if m.item.Unmet != "" {
		add(oneLine(m.item.Unmet), command.Changed)
	}
	if redacted := command.RedactedNote(m.item.View); redacted != "" {
		add(redacted, command.Changed)
	}
	if told := m.item.Suggestion(m.earlier); m.item.Dated && told != "" {
		add(told+" u allows it until a time that you set, without asking.", command.Heading)
	}
	m.plan(add)
	m.body, m.bodyAt = out, m.width
	return out
}

// plan adds the plan, its diffs, and the arguments as sent.
func (m *model) plan(add func(text string, tint command.Tint)) {
	if len(m.item.Plan) > 0 {
		add("", 0)
		add("plan", command.Heading)
		command.Tinted(clean(command.PlanText(m.item.Plan)), add)
	}
	if m.extra != "" {
		add("", 0)
		add("diffs", command.Heading)
		var quoted strings.Builder
		for l := range strings.Lines(clean(m.extra)) {
			quoted.WriteString("    | " + strings.TrimSuffix(l, "\n") + "\n")
		}
		command.Tinted(strings.TrimSuffix(quoted.String(), "\n"), add)
	}
	if args := string(m.item.Arguments); args != "" && args != "{}" {
		add("", 0)
		add("arguments, as sent", command.Heading)
		for _, l := range command.ArgumentLines(m.item.Arguments) {
			add("  | "+clean(l), 0)
		}
	}
}

func (m *model) help() []line {
	var body []line
	for _, l := range []string{
		"In the list", "  ↑ ↓  j k        move", "  Enter           open a request", "  q  Esc          quit", "",
		"In a request", "  ↑ ↓  j k        one line", "  PgUp PgDn Space one page", "  g G             beginning, end",
		"  a               approve this plan, after you type the name if one is required", "  A               approve, and add a session grant for the same call",
		"  u               approve, and allow the same call in any session until a time",
		"  t               approve with a touch of your security key, if one is enrolled and in your ssh agent",
		"  r               show the redacted parts; they are not stored",
		"  d               deny, with an optional reason for the client", "  q  Esc          back to the list", "",
		"Only the plan that is shown is approved. If it changed, the", "approval is denied and the difference is shown.",
	} {
		tint := command.Tint(0)
		if l != "" && !strings.HasPrefix(l, " ") && !strings.ContainsAny(l, ".,") {
			tint = command.Heading
		}
		body = append(body, wrap(line{l, tint}, m.width)...)
	}
	return m.framed("Countersign · keys", "", body, "any key: back")
}
