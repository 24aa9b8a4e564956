package packs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// inputHandler decodes calls of the tool input.
type inputHandler struct {
	*service
	shape Shape
}

// Decode checks, in the contract's order, everything that needs no pack: aliases, names and types, the action, and its required arguments.
func (h inputHandler) Decode(raw json.RawMessage) (tool.Invocation, error) {
	a, err := ParseArgs(raw)
	if err != nil {
		return nil, err
	}
	name := "list"
	if a.Given("action") {
		_ = json.Unmarshal(a["action"], &name) // a wrong type is reported by the shape
	}
	act, known := h.actions[name]
	for _, bad := range []string{"title", "description", "why"} {
		if right := act.aliases[bad]; right != "" && a.Has(bad) {
			return nil, ErrArguments.WithMessage("'%s' is not supported by %s; use '%s'", bad, name, right)
		}
	}
	lax := []string{"tags"}
	if name == "touch_ttl" {
		lax = append(lax, "ttl_minutes", "extend_minutes")
	}
	if err := h.shape.Check(a, lax...); err != nil {
		return nil, err
	}
	if !known {
		return nil, ErrArguments.WithMessage("unknown input action %q; use one of %s", name, actionNames())
	}
	if err := h.present(act, a); err != nil {
		return nil, err
	}
	return &inputCall{service: h.service, name: name, action: act, args: a}, nil
}

// present checks that the action's arguments are present: identifier, revision, then its own arguments in the table's order.
func (h inputHandler) present(act action, a Args) error {
	if act.ident && a.Identifier() == "" {
		return ErrArguments.WithMessage("'id' or 'name' is required")
	}
	if act.revision {
		if err := h.shape.Need(a, "expected_revision"); err != nil {
			return err
		}
	}
	for _, r := range act.required {
		if err := h.shape.Need(a, r); err != nil {
			return err
		}
	}
	if act.check != nil {
		return act.check(a)
	}
	return nil
}

// inputCall is one decoded call of input.
type inputCall struct {
	*service
	name   string
	action action
	args   Args
}

// reads reports whether the call changes nothing.
func (c *inputCall) reads() bool {
	return c.action.reads || c.name == "write" && c.args.Flag("validate_only")
}

// Claims returns a read for list, get and a validated document, and scratch for everything else.
func (c *inputCall) Claims() policy.Claims {
	claims := policy.Claims{Class: policy.ClassScratch, Effects: policy.Read | policy.Write}
	if c.reads() {
		claims = policy.Claims{Class: policy.ClassRead, Effects: policy.Read}
	}
	if id := c.args.Identifier(); id != "" {
		claims.Resources = []string{"pack:" + id}
	}
	return claims
}

// Prepare computes the changed pack.
func (c *inputCall) Prepare(ctx context.Context, _ tool.Scope) (tool.Plan, error) {
	if c.reads() {
		return nil, nil
	}
	p, err := c.plan(ctx, c.now())
	if err != nil {
		return nil, err
	}
	return p, p.seal()
}

func (c *inputCall) plan(ctx context.Context, now time.Time) (*plan, error) {
	identifier := c.args.Identifier()
	switch {
	case c.name == "create":
		return c.planCreate(now)
	case c.name == "write" && identifier == "":
		return c.planDocument(ctx, nil, now)
	}
	stored, err := c.finder.Find(ctx, identifier)
	if err != nil {
		return nil, err
	}
	revision, _ := c.args.Number("expected_revision")
	if err := stored.Expect(revision); err != nil {
		return nil, err
	}
	if c.name == "write" {
		return c.planDocument(ctx, stored, now)
	}
	next := stored.Clone()
	var more json.RawMessage
	if c.action.edit != nil {
		if more, err = c.action.edit(c.service, ctx, next, c.args, now); err != nil {
			return nil, err
		}
	}
	p, err := newPlan(c.name, next)
	if err != nil {
		return nil, err
	}
	p.ID, p.Revision = stored.ID(), revision
	p.more = more
	p.minutes(c.args)
	return p, nil
}

func (c *inputCall) planCreate(now time.Time) (*plan, error) {
	minutes, _ := c.args.Number("ttl_minutes")
	p, err := pack.New(c.newID(), c.args.Optional("name"), now, pack.TTL(minutes))
	if err != nil {
		return nil, err
	}
	title, brief := c.args.Optional("title"), c.args.Optional("brief")
	tags, err := c.args.Tags()
	if err != nil {
		return nil, err
	}
	if err := p.SetMeta(pack.MetaEdit{Title: &title, Brief: &brief, Tags: tags}, now); err != nil {
		return nil, err
	}
	p.Squash(1)
	made, err := newPlan(c.name, p)
	if err != nil {
		return nil, err
	}
	made.minutes(c.args)
	return made, nil
}

func (s *service) newID() pack.ID { return pack.ID(s.IDs.NewID(pack.IDPrefix, pack.IDChars)) }

// plan is a change of one pack. It shows and hashes what the call and the stored pack determine, and omits what depends on the time (times, a new
// pack's id), so that planning twice gives the same plan.
type plan struct {
	Action        string          `json:"action"`
	ID            pack.ID         `json:"id,omitempty"`
	Revision      uint64          `json:"expected_revision,omitempty"`
	TTLMinutes    uint64          `json:"ttl_minutes,omitempty"`
	ExtendMinutes uint64          `json:"extend_minutes,omitempty"`
	Pack          json.RawMessage `json:"pack,omitempty"` // the pack after the change

	next *pack.Pack
	more json.RawMessage // additional members of the edit
	hash canon.Hash
	doc  json.RawMessage
}

// newPlan shows the pack after the change, unless the plan deletes it.
func newPlan(action string, next *pack.Pack) (*plan, error) {
	p := &plan{Action: action, next: next}
	if action == "delete_pack" {
		return p, nil
	}
	s := next.State()
	head, err := tool.Encode(struct {
		Name   pack.Optional `json:"name"`
		Title  pack.Optional `json:"title"`
		Brief  pack.Optional `json:"brief"`
		Status pack.Status   `json:"status"`
		Tags   []string      `json:"tags"`
	}{s.Name, s.Title, s.Brief, s.Status, s.Tags})
	if err != nil {
		return nil, err
	}
	p.Pack = pack.AppendSections(append(head[:len(head)-1], `,"sections":`...), s.Sections)
	p.Pack = strconv.AppendUint(append(p.Pack, `,"revision":`...), s.Revision, 10)
	p.Pack = append(p.Pack, '}')
	return p, nil
}

// seal hashes the plan and encodes it. The pack's JSON is hashed directly: it has only one form, and may be long.
func (p *plan) seal() error {
	short := *p
	short.Pack = nil
	var err error
	if p.doc, err = tool.Encode(short); err != nil {
		return err
	}
	if p.Pack != nil {
		short.Pack = []byte(`"` + canon.SumBytes("pack.content.v1", p.Pack).String() + `"`)
		p.doc = slices.Concat(p.doc[:len(p.doc)-1], []byte(`,"pack":`), p.Pack, []byte("}"))
	}
	p.hash, err = canon.Sum("pack.plan.v2", short)
	return err
}

// WrittenJSON returns what the plan shows.
func (p *plan) WrittenJSON() json.RawMessage { return p.doc }

// MarshalJSON returns what the plan shows.
func (p *plan) MarshalJSON() ([]byte, error) { return p.doc, nil }

func (p *plan) minutes(a Args) {
	p.TTLMinutes, _ = a.Number("ttl_minutes")
	p.ExtendMinutes, _ = a.Number("extend_minutes")
}

// Hash returns the canonical sum of what the plan shows.
func (p *plan) Hash() canon.Hash { return p.hash }

// Prompt returns one line for the user who is asked.
func (p *plan) Prompt() string {
	if p.ID == "" {
		return p.Action + " a context pack"
	}
	return p.Action + " on context pack " + string(p.ID)
}

// Commit returns the result of a read, or applies the plan.
func (c *inputCall) Commit(ctx context.Context, _ tool.Scope, decided tool.Plan) (any, error) {
	if p, ok := decided.(*plan); ok {
		return c.commit(ctx, p)
	}
	switch c.name {
	case "list":
		found, err := c.finder.List(ctx, c.args)
		if err != nil {
			return nil, err
		}
		return c.result(summaries(found, c.now()))
	case "get":
		p, err := c.finder.Find(ctx, c.args.Identifier())
		if err != nil {
			return nil, err
		}
		return c.result(c.view(p))
	}
	return c.validate(ctx)
}

func (c *inputCall) commit(ctx context.Context, p *plan) (any, error) {
	switch {
	case p.ID == "":
		stored, err := c.create(ctx, p.next)
		if err != nil {
			return nil, err
		}
		return c.result(c.view(stored))
	case p.Action == "delete_pack":
		if err := c.Repo.Delete(ctx, p.ID, func(stored *pack.Pack) error { return stored.Expect(p.Revision) }); err != nil {
			return nil, err
		}
		return c.result(deleted{p.ID, true})
	}
	stored, err := c.Repo.Update(ctx, p.ID, func(stored *pack.Pack) error {
		if err := stored.Expect(p.Revision); err != nil {
			return err
		}
		return stored.Replace(p.next)
	})
	if err != nil {
		return nil, err
	}
	out, err := c.result(c.view(stored))
	out.Payload = with(out.Payload, p.more)
	return out, err
}

// with returns a payload object with one more member: what reanchor rewrote.
func with(payload, reanchored json.RawMessage) json.RawMessage {
	if len(reanchored) == 0 || len(payload) == 0 {
		return payload
	}
	return slices.Concat(payload[:len(payload)-1], []byte(`,"reanchored":`), reanchored, []byte("}"))
}

// create stores a new pack, and tries another id if one is taken (context-pack contract §1.1).
func (s *service) create(ctx context.Context, p *pack.Pack) (*pack.Pack, error) {
	var err error
	for range pack.MaxIDTries {
		if err = s.Repo.Create(ctx, p); !errors.Is(err, pack.ErrExists) {
			return p, err
		}
		state := p.State()
		state.ID = s.newID()
		if p, err = pack.Restore(state); err != nil {
			return nil, err
		}
	}
	return nil, pack.ErrExists.WithMessage("%d ids in a row were taken; try again", pack.MaxIDTries)
}

// deleted is the payload of delete_pack.
type deleted struct {
	ID      pack.ID `json:"id"`
	Deleted bool    `json:"deleted"`
}

// brief is the payload of any change with terse.
type brief struct {
	ID       pack.ID `json:"id"`
	Revision uint64  `json:"revision"`
}

// view returns a pack in a result: whole, without what only anchoring needs, or terse.
func (c *inputCall) view(p *pack.Pack) any {
	if c.args.Flag("terse") {
		return brief{p.ID(), p.Revision()}
	}
	s := p.State()
	s.Removed = nil
	for i := range s.Sections {
		s.Sections[i].ChangedAt = 0
		for j := range s.Sections[i].Refs {
			s.Sections[i].Refs[j].Anchor, s.Sections[i].Refs[j].Snapshot = nil, nil
		}
	}
	return s
}

// result wraps a payload. For a read, one that is too long is an error; a change that is already stored returns a terse result.
func (c *inputCall) result(payload any) (InputResult, error) {
	doc, err := encode(payload)
	if len(doc) <= MaxOutput || err != nil {
		return InputResult{Action: c.name, Payload: doc}, err
	}
	if s, ok := payload.(pack.State); ok && !c.reads() {
		doc, err = tool.Encode(brief{s.ID, s.Revision})
		return InputResult{Action: c.name, Payload: doc}, err
	}
	return InputResult{}, ErrTooLarge.WithMessage("the answer is too large: %d bytes, at most %d; use limit or terse, or show the pack page by page with output",
		len(doc), MaxOutput)
}

// encode is tool.Encode, without checking and copying the JSON of a pack again.
func encode(payload any) (json.RawMessage, error) {
	if s, ok := payload.(pack.State); ok {
		return s.MarshalJSON()
	}
	return tool.Encode(payload)
}

// summary is one pack of a list (context-pack contract §2).
type summary struct {
	ID               pack.ID        `json:"id"`
	Name             pack.Optional  `json:"name"`
	Title            pack.Optional  `json:"title"`
	Status           pack.Status    `json:"status"`
	Revision         uint64         `json:"revision"`
	UpdatedAt        string         `json:"updated_at"`
	ExpiresAt        string         `json:"expires_at"`
	RemainingSeconds int64          `json:"ttl_remaining_seconds"`
	RemainingHuman   string         `json:"ttl_remaining_human"`
	Freshness        pack.Freshness `json:"freshness_state"`
}

// summaryList is the payload of list. Count is the number of returned packs, Total that of all matches.
type summaryList struct {
	Count int       `json:"count"`
	Total int       `json:"total"`
	Packs []summary `json:"packs"`
}

func summaries(l Listing, now time.Time) summaryList {
	out := summaryList{Count: len(l.Packs), Total: l.Total, Packs: make([]summary, len(l.Packs))}
	for i, p := range l.Packs {
		out.Packs[i] = summary{
			ID: p.ID, Name: p.Name, Title: p.Title, Status: p.Status, Revision: p.Revision,
			UpdatedAt: pack.FormatTime(p.UpdatedAt), ExpiresAt: pack.FormatTime(p.ExpiresAt),
			RemainingSeconds: pack.Remaining(p.ExpiresAt, now), RemainingHuman: pack.HumanDuration(p.ExpiresAt, now),
			Freshness: pack.FreshnessAt(p.ExpiresAt, now),
		}
	}
	return out
}
