package runner

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// EitherCasing makes a tool accept its arguments in the other casing as well: projectPath for project_path, script_name for scriptName. Its published
// schema is unchanged (packageflow contract §2.2).
func EitherCasing(e tool.Entry) tool.Entry {
	e.Handler = casing{next: e.Handler, known: bind.Types(e.Spec.Input)}
	return e
}

type casing struct {
	next  tool.Handler
	known func() map[string]string // property → type
}

// Decode renames arguments in the other casing. If both are present with different values, that is project.ErrArgument.
func (c casing) Decode(args json.RawMessage) (tool.Invocation, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || fields == nil {
		return c.next.Decode(args)
	}
	renamed := false
	for _, name := range slices.Sorted(maps.Keys(c.known())) {
		alias := otherCasing(name)
		if _, given := fields[alias]; !given || alias == name {
			continue
		}
		if confirms(name) { // the core removes these before, in their only spelling
			return nil, project.ErrArgument.WithMessage("%s is spelled %s", alias, name)
		}
		if err := MergeAliases(fields, name, alias); err != nil {
			return nil, err
		}
		renamed = true
	}
	if !renamed {
		return c.next.Decode(args)
	}
	args, err := tool.Encode(fields)
	if err != nil {
		return nil, err
	}
	return c.next.Decode(args)
}

func confirms(name string) bool { return name == "confirm_token" || name == "typed_value" }

// MergeAliases keeps the value of an argument under name only, whichever of its names was used. Names with different values are project.ErrArgument.
func MergeAliases(fields map[string]json.RawMessage, name string, aliases ...string) error {
	for _, alias := range aliases {
		value, given := fields[alias]
		if !given {
			continue
		}
		if have, both := fields[name]; both && !bytes.Equal(compact(have), compact(value)) {
			return project.ErrArgument.WithMessage("%s and %s are the same argument, and were given with different values; send %s alone", alias, name, name)
		}
		delete(fields, alias)
		fields[name] = value
	}
	return nil
}

func compact(value json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return value
	}
	return out.Bytes()
}

// otherCasing returns snake_case for camelCase, and the reverse.
func otherCasing(name string) string {
	var out strings.Builder
	upper := false
	for _, r := range name {
		switch {
		case r == '_':
			upper = true
			continue
		case upper && r >= 'a' && r <= 'z':
			r -= 'a' - 'A'
		case r >= 'A' && r <= 'Z':
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		upper = false
		out.WriteRune(r)
	}
	return out.String()
}
