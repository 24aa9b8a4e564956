package bind

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// wanted describes what a property's schema requires; err is the validator's error, for schemas without a description.
func (p property) wanted(err error) string {
	s := p.schema
	switch {
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = fmt.Sprint(e)
		}
		return "must be one of " + strings.Join(words, ", ")
	case s.Type == "integer" || s.Type == "number":
		return "must be " + article(s.Type) + bounds(s)
	case s.Type == "string" && s.Pattern != "":
		return "must be a string that matches " + s.Pattern
	case s.Type == "string" && s.MinLength != nil && *s.MinLength == 1:
		return "must be a string that is not empty"
	case s.Type == "array" && s.Items != nil && s.Items.Type != "":
		return "must be an array of " + s.Items.Type + "s"
	case s.Type == "string" && s.MinLength == nil && s.MaxLength == nil, s.Type == "boolean", s.Type == "object":
		return "must be " + article(s.Type)
	}
	return plainly(err)
}

func article(jsonType string) string {
	if strings.ContainsAny(jsonType[:1], "aio") {
		return "an " + jsonType
	}
	return "a " + jsonType
}

func bounds(s *jsonschema.Schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf(" from %v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf(" of at least %v", *s.Minimum)
	case s.Maximum != nil:
		return fmt.Sprintf(" of at most %v", *s.Maximum)
	}
	return ""
}

// plainly removes the validator's own path from its message: the field is already named.
func plainly(err error) string {
	text := err.Error()
	for _, cut := range []string{"validating root: ", "validating "} {
		if i := strings.LastIndex(text, cut); i >= 0 {
			text = text[i+len(cut):]
		}
	}
	return "is not as the schema wants it: " + text
}
