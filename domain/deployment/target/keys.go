package target

import (
	"bytes"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/sorting"
)

// keys puts the keys that modules want in the line's document, and reports whether there were any.
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

// moduleKeys are the keys of one module: a server for each of its files, or what its file for the target says.
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
			return nil, unusable(l.Agent, m, f.Path, ErrEntry.Sayf("it has a null, which TOML cannot hold; leave the key out"))
		}
		more, err := l.entries(m, name, object)
		if errors.Is(err, ErrDialect) {
			r.warn("target " + l.Agent + " cannot use the server " + name + " of module " + m.ID + ": " + err.Error())
			continue
		}
		if err != nil {
			return nil, unusable(l.Agent, m, f.Path, err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// entries are the keys of one file.
func (l line) entries(m Module, name string, object Object) (out []deployment.Key, err error) {
	if l.Of == deployment.ModuleMCP {
		server, err := l.Dialect.Server(object)
		if err != nil {
			return nil, err
		}
		value, err := EncodeValue(server)
		return []deployment.Key{{Path: []string{l.At, name}, Value: value, Module: m.ID}}, err
	}
	for key, v := range object {
		value, err := EncodeValue(v)
		if err != nil {
			return nil, err
		}
		out = append(out, deployment.Key{Path: []string{key}, Value: value, Module: m.ID})
	}
	sorting.By(out, func(a, b deployment.Key) int { return slices.Compare(a.Path, b.Path) })
	return out, nil
}

// object is a module's file as JSON, decoded once.
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

// put adds a file to the output, or what it says to the one that is there already: equal content of several modules is theirs together,
// keys of one document stand side by side, and everything else is a conflict (agentpack contract §2.9).
func (r *renderer) put(l *line, rel string, d deployment.Desired) error {
	if err := r.Confined(rel); err != nil {
		return err
	}
	d.Path = r.Join(l.Dir, rel)
	return r.add(l, &d)
}

// add is put for a file whose path is known to stay below the line's directory.
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

// merge adds the keys of d to those of the same document. A key that is there with another value, or within or around another one, is
// a conflict.
func merge(have *deployment.Desired, d deployment.Desired) error {
	for _, k := range d.Part.Keys {
		known := false
		for _, old := range have.Part.Keys {
			n := min(len(old.Path), len(k.Path))
			if !slices.Equal(old.Path[:n], k.Path[:n]) {
				continue
			}
			if known = len(old.Path) == len(k.Path) && bytes.Equal(old.Value, k.Value); !known {
				return keyConflict(*have, d, old, k)
			}
			break
		}
		if !known {
			at, _ := slices.BinarySearchFunc(have.Part.Keys, k, func(a, b deployment.Key) int { return slices.Compare(a.Path, b.Path) })
			have.Part.Keys = slices.Insert(have.Part.Keys, at, k)
		}
	}
	return nil
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
