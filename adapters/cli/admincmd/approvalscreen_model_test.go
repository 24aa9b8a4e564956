package admincmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

var start = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func item(id string, change func(*ApprovalItem)) ApprovalItem {
	i := ApprovalItem{View: confirm.View{ID: id, Tool: "run_script", Strength: policy.Simple, Risk: "medium", Prompt: "run script " + id, State: "pending",
		PlanHash: canon.SumBytes("t", []byte(id)), Plan: json.RawMessage(`{"context":{"command":"echo hi"}}`), ExpiresAt: start.Add(5 * time.Minute)}, Client: "codex/1", Always: true}
	if change != nil {
		change(&i)
	}
	return i
}

func newModel(items ...ApprovalItem) *model {
	m := &model{width: 80, height: 20, now: start}
	m.news(items, nil)
	return m
}

// types presses the keys of a text.
func (m *model) types(text string) (last effect) {
	named := map[rune]rune{'\r': tea.KeyEnter, '\x7f': tea.KeyBackspace, '\x1b': tea.KeyEscape}
	for _, r := range text {
		k := tea.KeyPressMsg{Code: r, Text: string(r)}
		if code, is := named[r]; is {
			k = tea.KeyPressMsg{Code: code}
		}
		last = m.press(k)
	}
	return last
}

func (m *model) text() string {
	var out []string
	for _, l := range m.frame() {
		out = append(out, l.text)
	}
	return strings.Join(out, "\n")
}

func TestTheNameIsTyped(t *testing.T) {
	m := newModel(item("a", func(i *ApprovalItem) { i.Strength, i.Target, i.Always = policy.Typed, "shop", false }))
	m.types("\r")
	assert.Contains(t, m.text(), "to approve, type the name shop")
	assert.Nil(t, m.types("a").answer)
	assert.Contains(t, m.text(), "Type shop to approve")
	e := m.types("sh op\x7f\x7f\x7fop\r")
	require.NotNil(t, e.answer)
	assert.Equal(t, confirm.Decision{ID: "a", Approve: true, Typed: "shop", Shown: m.item.PlanHash}, *e.answer)
	assert.Nil(t, m.types("a").answer, "one answer at a time")
	m.answered(*e.answer, confirm.View{}, confirm.ErrTyped.WithMessage("the typed name is not it; 2 of 3 tries are left"))
	assert.Contains(t, m.text(), "2 of 3 tries are left")
	assert.Equal(t, reading, m.screen)

	m.types("a")
	assert.Nil(t, m.types("\r").answer)
	assert.Contains(t, m.text(), "nothing was approved")
	m.types("a")
	assert.Nil(t, m.types("shop\x1b").answer, "Esc takes it back")
	assert.Nil(t, m.asking)

	m.types("a")
	e = m.types("shop\r")
	e = m.answered(*e.answer, confirm.View{}, confirm.ErrBurnt)
	require.NotNil(t, e.outcomeText)
	assert.Contains(t, m.text(), "mistyped three times")
}

func TestAnAnswerIsToWhatIsShown(t *testing.T) {
	m := newModel(item("a", nil), item("b", nil))
	assert.Nil(t, m.types("a").answer, "nothing is approved unseen")
	m.types("j\r")
	e := m.types("a")
	require.NotNil(t, e.answer)
	assert.Equal(t, "b", e.answer.ID)
	assert.Equal(t, canon.SumBytes("t", []byte("b")), e.answer.Shown)
	m.answered(*e.answer, confirm.View{Tool: "run_script"}, nil)
	assert.Equal(t, listing, m.screen)
	assert.Contains(t, m.text(), "1 pending")
	assert.Contains(t, m.text(), "run_script runs when the client continues or retries the call")

	m.types("\r")
	e = m.types("A")
	require.NotNil(t, e.answer)
	assert.True(t, e.answer.Always)
	m.answered(*e.answer, confirm.View{}, errors.New("the disk is full"))
	assert.Equal(t, reading, m.screen)
	m.types("d")
	e = m.types("no\r")
	assert.Equal(t, confirm.Decision{ID: "a", Reason: "no", Shown: canon.SumBytes("t", []byte("a"))}, *e.answer)
}

// TestQuestionsAreToldApart: of questions of one tool that begin alike, 80 columns show where they differ, and a wide screen shows all.
func TestQuestionsAreToldApart(t *testing.T) {
	long := "run the script build of the project storefront with the arguments "
	prompts := []string{long + "--target staging --verbose", long + "--target production --verbose", long + "--zoné", "deploy 3 files"}
	m := newModel()
	for i, prompt := range prompts {
		m.items = append(m.items, item(fmt.Sprint(i), func(i *ApprovalItem) { i.Prompt = prompt }))
	}
	for _, width := range []int{80, 60, 40} {
		m.width = width
		shown := map[string]bool{}
		for _, l := range m.list()[3:7] {
			assert.LessOrEqual(t, cells(l.text), width)
			assert.Equal(t, width >= 60, strings.Contains(l.text, "run_script"), "the tool, as far as there is room")
			shown[strings.TrimLeft(l.text, "› ")] = true
		}
		assert.Len(t, shown, len(prompts), width)
	}
	m.width = 80
	assert.Contains(t, m.text(), "staging")
	assert.Contains(t, m.text(), "production")
	m.width = 200
	for _, prompt := range prompts {
		assert.Contains(t, m.text(), prompt)
	}
}

func TestTheListKeepsWhatIsChosen(t *testing.T) {
	m := newModel(item("a", nil), item("b", nil), item("c", nil))
	m.types("j")
	m.news([]ApprovalItem{item("b", nil), item("c", nil), item("d", nil)}, nil)
	assert.Equal(t, "b", m.items[m.chosen].ID)
	m.news([]ApprovalItem{item("c", nil)}, nil)
	assert.Equal(t, "c", m.items[m.chosen].ID)
	m.news(nil, nil)
	assert.Contains(t, m.text(), "No pending approvals")
	assert.Nil(t, m.types("\r").diffs)
	m.news(nil, errors.New("locked"))
	assert.Contains(t, m.text(), "cannot read")
	m.news([]ApprovalItem{item("a", nil)}, nil)
	assert.NotContains(t, m.text(), "cannot read")
}

func TestAQuestionThatIsGone(t *testing.T) {
	m := newModel(item("a", nil))
	m.types("\rd")
	e := m.news(nil, nil)
	require.NotNil(t, e.outcomeText)
	m.told("other", "nonsense")
	assert.NotContains(t, m.text(), "nonsense")
	m.told("a", "already denied")
	assert.Contains(t, m.text(), "already denied")
	assert.Nil(t, m.types("a").answer)
	assert.Nil(t, m.types("x\r").answer, "what was being typed goes with it")
	assert.Nil(t, m.news(nil, nil).outcomeText, "it is asked after once")

	m = newModel(item("a", nil))
	m.types("\r")
	e = m.types("a")
	m.news(nil, nil) // the answer takes it away before it is told
	assert.Empty(t, m.outcomeText)
	m.answered(*e.answer, confirm.View{}, nil)
	assert.Equal(t, listing, m.screen)
}

func TestAPlanThatIsOutOfDate(t *testing.T) {
	m := newModel(item("a", nil))
	m.types("\r")
	e := m.types("a")
	m.answered(*e.answer, confirm.View{}, confirm.ErrMismatch.WithDetails(app.PlanChange{Differences: []confirm.Difference{
		{Path: "$.context.command", Before: json.RawMessage(`"echo hi"`), After: json.RawMessage(`"rm -rf \u001b[2J"`)}}}))
	text := m.text()
	for _, want := range []string{"out of date", "$.context.command", `- "echo hi"`, `+ "rm -rf`} {
		assert.Contains(t, text, want)
	}
	assert.Nil(t, m.types("a").answer)
}

func TestDiffsAreTinted(t *testing.T) {
	m := newModel(item("a", nil))
	m.height = 40
	e := m.types("\r")
	require.NotNil(t, e.diffs)
	m.shows("a", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n", 0)
	m.shows("b", "--- of another\n", 0)
	tints := map[string]command.Tint{}
	for _, l := range m.frame() {
		tints[strings.TrimSpace(l.text)] = l.tint
	}
	assert.Equal(t, command.Removed, tints["| -old"])
	assert.Equal(t, command.Added, tints["| +new"])
	assert.NotContains(t, m.text(), "another")
}

func TestWrappedQuotesKeepTheirBar(t *testing.T) {
	for _, l := range wrap(line{text: "    | " + strings.Repeat("a word ", 30)}, 40) {
		assert.Regexp(t, `^    \| `, l.text)
		assert.LessOrEqual(t, cells(l.text), 40)
	}
	wide := wrap(line{text: strings.Repeat("漢", 30)}, 21)
	assert.Len(t, wide, 4)
	for _, l := range wide {
		assert.LessOrEqual(t, cells(l.text), 21)
	}
}

// TestALongReasonOfWideCharactersIsTyped: its end is shown.
func TestALongReasonOfWideCharactersIsTyped(t *testing.T) {
	m := newModel(item("a", nil))
	m.width = 60
	m.types("\rd" + strings.Repeat("漢", 60) + "字")
	assert.Contains(t, m.text(), "漢字▏")
}

// cellsDrawn returns the lines of a model's frame as the library has them drawn, without the blanks at their ends.
func cellsDrawn(m *model) []string {
	v := &view{model: *m, t: &command.Terminal{}}
	drawn := uv.NewScreenBuffer(m.width, m.height)
	uv.NewStyledString(v.View().Content).Draw(drawn, drawn.Bounds())
	out := make([]string, m.height)
	for y := range out {
		for x := range m.width {
			if c := drawn.CellAt(x, y); c != nil {
				out[y] += c.Content
			}
		}
		out[y] = strings.TrimRight(out[y], " ")
	}
	return out
}

// TestWhatTakesCellsIsDrawnApart: a syllable of several characters takes the cells of each, in the library as in most terminals; and a mark that the library
// would drop stands upon a circle.
func TestWhatTakesCellsIsDrawnApart(t *testing.T) {
	m := newModel(item("a", func(i *ApprovalItem) {
		i.Prompt, i.Tool = "क्षक्ष 漢字 각 👩🏽 e\u0301\u0302 é\u0301", "\u0301alone"
	}))
	m.types("\r")
	drawn := strings.Join(cellsDrawn(m), "\n")
	assert.Contains(t, drawn, "क्षक्ष 漢字 각 👩🏽 e◌\u0301\u0302 é\u0301")
	assert.Contains(t, drawn, "◌\u0301alone")
	line := uv.NewStyledString(apiece("क्षक्ष"))
	assert.Equal(t, cells("क्षक्ष"), line.WcWidth())
}

// TestFramesFit: whatever is on the screen, whatever its size and whatever keys are pressed, it has exactly as many lines as there are, none is wider
// than the screen, and none holds anything that a terminal would act on.
func TestFramesFit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &model{width: rapid.IntRange(0, 120).Draw(r, "width"), height: rapid.IntRange(0, 40).Draw(r, "height"), now: start}
		var items []ApprovalItem
		for n := range rapid.IntRange(0, 30).Draw(r, "items") {
			items = append(items, item(fmt.Sprint(n), func(i *ApprovalItem) {
				i.Prompt, i.Tool = rapid.String().Draw(r, "prompt"), rapid.String().Draw(r, "tool")
				i.Strength, i.Target = policy.Strength(rapid.IntRange(1, 3).Draw(r, "strength")), rapid.String().Draw(r, "target")
				plan, err := json.Marshal(map[string]any{"context": map[string]any{rapid.String().Draw(r, "name"): rapid.String().Draw(r, "text"), "list": []string{rapid.String().Draw(r, "one")}}})
				require.NoError(r, err)
				i.Plan, i.Dated, i.Reach = plan, rapid.Bool().Draw(r, "dated"), confirm.Reach{Content: canon.SumBytes("test", nil), Loose: canon.SumBytes("test", nil)}
			}))
		}
		m.news(items, nil)
		for _, k := range rapid.SliceOfN(rapid.SampledFrom([]string{"j", "k", " ", "b", "g", "G", "\r", "q", "?", "a", "A", "u", "d", "x", "\x1b", "漢"}), 0, 12).Draw(r, "keys") {
			m.types(k)
			m.paste("a\x1b[2J\nb\u202e")
			if rapid.IntRange(0, 5).Draw(r, "news") == 0 {
				m.news(items[:len(items)/2], nil)
			}
			m.busy = false
			frame := m.frame()
			require.Len(r, frame, m.height)
			drawn := cellsDrawn(m)
			for y, l := range frame {
				require.LessOrEqual(r, cells(l.text), m.width, "%q", l.text)
				require.Equal(r, strings.TrimRight(l.text, " "), drawn[y], "the library draws all of it")
				require.False(r, strings.ContainsFunc(l.text, func(c rune) bool {
					return unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || unicode.Is(unicode.Cf, c) && !unicode.Is(unicode.Prepended_Concatenation_Mark, c)
				}), "%q", l.text)
			}
		}
	})
}

// TestNothingIsApprovedUnread: what is long is approved once its end was on the screen.
func TestNothingIsApprovedUnread(t *testing.T) {
	m := newModel(item("a", func(i *ApprovalItem) {
		i.Plan, i.Dated = json.RawMessage(`{"context":{"lines":[`+strings.Repeat(`"a line of its own, which is long enough to fill one",`, 60)+`"y"]}}`), true
		i.Reach = confirm.Reach{Content: canon.SumBytes("test", nil)}
	}))
	m.types("\r")
	for _, key := range []string{"a", "A", "u"} {
		assert.Nil(t, m.types(key).answer, key)
		assert.Contains(t, m.text(), "read the whole plan first")
	}
	m.types("Gg")
	require.NotNil(t, m.types("a").answer, "it was there, and may be looked at again")
}

// TestTheSameIsAllowedUntil: for as long as is typed, once what is bound and what is not was shown; and a suggestion says so.
func TestTheSameIsAllowedUntil(t *testing.T) {
	reach := confirm.Reach{Scope: "shop/test@1", Target: "shop/test", Content: canon.SumBytes("test", nil)}
	m := newModel(item("a", func(i *ApprovalItem) { i.Dated, i.Reach, i.Entry = true, reach, "codex" }), item("b", nil))
	m.width, m.height = 240, 40
	m.types("\r")
	m.shows("a", "", 2)
	assert.Contains(t, m.text(), "u until")
	assert.Contains(t, m.text(), "You approved this call 2 times before.")
	m.types("u24h any-arguments\r")
	assert.Contains(t, m.text(), "any-arguments is not available")
	m.types("u24h any-host\r")
	assert.Contains(t, m.text(), "in any session of the user's agent hosts")
	assert.Contains(t, m.text(), "not bound: how often it runs")
	assert.Nil(t, m.types("n\r").answer)
	assert.Contains(t, m.text(), "nothing was approved")
	m.types("u\x1b")
	assert.Nil(t, m.types("y").answer, "it was left")

	m.types("u\r")
	assert.Contains(t, m.text(), "in any session of the agent host codex")
	e := m.types("y\r")
	require.NotNil(t, e.answer)
	assert.Equal(t, confirm.Decision{ID: "a", Approve: true, Until: &confirm.Until{For: confirm.DatedFirst}, Shown: m.item.PlanHash}, *e.answer)
	m.answered(*e.answer, confirm.View{ID: "a"}, nil)
	assert.Contains(t, m.text(), "to revoke: countersign grants revoke a")

	m.types("\ru")
	assert.Contains(t, m.text(), "must be approved each time")
}

// TestWhatIsMaskedIsRevealedFirst: by its key, and before it is approved where it may run.
func TestWhatIsMaskedIsRevealedFirst(t *testing.T) {
	m := newModel(item("a", func(i *ApprovalItem) {
		i.Redacted, i.Plan = confirm.Redacted{Masked: 2, MustReveal: true}, json.RawMessage(`{"context":{"command":"run [REDACTED:github_token]"}}`)
	}))
	m.types("\r")
	assert.Contains(t, m.text(), "redacted: 2 parts; it may run, so reveal it before you approve")
	assert.Contains(t, m.text(), "r reveal")
	assert.Nil(t, m.types("a").answer)
	assert.Contains(t, m.text(), "nothing was approved: press r")

	e := m.types("r")
	require.NotNil(t, e.reveal)
	assert.Nil(t, m.types("a").answer, "it is on its way")
	m.revealed(*e.reveal, errors.New("it cannot be worked out"))
	assert.Nil(t, m.types("a").answer)

	bare := *m.types("r").reveal
	bare.Revealed, bare.Plan = true, json.RawMessage(`{"context":{"command":"run open; sesame"}}`)
	require.NotNil(t, m.revealed(bare, nil).diffs)
	assert.Contains(t, m.text(), "run open; sesame")
	assert.NotContains(t, m.text(), "masked: 2 parts")
	e = m.types("a")
	require.NotNil(t, e.answer)
	assert.True(t, e.answer.Revealed)
	m.answered(*e.answer, confirm.View{}, confirm.ErrTyped)
	m.types("q\r")
	assert.NotContains(t, m.text(), "sesame", "opened again, it is masked again")

	m.types("r")
	m.revealed(m.item, confirm.ErrMismatch.WithDetails(app.PlanChange{Differences: []confirm.Difference{{Path: "$.context.command", After: json.RawMessage(`"rm"`)}}}))
	assert.Contains(t, m.text(), "out of date")
}

// TestATouchIsWaitedFor: where policy wants it or the user does; whoever gives up has decided nothing, and what is not touched approves nothing.
func TestATouchIsWaitedFor(t *testing.T) {
	touched := confirm.Proof{Surface: confirm.SurfaceTouch, Credential: "SHA256:x"}
	for name, press := range map[string]struct {
		key    string
		change func(*ApprovalItem)
	}{
		"required": {"a", func(i *ApprovalItem) { i.Touch, i.Needs = true, policy.ProvingTouch }},
		"chosen":   {"t", func(i *ApprovalItem) { i.Touch = true }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(item("a", press.change))
			m.types("\r")
			e := m.types(press.key)
			require.NotNil(t, e.touch)
			assert.Nil(t, e.answer, "not before it was touched")
			m.tells("a", `touch your security key "ring" now`)
			assert.Contains(t, m.text(), `touch your security key "ring" now (Esc: cancel)`)
			assert.Equal(t, effect{}, m.types("a"), "one at a time")
			assert.Equal(t, reading, m.screen)
			assert.True(t, m.types("\x1b").giveUp)
			assert.Nil(t, m.touched(*e.touch, confirm.Proof{}, context.Canceled).answer)
			assert.Contains(t, m.text(), "nothing was decided")
			e = m.types(press.key)
			assert.Nil(t, m.touched(*e.touch, confirm.Proof{}, errors.New("not touched")).answer)
			e = m.types(press.key)
			done := m.touched(*e.touch, touched, nil)
			require.NotNil(t, done.answer)
			assert.Equal(t, confirm.Decision{ID: "a", Approve: true, Shown: m.item.PlanHash, Proof: touched}, *done.answer)
		})
	}
	m := newModel(item("a", func(i *ApprovalItem) {
		i.Touch, i.Needs, i.Strength, i.Target = true, policy.ProvingTouch, policy.Typed, "shop"
	}))
	m.types("\r")
	m.types("a")
	e := m.types("shop\r")
	require.NotNil(t, e.touch)
	assert.Equal(t, "shop", e.touch.Typed)
	assert.True(t, m.news(nil, nil).giveUp, "somebody else was faster")
	assert.Equal(t, effect{}, m.touched(*e.touch, touched, nil))
	assert.False(t, m.busy)

	m = newModel(item("a", func(i *ApprovalItem) {
		i.Needs, i.Unmet = policy.ProvingPasskey, "approving needs a passkey; the console takes one"
	}))
	m.types("\r")
	assert.Equal(t, effect{}, m.types("a"))
	assert.Contains(t, m.text(), "the console takes one")
	assert.Equal(t, effect{}, m.types("t"))
}
