package app_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// picture is a plan that shows users more than it is.
type picture struct {
	Name    string `json:"name"`
	Version int    `json:"version"`

	shows any
	fails error
}

func (p picture) Hash() canon.Hash {
	sum, err := canon.Sum("test.picture.v1", map[string]any{"name": p.Name, "version": p.Version})
	if err != nil {
		panic(err)
	}
	return sum
}

func (p picture) Details(context.Context) (any, error) { return p.shows, p.fails }

// gallery returns a capability whose plan a test changes.
func gallery(p *picture, placed bool) tool.Capability {
	return tool.Capability{Name: "gallery", Contract: control.Contract, Mode: policy.Execute, UsesWorkingDir: placed, Entries: []tool.Entry{
		bind.Command(tool.Ref[noteInput, string]{Name: "hang"}, tool.Spec{Title: "Hang", Description: "Hang a picture.", Class: policy.ClassWrite, Effects: policy.Read | policy.Write, Confirm: policy.Simple},
			func(context.Context, tool.Scope, noteInput) (picture, error) { return *p, nil },
			func(context.Context, tool.Scope, picture) (string, error) { return "hung", nil })}}
}

func TestPeopleAreShownMoreThanThePlan(t *testing.T) {
	p := &picture{Name: "sea", shows: map[string]string{"line": "+ token " + secret() + " \u202e"}}
	h := openWith(t, []tool.Capability{gallery(p, false)}, human)
	o := h.call("hang", `{"name":"sea"}`)
	require.NotNil(t, o.Request)
	assert.NotContains(t, string(o.Request.Plan), "line", "the plan is what it was")
	view := h.waiting(t)[0]
	for _, doc := range []string{string(o.Request.Exhibit), string(view.Exhibit)} {
		assert.Contains(t, doc, `"line":"+ token `)
		assert.NotContains(t, doc, secret())
		assert.NotContains(t, doc, "\u202e")
	}
	for name, change := range map[string]func(){
		"it fails":       func() { p.fails = errors.New("gone") },
		"it is too long": func() { p.fails, p.shows = nil, make([]int, 400<<10) },
		"there is none":  func() { p.shows = nil },
	} {
		change()
		p.Version++
		o := h.call("hang", `{"name":"sea"}`, in(name))
		require.NotNil(t, o.Request, "it asks all the same: %s", name)
		assert.Empty(t, o.Request.Exhibit, name)
	}
	host := openWith(t, []tool.Capability{gallery(&picture{Name: "sea", shows: "x"}, false)})
	assert.Empty(t, host.call("hang", `{"name":"sea"}`).Request.Exhibit, "nobody looks at it")
	assert.NotEmpty(t, host.call("hang", `{"name":"land"}`, func(c *tool.Call) { c.FromUser = true }).Request.Exhibit)
}

// elsewhere returns the same core in a process that stands in another directory.
func elsewhere(t *testing.T, h *fixture, place string) *app.App {
	t.Helper()
	a, err := app.New(h.core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}, Place: place}, h.caps...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(context.Background())) })
	return a
}

func TestWhoStandsElsewhereJudgesNoPlanThatDependsOnThat(t *testing.T) {
	for name, c := range map[string]struct {
		placed  bool
		place   string
		refused bool
	}{
		"here": {true, "/work", true}, "elsewhere": {true, "/home", false}, "elsewhere, where it does not matter": {false, "/home", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &picture{Name: "sea"}
			h := openWith(t, []tool.Capability{gallery(p, c.placed)}, human, func(o *app.Options) { o.Place = "/work" })
			o := h.call("hang", `{"name":"sea"}`)
			require.NotNil(t, o.Request)
			p.Version++ // as it is, or as it looks from there
			_, err := elsewhere(t, h, c.place).Answer(t.Context(), confirm.Decision{ID: o.Request.ID, Approve: true, By: "console", Proof: person.AtTerminal})
			if c.refused {
				require.ErrorIs(t, err, confirm.ErrMismatch)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "confirm_token_mismatch", code(h.call("hang", `{"name":"sea"}`, after(o))), "the call itself notices")
			p.Version--
			require.NoError(t, h.call("hang", `{"name":"sea"}`, after(o)).Err)
		})
	}
}

// told is a ledger that looks at a record the moment that a grant is settled.
type told struct {
	ports.ApprovalStore
	settled func()
}

func (l told) Settle(ctx context.Context, d confirm.Digest, f func(*confirm.Request) error) error {
	err := l.ApprovalStore.Settle(ctx, d, f)
	l.settled()
	return err
}

func TestWhoAsksTheMomentItIsDeniedIsToldWhy(t *testing.T) {
	h := open(t, human)
	o := h.call("write_note", note(1))
	require.NotNil(t, o.Request)
	said := ""
	core := h.core
	core.Ledger = told{h.core.Ledger, func() {
		if rec, err := h.CallRecord(context.Background(), o.Request.ID); err == nil {
			said = rec.Said
		}
	}}
	a, err := app.New(core, app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}, h.caps...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(context.Background())) })
	_, err = a.Answer(t.Context(), confirm.Decision{ID: o.Request.ID, By: "console", Proof: person.AtTerminal, Reason: "not today"})
	require.NoError(t, err)
	assert.Equal(t, "not today", said)
}
