package packs

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// maxPattern bounds the regular expression of match, in bytes.
const maxPattern = 1000

// outputHandler decodes calls of the tool output.
type outputHandler struct {
	*service
	shape Shape
}

// Decode checks everything that needs no pack: format first of all, then names and types, then the action.
func (h outputHandler) Decode(raw json.RawMessage) (tool.Invocation, error) {
	a, err := ParseArgs(raw)
	if err != nil {
		return nil, err
	}
	if a.Has("format") {
		return nil, ErrArguments.WithMessage("'format' is not supported: output is always markdown")
	}
	if err := h.shape.Check(a); err != nil {
		return nil, err
	}
	c := &outputCall{service: h.service, name: "list", args: a}
	if a.Identifier() != "" {
		c.name = "get"
	}
	if a.Given("action") {
		_ = json.Unmarshal(a["action"], &c.name) // the shape has checked that it is a string
	}
	switch c.name {
	case "list":
		return c, nil
	case "get", "diff":
	default:
		return nil, ErrArguments.WithMessage("unknown output action %q; use list, get or diff", c.name)
	}
	if a.Identifier() == "" {
		return nil, ErrArguments.WithMessage("'id' or 'name' is required")
	}
	c.options, err = outputOptions(a)
	return c, err
}

// outputOptions reads how a pack is to be shown. offset and limit apply only if one of them, or a cursor, is present.
func outputOptions(a Args) (o pack.Options, err error) {
	if o.View, err = pack.ParseView(a.Text("view")); err != nil {
		return o, err
	}
	if m := a.Text("match"); m != "" {
		if len(m) > maxPattern {
			return o, ErrArguments.WithMessage("'match' is longer than %d bytes", maxPattern)
		}
		if o.Match, err = regexp.Compile(m); err != nil {
			return o, ErrArguments.WithMessage("'match' is no regular expression: %v", err)
		}
	}
	if n, ok := a.Count("max_tokens"); ok {
		if n == 0 {
			return o, ErrArguments.WithMessage("'max_tokens' must be at least 1")
		}
		o.MaxTokens = n
	}
	var limited, moved bool
	o.Limit, limited = a.Count("limit")
	o.Offset, moved = a.Count("offset")
	o.Paged = limited || moved || a.Text("cursor") != ""
	switch {
	case limited && o.Limit == 0:
		return o, ErrArguments.WithMessage("'limit' must be at least 1")
	case moved && a.Text("cursor") != "":
		return o, pack.ErrCursor.WithMessage("invalid_cursor: 'offset' and 'cursor' exclude each other")
	}
	return o, nil
}

// outputCall is one decoded call of output.
type outputCall struct {
	*service
	name    string
	args    Args
	options pack.Options
}

// Claims returns a read.
func (c *outputCall) Claims() policy.Claims {
	claims := policy.Claims{Class: policy.ClassRead, Effects: policy.Read}
	if id := c.args.Identifier(); id != "" {
		claims.Resources = []string{"pack:" + id}
	}
	return claims
}

// Prepare does nothing: a read has no plan.
func (c *outputCall) Prepare(context.Context, tool.Scope) (tool.Plan, error) { return nil, nil }

// Commit renders.
func (c *outputCall) Commit(ctx context.Context, _ tool.Scope, _ tool.Plan) (any, error) {
	var doc string
	var err error
	switch c.name {
	case "list":
		var found Listing
		if found, err = c.finder.List(ctx, c.args); err == nil {
			doc = pack.RenderList(found.Packs, c.now())
		}
	case "diff":
		doc, err = c.diff(ctx)
	default:
		doc, err = c.document(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(doc) > MaxOutput {
		return nil, ErrTooLarge.WithMessage("the document is too large: %d bytes, at most %d; use limit, max_tokens, match or view compact", len(doc), MaxOutput)
	}
	return tool.Text(doc), nil
}

// open finds the pack and checks its status.
func (c *outputCall) open(ctx context.Context) (*pack.Pack, []string, error) {
	var want pack.Status
	var err error
	if t := c.args.Text("status"); t != "" {
		if want, err = pack.ParseStatus(t); err != nil {
			return nil, nil, err
		}
	}
	p, legend, err := c.finder.Pick(ctx, c.args.Identifier(), want)
	if err == nil && want != 0 && p.Status() != want {
		err = pack.ErrStatus.WithMessage("pack %s is %s, not %s", p.ID(), p.Status(), want)
	}
	return p, legend, err
}

func (c *outputCall) document(ctx context.Context) (string, error) {
	p, legend, err := c.open(ctx)
	if err != nil {
		return "", err
	}
	state, o := p.State(), c.options
	o.Legend = legend
	if text := c.args.Text("cursor"); text != "" {
		from, err := pack.ParseCursor(text, state, o)
		if err != nil {
			return "", err
		}
		if o.Limit != 0 && o.Limit != from.Limit {
			return "", pack.ErrCursor.WithMessage("invalid_cursor: limit was %d; repeat it, or leave it out", from.Limit)
		}
		o.Offset, o.Limit = from.Offset, from.Limit
	}
	_, refs := state.Refs()
	f, err := c.sight.ReadRefs(ctx, refs, pack.NeededRefs(state, o))
	if err != nil {
		return "", err
	}
	c.sight.Redact(f.Evidence)
	next := func(offset int) string { return pack.Cursor{Offset: offset, Limit: o.Limit}.Encode(state, o) }
	return pack.RenderDocument(pack.Shown{State: state, Evidence: f.Evidence, Now: c.now()}, o, next), nil
}

// diff compares the pack with now. Earlier text is what was kept when it was finalized, else the file at the ref's commit.
func (c *outputCall) diff(ctx context.Context) (string, error) {
	p, _, err := c.open(ctx)
	if err != nil {
		return "", err
	}
	state := p.State()
	_, refs := state.Refs()
	f, err := c.sight.ReadRefs(ctx, refs, AllRefs(refs))
	if err != nil {
		return "", err
	}
	c.sight.Redact(f.Evidence)
	then := make([]pack.EarlierText, len(refs))
	for i, e := range f.Evidence {
		if e.Standing < pack.RefMoved {
			then[i] = c.sight.Earlier(ctx, refs[i])
		}
	}
	return pack.RenderDiff(pack.Shown{State: state, Evidence: f.Evidence, Now: c.now()}, then), ctx.Err()
}
