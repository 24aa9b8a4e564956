package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/visible"
)

// The sizes assumed where no terminal says its own.
const (
	defaultWidth  = 100
	defaultHeight = 24
)

// Terminal is the three streams of a command.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	Env func(string) string // NO_COLOR, TERM, PAGER; nil is an empty environment

	// Device is the controlling terminal; empty is /dev/tty.
	Device string

	lines *bufio.Reader // of the terminal, made by the first question
	tty   *os.File      // the controlling terminal, once it was asked for
}

// ErrNoAnswer reports a question that nobody could answer: the input ended.
var ErrNoAnswer = fault.New(fault.Unconfirmed, "terminal_no_answer", "the input ended before the question was answered; nothing was changed")

// OS returns the process's own terminal.
func OS() *Terminal { return &Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv} }

// Interactive reports whether the user can be asked: there is a controlling terminal, whatever the streams are.
func (t *Terminal) Interactive() bool { return t.controlling() != nil }

// controlling returns the terminal that controls this process, nil when none does: a program that was started without one cannot make one up by handing
// over streams.
func (t *Terminal) controlling() *os.File {
	if t.tty == nil {
		device := t.Device
		if device == "" {
			device = "/dev/tty"
		}
		f, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return nil
		}
		if !isTerminal(f) {
			_ = f.Close()
			return nil
		}
		t.tty = f
	}
	return t.tty
}

// seat is where the user sits, as the operating system has it.
type seat struct {
	User string // the account's name
	TTY  string // the terminal's device
	Host string // the machine's name
}

// Seat is that of the controlling terminal; false when there is none.
func (t *Terminal) Seat() (seat, bool) {
	tty := t.controlling()
	if tty == nil {
		return seat{}, false
	}
	seat := seat{TTY: tty.Name()}
	for _, stream := range []any{t.In, t.Err, t.Out} {
		f, ok := stream.(*os.File)
		if !ok || !isTerminal(f) {
			continue
		}
		if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil {
			seat.TTY = name
			break
		}
	}
	seat.User = AccountName()
	seat.Host, _ = os.Hostname() // a machine without a name has none on record
	return seat, true
}

// AccountName returns the name of the account that this process runs in, or its number.
func AccountName() string {
	number := strconv.Itoa(os.Getuid())
	if me, err := user.LookupId(number); err == nil {
		return me.Username
	}
	return number
}

// asking returns where questions are put: the error stream where that is a terminal, or the controlling terminal; nil is nowhere.
func (t *Terminal) asking() io.Writer {
	tty := t.controlling()
	switch {
	case tty == nil:
		return nil
	case isTerminal(t.Err):
		return t.Err
	}
	return tty
}

// listening returns where answers are read: the input where that is a terminal, or the controlling terminal.
func (t *Terminal) listening() io.Reader {
	if isTerminal(t.In) {
		return t.In
	}
	return t.controlling()
}

// Read puts a text where questions are put, a screen at a time, and reports whether its end was shown: whoever leaves off before has not seen it.
// With all it is put as a whole.
func (t *Terminal) Read(ctx context.Context, lines []string, put func(line string), all bool) (bool, error) {
	_, height := t.askingSize()
	page := max(height-2, 4)
	for at, line := range lines {
		put(line)
		if left := len(lines) - at - 1; !all && (at+1)%page == 0 && left > 0 {
			word, err := t.Ask(ctx, fmt.Sprintf("-- %d of %d lines; Enter goes on, q stops --", at+1, len(lines)))
			if err != nil || strings.HasPrefix(strings.ToLower(word), "q") {
				return false, err
			}
		}
	}
	return true, nil
}

func (t *Terminal) askingSize() (width, height int) {
	if f, ok := t.asking().(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return defaultWidth, defaultHeight
}

// Say puts text where questions are put, as far as there is such a place.
func (t *Terminal) Say(text string) {
	if w := t.asking(); w != nil {
		fmt.Fprintln(w, text)
	}
}

// Drawn reports whether the output stream is a terminal, so that tables have lines and long text is paged.
func (t *Terminal) Drawn() bool { return isTerminal(t.Out) }

// Width and height of the output terminal, with defaults where there is none.
func (t *Terminal) size() (width, height int) {
	if f, ok := t.Out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w, h
		}
	}
	return defaultWidth, defaultHeight
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (t *Terminal) env(name string) string {
	if t.Env == nil {
		return ""
	}
	return t.Env(name)
}

// colour reports whether a stream takes escape sequences.
func (t *Terminal) colour(stream any) bool {
	return isTerminal(stream) && t.env("NO_COLOR") == "" && t.env("TERM") != "dumb"
}

// paint colours s for a stream, or leaves it as it is.
func (t *Terminal) paint(stream any, s string, c ...text.Color) string {
	if s == "" || !t.colour(stream) {
		return s
	}
	return text.Colors(c).Sprint(s)
}

// Line writes one line to the output.
func (t *Terminal) Line(format string, args ...any) { fmt.Fprintf(t.Out, format+"\n", args...) }

// Note writes one line to the error stream, for users: it is never part of a result.
func (t *Terminal) Note(format string, args ...any) {
	fmt.Fprintln(t.Err, t.paint(t.Err, fmt.Sprintf(format, args...), text.Faint))
}

// Step writes a heading to the error stream.
func (t *Terminal) Step(format string, args ...any) {
	fmt.Fprintln(t.Err, t.paint(t.Err, fmt.Sprintf(format, args...), text.Bold))
}

// Fail writes what went wrong in one line, and the way out in another when hint is not empty.
func (t *Terminal) Fail(message, hint string) {
	fmt.Fprintln(t.Err, t.paint(t.Err, "error:", text.FgRed, text.Bold), Plain(message))
	if hint != "" {
		fmt.Fprintln(t.Err, t.paint(t.Err, "hint:", text.FgCyan), Plain(hint))
	}
}

// Table writes rows under headings: with lines and colour on a terminal, and as plain columns otherwise.
func (t *Terminal) Table(headings []string, rows [][]string) {
	w := table.NewWriter()
	w.SetOutputMirror(t.Out)
	style := table.StyleDefault
	if t.Drawn() {
		style = table.StyleLight
	}
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	if t.colour(t.Out) {
		style.Color.Header = text.Colors{text.Bold}
	}
	if t.Drawn() {
		width, _ := t.size()
		style.Size.WidthMax = width
	}
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	w.AppendHeader(cells(headings))
	for _, r := range rows {
		for i := range r {
			r[i] = Plain(r[i])
		}
		w.AppendRow(cells(r))
	}
	w.Render()
}

func cells(in []string) table.Row {
	row := make(table.Row, len(in))
	for i, s := range in {
		row[i] = s
	}
	return row
}

// Plain is s in one line, with everything in it seen: what others wrote never moves the cursor of the user reading it, and hides nothing.
func Plain(s string) string { return visible.OneLine(s) }

// Block is s with its lines and indentation, and with everything in it seen.
func Block(s string) string { return visible.Text(s) }
