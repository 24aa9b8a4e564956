package admincmd

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrScreen is returned for a terminal without full-screen support.
var ErrScreen = fault.New(fault.Unavailable, "terminal_unusable", "this terminal has no full-screen support; use countersign approve ID")

// screenFiles returns the terminal's own input and output; false if the view cannot be drawn on them. Pipes are rejected: decisions made here count
// as made at the keyboard of a terminal.
func screenFiles(t *command.Terminal) (in, out *os.File, fits bool) {
	in, isIn := t.In.(*os.File)
	out, isOut := t.Out.(*os.File)
	inTerm, outTerm := t.Terminals()
	kind := ""
	if t.Env != nil {
		kind = t.Env("TERM")
	}
	return in, out, isIn && isOut && inTerm && outTerm && kind != "" && kind != "dumb"
}

// ScreenFits reports whether the view can be drawn on the terminal.
func ScreenFits(t *command.Terminal) bool {
	_, _, fits := screenFiles(t)
	return fits
}

// RunApprovals shows the view until the user leaves it, the terminal is gone or ctx ends. It always restores the terminal, even after a panic. It
// fails with ErrScreen if the view cannot be drawn, and with ctx's error.
func RunApprovals(ctx context.Context, t *command.Terminal, source ApprovalSource) error {
	in, out, fits := screenFiles(t)
	if !fits {
		return ErrScreen
	}
	was, err := term.GetState(int(in.Fd()))
	if err != nil {
		return ErrScreen.WithCause(err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), was) }() // a terminal that is gone needs no restoring

	running, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	running, leave := context.WithCancel(running)
	defer leave()
	keys, drawn := &keyboard{File: in, gone: leave}, &display{File: out, gone: leave}
	v := newView(running, t, source, tea.WithInput(keys), tea.WithOutput(drawn))
	v.drawn = drawn.writes.Load
	ended := false
	defer func() {
		if !ended { // a panic of the loop: Kill restores the screen
			v.program.Kill()
		}
	}()
	_, err = v.program.Run()
	ended = true
	if v.panicked != nil {
		panic(v.panicked)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case drawn.err() != nil:
		return ErrScreen.WithCause(drawn.err())
	case err != nil && running.Err() == nil:
		return ErrScreen.WithCause(err)
	}
	return nil
}

// keyboard is the terminal's input; it reports when that is gone. The library only stops reading then.
type keyboard struct {
	*os.File
	gone func()
}

// Read reads key presses.
func (k *keyboard) Read(data []byte) (int, error) {
	n, err := k.File.Read(data)
	if err != nil {
		k.gone()
	}
	return n, err
}

// display is the terminal's output; it reports when writing fails, which the library ignores.
type display struct {
	*os.File
	gone   func()
	writes atomic.Int64 // number of writes
	mu     sync.Mutex
	failed error
}

// Write draws.
func (d *display) Write(data []byte) (int, error) {
	n, err := d.File.Write(data)
	d.writes.Add(1)
	if err != nil {
		d.mu.Lock()
		d.failed = err
		d.mu.Unlock()
		d.gone()
	}
	return n, err
}

func (d *display) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// view is one run of the full-screen view. The library's loop owns its model; slow operations run beside the loop and return a happened.
type view struct {
	model
	t       *command.Terminal
	source  ApprovalSource
	ctx     context.Context //nolint:containedctx // it is the run's own
	program *tea.Program
	giveUp  context.CancelFunc // ends the wait for a touch
	drawn   func() int64       // number of writes so far; nil if they are not counted
	resumed *int64             // value of drawn when the terminal was taken back, until the next check

	looking bool
	stamp   int64
	looked  time.Time

	panicked any // the panic beside the loop that ended it
}

// The messages of the view, besides those of the library.
type (
	happened func(*view) effect    // result of an operation
	broken   struct{ because any } // a panic beside the loop
	tick     struct{}
)

// newView returns a view and the program that runs it, which quits when ctx ends. The library does not get ctx: it would close its input without
// waiting for the reader.
func newView(ctx context.Context, t *command.Terminal, source ApprovalSource, options ...tea.ProgramOption) *view {
	_ = os.Unsetenv("TEA_TRACE") // the library would write everything drawn into a file, including revealed secrets
	v := &view{t: t, source: source, ctx: ctx, giveUp: func() {}}
	var environment []string
	for _, name := range []string{"TERM", "TERM_PROGRAM", "SSH_TTY", "WT_SESSION"} { // the library reads these to decide how to draw
		if value := t.Env(name); value != "" {
			environment = append(environment, name+"="+value)
		}
	}
	v.program = tea.NewProgram(v, append([]tea.ProgramOption{tea.WithEnvironment(environment), tea.WithColorProfile(colorprofile.ANSI),
		tea.WithFilter(kept), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(), tea.WithoutCatchPanics()}, options...)...)
	context.AfterFunc(ctx, v.program.Quit)
	return v
}

// framesPerSecond is the maximum rate of redrawing.
const framesPerSecond = 30

// unicodeCore is the mode in which a terminal measures text differently from approvalscreen_text.go.
const unicodeCore = 2027

// kept drops the terminal's offer of that mode.
func kept(_ tea.Model, m tea.Msg) tea.Msg {
	if r, is := m.(tea.ModeReportMsg); is && r.Mode.Mode() == unicodeCore {
		return nil
	}
	return m
}

// Init reads the pending requests and starts polling.
func (v *view) Init() tea.Cmd { return tea.Batch(v.look(), later()) }

func later() tea.Cmd { return tea.Tick(pace, func(time.Time) tea.Msg { return tick{} }) }

// Update handles a key or a result.
func (v *view) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	v.now = time.Now()
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		v.width, v.height = m.Width, m.Height
	case tea.KeyPressMsg:
		return v, v.carry(v.press(m))
	case tea.PasteMsg:
		v.paste(m.Content)
	case tick:
		return v, tea.Batch(v.look(), later(), v.redrawn())
	case happened:
		return v, v.carry(m(v))
	case broken:
		v.panicked = m.because
		return v, tea.Quit
	}
	return v, nil
}

// View draws the frame.
func (v *view) View() tea.View {
	var out strings.Builder
	for i, l := range v.frame() {
		if i > 0 {
			out.WriteByte('\n')
		}
		if l.tint != 0 {
			l.text = v.t.Coloured(l.text, l.tint)
		}
		out.WriteString(apiece(l.text))
	}
	drawn := tea.NewView(out.String())
	drawn.AltScreen = true
	return drawn
}

// beside runs an operation beside the loop. A panic in it ends the loop, which restores the terminal first.
func (v *view) beside(do func(ctx context.Context) func(*view) effect) tea.Cmd {
	return func() (m tea.Msg) {
		defer func() {
			if p := recover(); p != nil {
				m = broken{p}
			}
		}()
		return happened(do(v.ctx))
	}
}

// carry executes an effect.
func (v *view) carry(e effect) tea.Cmd {
	var all []tea.Cmd
	switch {
	case e.quit:
		return tea.Quit
	case e.redraw:
		all = append(all, tea.ClearScreen)
	case e.suspend:
		all = append(all, v.release(pause{}))
	}
	if a := e.answer; a != nil {
		all = append(all, v.beside(func(ctx context.Context) func(*view) effect {
			ctx, cancel := context.WithTimeout(ctx, answerTime)
			defer cancel()
			answered, err := v.source.Answer(ctx, *a)
			return func(v *view) effect { return v.answered(*a, answered, err) }
		}))
	}
	if e.giveUp {
		v.giveUp()
	}
	if a := e.touch; a != nil {
		i := v.item
		touching, giveUp := context.WithCancel(v.ctx)
		v.giveUp = giveUp
		all = append(all, v.beside(func(context.Context) func(*view) effect {
			defer giveUp()
			p, err := v.source.Touch(touching, i, func(what string) {
				v.program.Send(happened(func(v *view) effect { v.tells(i.ID, what); return effect{} }))
			})
			return func(v *view) effect { return v.touched(*a, p, err) }
		}))
	}
	if i := e.reveal; i != nil {
		all = append(all, v.beside(func(ctx context.Context) func(*view) effect {
			ctx, cancel := context.WithTimeout(ctx, answerTime)
			defer cancel()
			bare, err := v.source.Reveal(ctx, *i)
			return func(v *view) effect {
				if err != nil {
					bare = *i
				}
				return v.revealed(bare, err)
			}
		}))
	}
	if i := e.outcomeText; i != nil {
		all = append(all, v.beside(func(ctx context.Context) func(*view) effect {
			outcomeText := v.source.Fate(ctx, *i)
			return func(v *view) effect { v.told(i.ID, outcomeText); return effect{} }
		}))
	}
	if i := e.diffs; i != nil {
		all = append(all, v.beside(func(ctx context.Context) func(*view) effect {
			diffs, before := v.source.Diffs(ctx, *i), 0
			if i.Dated {
				before = v.source.Before(ctx, *i)
			}
			return func(v *view) effect { v.shows(i.ID, diffs, before); return effect{} }
		}))
	}
	return tea.Batch(all...)
}

// release restores the terminal while c runs, and takes it back.
func (v *view) release(c tea.ExecCommand) tea.Cmd {
	return tea.Exec(c, func(err error) tea.Msg {
		return happened(func(v *view) effect {
			if v.drawn != nil {
				n := v.drawn()
				v.resumed = &n
			}
			return effect{quit: err != nil, redraw: true} // nothing that was drawn may remain
		})
	})
}

// redrawn checks that something was drawn since the terminal was taken back, and takes it back again if not: the library stops its drawing timer
// without waiting for it, and may stop the one it just started (bubbletea issue 1778, open in v2.1.1).
func (v *view) redrawn() tea.Cmd {
	if v.resumed == nil {
		return nil
	}
	before := *v.resumed
	v.resumed = nil
	if v.drawn() != before {
		return nil
	}
	return v.release(pause{again: true})
}

// look checks for changes and reads the pending requests. It also reads them at intervals, because requests expire without a change.
func (v *view) look() tea.Cmd {
	if v.looking {
		return nil
	}
	v.looking = true
	last, due := v.stamp, time.Since(v.looked) >= trusted
	return v.beside(func(ctx context.Context) func(*view) effect {
		stamp, err := v.source.ChangeCounter(ctx)
		if err == nil && stamp == last && !due {
			return func(v *view) effect { v.looking = false; return effect{} }
		}
		items, err := v.source.Waiting(ctx)
		return func(v *view) effect {
			v.looking, v.stamp, v.looked = false, stamp, time.Now()
			if err != nil && v.ctx.Err() != nil {
				return effect{}
			}
			return v.news(items, err)
		}
	})
}

// pause stops the process like Ctrl-Z, while the library has restored the terminal. tea.Suspend would wait for the shell to continue it, and hang
// without such a shell.
type pause struct {
	again bool // only take the terminal back again
}

// Run stops the process until the shell continues it.
func (p pause) Run() error {
	if !p.again {
		stopProcess()
	}
	return nil
}

// SetStdin does nothing.
func (pause) SetStdin(io.Reader) {}

// SetStdout does nothing.
func (pause) SetStdout(io.Writer) {}

// SetStderr does nothing.
func (pause) SetStderr(io.Writer) {}
