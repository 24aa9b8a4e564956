package command

import (
	"github.com/countersign-dev/countersign/adapters/present"
)

// nothing reports whether a value is empty.
func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case []present.Field:
		return len(v) == 0
	}
	return false
}
