package admincmd

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// ScreenFits reports whether the view can be drawn on the terminal.
func ScreenFits(t *command.Terminal) bool {
	_, ok := newDisplay(t)
	return ok
}

// RunApprovals shows the view until the person leaves it or ctx ends. The terminal is given back as it was whatever happens, a panic included. It fails with
// ErrScreen where it does not fit, and with ctx's error.
func RunApprovals(ctx context.Context, t *command.Terminal, desk ApprovalSource) error {
	d, ok := newDisplay(t)
	if !ok {
		return ErrScreen
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	v := &view{display: d, desk: desk, ctx: ctx, typed: make(chan []byte), happened: make(chan func(*view) effect), broken: make(chan any),
		signals: make(chan os.Signal, 4), giveUp: func() {}}
	if heard := watched(); len(heard) > 0 { // none would be all
		signal.Notify(v.signals, heard...)
		defer signal.Stop(v.signals)
	}
	if err := d.open(); err != nil {
		return err
	}
	defer d.close()
	v.spawn(v.listen)
	return v.loop()
}

// view is a run of the view. Its model belongs to the loop; whatever takes time happens beside it, and comes back as a function.
type view struct {
	model
	*display
	KeyDecoder

	desk     ApprovalSource
	ctx      context.Context //nolint:containedctx // it is the run's own
	typed    chan []byte     // nil: the terminal is gone
	happened chan func(*view) effect
	broken   chan any
	signals  chan os.Signal
	giveUp   context.CancelFunc // ends the wait for a touch

	looking bool
	stamp   int64
	looked  time.Time
	over    bool
}

// spawn does something beside the loop. A panic in it ends the loop, which gives the terminal back first.
func (v *view) spawn(do func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				select {
				case v.broken <- p:
				case <-v.ctx.Done():
				}
			}
		}()
		do()
	}()
}

// later has what came of something taken in by the loop.
func (v *view) later(do func(ctx context.Context) func(*view) effect) {
	v.spawn(func() {
		happened := do(v.ctx)
		select {
		case v.happened <- happened:
		case <-v.ctx.Done():
		}
	})
}

// listen reads what is typed. It ends with the process: a read of a terminal cannot be cancelled.
func (v *view) listen() {
	for {
		data := make([]byte, 1024)
		n, err := v.in.Read(data)
		if n > 0 {
			select {
			case v.typed <- data[:n]:
			case <-v.ctx.Done():
				return
			}
		}
		if err != nil {
			select {
			case v.typed <- nil:
			case <-v.ctx.Done():
			}
			return
		}
	}
}

func (v *view) loop() error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	rest := time.NewTimer(keyRest)
	defer rest.Stop()
	v.width, v.height = v.size()
	v.look()
	for !v.over {
		v.now = time.Now()
		if err := v.draw(v.frame()); err != nil {
			return ErrScreen.Because(err)
		}
		select {
		case <-v.ctx.Done():
			return v.ctx.Err()
		case p := <-v.broken:
			v.close()
			panic(p)
		case data := <-v.typed:
			if data == nil {
				return nil
			}
			v.press(v.Feed(data))
			rest.Reset(keyRest)
		case <-rest.C:
			if v.Waiting() {
				v.press(v.Flush())
			}
		case happened := <-v.happened:
			v.carry(happened(v))
		case s := <-v.signals:
			if v.heard(s) {
				return nil
			}
		case <-tick.C:
			v.look()
		}
	}
	return nil
}

// press takes keys in.
func (v *view) press(keys []Key) {
	for _, k := range keys {
		v.carry(v.model.press(k))
	}
}

// heard takes a signal in: true ends the view.
func (v *view) heard(s os.Signal) bool {
	if resized(s) {
		v.width, v.height = v.size()
		v.forget()
		return false
	}
	return true
}

// carry has an effect happen.
func (v *view) carry(e effect) {
	switch {
	case e.quit:
		v.over = true
	case e.redraw:
		v.forget()
	case e.suspend:
		v.pause()
	}
	if a := e.answer; a != nil {
		v.later(func(ctx context.Context) func(*view) effect {
			ctx, cancel := context.WithTimeout(ctx, answerTime)
			defer cancel()
			answered, err := v.desk.Answer(ctx, *a)
			return func(v *view) effect { return v.answered(*a, answered, err) }
		})
	}
	if e.giveUp {
		v.giveUp()
	}
	if a := e.touch; a != nil {
		i := v.item
		touching, giveUp := context.WithCancel(v.ctx)
		v.giveUp = giveUp
		v.later(func(context.Context) func(*view) effect {
			defer giveUp()
			p, err := v.desk.Touch(touching, i, func(what string) {
				select {
				case v.happened <- func(v *view) effect { v.tells(i.ID, what); return effect{} }:
				case <-touching.Done():
				}
			})
			return func(v *view) effect { return v.touched(*a, p, err) }
		})
	}
	if i := e.reveal; i != nil {
		v.later(func(ctx context.Context) func(*view) effect {
			ctx, cancel := context.WithTimeout(ctx, answerTime)
			defer cancel()
			bare, err := v.desk.Reveal(ctx, *i)
			return func(v *view) effect {
				if err != nil {
					bare = *i
				}
				return v.revealed(bare, err)
			}
		})
	}
	if i := e.fate; i != nil {
		v.later(func(ctx context.Context) func(*view) effect {
			fate := v.desk.Fate(ctx, *i)
			return func(v *view) effect { v.told(i.ID, fate); return effect{} }
		})
	}
	if i := e.diffs; i != nil {
		v.later(func(ctx context.Context) func(*view) effect {
			diffs, before := v.desk.Diffs(ctx, *i), 0
			if i.Dated {
				before = v.desk.Before(ctx, *i)
			}
			return func(v *view) effect { v.shows(i.ID, diffs, before); return effect{} }
		})
	}
}

// look finds out whether something changed, and what waits then. Once in a while it looks all the same: questions run out by themselves.
func (v *view) look() {
	if v.looking {
		return
	}
	v.looking = true
	last, due := v.stamp, time.Since(v.looked) >= trusted
	v.later(func(ctx context.Context) func(*view) effect {
		stamp, err := v.desk.Stamp(ctx)
		if err == nil && stamp == last && !due {
			return func(v *view) effect { v.looking = false; return effect{} }
		}
		items, err := v.desk.Waiting(ctx)
		return func(v *view) effect {
			v.looking, v.stamp, v.looked = false, stamp, time.Now()
			if err != nil && v.ctx.Err() != nil {
				return effect{}
			}
			return v.news(items, err)
		}
	})
}

// pause gives the terminal back and stops the process, as Ctrl-Z does, and takes the terminal again when it goes on.
func (v *view) pause() {
	v.close()
	stopProcess()
	if err := v.display.open(); err != nil {
		v.over = true
		return
	}
	v.width, v.height = v.size()
}
