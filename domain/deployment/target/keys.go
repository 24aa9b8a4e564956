package target

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// keys adds the keys that modules want to the line's document, and reports whether there were any.
func (r *renderer) keys(l *line, of []Module) (bool, error) {
	found := false
	for _, m := range of {
		wanted, err := r.moduleKeys(l, m)
		if err != nil {
			return false, err
		}
		for _, k := range wanted {
			d := deployment.Desired{Mode: deployment.PlainMode, Modules: []string{m.ID}, Part: &deployment.Part{Format: l.Format, Keys: []deployment.Key{k}}}
			if err := r.put(l, l.Path, d); err != nil {
				return false, err
			}
			found = true
		}
	}
	return found, nil
}

// moduleKeys returns the keys of one module: a server for each of its files, or the keys in its file for the target.
func (r *renderer) moduleKeys(l *line, m Module) (out []deployment.Key, err error) {
	for _, f := range m.Tree {
		name, ok := serverName(f.Path)
		if !ok || l.Of == deployment.ModuleSettings && f.Path != l.Agent+".json" {
			continue
		}
		object, err := r.object(m, f)
		if errors.Is(err, ErrEntry) {
			return nil, unusable(l.Agent, m, f.Path, err)
		}
		if err != nil {
			return nil, err
		}
		if l.Format == deployment.FormatTOML && HasNull(object) {
			return nil, unusable(l.Agent, m, f.Path, ErrEntry.WithMessage("it has a null value, which TOML does not support; remove the key"))
		}
		more, err := l.entries(m, name, object)
		if err == nil && l.Of == deployment.ModuleMCP && l.Dialect.Launched(object) {
			shown := ""
			if refs := References(object["args"]); len(refs) > 0 {
				shown = "; " + strings.Join(refs, ", ") + " is then in its arguments, which other programs on this machine can read in the process list"
			}
			r.warn("target " + l.Agent + " does not resolve references for the server " + name + " of module " + m.ID + ": countersign with-secrets starts it there, and takes " +
				strings.Join(References(object), ", ") + " from its environment or the keychain; the agent has to find countersign on its PATH" + shown)
		}
		if err == nil && l.Style == "opencode" {
			err = r.apart(r.Join(l.Dir, l.Path), more)
		}
		if errors.Is(err, ErrDialect) {
			what := "the server"
			if l.Of != deployment.ModuleMCP {
				what = "of the " + plural(l.Of) + " what is in"
			}
			r.warn("target " + l.Agent + " cannot use " + what + " " + name + " of module " + m.ID + ": " + err.Error())
			continue
		}
		if err != nil {
			return nil, unusable(l.Agent, m, f.Path, err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// entries returns the keys of one file.
func (l line) entries(m Module, name string, object Object) (out []deployment.Key, err error) {
	if l.Of == deployment.ModuleMCP {
		server, err := l.Dialect.Server(object)
		if err != nil {
			return nil, err
		}
		value, err := EncodeValue(server)
		return []deployment.Key{{Path: append(slices.Clone(l.At), name), Value: value, Module: m.ID}}, err
	}
	switch l.Of {
	case deployment.ModuleHooks:
		return l.hook(m, object)
	case deployment.ModulePermissions:
		return l.permission(m, object)
	case deployment.ModulePlugins:
		return l.plugins(m, object)
	}
	err = l.settings(m, nil, object, &out)
	slices.SortFunc(out, byKey)
	return out, err
}

func byKey(a, b deployment.Key) int {
	return cmp.Or(slices.Compare(a.Path, b.Path), bytes.Compare(a.Value, b.Value))
}

// settings returns the keys of an object, each as a whole, except that objects around a list of the table are split, and each value of such a list is
// a key of its own, so that the user's values stay beside it.
func (l line) settings(m Module, above []string, object Object, out *[]deployment.Key) error {
	for key, v := range object {
		path := append(slices.Clone(above), key)
		within, is := l.around(path)
		if inner, ok := v.(map[string]any); ok && within {
			if err := l.settings(m, path, inner, out); err != nil {
				return err
			}
			continue
		}
		values := []any{v}
		list, ok := v.([]any)
		if is = is && ok; is {
			values = list
		}
		for _, v := range values {
			value, err := EncodeValue(v)
			if err != nil {
				return err
			}
			if k := (deployment.Key{Path: path, Value: value, Item: is, Module: m.ID}); !slices.ContainsFunc(*out, k.Same) {
				*out = append(*out, k)
			}
		}
	}
	return nil
}

// around reports whether the path has lists of the table below it, and whether it is one of the lists.
func (l line) around(path []string) (within, is bool) {
	for _, list := range l.Lists {
		n := min(len(path), len(list))
		if len(path) <= len(list) && slices.EqualFunc(path[:n], list[:n], func(have, want string) bool { return want == "*" || have == want }) {
			within, is = within || len(path) < len(list), is || len(path) == len(list)
		}
	}
	return within, is
}

// object returns a module's file as JSON, decoded once.
func (r *renderer) object(m Module, f deployment.File) (Object, error) {
	at := spot{m.ID, f.Path, m.user}
	if o, ok := r.objects[at]; ok {
		return o, nil
	}
	data, err := r.bytes(m, f)
	if err != nil {
		return nil, err
	}
	o, err := ParseObject(data)
	if err == nil {
		r.objects[at] = o
	}
	return o, err
}

// put adds a file to the output, or merges it with the one that is there already: equal content of several modules is shared, different keys of one
// document are combined, and everything else is a conflict (agentpack contract §2.9).
func (r *renderer) put(l *line, rel string, d deployment.Desired) error {
	if err := r.Confined(rel); err != nil {
		return err
	}
	d.Path = r.Join(l.Dir, rel)
	return r.add(l, &d)
}

// add is put for a file whose path is known to be below the line's directory.
func (r *renderer) add(l *line, d *deployment.Desired) error {
	d.Target = l.Agent
	i, taken := r.at[d.Path]
	if !taken || r.out.Files[i].Target != d.Target {
		if taken {
			r.shared = append(r.shared, [2]int{i, len(r.out.Files)})
		}
		r.at[d.Path] = len(r.out.Files)
		r.out.Files = append(r.out.Files, *d)
		return nil
	}
	have := &r.out.Files[i]
	if have.Part != nil && d.Part != nil && have.Part.Format == d.Part.Format && d.Part.Format != deployment.FormatMarkdown {
		if err := merge(have, *d); err != nil {
			return err
		}
	} else if !sameContent(*have, *d) {
		return conflict(*have, *d)
	}
	have.Mode, have.Modules = max(have.Mode, d.Mode), union(have.Modules, d.Modules)
	return nil
}

// merge adds the keys of d to those of the same document. A key with another value, or within or around another one, is a conflict.
func merge(have *deployment.Desired, d deployment.Desired) error {
	for _, k := range d.Part.Keys {
		known := false
		for _, old := range have.Part.Keys {
			n := min(len(old.Path), len(k.Path))
			if !slices.Equal(old.Path[:n], k.Path[:n]) || old.Item && k.Item && !old.Same(k) {
				continue
			}
			if known = old.Item == k.Item && len(old.Path) == len(k.Path) && bytes.Equal(old.Value, k.Value); !known {
				return keyConflict(*have, d, old, k)
			}
			break
		}
		if !known {
			at, _ := slices.BinarySearchFunc(have.Part.Keys, k, byKey)
			have.Part.Keys = slices.Insert(have.Part.Keys, at, k)
		}
	}
	return nil
}

// agree fails if two targets want different values in one document. Other keys of each are combined by the merge.
func agree(a, b deployment.Desired) (parts bool, err error) {
	if a.Part == nil || b.Part == nil || a.Part.Format != b.Part.Format || a.Part.Format == deployment.FormatMarkdown {
		return false, nil
	}
	both := a
	both.Part = &deployment.Part{Format: a.Part.Format, Keys: slices.Clone(a.Part.Keys)}
	return true, merge(&both, b)
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
