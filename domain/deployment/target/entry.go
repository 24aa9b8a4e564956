package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrEntry is returned for a file that is not a JSON object, or an object without anything that an agent could use; its message says what is wrong.
var ErrEntry = fault.New(fault.Invalid, "deployment_entry_invalid", "the file is not a JSON object that an agent can use")

// ErrDialect is returned for a valid server that this agent cannot use.
var ErrDialect = fault.New(fault.State, "deployment_entry_unsupported", "the agent does not support this server")

// Object is a JSON object. Numbers in it are json.Number, so that none changes its digits.
type Object map[string]any

// ParseObject reads one JSON object and nothing after it. It fails with ErrEntry.
func ParseObject(data []byte) (Object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var object Object
	if err := d.Decode(&object); err != nil {
		return nil, ErrEntry.WithMessage("the file is not a JSON object: %v", err).WithCause(err)
	}
	if object == nil {
		return nil, ErrEntry.WithMessage("the file is null, not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrEntry.WithMessage("the file has text after its JSON object")
	}
	return object, nil
}

// EncodeValue returns a value's JSON: keys sorted by their bytes, no insignificant space, no HTML escapes. Equal values have equal bytes.
func EncodeValue(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, ErrEntry.WithMessage("the value cannot be written as JSON: %v", err).WithCause(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// HasNull reports whether there is a null anywhere in the value: TOML has none.
func HasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, HasNull)
	case Object:
		return HasNull(map[string]any(v))
	case map[string]any:
		for _, one := range v {
			if HasNull(one) {
				return true
			}
		}
	}
	return false
}

// Dialect is the form in which one agent writes an MCP server. An empty name of a type omits the type.
type Dialect struct {
	Stdio, HTTP, SSE string // the value of "type" for a local server, a remote one, and one with the older event stream (SSE)
	URL              string // the key of a remote server's address
	Events           string // the same for the older event stream; empty: URL
	Headers, Env     string // the keys of the headers and of the environment
	List             bool   // command and arguments are one list
	SaysStdio        bool   // a local server's type may be written although Stdio is empty: it is stdio, if the module says so
	Disabled         bool   // a disabled server has disabled: true, not enabled: false
	Limits           bool   // the time limit is an object: catalog and execution
	NoEvents         bool   // servers with the older event stream cannot be used
	References       references
}

// Server translates the neutral description of a server (command, args and env, or url and headers; type when needed) to the dialect; other keys are
// kept unchanged, and references to the environment become the dialect's. It fails with ErrEntry, or with ErrDialect.
func (d Dialect) Server(o Object) (Object, error) {
	kind, err := transport(o)
	if err != nil {
		return nil, err
	}
	plain := o
	if o, err = d.translated(plain); isDialect(err) && kind == stdio {
		if by, ok := d.launched(plain); ok {
			o, err = by, nil
		}
	}
	if err != nil {
		return nil, err
	}
	out := Object{}
	for key, value := range o {
		switch key {
		case "type", "command", "args", "url", "headers", "env":
		default:
			out[key] = value
		}
	}
	move := func(from, to string) {
		if value, ok := o[from]; ok {
			out[to] = value
		}
	}
	move("env", d.Env)
	move("headers", d.Headers)
	name := d.Stdio
	switch {
	case kind == stdio:
		d.command(o, out)
		if d.SaysStdio && o["type"] == stdio {
			name = stdio
		}
	case kind == events && d.NoEvents:
		return nil, ErrDialect.WithMessage("it uses type sse, which the agent does not support; use streamable HTTP")
	case kind == events:
		name = d.SSE
		move("url", cmp.Or(d.Events, d.URL))
	default:
		name = d.HTTP
		move("url", d.URL)
	}
	if name != "" {
		out["type"] = name
	}
	return d.newer(out), nil
}

// newer returns a server with its switch and time limit in the dialect.
func (d Dialect) newer(o Object) Object {
	out := maps.Clone(o)
	if on, is := o["enabled"].(bool); is && d.Disabled {
		delete(out, "enabled")
		out["disabled"] = !on
	}
	switch limit := o["timeout"].(type) {
	case json.Number, int64, int, float64:
		if d.Limits {
			out["timeout"] = map[string]any{"catalog": limit, "execution": limit}
		}
	}
	return out
}

// older returns the inverse; a limit that is not the same for both stays unchanged.
func (d Dialect) older(o Object) Object {
	out := maps.Clone(o)
	if off, is := o["disabled"].(bool); is && d.Disabled {
		delete(out, "disabled")
		out["enabled"] = !off
	}
	if limit, is := o["timeout"].(map[string]any); is && d.Limits && len(limit) == 2 && limit["catalog"] != nil && sameValue(limit["catalog"], limit["execution"]) {
		out["timeout"] = limit["catalog"]
	}
	return out
}

func (d Dialect) command(o, out Object) {
	args, _ := o["args"].([]any)
	if d.List {
		out["command"] = append([]any{o["command"]}, args...)
		return
	}
	out["command"] = o["command"]
	if _, ok := o["args"]; ok {
		out["args"] = args
	}
}

// The ways to reach a server.
const (
	stdio  = "stdio"
	remote = "http"
	events = "sse"
)

// transport returns how the described server is reached. It fails with ErrEntry for an inconsistent description.
func transport(o Object) (string, error) {
	if err := shapes(o); err != nil {
		return "", err
	}
	_, local := o["command"]
	_, far := o["url"]
	kind, _ := o["type"].(string)
	switch kind {
	case "":
		kind = remote
		if local {
			kind = stdio
		}
	case "local":
		kind = stdio
	case "remote", "streamable-http", "streamableHttp":
		kind = remote
	case stdio, remote, events:
	default:
		return "", ErrEntry.WithMessage("unknown server type %q; use stdio, http or sse", kind)
	}
	switch {
	case local == far:
		return "", ErrEntry.WithMessage("a server needs either a command or a url")
	case local != (kind == stdio):
		return "", ErrEntry.WithMessage("the server's type %s does not match its fields: stdio needs a command, http and sse need a url", kind)
	}
	return kind, nil
}

// shapes checks the types of the keys that are used.
func shapes(o Object) error {
	for _, key := range []string{"type", "command", "url"} {
		if value, ok := o[key]; ok {
			if text, is := value.(string); !is || text == "" {
				return ErrEntry.WithMessage("the server's %s must be non-empty text", key)
			}
		}
	}
	if value, ok := o["args"]; ok {
		if list, is := value.([]any); !is || slices.ContainsFunc(list, notText) {
			return ErrEntry.WithMessage("the server's args must be a list of strings")
		}
	}
	for _, key := range []string{"env", "headers"} {
		value, ok := o[key]
		if !ok {
			continue
		}
		table, is := value.(map[string]any)
		for name, one := range table {
			if notText(one) {
				return ErrEntry.WithMessage("the server's %s has a %q that is not text", key, name)
			}
		}
		if !is {
			return ErrEntry.WithMessage("the server's %s must be an object with string values", key)
		}
	}
	return nil
}

func notText(v any) bool {
	_, ok := v.(string)
	return !ok
}
