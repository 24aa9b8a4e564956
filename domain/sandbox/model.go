package sandbox

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxModel is how many bytes the name of a model has at most.
const MaxModel = 512

// SplitModel parts the name of a model, "provider/model": the first slash ends the provider, and the model's own name may have more of
// them (opencode contract §11). Blanks and control characters of any kind are in neither. It fails with ErrArguments.
func SplitModel(name string) (provider, id string, err error) {
	hidden := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	foreign := func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	provider, id, _ = strings.Cut(name, "/")
	switch {
	case len(name) > MaxModel:
		return "", "", ErrArguments.Sayf("the model's name has %d bytes; at most %d are allowed", len(name), MaxModel)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, hidden) || provider == "" || id == "" || strings.ContainsFunc(provider, foreign):
		return "", "", ErrArguments.Sayf("%.80q is no model; write provider/model without blanks, as opencode_llm_config lists them", name)
	}
	return provider, id, nil
}
