package packs

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/pack"
)

// action is one row of the contract's table of input actions: its requirements, and its effect on a pack.
type action struct {
	reads    bool              // changes nothing
	ident    bool              // needs id or name
	revision bool              // needs expected_revision
	required []string          // in the order in which they are reported
	aliases  map[string]string // names of another tool's fields, and the corresponding names here
	check    func(Args) error
	edit     func(*service, context.Context, *pack.Pack, Args, time.Time) (more json.RawMessage, err error)
}

// actions returns the table (context-pack contract §2, and additions).
func actions() map[string]action {
	change := func(a action) action {
		a.ident, a.revision = true, true
		return a
	}
	return map[string]action{
		"list":   {reads: true},
		"get":    {reads: true, ident: true},
		"create": {check: checkCreate},
		"write":  {required: []string{"document"}, check: checkWrite},
		"upsert_section": change(action{required: []string{"section_key", "section_title"}, edit: upsertSection, check: clears("section_description"),
			aliases: map[string]string{"title": "section_title", "description": "section_description"}}),
		"delete_section": change(action{required: []string{"section_key"}, edit: deleteSection}),
		"upsert_ref": change(action{required: []string{"section_key", "ref_key", "path"}, check: checkRef, edit: upsertRef,
			aliases: map[string]string{"title": "ref_title", "why": "ref_why"}}),
		"delete_ref": change(action{required: []string{"section_key", "ref_key"}, edit: deleteRef}),
		"upsert_diagram": change(action{required: []string{"section_key", "diagram_key", "title", "mermaid"}, edit: upsertDiagram,
			aliases: map[string]string{"why": "diagram_why"}}),
		"delete_diagram": change(action{required: []string{"section_key", "diagram_key"}, edit: deleteDiagram}),
		"set_meta":       change(action{check: clears("title", "brief", "tags"), edit: setMeta}),
		"set_status":     change(action{required: []string{"status"}, edit: setStatus}),
		"touch_ttl":      change(action{check: checkTouch, edit: touchTTL}),
		"reanchor":       change(action{edit: reanchor}),
		"delete_pack":    change(action{}),
	}
}

// actionNames returns every action, sorted, for messages.
func actionNames() string {
	var names []string
	for n := range actions() {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func checkCreate(a Args) error {
	if _, err := a.Tags(); err != nil {
		return err
	}
	if _, ok := a.Number("ttl_minutes"); !ok {
		return RequiredError("ttl_minutes")
	}
	return nil
}

// clears checks tags and clear before the pack is read.
func clears(allowed ...string) func(Args) error {
	return func(a Args) error {
		if _, err := a.Tags(); err != nil {
			return err
		}
		_, err := a.Cleared(allowed...)
		return err
	}
}

// checkRef requires both lines, or a symbol and neither.
func checkRef(a Args) error {
	symbol := a.Text("symbol") != ""
	for _, f := range []string{"line_start", "line_end"} {
		_, ok := a.Number(f)
		switch {
		case symbol && a.Given(f):
			return ErrArguments.WithMessage("give either 'symbol' or '%s', not both", f)
		case !symbol && !ok:
			return RequiredError(f)
		}
	}
	return nil
}

// checkTouch requires exactly one of the two fields. A field that is present must be an integer; null is an error too (context-pack contract §2).
func checkTouch(a Args) error {
	both := 0
	for _, f := range []string{"ttl_minutes", "extend_minutes"} {
		if !a.Has(f) {
			continue
		}
		both++
		if _, ok := a.Number(f); !ok {
			return ErrArguments.WithMessage("'%s' must be a whole number of minutes", f)
		}
	}
	switch both {
	case 0:
		return ErrTTLRequired
	case 2:
		return ErrArguments.WithMessage("give either 'ttl_minutes' or 'extend_minutes', not both")
	}
	return nil
}

func upsertSection(_ *service, _ context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	key, err := pack.ParseKey("section_key", a.Text("section_key"))
	if err != nil {
		return nil, err
	}
	clear, err := a.Cleared("section_description")
	if err != nil {
		return nil, err
	}
	e := pack.SectionEdit{Key: key, Title: a.Text("section_title"), Description: a.Optional("section_description"), ClearDescription: clear["section_description"]}
	if n, ok := a.Number("section_order"); ok {
		e.Order = &n
	}
	return nil, p.PutSection(e, now)
}

func deleteSection(_ *service, _ context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	key, err := pack.ParseKey("section_key", a.Text("section_key"))
	if err != nil {
		return nil, err
	}
	return nil, p.DeleteSection(key, now)
}

// keys reads the section's key and that of the part in it.
func keys(a Args, part string) (section, key pack.Key, err error) {
	if section, err = pack.ParseKey("section_key", a.Text("section_key")); err != nil {
		return "", "", err
	}
	key, err = pack.ParseKey(part, a.Text(part))
	return section, key, err
}

func upsertRef(s *service, ctx context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	section, _, err := keys(a, "ref_key")
	if err != nil {
		return nil, err
	}
	start, end, err := a.Lines()
	if err != nil {
		return nil, err
	}
	symbol := a.Text("symbol")
	if symbol != "" {
		start, end = 1, 1 // until the definition is found
	}
	ref, err := pack.DocumentRef{
		Key: a.Text("ref_key"), Path: a.Text("path"), LineStart: start, LineEnd: end, Title: a.Text("ref_title"), Why: a.Text("ref_why"),
		Group: a.Text("group"), Root: a.Text("root"), Commit: a.Text("commit"),
	}.Content(s.Roots)
	if err != nil {
		return nil, err
	}
	if symbol != "" {
		if ref.Lines, err = s.sight.definition(ctx, ref, symbol); err != nil {
			return nil, err
		}
	}
	refs := []pack.Ref{ref}
	if err := s.sight.anchorNew(ctx, refs, func(pack.Ref) bool { return false }); err != nil {
		return nil, err
	}
	return nil, p.PutRef(section, refs[0], now)
}

func deleteRef(_ *service, _ context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	section, key, err := keys(a, "ref_key")
	if err != nil {
		return nil, err
	}
	return nil, p.DeleteRef(section, key, now)
}

func upsertDiagram(_ *service, _ context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	section, key, err := keys(a, "diagram_key")
	if err != nil {
		return nil, err
	}
	return nil, p.PutDiagram(section, pack.Diagram{Key: key, Title: a.Text("title"), Mermaid: a.Text("mermaid"), Why: a.Optional("diagram_why")}, now)
}

func deleteDiagram(_ *service, _ context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	section, key, err := keys(a, "diagram_key")
	if err != nil {
		return nil, err
	}
	return nil, p.DeleteDiagram(section, key, now)
}

func setMeta(_ *service, _ context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	clear, err := a.Cleared("title", "brief", "tags")
	if err != nil {
		return nil, err
	}
	var m pack.MetaEdit
	if m.Tags, err = a.Tags(); err != nil {
		return nil, err
	}
	for name, to := range map[string]**pack.Optional{"title": &m.Title, "brief": &m.Brief} {
		if v := a.Optional(name); v != "" || clear[name] {
			*to = &v
		}
	}
	if clear["tags"] {
		m.Tags = &[]string{}
	}
	return nil, p.SetMeta(m, now)
}

func setStatus(s *service, ctx context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	to, err := pack.ParseStatus(a.Text("status"))
	if err != nil {
		return nil, err
	}
	if to == pack.Draft {
		return nil, p.Reopen(now)
	}
	return nil, s.finalize(ctx, p, a.Flag("snapshot"), now)
}

// finalize judges a draft's refs by the present files; a final pack is left alone, whatever its refs are.
func (s *service) finalize(ctx context.Context, p *pack.Pack, snapshot bool, now time.Time) error {
	if p.Status() == pack.Finalized {
		return nil
	}
	f, err := s.sight.Judge(ctx, p)
	if err != nil {
		return err
	}
	var keep func(pack.Evidence) *pack.Snapshot
	if snapshot {
		keep = s.sight.Keep
	}
	return p.Finalize(f.Evidence, keep, now)
}

func touchTTL(_ *service, _ context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	if n, ok := a.Number("ttl_minutes"); ok {
		return nil, p.SetTTL(pack.TTL(n), now)
	}
	n, _ := a.Number("extend_minutes")
	return nil, p.ExtendTTL(pack.TTL(n), now)
}

// reanchor updates refs to the present code: all of them, or those of one section or one ref. Only a ref that is named explicitly is accepted with
// changed text.
func reanchor(s *service, ctx context.Context, p *pack.Pack, a Args, now time.Time) (json.RawMessage, error) {
	var only pack.RefID
	var err error
	if a.Text("section_key") != "" {
		if only.Section, err = pack.ParseKey("section_key", a.Text("section_key")); err != nil {
			return nil, err
		}
	}
	if a.Text("ref_key") != "" {
		if only.Section == "" {
			return nil, ErrArguments.WithMessage("'section_key' is required with 'ref_key'")
		}
		if only.Ref, err = pack.ParseKey("ref_key", a.Text("ref_key")); err != nil {
			return nil, err
		}
	}
	ids, refs := p.State().Refs()
	var wanted []int
	for i, id := range ids {
		if (only.Section == "" || id.Section == only.Section) && (only.Ref == "" || id.Ref == only.Ref) {
			wanted = append(wanted, i)
		}
	}
	if len(wanted) == 0 && only != (pack.RefID{}) {
		return nil, pack.ErrTarget.WithMessage("pack %s has no ref %s", p.ID(), only)
	}
	f, err := s.sight.ReadRefs(ctx, refs, wanted)
	if err != nil {
		return nil, err
	}
	done, err := pack.Reanchor(p, f.Evidence, func(id pack.RefID) bool { return only.Ref != "" && id == only }, now)
	if err != nil {
		return nil, err
	}
	return json.Marshal(done)
}
