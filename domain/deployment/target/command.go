package target

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrText is returned for text that cannot be written or read in a format; its message says why.
var ErrText = fault.New(fault.Invalid, "deployment_form_invalid", "the text cannot be written in the agent's format")

// CommandToTOML returns a TOML command made from Markdown: the description from its frontmatter, and the text after the frontmatter as the prompt. It
// fails with ErrText for text that is not UTF-8.
func CommandToTOML(markdown []byte) ([]byte, error) {
	if !utf8.Valid(markdown) {
		return nil, ErrText.WithMessage("a TOML command must be valid UTF-8, but the text is not")
	}
	head, body := split(string(markdown))
	var b strings.Builder
	if text := description(head); text != "" {
		b.WriteString("description = " + basic(text) + "\n")
	}
	b.WriteString("prompt = " + multiline(toGemini(body)) + "\n")
	return []byte(b.String()), nil
}

// The placeholders and shell syntax of commands: those of modules, which Claude Code reads, and those of Gemini CLI.
const (
	arguments       = "$ARGUMENTS"
	geminiArguments = "{{args}}"
)

// toGemini translates a command's placeholder for arguments, and its shell commands, to the syntax of Gemini CLI. Everything else stays unchanged.
func toGemini(text string) string {
	text = strings.ReplaceAll(text, arguments, geminiArguments)
	return regexp.MustCompile("(?m)(^|[^\\w$])!`([^`\n{}]+)`").ReplaceAllString(text, "${1}!{${2}}")
}

// fromGemini returns the inverse, for a text that came from original: what was already in the syntax of Gemini CLI stays so.
func fromGemini(original, text string) string {
	if !strings.Contains(original, geminiArguments) {
		text = strings.ReplaceAll(text, geminiArguments, arguments)
	}
	if !strings.Contains(original, "!{") {
		text = regexp.MustCompile("(?m)(^|[^\\w$])!\\{([^`\n{}]+)\\}").ReplaceAllString(text, "${1}!`${2}`")
	}
	return text
}

// CommandFromTOML returns the Markdown of a TOML command: the frontmatter of original, and toml's prompt. It fails with ErrText if CommandToTOML
// could not have written toml, or if its description changed, because frontmatter is not rewritten.
func CommandFromTOML(original, toml []byte) ([]byte, error) {
	values, err := parse(string(toml))
	if err != nil {
		return nil, err
	}
	prompt, ok := values["prompt"]
	if !ok {
		return nil, ErrText.WithMessage("the command has no prompt; restore it")
	}
	head, was := split(string(original))
	if values["description"] != description(head) {
		return nil, ErrText.WithMessage("the description of the command was changed; change it in the module's frontmatter instead")
	}
	for key := range values {
		if key != "prompt" && key != "description" {
			return nil, ErrText.WithMessage("the command has the key %q, which a command in Markdown cannot have", key)
		}
	}
	body := fromGemini(was, prompt)
	if again, read := split(head + body); again != head || read != body {
		return nil, ErrText.WithMessage("the prompt begins with text that would be read as frontmatter, or as blank lines after it")
	}
	if toGemini(body) != prompt {
		return nil, ErrText.WithMessage("the prompt has placeholders or shell commands that commands in Markdown cannot have")
	}
	return []byte(head + body), nil
}
