package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	minKnown  = 8       // minimum length of a known value in bytes; redacting shorter ones would hit ordinary words
	bloomBits = 1 << 15 // bits of the filter
)

// knownValues finds exact values (row 21). A window of eight bytes slides over the text; a filter rules out nearly every position. It is immutable.
type knownValues struct {
	values []string            // as given
	heads  map[uint64][]string // by first eight bytes, longest first
	bloom  [bloomBits / 64]uint64
}

// with returns k, which may be nil, extended by values; nil if there are none.
func (k *knownValues) with(values []string) *knownValues {
	next := &knownValues{heads: map[uint64][]string{}}
	if k != nil {
		next.values = slices.Clone(k.values)
	}
	for _, v := range values {
		if len(v) >= minKnown && !slices.Contains(next.values, v) {
			next.values = append(next.values, v)
		}
	}
	if len(next.values) == 0 {
		return nil
	}
	for _, v := range next.values {
		for _, form := range knownForms(v) {
			next.index(form)
		}
	}
	return next
}

func (k *knownValues) index(form string) {
	head := window(form)
	if len(form) < minKnown || slices.Contains(k.heads[head], form) {
		return
	}
	bit := bloomBit(head)
	k.bloom[bit/64] |= 1 << (bit % 64)
	k.heads[head] = append(k.heads[head], form)
	slices.SortFunc(k.heads[head], func(a, b string) int { return len(b) - len(a) })
}

// window returns the first eight bytes of s as a number.
func window(s string) uint64 {
	var w uint64
	for i := range min(len(s), minKnown) {
		w = w<<8 | uint64(s[i])
	}
	return w
}

func bloomBit(w uint64) uint64 { return w * 0x9E3779B97F4A7C15 >> (64 - 15) }

// knownForms returns the forms of v in a text: plain, percent-encoded, in a JSON string, in base64 at any alignment.
func knownForms(v string) []string {
	query, path := url.QueryEscape(v), url.PathEscape(v)
	plain, _ := json.Marshal(v)
	html := string(plain[1 : len(plain)-1])
	bare := quoteJSON(v)
	bare = bare[1 : len(bare)-1]
	forms := []string{v, query, path, lowerEscapes(query), lowerEscapes(path), html, bare, strings.ReplaceAll(bare, "/", `\/`), quoteOnce(bare), quoteOnce(html)}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(v)))
		for offset := range 3 { // the same bytes after 0, 1 or 2 others: user:password in a Basic header
			code := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, offset), v...))
			if (offset+len(v))%3 != 0 {
				code = code[:len(code)-1]
			}
			if offset > 0 {
				code = code[offset+1:]
			}
			forms = append(forms, code)
		}
	}
	return forms
}

// quoteOnce escapes s, which is already inside a JSON string, once more: JSON within JSON.
func quoteOnce(s string) string {
	q := quoteJSON(s)
	return q[1 : len(q)-1]
}

// lowerEscapes returns s with its percent escapes in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 2; i < len(b); i++ {
		if b[i-2] == '%' {
			copy(b[i-1:], strings.ToLower(s[i-1:i+1]))
		}
	}
	return string(b)
}

// spans appends the known values in s.
func (k *knownValues) spans(s string, found []span) []span {
	var w uint64
	for i := 0; i < len(s); i++ {
		w = w<<8 | uint64(s[i])
		bit := bloomBit(w)
		if k.bloom[bit/64]>>(bit%64)&1 == 0 || i < minKnown-1 {
			continue
		}
		from := i + 1 - minKnown
		for _, form := range k.heads[w] {
			if strings.HasPrefix(s[from:], form) && !insidePlaceholder(s, from) {
				found = append(found, span{From: from, To: from + len(form), Rule: knownValue})
				break
			}
		}
	}
	return found
}

// in reports whether doc may contain a known value.
func (k *knownValues) in(doc []byte) bool {
	var w uint64
	for i, c := range doc {
		w = w<<8 | uint64(c)
		if bit := bloomBit(w); k.bloom[bit/64]>>(bit%64)&1 != 0 && i >= minKnown-1 && k.heads[w] != nil {
			return true
		}
	}
	return false
}
