//go:build linux

package admincmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/confirm"
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
	assert.Eventually(t, func() bool { return bytes.HasSuffix([]byte(p.text()), []byte(goesOut)) }, time.Minute, 10*time.Millisecond, "%q", p.text())
}

// counter is a desk that does something when it is asked.
type counter struct {
	waiting func(ctx context.Context) ([]ApprovalItem, error)
}

func (c counter) Waiting(ctx context.Context) ([]ApprovalItem, error) { return c.waiting(ctx) }
func (counter) Stamp(context.Context) (int64, error)                  { return time.Now().UnixNano(), nil }
func (counter) Fate(context.Context, ApprovalItem) string             { return "" }
func (counter) Before(context.Context, ApprovalItem) int              { return 0 }
func (counter) Diffs(context.Context, ApprovalItem) string            { return "" }
func (counter) Touch(context.Context, ApprovalItem, func(string)) (confirm.Proof, error) {
	return confirm.Proof{}, nil
}
func (counter) Reveal(_ context.Context, i ApprovalItem) (ApprovalItem, error) { return i, nil }
func (counter) Answer(context.Context, confirm.Answer) (confirm.View, error) {
	return confirm.View{}, nil
}

func TestAPanicGivesTheTerminalBack(t *testing.T) {
	p := newTTY(t)
	assert.PanicsWithValue(t, "broken", func() {
		_ = RunApprovals(t.Context(), p.terminal(), counter{func(context.Context) ([]ApprovalItem, error) { panic("broken") }})
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
	require.Eventually(t, func() bool { return bytes.Contains([]byte(p.text()), []byte("Nothing waits")) }, time.Minute, 10*time.Millisecond)
	termios, err := unix.IoctlGetTermios(int(p.program.Fd()), unix.TCGETS)
	require.NoError(t, err)
	assert.Zero(t, termios.Lflag&unix.ICANON)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	p.givenBack(t)
}

// screenOf is what a terminal of that width shows after it was drawn on: at its edge the cursor stays on the last cell.
func screenOf(drawn string, width int) []string {
	rows, y, x := map[int][]rune{}, 0, 0
	for drawn != "" {
		var to, n int
		if _, err := fmt.Sscanf(drawn, "\x1b[%d;1H", &to); err == nil {
			drawn = drawn[strings.IndexByte(drawn, 'H')+1:]
			y, x = to-1, 0
			continue
		}
		if rest, cut := strings.CutPrefix(drawn, "\x1b["); cut {
			end := strings.IndexFunc(rest, unicode.IsLetter)
			switch rest[:end+1] {
			case "K":
				rows[y] = rows[y][:min(x, len(rows[y]))]
			case "2K":
				rows[y] = nil
			case "2J":
				rows = map[int][]rune{}
			}
			drawn = rest[end+1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(drawn)
		drawn = drawn[size:]
		for n = len(rows[y]); n <= x; n++ {
			rows[y] = append(rows[y], ' ')
		}
		rows[y][x] = r
		x = min(x+1, width-1)
	}
	out := make([]string, len(rows))
	for y, row := range rows {
		out[y] = string(row)
	}
	return out
}

func TestTheWholeWidthIsDrawnOn(t *testing.T) {
	p := newTTY(t)
	d, fits := newDisplay(p.terminal())
	require.True(t, fits)
	wide, short := strings.Repeat("=", 74)+"waits.", "gone"
	for _, tint := range []command.Tint{0, command.Heading} {
		require.NoError(t, d.draw([]line{{wide, tint}, {wide, tint}}))
	}
	require.NoError(t, d.draw([]line{{wide, command.Heading}, {short, 0}}))
	require.Eventually(t, func() bool { return strings.Contains(p.text(), short) }, time.Minute, 10*time.Millisecond)
	assert.Equal(t, []string{wide, short}, screenOf(p.text(), 80))
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
