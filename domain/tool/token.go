package tool

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrArguments is returned for arguments that are not an object or do not fit the published schema.
var ErrArguments = fault.New(fault.Invalid, "invalid_arguments", "the arguments do not match the tool's schema")

// ErrToken is returned for a confirm_token or typed_value that is not a string.
var ErrToken = fault.New(fault.Invalid, "confirm_argument_invalid", "confirm_token and typed_value are strings")

// SplitToken removes confirm_token and typed_value from an arguments object. null counts as absent. It fails with ErrToken if one is not a string.
// Arguments that are not an object are returned unchanged, for the decoder to reject.
func SplitToken(args json.RawMessage) (rest json.RawMessage, token, typed string, err error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || fields == nil {
		return args, "", "", nil
	}
	for name, to := range map[string]*string{"confirm_token": &token, "typed_value": &typed} {
		value, ok := fields[name]
		if !ok {
			continue
		}
		if json.Unmarshal(value, to) != nil {
			return nil, "", "", ErrToken.WithMessage("%s must be a string", name)
		}
		delete(fields, name)
	}
	rest, err = Encode(fields)
	return rest, token, typed, err
}

// Written is a value that has its compact JSON without HTML escapes at hand; Encode takes that as it is.
type Written interface{ WrittenJSON() json.RawMessage }

// Encode returns compact JSON without HTML escapes. All results are encoded with it.
func Encode(v any) (json.RawMessage, error) {
	if w, ok := v.(Written); ok {
		return w.WrittenJSON(), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
