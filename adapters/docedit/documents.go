package docedit

import (
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Documents is an Editor in the words of deployments: deployport.Documents. A key that is an item is one value of the list at its path.
type Documents struct{ editor Editor }

// Root implements deployport.Documents.
func (d Documents) Root(f deployment.Format, doc []byte) (json.RawMessage, error) {
	if f == deployment.FormatIgnore {
		return nil, ErrFormat.WithMessage("a list of lines is not an object")
	}
	syntax, err := syntaxOf(string(f))
	if err != nil {
		return nil, err
	}
	_, text := cutMark(doc)
	read, err := syntax.Read(text)
	if err != nil {
		return nil, err
	}
	if len(read.Twice) > 0 {
		return nil, ErrShape.WithMessage("the document has %s twice", keyText(read.Twice[0]))
	}
	return canonical(read.Root)
}

// Values implements deployport.Documents.
func (d Documents) Values(f deployment.Format, doc []byte, keys []deployment.Key) (map[int]json.RawMessage, error) {
	if f == deployment.FormatIgnore {
		return ignoreValues(doc, keys)
	}
	plain, items := parted(keys)
	found, err := d.editor.Values(string(f), doc, paths(keys, plain))
	if err != nil {
		return nil, err
	}
	values := make(map[int]json.RawMessage, len(keys))
	for i, at := range plain {
		if value, ok := found[i]; ok {
			values[at] = value
		}
	}
	for _, at := range items {
		has, err := d.editor.HasItem(string(f), doc, keys[at].Path, keys[at].Value)
		if err != nil {
			return nil, err
		}
		if has {
			values[at] = keys[at].Value
		}
	}
	return values, nil
}

// Made implements deployport.Documents. A list that has to be made for items is among what it gives.
func (d Documents) Made(f deployment.Format, doc []byte, keys []deployment.Key) ([][]string, error) {
	if f == deployment.FormatIgnore {
		return nil, nil // a section without lines is none
	}
	plain, items := parted(keys)
	entries := entries(keys, plain)
	var lists [][]string
	for _, l := range listsOf(keys, items) {
		_, there, err := d.editor.list(string(f), doc, l.path)
		if err != nil {
			return nil, err
		}
		if !there {
			lists = append(lists, l.path)
			entries = append(entries, Entry{Path: l.path, Value: json.RawMessage("[]")})
		}
	}
	made, err := d.editor.Made(string(f), doc, entries)
	return append(made, lists...), err
}

// Set implements deployport.Documents.
func (d Documents) Set(f deployment.Format, doc []byte, keys []deployment.Key) ([]byte, error) {
	if f == deployment.FormatIgnore {
		return setIgnore(doc, keys)
	}
	plain, items := parted(keys)
	doc, err := d.editor.Set(string(f), doc, entries(keys, plain))
	for _, l := range listsOf(keys, items) {
		if err == nil {
			doc, err = d.editor.AddItems(string(f), doc, l.path, l.values)
		}
	}
	return doc, err
}

// Remove implements deployport.Documents. A list that is empty then goes if it was made.
func (d Documents) Remove(f deployment.Format, doc []byte, keys []deployment.Key, made [][]string) ([]byte, error) {
	if f == deployment.FormatIgnore {
		return removeIgnore(doc, keys)
	}
	plain, items := parted(keys)
	gone := paths(keys, plain)
	lists := listsOf(keys, items)
	for _, l := range lists {
		var err error
		if doc, err = d.editor.RemoveItems(string(f), doc, l.path, l.values); err != nil {
			return nil, err
		}
	}
	containers := make([][]string, 0, len(made))
	for _, m := range made {
		if len(m) == 0 {
			containers = append(containers, m)
			continue
		}
		left, there, err := d.editor.list(string(f), doc, m)
		switch {
		case err != nil || !there: // a container, or nothing
			containers = append(containers, m)
		case len(left) == 0:
			gone = append(gone, m)
		}
	}
	return d.editor.Remove(string(f), doc, gone, containers)
}

// parted are the places of keys that are keys, and of those that are items.
func parted(keys []deployment.Key) (plain, items []int) {
	for i, k := range keys {
		if k.Item {
			items = append(items, i)
		} else {
			plain = append(plain, i)
		}
	}
	return plain, items
}

// listed is a list, and the items of it.
type listed struct {
	path   []string
	values []json.RawMessage
}

func listsOf(keys []deployment.Key, items []int) (out []listed) {
	for _, at := range items {
		i := slices.IndexFunc(out, func(l listed) bool { return slices.Equal(l.path, keys[at].Path) })
		if i < 0 {
			i, out = len(out), append(out, listed{path: keys[at].Path})
		}
		out[i].values = append(out[i].values, keys[at].Value)
	}
	return out
}

func paths(keys []deployment.Key, of []int) [][]string {
	out := make([][]string, len(of))
	for i, at := range of {
		out[i] = keys[at].Path
	}
	return out
}

func entries(keys []deployment.Key, of []int) []Entry {
	out := make([]Entry, len(of))
	for i, at := range of {
		out[i] = Entry{Path: keys[at].Path, Value: keys[at].Value}
	}
	return out
}
