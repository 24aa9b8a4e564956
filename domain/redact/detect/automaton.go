// Package detect finds secrets in text: where they begin and end, and which row of the PackageFlow security contract's table (§4.2)
// claims them.
//
// A single pass of a keyword automaton finds the places worth looking at; only there a rule's matcher runs, so clean text costs about
// a table look-up a byte. The matchers are written by hand: each looks at a bounded piece of text unless it claims it, so hostile input
// costs no more than a constant a byte, and there is no pattern to compile. The package refuses to mask: it only points.
package detect

// keyword is a lower-case text that calls for a closer look: find says whether a secret stands there, and where it begins and ends; at
// is where the keyword begins in the text, end where it ends. If there is none, to may say up to where none of this row begins.
type keyword struct {
	text  string
	row   Row
	find  func(s string, at, end int) (from, to int, ok bool)
	guard func(doc []byte, at, end int) bool // cheap and never wrongly false: what JSON asks before it parses; nil is always true
}

// classBits is the room a state has for classes of bytes: the keywords use fewer than 64 different ones.
const classBits = 6

// Automaton is an Aho-Corasick machine over case-folded bytes, as a full transition table. A state is its index in the table, so that
// a step is one look-up; the states in which keywords end are the last ones, so that one comparison tells them.
type Automaton struct {
	classes [256]uint16
	next    [1 << 16]uint16
	first   uint16      // the first state in which a keyword ends
	hits    [][]keyword // of the states from first on
}

// trie is the automaton while it is being built.
type trie struct {
	next [][1 << classBits]uint16
	hits [][]keyword
}

// New builds the automaton of the contract's rules, in a fraction of a millisecond.
func New() *Automaton {
	words := keywords()
	a := &Automaton{}
	width := uint16(1)
	for _, w := range words {
		for i := range len(w.text) {
			if c := w.text[i]; a.classes[c] == 0 {
				a.classes[c] = width
				if c >= 'a' && c <= 'z' {
					a.classes[c-'a'+'A'] = width
				}
				width++
			}
		}
	}
	t := &trie{next: make([][1 << classBits]uint16, 1, 1<<10), hits: make([][]keyword, 1, 1<<10)}
	for _, w := range words {
		t.add(w, &a.classes)
	}
	t.link()
	a.number(t)
	return a
}

func (t *trie) add(w keyword, classes *[256]uint16) {
	state := uint16(0)
	for i := range len(w.text) {
		c := classes[w.text[i]]
		if t.next[state][c] == 0 {
			t.next[state][c] = uint16(len(t.next))
			t.next = append(t.next, [1 << classBits]uint16{})
			t.hits = append(t.hits, nil)
		}
		state = t.next[state][c]
	}
	t.hits[state] = append(t.hits[state], w)
}

// link turns the trie into the full machine: breadth first, every missing edge becomes the fallback state's.
func (t *trie) link() {
	fall := make([]uint16, len(t.next))
	queue := make([]uint16, 0, len(t.next))
	for _, to := range t.next[0] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		t.hits[state] = append(t.hits[state], t.hits[fall[state]]...)
		for c, to := range t.next[state] {
			back := t.next[fall[state]][c]
			if to == 0 {
				t.next[state][c] = back
				continue
			}
			fall[to] = back
			queue = append(queue, to)
		}
	}
}

// number lays the machine out, the states without a hit first.
func (a *Automaton) number(t *trie) {
	place := make([]uint16, len(t.next))
	n := uint16(0)
	for _, ending := range []bool{false, true} {
		if ending {
			a.first = n << classBits
		}
		for state, hits := range t.hits {
			if (hits != nil) == ending {
				place[state] = n << classBits
				n++
				if ending {
					a.hits = append(a.hits, hits)
				}
			}
		}
	}
	for state, edges := range t.next {
		for c, to := range edges {
			a.next[place[state]|uint16(c)] = place[to]
		}
	}
}

// ending are the keywords that end in a state at or after first.
func (a *Automaton) ending(state uint16) []keyword { return a.hits[(state-a.first)>>classBits] }

// Wanted reports whether anything in a JSON document is worth a closer look; escapes are taken as they stand.
func (a *Automaton) Wanted(doc []byte) bool {
	state := uint16(0)
	for i, c := range doc {
		state = a.next[state|a.classes[c]]
		if state < a.first {
			continue
		}
		for _, w := range a.ending(state) {
			if w.guard == nil || w.guard(doc, i+1-len(w.text), i+1) {
				return true
			}
		}
	}
	return false
}

// Hit reports whether any keyword stands in a name.
func (a *Automaton) Hit(name []byte) bool {
	state := uint16(0)
	for _, c := range name {
		if state = a.next[state|a.classes[c]]; state >= a.first {
			return true
		}
	}
	return false
}
