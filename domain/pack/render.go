package pack

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// View is how much of a ref is shown.
type View string

// The views.
const (
	ViewFull    View = "full"    // with the code
	ViewCompact View = "compact" // one line per ref
)

// ParseView reads full or compact, trimmed and in any case; blank is full.
func ParseView(s string) (View, error) {
	switch v := View(strings.ToLower(strings.TrimSpace(s))); v {
	case "", ViewFull:
		return ViewFull, nil
	case ViewCompact:
		return v, nil
	}
	return "", ErrValue.WithMessage("unknown view %q; use full or compact", s)
}

// Options says which parts of a pack are written and how. The zero Options write all of it in full.
type Options struct {
	View      View
	Match     *regexp.Regexp // only refs and diagrams whose text matches; nil is all
	MaxTokens int            // 0 is no budget
	Paged     bool           // Offset and Limit apply
	Offset    int            // chunks to skip
	Limit     int            // maximum number of chunks; 0 is all
	Legend    []string       // further legend lines, such as "selected_by: …"
}

// plain reports whether the document is the contract's default.
func (o Options) plain() bool {
	return o.View != ViewCompact && o.Match == nil && o.MaxTokens == 0 && !o.Paged
}

// Shown is a pack with the evidence for its refs, in the order of State.Refs, secrets masked. Evidence of refs that NeededRefs does not return may be
// zero.
type Shown struct {
	State    State
	Evidence []Evidence
	Now      time.Time
}

// usualLegend is the bytes a legend has, for sizing a buffer.
const usualLegend = 1 << 10

// RenderDocument returns the pack as Markdown. cursor returns the cursor that continues at a chunk; it is called only if more pages follow.
func RenderDocument(s Shown, o Options, cursor func(offset int) string) string {
	pieces := s.pieces(o)
	page := o.slice(len(pieces))
	shown := pieces[page.from:page.to]
	var rest []piece
	if o.MaxTokens > 0 {
		shown, rest = s.budget(o, shown, page)
	}
	size := usualLegend + len(restHead)
	for _, p := range shown {
		size += len(p.head) + len(p.body)
	}
	var b strings.Builder
	b.Grow(size)
	s.legend(&b, o, legendFacts{page: page, shown: shown, left: len(rest), cursor: cursor})
	b.WriteString("\n" + contentMark + "\n")
	for _, p := range shown {
		b.WriteString(p.head)
		b.WriteString(p.body)
	}
	if len(shown) == 0 && len(rest) == 0 && !o.plain() {
		b.WriteString("\n_Nothing to show here._\n")
	}
	writeRest(&b, o, rest)
	return b.String()
}

// NeededRefs returns, in rising order, the indices (in the order of State.Refs) of the refs whose evidence RenderDocument uses.
func NeededRefs(s State, o Options) []int {
	all := chunks(s)
	if o.Match == nil {
		page := o.slice(len(all))
		all = all[page.from:page.to]
	}
	wanted := make([]bool, countRefs(s))
	for _, c := range all {
		if c.kind == aRef {
			wanted[c.index] = true
		}
	}
	var out []int
	for i, w := range wanted {
		if w {
			out = append(out, i)
		}
	}
	return out
}

func countRefs(s State) (n int) {
	for _, sec := range s.Sections {
		n += len(sec.Refs)
	}
	return n
}

// page is a slice of chunks.
type page struct{ from, to, total int }

func (o Options) slice(total int) page {
	p := page{0, total, total}
	if !o.Paged {
		return p
	}
	p.from = min(max(o.Offset, 0), total)
	if o.Limit > 0 && o.Limit < total-p.from {
		p.to = p.from + o.Limit
	}
	return p
}

type legendFacts struct {
	page   page
	shown  []piece
	left   int
	cursor func(int) string
}

// legend writes the fixed lines of context-pack contract §3.2, then those that an option or a masked secret adds.
func (s Shown) legend(b *strings.Builder, o Options, f legendFacts) {
	st := s.State
	b.WriteString(legendMark + "\n# Context pack: " + label(st.Summary()) + "\n\n")
	item := func(key, value string) { b.WriteString("- " + key + ": " + value + "\n") }
	item("id", string(st.ID))
	if st.Name != "" {
		item("name", OneLine(string(st.Name)))
	}
	item("status", st.Status.String())
	item("revision", strconv.FormatUint(st.Revision, 10))
	item("expires_at", st.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z"))
	item("ttl_remaining", HumanDuration(st.ExpiresAt, s.Now))
	if len(st.Tags) > 0 {
		item("tags", OneLine(strings.Join(st.Tags, ", ")))
	}
	if st.Brief != "" {
		item("brief", OneLine(string(st.Brief)))
	}
	if n := masked(f.shown); n > 0 {
		item("masked_secrets", strconv.Itoa(n))
	}
	for _, l := range o.Legend {
		b.WriteString("- " + OneLine(l) + "\n")
	}
	if o.View == ViewCompact {
		item("view", string(ViewCompact))
		item("freshness", string(FreshnessAt(st.ExpiresAt, s.Now)))
	}
	if o.Match != nil {
		item("match", OneLine(o.Match.String()))
	}
	if o.MaxTokens > 0 {
		item("max_tokens", strconv.Itoa(o.MaxTokens))
		item("left_out", strconv.Itoa(f.left))
	}
	if o.Paged {
		paging(item, o, f)
	}
}

func paging(item func(key, value string), o Options, f legendFacts) {
	limit := "all"
	if o.Limit > 0 {
		limit = strconv.Itoa(o.Limit)
	}
	more := f.page.to < f.page.total
	item("paging", "active")
	item("offset", strconv.Itoa(f.page.from))
	item("limit", limit)
	item("has_more", strconv.FormatBool(more))
	if more && f.cursor != nil {
		item("next", f.cursor(f.page.to))
	}
	item("chunks_total", strconv.Itoa(f.page.total))
	item("chunks_returned", strconv.Itoa(f.page.to-f.page.from))
}

func masked(shown []piece) (n int) {
	for _, p := range shown {
		n += p.masked
	}
	return n
}

// label returns what a pack is called: its title, else its name, else Untitled.
func label(s Summary) string {
	switch {
	case s.Title != "":
		return OneLine(string(s.Title))
	case s.Name != "":
		return OneLine(string(s.Name))
	}
	return "Untitled"
}

// RenderList returns summaries as Markdown (context-pack contract §3.1).
func RenderList(packs []Summary, now time.Time) string {
	if len(packs) == 0 {
		return "No context packs found.\n"
	}
	var b strings.Builder
	b.WriteString("# Context packs\n\n")
	for _, p := range packs {
		b.WriteString("- `" + string(p.ID) + "` — " + label(p) + " (revision `" + strconv.FormatUint(p.Revision, 10) +
			"`, ttl `" + HumanDuration(p.ExpiresAt, now) + "`)\n")
	}
	return b.String()
}
