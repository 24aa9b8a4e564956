package tool

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrArguments reports arguments that are no object or do not fit the published schema.
var ErrArguments = fault.New(fault.Invalid, "invalid_arguments", "the arguments do not fit the tool's schema")

// ErrToken reports a confirm_token or typed_value that is no string.
var ErrToken = fault.New(fault.Invalid, "confirm_argument_invalid", "confirm_token and typed_value are strings")

// SplitToken takes confirm_token and typed_value out of an arguments object. It fails with ErrToken when one is no string; null is
// absent. Arguments that are no object come back as they are, for the decoder to refuse.
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
			return nil, "", "", ErrToken.Sayf("%s must be a string", name)
		}
		delete(fields, name)
	}
	rest, err = Encode(fields)
	return rest, token, typed, err
}

// Encode is compact JSON without HTML escapes: the one way values become text in this product.
func Encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
