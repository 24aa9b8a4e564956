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

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/visible"
)

// The size used if the terminal does not report one.
const (
	defaultWidth  = 100
	defaultHeight = 24
)

// Terminal is the three streams of a command.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	Env func(string) string // NO_COLOR, CLICOLOR_FORCE, COLUMNS, TERM, PAGER; nil is an empty environment

	// Device is the controlling terminal; empty is /dev/tty.
	Device string

	lines *bufio.Reader // of the terminal, created by the first question
	tty   *os.File      // the controlling terminal, once needed
}

// ErrNoAnswer is returned if the input ended before an answer.
var ErrNoAnswer = fault.New(fault.Unconfirmed, "terminal_no_answer", "the input ended before the question was answered; nothing was changed")

// OS returns the process's own terminal.
func OS() *Terminal { return &Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv} }

// Interactive reports whether the user can be asked: there is a controlling terminal, whatever the streams are.
func (t *Terminal) Interactive() bool { return t.controlling() != nil }

// controlling returns the controlling terminal of this process, nil if there is none: a program that was started without one cannot fake one with its
// streams.
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

// seat identifies the user at a terminal, according to the operating system.
type seat struct {
	User string // the account's name
	TTY  string // the terminal's device
	Host string // the machine's name
}

// Seat returns the seat of the controlling terminal; false if there is none.
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
	seat.Host, _ = os.Hostname() // a machine without a name has none in the record
	return seat, true
}

// AccountName returns the name of the account of this process, or its number.
func AccountName() string {
	number := strconv.Itoa(os.Getuid())
	if me, err := user.LookupId(number); err == nil {
		return me.Username
	}
	return number
}

// asking returns the stream for questions: the error stream if that is a terminal, else the controlling terminal; nil if there is none.
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

// listening returns the stream for answers: the input if that is a terminal, else the controlling terminal.
func (t *Terminal) listening() io.Reader {
	if isTerminal(t.In) {
		return t.In
	}
	return t.controlling()
}

// Read shows a text on the stream for questions, one screen at a time, and reports whether its end was shown: a user who stops before has not seen
// it. With all it is shown at once.
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

// Say writes text to the stream for questions, if there is one.
func (t *Terminal) Say(text string) {
	if w := t.asking(); w != nil {
		fmt.Fprintln(w, text)
	}
}

// Drawn reports whether the output stream is a terminal, so that tables have lines and long text is paged.
func (t *Terminal) Drawn() bool { return isTerminal(t.Out) }

// size returns width and height of the output terminal, with defaults if there is none. COLUMNS outranks the terminal's width.
func (t *Terminal) size() (width, height int) {
	width, height = defaultWidth, defaultHeight
	if f, ok := t.Out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width, height = w, h
		}
	}
	if wanted := t.columns(); wanted > 0 {
		width = wanted
	}
	return width, height
}

// leastWidth is the smallest width that COLUMNS can ask for.
const leastWidth = 20

// columns returns the width that COLUMNS asks for; zero if it asks for none.
func (t *Terminal) columns() int {
	n, err := strconv.Atoi(t.env("COLUMNS"))
	if err != nil || n <= 0 {
		return 0
	}
	return max(n, leastWidth)
}

// Width returns the width, in characters, that tables and help have to fit; zero for none, as in pipes, unless COLUMNS asks for one.
func (t *Terminal) Width() int {
	if !t.Drawn() {
		return t.columns()
	}
	width, _ := t.size()
	return width
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

// colour reports whether a stream is coloured: never with NO_COLOR; always with CLICOLOR_FORCE, except 0; otherwise on terminals that can, except with CLICOLOR=0.
func (t *Terminal) colour(stream any) bool {
	force := t.env("CLICOLOR_FORCE")
	switch {
	case t.env("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return isTerminal(stream) && t.env("TERM") != "dumb" && t.env("CLICOLOR") != "0"
}

// paint colours s for a stream, or returns it unchanged.
func (t *Terminal) paint(stream any, s string, c ...text.Color) string {
	if s == "" || !t.colour(stream) {
		return s
	}
	return text.Colors(c).Sprint(s)
}

// Paint colours s for the output, or returns it unchanged if that shows no colour.
func (t *Terminal) Paint(s string, c ...text.Color) string { return t.paint(t.Out, s, c...) }

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

// Fail writes an error in one line, and the hint, if not empty, in another.
func (t *Terminal) Fail(message, hint string) {
	fmt.Fprintln(t.Err, t.paint(t.Err, "error:", text.FgRed, text.Bold), Plain(message))
	if hint != "" {
		fmt.Fprintln(t.Err, t.paint(t.Err, "hint:", text.FgCyan), Plain(hint))
	}
}

// Plain returns s as one line with hidden characters made visible: untrusted text cannot move the cursor or hide anything.
func Plain(s string) string { return visible.OneLine(s) }

// Block returns s with its lines and indentation, and hidden characters made visible.
func Block(s string) string { return visible.Text(s) }
