package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// KeyChange is the change that gives a key of a document another value: members of a module's JSON file to set and to remove. Or it is the reason why
// there is no such change, with the same as text for people.
type KeyChange struct {
	Path    string // within the module, with slashes
	Set     []deployment.Key
	Remove  []deployment.Key
	Reason  Reason
	Message string
}

// InvertKey traces a managed key with another value back to the module that it comes from. It fails as Render does for the configuration, and as Read
// does.
func InvertKey(in Input, file deployment.Desired, key deployment.Key, value json.RawMessage) (KeyChange, error) {
	_, lines, err := linesOf(in, file.Target)
	if err != nil {
		return KeyChange{}, err
	}
	r := &renderer{Paths: Paths{Sep: in.Sep}, in: in, read: map[spot][]byte{}, objects: map[spot]Object{}}
	at := slices.IndexFunc(in.Modules, func(m Module) bool { return m.ID == key.Module })
	if at < 0 || len(key.Path) == 0 {
		return KeyChange{Reason: ReasonUnrelated, Message: "the module that sets it does not exist"}, nil
	}
	m := in.Modules[at]
	if key.Item || m.Type == deployment.ModuleHooks || m.Type == deployment.ModulePermissions || m.Type == deployment.ModulePlugins {
		return KeyChange{Reason: ReasonManagedKeys, Message: "change them in the module that sets them"}, nil
	}
	for _, l := range lines {
		if l.Shape != ShapeKeys || l.Of != m.Type || r.Join(l.Dir, l.Path) != file.Path {
			continue
		}
		for _, f := range m.Tree {
			name, ok := serverName(f.Path)
			switch {
			case !ok:
			case l.Of == deployment.ModuleSettings && f.Path == l.Agent+".json":
				return KeyChange{Path: f.Path, Set: []deployment.Key{{Path: key.Path, Value: value}}}, nil
			case l.Of == deployment.ModuleMCP && slices.Equal(key.Path, append(slices.Clone(l.At), name)):
				was, err := r.object(m, f)
				if err != nil {
					return KeyChange{}, unusable(l.Agent, m, f.Path, err)
				}
				change := l.Dialect.invert(was, value)
				change.Path = f.Path
				return change, nil
			}
		}
	}
	return KeyChange{Reason: ReasonUnrelated, Message: "module " + m.ID + " does not produce it now"}, nil
}

// invert returns how the neutral description of a server must change so that Server returns that value.
func (d Dialect) invert(was Object, value json.RawMessage) KeyChange {
	no := KeyChange{Reason: ReasonUnsupported, Message: "the change cannot be written in the module's server description"}
	is, err := ParseObject(value)
	if err != nil || d.References == ReferencesByName && len(References(was)) > 0 {
		return no
	}
	back := d.plain(d.older(is))
	now := d.neutral(was, back)
	if by := d.unlaunched(now); d.Launched(by) {
		now = by
	}
	again, err := d.Server(now)
	if err != nil || !sameValue(again, is) {
		return no
	}
	var change KeyChange
	for name, v := range now {
		if old, there := was[name]; !there || !sameValue(old, v) {
			text, err := EncodeValue(v)
			if err != nil {
				return no
			}
			change.Set = append(change.Set, deployment.Key{Path: []string{name}, Value: text})
		}
	}
	for name := range was {
		if _, there := now[name]; !there {
			change.Remove = append(change.Remove, deployment.Key{Path: []string{name}})
		}
	}
	byPath := func(a, b deployment.Key) int { return slices.Compare(a.Path, b.Path) }
	slices.SortFunc(change.Set, byPath)
	slices.SortFunc(change.Remove, byPath)
	return change
}

// neutral translates a server from the dialect to the neutral description. What Server omits or cannot tell apart stays unchanged.
func (d Dialect) neutral(was, is Object) Object {
	out := Object{}
	for key, v := range is {
		switch key {
		case "type", "command", d.Env, d.Headers, d.URL, d.Events:
		case "args":
			if d.List {
				out[key] = v
			}
		default:
			out[key] = v
		}
	}
	before, err := transport(was)
	kind := remote
	_, local := is["command"]
	url, streams := is[cmp.Or(d.Events, d.URL)]
	alike := d.Events == "" && d.SSE == d.HTTP // the value does not tell which of the two it is
	switch {
	case local:
		kind = stdio
		d.local(was, is, out)
	case streams && (d.Events != "" || !alike && is["type"] == d.SSE || alike && before == events && !d.NoEvents):
		kind = events
		out["url"] = url
	default:
		if url, ok := is[d.URL]; ok {
			out["url"] = url
		}
	}
	for from, to := range map[string]string{d.Env: "env", d.Headers: "headers"} {
		if v, ok := is[from]; ok && from != "" {
			out[to] = v
		}
	}
	if err != nil || before != kind {
		out["type"] = kind
	} else if t, said := was["type"]; said {
		out["type"] = t
	}
	return out
}

// local separates a local server's command and arguments.
func (d Dialect) local(was, is, out Object) {
	args, given := is["args"]
	out["command"] = is["command"]
	if list, ok := is["command"].([]any); d.List && ok && len(list) > 0 {
		out["command"] = list[0]
		_, said := was["args"]
		args, given = list[1:], len(list) > 1 || said
	}
	if given {
		out["args"] = args
	}
}

// sameValue reports whether two values have the same JSON.
func sameValue(a, b any) bool {
	x, errX := EncodeValue(a)
	y, errY := EncodeValue(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
