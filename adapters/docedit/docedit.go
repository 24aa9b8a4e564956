package docedit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// The formats an Editor knows. Comments and trailing commas are read in both kinds of JSON and written in neither.
const (
	JSON  = "json"
	JSONC = "jsonc"
	TOML  = "toml"
)

// MaxDepth is how deeply a document and a value may nest.
const MaxDepth = valueMaxDepth

// The errors of an Editor. ErrFormat is for a document, or a value to set, that is not of its format; the message has the line and the column.
// ErrShape is for a document, or paths, without a safe edit: a path passes through something that is not an object, a key occurs twice, or the text
// cannot be changed without changing more than was asked.
var (
	ErrFormat = ErrValueFormat
	ErrShape  = ErrValueShape
)

// Entry is a value and where it belongs: the keys from the root down, at least one. The value is any JSON value without a key twice;
// TOML has no null, and integers of 64 bits only.
type Entry struct {
	Path  []string        `json:"path"`
	Value json.RawMessage `json:"value"`
}

// Editor reads and edits documents. It has no state; the zero Editor is ready and safe for concurrent use.
//
// Every edit is checked before it is given back: the new text is read again and must mean the old document with just those keys
// changed. A byte order mark stays, and a document without any bytes is an empty one.
type Editor struct{}

// syntax is what differs between the formats. Paths were held against the document's meaning before they get here.
type syntax interface {
	Read(doc []byte) (document, error)
	Missing(doc []byte, e change) ([][]string, error)
	Put(doc []byte, e change) ([]byte, error)
	Drop(doc []byte, path []string) ([]byte, error)
	Discard(doc []byte, made []string) ([]byte, error)
}

// Values reads the values at paths, by index; absent ones are left out, and the empty path is the whole document. Values are canonical
// JSON (canon.Canonical), except that numbers with a fraction or an exponent are allowed and keep a mark of it: 1.0 is not 1. Dates and
// times of TOML, infinity and NaN come as strings. It fails with ErrFormat or ErrShape.
func (Editor) Values(format string, doc []byte, paths [][]string) (map[int]json.RawMessage, error) {
	s, err := syntaxOf(format)
	if err != nil {
		return nil, err
	}
	_, text := cutMark(doc)
	m, err := s.Read(text)
	if err != nil {
		return nil, err
	}
	values := make(map[int]json.RawMessage, len(paths))
	for i, path := range paths {
		if err := m.Unambiguous(path); err != nil {
			return nil, err
		}
		v, found, err := m.At(path)
		if err != nil {
			return nil, err
		}
		if found {
			if values[i], err = canonical(v); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// Set puts every value at its path and makes the objects or tables on the way. A key that has an equal value already is not touched at
// all; nor is anything else. In JSON a value that differs is written anew as a whole; a TOML table that has lines of its own is changed
// key by key. It fails with ErrFormat or ErrShape.
func (Editor) Set(format string, doc []byte, entries []Entry) ([]byte, error) {
	work, err := open(format, doc, entries)
	if err != nil {
		return nil, err
	}
	if format == TOML { // keys at the root go above the tables; with the tables still to come, Remove can undo the empty lines exactly
		slices.SortStableFunc(work.changes, func(a, b change) int { return cmp.Compare(rootKey(b), rootKey(a)) })
	}
	text, now, want := work.text, work.before, work.before
	for _, e := range work.changes {
		if old, found, err := now.At(e.Path); err != nil {
			return nil, err
		} else if found && SameValue(old, e.Value) {
			continue
		}
		if text, err = work.Put(text, e); err != nil {
			return nil, err
		}
		if now, err = work.Read(text); err != nil {
			return nil, unsafe(e.Path)
		}
		want = want.With(e.Path, e.Value)
	}
	if !now.Says(want) {
		return nil, unsafe(work.paths...)
	}
	return slices.Concat(work.mark, text), nil
}

// Remove removes the keys; absent ones are not errors. Of the containers in made (the result of Made before Set) those that are empty now are removed
// too, innermost first; one of JSON stays if it contains a comment. With made it restores, byte for byte, the document that Set was given, as long as
// none of the keys was there before. It fails with ErrFormat or ErrShape.
func (Editor) Remove(format string, doc []byte, paths [][]string, made [][]string) ([]byte, error) {
	work, err := openPaths(format, doc, paths)
	if err != nil {
		return nil, err
	}
	text, now, want := work.text, work.before, work.before
	for _, step := range removal(work.before, paths, made) {
		if !now.Has(step.path) {
			continue // never there, or gone with one above it
		}
		if step.container {
			text, err = work.Discard(text, step.path)
		} else {
			text, err = work.Drop(text, step.path)
			want = want.Without(step.path)
		}
		if err != nil {
			return nil, err
		}
		if now, err = work.Read(text); err != nil {
			return nil, unsafe(step.path)
		}
	}
	if !now.Pruned(paths, made).Says(want.Pruned(paths, made)) {
		return nil, unsafe(paths...)
	}
	return slices.Concat(work.mark, text), nil
}

// Made lists the containers that Set would have to make for entries, outermost first: what Remove needs to undo it exactly. The empty
// path among them is the document itself. It fails with ErrFormat or ErrShape.
func (Editor) Made(format string, doc []byte, entries []Entry) ([][]string, error) {
	work, err := open(format, doc, entries)
	if err != nil {
		return nil, err
	}
	var made [][]string
	for _, e := range work.changes {
		if work.before.Has(e.Path) {
			continue
		}
		paths, err := work.Missing(work.text, e)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if !slices.ContainsFunc(made, func(p []string) bool { return slices.Equal(p, path) }) {
				made = append(made, path)
			}
		}
	}
	slices.SortStableFunc(made, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	return made, nil
}

// job is a document that was read, and what is to be done in it.
type job struct {
	syntax
	mark, text []byte // a byte order mark, and what follows
	before     document
	changes    []change
	paths      [][]string
}

// open reads the document and the entries, and refuses paths that it or they do not allow.
func open(format string, doc []byte, entries []Entry) (job, error) {
	changes := make([]change, 0, len(entries))
	paths := make([][]string, 0, len(entries))
	for _, entry := range entries {
		e, err := newChange(entry.Path, entry.Value)
		if err != nil {
			return job{}, err
		}
		for _, other := range paths {
			if within(e.Path, other) || within(other, e.Path) {
				return job{}, ErrShape.WithMessage("the entries %s and %s overlap; set the outer one alone", keyText(other), keyText(e.Path))
			}
		}
		changes, paths = append(changes, e), append(paths, e.Path)
	}
	work, err := openPaths(format, doc, paths)
	work.changes = changes
	return work, err
}

func openPaths(format string, doc []byte, paths [][]string) (job, error) {
	work := job{paths: paths}
	var err error
	if work.syntax, err = syntaxOf(format); err != nil {
		return job{}, err
	}
	work.mark, work.text = cutMark(doc)
	if work.before, err = work.Read(work.text); err != nil {
		return job{}, err
	}
	for _, path := range paths {
		if len(path) == 0 || slices.ContainsFunc(path, func(key string) bool { return !utf8.ValidString(key) }) {
			return job{}, ErrShape.WithMessage("the path %q names no key; give the keys from the root down, in UTF-8", path)
		}
		if err := work.before.Unique(path); err != nil {
			return job{}, err
		}
		if _, _, err := work.before.At(path); err != nil {
			return job{}, err
		}
	}
	return work, nil
}

func syntaxOf(format string) (syntax, error) {
	switch format {
	case JSON, JSONC:
		return JSONSyntax{}, nil
	case TOML:
		return TOMLSyntax{}, nil
	}
	return nil, ErrFormat.WithMessage("unknown format %q; use json, jsonc or toml", format)
}

// cutMark parts a byte order mark from the text.
func cutMark(doc []byte) (mark, text []byte) {
	const bom = "\ufeff"
	if bytes.HasPrefix(doc, []byte(bom)) {
		return doc[:len(bom):len(bom)], doc[len(bom):]
	}
	return nil, doc
}

// rootKey is 1 for a plain key at the root.
func rootKey(e change) int {
	if len(e.Path) == 1 && !e.Table() {
		return 1
	}
	return 0
}

// step is one thing that Remove takes out.
type step struct {
	path      []string
	container bool // only if it is empty
	rank      int
}

// removal returns the order in which Remove works: what stands on its own first, plain keys at the root last, the reverse of how Set puts
// them. Containers go from the innermost out, and the document itself at the very end.
func removal(m document, paths, made [][]string) (steps []step) {
	const tables, keys, containers, root, document = 0, 1, 2, 3, 4
	for _, path := range paths {
		s := step{path: path, rank: keys}
		if v, _, _ := m.At(path); len(path) == 1 {
			s.rank = root
			if _, table := v.(map[string]any); table {
				s.rank = tables
			}
		}
		steps = append(steps, s)
	}
	for _, path := range made {
		s := step{path: path, container: true, rank: containers}
		if len(path) == 0 {
			s.rank = document
		}
		if m.Unique(path) == nil {
			steps = append(steps, s)
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		if a.rank == b.rank && a.container {
			return cmp.Compare(len(b.path), len(a.path))
		}
		return cmp.Compare(a.rank, b.rank)
	})
	return steps
}
