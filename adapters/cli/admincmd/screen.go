package admincmd

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrScreen reports a terminal that the view cannot be drawn on.
var ErrScreen = fault.New(fault.Unavailable, "terminal_unusable", "this terminal cannot be drawn on")

// What a terminal is told on the way in and out: another screen, no cursor, no wrapping at the edge, marks around what is pasted.
const (
	comesIn = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J"
	goesOut = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"
	goesTo  = "\x1b[%d;1H\x1b[2K" // a line, which is empty from then on: after a text as wide as the screen the cursor still stands on its last cell
)

// display is a terminal that is drawn on.
type display struct {
	t       *command.Terminal
	in, out *os.File
	was     *term.State // nil: it is as it was
	drawn   []line
}

// newDisplay is the terminal's own screen; false where there is none to draw on.
func newDisplay(t *command.Terminal) (*display, bool) {
	in, isIn := t.In.(*os.File)
	out, isOut := t.Out.(*os.File)
	inTerm, outTerm := t.Terminals()
	kind := ""
	if t.Env != nil {
		kind = t.Env("TERM")
	}
	return &display{t: t, in: in, out: out}, isIn && isOut && inTerm && outTerm && kind != "" && kind != "dumb"
}

// open takes the terminal over.
func (d *display) open() error {
	was, err := term.MakeRaw(int(d.in.Fd()))
	if err != nil {
		return ErrScreen.Because(err)
	}
	d.was, d.drawn = was, nil
	_, err = io.WriteString(d.out, comesIn)
	return err
}

// close gives the terminal back as it was. A second close does nothing.
func (d *display) close() {
	if d.was == nil {
		return
	}
	_, _ = io.WriteString(d.out, goesOut) // a terminal that is gone needs nothing
	_ = term.Restore(int(d.in.Fd()), d.was)
	d.was = nil
}

// size is the terminal's, in cells.
func (d *display) size() (width, height int) {
	width, height, err := term.GetSize(int(d.out.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// forget has everything drawn anew.
func (d *display) forget() { d.drawn = nil }

// draw shows a frame: those of its lines that are not on the screen already.
func (d *display) draw(frame []line) error {
	var out strings.Builder
	if len(d.drawn) != len(frame) {
		out.WriteString("\x1b[2J")
		d.drawn = make([]line, len(frame))
	}
	for i, l := range frame {
		if d.drawn[i] == l {
			continue
		}
		fmt.Fprintf(&out, goesTo, i+1)
		if l.tint == 0 {
			out.WriteString(l.text)
		} else {
			out.WriteString(d.t.Tinted(l.text, l.tint))
		}
	}
	d.drawn = append(d.drawn[:0], frame...)
	if out.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(d.out, out.String())
	return err
}
