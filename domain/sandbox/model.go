package sandbox

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxModel is the maximum length of a model's name in bytes.
const MaxModel = 512

// SplitModel splits the name of a model, "provider/model", at the first slash; the model's own name may contain more of them (opencode contract §11).
// Neither may contain blanks or control characters. It fails with ErrArguments.
func SplitModel(name string) (provider, id string, err error) {
	hidden := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	foreign := func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	provider, id, _ = strings.Cut(name, "/")
	switch {
	case len(name) > MaxModel:
		return "", "", ErrArguments.WithMessage("the model's name has %d bytes; at most %d are allowed", len(name), MaxModel)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, hidden) || provider == "" || id == "" || strings.ContainsFunc(provider, foreign):
		return "", "", ErrArguments.WithMessage("invalid model %.80q; use provider/model without spaces, as listed by opencode_llm_config", name)
	}
	return provider, id, nil
}
