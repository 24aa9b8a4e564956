package mcpclients

import (
	"bytes"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// EntryKeys returns what must be set and removed at a path to get the wanted entry: the whole entry if there is none (before is nil), and single keys
// of a managed one, so that the user's additions stay.
func EntryKeys(top []string, before, want target.Object, d target.Dialect) (set, drop []deployment.Key, err error) {
	if before == nil {
		value, err := target.EncodeValue(want)
		return []deployment.Key{{Path: top, Value: value}}, nil, err
	}
	at := func(names ...string) []string { return slices.Concat(top, names) }
	for _, name := range slices.Sorted(maps.Keys(want)) {
		path, now, value := at(name), before[name], want[name]
		if env, ok := now.(map[string]any); ok && name == d.Env { // of the environment only what is managed
			path, now, value = at(name, HomeVariable), env[HomeVariable], member(value, HomeVariable)
		}
		text, err := target.EncodeValue(value)
		if err != nil {
			return nil, nil, err
		}
		if have, err := target.EncodeValue(now); now == nil || err != nil || !bytes.Equal(have, text) {
			set = append(set, deployment.Key{Path: path, Value: text})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, wanted := want[name]; !wanted && reaches(name, before[name], want, d) {
			drop = append(drop, deployment.Key{Path: at(name)})
		}
	}
	if _, wanted := want[d.Env]; !wanted && member(before[d.Env], HomeVariable) != nil {
		drop = append(drop, deployment.Key{Path: at(d.Env, HomeVariable)})
	}
	return set, drop, nil
}

// reaches reports whether a key determines how the server is reached, and would contradict the wanted entry.
func reaches(name string, value any, want target.Object, d target.Dialect) bool {
	switch name {
	case "type": // of a dialect that omits it
		if len(EntryCommand(want)) > 0 {
			return value != "stdio"
		}
		return value != "http" && value != "streamable-http"
	case "command", "args", d.URL, d.Events, d.Headers:
		return true
	}
	return false
}

// member returns a member of a value that may be an object.
func member(object any, name string) any {
	o, _ := object.(map[string]any)
	return o[name]
}
