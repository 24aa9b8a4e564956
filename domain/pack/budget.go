package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// budget keeps the most important pieces, whole, within o.MaxTokens, and returns the others as rest, both in the order of the document. Pieces with a
// reason come first, then those with a title, then by position. The list of what is left out may take a quarter of the budget, so that a long list
// does not displace content.
func (s Shown) budget(o Options, all []piece, p page) (kept, rest []piece) {
	var legend strings.Builder
	s.legend(&legend, o, legendFacts{page: p, left: len(all)})
	room := o.MaxTokens - EstimateTokens(legend.String()) - EstimateTokens(restHead) - budgetSlack
	listing := 0
	for _, c := range all {
		listing += EstimateTokens(s.restLine(c, o))
	}
	keep := make([]bool, len(all))
	sections := map[int]bool{}
	for _, i := range s.byImportance(all) {
		cost := EstimateTokens(all[i].body) + headingCost
		if !sections[all[i].section] {
			cost += EstimateTokens(s.sectionHead(all[i].section, o.View))
		}
		unlisted := listing - EstimateTokens(s.restLine(all[i], o))
		if cost > room-min(unlisted, o.MaxTokens/4) {
			continue
		}
		room, listing = room-cost, unlisted
		keep[i], sections[all[i].section] = true, true
	}
	last := chunk{section: -1}
	for i, c := range all {
		if !keep[i] {
			c.body = s.restLine(c, o)
			rest = append(rest, c)
			continue
		}
		// The piece before it may be left out, so headings are computed again.
		c.head = s.head(last, c.chunk, o.View)
		last = c.chunk
		kept = append(kept, c)
	}
	return kept, trim(rest, room-listing)
}

const (
	restHead    = "\n## Left out for the budget\n\n"
	headingCost = 6  // a group's heading
	budgetSlack = 24 // paging lines and rounding
)

// trim drops lines of the rest when even the list does not fit; room is what is left of the budget, negative when it is exceeded.
func trim(rest []piece, room int) []piece {
	cut := len(rest)
	for cut > 0 && room < 0 {
		cut--
		room += EstimateTokens(rest[cut].body)
	}
	if cut == len(rest) {
		return rest
	}
	out := slices.Clone(rest)
	for i := cut; i < len(out); i++ {
		out[i].body = ""
	}
	return out
}

// byImportance returns the indices of all, the most important first.
func (s Shown) byImportance(all []piece) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.weight(all[b]), s.weight(all[a])) })
	return order
}

func (s Shown) weight(p piece) int {
	sec := s.State.Sections[p.section]
	var why, title Optional
	switch p.kind {
	case aRef:
		why, title = sec.Refs[p.ref].Why, sec.Refs[p.ref].Title
	case aDiagram:
		why, title = sec.Diagrams[p.index].Why, Optional(sec.Diagrams[p.index].Title)
	default:
		why = sec.Description
	}
	switch {
	case why != "":
		return 2
	case title != "":
		return 1
	}
	return 0
}

// restLine names a piece that was left out and what showing it would cost.
func (s Shown) restLine(p piece, o Options) string {
	sec := s.State.Sections[p.section]
	cost := EstimateTokens(p.body)
	switch p.kind {
	case aRef:
		r := sec.Refs[p.ref]
		return fmt.Sprintf("- %s::%s %s (about %d tokens)\n", sec.Key, r.Key, place(r, s.Evidence[p.index].Lines), cost)
	case aDiagram:
		return fmt.Sprintf("- %s::%s diagram (about %d tokens)\n", sec.Key, sec.Diagrams[p.index].Key, cost)
	}
	return fmt.Sprintf("- %s section (about %d tokens)\n", sec.Key, EstimateTokens(s.sectionHead(p.section, o.View)))
}

func writeRest(b *strings.Builder, o Options, rest []piece) {
	if len(rest) == 0 {
		return
	}
	b.WriteString(restHead)
	unlisted := 0
	for _, p := range rest {
		if p.body == "" {
			unlisted++
		}
		b.WriteString(p.body)
	}
	if unlisted > 0 {
		fmt.Fprintf(b, "- and %d more; raise max_tokens above %d, or page with limit\n", unlisted, o.MaxTokens)
	}
}

// EstimateTokens estimates how many tokens a model counts in text, by classes of characters, because every model counts differently. It tends to be
// high rather than low. The estimates of two texts add up to that of both together, within about one token.
func EstimateTokens(text string) int {
	quarters := 0 // the unit is a quarter of a token
	prev := classOther
	run := 0
	for _, r := range text {
		c := classify(r)
		start, every := price(c)
		switch run++; {
		case c != prev || c == classWide:
			quarters, run = quarters+start, 1
		case run%every == 0:
			quarters += 4
		}
		prev = c
	}
	return (quarters + 3) / 4
}

type class uint8

const (
	classOther class = iota
	classLower
	classUpper
	classDigit
	classPunct
	classSpace
	classBreak
	classWide
)

// price returns the cost of starting a run of a class, in quarters of a token, and the number of further characters that cost one more token. Fitted
// to source code and English text.
func price(c class) (start, every int) {
	switch c {
	case classLower:
		return 4, 7
	case classUpper:
		return 2, 3
	case classDigit, classPunct:
		return 4, 3
	case classSpace:
		return 0, 8
	case classBreak:
		return 3, 4
	case classWide:
		return 4, 1
	}
	return 4, 2
}

func classify(r rune) class {
	switch {
	case r >= 'a' && r <= 'z':
		return classLower
	case r >= 'A' && r <= 'Z':
		return classUpper
	case r >= '0' && r <= '9':
		return classDigit
	case r == ' ' || r == '\t':
		return classSpace
	case r == '\n' || r == '\r':
		return classBreak
	case r < 0x80:
		return classPunct
	case r >= 0x2E80:
		return classWide
	}
	return classOther
}
