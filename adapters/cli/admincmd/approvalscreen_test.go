//go:build linux

package admincmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/internal/testkit/logbuf"
	"github.com/countersign-dev/countersign/internal/testkit/terminal"
)

// tty is a terminal, and what a program has written to it.
type tty struct {
	program *os.File
	person  *os.File
	mu      sync.Mutex
	seen    bytes.Buffer
}

func newTTY(t *testing.T) *tty {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	p := &tty{program: program, person: person}
	go func() {
		data := make([]byte, 4096)
		for {
			n, err := person.Read(data)
			p.mu.Lock()
			p.seen.Write(data[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = program.Close()
		_ = person.Close()
	})
	return p
}

func (p *tty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *tty) terminal() *command.Terminal {
	return &command.Terminal{In: p.program, Out: p.program, Err: p.program, Env: func(name string) string { return map[string]string{"TERM": "xterm"}[name] }}
}

// givenBack holds the terminal to being as it was.
func (p *tty) givenBack(t *testing.T) {
	t.Helper()
	termios, err := unix.IoctlGetTermios(int(p.program.Fd()), unix.TCGETS)
	require.NoError(t, err)
	assert.NotZero(t, termios.Lflag&unix.ICANON)
	assert.NotZero(t, termios.Lflag&unix.ECHO)
	assert.Eventually(t, func() bool {
		return !slices.ContainsFunc([]string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l", "\x1b[>4m", "\x1b[<1u"}, func(end string) bool { return !strings.Contains(p.text(), end) })
	}, time.Minute, 10*time.Millisecond, "%q", p.text())
}

// counter is a source that does something when it is asked.
type counter struct {
	waiting func(ctx context.Context) ([]ApprovalItem, error)
}

func (c counter) Waiting(ctx context.Context) ([]ApprovalItem, error) { return c.waiting(ctx) }
func (counter) ChangeCounter(context.Context) (int64, error)          { return time.Now().UnixNano(), nil }
func (counter) Fate(context.Context, ApprovalItem) string             { return "" }
func (counter) Before(context.Context, ApprovalItem) int              { return 0 }
func (counter) Diffs(context.Context, ApprovalItem) string            { return "" }
func (counter) Touch(context.Context, ApprovalItem, func(string)) (confirm.Proof, error) {
	return confirm.Proof{}, nil
}
func (counter) Reveal(_ context.Context, i ApprovalItem) (ApprovalItem, error) { return i, nil }
func (counter) Answer(context.Context, confirm.Decision) (confirm.View, error) {
	return confirm.View{}, nil
}

func TestAPanicGivesTheTerminalBack(t *testing.T) {
	p := newTTY(t)
	assert.PanicsWithValue(t, "broken", func() {
		_ = RunApprovals(t.Context(), p.terminal(), counter{func(context.Context) ([]ApprovalItem, error) {
			if strings.Contains(p.text(), "No pending approvals") {
				panic("broken")
			}
			return nil, nil
		}})
	})
	p.givenBack(t)
}

func TestWhoeverEndsTheViewGetsTheTerminalBack(t *testing.T) {
	p := newTTY(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- RunApprovals(ctx, p.terminal(), counter{func(context.Context) ([]ApprovalItem, error) { return nil, nil }})
	}()
	require.Eventually(t, func() bool { return bytes.Contains([]byte(p.text()), []byte("No pending approvals")) }, time.Minute, 10*time.Millisecond)
	termios, err := unix.IoctlGetTermios(int(p.program.Fd()), unix.TCGETS)
	require.NoError(t, err)
	assert.Zero(t, termios.Lflag&unix.ICANON)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	p.givenBack(t)
}

// typist is the user without a terminal: keys go in as a terminal sends them, and what is drawn goes onto a screen.
type typist struct {
	t     *testing.T
	view  *view
	keys  *os.File
	drawn *logbuf.Buffer
	ended chan error
}

// sits starts a view of that size over a source.
func sits(t *testing.T, source ApprovalSource, width, height int) *typist {
	t.Helper()
	in, keys, err := os.Pipe()
	require.NoError(t, err)
	ctx, leave := context.WithCancel(t.Context())
	p := &typist{t: t, keys: keys, drawn: &logbuf.Buffer{}, ended: make(chan error, 1)}
	person := &command.Terminal{Env: func(name string) string { return map[string]string{"TERM": "xterm-256color"}[name] }}
	p.view = newView(ctx, person, source, tea.WithInput(&keyboard{File: in, gone: leave}), tea.WithOutput(p.drawn), tea.WithWindowSize(width, height))
	go func() {
		_, err := p.view.program.Run()
		p.ended <- err
	}()
	return p
}

func (p *typist) types(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.keys, text)
	require.NoError(p.t, err)
}

// model is the model as it is once all that was typed before has been taken in.
func (p *typist) model(is func(m *model) bool) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		answer := make(chan bool, 1)
		p.view.program.Send(happened(func(v *view) effect { answer <- is(&v.model); return effect{} }))
		return <-answer
	}, time.Minute, 5*time.Millisecond)
}

func (p *typist) sees(width, height int, texts ...string) {
	p.t.Helper()
	shown := ""
	require.Eventually(p.t, func() bool {
		s := terminal.NewScreen(width, height)
		_, _ = s.Write([]byte(strings.ReplaceAll(p.drawn.String(), "\n", "\r\n"))) // as what is no terminal is drawn on
		require.Empty(p.t, s.Faults())
		shown = s.String()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(shown, text) })
	}, time.Minute, 5*time.Millisecond, "%q", texts)
}

func (p *typist) leaves() {
	p.t.Helper()
	require.NoError(p.t, <-p.ended)
}

// fixedSource is an ApprovalSource with one question, whose answers are kept.
type fixedSource struct {
	counter
	answers chan confirm.Decision
}

func (d fixedSource) Answer(_ context.Context, a confirm.Decision) (confirm.View, error) {
	d.answers <- a
	return confirm.View{Tool: "run_script"}, nil
}

func newFixedSource(items ...ApprovalItem) fixedSource {
	return fixedSource{counter{func(context.Context) ([]ApprovalItem, error) { return items, nil }}, make(chan confirm.Decision, 4)}
}

// TestKeysGoInAndTheModelComesOut: whichever way a terminal sends them, and in whatever pieces.
func TestKeysGoInAndTheModelComesOut(t *testing.T) {
	t.Parallel()
	p := sits(t, newFixedSource(item("a", nil), item("b", nil), item("c", nil)), 80, 20)
	chosen := func(n int) func(*model) bool {
		return func(m *model) bool { return len(m.items) == 3 && m.chosen == n }
	}
	p.model(chosen(0))
	for _, step := range []struct {
		keys string
		want int
	}{{"j", 1}, {"\x1b[B", 2}, {"\x1bOA", 1}, {"k", 0}, {"G", 2}, {"g", 0}, {"\x1b[4~", 2}, {"\x1b[1~", 0}, {"\x1b[F", 2}, {"\x1b[H", 0}, {"\x1b[6~", 2}, {"\x1b[5~", 0}, {" ", 2}, {"b", 0},
		{"\x1b[27;2;71~", 2}, {"\x1b[103u", 0}, {"\x1bj\x1b[1;5B\x1b[<0;1;1M\x00j", 1}, {"\x1b[200~j\x1b[201~k", 0}} {
		p.types(step.keys)
		p.model(chosen(step.want))
	}
	p.types("?")
	p.model(func(m *model) bool { return m.screen == helping })
	p.types("\x1b")
	p.model(func(m *model) bool { return m.screen == listing })
	p.types("\n")
	p.model(func(m *model) bool { return m.screen == reading && m.item.ID == "a" })
	p.types("\x1b[D")
	p.model(func(m *model) bool { return m.screen == listing })
	p.types("\r")
	p.model(func(m *model) bool { return m.screen == reading })
	for _, part := range []string{"d", "x\x7f", "\x1b[200~no\x1b[A\r", "wa", "y\x1b[2", "01~", "\r"} {
		p.types(part)
	}
	a := <-p.view.source.(fixedSource).answers
	assert.False(t, a.Approve)
	assert.Equal(t, "no[A way", a.Reason)
	p.types("\x03")
	p.leaves()
}

// TestItIsDrawnWhole: on every cell, anew at another size and on Ctrl-L, and an approval counts once the plan's end was there.
func TestItIsDrawnWhole(t *testing.T) {
	t.Parallel()
	d := newFixedSource(item("a", func(i *ApprovalItem) {
		i.Prompt, i.Plan = strings.Repeat("=", 74)+"waits.", json.RawMessage(`{"context":{"lines":[`+strings.Repeat(`"one of many",`, 40)+`"the last"]}}`)
	}))
	p := sits(t, d, 80, 12)
	p.sees(80, 12, "1 pending")
	p.types("\r")
	p.sees(80, 12, strings.Repeat("=", 74)+"waits.", "a approve")
	p.types("a")
	p.sees(80, 12, "read the whole plan first")
	p.types("\x0c")
	p.types("G")
	p.sees(80, 12, "the last")
	p.view.program.Send(tea.WindowSizeMsg{Width: 100, Height: 30})
	p.sees(100, 30, "the last", "a approve")
	assert.Empty(t, d.answers)
	p.types("a")
	assert.Equal(t, "a", (<-d.answers).ID)
	p.types("q")
	p.leaves()
}

// TestAModeThatMeasuresOtherwiseIsNotTaken: the terminal may offer it.
func TestAModeThatMeasuresOtherwiseIsNotTaken(t *testing.T) {
	t.Parallel()
	p := sits(t, newFixedSource(), 80, 12)
	p.sees(80, 12, "No pending approvals")
	p.types("\x1b[?2027;2$y")
	p.types("?")
	p.sees(80, 12, "In the list")
	assert.NotContains(t, p.drawn.String(), "\x1b[?2027h")
	p.types("qq")
	p.leaves()
}

// TestNothingThatIsDrawnGoesIntoAFile: the library would write it down where a variable says so.
func TestNothingThatIsDrawnGoesIntoAFile(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	t.Setenv("TEA_TRACE", trace)
	p := sits(t, newFixedSource(), 80, 12)
	p.sees(80, 12, "No pending approvals")
	p.types("q")
	p.leaves()
	assert.NoFileExists(t, trace)
}

// TestATerminalThatIsGoneEndsTheView: one that has nothing more to read, and one that takes nothing more.
func TestATerminalThatIsGoneEndsTheView(t *testing.T) {
	t.Parallel()
	p := sits(t, newFixedSource(), 80, 12)
	p.sees(80, 12, "No pending approvals")
	require.NoError(t, p.keys.Close())
	require.NoError(t, <-p.ended)

	in, out, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, in.Close())
	gone := 0
	d := &display{File: out, gone: func() { gone++ }}
	_, err = d.Write([]byte("x"))
	require.ErrorIs(t, err, d.err())
	assert.Equal(t, 1, gone)
}

func TestWhereItFits(t *testing.T) {
	p := newTTY(t)
	assert.True(t, ScreenFits(p.terminal()))
	for _, kind := range []string{"", "dumb"} {
		other := p.terminal()
		other.Env = func(string) string { return kind }
		assert.False(t, ScreenFits(other), kind)
	}
	other := p.terminal()
	other.Out = &bytes.Buffer{}
	assert.False(t, ScreenFits(other))
	require.ErrorIs(t, RunApprovals(t.Context(), other, counter{}), ErrScreen)
}
