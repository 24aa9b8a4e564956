package admincmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// screen is the screen that is shown.
type screen uint8

const (
	listing screen = iota
	reading
	helping
)

// model is the state of the screen. It performs no actions: keys and updates come in, effects and frames go out.
type model struct {
	width, height int
	now           time.Time
	items         []ApprovalItem
	loaded        bool
	chosen        int    // of items
	problem       string // why the pending requests cannot be read

	screen      screen
	before      screen       // of helping
	item        ApprovalItem // of reading
	extra       string       // its diffs
	earlier     int          // how often the same was approved before
	terms       []line       // terms of the dated grant to confirm
	body        []line       // of reading, as it was laid out for bodyAt columns
	bodyAt      int          // the width it was laid out for; 0: not yet laid out
	top         int          // the first line of body that is shown
	ended       bool         // the end of body was on the screen
	outcomeText string       // its result; empty: it is pending
	after       []line       // shown instead of a plan that has changed

	asking *question
	busy   bool   // a decision is being sent
	touch  string // the security key that it waits for; empty: none
	notice line
}

// question is a question in the last line.
type question struct {
	prompt string
	typed  []rune
	most   int
	touch  bool // the decision needs a touch
	answer func(typed string) confirm.Decision
	then   func(typed string) effect // instead of answer
}

// effect is an action requested by a key.
type effect struct {
	quit, suspend, redraw bool
	answer                *confirm.Decision
	touch                 *confirm.Decision // have a security key touched for it
	giveUp                bool              // cancel the touch
	outcomeText           *ApprovalItem     // find out its result
	diffs                 *ApprovalItem
	reveal                *ApprovalItem // reveal its redacted parts
}

// news updates the pending requests. If the request being read is no longer pending, its result is requested.
func (m *model) news(items []ApprovalItem, err error) (e effect) {
	if m.problem = ""; err != nil {
		m.problem = "cannot read the pending approvals: " + fault.From(err).Message
		return e
	}
	selected := ""
	if m.chosen < len(m.items) {
		selected = m.items[m.chosen].ID
	}
	m.items, m.loaded = items, true
	if at := m.index(selected); at >= 0 {
		m.chosen = at
	}
	m.chosen = max(0, min(m.chosen, len(items)-1))
	if m.screen == reading && m.outcomeText == "" && (!m.busy || m.touch != "") && m.index(m.item.ID) < 0 {
		return m.lost("it is no longer pending")
	}
	return e
}

// lost marks the request being read as no longer pending, with the reason if known.
func (m *model) lost(why string) effect {
	m.asking, m.outcomeText, m.bodyAt, m.top = nil, why, 0, 0
	item := m.item
	return effect{outcomeText: &item, giveUp: m.touch != ""}
}

func (m *model) index(id string) int {
	return slices.IndexFunc(m.items, func(i ApprovalItem) bool { return i.ID == id })
}

// told stores the result of a request.
func (m *model) told(id, outcomeText string) {
	if m.screen != listing && m.item.ID == id && outcomeText != "" {
		m.outcomeText, m.bodyAt = outcomeText, 0
	}
}

// shows stores the diffs of a request's plan, and how often the same was approved before.
func (m *model) shows(id, diffs string, before int) {
	if m.item.ID == id {
		m.extra, m.earlier, m.bodyAt, m.ended = diffs, before, 0, m.ended && diffs == m.extra
	}
}

// revealed stores a request without redaction, or the error.
func (m *model) revealed(i ApprovalItem, err error) effect {
	m.busy = false
	switch {
	case m.screen == listing || m.item.ID != i.ID || m.outcomeText != "":
		return effect{}
	case errors.Is(err, confirm.ErrMismatch):
		f := fault.From(err)
		m.outcomeText, m.after, m.bodyAt, m.top = "out of date: "+f.Message, differences(f), 0, 0
		return effect{}
	case err != nil:
		m.notice = line{fault.From(err).Message, command.Removed}
		return effect{}
	}
	m.item, m.bodyAt, m.ended, m.notice = i, 0, false, line{"the redacted parts are shown; they may contain secrets", command.Changed}
	return effect{diffs: &i}
}

// tells stores which security key it waits for.
func (m *model) tells(id, what string) {
	if m.touch != "" && m.item.ID == id {
		m.touch = what
	}
}

// touched stores the proof that a security key was touched for a decision, or the error.
func (m *model) touched(a confirm.Decision, p confirm.Proof, err error) effect {
	m.touch, m.busy = "", false
	switch {
	case m.screen == listing || m.item.ID != a.ID || m.outcomeText != "":
		return effect{}
	case err != nil:
		m.notice = line{touchless(err), command.Changed}
		return effect{}
	}
	a.Proof, m.busy = p, true
	return effect{answer: &a}
}

// touchless explains why nothing was approved.
func touchless(err error) string {
	f := fault.From(err)
	if f.Kind == fault.Canceled {
		return "cancelled; nothing was decided"
	}
	return f.Message
}

// answered stores the result of a decision.
func (m *model) answered(a confirm.Decision, v confirm.View, err error) (e effect) {
	m.busy = false
	f := fault.From(err)
	switch {
	case err == nil:
		m.notice = line{said(a, v), command.Added}
		if m.screen == reading && m.item.ID == a.ID {
			m.screen = listing
		}
		m.items = slices.DeleteFunc(slices.Clone(m.items), func(i ApprovalItem) bool { return i.ID == a.ID })
		m.chosen = max(0, min(m.chosen, len(m.items)-1))
		return e
	case errors.Is(err, confirm.ErrTyped):
		m.notice = line{f.Message, command.Changed}
		return e
	case m.item.ID != a.ID || m.screen == listing:
		m.notice = line{f.Message, command.Removed}
		return e
	case errors.Is(err, confirm.ErrMismatch):
		m.outcomeText, m.after, m.bodyAt, m.top = "out of date: "+f.Message, differences(f), 0, 0
		return e
	case f.Kind == fault.Unconfirmed || f.Kind == fault.Denied || f.Kind == fault.NotFound:
		return m.lost(f.Message)
	}
	m.notice = line{f.Message, command.Removed}
	return e
}

// said describes in one line what a decision did.
func said(a confirm.Decision, v confirm.View) string {
	tool := oneLine(v.Tool)
	switch {
	case !a.Approve:
		return "denied; " + tool + " does not run"
	case a.Until != nil:
		return "approved; the same call is allowed for " + a.Until.For.String() + "; to revoke: countersign grants revoke " + v.ID
	case a.Always:
		return "approved; session grant added: the same call no longer asks"
	}
	return "approved; " + tool + " runs when the client continues or retries the call"
}

// differences returns the differences between the shown plan and the current one.
func differences(f *fault.Error) []line {
	changed, _ := f.Details.(app.PlanChange)
	var out []line
	for _, d := range changed.Differences {
		out = append(out, line{clean(d.Path), command.Heading})
		for _, side := range []struct {
			mark string
			text []byte
			tint command.Tint
		}{{"- ", d.Before, command.Removed}, {"+ ", d.After, command.Added}} {
			if len(side.text) > 0 {
				out = append(out, line{"  " + side.mark + oneLine(string(side.text)), side.tint})
			}
		}
	}
	return out
}

// press handles a key on the current screen.
func (m *model) press(k tea.KeyPressMsg) effect {
	name := k.String()
	switch name {
	case "ctrl+c", "ctrl+d":
		return effect{quit: true}
	case "ctrl+z":
		return effect{suspend: true}
	case "ctrl+l":
		return effect{redraw: true}
	}
	if m.asking != nil {
		return m.typing(name, k.Text)
	}
	m.notice = line{}
	switch m.screen {
	case helping:
		m.screen = m.before
		return effect{}
	case reading:
		return m.read(name)
	}
	return m.pick(name)
}

// pick handles a key on the list.
func (m *model) pick(key string) effect {
	last := len(m.items) - 1
	page := max(m.height-listFrame, 1)
	switch key {
	case "up", "k":
		m.chosen--
	case "down", "j":
		m.chosen++
	case "pgup", "b":
		m.chosen -= page
	case "pgdown", "space":
		m.chosen += page
	case "home", "find", "g": // many terminals call Home find, and End select
		m.chosen = 0
	case "end", "select", "G":
		m.chosen = last
	case "enter", "ctrl+j", "right", "l":
		return m.open()
	case "esc", "q":
		return effect{quit: true}
	case "?":
		m.screen, m.before = helping, listing
	case "a", "A", "d":
		m.notice = line{"press Enter to open it before you decide", command.Changed}
	}
	m.chosen = max(0, min(m.chosen, last))
	return effect{}
}

// open shows the selected request.
func (m *model) open() effect {
	if m.chosen >= len(m.items) {
		return effect{}
	}
	m.screen, m.item = reading, m.items[m.chosen]
	m.extra, m.after, m.outcomeText, m.bodyAt, m.top, m.earlier, m.terms, m.ended = "", nil, "", 0, 0, 0, nil, false
	item := m.item
	return effect{diffs: &item}
}

// read handles a key on a request.
func (m *model) read(key string) effect {
	page := max(m.height-readFrame-1, 1)
	m.ended = m.ended || m.top+max(m.height-readFrame, 1) >= len(m.lines())
	leaves := key == "esc" || key == "q"
	switch {
	case key == "up" || key == "k":
		m.top--
	case key == "down" || key == "j":
		m.top++
	case key == "pgup" || key == "b":
		m.top -= page
	case key == "pgdown" || key == "space":
		m.top += page
	case key == "home" || key == "find" || key == "g":
		m.top = 0
	case key == "end" || key == "select" || key == "G":
		m.top = len(m.lines())
	case m.touch != "" && leaves:
		return effect{giveUp: true}
	case m.touch != "":
	case leaves || key == "left" || key == "h":
		m.screen = listing
	case key == "?":
		m.screen, m.before = helping, reading
	case m.busy || m.outcomeText != "":
	case key == "a":
		return m.approve(false, false)
	case key == "A":
		return m.approve(true, false)
	case key == "t" && m.item.Touch:
		return m.approve(false, true)
	case key == "u":
		m.until()
		return effect{}
	case key == "r" && m.item.Masked > 0 && !m.item.Revealed:
		m.busy = true
		item := m.item
		return effect{reveal: &item}
	case key == "d":
		m.ask("Reason (optional; Enter: deny, Esc: back)", confirm.MaxReason, func(typed string) confirm.Decision {
			return confirm.Decision{ID: m.item.ID, Reason: typed, Shown: m.item.PlanHash}
		})
	}
	m.top = max(0, min(m.top, len(m.lines())-page))
	return effect{}
}

// unread is the message to a user who approves before the end was shown.
func unread() line {
	return line{"read the whole plan first (Space: next page, G: end)", command.Changed}
}

// approve approves, once the end was shown, the name was typed if required, and a security key touched if policy or the user wants that.
func (m *model) approve(always, touch bool) effect {
	touch = touch || m.item.Needs == policy.ProvingTouch
	yes := confirm.Decision{ID: m.item.ID, Approve: true, Always: always, Shown: m.item.PlanHash, Revealed: m.item.Revealed}
	switch {
	case !m.ended:
		m.notice = unread()
		return effect{}
	case m.item.Unmet != "":
		m.notice = line{m.item.Unmet, command.Changed}
		return effect{}
	case m.item.MustReveal && !m.item.Revealed:
		m.notice = line{"nothing was approved: press r to show the redacted parts, which may run, then a", command.Changed}
		return effect{}
	case always && !m.item.Always:
		m.notice = line{"this call must be approved each time; press a to approve it once", command.Changed}
		return effect{}
	case m.item.Strength >= policy.Typed:
		m.ask(fmt.Sprintf("Type %s to approve (Esc: cancel):", oneLine(m.item.Target)), maxTyped, func(typed string) confirm.Decision {
			yes.Typed = typed
			return yes
		})
		m.asking.touch = touch
		return effect{}
	}
	return m.says(yes, touch)
}

// says sends a decision, with a touch if it needs one.
func (m *model) says(a confirm.Decision, touch bool) effect {
	m.busy = true
	if touch {
		m.touch = "looking for your security key"
		return effect{touch: &a}
	}
	return effect{answer: &a}
}

// until asks for the duration of a dated grant, then shows what it is bound to and what not, and asks for approval of all of it.
func (m *model) until() {
	if !m.ended {
		m.notice = unread()
		return
	}
	if !m.item.Dated {
		m.notice = line{"this call must be approved each time; press a to approve it once", command.Changed}
		return
	}
	id, plan := m.item.ID, m.item.PlanHash
	m.asking = &question{prompt: "allow the same call for how long? (Enter: 8h; " + command.UntilHint + ")", most: maxTyped, then: func(typed string) effect {
		u, err := command.ParseUntil(typed)
		if err == nil && u.AnyArgs && m.item.Reach.Loose.IsZero() {
			err = confirm.ErrUngrantable.WithMessage("the arguments of %s determine what it does, so any-arguments is not available", m.item.Tool)
		}
		if err != nil {
			m.notice = line{fault.From(err).Message, command.Changed}
			return effect{}
		}
		bound, unbound := m.item.Bound(u)
		until := command.Moment(m.now.Add(u.For), m.now)
		m.terms = []line{{"allowed without asking until " + until + ": " + oneLine(bound), command.Changed}, {"not bound: " + oneLine(unbound), command.Changed}}
		m.bodyAt, m.top = 0, 0
		m.asking = &question{prompt: "approve, and allow this until " + until + "? (y: approve, Esc: cancel)", most: maxTyped, then: func(typed string) effect {
			if m.terms, m.bodyAt = nil, 0; typed != "y" && typed != "yes" || m.item.ID != id || m.item.PlanHash != plan {
				m.notice = line{"nothing was approved", command.Changed}
				return effect{}
			}
			m.busy = true
			return effect{answer: &confirm.Decision{ID: id, Approve: true, Until: &u, Shown: plan, Revealed: m.item.Revealed}}
		}}
		return effect{}
	}}
	m.notice = line{}
}

// maxTyped is the maximum length of a typed name, in characters.
const maxTyped = 500

func (m *model) ask(prompt string, most int, answer func(typed string) confirm.Decision) {
	m.notice, m.asking = line{}, &question{prompt: prompt, most: most, answer: answer}
}

// typing handles a key while a question is open.
func (m *model) typing(key, text string) effect {
	q := m.asking
	switch key {
	case "esc":
		m.asking, m.terms, m.bodyAt = nil, nil, 0
	case "enter", "ctrl+j":
		m.asking = nil
		if q.then != nil {
			return q.then(strings.TrimSpace(string(q.typed)))
		}
		a := q.answer(strings.TrimSpace(string(q.typed)))
		if a.Approve && a.Typed == "" {
			m.notice = line{"no name was typed; nothing was approved", command.Changed}
			return effect{}
		}
		return m.says(a, q.touch)
	case "backspace", "ctrl+h":
		q.typed = q.typed[:max(len(q.typed)-1, 0)]
	default:
		q.add(text)
	}
	return effect{}
}

// paste handles pasted text. It is only used as typed input and never triggers a key.
func (m *model) paste(text string) {
	if m.asking != nil {
		m.asking.add(text)
	}
}

// add appends the visible characters of a text, in one line.
func (q *question) add(text string) {
	for _, r := range text {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if len(q.typed) < q.most && unicode.IsPrint(r) {
			q.typed = append(q.typed, r)
		}
	}
}
