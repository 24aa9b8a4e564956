package canon

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// rewriter copies one valid JSON document into canonical form in a single pass. Decoding into a tree and encoding it again takes three times as long,
// and every call computes a hash.
type rewriter struct {
	src     []byte
	at      int
	depth   int
	out     []byte
	members []member // a stack: the members of the open objects, grouped by object
	scratch []byte
}

// MaxDepth is the maximum nesting of arrays and objects. Sorting keys may move the inner levels once more for each level, so the limit keeps the work
// proportional to the document.
const MaxDepth = 500

// member is one member of an object: its decoded key and the position of its canonical text in out.
type member struct {
	key      []byte
	from, to int
}

func rewrite(valid []byte) ([]byte, error) {
	w := rewriter{src: valid, out: make([]byte, 0, len(valid))}
	if err := w.value(); err != nil {
		return nil, err
	}
	return w.out, nil
}

// next skips white space and returns the byte that follows.
func (w *rewriter) next() byte {
	for {
		switch c := w.src[w.at]; c {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return c
		}
	}
}

func (w *rewriter) value() error {
	switch c := w.next(); c {
	case '{':
		return w.nested(w.object)
	case '[':
		return w.nested(w.array)
	case '"':
		_, err := w.text()
		return err
	case 't', 'n':
		w.copy(len("true"))
	case 'f':
		w.copy(len("false"))
	default:
		return w.number()
	}
	return nil
}

func (w *rewriter) nested(copyOne func() error) error {
	if w.depth++; w.depth > MaxDepth {
		return ErrForm.WithMessage("the value nests deeper than %d levels", MaxDepth)
	}
	err := copyOne()
	w.depth--
	return err
}

func (w *rewriter) copy(n int) {
	w.out = append(w.out, w.src[w.at:w.at+n]...)
	w.at += n
}

func (w *rewriter) number() error {
	end := w.at
	for end < len(w.src) && bytes.IndexByte([]byte("+-.0123456789eE"), w.src[end]) >= 0 {
		end++
	}
	number := w.src[w.at:end]
	w.at = end
	switch {
	case bytes.ContainsAny(number, ".eE"):
		return ErrForm.WithMessage("the number %s is not an integer", number)
	case string(number) == "-0":
		number = number[1:]
	}
	w.out = append(w.out, number...)
	return nil
}

// text copies a string and returns it decoded. Most strings are already in canonical form.
func (w *rewriter) text() ([]byte, error) {
	end, simple := w.at+1, true
	for ; w.src[end] != '"'; end++ {
		if c := w.src[end]; c == '\\' {
			simple = false
			end++
		} else if c >= utf8.RuneSelf {
			simple = false
		}
	}
	quoted := w.src[w.at : end+1]
	w.at = end + 1
	if simple {
		w.out = append(w.out, quoted...)
		return quoted[1 : len(quoted)-1], nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return nil, ErrForm.WithCause(err)
	}
	again, err := plain(s)
	if err != nil {
		return nil, ErrForm.WithCause(err)
	}
	w.out = append(w.out, again...)
	return []byte(s), nil
}

func (w *rewriter) array() error {
	w.copy(1)
	for n := 0; w.next() != ']'; n++ {
		if n > 0 {
			w.copy(1) // the comma
		}
		if err := w.value(); err != nil {
			return err
		}
	}
	w.copy(1)
	return nil
}

func (w *rewriter) object() error {
	w.copy(1)
	base, start := len(w.members), len(w.out)
	for w.next() != '}' {
		if len(w.members) > base {
			w.copy(1) // the comma
			w.next()
		}
		m := member{from: len(w.out)}
		var err error
		if m.key, err = w.text(); err != nil {
			return err
		}
		w.next()
		w.copy(1) // the colon
		if err := w.value(); err != nil {
			return err
		}
		m.to = len(w.out)
		w.members = append(w.members, m)
	}
	if err := w.sort(w.members[base:], start); err != nil {
		return err
	}
	w.members = w.members[:base]
	w.copy(1)
	return nil
}

// sort orders the members by key; they are in out from start on, separated by commas.
func (w *rewriter) sort(members []member, start int) error {
	byKey := func(a, b member) int { return bytes.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(members, byKey) {
		slices.SortFunc(members, byKey)
		w.scratch = append(w.scratch[:0], w.out[start:]...)
		w.out = w.out[:start]
		for i, m := range members {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.out = append(w.out, w.scratch[m.from-start:m.to-start]...)
		}
	}
	for i := 1; i < len(members); i++ {
		if bytes.Equal(members[i].key, members[i-1].key) {
			return ErrForm.WithMessage("duplicate key %q", members[i].key)
		}
	}
	return nil
}
