package target

import (
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrText is text that a form cannot hold or be read from; its message says what is in the way.
var ErrText = fault.New(fault.Invalid, "deployment_form_invalid", "the text cannot be written in the agent's form")

// CommandToTOML is a TOML command out of Markdown: its frontmatter's description, and what stands behind the frontmatter as the prompt. It
// fails with ErrText on text that is not UTF-8.
func CommandToTOML(markdown []byte) ([]byte, error) {
	if !utf8.Valid(markdown) {
		return nil, ErrText.Sayf("a TOML command has to be valid UTF-8, and the text is not")
	}
	head, body := split(string(markdown))
	var b strings.Builder
	if text := description(head); text != "" {
		b.WriteString("description = " + basic(text) + "\n")
	}
	b.WriteString("prompt = " + multiline(body) + "\n")
	return []byte(b.String()), nil
}

// CommandFromTOML is the Markdown whose command toml is: the frontmatter of original, and toml's prompt. It fails with ErrText when toml is
// no command that Command could have written, or when its description changed, because frontmatter is not rewritten.
func CommandFromTOML(original, toml []byte) ([]byte, error) {
	values, err := parse(string(toml))
	if err != nil {
		return nil, err
	}
	prompt, ok := values["prompt"]
	if !ok {
		return nil, ErrText.Sayf("the command has no prompt; put it back")
	}
	head, _ := split(string(original))
	if values["description"] != description(head) {
		return nil, ErrText.Sayf("the description of the command was changed; change it in the module's frontmatter")
	}
	for key := range values {
		if key != "prompt" && key != "description" {
			return nil, ErrText.Sayf("the command has the key %q, for which Markdown has no place", key)
		}
	}
	if again, body := split(head + prompt); again != head || body != prompt {
		return nil, ErrText.Sayf("the prompt begins with what would be read as frontmatter, or as blank lines after it")
	}
	return []byte(head + prompt), nil
}
