package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// The layout of tables, in characters.
const (
	columnGap   = 2
	leastColumn = 16 // columns are shortened to this before one is hidden,
	wholeColumn = 24 // but for those that are not wider than this: times and ids are of no use without their end
)

// Table writes rows under headings: with lines and colour on a terminal, and as plain columns otherwise. Where they are wider than the screen, long cells are shortened; then
// columns are hidden, those named in first before the others, which go from the right, and a line on the error stream says which.
func (t *Terminal) Table(headings []string, rows [][]string, first ...string) {
	for _, r := range rows {
		for i := range r {
			r[i] = Plain(r[i])
		}
	}
	shown, widths, hidden := layout(headings, rows, t.Width(), first)
	w := table.NewWriter()
	w.SetOutputMirror(t.Out)
	style := table.StyleDefault
	if t.Drawn() {
		style = table.StyleLight
	}
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", columnGap)
	style.Format.Header = text.FormatUpper
	if t.colour(t.Out) {
		style.Color.Header = text.Colors{text.Bold}
	}
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	line := func(cells []string) table.Row {
		row := make(table.Row, len(shown))
		for i, column := range shown {
			if row[i] = ""; column < len(cells) {
				row[i] = shorten(cells[column], widths[column])
			}
		}
		return row
	}
	w.AppendHeader(line(headings))
	for _, r := range rows {
		w.AppendRow(line(r))
	}
	w.Render()
	switch len(hidden) {
	case 0:
	case 1:
		t.Note("the column %s is hidden: widen the terminal, or use --json", hidden[0])
	default:
		t.Note("the columns %s and %s are hidden: widen the terminal, or use --json", strings.Join(hidden[:len(hidden)-1], ", "), hidden[len(hidden)-1])
	}
}

// layout returns the columns to show, each column's width, and the headings of hidden columns. limit is the width of the screen; zero is no limit.
func layout(headings []string, rows [][]string, limit int, first []string) (shown, widths []int, hidden []string) {
	widths = make([]int, len(headings))
	for i, h := range headings {
		shown, widths[i] = append(shown, i), text.StringWidth(h)
		for _, r := range rows {
			if i < len(r) {
				widths[i] = max(widths[i], text.StringWidth(r[i]))
			}
		}
	}
	if limit <= 0 {
		return shown, widths, nil
	}
	natural := slices.Clone(widths)
	least := func(column int) int {
		if natural[column] <= wholeColumn {
			return min(natural[column], limit)
		}
		return min(max(leastColumn, text.StringWidth(headings[column])), limit)
	}
	total := func(width func(column int) int) int {
		sum := columnGap * (len(shown) - 1)
		for _, column := range shown {
			sum += width(column)
		}
		return sum
	}
	for len(shown) > 1 && total(least) > limit {
		next := len(shown) - 1
		for _, name := range first {
			if at := slices.IndexFunc(shown, func(column int) bool { return headings[column] == name }); at > 0 {
				next = at
				break
			}
		}
		hidden = append(hidden, strings.ToUpper(cmp.Or(headings[shown[next]], "without a heading")))
		shown = slices.Delete(shown, next, next+1)
	}
	for _, column := range shown {
		widths[column] = min(widths[column], limit)
	}
	for total(func(column int) int { return widths[column] }) > limit { // the widest column gives way
		widest := slices.MaxFunc(shown, func(a, b int) int { return cmp.Compare(widths[a]-least(a), widths[b]-least(b)) })
		if widths[widest] == least(widest) {
			break
		}
		widths[widest]--
	}
	return shown, widths, hidden
}

// shorten returns a cell in a width: places without their middle, because their ends say what they are, and other texts without their end.
func shorten(cell string, width int) string {
	if text.StringWidth(cell) <= width {
		return cell
	}
	isPlace := (strings.HasPrefix(cell, "/") || strings.HasPrefix(cell, "~") || strings.Contains(cell, "://")) && !strings.Contains(cell, " ")
	if !isPlace || width < 8 {
		return text.Snip(cell, width, "…")
	}
	runes := []rune(cell)
	head := text.Trim(cell, (width-1)/2)
	from := len(runes)
	for from > 0 && text.StringWidth(string(runes[from-1:])) <= width-1-text.StringWidth(head) {
		from--
	}
	return head + "…" + string(runes[from:])
}
